//! The way from the result down to each access of the operand.

use std::collections::HashSet;
use std::ops::Range;

use super::rewrite::{Names, plain, renamed, replace};
use super::rules;
use crate::expr::OpError;
use crate::expr::functions::{Meaning, meaning};
use crate::expr::operator::UserOperator;
use crate::expr::syntax::{Access, Assign, Expression, Kind, Literal, Node, Sign};

/// Differentiates an expression: sums the terms of the gradient.
pub(super) struct Adjoint<'a> {
    expression: &'a Expression,
    pub(super) names: Names<'a>,
    /// Every name of the expression, and the seed's.
    pub(super) given: HashSet<String>,
    pub(super) wrt: &'a str,
    /// Where `wrt` is accessed, and with which indices. The first access names those of the gradient.
    pub(super) accesses: Vec<Access>,
    seed: Node,
    /// The indices of the gradient.
    pub(super) dims: Vec<String>,
    /// The gradient, a sum of these.
    pub(super) terms: Vec<Node>,
}

impl<'a> Adjoint<'a> {
    pub(super) fn new(
        expression: &'a Expression,
        wrt: &'a str,
        seed: &'a str,
        operators: &'a [UserOperator],
    ) -> Result<Self, OpError> {
        let declared = |name: &str| operators.iter().any(|op| op.name() == name);
        let indices = expression.indices_with(&declared);
        let result = &expression.result;
        let accesses: Vec<Access> =
            [result.clone()].into_iter().chain(expression.accesses_with(&declared)).collect();
        let mut taken = indices.clone();
        taken.extend(accesses.iter().map(|access| access.name.clone()));
        taken.extend(operators.iter().map(|op| op.name().to_owned()));
        let is_name = Expression::parse(&format!("{seed} = 0")).is_ok();
        if !is_name || taken.contains(seed) || meaning(seed).is_some() {
            let message = format!("`{seed}` cannot be the name of the seed");
            let help = "it is a new name: of no tensor, index or function".to_owned();
            return Err(expression.error(&result.span, message, Some(help)));
        }
        taken.insert(seed.to_owned());
        let given = taken.clone();
        let mut names = Names { operators, indices, taken };
        let first = accesses.iter().find(|access| access.name == wrt);
        let mut dims: Vec<String> = Vec::new();
        for index in first.iter().flat_map(|access| &access.indices) {
            match dims.contains(index) {
                true => dims.push(names.fresh(index)),
                false => dims.push(index.clone()),
            }
        }
        let seed = Node::element(seed, &result.indices);
        Ok(Self { expression, names, given, wrt, accesses, seed, dims, terms: Vec::new() })
    }

    /// Collects the terms of the gradient.
    pub(super) fn differentiate(&mut self) -> Result<(), OpError> {
        let body = plain(&self.expression.body);
        let result = &self.expression.result;
        let old = Node::element(&result.name, &result.indices);
        let kept = result.name == self.wrt;
        let seed = self.seed.clone();
        // The seed where the mask lets the result be written, and where it does not.
        let (written, outside) = match &self.expression.mask {
            None => (seed.clone(), None),
            Some(mask) => {
                let element = Node::element(&mask.access.name, &mask.access.indices);
                let stored = Node::apply("stored", vec![element.clone()]);
                let mut set = match mask.structural {
                    true => stored,
                    false => Node::binary(Sign::And, stored, element),
                };
                if mask.complement {
                    set = Node::unary(Sign::Not, set);
                }
                let written = Node::choice(set.clone(), seed.clone(), Node::int(0));
                (written, Some(Node::choice(set, Node::int(0), seed.clone())))
            }
        };
        let rule = match self.expression.assign {
            Assign::Set => return self.side(&body, &written),
            Assign::Add if kept => {
                self.collect(&self.dims.clone(), &seed, &[]);
                return Ok(());
            }
            Assign::Add => return self.side(&body, &written),
            Assign::Mul => "*",
            Assign::Min => "min",
            Assign::Max => "max",
            Assign::Or | Assign::And => return Ok(()),
        };
        // The new value is the function of the old one and of the right-hand side.
        let new = self.explicit(&body);
        let pair = [&old, &new];
        if kept {
            let inside = self.apply_rule(rule, 0, &pair, &written)?;
            let dims = self.dims.clone();
            self.collect(&dims, &inside, &[]);
            if let Some(outside) = outside {
                self.collect(&dims, &outside, &[]);
            }
            return Ok(());
        }
        let seed = self.apply_rule(rule, 1, &pair, &written)?;
        self.side(&body, &seed)
    }

    fn error<T>(&self, span: &Range<usize>, message: String) -> Result<T, OpError> {
        Err(self.expression.error(span, message, None))
    }

    /// A sum of terms, each with its own implicit sum.
    fn side(&mut self, side: &Node, seed: &Node) -> Result<(), OpError> {
        match &side.kind {
            Kind::Binary(sign @ (Sign::Add | Sign::Sub), a, b) => {
                self.side(a, seed)?;
                self.side(b, &signed(*sign, seed))
            }
            Kind::Unary(Sign::Sub, a) => self.side(a, &signed(Sign::Sub, seed)),
            _ => {
                // Each element of the term counts for each of its indices.
                let mut around = self.names.free(side);
                around.extend(self.expression.result.indices.iter().cloned());
                self.node(side, seed.clone(), &mut around.into_iter().collect())
            }
        }
    }

    /// The right-hand side with its implicit sums written out, in a copy.
    fn explicit(&mut self, side: &Node) -> Node {
        match &side.kind {
            Kind::Binary(sign @ (Sign::Add | Sign::Sub), a, b) => {
                let a = self.explicit(a);
                Node::binary(*sign, a, self.explicit(b))
            }
            Kind::Unary(Sign::Sub, a) => Node::unary(Sign::Sub, self.explicit(a)),
            _ => {
                let mut over = self.names.free(side);
                self.expression.result.indices.iter().for_each(|index| {
                    over.remove(index);
                });
                match over.is_empty() {
                    true => self.names.copy(side),
                    false => {
                        let over: Vec<String> = over.into_iter().collect();
                        self.names.copy(&Node::reduction("sum", &over, side.clone()))
                    }
                }
            }
        }
    }

    /// Whether `wrt` is accessed in a node.
    fn concerns(&self, this: &Node) -> bool {
        let mut found = false;
        this.visit(&|name| self.names.declares(name), &mut |below| {
            found |= match (&below.kind, below.access(&|name| self.names.declares(name))) {
                (_, Some(access)) => access.name == self.wrt,
                (Kind::Name(name), None) => name == self.wrt,
                _ => false,
            };
        });
        found
    }

    /// Collects the terms for the accesses in a node. `seed` is the derivative with respect to the node's value, and
    /// `around` has the indices for each of which the node has a value.
    fn node(&mut self, this: &Node, seed: Node, around: &mut Vec<String>) -> Result<(), OpError> {
        if !self.concerns(this) {
            return Ok(());
        }
        if let Some(reduction) = self.names.reduction(this) {
            let over: Vec<String> = reduction.over.iter().map(|&index| index.to_owned()).collect();
            let body = reduction.body.clone();
            return self.reduction(this, &over, &body, seed, around);
        }
        match &this.kind {
            Kind::Literal(_) => Ok(()),
            Kind::Name(_) => {
                self.collect(&[], &seed, around);
                Ok(())
            }
            Kind::Unary(Sign::Sub, a) => self.node(a, signed(Sign::Sub, &seed), around),
            Kind::Unary(..) => Ok(()),
            Kind::Binary(Sign::Pow, a, b) => self.power(a, b, seed, around),
            Kind::Binary(sign @ (Sign::Add | Sign::Sub | Sign::Mul | Sign::Div), a, b) => {
                self.call(sign.text(), &[a, b], &seed, around)
            }
            // Comparisons and logic have steps.
            Kind::Binary(..) => Ok(()),
            Kind::Apply { name, stored, args, .. } => {
                match this.access(&|name| self.names.declares(name)) {
                    Some(access) => {
                        self.collect(&access.indices, &seed, around);
                        Ok(())
                    }
                    None => self.function(this, name, *stored, args, seed, around),
                }
            }
        }
    }

    fn function(
        &mut self,
        this: &Node,
        name: &str,
        stored: bool,
        args: &[Node],
        seed: Node,
        around: &mut Vec<String>,
    ) -> Result<(), OpError> {
        if stored {
            return self.of_stored(this, name, args, seed, around);
        }
        if let Some(user) = self.names.operators.iter().find(|op| op.name() == name) {
            return match user.written(args) {
                Some(body) => self.node(&body, seed, around),
                None => self
                    .error(&this.span, format!("`{name}` has no definition that can be written")),
            };
        }
        match (meaning(name), args) {
            (Some(Meaning::Cast(dtype)), [a]) => match dtype.is_float() || dtype.is_complex() {
                true => self.node(a, seed, around),
                false => Ok(()),
            },
            (Some(_), [mask, a, b]) if name == "where" => {
                let mask = self.names.copy(mask);
                let yes = Node::choice(mask.clone(), seed.clone(), Node::int(0));
                self.node(a, yes, around)?;
                let mask = self.names.copy(&mask);
                self.node(b, Node::choice(mask, Node::int(0), seed), around)
            }
            (Some(Meaning::Fold(_)), [first @ .., last]) if first.len() > 1 => {
                let first = Node::apply(name, first.to_vec());
                self.call(name, &[&first, last], &seed, around)
            }
            (Some(_), [a, b]) if name == "pow" => self.power(a, b, seed, around),
            (Some(_), args) if !rules::is_step(name) => {
                let args: Vec<&Node> = args.iter().collect();
                match rules::rule(name, args.len(), 0) {
                    Some(_) => self.call(name, &args, &seed, around),
                    None => self.error(&this.span, format!("no derivative of `{name}` is known")),
                }
            }
            _ => Ok(()),
        }
    }

    /// `a^b`. An exponent that is a number gives a simpler derivative.
    fn power(
        &mut self,
        a: &Node,
        b: &Node,
        seed: Node,
        around: &mut Vec<String>,
    ) -> Result<(), OpError> {
        match &b.kind {
            Kind::Literal(Literal::Int(0)) => Ok(()),
            Kind::Literal(Literal::Int(1)) => self.node(a, seed, around),
            Kind::Literal(Literal::Int(2)) => {
                let twice = Node::binary(Sign::Mul, Node::int(2), self.names.copy(a));
                self.node(a, Node::binary(Sign::Mul, seed, twice), around)
            }
            Kind::Literal(Literal::Int(n)) => {
                let exponent = Node::int(n - 1);
                let lower = Node::binary(Sign::Pow, self.names.copy(a), exponent);
                let slope = Node::binary(Sign::Mul, b.clone(), lower);
                self.node(a, Node::binary(Sign::Mul, seed, slope), around)
            }
            _ => self.call("pow", &[a, b], &seed, around),
        }
    }

    /// A function by its rules.
    fn call(
        &mut self,
        name: &str,
        args: &[&Node],
        seed: &Node,
        around: &mut Vec<String>,
    ) -> Result<(), OpError> {
        for (at, arg) in args.iter().enumerate() {
            if self.concerns(arg) {
                let seed = self.apply_rule(name, at, args, seed)?;
                self.node(arg, seed, around)?;
            }
        }
        Ok(())
    }

    /// The derivative with respect to an argument.
    fn apply_rule(
        &mut self,
        name: &str,
        at: usize,
        args: &[&Node],
        seed: &Node,
    ) -> Result<Node, OpError> {
        let rule = rules::rule(name, args.len(), at).expect("a function with a rule");
        let rule = rules::read(rule)?;
        Ok(replace(&rule, &mut |variable| match variable {
            "g" => Some(self.names.copy(seed)),
            "a" => Some(self.names.copy(args[0])),
            "b" => Some(self.names.copy(args[1])),
            _ => None,
        }))
    }

    /// `f[stored](a)`: `f(a)` where an operand of `a` stores an element, else `a`.
    fn of_stored(
        &mut self,
        this: &Node,
        name: &str,
        args: &[Node],
        seed: Node,
        around: &mut Vec<String>,
    ) -> Result<(), OpError> {
        let stored = Node::apply("stored", args.iter().map(|arg| self.names.copy(arg)).collect());
        let inside = Node::choice(stored.clone(), seed.clone(), Node::int(0));
        self.function(this, name, false, args, inside, around)?;
        let [arg] = args else { return Ok(()) };
        let stored = self.names.copy(&stored);
        self.node(arg, Node::choice(stored, Node::int(0), seed), around)
    }

    /// A reduction of `body` over some indices.
    fn reduction(
        &mut self,
        this: &Node,
        over: &[String],
        body: &Node,
        seed: Node,
        around: &mut Vec<String>,
    ) -> Result<(), OpError> {
        let Kind::Apply { name, .. } = &this.kind else { return Ok(()) };
        let seed = match &**name {
            "sum" => seed,
            "any" | "all" => return Ok(()),
            "prod" => {
                let (others, new) = self.other(over, body);
                let same = over
                    .iter()
                    .zip(&new)
                    .map(|(index, new)| Node::binary(Sign::Eq, Node::name(new), Node::name(index)));
                let same = same.reduce(|a, b| Node::binary(Sign::And, a, b));
                let same = same.expect("a reduction over an index");
                let one = Node::int(1);
                let others = Node::reduction("prod", &new, Node::choice(same, one, others));
                Node::binary(Sign::Mul, seed, others)
            }
            "min" | "max" if !self.names.declares(name) => {
                // Shared by all elements that are the result.
                let is_result = |body: Node, names: &mut Names<'_>| {
                    Node::binary(Sign::Eq, body, names.copy(this))
                };
                let own = is_result(self.names.copy(body), &mut self.names);
                let (other, new) = self.other(over, body);
                let many = Node::reduction("sum", &new, is_result(other, &mut self.names));
                let share = Node::binary(Sign::Div, seed, many);
                Node::choice(own, share, Node::int(0))
            }
            name => {
                let message = format!("no derivative of a reduction by `{name}` is known");
                return self.error(&this.span, message);
            }
        };
        let outer = around.len();
        around.extend_from_slice(over);
        self.node(body, seed, around)?;
        around.truncate(outer);
        Ok(())
    }

    /// A copy of a reduction's body with other indices, and these.
    fn other(&mut self, over: &[String], body: &Node) -> (Node, Vec<String>) {
        let new: Vec<String> = over.iter().map(|index| self.names.fresh(index)).collect();
        let by = over.iter().cloned().zip(new.iter().cloned()).collect();
        (renamed(&self.names.copy(body), &by), new)
    }
}

/// `seed` or `-seed`.
fn signed(sign: Sign, seed: &Node) -> Node {
    match (sign, &seed.kind) {
        (Sign::Sub, Kind::Unary(Sign::Sub, inner)) => (**inner).clone(),
        (Sign::Sub, _) => Node::unary(Sign::Sub, seed.clone()),
        _ => seed.clone(),
    }
}
