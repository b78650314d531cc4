//! Schedules: plans as a parallel machine may run them.
//!
//! A schedule is made of what a plan [says](crate::provider::plan::Facts), never of the form of its loops. Its
//! code is an ordinary function with [marks](Marks) beside it, which any back end can run as it stands. The
//! conformance suite runs every schedule of every plan in shuffled order, and finds those that are wrong.

mod blocked;
mod left;
mod moved;
pub(crate) mod piece;
mod runs;
mod several;
mod stored;
mod table;
mod vector;

use std::collections::HashSet;

use ust_level_api::Interval;
use ust_level_api::ir::schedule::{
    LaneSum, LoopMarks, MarkError, Marks, Scheduled, Sharing, Vector, counting, filling,
};
use ust_level_api::ir::{ArrayId, BinOp, Expr, Function, Stmt, Ty, Var, VarDecl};

pub use left::{Carries, Left};

use blocked::Blocked;

use crate::provider::Plan;
use crate::provider::plan::{Array, Facts, Loop, Over, Split, Sum, storing};

/// A plan for a parallel machine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Schedule {
    /// The loops and what may happen at the same time. No array grows. Each part has its own
    /// [`Array::RowCounts`], [`Array::RowStarts`] and working memory.
    pub scheduled: Scheduled,
    /// The same loops without stores to rows: they count the rows. `None` if the result is written at known
    /// positions.
    pub counting: Option<Function>,
    /// What parts are intervals of. If the outermost loop has to run in one part, why.
    pub range: Result<Interval, &'static str>,
    /// Whether rows are to be sorted by their coordinates, and those with the same coordinates combined by the
    /// operator of the reduction.
    pub combines_rows: bool,
    /// Whether the loops set every element of a result at known positions before they read it.
    pub sets_all: bool,
    /// Number of iterations of the outermost loop that the code runs as one: parts have best as many, or a multiple.
    pub grain: u32,
    /// Sums that parts leave for others, if they do.
    pub carries: Option<Carries>,
    /// Whether parts are intervals of stored elements.
    pub by_stored: bool,
    /// What is known of the loops, if they are not those of the plan.
    pub facts: Option<Box<Facts>>,
    /// If parts are intervals of stored elements and it can be told, a function that stores the largest number of entries of a row. Its
    /// arrays are those of the operands, and one more, of indices of kind i64, whose element becomes the maximum.
    /// Parts of it are intervals of the outermost loop that the facts are of.
    pub longest: Option<Function>,
    /// If workspaces may be kept as [tables](ust_level_api::ir::schedule::Table), a function that stores, in the place
    /// of the number of rows of a part, a number that no workspace of the part has more coordinates than.
    pub bounding: Option<Scheduled>,
}

/// What a machine, and whoever runs it, can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Abilities {
    /// Whether lanes share the iterations of innermost loops.
    pub lanes: bool,
    /// Whether rows of different parts may be [combined](Schedule::combines_rows).
    pub combines_rows: bool,
}

impl Schedule {
    /// A schedule of loops that write a result at known positions, and leave nothing for others.
    fn plain(scheduled: Scheduled, range: Result<Interval, &'static str>) -> Self {
        Self {
            scheduled,
            counting: None,
            range,
            combines_rows: false,
            sets_all: false,
            grain: 1,
            carries: None,
            by_stored: false,
            facts: None,
            longest: None,
            bounding: None,
        }
    }

    /// The schedule of a plan whose outermost loop is cut into parts, as these facts allow.
    ///
    /// # Errors
    /// [`MarkError`] if the facts contradict the loops.
    pub fn new(plan: &Plan<'_>, facts: &Facts, machine: Abilities) -> Result<Self, MarkError> {
        Self::of(plan.guarded.unwrap_or(plan.function), facts, plan.strict, machine)
    }

    /// As [`Schedule::new`], of loops without a plan. `strict`: whether sums have to be formed in the order of the
    /// loops.
    ///
    /// # Errors
    /// [`MarkError`] if the facts contradict the loops.
    pub fn of(
        function: &Function,
        facts: &Facts,
        strict: bool,
        machine: Abilities,
    ) -> Result<Self, MarkError> {
        let mut marks = Marks::default();
        let id = |at: usize| ArrayId(at as u32);
        for (at, array) in facts.arrays.iter().enumerate() {
            if array.is_work() || matches!(array, Array::RowCounts | Array::RowStarts) {
                marks.arrays.insert(id(at), Sharing::Scratch);
            }
        }
        let mut range = match (facts.outermost.cut, &facts.outermost.range) {
            (Ok(_), Some(range)) => Ok(range.clone()),
            (Ok(_), None) => {
                Err("the range of the outermost loop is not known before other code has run")
            }
            (Err(why), _) => Err(why),
        };
        let around_all = facts.rows.as_ref().is_some_and(|rows| rows.around_all);
        if around_all && !machine.combines_rows {
            range = Err("a row is open around all loops");
        }
        // Parts would form sums of their own, and the rows of one part would be added to those of another.
        if around_all && strict && range.is_ok() {
            range = Err("sums have to be formed in the order of the loops");
        }
        let result = facts.arrays.iter().position(|array| *array == Array::Result);
        if let (Some(result), false) = (result, facts.outermost.owns) {
            if strict {
                range = Err("sums have to be formed in the order of the loops");
            }
            // Loops inside own their elements, or combine values into them. One part has nobody beside it.
            if range.is_ok() {
                marks.arrays.insert(id(result), Sharing::Atomic);
            }
        }
        if machine.lanes {
            mark_lanes(facts, function, strict, &mut marks);
        }
        let combines_rows = facts
            .rows
            .as_ref()
            .is_some_and(|rows| !rows.sorted || rows.around_all && range.is_ok());
        let scheduled = Scheduled { function: filling(function), marks };
        scheduled.check()?;
        let counting = facts.rows.is_some().then(|| counting(function));
        let sets_all = facts.sets_all;
        Ok(Self { counting, combines_rows, sets_all, ..Self::plain(scheduled, range) })
    }

    /// The schedule of the same plan with elements of the result formed in variables, in loops over elements that
    /// stand outside of those that sum. `None` if the plan has no such loops.
    ///
    /// # Errors
    /// [`MarkError`] if the facts contradict the loops.
    pub fn in_variables(
        plan: &Plan<'_>,
        facts: &Facts,
        machine: Abilities,
    ) -> Result<Option<Self>, MarkError> {
        match moved::moved(plan, facts, false) {
            Some(moved) => {
                let plan = Plan { function: &moved.function, ..plan.clone() };
                let made = Self::new(&plan, facts, machine)?;
                // Loops that clear elements are gone.
                Ok(Some(Self { sets_all: false, ..made }))
            }
            None => Ok(None),
        }
    }

    /// The schedule of a plan with few iterations of an outermost loop that sums, such as that over diagonals: parts
    /// are intervals of elements of the result instead, each of which is formed in a variable. `None` if the plan
    /// has no such loops.
    ///
    /// # Errors
    /// [`MarkError`] if the facts contradict the loops.
    pub fn by_elements(plan: &Plan<'_>, facts: &Facts) -> Result<Option<Self>, MarkError> {
        let Some(moved::Moved { function, range: Some(range), .. }) =
            moved::moved(plan, facts, true)
        else {
            return Ok(None);
        };
        let scheduled = Scheduled { function: filling(&function), marks: Marks::default() };
        scheduled.check()?;
        Ok(Some(Self::plain(scheduled, Ok(range))))
    }

    /// The schedule of a plan whose parts are intervals of rows and stored elements, so that none is longer than
    /// others. If entries are summed, parts leave sums for others, which are added afterwards. `None` if the plan has
    /// no such loops, or if sums of entries have to be formed in the order of the loops.
    ///
    /// # Errors
    /// [`MarkError`] if the facts contradict the loops.
    pub fn by_stored(
        plan: &Plan<'_>,
        facts: &Facts,
        machine: Abilities,
    ) -> Result<Option<Self>, MarkError> {
        let moved = moved::moved(plan, facts, false).and_then(|moved| {
            let made = stored::stored(&moved.function, facts, plan.strict, moved.sum)?;
            // Loops that clear elements are gone.
            Some((made, false))
        });
        let made = moved
            .or_else(|| {
                let made = stored::stored(plan.function, facts, plan.strict, None)?;
                Some((made, facts.sets_all))
            })
            .or_else(|| Some((runs::by_runs(plan, facts)?, facts.sets_all)));
        match made {
            Some((made, sets_all)) => {
                Self::cut(made, facts, plan.strict, machine, sets_all).map(Some)
            }
            None => Self::of_split(plan, machine),
        }
    }

    /// The schedule of loops in parts that begin and end inside rows, if the plan has such loops.
    fn of_split(plan: &Plan<'_>, machine: Abilities) -> Result<Option<Self>, MarkError> {
        let Some(Split { function, facts, longest }) = plan.split else { return Ok(None) };
        let made = Self::of(function, facts, plan.strict, machine)?;
        let (facts, longest) = (Some(Box::new(facts.clone())), longest.cloned());
        Ok(made.range.is_ok().then_some(Self { by_stored: true, facts, longest, ..made }))
    }

    /// As [`Schedule::by_stored`], of loops without a plan whose entries write elements of their own.
    ///
    /// # Errors
    /// [`MarkError`] if the facts contradict the loops.
    pub fn of_by_stored(
        function: &Function,
        facts: &Facts,
        machine: Abilities,
    ) -> Result<Option<Self>, MarkError> {
        let made = stored::stored(function, facts, true, None);
        made.map(|made| Self::cut(made, facts, true, machine, facts.sets_all)).transpose()
    }

    fn cut(
        made: stored::Stored,
        facts: &Facts,
        strict: bool,
        machine: Abilities,
        sets_all: bool,
    ) -> Result<Self, MarkError> {
        let stored::Stored { function, range, carries, longest, shared } = made;
        let mut marks = Marks::default();
        match shared {
            _ if !machine.lanes => {}
            Some((var, sum)) => {
                let lanes = Some(vec![sum]);
                marks.loops.insert(var, LoopMarks { lanes, ..LoopMarks::default() });
            }
            None => mark_lanes(facts, &function, strict, &mut marks),
        }
        if let Some(Carries { left, adding, .. }) = &carries {
            marks.arrays.extend([left.rows, left.sums].map(|array| (array, Sharing::Scratch)));
            adding.check()?;
        }
        let scheduled = Scheduled { function: filling(&function), marks };
        scheduled.check()?;
        Ok(Self {
            sets_all,
            carries,
            by_stored: true,
            longest: Some(longest),
            ..Self::plain(scheduled, Ok(range))
        })
    }

    /// The schedule of a plan that collects rows in workspaces, each of which may be kept as a
    /// [table](ust_level_api::ir::schedule::Table): lanes share the loops that add to a row. `None` if the plan has no
    /// workspace of single values for each row, if lanes cannot share these loops, or if sums have to be formed in
    /// the order of the loops.
    ///
    /// # Errors
    /// [`MarkError`] if the facts contradict the loops.
    pub fn by_table(plan: &Plan<'_>, facts: &Facts) -> Result<Option<Self>, MarkError> {
        let (Ok(_), Some(range)) = (&facts.outermost.cut, facts.outermost.range.clone()) else {
            return Ok(None);
        };
        let Some(table::Tabled { scheduled, counting, bounding }) = table::tabled(plan, facts)
        else {
            return Ok(None);
        };
        scheduled.check()?;
        Ok(Some(Self {
            counting: Some(counting),
            sets_all: facts.sets_all,
            bounding: Some(bounding),
            ..Self::plain(scheduled, Ok(range))
        }))
    }

    /// The schedule with `count` elements side by side for each iteration of loops in lanes, where such a loop runs
    /// over elements side by side of all that it reads and writes. The loops marked with a
    /// [vector](LoopMarks::vector) are right only if their [extents](ust_level_api::ir::schedule::Vector::extent) are
    /// multiples of `count`. `None` if there are no such loops, or parts append rows.
    ///
    /// # Errors
    /// [`MarkError`] if marks contradict the loops.
    pub fn in_vectors(&self, count: u32) -> Result<Option<Self>, MarkError> {
        self.with_several(count, false)
    }

    /// As [`Schedule::in_vectors`], with elements that are apart, for any extent. Only loops with others inside, whose
    /// work elements share, and whose lanes form no sums.
    ///
    /// # Errors
    /// [`MarkError`] if marks contradict the loops.
    pub fn in_strides(&self, count: u32) -> Result<Option<Self>, MarkError> {
        self.with_several(count, true)
    }

    /// The schedule with up to `count` iterations of a loop as one, which read once what they share: the outermost loop,
    /// or else one inside it, such as that over the rows of a block. `None` if iterations share nothing, do not run the
    /// same loops inside, or write what others do.
    ///
    /// # Errors
    /// [`MarkError`] if marks contradict the loops.
    pub fn in_blocks(&self, facts: &Facts, count: u32) -> Result<Option<Self>, MarkError> {
        let Scheduled { function, marks } = &self.scheduled;
        let Some(blocked) = blocked::blocked(function, marks, facts, count) else {
            return Ok(None);
        };
        let Blocked { function, marks, outermost } = blocked;
        let scheduled = Scheduled { function, marks };
        scheduled.check()?;
        let grain = if outermost { count } else { self.grain };
        Ok(Some(Self { scheduled, grain, ..self.clone() }))
    }

    fn with_several(&self, count: u32, apart: bool) -> Result<Option<Self>, MarkError> {
        let Scheduled { function, marks } = &self.scheduled;
        if self.counting.is_some() {
            return Ok(None);
        }
        let Some((function, marks)) = vector::in_vectors(function, marks, count, apart) else {
            return Ok(None);
        };
        let scheduled = Scheduled { function, marks };
        scheduled.check()?;
        Ok(Some(Self { scheduled, ..self.clone() }))
    }

    /// What runs at the same time, for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let lanes = match (self.has_lanes(), self.vectors().next()) {
            (_, Some(Vector { count, apart, .. })) => {
                let how = if *apart { "apart" } else { "side by side" };
                format!(", lanes share inner loops, {count} elements {how} each")
            }
            (true, None) => ", lanes share inner loops".to_owned(),
            (false, None) => String::new(),
        };
        match self.range {
            Ok(_) if self.by_stored => {
                format!("parts of equally many stored elements{lanes}")
            }
            Ok(_) if self.bounding.is_some() => {
                format!("parts of the outermost loop, a table for each row{lanes}")
            }
            Ok(_) if self.grain > 1 => {
                format!("parts of the outermost loop, {} iterations as one{lanes}", self.grain)
            }
            Ok(_) => format!("parts of the outermost loop{lanes}"),
            Err(why) => format!("one part{lanes}: {why}"),
        }
    }

    /// A function that [stores](storing) the range that parts cut. An empty range has its end at its beginning.
    #[must_use]
    pub fn bounds(&self) -> Option<Function> {
        let Interval { lo, hi } = self.range.clone().ok()?;
        Some(storing(vec![lo.clone(), hi.max(lo)], &self.scheduled.function))
    }

    /// The elements that iterations of loops access, where these are several.
    pub fn vectors(&self) -> impl Iterator<Item = &Vector> {
        self.scheduled.marks.loops.values().filter_map(|marks| marks.vector.as_ref())
    }

    /// Whether lanes share the iterations of a loop.
    #[must_use]
    pub fn has_lanes(&self) -> bool {
        self.scheduled.marks.loops.values().any(|marks| marks.lanes.is_some())
    }
}

/// Declares a variable, by this name if nobody has it.
fn fresh(vars: &mut Vec<VarDecl>, name: &str, ty: Ty) -> Var {
    let number = vars.len();
    let is_taken = vars.iter().any(|var| var.name == name);
    let name = if is_taken { format!("{name}_{number}") } else { name.to_owned() };
    vars.push(VarDecl { name, ty });
    Var(number as u32)
}

/// Marks loops whose iterations lanes can share: of loops that form the same sum, the outermost, and otherwise
/// innermost ones.
fn mark_lanes(facts: &Facts, function: &Function, strict: bool, marks: &mut Marks) {
    let mut fors = HashSet::new();
    Stmt::visit_all(&function.body, &mut |stmt| {
        if let Stmt::For { var, .. } = stmt {
            fors.insert(*var);
        }
    });
    let runs = facts.loops.iter().any(|one| one.over == Over::Run && !one.sequential);
    let can = |one: &&Loop| {
        let [var] = one.vars[..] else { return false };
        let writes = match &one.sum {
            // Lanes form a sum in another order.
            Some(sum) => sum.op.is_some() && !strict,
            None => one.owns,
        };
        writes && !one.sequential && !one.once && fors.contains(&var)
    };
    let is_innermost = |one: &Loop| {
        facts.loops.iter().all(|other| other.once || other.depth <= one.depth)
            && !(one.over == Over::Cursor && runs)
    };
    for one in facts.loops.iter().filter(can) {
        let sum_var = |one: &Loop| one.sum.as_ref().map(|sum| sum.var);
        let mut same =
            facts.loops.iter().filter(can).filter(|other| sum_var(other) == sum_var(one));
        // A loop over coordinates at one cursor stands in the loop over the cursor, at the same depth.
        let place = |one: &Loop| (one.depth, one.over == Over::Run);
        let chosen = match one.sum {
            // The outermost loop is cut into parts, and is shared as well if there is no other.
            Some(_) if one.depth == 0 => {
                same.all(|other| other.depth == 0 && place(other) >= place(one))
            }
            Some(_) => same.all(|other| other.depth == 0 || place(other) >= place(one)),
            None => is_innermost(one),
        };
        if !chosen {
            continue;
        }
        let mut sums = Vec::new();
        if let Some(Sum { var, op: Some(op), start, hit }) = &one.sum {
            sums.push(LaneSum { var: *var, op: *op, start: Expr::Const(*start) });
            let hit = hit.map(|var| LaneSum { var, op: BinOp::Or, start: Expr::Bool(false) });
            sums.extend(hit);
        }
        marks.loops.insert(one.vars[0], LoopMarks { lanes: Some(sums), ..LoopMarks::default() });
    }
}
