//! Access to single elements and to all entries of a tensor.

use std::sync::Arc;

use smallvec::SmallVec;
use ust_kernels::moving::kept::kept;
use ust_level_api::column::{IndexRead, column_kind};
use ust_level_api::ir::interp::{Memory, Param, Program};
use ust_level_api::ir::parallel;
use ust_level_api::{
    Buffer, Element, IndexArray, IndexColumn, IndexKind, Scalar, with_column, with_dtype,
};

use crate::error::Error;
use crate::storage::coo::{Coo, check_coordinates};
use crate::storage::values::{differing, gathered};
use crate::storage::{StoredElement, Tensor, Values, joins_alike};
use crate::tuning::MASKED_VALUES;
use crate::walk::find::{COUNT, PATH, PLACE, find};
use crate::walk::native::Code;
use crate::walk::nest::{Operand, Reach};
use crate::walk::stored::stored;
use crate::walk::unpack::{Column, Keep, Wanted, What, unpack_as};

/// The compiled search for an element. A tensor keeps it from the first search on.
struct Getter {
    program: Program,
    operand: Operand,
}

/// What a search for an element found.
pub(crate) struct Search {
    /// How many entries.
    pub(crate) count: i64,
    /// Their sum.
    pub(crate) sum: Scalar,
    /// The place of the value of the last one, if there is one.
    pub(crate) place: usize,
    /// The coordinate of the element at each level; if the format counts, with the last number.
    pub(crate) levels: Vec<i64>,
    /// For each level, the parent under which it was searched last, and then the position of the value that was
    /// looked at last. Negative from where the search did not come to.
    pub(crate) path: SmallVec<[i64; 8]>,
}

impl Tensor {
    /// The element at the given coordinates: the fill value where no entry is stored, the sum of
    /// duplicates where several are. Sums of integers wrap; [`Tensor::coalesce`] refuses a sum that
    /// overflows. Cost: a search in each level.
    ///
    /// # Errors
    /// [`Error::Shape`] when the number of coordinates is not the rank, and [`Error::Coordinate`]
    /// when one lies outside the shape.
    pub fn get(&self, coordinates: &[usize]) -> Result<Scalar, Error> {
        let Search { count, sum, .. } = self.search(coordinates)?;
        Ok(if count == 0 { self.fill } else { sum })
    }

    /// Searches for an element.
    ///
    /// # Errors
    /// As [`Tensor::get`].
    pub(crate) fn search(&self, coordinates: &[usize]) -> Result<Search, Error> {
        check_coordinates(self.shape(), coordinates)?;
        let whole: SmallVec<[i64; 4]> = coordinates
            .iter()
            .enumerate()
            .map(|(dim, &c)| self.view.to_whole(dim, c as i64))
            .collect();
        let getter = self.getter()?;
        let sizes = getter.operand.size_arguments(self);
        let mut found: SmallVec<[i64; 8]> = SmallVec::new();
        found.resize(PATH + self.format().level_count() + 1, -1);
        found[COUNT] = 0;
        let mut levels = Vec::new();
        let sum = with_dtype!(self.dtype(), T => {
            let mut sum = [T::ZERO];
            let mut memory: Vec<Memory<'_>> =
                self.index_arrays().map(Memory::Index).collect();
            memory.push(match self.values().iso_memory() {
                Some(one) => one,
                None => Memory::values(self.values().typed::<T>()?),
            });
            memory.push(Memory::values_mut(&mut sum[..]));
            memory.push(Memory::indices_mut(&mut found));
            // An entry may have any number.
            for numbers in Numbers::of(self.bound().counts()) {
                let axes: Vec<i64> = whole.iter().copied().chain(numbers).collect();
                levels = self.format().dim2lvl(&axes).ok_or_else(|| {
                    Error::TooLarge("a level coordinate does not fit 64 bits".to_owned())
                })?;
                let params = sizes.iter().chain(&levels).copied().map(Param::Int);
                getter.program.run(&params.collect::<Vec<Param>>(), &mut memory)?;
            }
            drop(memory);
            sum[0].scalar()
        });
        let path = found[PATH..].into();
        Ok(Search { count: found[COUNT], sum, place: found[PLACE] as usize, levels, path })
    }

    /// The element at the given coordinates, typed.
    ///
    /// # Errors
    /// As [`Tensor::get`], and [`Error::Dtype`] when the values are of another type.
    pub fn get_as<T: Element>(&self, coordinates: &[usize]) -> Result<T, Error> {
        T::from_scalar(self.get(coordinates)?)
            .ok_or(Error::Dtype { expected: T::DTYPE, found: self.dtype() })
    }

    fn getter(&self) -> Result<Arc<Getter>, Error> {
        let known = self.made.get().map(|made| Arc::clone(made).downcast::<Getter>());
        if let Some(Ok(getter)) = known {
            return Ok(getter);
        }
        let (function, operand) = find(self);
        let getter = Arc::new(Getter { program: Program::compile(&function)?, operand });
        // Another thread may have set its search already: that one stays.
        let _ = self.made.set(Arc::<Getter>::clone(&getter));
        Ok(getter)
    }

    /// Every stored entry, as coordinates and values, in storage order. Padding is left out;
    /// explicit zeros and duplicates are kept. Cost: O(nse) time and memory.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for more coordinates than memory holds.
    pub fn to_coo(&self) -> Result<Coo, Error> {
        let dims = (0..self.rank())
            .map(|dim| Wanted { what: What::Of(Column::Dim(dim)), kind: IndexKind::I64 })
            .collect();
        let Unpacked { columns, places, values } = self.unpack_entries(dims)?;
        let crd = columns.into_iter().map(IndexColumn::into_vec).collect();
        let values = match places {
            Some(places) => gathered(&values, &places),
            None => values,
        };
        Ok(Coo { shape: self.shape().to_vec(), crd, values })
    }

    /// The given columns for every stored entry, in storage order, and the positions of the
    /// entries' values.
    pub(crate) fn unpack_entries(&self, mut columns: Vec<Wanted>) -> Result<Unpacked, Error> {
        if self.nse() == 0 {
            let columns = vec![IndexColumn::Count(0); columns.len()];
            return Ok(Unpacked { columns, places: None, values: self.values().clone() });
        }
        let in_order = self.view.is_whole() && Operand::visits_in_order(self.format());
        if in_order
            && self.has_padding()
            && Operand::ends_evenly(self.format())
            && let Some((places, values)) = self.kept()
        {
            let (keep, rows) = (Keep::At(&places), places.len() - 1);
            let columns = unpack_as(self, Reach::Inside, &columns, keep, rows, Code::trusting)?;
            // Fewer rows: some kept values stand at positions that no coordinate reaches.
            if columns.iter().all(|column| column.len() == rows) {
                return Ok(Unpacked { columns, places: None, values });
            }
        }
        let keep = self.has_padding().then(|| self.entry_mask());
        let rows = match &keep {
            Some(mask) => {
                parallel::map_items(mask.chunks(MASKED_VALUES), |_, mask| ones(mask)).iter().sum()
            }
            None => self.nse(),
        };
        let keep = keep.map(IndexArray::from);
        let values = self.values().clone();
        // A walk that visits all positions in order needs no column of positions.
        if keep.is_none() && in_order {
            let mut known = stored(self, &columns);
            let unknown = columns.iter().zip(&known).filter(|(_, known)| known.is_none());
            let unknown: Vec<Wanted> = unknown.map(|(wanted, _)| wanted.clone()).collect();
            let made = match unknown.is_empty() {
                true => Vec::new(),
                false => unpack_as(self, Reach::Inside, &unknown, Keep::All, rows, Code::trusting)?,
            };
            let all = made.iter().all(|column| column.len() == self.nse());
            let mut made = made.into_iter();
            known.iter_mut().filter(|known| known.is_none()).for_each(|known| *known = made.next());
            if all {
                let columns = known.into_iter().flatten().collect();
                return Ok(Unpacked { columns, places: None, values });
            }
        }
        let last = self.nse().saturating_sub(1) as i64;
        columns.push(Wanted { what: What::Of(Column::Value), kind: column_kind(0, last) });
        let keep = keep.as_ref().map_or(Keep::All, Keep::Masked);
        let mut columns = unpack_as(self, Reach::Inside, &columns, keep, rows, Code::trusting)?;
        let places = columns.pop();
        Ok(Unpacked { columns, places, values })
    }

    /// The values at positions that coordinates reach, and the fill value at all other positions.
    pub(crate) fn reached_values(&self) -> Result<Values, Error> {
        let last = self.nse().saturating_sub(1) as i64;
        let wanted = [Wanted { what: What::Of(Column::Value), kind: column_kind(0, last) }];
        let (keep, rows) = (Keep::All, self.nse());
        let places = unpack_as(self, Reach::Inside, &wanted, keep, rows, Code::trusting)?.remove(0);
        fn reached<T: StoredElement>(from: &[T], places: &IndexColumn, fill: Scalar) -> Values {
            let rows = places.len();
            let mut values = Values::filled(fill, from.len());
            let to = values.typed_mut::<T>().expect("the fill value has the dtype of the values");
            with_column!(places, places => for at in 0..rows {
                let place = places.at(at) as usize;
                to[place] = from[place];
            });
            values
        }
        Ok(
            crate::with_values!(&self.values().expanded(), from => reached(from, &places, self.fill)),
        )
    }

    /// Number of stored elements inside the shape that differ from the fill value. Cost: O(nse).
    ///
    /// # Panics
    /// On arrays that break their level's rules, which only
    /// [`Tensor::from_parts_unchecked`] lets in.
    #[must_use]
    pub fn nnz(&self) -> usize {
        let differing = |values: &Values| crate::with_values!(values, b => differing(b, self.fill));
        // A value is an element, unless several elements share it.
        if self.clean && self.view.is_whole() && !joins_alike(self.format()) {
            return differing(self.values());
        }
        differing(&self.to_coo().expect("checked arrays are walked without error").values)
    }

    /// The values, with the fill value at every position that no coordinate reaches. Foreign arrays
    /// may hold any value between segments, beside diagonals and outside the shape. Cost: nothing
    /// where there are no such positions, or they are known to hold the fill value; else O(nse).
    ///
    /// # Errors
    /// As [`Tensor::to_coo`].
    pub(crate) fn clean_values(&self) -> Result<Values, Error> {
        match self.clean || self.reaches_all() {
            true => Ok(self.values().clone()),
            false => self.reached_values(),
        }
    }

    /// Whether coordinates reach every position, whatever the arrays hold: [`reaches_all`], or each combination of
    /// level coordinates is an element, as in blocks that divide the shape.
    fn reaches_all(&self) -> bool {
        let times = |all: u128, size: u64| all.checked_mul(size.into());
        let combinations = self.bound.levels().iter().map(|level| level.size).try_fold(1, times);
        let elements = self.bound.shape().iter().map(|&n| n as u64).try_fold(1, times);
        let format = self.format();
        let mut levels = format.descriptions().iter();
        reaches_all(format)
            || (levels.all(|level| level.props.compact && !level.props.padded)
                && !Operand::has_gaps(format)
                && elements.is_some()
                && elements == combinations)
    }

    /// The positions of the values that differ from the fill value, followed by one more position,
    /// and these values. `None` where no value of the dtype equals the fill value.
    fn kept(&self) -> Option<(IndexArray, Values)> {
        crate::with_values!(self.values(), values => {
            let kept = kept(values, Element::from_scalar(self.fill)?);
            Some((kept.places, kept.values.into()))
        })
    }

    /// For each stored value, 1 where it is an entry (it differs from the fill value), 0 where it
    /// is padding.
    pub(crate) fn entry_mask(&self) -> Buffer<u8> {
        fn mask<T: StoredElement>(values: &Buffer<T>, fill_value: Scalar) -> Buffer<u8> {
            let mut mask = Buffer::unspecified(values.len());
            let fill = T::from_scalar(fill_value);
            let pieces = mask.make_mut().chunks_mut(MASKED_VALUES);
            parallel::items(pieces.zip(values.chunks(MASKED_VALUES)), |_, (mask, values)| {
                let Some(fill) = fill else { return mask.fill(1) };
                // A plain loop over two slices, which the compiler vectorises.
                for (mask, &value) in mask.iter_mut().zip(values) {
                    *mask = u8::from(!fill.same(value));
                }
            });
            mask
        }
        crate::with_values!(self.values(), b => mask(b, self.fill))
    }

    /// Every stored entry, one after another, in storage order.
    ///
    /// ```
    /// use ust::{Coo, Scalar, Tensor};
    /// let coo = Coo::new(vec![2, 3], vec![vec![1, 0], vec![2, 1]], vec![5.0, 7.0])?;
    /// let csc = Tensor::from_coo(&coo, "CSC")?;
    /// let entries: Vec<_> = csc.entries()?.map(|e| (e.coordinates, e.value)).collect();
    /// assert_eq!(entries, [(vec![0, 1], Scalar::F64(7.0)), (vec![1, 2], Scalar::F64(5.0))]);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::to_coo`]. Cost: as [`Tensor::to_coo`].
    pub fn entries(&self) -> Result<Entries, Error> {
        Ok(Entries { coo: self.to_coo()?, at: 0 })
    }
}

/// All values of counters, one after another. Without counters, there is one, which is empty.
struct Numbers<'a> {
    counts: &'a [usize],
    next: Option<Vec<i64>>,
}

impl<'a> Numbers<'a> {
    fn of(counts: &'a [usize]) -> Self {
        let some = !counts.contains(&0);
        Self { counts, next: some.then(|| vec![0; counts.len()]) }
    }
}

impl Iterator for Numbers<'_> {
    type Item = Vec<i64>;

    fn next(&mut self) -> Option<Vec<i64>> {
        let here = self.next.take()?;
        let more = here.iter().zip(self.counts).rposition(|(&at, &count)| at + 1 < count as i64);
        self.next = more.map(|at| {
            let mut next = here.clone();
            next[at] += 1;
            next[at + 1..].fill(0);
            next
        });
        Some(here)
    }
}

/// Stored entries as columns.
pub(crate) struct Unpacked {
    pub(crate) columns: Vec<IndexColumn>,
    /// The values of the entries, and perhaps others.
    pub(crate) values: Values,
    /// For each entry, the position of its value. `None` where values are in the order of the entries.
    pub(crate) places: Option<IndexColumn>,
}

/// The number of ones in a mask of zeros and ones.
fn ones(mask: &[u8]) -> usize {
    mask.chunks(255).map(|part| usize::from(part.iter().sum::<u8>())).sum()
}

/// Whether coordinates reach every position of any tensor in this format, foreign arrays included.
pub(crate) fn reaches_all(format: &ust_format::Format) -> bool {
    let compact = format.descriptions().iter().all(|level| level.props.compact);
    compact && !format.has_padding() && !Operand::has_gaps(format)
}

/// A stored entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its coordinate in each dimension.
    pub coordinates: Vec<usize>,
    /// Its value.
    pub value: Scalar,
}

/// An iterator over stored entries.
#[derive(Clone, Debug)]
pub struct Entries {
    coo: Coo,
    at: usize,
}

impl Iterator for Entries {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let value = self.coo.values.get(self.at)?;
        let coordinates = self.coo.coordinates(self.at);
        self.at += 1;
        Some(Entry { coordinates, value })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.coo.len() - self.at;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Entries {}

impl From<Entries> for Values {
    /// The values of all entries, including those that the iterator has yielded.
    fn from(entries: Entries) -> Self {
        entries.coo.values
    }
}
