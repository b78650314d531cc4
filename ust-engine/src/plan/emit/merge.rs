//! Loops over the entries of several tensors, merged by coordinate.

use ust_level_api::ir::idiom::Code;
use ust_level_api::ir::{BinOp, Builder, Expr, Var};
use ust_level_api::{Interval, Run, Walk};

use super::loops::Arrival;
use super::{Emit, Pos, State};
use crate::plan::order::Step;
use crate::provider::plan::Over;
use crate::tuning::MERGE_MAX_TEST_CHAIN;
use crate::walk::find::first_from;
use crate::walk::nest::Reach;

/// Walks that one loop merges. An index `bit` numbers them: a set of walks is a number whose bits they are.
struct Merged<'w> {
    /// The name of the loop's coordinate.
    name: String,
    /// The access that each walk belongs to.
    accesses: Vec<usize>,
    /// Whether each coordinate that matters is stored in the tensor of the walk.
    required: Vec<bool>,
    /// Whether no coordinate stands at two positions of the walk.
    unique: Vec<bool>,
    /// Whether a coordinate may stand at so many that the end of these is to be searched.
    long: bool,
    walks: Vec<Walk<'w>>,
    /// The form of the children at a stop of each walk, where there are several.
    runs: Vec<Option<Run>>,
    cursors: Vec<Var>,
    ends: Vec<Expr>,
    /// For each walk whose coordinates cannot be read without taking the step: the next child.
    next: Vec<Option<Next>>,
}

/// The next child of a walk, in variables.
#[derive(Clone, Copy)]
struct Next {
    /// Its coordinate; the largest number behind the last child.
    crd: Var,
    pos: Var,
    /// If there are several children at a stop of the cursor: what is left of them, this one included. It is their
    /// number, or the ones of their code.
    left: Option<Var>,
}

impl Next {
    fn vars(&self) -> impl Iterator<Item = Var> + use<> {
        [self.crd, self.pos].into_iter().chain(self.left)
    }
}

/// What stands at the cursors of merged walks.
struct Here {
    /// The coordinate of the iteration.
    crd: Expr,
    /// For each walk, whether its tensor stores the coordinate.
    stored: Vec<Expr>,
    /// For each walk, its position.
    positions: Vec<Expr>,
    /// For each walk that has several positions of one coordinate: the cursor behind them.
    behind: Vec<Option<Expr>>,
}

impl Merged<'_> {
    fn bits(&self) -> std::ops::Range<usize> {
        0..self.accesses.len()
    }

    /// Whether a cursor has not reached its end.
    fn more(&self, bit: usize) -> Expr {
        Expr::from(self.cursors[bit]).lt(self.ends[bit].clone())
    }

    /// Whether the loop goes on: while all required cursors do, or any where none is required.
    fn goes_on(&self) -> Expr {
        let required = self.bits().filter(|&bit| self.required[bit]);
        let all = required.map(|bit| self.more(bit)).reduce(Expr::and);
        all.unwrap_or_else(|| {
            let any = self.bits().map(|bit| self.more(bit));
            any.reduce(|a, b| Expr::binary(BinOp::Or, a, b)).expect("a walk")
        })
    }

    /// Emits the coordinates at the cursors, and the coordinate of the iteration: `given`, or the least of
    /// them.
    fn here(&self, b: &mut Builder, names: &[String], given: Option<Expr>) -> Here {
        let (mut coordinates, mut positions) = (Vec::new(), Vec::new());
        for (bit, walk) in self.walks.iter().enumerate() {
            if let Some(next) = self.next[bit] {
                coordinates.push(next.crd.into());
                positions.push(next.pos.into());
                continue;
            }
            let step = (walk.step)(b, self.cursors[bit].into());
            let at = match self.required[bit] && given.is_none() {
                true => step.crd,
                false => self.more(bit).select(step.crd, Expr::Int(i64::MAX)),
            };
            let name = format!("{}_{}", self.name, names[self.accesses[bit]]);
            coordinates.push(b.bind(&name, at));
            positions.push(step.pos);
        }
        let crd = given.unwrap_or_else(|| {
            let least = coordinates.iter().cloned().reduce(Expr::min).expect("a walk");
            b.bind(&self.name, least)
        });
        let stored: Vec<Expr> = coordinates.into_iter().map(|c| c.equals(crd.clone())).collect();
        let behind = self
            .bits()
            .map(|bit| (!self.unique[bit]).then(|| self.behind(b, bit, &crd, stored[bit].clone())));
        let behind = behind.collect();
        let stored = stored.into_iter().map(|stored| b.bind("mine", stored)).collect();
        Here { crd, stored, positions, behind }
    }

    /// Emits a search for the first position behind those of coordinate `crd`: the cursor itself where the
    /// coordinate is not stored.
    fn behind(&self, b: &mut Builder, bit: usize, crd: &Expr, stored: Expr) -> Expr {
        let stop = stored.select(self.ends[bit].clone(), Expr::from(self.cursors[bit]));
        let stop = b.bind("stop", stop);
        if self.long {
            let next = b.bind("next", crd.clone() + 1);
            return first_from(b, &self.walks[bit], self.cursors[bit].into(), stop, &next);
        }
        let q = b.var("q", self.cursors[bit].into());
        let next = (self.walks[bit].step)(b, q.into());
        let same = next.crd.equals(crd.clone());
        let go = Expr::from(q).lt(stop).select(same, Expr::Bool(false));
        b.while_(go, |b| b.assign(q, Expr::from(q) + 1));
        q.into()
    }

    /// The position or positions of a walk that stores the coordinate.
    fn position(&self, b: &mut Builder, bit: usize, here: &Here) -> Pos {
        match &here.behind[bit] {
            None => Pos::One(b.bind("pos", here.positions[bit].clone())),
            Some(hi) => Pos::Run(Interval { lo: self.cursors[bit].into(), hi: hi.clone() }),
        }
    }

    /// Moves the cursors behind the coordinate.
    fn advance(&self, b: &mut Builder, here: &Here) {
        for (bit, walk) in self.walks.iter().enumerate() {
            let (cursor, stored) = (self.cursors[bit], &here.stored[bit]);
            if let Some(next) = self.next[bit] {
                b.if_(stored.clone(), |b| self.pass(b, bit, next));
                continue;
            }
            let next = match &here.behind[bit] {
                None => Expr::from(cursor) + stored.clone().select(1, 0),
                Some(behind) => behind.clone(),
            };
            match &walk.advance {
                None => b.assign(cursor, next),
                Some(advance) => b.if_(stored.clone(), |b| {
                    advance(b, cursor.into());
                    b.assign(cursor, next);
                }),
            }
        }
    }
}

/// The next child of a walk.
impl Merged<'_> {
    /// Finds the next child, from the cursor on: passes over stops without children.
    fn find(&self, b: &mut Builder, bit: usize, next: Next) {
        let (walk, cursor) = (&self.walks[bit], self.cursors[bit]);
        b.assign(next.crd, Expr::Int(i64::MAX));
        let unknown = Expr::from(next.crd).equals(Expr::Int(i64::MAX));
        b.while_(self.more(bit).and(unknown), |b| {
            let step = (walk.step)(b, cursor.into());
            let some = step.run.as_ref();
            let some = some.map_or(Expr::Bool(true), |run| Expr::Int(0).lt(run.count()));
            let here = match step.guard {
                None => some,
                Some(guard) => guard.select(some, Expr::Bool(false)),
            };
            b.if_else(
                here,
                |b| {
                    let before = match &step.run {
                        Some(Run::Coded(Code::Gaps { numbers, .. })) => {
                            numbers.at(step.pos.clone())
                        }
                        Some(Run::Coded(Code::Ones(mask))) => mask.clone().trailing_zeros(),
                        _ => Expr::Int(0),
                    };
                    b.assign(next.crd, step.crd + before);
                    b.assign(next.pos, step.pos);
                    match (next.left, step.run) {
                        (Some(left), Some(Run::Coded(Code::Ones(mask)))) => b.assign(left, mask),
                        (Some(left), Some(run)) => b.assign(left, run.count()),
                        _ => {}
                    }
                },
                |b| self.leave(b, bit),
            );
        });
    }

    /// Passes over children below a coordinate.
    fn skip_to(&self, b: &mut Builder, bit: usize, first: &Expr) {
        match self.next[bit] {
            None => {
                let step = (self.walks[bit].step)(b, self.cursors[bit].into());
                let below = self.more(bit).select(step.crd.lt(first.clone()), Expr::Bool(false));
                b.while_(below, |b| self.leave(b, bit));
            }
            Some(next) => {
                let below = Expr::from(next.crd).lt(first.clone());
                b.while_(below, |b| self.pass(b, bit, next));
            }
        }
    }

    /// Moves the cursor to the next stop.
    fn leave(&self, b: &mut Builder, bit: usize) {
        let cursor = self.cursors[bit];
        if let Some(advance) = &self.walks[bit].advance {
            advance(b, cursor.into());
        }
        b.assign(cursor, Expr::from(cursor) + 1);
    }

    /// Goes on to the child behind the next one.
    fn pass(&self, b: &mut Builder, bit: usize, next: Next) {
        let stop = |b: &mut Builder| {
            self.leave(b, bit);
            self.find(b, bit, next);
        };
        let (Some(left), Some(run)) = (next.left, &self.runs[bit]) else { return stop(b) };
        let fewer = match run {
            Run::Coded(Code::Ones(_)) => Expr::from(left).bit_and(Expr::from(left) - 1),
            _ => Expr::from(left) - 1,
        };
        let fewer = b.bind("fewer", fewer);
        let within = |b: &mut Builder| {
            b.assign(left, fewer.clone());
            if !run.is_shared() {
                b.assign(next.pos, Expr::from(next.pos) + 1);
            }
            let crd = match run {
                Run::Consecutive(_) | Run::Shared(_) => Expr::from(next.crd) + 1,
                // Read once more.
                Run::Coded(_) => {
                    let step = (self.walks[bit].step)(b, self.cursors[bit].into());
                    match step.run {
                        Some(Run::Coded(Code::Gaps { numbers, .. })) => {
                            Expr::from(next.crd) + 1 + numbers.at(next.pos.into())
                        }
                        _ => step.crd + Expr::from(left).trailing_zeros(),
                    }
                }
            };
            b.assign(next.crd, crd);
        };
        b.if_else(fewer.clone().equals(0), stop, within);
    }
}

impl Emit<'_> {
    /// Emits a loop over the coordinates that some of several tensors store, or with `universe` over all.
    pub(super) fn merge(
        &self,
        b: &mut Builder,
        depth: usize,
        step: &Step,
        walkers: &[(usize, usize)],
        universe: bool,
        state: &State,
    ) {
        if !universe && self.zip(b, depth, step, walkers, state) {
            return;
        }
        let state = &State { covers: false, ..state.clone() };
        let sites: Vec<_> = walkers
            .iter()
            .map(|&(at, level)| {
                let parent = state.live[at].as_ref().expect("a walker is live").interval();
                self.operands[at].site(level, parent, &state.coordinates[at], Reach::Inside)
            })
            .collect();
        let walks: Vec<Walk<'_>> = walkers
            .iter()
            .zip(&sites)
            .map(|(&walker, site)| self.walk(b, depth, walker, site))
            .collect();
        let name = self.loop_name(step);
        let (cursors, ends) = self.cursors(b, depth, &name, &walks, state);
        let accesses: Vec<usize> = walkers.iter().map(|walker| walker.0).collect();
        let all = (1_u32 << accesses.len()) - 1;
        let required = (0..accesses.len())
            .map(|bit| !self.worth_without(&state.term, &absent(&accesses, all & !(1 << bit))))
            .collect();
        let unique = walkers.iter().map(|&walker| self.level(walker).props.unique).collect();
        let next = walkers.iter().map(|&walker| {
            let cursor = &self.level(walker).cursor;
            (!cursor.plain).then(|| Next {
                crd: b.var("next", Expr::Int(i64::MAX)),
                pos: b.var("next_pos", Expr::Int(0)),
                left: cursor.run.is_some().then(|| b.var("left", Expr::Int(0))),
            })
        });
        let next = next.collect();
        let long = self.cut_depth() > 0;
        let runs = walkers.iter().map(|&walker| self.level(walker).cursor.run.clone()).collect();
        let merged =
            Merged { name, accesses, required, unique, long, walks, runs, cursors, ends, next };
        for bit in merged.bits() {
            if let Some(next) = merged.next[bit] {
                merged.find(b, bit, next);
            }
        }
        self.note_carried(depth, merged.next.iter().flatten().flat_map(Next::vars));
        if universe {
            let (domain, valid) = self.domain(step, state);
            self.note_range(depth, &domain);
            self.note_carried(depth, merged.cursors.iter().copied());
            for (bit, &walker) in walkers.iter().enumerate() {
                // Padding may stand before the first coordinate, which the loop would never come to.
                let outside = self.level(walker).props.overhangs
                    && domain.lo != Expr::Int(0)
                    && self.is_whole(walker, state) != Expr::Bool(true);
                if outside {
                    merged.skip_to(b, bit, &domain.lo);
                }
            }
            let domain = self.part(b, depth, domain);
            return b.for_(&merged.name, domain.lo, domain.hi, |b, crd| {
                self.note(&[&crd], depth, step, Over::Followed, walkers, state);
                self.merged(b, depth, step, &merged, Some(crd), valid, state);
            });
        }
        self.note_range(depth, &self.coordinates_of(walkers[0]));
        let cursors: Vec<Expr> = merged.cursors.iter().map(|&var| var.into()).collect();
        let cursors: Vec<&Expr> = cursors.iter().collect();
        self.note(&cursors, depth, step, Over::Merge, walkers, state);
        b.while_(merged.goes_on(), |b| self.merged(b, depth, step, &merged, None, false, state));
    }

    /// Emits one iteration of a merging loop: over the coordinate `given`, or over the least one at the
    /// cursors.
    #[allow(clippy::too_many_arguments)]
    fn merged(
        &self,
        b: &mut Builder,
        depth: usize,
        step: &Step,
        merged: &Merged<'_>,
        given: Option<Expr>,
        valid: bool,
        state: &State,
    ) {
        let universe = given.is_some();
        let here = merged.here(b, self.input.names, given);
        // The sets of tensors that may store the coordinate, larger sets first.
        let mut sets: Vec<u32> = (u32::from(!universe)..1 << merged.accesses.len())
            .filter(|&set| self.worth_without(&state.term, &absent(&merged.accesses, set)))
            .collect();
        sets.sort_by_key(|set| std::cmp::Reverse(set.count_ones()));
        self.sets(b, &sets, &here.stored, &mut |b, set| {
            let absent = absent(&merged.accesses, set);
            let Some(state) = self.without(state, &absent) else { return };
            let members = merged.bits().filter(|bit| set >> bit & 1 == 1);
            let stored: Vec<(usize, Pos)> =
                members.map(|bit| (merged.accesses[bit], merged.position(b, bit, &here))).collect();
            let arrival = Arrival { crd: here.crd.clone(), stored: &stored, valid, whole: false };
            self.arrive(b, depth, step, arrival, state);
        });
        merged.advance(b, &here);
    }

    /// Declares the cursors of merged walks, and their ends. They are within the bounds of the part.
    pub(super) fn cursors(
        &self,
        b: &mut Builder,
        depth: usize,
        name: &str,
        walks: &[Walk<'_>],
        state: &State,
    ) -> (Vec<Var>, Vec<Expr>) {
        let cursors: Vec<Interval> =
            walks.iter().map(|walk| self.within(b, depth, walk, state)).collect();
        let ends = cursors.iter().map(|cursor| b.bind("end", cursor.hi.clone())).collect();
        let cursors = cursors.into_iter().map(|cursor| b.var(&format!("p_{name}"), cursor.lo));
        (cursors.collect(), ends)
    }

    /// Emits tests that find the first set whose members all store the coordinate, and the code for it.
    fn sets(
        &self,
        b: &mut Builder,
        sets: &[u32],
        mine: &[Expr],
        then: &mut dyn FnMut(&mut Builder, u32),
    ) {
        let Some((&set, rest)) = sets.split_first() else { return };
        let then = std::cell::RefCell::new(then);
        if sets.len() > MERGE_MAX_TEST_CHAIN
            && let Some(bit) = (0..mine.len()).find(|&bit| !matches!(mine[bit], Expr::Bool(_)))
        {
            // One test decides whether the first member stores the coordinate. If it does, only sets with
            // it remain.
            let has = |set: &u32| set >> bit & 1 == 1;
            let with: Vec<u32> = sets
                .iter()
                .copied()
                .filter(|set| has(set) || !sets.contains(&(set | 1 << bit)))
                .collect();
            let without: Vec<u32> = sets.iter().copied().filter(|set| !has(set)).collect();
            let mut there = mine.to_vec();
            there[bit] = Expr::Bool(true);
            let mut missing = mine.to_vec();
            missing[bit] = Expr::Bool(false);
            return b.if_else(
                mine[bit].clone(),
                |b| self.sets(b, &with, &there, &mut **then.borrow_mut()),
                |b| self.sets(b, &without, &missing, &mut **then.borrow_mut()),
            );
        }
        let members = (0..mine.len()).filter(|bit| set >> bit & 1 == 1);
        let here = members.map(|bit| mine[bit].clone()).fold(Expr::Bool(true), Expr::and);
        b.if_else(
            here,
            |b| (then.borrow_mut())(b, set),
            |b| self.sets(b, rest, mine, &mut **then.borrow_mut()),
        );
    }
}

/// The accesses that are not in a set.
fn absent(accesses: &[usize], set: u32) -> Vec<usize> {
    let absent = accesses.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 0);
    absent.map(|(_, &access)| access).collect()
}
