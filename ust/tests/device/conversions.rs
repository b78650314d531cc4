//! Conversions on the device give the very arrays that those on the host give.

use ust::gpu::{Gpu, conversion_text, tally};
use ust::tensor::{Parts, Way, Window};
use ust::{Backend, Coo, Dtype, Error, Format, IndexArray, Scalar, Tensor, einsum};

use super::{gpu, same};

/// Formats of matrices whose conversions among each other need nothing of the host.
const THERE: [&str; 14] = [
    "COO",
    "CSR",
    "CSC",
    "BSR(2,3)",
    "DIA",
    "(i, j) -> (i : dense, j : dense)",
    "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2, 4))",
    "DCSR",
    "2:4, crdWidth = 2",
    "BSC(4,2)",
    "ANTI-DIA",
    "(i, j) -> (j : dense, i : dense)",
    "(i, j) -> (i : dense, j : loose_compressed)",
    "(i, j) -> (i : compressed, j / 2 : compressed, j % 2 : dense)",
];

/// Entries of a matrix: at most two of each four neighbours in a row, so that every format can hold them.
fn entries(rows: usize, columns: usize, seed: u64, zeros: bool) -> Coo {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let (mut crd, mut values) = (vec![Vec::new(), Vec::new()], Vec::new());
    for row in 0..rows {
        if random(4) == 0 {
            continue;
        }
        for group in 0..columns.div_ceil(4) {
            let count = random(3);
            let mut own: Vec<u64> = (0..count).map(|_| random(4)).collect();
            own.sort_unstable();
            own.dedup();
            for column in own {
                let column = group * 4 + column as usize;
                if column < columns {
                    crd[0].push(row as i64);
                    crd[1].push(column as i64);
                    let zero = zeros && random(5) == 0;
                    values.push(if zero { 0.0 } else { random(1000) as f64 - 499.5 });
                }
            }
        }
    }
    Coo::new(vec![rows, columns], crd, values).unwrap()
}

/// Converts on the device and on the host, and compares everything that is stored.
fn check(gpu: &Gpu, from: &Tensor, format: &Format) {
    let on_device = gpu.upload(from).unwrap();
    let before = tally().uploads;
    let made = on_device.convert(format).unwrap();
    let uploads = tally().uploads - before;
    let expected = from.convert(format).unwrap();
    let made = made.download().unwrap();
    assert_eq!(made, expected, "{} -> {format}, {:?}", from.format(), from.shape());
    for (level, (a, b)) in made.levels().iter().zip(expected.levels()).enumerate() {
        for (a, b) in a.0.iter().zip(&b.0) {
            assert_eq!(a.kind(), b.kind(), "{} -> {format}, level {level}", from.format());
        }
    }
    assert_eq!(uploads, 0, "{} -> {format}", from.format());
}

#[test]
fn matrices_among_all_formats() {
    let Some((gpu, _one)) = gpu() else { return };
    for (seed, (rows, columns)) in [(7, 12), (1, 1), (24, 8), (5, 17)].into_iter().enumerate() {
        let coo = entries(rows, columns, seed as u64 + 1, seed % 2 == 0);
        for (a, from) in THERE.iter().enumerate() {
            let tensor = Tensor::from_coo(&coo, from).unwrap();
            // All pairs of the first formats, and some of the others, which are compiled for fewer shapes.
            let first = |b: usize| a.max(b) < 7 && (seed < 2 || (a + b).is_multiple_of(3));
            let chosen = |b: usize| first(b) || seed < 2 && (a + b).is_multiple_of(3);
            for (_, to) in THERE.iter().enumerate().filter(|(b, _)| chosen(*b)) {
                check(&gpu, &tensor, &to.parse().unwrap());
            }
        }
    }
}

#[test]
fn tensors_of_rank_3() {
    let Some((gpu, _one)) = gpu() else { return };
    let formats = [
        "COO(3)",
        "CSF(3)",
        "Dense(3)",
        "BSR3(2, 2, 2)",
        "(i, j, k) -> (k : dense, i : dense, j : compressed)",
    ];
    let coo = ust::generate::generate("random(6x7x5, nnz=60, seed=3)").unwrap();
    for from in formats {
        let tensor = Tensor::from_coo(&coo, from).unwrap();
        for to in formats {
            check(&gpu, &tensor, &to.parse().unwrap());
        }
    }
}

#[test]
fn vectors_and_scalars() {
    let Some((gpu, _one)) = gpu() else { return };
    let coo = Coo::new(vec![9], vec![vec![1, 4, 8]], vec![1.0, -2.0, 0.5]).unwrap();
    let formats = ["SparseVector", "DenseVector", "BlockedVector(4)"];
    for from in formats {
        let tensor = Tensor::from_coo(&coo, from).unwrap();
        for to in formats {
            check(&gpu, &tensor, &to.parse().unwrap());
        }
    }
    let none = Tensor::from_array(ust::ndarray::ArrayD::<f64>::zeros(vec![4, 6])).unwrap();
    for to in ["CSR", "COO", "DIA", "BSR(2,3)", "2:4"] {
        check(&gpu, &none, &to.parse().unwrap());
    }
    let full: Format = "() -> ()".parse().unwrap();
    let one = Coo::new(vec![], Vec::<Vec<i64>>::new(), vec![3.0]).unwrap();
    check(&gpu, &Tensor::from_coo(&one, &full).unwrap(), &full);
}

#[test]
fn every_dtype_width_and_fill_value() {
    let Some((gpu, _one)) = gpu() else { return };
    let coo = entries(12, 20, 5, false);
    for &dtype in Dtype::ALL {
        let csr = Tensor::from_coo(&coo, "CSR").unwrap().cast_lossy(dtype);
        for to in ["CSC", "BSR(2,3)", "DIA", "COO"] {
            check(&gpu, &csr, &to.parse().unwrap());
        }
        let dense = csr.convert("Dense").unwrap();
        check(&gpu, &dense, &"CSR".parse().unwrap());
        if dtype.is_float() {
            for fill in [f64::NAN, 1.0, -0.0] {
                let fill = Scalar::F64(fill).cast(dtype).unwrap();
                let filled = dense.with_fill(fill).unwrap();
                check(&gpu, &filled, &"CSC".parse().unwrap());
                check(&gpu, &filled, &"BSR(2,3)".parse().unwrap());
            }
        }
    }
    let csr = Tensor::from_coo(&coo, "CSR").unwrap();
    for widths in ["posWidth = 64, crdWidth = 8", "posWidth = 16, crdWidth = 64", "crdWidth = 16"] {
        let [narrow, other] = ["CSR", "DCSC"].map(|format| format!("{format}, {widths}"));
        let narrow = narrow.parse().unwrap();
        check(&gpu, &csr, &narrow);
        check(&gpu, &csr.convert(&narrow).unwrap(), &other.parse().unwrap());
    }
}

#[test]
fn duplicates_and_slices() {
    let Some((gpu, _one)) = gpu() else { return };
    let mut coo = entries(9, 16, 7, false);
    let count = coo.len();
    let crd = coo.crd.iter().map(|c| c.iter().chain(&c[..count / 2]).copied().collect()).collect();
    let doubled: Vec<f64> = (0..count + count / 2).map(|at| at as f64 * 0.5 - 3.0).collect();
    coo = Coo::new(coo.shape.clone(), crd, doubled).unwrap();
    let several = "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))";
    let with_duplicates = Tensor::from_coo(&coo, several).unwrap();
    assert!(with_duplicates.nse() > count);
    for to in ["CSR", "CSC", "COO(col-major)", "BSR(2,3)", "Dense", "DIA"] {
        check(&gpu, &with_duplicates, &to.parse().unwrap());
        // Sums of integers that overflow are found on the host.
        let integers = with_duplicates.cast_lossy(Dtype::I32);
        let made = gpu.upload(&integers).unwrap().convert(to).unwrap().download().unwrap();
        assert_eq!(made, integers.convert(to).unwrap(), "{to}");
    }
    let blocks = "(i, j, k) -> (i : compressed(nonunique), j : singleton(nonunique), k : dense)";
    let crd = vec![vec![0, 0, 1, 0], vec![1, 1, 0, 1], vec![0, 0, 1, 1]];
    let coo = Coo::new(vec![2, 2, 2], crd, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let apart = "(i, j, k) -> (i : compressed(nonunique), j : singleton(nonunique), k : singleton(nonunique))";
    let apart = Tensor::from_coo(&coo, apart).unwrap();
    let blocks: Format = blocks.parse().unwrap();
    let made = gpu.upload(&apart).unwrap().convert(&blocks).unwrap().download().unwrap();
    assert_eq!(made, apart.convert(&blocks).unwrap());
    let window = |offset, stride, size| Window { offset, size, stride };
    for from in ["CSR", "DIA", "BSR(2,3)", "Dense"] {
        let tensor = Tensor::from_coo(&entries(9, 16, 8, false), from).unwrap();
        let slice = tensor.slice([window(1, 2, 4), window(3, 1, 11)]).unwrap();
        check(&gpu, &slice, &"CSC".parse().unwrap());
        check(&gpu, &slice, &"CSR".parse().unwrap());
    }
}

/// Where segments do not ascend, positions are in another order than entries.
#[test]
fn segments_in_any_order() {
    let Some((gpu, _one)) = gpu() else { return };
    let loose = "(i, j) -> (i : dense, j : loose_compressed)";
    let parts = Parts {
        levels: vec![
            Vec::new(),
            vec![
                IndexArray::from(vec![4_u32, 5, 0, 2, 2, 4]),
                IndexArray::from(vec![0_u32, 2, 1, 2, 1]),
            ],
        ],
        orders: Vec::new(),
        values: vec![20.0, 21.0, 30.0, 31.0, 10.0].into(),
        fill: None,
    };
    let tensor = Tensor::from_parts(loose, &[3, 3], parts).unwrap();
    for to in ["CSR", "CSC", "COO", "Dense", "DCSR"] {
        check(&gpu, &tensor, &to.parse().unwrap());
    }
    let there = gpu.upload(&tensor).unwrap();
    let made = gpu.einsum("B(i,j) = 1.0 * A(i,j)").arg("A", &there).format("CSR").run().unwrap();
    assert_eq!(made.download().unwrap(), tensor.convert("CSR").unwrap());
}

#[test]
fn what_a_level_cannot_hold_is_the_error_of_the_host() {
    let Some((gpu, _one)) = gpu() else { return };
    let full = Coo::new(vec![1, 8], vec![vec![0; 3], vec![4, 5, 7]], vec![1.0; 3]).unwrap();
    let long = Coo::new(vec![1, 300], vec![vec![0], vec![299]], vec![1.0]).unwrap();
    for (coo, to) in [(full, "2:4"), (long, "CSR, crdWidth = 8")] {
        let csr = Tensor::from_coo(&coo, "CSR").unwrap();
        let there = gpu.upload(&csr).unwrap().convert(to).unwrap_err().to_string();
        assert_eq!(there, csr.convert(to).unwrap_err().to_string());
    }
    // A tensor of all elements that there is no room for.
    let wide = Coo::new(vec![1 << 30, 1 << 30], vec![vec![5], vec![7]], vec![1.0]).unwrap();
    let wide = Tensor::from_coo(&wide, "COO").unwrap();
    let dense: Format = "Dense".parse().unwrap();
    let refused = gpu.upload(&wide).unwrap().convert(&dense).unwrap_err();
    assert!(matches!(refused, Error::TooLarge(_)), "{refused}");
}

/// What nobody looks at stays on the device, through expressions whose results are sorted and converted.
#[test]
fn results_are_converted_where_they_are() {
    let Some((gpu, _one)) = gpu() else { return };
    let a = Tensor::from_coo(&entries(20, 16, 9, false), "CSR").unwrap();
    let there = gpu.upload(&a).unwrap();
    let before = tally().uploads;
    for format in ["CSR", "CSC", "COO", "DIA", "BSR(2,3)", "Dense"] {
        let square = gpu.einsum("C(i,k) = A(i,j) * A(k,j)").arg("A", &there).format(format);
        let square = square.run().unwrap();
        let back = square.convert("CSR").unwrap();
        assert_eq!(tally().uploads, before, "{format}");
        let expected =
            einsum("C(i,k) = A(i,j) * A(k,j)").arg("A", &a).format(format).run().unwrap();
        assert_eq!(
            square.download().unwrap().to_coo().unwrap().crd,
            expected.to_coo().unwrap().crd
        );
        assert!(same(&square.download().unwrap(), &expected), "{format}");
        assert!(same(&back.download().unwrap(), &expected), "{format}");
    }
    // Sums of half precision are formed in single precision, and rounded there. These are exact.
    for dtype in [Dtype::F16, Dtype::Bf16] {
        let halves = a.with_values(vec![0.5; a.nse()]).unwrap().cast(dtype).unwrap();
        let there = gpu.upload(&halves).unwrap();
        let before = tally().uploads;
        for text in ["y(j) = A(i,j)", "C(i,k) = A(i,j) * A(k,j)"] {
            let made = gpu.einsum(text).arg("A", &there).run().unwrap();
            assert_eq!((made.dtype(), tally().uploads), (dtype, before), "{text}");
            let expected = einsum(text).arg("A", &halves).run().unwrap();
            assert_eq!(made.download().unwrap(), expected, "{text}");
        }
    }
    // Entries that cancel are left out there.
    let before = tally().uploads;
    let same = gpu.einsum("B(i,j) = A(i,j) - A(i,j)").arg("A", &there).run().unwrap();
    assert_eq!((same.nse(), tally().uploads), (a.nse(), before));
    let (cuda, text) = (Backend::Named("cuda"), "B(i,j) = 1.0 * A(i,j)");
    let zeros = Tensor::from_coo(&entries(20, 16, 9, true), "COO").unwrap();
    let pending = einsum(text).arg("A", &zeros).backend(cuda).run().unwrap();
    let dropped = pending.eliminate_zeros().unwrap();
    assert!(dropped.place().is_some() && dropped.nse() < zeros.nse());
    assert_eq!(dropped, zeros.eliminate_zeros().unwrap());
    // A tensor of the host is converted on the host.
    let way = a.way("CSC").unwrap();
    assert!(!matches!(way, Way::Elsewhere { .. }));
    let result = einsum("B(i,j) = 2 * A(i,j)").arg("A", &a).backend(Backend::Named("cuda"));
    let result = result.run().unwrap();
    let way = result.way("CSC").unwrap();
    assert_eq!(way, Way::Elsewhere { backend: "cuda" });
    let csc = result.convert("CSC").unwrap();
    assert!(result.place().is_some() && csc.place().is_some());
    assert_eq!(csc, einsum("B(i,j) = 2 * A(i,j)").arg("A", &a).format("CSC").run().unwrap());
}

#[test]
fn kernels_are_kept_for_the_next_conversion_between_the_same_formats() {
    let Some((gpu, _one)) = gpu() else { return };
    // Nobody else has a tensor of this format.
    let from = "(i, j) -> (j : dense, i : loose_compressed), posWidth = 16, crdWidth = 16";
    let tensor = |rows, seed, dtype| {
        let coo = entries(rows, 12, seed, false);
        Tensor::from_coo(&coo, from).unwrap().cast_lossy(dtype)
    };
    let made = |tensor: &Tensor, to: &str| {
        let before = tally().programs;
        check(&gpu, tensor, &to.parse().unwrap());
        tally().programs - before
    };
    let wide = tensor(9, 31, Dtype::F64);
    assert_eq!(made(&wide, "CSR"), 1);
    assert_eq!(made(&wide, "CSR"), 0);
    assert_eq!(made(&tensor(17, 32, Dtype::F64), "CSR"), 0);
    assert_eq!(made(&tensor(9, 33, Dtype::F32), "CSR"), 1);
    // Their columns are others.
    assert_eq!(made(&wide, "BSR(2,3)"), 1);
    assert_eq!(made(&wide, "CSR"), 0);
}

/// Prints times of small conversions on the virtual GPU, and asserts nothing of them.
#[test]
#[ignore = "a measurement: `cargo test -p ust --features gpu --test device -- --ignored --nocapture small`"]
fn small_conversions() {
    let Some((gpu, _one)) = gpu() else { return };
    let coo = entries(4, 8, 3, false);
    for (from, to) in [("CSR", "CSC"), ("CSR", "COO"), ("COO", "CSR"), ("BSR(2,3)", "CSR")] {
        let (tensor, to) = (Tensor::from_coo(&coo, from).unwrap(), to.parse().unwrap());
        let there = gpu.upload(&tensor).unwrap();
        let median = |work: &dyn Fn()| {
            let mut times: Vec<_> = (0..101)
                .map(|_| {
                    let begin = std::time::Instant::now();
                    work();
                    begin.elapsed()
                })
                .collect();
            times.sort();
            times[times.len() / 2]
        };
        let all = median(&|| drop(there.convert(&to).unwrap()));
        let text = median(&|| drop(conversion_text(&tensor, &to).unwrap()));
        println!("{from} to {to}: {all:?} in all; {text:?} to write the kernel");
    }
}
