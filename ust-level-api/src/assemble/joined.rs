//! Runs of neighbouring entries with equal values.

use super::{Entries, of_children, parts};
use crate::column::{IndexColumn, IndexRead};
use crate::{Buffer, LevelError, Site, with_column};

/// The runs of each parent, laid side by side in the order of the parents.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// For each parent, and once more at the end, where its runs begin: `parents + 1` offsets.
    pub offsets: Buffer<i64>,
    /// For each run, its first coordinate.
    pub begin: Buffer<i64>,
    /// For each run, one past its last coordinate.
    pub end: Buffer<i64>,
    /// For each entry, the run that it is in.
    pub run: IndexColumn,
}

impl Entries {
    /// Joins neighbours that are [alike](Self::alike), for a level whose coordinates are unique. Parallel. Cost:
    /// O(entries + parents).
    ///
    /// # Errors
    /// [`LevelError::Overflow`] if there are more runs than positions are allowed; [`LevelError::Unfetched`].
    pub fn joined(&self, site: &Site) -> Result<Joined, LevelError> {
        let segments = self.segments(true)?;
        segments.fetch()?;
        let (bounds, children) = (segments.offsets.to_vec(), segments.crd.len());
        // Children that have the value of the one before. Several entries of a child are not known to.
        let mut alike = vec![false; children];
        if let Some(known) = self.alike.as_deref().filter(|known| known.len() == children) {
            for (entry, known) in known.iter().enumerate() {
                alike[segments.child.at(entry) as usize] = *known;
            }
        }
        with_column!(&segments.crd, crd => {
            let own = |parent: usize| bounds[parent] as usize..bounds[parent + 1] as usize;
            let begins = |parent: usize, at: usize| {
                at == own(parent).start || !alike[at] || crd.at(at - 1) + 1 != crd.at(at)
            };
            let heads = |parent| own(parent).filter(move |&at| begins(parent, at));
            let offsets = site.starts(bounds.len() - 1, |parent| heads(parent).count() as u64)?;
            let run = parts(&bounds, 0, |parent, runs: &mut [i64]| {
                let mut run = offsets[parent] - 1;
                for (found, at) in runs.iter_mut().zip(own(parent)) {
                    run += i64::from(begins(parent, at));
                    *found = run;
                }
            });
            let begin = parts(&offsets, 0, |parent, begin: &mut [i64]| {
                begin.iter_mut().zip(heads(parent)).for_each(|(begin, at)| *begin = crd.at(at));
            });
            let end = parts(&offsets, 0, |parent, end: &mut [i64]| {
                let behind = heads(parent).skip(1).chain([own(parent).end]);
                end.iter_mut().zip(behind).for_each(|(end, at)| *end = crd.at(at - 1) + 1);
            });
            let run = of_children(&segments.child, &run, begin.len() as u64);
            Ok(Joined { offsets, begin, end, run })
        })
    }
}
