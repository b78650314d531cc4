//! Compares the children that a walk visits with the claims of their levels: a pass over the levels
//! above the trailing full levels, which reports the first child that breaks a claim.
//!
//! A level's claims are its description and the reach that its `check` returns. Loops rely on
//! claims without tests. So the pass walks every level under every child of the level above,
//! independently of the level's own `check`.

use ust_format::Format;
use ust_level_api::ir::interp::{Memory, Param};
use ust_level_api::ir::{ArrayId, Builder, Elem, Expr, Ty, Var};
use ust_level_api::{IndexKind, Interval, Reach as Reached, Run, Step, WalkKind};

use super::native::Code;
use super::nest::{Operand, Reach};
use crate::error::Error;
use crate::storage::Tensor;

/// A claim about a child, or about all children of a parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// A position is less than the level's number of positions.
    Reach,
    /// All positions of a cursor over positions are less than the level's number of positions.
    Cursors,
    /// Coordinates lie in the domain of the level.
    Bounds,
    /// Coordinates under one parent ascend; where the level is not unique, they do not descend.
    Ordered,
    /// The cursor is the position, or the coordinate, as the kind of the walk says.
    Cursor,
    /// The position is `parent * size + (crd - lower)`.
    Full,
    /// The position equals the position of the parent.
    Branchless,
    /// A parent has as many children as the level claims: one, or one for each coordinate.
    Children,
    /// The cursors of all parents together visit no more positions than the level has, so that a
    /// walk ends.
    Many,
    /// Children of neighbouring parents are stored side by side.
    Contiguous,
    /// Each child has a position of its own, and that position is in reach.
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

/// The first child that breaks a claim. Where the claim is about all children of a parent,
/// `position` and `coordinate` hold the bounds of the cursor, or both hold the number of children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    pub(crate) rule: Rule,
    pub(crate) level: usize,
    pub(crate) parent: i64,
    pub(crate) position: i64,
    pub(crate) coordinate: i64,
    /// The number that the rule compares with: the coordinate of the child before, the required
    /// position, ...
    pub(crate) other: i64,
}

/// The result of a pass without a broken claim, for each level.
pub(crate) struct Pass {
    /// Number of children.
    pub(crate) children: Vec<i64>,
    /// Whether each child has a higher position than the child before.
    pub(crate) rises: Vec<bool>,
    /// Where the options say so: the parent, the first and the last coordinate of each child.
    pub(crate) listed: Vec<[Vec<i64>; 3]>,
}

/// Options of a pass for a level: tests that need memory for each position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PassOptions {
    /// Whether each visited position is marked, to find positions that are visited twice or out of
    /// reach.
    pub(crate) marked: bool,
    /// Whether children are listed. Only where positions are marked.
    pub(crate) listed: bool,
}

/// Numbers of a breach, which a report begins with.
const HEAD: usize = 6;

/// Walks the levels above the trailing full levels. `reached` gives the positions of each level
/// that are in reach. Cost: O(children).
///
/// # Errors
/// [`Error::Run`] where a walk leaves its arrays.
pub(crate) fn pass(
    tensor: &Tensor,
    reached: &[Reached],
    options: &[PassOptions],
) -> Result<Result<Pass, Breach>, Error> {
    let levels = tensor.format().tail();
    let mut b = Builder::new("claims");
    let operand = Operand::declare(&mut b, "A", &tensor.outline());
    let params: Vec<Expr> =
        (0..levels).map(|level| b.param(&format!("A{level}_positions"), Ty::Int)).collect();
    let report = b.array("report", Elem::Index(IndexKind::I64), true);
    let options = &options[..levels];
    let marks: Vec<Option<ArrayId>> = options
        .iter()
        .map(|own| own.marked.then(|| b.array("marks", Elem::Index(IndexKind::U8), true)))
        .collect();
    let mut list = |own: &PassOptions| {
        let list = |b: &mut Builder| b.array("list", Elem::Index(IndexKind::I64), true);
        (own.marked && own.listed).then(|| [list(&mut b), list(&mut b), list(&mut b)])
    };
    let lists: Vec<Option<[ArrayId; 3]>> = options.iter().map(&mut list).collect();
    let state = (0..levels).map(|_| State::declare(&mut b)).collect();
    let emitter = Emitter { operand, positions: params, report, marks, lists, state };
    emitter.level(&mut b, 0, Expr::Int(0));
    for (level, state) in emitter.state.iter().enumerate() {
        let at = (HEAD + 2 * level) as i64;
        b.store(report, Expr::Int(at), state.count.into());
        b.store(report, Expr::Int(at + 1), state.rises.into());
    }
    let code = Code::new(&b.finish(), tensor.nse())?;

    let mut written = vec![0_i64; HEAD + 2 * levels];
    let room =
        |level: usize, wanted: bool| if wanted { reached[level].positions as usize } else { 0 };
    let mut marked: Vec<Vec<u8>> =
        (0..levels)
            .map(|level| {
                if emitter.marks[level].is_some() { out_of_reach(&reached[level]) } else { vec![] }
            })
            .collect();
    let mut listed: Vec<[Vec<i64>; 3]> = (0..levels)
        .map(|level| std::array::from_fn(|_| vec![0; room(level, emitter.lists[level].is_some())]))
        .collect();
    let mut memory: Vec<Memory<'_>> = Vec::new();
    memory.extend(tensor.index_arrays().map(Memory::Index));
    memory.push(Memory::indices_mut(&mut written[..]));
    let marks = marked.iter_mut().zip(&emitter.marks).filter(|(_, mark)| mark.is_some());
    memory.extend(marks.map(|(marked, _)| Memory::indices_mut(&mut marked[..])));
    let lists = listed.iter_mut().zip(&emitter.lists).filter(|(_, list)| list.is_some());
    memory.extend(lists.flat_map(|(l, _)| l).map(|column| Memory::indices_mut(&mut column[..])));
    let mut params: Vec<Param> =
        emitter.operand.size_arguments(tensor).into_iter().map(Param::Int).collect();
    params.extend(reached[..levels].iter().map(|reach| Param::Int(reach.positions as i64)));
    let ran = code.run(&params, &mut memory);
    drop(memory);

    if let Some(&rule) = RULES.get((written[0] - 1) as usize) {
        let [_, level, parent, position, coordinate, other] = written[..HEAD] else {
            unreachable!("a report begins with the numbers of a breach")
        };
        let level = level as usize;
        return Ok(Err(Breach { rule, level, parent, position, coordinate, other }));
    }
    ran?;
    let children: Vec<i64> = written[HEAD..].iter().copied().step_by(2).collect();
    let rises = written[HEAD + 1..].iter().step_by(2).map(|&rises| rises == 1).collect();
    for (columns, &count) in listed.iter_mut().zip(&children) {
        columns.iter_mut().for_each(|column| column.truncate(count as usize));
    }
    Ok(Ok(Pass { children, rises, listed }))
}

/// For each position, 1 where it is out of reach, else 0.
fn out_of_reach(reach: &Reached) -> Vec<u8> {
    let positions = reach.positions as usize;
    let Some(intervals) = &reach.intervals else { return vec![0; positions] };
    let mut marks = vec![1; positions];
    for interval in intervals {
        marks[interval.start as usize..interval.end as usize].fill(0);
    }
    marks
}

/// The state of a level that the pass keeps from one child to the next.
struct State {
    /// Number of children so far.
    count: Var,
    /// 1 as long as positions ascend.
    rises: Var,
    /// The highest position so far plus 1.
    top: Var,
    /// Number of positions in all cursors so far, the present one included.
    stepped: Var,
    /// The previous parent, and the end of the cursor over its children.
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
    /// Number of positions of each level.
    positions: Vec<Expr>,
    report: ArrayId,
    marks: Vec<Option<ArrayId>>,
    lists: Vec<Option<[ArrayId; 3]>>,
    state: Vec<State>,
}

/// The child that is tested, or the parent whose children are tested: the numbers that a breach
/// reports.
#[derive(Clone)]
struct Spot {
    level: usize,
    parent: Expr,
    pos: Expr,
    crd: Expr,
}

/// A rule, whether it holds, and the number that it compares with.
type Test = (Rule, Expr, Expr);

impl Emitter {
    fn format(&self) -> &Format {
        &self.operand.format
    }

    /// Emits the walk of a level under one parent, and the tests of its children.
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
            self.test(b, &spot, &rules);
            b.if_(some, |b| {
                let stepped = Expr::from(state.stepped) + (hi.clone() - lo.clone());
                b.assign(state.stepped, stepped);
                let all = self.count_of(level);
                let ends = Expr::from(state.stepped).le(all.clone());
                self.test(b, &spot, &[(Rule::Many, ends, all)]);
                b.if_(lo.clone().lt(state.top), |b| b.assign(state.rises, Expr::Int(0)));
                b.assign(state.top, Expr::from(state.top).max(hi.clone()));
            });
        }
        let before = b.var("before", if props.unique { lower - 1 } else { lower });
        let first = Expr::from(b.var("first", state.count.into()));
        b.for_("cursor", lo, hi.clone(), |b, cursor| {
            let step = (walk.step)(b, cursor.clone());
            let some = step.run.as_ref();
            let some = some.map_or(Expr::Bool(true), |run| Expr::Int(0).lt(run.count()));
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
                self.test(b, &spot, &[(Rule::Children, right, number)]);
            }
        }
        b.assign(state.parent, parent);
        b.assign(state.end, hi);
    }

    /// Emits the tests of one child, and the walk of the next level under it.
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
        let run = step.run;
        let count = run.as_ref().map(|run| b.bind("run", run.count()));
        // Number of positions here.
        let several = match (&run, &count) {
            (Some(run), Some(count)) if !run.is_shared() => count.clone(),
            _ => Expr::Int(1),
        };
        let end = b.bind("end", lower.clone() + size.clone());
        let spot = Spot { level, parent: parent.clone(), pos: pos.clone(), crd: crd.clone() };
        let mut rules: Vec<Test> = Vec::new();
        // A cursor over positions was tested as a whole, before its first child.
        if !by_position {
            let positions = self.count_of(level);
            let inside = Expr::Int(0).le(pos.clone());
            let inside = inside.and(several.clone().le(positions.clone() - pos.clone()));
            rules.push((Rule::Reach, inside, positions.clone()));
            // More children than positions: a walk with invalid arrays may not end.
            let fewer = Expr::from(state.count).le(positions.clone() - several.clone());
            rules.push((Rule::Apart, fewer, positions));
        } else if run.as_ref().is_some_and(|run| !run.is_shared()) {
            rules.push((Rule::Cursor, Expr::Bool(false), cursor.clone()));
        }
        let mut inside = crd.clone().lt(end.clone());
        if !props.ordered {
            inside = lower.clone().le(crd.clone()).and(inside);
        }
        if let Some(count) = &count {
            inside = inside.and(count.clone().le(end.clone() - crd.clone()));
        }
        rules.push((Rule::Bounds, inside, end.clone()));
        let ascends = |crd: &Expr| match props.unique {
            true => Expr::from(before).lt(crd.clone()),
            false => Expr::from(before).le(crd.clone()),
        };
        if props.ordered {
            rules.push((Rule::Ordered, ascends(&crd), before.into()));
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
        self.test(b, &spot, &rules);
        if !by_position {
            b.if_(pos.clone().lt(state.top), |b| b.assign(state.rises, Expr::Int(0)));
            b.assign(state.top, Expr::from(state.top).max(pos.clone() + several.clone()));
        }
        let spot = |pos: &Expr, crd: &Expr| Spot { pos: pos.clone(), crd: crd.clone(), ..spot };
        if let Some(Run::Coded(code)) = run {
            return b.coded("in_run", (crd, pos), code, |b, crd, pos| {
                let spot = spot(&pos, &crd);
                let inside = crd.clone().lt(end.clone());
                let rules =
                    [(Rule::Bounds, inside, end), (Rule::Ordered, ascends(&crd), before.into())];
                self.test(b, &spot, &rules);
                b.assign(before, crd.clone());
                self.position(b, &spot, crd);
            });
        }
        let last = match &count {
            None => crd.clone(),
            Some(count) => b.bind("last", crd.clone() + count.clone() - 1),
        };
        if props.ordered {
            b.assign(before, last.clone());
        }
        if !matches!(run, Some(Run::Consecutive(_))) {
            return self.position(b, &spot(&pos, &crd), last);
        }
        b.for_("in_run", Expr::Int(0), several, |b, offset| {
            let [pos, crd] = [pos, crd].map(|first| b.bind("at", first + offset.clone()));
            self.position(b, &spot(&pos, &crd), crd);
        });
    }

    /// Emits the tests of the position of a child, and the walk of the next level under it. It has the coordinates
    /// from that of the spot to `last`.
    fn position(&self, b: &mut Builder, spot: &Spot, last: Expr) {
        let Spot { level, parent, pos, crd } = spot.clone();
        let state = &self.state[level];
        if let Some(marks) = self.marks[level] {
            let free = b.load(marks, pos.clone()).equals(0);
            self.test(b, spot, &[(Rule::Apart, free, pos.clone())]);
            b.store(marks, pos.clone(), Expr::Int(1));
        }
        if let Some(lists) = self.lists[level] {
            for (list, number) in lists.into_iter().zip([parent, crd, last]) {
                b.store(list, state.count.into(), number);
            }
        }
        b.assign(state.count, Expr::from(state.count) + 1);
        self.level(b, level + 1, pos);
    }

    fn count_of(&self, level: usize) -> Expr {
        self.positions[level].clone()
    }

    /// Emits a test of rules. Where one is broken, the code writes a report, and ends the pass by
    /// an access out of bounds, which the interpreter and checked machine code refuse.
    fn test(&self, b: &mut Builder, spot: &Spot, rules: &[Test]) {
        let all = rules.iter().map(|(_, holds, _)| holds.clone()).reduce(Expr::and);
        let fine = all.unwrap_or(Expr::Bool(true));
        let tell = |b: &mut Builder| {
            let Spot { level, parent, pos, crd } = spot.clone();
            let known = [Expr::Int(level as i64), parent, pos, crd];
            for (at, number) in known.into_iter().enumerate() {
                b.store(self.report, Expr::Int(at as i64 + 1), number);
            }
            // The first broken rule is written last, and stays in the report.
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
