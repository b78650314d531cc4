//! The positions of a tensor whose levels loops do not walk in place of another's: a slice, a sorted or counted format,
//! duplicates. Its entries as a tree of coordinates, and for each position the entry.

use std::sync::Arc;

use ust_format::{Bound, Format};
use ust_level_api::{IndexArray, IndexColumn, IndexKind, Scalar, with_dtype};

use super::build::{BuildOptions, Duplicates};
use crate::error::Error;
use crate::storage::coo::Coo;
use crate::storage::view::View;
use crate::storage::{Kept, StoredElement, Tensor, Values, joins_alike};
use crate::walk::native::Code;
use crate::walk::nest::Reach;
use crate::walk::unpack::{Column, Keep, Wanted, What, unpack_as};

/// Whether a level of a format says of some stored values that they are no entries. A position of a full level is that
/// of an element, whatever it holds.
pub(crate) fn pads(format: &Format) -> bool {
    format.descriptions().iter().any(|level| level.props.padded && !level.props.full)
}

/// The entries of a tensor as a tree of coordinates, and where they stand in the tensor.
pub(crate) struct Entries {
    bound: Bound,
    view: View,
    /// The tree, with one value for all.
    pub(crate) tree: Tensor,
    /// For each position of the tensor, the number of the entry in the tree. Negative where there is none.
    numbers: Vec<i64>,
    /// Whether each entry has one position.
    pub(crate) distinct: bool,
}

/// The entries of a tensor as a tree, with their values.
struct Valued {
    /// The identity of the arrays of the levels of [`Entries::tree`].
    of: u64,
    tree: Tensor,
}

impl Tensor {
    /// Whether loops can walk it, and know one position of each element.
    pub(crate) fn has_positions(&self) -> bool {
        let format = self.format();
        self.view.is_whole() && format.counters().is_empty() && format.is_unique()
    }

    /// Its entries as a tree, kept with the tensor from the first time on.
    ///
    /// # Errors
    /// As [`Tensor::to_coo`] and [`Tensor::from_coo`].
    pub(crate) fn entries_as_tree(&self) -> Result<Arc<Entries>, Error> {
        if let Some(made) = self.kept_entries() {
            return Ok(made);
        }
        let made = Arc::new(self.made_entries()?);
        let bytes = made.tree.bytes() + size_of_val(&made.numbers[..]);
        self.keeps_entries().keep(Arc::clone(&made), bytes as u64);
        Ok(made)
    }

    /// Where the entries are kept.
    fn keeps_entries(&self) -> &Kept {
        // What a value holds decides whether it is an entry.
        match pads(self.format()) {
            true => self.kept_of_values(),
            false => self.kept_of_levels(),
        }
    }

    fn kept_entries(&self) -> Option<Arc<Entries>> {
        self.keeps_entries().get::<Entries>().filter(|made| {
            made.bound.format() == self.format()
                && made.bound.extents() == self.bound.extents()
                && made.view == self.view
        })
    }

    fn made_entries(&self) -> Result<Entries, Error> {
        self.fetch()?;
        let wanted = |column| Wanted { what: What::Of(column), kind: IndexKind::I64 };
        let columns = (0..self.rank()).map(Column::Dim).chain([Column::Value]).map(wanted);
        let columns: Vec<Wanted> = columns.collect();
        let mask = pads(self.format()).then(|| IndexArray::from(self.entry_mask()));
        let keep = mask.as_ref().map_or(Keep::All, Keep::Masked);
        let mut crd = unpack_as(self, Reach::Inside, &columns, keep, self.nse(), Code::trusting)?;
        let places = crd.pop().map(IndexColumn::into_vec).unwrap_or_default();
        let crd: Vec<Vec<i64>> = crd.into_iter().map(IndexColumn::into_vec).collect();
        let mut numbers = vec![-1; self.nse()];
        let format = Format::tree(self.rank())?;
        let options = BuildOptions { duplicates: Duplicates::Refuse, ..Default::default() };
        let coo = Coo { shape: self.shape().to_vec(), crd, values: places.into() };
        let (tree, distinct) = match Self::from_coo_with(&coo, &format, &options) {
            Ok(tree) => {
                let places = tree.values().typed::<i64>()?;
                places.iter().zip(0..).for_each(|(&place, entry)| numbers[place as usize] = entry);
                (tree, true)
            }
            Err(Error::Duplicate { .. }) => {
                let distinct = number_alike(&coo, &mut numbers)?;
                (Self::from_coo_with(&distinct, &format, &options)?, false)
            }
            Err(error) => return Err(error),
        };
        let tree = tree.with_values(Values::iso(Scalar::Bool(true), tree.nse()))?;
        let (bound, view) = (self.bound.clone(), self.view.clone());
        Ok(Entries { bound, view, tree, numbers, distinct })
    }

    /// This tensor with other values at its positions. Those of a tensor in full may hold anything where they are
    /// outside the shape.
    pub(crate) fn with_aligned(&self, values: Values, fill: Scalar) -> Result<Self, Error> {
        let mut made = self.with_clean_values(values)?;
        made.fill = fill;
        if !self.overhangs() {
            return Ok(made);
        }
        made.fetch()?;
        made.set_values(made.reached_values()?);
        Ok(made)
    }

    /// Whether it is stored in full, with positions for more elements than there are.
    pub(crate) fn overhangs(&self) -> bool {
        let product = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(1, u64::wrapping_mul);
        let elements = product(&mut self.bound.shape().iter().map(|&n| n as u64));
        self.format().is_full()
            && product(&mut self.bound.levels().iter().map(|l| l.size)) != elements
    }

    /// A tree of its entries, with their values: [that of its positions](Tensor::entries_as_tree) where each entry has one
    /// position. Kept with the tensor.
    ///
    /// # Errors
    /// As [`Tensor::entries_as_tree`].
    pub(crate) fn as_tree(&self) -> Result<Self, Error> {
        let entries = self.entries_as_tree()?;
        let levels = entries.tree.kept_of_levels().id();
        let kept = self.kept_of_values();
        let is_same = |made: &Arc<Valued>| made.of == levels && made.tree.fill.same(&self.fill);
        if let Some(made) = kept.get::<Valued>().filter(is_same) {
            return Ok(made.tree.clone());
        }
        let (tree, bytes) = match entries.distinct {
            true => {
                let values = entries.gathered(self.values())?;
                let bytes = values.bytes();
                let mut tree = entries.tree.with_values(values)?;
                tree.fill = self.fill;
                (tree, bytes)
            }
            false => {
                let tree = self.convert(entries.tree.format())?;
                let bytes = tree.bytes();
                (tree, bytes)
            }
        };
        kept.keep(Arc::new(Valued { of: levels, tree: tree.clone() }), bytes as u64);
        Ok(tree)
    }

    /// This tensor with the values of a tensor that has the levels of the tree of its positions. `None` for others.
    ///
    /// # Errors
    /// As [`Tensor::fetch`].
    pub(crate) fn with_values_of_tree(&self, made: &Self) -> Result<Option<Self>, Error> {
        let is_it = |entries: &Arc<Entries>| {
            entries.distinct && entries.tree.kept_of_levels().id() == made.kept_of_levels().id()
        };
        let Some(entries) = self.kept_entries().filter(is_it) else { return Ok(None) };
        made.fetch()?;
        let fill = made.fill();
        self.with_aligned(entries.spread(made.values(), fill)?, fill).map(Some)
    }

    /// Refuses a tensor of which a position stands for several elements.
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    pub(crate) fn expect_one_element_each(&self) -> Result<(), Error> {
        match joins_alike(self.format()) {
            false => Ok(()),
            true => Err(Error::Unsupported(format!(
                "a position of `{}` stands for a run of elements with equal values, and those of the result may \
                 differ: convert the tensor first",
                self.format()
            ))),
        }
    }
}

/// Numbers the different coordinates in their order, and returns an entry for each. The value of each entry that is
/// given is its place among the numbers.
fn number_alike(coo: &Coo, numbers: &mut [i64]) -> Result<Coo, Error> {
    let places = coo.values.typed::<i64>()?;
    let of = |&at: &usize| coo.crd.iter().map(move |column| column[at]);
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|a, b| of(a).cmp(of(b)));
    let mut firsts: Vec<usize> = Vec::new();
    for at in order {
        if firsts.last().is_none_or(|last| of(last).ne(of(&at))) {
            firsts.push(at);
        }
        numbers[places[at] as usize] = firsts.len() as i64 - 1;
    }
    let crd = coo.crd.iter().map(|column| firsts.iter().map(|&at| column[at]).collect());
    let values = Values::iso(Scalar::Bool(true), firsts.len());
    Ok(Coo { shape: coo.shape.clone(), crd: crd.collect(), values })
}

impl Entries {
    /// Values of the entries of the tree, from those of the positions.
    fn gathered(&self, values: &Values) -> Result<Values, Error> {
        let mut gathered = Values::unspecified(values.dtype(), self.tree.nse());
        with_dtype!(values.dtype(), T => {
            let (of, to) = (values.typed::<T>()?, gathered.typed_mut::<T>()?);
            for (&value, &number) in of.iter().zip(&self.numbers) {
                if let Ok(number) = usize::try_from(number) {
                    to[number] = value;
                }
            }
        });
        Ok(gathered)
    }

    /// Values of the positions, from those of the tree.
    pub(crate) fn spread(&self, values: &Values, fill: Scalar) -> Result<Values, Error> {
        let mut spread = Values::unspecified(fill.dtype(), self.numbers.len());
        with_dtype!(fill.dtype(), T => self.spread_into::<T>(values, fill, spread.typed_mut()?)?);
        Ok(spread)
    }

    /// As [`Entries::spread`], into memory of the caller.
    pub(crate) fn spread_into<T: StoredElement>(
        &self,
        values: &Values,
        fill: Scalar,
        out: &mut [T],
    ) -> Result<(), Error> {
        let (values, fill) = (values.typed::<T>()?, T::from_scalar(fill).unwrap_or(T::ZERO));
        for (out, &number) in out.iter_mut().zip(&self.numbers) {
            *out = usize::try_from(number).map_or(fill, |number| values[number]);
        }
        Ok(())
    }
}
