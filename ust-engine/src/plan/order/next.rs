//! A level that comes next in the search, and what it costs to look for a coordinate in it.

use ust_level_api::LocateCost;

use crate::plan::access::Level;

/// Nanoseconds to write a coordinate into a table, to begin that, to clear a place, and to look one
/// up.
const TABLE: [f64; 4] = [1.5, 3.0, 0.3, 2.5];

/// A level of a use that is next, for the estimate.
pub(super) struct Next {
    pub(super) mergeable: bool,
    pub(super) carries: bool,
    pub(super) padded: bool,
    pub(super) full: bool,
    pub(super) unique: bool,
    pub(super) locate: LocateCost,
    pub(super) size: f64,
    pub(super) fanout: f64,
}

impl From<&Level> for Next {
    fn from(level: &Level) -> Self {
        Self {
            mergeable: level.mergeable,
            carries: level.carries,
            padded: level.props.padded,
            full: level.props.full,
            unique: level.props.unique,
            locate: level.locate,
            size: level.size,
            fanout: level.fanout,
        }
    }
}

impl Next {
    /// Nanoseconds to find a coordinate; `None` where there may be several of it.
    pub(super) fn search(&self) -> Option<f64> {
        Some(match self.locate {
            _ if self.full => 0.5,
            _ if !self.unique => return None,
            LocateCost::Constant => 2.0,
            LocateCost::Logarithmic => 4.0 + 5.0 * (self.fanout + 1.0).log2(),
            LocateCost::None => 2.0 * self.fanout + 4.0,
        })
    }

    /// Nanoseconds to fill a table so often, and to look up so much in it; `None` where children
    /// cannot be reached one by one.
    pub(super) fn table(&self, filled: f64, looked_up: f64) -> Option<f64> {
        let [write, begin, clear, look_up] = TABLE;
        // Padding may have any coordinate.
        let suits = !self.full && self.unique && self.mergeable && !self.carries && !self.padded;
        let fill = filled * (self.fanout * write + begin) + self.size * clear;
        suits.then_some(fill + looked_up * look_up)
    }
}
