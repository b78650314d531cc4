//! Levels below a batch: the arrays of each item stand side by side, as if each were a tensor alone.
//!
//! A [batch](LevelType::is_batch) is a full level at the top of a format. Its *items* are the tensors below its
//! positions. A level below it that is not full stores them one after another, in arrays that have as many elements for
//! each item; positions in these arrays begin at 0 in each. [`Batched`] makes such a level of any other.

use std::iter::Peekable;
use std::ops::Range;
use std::rc::Rc;

use crate::array::{ArraySpec, Arrays, Per, Role};
use crate::assemble::{Assembled, Entries};
use crate::check::Reach;
use crate::error::LevelError;
use crate::ir::idiom::{Code, Numbers};
use crate::ir::{ArrayId, Builder, Elem, Expr};
use crate::level::{Description, LevelType, LocateCost, Place, Site};
use crate::stats::{Footprint, Population};
use crate::walk::{Interval, Located, Run, Step, Walk, WalkKind, WalkSite};
use crate::{IndexArray, IndexKind, Pos};

/// What a level below a batch is told for its walk, besides the [site](WalkSite) in the whole tensor.
#[derive(Clone, Debug)]
pub struct ItemSite {
    /// The number of the item.
    pub item: Expr,
    /// Number of parents in each item.
    pub parents: Expr,
    /// Number of positions in each item.
    pub positions: Expr,
    /// For each array, the number of elements for each item.
    pub elements: Vec<Expr>,
    /// The level as it is in the item: its parent is counted from 0. Of several parents, the first.
    pub site: WalkSite,
    /// If several parents are walked, the last: the number of its item, and the level as it is there. What these say is
    /// not defined if there are no parents.
    pub last: Option<(Expr, WalkSite)>,
}

/// A level type below a batch: that of each item, side by side.
#[derive(Clone, Debug)]
pub struct Batched(Box<dyn LevelType>);

impl Batched {
    /// Makes a level type store items side by side. One that does so already, because nothing in its arrays
    /// depends on the parents before, stays as it is.
    #[must_use]
    pub fn of(level: Box<dyn LevelType>) -> Box<dyn LevelType> {
        let Description { props, arrays, .. } = level.describe();
        let stands_alone = |array: &ArraySpec| {
            matches!(array.per, Per::Position | Per::Parent) && array.role != Role::Position
        };
        match props.full || (props.contiguous && arrays.iter().all(stands_alone)) {
            true => level,
            false => Box::new(Self(level)),
        }
    }
}

impl LevelType for Batched {
    fn describe(&self) -> Description {
        let mut all = self.0.describe();
        // There are as many positions for each item.
        all.props.bounded = true;
        for array in &mut all.arrays {
            array.per = match array.per {
                Per::ParentBound => Per::Other("parents + 1 for each item of the batch"),
                Per::ParentPair => Per::Other("2 * parents"),
                per => per,
            };
        }
        all
    }

    fn fits(&self, place: &Place<'_>) -> Result<(), LevelError> {
        self.0.fits(place)
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        entries.fetch()?;
        let parents = of_each("parents", entries.parents, site.items)?;
        let own = Site { items: 1, room: false, ..site.clone() };
        let [above, crd] = [entries.parent.to_vec(), entries.crd.to_vec()];
        let (mut made, mut at) = (Vec::new(), 0);
        for base in (0..site.items).map(|item| (item * parents) as i64) {
            // Those of one item stand together.
            let count = above[at..].partition_point(|&parent| parent < base + parents as i64);
            let own_entries = at..at + count;
            at += count;
            let local = above[own_entries.clone()].iter().map(|parent| parent - base);
            let local: Vec<i64> = local.collect();
            let mut of_item = Entries::new(parents, local, crd[own_entries.clone()].to_vec());
            of_item.distinct = entries.distinct;
            of_item.alike = entries.alike.as_ref().map(|alike| alike[own_entries].into());
            made.push(self.0.assemble(&own, &of_item)?);
        }
        self.joined(&made, site, entries, parents)
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let each = of_each("parents", parents.positions, site.items)?;
        let specs = self.0.describe().arrays;
        let lengths = specs.iter().zip(&arrays.0).map(|(spec, array)| {
            array.fetch()?;
            Ok(of_each(spec.name, array.len() as u64, site.items)? as usize)
        });
        let lengths: Vec<usize> = lengths.collect::<Result<_, LevelError>>()?;
        let own = Site { items: 1, ..site.clone() };
        let mut above = parents.intervals().peekable();
        let mut reach =
            Reach { positions: 0, intervals: parents.intervals.is_some().then(Vec::new) };
        for item in 0..site.items {
            let begins: Vec<usize> = lengths.iter().map(|len| len * item as usize).collect();
            let slices = arrays.0.iter().zip(&begins).zip(&lengths);
            let slices = slices.map(|((array, &at), &len)| part(array, at..at + len));
            let of_item = item * each..(item + 1) * each;
            let all = parents.intervals.is_none();
            let intervals = (!all).then(|| within_item(&mut above, &of_item));
            let found = self.0.check(
                &own,
                &Arrays(slices.collect()),
                &Reach { positions: each, intervals },
            );
            let found = found.map_err(|error| of_batch(error, item, &specs, &begins))?;
            if item > 0 && found.positions * item != reach.positions {
                return Err(LevelError::Length {
                    array: format!("item {item} of the batch"),
                    found: found.positions,
                    expected: format!("{} positions, as item 0 has", reach.positions / item),
                });
            }
            append(&mut reach, found);
        }
        Ok(reach)
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        let Some(item) = site.item.as_deref() else { return self.0.walk(site, b) };
        if item.last.is_some() {
            return self.several(item, site, b);
        }
        let (begins, first) = begins(&item.item, item, b);
        let Walk { kind, cursor, step, advance } =
            b.shifted(&begins, |b| self.0.walk(&item.site, b));
        let cursor = match kind {
            WalkKind::Position => within(cursor, &first),
            _ => cursor,
        };
        let own = {
            let first = first.clone();
            move |cursor: Expr| match kind {
                WalkKind::Position => cursor - first.clone(),
                _ => cursor,
            }
        };
        let (own, begins) = (Rc::new(own), Rc::new(begins));
        let advance = advance.map(|advance| {
            let (own, begins) = (Rc::clone(&own), Rc::clone(&begins));
            let advance = move |b: &mut Builder, cursor: Expr| {
                b.shifted(&begins, |b| advance(b, own(cursor)));
            };
            Box::new(advance) as Box<dyn Fn(&mut Builder, Expr) + 'a>
        });
        let step = move |b: &mut Builder, cursor: Expr| {
            let mut made = b.shifted(&begins, |b| step(b, own(cursor)));
            if let Some(Run::Coded(Code::Gaps { numbers, .. })) = &mut made.run {
                place(numbers, &begins, &first, b);
            }
            Step { pos: made.pos.plus_again(&first), ..made }
        };
        Walk { kind, cursor, step: Box::new(step), advance }
    }

    fn joins_alike(&self) -> bool {
        self.0.joins_alike()
    }

    fn is_trusted(&self) -> bool {
        self.0.is_trusted()
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let Some(item) = site.item.as_deref() else { return self.0.locate(site, crd, b) };
        if self.0.describe().locate == LocateCost::None {
            return None;
        }
        let (begins, first) = begins(&item.item, item, b);
        let Located { pos, found } = b.shifted(&begins, |b| self.0.locate(&item.site, crd, b))?;
        Some(Located { pos: pos.plus_again(&first), found })
    }

    fn footprint(&self, site: &Site, population: &Population) -> Footprint {
        let items = site.items as f64;
        let each = |all: f64| if items > 0.0 { all / items } else { 0.0 };
        let Population { parents, stored, runs, span } = *population;
        let [parents, stored, runs, span] = [parents, stored, runs, span].map(each);
        let of_item = self.0.footprint(site, &Population { parents, stored, runs, span });
        Footprint { positions: of_item.positions * items, bytes: of_item.bytes * items }
    }
}

impl Batched {
    /// Walks the children of several parents, which may be of several items: their positions are consecutive in the
    /// whole tensor. There may be no parents, and no arrays then.
    fn several<'a>(&'a self, of: &'a ItemSite, site: &WalkSite, b: &mut Builder) -> Walk<'a> {
        let (lo, hi) = (b.var("first", Expr::Int(0)), b.var("end", Expr::Int(0)));
        b.if_(site.parent.lo.clone().lt(site.parent.hi.clone()), |b| {
            let (begins_lo, first) = begins(&of.item, of, b);
            let cursor = b.shifted(&begins_lo, |b| self.0.walk(&of.site, b).cursor);
            b.assign(lo, cursor.lo.plus_again(&first));
            if let Some((item, site)) = &of.last {
                let (begins_hi, first) = begins(item, of, b);
                let cursor = b.shifted(&begins_hi, |b| self.0.walk(site, b).cursor);
                b.assign(hi, cursor.hi.plus_again(&first));
            }
        });
        // A child does not depend on its parent, since the cursor is its position.
        let step = move |b: &mut Builder, cursor: Expr| {
            let (begins, first) = begins(&of.item, of, b);
            let made = b.shifted(&begins, |b| {
                let walk = self.0.walk(&of.site, b);
                (walk.step)(b, cursor - first.clone())
            });
            Step { pos: made.pos.plus_again(&first), ..made }
        };
        let cursor = Interval { lo: lo.into(), hi: hi.into() };
        Walk { kind: WalkKind::Position, cursor, step: Box::new(step), advance: None }
    }

    /// What was assembled for each item, side by side.
    fn joined(
        &self,
        made: &[Assembled],
        site: &Site,
        entries: &Entries,
        parents: Pos,
    ) -> Result<Assembled, LevelError> {
        let specs = self.0.describe().arrays;
        let positions = made.first().map_or(0, |first| first.positions);
        let lengths = |of: &Assembled| of.arrays.0.iter().map(IndexArray::len).collect::<Vec<_>>();
        let other = made
            .iter()
            .position(|item| item.positions != positions || lengths(item) != lengths(&made[0]));
        if let Some(item) = other {
            let at = (0..entries.len())
                .find(|&at| entries.parent.at(at) as Pos / parents == item as Pos);
            let (parent, crd) = match at {
                Some(at) => (entries.parent.at(at) as Pos, entries.crd.at(at)),
                None => (item as Pos * parents, 0),
            };
            // Of equal positions, an array tells items apart, such as one with an element for each run.
            let differs =
                (0..specs.len()).find(|&at| lengths(&made[0])[at] != lengths(&made[item])[at]);
            let (what, [first, here]) = match differs.filter(|_| made[item].positions == positions)
            {
                Some(at) => {
                    let of = |item: usize| lengths(&made[item])[at] as u64;
                    (format!("elements of `{}`", specs[at].name), [of(0), of(item)])
                }
                None => ("children".to_owned(), [positions, made[item].positions]),
            };
            return Err(LevelError::CannotHold {
                parent,
                crd,
                reason: format!(
                    "below a batch, each item has as many {what} at this level: item 0 has {first}, item {item} has \
                     {here}; use `dense` in place of the batch, or store zeros"
                ),
            });
        }
        let arrays = specs.iter().enumerate().map(|(at, spec)| {
            let parts: Vec<&IndexArray> = made.iter().map(|item| &item.arrays.0[at]).collect();
            // Without items, there is no other array to look at.
            let kind = match spec.role {
                Role::Own(kind) => kind,
                Role::Position => site.pos_kind(0),
                Role::Coordinate => site.crd_kind(),
            };
            together(&parts, kind)
        });
        let arrays = Arrays(arrays.collect::<Result<_, _>>()?);
        let mut position: Vec<i64> = Vec::with_capacity(entries.len());
        for (item, of) in made.iter().enumerate() {
            let first = (item as Pos * positions) as i64;
            position.extend(of.position.to_vec().into_iter().map(|at| at + first));
        }
        Ok(Assembled {
            arrays,
            position: position.into(),
            positions: positions * made.len() as u64,
        })
    }
}

/// The number for each item, of a number for all.
fn of_each(what: &str, all: u64, items: u64) -> Result<u64, LevelError> {
    match (all, all.checked_div(items)) {
        (0, None) => Ok(0),
        (_, Some(each)) if each * items == all => Ok(each),
        _ => Err(LevelError::Length {
            array: what.to_owned(),
            found: all,
            expected: format!("a multiple of {items}, as many for each item of the batch"),
        }),
    }
}

/// The intervals of positions within those of an item, as positions in it. They are taken from all, which ascend; one
/// may go on in the next item.
fn within_item(
    all: &mut Peekable<impl Iterator<Item = Range<Pos>>>,
    item: &Range<Pos>,
) -> Vec<Range<Pos>> {
    let mut intervals = Vec::new();
    while let Some(next) = all.peek_mut().filter(|next| next.start < item.end) {
        let within = next.start..next.end.min(item.end);
        intervals.push(within.start - item.start..within.end - item.start);
        next.start = within.end;
        if next.is_empty() {
            all.next();
        }
    }
    intervals
}

/// An error about the arrays of an item, as one about those of the batch, where those of the item begin at these
/// places.
fn of_batch(error: LevelError, item: u64, specs: &[ArraySpec], begins: &[usize]) -> LevelError {
    match error {
        LevelError::Invalid { array, index, found, rule } => {
            let at = specs.iter().position(|spec| spec.name == array);
            let index = index + at.map_or(0, |at| begins[at] as u64);
            LevelError::Invalid { array, index, found, rule }
        }
        LevelError::Length { array, found, expected } => {
            let expected = format!("{expected}, for item {item} of the batch");
            LevelError::Length { array, found, expected }
        }
        other => other,
    }
}

/// Appends the positions of one more item.
fn append(reach: &mut Reach, item: Reach) {
    let begin = reach.positions;
    if item.intervals.is_some() && reach.intervals.is_none() {
        reach.intervals = Some((begin > 0).then_some(0..begin).into_iter().collect());
    }
    if let Some(intervals) = &mut reach.intervals {
        let all = 0..item.positions;
        let own = item.intervals.unwrap_or_else(|| vec![all]);
        let moved = own.into_iter().filter(|own| !own.is_empty());
        intervals.extend(moved.map(|own| own.start + begin..own.end + begin));
    }
    reach.positions += item.positions;
}

/// Part of an array, in the same kind.
fn part(array: &IndexArray, range: Range<usize>) -> IndexArray {
    let mut indices = vec![0; range.len()];
    array.read(range.start, &mut indices);
    stored(array.kind(), &indices)
}

fn stored(kind: IndexKind, indices: &[i64]) -> IndexArray {
    IndexArray::store(kind, indices, "", "").expect("the indices come from an array of this kind")
}

/// Arrays one after another, in the widest of their kinds, or in `kind` if there are none.
fn together(parts: &[&IndexArray], kind: IndexKind) -> Result<IndexArray, LevelError> {
    let kinds = parts.iter().map(|part| part.kind());
    let kind = kinds.max_by_key(|kind| kind.bits()).unwrap_or(kind);
    let mut all = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
    for part in parts {
        part.fetch()?;
        all.extend(part.to_vec());
    }
    Ok(stored(kind, &all))
}

/// Where the arrays of an item begin, and its first position.
fn begins(item: &Expr, of: &ItemSite, b: &mut Builder) -> (Vec<(ArrayId, Expr)>, Expr) {
    let item = b.bind("item", item.clone());
    let mut first = |name: &str, each: &Expr| b.bind(name, item.clone() * each.clone());
    let position = first("item_pos", &of.positions);
    let arrays = of.site.arrays.iter().zip(&of.elements).map(|(&array, each)| {
        let begin = match *each == of.positions {
            true => position.clone(),
            false => first("item_at", each),
        };
        (array, begin)
    });
    (arrays.collect(), position)
}

/// Says where the numbers of the positions of an item are.
fn place(numbers: &mut Numbers, begins: &[(ArrayId, Expr)], first: &Expr, b: &mut Builder) {
    let Some((_, begin)) = begins.iter().find(|(array, _)| *array == numbers.array) else { return };
    let each = match b.array_decl(numbers.array).elem {
        Elem::Index(kind) => i64::from((kind.bits() / numbers.bits).max(1)),
        Elem::Value(_) => 1,
    };
    let shift = begin.clone() * each - first.clone();
    numbers.shift = (each > 1 || begin != first).then(|| b.var("shift", shift));
}

/// An interval of positions of an item, in the whole tensor.
fn within(positions: Interval, first: &Expr) -> Interval {
    match positions.is_one() {
        true => Interval::one(positions.lo.plus_again(first)),
        false => {
            Interval { lo: positions.lo.plus_again(first), hi: positions.hi.plus_again(first) }
        }
    }
}
