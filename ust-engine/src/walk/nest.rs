//! A loop nest over everything that a tensor stores.

use ust_format::{Format, IndexExpr};
use ust_level_api::ir::{ArrayId, BinOp, Builder, Elem, Expr, Ty, Var};
use ust_level_api::{Interval, Step, Walk, WalkKind, WalkSite};

use super::bounds::{Bounds, Sizes};
use super::emit;
use crate::storage::Tensor;

/// A tensor as IR sees it: its arrays and sizes, declared in a function.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The format.
    pub format: Format,
    /// For each level, its arrays.
    pub arrays: Vec<Vec<ArrayId>>,
    /// Extents, level sizes and lowest coordinates.
    pub sizes: Sizes,
    pub(crate) bounds: Bounds,
    view: crate::storage::view::View,
}

/// How a tensor is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Coordinates inside the shape only.
    Inside,
    /// Every place that is stored, also where it stands for no element of the tensor.
    Everything,
}

/// What is known inside the innermost loop.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The coordinate at each level.
    pub levels: Vec<Expr>,
    /// The position at each level; the last is where the value is.
    pub positions: Vec<Expr>,
    /// The coordinate of each dimension, as shown by the view.
    pub dims: Vec<Expr>,
    /// The coordinate of each dimension of the whole tensor, once it is known.
    whole: Vec<Option<Expr>>,
    /// Whether this place is an element of the tensor: constant true for [`Reach::Inside`].
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
    /// Declares the sizes of a tensor as parameters of a function. [`Operand::size_arguments`]
    /// gives the arguments. All operands' sizes are declared before the first statement.
    #[must_use]
    pub fn declare(b: &mut Builder, name: &str, tensor: &Tensor) -> Self {
        let format = tensor.format().clone();
        let mut int = |text: String| b.param(&text, Ty::Int);
        let sizes = Sizes {
            extents: (0..format.rank()).map(|d| int(format!("{name}_n{d}"))).collect(),
            sizes: (0..format.level_count())
                .map(|l| match &format.levels()[l].expr {
                    // Written in the format, hence the same for every shape.
                    IndexExpr::Mod(_, m) if matches!(**m, IndexExpr::Const(_)) => emit(m, &[]),
                    _ => int(format!("{name}{l}_size")),
                })
                .collect(),
            lowers: (0..format.level_count())
                .map(|l| match can_be_negative(&format.levels()[l].expr) {
                    true => int(format!("{name}{l}_lower")),
                    false => Expr::Int(0),
                })
                .collect(),
        };
        Self::with_sizes(b, name, tensor, sizes)
    }

    /// Declares the arrays of a tensor whose sizes are known by other parameters.
    #[must_use]
    pub(crate) fn with_sizes(b: &mut Builder, name: &str, tensor: &Tensor, sizes: Sizes) -> Self {
        let format = tensor.format().clone();
        let arrays = (0..format.level_count())
            .map(|l| {
                let specs = &format.descriptions()[l].arrays;
                let stored = &tensor.levels()[l].0;
                let named = specs.iter().zip(stored);
                named
                    .map(|(spec, array)| {
                        let text = format!("{name}{l}_{}", spec.name);
                        b.array(&text, Elem::Index(array.kind()), false)
                    })
                    .collect()
            })
            .collect();
        let bounds = Bounds::new(&format);
        Self { format, arrays, sizes, bounds, view: tensor.view().clone() }
    }

    /// The arguments for the parameters that [`Operand::declare`] declares, in that order.
    #[must_use]
    pub fn size_arguments(&self, tensor: &Tensor) -> Vec<i64> {
        let levels = tensor.bound().levels();
        let is_param = |e: &Expr| matches!(e, Expr::Var(_));
        let extents = tensor.bound().shape().iter().map(|&n| n as i64);
        let sizes = self.sizes.sizes.iter().zip(levels).filter(|(e, _)| is_param(e));
        let lowers = self.sizes.lowers.iter().zip(levels).filter(|(e, _)| is_param(e));
        extents
            .chain(sizes.map(|(_, level)| level.size as i64))
            .chain(lowers.map(|(_, level)| level.lower))
            .collect()
    }

    /// What a level is told when it is walked or searched under one parent.
    pub(crate) fn site(
        &self,
        level: usize,
        parent: Interval,
        above: &[Expr],
        reach: Reach,
    ) -> WalkSite {
        let bounds = match reach {
            Reach::Inside => self.bounds.interval(level, above, &self.sizes),
            Reach::Everything => {
                let lo = self.sizes.lowers[level].clone();
                Interval { hi: lo.clone() + self.sizes.sizes[level].clone(), lo }
            }
        };
        WalkSite {
            arrays: self.arrays[level].clone(),
            size: self.sizes.sizes[level].clone(),
            lower: self.sizes.lowers[level].clone(),
            bounds,
            parent,
        }
    }

    /// Emits loops over everything stored, and `body` inside them. Says whether a value can be
    /// visited more than once, because a level gives one position to a run of coordinates.
    pub fn walk(
        &self,
        b: &mut Builder,
        reach: Reach,
        body: &mut dyn FnMut(&mut Builder, &Leaf),
    ) -> bool {
        self.walk_within(b, reach, Part::All, None, body).repeats
    }

    /// As [`Operand::walk`], to what stands at coordinates `at.lo .. at.hi` of a dimension, of which
    /// there is one at least. Levels whose cursor is a coordinate that depends on it are walked for
    /// those alone, and entered at once where it is one: the last level that it depends on is to be
    /// such a level.
    pub(crate) fn walk_at(
        &self,
        b: &mut Builder,
        (dim, at): (usize, Interval),
        body: &mut dyn FnMut(&mut Builder, &Leaf),
    ) -> Walked {
        self.walk_within(b, Reach::Inside, Part::At(dim, at), None, body)
    }

    /// As [`Operand::walk`], over a piece of the outermost loop: cursors `piece.0 .. piece.1`, which
    /// may reach beyond the loop. The whole loop is walked where it cannot be cut.
    pub fn walk_piece(
        &self,
        b: &mut Builder,
        reach: Reach,
        piece: (Expr, Expr),
        body: &mut dyn FnMut(&mut Builder, &Leaf),
    ) -> Walked {
        self.walk_within(b, reach, Part::Piece(piece), None, body)
    }

    /// As [`Operand::walk_piece`], to those positions of the last level only that stand in an array,
    /// `count` of them in ascending order, and one more, beyond all. For formats that
    /// [visit positions in order](Operand::visits_in_order).
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

    /// Whether a walk over everything stored visits the positions of each level one after another.
    pub(crate) fn visits_in_order(format: &Format) -> bool {
        format.descriptions().iter().all(|level| {
            let props = level.props;
            props.contiguous && props.compact && level.walk != WalkKind::Other
        })
    }

    /// Whether the last level's positions are known for all cursors once one is: what
    /// [`Operand::walk_places`] needs besides. Other levels may pass over positions, or carry
    /// something from one to the next.
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
        let leaf = Leaf {
            levels: Vec::new(),
            positions: Vec::new(),
            dims: vec![Expr::Int(0); self.format.rank()],
            whole: vec![None; self.format.rank()],
            inside: Expr::Bool(true),
        };
        let walked = Walked { repeats: false, splits: false };
        let mut loops = Loops { operand: self, reach, part, places, walked, body };
        loops.level(b, leaf);
        loops.walked
    }

    /// Where the first level is walked.
    pub(crate) fn root(&self, reach: Reach) -> WalkSite {
        self.site(0, Interval::one(Expr::Int(0)), &[], reach)
    }

    /// Whether the dimensions known so far map to the very level coordinates that they came from:
    /// where levels have room to spare (`i * 2`), not every coordinate stands for an element.
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

    /// Whether some dimension is more than a sum of multiples of level coordinates, so that level
    /// coordinates may stand for no element.
    pub(crate) fn has_gaps(format: &Format) -> bool {
        let bounds = Bounds::new(format);
        (0..format.rank()).any(|dim| bounds.needs_guard(dim))
    }

    fn cursor_name(&self, level: usize) -> String {
        match &self.format.levels()[level].expr {
            IndexExpr::Var(dim) => format!("{}{level}", self.format.dims()[*dim].name),
            _ => format!("l{level}"),
        }
    }
}

/// What is known of a walk once it is emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walked {
    /// Whether a value can be visited more than once, because a level gives one position to a run
    /// of coordinates.
    pub repeats: bool,
    /// Whether the outermost loop can be cut into pieces.
    pub splits: bool,
}

/// What part of a tensor is walked.
enum Part {
    All,
    /// Such cursors of the outermost loop.
    Piece((Expr, Expr)),
    /// What stands at such coordinates of a dimension.
    At(usize, Interval),
}

/// Positions in ascending order, and how far a walk has come.
#[derive(Clone)]
struct Places {
    places: ArrayId,
    count: Expr,
    next: Var,
}

impl Places {
    /// Emits a loop over those of the positions that lie in an interval, from where the walk has come.
    fn within(&self, b: &mut Builder, positions: Interval, body: impl FnOnce(&mut Builder, Expr)) {
        let Self { places, count, next } = self;
        let next = *next;
        let first = b.bind("first", positions.lo);
        let behind = b.load(*places, next.into()).lt(first.clone());
        // At the start of a piece, or behind places that no coordinate reaches: a binary search.
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
    /// The positions of the last level that are visited, instead of all.
    places: Option<Places>,
    walked: Walked,
    body: &'b mut dyn FnMut(&mut Builder, &Leaf),
}

impl Loops<'_, '_> {
    /// Emits the loop over the children of a level's parent; below the last level, the body.
    fn level(&mut self, b: &mut Builder, above: Leaf) {
        let operand = self.operand;
        let level = above.levels.len();
        if level == operand.format.level_count() {
            return (self.body)(b, &above);
        }
        let ty = &operand.format.levels()[level].ty;
        let parent = above.positions.last().cloned().unwrap_or(Expr::Int(0));
        let site = operand.site(level, Interval::one(parent), &above.levels, self.reach);
        let walk = ty.walk(&site, b);
        let name = operand.cursor_name(level);
        let Interval { mut lo, mut hi } = walk.cursor.clone();
        let mut only = None;
        // What is carried from stop to stop must be carried from the first.
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
            // What is carried along cannot be entered in the middle: values come again at other
            // coordinates.
            self.walked.repeats = true;
        }
        let last = level + 1 == operand.format.level_count();
        if let Some(places) = self.places.clone().filter(|_| last) {
            // The level is full: its position runs along with the cursor.
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
            None => b.for_(&name, lo, hi, |b, cursor| self.stop(b, above, &walk, cursor)),
            Some(cursor) => {
                let cursor = b.bind(&name, cursor);
                let here = lo.le(cursor.clone()).and(cursor.clone().lt(hi));
                b.if_(here, |b| self.stop(b, above, &walk, cursor));
            }
        }
    }

    /// Handles one stop of a walk.
    fn stop(&mut self, b: &mut Builder, above: Leaf, walk: &Walk<'_>, cursor: Expr) {
        let Step { crd, pos, guard, run } = (walk.step)(b, cursor.clone());
        b.if_(guard.unwrap_or(Expr::Bool(true)), |b| match run {
            None => self.child(b, above, walk.kind, crd, pos),
            Some(run) => {
                self.walked.repeats = true;
                let pos = b.bind("run_pos", pos);
                let lo = b.bind("run_lo", crd);
                b.for_("in_run", lo.clone(), lo + run, |b, crd| {
                    self.child(b, above, walk.kind, crd, pos);
                });
            }
        });
        if let Some(advance) = &walk.advance {
            advance(b, cursor);
        }
    }

    /// Handles one child: names its coordinate and position, tests the dimensions that it
    /// completes where that is not known to hold, and goes down.
    fn child(&mut self, b: &mut Builder, mut leaf: Leaf, kind: WalkKind, crd: Expr, pos: Expr) {
        let operand = self.operand;
        let level = leaf.levels.len();
        let name = operand.cursor_name(level);
        leaf.levels.push(b.bind(&format!("{name}_crd"), crd));
        leaf.positions.push(b.bind(&format!("{name}_pos"), pos));
        let padded = operand.format.descriptions()[level].props.padded;
        let known = padded_to(&leaf.levels, operand.format.level_count());
        let mut inside = Expr::Bool(true);
        for dim in operand.bounds.completed_at(level) {
            let whole = emit(&operand.format.inverse()[dim], &known);
            let whole = b.bind(&operand.format.dims()[dim].name, whole);
            let trusted = match kind {
                WalkKind::Coordinate => !operand.bounds.needs_guard(dim),
                // Check has seen every stored coordinate, but padding may stand anywhere.
                WalkKind::Position | WalkKind::Other => !padded,
            };
            if !trusted || self.reach == Reach::Everything {
                let extent = operand.sizes.extents[dim].clone();
                inside = inside.and(Expr::Int(0).le(whole.clone())).and(whole.clone().lt(extent));
            }
            leaf.whole[dim] = Some(whole.clone());
            if !trusted && operand.bounds.needs_guard(dim) {
                inside = inside.and(operand.maps_back(dim, &leaf.levels, &leaf.whole));
            }
            let (shown, visible) = operand.view.emit_shown(dim, whole);
            inside = inside.and(visible);
            leaf.dims[dim] = shown;
        }
        match self.reach {
            Reach::Inside => b.if_(inside, |b| self.level(b, leaf)),
            Reach::Everything => {
                leaf.inside = leaf.inside.and(inside);
                self.level(b, leaf);
            }
        }
    }
}

/// Level coordinates known so far, with a stand-in for those below, which are not used.
fn padded_to(levels: &[Expr], count: usize) -> Vec<Expr> {
    let mut all = levels.to_vec();
    all.resize(count, Expr::Int(0));
    all
}

pub(crate) fn can_be_negative(expr: &IndexExpr) -> bool {
    match expr {
        IndexExpr::Const(value) => *value < 0,
        IndexExpr::Var(_) | IndexExpr::Mod(..) => false,
        IndexExpr::Sub(..) => true,
        IndexExpr::Add(a, b) | IndexExpr::Mul(a, b) | IndexExpr::FloorDiv(a, b) => {
            can_be_negative(a) || can_be_negative(b)
        }
    }
}
