//! Prepared kernels: planned and compiled once, run on many tensors.

use std::borrow::Cow;
use std::sync::Arc;

use smallvec::SmallVec;
use ust_level_api::{Element, IndexArray, Scalar, with_dtype};

use super::builder::Settings;
use super::cache::{self, Key, Role, Signature};
use super::parts::Parts;
use crate::error::Error;
use crate::expr::control::Timing;
use crate::expr::{Assignment, Expression, GivenInput, OpError};
use crate::plan::execute::{Begun, Options, Prepared};
use crate::provider::{Backend, states};
use crate::storage::{StoredElement, Tensor};

/// An expression, planned and compiled for tensors of some formats and dtypes. Cheap to clone; may
/// be run on several threads at once.
///
/// ```
/// use ust::{Tensor, einsum};
///
/// let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [2.0, 3.0]], "CSR")?;
/// let x = Tensor::from_array(ndarray::array![10.0, 1.0].into_dyn())?;
/// let kernel = einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", &x).prepare()?;
/// assert_eq!(kernel.operands(), ["A", "x"]);
/// let y = kernel.run(&[&a, &x])?;
/// let z = kernel.run(&[&a, &y])?;
/// assert_eq!(z.values().typed::<f64>()?, [10.0, 89.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(super) prepared: Arc<Prepared>,
    pub(super) settings: Settings,
    /// The names of the tensors, in the order of [`Kernel::run`].
    pub(super) names: Vec<String>,
    /// For each operand of the assignment, the number of its name.
    order: Vec<usize>,
    /// How composed operands are taken, if there are any.
    pub(super) parts: Option<Arc<Parts>>,
}

/// A kernel, and what it runs on first.
pub(super) struct LookedUp {
    pub(super) kernel: Kernel,
    /// For each choice of parts of composed operands, the tensors in the order of the operands, and the intermediate
    /// results of planning. Without composed operands there is one.
    pub(super) each: Vec<(Vec<Tensor>, Begun)>,
}

impl Kernel {
    /// Looks a kernel up in the cache, or else plans and compiles it.
    pub(super) fn look_up(
        text: &str,
        args: &[(String, Tensor)],
        settings: Settings,
        old: Option<&Tensor>,
        role: Role,
    ) -> Result<LookedUp, OpError> {
        let (kernel, tensors, begun) = Self::one(text, args, settings, old, role)?;
        Ok(LookedUp { kernel, each: vec![(tensors, begun)] })
    }

    /// As [`Kernel::look_up`]: the kernel, the tensors in the order of the assignment's operands, and the intermediate
    /// results of planning.
    pub(super) fn one(
        text: &str,
        args: &[(String, Tensor)],
        settings: Settings,
        old: Option<&Tensor>,
        role: Role,
    ) -> Result<(Self, Vec<Tensor>, Begun), OpError> {
        let key = Key::new(text, args, &settings, old, role);
        let names: Vec<String> = args.iter().map(|(name, _)| name.clone()).collect();
        let pattern = old.filter(|_| role == Role::Aligned);
        if let Some(prepared) = cache::get(&key) {
            let order = order(&prepared.assignment, args)?;
            let tensors: Vec<Tensor> = order.iter().map(|&at| args[at].1.clone()).collect();
            let fits = prepared.fits(&tensors.iter().chain(pattern).collect::<Refs<'_>>());
            if fits {
                let kernel = Self { prepared, settings, names, order, parts: None };
                return Ok((kernel, tensors, Begun::default()));
            }
        }
        let (mut assignment, tensors, order) = checked(text, args, &settings, pattern)?;
        if let Role::Added { .. } = role {
            assignment.update = None;
        }
        let rank = assignment.result.indices.len();
        let resolved = settings.format.clone().map(|given| given.resolve(Some(rank)));
        let format = resolved.transpose().map_err(Error::from)?.map(Cow::into_owned);
        if let Some(format) = &format {
            if format.rank() != rank {
                return Err(Error::Unsupported(format!(
                    "the result `{}` has {rank} dimensions, the format `{format}` has {}",
                    assignment.result.name,
                    format.rank()
                ))
                .into());
            }
            if format.has_slices() {
                let text = "a result cannot be stored in a sliced format: leave the slices out";
                return Err(Error::Unsupported(text.to_owned()).into());
            }
        }
        let mut all = tensors.clone();
        if let Some(pattern) = pattern {
            expect_alike(&assignment, pattern, settings.format.is_some())?;
            all.push(pattern.clone());
        }
        match (&assignment.update, old) {
            (Some(_), Some(old)) => all.push(old.clone()),
            (Some(_), None) => {
                let text = "the expression updates what is there: give it with `update`";
                return Err(Error::Unsupported(text.to_owned()).into());
            }
            (None, _) => {}
        }
        let options = Options {
            format,
            backend: settings.backend,
            strict: settings.strict,
            onto: role == Role::Added { onto: true },
            aligned: pattern.is_some(),
            same: None,
            run: settings.run(),
        };
        let (prepared, begun) = Prepared::new(assignment, &refs(&all), &options)?;
        let prepared = Arc::new(prepared);
        cache::put(key, Arc::clone(&prepared));
        Ok((Self { prepared, settings, names, order, parts: None }, tensors, begun))
    }

    /// The names of the tensors, in the order in which [`Kernel::run`] takes them.
    #[must_use]
    pub fn operands(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    /// Runs the kernel on tensors in the order of [`Kernel::operands`], for an update followed by the old
    /// value, and for a result [in the positions of a tensor](super::Einsum::aligned_with) by that one. They
    /// must have the formats, dtypes and index widths of those that the kernel was prepared with, and may have
    /// any shapes that agree. Automatic widths of a format, and the widths of a result, follow from the shape:
    /// if they change, prepare another kernel, as `einsum` does.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a tensor of another format or dtype, or another number of them;
    /// [`Error::Shape`] where extents contradict each other.
    pub fn run(&self, tensors: &[&Tensor]) -> Result<Tensor, OpError> {
        self.expect_tensors()?;
        self.execute(&self.arranged(tensors)?, None, Begun::default())
    }

    /// As [`Kernel::run`], and adds the time that it took to `timing`.
    ///
    /// # Errors
    /// As [`Kernel::run`].
    pub fn run_timed(&self, tensors: &[&Tensor], timing: &mut Timing) -> Result<Tensor, OpError> {
        self.expect_tensors()?;
        self.execute(&self.arranged(tensors)?, Some(timing), Begun::default())
    }

    /// Runs the kernel into the caller's memory: a result that is stored in full, row-major, or the values at the
    /// positions of a tensor.
    ///
    /// # Errors
    /// As [`Kernel::run`], and as [`Einsum::run_into`](super::Einsum::run_into).
    pub fn run_into<T: StoredElement>(
        &self,
        tensors: &[&Tensor],
        out: &mut [T],
    ) -> Result<(), OpError> {
        self.expect_tensors()?;
        self.execute_into(&self.arranged(tensors)?, out, Begun::default())
    }

    /// Describes the kernel, for people: stages, loops, strategy for each operand and level, conversions,
    /// back end, and the code.
    #[must_use]
    pub fn explain(&self) -> String {
        match &self.parts {
            None => self.prepared.explain(),
            Some(parts) => parts.explain(self),
        }
    }

    /// For each stage, its provider, and for each innermost loop, its microkernel or the reason why it is
    /// scalar code.
    ///
    /// ```
    /// use ust::{Tensor, einsum, generate::generate};
    /// let a = Tensor::from_coo(&generate("gen:poisson2d(9)")?, "CSR")?;
    /// let x = ust::ndarray::Array1::<f64>::ones(81);
    /// let kernel = einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", x).prepare()?;
    /// # if ust::provider::names().contains(&"jit") {
    /// assert_eq!(kernel.stages(), ["jit: i: rows-of-gather-dots"]);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stages(&self) -> Vec<String> {
        self.all().flat_map(Prepared::stages).collect()
    }

    /// The machine code of each stage as text, if there is any.
    #[must_use]
    pub fn machine_code(&self) -> Option<String> {
        self.codes().map(|codes| codes.join("\n"))
    }

    /// The machine code of each stage, or what its provider writes in place of it, if there is any for all. The
    /// results of stages before the last are called `t0`, `t1`, ... in those behind them.
    #[must_use]
    pub fn codes(&self) -> Option<Vec<String>> {
        let each: Option<Vec<Vec<String>>> = self.all().map(Prepared::codes).collect();
        Some(each?.concat())
    }

    /// The name of the provider that runs the loops of the last stage, such as `jit`.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        self.prepared.backend()
    }

    /// The kernels for all choices of parts of composed operands.
    fn all(&self) -> impl Iterator<Item = &Prepared> {
        let others = self.parts.iter().flat_map(|parts| parts.others());
        std::iter::once(&*self.prepared).chain(others)
    }

    /// The number of tensors behind those that have names: the old value for an update, or the tensor in whose positions
    /// the result is computed.
    pub(super) fn takes_more(&self) -> usize {
        usize::from(self.prepared.assignment.update.is_some() || self.prepared.is_aligned())
    }

    /// The tensors in the order of the operands, from those in the order of the names.
    pub(super) fn ordered(&self, tensors: &[Tensor]) -> Vec<Tensor> {
        self.order.iter().map(|&at| tensors[at].clone()).collect()
    }

    /// As [`Kernel::ordered`], followed by [one more](Self::takes_more).
    fn arranged<'a>(&self, tensors: &[&'a Tensor]) -> Result<Refs<'a>, OpError> {
        if tensors.len() != self.names.len() + self.takes_more() {
            return Err(Error::Unsupported(format!(
                "the kernel takes {} tensors ({}), and {} were given",
                self.names.len(),
                self.names.join(", "),
                tensors.len()
            ))
            .into());
        }
        let own = self.order.iter().map(|&at| tensors[at]);
        Ok(own.chain(tensors[self.names.len()..].iter().copied()).collect())
    }

    /// Refuses tensors without parts, if operands are composed.
    fn expect_tensors(&self) -> Result<(), OpError> {
        match self.parts {
            None => Ok(()),
            Some(_) => {
                let text = "the kernel was prepared for composed tensors: run it with `run_with`";
                Err(Error::Unsupported(text.to_owned()).into())
            }
        }
    }

    fn execute(
        &self,
        tensors: &[&Tensor],
        timing: Option<&mut Timing>,
        begun: Begun,
    ) -> Result<Tensor, OpError> {
        self.settings
            .cancelled_by(|| Ok(self.prepared.run(tensors, self.settings.run(), timing, begun)?))
    }

    fn execute_into<T: StoredElement>(
        &self,
        tensors: &[&Tensor],
        out: &mut [T],
        begun: Begun,
    ) -> Result<(), OpError> {
        self.settings.cancelled_by(|| {
            Ok(self.prepared.run_into(tensors, self.settings.run(), out, begun)?)
        })
    }

    /// Runs the kernel on the tensors of each choice of parts, with [one more](Self::takes_more) if it takes that.
    pub(super) fn execute_each(
        &self,
        each: Vec<(Vec<Tensor>, Begun)>,
        old: Option<Tensor>,
        mut timing: Option<&mut Timing>,
    ) -> Result<Tensor, OpError> {
        let mut each = each.into_iter();
        let (mut tensors, begun) = each.next().expect("there is a first choice of parts");
        tensors.extend(old);
        let result = self.execute(&refs(&tensors), timing.as_deref_mut(), begun)?;
        match &self.parts {
            None => Ok(result),
            Some(parts) => parts.add(result, each, self, timing),
        }
    }

    /// As [`Kernel::execute_each`], into the caller's memory.
    pub(super) fn execute_each_into<T: StoredElement>(
        &self,
        mut each: Vec<(Vec<Tensor>, Begun)>,
        more: Option<Tensor>,
        out: &mut [T],
    ) -> Result<(), OpError> {
        let others = each.split_off(1);
        let (mut tensors, begun) = each.pop().expect("there is a first choice of parts");
        tensors.extend(more);
        self.execute_into(&refs(&tensors), out, begun)?;
        match &self.parts {
            None => Ok(()),
            Some(parts) => parts.add_into(out, others, self),
        }
    }
}

/// Tensors of the caller.
pub(super) type Refs<'a> = SmallVec<[&'a Tensor; 4]>;

pub(super) fn refs(tensors: &[Tensor]) -> Refs<'_> {
    tensors.iter().collect()
}

/// Reads and checks an expression. Also returns the tensors in the order of the operands, and for each the
/// number of its argument. `pattern`: the tensor in whose positions the result is computed, which says how far indices
/// run that no operand has.
pub(super) fn checked(
    text: &str,
    args: &[(String, Tensor)],
    settings: &Settings,
    pattern: Option<&Tensor>,
) -> Result<(Assignment, Vec<Tensor>, Vec<usize>), OpError> {
    let expression = Expression::parse(text)?;
    let mut options = Cow::Borrowed(&settings.check);
    if let Some(pattern) = pattern {
        let declared = |name: &str| options.operators.iter().any(|op| op.name() == name);
        let accesses = expression.accesses_with(&declared);
        let is_given = |name: &String| {
            accesses.iter().any(|access| access.indices.contains(name))
                || options.extents.iter().any(|(given, _)| given == name)
        };
        let own = expression.result.indices.iter().zip(pattern.shape());
        let own = own.filter(|(name, _)| !is_given(name));
        let more: Vec<(String, usize)> = own.map(|(name, &n)| (name.clone(), n)).collect();
        options.to_mut().extents.extend(more);
    }
    let given: Vec<GivenInput<'_>> = args
        .iter()
        .map(|(name, tensor)| GivenInput {
            name,
            shape: tensor.shape(),
            dtype: tensor.dtype(),
            fill: tensor.fill(),
            full: tensor.format().is_full(),
        })
        .collect();
    let assignment = expression.check(&given, &options)?;
    let order = order(&assignment, args)?;
    let tensors = order.iter().map(|&at| args[at].1.clone()).collect();
    Ok((assignment, tensors, order))
}

/// Whether an expression has the shape of the tensor in whose positions it is computed. `format`: whether a format is
/// asked for.
fn expect_alike(assignment: &Assignment, pattern: &Tensor, format: bool) -> Result<(), Error> {
    let wrong = match (&assignment.update, format) {
        (Some(_), _) => "an update is stored as what it updates: assign with `=`",
        (None, true) => "a result in the positions of a tensor has its format: leave `format` out",
        (None, false) => {
            let indices = assignment.result.indices.iter();
            let shape: Vec<usize> = indices.map(|&v| assignment.indices[v].extent).collect();
            let expected =
                format!("the result has shape {shape:?}, and is computed in its positions");
            return match pattern.shape() == shape {
                true => Ok(()),
                false => Err(Error::Shape { found: pattern.shape().to_vec(), expected }),
            };
        }
    };
    Err(Error::Unsupported(wrong.to_owned()))
}

/// For each operand, the number of its argument.
fn order(assignment: &Assignment, args: &[(String, Tensor)]) -> Result<Vec<usize>, OpError> {
    let find = |name: &str| args.iter().position(|(given, _)| given == name);
    let each = assignment.operands.iter().map(|input| {
        find(&input.name).ok_or_else(|| {
            OpError::from(Error::Unsupported(format!("no tensor `{}` was given", input.name)))
        })
    });
    each.collect()
}

/// The bits of a number, padded with zeros.
fn bits(scalar: Scalar) -> [u8; 16] {
    let mut bits = [0; 16];
    with_dtype!(scalar.dtype(), T => {
        if let Some(number) = T::from_scalar(scalar) {
            let bytes = bytemuck::bytes_of(&number);
            bits[..bytes.len()].copy_from_slice(bytes);
        }
    });
    bits
}

impl Signature {
    /// The properties of a tensor that a kernel depends on.
    pub(crate) fn of(tensor: &Tensor, backend: Backend) -> Self {
        let class = |count: usize| (count as u64).saturating_add(1).ilog2() / 3;
        let longest = tensor.shape().iter().copied().max().unwrap_or(0);
        Self {
            format: tensor.format().clone(),
            dtype: tensor.dtype(),
            fill: bits(tensor.fill()),
            kinds: tensor.index_arrays().map(IndexArray::kind).collect(),
            whole: tensor.view().shows_all(),
            iso: tensor.is_iso(),
            states: if backend == Backend::Auto { states(tensor) } else { 0 },
            class: class(tensor.nse()) * 32 + class(longest),
        }
    }
}
