//! Expressions.

use ust_level_api::ir::{ArrayId, BinOp, Elem, Expr, Func, Ty, UnOp};
use ust_level_api::{Dtype, IndexKind, Scalar};

use super::kernel::Reach;
use super::types::{constant, held, int, is_half, is_integer};
use super::{Target, Use, Writer};
use crate::prelude::Sections;

/// How tightly an operator binds, in C++.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Level {
    Select,
    Or,
    And,
    BitAnd,
    Equal,
    Compare,
    Shift,
    Sum,
    Product,
    Unary,
    Atom,
}

/// Text, and the operator that binds least tightly in it.
struct Shown(String, Level);

impl Writer<'_> {
    /// An expression as it may stand by itself.
    pub(super) fn expr(&mut self, expr: &Expr) -> String {
        self.shown(expr).0
    }

    /// An expression as an argument of a function, where an integer constant needs its type.
    fn argument(&mut self, expr: &Expr) -> String {
        match expr {
            Expr::Int(value) if i32::try_from(*value).is_ok() => format!("{value}ll"),
            expr => self.expr(expr),
        }
    }

    /// An expression in parentheses if it binds less tightly than `least`.
    pub(super) fn inner(&mut self, expr: &Expr, least: Level) -> String {
        let Shown(text, level) = self.shown(expr);
        if level < least { format!("({text})") } else { text }
    }

    fn call(&mut self, name: &str, args: &[&Expr]) -> Shown {
        let args: Vec<String> = args.iter().map(|arg| self.argument(arg)).collect();
        Shown(format!("{name}({})", args.join(", ")), Level::Atom)
    }

    /// A call of a function that divides, and notes where if the divisor is 0.
    fn dividing(&mut self, name: &str, args: &[&Expr], whole: &Expr) -> Shown {
        let args: Vec<String> = args.iter().map(|arg| self.argument(arg)).collect();
        self.uses.insert(Use::Error);
        self.sites.push(self.function.show_expr(whole).to_string());
        let site = self.sites.len();
        Shown(format!("{name}({}, error, {site})", args.join(", ")), Level::Atom)
    }

    fn shown(&mut self, expr: &Expr) -> Shown {
        if self.old.as_ref() == Some(expr) {
            return Shown("old".to_owned(), Level::Atom);
        }
        let atom = |text: String| Shown(text, Level::Atom);
        match expr {
            Expr::Int(value) if *value < 0 => Shown(int(*value), Level::Unary),
            Expr::Int(value) => atom(int(*value)),
            Expr::Bool(value) => atom(value.to_string()),
            Expr::Const(value) => self.constant(*value),
            Expr::Var(var) => {
                if (var.0 as usize) < self.function.params {
                    self.uses.insert(Use::Parameter(var.0 as usize));
                }
                atom(self.names.var(*var).to_owned())
            }
            Expr::Len(array) => {
                self.uses.insert(Use::Length(*array));
                atom(format!("len_{}", self.names.array(*array)))
            }
            Expr::Load(array, index) => self.load(*array, index),
            Expr::Unary(UnOp::Not, a) => {
                Shown(format!("!{}", self.inner(a, Level::Unary)), Level::Unary)
            }
            Expr::Unary(op @ (UnOp::CountOnes | UnOp::TrailingZeros), a) => {
                self.need(Sections::INTEGERS);
                self.call(&format!("ust_{op}"), &[a])
            }
            Expr::Unary(UnOp::Neg, a) => match self.function.type_of(a) {
                Ty::Val(dtype) if is_integer(dtype) => {
                    self.need(Sections::INTEGERS);
                    self.call("ust_neg", &[a])
                }
                _ => Shown(format!("-{}", self.inner(a, Level::Atom)), Level::Unary),
            },
            Expr::Binary(op, a, b) => self.binary(*op, a, b, expr),
            Expr::Select(cond, a, b) => {
                let cond = self.inner(cond, Level::Or);
                let (a, b) = (self.inner(a, Level::Or), self.inner(b, Level::Select));
                Shown(format!("{cond} ? {a} : {b}"), Level::Select)
            }
            Expr::Call(func, args) => self.function_of(*func, args, expr),
            Expr::Cast(dtype, a) => self.cast(*dtype, a),
            Expr::ToInt(a) => self.cast(Dtype::I64, a),
        }
    }

    fn constant(&mut self, value: Scalar) -> Shown {
        self.need_dtype(value.dtype());
        let text = constant(value);
        if text.contains("ust_") {
            self.need(Sections::FLOATS);
        }
        let level = if text.starts_with(['-', '(']) { Level::Unary } else { Level::Atom };
        Shown(text, level)
    }

    /// Whether an index is computed in 32 bits. An index in bounds of at most 2^32 elements is what remains of it modulo
    /// 2^32; sums, differences and products may be formed modulo 2^32 all the way. Compilers turn products with
    /// variables of a loop into sums, which is better still: only those with numbers that the innermost loop reads are
    /// worth it.
    pub(super) fn is_short(&self, array: ArrayId, index: &Expr) -> bool {
        let is_target = matches!(self.target, Target::Cuda { short: true, .. });
        let mut found = false;
        index.visit(&mut |part| {
            found |= matches!(part, Expr::Binary(BinOp::Mul, a, b) if self.is_read(a) || self.is_read(b));
        });
        is_target && found && !self.function.arrays[array.0 as usize].written
    }

    /// Whether an expression depends on what the innermost loop reads.
    pub(super) fn is_read(&self, expr: &Expr) -> bool {
        let mut found = false;
        expr.visit(&mut |part| {
            found |= matches!(part, Expr::Var(var) if self.read.contains(var))
                || matches!(part, Expr::Load(..));
        });
        found
    }

    /// An expression modulo 2^32.
    pub(super) fn short(&mut self, expr: &Expr) -> String {
        self.modulo(expr).0
    }

    fn modulo(&mut self, expr: &Expr) -> Shown {
        match expr {
            Expr::Int(value) => Shown(format!("{}u", *value as u32), Level::Atom),
            Expr::Binary(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul), a, b) => {
                let (level, tighter) = match op {
                    BinOp::Mul => (Level::Product, Level::Unary),
                    _ => (Level::Sum, Level::Product),
                };
                let mut part = |expr, least| {
                    let Shown(text, level) = self.modulo(expr);
                    if level < least { format!("({text})") } else { text }
                };
                let (a, b) = (part(a, level), part(b, tighter));
                Shown(format!("{a} {op} {b}"), level)
            }
            expr => Shown(format!("(u32){}", self.inner(expr, Level::Unary)), Level::Unary),
        }
    }

    fn load(&mut self, array: ArrayId, index: &Expr) -> Shown {
        let elem = self.function.arrays[array.0 as usize].elem;
        if self.reach(array) == Reach::Dropped {
            self.refuse("code reads rows that it appends");
        }
        let index = match elem {
            Elem::Index(IndexKind::U2) => self.argument(index),
            _ => self.index(array, index),
        };
        let name = self.array(array).to_owned();
        if self.is_list(array) {
            return Shown(format!("(i64){name}[{index}]"), Level::Unary);
        }
        match elem {
            Elem::Index(IndexKind::U2) => {
                Shown(format!("ust_two_bits({name}, {index})"), Level::Atom)
            }
            Elem::Index(IndexKind::I64) => Shown(format!("{name}[{index}]"), Level::Atom),
            Elem::Index(_) => Shown(format!("(i64){name}[{index}]"), Level::Unary),
            elem if is_half(elem) => {
                self.need(Sections::HALVES);
                Shown(format!("ust_get({name}[{index}])"), Level::Atom)
            }
            Elem::Value(dtype) => {
                self.need_dtype(dtype);
                Shown(format!("{name}[{index}]"), Level::Atom)
            }
        }
    }

    fn binary(&mut self, op: BinOp, a: &Expr, b: &Expr, whole: &Expr) -> Shown {
        let ty = self.function.type_of(a);
        let plain = |sign: &'static str, level: Level| Some((sign, level));
        let integer = matches!(ty, Ty::Val(dtype) if is_integer(dtype));
        let truth = ty == Ty::Val(Dtype::Bool);
        let sign = match op {
            BinOp::And => plain("&&", Level::And),
            BinOp::Or => plain("||", Level::Or),
            BinOp::Eq => plain("==", Level::Equal),
            BinOp::Ne => plain("!=", Level::Equal),
            BinOp::Lt => plain("<", Level::Compare),
            BinOp::Le => plain("<=", Level::Compare),
            BinOp::BitAnd => plain("&", Level::BitAnd),
            BinOp::Shr => plain(">>", Level::Shift),
            BinOp::Add | BinOp::Max if truth => plain("||", Level::Or),
            BinOp::Mul | BinOp::Min if truth => plain("&&", Level::And),
            BinOp::Add if !integer => plain("+", Level::Sum),
            BinOp::Sub if !integer => plain("-", Level::Sum),
            BinOp::Mul if !integer => plain("*", Level::Product),
            BinOp::Div if !integer => plain("/", Level::Product),
            _ => None,
        };
        if let Some((sign, level)) = sign {
            // Operators group from the left, and comparisons do not chain.
            let tighter = match level {
                Level::Or => Level::And,
                Level::And => Level::BitAnd,
                Level::BitAnd | Level::Equal | Level::Compare => Level::Shift,
                // Few people know which of `+` and `>>` binds more tightly.
                Level::Shift => Level::Product,
                Level::Sum => Level::Product,
                _ => Level::Unary,
            };
            let left = match level {
                Level::BitAnd | Level::Equal | Level::Compare | Level::Shift => tighter,
                level => level,
            };
            let left = self.inner(a, left);
            let right = match (op, b) {
                // The lowest six bits count.
                (BinOp::Shr, Expr::Int(by)) => (by & 63).to_string(),
                (BinOp::Shr, by) => format!("({} & 63)", self.inner(by, Level::Shift)),
                _ => self.inner(b, tighter),
            };
            return Shown(format!("{left} {sign} {right}"), level);
        }
        self.need(if matches!(ty, Ty::Val(dtype) if dtype.is_float()) {
            Sections::FLOATS
        } else {
            Sections::INTEGERS
        });
        match op {
            BinOp::Add => self.call("ust_add", &[a, b]),
            BinOp::Sub => self.call("ust_sub", &[a, b]),
            BinOp::Mul => self.call("ust_mul", &[a, b]),
            BinOp::Min => self.call("ust_minimum", &[a, b]),
            BinOp::Max => self.call("ust_maximum", &[a, b]),
            BinOp::Div => self.dividing("ust_div", &[a, b], whole),
            BinOp::FloorDiv | BinOp::Mod => {
                let name = if op == BinOp::FloorDiv { "ust_floordiv" } else { "ust_floormod" };
                match b {
                    Expr::Int(divisor) if *divisor != 0 => self.call(name, &[a, b]),
                    _ => self.dividing(name, &[a, b], whole),
                }
            }
            op => {
                self.refuse(&format!("`{op}` of {ty} has no meaning"));
                Shown("0".to_owned(), Level::Atom)
            }
        }
    }

    fn function_of(&mut self, func: Func, args: &[Expr], whole: &Expr) -> Shown {
        let Some(Ty::Val(dtype)) = args.first().map(|arg| self.function.type_of(arg)) else {
            self.refuse("a function takes no number");
            return Shown("0".to_owned(), Level::Atom);
        };
        self.need(Sections::of_call(func, dtype));
        let args: Vec<&Expr> = args.iter().collect();
        let name = format!("ust_{}", func.name());
        match func {
            Func::Rem if is_integer(dtype) => {
                self.need(Sections::INTEGERS);
                self.dividing(&name, &args, whole)
            }
            _ => self.call(&name, &args),
        }
    }

    fn cast(&mut self, to: Dtype, a: &Expr) -> Shown {
        self.need_dtype(to);
        let from = self.function.type_of(a);
        let to = held(to);
        let widens = match from {
            Ty::Val(dtype) if held(dtype) == to => return self.shown(a),
            Ty::Int if to == "i64" => return self.shown(a),
            Ty::Int => to == "double" || to == "float",
            Ty::Val(dtype) => {
                is_integer(dtype) && (to == "double" || to == "float")
                    || held(dtype) == "float" && to == "double"
            }
            Ty::Bool => false,
        };
        if widens {
            return Shown(format!("({to}){}", self.inner(a, Level::Unary)), Level::Unary);
        }
        self.need(Sections::CASTS);
        if matches!(from, Ty::Val(dtype) if dtype.is_complex()) {
            self.need(Sections::COMPLEX);
        }
        let a = self.argument(a);
        Shown(format!("ust_cast<{to}>({a})"), Level::Atom)
    }

    fn need_dtype(&mut self, dtype: Dtype) {
        if dtype.is_complex() {
            self.need(Sections::COMPLEX);
        }
    }
}
