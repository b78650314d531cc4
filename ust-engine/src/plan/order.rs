//! The order of loops: which levels each loop walks, which levels it searches, and which tensors are
//! converted first.
//!
//! The planner estimates every order that the levels allow, with every choice of converted tensors,
//! and takes the cheapest. A conversion helps where operands do not agree on an order, as a CSR and a
//! CSC matrix. Costs are in nanoseconds.

mod next;
mod search;

use search::search;
use ust_format::{ExprKey, IndexExpr};

use super::access::Access;
use super::sink::Shape;
use crate::tuning::{CONVERSION_NS, ORDER_SEARCH_STATES, REGROUP_ENTRY_NS};

/// A loop.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Equal for loops over equal expressions.
    pub(crate) key: ExprKey,
    /// The expression that the loop runs over: an index variable, or a level expression as `i / 4`.
    pub(crate) expr: IndexExpr,
    /// The levels that the loop walks, each as (access, level).
    pub(crate) walkers: Vec<(usize, usize)>,
    /// The levels that are searched inside this loop, since their coordinate is known now: (access,
    /// level), in the order of the searches.
    pub(crate) searches: Vec<(usize, usize)>,
    /// The index variables that become known in this loop.
    pub(crate) solved: Vec<usize>,
    /// The estimated number of iterations, in all iterations of the loops around together.
    pub(crate) iterations: f64,
}

/// A level whose children under one position are written into a table by coordinate, since an inner loop
/// searches them many times.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// The access.
    pub(crate) at: usize,
    pub(crate) level: usize,
    /// Number of loops inside which the position is known, and the table is filled.
    pub(crate) depth: usize,
}

/// All loops of a stage, outermost first.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// The levels that are searched before any loop.
    pub(crate) first: Vec<(usize, usize)>,
    pub(crate) steps: Vec<Step>,
    pub(crate) tables: Vec<Table>,
    /// For each access that is converted, the tree that its tensor is converted into.
    pub(crate) converted: Vec<Option<Tree>>,
    /// The estimated cost of conversions, in nanoseconds.
    pub(crate) conversion_cost: f64,
    /// The estimated cost of conversions, loops and result, in nanoseconds.
    pub(crate) cost: f64,
}

/// A tree of coordinates that an operand is converted into: one level for each dimension.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// The dimension of each level.
    pub(crate) dims: Vec<usize>,
    /// Whether the first level is full: it is searched many times, and has not many more coordinates
    /// than there are stored elements.
    pub(crate) full: bool,
    /// Whether the conversion reorders entries.
    moved: bool,
}

/// A stage, as the search for an order sees it.
pub(crate) struct Problem<'a> {
    pub(crate) accesses: &'a [Access],
    /// Extent of each index variable.
    pub(crate) extents: &'a [f64],
    /// The index variables that the loops must give.
    pub(crate) indices: Vec<usize>,
    /// For each access, whether its tensor must be converted: a view, duplicates, unordered coordinates.
    pub(crate) must_convert: Vec<bool>,
    /// The accesses to tensors that do not store every element.
    pub(crate) sparse: Vec<usize>,
    /// For each set of sparse accesses (bits), whether the loops compute something at a coordinate
    /// that exactly these store. For `A * B` only at coordinates that both store.
    pub(crate) worth: Vec<bool>,
    /// The format and the index variables of the result.
    pub(crate) result: &'a Shape,
    /// Whether no tensor may be converted.
    pub(crate) as_given: bool,
    /// Which loops may be where, if not all may.
    pub(crate) apart: Option<Apart<'a>>,
    /// The access whose levels the outermost loops walk as they are, if the result has its positions.
    pub(crate) leads: Option<usize>,
}

/// Loops over index variables, of which the outermost runs over one of the result.
#[derive(Clone, Copy)]
pub(crate) struct Apart<'a> {
    /// The index variables of the result.
    pub(crate) result: &'a [usize],
    /// The others, in the order in which loops have to run over them.
    pub(crate) sums: &'a [usize],
}

/// Finds the cheapest order. `None` if there is none, which is possible only if some tensors may not be
/// converted: a tree of coordinates can be walked and searched in any order. Hence the search first
/// takes any order with all tensors converted. If it reaches its limit, it has at least that one.
pub(crate) fn best(problem: &Problem<'_>) -> Option<Order> {
    let mut best: Option<Order> = None;
    let count = problem.sparse.len();
    let mut choices: Vec<u32> = (0..if problem.as_given { 1 } else { 1_u32 << count }).collect();
    let is_fixed = |bit: usize| {
        let at = problem.sparse[bit];
        problem.accesses[at].fixed || problem.leads == Some(at)
    };
    choices.retain(|choice| !(0..count).any(|bit| choice >> bit & 1 == 1 && is_fixed(bit)));
    choices.sort_by_key(|choice| choice.count_ones());
    let everything = choices.last().copied().filter(|_| !problem.as_given);
    let first = everything.map(|choice| (choice, true));
    let mut left = ORDER_SEARCH_STATES;
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
            .map(|at| CONVERSION_NS + REGROUP_ENTRY_NS * problem.accesses[at].nse)
            .sum();
        let flexible = given.map(|at| flexible(at).then(Tree::default)).collect();
        // Half of the remaining states, so that the later choices get some.
        let most = left.div_ceil(2);
        left -= search(problem, &mut best, most, any, flexible, conversion_cost);
    }
    best
}
