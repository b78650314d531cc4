//! The loops of a planned stage, as IR.
//!
//! The emitter takes the planned steps from the outermost to the innermost. Its [`State`] has the
//! position of each access, the known coordinates and index variables, and the simplified term. Where a
//! tensor may store no entry, a separate branch has a simpler term. A branch whose term is the unstored
//! value is not emitted.
//!
//! | module | what |
//! |---|---|
//! | this one | the state, the recursion over steps |
//! | `declared` | parameters and arrays |
//! | `facts` | the meaning of loops, for providers |
//! | `search` | searches of levels whose coordinate is known |
//! | `loops` | loops over every coordinate, or over the entries of one tensor |
//! | `merge` | loops that merge the entries of several tensors |
//! | `zip` | innermost merges without branches |
//! | `solve` | index variables that follow from level coordinates |
//! | `split` | parts that begin and end inside rows |
//! | `table` | tables for levels that are searched many times |
//! | `values` | loads of elements, and terms |

mod declared;
mod facts;
mod loops;
pub(super) mod merge;
mod search;
mod solve;
mod split;
mod table;
mod values;
mod zip;

use std::cell::{Cell, RefCell};

use ust_format::{ExprKey, IndexExpr};
use ust_level_api::ir::idiom::{Clear, List, Sum};
use ust_level_api::ir::{ArrayId, Builder, Expr, Function, Stmt};
use ust_level_api::{Interval, Scalar};

use super::access::{Access, Level};
use super::order::{Order, Step};
use super::output::{Output, Target};
use super::simplify::simplify;
use super::sink::{Sink, SinkKind};
use crate::expr::operator::Operator;
use crate::expr::term::Term;
use crate::provider::plan::{Array, Cut, Facts, Parameter};
use crate::storage::Outline;
use crate::walk::access::reaches_all;
use crate::walk::nest::Operand;

/// The input of the emitter.
pub(crate) struct Input<'a> {
    pub(crate) name: &'a str,
    /// The tensor of each access, converted if the order says so.
    pub(crate) tensors: &'a [Outline],
    /// A name for each access.
    pub(crate) names: &'a [String],
    /// The value of each access at unstored coordinates.
    pub(crate) fills: &'a [Scalar],
    pub(crate) accesses: &'a [Access],
    /// Names of the index variables.
    pub(crate) indices: &'a [String],
    pub(crate) order: &'a Order,
    pub(crate) sink: &'a Sink,
    /// The index variable of each dimension of the result.
    pub(crate) result: &'a [usize],
    pub(crate) body: &'a Term,
    /// The operator of the reduction.
    pub(crate) reduce: Option<&'a Operator>,
    /// The value of a coordinate that the loops do not visit: the identity of the reduction, or the
    /// result's fill value.
    pub(crate) rest: Scalar,
    /// Whether repeated coordinates may be visited one by one.
    pub(crate) plain: bool,
    /// Whether a result in full is added to what it holds, and no element is set.
    pub(crate) onto: bool,
}

impl Input<'_> {
    /// Whether the outermost loop runs over every coordinate of the result's first level, and appends
    /// rows in that order. Then the first level needs no column of coordinates: the number of the first
    /// row of each iteration is enough.
    pub(crate) fn is_by_first(&self) -> bool {
        let nested = match self.sink.kind {
            SinkKind::Sorted { depth } => depth > 0,
            SinkKind::Workspace { open, .. } => open > 0,
            SinkKind::Full | SinkKind::Shared { .. } | SinkKind::Unsorted => false,
        };
        let Some(step) = self.order.steps.first() else { return false };
        let plain = matches!(step.expr, IndexExpr::Var(_)) && self.order.first.is_empty();
        let full = |&(at, level): &(usize, usize)| self.accesses[at].levels[level].props.full;
        nested
            && plain
            && self.sink.format.tail() > 1
            && self.sink.levels[0] == step.expr
            && step.walkers.iter().all(full)
    }
}

/// The loops of a stage.
#[derive(Clone, Debug)]
pub(crate) struct Loops {
    pub(crate) function: Function,
    /// See [`Plan::guarded`](crate::provider::Plan::guarded).
    pub(crate) guarded: Option<Function>,
    pub(crate) facts: Facts,
    /// The same loops, in parts that begin and end inside rows.
    pub(crate) split: Option<Box<split::SplitLoops>>,
    /// See [`Input::is_by_first`].
    pub(crate) by_first: bool,
    /// Whether partial results of a reduction are written to memory and read again.
    pub(crate) in_memory: bool,
}

impl Loops {
    /// Whether they combine values with elements of an array.
    pub(crate) fn combines(&self) -> bool {
        let mut found = false;
        Stmt::visit_all(&self.function.body, &mut |stmt| {
            found |= matches!(stmt, Stmt::Reduce(..));
        });
        found
    }
}

/// The position of an access.
#[derive(Clone, Debug)]
pub(crate) enum Pos {
    /// One position.
    One(Expr),
    /// A run of positions with the same coordinates so far.
    Run(Interval),
}

impl Pos {
    fn interval(&self) -> Interval {
        match self {
            Pos::One(at) => Interval::one(at.clone()),
            Pos::Run(run) => run.clone(),
        }
    }
}

/// The origin of the coordinate at a level.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Computed from index variables.
    Computed,
    /// From a loop that may leave the bounds of this level.
    Elsewhere,
    /// From the level's own cursor, or a loop that stays inside its bounds.
    Own,
}

/// What is known at a point of the emitted code.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) term: Term,
    /// For each access, its position; `None` if it stores nothing here.
    pub(crate) live: Vec<Option<Pos>>,
    /// For each access, the coordinates of its levels so far.
    coordinates: Vec<Vec<Expr>>,
    /// For each access and level so far, the origin of its coordinate.
    origins: Vec<Vec<Origin>>,
    /// The value of each index variable that is known.
    pub(crate) index: Vec<Option<Expr>>,
    /// The expression and the coordinate of each loop around this point.
    keys: Vec<(ExprKey, Expr)>,
    /// The tables that are filled.
    tables: Vec<Option<table::Filled>>,
    /// The element of each access, if its position is known.
    pub(crate) elements: Vec<Option<Expr>>,
    pub(crate) target: Target,
    /// The sum that is the target, and where it goes.
    pub(crate) sum: Option<Sum<Expr>>,
    /// The elements of the result that loops around this point set.
    pub(crate) clear: Option<Clear<Expr>>,
    /// Where the coordinates of the open row are noted, and the number of loops around that code.
    pub(crate) list: Option<(usize, List)>,
    /// The first value of the outermost loop's variable, if it is a coordinate.
    pub(crate) begin: Option<Expr>,
    /// Whether this is inside a block that extends beyond the border of the tensor.
    cut: bool,
    /// Whether the loops around this point run over all coordinates of index variables of the result, and
    /// no test skips any.
    pub(crate) covers: bool,
}

impl State {
    /// The coordinate of the loop over this expression, if there is one around this point.
    pub(crate) fn key(&self, expr: &IndexExpr) -> Option<Expr> {
        let key = ExprKey::new(expr);
        self.keys.iter().find(|(known, _)| *known == key).map(|(_, crd)| crd.clone())
    }
}

/// The emitter.
pub(crate) struct Emit<'a> {
    pub(crate) input: &'a Input<'a>,
    pub(crate) operands: Vec<Operand>,
    values: Vec<ArrayId>,
    pub(crate) extents: Vec<Expr>,
    /// The coordinates or cursors of the outermost loop that a part has, if it can be cut.
    pub(crate) part: Option<Interval>,
    /// How parts are cut inside rows, if they are.
    split: Option<split::Split>,
    /// Where such a part begins and ends.
    bounds: Option<split::Bounds>,
    pub(crate) output: Output,
    tables: table::Tables,
    /// Whether rows are stored only when it is known that they are kept.
    pub(crate) guarded: bool,
    /// See [`Facts::parameters`].
    parameters: Vec<Parameter>,
    /// See [`Facts::arrays`].
    arrays: Vec<Array>,
    collected: RefCell<facts::Collected>,
    /// See [`Facts::sets_all`].
    pub(crate) sets_all: Cell<bool>,
    /// See [`Loops::in_memory`].
    pub(crate) in_memory: Cell<bool>,
    /// See [`Rows::speculative`](crate::provider::plan::Rows::speculative).
    pub(crate) speculative: Cell<bool>,
}

/// Emits the loops of a stage.
pub(crate) fn emit(input: &Input<'_>) -> Loops {
    let (mut b, part, mut emit) = Emit::declared(input, None);
    let split = emit.split();
    let cut = emit.cut();
    emit.part = cut.is_ok().then_some(part);
    emit.all(&mut b);
    let in_memory = emit.in_memory.get();
    let function = b.finish();
    let facts = emit.facts(cut, &function);
    let is_speculative = facts.rows.as_ref().is_some_and(|rows| rows.speculative);
    let guarded = is_speculative.then(|| {
        let (mut b, part, emit) = Emit::declared(input, None);
        let part = facts.outermost.cut.is_ok().then_some(part);
        let mut emit = Emit { part, guarded: true, ..emit };
        emit.all(&mut b);
        b.finish()
    });
    let split = split.map(|split| Box::new(split::in_parts(input, &split)));
    Loops { function, guarded, facts, split, by_first: input.is_by_first(), in_memory }
}

impl Emit<'_> {
    /// Emits the loops, and the code around them.
    fn all(&mut self, b: &mut Builder) {
        let (input, count) = (self.input, self.operands.len());
        let state = State {
            term: input.body.clone(),
            live: vec![Some(Pos::One(Expr::Int(0))); count],
            coordinates: vec![Vec::new(); count],
            origins: vec![Vec::new(); count],
            index: vec![None; input.indices.len()],
            keys: Vec::new(),
            tables: vec![None; input.order.tables.len()],
            elements: vec![None; count],
            target: Target::None,
            sum: None,
            clear: None,
            list: None,
            begin: None,
            cut: false,
            covers: true,
        };
        self.output.begin(b);
        self.begin_tables(b);
        self.enter(b, 0, state);
        self.end_tables(b);
        self.output.end(b);
        if let SinkKind::Shared { .. } = self.input.sink.kind {
            // Where others store nothing, the loops may leave elements out.
            let sparse = self.input.accesses.iter().filter(|access| !access.full).count();
            let alone = sparse == 1 && !self.is_rest(&self.input.body.clone());
            self.sets_all.set(alone && reaches_all(&self.input.sink.format));
        }
    }
}

impl Emit<'_> {
    fn steps(&self) -> &[Step] {
        &self.input.order.steps
    }

    /// How the outermost loop can be cut into parts, or why it cannot.
    fn cut(&self) -> Result<Cut, &'static str> {
        let Some(step) = self.steps().first() else { return Err("there is no loop") };
        if !self.input.order.first.is_empty() {
            return Err("levels are searched before the outermost loop");
        }
        let sparse: Vec<usize> =
            step.walkers.iter().filter(|w| !self.level(**w).props.full).map(|w| w.0).collect();
        if sparse.iter().any(|&at| self.level((at, 0)).cursor.carries) {
            return Err("the cursor of the outermost loop carries state");
        }
        match (&sparse[..], &step.expr) {
            ([], IndexExpr::Var(v)) => Ok(Cut::Index(*v)),
            ([], _) => Ok(Cut::Level(step.walkers[0].0)),
            ([at], _) if !self.worth_without(&self.input.body.clone(), &[*at]) => {
                Ok(Cut::Cursor(*at))
            }
            ([at, ..], _)
                if sparse.iter().all(|&at| self.level((at, 0)).cursor.is_searchable()) =>
            {
                let every = self.worth_without(&self.input.body.clone(), &sparse);
                Ok(Cut::Merge { operand: *at, every })
            }
            _ => Err("the cursors of the outermost loop cannot be searched"),
        }
    }

    fn level(&self, (at, level): (usize, usize)) -> &Level {
        &self.input.accesses[at].levels[level]
    }

    /// Emits the code inside `depth` loops, from the searches at that depth on.
    fn enter(&self, b: &mut Builder, depth: usize, state: State) {
        let searches = match depth.checked_sub(1) {
            None => &self.input.order.first,
            Some(above) => &self.steps()[above].searches,
        };
        self.search(b, depth, searches, state);
    }

    /// The state where some accesses store nothing. `None` if the term has its unstored value there.
    fn without(&self, state: &State, absent: &[usize]) -> Option<State> {
        let term = self.term_without(&state.term, absent);
        if self.is_rest(&term) {
            return None;
        }
        let mut state = state.clone();
        state.term = term;
        for &at in absent {
            (state.live[at], state.elements[at]) = (None, None);
        }
        Some(state)
    }

    fn term_without(&self, term: &Term, absent: &[usize]) -> Term {
        simplify(term, &|at| absent.contains(&at).then(|| self.input.fills[at]))
    }

    fn worth_without(&self, term: &Term, absent: &[usize]) -> bool {
        !self.is_rest(&self.term_without(term, absent))
    }

    fn is_rest(&self, term: &Term) -> bool {
        matches!(term, Term::Const(value) if value.same(&self.input.rest))
    }

    /// Emits the next loop, or the innermost code, after the result's code at this depth.
    pub(crate) fn inner(&self, b: &mut Builder, depth: usize, mut state: State) {
        self.fill_tables(b, depth, &mut state);
        match self.steps().get(depth) {
            None => self.leaf(b, &state),
            Some(step) => self.step(b, depth, step, state),
        }
    }
}
