//! Loops whose parts begin and end inside rows.
//!
//! Where loops merge the rows of tensors, a part is an interval of their entries: it begins and ends at a coordinate
//! of a row. Both are found by binary searches, of which each counts the entries before a coordinate in all tensors.
//! Inside the loops, the cursors of the first and of the last row are searched for these coordinates. (Green and
//! others, "GPU merge path", 2012, cut merges of two arrays in the same way.)

use ust_level_api::ir::{ArrayId, BinOp, Builder, Expr, Function, Var};
use ust_level_api::{Interval, Walk, WalkKind, WalkSite};

use super::{Emit, Input, State};
use crate::plan::order::Step;
use crate::plan::sink::SinkKind;
use crate::provider::plan::{Array, Cut, Facts};
use crate::walk::find::first_from;
use crate::walk::nest::Reach;

/// See [`Split`](crate::provider::plan::Split).
#[derive(Clone, Debug)]
pub(crate) struct SplitLoops {
    pub(crate) function: Function,
    pub(crate) facts: Facts,
    pub(crate) longest: Option<Function>,
}

/// Emits loops in parts that begin and end inside rows.
pub(super) fn in_parts(input: &Input<'_>, split: &Split) -> SplitLoops {
    let declared = |longest| {
        let (b, part, emit) = Emit::declared(input, longest);
        (b, part, Emit { guarded: true, split: Some(split.clone()), ..emit })
    };
    let (mut b, part, mut emit) = declared(None);
    emit.begin_split(&mut b, part);
    emit.all(&mut b);
    let function = b.finish();
    let cut = emit.cut();
    let facts = emit.facts(cut, &function);
    let mut to = None;
    let (b, part, emit) = declared(Some(&mut to));
    let longest = emit.longest(b, to.expect("declared"), &part);
    SplitLoops { function, facts, longest }
}

/// How loops are cut inside rows.
#[derive(Clone, Debug)]
pub(super) struct Split {
    /// Whether parts begin at a coordinate of the second loop, in a row of the first. Else they begin at a coordinate
    /// of the first.
    in_rows: bool,
    /// The operands whose entries are counted.
    counted: Vec<usize>,
    /// Whether a row counts as well, because rows without entries are visited.
    counts_rows: bool,
}

/// Where a part begins, and where it ends.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// If parts begin inside rows: coordinates of the first loop.
    rows: Option<[Expr; 2]>,
    /// Coordinates of the loop that is cut.
    crds: [Expr; 2],
    /// The lowest of these.
    lowest: Expr,
}

impl Bounds {
    /// The interval of the outermost loop's coordinates.
    fn part(&self) -> Interval {
        let [lo, hi] = self.crds.clone();
        match &self.rows {
            None => Interval { lo, hi },
            Some([first, last]) => {
                let more = self.lowest.clone().lt(hi).select(1, 0);
                Interval { lo: first.clone(), hi: last.clone() + more }
            }
        }
    }

    /// Whether a row begins in this part.
    pub(super) fn begins(&self, row: Expr) -> Expr {
        let Some([first, _]) = &self.rows else { return Expr::Bool(true) };
        let whole = self.crds[0].clone().equals(self.lowest.clone());
        first.clone().lt(row).select(Expr::Bool(true), whole)
    }
}

/// The walks of levels, under some of their parents.
struct Sites<'s, 'a>(Vec<(&'s Emit<'a>, usize, usize, WalkSite)>);

impl Sites<'_, '_> {
    fn walks(&self, b: &mut Builder) -> Vec<Walk<'_>> {
        let each = self.0.iter();
        each.map(|(emit, at, level, site)| {
            emit.operands[*at].format.levels()[*level].ty.walk(site, b)
        })
        .collect()
    }

    /// The number of entries under all these parents.
    fn count(&self, b: &mut Builder) -> Expr {
        let lengths = self.walks(b).into_iter().map(|walk| walk.cursor.hi - walk.cursor.lo);
        lengths.reduce(|a, b| a + b).expect("an operand")
    }
}

impl<'a> Emit<'a> {
    /// How the loops can be cut inside rows, if they merge entries or append them.
    pub(super) fn split(&self) -> Option<Split> {
        let order = self.input.order;
        let cut = self.cut().ok()?;
        if !order.tables.is_empty() {
            return None;
        }
        let first = self.steps().first()?;
        self.split_rows(first, cut).or_else(|| {
            let Cut::Merge { every: false, .. } = cut else { return None };
            let counted = self.sparse(first);
            self.can_write(1).then_some(Split { in_rows: false, counted, counts_rows: false })
        })
    }

    fn split_rows(&self, first: &Step, cut: Cut) -> Option<Split> {
        let second = self.steps().get(1)?;
        let [rows, entries] = [first, second].map(|step| self.sparse(step));
        let searchable = |step: &Step| {
            let mut own = step.walkers.iter().filter(|walker| !self.level(**walker).props.full);
            own.all(|walker| self.level(*walker).cursor.is_searchable())
        };
        // Entries of one operand that are visited one by one are cut where they stand.
        let one_by_one =
            self.input.plain && matches!(cut, Cut::Cursor(at) if !self.level((at, 0)).props.unique);
        let every = self.worth_without(self.input.body, &entries);
        let fine = searchable(first) && searchable(second) && !one_by_one && !every;
        let merges = rows.len() > 1 || entries.len() > 1 || !self.input.sink.kind.is_in_place();
        let is_counted = |at: &usize| {
            let walks = first.walkers.contains(&(*at, 0)) && second.walkers.contains(&(*at, 1));
            // Rows are counted by their positions, which the cursor has to be.
            let above = &self.operands[*at].format.descriptions()[0];
            let has_positions = above.props.full || above.walk == WalkKind::Position;
            walks && has_positions && self.level((*at, 0)).groups
        };
        let counted: Vec<usize> = entries.into_iter().filter(is_counted).collect();
        let fine = fine && merges && !counted.is_empty() && self.can_write(2);
        // Where stored rows are visited only, the extent may be much larger than their number.
        let counts_rows = !matches!(cut, Cut::Cursor(_) | Cut::Merge { every: false, .. });
        fine.then_some(Split { in_rows: true, counted, counts_rows })
    }

    /// The operands that store some of the coordinates of a loop.
    fn sparse(&self, step: &Step) -> Vec<usize> {
        let own = step.walkers.iter().filter(|walker| !self.level(**walker).props.full);
        own.map(|walker| walker.0).collect()
    }

    /// Whether parts that share the first `depth - 1` coordinates can write the result.
    fn can_write(&self, depth: usize) -> bool {
        match self.input.sink.kind {
            SinkKind::Sorted { depth: at } => at >= depth,
            SinkKind::Unsorted => true,
            SinkKind::Full => {
                let dtype = self.input.rest.dtype();
                let combines = self.input.reduce.and_then(|op| op.reduction(dtype)).is_some();
                combines || self.parts_own(depth)
            }
            SinkKind::Workspace { .. } | SinkKind::Shared { .. } => false,
        }
    }

    /// Whether parts are intervals of entries of several operands.
    pub(super) fn is_split(&self) -> bool {
        self.bounds.is_some()
    }

    /// Notes the first row of an iteration of the outermost loop, which runs from `first` on in this part, and from
    /// `lowest` on in all.
    pub(super) fn begin_iteration(&self, b: &mut Builder, crd: &Expr, first: &Expr, lowest: &Expr) {
        match &self.bounds {
            None => self.output.begin_iteration(b, crd.clone() - first.clone()),
            Some(bounds) => b.if_(bounds.begins(crd.clone()), |b| {
                self.output.begin_iteration(b, crd.clone() - lowest.clone());
            }),
        }
    }

    /// Number of loops around code that a part may run for some of the inner iterations alone.
    pub(in crate::plan) fn cut_depth(&self) -> usize {
        self.split.as_ref().map_or(0, |split| usize::from(split.in_rows))
    }

    /// Emits the searches for where a part begins and ends. `part`: an interval of items, which are entries, and rows
    /// if they count.
    pub(super) fn begin_split(&mut self, b: &mut Builder, part: Interval) {
        let Some(split) = self.split.clone() else { return };
        let items = self.items(b, &split);
        self.note_range(0, &Interval { lo: Expr::Int(0), hi: items });
        let vars = ["first", "last"].map(|name| {
            let row = split.in_rows.then(|| b.var(&format!("{name}_row"), Expr::Int(0)));
            (row, b.var(&format!("{name}_crd"), Expr::Int(0)))
        });
        b.for_("side", Expr::Int(0), Expr::Int(2), |b, side| {
            let is_first = side.equals(Expr::Int(0));
            let item = b.bind("item", is_first.clone().select(part.lo, part.hi));
            let (row, crd) = self.place_of(b, &split, &item);
            let [first, last] = vars.map(|(to_row, to_crd)| {
                move |b: &mut Builder| {
                    if let (Some(to), Some(row)) = (to_row, row) {
                        b.assign(to, row.into());
                    }
                    b.assign(to_crd, crd.into());
                }
            });
            b.if_else(is_first, first, last);
        });
        let [(first, lo), (last, hi)] = vars;
        let rows = first.zip(last).map(|(first, last)| [first.into(), last.into()]);
        let lowest = self.domain_of(&split, usize::from(split.in_rows)).lo;
        let bounds = Bounds { rows, crds: [lo.into(), hi.into()], lowest };
        self.part = Some(bounds.part());
        self.bounds = Some(bounds);
        for array in self.arrays.iter_mut().filter(|array| **array == Array::RowStarts) {
            *array = Array::AllRowStarts;
        }
    }

    /// The coordinates of a level of the operands that are counted.
    fn domain_of(&self, split: &Split, level: usize) -> Interval {
        self.coordinates_of((split.counted[0], level))
    }

    /// The walk of a level, under these parents of each operand that is counted.
    fn sites(&self, split: &Split, level: usize, parents: &[Interval]) -> Sites<'_, 'a> {
        let each = split.counted.iter().zip(parents);
        let site = |(at, parents): (&usize, &Interval)| {
            let site = self.operands[*at].site(level, parents.clone(), &[], Reach::Everything);
            (self, *at, level, site)
        };
        Sites(each.map(site).collect())
    }

    /// The walk of the first level of the operands that are counted.
    fn first_sites(&self, split: &Split) -> Sites<'_, 'a> {
        self.sites(split, 0, &vec![Interval::one(Expr::Int(0)); split.counted.len()])
    }

    /// All parents of entries, for each operand that is counted.
    fn all_rows(&self, b: &mut Builder, split: &Split) -> Vec<Interval> {
        let sites = self.first_sites(split);
        let walks = sites.walks(b).into_iter().zip(&split.counted);
        walks
            .map(|(walk, &at)| match self.level((at, 0)).props.full {
                true => Interval { lo: Expr::Int(0), hi: self.operands[at].sizes.sizes[0].clone() },
                false => walk.cursor.clone(),
            })
            .collect()
    }

    /// The number of all items.
    fn items(&self, b: &mut Builder, split: &Split) -> Expr {
        if !split.in_rows {
            return self.first_sites(split).count(b);
        }
        let all = self.all_rows(b, split);
        let entries = self.sites(split, 1, &all).count(b);
        let Interval { lo, hi } = self.domain_of(split, 0);
        match split.counts_rows {
            true => entries + (hi - lo),
            // Others may store something where those that are counted store nothing.
            false => entries.max(1),
        }
    }

    /// The coordinate at which an item stands, and its row.
    fn place_of(&self, b: &mut Builder, split: &Split, item: &Expr) -> (Option<Var>, Var) {
        if !split.in_rows {
            let sites = self.first_sites(split);
            return (None, self.crd_of(b, split, 0, &sites, item));
        }
        let domain = self.domain_of(split, 0);
        let all: Vec<Interval> = self.all_rows(b, split);
        let all: Vec<Interval> = all
            .into_iter()
            .map(|Interval { lo, hi }| Interval { lo: b.bind("begin", lo), hi: b.bind("end", hi) })
            .collect();
        let first_sites = self.first_sites(split);
        let firsts = first_sites.walks(b);
        // Where rows are searched.
        let searched: Vec<Option<[Var; 2]>> = split
            .counted
            .iter()
            .zip(&all)
            .map(|(&at, all)| {
                let sparse = !self.level((at, 0)).props.full;
                sparse.then(|| [b.var("low", all.lo.clone()), b.var("high", all.hi.clone())])
            })
            .collect();
        // The end of the rows before one.
        let before = |b: &mut Builder, row: &Expr, within: bool| -> Vec<Expr> {
            let each = searched.iter().zip(&firsts).zip(&all);
            each.map(|((searched, walk), all)| match searched {
                None => row.clone() - domain.lo.clone(),
                Some([low, high]) => {
                    let high = if within { Expr::from(*high) } else { all.hi.clone() };
                    first_from(b, walk, (*low).into(), high, row)
                }
            })
            .collect()
        };
        let items_before = |b: &mut Builder, row: &Expr, rows: &[Expr]| {
            let parents = all.iter().zip(rows);
            let parents: Vec<_> =
                parents.map(|(all, hi)| Interval { lo: all.lo.clone(), hi: hi.clone() }).collect();
            let entries = self.sites(split, 1, &parents).count(b);
            match split.counts_rows {
                true => entries + (row.clone() - domain.lo.clone()),
                false => entries,
            }
        };
        let row = b.var("row", domain.lo.clone());
        // The first part begins at the first row, whatever others than the counted operands store there.
        let some = Expr::Int(0).lt(item.clone());
        let to = b.var("to", some.select(domain.hi.clone(), domain.lo.clone()));
        b.while_(Expr::from(row).lt(to), |b| {
            let half = Expr::binary(BinOp::Shr, Expr::from(row) + Expr::from(to), 1.into());
            let behind = b.bind("behind", half + 1);
            let rows = before(b, &behind, true);
            let items = items_before(b, &behind, &rows);
            let narrow = |b: &mut Builder, side: usize| {
                for (searched, to) in searched.iter().zip(&rows) {
                    if let Some(vars) = searched {
                        b.assign(vars[side], to.clone());
                    }
                }
            };
            b.if_else(
                item.clone().lt(items),
                |b| {
                    b.assign(to, behind.clone() - 1);
                    narrow(b, 1);
                },
                |b| {
                    b.assign(row, behind.clone());
                    narrow(b, 0);
                },
            );
        });
        let crd = b.var("crd", self.domain_of(split, 1).lo);
        b.if_(Expr::from(row).lt(domain.hi.clone()), |b| {
            let rows = [Expr::from(row), Expr::from(row) + 1];
            let [from, behind] = rows.map(|row| before(b, &row, false));
            let items = items_before(b, &row.into(), &from);
            let offset = b.bind("offset", item.clone() - items);
            let parents = from.into_iter().zip(behind);
            let parents: Vec<_> = parents.map(|(lo, hi)| Interval { lo, hi }).collect();
            let found = self.crd_of(b, split, 1, &self.sites(split, 1, &parents), &offset);
            b.assign(crd, found.into());
        });
        (Some(row), crd)
    }

    /// The least coordinate that `offset` entries stand before, or more, in the levels of all operands together.
    fn crd_of(
        &self,
        b: &mut Builder,
        split: &Split,
        level: usize,
        sites: &Sites<'_, '_>,
        offset: &Expr,
    ) -> Var {
        let Interval { lo, hi } = self.domain_of(split, level);
        let from = b.var("from", lo.clone());
        let some = Expr::Int(0).lt(offset.clone());
        let to = b.var("to", some.select(hi, lo));
        let walks = sites.walks(b);
        let begins: Vec<Expr> =
            walks.iter().map(|walk| b.bind("begin", walk.cursor.lo.clone())).collect();
        let lows: Vec<Var> = begins.iter().map(|begin| b.var("low", begin.clone())).collect();
        let highs: Vec<Var> =
            walks.iter().map(|walk| b.var("high", walk.cursor.hi.clone())).collect();
        b.while_(Expr::from(from).lt(to), |b| {
            let half = Expr::binary(BinOp::Shr, Expr::from(from) + Expr::from(to), 1.into());
            let half = b.bind("half", half);
            let each = walks.iter().zip(lows.iter().zip(&highs));
            let found: Vec<Expr> = each
                .map(|(walk, (&low, &high))| first_from(b, walk, low.into(), high.into(), &half))
                .collect();
            let lengths = found.iter().zip(&begins).map(|(at, begin)| at.clone() - begin.clone());
            let before = lengths.reduce(|a, b| a + b).expect("an operand");
            let narrow = |b: &mut Builder, vars: &[Var]| {
                for (&var, to) in vars.iter().zip(&found) {
                    b.assign(var, to.clone());
                }
            };
            b.if_else(
                before.lt(offset.clone()),
                |b| {
                    b.assign(from, half.clone() + 1);
                    narrow(b, &lows);
                },
                |b| {
                    b.assign(to, half.clone());
                    narrow(b, &highs);
                },
            );
        });
        from
    }

    /// The cursors of a walk that are within the part.
    pub(super) fn within(
        &self,
        b: &mut Builder,
        depth: usize,
        walk: &Walk<'_>,
        state: &State,
    ) -> Interval {
        match (&self.part, &self.bounds) {
            (Some(part), _) if depth == 0 => {
                let end = b.bind("end", walk.cursor.hi.clone());
                let lo = first_from(b, walk, walk.cursor.lo.clone(), end.clone(), &part.lo);
                Interval { hi: first_from(b, walk, lo.clone(), end, &part.hi), lo }
            }
            (_, Some(Bounds { rows: Some([first, last]), crds, .. })) if depth == 1 => {
                let row =
                    state.key(&self.steps()[0].expr).expect("the loop around has a coordinate");
                let lo = b.var("begin", walk.cursor.lo.clone());
                let hi = b.var("end", walk.cursor.hi.clone());
                for (own, crd, var) in [(first, &crds[0], lo), (last, &crds[1], hi)] {
                    b.if_(row.clone().equals(own.clone()), |b| {
                        let at = first_from(b, walk, lo.into(), hi.into(), crd);
                        b.assign(var, at);
                    });
                }
                Interval { lo: lo.into(), hi: hi.into() }
            }
            _ => walk.cursor.clone(),
        }
    }

    /// A function that stores the largest number of entries of a row, in operands whose rows are not searched. See
    /// [`Schedule::longest`](crate::schedule::Schedule::longest).
    pub(super) fn longest(&self, mut b: Builder, to: ArrayId, part: &Interval) -> Option<Function> {
        let mut split = self.split.clone().filter(|split| split.in_rows)?;
        let lower = self.domain_of(&split, 0).lo;
        split.counted.retain(|&at| self.level((at, 0)).props.full);
        if split.counted.is_empty() {
            return None;
        }
        b.for_("row", part.lo.clone(), part.hi.clone(), |b, row| {
            let own = Interval::one(row - lower);
            let count = self.sites(&split, 1, &vec![own; split.counted.len()]).count(b);
            b.reduce(BinOp::Max, to, Expr::Int(0), count);
        });
        let mut function = b.finish();
        function.arrays.truncate(to.0 as usize + 1);
        Some(function)
    }
}
