//! Results agree with those of the interpreter, operands are sent once, and results stay where they are.

use std::sync::atomic::Ordering;

use own_memory::{FETCHED, LEVELS_SENT, VALUES_SENT};
use ust::ops::Einsum;
use ust::{Backend, Format, Tensor, einsum};

/// A matrix of 30 rows and columns.
fn matrix(format: &str, seed: usize) -> Tensor {
    let entry = |at: usize| ((at * 7 + seed) % 30, (at * at * 3 + at * seed) % 30);
    let mut entries: Vec<(usize, usize)> = (0..150).map(entry).collect();
    entries.sort_unstable();
    entries.dedup();
    let values: Vec<f64> = (0..entries.len()).map(|at| (at % 9) as f64 - 3.5).collect();
    let column = |of: fn(&(usize, usize)) -> usize| entries.iter().map(|e| of(e) as i64).collect();
    let coo = ust::Coo::new(vec![30, 30], vec![column(|e| e.0), column(|e| e.1)], values).unwrap();
    Tensor::from_coo(&coo, format).unwrap()
}

fn vector() -> Tensor {
    Tensor::from_array(
        (0..30).map(|at| f64::from(at) - 11.0).collect::<ndarray::Array1<_>>().into_dyn(),
    )
    .unwrap()
}

fn here() -> Backend {
    Backend::Named("own-memory")
}

fn run(call: Einsum, backend: Backend) -> Result<Tensor, ust::ops::OpError> {
    call.backend(backend).threads(1).run()
}

#[test]
fn operands_are_sent_once_and_results_stay() {
    let (a, x) = (matrix("CSR", 1), vector());
    let counts = || [&LEVELS_SENT, &VALUES_SENT, &FETCHED].map(|n| n.load(Ordering::Relaxed));
    let times = |x: &Tensor| run(einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", x), here());
    let y = times(&x).unwrap();
    assert_eq!(counts(), [2, 2, 0]);
    // The result of one run is the operand of the next: it is there, and nobody looked at it. Its levels have
    // no arrays, and are another tensor's.
    let z = times(&y).unwrap();
    assert_eq!(counts(), [3, 2, 0]);
    let again = times(&x.clone()).unwrap();
    assert_eq!(counts(), [3, 2, 0]);
    assert_eq!((again.nse(), again.shape()), (30, &[30][..]));
    let plain = |x: &Tensor| {
        let call = einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", x);
        run(call, Backend::INTERPRETER).unwrap()
    };
    assert_eq!(z, plain(&plain(&x)));
    assert_eq!(counts(), [3, 2, 1]);
    // Other values are sent anew, the levels not.
    let mut b = a.clone();
    b.values_mut::<f64>().unwrap()[0] = 100.0;
    let call = einsum("y(i) = A(i,j) * x(j)").arg("A", &b).arg("x", &x);
    assert_ne!(run(call, here()).unwrap(), again);
    assert_eq!(counts(), [3, 3, 3]);

    // In all formats, into all kinds of results.
    let expressions = [
        "y(i) = A(i,j) * x(j)",
        "y(j) = A(i,j) * x(i)",
        "C(i,j) = A(i,j) + B(i,j)",
        "C(i,j) = A(i,j) * B(i,j)",
        "C(i,k) = A(i,j) * B(j,k)",
        "C(i,j) = 2 * A(i,j)",
        "s = A(i,j) * B(i,j)",
    ];
    let mut done = 0;
    for format in ["CSR", "CSC", "COO", "DCSR", "BSR(2,3)", "DIA-I", "Dense"] {
        let [a, b] = [1, 4].map(|seed| matrix(format, seed));
        for expression in expressions {
            let call = || {
                let call = einsum(expression).arg("A", &a);
                let call = if expression.contains("x(") { call.arg("x", &x) } else { call };
                if expression.contains("B(") { call.arg("B", &b) } else { call }
            };
            let expected = run(call(), Backend::INTERPRETER).unwrap();
            match run(call(), here()) {
                Ok(found) => {
                    assert_eq!(found, expected, "{expression}, {format}");
                    done += 1;
                }
                Err(error) => assert!(error.to_string().contains("sort rows"), "{error}"),
            }
        }
    }
    assert!(done >= 40, "{done} of 49");
    let full = Format::full(2).unwrap();
    let call = einsum("C(i,k) = A(i,j) * B(j,k)").arg("A", &a).arg("B", &a).format(&full);
    let expected = einsum("C(i,k) = A(i,j) * B(j,k)").arg("A", &a).arg("B", &a).format(&full);
    assert_eq!(run(call, here()).unwrap(), run(expected, Backend::INTERPRETER).unwrap());
}
