//! Entries for a level alone.

use std::fmt;

use ust_level_api::{Crd, Entries, IndexColumn, Pos, Role, Site};

use crate::oracle::Random;
use crate::samples::{Needs, Sample};

/// Entries, as a level is given them.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) parents: Pos,
    pub(super) parent: Vec<Pos>,
    pub(super) crd: Vec<Crd>,
}

impl Column {
    /// As columns. Neighbouring tries differ in how the numbers are kept.
    pub(super) fn entries(&self) -> Entries {
        let parent: Vec<i64> = self.parent.iter().map(|&p| p as i64).collect();
        let counts = parent.iter().enumerate().all(|(at, &p)| at as i64 == p);
        let narrow = self.crd.len() % 2 == 1;
        let runs = self.crd.len().is_multiple_of(3) && parent.is_sorted();
        let parent = match (counts, narrow) {
            (true, _) => IndexColumn::Count(parent.len()),
            _ if runs => {
                let starts = (0..=self.parents as i64).map(|p| parent.partition_point(|&q| q < p));
                IndexColumn::Runs(starts.map(|start| start as u32).collect())
            }
            (_, true) => parent.iter().map(|&p| p as u32).collect::<Vec<_>>().into(),
            (_, false) => parent.into(),
        };
        let crd = match narrow && self.crd.iter().all(|crd| i32::try_from(*crd).is_ok()) {
            true => self.crd.iter().map(|&crd| crd as i32).collect::<Vec<_>>().into(),
            false => self.crd.clone().into(),
        };
        let mut pairs = self.parent.iter().zip(&self.crd);
        let mut next = pairs.clone().skip(1);
        // What is not said is found out.
        let distinct = self.crd.len() % 4 < 2 && !pairs.any(|pair| next.next() == Some(pair));
        Entries { parents: self.parents, parent, crd, distinct, alike: None }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} parents, entries", self.parents)?;
        for (parent, crd) in self.parent.iter().zip(&self.crd) {
            write!(f, " {parent}:{crd}")?;
        }
        Ok(())
    }
}

/// Sites and entries to try: every width, several sizes, few and many parents, equal coordinates,
/// parents that do not ascend.
pub(super) fn tries(sample: &Sample, seed: u64) -> Vec<(Site, Column)> {
    let mut random = Random::new(seed);
    let mut all = Vec::new();
    let packed = sample
        .description
        .arrays
        .iter()
        .any(|array| array.role == Role::Coordinate && array.min_bits == 2);
    for (at, &(size, lower)) in sizes(sample).iter().enumerate() {
        let widths: &[u32] = if at == 0 { &[0, 8, 16, 32, 64] } else { &[0] };
        for &width in widths {
            for parents in [0, 1, 2, 5] {
                for density in [0, 15, 50, 100] {
                    let column = column(sample, parents, size, lower, density, &mut random);
                    let crd_width = if packed && width == 8 { 2 } else { width };
                    let site = Site { size, lower, pos_width: width, crd_width, ..Site::default() };
                    all.push((site, column));
                }
            }
        }
    }
    all
}

/// Sizes and lowest coordinates.
fn sizes(sample: &Sample) -> Vec<(u64, Crd)> {
    match sample.needs {
        Needs::Remainder(m) => vec![(m, 0)],
        Needs::Ranged => vec![(6, 0), (1, 0), (0, 0)],
        Needs::Nothing => vec![(6, 0), (7, -3), (1, 0), (0, 0), (40, 0)],
    }
}

fn column(
    sample: &Sample,
    parents: Pos,
    size: u64,
    lower: Crd,
    density: u64,
    random: &mut Random,
) -> Column {
    let props = sample.description.props;
    // A branchless level has a child for each parent, and none without a coordinate to give it.
    let parents = if props.branchless && size == 0 { 0 } else { parents };
    let mut order: Vec<Pos> = (0..parents).collect();
    if random.percent(30) {
        random.shuffle(&mut order);
    }
    let mut column = Column { parents, parent: Vec::new(), crd: Vec::new() };
    let bounds = lower..lower + size as Crd;
    for parent in order {
        let mut put = |crd: Crd, times: u64| {
            for _ in 0..times {
                column.parent.push(parent);
                column.crd.push(crd);
            }
        };
        if props.branchless {
            // Each parent has exactly one child, hence one entry, or padding in its place.
            if props.padded && random.percent(30) {
                continue;
            }
            put(lower + random.below(size) as Crd, 1);
            continue;
        }
        for crd in bounds.clone() {
            if random.percent(density) {
                // Entries that are one child in a unique level, several elsewhere.
                put(crd, 1 + u64::from(random.percent(20)));
            }
        }
    }
    column
}
