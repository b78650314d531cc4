//! Tensors that are changed entry by entry: a hash map from coordinates to values.

use std::fmt;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use ust_format::Given;
use ust_level_api::{Buffer, IndexColumn};

use super::build::BuildOptions;
use crate::error::Error;
use crate::storage::coo::{Columns, check_coordinates};
use crate::storage::memory::default_limit;
use crate::storage::{StoredElement, Tensor};

/// A tensor to which entries are added, and from which they are removed, one by one and in any order. A format
/// is chosen at the end, by [`Builder::freeze`].
///
/// ```
/// use ust::{Builder, Format};
///
/// let mut counts = Builder::<f64>::new(&[3, 4]);
/// counts.insert(&[2, 0], 5.0)?;
/// counts.add(&[0, 3], 1.0)?;
/// counts.add(&[0, 3], 1.0)?;                         // sums
/// counts.insert(&[1, 1], 9.0)?;
/// assert_eq!(counts.remove(&[1, 1])?, Some(9.0));
/// assert_eq!((counts.get(&[0, 3])?, counts.get(&[1, 1])?), (Some(2.0), None));
/// assert_eq!(counts.len(), 2);
///
/// let csr: Format = "CSR".parse()?;
/// let frozen = counts.freeze(&csr)?;
/// assert_eq!(frozen.crd(1).unwrap().to_vec(), [3, 0]);
///
/// let mut thawed = Builder::<f64>::from_tensor(&frozen)?;
/// thawed.extend([([1, 2], 7.0), ([2, 0], 8.0)]);     // replaces
/// assert_eq!(thawed.freeze(&csr)?.values().typed::<f64>()?, [2.0, 7.0, 8.0]);
/// # Ok::<(), ust::Error>(())
/// ```
///
/// # Cost
///
/// Each operation on one entry takes constant time on average: a look-up in a hash table. The table takes about
/// `(9 + b) / 0.65` bytes for an entry with a value of `b` bytes (26 with `f64`), and up to half as many again while it
/// grows. A removed entry may keep its place in the table until half of the table is free. Where a shape has more than
/// 2^64 elements, coordinates are stored apart, in an allocation for each entry.
///
/// # Several entries at once
///
/// `Extend` inserts, as it does for the maps of the standard library. It panics at coordinates that no element has:
/// entries from outside go through [`Builder::try_extend`]. `collect` makes the smallest shape that contains all
/// entries:
///
/// ```
/// use ust::Builder;
///
/// let squares: Builder<i64> = (0..10).map(|i| ([i, i], i as i64 * i as i64)).collect();
/// assert_eq!((squares.shape(), squares.len()), (&[10, 10][..], 10));
/// ```
#[derive(Clone)]
pub struct Builder<T: StoredElement> {
    shape: Vec<usize>,
    fill: T,
    memory_limit: u64,
    map: Map<T>,
}

/// The values by coordinates.
#[derive(Clone)]
enum Map<T> {
    /// By the number of the element, in the order of the dimensions.
    Numbers(HashMap<u64, T>),
    /// By the coordinates themselves, where 64 bits do not number the elements.
    Lists(HashMap<Box<[usize]>, T>),
}

/// Evaluates an expression for either map. The key is a number or a list.
macro_rules! with_map {
    ($map:expr, $number:expr, $list:expr; ($m:ident, $key:ident) => $body:expr) => {
        match $map {
            Map::Numbers($m) => {
                let $key = $number;
                $body
            }
            Map::Lists($m) => {
                let $key = $list;
                $body
            }
        }
    };
}

impl<T: StoredElement> Builder<T> {
    /// A builder without entries.
    #[must_use]
    pub fn new(shape: &[usize]) -> Self {
        let elements = shape.iter().try_fold(1_u64, |all, &n| all.checked_mul(n as u64));
        let map = match elements {
            Some(_) => Map::Numbers(HashMap::default()),
            None => Map::Lists(HashMap::default()),
        };
        Self { shape: shape.to_vec(), fill: T::ZERO, memory_limit: default_limit(), map }
    }

    /// A builder with the entries of a tensor in any format. Duplicates are summed. Cost: as [`Tensor::to_coo`],
    /// and an insertion for each entry.
    ///
    /// # Errors
    /// [`Error::Dtype`] if the tensor has values of another dtype, [`Error::Sum`] where a sum of integers overflows,
    /// [`Error::TooLarge`] beyond the memory limit; as [`Tensor::to_coo`].
    pub fn from_tensor(tensor: &Tensor) -> Result<Self, Error> {
        tensor.fetch()?;
        tensor.values().expect::<T>()?;
        let coo = tensor.to_coo()?;
        let mut builder = Self::new(tensor.shape());
        builder.fill = T::from_scalar(tensor.fill()).unwrap_or(T::ZERO);
        builder.reserve(coo.len())?;
        let mut coordinates = vec![0; coo.shape.len()];
        for (at, &value) in coo.values.expanded().typed::<T>()?.iter().enumerate() {
            for (c, column) in coordinates.iter_mut().zip(&coo.crd) {
                *c = column[at] as usize;
            }
            builder.add(&coordinates, value)?;
        }
        Ok(builder)
    }

    /// The same with another value of elements that are not stored, which tensors get. Zero by default.
    #[must_use]
    pub fn with_fill(mut self, fill: T) -> Self {
        self.fill = fill;
        self
    }

    /// The same with another limit to the bytes that the table may take, and each tensor that is made of it. By
    /// default [`default_limit`](crate::tensor::memory::default_limit).
    #[must_use]
    pub fn with_memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Extent of each dimension.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The value of elements that are not stored.
    #[must_use]
    pub fn fill(&self) -> T {
        self.fill
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        with_map!(&self.map, (), (); (map, _none) => map.len())
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the table takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let lists = match &self.map {
            Map::Numbers(_) => 0,
            Map::Lists(map) => map.len() * size_of_val(&self.shape[..]),
        };
        lists + with_map!(&self.map, (), (); (map, _none) => map.allocation_size())
    }

    /// Stores a value, in place of an earlier one. Returns the earlier one.
    ///
    /// # Errors
    /// [`Error::Shape`] when the number of coordinates is not the rank, [`Error::Coordinate`] when one lies outside
    /// the shape, and [`Error::TooLarge`] beyond the memory limit.
    pub fn insert(&mut self, coordinates: &[usize], value: T) -> Result<Option<T>, Error> {
        self.put(coordinates, value, |stored| Ok(std::mem::replace(stored, value)))
    }

    /// Adds to the stored value; stores the given one where none is stored. Of `bool`, a sum is true where any of
    /// its terms is.
    ///
    /// # Errors
    /// As [`Builder::insert`], and [`Error::Sum`] if the sum of integers overflows. The stored value is then as it
    /// was.
    pub fn add(&mut self, coordinates: &[usize], value: T) -> Result<(), Error> {
        let overflow = || Error::Sum { coordinates: coordinates.to_vec(), dtype: T::DTYPE };
        let sum = |stored: &mut T| {
            *stored = stored.checked_plus(value).ok_or_else(overflow)?;
            Ok(*stored)
        };
        self.put(coordinates, value, sum).map(drop)
    }

    /// Removes an entry. Returns its value; `None` where none was stored.
    ///
    /// # Errors
    /// As [`Builder::get`].
    pub fn remove(&mut self, coordinates: &[usize]) -> Result<Option<T>, Error> {
        let number = self.number(coordinates)?;
        Ok(with_map!(&mut self.map, &number, coordinates; (map, key) => map.remove(key)))
    }

    /// The value that is stored at the given coordinates; `None` where none is.
    ///
    /// # Errors
    /// [`Error::Shape`] when the number of coordinates is not the rank, and [`Error::Coordinate`] when one lies
    /// outside the shape.
    pub fn get(&self, coordinates: &[usize]) -> Result<Option<T>, Error> {
        let number = self.number(coordinates)?;
        Ok(with_map!(&self.map, &number, coordinates; (map, key) => map.get(key).copied()))
    }

    /// Whether a value is stored at the given coordinates.
    ///
    /// # Errors
    /// As [`Builder::get`].
    pub fn contains(&self, coordinates: &[usize]) -> Result<bool, Error> {
        Ok(self.get(coordinates)?.is_some())
    }

    /// Every entry, as coordinates and value, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (Vec<usize>, T)> + '_ {
        let (numbers, lists) = match &self.map {
            Map::Numbers(map) => (Some(map), None),
            Map::Lists(map) => (None, Some(map)),
        };
        let numbers = numbers.into_iter().flatten();
        let lists = lists.into_iter().flatten();
        let listed = lists.map(|(list, &value)| (list.to_vec(), value));
        numbers.map(|(&number, &value)| (self.coordinates(number), value)).chain(listed)
    }

    /// Removes all entries. The memory stays, for others.
    pub fn clear(&mut self) {
        with_map!(&mut self.map, (), (); (map, _none) => map.clear());
    }

    /// Makes room for so many more entries.
    ///
    /// # Errors
    /// [`Error::TooLarge`] beyond the memory limit, or where there is not enough memory.
    pub fn reserve(&mut self, additional: usize) -> Result<(), Error> {
        self.grow(additional)
    }

    /// Inserts entries, one after another: the last one stays of several at the same coordinates.
    ///
    /// # Errors
    /// As [`Builder::insert`], at the first entry that cannot be inserted. Those before it are.
    pub fn try_extend<C: AsRef<[usize]>>(
        &mut self,
        entries: impl IntoIterator<Item = (C, T)>,
    ) -> Result<(), Error> {
        entries
            .into_iter()
            .try_for_each(|(coordinates, value)| self.insert(coordinates.as_ref(), value).map(drop))
    }

    /// The tensor of all entries, in any format. The builder stays as it is. Cost: a pass over the table, and as
    /// [`Tensor::from_coo`] of entries that are not sorted; parallel.
    ///
    /// # Errors
    /// As [`Tensor::from_coo_with`].
    pub fn freeze<'f>(&self, format: impl Into<Given<'f>>) -> Result<Tensor, Error> {
        let format = &*format.into().resolve(Some(self.shape.len()))?;
        // No coordinate is larger than the extents that a format accepts.
        format.bind(&self.shape)?;
        let options = BuildOptions {
            fill: Some(self.fill.scalar()),
            memory_limit: self.memory_limit,
            ..BuildOptions::default()
        };
        Tensor::from_inside(&self.columns(), true, format, &options)
    }

    /// All entries, in no particular order.
    fn columns(&self) -> Columns {
        let n = self.len();
        let most = |extent: usize| (0, (extent as i64).saturating_sub(1));
        let mut values = Buffer::<T>::unspecified(n);
        let crd = match &self.map {
            Map::Numbers(map) => {
                let mut numbers = Buffer::<u64>::unspecified(n);
                let to = numbers.make_mut().iter_mut().zip(values.make_mut());
                to.zip(map).for_each(|((to, value), from)| (*to, *value) = (*from.0, *from.1));
                let mut stride = 1_u64;
                let column = |(dim, &extent): (usize, &usize)| {
                    let (below, extent) = (stride, extent as u64);
                    stride = stride.wrapping_mul(extent);
                    // One division is enough for the first and for the last.
                    let of = |number: u64| match (dim, below) {
                        (0, _) => number / below,
                        (_, 1) => number % extent,
                        _ => number / below % extent,
                    };
                    IndexColumn::blocks(n, most(extent as usize), &|first, out| {
                        for (out, &number) in out.iter_mut().zip(&numbers[first..]) {
                            *out = of(number) as i64;
                        }
                    })
                };
                let mut crd: Vec<_> = self.shape.iter().enumerate().rev().map(column).collect();
                crd.reverse();
                crd
            }
            Map::Lists(map) => {
                let lists: Vec<&[usize]> = map.keys().map(|list| &list[..]).collect();
                let to = values.make_mut().iter_mut().zip(map.values());
                to.for_each(|(to, value)| *to = *value);
                let column = |(dim, &extent): (usize, &usize)| {
                    IndexColumn::blocks(n, most(extent), &|first, out| {
                        for (out, list) in out.iter_mut().zip(&lists[first..]) {
                            *out = list[dim] as i64;
                        }
                    })
                };
                self.shape.iter().enumerate().map(column).collect()
            }
        };
        Columns { shape: self.shape.clone(), crd, values: T::wrap(values) }
    }

    /// Stores a value where none is stored, and calls a function with the stored one otherwise.
    #[inline]
    fn put(
        &mut self,
        coordinates: &[usize],
        value: T,
        found: impl FnOnce(&mut T) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let number = self.number(coordinates)?;
        if self.is_full() && !self.contains(coordinates)? {
            self.grow(1)?;
        }
        with_map!(&mut self.map, number, coordinates.into(); (map, key) => match map.entry(key) {
            Entry::Occupied(mut stored) => return found(stored.get_mut()).map(Some),
            Entry::Vacant(place) => drop(place.insert(value)),
        });
        Ok(None)
    }

    /// The number of an element, in the order of the dimensions, where 64 bits number all of them.
    #[inline]
    fn number(&self, coordinates: &[usize]) -> Result<u64, Error> {
        let mut number = 0_u64;
        let mut inside = coordinates.len() == self.shape.len();
        for (&c, &extent) in coordinates.iter().zip(&self.shape) {
            inside &= c < extent;
            number = number.wrapping_mul(extent as u64).wrapping_add(c as u64);
        }
        if !inside {
            check_coordinates(&self.shape, coordinates)?;
        }
        Ok(number)
    }

    /// The coordinates of the element with a number.
    fn coordinates(&self, mut number: u64) -> Vec<usize> {
        let mut coordinates = vec![0; self.shape.len()];
        for (c, &extent) in coordinates.iter_mut().zip(&self.shape).rev() {
            *c = (number % extent as u64) as usize;
            number /= extent as u64;
        }
        coordinates
    }

    #[inline]
    fn is_full(&self) -> bool {
        with_map!(&self.map, (), (); (map, _none) => map.len() == map.capacity())
    }

    /// Makes room for so many more entries.
    #[cold]
    fn grow(&mut self, additional: usize) -> Result<(), Error> {
        let (entry, list) = match &self.map {
            Map::Numbers(_) => (size_of::<(u64, T)>(), 0),
            Map::Lists(_) => (size_of::<(Box<[usize]>, T)>(), size_of_val(&self.shape[..])),
        };
        let table = with_map!(&self.map, (), (); (map, _none) => map.allocation_size());
        // A byte more for each slot, and their number is a power of two. Seven slots of eight are used at most.
        let slots = (table / (entry + 1)).checked_ilog2().map_or(0, |power| 1_usize << power);
        let most = slots / 8 * 7;
        let bytes = self.len().checked_add(additional).and_then(|entries| {
            let lists = entries.checked_mul(list)?;
            if entries <= most / 2 {
                // Removed entries still take their slots: the table is put in order.
                return lists.checked_add(table);
            }
            let slots = entries.max(most + 1).checked_mul(8)?.div_ceil(7);
            let grown = slots.checked_next_power_of_two()?.checked_mul(entry + 1)?;
            // The table before is there until all entries are moved.
            lists.checked_add(grown)?.checked_add(table)
        });
        let limit = self.memory_limit;
        let fits = bytes.is_some_and(|bytes| bytes as u64 <= limit);
        let done = fits
            && with_map!(&mut self.map, (), (); (map, _none) => map.try_reserve(additional).is_ok());
        if done {
            return Ok(());
        }
        Err(Error::TooLarge(format!(
            "{additional} entries beside {} in a builder, whose memory limit is {limit} bytes: raise the limit, or \
             freeze in several parts and add the tensors",
            self.len()
        )))
    }
}

/// Inserts entries, as [`Builder::try_extend`].
///
/// # Panics
/// Where [`Builder::try_extend`] gives an error.
impl<T: StoredElement, C: AsRef<[usize]>> Extend<(C, T)> for Builder<T> {
    fn extend<I: IntoIterator<Item = (C, T)>>(&mut self, entries: I) {
        if let Err(error) = self.try_extend(entries) {
            panic!("{error}");
        }
    }
}

/// The entries in the smallest shape that contains them; the last one of several at the same coordinates.
///
/// # Panics
/// Beyond the [default memory limit](crate::tensor::memory::default_limit), and at the coordinate `usize::MAX`.
impl<T: StoredElement, const RANK: usize> FromIterator<([usize; RANK], T)> for Builder<T> {
    fn from_iter<I: IntoIterator<Item = ([usize; RANK], T)>>(entries: I) -> Self {
        let entries: Vec<([usize; RANK], T)> = entries.into_iter().collect();
        let mut shape = [0; RANK];
        for (coordinates, _) in &entries {
            for (extent, &c) in shape.iter_mut().zip(coordinates) {
                *extent = c.saturating_add(1).max(*extent);
            }
        }
        let mut builder = Self::new(&shape);
        builder.extend(entries);
        builder
    }
}

impl<T: StoredElement> fmt::Debug for Builder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, entries) = (&self.shape, self.len());
        write!(f, "Builder({} {shape:?}, {entries} entries)", T::DTYPE)
    }
}
