//! Trees of expressions and statements: visits and copies with changes.

use std::collections::HashMap;

use super::{ArrayId, Expr, Function, Stmt, Var};

impl Expr {
    /// Calls `f` with this expression and all its parts, each before its own parts.
    ///
    /// ```
    /// use ust_ir::{Expr, Var};
    ///
    /// let mut variables = 0;
    /// let sum = Expr::Var(Var(0)) + Expr::Var(Var(1)) * 2;
    /// sum.visit(&mut |part| variables += usize::from(matches!(part, Expr::Var(_))));
    /// assert_eq!(variables, 2);
    /// ```
    pub fn visit(&self, f: &mut dyn FnMut(&Expr)) {
        f(self);
        match self {
            Expr::Int(_) | Expr::Bool(_) | Expr::Const(_) | Expr::Var(_) | Expr::Len(_) => {}
            Expr::Load(_, a) | Expr::Unary(_, a) | Expr::Cast(_, a) | Expr::ToInt(a) => a.visit(f),
            Expr::Binary(_, a, b) => {
                a.visit(f);
                b.visit(f);
            }
            Expr::Select(cond, a, b) => {
                cond.visit(f);
                a.visit(f);
                b.visit(f);
            }
            Expr::Call(_, args) => args.iter().for_each(|arg| arg.visit(f)),
        }
    }

    /// The expression with variables replaced: `with` gives the value of each, or `None` to keep it. Nothing else
    /// changes: constants are not folded.
    ///
    /// ```
    /// use ust_ir::{Expr, Var};
    ///
    /// let [i, j, k] = [0, 1, 2].map(|at| Expr::Var(Var(at)));
    /// let other = |var| (var == Var(0)).then_some(k.clone());
    /// assert_eq!((i * 8 + j.clone()).replaced(&other), k.clone() * 8 + j);
    /// ```
    #[must_use]
    pub fn replaced(&self, with: &dyn Fn(Var) -> Option<Expr>) -> Expr {
        self.mapped(&|part| match part {
            Expr::Var(var) => with(*var),
            _ => None,
        })
    }

    /// The expression with some parts replaced: `with` gives what stands in the place of a part, or `None` to
    /// keep it and look at its own parts.
    #[must_use]
    pub fn mapped(&self, with: &dyn Fn(&Expr) -> Option<Expr>) -> Expr {
        let own = |expr: &Expr| Box::new(expr.mapped(with));
        if let Some(other) = with(self) {
            return other;
        }
        match self {
            Expr::Load(array, a) => Expr::Load(*array, own(a)),
            Expr::Unary(op, a) => Expr::Unary(*op, own(a)),
            Expr::Binary(op, a, b) => Expr::Binary(*op, own(a), own(b)),
            Expr::Select(cond, a, b) => Expr::Select(own(cond), own(a), own(b)),
            Expr::Call(f, args) => Expr::Call(*f, args.iter().map(|a| a.mapped(with)).collect()),
            Expr::Cast(dtype, a) => Expr::Cast(*dtype, own(a)),
            Expr::ToInt(a) => Expr::ToInt(own(a)),
            Expr::Int(_) | Expr::Bool(_) | Expr::Const(_) | Expr::Var(_) | Expr::Len(_) => {
                self.clone()
            }
        }
    }

    /// Whether the expression reads an element of an array.
    #[must_use]
    pub fn loads(&self, array: ArrayId) -> bool {
        let mut found = false;
        self.visit(&mut |part| found |= matches!(part, Expr::Load(of, _) if *of == array));
        found
    }
}

impl Stmt {
    /// Calls `f` with each of these statements and all statements inside it, in the order of the text.
    pub fn visit_all<'a>(body: &'a [Stmt], f: &mut dyn FnMut(&'a Stmt)) {
        for stmt in body {
            f(stmt);
            match stmt {
                Stmt::For { body, .. } | Stmt::While { body, .. } => Stmt::visit_all(body, f),
                Stmt::If { then, otherwise, .. } => {
                    Stmt::visit_all(then, f);
                    Stmt::visit_all(otherwise, f);
                }
                _ => {}
            }
        }
    }

    /// The expressions of a statement, without those of statements inside it.
    #[must_use]
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            Stmt::Let(_, value) | Stmt::Assign(_, value) | Stmt::Reserve(_, value) => vec![value],
            Stmt::Store(_, a, b) | Stmt::Reduce(_, _, a, b) | Stmt::Sort(_, a, b) => vec![a, b],
            Stmt::For { lo, hi, .. } => vec![lo, hi],
            Stmt::While { cond, .. } | Stmt::If { cond, .. } => vec![cond],
            Stmt::Comment(_) => Vec::new(),
        }
    }
}

impl Function {
    /// The values of the names that the first statements give, as expressions without these names. A variable
    /// that is assigned later is no name.
    #[must_use]
    pub fn first_names(&self) -> HashMap<Var, Expr> {
        let assigned = self.assigned();
        let mut names: HashMap<Var, Expr> = HashMap::new();
        for stmt in &self.body {
            match stmt {
                Stmt::Let(var, _) if assigned[var.0 as usize] => {}
                Stmt::Let(var, value) => {
                    let value = value.replaced(&|var| names.get(&var).cloned());
                    names.insert(*var, value);
                }
                Stmt::Comment(_) => {}
                _ => break,
            }
        }
        names
    }

    /// For each variable, whether any statement assigns it.
    #[must_use]
    pub fn assigned(&self) -> Vec<bool> {
        let mut assigned = vec![false; self.vars.len()];
        Stmt::visit_all(&self.body, &mut |stmt| {
            if let Stmt::Assign(var, _) = stmt {
                assigned[var.0 as usize] = true;
            }
        });
        assigned
    }
}
