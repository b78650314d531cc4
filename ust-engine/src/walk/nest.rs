//! The loop nest over the stored values of a tensor: one loop for each level, from the first to the
//! last.

use ust_format::{Format, IndexExpr};
use ust_level_api::ir::{ArrayId, BinOp, Builder, Expr, Var};
use ust_level_api::{Interval, Run, Step, Walk, WalkKind};

use super::emit;
pub use super::operand::Operand;
use super::shape::run_of;

/// Which stored values a walk visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Those with coordinates inside the shape.
    Inside,
    /// All, including those outside the shape, such as the corners beside diagonals.
    Everything,
}

/// The coordinates and positions inside the innermost loop.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The coordinate at each level.
    pub levels: Vec<Expr>,
    /// The position at each level. The last is the position of the value.
    pub positions: Vec<Expr>,
    /// The coordinate in each dimension of the view, and then each counter.
    pub dims: Vec<Expr>,
    /// The coordinate in each dimension of the whole tensor, and then each counter, where the levels so far determine it.
    whole: Vec<Option<Expr>>,
    /// Whether the value is an element of the tensor: constant true for [`Reach::Inside`].
    pub inside: Expr,
}

impl Leaf {
    /// The position of the value.
    #[must_use]
    pub fn value(&self) -> Expr {
        self.positions.last().cloned().unwrap_or(Expr::Int(0))
    }
}

impl Operand {
    /// Emits loops over the stored values, and `body` inside them. Returns whether a value can be
    /// visited more than once, because a level stores one position for a run of coordinates.
    pub fn walk(
        &self,
        b: &mut Builder,
        reach: Reach,
        body: &mut dyn FnMut(&mut Builder, &Leaf),
    ) -> bool {
        self.walk_within(b, reach, Part::All, None, body).repeats
    }

    /// As [`Operand::walk`], over the values at coordinates `at.lo .. at.hi` of a dimension. The
    /// interval is not empty.
    ///
    /// A level whose cursor is its coordinate, and whose coordinate depends on the dimension, is
    /// walked over the coordinates that belong to the interval only. If this is a single
    /// coordinate, there is no loop. The last level that the dimension depends on must be such a
    /// level.
    pub(crate) fn walk_at(
        &self,
        b: &mut Builder,
        (dim, at): (usize, Interval),
        body: &mut dyn FnMut(&mut Builder, &Leaf),
    ) -> Walked {
        self.walk_within(b, Reach::Inside, Part::At(dim, at), None, body)
    }

    /// As [`Operand::walk`], over a piece of the outermost loop: cursors `piece.0 .. piece.1`. The
    /// piece may extend beyond the loop. Where the loop cannot be cut, all of it is walked.
    pub fn walk_piece(
        &self,
        b: &mut Builder,
        reach: Reach,
        piece: (Expr, Expr),
        body: &mut dyn FnMut(&mut Builder, &Leaf),
    ) -> Walked {
        self.walk_within(b, reach, Part::Piece(piece), None, body)
    }

    /// As [`Operand::walk_piece`], and tells of its loops.
    pub(crate) fn walk_noting(
        &self,
        b: &mut Builder,
        reach: Reach,
        piece: (Expr, Expr),
        body: &mut dyn FnMut(&mut Builder, &Leaf),
    ) -> (Walked, Noted) {
        let mut loops = self.loops(reach, Part::Piece(piece), None, body);
        loops.level(b, self.whole());
        (loops.walked, loops.noted)
    }

    /// As [`Operand::walk_piece`], over the positions of the last level that an array lists. The
    /// array has `count` positions in ascending order, and one more, beyond all. For formats that
    /// [visit positions in order](Operand::visits_in_order) and [end evenly](Operand::ends_evenly).
    pub(crate) fn walk_places(
        &self,
        b: &mut Builder,
        reach: Reach,
        piece: (Expr, Expr),
        (places, count): (ArrayId, Expr),
        body: &mut dyn FnMut(&mut Builder, &Leaf),
    ) -> Walked {
        let next = b.var("next", Expr::Int(0));
        let places = Places { places, count, next };
        self.walk_within(b, reach, Part::Piece(piece), Some(places), body)
    }

    /// Whether a walk over all stored values visits the positions of each level in ascending order,
    /// without gaps.
    pub(crate) fn visits_in_order(format: &Format) -> bool {
        let compact = format.descriptions().iter().all(|level| level.props.compact);
        compact && (0..format.level_count()).all(|level| Self::ascends(format, level))
    }

    /// Whether a walk visits the positions of a level in ascending order, each once.
    pub(crate) fn ascends(format: &Format, level: usize) -> bool {
        let description = &format.descriptions()[level];
        // A cursor that is neither position nor coordinate may visit them in any order, unless it stands on several.
        let by_itself = || run_of(format, level).is_some_and(|run| !run.is_shared());
        description.props.contiguous && (description.walk != WalkKind::Other || by_itself())
    }

    /// Whether the position at the last level follows from the cursor alone: the level is full.
    /// Other levels may pass over positions, or carry state from one iteration to the next.
    pub(crate) fn ends_evenly(format: &Format) -> bool {
        format.descriptions().last().is_some_and(|level| level.props.full)
    }

    fn walk_within(
        &self,
        b: &mut Builder,
        reach: Reach,
        part: Part,
        places: Option<Places>,
        body: &mut dyn FnMut(&mut Builder, &Leaf),
    ) -> Walked {
        let mut loops = self.loops(reach, part, places, body);
        loops.level(b, self.whole());
        loops.walked
    }

    fn loops<'a, 'b>(
        &'a self,
        reach: Reach,
        part: Part,
        places: Option<Places>,
        body: &'b mut dyn FnMut(&mut Builder, &Leaf),
    ) -> Loops<'a, 'b> {
        let walked = Walked { repeats: false, splits: false };
        Loops { operand: self, reach, part, places, walked, noted: Noted::default(), body }
    }

    /// What is known above the first level.
    fn whole(&self) -> Leaf {
        Leaf {
            levels: Vec::new(),
            positions: Vec::new(),
            dims: vec![Expr::Int(0); self.format.axes()],
            whole: vec![None; self.format.axes()],
            inside: Expr::Bool(true),
        }
    }

    /// Emits whether the known dimensions map back to the level coordinates that they were computed
    /// from. Needed where a level has coordinates that belong to no element, such as odd
    /// coordinates at `i * 2`. Tests the level expressions that dimension `completed` makes known.
    pub(crate) fn maps_back(
        &self,
        completed: usize,
        levels: &[Expr],
        whole: &[Option<Expr>],
    ) -> Expr {
        let known: Vec<Expr> = whole.iter().map(|e| e.clone().unwrap_or(Expr::Int(0))).collect();
        let mut back = Expr::Bool(true);
        for (level, crd) in levels.iter().enumerate() {
            let expr = &self.format.levels()[level].expr;
            let vars = expr.vars();
            if vars.contains(&completed) && vars.iter().all(|&dim| whole[dim].is_some()) {
                back = back.and(emit(expr, &known).equals(crd.clone()));
            }
        }
        back
    }

    fn cursor_name(&self, level: usize) -> String {
        match &self.format.levels()[level].expr {
            IndexExpr::Var(dim) => format!("{}{level}", self.axis_name(*dim)),
            _ => format!("l{level}"),
        }
    }

    /// A name for the variable of a dimension or a counter.
    fn axis_name(&self, axis: usize) -> &str {
        self.format.dims().get(axis).map_or("count", |dim| &dim.name)
    }
}

/// Properties of an emitted walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walked {
    /// Whether a value can be visited more than once, because a level stores one position for several
    /// coordinates.
    pub repeats: bool,
    /// Whether the outermost loop can be cut into pieces.
    pub splits: bool,
}

/// What a walk tells of its loops.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noted {
    /// The loops over the cursors of levels, from the first level on.
    pub(crate) loops: Vec<NotedLoop>,
    /// The range of the outermost loop, before it is cut.
    pub(crate) range: Option<Interval>,
    /// The variables that pass from one iteration of the outermost loop to the next.
    pub(crate) carried: Vec<Var>,
}

/// A loop over the cursor of a level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotedLoop {
    /// The cursor.
    pub(crate) var: Var,
    /// What the cursor is.
    pub(crate) kind: WalkKind,
    /// Whether the level carries state from one iteration to the next.
    pub(crate) carries: bool,
}

/// The part of a tensor that is walked.
enum Part {
    All,
    /// An interval of the outermost loop's cursor.
    Piece((Expr, Expr)),
    /// An interval of the coordinates of a dimension.
    At(usize, Interval),
}

/// An array of positions in ascending order, and the index of the next position to visit.
#[derive(Clone)]
struct Places {
    places: ArrayId,
    count: Expr,
    next: Var,
}

impl Places {
    /// Emits a loop over the listed positions that lie in an interval, from the next position on.
    fn within(&self, b: &mut Builder, positions: Interval, body: impl FnOnce(&mut Builder, Expr)) {
        let Self { places, count, next } = self;
        let next = *next;
        let first = b.bind("first", positions.lo);
        let behind = b.load(*places, next.into()).lt(first.clone());
        // At the start of a piece, or after positions that no coordinate reaches, a binary search
        // skips positions.
        b.if_(behind, |b| {
            let to = b.var("to", count.clone());
            b.while_(Expr::from(next).lt(to), |b| {
                let sum = Expr::from(next) + Expr::from(to);
                let middle = b.bind("middle", Expr::binary(BinOp::Shr, sum, 1.into()));
                let below = b.load(*places, middle.clone()).lt(first.clone());
                b.if_else(
                    below,
                    |b| b.assign(next, middle.clone() + 1),
                    |b| b.assign(to, middle.clone()),
                );
            });
        });
        let end = b.bind("end", positions.hi);
        let inside = b.load(*places, next.into()).lt(end);
        b.while_(inside, |b| {
            let place = b.load(*places, next.into());
            let place = b.bind("place", place);
            body(b, place);
            b.assign(next, Expr::from(next) + 1);
        });
    }
}

/// The loops being emitted.
struct Loops<'a, 'b> {
    operand: &'a Operand,
    reach: Reach,
    part: Part,
    /// The positions of the last level to visit; `None` for all.
    places: Option<Places>,
    walked: Walked,
    noted: Noted,
    body: &'b mut dyn FnMut(&mut Builder, &Leaf),
}

impl Loops<'_, '_> {
    /// Emits the loop over the children of a parent at the next level. Below the last level, emits
    /// the body.
    fn level(&mut self, b: &mut Builder, above: Leaf) {
        let operand = self.operand;
        let level = above.levels.len();
        if level == operand.format.level_count() {
            return (self.body)(b, &above);
        }
        let ty = &operand.format.levels()[level].ty;
        let parent = above.positions.last().cloned().unwrap_or(Expr::Int(0));
        let site = operand.site(level, Interval::one(parent), &above.levels, self.reach);
        let first = b.variable_count();
        let walk = ty.walk(&site, b);
        if level == 0 {
            self.noted.range = Some(walk.cursor.clone());
            let carried = first..b.variable_count();
            self.noted.carried.extend(carried.filter(|_| walk.advance.is_some()).map(Var));
        }
        let name = operand.cursor_name(level);
        let Interval { mut lo, mut hi } = walk.cursor.clone();
        let mut only = None;
        // A walk that carries state from one iteration to the next must start at its first iteration.
        if walk.advance.is_none() {
            self.walked.splits |= level == 0;
            match &self.part {
                Part::Piece((from, to)) if level == 0 => {
                    (lo, hi) = (lo.max(from.clone()), hi.min(to.clone()));
                }
                Part::At(dim, at) if walk.kind == WalkKind::Coordinate => {
                    match operand.bounds.at((*dim, at), level, &above.levels, &operand.sizes) {
                        Some(one) if one.is_one() => only = Some(one.lo),
                        Some(few) => (lo, hi) = (lo.max(few.lo), hi.min(few.hi)),
                        None => {}
                    }
                }
                _ => {}
            }
        } else if let Part::At(..) = self.part {
            // Such a walk is not restricted to the interval, and visits all its children for each
            // interval.
            self.walked.repeats = true;
        }
        let last = level + 1 == operand.format.level_count();
        if let Some(places) = self.places.clone().filter(|_| last) {
            // The level is full: its position advances with the cursor.
            let first =
                site.parent.lo.clone() * site.size.clone() + (lo.clone() - site.lower.clone());
            let first = b.bind("position", first);
            let positions = Interval { hi: first.clone() + (hi - lo.clone()), lo: first.clone() };
            return places.within(b, positions, |b, place| {
                let step = (walk.step)(b, place.clone() - first + lo);
                self.child(b, above, walk.kind, step.crd, place);
            });
        }
        match only {
            None => b.for_(&name, lo, hi, |b, cursor| {
                if let Expr::Var(var) = cursor {
                    let carries = walk.advance.is_some();
                    self.noted.loops.push(NotedLoop { var, kind: walk.kind, carries });
                }
                self.iteration(b, above, &walk, cursor);
            }),
            Some(cursor) => {
                let cursor = b.bind(&name, cursor);
                let here = lo.le(cursor.clone()).and(cursor.clone().lt(hi));
                b.if_(here, |b| self.iteration(b, above, &walk, cursor));
            }
        }
    }

    /// Emits one iteration of a walk.
    fn iteration(&mut self, b: &mut Builder, above: Leaf, walk: &Walk<'_>, cursor: Expr) {
        let Step { crd, pos, guard, run } = (walk.step)(b, cursor.clone());
        b.if_(guard.unwrap_or(Expr::Bool(true)), |b| match run {
            None => self.child(b, above, walk.kind, crd, pos),
            Some(run) => {
                self.walked.repeats |= run.is_shared();
                in_run(b, "in_run", (crd, pos), run, |b, _, (crd, pos)| {
                    self.child(b, above, walk.kind, crd, pos);
                });
            }
        });
        if let Some(advance) = &walk.advance {
            advance(b, cursor);
        }
    }

    /// Emits the code for one child: binds its coordinate and position, tests the dimensions that
    /// become known at this level where they may lie outside the shape, and goes down to the next
    /// level.
    fn child(&mut self, b: &mut Builder, mut leaf: Leaf, kind: WalkKind, crd: Expr, pos: Expr) {
        let operand = self.operand;
        let level = leaf.levels.len();
        let name = operand.cursor_name(level);
        leaf.levels.push(b.bind(&format!("{name}_crd"), crd));
        leaf.positions.push(b.bind(&format!("{name}_pos"), pos));
        // Stored coordinates were checked, except those of padding.
        let overhangs = operand.format.descriptions()[level].props.overhangs
            && operand.bounds.is_whole(level, &leaf.levels, &operand.sizes) != Expr::Bool(true);
        let known = padded_to(&leaf.levels, operand.format.level_count());
        let mut inside = Expr::Bool(true);
        let mut later = Vec::new();
        for dim in operand.bounds.completed_at(level) {
            let whole = emit(&operand.format.inverse()[dim], &known);
            let whole = b.bind(operand.axis_name(dim), whole);
            let trusted = match kind {
                WalkKind::Coordinate => !operand.bounds.needs_guard(dim),
                WalkKind::Position | WalkKind::Other => !overhangs,
            };
            if !trusted || self.reach == Reach::Everything {
                let extent = operand.sizes.extents[dim].clone();
                inside = inside.and(Expr::Int(0).le(whole.clone())).and(whole.clone().lt(extent));
            }
            leaf.whole[dim] = Some(whole.clone());
            if !trusted && operand.bounds.needs_guard(dim) {
                inside = inside.and(operand.maps_back(dim, &leaf.levels, &leaf.whole));
            }
            // Views show all that is counted. The place of a coordinate outside the shape has no coordinate.
            let order = operand.orders.get(dim).copied().flatten();
            let shown = match (order, self.reach) {
                _ if dim >= operand.format.rank() => (whole, Expr::Bool(true)),
                (Some(_), Reach::Inside) if inside != Expr::Bool(true) => {
                    later.push(dim);
                    continue;
                }
                (Some(_), Reach::Everything) => {
                    // Outside the shape there is no place: it is shown as it is.
                    let extent = operand.sizes.extents[dim].clone();
                    let here = Expr::Int(0).le(whole.clone()).and(whole.clone().lt(extent.clone()));
                    let place = whole.clone().min(extent - 1).max(Expr::Int(0));
                    let (shown, visible) = operand.view.emit_shown(b, dim, place, order);
                    (here.select(shown, whole), visible)
                }
                _ => operand.view.emit_shown(b, dim, whole, order),
            };
            inside = inside.and(shown.1);
            leaf.dims[dim] = shown.0;
        }
        match self.reach {
            Reach::Inside => b.if_(inside, |b| self.sorted(b, leaf, &later)),
            Reach::Everything => {
                leaf.inside = leaf.inside.and(inside);
                self.level(b, leaf);
            }
        }
    }

    /// Emits the coordinates in sorted dimensions whose places are inside the shape, and goes down to the next level.
    fn sorted(&mut self, b: &mut Builder, mut leaf: Leaf, dims: &[usize]) {
        let operand = self.operand;
        let mut inside = Expr::Bool(true);
        for &dim in dims {
            let place = leaf.whole[dim].clone().expect("the place is known");
            let shown = operand.view.emit_shown(b, dim, place, operand.orders[dim]);
            inside = inside.and(shown.1);
            leaf.dims[dim] = shown.0;
        }
        b.if_(inside, |b| self.level(b, leaf));
    }
}

/// Emits the loop over the children at one stop of a cursor, from the first one's coordinate and position. The body
/// gets the loop variable, the coordinate and the position.
pub(crate) fn in_run(
    b: &mut Builder,
    name: &str,
    (crd, pos): (Expr, Expr),
    run: Run,
    body: impl FnOnce(&mut Builder, Expr, (Expr, Expr)),
) {
    if let Run::Coded(code) = run {
        return b.coded(name, (crd, pos), code, |b, crd, pos| body(b, pos.clone(), (crd, pos)));
    }
    let pos = b.bind("run_pos", pos);
    let lo = b.bind("run_lo", crd.clone());
    let end = match run.count() {
        // How many there are from the first on, as a difference of bounds.
        Expr::Binary(BinOp::Sub, end, begin) if *begin == crd => *end,
        count => lo.clone() + count,
    };
    if run.is_shared() {
        return b.for_(name, lo, end, |b, crd| body(b, crd.clone(), (crd, pos)));
    }
    let shift = b.bind("run_shift", pos - lo.clone());
    b.for_(name, lo, end, |b, crd| body(b, crd.clone(), (crd.clone(), crd + shift)));
}

/// The known level coordinates, and 0 for the levels below, whose coordinates are not used.
fn padded_to(levels: &[Expr], count: usize) -> Vec<Expr> {
    let mut all = levels.to_vec();
    all.resize(count, Expr::Int(0));
    all
}
