//! Pseudo-C, for people and snapshots.
//!
//! Printing never fails, so that error messages can show invalid code: a variable or array that the
//! function does not declare prints as `?v7` or `?a7`.
//!
//! Operators have the precedence of Rust, from the tightest: `-a !a`, `* / floordiv mod`, `+ -`,
//! `>>`, `&`, comparisons (which do not chain), `&&`, `||`, `c ? a : b`. Casts are those of C,
//! `(f32)a`, and bind like `-a`. A cast to f16 or bf16 rounds only when the number is stored.

#[cfg(test)]
mod tests;

use std::fmt::{self, Display, Formatter, Write as _};

use super::{ArrayDecl, ArrayId, BinOp, Elem, Expr, Function, Stmt, Ty, UnOp, Var};

/// The precedence of the outermost operator of an expression.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Select,
    Or,
    And,
    Compare,
    BitAnd,
    Shift,
    Sum,
    Product,
    Unary,
    Atom,
}

impl Level {
    fn of(expr: &Expr) -> Self {
        match expr {
            Expr::Select(..) => Level::Select,
            Expr::Unary(UnOp::CountOnes | UnOp::TrailingZeros, _) => Level::Atom,
            Expr::Unary(..) | Expr::Cast(..) | Expr::ToInt(_) => Level::Unary,
            Expr::Binary(op, ..) => match op {
                BinOp::Or => Level::Or,
                BinOp::And => Level::And,
                BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le => Level::Compare,
                BinOp::BitAnd => Level::BitAnd,
                BinOp::Shr => Level::Shift,
                BinOp::Add | BinOp::Sub => Level::Sum,
                BinOp::Mul | BinOp::Div | BinOp::FloorDiv | BinOp::Mod => Level::Product,
                BinOp::Min | BinOp::Max => Level::Atom,
            },
            _ => Level::Atom,
        }
    }
}

/// An expression with the names of its function. Made by [`Function::show_expr`].
pub struct ShowExpr<'a> {
    function: &'a Function,
    expr: &'a Expr,
}

/// A statement with the names of its function. Made by [`Function::show_stmt`].
pub struct ShowStmt<'a> {
    function: &'a Function,
    stmt: &'a Stmt,
    depth: usize,
}

impl Function {
    /// Prints an expression of this function.
    ///
    /// ```
    /// use ust_ir::{Builder, Expr, Ty};
    ///
    /// let mut b = Builder::new("f");
    /// let n = b.param("n", Ty::Int);
    /// let function = b.finish();
    /// assert_eq!(function.show_expr(&((n.clone() + 1) * n)).to_string(), "(n + 1) * n");
    /// ```
    #[must_use]
    pub fn show_expr<'a>(&'a self, expr: &'a Expr) -> ShowExpr<'a> {
        ShowExpr { function: self, expr }
    }

    /// Prints a statement of this function, indented by `depth` steps. Each line ends with a
    /// newline.
    #[must_use]
    pub fn show_stmt<'a>(&'a self, stmt: &'a Stmt, depth: usize) -> ShowStmt<'a> {
        ShowStmt { function: self, stmt, depth }
    }

    /// The name of a variable.
    #[must_use]
    pub fn var_name(&self, var: Var) -> String {
        self.vars
            .get(var.0 as usize)
            .map_or_else(|| format!("?v{}", var.0), |decl| decl.name.clone())
    }

    /// The name of an array.
    #[must_use]
    pub fn array_name(&self, array: ArrayId) -> String {
        self.arrays
            .get(array.0 as usize)
            .map_or_else(|| format!("?a{}", array.0), |decl| decl.name.clone())
    }
}

impl ShowExpr<'_> {
    /// Prints an operand, in parentheses if its operator binds less tightly than `least`.
    fn inner(&self, f: &mut Formatter<'_>, expr: &Expr, least: Level) -> fmt::Result {
        let show = self.function.show_expr(expr);
        if Level::of(expr) < least { write!(f, "({show})") } else { show.fmt(f) }
    }
}

impl Display for ShowExpr<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let show = |expr| self.function.show_expr(expr);
        match self.expr {
            Expr::Int(value) => value.fmt(f),
            Expr::Bool(value) => value.fmt(f),
            Expr::Const(value) => write!(f, "{}({value})", value.dtype()),
            Expr::Var(var) => f.write_str(&self.function.var_name(*var)),
            Expr::Len(array) => write!(f, "len({})", self.function.array_name(*array)),
            Expr::Load(array, index) => {
                write!(f, "{}[{}]", self.function.array_name(*array), show(index))
            }
            Expr::Unary(op @ (UnOp::CountOnes | UnOp::TrailingZeros), a) => {
                write!(f, "{op}({})", show(a))
            }
            Expr::Unary(op, a) => {
                op.fmt(f)?;
                // `--a` would read as a decrement.
                let negative = matches!(**a, Expr::Unary(UnOp::Neg, _))
                    || matches!(**a, Expr::Int(value) if value < 0);
                if negative { write!(f, "({})", show(a)) } else { self.inner(f, a, Level::Unary) }
            }
            Expr::Binary(op @ (BinOp::Min | BinOp::Max), a, b) => {
                write!(f, "{op}({}, {})", show(a), show(b))
            }
            Expr::Binary(op, a, b) => {
                let level = Level::of(self.expr);
                let tighter = |level| match level {
                    Level::Or => Level::And,
                    Level::And => Level::Compare,
                    Level::Compare => Level::BitAnd,
                    Level::BitAnd => Level::Shift,
                    Level::Shift => Level::Sum,
                    Level::Sum => Level::Product,
                    _ => Level::Unary,
                };
                // All operators group from the left, except comparisons, which do not chain.
                let left = if level == Level::Compare { tighter(level) } else { level };
                self.inner(f, a, left)?;
                write!(f, " {op} ")?;
                self.inner(f, b, tighter(level))
            }
            Expr::Call(func, args) => {
                let args: Vec<String> = args.iter().map(|arg| show(arg).to_string()).collect();
                write!(f, "{func}({})", args.join(", "))
            }
            Expr::Cast(dtype, a) => {
                write!(f, "({dtype})")?;
                self.inner(f, a, Level::Unary)
            }
            Expr::ToInt(a) => {
                f.write_str("(int)")?;
                self.inner(f, a, Level::Unary)
            }
            Expr::Select(cond, a, b) => {
                self.inner(f, cond, Level::Or)?;
                f.write_str(" ? ")?;
                self.inner(f, a, Level::Or)?;
                f.write_str(" : ")?;
                self.inner(f, b, Level::Select)
            }
        }
    }
}

impl ShowStmt<'_> {
    fn block(&self, f: &mut Formatter<'_>, body: &[Stmt]) -> fmt::Result {
        body.iter().try_for_each(|stmt| self.function.show_stmt(stmt, self.depth + 1).fmt(f))
    }

    fn indent(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:width$}", "", width = self.depth * 2)
    }

    /// `if ... {}`. An `else` block that is a single `if` is printed as `else if`.
    fn branches(
        &self,
        f: &mut Formatter<'_>,
        cond: &Expr,
        then: &[Stmt],
        otherwise: &[Stmt],
    ) -> fmt::Result {
        let (mut cond, mut then, mut otherwise) = (cond, then, otherwise);
        loop {
            writeln!(f, "if {} {{", self.function.show_expr(cond))?;
            self.block(f, then)?;
            self.indent(f)?;
            match otherwise {
                [] => return f.write_str("}\n"),
                [Stmt::If { cond: c, then: t, otherwise: o }] => {
                    f.write_str("} else ")?;
                    (cond, then, otherwise) = (c, t, o);
                }
                otherwise => {
                    f.write_str("} else {\n")?;
                    self.block(f, otherwise)?;
                    self.indent(f)?;
                    return f.write_str("}\n");
                }
            }
        }
    }
}

impl Display for ShowStmt<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let show = |expr| self.function.show_expr(expr);
        let array = |id: &ArrayId| self.function.array_name(*id);
        let var = |var: &Var| self.function.var_name(*var);
        if let Stmt::Comment(text) = self.stmt {
            for line in text.lines() {
                self.indent(f)?;
                writeln!(f, "// {line}")?;
            }
            return Ok(());
        }
        self.indent(f)?;
        match self.stmt {
            Stmt::Let(v, value) => writeln!(f, "let {} = {};", var(v), show(value)),
            Stmt::Assign(v, value) => writeln!(f, "{} = {};", var(v), show(value)),
            Stmt::Store(a, index, value) => {
                writeln!(f, "{}[{}] = {};", array(a), show(index), show(value))
            }
            Stmt::Reduce(op, a, index, value) => {
                writeln!(f, "{}[{}] {op}= {};", array(a), show(index), show(value))
            }
            Stmt::Reserve(a, len) => writeln!(f, "reserve({}, {});", array(a), show(len)),
            Stmt::Sort(a, lo, hi) => {
                writeln!(f, "sort({}, {}, {});", array(a), show(lo), show(hi))
            }
            Stmt::For { var: v, lo, hi, body } => {
                // `..` binds less tightly than every operator but the conditional.
                let bound = |expr| match Level::of(expr) {
                    Level::Select => format!("({})", show(expr)),
                    _ => show(expr).to_string(),
                };
                writeln!(f, "for {} in {}..{} {{", var(v), bound(lo), bound(hi))?;
                self.block(f, body)?;
                self.indent(f)?;
                f.write_str("}\n")
            }
            Stmt::While { cond, body } => {
                writeln!(f, "while {} {{", show(cond))?;
                self.block(f, body)?;
                self.indent(f)?;
                f.write_str("}\n")
            }
            Stmt::If { cond, then, otherwise } => self.branches(f, cond, then, otherwise),
            Stmt::Comment(_) => Ok(()),
        }
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "fn {}(", self.name)?;
        let params = self.vars.iter().take(self.params);
        let params: Vec<String> = params.map(|p| format!("{} {}", p.ty, p.name)).collect();
        let arrays: Vec<String> = self.arrays.iter().map(ToString::to_string).collect();
        f.write_str(&params.join(", "))?;
        if !params.is_empty() && !arrays.is_empty() {
            f.write_str("; ")?;
        }
        writeln!(f, "{}) {{", arrays.join(", "))?;
        for stmt in &self.body {
            self.show_stmt(stmt, 1).fmt(f)?;
        }
        f.write_char('}')
    }
}

/// `u32 A2_crd[]`; `mut f64 y[]` if it is written; `grow i64 crd[]` if it grows.
impl Display for ArrayDecl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let how = match self {
            ArrayDecl { grows: true, .. } => "grow ",
            ArrayDecl { written: true, .. } => "mut ",
            _ => "",
        };
        write!(f, "{how}{} {}[]", self.elem, self.name)
    }
}

impl Display for Ty {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Ty::Int => f.pad("int"),
            Ty::Bool => f.pad("bool"),
            Ty::Val(dtype) => dtype.fmt(f),
        }
    }
}

/// The kind of an index, or the dtype of a value.
impl Display for Elem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Elem::Index(kind) => kind.fmt(f),
            Elem::Value(dtype) => dtype.fmt(f),
        }
    }
}

impl Display for UnOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UnOp::Neg => "-",
            UnOp::Not => "!",
            UnOp::CountOnes => "count_ones",
            UnOp::TrailingZeros => "trailing_zeros",
        })
    }
}

impl Display for BinOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Mul => "*",
            BinOp::FloorDiv => "floordiv",
            BinOp::Mod => "mod",
            BinOp::Div => "/",
            BinOp::Min => "min",
            BinOp::Max => "max",
            BinOp::BitAnd => "&",
            BinOp::Shr => ">>",
            BinOp::And => "&&",
            BinOp::Or => "||",
            BinOp::Eq => "==",
            BinOp::Ne => "!=",
            BinOp::Lt => "<",
            BinOp::Le => "<=",
        })
    }
}
