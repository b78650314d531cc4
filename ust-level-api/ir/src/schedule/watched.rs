//! Runs of schedules in which each access is noted with who made it.

use super::super::interp::{Memory, Param, Program, RunError};
use super::super::{ArrayDecl, ArrayId, BinOp, Elem, Expr, Function, IndexKind, Stmt, Ty, Var};
use super::lanes::{fresh, in_lanes};
use super::{MarkError, Scheduled, Sharing};

/// Number of lanes that a loop in lanes has in a [`Watched`] run.
pub const LANES: i64 = 4;

/// Bits of a note: the lane, the number of the loop in lanes, the part, and whether the access was atomic.
const LANE_BITS: i64 = 6;
const LOOP_BITS: i64 = 32;
const ATOMIC: i64 = 1 << 62;

/// A schedule, ready for runs that find races: accesses to the same element by two parts, or by two lanes
/// in one run of a loop, at least one of which writes it, if they are not [atomic](Sharing::Atomic).
///
/// An element is noted as read where a statement reads it in any case. A condition of a `while`, and an
/// operand of [`Expr::Select`], are not noted.
#[derive(Clone, Debug)]
pub struct Watched {
    program: Program,
    /// The watched arrays of the function, and whether the function reads them.
    arrays: Vec<(ArrayId, bool)>,
}

/// The arrays that the instrumented function has in addition.
#[derive(Clone, Copy)]
struct Notes {
    /// The note of whoever accesses elements now; the number of the last loop in lanes; a number that
    /// decides the order of lanes.
    state: ArrayId,
    /// The first race: the number of the watched array plus 1, the element, and both notes.
    race: ArrayId,
}

/// The notes on a watched array.
#[derive(Clone, Copy)]
struct Noted {
    array: ArrayId,
    number: i64,
    sharing: Sharing,
    wrote: ArrayId,
    read: Option<ArrayId>,
}

struct Instrument<'a> {
    of: &'a Scheduled,
    function: Function,
    notes: Notes,
    noted: Vec<Noted>,
    /// Whether the code is in a loop in lanes.
    within: bool,
}

fn load(array: ArrayId, at: impl Into<Expr>) -> Expr {
    Expr::Load(array, Box::new(at.into()))
}

fn not_equal(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinOp::Ne, a, b)
}

fn when(cond: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If { cond, then, otherwise: Vec::new() }
}

impl Watched {
    /// Prepares runs. Arrays that grow are taken as arrays of fixed length, see [`filling`](super::filling).
    ///
    /// # Errors
    /// [`MarkError::Invalid`]. Marks that [`Scheduled::check`] refuses are not refused here: a run shows what
    /// becomes of them.
    pub fn new(scheduled: &Scheduled) -> Result<Self, MarkError> {
        let fixed = super::filling(&scheduled.function);
        let of = &Scheduled { function: fixed, marks: scheduled.marks.clone() };
        let mut function = of.function.clone();
        let elem = Elem::Index(IndexKind::I64);
        let mut array = |name: String| {
            function.arrays.push(ArrayDecl { name, elem, written: true, grows: false });
            ArrayId(function.arrays.len() as u32 - 1)
        };
        let mut reads = vec![false; of.function.arrays.len()];
        Stmt::visit_all(&of.function.body, &mut |stmt| {
            for expr in stmt.exprs() {
                expr.visit(&mut |part| {
                    if let Expr::Load(array, _) = part {
                        reads[array.0 as usize] = true;
                    }
                });
            }
        });
        let mut noted = Vec::new();
        for (at, decl) in of.function.arrays.iter().enumerate() {
            let own = ArrayId(at as u32);
            let sharing = of.sharing(own);
            if !decl.written || sharing == Sharing::Scratch {
                continue;
            }
            let number = noted.len() as i64;
            let wrote = array(format!("{} wrote", decl.name));
            let read = reads[at].then(|| array(format!("{} read", decl.name)));
            noted.push(Noted { array: own, number, sharing, wrote, read });
        }
        let notes = Notes { state: array("state of notes".into()), race: array("race".into()) };
        let arrays = noted.iter().map(|one| (one.array, one.read.is_some())).collect();
        let mut instrument = Instrument { of, function, notes, noted, within: false };
        let body = instrument.block(&of.function.body);
        instrument.function.body = body;
        Ok(Self { program: Program::compile(&instrument.function)?, arrays })
    }

    /// Number of instructions.
    #[must_use]
    pub fn instructions(&self) -> usize {
        self.program.instructions()
    }

    /// Runs the parts one after another, in an order that `seed` decides. Each part is given by its
    /// parameters. Memory of [`Sharing::Scratch`] and [`Sharing::Workspace`] is given to all parts in turn.
    ///
    /// # Errors
    /// [`RunError::Race`], and the errors of [`Program::run`].
    pub fn run<P: AsRef<[Param]>>(
        &self,
        parts: &[P],
        memory: &mut [Memory<'_>],
        seed: u64,
    ) -> Result<(), RunError> {
        let mut order: Vec<usize> = (0..parts.len()).collect();
        let mut random = seed.wrapping_mul(2).wrapping_add(1);
        for at in (1..order.len()).rev() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            order.swap(at, (random >> 33) as usize % (at + 1));
        }
        let mut run = self.begin(memory, seed);
        order.into_iter().try_for_each(|at| run.part(at, parts[at].as_ref(), memory))
    }

    /// Begins a run on this memory, of parts that the caller gives in turn: each may have memory of its own in
    /// place of [scratch](Sharing::Scratch) memory.
    #[must_use]
    pub fn begin(&self, memory: &[Memory<'_>], seed: u64) -> WatchedRun<'_> {
        let length = |array: ArrayId| memory.get(array.0 as usize).map_or(0, Memory::len);
        let mut notes = Vec::new();
        for &(array, reads) in &self.arrays {
            let copies = if reads { 2 } else { 1 };
            notes.extend((0..copies).map(|_| vec![0_i64; length(array)]));
        }
        WatchedRun { of: self, notes, state: [0, 0, (seed % LANES as u64) as i64], race: [0; 4] }
    }
}

/// A [`Watched`] run that has begun.
#[derive(Debug)]
pub struct WatchedRun<'a> {
    of: &'a Watched,
    notes: Vec<Vec<i64>>,
    state: [i64; 3],
    race: [i64; 4],
}

impl WatchedRun<'_> {
    /// Runs part number `part`.
    ///
    /// # Errors
    /// As [`Watched::run`].
    pub fn part(
        &mut self,
        part: usize,
        params: &[Param],
        memory: &mut [Memory<'_>],
    ) -> Result<(), RunError> {
        let Self { of, notes, state, race } = self;
        state[0] = (part as i64 + 1) << (LANE_BITS + LOOP_BITS) | state[1] << LANE_BITS;
        let mut bound: Vec<Memory<'_>> = memory.iter_mut().map(Memory::reborrow).collect();
        bound.extend(notes.iter_mut().map(|notes| Memory::indices_mut(&mut notes[..])));
        bound.push(Memory::indices_mut(&mut state[..]));
        bound.push(Memory::indices_mut(&mut race[..]));
        of.program.run(params, &mut bound)?;
        let [array, index, first, second] = *race;
        let Some(at) = array.checked_sub(1).and_then(|at| usize::try_from(at).ok()) else {
            return Ok(());
        };
        let who = |note: i64| {
            let part = (note >> (LANE_BITS + LOOP_BITS)) - 1;
            match note & ((1 << LANE_BITS) - 1) {
                0 => format!("part {part}"),
                lane => format!("lane {} of part {part}", lane - 1),
            }
        };
        let name = of.program.array_name(of.arrays[at].0).to_owned();
        Err(RunError::Race { array: name, index, first: who(first), second: who(second) })
    }
}

impl Instrument<'_> {
    fn block(&mut self, body: &[Stmt]) -> Vec<Stmt> {
        body.iter().flat_map(|stmt| self.stmt(stmt)).collect()
    }

    fn stmt(&mut self, stmt: &Stmt) -> Vec<Stmt> {
        let mut made = Vec::new();
        if !matches!(stmt, Stmt::While { .. }) {
            for expr in stmt.exprs() {
                self.note_reads(expr, stmt, &mut made);
            }
        }
        match stmt {
            Stmt::Store(array, at, value) => {
                let same = matches!(value, Expr::Int(_) | Expr::Bool(_) | Expr::Const(_))
                    && self.of.sharing(*array) == Sharing::Workspace;
                self.note_write(*array, at, same || value.loads(*array), &mut made);
            }
            Stmt::Reduce(_, array, at, _) => self.note_write(*array, at, true, &mut made),
            _ => {}
        }
        match stmt {
            Stmt::For { var, lo, hi, body } => {
                // Inside another, it is run by the lane of that one.
                let within = self.within;
                let lanes = self.of.lanes(*var).filter(|_| !within);
                self.within |= lanes.is_some();
                let body = self.block(body);
                self.within = within;
                match lanes {
                    Some(sums) => {
                        let (lo, hi) = (lo.clone(), hi.clone());
                        made.extend(self.lanes((*var, lo, hi), sums, body));
                    }
                    None => {
                        let (var, lo, hi) = (*var, lo.clone(), hi.clone());
                        made.push(Stmt::For { var, lo, hi, body });
                    }
                }
            }
            Stmt::While { cond, body } => {
                made.push(Stmt::While { cond: cond.clone(), body: self.block(body) });
            }
            Stmt::If { cond, then, otherwise } => {
                let (then, otherwise) = (self.block(then), self.block(otherwise));
                made.push(Stmt::If { cond: cond.clone(), then, otherwise });
            }
            other => made.push(other.clone()),
        }
        made
    }

    /// A loop in lanes, each with a note of its own. The loop before and after has other notes: what happens
    /// there happens at another time.
    fn lanes(
        &mut self,
        of: (Var, Expr, Expr),
        sums: &[super::LaneSum],
        body: Vec<Stmt>,
    ) -> Vec<Stmt> {
        let Notes { state, .. } = self.notes;
        let part = Expr::binary(BinOp::Shr, load(state, 0), (LANE_BITS + LOOP_BITS).into());
        let serial = part * (1 << (LANE_BITS + LOOP_BITS)) + load(state, 1) * (1 << LANE_BITS);
        let next = vec![
            Stmt::Store(state, 1.into(), load(state, 1) + 1),
            Stmt::Store(state, 0.into(), serial.clone()),
        ];
        let begin = |lane: Expr| vec![Stmt::Store(state, 0.into(), serial.clone() + lane + 1)];
        let all = in_lanes(&mut self.function, of, sums, body, &load(state, 2), &begin);
        [next.clone(), all, next].concat()
    }

    fn noted(&self, array: ArrayId) -> Option<Noted> {
        self.noted.iter().find(|one| one.array == array).copied()
    }

    /// Notes the elements that an expression reads in any case.
    fn note_reads(&mut self, expr: &Expr, stmt: &Stmt, to: &mut Vec<Stmt>) {
        match expr {
            Expr::Load(array, at) => {
                self.note_reads(at, stmt, to);
                let Some(noted) = self.noted(*array) else { return };
                let Some(read) = noted.read else { return };
                // What reads an element to combine a value into it is no reader.
                let combines =
                    matches!(stmt, Stmt::Store(to, place, _) if to == array && place == &**at);
                if combines && noted.sharing != Sharing::Own {
                    return;
                }
                let race = self.race(noted, load(noted.wrote, Expr::Var(self.place())), false);
                let last = self.place();
                let mut then = race;
                then.push(Stmt::Store(read, last.into(), load(self.notes.state, 0)));
                self.at(at, *array, then, to);
            }
            Expr::Unary(_, a) | Expr::Cast(_, a) | Expr::ToInt(a) => self.note_reads(a, stmt, to),
            Expr::Binary(op, a, b) => {
                self.note_reads(a, stmt, to);
                // The second operand may not be evaluated.
                if !matches!(op, BinOp::And | BinOp::Or) {
                    self.note_reads(b, stmt, to);
                }
            }
            Expr::Select(cond, ..) => self.note_reads(cond, stmt, to),
            Expr::Call(_, args) => args.iter().for_each(|arg| self.note_reads(arg, stmt, to)),
            Expr::Int(_) | Expr::Bool(_) | Expr::Const(_) | Expr::Var(_) | Expr::Len(_) => {}
        }
    }

    /// The variable that the next note has for the place of its element.
    fn place(&self) -> Var {
        Var(self.function.vars.len() as u32)
    }

    /// Notes a write, `combines`: which reads the element before.
    fn note_write(&mut self, array: ArrayId, at: &Expr, combines: bool, to: &mut Vec<Stmt>) {
        let Some(noted) = self.noted(array) else { return };
        let atomic = combines && noted.sharing != Sharing::Own;
        let place = Expr::Var(self.place());
        let mut then = self.race(noted, load(noted.wrote, place.clone()), atomic);
        if let Some(read) = noted.read {
            then.extend(self.race(noted, load(read, place.clone()), false));
        }
        let me = load(self.notes.state, 0);
        let note = if atomic { me + ATOMIC } else { me };
        then.push(Stmt::Store(noted.wrote, place, note));
        self.at(at, array, then, to);
    }

    /// Code at an element, if there is one: its place is in the variable that [`place`](Self::place) gave.
    fn at(&mut self, at: &Expr, array: ArrayId, then: Vec<Stmt>, to: &mut Vec<Stmt>) {
        let place = fresh(&mut self.function, "place", Ty::Int);
        to.push(Stmt::Let(place, at.clone()));
        let inside = Expr::Int(0).le(place).and(Expr::from(place).lt(Expr::Len(array)));
        to.push(when(inside, then));
    }

    /// Code that keeps the first race between an earlier access, by its note, and one now.
    fn race(&self, noted: Noted, earlier: Expr, atomic: bool) -> Vec<Stmt> {
        let Notes { state, race } = self.notes;
        let me = load(state, 0);
        let bare = |note: Expr| Expr::binary(BinOp::BitAnd, note, (ATOMIC - 1).into());
        let shifted = |note: Expr, bits: i64| Expr::binary(BinOp::Shr, note, bits.into());
        let theirs = bare(earlier.clone());
        let part = |note: Expr| shifted(note, LANE_BITS + LOOP_BITS);
        let in_loop = |note: Expr| shifted(note, LANE_BITS);
        let other_part = not_equal(part(theirs.clone()), part(me.clone()));
        let other_lane = in_loop(theirs.clone())
            .equals(in_loop(me.clone()))
            .and(not_equal(theirs.clone(), me.clone()));
        let other = match noted.sharing {
            // Parts have memory of their own.
            Sharing::Workspace => other_lane,
            _ => Expr::binary(BinOp::Or, other_part, other_lane),
        };
        let mut cond = not_equal(earlier.clone(), Expr::Int(0)).and(other);
        if atomic {
            cond = cond.and(earlier.lt(ATOMIC));
        }
        let first = load(race, 0).equals(0);
        let report = vec![
            Stmt::Store(race, 0.into(), Expr::Int(noted.number + 1)),
            Stmt::Store(race, 1.into(), self.place().into()),
            Stmt::Store(race, 2.into(), theirs),
            Stmt::Store(race, 3.into(), me),
        ];
        vec![when(cond.and(first), report)]
    }
}
