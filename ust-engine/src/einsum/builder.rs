//! [`einsum`] and its options.

use std::time::Instant;

use ust_format::Given;
use ust_level_api::Dtype;
use ust_level_api::ir::cancel;

use super::argument::Argument;
use super::cache::Role;
use super::kernel::{Kernel, LookedUp};
use super::parts::Parts;
use crate::composed::Composed;
use crate::error::Error;
use crate::expr::CancelToken;
use crate::expr::control::{Run, Timing};
use crate::expr::{Assignment, CheckOptions, OpError, Semiring, UserOperator};
use crate::provider::Backend;
use crate::storage::memory::default_limit;
use crate::storage::{StoredElement, Tensor};

/// Evaluates an expression in index notation.
///
/// ```
/// use ust::{Tensor, einsum};
///
/// let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [2.0, 3.0]], "CSR")?;
/// let x = ndarray::array![10.0, 1.0];
/// let y = einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", &x).run()?;
/// assert_eq!(y.values().typed::<f64>()?, [10.0, 23.0]);
///
/// let square = einsum("C(i,j) = A(i,k) * A(k,j)").arg("A", &a).format("CSC").run()?;
/// assert_eq!(square.get_as::<f64>(&[1, 0])?, 8.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The text is read in [`Einsum::run`] and the other methods that return a `Result`.
pub fn einsum(text: &str) -> Einsum {
    Einsum {
        text: text.to_owned(),
        args: Vec::new(),
        composed: Vec::new(),
        aligned: None,
        settings: Settings::default(),
        wrong: None,
    }
}

/// An expression with its tensors and options, made by [`einsum`].
#[derive(Debug)]
#[must_use = "nothing is computed before `run`"]
pub struct Einsum {
    text: String,
    /// Of a composed tensor, the first part.
    args: Vec<(String, Tensor)>,
    /// The composed tensors, each with the number of its argument.
    composed: Vec<(usize, Composed)>,
    /// The tensor in whose positions the result is computed.
    aligned: Option<Tensor>,
    settings: Settings,
    /// The first error, returned when the expression runs.
    wrong: Option<OpError>,
}

/// The options of an expression.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) check: CheckOptions,
    pub(crate) format: Option<Given<'static>>,
    pub(crate) backend: Backend,
    pub(crate) strict: bool,
    pub(crate) threads: Option<usize>,
    pub(crate) limit: Option<u64>,
    pub(crate) cancel: Option<CancelToken>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            check: CheckOptions::default(),
            format: None,
            backend: Backend::Auto,
            strict: false,
            threads: None,
            limit: None,
            cancel: None,
        }
    }
}

impl Settings {
    /// Does work in the scope of the token, if there is one.
    pub(crate) fn cancelled_by<R>(
        &self,
        work: impl FnOnce() -> Result<R, OpError>,
    ) -> Result<R, OpError> {
        match &self.cancel {
            Some(token) => token.scope(work),
            None => work(),
        }
    }

    pub(crate) fn run(&self) -> Run {
        Run {
            threads: self.threads.unwrap_or_else(rayon::current_num_threads),
            limit: self.limit.unwrap_or_else(default_limit),
            cancels: cancel::is_in_scope(),
        }
    }
}

impl Einsum {
    /// Adds an operand: a [`Tensor`], a [`Composed`] tensor, an `ndarray` array, a vector or a slice of numbers, or a
    /// number. A tensor is shared. A `Vec`, and an owned array in row-major order, are taken without a copy; others are
    /// copied.
    ///
    /// Where the right-hand side is linear in a composed tensor, which stands in each of its terms once, it is
    /// evaluated for each part, and the results are added. Else the tensor is converted to the format of its last part
    /// first, at each run.
    pub fn arg(mut self, name: &str, value: impl Argument) -> Self {
        match value.into_composed() {
            Ok(composed) => {
                let first = composed.parts()[0].clone();
                if composed.parts().len() > 1 {
                    self.composed.push((self.args.len(), composed));
                }
                self.args.push((name.to_owned(), first));
            }
            Err(error) => self.fail(error.into()),
        }
        self
    }

    /// The format of the result: a name such as `"CSR"`, format text, or a [`Format`](crate::Format). By default it follows from the operands: dense if the result has a value at every
    /// coordinate, else the format of operands with the same indices, else compressed.
    pub fn format<'f>(mut self, format: impl Into<Given<'f>>) -> Self {
        self.settings.format = Some(format.into().into_owned());
        self
    }

    /// Computes the result in the positions of a tensor: it has the format and the level arrays of the tensor, and at
    /// each position of its values the element of the expression there. So `result.values()` and `tensor.values()` go
    /// together one by one, as a gradient goes together with what is learned. Indices that no operand has run as far as
    /// the tensor does.
    ///
    /// ```
    /// use ust::{Tensor, einsum};
    ///
    /// let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [2.0, 3.0]], "CSR")?;
    /// // Of `s = y(i) * A(i,j) * x(j)`, the gradient with respect to what `A` stores.
    /// let (x, y) = ([1.0, 10.0], [1.0, 2.0]);
    /// let gradient = einsum("dA(i,j) = y(i) * x(j)").arg("x", &x).arg("y", &y).aligned_with(&a).run()?;
    /// assert_eq!(gradient.values().typed::<f64>()?, [1.0, 2.0, 20.0]);
    /// // The same positions: one step of descent.
    /// let steps = a.values().typed::<f64>()?.iter().zip(gradient.values().typed::<f64>()?);
    /// let learned = a.with_values(steps.map(|(a, d)| a - 0.1 * d).collect::<Vec<f64>>())?;
    /// assert_eq!(learned.get_as::<f64>(&[1, 0])?, 1.8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// * The positions of full levels are those of elements, whatever they hold: all of a block within the shape, all of
    ///   a diagonal. Other [padding](Tensor::has_padding), such as of ELL, gets the zero of the result, as does what no
    ///   coordinate reaches.
    /// * Of several entries at the same coordinates, each position gets the element there.
    /// * A slice shares the arrays of the whole tensor, and so does the result. Positions outside of it get zero.
    /// * [`Einsum::run_into`] writes a value for each position. A kernel that is [prepared](Einsum::prepare) takes the
    ///   tensor behind all others. Where it is one of the operands, loops read it once, and the kernel takes the same
    ///   tensor in both places.
    ///
    /// Cost: where loops can walk the tensor as it is stored, that of the elements at its positions. For slices, sorted
    /// and counted formats, and duplicates, its entries are converted once to a tree of coordinates, which is kept with
    /// it, and each run moves values from there.
    ///
    /// # Errors
    /// [`Einsum::run`] and others fail with [`Error::Shape`] if the tensor does not have the shape of the result, and
    /// [`Error::Unsupported`] if a format is asked for as well, if the expression is an update, or if a position of the
    /// tensor stands for several elements, as in a run-length format.
    pub fn aligned_with(mut self, tensor: &Tensor) -> Self {
        self.aligned = Some(tensor.clone());
        self
    }

    /// The dtype of the result; by default that of the right-hand side.
    pub fn dtype(mut self, dtype: Dtype) -> Self {
        self.settings.check.dtype = Some(dtype);
        self
    }

    /// The meaning of `+` and `*`, by name: `min_plus`, `or_and`, ... See [`Semiring`].
    pub fn semiring(mut self, name: &str) -> Self {
        match Semiring::named(name) {
            Some(semiring) => self.settings.check.semiring = Some(semiring),
            None => {
                let text = format!(
                    "no semiring is called `{name}`: try `plus_times`, `min_plus`, `max_times` or \
                     `or_and`, or give one with `over`"
                );
                self.fail(Error::Unsupported(text).into());
            }
        }
        self
    }

    /// The meaning of `+` and `*`.
    pub fn over(mut self, semiring: Semiring) -> Self {
        self.settings.check.semiring = Some(semiring);
        self
    }

    /// A function or reduction of your own, known to the expression by its name.
    pub fn operator(mut self, operator: UserOperator) -> Self {
        self.settings.check.operators.push(operator);
        self
    }

    /// The extent of an index that no operand has: of the result, or of a sum of coordinates, as `k` in `sum(k, k)`.
    pub fn extent(mut self, index: &str, extent: usize) -> Self {
        self.settings.check.extents.push((index.to_owned(), extent));
        self
    }

    /// The back end that runs the loops. By default [`Backend::Auto`], the [provider](crate::provider) that
    /// offers the least time.
    pub fn backend(mut self, backend: Backend) -> Self {
        self.settings.backend = backend;
        self
    }

    /// Forms sums in the order of the loops, one number after another. By default, a sum may be formed in
    /// several partial sums, which is faster and differs by rounding. The planner chooses which factors of
    /// a product are multiplied and summed first, with this option as well.
    pub fn strict(mut self) -> Self {
        self.settings.strict = true;
        self
    }

    /// The number of threads, at most, from the rayon pool of the calling thread. By default all of them.
    ///
    /// A caller outside any pool shares loops with separate threads: together with the caller, as many as
    /// the global pool has. They stay awake for 200 microseconds after work, so that a call that follows
    /// soon does not wait until they wake.
    ///
    /// Results are the same bits for the same number of threads.
    pub fn threads(mut self, threads: usize) -> Self {
        self.settings.threads = Some(threads.max(1));
        self
    }

    /// Bytes that a result may take. By default [`default_limit`].
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.settings.limit = Some(bytes);
        self
    }

    /// Ends early with [`Error::Cancelled`] when the token is cancelled. A [kernel](Kernel) that is prepared so has the
    /// token, too. The same as all of it in the [scope](CancelToken::scope) of the token.
    pub fn cancel(mut self, token: &CancelToken) -> Self {
        self.settings.cancel = Some(token.clone());
        self
    }

    /// The same threads, limits and order of sums.
    pub(super) fn options(mut self, settings: &Settings) -> Self {
        let Settings { strict, threads, limit, .. } = *settings;
        let cancel = settings.cancel.clone();
        self.settings = Settings { strict, threads, limit, cancel, ..self.settings };
        self
    }

    fn fail(&mut self, error: OpError) {
        self.wrong.get_or_insert(error);
    }

    /// Computes the result.
    ///
    /// A kernel that was compiled before for the same expression and tensors of the same formats is
    /// reused. Otherwise, planning and compiling take a few milliseconds at most.
    ///
    /// # Errors
    /// [`OpError::Text`] points at an error in the expression; [`OpError::Tensor`] is an error of a
    /// conversion or of the result.
    pub fn run(self) -> Result<Tensor, OpError> {
        let more = self.aligned.clone();
        let LookedUp { kernel, each } = self.look_up()?;
        kernel.execute_each(each, more, None)
    }

    /// As [`Einsum::run`]. Also returns the kernel, for further runs, and measures the preparation and the
    /// run separately.
    ///
    /// ```
    /// use ust::ops::Timing;
    /// use ust::{Tensor, einsum};
    ///
    /// let a = Tensor::from_dense(&ndarray::array![[0.5, 0.5], [0.0, 1.0]], "CSR")?;
    /// let x = Tensor::from_array(ndarray::array![1.0, 3.0].into_dyn())?;
    /// let mut timing = Timing::default();
    /// let call = einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", &x);
    /// let (kernel, mut x) = call.run_timed(&mut timing)?;
    /// for _ in 0..2 {
    ///     x = kernel.run(&[&a, &x])?;
    /// }
    /// assert_eq!(x.values().typed::<f64>()?, [2.75, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Einsum::run`].
    pub fn run_timed(self, timing: &mut Timing) -> Result<(Kernel, Tensor), OpError> {
        let start = Instant::now();
        let more = self.aligned.clone();
        let LookedUp { kernel, each } = self.look_up()?;
        let result = kernel.execute_each(each, more, Some(timing))?;
        timing.prepared_in = start.elapsed().saturating_sub(timing.run_in);
        Ok((kernel, result))
    }

    /// Computes a result that is stored in full into the caller's memory, row-major; or the values at the positions of a
    /// tensor, after [`Einsum::aligned_with`].
    ///
    /// # Errors
    /// As [`Einsum::run`], and [`Error::Shape`] where the length is not that of the result,
    /// [`Error::Dtype`] where its dtype is another.
    pub fn run_into<T: StoredElement>(self, out: &mut [T]) -> Result<(), OpError> {
        let more = self.aligned.clone();
        let LookedUp { kernel, each } = self.look_up()?;
        kernel.execute_each_into(each, more, out)
    }

    /// Updates a tensor: the expression's `+=`, `min=`, ... combines with its old elements.
    ///
    /// # Errors
    /// As [`Einsum::run`], and where the shape is not that of the result.
    pub fn update(self, target: &mut Tensor) -> Result<(), OpError> {
        let mut this = self;
        this.settings.format.get_or_insert_with(|| target.format().without_slices().into());
        this.settings.check.dtype.get_or_insert(target.dtype());
        let LookedUp { kernel, each } = this.look_up_with(Some(target))?;
        *target = kernel.execute_each(each, Some(target.clone()), None)?;
        Ok(())
    }

    /// Plans and compiles a kernel, which can run on many tensors of the same formats.
    ///
    /// # Errors
    /// As [`Einsum::run`].
    pub fn prepare(self) -> Result<Kernel, OpError> {
        Ok(self.look_up()?.kernel)
    }

    /// Plans and compiles an update of a tensor like this one. The kernel takes the old value after
    /// the other tensors.
    ///
    /// # Errors
    /// As [`Einsum::update`].
    pub fn prepare_update(mut self, target: &Tensor) -> Result<Kernel, OpError> {
        self.settings.format.get_or_insert_with(|| target.format().without_slices().into());
        self.settings.check.dtype.get_or_insert(target.dtype());
        Ok(self.look_up_with(Some(target))?.kernel)
    }

    /// The checked assignment and its operands, composed ones in one format.
    pub(crate) fn checked(&self) -> Result<(Assignment, Vec<Tensor>), OpError> {
        let mut args = self.args.clone();
        for (at, composed) in &self.composed {
            args[*at].1 = composed.convert(&composed.own_format()?)?;
        }
        let pattern = self.aligned.as_ref();
        let (assignment, tensors, _) =
            super::kernel::checked(&self.text, &args, &self.settings, pattern)?;
        Ok((assignment, tensors))
    }

    fn look_up(self) -> Result<LookedUp, OpError> {
        self.look_up_with(None)
    }

    fn look_up_with(self, old: Option<&Tensor>) -> Result<LookedUp, OpError> {
        match self.settings.cancel.clone() {
            Some(token) => token.scope(|| self.looked_up(old)),
            None => self.looked_up(old),
        }
    }

    fn looked_up(mut self, old: Option<&Tensor>) -> Result<LookedUp, OpError> {
        let (old, role) = match (&self.aligned, old) {
            (None, old) => (old, Role::Whole),
            (Some(_), Some(_)) => {
                let text = "an update is stored as what it updates: leave `aligned_with` out";
                return Err(Error::Unsupported(text.to_owned()).into());
            }
            (Some(pattern), None) => (Some(pattern), Role::Aligned),
        };
        match self.wrong.take() {
            Some(wrong) => Err(wrong),
            None if self.composed.is_empty() => {
                Kernel::look_up(&self.text, &self.args, self.settings, old, role)
            }
            None => Parts::look_up(&self.text, self.args, &self.composed, self.settings, old, role),
        }
    }
}
