//! Matrices of nalgebra-sparse, and dense ones of nalgebra.

use nalgebra_sparse::na::{DMatrix, DVector};
use nalgebra_sparse::{CooMatrix, CscMatrix, CsrMatrix};
use ust_format::Format;

use super::compressed::{self, by_columns, extents, of_columns, vectors};
use crate::error::Error;
use crate::storage::Tensor;
use crate::storage::values::StoredElement;

/// From and to compressed rows, or columns.
macro_rules! compressed_matrix {
    ($Matrix:ident, $format:path, $try_new:ident, $lend:ident, $what:literal) => {
        /// Takes the arrays without a copy.
        impl<T: StoredElement> TryFrom<$Matrix<T>> for Tensor {
            type Error = Error;

            fn try_from(matrix: $Matrix<T>) -> Result<Self, Error> {
                let shape = [matrix.nrows(), matrix.ncols()];
                compressed::tensor(&$format()?, &shape, matrix.disassemble())
            }
        }

        /// Copies the arrays.
        impl<T: StoredElement> TryFrom<&$Matrix<T>> for Tensor {
            type Error = Error;

            fn try_from(matrix: &$Matrix<T>) -> Result<Self, Error> {
                let (pos, crd, values) = matrix.$lend();
                let arrays = (pos.to_vec(), crd.to_vec(), values.to_vec());
                compressed::tensor(&$format()?, &[matrix.nrows(), matrix.ncols()], arrays)
            }
        }

        #[doc = concat!("Gives the arrays of a tensor in ", $what, " that nobody shares, if its indices have 64 bits.")]
        impl<T: StoredElement> TryFrom<Tensor> for $Matrix<T> {
            type Error = Error;

            fn try_from(tensor: Tensor) -> Result<Self, Error> {
                let [rows, columns] = extents(&tensor)?;
                let (pos, crd, values) = vectors(&$format()?, tensor)?;
                let made = Self::$try_new(rows, columns, pos, crd, values);
                made.map_err(|why| Error::Parts(why.to_string()))
            }
        }

        /// Copies the arrays.
        impl<T: StoredElement> TryFrom<&Tensor> for $Matrix<T> {
            type Error = Error;

            fn try_from(tensor: &Tensor) -> Result<Self, Error> {
                tensor.clone().try_into()
            }
        }
    };
}
compressed_matrix!(CsrMatrix, compressed::rows, try_from_csr_data, csr_data, "compressed rows");
compressed_matrix!(
    CscMatrix,
    compressed::columns,
    try_from_csc_data,
    csc_data,
    "compressed columns"
);

/// In the format COO. Entries at the same place are summed.
impl<T: StoredElement> TryFrom<CooMatrix<T>> for Tensor {
    type Error = Error;

    fn try_from(matrix: CooMatrix<T>) -> Result<Self, Error> {
        let shape = [matrix.nrows(), matrix.ncols()];
        let (rows, columns, values) = matrix.disassemble();
        let format = Format::resolve("COO", Some(2))?;
        Self::from_triplets(shape, rows, columns, T::wrap(values.into()), &format)
    }
}

/// In the format COO. Entries at the same place are summed.
impl<T: StoredElement> TryFrom<&CooMatrix<T>> for Tensor {
    type Error = Error;

    fn try_from(matrix: &CooMatrix<T>) -> Result<Self, Error> {
        matrix.clone().try_into()
    }
}

/// The entries, in the order in which they are stored.
///
/// ```
/// use ust::{Dtype, Tensor, neighbours::nalgebra_sparse::{CooMatrix, CsrMatrix}};
/// let one = Tensor::eye(3, "DIA", Dtype::F64)?;
/// let entries = CooMatrix::<f64>::try_from(&one)?;
/// assert_eq!(entries.row_indices(), [0, 1, 2]);
/// assert_eq!(CsrMatrix::from(&entries), CsrMatrix::try_from(&one)?);
/// # Ok::<(), ust::Error>(())
/// ```
impl<T: StoredElement> TryFrom<&Tensor> for CooMatrix<T> {
    type Error = Error;

    fn try_from(tensor: &Tensor) -> Result<Self, Error> {
        let [rows, columns] = extents(tensor)?;
        let (crd, values) = compressed::entries(tensor)?;
        let [of_rows, of_columns] =
            crd.map(|column: Vec<i64>| column.into_iter().map(|at| at as usize).collect());
        let made = Self::try_from_triplets(rows, columns, of_rows, of_columns, values);
        made.map_err(|why| Error::Parts(why.to_string()))
    }
}

/// Takes the elements without a copy, as columns.
///
/// ```
/// use ust::{einsum, neighbours::nalgebra_sparse::{CsrMatrix, na::{DMatrix, DVector}}};
/// let dense = DMatrix::from_row_slice(2, 2, &[1.0, 0.0, 2.0, 3.0]);
/// let (a, x) = (CsrMatrix::from(&dense), DVector::from_vec(vec![10.0, 1.0]));
/// let y = einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", &x).run()?;
/// assert_eq!(y.values().typed::<f64>()?, [10.0, 23.0]);
/// let c = einsum("C(i,j) = A(i,k) * B(k,j)").arg("A", a).arg("B", &dense).run()?;
/// assert_eq!(DMatrix::try_from(&c)?, &dense * &dense);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<T: StoredElement> TryFrom<DMatrix<T>> for Tensor {
    type Error = Error;

    fn try_from(matrix: DMatrix<T>) -> Result<Self, Error> {
        let shape = [matrix.nrows(), matrix.ncols()];
        of_columns(shape, matrix.data.into())
    }
}

/// Copies the elements.
impl<T: StoredElement> TryFrom<&DMatrix<T>> for Tensor {
    type Error = Error;

    fn try_from(matrix: &DMatrix<T>) -> Result<Self, Error> {
        of_columns([matrix.nrows(), matrix.ncols()], matrix.as_slice().to_vec())
    }
}

/// All elements.
impl<T: StoredElement> TryFrom<&Tensor> for DMatrix<T> {
    type Error = Error;

    fn try_from(tensor: &Tensor) -> Result<Self, Error> {
        let ([rows, columns], elements) = by_columns(tensor)?;
        Ok(Self::from_vec(rows, columns, elements))
    }
}

/// Takes the elements without a copy.
impl<T: StoredElement> TryFrom<DVector<T>> for Tensor {
    type Error = Error;

    fn try_from(vector: DVector<T>) -> Result<Self, Error> {
        Self::full(&[vector.len()], T::wrap(Vec::from(vector.data).into()))
    }
}

/// Copies the elements.
impl<T: StoredElement> TryFrom<&DVector<T>> for Tensor {
    type Error = Error;

    fn try_from(vector: &DVector<T>) -> Result<Self, Error> {
        vector.clone().try_into()
    }
}

/// All elements.
impl<T: StoredElement> TryFrom<&Tensor> for DVector<T> {
    type Error = Error;

    fn try_from(tensor: &Tensor) -> Result<Self, Error> {
        let [_] = extents(tensor)?;
        Ok(Self::from_vec(tensor.to_dense::<T>()?.into_iter().collect()))
    }
}

super::operands! {
    [T: StoredElement] CsrMatrix<T>;
    [T: StoredElement] &CsrMatrix<T>;
    [T: StoredElement] CscMatrix<T>;
    [T: StoredElement] &CscMatrix<T>;
    [T: StoredElement] CooMatrix<T>;
    [T: StoredElement] &CooMatrix<T>;
    [T: StoredElement] DMatrix<T>;
    [T: StoredElement] &DMatrix<T>;
    [T: StoredElement] DVector<T>;
    [T: StoredElement] &DVector<T>;
}
