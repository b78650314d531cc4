//! From the tree to instructions.
//!
//! Every variable has its own register, whose number is that of the variable. Constants, array
//! lengths and intermediate results have the registers after those. An instruction writes its
//! destination after it has read all operands, so the destination may be one of them.

mod expr;

use std::collections::HashMap;
use std::hash::Hash;

use super::Program;
use super::code::{Array, Op, Reg, Target};
use super::index::stores;
use super::number::{Raw, ops};
use crate::scalar::Dtype;
use crate::validate::{ValidateError, validate};
use crate::{ArrayDecl, ArrayId, BinOp, Elem, Expr, Function, IndexKind, Stmt, Ty, Var};

/// The largest number of registers in a file, and of arrays, that instructions can address.
const LIMIT: usize = Reg::MAX as usize + 1;

impl Program {
    /// Validates a function and translates it. Cost: O(size of the function).
    ///
    /// # Errors
    /// The errors of [`validate`]; and [`ValidateError::TooLarge`] if there are more than 65536
    /// arrays, or more variables, constants and intermediate results of one file.
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

/// A register file.
struct File<T> {
    /// Initial contents.
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

    /// An unused register. If there is none left, the number is wrong, and compilation fails at its
    /// end.
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
    /// The place of each label in the code.
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

impl<'a> Compiler<'a> {
    fn new(function: &'a Function) -> Self {
        let vars = function.vars.len();
        let assigned = function.assigned();
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

    /// Calls `compile`, and then releases the registers of its intermediate results.
    fn scoped<T>(&mut self, compile: impl FnOnce(&mut Self) -> T) -> T {
        let live = (self.ints.live, self.vals.live);
        let result = compile(self);
        (self.ints.live, self.vals.live) = live;
        result
    }

    fn decl(&self, array: ArrayId) -> &ArrayDecl {
        &self.function.arrays[array.0 as usize]
    }

    /// The register that holds an array's length.
    fn length(&mut self, array: ArrayId) -> Reg {
        let array = array.0 as Array;
        if let Some((reg, _)) = self.lengths.iter().find(|(_, of)| *of == array) {
            return *reg;
        }
        let reg = self.ints.fresh(0);
        self.lengths.push((reg, array));
        reg
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
                    // The bound is evaluated once: the body may assign the variable.
                    Expr::Var(var) if self.assigned[var.0 as usize] => {
                        let d = self.ints.temporary();
                        self.emit(Op::Move { d, a: reg(*var) });
                        d
                    }
                    Expr::Len(array) if self.decl(*array).grows => {
                        let (d, a) = (self.ints.temporary(), self.length(*array));
                        self.emit(Op::Move { d, a });
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
            Stmt::Reserve(array, len) => {
                let d = self.length(*array);
                let len = self.int(len);
                self.emit(Op::Reserve { d, array: array.0 as Array, len });
            }
            Stmt::Sort(array, lo, hi) => {
                let (lo, hi) = (self.int(lo), self.int(hi));
                self.emit(Op::Sort { array: array.0 as Array, lo, hi });
            }
            Stmt::Comment(_) => {}
        }
    }

    /// Stores a value, or combines it into an element.
    fn store(&mut self, op: Option<BinOp>, array: ArrayId, index: &Expr, value: &Expr) {
        let &ArrayDecl { elem, grows, .. } = self.decl(array);
        let array = array.0 as Array;
        match elem {
            Elem::Index(kind) if grows || kind != IndexKind::I64 => {
                let (at, value) = (self.int(index), self.int(value));
                let f = stores(kind, op);
                self.emit(Op::IndexStore { f, array, at, value });
            }
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
                if !grows && matches!(op, None | Some(BinOp::Add)) =>
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
                self.emit(if grows {
                    Op::GrowStore { f, array, at, value }
                } else {
                    Op::ValStore { f, array, at, value }
                });
            }
        }
    }
}
