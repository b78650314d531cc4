//! Native kernels against plain evaluation, in one piece and in many parts.

use proptest::prelude::*;
use ust::ops::{CancelToken, OpError};
use ust::tensor::Parts;
use ust::{Backend, Coo, Dtype, Error, Format, Tensor, einsum};

const PRODUCT: &str = "y(i) = A(i,j) * x(j)";
const TRANSPOSED: &str = "y(j) = A(i,j) * x(i)";
const DENSE: &str = "y(i,k) = A(i,j) * x(j,k)";
const TRANSPOSED_DENSE: &str = "y(j,k) = A(i,j) * x(i,k)";
const ALL: &[&str] = &[PRODUCT, TRANSPOSED, DENSE, TRANSPOSED_DENSE];

/// A provider, products that it takes, and formats.
const KERNELS: &[(&str, &[&str], &[&str])] = &[
    (
        "blocks",
        ALL,
        &[
            "BSR(1,4)",
            "BSR(2,2)",
            "BSR(3,8)",
            "BSR(4,4)",
            "BSR(6,3)",
            "BSR(9,5)",
            "BSR(2,7)",
            "BSR-Col(2,2)",
            "BSR-Col(4,4)",
            "BSR-Col(7,3)",
            "BSR-Col(8,5)",
            "BSR-Col(3,6)",
            "BSC(4,4)",
            "BSC(3,5)",
            "BSC-Col(4,4)",
            "BSC-Col(5,2)",
        ],
    ),
    // The kernels for vectors take blocks of some sizes alone.
    ("blocks", &[DENSE, TRANSPOSED_DENSE], &["BSR(13,11)", "BSC-Col(10,9)"]),
    ("diagonals", ALL, &["DIA-I", "DIA-J"]),
    ("full", &[DENSE, TRANSPOSED_DENSE], &["Dense", "DenseCol"]),
    (
        "groups",
        &[PRODUCT, DENSE],
        &[
            "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2, 4)), crdWidth = 2",
            "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2, 4)), crdWidth = 8",
            "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2, 4)), crdWidth = 16",
            "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2, 4)), crdWidth = 64",
            "2:4",
        ],
    ),
];

/// The shapes of what is multiplied with a matrix, and of the result, of so many columns where they
/// are no vectors.
fn shapes(text: &str, matrix: [usize; 2], width: usize) -> [Vec<usize>; 2] {
    let rows = match text {
        PRODUCT | DENSE => [matrix[1], matrix[0]],
        _ => matrix,
    };
    match text {
        DENSE | TRANSPOSED_DENSE => rows.map(|rows| vec![rows, width]),
        _ => rows.map(|rows| vec![rows]),
    }
}

/// The format of a result that is stored in full, row by row.
fn in_full(shape: &[usize]) -> String {
    format!("Dense({})", shape.len())
}

/// What a product gives, entry by entry.
fn plain(text: &str, a: &Coo, x: &ndarray::ArrayD<f64>, shape: &[usize]) -> ndarray::ArrayD<f64> {
    let mut y = ndarray::ArrayD::zeros(shape);
    let values = a.values.cast(Dtype::F64).expect("real numbers");
    let values = values.typed::<f64>().expect("double").to_vec();
    for (at, value) in values.into_iter().enumerate() {
        let [i, j] = [0, 1].map(|dim| a.crd[dim][at] as usize);
        let (own, taken) = if matches!(text, PRODUCT | DENSE) { (i, j) } else { (j, i) };
        let row = x.index_axis(ndarray::Axis(0), taken);
        let mut sums = y.index_axis_mut(ndarray::Axis(0), own);
        sums.scaled_add(value, &row);
    }
    y
}

/// A matrix with at most two entries in four neighbours of a row.
fn matrix(shape: [usize; 2], picks: &[u8], dtype: Dtype) -> Coo {
    let (mut crd, mut values) = ([Vec::new(), Vec::new()], Vec::new());
    let groups = shape[1].div_ceil(4);
    for (at, &pick) in picks.iter().cycle().take(shape[0] * groups).enumerate() {
        let places =
            [pick % 4, pick / 4 % 4].map(|place| (at % groups * 4) as i64 + i64::from(place));
        let distinct = if places[0] == places[1] { &places[..1] } else { &places[..] };
        for &j in distinct.iter().filter(|&&j| pick % 5 > 0 && (j as usize) < shape[1]) {
            crd[0].push((at / groups) as i64);
            crd[1].push(j);
            values.push(f64::from(pick) / 16.0 - 7.0);
        }
    }
    let coo = Coo::new(shape.to_vec(), crd.to_vec(), values).expect("inside the shape");
    Coo { values: coo.values.cast(dtype).expect("real numbers"), ..coo }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn what_a_kernel_gives_is_what_plain_evaluation_gives(
        shape in (0_usize..40, 0_usize..90),
        picks in proptest::collection::vec(any::<u8>(), 64),
        width in prop_oneof![0_usize..5, 20_usize..75],
        single in any::<bool>(),
        threads in 1_usize..3,
    ) {
        let dtype = if single { Dtype::F32 } else { Dtype::F64 };
        let entries = matrix([shape.0, shape.1], &picks, dtype);
        let numbers = |y: Tensor| y.cast(Dtype::F64).unwrap().to_dense::<f64>().unwrap();
        let texts = ALL.iter().map(|text| {
            let [of_x, of_y] = shapes(text, [shape.0, shape.1], width);
            let mut at = 0;
            let x = ndarray::ArrayD::from_shape_simple_fn(of_x, || {
                at += 1;
                f64::from(picks[at % 64]) - 99.5
            });
            let y = plain(text, &entries, &x, &of_y);
            (*text, (Tensor::from_array(x).unwrap().cast(dtype).unwrap(), y))
        });
        let texts: std::collections::HashMap<_, _> = texts.collect();
        for (provider, products, formats) in KERNELS {
            // Written for one family of machines alone.
            if *provider == "groups" && cfg!(not(target_arch = "x86_64")) {
                println!("skipped: {provider}: it is written for x86-64");
                continue;
            }
            let backend: Backend = provider.parse().expect("it is linked");
            let cases = formats.iter().flat_map(|f| products.iter().map(move |text| (f, *text)));
            for (format, text) in cases {
                let a = Tensor::from_coo(&entries, format.parse::<Format>().unwrap()).unwrap();
                let (x, expected) = &texts[text];
                let call = || {
                    let call = einsum(text).arg("A", &a).arg("x", x).threads(threads);
                    call.format(in_full(expected.shape()))
                };
                // What may be cancelled runs in parts, however little there is to do.
                let named = || call().backend(backend);
                for call in [named(), named().cancel(&CancelToken::new()), call()] {
                    let found = match call.run() {
                        Err(OpError::Tensor(Error::Refused { reason, .. }))
                            if reason.contains("this machine") || reason.contains("either sign") =>
                        {
                            println!("skipped: {provider}: {reason}");
                            continue;
                        }
                        found => numbers(found.unwrap()),
                    };
                    // Sixteenths times halves: sums are exact in any order.
                    prop_assert_eq!(&found, expected, "{} {} {}", provider, format, text);
                }
            }
        }
    }
}

/// Each of three matrices may be stored row by row or column by column, and be the transpose of what it
/// stands for.
#[test]
fn matrices_in_full_are_multiplied_in_any_order() {
    let numbers = |shape: [usize; 2], of: usize| {
        ndarray::Array2::from_shape_fn(shape, |(i, j)| ((i * 31 + j * 17 + of) % 11) as f64 - 5.0)
    };
    let shapes =
        [[0, 3, 5], [3, 0, 5], [4, 5, 0], [1, 1, 1], [7, 9, 300], [33, 1, 257], [5, 300, 41]];
    let texts = [
        "C(i,k) = A(i,j) * B(j,k)",
        "C(i,k) = B(j,k) * A(i,j)",
        "C(k,i) = A(i,j) * B(j,k)",
        "C(i,k) = A(j,i) * B(k,j)",
    ];
    for (number, ([rows, sums, width], text)) in
        shapes.iter().flat_map(|shape| texts.map(|text| (*shape, text))).enumerate()
    {
        let (a, b) = (numbers([rows, sums], number), numbers([sums, width], number + 3));
        let c = a.dot(&b);
        let flips = [text.contains("A(j,i)"), text.contains("B(k,j)"), text.contains("C(k,i)")];
        let [a, b, c] = [(a, flips[0]), (b, flips[1]), (c, flips[2])]
            .map(|(matrix, flips)| if flips { matrix.reversed_axes() } else { matrix });
        for orders in 0..8 {
            let formats = [0, 1, 2].map(|at| ["Dense", "DenseCol"][orders >> at & 1]);
            let [of_a, of_b, of_c] = formats.map(|text| text.parse::<Format>().unwrap());
            for (dtype, threads) in [(Dtype::F64, 1), (Dtype::F32, 2)] {
                let tensor = |matrix, format| {
                    Tensor::from_dense(matrix, format).unwrap().cast(dtype).unwrap()
                };
                let (a, b) = (tensor(&a, &of_a), tensor(&b, &of_b));
                let call = || {
                    let call = einsum(text).arg("A", &a).arg("B", &b).format(formats[2]);
                    call.threads(threads).backend("full".parse().unwrap())
                };
                // What may be cancelled runs in parts, however little there is to do.
                for call in [call(), call().cancel(&CancelToken::new())] {
                    let found = call.run().unwrap().cast(Dtype::F64).unwrap();
                    assert_eq!(found.format(), &of_c);
                    // Small integers: sums are exact in any order.
                    let found = found.to_dense::<f64>().unwrap();
                    assert_eq!(found, c.view().into_dyn(), "{text} {formats:?} {dtype}");
                }
            }
        }
    }
}

#[test]
fn matrices_of_nothing_give_zeros() {
    for shape in [[0, 0], [0, 7], [7, 0], [1, 7], [7, 9]] {
        let entries =
            Coo::new(shape.to_vec(), vec![Vec::<i64>::new(); 2], Vec::<f64>::new()).unwrap();
        for (backend, products, formats) in KERNELS {
            let formats = formats.iter().map(|text| text.parse::<Format>().unwrap());
            let a: Vec<Tensor> = formats.map(|f| Tensor::from_coo(&entries, &f).unwrap()).collect();
            let cases = a.iter().flat_map(|a| products.iter().map(move |text| (a, *text)));
            let cases =
                cases.flat_map(|case| [(case, 1, 0), (case, 1, 3), (case, 2, 0), (case, 2, 3)]);
            for ((a, text), threads, width) in cases {
                let [of_x, of_y] = shapes(text, shape, width);
                let x = Tensor::from_array(ndarray::ArrayD::from_elem(of_x, 2.0)).unwrap();
                let call = || {
                    let call = einsum(text).arg("A", a).arg("x", &x).threads(threads);
                    call.format(in_full(&of_y)).cancel(&CancelToken::new())
                };
                let zeros = |y: Tensor| {
                    let found = y.to_dense::<f64>().unwrap().into_raw_vec_and_offset().0;
                    let wanted = vec![0.0; of_y.iter().product()];
                    assert_eq!(found, wanted, "{backend} {text} {a:?}");
                };
                zeros(call().run().unwrap());
                match call().backend(backend.parse().unwrap()).run() {
                    // A kernel for another machine, or for differences of either sign.
                    Err(OpError::Tensor(Error::Refused { reason, .. })) => {
                        println!("skipped: {backend}: {reason}");
                    }
                    found => zeros(found.unwrap()),
                }
            }
        }
    }
}

/// Foreign coordinates may be signed, and of another width than the format would choose.
#[test]
fn groups_take_coordinates_of_any_kind() {
    let format: Format = "2:4".parse().unwrap();
    let a = Tensor::from_coo(&matrix([5, 70], &[1, 9, 14, 3, 5, 7], Dtype::F64), &format).unwrap();
    let x: Vec<f64> = (0..70).map(|at| f64::from(at % 7) + 1.0).collect();
    let x = Tensor::from_dense(&ndarray::Array1::from(x), "Dense(1)").unwrap();
    let product = |a: &Tensor| einsum(PRODUCT).arg("A", a).arg("x", &x).run().unwrap();
    let expected = product(&a.convert("CSR").unwrap());
    let crd = a.crd(2).unwrap().to_vec();
    macro_rules! agrees {
        ($($ty:ty)*) => {$(
            let own: Vec<$ty> = crd.iter().map(|&c| c as $ty).collect();
            let parts = Parts::new(vec![vec![], vec![], vec![own.into()]], a.values().clone());
            let foreign = Tensor::from_parts(&format, &[5, 70], parts).unwrap();
            // Values are multiples of a sixteenth: sums are exact in any order.
            assert_eq!(product(&foreign), expected, stringify!($ty));
        )*};
    }
    agrees!(u8 u16 u32 u64 i8 i16 i32 i64);
}

/// Rows are read beyond their ends where that is quicker: what stands there has no part in them.
#[test]
fn rows_beside_infinite_ones_stay_as_they_are() {
    let length = |row: usize| row / 2 % 12;
    let entries = |row: usize| (0..length(row)).map(move |k| (row, (row * 5 + k * 3) % 60));
    let places: Vec<(usize, usize)> = (0..200).flat_map(entries).collect();
    let column =
        |of: &dyn Fn(&(usize, usize)) -> usize| places.iter().map(|p| of(p) as i64).collect();
    for (infinite, dtype) in [(f64::INFINITY, Dtype::F64), (f64::NAN, Dtype::F32)] {
        let value =
            |&(row, j): &(usize, usize)| if row % 2 == 1 { infinite } else { (j % 8) as f64 };
        let values: Vec<f64> = places.iter().map(value).collect();
        let coo =
            Coo::new(vec![200, 60], vec![column(&|p| p.0), column(&|p| p.1)], values).unwrap();
        let a = Tensor::from_coo(&coo, "CSR").unwrap().cast(dtype).unwrap();
        let x: Vec<f64> = (0..60).map(|j| f64::from(j % 7) + 1.0).collect();
        let dense = ndarray::Array1::from(x.clone());
        let x_of = Tensor::from_dense(&dense, "Dense(1)").unwrap();
        let x_of = x_of.cast(dtype).unwrap();
        let y = einsum(PRODUCT).arg("A", &a).arg("x", &x_of).run().unwrap();
        for row in (0..200).step_by(2) {
            let expected: f64 = entries(row).map(|(_, j)| (j % 8) as f64 * x[j]).sum();
            // Small integers: sums are exact in any order.
            assert_eq!(
                y.cast(Dtype::F64).unwrap().get_as::<f64>(&[row]).unwrap(),
                expected,
                "{row}"
            );
        }
    }
}
