//! Which names of an expression are tensors, and which are indices.
//!
//! `f(a, b)` is a tensor with two indices unless `f` is a function; a bare name is a scalar unless
//! it is an index somewhere. Functions that a user declares are known when an expression is
//! checked, so what is asked here is told their names.

use std::collections::HashSet;

use super::{Access, Expression, Kind, Node};
use crate::ops::functions;

impl Expression {
    /// The tensors on the right, each use once, in the order of the text, the mask's first.
    /// Functions of the user's own are taken for tensors where they look like one.
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
    /// Calls `f` for this node and those below it, but for the indices of tensors and those that
    /// are surely reduced over: `k` in `A(k)` and in `sum(k, ...)`.
    fn visit<'a>(&'a self, declared: &dyn Fn(&str) -> bool, f: &mut dyn FnMut(&'a Node)) {
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

    /// The bare name that this is.
    pub(crate) fn bare(&self) -> Option<&str> {
        match &self.kind {
            Kind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The tensor with indices that this is.
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
