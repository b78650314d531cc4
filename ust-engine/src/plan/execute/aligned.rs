//! Results in the positions of a tensor, the *pattern*: an operand behind those of the assignment. The term is zero
//! where it stores nothing, and the loops walk its levels, so that they know the position of each element.

use smallvec::SmallVec;
use ust_level_api::Scalar;

use super::{Begun, Options, Prepared};
use crate::convert::aligned::Entries;
use crate::error::Error;
use crate::expr::control::{Run, Timing};
use crate::expr::operator::Operator;
use crate::expr::term::{Assignment, Term};
use crate::plan::divide::only_used;
use crate::plan::stage::{Source, Stage, StageAccess};
use crate::storage::{StoredElement, Tensor};

/// How the positions of the pattern are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aligned {
    /// Loops walk the pattern, or its format has a position for every element.
    Itself {
        /// The operand of the assignment that it is, if it is one of them, and loops walk that one.
        same: Option<usize>,
    },
    /// Loops walk a tree of its entries, whose values are then put at their positions.
    ByTree {
        /// As above.
        same: Option<usize>,
    },
}

impl Aligned {
    fn same(self) -> Option<usize> {
        match self {
            Self::Itself { same } | Self::ByTree { same } => same,
        }
    }
}

/// What is explained of a pattern whose entries are walked as a tree.
pub(super) const EXPLAINED: &str =
    "positions   values are moved from a tree of the entries to where these stand\n";

/// The value of the result where the pattern stores nothing.
fn zero(assignment: &Assignment) -> Scalar {
    assignment.result.zero.unwrap_or(assignment.result.dtype.zero())
}

/// An element where the pattern has an entry, and `outside` elsewhere.
fn masked(
    assignment: &Assignment,
    pattern: usize,
    accesses: &mut Vec<StageAccess>,
    body: Term,
    outside: Scalar,
) -> Term {
    let result = &assignment.result;
    let at = accesses.len();
    let source = Source::Operand(pattern);
    accesses.push(StageAccess::new(source, result.indices.clone()));
    let args = vec![Term::Present(at), body, Term::Const(outside)];
    Term::Call { op: Operator::Where, args, dtype: result.dtype }
}

/// Masks the last stage of an assignment.
pub(super) fn mask(assignment: &Assignment, options: &Options, stages: &mut [Stage]) {
    let (Some(last), Some(pattern)) = (stages.last_mut(), options.pattern(assignment)) else {
        return;
    };
    let outside = match &last.reduce {
        Some((op, _)) => op.identity(last.dtype).unwrap_or(last.dtype.zero()),
        None => zero(assignment),
    };
    let body = last.body.clone();
    last.body = masked(assignment, pattern, &mut last.accesses, body, outside);
    *last = only_used(last.clone());
}

impl Options {
    /// The number of the pattern among the operands, if there is one.
    pub(super) fn pattern(&self, assignment: &Assignment) -> Option<usize> {
        self.aligned.then_some(self.same.unwrap_or(assignment.operands.len()))
    }

    /// The access to the pattern, if a stage has it with the index variables of the result.
    pub(super) fn leader(&self, assignment: &Assignment, stage: &Stage) -> Option<usize> {
        let pattern = Source::Operand(self.pattern(assignment)?);
        let is_it = |one: &StageAccess| one.source == pattern && one.dims == stage.result;
        stage.accesses.iter().position(|one| is_it(one) && !one.full)
    }
}

impl Prepared {
    /// Whether the result is computed in the positions of a tensor, which is the last operand.
    pub(crate) fn is_aligned(&self) -> bool {
        self.aligned.is_some()
    }

    /// Adds the last stage as two, if its loops cannot write at the positions of the pattern: the first collects its
    /// result as it can, the second looks it up at each position.
    pub(super) fn push_aligned(
        &mut self,
        stage: Stage,
        operands: &[&Tensor],
        begun: &mut Begun,
        options: &Options,
    ) -> Result<(), Error> {
        let last = begun.results.len().checked_sub(1).map(Source::Stage);
        // Only the second one has two accesses, and is not led by one of them.
        if matches!(&stage.accesses[..], [one, _] if Some(one.source) == last) {
            let text = "loops cannot walk the tensor in whose positions the result is wanted";
            return Err(Error::Unsupported(text.to_owned()));
        }
        let (result, dtype) = (stage.result.clone(), stage.dtype);
        self.push(Stage { any_fill: true, ..stage }, operands, begun, options, false)?;
        let made = Source::Stage(begun.results.len() - 1);
        let mut accesses = vec![StageAccess::new(made, result.clone())];
        let outside = zero(&self.assignment);
        let pattern = options.pattern(&self.assignment).unwrap_or(self.assignment.operands.len());
        let body = masked(&self.assignment, pattern, &mut accesses, Term::Element(0), outside);
        let (reduce, visits_more, any_fill) = (None, false, false);
        let copy = Stage { accesses, body, reduce, result, dtype, visits_more, any_fill };
        self.push(copy, operands, begun, options, true)
    }

    /// As [`Prepared::new`], for operands of which the last is the pattern.
    pub(super) fn new_aligned(
        assignment: Assignment,
        operands: &[&Tensor],
        options: &Options,
    ) -> Result<(Self, Begun), Error> {
        let (pattern, own) = split(operands)?;
        pattern.expect_one_element_each()?;
        let led = |by: &Tensor, same, assignment| {
            let (format, aligned) = (Some(by.format().clone()), !by.format().is_full());
            let options = Options { format, aligned, same, ..options.clone() };
            Self::of(assignment, &led_by(by, same, own), &options)
        };
        let meant = |at: usize| assignment.operands[at].fill.same(&pattern.fill());
        let same = (0..own.len()).find(|&at| is_same(own[at], pattern) && meant(at));
        if pattern.has_positions() {
            let same = same.filter(|_| !pattern.has_padding());
            match led(pattern, same, assignment.clone()) {
                // Its levels can be walked in no order, or with no others.
                Err(Error::Unsupported(_)) => {}
                other => {
                    let (made, begun) = other?;
                    return Ok((Self { aligned: Some(Aligned::Itself { same }), ..made }, begun));
                }
            }
        }
        let entries = pattern.entries_as_tree()?;
        let same = same.filter(|_| entries.distinct);
        let (made, begun) = led(&tree_of(pattern, &entries, same)?, same, assignment)?;
        Ok((Self { aligned: Some(Aligned::ByTree { same }), ..made }, begun))
    }

    /// Calls `f` with the operands that the loops run on, and with the entries of the pattern if these are walked in its
    /// place.
    pub(super) fn on_pattern<R>(
        &self,
        operands: &[&Tensor],
        f: impl FnOnce(&[&Tensor], Option<&Entries>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let Some(aligned) = self.aligned else { return f(operands, None) };
        let (pattern, own) = split(operands)?;
        pattern.expect_one_element_each()?;
        let others = |of: &str, given: &str| {
            let text = format!(
                "a kernel that was prepared for the positions of {of}, and is given {given}: prepare a kernel for it"
            );
            Err(Error::Unsupported(text))
        };
        if aligned.same().is_some_and(|at| !is_same(own[at], pattern)) {
            return others("one of its operands", "another tensor");
        }
        match aligned {
            Aligned::Itself { .. } if pattern.has_positions() => f(operands, None),
            Aligned::Itself { .. } => others("a whole tensor", "a slice"),
            Aligned::ByTree { same } => {
                let entries = pattern.entries_as_tree()?;
                if same.is_some() && !entries.distinct {
                    return others("a tensor without duplicates", "one that has some");
                }
                let tree = tree_of(pattern, &entries, same)?;
                f(&led_by(&tree, same, own), Some(&entries))
            }
        }
    }

    /// As [`Prepared::run`], for a result in the positions of the last operand.
    pub(super) fn run_aligned(
        &self,
        operands: &[&Tensor],
        how: Run,
        timing: Option<&mut Timing>,
        begun: Begun,
    ) -> Result<Tensor, Error> {
        let (pattern, _) = split(operands)?;
        let zero = zero(&self.assignment);
        self.on_pattern(operands, |operands, entries| {
            let made = self.run_stages(operands, how, timing, begun)?;
            match entries {
                None => pattern.with_aligned(made.values().clone(), zero),
                Some(entries) => {
                    made.fetch()?;
                    pattern.with_aligned(entries.spread(made.values(), zero)?, zero)
                }
            }
        })
    }

    /// As [`Prepared::run_into`], for a result in the positions of the last operand.
    pub(super) fn run_aligned_into<T: StoredElement>(
        &self,
        operands: &[&Tensor],
        how: Run,
        out: &mut [T],
        begun: Begun,
    ) -> Result<(), Error> {
        let result = &self.assignment.result;
        if T::DTYPE != result.dtype {
            return Err(Error::Dtype { expected: T::DTYPE, found: result.dtype });
        }
        let (pattern, _) = split(operands)?;
        if pattern.nse() != out.len() {
            let expected = format!("a value for each of the {} positions", pattern.nse());
            return Err(Error::Shape { found: vec![out.len()], expected });
        }
        self.on_pattern(operands, |operands, entries| {
            if entries.is_none() && !pattern.overhangs() {
                return self.run_stages_into(operands, how, out, begun);
            }
            let made = self.run_stages(operands, how, None, begun)?;
            made.fetch()?;
            let zero = zero(&self.assignment);
            match entries {
                Some(entries) => entries.spread_into(made.values(), zero, out),
                None => {
                    let made = pattern.with_aligned(made.values().clone(), zero)?;
                    out.copy_from_slice(made.values().typed::<T>()?);
                    Ok(())
                }
            }
        })
    }
}

/// The operands of an assignment with one more, by which loops are led. It stands for one of them, too.
fn led_by<'a>(by: &'a Tensor, same: Option<usize>, own: &[&'a Tensor]) -> Refs<'a> {
    let each = own.iter().enumerate();
    let each = each.map(|(at, &one)| if same == Some(at) { by } else { one });
    each.chain([by]).collect()
}

/// The tree of the entries of a pattern: with its values, if it is an operand of the assignment.
fn tree_of(pattern: &Tensor, entries: &Entries, same: Option<usize>) -> Result<Tensor, Error> {
    match same {
        Some(_) => pattern.as_tree(),
        None => Ok(entries.tree.clone()),
    }
}

/// Whether two tensors are the same, with the same arrays.
pub(crate) fn is_same(a: &Tensor, b: &Tensor) -> bool {
    a.kept_of_levels().id() == b.kept_of_levels().id()
        && a.values().is_same(b.values())
        && (a.format(), a.view()) == (b.format(), b.view())
        && a.bound().extents() == b.bound().extents()
}

/// The pattern, and the operands before it.
fn split<'o, 't>(operands: &'o [&'t Tensor]) -> Result<(&'t Tensor, &'o [&'t Tensor]), Error> {
    let (pattern, own) = operands.split_last().ok_or_else(|| {
        let text = "a result in the positions of a tensor takes that tensor";
        Error::Unsupported(text.to_owned())
    })?;
    Ok((pattern, own))
}

type Refs<'a> = SmallVec<[&'a Tensor; 4]>;
