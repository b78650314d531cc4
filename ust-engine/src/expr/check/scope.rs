//! Names: tensors, indices and their extents.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use ust_format::suggest::nearest;

use super::{CheckOptions, GivenInput};
use crate::expr::operator::{Operator, UserOperator};
use crate::expr::syntax::{Access, Expression};
use crate::expr::term::{Index, Input, Use};
use crate::expr::{OpError, functions};

/// The meaning of names, and the tensors and indices that occurred so far.
pub(super) struct Scope<'a> {
    expression: &'a Expression,
    inputs: &'a [GivenInput<'a>],
    operators: &'a [UserOperator],
    /// Names that some tensor has as an index, or that an extent was given for.
    names: HashSet<String>,
    extents: HashMap<String, usize>,
    /// The indices that occurred so far, those of the result first.
    pub(super) indices: Vec<Index>,
    pub(super) operands: Vec<Input>,
    pub(super) uses: Vec<Use>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        expression: &'a Expression,
        inputs: &'a [GivenInput<'a>],
        options: &'a CheckOptions,
    ) -> Result<Self, OpError> {
        let operators = &options.operators[..];
        let declared = |name: &str| operators.iter().any(|op| op.name() == name);
        let mut scope = Scope {
            expression,
            inputs,
            operators,
            names: expression.indices_with(&declared),
            extents: HashMap::new(),
            indices: Vec::new(),
            operands: Vec::new(),
            uses: Vec::new(),
        };
        let mut owners: HashMap<String, String> = HashMap::new();
        for access in expression.accesses_with(&declared) {
            // A tensor that is not given is reported where it is accessed, with more context.
            if let Some(input) = scope.input(&access.name) {
                scope.extents_of(&access, input, &mut owners)?;
            } else if access.indices.is_empty()
                && options.extents.iter().any(|(name, _)| *name == access.name)
            {
                // A name with an extent is an index, also where no tensor has it.
                scope.names.insert(access.name);
            }
        }
        scope.given_extents(&options.extents, &owners)?;
        for name in &expression.result.indices {
            // A missing extent is reported last: it may be the consequence of an unknown name.
            let extent = scope.extents.get(name).copied().unwrap_or_default();
            scope.indices.push(Index { name: name.clone(), extent });
        }
        Ok(scope)
    }

    /// Whether every index of the result has an extent.
    pub(super) fn check_extents(&self) -> Result<(), OpError> {
        let result = &self.expression.result;
        match result.indices.iter().find(|name| !self.extents.contains_key(*name)) {
            None => Ok(()),
            Some(name) => {
                let message = format!("nothing says how far the index `{name}` of the result runs");
                let help = format!(
                    "no operand has it: give its extent, `.extent(\"{name}\", n)` in Rust, \
                     `--extent {name}=n` on the command line"
                );
                Err(self.expression.error(&result.span, message, Some(help)))
            }
        }
    }

    fn extents_of(
        &mut self,
        access: &Access,
        input: &GivenInput<'_>,
        owners: &mut HashMap<String, String>,
    ) -> Result<(), OpError> {
        self.check_rank(access, input)?;
        for (index, &extent) in access.indices.iter().zip(input.shape) {
            let known = *self.extents.entry(index.clone()).or_insert(extent);
            let owner = owners.entry(index.clone()).or_insert_with(|| access.name.clone());
            if known != extent {
                let message = format!(
                    "the index `{index}` has extent {extent} in `{}`, and {known} in `{owner}`",
                    access.name
                );
                return Err(self.expression.error(&access.span, message, None));
            }
        }
        Ok(())
    }

    fn check_rank(&self, access: &Access, input: &GivenInput<'_>) -> Result<(), OpError> {
        let (rank, found) = (input.shape.len(), access.indices.len());
        if rank == found {
            return Ok(());
        }
        let plural = |n: usize, one: &str, more: &str| match n {
            1 => format!("1 {one}"),
            n => format!("{n} {more}"),
        };
        let message = format!(
            "`{}` has {}, and {} here",
            access.name,
            plural(rank, "dimension", "dimensions"),
            plural(found, "index stands", "indices stand")
        );
        let names = ["i", "j", "k", "l", "m", "n"];
        let help = names.get(..rank).filter(|_| found == 0).map(|names| {
            format!("each dimension has an index: `{}({})`", access.name, names.join(","))
        });
        Err(self.expression.error(&access.span, message, help))
    }

    fn given_extents(
        &mut self,
        extents: &[(String, usize)],
        owners: &HashMap<String, String>,
    ) -> Result<(), OpError> {
        for (name, extent) in extents {
            let span = &self.expression.result.span;
            let known = *self.extents.entry(name.clone()).or_insert(*extent);
            if !self.names.contains(name) {
                let message = format!("an extent was given for `{name}`, which is no index here");
                return Err(self.expression.error(span, message, None));
            }
            if known != *extent {
                let owner = owners.get(name).map_or(String::new(), |name| format!(" in `{name}`"));
                let message = format!(
                    "the index `{name}` has extent {known}{owner}, and {extent} was asked for"
                );
                return Err(self.expression.error(span, message, None));
            }
        }
        Ok(())
    }

    pub(super) fn is_index(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(super) fn operator(&self, name: &str) -> Option<&'a UserOperator> {
        self.operators.iter().find(|op| op.name() == name)
    }

    pub(super) fn declares(&self, name: &str) -> bool {
        self.operator(name).is_some()
    }

    fn input(&self, name: &str) -> Option<&'a GivenInput<'a>> {
        self.inputs.iter().find(|input| input.name == name)
    }

    /// The dtype of the tensor of an access.
    pub(super) fn dtype(&self, at: usize) -> ust_level_api::Dtype {
        self.operands[self.uses[at].operand].dtype
    }

    /// The position of a name in [`indices`](Self::indices), if it occurred.
    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.indices.iter().position(|index| index.name == name)
    }

    /// The position of an index in [`indices`](Self::indices), where its coordinate is a value.
    pub(super) fn coordinate(&mut self, name: &str, span: &Range<usize>) -> Result<usize, OpError> {
        if self.input(name).is_some() {
            let message = format!("`{name}` is an index here, and a tensor of that name was given");
            let help = "give one of them another name".to_owned();
            return Err(self.expression.error(span, message, Some(help)));
        }
        Ok(self.index_or_new(name))
    }

    /// The position of a name in [`indices`](Self::indices), to which it is added. An extent is missing where a tensor
    /// is, which is reported where it is accessed.
    fn index_or_new(&mut self, name: &str) -> usize {
        self.index(name).unwrap_or_else(|| {
            let extent = self.extents.get(name).copied().unwrap_or_default();
            self.indices.push(Index { name: name.to_owned(), extent });
            self.indices.len() - 1
        })
    }

    /// Adds an access to a tensor, and returns its position in [`uses`](Self::uses). Unstored elements have
    /// the identity of `plus`, if it is given and the tensor is not stored in full.
    pub(super) fn element(
        &mut self,
        access: &Access,
        plus: Option<&Operator>,
    ) -> Result<usize, OpError> {
        let Some(input) = self.input(&access.name) else { return Err(self.unknown(access)) };
        if access.name == self.expression.result.name {
            let message = format!("`{}` is the result, and cannot be an operand", access.name);
            return Err(self.expression.error(&access.span, message, None));
        }
        self.check_rank(access, input)?;
        let fill = match plus.filter(|_| !input.full) {
            None => input.fill,
            Some(plus) => plus.identity(input.dtype).ok_or_else(|| {
                let message =
                    format!("`{}` is {}, which has no zero here", input.name, input.dtype);
                let help = format!("`{}` has no identity in {}", plus.name(), input.dtype);
                self.expression.error(&access.span, message, Some(help))
            })?,
        };
        let input = Input { name: input.name.to_owned(), dtype: input.dtype, fill };
        let known = self
            .operands
            .iter()
            .position(|operand| operand.name == input.name && operand.fill.same(&input.fill));
        let operand = known.unwrap_or_else(|| {
            self.operands.push(input);
            self.operands.len() - 1
        });
        let indices = access.indices.iter().map(|name| self.index_or_new(name)).collect();
        self.uses.push(Use { operand, indices });
        Ok(self.uses.len() - 1)
    }

    fn unknown(&self, access: &Access) -> OpError {
        let message = format!("no tensor `{}` was given", access.name);
        let names = || self.inputs.iter().map(|input| input.name);
        let help = match nearest(&access.name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.inputs.is_empty() => "no tensor was given".to_owned(),
            None => format!("given: {}", names().collect::<Vec<_>>().join(", ")),
        };
        self.expression.error(&access.span, message, Some(help))
    }

    pub(super) fn unknown_function(&self, name: &str, span: &Range<usize>) -> OpError {
        let own = self.operators.iter().map(UserOperator::name);
        if let Some(wrong) = self.input(name).and_then(|_| self.expression.misused(name)) {
            return wrong;
        }
        let (message, help) = match self.input(name) {
            Some(_) => (
                format!("`{name}` is a tensor, and its indices are names"),
                "write `A(i,j)`; for an element of an element, name what is between".to_owned(),
            ),
            None => (
                format!("there is no function `{name}`"),
                match functions::suggest(name, own) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "tensors have names as indices: `A(i,j)`".to_owned(),
                },
            ),
        };
        self.expression.error(span, message, Some(help))
    }
}
