//! Other shapes of the same elements: reshaped, joined, split, repeated.

use ust_format::Format;
use ust_level_api::ir::cancel::pieces;

use super::dims::Dim;
use super::operators::aligned;
use super::{list, names};
use crate::convert::build::BuildOptions;
use crate::einsum::einsum;
use crate::error::Error;
use crate::expr::operator::typing::promote;
use crate::storage::coo::Coo;
use crate::storage::view::Window;
use crate::storage::{Tensor, Values};

impl Tensor {
    /// The same elements in another shape, in row-major order as in NumPy.
    ///
    /// ```
    /// use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0, 2], [0, 3, 0]], "CSR")?;
    /// let b = a.reshape(&[3, 2])?;
    /// assert_eq!(b.to_dense::<i32>()?, ndarray::array![[1, 0], [2, 0], [3, 0]].into_dyn());
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// The format stays if the rank does; otherwise the result is dense if this tensor is, and else a tree of
    /// compressed dimensions. Cost: nothing for a dense tensor in row-major order, else a pass over the coordinates.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of elements; as [`Tensor::convert`].
    pub fn reshape(&self, shape: &[usize]) -> Result<Self, Error> {
        let elements = |shape: &[usize]| {
            let each = shape.iter().map(|&extent| extent as u128);
            each.into_iter().try_fold(1_u128, u128::checked_mul)
        };
        let wanted = elements(self.shape());
        if wanted.is_none() || elements(shape) != wanted {
            let expected = format!("as many elements as shape {:?} has", self.shape());
            return Err(Error::Shape { found: shape.to_vec(), expected });
        }
        let format = self.format_for(shape.len())?;
        if self.view().is_whole() && *self.format() == Format::full(self.rank())? {
            let zero = self.fill().same(&self.dtype().zero());
            return match zero && format.is_full() {
                true => Self::full(shape, self.values().clone()),
                false => self.moved(shape, &format),
            };
        }
        self.moved(shape, &format)
    }

    /// All elements in one dimension. As [`Tensor::reshape`].
    ///
    /// # Errors
    /// As [`Tensor::reshape`].
    pub fn flatten(&self) -> Result<Self, Error> {
        let elements =
            self.shape().iter().try_fold(1_usize, |all, &extent| all.checked_mul(extent));
        let too_many = || Error::TooLarge(format!("the elements of shape {:?}", self.shape()));
        self.reshape(&[elements.ok_or_else(too_many)?])
    }

    /// The entries at other coordinates.
    fn moved(&self, shape: &[usize], format: &Format) -> Result<Self, Error> {
        let from = self.to_coo()?;
        let mut crd = vec![vec![0_i64; from.len()]; shape.len()];
        for at in pieces(from.len()).flatten() {
            let each = from.crd.iter().zip(&from.shape);
            let mut place =
                each.fold(0_u128, |place, (crd, &n)| place * n as u128 + crd[at] as u128);
            for (column, &extent) in crd.iter_mut().zip(shape).rev() {
                column[at] = (place % extent as u128) as i64;
                place /= extent as u128;
            }
        }
        let coo = Coo { shape: shape.to_vec(), crd, values: from.values };
        self.alike(&coo, format)
    }

    /// A tensor of these entries, with the fill value of this one.
    fn alike(&self, coo: &Coo, format: &Format) -> Result<Self, Error> {
        let options = BuildOptions { fill: Some(self.fill()), ..BuildOptions::default() };
        Self::from_coo_with(coo, format, &options)
    }

    /// This tensor, repeated along dimensions that it does not have, or has with extent 1, as in NumPy.
    ///
    /// ```
    /// use ust::Tensor;
    /// let row = Tensor::from_dense(&ndarray::array![1, 0, 2], "SparseVector")?;
    /// let b = row.broadcast_to(&[2, 3])?;
    /// assert_eq!(b.to_dense::<i32>()?, ndarray::array![[1, 0, 2], [1, 0, 2]].into_dyn());
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// Operators broadcast without this. Cost: the elements are stored each.
    ///
    /// # Errors
    /// [`Error::Shape`] if it cannot be repeated to that shape.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self, Error> {
        let fits = self.rank() <= shape.len()
            && self
                .shape()
                .iter()
                .rev()
                .zip(shape.iter().rev())
                .all(|(&own, &n)| own == n || own == 1);
        if !fits {
            let expected = format!("a shape that {:?} can be repeated to", self.shape());
            return Err(Error::Shape { found: shape.to_vec(), expected });
        }
        let (tensor, own) = aligned(self, shape)?;
        let all = names(shape.len());
        let call = einsum(&format!("R({}) = A({own})", list(&all))).arg("A", &tensor);
        let call = all.iter().zip(shape).fold(call, |call, (name, &n)| call.extent(name, n));
        Ok(call.format(self.format_for(shape.len())?).run()?)
    }

    /// Tensors behind one another along a dimension. Their other extents are equal. The result has the format and the
    /// fill value of the first, and the dtype that holds all.
    ///
    /// ```
    /// use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0], [2, 3]], "CSR")?;
    /// let b = Tensor::from_dense(&ndarray::array![[0, 4]], "COO")?;
    /// let c = Tensor::concat(&[&a, &b], 0)?;
    /// assert_eq!(c.to_dense::<i32>()?, ndarray::array![[1, 0], [2, 3], [0, 4]].into_dyn());
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// Cost: the result is built of the entries of all.
    ///
    /// # Errors
    /// [`Error::Shape`] for no tensor, or extents that differ; [`Error::Unsupported`] for fill values that differ.
    pub fn concat(tensors: &[&Self], dim: impl Dim) -> Result<Self, Error> {
        let Some(first) = tensors.first() else {
            let expected = "one tensor at least".to_owned();
            return Err(Error::Shape { found: vec![0], expected });
        };
        let dim = first.dim(dim)?;
        let mut shape = first.shape().to_vec();
        shape[dim] = 0;
        let dtype = tensors.iter().map(|tensor| tensor.dtype()).reduce(promote);
        let dtype = dtype.expect("there is a first tensor");
        let mut crd = vec![Vec::new(); first.rank()];
        let mut all: Option<Values> = None;
        for tensor in tensors {
            let mut others = tensor.shape().to_vec();
            if let Some(extent) = others.get_mut(dim) {
                *extent = shape[dim];
            }
            if others != shape {
                let expected = format!(
                    "all extents but that of dimension {dim} are those of {:?}",
                    first.shape()
                );
                return Err(Error::Shape { found: tensor.shape().to_vec(), expected });
            }
            let fills = [tensor, first].map(|one| one.fill().cast(dtype).ok());
            if !matches!(fills, [Some(a), Some(b)] if a.same(&b)) {
                let text = format!(
                    "tensors with fill values {} and {} have no fill value together: set one with `with_fill`",
                    first.fill(),
                    tensor.fill()
                );
                return Err(Error::Unsupported(text));
            }
            let coo = tensor.to_coo()?;
            for (at, (to, from)) in crd.iter_mut().zip(coo.crd).enumerate() {
                let offset = if at == dim { shape[dim] as i64 } else { 0 };
                to.extend(from.iter().map(|crd| crd + offset));
            }
            let values = coo.values.cast_lossy(dtype);
            all = Some(match all {
                None => values,
                Some(before) => before.followed_by(&values),
            });
            let more = shape[dim].checked_add(tensor.shape()[dim]);
            shape[dim] = more.ok_or_else(|| Error::TooLarge("the joined tensor".to_owned()))?;
        }
        let values = all.expect("there is a first tensor");
        first.alike(&Coo { shape, crd, values }, &first.format().without_slices())
    }

    /// Tensors of one shape along a new dimension. As [`Tensor::concat`]; the result is dense if the first is, and else
    /// a tree of compressed dimensions.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0], [2, 3]], "CSR")?;
    /// let both = Tensor::stack(&[&a, &a.transpose()], 0)?;
    /// assert_eq!((both.shape(), both.get_as::<i32>(&[1, 0, 1])?), (&[2, 2, 2][..], 2));
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::concat`], [`Tensor::expand_dims`].
    pub fn stack(tensors: &[&Self], dim: impl Dim) -> Result<Self, Error> {
        let dim = tensors.first().map_or(Ok(0), |first| first.new_dim(dim))?;
        let tree = |tensor: &&Self| tensor.convert(tensor.tree()?)?.expand_dims(dim);
        let each = tensors.iter().map(tree).collect::<Result<Vec<_>, _>>()?;
        let joined = Self::concat(&each.iter().collect::<Vec<_>>(), dim)?;
        let first =
            tensors.first().map_or(Ok(joined.format().clone()), |t| t.format_for(t.rank() + 1))?;
        joined.convert(first)
    }

    /// The format of a tree of compressed dimensions, or full if this tensor is.
    fn tree(&self) -> Result<Format, Error> {
        match self.format().is_full() {
            true => Ok(Format::full(self.rank())?),
            false => Ok(Format::tree(self.rank())?),
        }
    }

    /// Tensors side by side: [`Tensor::concat`] along the second dimension; vectors along their only one.
    ///
    /// # Errors
    /// As [`Tensor::concat`].
    pub fn hstack(tensors: &[&Self]) -> Result<Self, Error> {
        Self::concat(tensors, usize::from(tensors.first().is_some_and(|first| first.rank() > 1)))
    }

    /// Tensors below one another: [`Tensor::concat`] along the first dimension; vectors become rows.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let x = Tensor::from_dense(&ndarray::array![1, 0, 2], "SparseVector")?;
    /// assert_eq!(Tensor::vstack(&[&x, &x])?.shape(), [2, 3]);
    /// assert_eq!(Tensor::hstack(&[&x, &x])?.shape(), [6]);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::concat`].
    pub fn vstack(tensors: &[&Self]) -> Result<Self, Error> {
        match tensors.first() {
            Some(first) if first.rank() == 1 => Self::stack(tensors, 0),
            _ => Self::concat(tensors, 0),
        }
    }

    /// Parts along a dimension, which begin at 0 and at each of these coordinates: slices, which share the arrays.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0], [2, 3], [0, 4]], "CSR")?;
    /// let parts = a.split(&[1], 0)?;
    /// assert_eq!((parts[0].shape(), parts[1].shape()), (&[1, 2][..], &[2, 2][..]));
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] for coordinates that do not ascend, or lie outside.
    pub fn split(&self, at: &[usize], dim: impl Dim) -> Result<Vec<Self>, Error> {
        let dim = self.dim(dim)?;
        let extent = self.shape()[dim];
        let starts = std::iter::once(0).chain(at.iter().copied());
        let ends = at.iter().copied().chain(std::iter::once(extent));
        let part = |(start, end): (usize, usize)| {
            let all = self.shape().iter().map(|&n| super::slicing::Along::Window(Window::all(n)));
            let mut along: Vec<super::slicing::Along> = all.collect();
            along[dim] = super::slicing::Bounds::of(&(start..end), extent);
            self.slice(along)
        };
        starts.zip(ends).map(part).collect()
    }
}
