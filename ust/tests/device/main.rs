//! Tensors in the memory of a GPU, on a virtual one.
#![cfg(feature = "gpu")]

mod aligned;
mod casts;
mod combined;
mod conversions;
mod counted;
mod failures;
mod iso;
mod long;
#[path = "../shared/skewed.rs"]
mod skewed;
mod strict;
mod vectors;

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use ust::gpu::{DeviceArray, DeviceParts, Gpu, emulator, tally};
use ust::level_api::ir::scalar::Complex;
use ust::{Backend, Dtype, Error, IndexKind, Tensor, einsum};

/// The virtual GPU, for one test at a time; says so if there is none.
fn gpu() -> Option<(Gpu, MutexGuard<'static, ()>)> {
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    static INSTALLED: OnceLock<Option<Gpu>> = OnceLock::new();
    let gpu = INSTALLED.get_or_init(|| {
        // SAFETY: every test comes here first, and waits here for the first one.
        unsafe {
            std::env::set_var("UST_CACHE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
        }
        match emulator::install() {
            Ok(()) => Some(Gpu::open(0).unwrap()),
            Err(error) => {
                eprintln!("SKIPPED: {error}");
                None
            }
        }
    });
    gpu.clone().map(|gpu| (gpu, one))
}

fn matrix(format: &str, seed: u32) -> Tensor {
    let coo = ust::generate::generate(&format!("random(30x30, nnz=200, seed={seed})")).unwrap();
    Tensor::from_coo(&coo, format).unwrap()
}

fn vector() -> Tensor {
    let values: Vec<f64> = (0..30).map(|at| f64::from(at % 7) - 2.5).collect();
    Tensor::from_array(ust::ndarray::Array1::from(values).into_dyn()).unwrap()
}

/// A full tensor.
fn dense(shape: &[usize], seed: u64) -> Tensor {
    let all = shape.iter().product::<usize>();
    let values = (0..all as u64).map(|at| ((at * 7 + seed) % 13) as f64 / 2.0 - 3.0).collect();
    let array = ust::ndarray::ArrayD::from_shape_vec(shape.to_vec(), values).unwrap();
    Tensor::from_array(array).unwrap()
}

/// Whether two tensors have the same elements, but for rounding.
fn same(a: &Tensor, b: &Tensor) -> bool {
    let full = |tensor: &Tensor| {
        let dense = ust::Format::full(tensor.rank()).unwrap();
        tensor.convert(&dense).unwrap().values().typed::<f64>().unwrap().to_vec()
    };
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
    a.shape() == b.shape() && full(a).iter().zip(&full(b)).all(near)
}

#[test]
fn expressions_follow_each_other_on_the_device() {
    let Some((gpu, _one)) = gpu() else { return };
    let (a, x) = (matrix("CSR", 1), vector());
    let (there_a, there_x) = (gpu.upload(&a).unwrap(), gpu.upload(&x).unwrap());
    let y = gpu.einsum("y(i) = A(i,j) * x(j)").arg("A", &there_a).arg("x", &there_x).run().unwrap();
    let z = gpu.einsum("z(j) = A(i,j) * y(i)").arg("A", &there_a).arg("y", &y).run().unwrap();
    let expected_y = einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", &x).run().unwrap();
    let expected = einsum("z(j) = A(i,j) * y(i)").arg("A", &a).arg("y", &expected_y).run().unwrap();
    assert!(same(&z.download().unwrap(), &expected));
    assert!(same(&y.download().unwrap(), &expected_y));
    let square = gpu.einsum("C(i,j) = A(i,k) * A(k,j)").arg("A", &there_a).format("CSC");
    let square = square.run().unwrap();
    let expected = einsum("C(i,j) = A(i,k) * A(k,j)").arg("A", &a).format("CSC").run().unwrap();
    assert_eq!(square.format(), expected.format());
    assert!(same(&square.download().unwrap(), &expected));
}

#[test]
fn kernels_run_on_other_tensors_and_in_other_streams() {
    let Some((gpu, _one)) = gpu() else { return };
    let x = gpu.upload(&vector()).unwrap();
    let first = gpu.upload(&matrix("CSR", 1)).unwrap();
    let call = gpu.einsum("y(i) = A(i,j) * x(j)").arg("A", &first).arg("x", &x);
    let kernel = call.prepare().unwrap();
    assert_eq!(kernel.operands(), ["A", "x"]);
    let other = gpu.with_new_stream().unwrap();
    for seed in 2..6 {
        let host = matrix("CSR", seed);
        let there = gpu.upload(&host).unwrap();
        let expected =
            einsum("y(i) = A(i,j) * x(j)").arg("A", &host).arg("x", vector()).run().unwrap();
        let here = kernel.run(&[&there, &x]).unwrap();
        let beside = kernel.run_in(&other, &[&there, &x]).unwrap();
        // The operand is released while the other stream may still read it.
        drop(there);
        assert!(same(&here.download().unwrap(), &expected));
        assert!(same(&beside.download().unwrap(), &expected));
    }
}

#[test]
fn arrays_of_others_are_checked() {
    let Some((gpu, _one)) = gpu() else { return };
    let format = "CSR".parse().unwrap();
    let parts = |crd: [u32; 3]| {
        let stream = gpu.stream();
        let indices = |words: &[u32]| DeviceArray {
            of: IndexKind::U32,
            len: words.len(),
            memory: stream
                .upload(&words.iter().flat_map(|w| w.to_ne_bytes()).collect::<Vec<u8>>())
                .unwrap(),
        };
        let values: Vec<u8> = [1.0_f64, 2.0, 3.0].iter().flat_map(|v| v.to_ne_bytes()).collect();
        DeviceParts {
            levels: vec![vec![], vec![indices(&[0, 2, 3]), indices(&crd)]],
            values: DeviceArray { of: Dtype::F64, len: 3, memory: stream.upload(&values).unwrap() },
            fill: None,
        }
    };
    let make = |crd| ust::gpu::DeviceTensor::from_parts(&gpu, &format, &[2, 4], parts(crd));
    let a = make([0, 3, 1]).unwrap();
    let sums = gpu.einsum("y(i) = A(i,j)").arg("A", &a).run().unwrap().download().unwrap();
    assert_eq!(sums.values().typed::<f64>().unwrap(), [3.0, 3.0]);
    assert!(matches!(make([0, 4, 1]), Err(Error::Level { .. })));
    let mut short = parts([0, 3, 1]);
    short.values.len = 4;
    let error = ust::gpu::DeviceTensor::from_parts(&gpu, &format, &[2, 4], short).unwrap_err();
    assert!(error.to_string().contains("fewer than its elements need"), "{error}");
}

#[test]
fn without_room_nothing_is_lost() {
    let Some((gpu, _one)) = gpu() else { return };
    let (a, x) = (matrix("CSC", 9), vector());
    let there = gpu.upload(&a).unwrap();
    let huge = Tensor::zeros(&[1 << 20, 1 << 12], "Dense", Dtype::F64);
    if let Ok(huge) = huge {
        emulator::set_memory(64 << 20);
        let error = gpu.upload(&huge).unwrap_err();
        emulator::set_memory(8 << 30);
        assert!(matches!(error, Error::Device(_)), "{error}");
        assert!(error.to_string().contains("bytes"), "{error}");
    }
    let y = gpu.einsum("y(i) = A(i,j) * x(j)").arg("A", &there).host_arg("x", &x).run().unwrap();
    let expected = einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", &x).run().unwrap();
    assert!(same(&y.download().unwrap(), &expected));
}

#[test]
fn tensors_of_the_host_are_copied_once() {
    let Some((_, _one)) = gpu() else { return };
    let (a, x) = (matrix("COO", 4), vector());
    let run = || {
        let call = einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", &x);
        call.backend(Backend::Named("cuda")).run().unwrap()
    };
    let before = tally().uploads;
    let (first, second) = (run(), run());
    // Levels and values of A, and the values of the vector.
    assert_eq!(tally().uploads - before, 3);
    assert!(same(&first, &second));
    // The result is there already.
    let again = einsum("y(j) = A(i,j) * x(i)").arg("A", &a).arg("x", &first);
    again.backend(Backend::Named("cuda")).run().unwrap();
    assert_eq!(tally().uploads - before, 3);
}

#[test]
fn long_rows_are_cut_by_stored_elements() {
    let Some((gpu, _one)) = gpu() else { return };
    // A row with most of the entries, rows without any, and a long one at the end.
    let (rows, columns) = (60_usize, 3000_usize);
    let length = |row: usize| match row {
        7 => 2900,
        59 => 700,
        row if row % 3 == 0 => 0,
        row => row % 5 + 1,
    };
    let mut crd = vec![Vec::new(), Vec::new()];
    for row in 0..rows {
        for at in 0..length(row) {
            crd[0].push(row as i64);
            crd[1].push((at * columns / length(row)) as i64);
        }
    }
    let values: Vec<f64> = (0..crd[0].len()).map(|at| (at % 13) as f64 - 6.5).collect();
    let coo = ust::Coo::new(vec![rows, columns], crd, values).unwrap();
    let x: Vec<f64> = (0..columns).map(|at| (at % 7) as f64 - 2.5).collect();
    let x = Tensor::from_array(ust::ndarray::Array1::from(x).into_dyn()).unwrap();
    for (format, dtype) in [("CSR", Dtype::F64), ("DCSR", Dtype::F64), ("CSR", Dtype::I32)] {
        let a = Tensor::from_coo(&coo, format).unwrap().cast_lossy(dtype);
        let x = x.cast_lossy(dtype);
        for text in ["y(i) = A(i,j) * x(j)", "y(i) = max(j, A(i,j) * x(j))", "y(i) = A(i,j)"] {
            let call = |call: ust::ops::Einsum| {
                let call = call.arg("A", &a);
                if text.contains("x(") { call.arg("x", &x) } else { call }
            };
            let expected = call(einsum(text)).run().unwrap().cast_lossy(Dtype::F64);
            let before = tally().by_stored;
            let there = gpu.upload(&a).unwrap();
            let run = || {
                let run = gpu.einsum(text).arg("A", &there);
                let run = if text.contains("x(") { run.host_arg("x", &x) } else { run };
                run.run().unwrap().download().unwrap()
            };
            let (found, again) = (run(), run());
            let [found, again] = [found, again].map(|y| y.cast_lossy(Dtype::F64));
            assert!(same(&found, &expected), "{text}, {format}, {dtype}");
            let bits = |y: &Tensor| y.values().typed::<f64>().unwrap().to_vec();
            assert_eq!(bits(&found), bits(&again), "the same bits every time");
            if !text.contains("max") {
                assert_eq!(tally().by_stored - before, 2, "{text}, {format}, {dtype}");
            }
        }
    }
}

/// Two matrices whose product has rows of every kind: none, few, hundreds and thousands of coordinates, coordinates
/// that begin at the same place of a table, and many products of few coordinates. Values are small integers, so that
/// sums are exact in any order.
fn products_of_every_size() -> [ust::Coo; 2] {
    let (rows, inner, columns) = (90_usize, 70_usize, 20_000_usize);
    // The upper bits of the product by which places are found.
    let begins = |k: &i64| (*k as u32).wrapping_mul(2_654_435_769) >> 24 == 90;
    let beside: Vec<i64> = (0..columns as i64).filter(begins).collect();
    assert!(beside.len() > 60);
    let row_of_b = |j: usize| -> Vec<i64> {
        match j {
            0 => (0..columns as i64).filter(|k| k % 3 != 1).collect(),
            1 => beside.clone(),
            2 => (0..2_500).map(|k| k * 8).collect(),
            3..10 => (0..64).map(|k| 19_000 + k).collect(),
            10..20 => Vec::new(),
            j => (0..j as i64 % 12).map(|k| (k * 1_621 + j as i64 * 37) % columns as i64).collect(),
        }
    };
    let row_of_a = |i: usize| -> Vec<usize> {
        match i {
            0 => (0..inner).collect(),
            1 => vec![1],
            2 => vec![2, 12, 30],
            3 => (3..10).collect(),
            4 => (1..inner).collect(),
            5 => vec![0],
            i if i % 7 == 6 => Vec::new(),
            i if i % 11 == 5 => (10..20).collect(),
            i => (20 + i % 3..inner).step_by(1 + i % 9).collect(),
        }
    };
    let value = |at: usize| (at % 5) as f64 - 1.0;
    let coo = |shape: [usize; 2], row_of: &dyn Fn(usize) -> Vec<i64>| {
        let mut crd = vec![Vec::new(), Vec::new()];
        for row in 0..shape[0] {
            let mut own = row_of(row);
            own.sort_unstable();
            own.dedup();
            crd[0].extend(own.iter().map(|_| row as i64));
            crd[1].extend(own);
        }
        let values: Vec<f64> = (0..crd[0].len()).map(value).collect();
        ust::Coo::new(shape.to_vec(), crd, values).unwrap()
    };
    let of_a = |i: usize| row_of_a(i).into_iter().map(|j| j as i64).collect();
    [coo([rows, inner], &of_a), coo([inner, columns], &row_of_b)]
}

#[test]
fn rows_are_collected_in_tables_of_their_size() {
    let Some((gpu, _one)) = gpu() else { return };
    let product = "C(i,k) = A(i,j) * B(j,k)";
    let cases = [
        (Dtype::F64, "CSR", "plus_times"),
        (Dtype::F32, "DCSR", "plus_times"),
        (Dtype::I64, "CSR", "plus_times"),
        (Dtype::Complex128, "CSR", "plus_times"),
        (Dtype::F64, "CSR", "min_plus"),
        (Dtype::Bf16, "COO", "plus_times"),
        (Dtype::I8, "CSR", "plus_times"),
    ];
    for (dtype, format, semiring) in cases {
        let [a, b] = products_of_every_size().map(|mut coo| {
            if dtype.is_complex() {
                let of = |(re, at): (&f64, usize)| Complex::new(*re, (at % 4) as f64 - 2.0);
                let values: Vec<_> =
                    coo.values.typed::<f64>().unwrap().iter().zip(0..).map(of).collect();
                coo.values = values.into();
            }
            let tensor = Tensor::from_coo(&coo, format).unwrap();
            tensor.cast_lossy(dtype)
        });
        let call = |call: ust::ops::Einsum| call.arg("A", &a).arg("B", &b).semiring(semiring);
        let expected = call(einsum(product)).format("CSR").run().unwrap();
        let (before, cuda) = (tally(), Backend::Named("cuda"));
        let found = call(einsum(product)).format("CSR").backend(cuda).run().unwrap();
        let case = format!("{dtype}, {format}, {semiring}");
        assert_eq!(tally().by_table - before.by_table, 1, "{case}");
        if dtype == Dtype::F64 {
            // Tables in shared memory, and one that is too large for it.
            assert_eq!(tally().programs - before.programs, 2, "{case}");
        }
        assert_eq!(found.nse(), expected.nse(), "{case}");
        assert!(found == expected, "{case}");
        let strict = call(einsum(product)).format("CSR").backend(cuda).strict().run().unwrap();
        assert!(strict == expected, "{case}");
        assert_eq!(tally().by_table - before.by_table, 1, "strict: {case}");
        // There is room for the result and for one large table at a time.
        let limit = if dtype.is_complex() { 1_600_000 } else { 1_000_000 };
        let small = call(einsum(product)).format("CSR").backend(cuda).memory_limit(limit);
        assert!(small.run().unwrap() == expected, "{case}");
    }
    drop(gpu);
}

#[test]
fn a_part_with_several_rows_has_one_table_for_all() {
    let Some((_gpu, _one)) = gpu() else { return };
    let coo = ust::generate::generate("random(6x40, nnz=120, seed=3)").unwrap();
    // Several rows `j` under each `i`.
    let (under, at) = (coo.crd[1].iter().map(|at| at % 5), coo.crd[1].iter().map(|at| at / 5 * 3));
    let crd = vec![coo.crd[0].clone(), under.collect(), at.collect()];
    let values: Vec<f64> = (0..crd[0].len()).map(|at| (at % 5) as f64 - 1.0).collect();
    let a = ust::Coo::new(vec![6, 5, 30], crd, values).unwrap();
    let a = Tensor::from_coo(&a, "CSF").unwrap();
    let text = "C(i,j,l) = A(i,j,k) * B(k,l)";
    for nnz in [60, 600, 4_000] {
        let b = format!("random(30x400, nnz={nnz}, seed=4)");
        let b = ust::generate::generate(&b).unwrap();
        let values: Vec<f64> = (0..b.crd[0].len()).map(|at| (at % 7) as f64 - 3.0).collect();
        let b = ust::Coo::new(b.shape.clone(), b.crd.clone(), values).unwrap();
        let b = Tensor::from_coo(&b, "CSR").unwrap();
        let call = || einsum(text).arg("A", &a).arg("B", &b).format("CSF");
        let before = tally().by_table;
        let found = call().backend(Backend::Named("cuda")).run().unwrap();
        assert_eq!(tally().by_table - before, 1, "{nnz}");
        assert!(found == call().run().unwrap(), "{nnz}");
    }
}

#[test]
fn sparse_results_stay_on_the_device() {
    let Some((gpu, _one)) = gpu() else { return };
    let (a, b) = (matrix("CSR", 11), matrix("CSR", 12));
    let [there_a, there_b, there_x] = [&a, &b, &vector()].map(|tensor| gpu.upload(tensor).unwrap());
    let product = "C(i,k) = A(i,j) * B(j,k)";
    let sum = "C(i,j) = A(i,j) + B(i,j)";
    for text in [product, sum] {
        for format in ["CSR", "DCSR", "COO", "CSC"] {
            let before = tally().uploads;
            let call = gpu.einsum(text).arg("A", &there_a).arg("B", &there_b).format(format);
            let c = call.run().unwrap();
            let y =
                gpu.einsum("y(i) = C(i,j) * x(j)").arg("C", &c).arg("x", &there_x).run().unwrap();
            // Rows of this format are what the kernels write.
            if format == "CSR" {
                assert_eq!(tally().uploads, before, "{text}");
            }
            let expected = einsum(text).arg("A", &a).arg("B", &b).format(format).run().unwrap();
            assert!(same(&c.download().unwrap(), &expected), "{text}, {format}");
            let expected = einsum("y(i) = C(i,j) * x(j)")
                .arg("C", &expected)
                .arg("x", vector())
                .run()
                .unwrap();
            assert!(same(&y.download().unwrap(), &expected), "{text}, {format}");
        }
    }
}

#[test]
fn tensors_are_first_used_in_another_stream() {
    let Some((gpu, _one)) = gpu() else { return };
    let other = gpu.with_new_stream().unwrap();
    for format in ["CSR", "DCSR", "COO"] {
        let a = matrix(format, 41);
        let (there, x) = (gpu.upload(&a).unwrap(), gpu.upload(&vector()).unwrap());
        let y = other.einsum("y(i) = A(i,j) * x(j)").arg("A", &there).arg("x", &x).run().unwrap();
        let expected =
            einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", vector()).run().unwrap();
        assert!(same(&y.download().unwrap(), &expected), "{format}");
    }
}

#[test]
fn indices_have_the_names_that_texts_use() {
    let a = matrix("CSC", 31).cast_lossy(Dtype::I32);
    let x = vector().cast_lossy(Dtype::I32);
    let call = einsum("y(at) = A(at,j) * x(j)").arg("A", &a).arg("x", &x);
    let kernel = call.backend(Backend::Named("cpp-text")).prepare().unwrap();
    let text = kernel.machine_code().unwrap();
    // The element that is being combined is `at` in the text.
    assert!(text.contains("& at = "), "{text}");
    assert!(text.contains("[at_]") && !text.contains("[at]"), "{text}");
    let Some((_gpu, _one)) = gpu() else { return };
    let (a, b) = (matrix("CSR", 32), matrix("CSR", 33));
    let call = |text: &str| einsum(text).arg("A", &a).arg("B", &b).format("CSR");
    let expected = call("C(i,k) = A(i,j) * B(j,k)").run().unwrap();
    for text in [
        "C(UST_FREE,own) = A(UST_FREE,width) * B(width,own)",
        "C(turn,team) = A(turn,slots) * B(slots,team)",
    ] {
        let found = call(text).backend(Backend::Named("cuda")).run().unwrap();
        assert!(same(&found, &expected), "{text}");
    }
}

#[test]
fn results_and_working_memory_share_a_limit() {
    let Some((_, _one)) = gpu() else { return };
    let (a, b) = (matrix("CSR", 51), matrix("CSR", 52));
    let run = |text: &str, format: &str, limit: u64| {
        let call = einsum(text).arg("A", &a).arg("B", &b).format(format).memory_limit(limit);
        call.backend(Backend::Named("cuda")).run()
    };
    for (text, format) in
        [("C(i,k) = A(i,j) * B(j,k)", "CSR"), ("C(i,j) = A(i,j) + B(i,j)", "DCSR")]
    {
        let needed = run(text, format, 1 << 30).unwrap().bytes() as u64;
        // The rows alone would fit.
        let error = run(text, format, needed + 100).unwrap_err().to_string();
        assert!(error.contains("bytes of the same run: the limit is"), "{text}: {error}");
        run(text, format, 6 * needed).unwrap();
    }
}

#[test]
fn results_beyond_all_addresses_are_refused() {
    let Some((_, _one)) = gpu() else { return };
    let coo = ust::Coo::new(vec![1 << 61, 30], vec![vec![5, 7], vec![1, 2]], vec![1.0_f64, 2.0]);
    let a = Tensor::from_coo(&coo.unwrap(), "DCSR").unwrap();
    let call = einsum("y(i) = A(i,j)").arg("A", &a).format("Dense").memory_limit(u64::MAX);
    let error = call.backend(Backend::Named("cuda")).run().unwrap_err();
    assert!(error.to_string().contains("too large"), "{error}");
}
