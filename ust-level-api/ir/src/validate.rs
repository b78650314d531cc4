//! Checks of types and scopes, before a function is executed or handed to a back end.
//!
//! [`validate`] checks
//!
//! * declarations: names are distinct, written index arrays are not packed, growing arrays are
//!   written, and every parameter has a variable;
//! * scopes: a variable is declared once, before its first use, and in a block around that use;
//!   loop variables are not assigned;
//! * types of operands, conditions, bounds, indices, and assigned or stored values
//!   ([`BinOp::accepts`], [`UnOp::accepts`] and [`Func::accepts`](super::Func::accepts) define the
//!   types that operators and functions take);
//! * arrays: an array that is stored into is marked [`written`](super::ArrayDecl::written), one
//!   that is made longer [`grows`](super::ArrayDecl::grows), one that is sorted holds `i64`;
//! * nesting: no deeper than [`MAX_DEPTH`], so that recursion over a valid function does not
//!   overflow the stack.
//!
//! It does not check properties that depend on data: bounds, division by zero, termination of
//! loops.

mod error;
#[cfg(test)]
mod tests;

pub use error::{ExprError, ValidateError};

use std::collections::HashSet;

use super::{ArrayDecl, ArrayId, BinOp, Elem, Expr, Function, Stmt, Ty, UnOp, Var};
use crate::index::IndexKind;
use crate::scalar::Dtype;

/// The deepest nesting of statements and expressions, both counted together.
pub const MAX_DEPTH: usize = 256;

impl UnOp {
    /// Whether the operator takes an operand of this type.
    #[must_use]
    pub fn accepts(self, ty: Ty) -> bool {
        match self {
            UnOp::Neg => !matches!(ty, Ty::Bool | Ty::Val(Dtype::Bool)),
            UnOp::Not => ty == Ty::Bool,
            UnOp::CountOnes | UnOp::TrailingZeros => ty == Ty::Int,
        }
    }
}

impl BinOp {
    /// Whether the operator takes operands of this type.
    #[must_use]
    pub fn accepts(self, ty: Ty) -> bool {
        match self {
            BinOp::Add | BinOp::Mul | BinOp::Eq | BinOp::Ne => ty != Ty::Bool,
            BinOp::Sub => !matches!(ty, Ty::Bool | Ty::Val(Dtype::Bool)),
            BinOp::Div => matches!(ty, Ty::Val(dtype) if dtype != Dtype::Bool),
            BinOp::Min | BinOp::Max | BinOp::Lt | BinOp::Le => match ty {
                Ty::Int => true,
                Ty::Bool => false,
                Ty::Val(dtype) => !dtype.is_complex(),
            },
            BinOp::FloorDiv | BinOp::Mod | BinOp::BitAnd | BinOp::Shr => ty == Ty::Int,
            BinOp::And | BinOp::Or => ty == Ty::Bool,
        }
    }

    /// Whether the result is a `bool`, for operands of any type.
    #[must_use]
    pub fn is_truth(self) -> bool {
        use BinOp::{And, Eq, Le, Lt, Ne, Or};
        matches!(self, And | Or | Eq | Ne | Lt | Le)
    }

    /// Whether the result does not depend on the order in which elements are combined (except for
    /// rounding). [`Stmt::Reduce`] needs such an operator.
    #[must_use]
    pub fn is_reduction(self) -> bool {
        use BinOp::{Add, BitAnd, Max, Min, Mul};
        matches!(self, Add | Mul | Min | Max | BitAnd)
    }
}

/// Checks types and scopes. Cost: O(size of the function).
///
/// # Errors
/// The first fault, in the order of the text.
pub fn validate(function: &Function) -> Result<(), ValidateError> {
    let name = || function.name.clone();
    if function.params > function.vars.len() {
        let (params, vars) = (function.params, function.vars.len());
        return Err(ValidateError::MissingParams { function: name(), params, vars });
    }
    let mut names = HashSet::new();
    let arrays = function.arrays.iter().map(|a| &a.name);
    for given in arrays.chain(function.vars.iter().map(|v| &v.name)) {
        if !names.insert(given) {
            let error = ValidateError::DuplicateName { function: name(), name: given.clone() };
            return Err(error);
        }
    }
    for array in &function.arrays {
        if array.grows && !array.written {
            return Err(ValidateError::GrowsUnwritten(array.name.clone()));
        }
        if array.written && array.elem == Elem::Index(IndexKind::U2) {
            return Err(ValidateError::PackedWritten(array.name.clone()));
        }
    }
    let mut states = vec![State::Undeclared; function.vars.len()];
    states[..function.params].fill(State::Variable);
    Validator { function, states, open: Vec::new() }.block(&function.body, 0)
}

/// The state of a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Undeclared,
    Variable,
    LoopVariable,
    Closed,
}

struct Validator<'a> {
    function: &'a Function,
    states: Vec<State>,
    /// Variables in scope, innermost last, without parameters.
    open: Vec<Var>,
}

type Result<T = (), E = ValidateError> = std::result::Result<T, E>;

impl Validator<'_> {
    fn block(&mut self, body: &[Stmt], depth: usize) -> Result {
        let outer = self.open.len();
        body.iter().try_for_each(|stmt| self.stmt(stmt, depth + 1))?;
        self.close(outer);
        Ok(())
    }

    fn close(&mut self, outer: usize) {
        for var in self.open.drain(outer..) {
            self.states[var.0 as usize] = State::Closed;
        }
    }

    fn stmt(&mut self, stmt: &Stmt, depth: usize) -> Result {
        self.depth(depth)?;
        match stmt {
            Stmt::Let(var, value) => {
                let ty = self.state(*var).map(|_| self.function.vars[var.0 as usize].ty)?;
                self.needs(value, ty, depth, || format!("the value of `{}`", self.name(*var)))?;
                self.declare(*var, State::Variable)
            }
            Stmt::Assign(var, value) => {
                match self.state(*var)? {
                    State::Variable => {}
                    State::LoopVariable => {
                        return Err(ValidateError::AssignedLoopVar(self.name(*var)));
                    }
                    _ => return Err(ValidateError::AssignedOutOfScope(self.name(*var))),
                }
                let ty = self.function.vars[var.0 as usize].ty;
                self.needs(value, ty, depth, || format!("the value of `{}`", self.name(*var)))
            }
            Stmt::Store(array, index, value) => self.store(*array, index, value, depth),
            Stmt::Reduce(op, array, index, value) => {
                self.store(*array, index, value, depth)?;
                let decl = &self.function.arrays[array.0 as usize];
                if op.is_reduction() && op.accepts(decl.elem.ty()) {
                    return Ok(());
                }
                let (array, elem) = (decl.name.clone(), decl.elem);
                Err(ValidateError::Reduction { array, elem, op: *op })
            }
            Stmt::Reserve(array, len) => {
                let decl = self.decl(*array)?;
                if !decl.grows {
                    return Err(ValidateError::NotGrowing(decl.name.clone()));
                }
                self.needs(len, Ty::Int, depth, || format!("the new length of `{}`", decl.name))
            }
            Stmt::Sort(array, lo, hi) => {
                let decl = self.decl(*array)?;
                if !decl.written {
                    return Err(ValidateError::NotWritten(decl.name.clone()));
                }
                if decl.elem != Elem::Index(IndexKind::I64) {
                    let (array, elem) = (decl.name.clone(), decl.elem);
                    return Err(ValidateError::Sorted { array, elem });
                }
                let role = |which| format!("the {which} of what is sorted in `{}`", decl.name);
                self.needs(lo, Ty::Int, depth, || role("start"))?;
                self.needs(hi, Ty::Int, depth, || role("end"))
            }
            Stmt::For { var, lo, hi, body } => {
                let name = || self.name(*var);
                self.needs(lo, Ty::Int, depth, || format!("the first value of `{}`", name()))?;
                self.needs(hi, Ty::Int, depth, || format!("the bound of `{}`", name()))?;
                self.state(*var)?;
                let found = self.function.vars[var.0 as usize].ty;
                if found != Ty::Int {
                    return Err(ValidateError::LoopVarType { name: self.name(*var), found });
                }
                let outer = self.open.len();
                self.declare(*var, State::LoopVariable)?;
                self.block(body, depth)?;
                self.close(outer);
                Ok(())
            }
            Stmt::While { cond, body } => {
                self.needs(cond, Ty::Bool, depth, || "the condition of `while`".to_owned())?;
                self.block(body, depth)
            }
            Stmt::If { cond, then, otherwise } => {
                self.needs(cond, Ty::Bool, depth, || "the condition of `if`".to_owned())?;
                self.block(then, depth)?;
                self.block(otherwise, depth)
            }
            Stmt::Comment(_) => Ok(()),
        }
    }

    fn store(&self, array: ArrayId, index: &Expr, value: &Expr, depth: usize) -> Result {
        let decl = self.decl(array)?;
        if !decl.written {
            return Err(ValidateError::NotWritten(decl.name.clone()));
        }
        self.needs(index, Ty::Int, depth, || format!("the index into `{}`", decl.name))?;
        let stored = || format!("the value stored into `{}`", decl.name);
        self.needs(value, decl.elem.ty(), depth, stored)
    }

    fn decl(&self, array: ArrayId) -> Result<&ArrayDecl> {
        let decl = self.function.arrays.get(array.0 as usize);
        decl.ok_or(ValidateError::UnknownArray(array.0))
    }

    fn declare(&mut self, var: Var, state: State) -> Result {
        if self.state(var)? != State::Undeclared {
            return Err(ValidateError::DeclaredTwice(self.name(var)));
        }
        self.states[var.0 as usize] = state;
        self.open.push(var);
        Ok(())
    }

    fn state(&self, var: Var) -> Result<State> {
        self.states.get(var.0 as usize).copied().ok_or(ValidateError::UnknownVar(var.0))
    }

    fn name(&self, var: Var) -> String {
        self.function.var_name(var)
    }

    fn depth(&self, depth: usize) -> Result {
        if depth <= MAX_DEPTH {
            return Ok(());
        }
        Err(ValidateError::TooDeep { function: self.function.name.clone() })
    }

    fn needs(
        &self,
        expr: &Expr,
        expected: Ty,
        depth: usize,
        role: impl FnOnce() -> String,
    ) -> Result {
        let found = self.type_of(expr, depth)?;
        if found == expected {
            return Ok(());
        }
        let expr = self.function.show_expr(expr).to_string();
        Err(ValidateError::Type { role: role(), expr, expected, found })
    }

    fn type_of(&self, expr: &Expr, depth: usize) -> Result<Ty> {
        self.depth(depth + 1)?;
        let ty = |inner| self.type_of(inner, depth + 1);
        let wrong = |source| {
            Err(ValidateError::Expr { expr: self.function.show_expr(expr).to_string(), source })
        };
        let decl = |array: ArrayId| self.function.arrays.get(array.0 as usize);
        match expr {
            Expr::Int(_) => Ok(Ty::Int),
            Expr::Bool(_) => Ok(Ty::Bool),
            Expr::Const(scalar) => Ok(Ty::Val(scalar.dtype())),
            Expr::Var(var) => match self.states.get(var.0 as usize) {
                None => wrong(ExprError::UnknownVar(var.0)),
                Some(State::Undeclared | State::Closed) => {
                    wrong(ExprError::OutOfScope(self.name(*var)))
                }
                Some(_) => Ok(self.function.vars[var.0 as usize].ty),
            },
            Expr::Len(array) => match decl(*array) {
                None => wrong(ExprError::UnknownArray(array.0)),
                Some(_) => Ok(Ty::Int),
            },
            Expr::Load(array, index) => match (decl(*array), ty(index)?) {
                (None, _) => wrong(ExprError::UnknownArray(array.0)),
                (Some(decl), Ty::Int) => Ok(decl.elem.ty()),
                (Some(decl), found) => wrong(ExprError::Index { array: decl.name.clone(), found }),
            },
            Expr::Unary(op, a) => match ty(a)? {
                found if op.accepts(found) => Ok(found),
                found => wrong(ExprError::UnaryOperand { op: *op, found }),
            },
            Expr::Binary(op, a, b) => match (ty(a)?, ty(b)?) {
                (left, right) if left != right => {
                    wrong(ExprError::Operands { op: *op, left, right })
                }
                (found, _) if !op.accepts(found) => {
                    wrong(ExprError::BinaryOperand { op: *op, found })
                }
                _ if op.is_truth() => Ok(Ty::Bool),
                (found, _) => Ok(found),
            },
            Expr::Call(func, args) => {
                let types = args.iter().map(ty).collect::<Result<Vec<Ty>>>()?;
                match types[..] {
                    _ if args.len() != func.arity() => {
                        wrong(ExprError::Arity { func: *func, given: args.len() })
                    }
                    [left, right] if left != right => {
                        wrong(ExprError::Arguments { func: *func, left, right })
                    }
                    [Ty::Val(dtype), ..] if func.accepts(dtype) => Ok(func.result(dtype)),
                    [found, ..] => wrong(ExprError::Argument { func: *func, found }),
                    [] => unreachable!("no function has no arguments"),
                }
            }
            Expr::Cast(dtype, a) => ty(a).map(|_| Ty::Val(*dtype)),
            Expr::ToInt(a) => match ty(a)? {
                Ty::Val(_) => Ok(Ty::Int),
                found => wrong(ExprError::ToInt { found }),
            },
            Expr::Select(cond, a, b) => match (ty(cond)?, ty(a)?, ty(b)?) {
                (Ty::Bool, left, right) if left == right => Ok(left),
                (Ty::Bool, left, right) => wrong(ExprError::Sides { left, right }),
                (found, ..) => wrong(ExprError::Condition { found }),
            },
        }
    }
}
