//! Columns whose numbers are elsewhere, and cannot be fetched.

use std::sync::Arc;

use ust_level_api::ir::Elsewhere;
use ust_level_api::ir::elsewhere::Segments;
use ust_level_api::{Buffer, Entries, IndexColumn, LevelError, Pos};

use super::entries;
use crate::report::{Verdict, wrong};
use crate::samples::Sample;

/// Columns that are elsewhere are fetched before they are looked at: it is an error if they cannot be. So are
/// segments, which the place of the columns may make of them.
pub(super) fn fetches_what_it_looks_at(sample: &Sample, seed: u64) -> Verdict {
    let columns: [fn(usize) -> IndexColumn; 2] =
        [|len| IndexColumn::I64(Buffer::deferred(len, || Err("they are nowhere".into()))), nowhere];
    for (site, column) in entries::tries(sample, seed) {
        for there in columns {
            let entries =
                Entries::new(column.parents, there(column.parent.len()), there(column.crd.len()));
            match sample.ty.assemble(&site, &entries) {
                // What it does not look at stays where it is.
                Ok(_) | Err(LevelError::Unfetched(_)) => {}
                Err(other) => return wrong(format!("{site:?}: columns of no numbers: {other}")),
            }
        }
    }
    Ok(())
}

/// A place that makes segments, and gives nothing back.
#[derive(Debug)]
struct Nowhere;

fn nowhere(len: usize) -> IndexColumn {
    let fetch = || Err("they are nowhere".into());
    IndexColumn::I64(Buffer::elsewhere(len, Arc::new(Nowhere), fetch))
}

impl Elsewhere for Nowhere {
    fn segments(
        &self,
        parents: Pos,
        parent: &IndexColumn,
        crd: &IndexColumn,
        _merges: bool,
    ) -> Option<Segments> {
        let offsets = nowhere(parents as usize + 1);
        Some(Segments { offsets, crd: nowhere(crd.len()), child: nowhere(parent.len()) })
    }
}
