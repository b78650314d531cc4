//! Storing and reading back: formats by the hundred, against a plain model.

use std::collections::BTreeMap;

use ust::tensor::{BuildOptions, Duplicates, Parts};
use ust::{Coo, Dtype, Error, Format, Scalar, Tensor};

fn format(text: &str) -> Format {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}

/// Every permutation of `0..n`.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in permutations(n - 1) {
        for at in 0..n {
            let mut longer = shorter.clone();
            longer.insert(at, n - 1);
            all.push(longer);
        }
    }
    all
}

/// Numbers that look random and are the same everywhere.
fn mix(n: u64) -> u64 {
    let mut z = n.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn sample(shape: &[usize], seed: u64) -> (Coo, BTreeMap<Vec<usize>, f64>) {
    let mut model = BTreeMap::new();
    let cells: usize = shape.iter().product();
    for cell in 0..cells {
        let random = mix(seed * 1000 + cell as u64);
        if random.is_multiple_of(3) {
            let mut rest = cell;
            let mut coordinates = vec![0; shape.len()];
            for (c, n) in coordinates.iter_mut().zip(shape).rev() {
                *c = rest % n;
                rest /= n;
            }
            model.insert(coordinates, (random % 97 + 1) as f64);
        }
    }
    let entries: Vec<_> = model.iter().rev().collect();
    let crd =
        (0..shape.len()).map(|d| entries.iter().map(|(c, _)| c[d] as i64).collect()).collect();
    let values: Vec<f64> = entries.iter().map(|(_, v)| **v).collect();
    (Coo::new(shape.to_vec(), crd, values).unwrap(), model)
}

fn stored(tensor: &Tensor) -> BTreeMap<Vec<usize>, f64> {
    let entries = tensor.entries().unwrap();
    entries.map(|e| (e.coordinates, f64::from_scalar_or_panic(e.value))).collect()
}

trait FromScalar {
    fn from_scalar_or_panic(scalar: Scalar) -> Self;
}

impl FromScalar for f64 {
    fn from_scalar_or_panic(scalar: Scalar) -> f64 {
        <f64 as ust::Element>::from_scalar(scalar).expect("an f64")
    }
}

#[test]
fn all_dense_and_compressed_formats_up_to_four_dimensions_store_and_read_back() {
    let shape = [3, 4, 2, 3];
    let mut count = 0;
    for rank in 1..=4 {
        let (coo, model) = sample(&shape[..rank], rank as u64);
        let names = &["i", "j", "k", "l"][..rank];
        for order in permutations(rank) {
            for types in 0..1_u32 << rank {
                let levels: Vec<String> = order
                    .iter()
                    .enumerate()
                    .map(|(level, &dim)| {
                        let ty = if types >> level & 1 == 0 { "dense" } else { "compressed" };
                        format!("{} : {ty}", names[dim])
                    })
                    .collect();
                let text = format!("({}) -> ({})", names.join(", "), levels.join(", "));
                let tensor = Tensor::from_coo(&coo, format(&text)).unwrap();
                assert_eq!(stored(&tensor), model, "{text}");
                count += 1;
            }
        }
    }
    assert_eq!(count, 2 + 8 + 48 + 384);
}

/// The formats of this test file beyond plain dense and compressed ones.
const FORMATS: &[&str] = &[
    "COO",
    "COO(col-major)",
    "CROW",
    "CCOL",
    "DIA-I",
    "DIA-J",
    "ANTI-DIA-I",
    "ANTI-DIA-J",
    "BSR(2,3)",
    "BSR-Col(2,3)",
    "BSC(2,3)",
    "BSC-Col(3,2)",
    "(i, j) -> (i / 2 : compressed, j / 3 : dense, i % 2 : dense, j % 3 : dense)",
    "(i, j) -> (i / 2 : dense, j : compressed, i % 2 : dense)",
    "(i, j) -> (i * 9 + j : compressed)",
    "(i, j) -> (i * 9 + j : dense)",
    "(i, j) -> ((i * 9 + j) / 4 : compressed, (i * 9 + j) % 4 : dense)",
    "(i, j) -> (i / 4 : dense, i % 4 / 2 : compressed, j : compressed, i % 2 : dense)",
    "(i, j) -> (i : dense, j : loose_compressed)",
    "(i, j) -> (j - i : dense, i : range)",
    "(i, j) -> (i + j : loose_compressed, j : range)",
    "(i, j) -> (i : compressed, j / 4 : compressed, j % 4 : structured(4, 4))",
    "(i, j) -> (i : dense, j : compressed(nonunique, nonordered)), posWidth = 8, crdWidth = 8",
];

#[test]
fn every_kind_of_matrix_format_stores_odd_shapes_and_converts_to_every_other() {
    for shape in [[5, 7], [7, 5], [1, 9], [4, 9], [1, 1]] {
        let (coo, model) = sample(&shape, shape[0] as u64);
        let tensors: Vec<Tensor> =
            FORMATS.iter().map(|f| Tensor::from_coo(&coo, format(f)).unwrap()).collect();
        for tensor in &tensors {
            assert_eq!(stored(tensor), model, "{tensor:?}");
            assert_eq!(tensor.nnz(), model.len());
            for i in 0..shape[0] {
                for j in 0..shape[1] {
                    let expected = model.get(&vec![i, j]).copied().unwrap_or(0.0);
                    assert_eq!(tensor.get_as::<f64>(&[i, j]).unwrap(), expected, "{tensor:?}");
                }
            }
            let (format, shape, parts) = tensor.clone().into_parts();
            assert_eq!(&Tensor::from_parts(&format, &shape, parts).unwrap(), tensor);
            for other in &tensors {
                assert_eq!(&tensor.convert(other.format()).unwrap(), other);
            }
        }
    }
}

#[test]
fn empty_tensors_and_zero_extents_are_stored() {
    for shape in [[0, 0], [0, 3], [3, 0], [4, 4]] {
        for text in FORMATS {
            let tensor = Tensor::zeros(&shape, format(text), Dtype::F32).unwrap();
            assert_eq!(tensor.nnz(), 0);
            assert_eq!(tensor.to_dense::<f32>().unwrap().shape(), shape);
            let (format, shape, parts) = tensor.into_parts();
            Tensor::from_parts(&format, &shape, parts).unwrap();
        }
    }
}

#[test]
fn a_scalar_has_one_value_and_no_levels() {
    let scalar = Tensor::from_scalar(Scalar::I16(-4)).unwrap();
    assert_eq!((scalar.nse(), scalar.rank()), (1, 0));
    assert_eq!(scalar.get_as::<i16>(&[]).unwrap(), -4);
    assert_eq!(scalar.convert(format("() -> ()")).unwrap(), scalar);
}

#[test]
fn duplicates_are_summed_kept_or_refused() {
    let coo = Coo::new(vec![3], vec![vec![1, 1]], vec![3, 4]).unwrap();
    let build = |text, duplicates| {
        let options = BuildOptions { duplicates, ..Default::default() };
        Tensor::from_coo_with(&coo, format(text), &options)
    };
    let kept = build("(i) -> (i : compressed(nonunique))", Duplicates::AsFormat).unwrap();
    assert_eq!(kept.values().typed::<i32>().unwrap(), [3, 4]);
    assert_eq!(kept.get_as::<i32>(&[1]).unwrap(), 7);
    assert!(!kept.is_coalesced().unwrap());
    let summed = kept.coalesce().unwrap();
    assert_eq!(summed.values().typed::<i32>().unwrap(), [7]);
    assert!(summed.is_coalesced().unwrap());
    let unique = build("(i) -> (i : compressed)", Duplicates::AsFormat).unwrap();
    assert_eq!(unique.values().typed::<i32>().unwrap(), [7]);
    let refused = build("(i) -> (i : compressed)", Duplicates::Refuse);
    assert!(matches!(refused, Err(Error::Duplicate { coordinates }) if coordinates == [1]));
}

#[test]
fn integer_duplicates_that_sum_beyond_their_dtype_are_refused() {
    let coo = Coo::new(vec![3], vec![vec![1, 0, 1]], vec![100_i8, 5, 100]).unwrap();
    let nonunique = format("(i) -> (i : compressed(nonunique))");
    let kept = Tensor::from_coo(&coo, &nonunique).unwrap();
    for error in [
        Tensor::from_coo(&coo, format("SparseVector")).unwrap_err(),
        kept.coalesce().unwrap_err(),
        kept.to_dense::<i8>().unwrap_err(),
    ] {
        assert!(matches!(&error, Error::Sum { coordinates, .. } if *coordinates == [1]), "{error}");
    }
    let wide = kept.cast(Dtype::I16).unwrap().coalesce().unwrap();
    assert_eq!(wide.values().typed::<i16>().unwrap(), [5, 200]);
}

#[test]
fn gaps_between_segments_do_not_make_a_tensor_uncoalesced() {
    let loose = |crd: Vec<i32>| {
        let levels = vec![vec![vec![1_i32, 3].into(), crd.into()]];
        let parts = Parts::new(levels, vec![7.0, 1.0, 2.0]);
        Tensor::from_parts(format("(i) -> (i : loose_compressed(nonunique))"), &[4], parts).unwrap()
    };
    for (crd, coalesced) in [(vec![3, 0, 2], true), (vec![3, 2, 2], false)] {
        assert_eq!(loose(crd.clone()).is_coalesced().unwrap(), coalesced, "{crd:?}");
    }
}

#[test]
fn zeros_that_cancel_stay_until_they_are_eliminated() {
    let coo =
        Coo::new(vec![2, 2], vec![vec![0, 0, 1], vec![1, 1, 0]], vec![1.0, -1.0, 5.0]).unwrap();
    let csr = Tensor::from_coo(&coo, format("CSR")).unwrap();
    assert_eq!(csr.values().typed::<f64>().unwrap(), [0.0, 5.0]);
    assert_eq!((csr.nse(), csr.nnz()), (2, 1));
    let coo = csr.convert(format("COO")).unwrap();
    assert_eq!(coo.nse(), 2, "an explicit zero is an entry");
    assert_eq!(csr.eliminate_zeros().unwrap().values().typed::<f64>().unwrap(), [5.0]);
    let dense = csr.convert(format("Dense(2)")).unwrap();
    assert_eq!(dense.convert(format("CSR")).unwrap().nse(), 1, "in a dense format it is padding");
}

#[test]
fn a_group_with_too_many_nonzeros_is_refused_with_its_place() {
    let dense = ndarray::array![[1, 2, 0, 3]];
    let error = Tensor::from_dense(&dense, &format("2:4")).unwrap_err();
    assert!(matches!(error, Error::Level { level: 2, .. }), "{error}");
    assert!(error.to_string().contains("at most 2"), "{error}");
}

#[test]
fn widths_that_are_too_narrow_are_refused_and_defaults_fit() {
    let coo = Coo::new(vec![1, 300], vec![vec![0], vec![299]], vec![1.0]).unwrap();
    let error = Tensor::from_coo(&coo, format("CSR").with_widths(0, 8).unwrap()).unwrap_err();
    assert!(error.to_string().contains("299"), "{error}");
    let wide = Tensor::from_coo(&coo, format("CSR")).unwrap();
    assert_eq!(wide.crd(1).unwrap().kind().bits(), 32);
    let coo =
        Coo::new(vec![1, 1 << 40], vec![vec![0], vec![(1_i64 << 40) - 1]], vec![1.0]).unwrap();
    let wider = Tensor::from_coo(&coo, format("CSR")).unwrap();
    assert_eq!(wider.crd(1).unwrap().kind().bits(), 64);
}

#[test]
fn implausible_dense_shapes_are_refused_not_tried() {
    for (shape, text) in [
        (vec![1 << 40, 1 << 40], "Dense(2)"),
        (vec![1 << 30, 1 << 30], "Dense(2)"),
        (vec![1 << 40, 5], "CSR"),
        (vec![usize::MAX, 5], "CSR"),
        (
            vec![1 << 28, 1 << 16],
            "(i, j) -> (i : dense, j / 65536 : dense, j % 65536 : structured(32768, 65536))",
        ),
    ] {
        let error = Tensor::zeros(&shape, format(text), Dtype::F64).unwrap_err();
        assert!(!error.to_string().is_empty());
    }
    let hypersparse = Tensor::zeros(&[1 << 40, 1 << 40], format("DCSR"), Dtype::F64).unwrap();
    assert_eq!(hypersparse.nse(), 0);
}

#[test]
fn slices_are_strided_views_that_share_the_arrays() {
    use ust::tensor::Window;
    let (coo, model) = sample(&[6, 8], 3);
    let windows =
        [Window { offset: 1, size: 2, stride: 3 }, Window { offset: 0, size: 4, stride: 2 }];
    for text in FORMATS {
        let whole = Tensor::from_coo(&coo, format(text)).unwrap();
        let slice = whole.slice(windows).unwrap();
        assert_eq!(slice.shape(), [2, 4]);
        for i in 0..2 {
            for j in 0..4 {
                let expected = model.get(&vec![1 + 3 * i, 2 * j]).copied().unwrap_or(0.0);
                assert_eq!(slice.get_as::<f64>(&[i, j]).unwrap(), expected, "{text} at {i} {j}");
            }
        }
        let copied = slice.convert(format("CSR")).unwrap();
        assert_eq!(copied.to_dense::<f64>().unwrap(), slice.to_dense::<f64>().unwrap());
    }
    let sliced = format("(i : slice(0, 4, 1), j : slice(0, 4, ?)) -> (i : dense, j : compressed)");
    let csr = Tensor::from_coo(&coo, format("CSR")).unwrap();
    assert!(csr.view_as(&sliced, &[]).is_err(), "`?` must be bound");
    assert!(csr.convert(&sliced).is_err(), "a slice is no result format");
    let bound =
        [Window { offset: 0, size: 4, stride: 1 }, Window { offset: 0, size: 4, stride: 2 }];
    assert_eq!(csr.view_as(&sliced, &bound).unwrap().shape(), [4, 4]);
}

#[test]
fn nonzero_fill_values_are_what_is_not_stored() {
    let options = BuildOptions { fill: Some(Scalar::F64(1.5)), ..Default::default() };
    let dense = ndarray::array![[1.5, 2.0], [0.0, 1.5]];
    for text in ["CSR", "COO", "Dense(2)", "BSR(2,2)", "DIA-I"] {
        let tensor = Tensor::from_dense_with(&dense, &format(text), &options).unwrap();
        assert_eq!(tensor.nnz(), 2, "{text}");
        assert_eq!(tensor.to_dense::<f64>().unwrap(), dense.clone().into_dyn(), "{text}");
    }
}

#[test]
fn dense_views_borrow_where_the_layout_allows() {
    let dense = ndarray::array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    for (text, borrows) in [
        ("Dense(2)", true),
        ("(i, j) -> (j : dense, i : dense)", true),
        ("CSR", false),
        ("BSR(2,3)", false),
    ] {
        let tensor = Tensor::from_dense(&dense, &format(text)).unwrap();
        let view = tensor.dense_view::<f64>();
        assert_eq!(view.is_some(), borrows, "{text}");
        if let Some(view) = view {
            assert_eq!(view, dense.view().into_dyn(), "{text}");
        }
    }
    let nothing = ndarray::Array2::<f64>::zeros((0, 5)).into_dyn();
    let tensor = Tensor::from_dense(&nothing, &format("Dense(2)")).unwrap();
    assert_eq!(tensor.dense_view::<f64>().unwrap(), nothing.view());
    let array = dense.clone().into_dyn();
    let at = array.as_ptr();
    let taken = Tensor::try_from(array).unwrap();
    assert_eq!(taken.values().typed::<f64>().unwrap().as_ptr(), at, "taken without a copy");
}

#[test]
fn hybrid_rows_are_stored_whole_and_seen_as_blocks() {
    let text = "(i, j, k) -> (i : compressed(nonunique), j : singleton, k : dense)";
    let coo = Coo::new(
        vec![2, 3, 2],
        vec![vec![0, 1, 1, 1], vec![2, 0, 2, 2], vec![0, 1, 0, 1]],
        vec![3, 6, 7, 8],
    )
    .unwrap();
    let tensor = Tensor::from_coo(&coo, format(text)).unwrap();
    assert_eq!(tensor.block_shape(), [3, 2]);
    let expected = ndarray::array![[3, 0], [0, 6], [7, 8]].into_dyn();
    assert_eq!(tensor.block_view::<i32>().unwrap(), expected);
}

#[test]
fn foreign_arrays_are_checked_across_levels() {
    let coo = |i: Vec<u32>, j: Vec<u32>| {
        let n = i.len();
        let levels = vec![vec![vec![0_u32, n as u32].into(), i.into()], vec![j.into()]];
        Tensor::from_parts(format("COO"), &[3, 3], Parts::new(levels, vec![1.0; n]))
    };
    assert!(coo(vec![0, 0, 2], vec![0, 2, 1]).is_ok());
    assert!(matches!(coo(vec![0, 0], vec![2, 1]), Err(Error::Order { .. })));
    assert!(matches!(coo(vec![0, 0], vec![1, 1]), Err(Error::Duplicate { .. })));
    assert!(matches!(coo(vec![0, 3], vec![1, 1]), Err(Error::Level { level: 0, .. })));
}

#[test]
fn levels_with_room_to_spare_hold_elements_alone() {
    let coo = Coo::new(vec![3], vec![vec![0, 2]], vec![4, 5]).unwrap();
    let dense = Tensor::from_coo(&coo, format("(i) -> (i * 2 : dense)")).unwrap();
    let (format_, shape, mut parts) = dense.clone().into_parts();
    assert_eq!(dense.nse(), 5);
    parts.values = vec![4, 9, 0, 9, 5].into();
    let spare = Tensor::from_parts(&format_, &shape, parts).unwrap();
    assert_eq!(spare.to_coo().unwrap(), coo, "coordinates 1 and 3 stand for no element");
    let compressed = |crd: Vec<u8>| {
        let levels = vec![vec![vec![0_u8, 2].into(), crd.into()]];
        Tensor::from_parts(
            format("(i) -> (i * 2 : compressed)"),
            &[3],
            Parts::new(levels, vec![4, 5]),
        )
    };
    assert!(compressed(vec![0, 4]).is_ok());
    assert!(matches!(compressed(vec![0, 1]), Err(Error::Parts(_))));
}
