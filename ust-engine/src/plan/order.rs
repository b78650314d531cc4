//! The order of loops: which level of which tensor each loop walks, what is searched, and which
//! tensors are converted first because no order suits all of them.
//!
//! Every order that the tensors' levels allow is estimated, with every choice of tensors that are
//! converted, and the cheapest is taken. One unit of cost is about a nanosecond.

mod next;
mod search;

use search::search;
use ust_format::{ExprKey, IndexExpr};

use super::access::Access;
use super::sink::Shape;

/// A loop.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// What the loop runs over.
    pub(crate) key: ExprKey,
    pub(crate) expr: IndexExpr,
    /// Levels that run along: use and level.
    pub(crate) walkers: Vec<(usize, usize)>,
    /// Levels whose coordinate is known once this loop's is, in the order of searching.
    pub(crate) searches: Vec<(usize, usize)>,
    /// Index variables that are known from here on.
    pub(crate) solved: Vec<usize>,
}

/// A level whose children under one position are written into a table, by coordinate, because they
/// are searched again and again.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) at: usize,
    pub(crate) level: usize,
    /// How many loops are open where that position is known.
    pub(crate) depth: usize,
}

/// All loops of a stage, outermost first.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// What can be searched before any loop.
    pub(crate) first: Vec<(usize, usize)>,
    pub(crate) steps: Vec<Step>,
    pub(crate) tables: Vec<Table>,
    /// For each use, the tree that it is converted into, if it is.
    pub(crate) converted: Vec<Option<Tree>>,
    /// The estimated cost of conversions, in nanoseconds.
    pub(crate) conversion_cost: f64,
    /// The estimated cost of everything, in nanoseconds.
    pub(crate) cost: f64,
}

/// A tree of coordinates that a use is converted into: a level for each dimension.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// The dimensions of the levels.
    pub(crate) dims: Vec<usize>,
    /// Whether the first level is searched, again and again, and is to be full: it is not much larger
    /// than what is stored.
    pub(crate) full: bool,
    /// Whether entries stand in another order than before.
    moved: bool,
}

/// What the search is about.
pub(crate) struct Problem<'a> {
    pub(crate) accesses: &'a [Access],
    /// Extent of each index variable.
    pub(crate) extents: &'a [f64],
    /// The index variables that matter.
    pub(crate) indices: Vec<usize>,
    /// Uses that must be converted: views, duplicates, coordinates out of order.
    pub(crate) must_convert: Vec<bool>,
    /// The uses that may have nothing stored somewhere.
    pub(crate) sparse: Vec<usize>,
    /// For each set of sparse uses (as bits) that are stored, whether there is something to do.
    pub(crate) worth: Vec<bool>,
    /// What the result is like.
    pub(crate) result: &'a Shape,
    /// Whether nothing may be converted.
    pub(crate) as_given: bool,
}

/// Nanoseconds to convert a stored element.
const CONVERT: f64 = 10.0;
/// The same, where the order stays.
const REGROUP: f64 = 3.0;
/// Places for each stored element that a full level may have.
const SPARE: f64 = 4.0;
/// Places for each stored element of all operands that a table may have.
const PLACES: f64 = 16.0;
/// Orders looked at before the best one so far is taken.
const MOST_STATES: usize = 20_000;

/// Finds the cheapest order; `None` where there is none, which cannot be where everything may be
/// converted: trees of coordinates are walked and searched in any order. The first order of those
/// is what others are compared with, so that a search that ends early has one.
pub(crate) fn best(problem: &Problem<'_>) -> Option<Order> {
    let mut best: Option<Order> = None;
    let count = problem.sparse.len();
    let mut choices: Vec<u32> = (0..if problem.as_given { 1 } else { 1_u32 << count }).collect();
    choices.sort_by_key(|choice| choice.count_ones());
    let everything = choices.last().copied().filter(|_| !problem.as_given);
    let first = everything.map(|choice| (choice, true));
    let mut left = MOST_STATES;
    for (choice, any) in first.into_iter().chain(choices.into_iter().map(|c| (c, false))) {
        let flexible = |at: usize| {
            let bit = problem.sparse.iter().position(|&s| s == at);
            bit.is_some_and(|bit| choice >> bit & 1 == 1)
        };
        let given = 0..problem.accesses.len();
        if given.clone().any(|at| problem.must_convert[at] && !flexible(at)) {
            continue;
        }
        let conversion_cost: f64 = given
            .clone()
            .filter(|&at| flexible(at))
            .map(|at| 2000.0 + REGROUP * problem.accesses[at].nse)
            .sum();
        let flexible = given.map(|at| flexible(at).then(Tree::default)).collect();
        // Half of what is left, so that something is left for the others.
        let most = left.div_ceil(2);
        left -= search(problem, &mut best, most, any, flexible, conversion_cost);
    }
    best
}
