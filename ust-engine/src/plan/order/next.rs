//! The next level of an access in the search for an order, and the cost of searching it.

use ust_level_api::LocateCost;

use crate::plan::access::Level;
use crate::tuning::{
    LOCATE_BEGIN_NS, LOCATE_CONSTANT_NS, LOCATE_FULL_NS, LOCATE_HALVING_NS, LOCATE_SCANNED_NS,
    TABLE_BEGIN_NS, TABLE_CLEAR_NS, TABLE_LOOK_UP_NS, TABLE_WRITE_NS,
};

/// The next level of an access: of its tensor, or of the tree that its tensor is converted into.
pub(super) struct Next {
    pub(super) mergeable: bool,
    /// Whether each child can be visited without those before it.
    pub(super) searchable: bool,
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
            mergeable: level.is_mergeable(),
            searchable: level.cursor.is_searchable(),
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
    /// Nanoseconds to find a coordinate. `None` if the level may store it more than once.
    pub(super) fn search(&self) -> Option<f64> {
        Some(match self.locate {
            _ if self.full => LOCATE_FULL_NS,
            _ if !self.unique => return None,
            LocateCost::Constant => LOCATE_CONSTANT_NS,
            LocateCost::Logarithmic => {
                LOCATE_BEGIN_NS + LOCATE_HALVING_NS * (self.fanout + 1.0).log2()
            }
            LocateCost::None => LOCATE_SCANNED_NS * self.fanout + LOCATE_BEGIN_NS,
        })
    }

    /// Nanoseconds to fill a table `filled` times and to look up `looked_up` coordinates in it. `None` if
    /// the level's children cannot be written one by one.
    pub(super) fn table(&self, filled: f64, looked_up: f64) -> Option<f64> {
        // The coordinate of padding may be that of an entry, too.
        let suits = !self.full && self.unique && self.searchable && !self.padded;
        let fill =
            filled * (self.fanout * TABLE_WRITE_NS + TABLE_BEGIN_NS) + self.size * TABLE_CLEAR_NS;
        suits.then_some(fill + looked_up * TABLE_LOOK_UP_NS)
    }
}
