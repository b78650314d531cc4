//! Reachable positions, and helpers with which a level checks foreign arrays.

use std::ops::Range;

use crate::error::LevelError;
use crate::{IndexArray, Pos};

/// The positions of a level that can be reached from the root.
///
/// In most levels, all positions are reachable. A level with gaps between its segments lists the
/// reachable ones; the contents of the gaps are then not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Number of positions, reachable or not. The lengths of the next level's arrays follow from
    /// it.
    pub positions: Pos,
    /// The reachable positions as disjoint intervals, or `None` if all are reachable.
    pub intervals: Option<Vec<Range<Pos>>>,
}

impl Reach {
    /// A reach of `positions` positions, all of them reachable.
    #[must_use]
    pub fn all(positions: Pos) -> Self {
        Self { positions, intervals: None }
    }

    /// The reachable intervals, in the order of the parents.
    pub fn intervals(&self) -> impl Iterator<Item = Range<Pos>> + '_ {
        let all = self.intervals.is_none().then_some(0..self.positions);
        all.into_iter().chain(self.intervals.iter().flatten().cloned())
    }

    /// Every reachable position.
    pub fn iter(&self) -> impl Iterator<Item = Pos> + '_ {
        self.intervals().flatten()
    }

    /// The reach of a level in which each parent position has `factor` children.
    ///
    /// # Errors
    /// [`LevelError::Overflow`] if there are more than [`MAX_POSITIONS`].
    pub fn times(&self, factor: u64) -> Result<Self, LevelError> {
        let scale = |n: Pos| {
            n.checked_mul(factor).filter(|&m| m <= MAX_POSITIONS).ok_or_else(|| {
                LevelError::Overflow {
                    what: "the number of positions".to_owned(),
                    detail: format!("{n} parents with {factor} children each"),
                }
            })
        };
        let intervals = self
            .intervals
            .as_ref()
            .map(|intervals| intervals.iter().map(|i| i.start * factor..i.end * factor).collect());
        Ok(Self { positions: scale(self.positions)?, intervals })
    }
}

/// The largest number of positions that can be addressed.
pub const MAX_POSITIONS: u64 = i64::MAX as u64 / 2;

/// Checks the length of an array.
///
/// # Errors
/// [`LevelError::Length`] unless the length is `expected`. `why` explains that number.
pub fn length(array: &str, found: usize, expected: u64, why: &str) -> Result<(), LevelError> {
    if found as u64 == expected {
        return Ok(());
    }
    Err(LevelError::Length {
        array: array.to_owned(),
        found: found as u64,
        expected: format!("{expected} ({why})"),
    })
}

/// Checks that one element obeys a rule.
///
/// # Errors
/// [`LevelError::Invalid`] if `holds` is false.
pub fn rule(
    holds: bool,
    array: &str,
    index: u64,
    found: i64,
    rule: impl FnOnce() -> String,
) -> Result<(), LevelError> {
    if holds {
        return Ok(());
    }
    Err(LevelError::Invalid { array: array.to_owned(), index, found, rule: rule() })
}

/// Checks one segment of coordinates: all lie in `bounds`; they are in order if `ordered`, and
/// distinct if `unique`.
///
/// # Errors
/// [`LevelError::Invalid`] with the first coordinate that breaks a rule.
pub fn segment(
    array: &str,
    crd: &[i64],
    segment: Range<Pos>,
    bounds: Range<i64>,
    ordered: bool,
    unique: bool,
) -> Result<(), LevelError> {
    let mut seen = (unique && !ordered).then(std::collections::HashSet::new);
    for at in segment.clone() {
        let found = crd[at as usize];
        rule(bounds.contains(&found), array, at, found, || {
            format!("a coordinate lies in [{}, {})", bounds.start, bounds.end)
        })?;
        if ordered && at > segment.start {
            let before = crd[at as usize - 1];
            let holds = if unique { before < found } else { before <= found };
            rule(holds, array, at, found, || {
                let order = if unique { "ascend" } else { "not descend" };
                format!("coordinates under one parent must {order}, and {before} stands before it")
            })?;
        }
        if let Some(seen) = &mut seen {
            rule(seen.insert(found), array, at, found, || {
                "coordinates under one parent are distinct in a unique level".to_owned()
            })?;
        }
    }
    Ok(())
}

/// All indices of an array, for rules about each of them.
#[must_use]
pub fn indices(array: &IndexArray) -> Vec<i64> {
    array.to_vec()
}
