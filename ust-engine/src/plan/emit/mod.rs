//! From a planned stage to loops.
//!
//! The loops are written by walking down the planned steps with a [`State`]: where each use of a
//! tensor stands, which coordinates and index variables are known, and what remains of the term. A
//! branch in which a tensor has nothing stored is written apart, with a simpler term; a branch in
//! which nothing is left to do is not written at all.
//!
//! | module | what |
//! |---|---|
//! | this one | what is declared, the state, the way down |
//! | `search` | levels whose coordinate is known |
//! | `loops` | loops over everything, or over one tensor |
//! | `merge` | loops over several tensors together |
//! | `zip` | the innermost of these without branches |
//! | `solve` | index variables that levels complete |
//! | `table` | levels that are looked into again and again |
//! | `values` | elements and terms |

mod loops;
pub(super) mod merge;
mod search;
mod solve;
mod table;
mod values;
mod zip;

use std::cell::Cell;
use std::collections::HashMap;

use ust_format::{ExprKey, IndexExpr};
use ust_level_api::ir::{ArrayId, Builder, Elem, Expr, Function, Stmt, Ty};
use ust_level_api::{Interval, Scalar};

use super::access::{Access, Level};
use super::order::{Order, Step};
use super::output::{Output, Target};
use super::simplify::simplify;
use super::sink::{Sink, SinkKind};
use crate::expr::operator::Operator;
use crate::expr::term::Term;
use crate::storage::Tensor;
use crate::walk::access::reaches_all;
use crate::walk::bounds::Sizes;
use crate::walk::emit as index;
use crate::walk::nest::{Operand, can_be_negative};

/// A stage, as far as its loops need to know it.
pub(crate) struct Input<'a> {
    pub(crate) name: &'a str,
    /// The tensor of each use, converted where the order says so.
    pub(crate) tensors: &'a [&'a Tensor],
    /// A name for each use.
    pub(crate) names: &'a [String],
    /// What each use has where nothing is stored.
    pub(crate) fills: &'a [Scalar],
    pub(crate) accesses: &'a [Access],
    /// Names of the index variables.
    pub(crate) indices: &'a [String],
    pub(crate) order: &'a Order,
    pub(crate) sink: &'a Sink,
    /// The index variable of each dimension of the result.
    pub(crate) result: &'a [usize],
    pub(crate) body: &'a Term,
    /// What combines, where index variables are reduced.
    pub(crate) reduce: Option<&'a Operator>,
    /// Where nothing is done: the identity of the reduction, or the result's fill value.
    pub(crate) rest: Scalar,
    /// Whether coordinates that repeat may be visited one by one.
    pub(crate) plain: bool,
}

impl Input<'_> {
    /// Whether the outermost loop runs through every coordinate of the result's first level, in
    /// whose order rows are appended: where the rows of each begin says which coordinate they have.
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

/// What a parameter of the loops is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// The extent of an index variable.
    Extent(usize),
    /// The number of coordinates of a level of a use.
    Size(usize, usize),
    /// The lowest coordinate of a level of a use.
    Lower(usize, usize),
    /// The same two of a level of the result.
    ResultSize(usize),
    /// See [`Argument::ResultSize`].
    ResultLower(usize),
    /// Which region of each table is for this part of the outermost loop.
    Region,
    /// Where the outermost loop begins and ends.
    PartLo,
    /// See [`Argument::PartLo`].
    PartHi,
}

/// The loops of a stage.
#[derive(Clone, Debug)]
pub(crate) struct Loops {
    pub(crate) function: Function,
    pub(crate) arguments: Vec<Argument>,
    /// How the outermost loop can be split, if it can.
    pub(crate) split: Split,
    /// See [`Input::is_by_first`].
    pub(crate) by_first: bool,
    /// Whether every element of a result in place is set before it is combined with.
    pub(crate) sets_all: bool,
    /// Whether what a reduction has so far is written to memory and read again.
    pub(crate) in_memory: bool,
}

impl Loops {
    /// Whether they combine with elements of an array.
    pub(crate) fn combines(&self) -> bool {
        fn any(body: &[Stmt]) -> bool {
            body.iter().any(|stmt| match stmt {
                Stmt::Reduce(..) => true,
                Stmt::For { body, .. } | Stmt::While { body, .. } => any(body),
                Stmt::If { then, otherwise, .. } => any(then) || any(otherwise),
                _ => false,
            })
        }
        any(&self.function.body)
    }
}

/// How the outermost loop can be split among threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Split {
    /// It cannot.
    No,
    /// By coordinates, from 0 to the extent of this index variable.
    Index(usize),
    /// By coordinates of the first level of this use, from 0 on.
    Level(usize),
    /// By whatever its walk of a level of a use runs along.
    Cursor {
        /// The use whose first level is walked.
        at: usize,
        /// Whether a part must begin where a coordinate does.
        aligned: bool,
    },
    /// By coordinates that several uses, or the result, have at their first levels: each cursor is
    /// searched for where a part begins.
    Merge {
        /// A use with that level.
        at: usize,
        /// Whether every coordinate is visited.
        every: bool,
    },
}

/// Where a use stands.
#[derive(Clone, Debug)]
pub(crate) enum Pos {
    /// At one position.
    One(Expr),
    /// At a run of positions with the same coordinates so far.
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

/// How the coordinate at a level came about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Computed from index variables.
    Computed,
    /// From a loop that does not look at the bounds of this level.
    Elsewhere,
    /// From the level's own cursor, or a loop that stays inside its bounds.
    Own,
}

/// What is known at a place of the code.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) term: Term,
    /// For each use, where it stands; `None` where it has nothing stored.
    pub(crate) live: Vec<Option<Pos>>,
    /// For each use, the coordinates of its levels so far.
    coordinates: Vec<Vec<Expr>>,
    /// For each use and level so far, how its coordinate came about.
    origins: Vec<Vec<Origin>>,
    /// Index variables.
    pub(crate) index: Vec<Option<Expr>>,
    keys: Vec<(ExprKey, Expr)>,
    /// The tables that are filled.
    tables: Vec<Option<table::Filled>>,
    /// The element of each use, once it is known.
    pub(crate) elements: Vec<Option<Expr>>,
    pub(crate) target: Target,
    /// Whether this is part of a block that the border of the tensor cuts.
    cut: bool,
    /// Whether the code comes here for all coordinates that the loops around it could have, and
    /// those are index variables of the result.
    pub(crate) covers: bool,
}

impl State {
    /// The value of an expression over index variables that a loop runs over.
    pub(crate) fn key(&self, expr: &IndexExpr) -> Option<Expr> {
        let key = ExprKey::new(expr);
        self.keys.iter().find(|(known, _)| *known == key).map(|(_, crd)| crd.clone())
    }
}

/// Writes the loops.
pub(crate) struct Emit<'a> {
    pub(crate) input: &'a Input<'a>,
    pub(crate) operands: Vec<Operand>,
    values: Vec<ArrayId>,
    pub(crate) extents: Vec<Expr>,
    pub(crate) part: Option<Interval>,
    pub(crate) output: Output,
    tables: table::Tables,
    /// See [`Loops::sets_all`].
    pub(crate) sets_all: Cell<bool>,
    /// See [`Loops::in_memory`].
    pub(crate) in_memory: Cell<bool>,
}

/// Writes the loops of a stage.
pub(crate) fn emit(input: &Input<'_>) -> Loops {
    let mut b = Builder::new(input.name);
    let mut arguments = Vec::new();
    let mut int = |b: &mut Builder, name: String, argument: Argument| {
        arguments.push(argument);
        b.param(&name, Ty::Int)
    };
    let extents: Vec<Expr> = (0..input.indices.len())
        .map(|v| int(&mut b, format!("n_{}", input.indices[v]), Argument::Extent(v)))
        .collect();
    let mut domains: HashMap<ExprKey, (Expr, Expr)> = HashMap::new();
    let mut sizes = Vec::new();
    for (at, access) in input.accesses.iter().enumerate() {
        let mut of = Sizes {
            extents: access.dims.iter().map(|&v| extents[v].clone()).collect(),
            sizes: Vec::new(),
            lowers: Vec::new(),
        };
        for (l, level) in access.levels.iter().enumerate() {
            let domain = domains.entry(level.key.clone()).or_insert_with(|| {
                let size = match &level.expr {
                    IndexExpr::Var(v) => extents[*v].clone(),
                    // Written in the format, hence the same for every shape.
                    IndexExpr::Mod(_, m) if matches!(**m, IndexExpr::Const(_)) => index(m, &[]),
                    _ => int(&mut b, format!("size_{at}_{l}"), Argument::Size(at, l)),
                };
                let lower = match can_be_negative(&level.expr) {
                    true => int(&mut b, format!("lower_{at}_{l}"), Argument::Lower(at, l)),
                    false => Expr::Int(0),
                };
                (size, lower)
            });
            of.sizes.push(domain.0.clone());
            of.lowers.push(domain.1.clone());
        }
        sizes.push(of);
    }
    let mut result_domains = Vec::new();
    for (l, expr) in input.sink.levels.iter().enumerate() {
        let domain = domains.entry(ExprKey::new(expr)).or_insert_with(|| {
            let size = match expr {
                IndexExpr::Var(v) => extents[*v].clone(),
                IndexExpr::Mod(_, m) if matches!(**m, IndexExpr::Const(_)) => index(m, &[]),
                _ => int(&mut b, format!("size_{l}"), Argument::ResultSize(l)),
            };
            let lower = match can_be_negative(expr) {
                true => int(&mut b, format!("lower_{l}"), Argument::ResultLower(l)),
                false => Expr::Int(0),
            };
            (size, lower)
        });
        result_domains.push(domain.clone());
    }
    let tables = input.order.tables.len();
    let region = table::Tables::declare_region(&mut b, &mut arguments, tables);
    let mut int = |b: &mut Builder, name: &str, argument: Argument| {
        arguments.push(argument);
        b.param(name, Ty::Int)
    };
    let part = Interval {
        lo: int(&mut b, "part_lo", Argument::PartLo),
        hi: int(&mut b, "part_hi", Argument::PartHi),
    };
    let mut operands = Vec::new();
    for (at, of) in sizes.into_iter().enumerate() {
        operands.push(Operand::with_sizes(&mut b, &input.names[at], input.tensors[at], of));
    }
    let values = (0..operands.len()).map(|at| {
        let elem = Elem::Value(input.tensors[at].dtype());
        b.array(&format!("{}_val", input.names[at]), elem, false)
    });
    let values = values.collect();
    let output = Output::declare(&mut b, input, result_domains);
    let tables = table::Tables::declare(&mut b, region, tables);
    let uses = operands.len();
    let (sets_all, in_memory) = (Cell::new(false), Cell::new(false));
    let mut emit =
        Emit { input, operands, values, extents, part: None, output, tables, sets_all, in_memory };
    let split = emit.split();
    emit.part = (split != Split::No).then_some(part);
    let state = State {
        term: input.body.clone(),
        live: vec![Some(Pos::One(Expr::Int(0))); uses],
        coordinates: vec![Vec::new(); uses],
        origins: vec![Vec::new(); uses],
        index: vec![None; input.indices.len()],
        keys: Vec::new(),
        tables: vec![None; input.order.tables.len()],
        elements: vec![None; uses],
        target: Target::None,
        cut: false,
        covers: true,
    };
    emit.output.begin(&mut b);
    emit.begin_tables(&mut b);
    emit.enter(&mut b, 0, state);
    emit.end_tables(&mut b);
    emit.output.end(&mut b);
    let by_first = input.is_by_first();
    let sets_all = match input.sink.kind {
        SinkKind::Shared { .. } => reaches_all(&input.sink.format),
        _ => emit.sets_all.get(),
    };
    let in_memory = emit.in_memory.get();
    Loops { function: b.finish(), arguments, split, by_first, sets_all, in_memory }
}

impl Emit<'_> {
    fn steps(&self) -> &[Step] {
        &self.input.order.steps
    }

    /// How the outermost loop can be split.
    fn split(&self) -> Split {
        let Some(step) = self.steps().first() else { return Split::No };
        if !self.input.order.first.is_empty() {
            return Split::No;
        }
        let sparse: Vec<usize> =
            step.walkers.iter().filter(|w| !self.level(**w).props.full).map(|w| w.0).collect();
        if sparse.iter().any(|&at| self.level((at, 0)).carries) {
            return Split::No;
        }
        match (&sparse[..], &step.expr) {
            ([], IndexExpr::Var(v)) => Split::Index(*v),
            ([], expr) if !can_be_negative(expr) => Split::Level(step.walkers[0].0),
            ([at], _) if !self.worth_without(&self.input.body.clone(), &[*at]) => {
                Split::Cursor { at: *at, aligned: !self.level((*at, 0)).props.unique }
            }
            ([at, ..], _) if sparse.iter().all(|&at| self.level((at, 0)).mergeable) => {
                let every = self.worth_without(&self.input.body.clone(), &sparse);
                Split::Merge { at: *at, every }
            }
            _ => Split::No,
        }
    }

    fn level(&self, (at, level): (usize, usize)) -> &Level {
        &self.input.accesses[at].levels[level]
    }

    /// Code below `depth` loops: first what can be searched there.
    fn enter(&self, b: &mut Builder, depth: usize, state: State) {
        let searches = match depth.checked_sub(1) {
            None => &self.input.order.first,
            Some(above) => &self.steps()[above].searches,
        };
        self.search(b, depth, searches, state);
    }

    /// The state in which some uses have nothing stored; `None` where nothing is left to do.
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

    /// What remains below the result's own preparations: the next loop, or the innermost code.
    pub(crate) fn inner(&self, b: &mut Builder, depth: usize, mut state: State) {
        self.fill_tables(b, depth, &mut state);
        match self.steps().get(depth) {
            None => self.leaf(b, &state),
            Some(step) => self.step(b, depth, step, state),
        }
    }
}
