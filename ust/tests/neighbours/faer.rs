//! Matrices of faer.

use ust::neighbours::Index;
use ust::neighbours::faer::sparse::{
    SparseColMat, SparseColMatRef, SparseRowMat, SparseRowMatRef, SymbolicSparseColMat,
    SymbolicSparseRowMat,
};
use ust::neighbours::faer::{self, Mat};
use ust::{Backend, Dtype, Error, Tensor, einsum};

use crate::common::{FORMATS, Random, address, expect_close, expect_same};

fn in_both<I: Index + faer::Index>(a: &Tensor, format: &str) {
    let columns = SparseColMat::<I, f64>::try_from(a).unwrap();
    let rows = SparseRowMat::<I, f64>::try_from(a).unwrap();
    let dense = Mat::<f64>::try_from(a).unwrap();
    assert_eq!((columns.to_dense(), rows.to_dense()), (dense.clone(), dense.clone()), "{format}");
    for [i, j] in [[0, 0], [a.nrows() - 1, a.ncols() - 1], [a.nrows() / 2, a.ncols() / 3]] {
        assert_eq!(dense[(i, j)], a.get_as::<f64>(&[i, j]).unwrap(), "{format}");
    }
    for again in [Tensor::try_from(&columns), Tensor::try_from(&rows), Tensor::try_from(&dense)] {
        expect_same(&again.unwrap(), a);
    }
    for again in [Tensor::try_from(columns), Tensor::try_from(rows)] {
        expect_same(&again.unwrap(), a);
    }
}

#[test]
fn tensors_in_every_format_become_matrices_and_come_back() {
    let mut random = Random::fresh();
    for format in FORMATS {
        let a = random.matrix(format);
        in_both::<u32>(&a, format);
        in_both::<u64>(&a, format);
        in_both::<usize>(&a, format);
    }
}

#[test]
fn arrays_that_nobody_shares_are_not_copied() {
    let (pos, crd) = (vec![0_usize, 1, 3], vec![2_usize, 0, 1]);
    let pattern = SymbolicSparseColMat::new_checked(3, 2, pos.clone(), None, crd.clone());
    let columns = SparseColMat::new(pattern, vec![1.0, 2.0, 3.0]);
    let pattern = SymbolicSparseRowMat::new_checked(2, 3, pos, None, crd);
    let rows = SparseRowMat::new(pattern, vec![1.0, 2.0, 3.0]);
    let own = [columns.val().as_ptr(), rows.val().as_ptr()];

    let [a, b] = [Tensor::try_from(columns).unwrap(), Tensor::try_from(rows).unwrap()];
    assert_eq!([address(&a), address(&b)], own);
    let names = [&a, &b].map(|tensor| tensor.format().name().unwrap());
    assert_eq!(names, ["CSC", "CSR"]);
    let lent = SparseColMatRef::<usize, f64>::try_from(&a).unwrap();
    assert_eq!((lent.val().as_ptr(), lent.row_idx()), (own[0], &[2, 0, 1][..]));
    let lent = SparseRowMatRef::<usize, f64>::try_from(&b).unwrap();
    assert_eq!((lent.val().as_ptr(), lent.col_idx()), (own[1], &[2, 0, 1][..]));

    let back = SparseColMat::<usize, f64>::try_from(a).unwrap();
    assert_eq!(back.val().as_ptr(), own[0]);
    let back = SparseRowMat::<usize, f64>::try_from(b).unwrap();
    assert_eq!(back.val().as_ptr(), own[1]);
}

#[test]
fn gaps_behind_columns_are_left_out() {
    let (pos, counts, crd) = (vec![0_u32, 3, 5], vec![1_u32, 2], vec![2_u32, 9, 9, 0, 1, 9, 9]);
    let values = vec![1.0, 8.0, 8.0, 2.0, 3.0, 8.0, 8.0];
    let expected = Tensor::csc((3, 2), vec![0, 1, 3], vec![2, 0, 1], vec![1.0, 2.0, 3.0]).unwrap();
    // With a number of entries for each column, and with room behind the last one.
    let gaps = SymbolicSparseColMat::new_checked(3, 2, pos, Some(counts), crd);
    let gaps = SparseColMat::new(gaps, values);
    expect_same(&Tensor::try_from(gaps.as_ref()).unwrap(), &expected);
    expect_same(&Tensor::try_from(gaps).unwrap(), &expected);
    let room = SymbolicSparseRowMat::new_checked(2, 3, vec![0_u32, 1, 3], None, vec![2, 0, 1, 0]);
    let room = SparseRowMat::new(room, vec![1.0, 2.0, 3.0, 8.0]);
    expect_same(&Tensor::try_from(&room).unwrap(), &expected.transpose());
    expect_same(&Tensor::try_from(room).unwrap(), &expected.transpose());
}

#[test]
fn matrices_are_operands() {
    let mut random = Random::fresh();
    let a = random.matrix("COO");
    let b = Mat::from_fn(a.ncols(), 3, |_, _| random.number());
    let text = "C(i,k) = A(i,j) * B(j,k)";
    let columns = SparseColMat::<u32, f64>::try_from(&a).unwrap();
    let c = einsum(text).arg("A", &columns).arg("B", &b).run().unwrap();
    let call = einsum(text).arg("A", &a).arg("B", b.as_ref()).backend(Backend::INTERPRETER);
    expect_close(&c, &call.run().unwrap());
    let apart = Mat::<f64>::try_from(&c).unwrap() - &columns * &b;
    assert!(apart.norm_l2() <= 1e-13);
    let part = b.as_ref().get(.., 1..3);
    let c = einsum(text).arg("A", columns).arg("B", part).run().unwrap();
    assert_eq!(c.shape(), [a.nrows(), 2]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let a = Tensor::eye(3, "CSR", Dtype::F64).unwrap();
    assert!(matches!(SparseColMat::<u32, f32>::try_from(&a), Err(Error::Dtype { .. })));
    assert!(matches!(Mat::<f32>::try_from(&a), Err(Error::Dtype { .. })));
    assert!(matches!(SparseColMatRef::<u32, f64>::try_from(&a), Err(Error::Unsupported(_))));
    let x = Tensor::constant(&[3], 1.0).unwrap();
    assert!(matches!(SparseRowMat::<u32, f64>::try_from(&x), Err(Error::Shape { .. })));
    // faer counts with a sign.
    let wide =
        Tensor::csr((1, 1 << 31), vec![0_u32, 0], Vec::<u32>::new(), Vec::<f64>::new()).unwrap();
    assert!(matches!(SparseRowMat::<u32, f64>::try_from(&wide), Err(Error::TooLarge(_))));
    assert!(SparseRowMat::<u64, f64>::try_from(&wide).is_ok());
}
