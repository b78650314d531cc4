//! Expressions of composed tensors.
//!
//! If the right-hand side is linear in a composed operand, it is evaluated for each part, and the results are added: in
//! the memory of the first, if it is stored in full. With several such operands, it is evaluated for each choice of parts.
//! The results have one format: the one asked for, or else the one that follows from the last choice. Other composed
//! operands are converted to one format first.

use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use ust_format::Format;

use super::builder::{Settings, einsum};
use super::cache::Role;
use super::kernel::{Kernel, LookedUp, checked, refs};
use crate::composed::Composed;
use crate::error::Error;
use crate::expr::OpError;
use crate::expr::control::Timing;
use crate::plan::execute::{Begun, Prepared};
use crate::provider::Backend;
use crate::storage::{StoredElement, Tensor, Values};

/// A tensor that a prepared kernel runs on.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// In one format.
    Tensor(&'a Tensor),
    /// A sum of parts.
    Composed(&'a Composed),
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

impl<'a> From<&'a Composed> for Operand<'a> {
    fn from(composed: &'a Composed) -> Self {
        Self::Composed(composed)
    }
}

/// How a kernel takes an argument.
#[derive(Clone, Debug)]
enum Taken {
    /// As it is.
    Whole,
    /// Part by part: so many.
    Parts(usize),
    /// Converted to this format.
    Converted(Format),
}

/// What a kernel of composed operands has beside the one for the first choice of parts.
#[derive(Debug)]
pub(super) struct Parts {
    /// For each argument.
    taken: Vec<Taken>,
    /// For each choice of parts but the first, the kernel.
    others: Vec<Arc<Prepared>>,
    /// Adds two results, where the loops do not; made at first need.
    sum: OnceLock<Kernel>,
}

/// The choices of a part of each argument, in the order of the last one first.
fn choices(taken: &[Taken]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for one in taken {
        let count = if let Taken::Parts(count) = one { *count } else { 1 };
        let longer = |choice: &Vec<usize>| {
            let choice = choice.clone();
            (0..count).map(move |part| choice.iter().copied().chain([part]).collect())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

impl Parts {
    /// As [`Kernel::look_up`]. `composed` has those of the arguments that are, of which `args` has the first part.
    pub(super) fn look_up(
        text: &str,
        mut args: Vec<(String, Tensor)>,
        composed: &[(usize, Composed)],
        mut settings: Settings,
        old: Option<&Tensor>,
        role: Role,
    ) -> Result<LookedUp, OpError> {
        let pattern = old.filter(|_| role == Role::Aligned);
        let (assignment, ..) = checked(text, &args, &settings, pattern)?;
        let mut taken = vec![Taken::Whole; args.len()];
        for (at, operand) in composed {
            // Results for parts that have other positions cannot be added.
            let apart = pattern.is_none() && assignment.is_linear_in(&args[*at].0);
            taken[*at] = match apart {
                true => Taken::Parts(operand.parts().len()),
                false => {
                    let format = operand.own_format()?;
                    args[*at].1 = operand.convert(&format)?;
                    Taken::Converted(format)
                }
            };
        }
        let choices = choices(&taken);
        let mut chosen = |choice: &[usize]| {
            for (at, operand) in composed {
                if let Taken::Parts(_) = taken[*at] {
                    args[*at].1 = operand.parts()[choice[*at]].clone();
                }
            }
            args.clone()
        };
        let mut others = Vec::with_capacity(choices.len() - 1);
        // The last choice is the general one, and tells the format of the result.
        for choice in choices[1..].iter().rev() {
            let args = chosen(choice);
            let found = added(text, &args, &settings)?;
            let format = || found.0.prepared.result_format().clone().into();
            settings.format.get_or_insert_with(format);
            others.push(found);
        }
        others.reverse();
        let args = chosen(&choices[0]);
        let (mut kernel, tensors, begun) = Kernel::one(text, &args, settings, old, role)?;
        let mut each = vec![(tensors, begun)];
        let mut prepared = Vec::with_capacity(others.len());
        for (kernel, tensors, begun) in others {
            prepared.push(kernel.prepared);
            each.push((tensors, begun));
        }
        kernel.parts = Some(Arc::new(Self { taken, others: prepared, sum: OnceLock::new() }));
        Ok(LookedUp { kernel, each })
    }

    pub(super) fn others(&self) -> impl Iterator<Item = &Prepared> {
        self.others.iter().map(|one| &**one)
    }

    /// The tensors of each choice of parts.
    fn tensors(&self, operands: &[Operand<'_>]) -> Result<Vec<Vec<Tensor>>, OpError> {
        let wrong = |at: usize, what: String| -> OpError {
            Error::Unsupported(format!("operand {at} of the kernel is {what}")).into()
        };
        let mut whole = Vec::with_capacity(operands.len());
        for (at, operand) in operands.iter().enumerate() {
            whole.push(match (self.taken.get(at).unwrap_or(&Taken::Whole), operand) {
                (Taken::Whole, Operand::Tensor(tensor)) => vec![(*tensor).clone()],
                (Taken::Converted(format), Operand::Tensor(tensor)) => {
                    vec![tensor.convert(format)?]
                }
                (Taken::Converted(format), Operand::Composed(one)) => vec![one.convert(format)?],
                (Taken::Parts(count), Operand::Composed(one)) if one.parts().len() == *count => {
                    one.parts().to_vec()
                }
                (Taken::Parts(count), _) => {
                    return Err(wrong(at, format!("a sum of {count} parts")));
                }
                (Taken::Whole, Operand::Composed(_)) => {
                    return Err(wrong(at, "a tensor in one format".to_owned()));
                }
            });
        }
        let of = |choice: Vec<usize>| {
            let part = |(at, parts): (usize, &Vec<Tensor>)| {
                parts[choice.get(at).copied().unwrap_or(0)].clone()
            };
            whole.iter().enumerate().map(part).collect()
        };
        Ok(choices(&self.taken).into_iter().map(of).collect())
    }

    /// Adds the results for the other choices of parts.
    pub(super) fn add(
        &self,
        mut result: Tensor,
        each: impl Iterator<Item = (Vec<Tensor>, Begun)>,
        kernel: &Kernel,
        mut timing: Option<&mut Timing>,
    ) -> Result<Tensor, OpError> {
        let how = kernel.settings.run();
        for (prepared, (tensors, begun)) in self.others.iter().zip(each) {
            let start = std::time::Instant::now();
            let mut spent = Timing::default();
            if prepared.adds_onto(result.format(), result.dtype()) {
                prepared.add_to(&refs(&tensors), how, &mut result, begun)?;
                spent.run_in = start.elapsed();
            } else {
                let more = prepared.run(&refs(&tensors), how, Some(&mut spent), begun)?;
                let start = std::time::Instant::now();
                let sum = self.sum(&result, &more, &kernel.settings)?;
                result = sum.run(&[&result, &more])?;
                spent.run_in += start.elapsed();
            }
            if let Some(timing) = &mut timing {
                timing.run_in += spent.run_in;
                timing.prepared_in += spent.prepared_in;
            }
        }
        Ok(result)
    }

    /// As [`Parts::add`], in the caller's memory, which has the result for the first choice.
    pub(super) fn add_into<T: StoredElement>(
        &self,
        out: &mut [T],
        each: Vec<(Vec<Tensor>, Begun)>,
        kernel: &Kernel,
    ) -> Result<(), OpError> {
        let how = kernel.settings.run();
        let format = kernel.prepared.result_format();
        for (prepared, (tensors, begun)) in self.others.iter().zip(each) {
            if prepared.adds_onto(format, T::DTYPE) {
                prepared.run_onto(&refs(&tensors), how, out, begun)?;
                continue;
            }
            let more = prepared.run(&refs(&tensors), how, None, begun)?;
            let mut values = Values::unspecified(T::DTYPE, out.len());
            values.typed_mut::<T>()?.copy_from_slice(out);
            let so_far = more.with_values(values)?;
            self.sum(&so_far, &more, &kernel.settings)?.run_into(&[&so_far, &more], out)?;
        }
        Ok(())
    }

    /// The kernel that adds two results.
    fn sum(&self, a: &Tensor, b: &Tensor, settings: &Settings) -> Result<Kernel, OpError> {
        if let Some(kernel) = self.sum.get() {
            return Ok(kernel.clone());
        }
        let indices: Vec<String> = (0..a.rank()).map(|dim| format!("d{dim}")).collect();
        let at = indices.join(",");
        let made = |backend: Backend| {
            let sum = einsum(&format!("R({at}) = X({at}) + Y({at})")).arg("X", a).arg("Y", b);
            sum.format(a.format()).options(settings).backend(backend).prepare()
        };
        let kernel = match made(settings.backend) {
            // The back end asked for may be one for products alone.
            Err(OpError::Tensor(Error::Refused { .. })) => made(Backend::Cpu)?,
            other => other?,
        };
        Ok(self.sum.get_or_init(|| kernel).clone())
    }

    /// See [`Kernel::explain`].
    pub(super) fn explain(&self, kernel: &Kernel) -> String {
        let mut out = String::new();
        for (name, taken) in kernel.names.iter().zip(&self.taken) {
            // Writing into a string cannot fail.
            let _ = match taken {
                Taken::Whole => Ok(()),
                Taken::Parts(count) => {
                    writeln!(out, "composed    {name}: each of {count} parts by itself")
                }
                Taken::Converted(format) => {
                    writeln!(
                        out,
                        "composed    {name}: converted into `{format}`, since results for its parts cannot be added"
                    )
                }
            };
        }
        let format = kernel.prepared.result_format();
        let all = std::iter::once(&kernel.prepared).chain(&self.others);
        for (at, (prepared, choice)) in all.zip(choices(&self.taken)).enumerate() {
            let parts = kernel.names.iter().zip(&self.taken).zip(choice);
            let parts = parts.filter_map(|((name, taken), part)| match taken {
                Taken::Parts(count) => Some(format!("{name} part {} of {count}", part + 1)),
                _ => None,
            });
            let parts: Vec<String> = parts.collect();
            let added = match prepared.adds_onto(format, prepared.assignment.result.dtype) {
                _ if at == 0 => "",
                true => ", added in the memory of the result",
                false => ", then added to the result",
            };
            if !parts.is_empty() {
                let _ = writeln!(out, "\nsum         {}{added}", parts.join(", "));
            }
            out.push_str(&prepared.explain());
        }
        out
    }
}

/// The kernel for a choice of parts whose result is added, by its loops if they can.
fn added(
    text: &str,
    args: &[(String, Tensor)],
    settings: &Settings,
) -> Result<(Kernel, Vec<Tensor>, Begun), OpError> {
    let made = |onto| Kernel::one(text, args, settings.clone(), None, Role::Added { onto });
    let adds = match made(true) {
        Err(OpError::Tensor(Error::Refused { .. })) => None,
        other => Some(other?),
    };
    let is_onto = |kernel: &Kernel| {
        let Prepared { assignment, .. } = &*kernel.prepared;
        kernel.prepared.adds_onto(kernel.prepared.result_format(), assignment.result.dtype)
    };
    match adds {
        Some(found) if is_onto(&found.0) => Ok(found),
        _ => made(false),
    }
}

impl Kernel {
    /// Runs the kernel on tensors in the order of [`Kernel::operands`], some of them composed, for an update followed by
    /// the old value. Composed tensors must have as many parts as those that the kernel was prepared with, in the same
    /// formats. Nothing is planned.
    ///
    /// ```
    /// use ust::{Composed, Tensor, einsum, generate::generate};
    ///
    /// let a = Tensor::from_coo(&generate("gen:poisson2d(9)")?, "CSR")?;
    /// let a = Composed::split(&a, &"DIA where fill(j - i) >= 0.9 + CSR".parse()?)?;
    /// let x = Tensor::from_array(ust::ndarray::Array1::<f64>::ones(81).into_dyn())?;
    /// let kernel = einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", &x).prepare()?;
    /// let y = kernel.run_with(&[(&a).into(), (&x).into()])?;
    /// assert_eq!(y.get_as::<f64>(&[40])?, 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Kernel::run`], and [`Error::Unsupported`] for a composed tensor in the place of another, or with another number
    /// of parts.
    pub fn run_with(&self, operands: &[Operand<'_>]) -> Result<Tensor, OpError> {
        self.run_with_timed(operands, &mut Timing::default())
    }

    /// As [`Kernel::run_with`], and tells the time that it took.
    ///
    /// # Errors
    /// As [`Kernel::run_with`].
    pub fn run_with_timed(
        &self,
        operands: &[Operand<'_>],
        timing: &mut Timing,
    ) -> Result<Tensor, OpError> {
        if self.parts.is_none() {
            return self.run_timed(&whole(operands)?, timing);
        }
        let each = self.chosen(operands)?;
        self.execute_each(each, self.more(operands)?, Some(timing))
    }

    /// As [`Kernel::run_with`], into the caller's memory: a result that is stored in full, row-major.
    ///
    /// # Errors
    /// As [`Kernel::run_with`] and [`Kernel::run_into`].
    pub fn run_with_into<T: StoredElement>(
        &self,
        operands: &[Operand<'_>],
        out: &mut [T],
    ) -> Result<(), OpError> {
        self.execute_each_into(self.chosen(operands)?, self.more(operands)?, out)
    }

    /// The tensor behind those that have names, if there is one.
    fn more(&self, operands: &[Operand<'_>]) -> Result<Option<Tensor>, OpError> {
        let more = operands.get(self.names.len()).map(|more| match more {
            Operand::Tensor(tensor) => Ok((*tensor).clone()),
            Operand::Composed(composed) => composed.convert(&composed.own_format()?),
        });
        Ok(more.transpose()?)
    }

    /// The tensors of each choice of parts, in the order of the operands.
    fn chosen(&self, operands: &[Operand<'_>]) -> Result<Vec<(Vec<Tensor>, Begun)>, OpError> {
        if operands.len() != self.names.len() + self.takes_more() {
            let (count, names) = (operands.len(), self.names.join(", "));
            let text = format!("the kernel takes tensors for {names}, and {count} were given");
            return Err(Error::Unsupported(text).into());
        }
        let own = &operands[..self.names.len()];
        let each = match &self.parts {
            Some(parts) => parts.tensors(own)?,
            None => vec![whole(own)?.into_iter().cloned().collect()],
        };
        let arranged = |tensors: Vec<Tensor>| (self.ordered(&tensors), Begun::default());
        Ok(each.into_iter().map(arranged).collect())
    }
}

/// Tensors that all have one format.
fn whole<'a>(operands: &[Operand<'a>]) -> Result<Vec<&'a Tensor>, OpError> {
    let each = operands.iter().map(|operand| match operand {
        Operand::Tensor(tensor) => Ok(*tensor),
        Operand::Composed(_) => {
            let text = "the kernel was prepared for a tensor in one format: prepare it with the composed one";
            Err(Error::Unsupported(text.to_owned()).into())
        }
    });
    each.collect()
}
