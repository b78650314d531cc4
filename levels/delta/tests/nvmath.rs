//! The arrays are those that nvmath-python 1.0.0 makes: its `TensorComposer` was run on the host, for
//! `LevelFormat.DELTA` below dense levels.

use ust::{Coo, Format, Tensor};

/// Bits, shape, coordinates of the entries (the values are 1, 2, ..); and `pos`, `crd` and values of nvmath-python.
type Case = (u32, &'static [usize], &'static [&'static [i64]], [&'static [i64]; 3]);

const CASES: [Case; 6] = [
    (2, &[10], &[&[0], &[3], &[9]], [&[0, 4], &[0, 2, 3, 1], &[1, 2, 0, 3]]),
    (
        2,
        &[4, 8],
        &[&[0, 0], &[0, 2], &[0, 7], &[1, 7], &[3, 0], &[3, 1], &[3, 6]],
        [&[0, 4, 6, 6, 10], &[0, 1, 3, 0, 3, 3, 0, 0, 3, 0], &[1, 2, 0, 3, 0, 4, 5, 6, 0, 7]],
    ),
    (
        3,
        &[3, 20],
        &[&[0, 8], &[0, 9], &[1, 7], &[1, 16], &[2, 19]],
        [&[0, 3, 6, 9], &[7, 0, 0, 7, 7, 0, 7, 7, 3], &[0, 1, 2, 3, 0, 4, 0, 0, 5]],
    ),
    (
        4,
        &[2, 40],
        &[&[0, 16], &[0, 17], &[0, 34], &[1, 0], &[1, 39]],
        [&[0, 5, 9], &[15, 0, 0, 15, 0, 0, 15, 15, 6], &[0, 1, 2, 0, 3, 4, 0, 0, 5]],
    ),
    (
        1,
        &[2, 3, 9],
        &[&[0, 1, 0], &[0, 1, 8], &[1, 0, 1], &[1, 2, 3]],
        [&[0, 0, 5, 5, 6, 6, 8], &[0, 1, 1, 1, 1, 1, 1, 1], &[1, 0, 0, 0, 2, 3, 0, 4]],
    ),
    (8, &[2, 10], &[&[0, 2], &[1, 0], &[1, 9]], [&[0, 1, 3], &[2, 0, 8], &[1, 2, 3]]),
];

#[test]
fn arrays_are_those_of_nvmath_python() {
    for (bits, shape, entries, [pos, crd, values]) in CASES {
        let (dims, dense) =
            [("i", ""), ("i, j", "i : dense, "), ("i, j, k", "i : dense, j : dense, ")]
                [shape.len() - 1];
        let last = &dims[dims.len() - 1..];
        let text = format!("({dims}) -> ({dense}{last} : delta({bits}))");
        let format: Format = text.parse().unwrap();
        let columns = (0..shape.len()).map(|dim| entries.iter().map(|entry| entry[dim]).collect());
        let own: Vec<f64> = (1..=entries.len()).map(|value| value as f64).collect();
        let coo = Coo::new(shape.to_vec(), columns.collect(), own).unwrap();
        let tensor = Tensor::from_coo(&coo, &format).unwrap();
        let level = shape.len() - 1;
        assert_eq!(tensor.pos(level).unwrap().to_vec(), pos, "{text}");
        let stored = tensor.level_array(level, "crd").unwrap().to_vec();
        assert_eq!(unpacked(&stored, bits.next_power_of_two().min(8), crd.len()), crd, "{text}");
        let found = tensor.values().typed::<f64>().unwrap().iter().map(|value| *value as i64);
        assert_eq!(found.collect::<Vec<i64>>(), values, "{text}");
        assert_eq!(tensor.to_coo().unwrap(), coo, "{text}");
    }
}

/// Numbers of so many bits each, the first in the lowest bits of a byte.
fn unpacked(bytes: &[i64], bits: u32, count: usize) -> Vec<i64> {
    let each = 8 / bits as usize;
    let number = |at: usize| bytes[at / each] >> (bits as usize * (at % each)) & ((1 << bits) - 1);
    (0..count).map(number).collect()
}

#[test]
fn four_bits_take_less_than_six_tenths_of_the_memory_of_csr_with_values_of_32_bits() {
    // Two of nine coordinates are stored.
    let crd = |dim: usize| {
        let cells = (0..90 * 90).filter(|cell| cell % 9 < 2 || cell % 97 == 5);
        cells.map(move |cell| [cell / 90, cell % 90][dim]).collect::<Vec<i64>>()
    };
    let values = vec![1.0_f32; crd(0).len()];
    let coo = Coo::new(vec![90, 90], vec![crd(0), crd(1)], values).unwrap();
    let stored = |format: &str| Tensor::from_coo(&coo, format).unwrap().bytes();
    let (delta, csr) = (stored("(i, j) -> (i : dense, j : delta(4))"), stored("CSR"));
    assert!(10 * delta <= 6 * csr, "{delta} of {csr}");
}
