//! Tensors that are changed in place: a value, or a place that a level makes or gives up. What is shared with clones
//! is copied first, and what was made of the data before is forgotten.

use std::ops::Range;
use std::sync::Arc;

use ust_level_api::{Change, Crd, Move, Pos, Scalar, Site};

use super::{Kept, Levels, Tensor, level_error};
use crate::error::Error;

impl Clone for Levels {
    /// The same arrays. What was made of them stays with the original: the clone is going to differ.
    fn clone(&self) -> Self {
        self.arrays.clone().into()
    }
}

impl Tensor {
    /// Writes the value at a position. The scalar has the dtype of the values.
    pub(crate) fn set_value(&mut self, at: usize, value: Scalar) {
        if !self.values.are_all(value) {
            self.values_to_change().fill(at..at + 1, value);
        }
    }

    /// Has a level make a place for a coordinate under a parent. Gives its position; `None`, and changes nothing,
    /// where it cannot. `block` is the number of values of a position.
    pub(crate) fn make_place(
        &mut self,
        level: usize,
        (parent, crd): (Pos, Crd),
        block: u64,
        max_positions: Pos,
    ) -> Result<Option<Pos>, Error> {
        let site = Site { max_positions, ..self.bound.site(level) };
        let arrays = &mut own(&mut self.levels).arrays[level];
        let ty = &self.bound.format().levels()[level].ty;
        let change = ty.insert(&site, arrays, parent, crd);
        let change = change.map_err(|source| level_error(&self.bound, level, source))?;
        let Some(change) = change else { return Ok(None) };
        self.follow(level, &change, block, max_positions)?;
        // What moved may have left a value there.
        let first = (change.pos * block) as usize;
        self.values.fill(first..first + block as usize, self.fill);
        Ok(Some(change.pos))
    }

    /// Has a level remove the child at a position under a parent. False, and changes nothing, where it cannot.
    pub(crate) fn give_up_place(
        &mut self,
        level: usize,
        (parent, pos): (Pos, Pos),
        block: u64,
    ) -> Result<bool, Error> {
        let site = self.bound.site(level);
        let arrays = &mut own(&mut self.levels).arrays[level];
        let ty = &self.bound.format().levels()[level].ty;
        let change = ty.remove(&site, arrays, parent, pos);
        let change = change.map_err(|source| level_error(&self.bound, level, source))?;
        change.map_or(Ok(false), |change| self.follow(level, &change, block, 0).map(|()| true))
    }

    /// Does to the values what a level did to its positions. Of these there are not more than before, or than `most`.
    fn follow(
        &mut self,
        level: usize,
        change: &Change,
        block: u64,
        most: Pos,
    ) -> Result<(), Error> {
        let before = self.nse() as u64;
        let values = |positions: &Range<Pos>| {
            let bound = |at: Pos| at.checked_mul(block).and_then(|at| usize::try_from(at).ok());
            Some(bound(positions.start)?..bound(positions.end)?)
        };
        let checked = || {
            let all = values(&(0..change.positions))?.end;
            let freed = values(&change.freed)?;
            let moves = change.moves.iter().map(|Move { from, to }| {
                let len = from.end.checked_sub(from.start)?;
                Some((values(from)?, values(&(*to..to.checked_add(len)?))?))
            });
            let moves = moves.collect::<Option<Vec<_>>>()?;
            let inside = |range: &Range<usize>| range.start <= range.end && range.end <= all;
            let within = moves.iter().all(|(from, to)| inside(from) && inside(to));
            let grows = (before..=before.max(most.saturating_mul(block))).contains(&(all as u64));
            (within && inside(&freed) && grows && change.pos < change.positions)
                .then_some((all, moves, freed))
        };
        let Some((all, moves, freed)) = checked() else {
            return Err(Error::Claim {
                level,
                text: self.format().level_text(level),
                found: format!("{change:?} of {before} values"),
                claim: "change",
                rule: "positions stay within the level, and become no fewer".to_owned(),
            });
        };
        let fill = self.fill;
        let values = self.values_to_change();
        values.extend(all - before as usize, fill);
        for (from, to) in moves {
            values.move_within(from, to.start);
        }
        values.fill(freed, fill);
        Ok(())
    }
}

/// The arrays of this tensor alone, for writing. Nothing is kept that was made of them.
fn own(levels: &mut Arc<Levels>) -> &mut Levels {
    let own = Arc::make_mut(levels);
    own.kept = Kept::default();
    own
}
