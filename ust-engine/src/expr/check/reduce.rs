//! Explicit and implicit sums.

use std::ops::Range;

use ust_level_api::Dtype;

use super::Checker;
use super::term::Application;
use super::typed::{self, Typed};
use crate::expr::OpError;
use crate::expr::operator::Operator;
use crate::expr::syntax::{Kind, Node, Sign};
use crate::expr::term::Term;

impl Checker<'_> {
    /// The right-hand side: a sum of terms, each with its own implicit sum.
    pub(super) fn side(&mut self, node: &Node) -> Result<Typed, OpError> {
        match &node.kind {
            Kind::Binary(sign @ (Sign::Add | Sign::Sub), a, b) => {
                let (a, b) = (self.side(a)?, self.side(b)?);
                self.binary(*sign, a, b, &node.span)
            }
            Kind::Unary(Sign::Sub, a) => {
                let args = vec![self.side(a)?];
                self.call(&Operator::Neg, args, &node.span)
            }
            _ => self.summed(node),
        }
    }

    /// A term, summed over the indices that the result does not have.
    fn summed(&mut self, node: &Node) -> Result<Typed, OpError> {
        let body = self.node(node, &mut Vec::new())?;
        let (mut free, mut bound) = (Vec::new(), Vec::new());
        self.indices(&body.term, &mut Vec::new(), &mut free, &mut bound);
        if let Some(&index) = bound.iter().find(|index| free.contains(index)) {
            let name = &self.scope.indices[index].name;
            let message =
                format!("`{name}` is reduced over in one part of this term, and free in another");
            let help = format!("give one of them another name than `{name}`");
            return self.error(&node.span, message, Some(help));
        }
        free.retain(|&index| index >= self.expression.result.indices.len());
        if free.is_empty() {
            return Ok(body);
        }
        let plus = self.plus();
        let typed = typed::reduce(&plus, free, body, self.zero_of());
        typed.or_else(|error| self.refuse(&plus, &error, &node.span))
    }

    /// The free indices of a term, in the order in which they occur, and the indices that reductions in it
    /// reduce over.
    fn indices(
        &self,
        term: &Term,
        inside: &mut Vec<usize>,
        free: &mut Vec<usize>,
        bound: &mut Vec<usize>,
    ) {
        match term {
            Term::Const(_) | Term::Places(..) => {}
            Term::Element(at) | Term::Present(at) => {
                let indices = &self.scope.uses[*at].indices;
                indices.iter().for_each(|&index| occurs(index, inside, free));
            }
            Term::Index(index) => occurs(*index, inside, free),
            Term::Call { args, .. } => {
                args.iter().for_each(|arg| self.indices(arg, inside, free, bound));
            }
            Term::Stored { arg, .. } => self.indices(arg, inside, free, bound),
            Term::Reduce { indices, body, .. } => {
                bound.extend(indices);
                inside.extend(indices);
                self.indices(body, inside, free, bound);
                inside.truncate(inside.len() - indices.len());
            }
        }
    }

    /// `sum(k, l, body)`, `sum((k, l), body)`.
    pub(super) fn reduction(
        &mut self,
        op: &Operator,
        call: &Application<'_>,
        span: &Range<usize>,
        bound: &mut Vec<String>,
    ) -> Result<Typed, OpError> {
        let name = call.name;
        let help = || Some(format!("write `{name}(k, A(i,k))`, or `{name}(k, l, ...)`"));
        let Some((body, leading)) = call.args.split_last() else {
            return self.error(span, format!("`{name}` has nothing to reduce"), help());
        };
        let over: Vec<&Node> = call.over.unwrap_or_default().iter().chain(leading).collect();
        if over.is_empty() {
            return self.error(span, format!("`{name}` does not say over which index"), help());
        }
        if call.stored {
            let message = format!("`{name}` is a reduction, and has no stored-only form");
            return self.error(span, message, None);
        }
        if let Operator::User(user) = op
            && user.arity() != 2
        {
            let message = format!("`{name}` takes {} arguments, and cannot reduce", user.arity());
            return self.error(span, message, None);
        }
        let outer = bound.len();
        for &node in &over {
            let index = self.reduced(node, name, bound)?;
            bound.push(index);
        }
        let mut typed = self.node(body, bound)?;
        bound.truncate(outer);

        let mut found = Vec::new();
        self.indices(&typed.term, &mut Vec::new(), &mut found, &mut Vec::new());
        let mut indices = Vec::with_capacity(over.len());
        for &node in &over {
            let index = node.bare().unwrap_or_default();
            match self.scope.index(index).filter(|at| found.contains(at)) {
                Some(at) => indices.push(at),
                None => {
                    let message = format!("the index `{index}` does not occur in what is reduced");
                    return self.error(&node.span, message, None);
                }
            }
        }
        // As in NumPy, a sum of truth values counts those that are true.
        let counts = matches!(op, Operator::Add | Operator::Mul);
        if counts && typed.ty.dtype() == Dtype::Bool {
            typed = typed::cast(typed, Dtype::I64, self.zero_of());
        }
        let typed = typed::reduce(op, indices, typed, self.zero_of());
        typed.or_else(|error| self.refuse(op, &error, span))
    }

    /// The name of an index that is reduced over.
    fn reduced(&self, node: &Node, function: &str, bound: &[String]) -> Result<String, OpError> {
        let Some(name) = node.bare() else {
            let message =
                format!("`{function}` reduces over names of indices, one expression last");
            return self.error(&node.span, message, None);
        };
        let message = if self.expression.result.indices.iter().any(|index| index == name) {
            format!("`{name}` is an index of the result, and cannot be reduced over")
        } else if bound.iter().any(|index| index == name) {
            format!("`{name}` is reduced over already")
        } else {
            return Ok(name.to_owned());
        };
        self.error(&node.span, message, None)
    }
}

/// Notes an index that occurs, unless a reduction around it reduces over it.
fn occurs(index: usize, inside: &[usize], free: &mut Vec<usize>) {
    if !inside.contains(&index) && !free.contains(&index) {
        free.push(index);
    }
}
