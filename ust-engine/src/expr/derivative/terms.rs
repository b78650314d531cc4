//! The terms of a gradient: one for each way from the result to an access of the operand.

use std::collections::{BTreeSet, HashMap};

use super::adjoint::Adjoint;
use super::rewrite::{renamed, unused};
use crate::expr::syntax::{Access, Kind, Literal, Node, Sign};

impl Adjoint<'_> {
    /// Adds a term for an access to `wrt` with these indices. It is summed over those of `around` that the gradient does
    /// not have.
    pub(super) fn collect(&mut self, indices: &[String], seed: &Node, around: &[String]) {
        let mut new: HashMap<String, String> = HashMap::new();
        let mut conditions = Vec::new();
        for (index, dim) in indices.iter().zip(&self.dims) {
            match new.get(index) {
                None => {
                    new.insert(index.clone(), dim.clone());
                }
                Some(first) => {
                    conditions.push(Node::binary(Sign::Eq, Node::name(first), Node::name(dim)));
                }
            }
        }
        for index in around {
            if !new.contains_key(index) && self.dims.contains(index) {
                let fresh = self.names.fresh(index);
                new.insert(index.clone(), fresh);
            }
        }
        let around: BTreeSet<String> =
            around.iter().map(|index| new.get(index).unwrap_or(index).clone()).collect();
        let mut term = renamed(seed, &new);
        if let Some(condition) = conditions.into_iter().reduce(|a, b| Node::binary(Sign::And, a, b))
        {
            term = Node::choice(condition, term, Node::int(0));
        }
        let found = self.names.reached(&term);
        let missing = around.iter().filter(|&index| !found.contains(index));
        let missing: Vec<&String> = missing.filter(|&index| !self.dims.contains(index)).collect();
        for index in missing {
            let original = new.iter().find(|(_, new)| *new == index).map_or(index, |(old, _)| old);
            let witness = self.witness(original, index);
            term = beside(term, witness);
        }
        self.terms.push(term);
    }

    /// A number for each value of an index, which has the extent of another that occurs in the expression.
    fn witness(&mut self, original: &str, index: &str) -> Node {
        let has = self
            .accesses
            .iter()
            .skip(1)
            .filter(|access| access.indices.iter().any(|i| i == original));
        let Some(one) = has.min_by_key(|access| access.indices.len()).cloned() else {
            return Node::name(index);
        };
        let mut new = HashMap::from([(original.to_owned(), index.to_owned())]);
        let mut others = Vec::new();
        for other in &one.indices {
            if !new.contains_key(other) {
                let fresh = self.names.fresh(other);
                others.push(fresh.clone());
                new.insert(other.clone(), fresh);
            }
        }
        let element = renamed(&Node::element(&one.name, &one.indices), &new);
        match others.is_empty() {
            true => element,
            false => Node::reduction("sum", &others, element),
        }
    }

    /// The gradient as text.
    pub(super) fn text(&mut self) -> String {
        let terms = std::mem::take(&mut self.terms);
        let reached: BTreeSet<String> =
            terms.iter().flat_map(|term| self.names.reached(term)).collect();
        let mut terms = terms.into_iter();
        let mut first = terms.next();
        if first.is_none() || self.dims.iter().any(|dim| !reached.contains(dim)) {
            first = Some(beside(
                first.unwrap_or_else(|| Node::int(0)),
                Node::element(self.wrt, &self.dims),
            ));
        }
        let body = first.into_iter().chain(terms).reduce(|a, b| Node::binary(Sign::Add, a, b));
        let body = body.expect("one term at least");
        let dims = Node::element("", &self.dims);
        let new = self.names.tidy(&[&dims, &body], &self.given);
        let dims = self.dims.iter().map(|dim| new.get(dim).unwrap_or(dim).clone());
        let mut name = format!("d{}", self.wrt);
        if self.given.contains(&name) {
            name = unused(&format!("{name}_"), &self.given);
        }
        let result = Access { name, indices: dims.collect(), span: 0..0 };
        format!("{result} = {}", renamed(&body, &new))
    }
}

/// The node, where another one says which indices there are, and how far they run.
fn beside(this: Node, other: Node) -> Node {
    Node::choice(Node::new(Kind::Literal(Literal::Bool(true))), this, other)
}
