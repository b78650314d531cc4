//! The values of a tensor: one buffer, of any dtype.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Zeroable, bytes_of};
use ust_level_api::assemble::fill;
use ust_level_api::buffer::{FetchError, Plain};
use ust_level_api::column::{BLOCK, chunk_len};
use ust_level_api::ir::Elsewhere;
use ust_level_api::ir::cancel;
use ust_level_api::ir::elsewhere::{Half, Halves};
use ust_level_api::ir::func::cast;
use ust_level_api::ir::interp::{GrowValues, Memory, ValueElement};
use ust_level_api::ir::parallel;
use ust_level_api::{
    Buffer, Dtype, Element, GrowBuffer, IndexColumn, Scalar, for_each_dtype, with_dtype,
};

use crate::error::Error;

macro_rules! define {
    ($(($variant:ident, $ty:ty, $name:literal, $kind:ident),)*) => {
        /// Values of one dtype, in shared memory with copy-on-write.
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum Values {
            $(
                #[doc = concat!("Values of dtype `", $name, "`.")]
                #[cfg_attr(feature = "serde", serde(rename = $name))]
                $variant(Buffer<$ty>),
            )*
        }

        $(
            impl From<Buffer<$ty>> for Values {
                fn from(buffer: Buffer<$ty>) -> Self { Values::$variant(buffer) }
            }
            impl From<Vec<$ty>> for Values {
                fn from(vec: Vec<$ty>) -> Self { Values::$variant(vec.into()) }
            }
            impl From<&[$ty]> for Values {
                fn from(values: &[$ty]) -> Self { values.to_vec().into() }
            }
            impl From<&Vec<$ty>> for Values {
                fn from(values: &Vec<$ty>) -> Self { values.clone().into() }
            }
            impl<const N: usize> From<[$ty; N]> for Values {
                fn from(values: [$ty; N]) -> Self { values.to_vec().into() }
            }
            impl From<ndarray::Array1<$ty>> for Values {
                fn from(values: ndarray::Array1<$ty>) -> Self { values.to_vec().into() }
            }
            impl StoredElement for $ty {
                fn buffer(values: &Values) -> Option<&Buffer<$ty>> {
                    match values { Values::$variant(b) => Some(b), _ => None }
                }
                fn buffer_mut(values: &mut Values) -> Option<&mut Buffer<$ty>> {
                    match values { Values::$variant(b) => Some(b), _ => None }
                }
                fn wrap(buffer: Buffer<$ty>) -> Values { Values::$variant(buffer) }
            }
        )*

        impl Values {
            /// The dtype of the values.
            #[must_use]
            pub fn dtype(&self) -> Dtype {
                match self { $(Values::$variant(_) => Dtype::$variant,)* }
            }

            /// Concatenates parts, each with the number of its values. All parts have the same
            /// dtype. `None` where there is not enough memory.
            pub(crate) fn joined(parts: Vec<(GrowValues, usize)>) -> Option<Self> {
                match parts.first() {
                    $(Some((GrowValues::$variant(_), _)) => {
                        let parts = parts.into_iter().map(|(part, len)| match part {
                            GrowValues::$variant(part) => (part, len),
                            _ => unreachable!("one dtype"),
                        });
                        Some(Values::$variant(GrowBuffer::joined(parts.collect())?))
                    })*
                    None => Some(Values::F64(Buffer::default())),
                }
            }

            /// Number of values.
            #[must_use]
            pub fn len(&self) -> usize {
                match self { $(Values::$variant(b) => b.len(),)* }
            }
        }
    };
}

/// Runs an expression with `$slice` bound to the typed buffer of a [`Values`](crate::Values).
#[macro_export]
macro_rules! with_values {
    ($values:expr, $slice:ident => $body:expr) => {
        match $values {
            $crate::Values::Bool($slice) => $body,
            $crate::Values::I8($slice) => $body,
            $crate::Values::I16($slice) => $body,
            $crate::Values::I32($slice) => $body,
            $crate::Values::I64($slice) => $body,
            $crate::Values::U8($slice) => $body,
            $crate::Values::U16($slice) => $body,
            $crate::Values::U32($slice) => $body,
            $crate::Values::U64($slice) => $body,
            $crate::Values::F16($slice) => $body,
            $crate::Values::Bf16($slice) => $body,
            $crate::Values::F32($slice) => $body,
            $crate::Values::F64($slice) => $body,
            $crate::Values::Complex64($slice) => $body,
            $crate::Values::Complex128($slice) => $body,
        }
    };
}

/// An [`Element`] that [`Values`] can hold.
pub trait StoredElement: ValueElement + bytemuck::Zeroable {
    /// The buffer; `None` where the values are of another type.
    fn buffer(values: &Values) -> Option<&Buffer<Self>>;
    /// The buffer for writing; `None` where the values are of another type.
    fn buffer_mut(values: &mut Values) -> Option<&mut Buffer<Self>>;
    /// Values of this type.
    fn wrap(buffer: Buffer<Self>) -> Values;
}

for_each_dtype!(define);

impl Values {
    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all values: of one, if they are [iso](Values::iso).
    #[must_use]
    pub fn bytes(&self) -> usize {
        with_values!(self, values => values.bytes())
    }

    /// The first `len` values of memory that loops made longer. `None` if there is not enough memory.
    #[must_use]
    pub fn grown(values: GrowValues, len: usize) -> Option<Self> {
        Self::joined(vec![(values, len)])
    }

    /// `len` values that are elsewhere, such as in the memory of a device. `fetch` is called when somebody first
    /// looks at one: see [`Buffer::deferred`].
    ///
    /// # Panics
    /// Later, at a look at values that cannot be fetched, or that have another dtype or number.
    /// [`Values::fetch`] gives an error instead.
    #[must_use]
    pub fn deferred(
        dtype: Dtype,
        len: usize,
        mut fetch: impl FnMut() -> Result<Self, FetchError> + Send + 'static,
    ) -> Self {
        with_dtype!(dtype, T => T::wrap(Buffer::deferred(len, move || {
            Ok(T::buffer(&fetch()?).ok_or("values of another dtype")?.clone())
        })))
    }

    /// As [`Values::deferred`], with the place where the values are: see [`Buffer::elsewhere`].
    ///
    /// # Panics
    /// As [`Values::deferred`].
    #[must_use]
    pub fn elsewhere(
        dtype: Dtype,
        len: usize,
        place: Arc<dyn Elsewhere>,
        mut fetch: impl FnMut() -> Result<Self, FetchError> + Send + 'static,
    ) -> Self {
        with_dtype!(dtype, T => T::wrap(Buffer::elsewhere(len, place, move || {
            Ok(T::buffer(&fetch()?).ok_or("values of another dtype")?.clone())
        })))
    }

    /// Whether both are the same buffer. Looks at no value.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        with_dtype!(self.dtype(), T => match (T::buffer(self), T::buffer(other)) {
            (Some(own), Some(other)) => own.is_same(other),
            _ => false,
        })
    }

    /// Where the values are that were not fetched yet. `None` if they are here.
    #[must_use]
    pub fn place(&self) -> Option<Arc<dyn Elsewhere>> {
        with_values!(self, values => values.place())
    }

    /// Whether a look at the values fetches nothing.
    #[must_use]
    pub fn is_here(&self) -> bool {
        with_values!(self, values => values.is_here())
    }

    /// Fetches the values, if they are elsewhere: see [`Buffer::fetch`].
    ///
    /// # Errors
    /// Why they cannot be fetched.
    pub fn fetch(&self) -> Result<(), FetchError> {
        with_values!(self, values => values.fetch())
    }

    /// The values as memory that loops read.
    #[must_use]
    pub fn memory(&self) -> Memory<'_> {
        with_values!(self, values => Memory::values(&values[..]))
    }

    /// The values as memory that loops write; copied first where they are shared.
    #[must_use]
    pub fn memory_mut(&mut self) -> Memory<'_> {
        with_values!(self, values => Memory::values_mut(values.make_mut()))
    }

    /// `len` copies of one value. Zeros come from fresh memory, which is not written.
    #[must_use]
    pub fn filled(value: Scalar, len: usize) -> Self {
        with_dtype!(value.dtype(), T => {
            let value = T::from_scalar(value).expect("the dtype of the very value");
            let mut buffer = Buffer::<T>::zeroed(len);
            // Compares bit patterns: fresh memory holds 0.0, not -0.0.
            let zero = bytes_of(&value).iter().all(|&b| b == 0);
            if !zero {
                buffer.make_mut().fill(value);
            }
            T::wrap(buffer)
        })
    }

    /// `len` values that are all equal, of which one is stored: see [`Buffer::iso`]. They are like any others. A look
    /// at the slice of values makes one, and keeps it; single values, casts, selections and files do not.
    #[must_use]
    pub fn iso(value: Scalar, len: usize) -> Self {
        with_dtype!(value.dtype(), T => {
            T::wrap(Buffer::iso(T::from_scalar(value).expect("the dtype of the very value"), len))
        })
    }

    /// The one value that is stored, of [iso](Values::iso) values.
    #[must_use]
    pub fn iso_value(&self) -> Option<Scalar> {
        with_values!(self, values => values.iso_element().map(|&value| value.into()))
    }

    /// These values as [iso](Values::iso) ones. `None` if two differ in a bit, or there are none. Cost: O(length).
    #[must_use]
    pub fn to_iso(&self) -> Option<Self> {
        if self.iso_value().is_some() {
            return Some(self.clone());
        }
        with_values!(self, values => {
            let (&first, others) = values.split_first()?;
            let alike = others.iter().all(|value| bytes_of(value) == bytes_of(&first));
            alike.then(|| Buffer::iso(first, values.len()).into())
        })
    }

    /// The same values, each stored.
    #[must_use]
    pub fn expanded(&self) -> Self {
        self.iso_value().map_or_else(|| self.clone(), |value| Self::filled(value, self.len()))
    }

    /// Whether these are [iso](Values::iso) values with the bits of this one.
    pub(crate) fn are_all(&self, value: Scalar) -> bool {
        fn alike<T: StoredElement>(own: &T, value: Scalar) -> bool {
            T::from_scalar(value).is_some_and(|value| bytes_of(&value) == bytes_of(own))
        }
        with_values!(self, values => values.iso_element().is_some_and(|own| alike(own, value)))
    }

    /// The one value that is stored, of [iso](Values::iso) values, as memory that loops read.
    pub(crate) fn iso_memory(&self) -> Option<Memory<'_>> {
        with_values!(self, values => {
            values.iso_element().map(|value| Memory::values(std::slice::from_ref(value)))
        })
    }

    /// Bytes of the slice that a look at [iso](Values::iso) values made.
    pub(crate) fn expanded_bytes(&self) -> usize {
        with_values!(self, values => values.expanded_bytes())
    }

    /// `len` values without specified content, to be written before they are read.
    pub(crate) fn unspecified(dtype: Dtype, len: usize) -> Self {
        with_dtype!(dtype, T => T::wrap(Buffer::<T>::unspecified(len)))
    }

    /// The typed values.
    ///
    /// # Errors
    /// [`Error::Dtype`] when they are of another type.
    pub fn typed<T: StoredElement>(&self) -> Result<&[T], Error> {
        self.expect::<T>().map(|buffer| &buffer[..])
    }

    /// The typed buffer. Looks at no value.
    ///
    /// # Errors
    /// [`Error::Dtype`] when the values are of another type.
    pub(crate) fn expect<T: StoredElement>(&self) -> Result<&Buffer<T>, Error> {
        T::buffer(self).ok_or(Error::Dtype { expected: T::DTYPE, found: self.dtype() })
    }

    /// The typed values for writing; copied first where the memory is shared.
    ///
    /// # Errors
    /// [`Error::Dtype`] when they are of another type.
    pub fn typed_mut<T: StoredElement>(&mut self) -> Result<&mut [T], Error> {
        let found = self.dtype();
        T::buffer_mut(self).map(Buffer::make_mut).ok_or(Error::Dtype { expected: T::DTYPE, found })
    }

    /// Appends so many copies of a value of the same dtype.
    pub(crate) fn extend(&mut self, count: usize, value: Scalar) {
        with_values!(self, values => if let Some(value) = Element::from_scalar(value) {
            values.extend(count, value);
        });
    }

    /// Writes a value of the same dtype to several places.
    pub(crate) fn fill(&mut self, places: Range<usize>, value: Scalar) {
        with_values!(self, values => if let Some(value) = Element::from_scalar(value) {
            values.make_mut()[places].fill(value);
        });
    }

    /// Moves values within the buffer; both places may overlap.
    pub(crate) fn move_within(&mut self, from: Range<usize>, to: usize) {
        with_values!(self, values => values.make_mut().copy_within(from, to));
    }

    /// The values in an interval, without a copy.
    ///
    /// # Panics
    /// If the interval reaches beyond the values.
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        with_values!(self, values => values.part(range).into())
    }

    /// These values and then others of the same dtype.
    ///
    /// # Panics
    /// If the others are of another dtype.
    pub(crate) fn followed_by(&self, others: &Self) -> Self {
        fn joined<T: StoredElement>(first: &[T], others: &Values) -> Values {
            T::wrap([first, others.typed::<T>().expect("values of one dtype")].concat().into())
        }
        with_values!(self, values => joined(values, others))
    }

    /// The value at `at`, or `None` beyond the end.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<Scalar> {
        if let Some(value) = self.iso_value() {
            return (at < self.len()).then_some(value);
        }
        with_values!(self, b => b.get(at).map(|&v| v.into()))
    }

    /// The values at the given indices, in that order.
    ///
    /// # Panics
    /// When an index is beyond the end.
    #[must_use]
    pub fn gather(&self, places: &[u64]) -> Self {
        if let Some(value) = self.iso_value() {
            assert!(places.iter().all(|&at| at < self.len() as u64), "an index beyond the end");
            return Self::iso(value, places.len());
        }
        with_values!(self, b => {
            let from = &b[..];
            let mut to = Vec::with_capacity(places.len());
            for piece in cancel::pieces(places.len()) {
                to.extend(places[piece].iter().map(|&at| from[at as usize]));
            }
            to.into()
        })
    }

    /// The same numbers in another dtype. Cost: O(length); nothing when the dtype is the same.
    ///
    /// # Errors
    /// [`Error::Cast`] with the first number that the other dtype cannot hold.
    pub fn cast(&self, to: Dtype) -> Result<Self, Error> {
        if self.dtype() == to {
            return Ok(self.clone());
        }
        if let Some(value) = self.iso_value().filter(|_| !self.is_empty()) {
            let cast = value.cast(to).map_err(|_| Error::Cast { value, at: 0, to })?;
            return Ok(Self::iso(cast, self.len()));
        }
        // Through scalars, a block at a time: an instance for each dtype, not for each pair of them.
        with_dtype!(to, T => {
            let mut cast = Buffer::<T>::unspecified(self.len());
            let mut scalars = [Scalar::from(false); BLOCK];
            for (number, out) in cast.make_mut().chunks_mut(BLOCK).enumerate() {
                let first = number * BLOCK;
                self.scalars(first, &mut scalars[..out.len()]);
                for (k, (out, &value)) in out.iter_mut().zip(&scalars).enumerate() {
                    *out = value.cast(to).ok().and_then(T::from_scalar)
                        .ok_or(Error::Cast { value, at: first + k, to })?;
                }
            }
            Ok(T::wrap(cast))
        })
    }

    /// The values from number `first` on.
    fn scalars(&self, first: usize, to: &mut [Scalar]) {
        with_values!(self, b => {
            for (to, &value) in to.iter_mut().zip(&b[first..]) {
                *to = value.into();
            }
        });
    }

    /// The numbers in another dtype, converted as by Rust's `as`: floating-point numbers are
    /// rounded (towards zero to an integer dtype) and saturate; integers wrap; imaginary parts are
    /// dropped. Converted to bool, a number is true unless it is zero. Cost: O(length);
    /// nothing when the dtype is the same.
    #[must_use]
    pub fn cast_lossy(&self, to: Dtype) -> Self {
        if self.dtype() == to {
            return self.clone();
        }
        if let Some(value) = self.iso_value() {
            let one = Self::filled(value, 1).cast_lossy(to);
            return Self::iso(one.get(0).expect("one value"), self.len());
        }
        with_values!(self, b => with_dtype!(to, T => {
            let mut lossy = Buffer::<T>::unspecified(b.len());
            let all = lossy.make_mut().iter_mut().zip(b.iter());
            all.for_each(|(out, &value)| *out = cast(value));
            T::wrap(lossy)
        }))
    }

    /// Rounds values of single precision to the nearest of half precision; too large values become
    /// infinite. Values or targets of other dtypes are left as they are.
    ///
    /// # Errors
    /// Why values that are elsewhere cannot be fetched.
    pub(crate) fn rounded(self, to: Dtype) -> Result<Self, FetchError> {
        use half::{bf16, f16, slice::HalfFloatSliceExt as _};
        let half = match to {
            Dtype::F16 => Half::F16,
            Dtype::Bf16 => Half::Bf16,
            _ => return Ok(self),
        };
        if let Some(value) = self.iso_value().filter(|_| self.dtype() == Dtype::F32) {
            let one = Self::filled(value, 1).rounded(to)?;
            return Ok(Self::iso(one.get(0).expect("one value"), self.len()));
        }
        if let Values::F32(from) = &self
            && let Some(place) = from.place()
            && let Some(halves) = place.halves(from, half)
        {
            return Ok(match halves {
                Halves::F16(values) => values.into(),
                Halves::Bf16(values) => values.into(),
            });
        }
        self.fetch()?;
        Ok(match (&self, to) {
            (Values::F32(from), Dtype::F16) => {
                let mut half = Buffer::<f16>::unspecified(from.len());
                half.make_mut().convert_from_f32_slice(from);
                half.into()
            }
            (Values::F32(from), Dtype::Bf16) => {
                let mut half = Buffer::<bf16>::unspecified(from.len());
                half.make_mut().convert_from_f32_slice(from);
                half.into()
            }
            _ => self,
        })
    }

    /// Every value as a scalar, in order.
    pub fn iter(&self) -> impl Iterator<Item = Scalar> + '_ {
        (0..self.len()).map(|at| self.get(at).expect("within the length"))
    }
}

/// The number of values that differ from a fill value.
pub(crate) fn differing<T: StoredElement>(values: &Buffer<T>, fill: Scalar) -> usize {
    let fill = T::from_scalar(fill);
    if let Some(value) = values.iso_element() {
        return if fill.is_some_and(|f| f.same(*value)) { 0 } else { values.len() };
    }
    values.iter().filter(|v| !fill.is_some_and(|f| f.same(**v))).count()
}

/// The values at the given indices.
pub(crate) fn gathered(values: &Values, places: &IndexColumn) -> Values {
    match values.iso_value() {
        Some(value) => Values::iso(value, places.len()),
        None => with_values!(values, from => gathered_from(from, places).into()),
    }
}

/// For each of so many entries, whether its value has the bits of the value of the entry before. Without
/// `places`, values are in the order of the entries. Parallel.
pub(crate) fn repeats(values: &Values, places: Option<&IndexColumn>, count: usize) -> Arc<[bool]> {
    if values.iso_value().is_some() {
        return (0..count).map(|entry| entry > 0).collect();
    }
    let place = |entry: usize| places.map_or(entry, |places| places.at(entry) as usize);
    let alike = with_values!(values, all => {
        let bits = |entry| bytes_of(&all[place(entry)]);
        fill(count, |entry| u8::from(entry > 0 && bits(entry) == bits(entry - 1)))
    });
    alike.iter().map(|&alike| alike == 1).collect()
}

/// The elements at the given indices. Parallel.
pub(crate) fn gathered_from<T: Plain + Zeroable>(from: &[T], places: &IndexColumn) -> Buffer<T> {
    let mut to = Buffer::<T>::unspecified(places.len());
    let chunk = chunk_len(places.len()).next_multiple_of(BLOCK);
    parallel::chunks(to.make_mut(), chunk, |number, to| {
        let mut block = [0; BLOCK];
        for (k, to) in to.chunks_mut(BLOCK).enumerate() {
            places.read(number * chunk + k * BLOCK, &mut block[..to.len()]);
            for (to, &at) in to.iter_mut().zip(&block) {
                *to = from[at as usize];
            }
        }
    });
    to
}
