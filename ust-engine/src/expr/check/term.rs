//! The right-hand side.

use std::ops::Range;

use num_complex::Complex;
use ust_level_api::ir::Func;
use ust_level_api::{Dtype, Scalar};

use super::Checker;
use super::typed::{self, Ty, Typed};
use crate::expr::OpError;
use crate::expr::functions::{Meaning, meaning};
use crate::expr::operator::Operator;
use crate::expr::semiring::Semiring;
use crate::expr::syntax::{Access, Kind, Literal, Node, Sign};
use crate::expr::term::Term;

impl Checker<'_> {
    /// A node of the right-hand side. `bound` has the names of indices that reductions around it reduce over.
    pub(super) fn node(&mut self, node: &Node, bound: &mut Vec<String>) -> Result<Typed, OpError> {
        match &node.kind {
            Kind::Literal(value) => Ok(typed::literal(scalar(*value))),
            Kind::Name(name) if self.scope.is_index(name) => {
                let term = Term::Index(self.scope.coordinate(name, &node.span)?);
                Ok(Typed { term, ty: Ty::Strong(Dtype::I64) })
            }
            Kind::Name(name) => {
                let span = node.span.clone();
                self.element(&Access { name: name.clone(), indices: Vec::new(), span })
            }
            Kind::Unary(sign, a) => {
                let op = if *sign == Sign::Not { Operator::Not } else { Operator::Neg };
                let args = vec![self.node(a, bound)?];
                self.call(&op, args, &node.span)
            }
            Kind::Binary(sign, a, b) => {
                let (a, b) = (self.node(a, bound)?, self.node(b, bound)?);
                self.binary(*sign, a, b, &node.span)
            }
            Kind::Apply { name, stored, over, args } => {
                let access = node.access(&|name| self.scope.declares(name));
                match access {
                    Some(access) => self.element(&access),
                    None => {
                        let call =
                            Application { name, stored: *stored, over: over.as_deref(), args };
                        self.apply(&call, &node.span, bound)
                    }
                }
            }
        }
    }

    fn element(&mut self, access: &Access) -> Result<Typed, OpError> {
        let plus = self.semiring.as_ref().map(Semiring::plus);
        let at = self.scope.element(access, plus)?;
        let ty = Ty::Strong(self.scope.dtype(at));
        Ok(Typed { term: Term::Element(at), ty })
    }

    pub(super) fn binary(
        &mut self,
        sign: Sign,
        a: Typed,
        b: Typed,
        span: &Range<usize>,
    ) -> Result<Typed, OpError> {
        let op = match sign {
            Sign::Or => Operator::Or,
            Sign::And => Operator::And,
            Sign::Eq => Operator::Eq,
            Sign::Ne | Sign::Not => Operator::Ne,
            Sign::Lt | Sign::Gt => Operator::Lt,
            Sign::Le | Sign::Ge => Operator::Le,
            Sign::Add => self.plus(),
            Sign::Sub if self.plus() == Operator::Add => Operator::Sub,
            Sign::Sub => {
                let message = "a semiring has no difference".to_owned();
                let help = format!("`+` means `{}` here", self.plus().name());
                return self.error(span, message, Some(help));
            }
            Sign::Mul => self.times(),
            Sign::Div => Operator::Div,
            Sign::Pow => Operator::Func(Func::Pow),
        };
        let args = if matches!(sign, Sign::Gt | Sign::Ge) { vec![b, a] } else { vec![a, b] };
        self.call(&op, args, span)
    }

    /// An operator on its arguments.
    pub(super) fn call(
        &self,
        op: &Operator,
        args: Vec<Typed>,
        span: &Range<usize>,
    ) -> Result<Typed, OpError> {
        let typed = typed::call(op, args, self.zero_of());
        typed.or_else(|error| self.refuse(op, &error, span))
    }

    /// A node `name(...)` that is not an access: a function or a reduction.
    fn apply(
        &mut self,
        call: &Application<'_>,
        span: &Range<usize>,
        bound: &mut Vec<String>,
    ) -> Result<Typed, OpError> {
        let meaning = match self.scope.operator(call.name) {
            Some(op) => Meaning::Call(Operator::User(op.clone()), op.arity()),
            None => match meaning(call.name) {
                Some(meaning) => meaning,
                None => return Err(self.scope.unknown_function(call.name, span)),
            },
        };
        let leading = call
            .args
            .iter()
            .take_while(|arg| arg.bare().is_some_and(|name| self.scope.is_index(name)));
        // The argument of a function of one may be an index: its coordinate.
        let leading = match &meaning {
            Meaning::Call(..) | Meaning::Stored => {
                leading.count().min(call.args.len().saturating_sub(1))
            }
            _ => leading.count(),
        };
        let reduces = |leading: usize| leading > 0 || call.over.is_some();
        match &meaning {
            Meaning::Reduce(op) => self.reduction(op, call, span, bound),
            Meaning::Fold(op) if reduces(leading) => self.reduction(op, call, span, bound),
            Meaning::Call(op @ Operator::User(_), _) if reduces(leading) => {
                self.reduction(op, call, span, bound)
            }
            _ => self.function(&meaning, call, span, bound),
        }
    }

    fn function(
        &mut self,
        meaning: &Meaning,
        call: &Application<'_>,
        span: &Range<usize>,
        bound: &mut Vec<String>,
    ) -> Result<Typed, OpError> {
        let (name, found) = (call.name, call.args.len());
        if call.over.is_some() {
            return self.error(span, format!("`{name}` is no reduction"), None);
        }
        let wanted = match meaning {
            Meaning::Call(_, arity) => *arity,
            Meaning::Cast(_) | Meaning::Stored => 1,
            Meaning::Fold(_) | Meaning::Reduce(_) => found.max(2),
        };
        if wanted != found {
            let arguments = if wanted == 1 { "argument" } else { "arguments" };
            let message = format!("`{name}` takes {wanted} {arguments}, and {found} stand here");
            return self.error(span, message, None);
        }
        if call.stored && wanted != 1 {
            let message = format!("`{name}[stored]` has one argument, and `{name}` takes {wanted}");
            return self.error(span, message, None);
        }
        let mut args = Vec::with_capacity(found);
        for arg in call.args {
            args.push(self.node(arg, bound)?);
        }
        match meaning {
            Meaning::Cast(dtype) => {
                let arg = args.remove(0);
                Ok(typed::cast(arg, *dtype, self.zero_of()))
            }
            Meaning::Stored if call.stored => self.error(
                span,
                "`stored` has no form of its own for stored elements".to_owned(),
                None,
            ),
            Meaning::Stored => Ok(typed::present(&args.remove(0).term)),
            Meaning::Call(op, _) if call.stored => {
                let typed = typed::stored(op, args.remove(0), self.zero_of());
                typed.or_else(|error| self.refuse(op, &error, span))
            }
            Meaning::Call(op, _) => self.call(op, args, span),
            Meaning::Fold(op) | Meaning::Reduce(op) => {
                let mut args = args.into_iter();
                let first = args.next().expect("two arguments at least");
                args.try_fold(first, |a, b| self.call(op, vec![a, b], span))
            }
        }
    }
}

/// `name[stored]((over), args)`
pub(super) struct Application<'a> {
    pub(super) name: &'a str,
    pub(super) stored: bool,
    pub(super) over: Option<&'a [Node]>,
    pub(super) args: &'a [Node],
}

fn scalar(literal: Literal) -> Scalar {
    match literal {
        Literal::Bool(value) => Scalar::Bool(value),
        Literal::Int(value) => i64::try_from(value).map_or(Scalar::U64(value), Scalar::I64),
        Literal::Float(value) => Scalar::F64(value),
        Literal::Imaginary(value) => Scalar::Complex128(Complex::new(0.0, value)),
    }
}
