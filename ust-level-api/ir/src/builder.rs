//! The builder of IR: scopes, names, and statements in order.

use std::collections::{HashMap, HashSet};

use super::idiom::{Code, Coded, Declared, Path, settle};
use super::{ArrayDecl, ArrayId, BinOp, Elem, Expr, Function, Stmt, Ty, Var, VarDecl};

/// Writes a [`Function`], statement by statement.
///
/// ```
/// use ust_ir::{Builder, Elem, Expr, Ty};
/// use ust_ir::{Dtype, IndexKind};
///
/// let mut b = Builder::new("sum");
/// let n = b.param("n", Ty::Int);
/// let x = b.array("x", Elem::Value(Dtype::F64), false);
/// let s = b.array("s", Elem::Value(Dtype::F64), true);
/// b.for_("i", 0.into(), n, |b, i| {
///     let value = b.load(x, i);
///     b.reduce(ust_ir::BinOp::Add, s, 0.into(), value);
/// });
/// let function = b.finish();
/// assert!(function.to_string().contains("for"));
/// ```
#[derive(Debug)]
pub struct Builder {
    name: String,
    arrays: Vec<ArrayDecl>,
    vars: Vec<VarDecl>,
    params: usize,
    names: HashSet<String>,
    /// Open blocks, innermost last.
    blocks: Vec<Vec<Stmt>>,
    /// The variables of the open loops, innermost last.
    loops: Vec<Var>,
    /// What was declared, each with the loops that were open.
    declared: Vec<(Vec<Var>, Declared)>,
    /// What is added to the indices of loads, by array. Of several, the last one.
    shifts: Vec<(ArrayId, Expr)>,
    /// What loops decode, by their variables.
    coded: HashMap<Var, Coded>,
}

impl Builder {
    /// Starts a function.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            arrays: Vec::new(),
            vars: Vec::new(),
            params: 0,
            names: HashSet::new(),
            blocks: vec![Vec::new()],
            loops: Vec::new(),
            declared: Vec::new(),
            shifts: Vec::new(),
            coded: HashMap::new(),
        }
    }

    /// Declares an array. A number is appended to a name that is already taken.
    pub fn array(&mut self, name: &str, elem: Elem, written: bool) -> ArrayId {
        self.declare_array(name, elem, written, false)
    }

    /// Declares an array that is written and can grow. A number is appended to a name that is
    /// already taken.
    ///
    /// ```
    /// use ust_ir::interp::{Memory, Program};
    /// use ust_ir::{Builder, Elem, Expr, Ty};
    /// use ust_ir::IndexKind;
    ///
    /// let mut b = Builder::new("squares");
    /// let n = b.param("n", Ty::Int);
    /// let out = b.growing("out", Elem::Index(IndexKind::I64));
    /// b.for_("i", 0.into(), n, |b, i| {
    ///     b.if_(Expr::Len(out).le(i.clone()), |b| b.reserve(out, i.clone() + 1));
    ///     b.store(out, i.clone(), i.clone() * i);
    /// });
    /// let mut squares: Vec<i64> = Vec::new();
    /// Program::compile(&b.finish())?.run(&[4.into()], &mut [Memory::Grow(&mut squares)])?;
    /// assert_eq!(squares[..4], [0, 1, 4, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn growing(&mut self, name: &str, elem: Elem) -> ArrayId {
        self.declare_array(name, elem, true, true)
    }

    fn declare_array(&mut self, name: &str, elem: Elem, written: bool, grows: bool) -> ArrayId {
        let name = self.fresh(name);
        self.arrays.push(ArrayDecl { name, elem, written, grows });
        ArrayId(self.arrays.len() as u32 - 1)
    }

    /// Declares a scalar parameter. All parameters come before the first variable.
    ///
    /// # Panics
    /// If a variable was declared before.
    pub fn param(&mut self, name: &str, ty: Ty) -> Expr {
        assert_eq!(self.params, self.vars.len(), "parameters come first");
        let var = self.variable(name, ty);
        self.params += 1;
        Expr::Var(var)
    }

    fn fresh(&mut self, name: &str) -> String {
        let mut unique = name.to_owned();
        let mut n = 1;
        while !self.names.insert(unique.clone()) {
            n += 1;
            unique = format!("{name}_{n}");
        }
        unique
    }

    fn variable(&mut self, name: &str, ty: Ty) -> Var {
        let name = self.fresh(name);
        self.vars.push(VarDecl { name, ty });
        Var(self.vars.len() as u32 - 1)
    }

    fn push(&mut self, stmt: Stmt) {
        self.blocks.last_mut().expect("the body is open until finish").push(stmt);
    }

    /// The type of an expression.
    #[must_use]
    pub fn type_of(&self, expr: &Expr) -> Ty {
        super::type_of(&self.vars, &self.arrays, expr)
    }

    /// An element of an array, as an expression.
    #[must_use]
    pub fn load(&self, array: ArrayId, index: Expr) -> Expr {
        Expr::Load(array, Box::new(index.plus_again(&self.begin(array))))
    }

    /// Where an array begins, see [`shifted`](Self::shifted).
    #[must_use]
    pub fn begin(&self, array: ArrayId) -> Expr {
        let shift = self.shifts.iter().rfind(|(shifted, _)| *shifted == array);
        shift.map_or(Expr::Int(0), |(_, by)| by.clone())
    }

    /// Emits with `write`, for which each of these arrays begins at an index of its own.
    ///
    /// ```
    /// use ust_ir::{Builder, Expr, IndexKind};
    ///
    /// let mut b = Builder::new("second");
    /// let pos = b.index_array("pos", IndexKind::U32);
    /// let third = b.shifted(&[(pos, 2.into())], |b| b.load(pos, 0.into()));
    /// assert_eq!(third, b.load(pos, 2.into()));
    /// ```
    pub fn shifted<T>(
        &mut self,
        begins: &[(ArrayId, Expr)],
        write: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.shifts.len();
        self.shifts.extend_from_slice(begins);
        let written = write(self);
        self.shifts.truncate(before);
        written
    }

    /// Evaluates an expression once and names the result. A constant or a variable is returned
    /// unchanged: use [`Builder::var`] for a variable that will be assigned.
    pub fn bind(&mut self, name: &str, expr: Expr) -> Expr {
        match expr {
            Expr::Int(_) | Expr::Bool(_) | Expr::Const(_) | Expr::Var(_) => expr,
            _ => Expr::Var(self.var(name, expr)),
        }
    }

    /// Declares a variable that can be assigned.
    pub fn var(&mut self, name: &str, init: Expr) -> Var {
        let ty = self.type_of(&init);
        let var = self.variable(name, ty);
        self.push(Stmt::Let(var, init));
        var
    }

    /// Gives a variable another value.
    pub fn assign(&mut self, var: Var, value: Expr) {
        self.push(Stmt::Assign(var, value));
    }

    /// Writes an element.
    pub fn store(&mut self, array: ArrayId, index: Expr, value: Expr) {
        self.push(Stmt::Store(array, index, value));
    }

    /// Combines a value into an element.
    pub fn reduce(&mut self, op: BinOp, array: ArrayId, index: Expr, value: Expr) {
        self.push(Stmt::Reduce(op, array, index, value));
    }

    /// Extends an array that grows to at least this length.
    pub fn reserve(&mut self, array: ArrayId, len: Expr) {
        self.push(Stmt::Reserve(array, len));
    }

    /// Sorts the elements `lo..hi` of a written index array of kind i64.
    pub fn sort(&mut self, array: ArrayId, lo: Expr, hi: Expr) {
        self.push(Stmt::Sort(array, lo, hi));
    }

    /// Number of variables declared so far. The next one is `Var` of this number.
    #[must_use]
    pub fn variable_count(&self) -> u32 {
        self.vars.len() as u32
    }

    /// Number of loops `for` that are open.
    #[must_use]
    pub fn open_loops(&self) -> usize {
        self.loops.len()
    }

    /// Says what the open loops compute, see [`idiom`](super::idiom). The loops may have other effects as well:
    /// then the idiom is that of the inner loops that have none, if there are any.
    ///
    /// Back ends run what is declared in the place of the loops, so it has to be true: where a back end checks no
    /// access, a false declaration may read and write outside arrays. Compare [`Function::meant`].
    pub fn declare(&mut self, declared: impl Into<Declared>) {
        self.declared.push((self.loops.clone(), declared.into()));
    }

    /// A comment in the printed form.
    pub fn comment(&mut self, text: &str) {
        self.push(Stmt::Comment(text.to_owned()));
    }

    fn block(&mut self, write: impl FnOnce(&mut Self)) -> Vec<Stmt> {
        self.blocks.push(Vec::new());
        write(self);
        self.blocks.pop().expect("pushed above")
    }

    /// `for name in lo..hi`. If `hi` has the form `lo + 1`, the body of the only iteration is
    /// emitted without a loop. (Positions and coordinates are below `i64::MAX`, so `lo + 1` does
    /// not wrap.)
    pub fn for_(&mut self, name: &str, lo: Expr, hi: Expr, body: impl FnOnce(&mut Self, Expr)) {
        if hi == lo.clone() + 1 {
            let only = self.var(name, lo);
            return body(self, only.into());
        }
        let var = self.variable(name, Ty::Int);
        self.loops.push(var);
        let body = self.block(|b| body(b, Expr::Var(var)));
        self.loops.pop();
        self.push(Stmt::For { var, lo, hi, body });
    }

    /// A loop over entries at positions from `first.1` on, whose coordinates are in a code that begins with `first.0`.
    /// The body gets the coordinate and the position. Iterations follow each other: each takes up the code where the
    /// one before left it.
    ///
    /// ```
    /// use ust_ir::idiom::Code;
    /// use ust_ir::interp::{Memory, Program};
    /// use ust_ir::{Builder, Elem, IndexKind};
    ///
    /// let mut b = Builder::new("ones");
    /// let out = b.array("out", Elem::Index(IndexKind::I64), true);
    /// // Bits 0, 3 and 4 are set.
    /// let code = Code::Ones(0b11001.into());
    /// b.coded("j", (100.into(), 1.into()), code, |b, crd, pos| b.store(out, pos, crd));
    /// let mut crd = [0_i64; 4];
    /// Program::compile(&b.finish())?.run(&[], &mut [Memory::indices_mut(&mut crd)])?;
    /// assert_eq!(crd, [0, 100, 103, 104]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn coded(
        &mut self,
        name: &str,
        first: (Expr, Expr),
        code: Code,
        body: impl FnOnce(&mut Self, Expr, Expr),
    ) {
        let (crd, pos) = (self.bind("first", first.0), self.bind("begin", first.1));
        let code = match code {
            Code::Ones(mask) => Code::Ones(self.bind("mask", mask)),
            code => code,
        };
        let end = pos.clone() + code.count();
        let coded = Coded::new(name, crd, code, &mut |name| self.variable(name, Ty::Int));
        coded.begin().into_iter().for_each(|stmt| self.push(stmt));
        self.for_(&format!("p_{name}"), pos, end, |b, pos| {
            let Expr::Var(var) = pos else { unreachable!("a loop has a variable") };
            coded.next(var).into_iter().for_each(|stmt| b.push(stmt));
            let crd = coded.crd.into();
            // Kernels know numbers at their positions only.
            let is_shifted =
                matches!(&coded.code, Code::Gaps { numbers, .. } if numbers.shift.is_some());
            if !is_shifted {
                b.coded.insert(var, coded);
            }
            body(b, crd, pos);
        });
    }

    /// `while cond`.
    pub fn while_(&mut self, cond: Expr, body: impl FnOnce(&mut Self)) {
        let body = self.block(body);
        self.push(Stmt::While { cond, body });
    }

    /// `if cond`. For a constant condition, the block is emitted in place, or left out.
    pub fn if_(&mut self, cond: Expr, then: impl FnOnce(&mut Self)) {
        self.if_else(cond, then, |_| {});
    }

    /// `if cond {} else {}`.
    pub fn if_else(
        &mut self,
        cond: Expr,
        then: impl FnOnce(&mut Self),
        otherwise: impl FnOnce(&mut Self),
    ) {
        match cond {
            Expr::Bool(true) => then(self),
            Expr::Bool(false) => otherwise(self),
            cond => {
                let then = self.block(then);
                let otherwise = self.block(otherwise);
                self.push(Stmt::If { cond, then, otherwise });
            }
        }
    }

    /// The finished function.
    ///
    /// # Panics
    /// If called inside a block.
    #[must_use]
    pub fn finish(mut self) -> Function {
        assert_eq!(self.blocks.len(), 1, "finish is called outside all blocks");
        let body = self.blocks.pop().expect("one block");
        let mut function = Function {
            name: self.name,
            arrays: self.arrays,
            params: self.params,
            vars: self.vars,
            body,
            idioms: Vec::new(),
        };
        if !self.declared.is_empty() {
            let (body, assigned) = (&function.body, function.assigned());
            let declared = self.declared.into_iter();
            let settled = declared.filter_map(|(vars, one)| {
                settle(body, &assigned, &Path { vars: &vars, coded: &self.coded }, one)
            });
            function.idioms = settled.collect();
        }
        function
    }

    /// The declaration of an array.
    #[must_use]
    pub fn array_decl(&self, array: ArrayId) -> &ArrayDecl {
        &self.arrays[array.0 as usize]
    }

    /// Declares an index array that is only read, such as a level's `crd`.
    pub fn index_array(&mut self, name: &str, kind: crate::IndexKind) -> ArrayId {
        self.array(name, Elem::Index(kind), false)
    }
}
