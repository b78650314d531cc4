//! Entries that are inserted into a tensor, changed and removed.

use ust_level_api::ir::cancel;
use ust_level_api::{Pos, Scalar};

use super::build::BuildOptions;
use super::columns::POSITION_BYTES;
use crate::check::{are_trusted, verify};
use crate::error::Error;
use crate::storage::memory::default_limit;
use crate::storage::{Tensor, joins_alike};
use crate::walk::access::Search;

impl Tensor {
    /// Stores a value at the given coordinates, in place of an earlier one, which it returns. As [`Tensor::update`].
    ///
    /// ```
    /// use ust::{Format, Scalar, Tensor, Dtype};
    ///
    /// let format: Format = "(i, j) -> (i : dense, j : hashed)".parse()?;
    /// let mut a = Tensor::zeros(&[1000, 1000], &format, Dtype::F64)?;
    /// let before = a.clone();
    /// assert_eq!(a.insert(&[7, 42], 3.0)?, None);
    /// assert_eq!(a.insert(&[7, 42], 4.0)?, Some(Scalar::F64(3.0)));
    /// a.update(&[7, 42], |stored| match stored {
    ///     Some(Scalar::F64(value)) => Some((2.0 * value).into()),
    ///     other => other,
    /// })?;
    /// assert_eq!((a.get_as::<f64>(&[7, 42])?, before.get_as::<f64>(&[7, 42])?), (8.0, 0.0));
    /// assert_eq!(a.remove(&[7, 42])?, Some(Scalar::F64(8.0)));
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::update`].
    pub fn insert(
        &mut self,
        coordinates: &[usize],
        value: impl Into<Scalar>,
    ) -> Result<Option<Scalar>, Error> {
        let value = value.into();
        self.update(coordinates, |_| Some(value))
    }

    /// Removes what is stored at the given coordinates, and returns it. As [`Tensor::update`].
    ///
    /// # Errors
    /// As [`Tensor::update`].
    pub fn remove(&mut self, coordinates: &[usize]) -> Result<Option<Scalar>, Error> {
        self.update(coordinates, |_| None)
    }

    /// Changes what is stored at the given coordinates: a function is given the stored value, and gives the new one;
    /// `None` is for no entry. Returns the stored value. Several entries at the same coordinates are their sum, and
    /// become one.
    ///
    /// Where a format ends in a full or padded level, an entry equal to the fill value is padding, and no entry.
    /// Clones of the tensor stay as they are.
    ///
    /// # Cost
    ///
    /// A search, as of [`Tensor::get`]. Nothing more where an entry is stored already: of any format, if it has one
    /// value for each entry. The same for a block of values that is stored already.
    ///
    /// A new entry needs a place. If the levels above have one, the last level that is not full is
    /// [asked](ust_level_api::LevelType::insert) to make one, and to give it up again:
    ///
    /// * `hashed` takes an empty slot of its table, in constant time. If the table is nearly full, the tensor is
    ///   built anew, and all of its tables get twice as many slots.
    /// * `loose_compressed` moves the entries behind it in the same segment. A segment without room moves to the
    ///   end, and gets twice as much.
    ///
    /// What a level type of a [plug-in](ust_level_api::LevelType::is_trusted) makes of a tensor is checked as a whole.
    ///
    /// In all other cases the tensor is built anew: O(nse), and a sort. Whoever inserts many entries into such a
    /// format takes a [`Builder`](crate::Builder). The first change of a tensor that shares its arrays with
    /// clones copies them.
    ///
    /// # Errors
    /// [`Error::Shape`] and [`Error::Coordinate`] for coordinates that no element has, [`Error::Cast`] for a value that
    /// the dtype of the tensor cannot hold, [`Error::Unsupported`] for a slice, and as [`Tensor::from_coo_with`]:
    /// [`Error::Level`] if a level cannot hold one more entry, [`Error::TooLarge`] beyond the
    /// [memory limit](crate::tensor::memory::default_limit). The tensor is then as it was, or, if the work was
    /// [cancelled](crate::ops::CancelToken), as it was or as it was to become.
    pub fn update(
        &mut self,
        coordinates: &[usize],
        change: impl FnOnce(Option<Scalar>) -> Option<Scalar>,
    ) -> Result<Option<Scalar>, Error> {
        if !self.view().shows_all() {
            let text =
                "a slice shows part of a tensor: change the tensor, or convert the slice first";
            return Err(Error::Unsupported(text.to_owned()));
        }
        self.fetch()?;
        let search = self.search(coordinates)?;
        let stored = (search.count > 0).then_some(search.sum);
        let to = self.dtype();
        let new = change(stored).map(|value| value.cast(to)).transpose();
        let new = new.map_err(|error| Error::Cast { value: error.value, at: 0, to })?;
        // The fill value is no entry where it is padding.
        let new = new.filter(|value| !(self.has_padding() && value.same(&self.fill())));
        if !self.changed_in_place(coordinates, &search, new)? {
            *self = self.built_anew(coordinates, new)?;
        }
        Ok(stored)
    }

    /// Changes an element in place. False, and changes nothing, where that cannot be.
    fn changed_in_place(
        &mut self,
        coordinates: &[usize],
        search: &Search,
        new: Option<Scalar>,
    ) -> Result<bool, Error> {
        let format = self.format();
        let shared = joins_alike(format);
        match (search.count, new) {
            (0, None) => return Ok(true),
            (1, Some(value)) if !shared => {
                self.set_value(search.place, value);
                return Ok(true);
            }
            (1, None) if !shared && self.has_padding() => {
                self.set_value(search.place, self.fill());
                return Ok(true);
            }
            (0 | 1, _) if !shared => {}
            _ => return Ok(false),
        }
        // From here on, positions are found by coordinates alone.
        let plain = |level: &ust_level_api::Description| level.props.unique && !level.props.padded;
        if format.depends_on_entries() || !format.descriptions().iter().all(plain) {
            return Ok(false);
        }
        if are_trusted(format) {
            // Between the change of a level and that of the values, the tensor is none.
            return cancel::shielded(|| self.changed_by_level(search, new));
        }
        // What the level makes of the arrays is taken when it is known to be sound.
        let mut changed = self.clone();
        if !changed.changed_by_level(search, new)? {
            return Ok(false);
        }
        let changed = verify(changed)?;
        let found = changed.search(coordinates)?;
        let stored = (found.count > 0).then_some(found.sum);
        let same = |(a, b): (Scalar, Scalar)| a.same(&b);
        if stored.is_none() != new.is_none() || !stored.zip(new).is_none_or(same) {
            let level = self.format().tail().saturating_sub(1);
            return Err(Error::Claim {
                level,
                text: self.format().level_text(level),
                found: format!("{stored:?} at {coordinates:?}"),
                claim: "change",
                rule: "a child that is inserted is found, and one that is removed is not"
                    .to_owned(),
            });
        }
        *self = changed;
        Ok(true)
    }

    /// Changes an element that needs a place of the last level that is not full, or leaves one. False, and changes
    /// nothing, where that cannot be.
    fn changed_by_level(&mut self, search: &Search, new: Option<Scalar>) -> Result<bool, Error> {
        let format = self.format();
        let tail = format.tail();
        let domains = self.bound().levels();
        let mut sizes = domains[tail..].iter().map(|domain| domain.size);
        // A block of so many values is not stored: building it tells why.
        let Some(block) = sizes.try_fold(1_u64, u64::checked_mul) else {
            return Ok(false);
        };
        let offset =
            domains[tail..].iter().zip(&search.levels[tail..]).fold(0, |sum, (domain, &crd)| {
                sum * domain.size + crd.wrapping_sub(domain.lower) as u64
            });
        let reached = |level: usize| Pos::try_from(search.path[level]).ok();
        let Some(value) = new else {
            let (Some(last), Some(pos)) = (tail.checked_sub(1), reached(tail)) else {
                return Ok(false);
            };
            let Some(parent) = reached(last) else { return Ok(false) };
            return self.give_up_place(last, (parent, pos), block);
        };
        let pos = match (reached(tail), tail.checked_sub(1)) {
            (Some(pos), _) => Some(pos),
            (None, Some(last)) => match reached(last) {
                Some(parent) => {
                    let bytes = block.saturating_mul(self.dtype().bytes() as u64);
                    let most = default_limit() / POSITION_BYTES.saturating_add(bytes);
                    self.make_place(last, (parent, search.levels[last]), block, most)?
                }
                None => None,
            },
            (None, None) => None,
        };
        let at = pos.and_then(|pos| usize::try_from(pos.checked_mul(block)? + offset).ok());
        let Some(at) = at.filter(|&at| at < self.nse()) else { return Ok(false) };
        self.set_value(at, value);
        Ok(true)
    }

    /// The same entries but for one element, built anew, with room for more if there is memory for it.
    fn built_anew(&self, coordinates: &[usize], new: Option<Scalar>) -> Result<Self, Error> {
        let mut coo = self.to_coo()?;
        let differs = |at: &usize| {
            coo.crd.iter().zip(coordinates).any(|(column, &c)| column[*at] as usize != c)
        };
        let kept: Vec<u64> = (0..coo.len()).filter(differs).map(|at| at as u64).collect();
        coo.values = coo.values.gather(&kept);
        for (column, &c) in coo.crd.iter_mut().zip(coordinates) {
            *column = kept.iter().map(|&at| column[at as usize]).collect();
            column.extend(new.map(|_| c as i64));
        }
        if let Some(value) = new {
            coo.values.extend(1, value);
        }
        let with = |room| BuildOptions { fill: Some(self.fill()), room, ..Default::default() };
        let build = |room| Self::from_coo_with(&coo, self.format(), &with(room));
        build(true).or_else(|_| build(false))
    }
}
