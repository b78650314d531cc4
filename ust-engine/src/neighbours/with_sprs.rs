//! Matrices and vectors of sprs.

use std::ops::Deref;

use sprs::errors::StructureError;
use sprs::{
    CsMatBase, CsMatI, CsMatViewI, CsVecBase, CsVecI, CsVecViewI, SpIndex, TriMatBase, TriMatI,
};
use ust_format::Format;

use super::compressed::{self, Index, Vectors, arrays, extents, lent, slices, vectors};
use crate::error::Error;
use crate::storage::Tensor;
use crate::storage::coo::Coordinate;
use crate::storage::values::StoredElement;

/// Compressed rows or columns.
fn format(columns: bool) -> Result<Format, Error> {
    if columns { compressed::columns() } else { compressed::rows() }
}

/// Whether a tensor stores columns first.
fn stores_columns(tensor: &Tensor) -> bool {
    let first = tensor.format().levels().first();
    first.is_some_and(|level| level.expr.vars().into_iter().eq([1]))
}

/// The format of sparse vectors.
fn of_vectors() -> Result<Format, Error> {
    Ok(Format::resolve("SparseVector", Some(1))?)
}

/// What sprs says of arrays that it refuses, such as more than its indices count.
fn refused(why: &StructureError) -> Error {
    Error::Parts(why.to_string())
}

/// A matrix of arrays that belong to it, or are lent.
fn matrix<N, I, P, PS, IS, DS>(
    csc: bool,
    [rows, columns]: [usize; 2],
    (pos, crd, values): (PS, IS, DS),
) -> Result<CsMatBase<N, I, PS, IS, DS, P>, Error>
where
    I: SpIndex,
    P: SpIndex,
    PS: Deref<Target = [P]>,
    IS: Deref<Target = [I]>,
    DS: Deref<Target = [N]>,
{
    let made = match csc {
        true => CsMatBase::try_new_csc((rows, columns), pos, crd, values),
        false => CsMatBase::try_new((rows, columns), pos, crd, values),
    };
    made.map_err(|(.., why)| refused(&why))
}

/// Takes the arrays without a copy.
///
/// ```
/// use ust::{Tensor, einsum, neighbours::sprs::CsMat};
/// let a = CsMat::new((2, 3), vec![0, 1, 3], vec![2, 0, 1], vec![1.0, 2.0, 3.0]);
/// let y = einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", [1.0, 10.0, 100.0]).run()?;
/// assert_eq!(y.values().typed::<f64>()?, [100.0, 32.0]);
///
/// let values = a.data().as_ptr();
/// let tensor = Tensor::try_from(a)?;
/// assert_eq!(tensor.values().typed::<f64>()?.as_ptr(), values);
/// let back = CsMat::<f64>::try_from(tensor)?;
/// assert_eq!(back.data().as_ptr(), values);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<N: StoredElement, I: SpIndex + Index, P: SpIndex + Index> TryFrom<CsMatI<N, I, P>> for Tensor {
    type Error = Error;

    fn try_from(matrix: CsMatI<N, I, P>) -> Result<Self, Error> {
        let (format, shape) = (format(matrix.is_csc())?, [matrix.rows(), matrix.cols()]);
        // Positions of a part of a matrix begin anywhere.
        let proper = (!matrix.indptr().is_proper()).then(|| matrix.proper_indptr().into_owned());
        let (pos, crd, values) = matrix.into_raw_storage();
        compressed::tensor(&format, &shape, (proper.unwrap_or(pos), crd, values))
    }
}

/// Copies the arrays.
impl<N, I, P, PS, IS, DS> TryFrom<&CsMatBase<N, I, PS, IS, DS, P>> for Tensor
where
    N: StoredElement,
    I: SpIndex + Index,
    P: SpIndex + Index,
    PS: Deref<Target = [P]>,
    IS: Deref<Target = [I]>,
    DS: Deref<Target = [N]>,
{
    type Error = Error;

    fn try_from(matrix: &CsMatBase<N, I, PS, IS, DS, P>) -> Result<Self, Error> {
        let pos = matrix.proper_indptr().into_owned();
        let arrays = (pos, matrix.indices().to_vec(), matrix.data().to_vec());
        let shape = [matrix.rows(), matrix.cols()];
        compressed::tensor(&format(matrix.is_csc())?, &shape, arrays)
    }
}

/// Gives the arrays of a tensor that nobody shares. In CSC, if the tensor stores columns first; else in CSR.
impl<N: StoredElement, I: SpIndex + Index, P: SpIndex + Index> TryFrom<Tensor> for CsMatI<N, I, P> {
    type Error = Error;

    fn try_from(tensor: Tensor) -> Result<Self, Error> {
        let (shape, csc) = (extents(&tensor)?, stores_columns(&tensor));
        matrix(csc, shape, vectors(&format(csc)?, tensor)?)
    }
}

/// Copies the arrays. In CSC, if the tensor stores columns first; else in CSR.
impl<N: StoredElement, I: SpIndex + Index, P: SpIndex + Index> TryFrom<&Tensor>
    for CsMatI<N, I, P>
{
    type Error = Error;

    fn try_from(tensor: &Tensor) -> Result<Self, Error> {
        tensor.clone().try_into()
    }
}

/// Lends the arrays of a tensor in CSR or CSC.
///
/// ```
/// use ust::{Tensor, neighbours::sprs::CsMatViewI};
/// let a = Tensor::csc((3, 2), vec![0_u32, 1, 3], vec![2_u32, 0, 1], vec![1.0, 2.0, 3.0])?;
/// let view = CsMatViewI::<f64, u32>::try_from(&a)?;
/// assert!(view.is_csc() && view.get(2, 0) == Some(&1.0));
/// assert!(CsMatViewI::<f64, usize>::try_from(&a).is_err());
/// # Ok::<(), ust::Error>(())
/// ```
impl<'a, N: StoredElement, I: SpIndex + Index, P: SpIndex + Index> TryFrom<&'a Tensor>
    for CsMatViewI<'a, N, I, P>
{
    type Error = Error;

    fn try_from(tensor: &'a Tensor) -> Result<Self, Error> {
        let (shape, csc) = (extents(tensor)?, stores_columns(tensor));
        matrix(csc, shape, slices(&format(csc)?, tensor)?)
    }
}

/// Takes the arrays without a copy.
///
/// ```
/// use ust::{Tensor, neighbours::sprs::CsVec};
/// let x = Tensor::try_from(CsVec::new(9, vec![2, 7], vec![1.5, 2.5]))?;
/// assert_eq!(x.get_as::<f64>(&[7])?, 2.5);
/// assert_eq!(CsVec::<f64>::try_from(&x)?.indices(), [2, 7]);
/// # Ok::<(), ust::Error>(())
/// ```
impl<N: StoredElement, I: SpIndex + Index> TryFrom<CsVecI<N, I>> for Tensor {
    type Error = Error;

    fn try_from(vector: CsVecI<N, I>) -> Result<Self, Error> {
        let shape = [vector.dim()];
        let (crd, values) = vector.into_raw_storage();
        let pos = vec![0, values.len()];
        compressed::tensor(&of_vectors()?, &shape, (pos, crd, values))
    }
}

/// Copies the arrays.
impl<N, I, IS, DS> TryFrom<&CsVecBase<IS, DS, N, I>> for Tensor
where
    N: StoredElement,
    I: SpIndex + Index,
    IS: Deref<Target = [I]>,
    DS: Deref<Target = [N]>,
{
    type Error = Error;

    fn try_from(vector: &CsVecBase<IS, DS, N, I>) -> Result<Self, Error> {
        let owned =
            CsVecI::try_new(vector.dim(), vector.indices().to_vec(), vector.data().to_vec());
        owned.map_err(|(.., why)| refused(&why))?.try_into()
    }
}

/// Gives the arrays of a tensor that nobody shares.
impl<N: StoredElement, I: SpIndex + Index> TryFrom<Tensor> for CsVecI<N, I> {
    type Error = Error;

    fn try_from(tensor: Tensor) -> Result<Self, Error> {
        let [extent] = extents(&tensor)?;
        let format = of_vectors()?;
        let (_, crd, values): Vectors<usize, I, N> = vectors(&format, tensor)?;
        Self::try_new(extent, crd, values).map_err(|(.., why)| refused(&why))
    }
}

/// Copies the arrays.
impl<N: StoredElement, I: SpIndex + Index> TryFrom<&Tensor> for CsVecI<N, I> {
    type Error = Error;

    fn try_from(tensor: &Tensor) -> Result<Self, Error> {
        tensor.clone().try_into()
    }
}

/// Lends the arrays of a tensor in the format of sparse vectors.
impl<'a, N: StoredElement, I: SpIndex + Index> TryFrom<&'a Tensor> for CsVecViewI<'a, N, I> {
    type Error = Error;

    fn try_from(tensor: &'a Tensor) -> Result<Self, Error> {
        let [extent] = extents(tensor)?;
        let format = of_vectors()?;
        let ([_, crd], values) = arrays::<N>(&format, tensor)?;
        Self::try_new(extent, lent(crd)?, values).map_err(|(.., why)| refused(&why))
    }
}

/// In the format COO. Entries at the same place are summed.
impl<N, I, IS, DS> TryFrom<&TriMatBase<IS, DS>> for Tensor
where
    N: StoredElement,
    I: SpIndex + Coordinate,
    IS: Deref<Target = [I]>,
    DS: Deref<Target = [N]>,
{
    type Error = Error;

    fn try_from(triplets: &TriMatBase<IS, DS>) -> Result<Self, Error> {
        let (rows, columns) = (triplets.row_inds().to_vec(), triplets.col_inds().to_vec());
        let values = N::wrap(triplets.data().to_vec().into());
        let format = Format::resolve("COO", Some(2))?;
        Self::from_triplets([triplets.rows(), triplets.cols()], rows, columns, values, &format)
    }
}

/// The entries, in the order in which they are stored.
///
/// ```
/// use ust::{Dtype, Tensor, neighbours::sprs::TriMat};
/// let triplets = TriMat::<f64>::try_from(&Tensor::eye(3, "DIA", Dtype::F64)?)?;
/// assert_eq!((triplets.row_inds(), triplets.data()), (&[0, 1, 2][..], &[1.0; 3][..]));
/// assert_eq!(Tensor::try_from(&triplets)?.nnz(), 3);
/// # Ok::<(), ust::Error>(())
/// ```
impl<N: StoredElement + Clone, I: SpIndex> TryFrom<&Tensor> for TriMatI<N, I> {
    type Error = Error;

    fn try_from(tensor: &Tensor) -> Result<Self, Error> {
        let [rows, columns] = extents(tensor)?;
        let (crd, values) = compressed::entries(tensor)?;
        let each = |column: Vec<i64>| {
            let found = column.into_iter().map(|at| I::try_from_usize(at as usize));
            found.collect::<Option<Vec<I>>>().ok_or_else(|| {
                Error::TooLarge("a matrix whose coordinates the indices do not hold".to_owned())
            })
        };
        let [of_rows, of_columns] = crd;
        let (of_rows, of_columns) = (each(of_rows)?, each(of_columns)?);
        Ok(Self::from_triplets((rows, columns), of_rows, of_columns, values))
    }
}

super::operands! {
    [N: StoredElement, I: SpIndex + Index, P: SpIndex + Index] CsMatI<N, I, P>;
    [
        N: StoredElement,
        I: SpIndex + Index,
        P: SpIndex + Index,
        PS: Deref<Target = [P]>,
        IS: Deref<Target = [I]>,
        DS: Deref<Target = [N]>,
    ] &CsMatBase<N, I, PS, IS, DS, P>;
    [N: StoredElement, I: SpIndex + Index] CsVecI<N, I>;
    [
        N: StoredElement,
        I: SpIndex + Index,
        IS: Deref<Target = [I]>,
        DS: Deref<Target = [N]>,
    ] &CsVecBase<IS, DS, N, I>;
    [
        N: StoredElement,
        I: SpIndex + Coordinate,
        IS: Deref<Target = [I]>,
        DS: Deref<Target = [N]>,
    ] &TriMatBase<IS, DS>;
}
