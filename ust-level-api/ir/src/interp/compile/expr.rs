//! Expressions and conditions.

use super::{Compiler, reg};
use crate::interp::code::{Array, At, Op, Reg, Target};
use crate::interp::func;
use crate::interp::index::loads;
use crate::interp::number::{Ops, ops, raw};
use crate::scalar::Dtype;
use crate::{ArrayDecl, BinOp, Elem, Expr, Func, IndexKind, Ty, UnOp};

impl Compiler<'_> {
    /// An index. An added constant becomes part of the instruction.
    pub(super) fn at(&mut self, index: &Expr) -> At {
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

    /// A register with the value of an `int` or `bool`.
    pub(super) fn int(&mut self, expr: &Expr) -> Reg {
        match expr {
            Expr::Int(value) => self.ints.constant(*value),
            Expr::Bool(value) => self.ints.constant((*value).into()),
            Expr::Var(var) => reg(*var),
            Expr::Len(array) => self.length(*array),
            _ => {
                let d = self.ints.temporary();
                self.int_into(expr, d);
                d
            }
        }
    }

    pub(super) fn int_into(&mut self, expr: &Expr, d: Reg) {
        self.scoped(|c| match expr {
            Expr::Load(array, index) => {
                let &ArrayDecl { elem, written, grows, .. } = c.decl(*array);
                let array = array.0 as Array;
                let Elem::Index(kind) = elem else {
                    unreachable!("validated: an int is loaded from indices")
                };
                if grows || (written && kind != IndexKind::I64) {
                    let at = c.int(index);
                    return c.emit(Op::IndexLoad { f: loads(kind), d, array, at });
                }
                let at = c.at(index);
                c.emit(if written {
                    Op::LoadWritten { d, array, at }
                } else {
                    Op::load(kind, d, array, at)
                });
            }
            Expr::Unary(op, a) => {
                let a = c.int(a);
                c.emit(match op {
                    UnOp::Neg => Op::Neg { d, a },
                    UnOp::Not => Op::Not { d, a },
                    UnOp::CountOnes => Op::CountOnes { d, a },
                    UnOp::TrailingZeros => Op::TrailingZeros { d, a },
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
            Expr::ToInt(a) => {
                let dtype = c.dtype(a);
                let a = c.val(a, dtype);
                c.emit(Op::ValToInt { f: func::to_int(dtype), d, a });
            }
            Expr::Call(_, args) => {
                let dtype = c.dtype(&args[0]);
                let a = c.val(&args[0], dtype);
                let f = func::signbit(dtype).expect("validated: the one that gives bool");
                c.emit(Op::ValToInt { f, d, a });
            }
            Expr::Const(_) | Expr::Cast(..) => unreachable!("validated: not an int"),
        });
    }

    fn int_binary(&mut self, whole: &Expr, op: BinOp, a: &Expr, b: &Expr, d: Reg) {
        if let Ty::Val(dtype) = self.function.type_of(a) {
            let (a, b) = (self.val(a, dtype), self.val(b, dtype));
            let f = ops(dtype).compare(op).expect("validated: a comparison gives bool");
            return self.emit(Op::ValCompare { f, d, a, b });
        }
        let a = self.int(a);
        // Division that rounds down, by a power of two, is a shift or a mask, for negative numbers
        // as well.
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

    /// Records the text of the division that the next instruction makes.
    fn divides(&mut self, expr: &Expr) {
        let text = self.function.show_expr(expr).to_string();
        self.divisions.push((self.code.len(), text));
    }

    /// A register with the value of a `val`.
    pub(super) fn val(&mut self, expr: &Expr, dtype: Dtype) -> Reg {
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

    pub(super) fn val_into(&mut self, expr: &Expr, dtype: Dtype, d: Reg) {
        self.scoped(|c| match expr {
            Expr::Const(_) | Expr::Var(_) => {
                let a = c.val(expr, dtype);
                c.emit(Op::ValMove { d, a });
            }
            Expr::Load(array, index) => {
                let &ArrayDecl { written, grows, .. } = c.decl(*array);
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
                        c.emit(if grows {
                            Op::GrowLoad { f: load_written, d, array, at }
                        } else if written {
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
            Expr::Call(func, args) => c.call(expr, *func, args, d),
            Expr::Cast(_, a) => match c.function.type_of(a) {
                Ty::Int | Ty::Bool => {
                    let a = c.int(a);
                    c.emit(Op::IntToVal { f: func::of_int(dtype), d, a });
                }
                Ty::Val(from) => {
                    let a = c.val(a, from);
                    c.emit(Op::ValUnary { f: func::casts(from, dtype), d, a });
                }
            },
            Expr::Int(_) | Expr::Bool(_) | Expr::Len(_) | Expr::ToInt(_) => {
                unreachable!("validated: not a val")
            }
        });
    }

    fn dtype(&self, expr: &Expr) -> Dtype {
        match self.function.type_of(expr) {
            Ty::Val(dtype) => dtype,
            ty => unreachable!("validated: a val, not {ty}"),
        }
    }

    /// A call of a function whose result is a `val`.
    fn call(&mut self, whole: &Expr, func: Func, args: &[Expr], d: Reg) {
        let known = "validated: the function takes the dtype and gives a val";
        let dtype = self.dtype(&args[0]);
        let a = self.val(&args[0], dtype);
        let Some(b) = args.get(1) else {
            let f = func::unary(func, dtype).expect(known);
            return self.emit(Op::ValUnary { f, d, a });
        };
        let b = self.val(b, dtype);
        if func == Func::Rem {
            self.divides(whole);
            let f = func::rem(dtype).expect(known);
            return self.emit(Op::ValDivide { f, d, a, b });
        }
        let f = func::binary(func, dtype).expect(known);
        self.emit(Op::ValBinary { f, d, a, b });
    }

    fn val_binary(&mut self, whole: &Expr, op: BinOp, dtype: Dtype, (d, a, b): (Reg, Reg, Reg)) {
        use Dtype::{Bf16, F16, F32, F64};
        let fast = match (dtype, op) {
            (F64, BinOp::Add) => Op::AddF64 { d, a, b },
            (F64, BinOp::Sub) => Op::SubF64 { d, a, b },
            (F64, BinOp::Mul) => Op::MulF64 { d, a, b },
            // Registers hold all three as f32.
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

    /// Jumps if the condition has the value `want`; else falls through.
    pub(super) fn jump_when(&mut self, cond: &Expr, want: bool, to: Target) {
        self.scoped(|c| match cond {
            Expr::Bool(value) => {
                if *value == want {
                    c.emit(Op::Jump { to });
                }
            }
            Expr::Unary(UnOp::Not, a) => c.jump_when(a, !want, to),
            // Both sides are evaluated by definition, so one may be skipped only if it cannot fail.
            Expr::Binary(op @ (BinOp::And | BinOp::Or), a, b)
                if a.cannot_fail() || b.cannot_fail() =>
            {
                let (first, second) = if b.cannot_fail() { (a, b) } else { (b, a) };
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
