//! Conversion from and to `ndarray` arrays.

use ndarray::{ArrayBase, ArrayD, ArrayViewD, Data, Dimension, IxDyn, ShapeBuilder};
use ust_format::{Format, Given, IndexExpr};
use ust_kernels::moving::kept::{Kept, kept};
use ust_level_api::{Buffer, Scalar};

use super::build::BuildOptions;
use crate::error::Error;
use crate::storage::coo::Coo;
use crate::storage::memory::default_limit;
use crate::storage::{Parts, StoredElement, Tensor, Values};

impl Tensor {
    /// The nonzero elements of an array, in any format.
    ///
    /// ```
    /// use ust::Tensor;
    /// let a = ndarray::array![[0, 2], [3, 0]];
    /// let csr = Tensor::from_dense(&a, "CSR")?;
    /// assert_eq!(csr.values().typed::<i32>()?, [2, 3]);
    /// assert_eq!(csr.to_dense::<i32>()?, a.into_dyn());
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::from_coo`]. Cost: O(elements).
    pub fn from_dense<'f, T, S, D>(
        array: &ArrayBase<S, D>,
        format: impl Into<Given<'f>>,
    ) -> Result<Self, Error>
    where
        T: StoredElement,
        S: Data<Elem = T>,
        D: Dimension,
    {
        Self::from_dense_with(array, format, &BuildOptions::default())
    }

    /// The elements of an array that differ from the fill value, in any format.
    ///
    /// # Errors
    /// As [`Tensor::from_coo_with`]. Cost: O(elements).
    pub fn from_dense_with<'f, T, S, D>(
        array: &ArrayBase<S, D>,
        format: impl Into<Given<'f>>,
        options: &BuildOptions,
    ) -> Result<Self, Error>
    where
        T: StoredElement,
        S: Data<Elem = T>,
        D: Dimension,
    {
        let fill = match options.fill {
            None => T::ZERO,
            Some(fill) => fill.cast(T::DTYPE).ok().and_then(T::from_scalar).ok_or(Error::Cast {
                value: fill,
                at: 0,
                to: T::DTYPE,
            })?,
        };
        let Kept { places, values } = match array.as_slice() {
            Some(rows) => kept(rows, fill),
            None => kept(&array.iter().copied().collect::<Vec<T>>(), fill),
        };
        let mut rest = places.to_vec();
        // The last element is the number of elements of the array.
        rest.pop();
        let mut crd = vec![Vec::new(); array.ndim()];
        for (column, &extent) in crd.iter_mut().zip(array.shape()).rev() {
            let extent = extent as i64;
            *column = rest.iter().map(|place| place % extent).collect();
            rest.iter_mut().for_each(|place| *place /= extent);
        }
        let coo = Coo { shape: array.shape().to_vec(), crd, values: T::wrap(values) };
        Self::from_coo_with(&coo, format, options)
    }

    /// A tensor that stores every element, from values in row-major order.
    ///
    /// # Errors
    /// [`Error::Parts`] when the number of values is not the number of elements.
    pub fn full(shape: &[usize], values: Values) -> Result<Self, Error> {
        let rank = shape.len();
        let format = Format::full(rank)?;
        let levels = vec![Vec::new(); format.level_count()];
        Self::from_parts(&format, shape, Parts::new(levels, values))
    }

    /// All elements as an array in row-major order, duplicates summed. Cost: O(elements + nse).
    ///
    /// # Errors
    /// [`Error::Dtype`] when the values are of another type, [`Error::TooLarge`] for a shape that is
    /// implausible as a dense array, [`Error::Sum`] where a sum of integers overflows.
    pub fn to_dense<T: StoredElement>(&self) -> Result<ArrayD<T>, Error> {
        self.values().expect::<T>()?;
        let shape = self.shape();
        let too_large = || Error::TooLarge(format!("shape {shape:?} as a dense array"));
        let elements = shape.iter().try_fold(1_usize, |all, &n| all.checked_mul(n));
        let bytes = elements.and_then(|n| (n as u64).checked_mul(size_of::<T>() as u64));
        let (Some(elements), Some(bytes)) = (elements, bytes) else { return Err(too_large()) };
        if bytes > default_limit() {
            return Err(too_large());
        }
        let fill = T::from_scalar(self.fill).unwrap_or(T::ZERO);
        // Fails where the product of the nonzero extents overflows, even for an empty array.
        let array = ArrayD::from_shape_vec(IxDyn(shape), vec![fill; elements]);
        let mut array = array.map_err(|_| too_large())?;
        let coo = self.to_coo()?;
        let mut elements = array.view_mut();
        let elements = elements.as_slice_mut().expect("a new array is in row-major order");
        let mut seen = match self.format().is_unique() {
            true => Vec::new(),
            false => vec![false; elements.len()],
        };
        for (at, &value) in coo.values.expanded().typed::<T>()?.iter().enumerate() {
            let dims = coo.crd.iter().zip(self.shape());
            let place =
                dims.fold(0, |place, (column, &extent)| place * extent + column[at] as usize);
            let again = seen.get_mut(place).is_some_and(|seen| std::mem::replace(seen, true));
            let element = &mut elements[place];
            *element = match again {
                false => value,
                true => element.checked_plus(value).ok_or_else(|| Error::Sum {
                    coordinates: coo.coordinates(at),
                    dtype: self.dtype(),
                })?,
            };
        }
        Ok(array)
    }

    /// The elements as a borrowed array, without a copy. `None` unless every level is full and
    /// stores a dimension itself, and the tensor is not sliced.
    #[must_use]
    pub fn dense_view<T: StoredElement>(&self) -> Option<ArrayViewD<'_, T>> {
        let values = self.values().expect::<T>().ok()?;
        if !self.view.is_whole() {
            return None;
        }
        let mut strides = vec![0; self.rank()];
        let mut stride = 1;
        for level in self.format().levels().iter().rev() {
            let IndexExpr::Var(dim) = level.expr else { return None };
            // Of a dimension itself, every coordinate is inside the shape, so nothing is beside it.
            if !level.ty.describe().props.full {
                return None;
            }
            strides[dim] = stride;
            stride *= self.shape()[dim];
        }
        match values.is_empty() {
            true => ArrayViewD::from_shape(IxDyn(self.shape()), &values[..]).ok(),
            false => {
                let shape = IxDyn(self.shape()).strides(IxDyn(&strides));
                ArrayViewD::from_shape(shape, &values[..]).ok()
            }
        }
    }

    /// The values as an array of blocks, without a copy: see [`Tensor::block_shape`].
    ///
    /// # Errors
    /// [`Error::Dtype`] when the values are of another type.
    pub fn block_view<T: StoredElement>(&self) -> Result<ArrayViewD<'_, T>, Error> {
        let values = self.values().typed::<T>()?;
        ArrayViewD::from_shape(IxDyn(&self.block_shape()), values)
            .map_err(|e| Error::Unsupported(format!("the values do not form whole blocks: {e}")))
    }

    /// A dense tensor from an array, row-major. Cost: O(1) for an array in row-major order, else
    /// one copy.
    ///
    /// # Errors
    /// [`Error::Format`] for a rank beyond the format's limit, or when the level type of the format
    /// `Dense` is not registered.
    pub fn from_array<T: StoredElement>(array: ArrayD<T>) -> Result<Self, Error> {
        let shape = array.shape().to_vec();
        let rows = match array.is_standard_layout() {
            true => array,
            false => array.as_standard_layout().into_owned(),
        };
        let (values, offset) = rows.into_raw_vec_and_offset();
        let buffer: Buffer<T> = match offset {
            None | Some(0) => values.into(),
            Some(offset) => values[offset..].to_vec().into(),
        };
        Self::full(&shape, T::wrap(buffer))
    }
}

impl<T: StoredElement> TryFrom<ArrayD<T>> for Tensor {
    type Error = Error;

    /// As [`Tensor::from_array`].
    fn try_from(array: ArrayD<T>) -> Result<Self, Error> {
        Self::from_array(array)
    }
}

impl Tensor {
    /// A tensor of rank 0.
    ///
    /// # Errors
    /// None in practice: the format `() -> ()` accepts any value.
    pub fn from_scalar(value: Scalar) -> Result<Self, Error> {
        let format: Format = "() -> ()".parse()?;
        Self::from_parts(&format, &[], Parts::new(Vec::new(), Values::filled(value, 1)))
    }
}
