//! A walk and a search as data, and the IR that is emitted from them.
//!
//! Expressions are those of the IR, with variables and arrays numbered as in the text: variables in the order in
//! which they are declared, the known names first; arrays as in the description. Lines can declare and assign
//! variables; nothing in a form writes memory.

use ust_level_api::ir::idiom::{Code, Numbers};
use ust_level_api::ir::{ArrayId, BinOp, Builder, Expr, UnOp, Var};
use ust_level_api::walk::{Emit, binary_search};
use ust_level_api::{Interval, Run, Step, Walk, WalkKind, WalkSite};

/// The known names of a walk, and of a search.
pub(super) const WALK: [&str; 4] = ["parent", "parent_end", "size", "lower"];
pub(super) const LOCATE: [&str; 4] = ["parent", "size", "lower", "wanted"];

/// A line of code.
#[derive(Clone, Debug)]
pub(super) enum Line {
    Let(Var, Expr),
    Assign(Var, Expr),
    /// Declares where a number stands among ascending elements, and whether it does.
    Search {
        at: Var,
        found: Var,
        array: ArrayId,
        within: Box<Interval>,
        wanted: Expr,
    },
    If(Expr, Vec<Line>, Vec<Line>),
    While(Expr, Vec<Line>),
    For {
        var: Var,
        lo: Expr,
        hi: Expr,
        body: Vec<Line>,
    },
}

/// The variables of a text: their names, and whether they are assigned.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub(super) names: Vec<String>,
    pub(super) assigned: Vec<bool>,
}

/// How the children of a parent are walked.
#[derive(Clone, Debug)]
pub(crate) struct Walked {
    pub(super) names: Names,
    pub(super) before: Vec<Line>,
    pub(crate) kind: WalkKind,
    pub(super) cursor: Interval,
    pub(super) at: Var,
    pub(super) step: Vec<Line>,
    pub(super) child: Step,
    pub(super) advance: Option<Vec<Line>>,
}

/// How a coordinate is found.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(super) names: Names,
    pub(super) before: Vec<Line>,
    pub(super) pos: Expr,
    pub(super) found: Expr,
}

/// What stands for the variables and arrays of a text.
#[derive(Clone)]
struct Emitter<'a> {
    names: &'a Names,
    vars: Vec<Expr>,
    /// Each array, and where it begins.
    arrays: Vec<(ArrayId, Expr)>,
    /// Whether loads test that they are inside the array, and divisions that the divisor is not 0.
    guarded: bool,
}

impl<'a> Emitter<'a> {
    fn new(names: &'a Names, site: &WalkSite, known: [&Expr; 4], b: &Builder) -> Self {
        let mut vars: Vec<Expr> = known.into_iter().cloned().collect();
        // The parser saw that each is declared before it is used.
        vars.resize(names.names.len(), Expr::Int(0));
        let arrays = site.arrays.iter().map(|&array| (array, b.begin(array))).collect();
        Self { names, vars, arrays, guarded: false }
    }

    fn set(&mut self, var: Var, value: Expr) {
        self.vars[var.0 as usize] = value;
    }

    fn name(&self, var: Var) -> &'a str {
        &self.names.names[var.0 as usize]
    }

    /// The expression, simplified as those are that are written in Rust.
    fn expr(&self, expr: &Expr) -> Expr {
        let of = |part: &Expr| self.expr(part);
        match expr {
            Expr::Var(var) => self.vars[var.0 as usize].clone(),
            Expr::Len(array) => self.length(*array),
            Expr::Load(array, index) => {
                let (array, begin) = &self.arrays[array.0 as usize];
                let (array, index) = (*array, of(index).plus_again(begin));
                let load = Expr::Load(array, Box::new(index.clone()));
                if !self.guarded {
                    return load;
                }
                let inside = Expr::Int(0).le(index.clone()).and(index.lt(Expr::Len(array)));
                inside.select(load, Expr::Int(0))
            }
            Expr::Unary(op, a) => match (op, of(a)) {
                (UnOp::Not, Expr::Bool(value)) => Expr::Bool(!value),
                (op, a) => Expr::Unary(*op, Box::new(a)),
            },
            Expr::Binary(BinOp::And, a, b) => of(a).and(of(b)),
            Expr::Binary(op @ (BinOp::FloorDiv | BinOp::Mod), a, b) if self.guarded => {
                let (a, b) = (of(a), of(b));
                let quotient = Expr::binary(*op, a, b.clone());
                match b {
                    Expr::Int(number) if number != 0 => quotient,
                    b => b.equals(0).select(Expr::Int(0), quotient),
                }
            }
            Expr::Binary(op, a, b) => Expr::binary(*op, of(a), of(b)),
            Expr::Select(cond, a, b) => of(cond).select(of(a), of(b)),
            other => other.clone(),
        }
    }

    /// The number of elements from where an array begins.
    fn length(&self, array: ArrayId) -> Expr {
        let (array, begin) = &self.arrays[array.0 as usize];
        Expr::Len(*array) - begin.clone()
    }

    fn run(&self, run: &Run) -> Run {
        match run {
            Run::Consecutive(count) => Run::Consecutive(self.expr(count)),
            Run::Shared(count) => Run::Shared(self.expr(count)),
            Run::Coded(Code::Ones(mask)) => Run::Coded(Code::Ones(self.expr(mask))),
            Run::Coded(Code::Gaps { count, numbers }) => {
                // Where the array begins elsewhere, it is told after the step.
                let array = self.arrays[numbers.array.0 as usize].0;
                let numbers = Numbers { array, ..*numbers };
                Run::Coded(Code::Gaps { count: self.expr(count), numbers })
            }
        }
    }

    fn interval(&self, interval: &Interval) -> Interval {
        Interval { lo: self.expr(&interval.lo), hi: self.expr(&interval.hi) }
    }

    fn lines(&mut self, lines: &[Line], b: &mut Builder) {
        for line in lines {
            self.line(line, b);
        }
    }

    fn line(&mut self, line: &Line, b: &mut Builder) {
        match line {
            Line::Let(var, value) => {
                let value = self.expr(value);
                let value = match self.names.assigned[var.0 as usize] {
                    true => b.var(self.name(*var), value).into(),
                    false => b.bind(self.name(*var), value),
                };
                self.set(*var, value);
            }
            Line::Assign(var, value) => {
                // What is assigned was declared as a variable.
                if let Expr::Var(to) = self.vars[var.0 as usize] {
                    b.assign(to, self.expr(value));
                }
            }
            Line::Search { at, found, array, within, wanted } => {
                let mut within = self.interval(within);
                if self.guarded {
                    within =
                        Interval { lo: within.lo.max(0), hi: within.hi.min(self.length(*array)) };
                }
                let array = self.arrays[array.0 as usize].0;
                let there = binary_search(b, array, within, self.expr(wanted));
                self.set(*at, there.pos);
                self.set(*found, there.found);
            }
            Line::If(cond, then, otherwise) => {
                let (cond, mut other) = (self.expr(cond), self.clone());
                b.if_else(cond, |b| self.lines(then, b), |b| other.lines(otherwise, b));
            }
            Line::While(cond, body) => {
                let cond = self.expr(cond);
                b.while_(cond, |b| self.lines(body, b));
            }
            Line::For { var, lo, hi, body } => {
                let (lo, hi) = (self.expr(lo), self.expr(hi));
                b.for_(self.name(*var), lo, hi, |b, at| {
                    self.set(*var, at);
                    self.lines(body, b);
                });
            }
        }
    }
}

impl Walked {
    /// The cursor at a site.
    pub(crate) fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        let known = [&site.parent.lo, &site.parent.hi, &site.size, &site.lower];
        let mut emitter = Emitter::new(&self.names, site, known, b);
        emitter.lines(&self.before, b);
        let cursor = match self.kind {
            WalkKind::Coordinate => self.within_bounds(&emitter, site),
            WalkKind::Position | WalkKind::Other => emitter.interval(&self.cursor),
        };
        let advanced = emitter.clone();
        let step = move |b: &mut Builder, at: Expr| {
            let mut emitter = emitter.clone();
            emitter.set(self.at, at);
            emitter.lines(&self.step, b);
            let Step { crd, pos, guard, run } = &self.child;
            let run = run.as_ref();
            Step {
                crd: emitter.expr(crd),
                pos: emitter.expr(pos),
                guard: guard.as_ref().map(|guard| emitter.expr(guard)),
                run: run.map(|run| emitter.run(run)),
            }
        };
        let advance = self.advance.as_ref().map(|lines| -> Emit<'a, ()> {
            Box::new(move |b, at| {
                let mut emitter = advanced.clone();
                emitter.set(self.at, at);
                emitter.lines(lines, b);
            })
        });
        Walk { kind: self.kind, cursor, step: Box::new(step), advance }
    }

    /// The cursor over coordinates, where it meets the bounds. They lie within `lower .. lower + size`.
    fn within_bounds(&self, emitter: &Emitter<'_>, site: &WalkSite) -> Interval {
        let [_, _, size, lower] = [0, 1, 2, 3].map(|at| Expr::Var(Var(at)));
        let end = lower.clone() + size;
        let Interval { lo, hi } = &self.cursor;
        let hi = match hi {
            Expr::Binary(BinOp::Min, a, b) if **a == end => b,
            Expr::Binary(BinOp::Min, a, b) if **b == end => a,
            hi => hi,
        };
        let bounds = site.bounds.clone();
        Interval {
            lo: if *lo == lower { bounds.lo } else { bounds.lo.max(emitter.expr(lo)) },
            hi: if *hi == end { bounds.hi } else { bounds.hi.min(emitter.expr(hi)) },
        }
    }
}

impl Located {
    /// The search at a site. What it loads is inside the arrays, whatever the text says.
    pub(crate) fn locate(
        &self,
        site: &WalkSite,
        wanted: Expr,
        b: &mut Builder,
    ) -> ust_level_api::Located {
        let wanted = b.bind("wanted", wanted);
        let known = [&site.parent.lo, &site.size, &site.lower, &wanted];
        let mut emitter = Emitter { guarded: true, ..Emitter::new(&self.names, site, known, b) };
        emitter.lines(&self.before, b);
        ust_level_api::Located { pos: emitter.expr(&self.pos), found: emitter.expr(&self.found) }
    }
}
