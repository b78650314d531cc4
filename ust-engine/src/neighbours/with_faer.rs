//! Matrices of faer: sparse ones in compressed columns and rows, and dense ones.

use faer::sparse::{
    SparseColMat, SparseColMatRef, SparseRowMat, SparseRowMatRef, SymbolicSparseColMat,
    SymbolicSparseColMatRef, SymbolicSparseRowMat, SymbolicSparseRowMatRef,
};
use faer::{Mat, MatRef};

use super::compressed::{self, Index, Vectors, by_columns, extents, of_columns, slices, vectors};
use crate::error::Error;
use crate::storage::Tensor;
use crate::storage::values::StoredElement;

/// Refuses extents that indices do not count with a sign, as faer does.
fn expect_countable<I: Index>(shape: [usize; 2]) -> Result<[usize; 2], Error> {
    let most = (1_u64 << (I::KIND.bits() - 1)) - 1;
    match shape.iter().all(|&extent| extent as u64 <= most) {
        true => Ok(shape),
        false => {
            let text =
                format!("a matrix of shape {shape:?}, for indices of {} bits", I::KIND.bits());
            Err(Error::TooLarge(text))
        }
    }
}

/// The arrays without the gaps that faer allows behind each column or row, which has so many entries.
fn without_gaps<I: Index + faer::Index, T: StoredElement>(
    counts: Option<&[I]>,
    (pos, crd, values): (&[I], &[I], &[T]),
) -> Vectors<usize, I, T> {
    let starts = pos.iter().map(|&start| start.zx());
    let Some(counts) = counts else {
        // There may be unused room behind the last one.
        let used = ..pos.last().map_or(0, |&end| end.zx());
        return (starts.collect(), crd[used].to_vec(), values[used].to_vec());
    };
    let mut made = (vec![0], Vec::new(), Vec::new());
    for (start, count) in starts.zip(counts) {
        let own = start..start + count.zx();
        made.1.extend_from_slice(&crd[own.clone()]);
        made.2.extend_from_slice(&values[own]);
        made.0.push(made.1.len());
    }
    made
}

/// From and to compressed columns, or rows.
macro_rules! sparse_matrix {
    (
        $Matrix:ident, $Ref:ident, $Pattern:ident, $PatternRef:ident, $format:path, $what:literal
    ) => {
        /// Takes the arrays without a copy, if there are no gaps between them.
        impl<I: Index + faer::Index, T: StoredElement> TryFrom<$Matrix<I, T>> for Tensor {
            type Error = Error;

            fn try_from(matrix: $Matrix<I, T>) -> Result<Self, Error> {
                let (pattern, values) = matrix.into_parts();
                let (rows, columns, pos, counts, crd) = pattern.into_parts();
                let shape = [rows, columns];
                let used = pos.last().map_or(0, |&end| end.zx());
                match counts {
                    None if used == crd.len() => {
                        compressed::tensor(&$format()?, &shape, (pos, crd, values))
                    }
                    counts => {
                        let arrays = without_gaps(counts.as_deref(), (&pos, &crd, &values));
                        compressed::tensor(&$format()?, &shape, arrays)
                    }
                }
            }
        }

        /// Copies the arrays.
        impl<I: Index + faer::Index, T: StoredElement> TryFrom<$Ref<'_, I, T>> for Tensor {
            type Error = Error;

            fn try_from(matrix: $Ref<'_, I, T>) -> Result<Self, Error> {
                let (pattern, values) = matrix.parts();
                let (rows, columns, pos, counts, crd) = pattern.parts();
                let arrays = without_gaps(counts, (pos, crd, values));
                compressed::tensor(&$format()?, &[rows, columns], arrays)
            }
        }

        /// Copies the arrays.
        impl<I: Index + faer::Index, T: StoredElement> TryFrom<&$Matrix<I, T>> for Tensor {
            type Error = Error;

            fn try_from(matrix: &$Matrix<I, T>) -> Result<Self, Error> {
                matrix.as_ref().try_into()
            }
        }

        #[doc = concat!("Gives the arrays of a tensor in ", $what, " that nobody shares.")]
        impl<I: Index + faer::Index, T: StoredElement> TryFrom<Tensor> for $Matrix<I, T> {
            type Error = Error;

            fn try_from(tensor: Tensor) -> Result<Self, Error> {
                let [rows, columns] = expect_countable::<I>(extents(&tensor)?)?;
                let (pos, crd, values) = vectors(&$format()?, tensor)?;
                Ok(Self::new($Pattern::new_checked(rows, columns, pos, None, crd), values))
            }
        }

        /// Copies the arrays.
        impl<I: Index + faer::Index, T: StoredElement> TryFrom<&Tensor> for $Matrix<I, T> {
            type Error = Error;

            fn try_from(tensor: &Tensor) -> Result<Self, Error> {
                tensor.clone().try_into()
            }
        }

        #[doc = concat!("Lends the arrays of a tensor in ", $what, ".")]
        impl<'a, I: Index + faer::Index, T: StoredElement> TryFrom<&'a Tensor> for $Ref<'a, I, T> {
            type Error = Error;

            fn try_from(tensor: &'a Tensor) -> Result<Self, Error> {
                let [rows, columns] = expect_countable::<I>(extents(tensor)?)?;
                let (pos, crd, values) = slices(&$format()?, tensor)?;
                Ok(Self::new($PatternRef::new_checked(rows, columns, pos, None, crd), values))
            }
        }

        super::operands! {
            [I: Index + faer::Index, T: StoredElement] $Matrix<I, T>;
            [I: Index + faer::Index, T: StoredElement] &$Matrix<I, T>;
            [I: Index + faer::Index, T: StoredElement] $Ref<'_, I, T>;
        }
    };
}
sparse_matrix!(
    SparseColMat,
    SparseColMatRef,
    SymbolicSparseColMat,
    SymbolicSparseColMatRef,
    compressed::columns,
    "compressed columns"
);
sparse_matrix!(
    SparseRowMat,
    SparseRowMatRef,
    SymbolicSparseRowMat,
    SymbolicSparseRowMatRef,
    compressed::rows,
    "compressed rows"
);

/// Copies the elements, as columns.
///
/// ```
/// use ust::neighbours::faer::{Mat, mat, sparse::{SparseColMat, SparseColMatRef, Triplet}};
/// use ust::{Tensor, einsum};
/// let entries = [Triplet::new(0_u32, 0_u32, 1.0), Triplet::new(1, 1, 2.0)];
/// let a = SparseColMat::try_new_from_triplets(2, 2, &entries).unwrap();
/// let dense = mat![[10.0, 1.0], [20.0, 3.0]];
/// let c = einsum("C(i,j) = A(i,k) * B(k,j)").arg("A", &a).arg("B", dense.as_ref()).run()?;
/// assert_eq!(Mat::<f64>::try_from(&c)?, &a * &dense);
///
/// let tensor = Tensor::try_from(a)?;
/// let lent = SparseColMatRef::<u32, f64>::try_from(&tensor)?;
/// assert_eq!(lent.val().as_ptr(), tensor.values().typed::<f64>()?.as_ptr());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<T: StoredElement> TryFrom<MatRef<'_, T>> for Tensor {
    type Error = Error;

    fn try_from(matrix: MatRef<'_, T>) -> Result<Self, Error> {
        let mut elements = Vec::with_capacity(matrix.nrows() * matrix.ncols());
        for column in matrix.col_iter() {
            elements.extend(column.iter().copied());
        }
        of_columns([matrix.nrows(), matrix.ncols()], elements)
    }
}

/// Copies the elements, as columns.
impl<T: StoredElement> TryFrom<&Mat<T>> for Tensor {
    type Error = Error;

    fn try_from(matrix: &Mat<T>) -> Result<Self, Error> {
        matrix.as_ref().try_into()
    }
}

/// All elements.
impl<T: StoredElement> TryFrom<&Tensor> for Mat<T> {
    type Error = Error;

    fn try_from(tensor: &Tensor) -> Result<Self, Error> {
        let ([rows, columns], elements) = by_columns::<T>(tensor)?;
        Ok(MatRef::from_column_major_slice(&elements, rows, columns).cloned())
    }
}

super::operands! {
    [T: StoredElement] MatRef<'_, T>;
    [T: StoredElement] &Mat<T>;
}
