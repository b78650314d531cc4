//! Conversions to formats that end in full levels, against the same entries assembled anew.

use proptest::prelude::*;
use ust::tensor::{BuildOptions, Parts, Window};
use ust::{Coo, Format, Scalar, Tensor};

const SOURCES: [&str; 7] = [
    "CSR",
    "CSC",
    "COO",
    "DCSR",
    "BSR(4, 4)",
    "DIA-J",
    "(i, j) -> (j : dense, i : compressed(nonordered)), posWidth = 64, crdWidth = 16",
];
/// Of which the first few store little more than the entries of a large matrix.
const TARGETS: [&str; 9] = [
    "DIA-I",
    "DIA-J",
    "(i, j) -> (j - i : compressed, i : range), posWidth = 32, crdWidth = 64",
    "(i, j) -> (i % 2 : compressed, j - i : compressed, i / 2 : dense)",
    "(i, j) -> (i + j : compressed, i : range)",
    "(i, j) -> (j : compressed, i : dense)",
    "(i, j) -> (j / 8 : compressed, i : dense, j % 8 : dense)",
    "(i, j) -> (j % 4 : dense, i / 16 : compressed, i % 16 : dense, j / 4 : dense)",
    "(i, j) -> (j / 8 : loose_compressed, i : dense, j % 8 : dense)",
];
const FEW: usize = 4;
/// Formats of blocks of R x C, and what is made of them.
const BLOCKED: [&str; 12] = [
    "(i, j) -> (i / R : dense, j / C : compressed, i % R : dense, j % C : dense)",
    "(i, j) -> (i / R : dense, j / C : compressed, j % C : dense, i % R : dense)",
    "(i, j) -> (j / C : dense, i / R : compressed, i % R : dense, j % C : dense), crdWidth = 16",
    "(i, j) -> (j / C : dense, i / R : compressed, j % C : dense, i % R : dense), posWidth = 64",
    "(i, j) -> (j / C : compressed, i / R : compressed, i % R : dense, j % C : dense)",
    "(i, j) -> (i / R : compressed(nonunique), j / C : singleton, i % R : dense, j % C : dense)",
    "(i, j) -> (i / R : dense, j / C : loose_compressed, i % R : dense, j % C : dense)",
    "(i, j) -> (j / C : dense, i / R : compressed(nonordered), j % C : dense, i % R : dense)",
    "(i, j) -> (i / R : dense, j : compressed, i % R : dense)",
    "CSR",
    "CSC",
    "COO",
];

fn mix(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 8
}

/// Entries near a few diagonals of a matrix, one in `rare` of the value given.
fn banded(shape: [usize; 2], wide: usize, rare: u64, value: f64, seed: u64) -> Coo {
    let mut crd = vec![Vec::new(), Vec::new()];
    let mut values = Vec::new();
    for i in 0..shape[0] {
        for k in 0..wide {
            let draw = mix(seed ^ (i * wide + k) as u64);
            let j = i + k * k * 5;
            if !draw.is_multiple_of(5) && j < shape[1] {
                crd[0].push(i as i64);
                crd[1].push(j as i64);
                let number = (draw % 4096) as f64 / 8.0 + 1.0;
                values.push(if draw >> 12 & 0xffff < rare { value } else { number });
            }
        }
    }
    Coo::new(shape.to_vec(), crd, values).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn blocks_are_those_that_entries_need(
        rows in prop_oneof![1_usize..90, 15_000_usize..17_000],
        more in 0_usize..70,
        wide in 1_usize..5,
        rare in prop_oneof![Just(0_u64), Just(4), Just(0x4000)],
        fill in prop_oneof![Just(0.0), Just(7.0), Just(f64::NAN)],
        (from, to) in (0..SOURCES.len(), 0..TARGETS.len()),
        (threads, seed) in (1_usize..4, any::<u64>()),
    ) {
        let to = if rows > 1000 { to % FEW } else { to };
        let coo = banded([rows, rows + more], wide, rare, fill, seed);
        let options = BuildOptions { fill: Some(Scalar::F64(fill)), ..Default::default() };
        let [from, to]: [Format; 2] = [SOURCES[from], TARGETS[to]].map(|f| f.parse().unwrap());
        let source = Tensor::from_coo_with(&coo, &from, &options).unwrap();
        let expected = Tensor::from_coo_with(&coo, &to, &options).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = pool.install(|| source.convert(&to)).unwrap();
        prop_assert!(found == expected, "{from} to {to}");

        // Every other row and column of the last two thirds.
        let windows = [rows, rows + more].map(|n| {
            let offset = n as u64 / 3;
            Window { offset, size: (n as u64 - offset).div_ceil(2), stride: 2 }
        });
        let seen = source.slice(windows).unwrap();
        let expected = Tensor::from_coo_with(&seen.to_coo().unwrap(), &to, &options).unwrap();
        prop_assert!(seen.convert(&to).unwrap() == expected, "a part of {from} to {to}");
    }

    #[test]
    fn blocks_are_moved_whole(
        shape in [1_usize..70, 1_usize..70],
        (size, count) in ([1_usize..4, 1_usize..4], 0_usize..300),
        rare in prop_oneof![Just(0_u64), Just(3)],
        fill in prop_oneof![Just(0.0), Just(7.0), Just(f64::NAN)],
        (from, to) in (0..BLOCKED.len(), 0..BLOCKED.len()),
        seed in any::<u64>(),
    ) {
        let mut cells = std::collections::BTreeMap::new();
        for at in 0..count as u64 {
            // A few blocks, and most of their places.
            let [block, within] = [mix(seed ^ (at / 8)), mix(seed ^ (at << 20))];
            let place = |d: usize, block: u64, within: u64| {
                let blocks = shape[d].div_ceil(size[d]) as u64;
                (block % blocks * size[d] as u64 + within % size[d] as u64) % shape[d] as u64
            };
            let crd = [place(0, block, within), place(1, block >> 20, within >> 20)];
            let value = if within >> 40 & 3 < rare { fill } else { (within % 512) as f64 + 8.0 };
            cells.insert(crd, value);
        }
        let crd = |d: usize| cells.keys().map(|crd| crd[d] as i64).collect::<Vec<_>>();
        let values: Vec<f64> = cells.values().copied().collect();
        let coo = Coo::new(shape.to_vec(), vec![crd(0), crd(1)], values).unwrap();
        let options = BuildOptions { fill: Some(Scalar::F64(fill)), ..Default::default() };
        let named = |text: &str| -> Format {
            let [rows, columns] = size.map(|n| format!(" {n}"));
            text.replace(" R", &rows).replace(" C", &columns).parse().unwrap()
        };
        let (from, to) = (named(BLOCKED[from]), named(BLOCKED[to]));
        let source = Tensor::from_coo_with(&coo, &from, &options).unwrap();
        let entries = source.to_coo().unwrap();
        let expected = Tensor::from_coo_with(&entries, &to, &options).unwrap();
        let found = source.convert(&to).unwrap();
        prop_assert!(found == expected, "{from} to {to}");
    }
}

/// What stands where no coordinate reaches is left where it is, and a block of nothing else is none.
#[test]
fn blocks_that_are_moved_leave_strays_behind() {
    let [from, to]: [Format; 2] = ["BSR(2, 2)", "BSC(2, 2)"].map(|f| f.parse().unwrap());
    let of = |values: [f64; 12]| {
        let arrays = vec![vec![0_i32, 2, 3].into(), vec![0_i32, 1, 1].into()];
        let parts = Parts::new(vec![vec![], arrays, vec![], vec![]], values.to_vec());
        Tensor::from_parts(&from, &[3, 3], parts).unwrap()
    };
    let stray = of([1.0, 2.0, 3.0, 4.0, 5.0, 99.0, 6.0, 99.0, 7.0, 99.0, 99.0, 99.0]);
    let found = stray.convert(&to).unwrap();
    assert_eq!(found, Tensor::from_coo(&stray.to_coo().unwrap(), &to).unwrap());
    assert_eq!(found.values().typed::<f64>().unwrap().iter().sum::<f64>(), 28.0);
    let empty = of([1.0, 2.0, 3.0, 4.0, 0.0, 99.0, 0.0, 99.0, 7.0, 99.0, 99.0, 99.0]);
    let found = empty.convert(&to).unwrap();
    assert_eq!(found, Tensor::from_coo(&empty.to_coo().unwrap(), &to).unwrap());
    assert_eq!(found.block_shape(), [2, 2, 2]);
}

/// Blocks of a format that keeps no order are sorted where that is asked for.
#[test]
fn blocks_in_any_order_are_sorted() {
    let text =
        "(i, j) -> (i / 2 : dense, j / 2 : compressed(nonordered), i % 2 : dense, j % 2 : dense)";
    let format: Format = text.parse().unwrap();
    let arrays = vec![vec![0_i32, 2, 3].into(), vec![1_i32, 0, 1].into()];
    let values: Vec<f64> = (1..=12).map(f64::from).collect();
    let parts = Parts::new(vec![vec![], arrays, vec![], vec![]], values);
    let tensor = Tensor::from_parts(&format, &[4, 4], parts).unwrap();
    for sorted in [tensor.sort_indices().unwrap(), tensor.sum_duplicates().unwrap()] {
        assert_eq!(sorted.crd(1).unwrap().to_vec(), [0, 1, 1]);
        let values = sorted.values().typed::<f64>().unwrap();
        assert_eq!(values, [5.0, 6.0, 7.0, 8.0, 1.0, 2.0, 3.0, 4.0, 9.0, 10.0, 11.0, 12.0]);
    }
}
