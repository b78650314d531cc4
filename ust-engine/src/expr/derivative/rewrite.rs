//! Index variables renamed, nodes copied, variables of rules replaced.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::expr::functions::{Meaning, meaning};
use crate::expr::operator::UserOperator;
use crate::expr::syntax::{Kind, Node};

/// The names of an expression: which are indices, which are taken, which are functions of the user.
pub(super) struct Names<'a> {
    pub(super) operators: &'a [UserOperator],
    /// The index variables, those included that [`fresh`](Self::fresh) made.
    pub(super) indices: HashSet<String>,
    /// Every name that stands for something.
    pub(super) taken: HashSet<String>,
}

/// A reduction, `sum(k, l, body)`.
pub(super) struct Reduction<'n> {
    /// The indices that it reduces over.
    pub(super) over: Vec<&'n str>,
    pub(super) body: &'n Node,
}

impl Names<'_> {
    /// An index variable that does not occur yet, called as one that does.
    pub(super) fn fresh(&mut self, like: &str) -> String {
        let name = unused(like, &self.taken);
        self.taken.insert(name.clone());
        self.indices.insert(name.clone());
        name
    }

    /// For the index variables that [`fresh`](Self::fresh) made, and that occur here: the same with low numbers.
    pub(super) fn tidy(&self, here: &[&Node], first: &HashSet<String>) -> HashMap<String, String> {
        let (mut new, mut taken) = (HashMap::new(), first.clone());
        let mut nodes: Vec<&Node> = here.iter().rev().copied().collect();
        while let Some(node) = nodes.pop() {
            if let Some(name) = node.bare()
                && !first.contains(name)
                && self.indices.contains(name)
                && !new.contains_key(name)
            {
                let low = unused(name, &taken);
                taken.insert(low.clone());
                new.insert(name.to_owned(), low);
            }
            let after: Vec<&Node> = below(node).collect();
            nodes.extend(after.into_iter().rev());
        }
        new
    }

    pub(super) fn declares(&self, name: &str) -> bool {
        self.operators.iter().any(|op| op.name() == name)
    }

    /// The reduction that a node is, by the rule of `check`: reductions have names of indices in front, functions
    /// have not.
    pub(super) fn reduction<'n>(&self, node: &'n Node) -> Option<Reduction<'n>> {
        let Kind::Apply { name, args, .. } = &node.kind else { return None };
        if node.access(&|name| self.declares(name)).is_some() {
            return None;
        }
        let (body, leading) = args.split_last()?;
        let names = leading.iter().map_while(|arg| arg.bare());
        let over: Vec<&str> = names.take_while(|name| self.indices.contains(*name)).collect();
        let reduces = match self.declares(name) {
            true => true,
            false => matches!(meaning(name), Some(Meaning::Reduce(_) | Meaning::Fold(_))),
        };
        (reduces && !over.is_empty()).then_some(Reduction { over, body })
    }

    /// A copy. Reductions in it get index variables of their own, so that it may stand beside what it is a copy of.
    pub(super) fn copy(&mut self, node: &Node) -> Node {
        let mut new = HashMap::new();
        if let Some(reduction) = self.reduction(node) {
            for index in reduction.over {
                new.insert(index.to_owned(), self.fresh(index));
            }
        }
        let node = renamed(node, &new);
        map(&node, &mut |below| self.copy(below))
    }

    /// The names of indices that occur in a node outside of the reductions over them.
    pub(super) fn free(&self, node: &Node) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        self.note_free(node, &mut Vec::new(), &mut found);
        found
    }

    /// The names of indices that tensors in a node have: these have extents.
    pub(super) fn reached(&self, node: &Node) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let declared = |name: &str| self.declares(name);
        node.visit(&declared, &mut |below| {
            found.extend(below.access(&declared).into_iter().flat_map(|access| access.indices));
        });
        found
    }

    fn note_free<'n>(
        &self,
        node: &'n Node,
        bound: &mut Vec<&'n str>,
        found: &mut BTreeSet<String>,
    ) {
        let outer = bound.len();
        bound.extend(self.reduction(node).into_iter().flat_map(|reduction| reduction.over));
        match &node.kind {
            Kind::Name(name) if self.indices.contains(name) && !bound.contains(&&**name) => {
                found.insert(name.clone());
            }
            _ => below(node).for_each(|node| self.note_free(node, bound, found)),
        }
        bound.truncate(outer);
    }
}

/// A name that is not taken: this one with another number.
pub(super) fn unused(like: &str, taken: &HashSet<String>) -> String {
    let stem = like.trim_end_matches(|c: char| c.is_ascii_digit());
    let mut numbered = (2..).map(|number: usize| format!("{stem}{number}"));
    numbered.find(|name| !taken.contains(name)).expect("there are more numbers than names")
}

/// The nodes right below a node.
fn below(node: &Node) -> impl Iterator<Item = &Node> {
    let (first, rest): ([Option<&Node>; 2], &[Node]) = match &node.kind {
        Kind::Literal(_) | Kind::Name(_) => ([None, None], &[]),
        Kind::Apply { args, .. } => ([None, None], args),
        Kind::Unary(_, a) => ([Some(a), None], &[]),
        Kind::Binary(_, a, b) => ([Some(a), Some(b)], &[]),
    };
    first.into_iter().flatten().chain(rest)
}

/// The node with `sum(k, l, ..)` in place of `sum((k, l), ..)`.
pub(super) fn plain(this: &Node) -> Node {
    map(this, &mut plain)
}

/// The node with `f` of each node below it, `sum((k, l), ..)` written as `sum(k, l, ..)`.
fn map(this: &Node, f: &mut dyn FnMut(&Node) -> Node) -> Node {
    let kind = match &this.kind {
        Kind::Literal(_) | Kind::Name(_) => this.kind.clone(),
        Kind::Apply { name, stored, over, args } => Kind::Apply {
            name: name.clone(),
            stored: *stored,
            over: None,
            args: over.iter().flatten().chain(args).map(f).collect(),
        },
        Kind::Unary(sign, a) => Kind::Unary(*sign, Box::new(f(a))),
        Kind::Binary(sign, a, b) => {
            let a = f(a);
            Kind::Binary(*sign, Box::new(a), Box::new(f(b)))
        }
    };
    Node::new(kind)
}

/// The node with other names for index variables, all at once.
pub(super) fn renamed(this: &Node, new: &HashMap<String, String>) -> Node {
    if new.is_empty() {
        return this.clone();
    }
    replace(this, &mut |old| new.get(old).map(|new| Node::name(new)))
}

/// The node with other nodes for some bare names.
pub(super) fn replace(this: &Node, by: &mut dyn FnMut(&str) -> Option<Node>) -> Node {
    if let Some(new) = this.bare().and_then(&mut *by) {
        return new;
    }
    map(this, &mut |below| replace(below, by))
}
