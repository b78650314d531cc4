//! The names in expressions: dimensions, levels, and counters of entries.

use std::cell::RefCell;
use std::collections::HashMap;

use super::build::Text;
use super::error::{FormatError, quote};
use super::expr::IndexExpr;
use super::spec::Counter;
use super::suggest::nearest;
use super::syntax::{ExprKind, ExprSyntax, Name, Operator, Span};

/// The names that an expression may use, and names that it might use by mistake.
pub(super) struct Scope<'a> {
    pub(super) vars: &'a HashMap<&'a str, usize>,
    pub(super) what: &'static str,
    pub(super) other: &'a HashMap<&'a str, usize>,
    pub(super) other_what: &'static str,
    /// The counters so far. `None` if the expression may have none.
    pub(super) counters: Option<&'a RefCell<Vec<Counter>>>,
    /// MLIR's names of counters.
    pub(super) symbols: &'a [Name],
}

impl Scope<'_> {
    /// The dimensions of a counter as MLIR writes it, `c * 3 * i`: a product of a symbol, numbers, and dimensions.
    fn counted(&self, product: &ExprSyntax) -> Option<Vec<Name>> {
        let is_symbol = |name: &str| self.symbols.iter().any(|symbol| symbol.text == name);
        let (mut names, mut open) = (Vec::new(), vec![product]);
        while let Some(part) = open.pop() {
            match &part.kind {
                ExprKind::Binary(Operator::Mul, a, b) => open.extend([&**b, &**a]),
                ExprKind::Name(name) => {
                    names.push(Name { text: name.clone(), span: part.span.clone() });
                }
                ExprKind::Number(_) => {}
                _ => return None,
            }
        }
        let (symbols, dims): (Vec<Name>, Vec<Name>) =
            names.into_iter().partition(|name| is_symbol(&name.text));
        (!symbols.is_empty()).then_some(dims)
    }
}

impl Text<'_> {
    /// The expression, with numbers for names.
    pub(super) fn expr(
        self,
        syntax: &ExprSyntax,
        scope: &Scope<'_>,
    ) -> Result<IndexExpr, FormatError> {
        let boxed = |expr: &ExprSyntax| self.expr(expr, scope).map(Box::new);
        Ok(match &syntax.kind {
            ExprKind::Number(value) => IndexExpr::Const(*value),
            ExprKind::Name(name) => match scope.vars.get(name.as_str()) {
                Some(&var) => IndexExpr::Var(var),
                None => return Err(self.unknown_name(name, &syntax.span, scope)),
            },
            ExprKind::Counter(of) => IndexExpr::Var(self.counter(of, &syntax.span, scope)?),
            ExprKind::Negated(inner) => {
                IndexExpr::Mul(Box::new(IndexExpr::Const(-1)), boxed(inner)?)
            }
            ExprKind::Binary(Operator::Mul, ..) if let Some(of) = scope.counted(syntax) => {
                IndexExpr::Var(self.counter(&of, &syntax.span, scope)?)
            }
            ExprKind::Binary(operator, a, b) => {
                let (left, right) = (boxed(a)?, boxed(b)?);
                match operator {
                    Operator::Add => IndexExpr::Add(left, right),
                    Operator::Sub => IndexExpr::Sub(left, right),
                    Operator::Mul => {
                        if !left.vars().is_empty() && !right.vars().is_empty() {
                            let message = format!("a product of two {}s", scope.what);
                            return Err(self
                                .error(&syntax.span, message)
                                .with_help("one side of `*` must be a number"));
                        }
                        IndexExpr::Mul(left, right)
                    }
                    Operator::FloorDiv | Operator::Mod => {
                        let value = right.eval(&[]).filter(|_| right.vars().is_empty());
                        if value.is_none_or(|value| value < 1) {
                            return Err(self
                                .error(&b.span, "the divisor is not a positive number")
                                .with_help("divide by a number of at least 1, as in `i / 2`"));
                        }
                        if *operator == Operator::Mod {
                            IndexExpr::Mod(left, right)
                        } else {
                            IndexExpr::FloorDiv(left, right)
                        }
                    }
                }
            }
        })
    }

    /// The variable of a counter, which is new, or stands further in front as well.
    fn counter(self, of: &[Name], span: &Span, scope: &Scope<'_>) -> Result<usize, FormatError> {
        let Some(counters) = scope.counters else {
            let message = "only levels count entries";
            return Err(self.error(span, message).with_help(format!("use {}s here", scope.what)));
        };
        let mut dims = Vec::new();
        for name in of {
            match scope.vars.get(name.text.as_str()) {
                Some(&dim) if dims.contains(&dim) => {
                    let message = format!("{} is named twice", quote(&name.text));
                    return Err(self.error(&name.span, message));
                }
                Some(&dim) => dims.push(dim),
                None => return Err(self.unknown_name(&name.text, &name.span, scope)),
            }
        }
        if dims.len() >= scope.vars.len() {
            let message = "no two entries have the same coordinates in all dimensions";
            return Err(self
                .error(span, message)
                .with_help("count among entries that differ in some dimension, as in `#i`"));
        }
        dims.sort_unstable();
        let new = Counter { of: dims };
        let mut counters = counters.borrow_mut();
        let known = counters.iter().position(|known| *known == new);
        let at = known.unwrap_or(counters.len());
        if known.is_none() {
            counters.push(new);
        }
        Ok(scope.vars.len() + at)
    }

    fn unknown_name(self, name: &str, span: &Span, scope: &Scope<'_>) -> FormatError {
        let error = self.error(span, format!("unknown {} {}", scope.what, quote(name)));
        if scope.other.contains_key(name) {
            return error.with_help(format!(
                "{} is a {}; only {}s can be used here",
                quote(name),
                scope.other_what,
                scope.what
            ));
        }
        let mut known: Vec<(&str, usize)> = scope.vars.iter().map(|(n, at)| (*n, *at)).collect();
        known.sort_by_key(|&(_, at)| at);
        let names = known.iter().map(|&(name, _)| name);
        error.with_help(match nearest(name, names.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => format!("there are no {}s", scope.what),
            None => {
                let names: Vec<String> = names.take(8).map(quote).collect();
                let more = if known.len() > 8 { ", ..." } else { "" };
                format!("the {}s are {}{more}", scope.what, names.join(", "))
            }
        })
    }
}
