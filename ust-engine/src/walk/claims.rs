//! Whether the children that a walk meets are as their levels claim: a pass over the levels that own
//! arrays, which writes nothing but the first child that is not.
//!
//! Every level is walked under every parent that the level above has a child at, whatever its
//! `check` said: what a loop relies on is what a loop has seen.

use ust_format::Format;
use ust_level_api::ir::interp::{Memory, Param};
use ust_level_api::ir::{ArrayId, Builder, Elem, Expr, Ty, Var};
use ust_level_api::{IndexKind, Interval, Reach as Reached, Step, WalkKind};

use super::native::Code;
use super::nest::{Operand, Reach};
use crate::error::Error;
use crate::storage::Tensor;

/// What is claimed of a child, or of all children of a parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// A position is one of the level's.
    Reach,
    /// So are all of a cursor over positions.
    Cursors,
    /// Coordinates lie in the level.
    Bounds,
    /// Coordinates under one parent ascend; where the level is not unique, they do not descend.
    Ordered,
    /// The cursor is the position, or the coordinate.
    Cursor,
    /// The position follows from parent and coordinate, and all coordinates are there.
    Full,
    /// The position is the parent's.
    Branchless,
    /// As many children of a parent as there must be.
    Children,
    /// The cursors of all parents step over no more positions than there are: so a walk ends.
    Many,
    /// Children of neighbouring parents lie side by side.
    Contiguous,
    /// No two children have one position; and it is in reach.
    Apart,
}

const RULES: [Rule; 11] = [
    Rule::Reach,
    Rule::Cursors,
    Rule::Bounds,
    Rule::Ordered,
    Rule::Cursor,
    Rule::Full,
    Rule::Branchless,
    Rule::Children,
    Rule::Many,
    Rule::Contiguous,
    Rule::Apart,
];

/// The first child that is not as claimed. Where all children of a parent are not, the cursor's
/// bounds stand for position and coordinate, or their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    pub(crate) rule: Rule,
    pub(crate) level: usize,
    pub(crate) parent: i64,
    pub(crate) position: i64,
    pub(crate) coordinate: i64,
    /// The coordinate before, the position where it should be, or whatever the rule compares with.
    pub(crate) other: i64,
}

/// What a pass over all levels tells of each.
pub(crate) struct Pass {
    /// How many children it has.
    pub(crate) children: Vec<i64>,
    /// Whether each stands at a higher position than the one before.
    pub(crate) rises: Vec<bool>,
    /// Where asked for: the parent, the first and the last coordinate of each child.
    pub(crate) listed: Vec<[Vec<i64>; 3]>,
}

/// What of a level is looked at closer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Closer {
    /// Each position is marked, so that none comes twice, nor one that is out of reach.
    pub(crate) marked: bool,
    /// Children are listed: only where they are marked.
    pub(crate) listed: bool,
}

/// Numbers that a report begins with: those of a breach.
const HEAD: usize = 6;

/// Walks the levels above the trailing full ones, each of which says what of it is in reach. Cost:
/// of the children, each looked at once.
///
/// # Errors
/// [`Error::Run`] where a walk leaves its arrays.
pub(crate) fn pass(
    tensor: &Tensor,
    reached: &[Reached],
    closer: &[Closer],
) -> Result<Result<Pass, Breach>, Error> {
    let levels = tensor.format().tail();
    let mut b = Builder::new("claims");
    let operand = Operand::declare(&mut b, "A", tensor);
    let params: Vec<Expr> =
        (0..levels).map(|level| b.param(&format!("A{level}_positions"), Ty::Int)).collect();
    let report = b.array("report", Elem::Index(IndexKind::I64), true);
    let closer = &closer[..levels];
    let marks: Vec<Option<ArrayId>> = closer
        .iter()
        .map(|c| c.marked.then(|| b.array("marks", Elem::Index(IndexKind::U8), true)))
        .collect();
    let mut list = |c: &Closer| {
        let list = |b: &mut Builder| b.array("list", Elem::Index(IndexKind::I64), true);
        (c.marked && c.listed).then(|| [list(&mut b), list(&mut b), list(&mut b)])
    };
    let lists: Vec<Option<[ArrayId; 3]>> = closer.iter().map(&mut list).collect();
    let state = (0..levels).map(|_| State::declare(&mut b)).collect();
    let emitter = Emitter { operand, positions: params, report, marks, lists, state };
    emitter.level(&mut b, 0, Expr::Int(0));
    for (level, state) in emitter.state.iter().enumerate() {
        let at = (HEAD + 2 * level) as i64;
        b.store(report, Expr::Int(at), state.count.into());
        b.store(report, Expr::Int(at + 1), state.rises.into());
    }
    let code = Code::new(&b.finish(), tensor.nse())?;

    let mut told = vec![0_i64; HEAD + 2 * levels];
    let room =
        |level: usize, wanted: bool| if wanted { reached[level].positions as usize } else { 0 };
    let mut marked: Vec<Vec<u8>> = (0..levels)
        .map(|level| if emitter.marks[level].is_some() { beyond(&reached[level]) } else { vec![] })
        .collect();
    let mut listed: Vec<[Vec<i64>; 3]> = (0..levels)
        .map(|level| std::array::from_fn(|_| vec![0; room(level, emitter.lists[level].is_some())]))
        .collect();
    let mut memory: Vec<Memory<'_>> = Vec::new();
    memory.extend(tensor.levels().iter().flat_map(|level| &level.0).map(Memory::Index));
    memory.push(Memory::indices_mut(&mut told[..]));
    let marks = marked.iter_mut().zip(&emitter.marks).filter(|(_, mark)| mark.is_some());
    memory.extend(marks.map(|(marked, _)| Memory::indices_mut(&mut marked[..])));
    let lists = listed.iter_mut().zip(&emitter.lists).filter(|(_, list)| list.is_some());
    memory.extend(lists.flat_map(|(l, _)| l).map(|column| Memory::indices_mut(&mut column[..])));
    let mut params: Vec<Param> =
        emitter.operand.size_arguments(tensor).into_iter().map(Param::Int).collect();
    params.extend(reached[..levels].iter().map(|reach| Param::Int(reach.positions as i64)));
    let ran = code.run(&params, &mut memory);
    drop(memory);

    if let Some(&rule) = RULES.get((told[0] - 1) as usize) {
        let [_, level, parent, position, coordinate, other] = told[..HEAD] else {
            unreachable!("a report begins with so many numbers")
        };
        let level = level as usize;
        return Ok(Err(Breach { rule, level, parent, position, coordinate, other }));
    }
    ran?;
    let children: Vec<i64> = told[HEAD..].iter().copied().step_by(2).collect();
    let rises = told[HEAD + 1..].iter().step_by(2).map(|&rises| rises == 1).collect();
    for (columns, &count) in listed.iter_mut().zip(&children) {
        columns.iter_mut().for_each(|column| column.truncate(count as usize));
    }
    Ok(Ok(Pass { children, rises, listed }))
}

/// For each position, 1 where it is out of reach.
fn beyond(reach: &Reached) -> Vec<u8> {
    let positions = reach.positions as usize;
    let Some(intervals) = &reach.intervals else { return vec![0; positions] };
    let mut beyond = vec![1; positions];
    for interval in intervals {
        beyond[interval.start as usize..interval.end as usize].fill(0);
    }
    beyond
}

/// What is remembered of a level from one child to the next.
struct State {
    /// Children so far.
    count: Var,
    /// 1 as long as positions rise.
    rises: Var,
    /// Behind the highest position so far.
    top: Var,
    /// Positions that cursors have stepped over, or are about to.
    stepped: Var,
    /// The parent before, and where the cursor over its children ended.
    parent: Var,
    end: Var,
}

impl State {
    fn declare(b: &mut Builder) -> Self {
        Self {
            count: b.var("count", Expr::Int(0)),
            rises: b.var("rises", Expr::Int(1)),
            top: b.var("top", Expr::Int(0)),
            stepped: b.var("stepped", Expr::Int(0)),
            parent: b.var("parent", Expr::Int(-2)),
            end: b.var("end", Expr::Int(0)),
        }
    }
}

struct Emitter {
    operand: Operand,
    /// How many positions each level has.
    positions: Vec<Expr>,
    report: ArrayId,
    marks: Vec<Option<ArrayId>>,
    lists: Vec<Option<[ArrayId; 3]>>,
    state: Vec<State>,
}

/// Where a child, or the children of a parent, are being looked at.
#[derive(Clone)]
struct Spot {
    level: usize,
    parent: Expr,
    pos: Expr,
    crd: Expr,
}

/// A rule, and the number to report where it is broken.
type Held = (Rule, Expr, Expr);

impl Emitter {
    fn format(&self) -> &Format {
        &self.operand.format
    }

    /// Walks a level under one parent.
    fn level(&self, b: &mut Builder, level: usize, parent: Expr) {
        if level == self.positions.len() {
            return;
        }
        let (props, state) = (self.format().descriptions()[level].props, &self.state[level]);
        let one = Interval::one(parent.clone());
        let site = self.operand.site(level, one, &[], Reach::Everything);
        let (lower, size) = (site.lower.clone(), site.size.clone());
        let walk = self.format().levels()[level].ty.walk(&site, b);
        let single = walk.cursor.is_one();
        let lo = b.bind("lo", walk.cursor.lo.clone());
        let hi = if single { lo.clone() + 1 } else { b.bind("hi", walk.cursor.hi.clone()) };
        let spot = Spot { level, parent: parent.clone(), pos: lo.clone(), crd: hi.clone() };
        if walk.kind == WalkKind::Position {
            let within = Expr::Int(0).le(lo.clone()).and(hi.clone().le(self.count_of(level)));
            let some = lo.clone().lt(hi.clone());
            let reach = some.clone().select(within, Expr::Bool(true));
            let next = parent.clone().equals(Expr::from(state.parent) + 1);
            let beside = next.select(lo.clone().equals(state.end), Expr::Bool(true));
            let mut rules = vec![(Rule::Cursors, reach, self.count_of(level))];
            if props.contiguous {
                rules.push((Rule::Contiguous, beside, state.end.into()));
            }
            self.hold(b, &spot, &rules);
            b.if_(some, |b| {
                let stepped = Expr::from(state.stepped) + (hi.clone() - lo.clone());
                b.assign(state.stepped, stepped);
                let all = self.count_of(level);
                let ends = Expr::from(state.stepped).le(all.clone());
                self.hold(b, &spot, &[(Rule::Many, ends, all)]);
                b.if_(lo.clone().lt(state.top), |b| b.assign(state.rises, Expr::Int(0)));
                b.assign(state.top, Expr::from(state.top).max(hi.clone()));
            });
        }
        let before = b.var("before", if props.unique { lower - 1 } else { lower });
        let first = Expr::from(b.var("first", state.count.into()));
        b.for_("cursor", lo, hi.clone(), |b, cursor| {
            let step = (walk.step)(b, cursor.clone());
            let some = step.run.clone().map_or(Expr::Bool(true), |run| Expr::Int(0).lt(run));
            let here = match step.guard.clone() {
                None => some,
                Some(guard) => guard.and(some),
            };
            b.if_(here, |b| self.child(b, level, &parent, (walk.kind, &cursor), step, before));
            if let Some(advance) = &walk.advance {
                advance(b, cursor);
            }
        });
        let children = || Expr::from(state.count) - first.clone();
        let spot = Spot { pos: children(), crd: children(), ..spot };
        for (claimed, number) in [(props.branchless, Expr::Int(1)), (props.full, size)] {
            if claimed {
                let right = children().equals(number.clone());
                self.hold(b, &spot, &[(Rule::Children, right, number)]);
            }
        }
        b.assign(state.parent, parent);
        b.assign(state.end, hi);
    }

    /// Looks at one child, and goes down.
    fn child(
        &self,
        b: &mut Builder,
        level: usize,
        parent: &Expr,
        (kind, cursor): (WalkKind, &Expr),
        step: Step,
        before: Var,
    ) {
        let (props, state) = (self.format().descriptions()[level].props, &self.state[level]);
        let sizes = &self.operand.sizes;
        let (lower, size) = (sizes.lowers[level].clone(), sizes.sizes[level].clone());
        let by_position = kind == WalkKind::Position;
        let (crd_is_cursor, pos_is_cursor) = (step.crd == *cursor, step.pos == *cursor);
        let (crd, pos) = (b.bind("crd", step.crd), b.bind("pos", step.pos));
        let end = b.bind("end", lower.clone() + size.clone());
        let spot = Spot { level, parent: parent.clone(), pos: pos.clone(), crd: crd.clone() };
        let mut rules: Vec<Held> = Vec::new();
        // What comes of an interval of positions was seen to be in reach.
        if !by_position {
            let positions = self.count_of(level);
            let inside = Expr::Int(0).le(pos.clone()).and(pos.clone().lt(positions.clone()));
            rules.push((Rule::Reach, inside, positions.clone()));
            // So that a walk ends.
            rules.push((Rule::Apart, Expr::from(state.count).lt(positions.clone()), positions));
        }
        let mut inside = crd.clone().lt(end.clone());
        if !props.ordered {
            inside = lower.clone().le(crd.clone()).and(inside);
        }
        if let Some(run) = &step.run {
            inside = inside.and(run.clone().le(end.clone() - crd.clone()));
        }
        rules.push((Rule::Bounds, inside, end));
        if props.ordered {
            let ascends = match props.unique {
                true => Expr::from(before).lt(crd.clone()),
                false => Expr::from(before).le(crd.clone()),
            };
            rules.push((Rule::Ordered, ascends, before.into()));
        }
        let along = match kind {
            WalkKind::Position if !pos_is_cursor => Some(&pos),
            WalkKind::Coordinate if !crd_is_cursor => Some(&crd),
            _ => None,
        };
        if let Some(along) = along {
            rules.push((Rule::Cursor, along.clone().equals(cursor.clone()), cursor.clone()));
        }
        if props.full {
            let formula = parent.clone() * size + (crd.clone() - lower);
            rules.push((Rule::Full, pos.clone().equals(formula.clone()), formula));
        }
        if props.branchless && pos != *parent {
            rules.push((Rule::Branchless, pos.clone().equals(parent.clone()), parent.clone()));
        }
        if props.contiguous && !by_position {
            let above = Expr::from(state.top).le(pos.clone());
            let later = Expr::from(state.parent).le(parent.clone());
            rules.push((Rule::Contiguous, later.select(above, Expr::Bool(true)), state.top.into()));
        }
        self.hold(b, &spot, &rules);
        if let Some(marks) = self.marks[level] {
            let free = b.load(marks, pos.clone()).equals(0);
            self.hold(b, &spot, &[(Rule::Apart, free, pos.clone())]);
            b.store(marks, pos.clone(), Expr::Int(1));
        }
        let last = match step.run {
            None => crd.clone(),
            Some(run) => b.bind("last", crd.clone() + run - 1),
        };
        if let Some(lists) = self.lists[level] {
            for (list, number) in lists.into_iter().zip([parent.clone(), crd, last.clone()]) {
                b.store(list, state.count.into(), number);
            }
        }
        if props.ordered {
            b.assign(before, last);
        }
        if !by_position {
            b.if_(pos.clone().lt(state.top), |b| b.assign(state.rises, Expr::Int(0)));
            b.assign(state.top, Expr::from(state.top).max(pos.clone() + 1));
        }
        b.assign(state.count, Expr::from(state.count) + 1);
        self.level(b, level + 1, pos);
    }

    fn count_of(&self, level: usize) -> Expr {
        self.positions[level].clone()
    }

    /// Emits one test of all the rules. Where one is broken, the pass ends: it is reported, and then
    /// comes an access that is refused.
    fn hold(&self, b: &mut Builder, spot: &Spot, rules: &[Held]) {
        let all = rules.iter().map(|(_, holds, _)| holds.clone()).reduce(Expr::and);
        let fine = all.unwrap_or(Expr::Bool(true));
        let tell = |b: &mut Builder| {
            let Spot { level, parent, pos, crd } = spot.clone();
            let known = [Expr::Int(level as i64), parent, pos, crd];
            for (at, number) in known.into_iter().enumerate() {
                b.store(self.report, Expr::Int(at as i64 + 1), number);
            }
            // The first that is broken is told.
            for (rule, holds, other) in rules.iter().rev() {
                let tell = |b: &mut Builder| {
                    let code = RULES.iter().position(|r| r == rule).map_or(0, |at| at + 1);
                    b.store(self.report, Expr::Int(0), Expr::Int(code as i64));
                    b.store(self.report, Expr::Int(HEAD as i64 - 1), other.clone());
                };
                b.if_else(holds.clone(), |_| {}, tell);
            }
            b.store(self.report, Expr::Int(-1), Expr::Int(0));
        };
        b.if_else(fine, |_| {}, tell);
    }
}
