//! What a level says of its room before it is built.

use std::collections::BTreeSet;

use ust_level_api::{Crd, Population, Pos};

use super::Built;
use crate::report::{Verdict, ensure};

/// What a footprint may be wrong by, as a factor, and in positions and bytes.
const ROUGHLY: (f64, f64) = (8.0, 64.0);

/// The room of a level is near what is told before it is built.
pub(super) fn is_foreseen(built: &Built<'_>) -> Verdict {
    let Built { sample, site, column, made } = built;
    // Nobody asks about a tensor without entries.
    if column.parent.is_empty() {
        return Ok(());
    }
    // The columns stand in the order of the parents, each of which has its coordinates in order.
    let pairs: Vec<(Pos, Crd)> =
        column.parent.iter().copied().zip(column.crd.iter().copied()).collect();
    let children: BTreeSet<(Pos, Crd)> = pairs.iter().copied().collect();
    let stored = if sample.description.props.unique { children.len() } else { pairs.len() };
    let begins = |&&(parent, crd): &&(Pos, Crd)| !children.contains(&(parent, crd - 1));
    let mut span = 0;
    for parent in 0..column.parents {
        let mut own = children.range((parent, Crd::MIN)..=(parent, Crd::MAX));
        let first = own.next();
        let last = own.next_back().or(first);
        span += first.zip(last).map_or(0, |(first, last)| last.1 - first.1 + 1);
    }
    let population = Population {
        parents: column.parents as f64,
        stored: stored as f64,
        runs: children.iter().filter(begins).count() as f64,
        span: span as f64,
    };
    let told = sample.ty.footprint(site, &population);
    let bits =
        made.arrays.0.iter().map(|array| array.len() as f64 * f64::from(array.kind().bits()));
    let near = |told: f64, found: f64| {
        let (factor, slack) = ROUGHLY;
        told <= factor * found + slack && found <= factor * told + slack
    };
    for (what, told, found) in [
        ("positions", told.positions, made.positions as f64),
        ("bytes", told.bytes, bits.sum::<f64>() / 8.0),
    ] {
        ensure(near(told, found), || {
            format!("`footprint` tells {told} {what}, and it has {found}")
        })?;
    }
    Ok(())
}
