//! The walk over all stored values, and the places, counts and bins that follow from it.

use std::collections::HashMap;

use ust_engine::error::Error;
use ust_engine::tensor::Tensor;
use ust_engine::walk::nest::Reach;
use ust_engine::walk::unpack::{Column, Keep, unpack};

use super::color::colors;
use super::density::Density;
use super::picture::{Cells, Counts, Place, State, elements, group_levels};

/// The result of a walk over all stored values: columns with a row for each value.
pub(super) struct Walked<'a> {
    tensor: &'a Tensor,
    dims: Vec<Vec<i64>>,
    value: Vec<i64>,
    state: Vec<State>,
}

impl<'a> Walked<'a> {
    pub(super) fn new(tensor: &'a Tensor) -> Result<Self, Error> {
        let mut columns: Vec<Column> = (0..tensor.rank()).map(Column::Dim).collect();
        columns.extend([Column::Value, Column::Inside]);
        let mut dims = match tensor.nse() {
            0 => vec![Vec::new(); columns.len()],
            nse => unpack(tensor, Reach::Everything, &columns, Keep::All, nse)?,
        };
        let inside = dims.pop().unwrap_or_default();
        let value = dims.pop().unwrap_or_default();
        let padded = tensor.has_padding();
        let fill = tensor.fill();
        let is_fill = |at: i64| tensor.values().get(at as usize).is_some_and(|v| v.same(&fill));
        let state = inside.iter().zip(&value).map(|(&inside, &at)| match inside {
            0 => State::Outside,
            _ if padded && is_fill(at) => State::Padding,
            _ => State::Entry,
        });
        let state = state.collect();
        Ok(Self { tensor, dims, value, state })
    }

    fn coordinates(&self, row: usize) -> Vec<i64> {
        self.dims.iter().map(|column| column[row]).collect()
    }

    pub(super) fn counts(&self) -> Counts {
        let count = |state| self.state.iter().filter(|&&s| s == state).count();
        let (entries, padding) = (count(State::Entry), count(State::Padding));
        let inside = (entries + padding) as u128;
        let unique = self.tensor.format().is_unique();
        let all = elements(self.tensor.shape()).filter(|_| unique);
        Counts {
            entries,
            padding,
            outside: count(State::Outside),
            gaps: self.tensor.nse().saturating_sub(self.value.len()),
            empty: all.and_then(|all| all.checked_sub(inside)),
        }
    }

    /// The position of the traced element's value. By default, the last entry is traced, or else the
    /// last padding.
    pub(super) fn traced(&self, wanted: Option<&[usize]>) -> Option<usize> {
        let rows = 0..self.value.len();
        let last = |state| rows.clone().rev().find(|&row| self.state[row] == state);
        let row = match wanted {
            None => last(State::Entry).or_else(|| last(State::Padding)),
            Some(wanted) => rows.clone().find(|&row| {
                let same = |(column, &c): (&Vec<i64>, &usize)| column[row] == c as i64;
                self.state[row] != State::Outside && self.dims.iter().zip(wanted).all(same)
            }),
        };
        row.map(|row| self.value[row] as usize)
    }

    /// The coordinates of an element that is not stored, level by level, up to the level that does not have it.
    pub(super) fn search(&self, element: &[usize]) -> Result<Vec<i64>, Error> {
        let format = self.tensor.format();
        let told =
            format.counters().is_empty() && !format.has_sorted() && self.tensor.view().shows_all();
        if !told {
            return Ok(Vec::new());
        }
        let dims: Vec<i64> = element.iter().map(|&c| c as i64).collect();
        let levels = format.level_count();
        let columns: Vec<Column> = (0..levels).map(Column::LevelCoordinate).collect();
        let stored = match self.tensor.nse() {
            0 => vec![Vec::new(); levels],
            nse => unpack(self.tensor, Reach::Everything, &columns, Keep::All, nse)?,
        };
        let mut rows: Vec<usize> = (0..stored.first().map_or(0, Vec::len)).collect();
        let mut search = Vec::new();
        for (level, description) in format.descriptions().iter().enumerate() {
            let Some(coordinate) = format.levels()[level].expr.eval(&dims) else { break };
            search.push(coordinate);
            rows.retain(|&row| stored[level][row] == coordinate);
            // A level with a position for every coordinate has this one, whatever is below it.
            if rows.is_empty() && !description.props.full {
                return Ok(search);
            }
        }
        Ok(Vec::new())
    }

    /// The place of a value.
    pub(super) fn place(&self, value: usize) -> Result<Option<Place>, Error> {
        let mut keep = vec![0_u8; self.tensor.nse()];
        keep[value] = 1;
        Ok(self.places(Keep::Masked(&keep.into()), 1)?.into_iter().next())
    }

    fn places(&self, keep: Keep<'_>, rows: usize) -> Result<Vec<Place>, Error> {
        let levels = self.tensor.format().level_count();
        let mut columns: Vec<Column> = (0..levels).map(Column::LevelCoordinate).collect();
        columns.extend((0..levels).map(Column::LevelPosition));
        columns.push(Column::Value);
        let columns = unpack(self.tensor, Reach::Everything, &columns, keep, rows)?;
        let found = columns[2 * levels].len();
        let all =
            |from: usize, row: usize| columns[from..from + levels].iter().map(move |c| c[row]);
        let place = |row: usize| {
            let value = columns[2 * levels][row];
            // Both walks visit the same values in the same order.
            let seen = match keep {
                Keep::All => row,
                _ => self.value.iter().position(|&v| v == value).unwrap_or(row),
            };
            Place {
                dims: self.coordinates(seen),
                crd: all(0, row).collect(),
                pos: all(levels, row).map(|p| p as usize).collect(),
                value: value as usize,
                state: self.state[seen],
                group: 0,
            }
        };
        Ok((0..found).map(place).collect())
    }

    /// All places, if the tensor is small enough to be drawn cell by cell.
    pub(super) fn cells(&self, max_cells: usize) -> Result<Option<Cells>, Error> {
        let rank = self.tensor.rank();
        if self.value.len() > max_cells.saturating_mul(2) {
            return Ok(None);
        }
        let shape = self.tensor.shape();
        let mut window: Vec<(i64, i64)> = shape.iter().map(|&n| (0, n as i64)).collect();
        // The values outside the shape of a slice are hidden; their coordinates are not those of the
        // tensor.
        if self.tensor.view().shows_all() {
            for (column, (lo, hi)) in self.dims.iter().zip(&mut window) {
                for &c in column {
                    (*lo, *hi) = ((*lo).min(c), (*hi).max(c.saturating_add(1)));
                }
            }
        }
        let extents = window.iter().map(|(lo, hi)| hi.abs_diff(*lo) as usize);
        let area = extents.clone().try_fold(1_usize, usize::checked_mul);
        // A tensor with an extent of 0 has no cells, but it has labels.
        let labels = extents.fold(0_usize, usize::saturating_add);
        let fits = |area: usize| area <= max_cells && labels <= max_cells;
        if rank <= 3 && !area.is_some_and(fits) {
            return Ok(None);
        }
        let mut places = self.places(Keep::All, self.tensor.nse())?;
        if !self.tensor.view().shows_all() {
            places.retain(|place| place.state != State::Outside);
        }
        let levels = group_levels(self.tensor.format());
        let mut groups = HashMap::new();
        let mut positions = HashMap::new();
        let mut at: HashMap<Vec<i64>, Vec<usize>> = HashMap::new();
        for (index, place) in places.iter_mut().enumerate() {
            let next = groups.len();
            place.group = *groups.entry(place.crd[..levels].to_vec()).or_insert(next);
            for (level, &position) in place.pos.iter().enumerate() {
                let below = positions.entry((level, position)).or_insert(Some(place.group));
                *below = below.filter(|&group| group == place.group);
            }
            at.entry(place.dims.clone()).or_default().push(index);
        }
        let colors = colors(&places, &at, groups.len());
        Ok(Some(Cells { places, window, colors, at, positions }))
    }

    pub(super) fn density(&self, bins: [usize; 3]) -> Density {
        let mut density = Density::new(self.tensor.shape(), bins);
        for row in (0..self.value.len()).filter(|&row| self.state[row] == State::Entry) {
            density.add(self.dims.iter().map(|column| column[row]));
        }
        density
    }

    pub(super) fn head(&self, most: usize) -> Vec<Place> {
        let rows = (0..self.value.len()).filter(|&row| self.state[row] != State::Outside);
        let place = |row| Place {
            dims: self.coordinates(row),
            crd: Vec::new(),
            pos: Vec::new(),
            value: self.value[row] as usize,
            state: self.state[row],
            group: 0,
        };
        rows.take(most).map(place).collect()
    }
}
