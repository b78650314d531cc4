//! Matrices and vectors of sprs.

use ust::neighbours::sprs::{
    CsMat, CsMatI, CsMatViewI, CsVec, CsVecI, CsVecViewI, TriMat, TriMatI,
};
use ust::{Backend, Dtype, Error, Tensor, einsum};

use crate::common::{FORMATS, Random, address, expect_close, expect_same};

#[test]
fn tensors_in_every_format_become_matrices_and_come_back() {
    let mut random = Random::fresh();
    for format in FORMATS {
        let a = random.matrix(format);
        let wide = CsMat::<f64>::try_from(&a).unwrap();
        let narrow = CsMatI::<f64, i32, u16>::try_from(&a).unwrap();
        assert_eq!(wide.shape(), (a.nrows(), a.ncols()), "{format}");
        assert_eq!(wide.is_csc(), matches!(format, "CSC" | "DCSC"), "{format}");
        for ([i, j], value) in a.iter::<f64, _>().unwrap() {
            assert_eq!(
                (wide.get(i, j), narrow.get(i, j)),
                (Some(&value), Some(&value)),
                "{format}"
            );
        }
        assert_eq!((wide.nnz(), narrow.nnz()), (a.nnz(), a.nnz()), "{format}");
        expect_same(&Tensor::try_from(&wide).unwrap(), &a);
        expect_same(&Tensor::try_from(&narrow.view()).unwrap(), &a);
        expect_same(&Tensor::try_from(narrow).unwrap(), &a);
        let triplets = TriMatI::<f64, i16>::try_from(&a).unwrap();
        expect_same(&Tensor::try_from(&triplets).unwrap(), &a);
    }
}

#[test]
fn arrays_that_nobody_shares_are_not_copied() {
    for (rows, matrix) in [
        (true, CsMat::new((2, 3), vec![0, 1, 3], vec![2, 0, 1], vec![1.0, 2.0, 3.0])),
        (false, CsMat::new_csc((3, 2), vec![0, 1, 3], vec![2, 0, 1], vec![1.0, 2.0, 3.0])),
    ] {
        let own = (matrix.indices().as_ptr(), matrix.data().as_ptr());
        let a = Tensor::try_from(matrix).unwrap();
        assert_eq!(a.format().name().as_deref(), Some(if rows { "CSR" } else { "CSC" }));
        assert_eq!(address(&a), own.1);

        let view = CsMatViewI::<f64, usize>::try_from(&a).unwrap();
        assert_eq!((view.indices().as_ptr(), view.data().as_ptr()), own);
        let copy = CsMat::<f64>::try_from(&a).unwrap();
        assert_ne!(copy.data().as_ptr(), own.1);
        assert_eq!(copy.view(), view);

        let shared = a.clone();
        let copy = CsMat::<f64>::try_from(shared).unwrap();
        assert_ne!(copy.data().as_ptr(), own.1);
        let back = CsMat::<f64>::try_from(a).unwrap();
        assert_eq!((back.indices().as_ptr(), back.data().as_ptr()), own);
    }
    let x = CsVec::new(9, vec![2, 7], vec![1.5, 2.5]);
    let own = (x.indices().as_ptr(), x.data().as_ptr());
    let a = Tensor::try_from(x).unwrap();
    let view = CsVecViewI::<f64>::try_from(&a).unwrap();
    assert_eq!((view.indices().as_ptr(), view.data().as_ptr()), own);
    let back = CsVec::<f64>::try_from(a).unwrap();
    assert_eq!((back.indices().as_ptr(), back.data().as_ptr()), own);
}

#[test]
fn a_part_of_a_matrix_is_a_tensor() {
    let whole = CsMat::new((3, 3), vec![0, 1, 3, 4], vec![2, 0, 1, 2], vec![1.0, 2.0, 3.0, 4.0]);
    let rows = Tensor::try_from(&whole.slice_outer(1..3)).unwrap();
    let expected = ust::ndarray::array![[2.0, 3.0, 0.0], [0.0, 0.0, 4.0]];
    assert_eq!(rows.to_dense::<f64>().unwrap(), expected.into_dyn());
    expect_same(&Tensor::try_from(whole.slice_outer(1..3).to_owned()).unwrap(), &rows);
}

#[test]
fn vectors_come_from_every_format_and_go_back() {
    let mut random = Random::fresh();
    let entries = random.entries(&[37], 11);
    for format in ["SparseVector", "DenseVector", "BlockedVector(4)"] {
        let a = Tensor::from_coo(&entries, format).unwrap();
        let x = CsVecI::<f64, u32>::try_from(&a).unwrap();
        assert_eq!((x.dim(), x.nnz()), (37, a.nnz()), "{format}");
        expect_same(&Tensor::try_from(&x).unwrap(), &a);
        expect_same(&Tensor::try_from(&x.view()).unwrap(), &a);
        expect_same(&Tensor::try_from(x).unwrap(), &a);
    }
}

#[test]
fn triplets_at_one_place_are_summed() {
    let mut triplets = TriMat::new((2, 2));
    for (i, j, value) in [(1, 0, 1.0), (0, 1, 2.0), (1, 0, 0.5)] {
        triplets.add_triplet(i, j, value);
    }
    let a = Tensor::try_from(&triplets).unwrap();
    let expected = ust::ndarray::array![[0.0, 2.0], [1.5, 0.0]];
    assert_eq!((a.nse(), a.to_dense::<f64>().unwrap()), (2, expected.into_dyn()));
}

#[test]
fn matrices_are_operands() {
    let mut random = Random::fresh();
    let (a, x) = (random.matrix("CSR"), random.entries(&[20], 9));
    let x = Tensor::from_coo(&x, "SparseVector").unwrap();
    let x = x.slice(..a.ncols()).unwrap().convert("SparseVector").unwrap();
    let text = "y(i) = A(i,j) * x(j)";
    let expected =
        einsum(text).arg("A", &a).arg("x", &x).backend(Backend::INTERPRETER).run().unwrap();
    let (m, v) = (CsMat::<f64>::try_from(&a).unwrap(), CsVec::<f64>::try_from(&x).unwrap());
    expect_close(&einsum(text).arg("A", &m).arg("x", &v).run().unwrap(), &expected);
    expect_close(&einsum(text).arg("A", &m.view()).arg("x", &v.view()).run().unwrap(), &expected);
    let triplets = TriMat::<f64>::try_from(&a).unwrap();
    expect_close(&einsum(text).arg("A", &triplets).arg("x", v).run().unwrap(), &expected);
    expect_close(&einsum(text).arg("A", m).arg("x", &x).run().unwrap(), &expected);
}

#[test]
fn what_does_not_fit_is_refused() {
    let a = Tensor::eye(40_000, "CSR", Dtype::F64).unwrap();
    let tight = CsMatI::<f64, i16>::try_from(&a).unwrap_err();
    assert!(matches!(tight, Error::TooLarge(_)), "{tight}");
    let other = CsMat::<f32>::try_from(&a).unwrap_err();
    assert!(matches!(other, Error::Dtype { expected: Dtype::F32, found: Dtype::F64 }), "{other}");
    let vector = CsVec::<f64>::try_from(&a).unwrap_err();
    assert!(matches!(vector, Error::Shape { .. }), "{vector}");
    let ones = Tensor::from_coo_with(
        &a.to_coo().unwrap(),
        "CSR",
        &ust::tensor::BuildOptions { fill: Some(1.0.into()), ..Default::default() },
    );
    let fill = CsMat::<f64>::try_from(&ones.unwrap()).unwrap_err();
    assert!(matches!(fill, Error::Unsupported(_)), "{fill}");
    // Views are of the very arrays.
    let kind = CsMatViewI::<f64, i64>::try_from(&a).unwrap_err();
    assert!(matches!(kind, Error::Parts(_)), "{kind}");
    let blocks = a.convert("BSR(2, 2)").unwrap();
    let format = CsMatViewI::<f64, u32>::try_from(&blocks).unwrap_err();
    assert!(matches!(format, Error::Unsupported(_)), "{format}");
    let part = a.slice(ust::ndarray::s![..;2, ..]).unwrap();
    let view = CsMatViewI::<f64, u32>::try_from(&part).unwrap_err();
    assert!(matches!(view, Error::Unsupported(_)), "{view}");
    assert_eq!(CsMat::<f64>::try_from(&part).unwrap().nnz(), 20_000);
}
