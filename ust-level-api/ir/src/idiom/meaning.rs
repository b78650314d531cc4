//! The loops that idioms mean, as code: for the check that loops compute what is declared of them.

use std::collections::HashMap;

use super::super::{ArrayId, Expr, Function, Stmt, Ty, Var, VarDecl};
use super::{Coded, Factor, Idiom, List, Loop, Nest, Place, Placed, Range, Segments, Union};

impl Function {
    /// The function with the loops of each idiom replaced by what the idiom means: a function that computes the
    /// same, if what was declared is true. Loops under [conditions](Nest::conditions) stay.
    #[must_use]
    pub fn meant(&self) -> Function {
        let mut vars = self.vars.clone();
        let mut loops: HashMap<Var, Stmt> = HashMap::new();
        for idiom in &self.idioms {
            let (var, statement) = match idiom {
                Idiom::Nest(nest) if !nest.conditions.is_empty() => continue,
                Idiom::Nest(nest) => (nest.loops[0].var, nest.code(&mut vars)),
                Idiom::Union(union) => {
                    let grows = |array: ArrayId| self.arrays[array.0 as usize].grows;
                    (union.var, union.statement(&mut vars, &grows))
                }
                Idiom::Placed(placed) => (placed.loops[0].var, placed.statement(&mut vars)),
            };
            loops.insert(var, statement);
        }
        let body = replaced(&self.body, &loops);
        Function { vars, body, idioms: Vec::new(), ..self.clone() }
    }
}

fn replaced(body: &[Stmt], loops: &HashMap<Var, Stmt>) -> Vec<Stmt> {
    let of = |stmt: &Stmt| match stmt.clone() {
        Stmt::For { var, lo, hi, body } => match loops.get(&var) {
            // The bounds are code of the surrounding loops.
            Some(Stmt::For { body, .. }) => Stmt::For { var, lo, hi, body: body.clone() },
            _ => Stmt::For { var, lo, hi, body: replaced(&body, loops) },
        },
        Stmt::While { cond, body } => Stmt::While { cond, body: replaced(&body, loops) },
        Stmt::If { cond, then, otherwise } => {
            Stmt::If { cond, then: replaced(&then, loops), otherwise: replaced(&otherwise, loops) }
        }
        other => other,
    };
    body.iter().map(of).collect()
}

/// Loops around a body. `inner` makes the body, for a number of loops around it and what stands in the innermost.
/// What the outermost loop decodes is declared around it.
fn nested(
    loops: &[Loop],
    around: usize,
    inner: &mut dyn FnMut(usize, Vec<Stmt>) -> Vec<Stmt>,
) -> Stmt {
    let one = &loops[around];
    let (lo, hi) = match &one.range {
        Range::Between(lo, hi) => (lo.clone(), hi.clone()),
        Range::Segment { pos, at, begin } => {
            let bound = |at: Expr| Expr::Load(*pos, Box::new(at)) + begin.expr();
            (bound(at.expr()), bound(at.expr() + 1))
        }
    };
    let mut inside = Vec::new();
    if let Some(next) = loops.get(around + 1) {
        inside.extend(next.coded.iter().flat_map(Coded::begin));
        inside.push(nested(loops, around + 1, inner));
    }
    let mut body: Vec<Stmt> = one.coded.iter().flat_map(|coded| coded.next(one.var)).collect();
    body.extend(inner(around + 1, inside));
    Stmt::For { var: one.var, lo, hi, body }
}

impl Nest {
    /// The loops as code. Variables that it has beside those of the nest are appended to `vars`. Of loops under
    /// [conditions](Nest::conditions), the code without them.
    #[must_use]
    pub fn code(&self, vars: &mut Vec<VarDecl>) -> Stmt {
        nested(&self.loops, 0, &mut |around, body| {
            let mut all = Vec::new();
            if let Some(clear) = self.clear.as_ref().filter(|clear| clear.inside == around) {
                let var = fresh(vars);
                let place = clear.from.expr() + Expr::Var(var);
                let set = Stmt::Store(clear.array, place, Expr::Const(clear.value));
                let (lo, hi) = (Expr::Int(0), clear.count.clone());
                all.push(Stmt::For { var, lo, hi, body: vec![set] });
            }
            let sum = self.sum.as_ref().filter(|sum| sum.inside == around);
            if let (Some(sum), Place::Var(var)) = (sum, &self.target) {
                all.push(Stmt::Let(*var, Expr::Const(sum.start)));
            }
            all.extend(body);
            if around == self.loops.len() {
                all.extend(self.operation());
            }
            if let (Some(sum), Place::Var(var)) = (sum, &self.target) {
                let (place, value) = (sum.index.expr(), Expr::Var(*var));
                all.push(match sum.op {
                    Some(op) => Stmt::Reduce(op, sum.array, place, value),
                    None => Stmt::Store(sum.array, place, value),
                });
            }
            all
        })
    }

    /// The innermost statements.
    fn operation(&self) -> Vec<Stmt> {
        let factors = self.factors.iter().map(|factor| factor.value.clone());
        let product = factors.reduce(|a, b| Expr::binary(self.times, a, b)).expect("a factor");
        let mut all = Vec::new();
        if let (Some(List { mark, stamp, list, length }), Place::Element(_, index)) =
            (&self.list, &self.target)
        {
            let place = index.expr();
            let marked = Expr::Load(*mark, Box::new(place.clone()));
            all.push(Stmt::If {
                cond: marked.equals(stamp.clone()),
                then: Vec::new(),
                otherwise: vec![
                    Stmt::Store(*mark, place.clone(), stamp.clone()),
                    Stmt::Store(*list, Expr::Var(*length), place),
                    Stmt::Assign(*length, Expr::Var(*length) + 1),
                ],
            });
        }
        all.push(match (&self.target, self.op) {
            (Place::Var(var), Some(op)) => {
                Stmt::Assign(*var, Expr::binary(op, Expr::Var(*var), product))
            }
            (Place::Var(var), None) => Stmt::Assign(*var, product),
            (Place::Element(array, index), Some(op)) => {
                Stmt::Reduce(op, *array, index.expr(), product)
            }
            (Place::Element(array, index), None) => Stmt::Store(*array, index.expr(), product),
        });
        all.extend(self.hit.map(|hit| Stmt::Assign(hit, Expr::Bool(true))));
        all
    }
}

/// Another variable.
fn fresh(vars: &mut Vec<VarDecl>) -> Var {
    vars.push(VarDecl { name: format!("meant_{}", vars.len()), ty: Ty::Int });
    Var(vars.len() as u32 - 1)
}

fn load(array: ArrayId, at: Var) -> Expr {
    Expr::Load(array, Box::new(at.into()))
}

fn when(cond: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If { cond, then, otherwise: Vec::new() }
}

impl Union {
    /// The loop over rows.
    fn statement(&self, vars: &mut Vec<VarDecl>, grows: &dyn Fn(ArrayId) -> bool) -> Stmt {
        let i = self.var;
        let sides = [&self.a, &self.b].map(|of| (of, fresh(vars), fresh(vars)));
        let mut body = Vec::new();
        if let Some((starts, first)) = &self.starts {
            body.push(Stmt::Store(*starts, Expr::Var(i) - first.clone(), self.row.into()));
        }
        let mut room = Expr::from(self.row);
        for (of, at, end) in sides {
            body.push(Stmt::Let(at, load(of.pos, i)));
            body.push(Stmt::Let(end, Expr::Load(of.pos, Box::new(Expr::Var(i) + 1))));
            room = room + (Expr::from(end) - Expr::from(at)).max(0);
        }
        for array in [self.crd, self.values].into_iter().filter(|&array| grows(array)) {
            let full = Expr::Len(array).lt(room.clone());
            body.push(when(full, vec![Stmt::Reserve(array, room.clone())]));
        }
        let goes_on = |(_, at, end): (&Segments, Var, Var)| Expr::from(at).lt(end);
        let next = |var: Var| Stmt::Assign(var, Expr::from(var) + 1);
        let append = |crd: Expr, value: Expr| {
            let row = Expr::from(self.row);
            let stores = [
                Stmt::Store(self.crd, row.clone(), crd),
                Stmt::Store(self.values, row, value),
                next(self.row),
            ];
            stores.to_vec()
        };
        let own = |(of, at, _): (&Segments, Var, Var)| {
            [append(load(of.crd, at), load(of.values, at)), vec![next(at)]].concat()
        };
        let [a, b] = sides;
        let (x, y) = (load(a.0.crd, a.1), load(b.0.crd, b.1));
        let sum = load(a.0.values, a.1) + load(b.0.values, b.1);
        let both = [append(x.clone(), sum), vec![next(a.1), next(b.1)]].concat();
        let one = Stmt::If { cond: x.clone().lt(y.clone()), then: own(a), otherwise: own(b) };
        let step = Stmt::If { cond: x.equals(y), then: both, otherwise: vec![one] };
        body.push(Stmt::While { cond: goes_on(a).and(goes_on(b)), body: vec![step] });
        body.extend([a, b].map(|side| Stmt::While { cond: goes_on(side), body: own(side) }));
        Stmt::For { var: i, lo: 0.into(), hi: 0.into(), body }
    }
}

impl Placed {
    /// The loops.
    fn statement(&self, vars: &mut Vec<VarDecl>) -> Stmt {
        let at = fresh(vars);
        nested(&self.loops, 0, &mut |around, mut body| {
            if around == self.loops.len() {
                let key = self.key.expr();
                body.push(Stmt::Let(at, Expr::Load(self.next, Box::new(key.clone()))));
                body.push(Stmt::Store(self.next, key, Expr::from(at) + 1));
                let moves = self.moves.iter();
                let store = |(to, value): &(ArrayId, Factor)| {
                    Stmt::Store(*to, at.into(), value.value.clone())
                };
                body.extend(moves.map(store));
            }
            body
        })
    }
}
