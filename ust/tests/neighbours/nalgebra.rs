//! Matrices of nalgebra-sparse, and dense ones of nalgebra.

use ust::neighbours::nalgebra_sparse::na::{DMatrix, DVector};
use ust::neighbours::nalgebra_sparse::{CooMatrix, CscMatrix, CsrMatrix};
use ust::{Backend, Error, Tensor, einsum};

use crate::common::{FORMATS, Random, address, expect_close, expect_same};

#[test]
fn tensors_in_every_format_become_matrices_and_come_back() {
    let mut random = Random::fresh();
    for format in FORMATS {
        let a = random.matrix(format);
        let rows = CsrMatrix::<f64>::try_from(&a).unwrap();
        let columns = CscMatrix::<f64>::try_from(&a).unwrap();
        let entries = CooMatrix::<f64>::try_from(&a).unwrap();
        let dense = DMatrix::<f64>::try_from(&a).unwrap();
        assert_eq!(
            (rows.nnz(), columns.nnz(), entries.nnz()),
            (a.nnz(), a.nnz(), a.nnz()),
            "{format}"
        );
        // What nalgebra sees.
        for made in [DMatrix::from(&rows), DMatrix::from(&columns), DMatrix::from(&entries)] {
            assert_eq!(made, dense, "{format}");
        }
        for [i, j] in [[0, 0], [a.nrows() - 1, a.ncols() - 1], [a.nrows() / 2, a.ncols() / 3]] {
            assert_eq!(dense[(i, j)], a.get_as::<f64>(&[i, j]).unwrap(), "{format}");
        }
        for again in
            [Tensor::try_from(&rows), Tensor::try_from(&columns), Tensor::try_from(&entries)]
        {
            expect_same(&again.unwrap(), &a);
        }
        let owned = [
            Tensor::try_from(rows),
            Tensor::try_from(columns),
            Tensor::try_from(entries),
            Tensor::try_from(dense),
        ];
        for again in owned {
            expect_same(&again.unwrap(), &a);
        }
    }
}

#[test]
fn arrays_that_nobody_shares_are_not_copied() {
    let rows =
        CsrMatrix::try_from_csr_data(2, 3, vec![0, 1, 3], vec![2, 0, 1], vec![1.0, 2.0, 3.0]);
    let columns =
        CscMatrix::try_from_csc_data(3, 2, vec![0, 1, 3], vec![2, 0, 1], vec![1.0, 2.0, 3.0]);
    let (rows, columns) = (rows.unwrap(), columns.unwrap());
    let own = [rows.values().as_ptr(), columns.values().as_ptr()];
    let [a, b] = [Tensor::try_from(rows).unwrap(), Tensor::try_from(columns).unwrap()];
    assert_eq!([address(&a), address(&b)], own);
    let names = [&a, &b].map(|tensor| tensor.format().name().unwrap());
    assert_eq!(names, ["CSR", "CSC"]);
    let (rows, columns) =
        (CsrMatrix::<f64>::try_from(a).unwrap(), CscMatrix::<f64>::try_from(b).unwrap());
    assert_eq!([rows.values().as_ptr(), columns.values().as_ptr()], own);

    let dense = DMatrix::from_row_slice(3, 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let own = dense.as_ptr();
    let a = Tensor::try_from(dense).unwrap();
    assert_eq!((address(&a), a.get_as::<f64>(&[2, 0]).unwrap()), (own, 5.0));
}

#[test]
fn entries_at_one_place_are_summed() {
    let mut entries = CooMatrix::new(2, 2);
    for (i, j, value) in [(1, 0, 1.0), (0, 1, 2.0), (1, 0, 0.5)] {
        entries.push(i, j, value);
    }
    let expected = Tensor::try_from(DMatrix::from_row_slice(2, 2, &[0.0, 2.0, 1.5, 0.0])).unwrap();
    expect_same(&Tensor::try_from(&entries).unwrap(), &expected);
    expect_same(&Tensor::try_from(entries).unwrap(), &expected);
}

#[test]
fn matrices_and_vectors_are_operands() {
    let mut random = Random::fresh();
    let a = random.matrix("CSC");
    let x = DVector::from_fn(a.ncols(), |_, _| random.number());
    let text = "y(i) = A(i,j) * x(j)";
    let call = einsum(text).arg("A", &a).arg("x", x.as_slice());
    let expected = call.backend(Backend::INTERPRETER).run().unwrap();
    let y = einsum(text).arg("A", CsrMatrix::<f64>::try_from(&a).unwrap()).arg("x", &x).run();
    expect_close(y.as_ref().unwrap(), &expected);
    let product = DMatrix::<f64>::try_from(&a).unwrap() * &x;
    assert!(
        (DVector::try_from(&y.unwrap()).unwrap() - &product).norm()
            <= 1e-14 * (1.0 + product.norm())
    );
    let y = einsum(text).arg("A", DMatrix::<f64>::try_from(&a).unwrap()).arg("x", x).run().unwrap();
    let apart = DVector::<f64>::try_from(&y).unwrap() - product;
    assert!(apart.norm() <= 1e-13);
}

#[test]
fn what_does_not_fit_is_refused() {
    let x = Tensor::try_from(DVector::from_vec(vec![1.0, 2.0])).unwrap();
    assert!(matches!(CsrMatrix::<f64>::try_from(&x), Err(Error::Shape { .. })));
    assert!(matches!(CooMatrix::<f64>::try_from(&x), Err(Error::Shape { .. })));
    assert!(matches!(DMatrix::<f64>::try_from(&x), Err(Error::Shape { .. })));
    let a = Tensor::try_from(DMatrix::from_row_slice(1, 2, &[1.0, 2.0])).unwrap();
    assert!(matches!(DVector::<f64>::try_from(&a), Err(Error::Shape { .. })));
    assert!(matches!(CscMatrix::<f32>::try_from(&a), Err(Error::Dtype { .. })));
    assert!(matches!(DMatrix::<f32>::try_from(&a), Err(Error::Dtype { .. })));
    assert!(matches!(CooMatrix::<f32>::try_from(&a), Err(Error::Dtype { .. })));
}
