//! The names of tensors and of indices in an expression.
//!
//! `f(a, b)` is a tensor with two indices unless `f` is a function. A bare name is a scalar unless it is
//! an index elsewhere; then it is the coordinate. Functions that a user declares are known only when an expression is checked, so
//! functions here take a predicate for their names, `declared`.

use std::collections::HashSet;

use super::{Access, Expression, Kind, Node};
use crate::expr::{OpError, functions};

impl Expression {
    /// The accesses to tensors on the right, in the order of the text, the mask first. A call of a
    /// user-declared function whose arguments are bare names counts as an access.
    #[must_use]
    pub fn accesses(&self) -> Vec<Access> {
        self.accesses_with(&|_| false)
    }

    /// The names of the tensors that have to be given: those of [`accesses`](Self::accesses), each
    /// once.
    #[must_use]
    pub fn operands(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for access in self.accesses() {
            if !names.contains(&access.name) {
                names.push(access.name);
            }
        }
        names
    }

    /// For an access to this tensor with an index that is not a name, as `A(i,0)` or `A(i+1,j)`: the place
    /// of that index, and a suggestion. `None` if there is no such access.
    #[must_use]
    pub fn misused(&self, name: &str) -> Option<OpError> {
        let mut found = None;
        self.body.visit(&|_| false, &mut |node| {
            let Kind::Apply { name: own, args, .. } = &node.kind else { return };
            let wrong = args.iter().find(|arg| arg.bare().is_none());
            if let (true, None, Some(wrong)) = (own == name, &found, wrong) {
                found = Some(wrong);
            }
        });
        let wrong: &Node = found?;
        let text = &self.text[wrong.span.clone()];
        let help = match &wrong.kind {
            Kind::Literal(_) => format!(
                "name the index, and pick what stands at {text} by another tensor: `{name}(i,j) * e(j)`, \
                 where `e` is 1 there and stores nothing else"
            ),
            Kind::Binary(..) | Kind::Unary(..) => format!(
                "name the index, and say where it meets others by another tensor: `{name}(i,k) * S(k,j)`, \
                 where `S` is 1 at k = {text}"
            ),
            _ => "name what is between: an element of an element is `A(i,j) * B(j,k)`".to_owned(),
        };
        let message =
            format!("`{text}` is no name, and the indices of the tensor `{name}` are names");
        Some(self.error(&wrong.span, message, Some(help)))
    }

    pub(crate) fn accesses_with(&self, declared: &dyn Fn(&str) -> bool) -> Vec<Access> {
        let indices = self.indices_with(declared);
        let mut found: Vec<Access> = self.mask.iter().map(|mask| mask.access.clone()).collect();
        self.body.visit(declared, &mut |node| {
            if let Some(access) = node.access(declared) {
                found.push(access);
                return;
            }
            if let Kind::Name(name) = &node.kind
                && !indices.contains(name)
            {
                let span = node.span.clone();
                found.push(Access { name: name.clone(), indices: Vec::new(), span });
            }
        });
        found
    }

    /// The names that some tensor has as an index, the result included.
    pub(crate) fn indices_with(&self, declared: &dyn Fn(&str) -> bool) -> HashSet<String> {
        let mut found: HashSet<String> = self.result.indices.iter().cloned().collect();
        if let Some(mask) = &self.mask {
            found.extend(mask.access.indices.iter().cloned());
        }
        self.body.visit(declared, &mut |node| {
            found.extend(node.access(declared).into_iter().flat_map(|access| access.indices));
        });
        found
    }
}

impl Node {
    /// Calls `f` for this node and those below it, except for indices of tensors and indices that a
    /// reduction is over: `k` in `A(k)` and in `sum(k, ...)`.
    pub(crate) fn visit<'a>(
        &'a self,
        declared: &dyn Fn(&str) -> bool,
        f: &mut dyn FnMut(&'a Node),
    ) {
        f(self);
        match &self.kind {
            Kind::Literal(_) | Kind::Name(_) => {}
            Kind::Apply { name, args, .. } => {
                let is_function = functions::is_function(name) || declared(name);
                if !is_function && args.iter().all(|arg| arg.bare().is_some()) {
                    return;
                }
                let (last, leading) = match args.split_last() {
                    Some((last, leading)) => (Some(last), leading),
                    None => (None, &args[..]),
                };
                let indices_lead = functions::is_reduction_only(name);
                leading
                    .iter()
                    .filter(|arg| !(indices_lead && arg.bare().is_some()))
                    .chain(last)
                    .for_each(|arg| arg.visit(declared, f));
            }
            Kind::Unary(_, a) => a.visit(declared, f),
            Kind::Binary(_, a, b) => {
                a.visit(declared, f);
                b.visit(declared, f);
            }
        }
    }

    /// The name, if the node is a bare name.
    pub(crate) fn bare(&self) -> Option<&str> {
        match &self.kind {
            Kind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The access, if the node is a tensor with indices.
    pub(crate) fn access(&self, declared: &dyn Fn(&str) -> bool) -> Option<Access> {
        match &self.kind {
            Kind::Apply { name, stored: false, over: None, args }
                if !functions::is_function(name) && !declared(name) =>
            {
                let indices = args.iter().map(|arg| arg.bare().map(str::to_owned));
                let indices = indices.collect::<Option<Vec<_>>>()?;
                Some(Access { name: name.clone(), indices, span: self.span.clone() })
            }
            _ => None,
        }
    }
}
