//! The formats that operands and results are stored in.

use std::collections::{BTreeMap, BTreeSet};

use ust_engine::Format;
use ust_engine::format::named::named;

use crate::oracle::Random;

/// The largest rank of a tensor that is tried.
const RANKS: std::ops::RangeInclusive<usize> = 0..=4;

/// Formats by rank.
#[derive(Clone, Debug)]
pub struct Pool {
    named: BTreeMap<usize, Vec<(String, Format)>>,
    others: BTreeMap<usize, Vec<Format>>,
    /// Of a hundred formats drawn, how many are named.
    share: u64,
}

impl Pool {
    /// The named formats whose level types are linked, and others, which are drawn as often as
    /// `share` leaves, in percent.
    #[must_use]
    pub fn new(others: impl IntoIterator<Item = Format>, share: u64) -> Self {
        let mut pool = Self { named: BTreeMap::new(), others: BTreeMap::new(), share };
        for format in named() {
            // A family is there at every rank.
            let ranks = match format.parameters {
                ["d"] => RANKS.map(Some).collect(),
                _ => vec![None],
            };
            for rank in ranks {
                let text = if rank.is_some() { format.name } else { format.example };
                if let Ok(format) = Format::resolve(text, rank) {
                    let list = pool.named.entry(format.rank()).or_default();
                    list.push((text.to_owned(), format));
                }
            }
        }
        for list in pool.named.values_mut() {
            // What has two names is one format.
            let mut seen = BTreeSet::new();
            list.retain(|(_, format)| seen.insert(format.to_string()));
        }
        for format in others {
            if RANKS.contains(&format.rank()) && !format.has_slices() {
                pool.others.entry(format.rank()).or_default().push(format);
            }
        }
        pool
    }

    /// The named formats of a rank.
    #[must_use]
    pub fn named(&self, rank: usize) -> &[(String, Format)] {
        self.named.get(&rank).map_or(&[], Vec::as_slice)
    }

    fn others(&self, rank: usize) -> &[Format] {
        self.others.get(&rank).map_or(&[], Vec::as_slice)
    }

    /// Any format of a rank; `None` where there is none. With `other`, one of those that have no
    /// name, where there is one.
    pub fn draw(&self, rank: usize, other: bool, random: &mut Random) -> Option<Format> {
        let (named, others) = (self.named(rank), self.others(rank));
        let by_name = !other && random.percent(self.share);
        if others.is_empty() || (by_name && !named.is_empty()) {
            return pick(named, random).map(|(_, format)| format.clone());
        }
        pick(others, random).cloned()
    }
}

/// Any element of a list.
pub(super) fn pick<'a, T>(list: &'a [T], random: &mut Random) -> Option<&'a T> {
    match list.is_empty() {
        true => None,
        false => list.get(random.below(list.len() as u64) as usize),
    }
}
