//! The way from the result down to each access of the operand.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::rewrite::{
    Names, access, apply, binary, name, node, plain, reduce, renamed, replace, unused,
};
use super::rules;
use crate::expr::OpError;
use crate::expr::functions::{Meaning, meaning};
use crate::expr::operator::UserOperator;
use crate::expr::syntax::{Access, Assign, Expression, Kind, Literal, Node, Sign};

/// Differentiates an expression: sums the terms of the gradient.
pub(super) struct Adjoint<'a> {
    expression: &'a Expression,
    names: Names<'a>,
    /// Every name of the expression, and the seed's.
    given: HashSet<String>,
    wrt: &'a str,
    /// Where `wrt` is accessed, and with which indices. The first access names those of the gradient.
    accesses: Vec<Access>,
    seed: Node,
    /// The indices of the gradient.
    dims: Vec<String>,
    /// The gradient, a sum of these.
    terms: Vec<Node>,
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
        let seed = access(seed, &result.indices);
        Ok(Self { expression, names, given, wrt, accesses, seed, dims, terms: Vec::new() })
    }

    /// Collects the terms of the gradient.
    pub(super) fn differentiate(&mut self) -> Result<(), OpError> {
        let body = plain(&self.expression.body);
        let result = &self.expression.result;
        let old = access(&result.name, &result.indices);
        let kept = result.name == self.wrt;
        let seed = self.seed.clone();
        // The seed where the mask lets the result be written, and where it does not.
        let (written, outside) = match &self.expression.mask {
            None => (seed.clone(), None),
            Some(mask) => {
                let element = access(&mask.access.name, &mask.access.indices);
                let stored = apply("stored", vec![element.clone()]);
                let mut set = match mask.structural {
                    true => stored,
                    false => binary(Sign::And, stored, element),
                };
                if mask.complement {
                    set = node(Kind::Unary(Sign::Not, Box::new(set)));
                }
                let nothing = node(Kind::Literal(Literal::Int(0)));
                let written = apply("where", vec![set.clone(), seed.clone(), nothing.clone()]);
                (written, Some(apply("where", vec![set, nothing, seed.clone()])))
            }
        };
        let rule = match self.expression.assign {
            Assign::Set => return self.side(&body, &written),
            Assign::Add if kept => return self.collect(&self.dims.clone(), &seed, &[]),
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
            self.collect(&dims, &inside, &[])?;
            return outside.map_or(Ok(()), |outside| self.collect(&dims, &outside, &[]));
        }
        let seed = self.apply_rule(rule, 1, &pair, &written)?;
        self.side(&body, &seed)
    }

    /// The gradient as text.
    pub(super) fn text(&mut self) -> String {
        let terms = std::mem::take(&mut self.terms);
        let reached: BTreeSet<String> =
            terms.iter().flat_map(|term| self.names.reached(term)).collect();
        let mut terms = terms.into_iter();
        let mut first = terms.next();
        if first.is_none() || self.dims.iter().any(|dim| !reached.contains(dim)) {
            let nothing = || node(Kind::Literal(Literal::Int(0)));
            first = Some(beside(first.unwrap_or_else(nothing), access(self.wrt, &self.dims)));
        }
        let body = first.into_iter().chain(terms).reduce(|a, b| binary(Sign::Add, a, b));
        let body = body.expect("one term at least");
        let dims = access("", &self.dims);
        let new = self.names.tidy(&[&dims, &body], &self.given);
        let dims = self.dims.iter().map(|dim| new.get(dim).unwrap_or(dim).clone());
        let mut name = format!("d{}", self.wrt);
        if self.given.contains(&name) {
            name = unused(&format!("{name}_"), &self.given);
        }
        let result = Access { name, indices: dims.collect(), span: 0..0 };
        format!("{result} = {}", renamed(&body, &new))
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
                binary(*sign, a, self.explicit(b))
            }
            Kind::Unary(Sign::Sub, a) => node(Kind::Unary(Sign::Sub, Box::new(self.explicit(a)))),
            _ => {
                let mut over = self.names.free(side);
                self.expression.result.indices.iter().for_each(|index| {
                    over.remove(index);
                });
                match over.is_empty() {
                    true => self.names.copy(side),
                    false => {
                        let over: Vec<String> = over.into_iter().collect();
                        self.names.copy(&reduce("sum", &over, side.clone()))
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
            Kind::Name(_) => self.collect(&[], &seed, around),
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
                    Some(access) => self.collect(&access.indices, &seed, around),
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
                let nothing = || node(Kind::Literal(Literal::Int(0)));
                let mask = self.names.copy(mask);
                let yes = apply("where", vec![mask.clone(), seed.clone(), nothing()]);
                self.node(a, yes, around)?;
                let mask = self.names.copy(&mask);
                self.node(b, apply("where", vec![mask, nothing(), seed]), around)
            }
            (Some(Meaning::Fold(_)), [first @ .., last]) if first.len() > 1 => {
                let first = apply(name, first.to_vec());
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
                let twice =
                    binary(Sign::Mul, node(Kind::Literal(Literal::Int(2))), self.names.copy(a));
                self.node(a, binary(Sign::Mul, seed, twice), around)
            }
            Kind::Literal(Literal::Int(n)) => {
                let exponent = node(Kind::Literal(Literal::Int(n - 1)));
                let lower = binary(Sign::Pow, self.names.copy(a), exponent);
                let slope = binary(Sign::Mul, b.clone(), lower);
                self.node(a, binary(Sign::Mul, seed, slope), around)
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
        let stored = apply("stored", args.iter().map(|arg| self.names.copy(arg)).collect());
        let nothing = || node(Kind::Literal(Literal::Int(0)));
        let inside = apply("where", vec![stored.clone(), seed.clone(), nothing()]);
        self.function(this, name, false, args, inside, around)?;
        let [arg] = args else { return Ok(()) };
        let stored = self.names.copy(&stored);
        self.node(arg, apply("where", vec![stored, nothing(), seed]), around)
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
                    .map(|(index, new)| binary(Sign::Eq, self::name(new), self::name(index)));
                let same = same.reduce(|a, b| binary(Sign::And, a, b));
                let same = same.expect("a reduction over an index");
                let one = node(Kind::Literal(Literal::Int(1)));
                let others = reduce("prod", &new, apply("where", vec![same, one, others]));
                binary(Sign::Mul, seed, others)
            }
            "min" | "max" if !self.names.declares(name) => {
                // Shared by all elements that are the result.
                let is_result =
                    |body: Node, names: &mut Names<'_>| binary(Sign::Eq, body, names.copy(this));
                let own = is_result(self.names.copy(body), &mut self.names);
                let (other, new) = self.other(over, body);
                let many = reduce("sum", &new, is_result(other, &mut self.names));
                let share = binary(Sign::Div, seed, many);
                apply("where", vec![own, share, node(Kind::Literal(Literal::Int(0)))])
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

    /// Adds a term for an access to `wrt` with these indices. It is summed over those of `around` that the gradient does
    /// not have.
    fn collect(
        &mut self,
        indices: &[String],
        seed: &Node,
        around: &[String],
    ) -> Result<(), OpError> {
        let mut new: HashMap<String, String> = HashMap::new();
        let mut conditions = Vec::new();
        for (index, dim) in indices.iter().zip(&self.dims) {
            match new.get(index) {
                None => {
                    new.insert(index.clone(), dim.clone());
                }
                Some(first) => conditions.push(binary(Sign::Eq, name(first), name(dim))),
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
        if let Some(condition) = conditions.into_iter().reduce(|a, b| binary(Sign::And, a, b)) {
            let nothing = node(Kind::Literal(Literal::Int(0)));
            term = apply("where", vec![condition, term, nothing]);
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
        Ok(())
    }

    /// A number for each value of an index, which has the extent of another that occurs in the expression.
    fn witness(&mut self, original: &str, index: &str) -> Node {
        let has = self
            .accesses
            .iter()
            .skip(1)
            .filter(|access| access.indices.iter().any(|i| i == original));
        let Some(one) = has.min_by_key(|access| access.indices.len()).cloned() else {
            return name(index);
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
        let element = renamed(&access(&one.name, &one.indices), &new);
        match others.is_empty() {
            true => element,
            false => reduce("sum", &others, element),
        }
    }
}

/// The node, where another one says which indices there are, and how far they run.
fn beside(this: Node, other: Node) -> Node {
    apply("where", vec![node(Kind::Literal(Literal::Bool(true))), this, other])
}

/// `seed` or `-seed`.
fn signed(sign: Sign, seed: &Node) -> Node {
    match (sign, &seed.kind) {
        (Sign::Sub, Kind::Unary(Sign::Sub, inner)) => (**inner).clone(),
        (Sign::Sub, _) => node(Kind::Unary(Sign::Sub, Box::new(seed.clone()))),
        _ => seed.clone(),
    }
}
