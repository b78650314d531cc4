//! From the tree to instructions.
//!
//! Every variable has a register of its own, at its number; constants, array lengths and
//! intermediate results have the registers after those. A destination is written last, after all
//! operands were read, so that it may be an operand too.

use std::collections::HashMap;
use std::hash::Hash;

use super::Program;
use super::code::{Array, At, Op, Reg, Target};
use super::number::{Ops, Raw, ops, raw};
use crate::ir::validate::{ValidateError, validate};
use crate::ir::{ArrayId, BinOp, Elem, Expr, Function, Stmt, Ty, UnOp, Var};
use crate::scalar::Dtype;

/// As many registers of a file, and as many arrays, as instructions can number.
const LIMIT: usize = Reg::MAX as usize + 1;

impl Program {
    /// Validates a function and translates it. Cost: O(size of the function).
    ///
    /// # Errors
    /// What [`validate`] finds, and [`ValidateError::TooLarge`] where there are more than 65536
    /// arrays, or variables, constants and intermediate results of one kind.
    pub fn compile(function: &Function) -> Result<Self, ValidateError> {
        validate(function)?;
        let too_large = |what| {
            Err(ValidateError::TooLarge { function: function.name.clone(), what, limit: LIMIT })
        };
        if function.arrays.len() > LIMIT {
            return too_large("arrays");
        }
        let mut compiler = Compiler::new(function);
        compiler.block(&function.body);
        compiler.emit(Op::End);
        let Compiler { mut code, labels, ints, vals, lengths, divisions, .. } = compiler;
        if ints.start.len() > LIMIT || vals.start.len() > LIMIT {
            return too_large("variables, constants and intermediate results");
        }
        if Target::try_from(code.len()).is_err() {
            return too_large("instructions");
        }
        for target in code.iter_mut().filter_map(Op::target_mut) {
            *target = labels[*target as usize];
        }
        Ok(Self {
            name: function.name.clone(),
            arrays: function.arrays.clone(),
            params: function.vars[..function.params].to_vec(),
            code,
            ints: ints.start,
            vals: vals.start,
            lengths,
            divisions,
        })
    }
}

/// A file of registers.
struct File<T> {
    /// What they hold when a run starts.
    start: Vec<T>,
    constants: HashMap<T, Reg>,
    /// Registers for intermediate results; the first `live` of them are in use.
    spare: Vec<Reg>,
    live: usize,
}

impl<T: Copy + Default + Eq + Hash> File<T> {
    fn new(vars: usize) -> Self {
        Self { start: vec![T::default(); vars], constants: HashMap::new(), spare: vec![], live: 0 }
    }

    /// A register that nobody has. Where there is none left, the number is wrong, and compilation
    /// fails in the end.
    fn fresh(&mut self, start: T) -> Reg {
        self.start.push(start);
        (self.start.len() - 1) as Reg
    }

    fn constant(&mut self, value: T) -> Reg {
        if let Some(&reg) = self.constants.get(&value) {
            return reg;
        }
        let reg = self.fresh(value);
        self.constants.insert(value, reg);
        reg
    }

    fn temporary(&mut self) -> Reg {
        if self.live == self.spare.len() {
            let reg = self.fresh(T::default());
            self.spare.push(reg);
        }
        self.live += 1;
        self.spare[self.live - 1]
    }
}

struct Compiler<'a> {
    function: &'a Function,
    code: Vec<Op>,
    /// Where labels stand in the code.
    labels: Vec<Target>,
    ints: File<i64>,
    vals: File<Raw>,
    lengths: Vec<(Reg, Array)>,
    divisions: Vec<(usize, String)>,
    /// Variables that some statement assigns.
    assigned: Vec<bool>,
}

fn reg(var: Var) -> Reg {
    var.0 as Reg
}

fn mark_assigned(body: &[Stmt], assigned: &mut [bool]) {
    for stmt in body {
        match stmt {
            Stmt::Assign(var, _) => assigned[var.0 as usize] = true,
            Stmt::For { body, .. } | Stmt::While { body, .. } => mark_assigned(body, assigned),
            Stmt::If { then, otherwise, .. } => {
                mark_assigned(then, assigned);
                mark_assigned(otherwise, assigned);
            }
            _ => {}
        }
    }
}

/// Whether evaluation ends in a value whatever arrays and variables hold.
fn cannot_fail(expr: &Expr) -> bool {
    match expr {
        Expr::Load(..) => false,
        Expr::Binary(BinOp::FloorDiv | BinOp::Mod | BinOp::Div, ..) => false,
        Expr::Unary(_, a) => cannot_fail(a),
        Expr::Binary(_, a, b) => cannot_fail(a) && cannot_fail(b),
        Expr::Select(cond, a, b) => cannot_fail(cond) && cannot_fail(a) && cannot_fail(b),
        _ => true,
    }
}

impl<'a> Compiler<'a> {
    fn new(function: &'a Function) -> Self {
        let vars = function.vars.len();
        let mut assigned = vec![false; vars];
        mark_assigned(&function.body, &mut assigned);
        Self {
            function,
            code: Vec::new(),
            labels: Vec::new(),
            ints: File::new(vars),
            vals: File::new(vars),
            lengths: Vec::new(),
            divisions: Vec::new(),
            assigned,
        }
    }

    fn emit(&mut self, op: Op) {
        self.code.push(op);
    }

    fn label(&mut self) -> Target {
        self.labels.push(0);
        self.labels.len() as Target - 1
    }

    fn place(&mut self, label: Target) {
        self.labels[label as usize] = self.code.len() as Target;
    }

    /// Compiles something, after which its intermediate results are no longer needed.
    fn scoped<T>(&mut self, compile: impl FnOnce(&mut Self) -> T) -> T {
        let live = (self.ints.live, self.vals.live);
        let result = compile(self);
        (self.ints.live, self.vals.live) = live;
        result
    }

    fn elem(&self, array: ArrayId) -> (Elem, bool) {
        let decl = &self.function.arrays[array.0 as usize];
        (decl.elem, decl.written)
    }

    fn block(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.scoped(|c| c.stmt(stmt));
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(var, value) | Stmt::Assign(var, value) => {
                match self.function.vars[var.0 as usize].ty {
                    Ty::Int | Ty::Bool => self.int_into(value, reg(*var)),
                    Ty::Val(dtype) => self.val_into(value, dtype, reg(*var)),
                }
            }
            Stmt::Store(array, index, value) => self.store(None, *array, index, value),
            Stmt::Reduce(op, array, index, value) => self.store(Some(*op), *array, index, value),
            Stmt::For { var, lo, hi, body } => {
                let (start, end) = (self.label(), self.label());
                let a = reg(*var);
                self.int_into(lo, a);
                let b = match hi {
                    // Its value now, whatever the body makes of it.
                    Expr::Var(var) if self.assigned[var.0 as usize] => {
                        let d = self.ints.temporary();
                        self.emit(Op::Move { d, a: reg(*var) });
                        d
                    }
                    hi => self.int(hi),
                };
                self.emit(Op::JumpLe { a: b, b: a, to: end });
                self.place(start);
                self.block(body);
                self.emit(Op::Next { a, b, to: start });
                self.place(end);
            }
            Stmt::While { cond, body } => {
                let (start, test) = (self.label(), self.label());
                self.emit(Op::Jump { to: test });
                self.place(start);
                self.emit(Op::Round);
                self.block(body);
                self.place(test);
                self.jump_when(cond, true, start);
            }
            Stmt::If { cond, then, otherwise } => {
                let (no, end) = (self.label(), self.label());
                self.jump_when(cond, false, no);
                self.block(then);
                if !otherwise.is_empty() {
                    self.emit(Op::Jump { to: end });
                }
                self.place(no);
                self.block(otherwise);
                self.place(end);
            }
            Stmt::Comment(_) => {}
        }
    }

    /// Stores, or combines with an operator.
    fn store(&mut self, op: Option<BinOp>, array: ArrayId, index: &Expr, value: &Expr) {
        let (elem, _) = self.elem(array);
        let array = array.0 as Array;
        match elem {
            Elem::Index(_) => {
                let at = self.at(index);
                let value = self.int(value);
                self.emit(match op {
                    None => Op::Store { array, at, value },
                    Some(BinOp::Add) => Op::ReduceAdd { array, at, value },
                    Some(BinOp::Mul) => Op::ReduceMul { array, at, value },
                    Some(BinOp::Min) => Op::ReduceMin { array, at, value },
                    Some(BinOp::Max) => Op::ReduceMax { array, at, value },
                    Some(BinOp::BitAnd) => Op::ReduceBitAnd { array, at, value },
                    Some(_) => unreachable!("validated: a reduction"),
                });
            }
            Elem::Value(dtype @ (Dtype::F64 | Dtype::F32))
                if matches!(op, None | Some(BinOp::Add)) =>
            {
                let at = self.at(index);
                let value = self.val(value, dtype);
                self.emit(match (dtype, op) {
                    (Dtype::F64, None) => Op::StoreF64 { array, at, value },
                    (Dtype::F64, _) => Op::ReduceAddF64 { array, at, value },
                    (_, None) => Op::StoreF32 { array, at, value },
                    _ => Op::ReduceAddF32 { array, at, value },
                });
            }
            Elem::Value(dtype) => {
                let at = self.int(index);
                let value = self.val(value, dtype);
                let ops = ops(dtype);
                let f = op.map_or(Some(ops.store), |op| ops.reduce(op));
                let f = f.expect("validated: a reduction");
                self.emit(Op::ValStore { f, array, at, value });
            }
        }
    }

    /// An index; a constant that is added to a register costs nothing.
    fn at(&mut self, index: &Expr) -> At {
        if let Expr::Binary(op @ (BinOp::Add | BinOp::Sub), a, b) = index
            && let Expr::Int(offset) = **b
            && let Some(offset) =
                if *op == BinOp::Add { Some(offset) } else { offset.checked_neg() }
            && let Ok(offset) = i32::try_from(offset)
        {
            return At { reg: self.int(a), offset };
        }
        At { reg: self.int(index), offset: 0 }
    }

    /// The register of an `int` or `bool`.
    fn int(&mut self, expr: &Expr) -> Reg {
        match expr {
            Expr::Int(value) => self.ints.constant(*value),
            Expr::Bool(value) => self.ints.constant((*value).into()),
            Expr::Var(var) => reg(*var),
            Expr::Len(array) => {
                let array = array.0 as Array;
                if let Some((reg, _)) = self.lengths.iter().find(|(_, of)| *of == array) {
                    return *reg;
                }
                let reg = self.ints.fresh(0);
                self.lengths.push((reg, array));
                reg
            }
            _ => {
                let d = self.ints.temporary();
                self.int_into(expr, d);
                d
            }
        }
    }

    fn int_into(&mut self, expr: &Expr, d: Reg) {
        self.scoped(|c| match expr {
            Expr::Load(array, index) => {
                let at = c.at(index);
                let (elem, written) = c.elem(*array);
                let array = array.0 as Array;
                c.emit(match elem {
                    _ if written => Op::LoadWritten { d, array, at },
                    Elem::Index(kind) => Op::load(kind, d, array, at),
                    Elem::Value(_) => unreachable!("validated: an int is loaded from indices"),
                });
            }
            Expr::Unary(op, a) => {
                let a = c.int(a);
                c.emit(match op {
                    UnOp::Neg => Op::Neg { d, a },
                    UnOp::Not => Op::Not { d, a },
                });
            }
            Expr::Binary(op, a, b) => c.int_binary(expr, *op, a, b, d),
            Expr::Select(cond, a, b) => {
                c.select(cond, |c| c.int_into(a, d), |c| c.int_into(b, d));
            }
            Expr::Int(_) | Expr::Bool(_) | Expr::Var(_) | Expr::Len(_) => {
                let a = c.int(expr);
                c.emit(Op::Move { d, a });
            }
            Expr::Const(_) => unreachable!("validated: not an int"),
        });
    }

    fn int_binary(&mut self, whole: &Expr, op: BinOp, a: &Expr, b: &Expr, d: Reg) {
        if let Ty::Val(dtype) = self.function.type_of(a) {
            let (a, b) = (self.val(a, dtype), self.val(b, dtype));
            let f = ops(dtype).compare(op).expect("validated: a comparison gives bool");
            return self.emit(Op::ValCompare { f, d, a, b });
        }
        let a = self.int(a);
        // Rounding down makes division by powers of two shifts and masks, of negative numbers too.
        let (op, b) = match (op, b) {
            (BinOp::FloorDiv, &Expr::Int(b)) if b > 0 && b.count_ones() == 1 => {
                (BinOp::Shr, self.ints.constant(b.trailing_zeros().into()))
            }
            (BinOp::Mod, &Expr::Int(b)) if b > 0 && b.count_ones() == 1 => {
                (BinOp::BitAnd, self.ints.constant(b - 1))
            }
            _ => (op, self.int(b)),
        };
        if matches!(op, BinOp::FloorDiv | BinOp::Mod) {
            self.divides(whole);
        }
        self.emit(match op {
            BinOp::Add => Op::Add { d, a, b },
            BinOp::Sub => Op::Sub { d, a, b },
            BinOp::Mul => Op::Mul { d, a, b },
            BinOp::FloorDiv => Op::FloorDiv { d, a, b },
            BinOp::Mod => Op::Mod { d, a, b },
            BinOp::Min => Op::Min { d, a, b },
            BinOp::Max => Op::Max { d, a, b },
            BinOp::BitAnd | BinOp::And => Op::BitAnd { d, a, b },
            BinOp::Or => Op::BitOr { d, a, b },
            BinOp::Shr => Op::Shr { d, a, b },
            BinOp::Eq => Op::Eq { d, a, b },
            BinOp::Ne => Op::Ne { d, a, b },
            BinOp::Lt => Op::Lt { d, a, b },
            BinOp::Le => Op::Le { d, a, b },
            BinOp::Div => unreachable!("validated: only a val has a quotient"),
        });
    }

    /// Remembers what the next instruction divides.
    fn divides(&mut self, expr: &Expr) {
        let text = self.function.show_expr(expr).to_string();
        self.divisions.push((self.code.len(), text));
    }

    /// The register of a `val`.
    fn val(&mut self, expr: &Expr, dtype: Dtype) -> Reg {
        match expr {
            Expr::Const(value) => self.vals.constant(raw(*value)),
            Expr::Var(var) => reg(*var),
            _ => {
                let d = self.vals.temporary();
                self.val_into(expr, dtype, d);
                d
            }
        }
    }

    fn val_into(&mut self, expr: &Expr, dtype: Dtype, d: Reg) {
        self.scoped(|c| match expr {
            Expr::Const(_) | Expr::Var(_) => {
                let a = c.val(expr, dtype);
                c.emit(Op::ValMove { d, a });
            }
            Expr::Load(array, index) => {
                let (_, written) = c.elem(*array);
                let array = array.0 as Array;
                match dtype {
                    Dtype::F64 if !written => {
                        let at = c.at(index);
                        c.emit(Op::LoadF64 { d, array, at });
                    }
                    Dtype::F32 if !written => {
                        let at = c.at(index);
                        c.emit(Op::LoadF32 { d, array, at });
                    }
                    _ => {
                        let at = c.int(index);
                        let Ops { load, load_written, .. } = *ops(dtype);
                        c.emit(if written {
                            Op::ValLoadWritten { f: load_written, d, array, at }
                        } else {
                            Op::ValLoad { f: load, d, array, at }
                        });
                    }
                }
            }
            Expr::Unary(_, a) => {
                let a = c.val(a, dtype);
                c.emit(Op::ValUnary { f: ops(dtype).neg, d, a });
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (c.val(a, dtype), c.val(b, dtype));
                c.val_binary(expr, *op, dtype, (d, a, b));
            }
            Expr::Select(cond, yes, no) => {
                c.select(cond, |c| c.val_into(yes, dtype, d), |c| c.val_into(no, dtype, d));
            }
            Expr::Int(_) | Expr::Bool(_) | Expr::Len(_) => unreachable!("validated: not a val"),
        });
    }

    fn val_binary(&mut self, whole: &Expr, op: BinOp, dtype: Dtype, (d, a, b): (Reg, Reg, Reg)) {
        use Dtype::{Bf16, F16, F32, F64};
        let fast = match (dtype, op) {
            (F64, BinOp::Add) => Op::AddF64 { d, a, b },
            (F64, BinOp::Sub) => Op::SubF64 { d, a, b },
            (F64, BinOp::Mul) => Op::MulF64 { d, a, b },
            // In registers, these three are one.
            (F32 | F16 | Bf16, BinOp::Add) => Op::AddF32 { d, a, b },
            (F32 | F16 | Bf16, BinOp::Sub) => Op::SubF32 { d, a, b },
            (F32 | F16 | Bf16, BinOp::Mul) => Op::MulF32 { d, a, b },
            (_, BinOp::Div) => {
                self.divides(whole);
                Op::ValDivide { f: ops(dtype).div, d, a, b }
            }
            _ => {
                let f = ops(dtype).binary(op).expect("validated: gives a val");
                Op::ValBinary { f, d, a, b }
            }
        };
        self.emit(fast);
    }

    fn select(&mut self, cond: &Expr, yes: impl FnOnce(&mut Self), no: impl FnOnce(&mut Self)) {
        let (otherwise, end) = (self.label(), self.label());
        self.jump_when(cond, false, otherwise);
        yes(self);
        self.emit(Op::Jump { to: end });
        self.place(otherwise);
        no(self);
        self.place(end);
    }

    /// Jumps where the condition is `want`, and else falls through.
    fn jump_when(&mut self, cond: &Expr, want: bool, to: Target) {
        self.scoped(|c| match cond {
            Expr::Bool(value) => {
                if *value == want {
                    c.emit(Op::Jump { to });
                }
            }
            Expr::Unary(UnOp::Not, a) => c.jump_when(a, !want, to),
            // Both sides are evaluated, so jumping over one is open only where that makes no
            // difference.
            Expr::Binary(op @ (BinOp::And | BinOp::Or), a, b)
                if cannot_fail(a) || cannot_fail(b) =>
            {
                let (first, second) = if cannot_fail(b) { (a, b) } else { (b, a) };
                let decides = *op == BinOp::Or;
                if want == decides {
                    c.jump_when(first, want, to);
                    c.jump_when(second, want, to);
                } else {
                    let skip = c.label();
                    c.jump_when(first, decides, skip);
                    c.jump_when(second, want, to);
                    c.place(skip);
                }
            }
            Expr::Binary(op @ (BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le), a, b)
                if c.function.type_of(a) == Ty::Int =>
            {
                let (a, b) = (c.int(a), c.int(b));
                c.emit(match (op, want) {
                    (BinOp::Eq, true) | (BinOp::Ne, false) => Op::JumpEq { a, b, to },
                    (BinOp::Ne, true) | (BinOp::Eq, false) => Op::JumpNe { a, b, to },
                    (BinOp::Lt, true) => Op::JumpLt { a, b, to },
                    (BinOp::Lt, false) => Op::JumpLe { a: b, b: a, to },
                    (_, true) => Op::JumpLe { a, b, to },
                    (_, false) => Op::JumpLt { a: b, b: a, to },
                });
            }
            cond => {
                let a = c.int(cond);
                c.emit(if want { Op::JumpIf { a, to } } else { Op::JumpUnless { a, to } });
            }
        });
    }
}
