//! Sizes that follow from the shapes of a kernel's operands, kept from one run to the next.

use std::sync::{Arc, Mutex, OnceLock};

use smallvec::SmallVec;
use ust_format::{Bound, Format};
use ust_kernels::pool::locked;
use ust_level_api::Scalar;
use ust_level_api::ir::interp::Param;

use crate::error::Error;
use crate::expr::term::Assignment;
use crate::storage::Tensor;

/// An extent for each index variable, or for each dimension.
pub(crate) type Extents = SmallVec<[usize; 8]>;

/// The parameters of loops.
pub(crate) type Params = SmallVec<[Param; 12]>;

/// The sizes that a stage runs with.
#[derive(Debug)]
pub(crate) struct Sizes {
    /// The extent of each index variable.
    pub(crate) extents: Extents,
    /// The format of the result with its shape.
    pub(crate) bound: Bound,
    /// The parameters of the loops if they run in one piece, where those follow from shapes.
    pub(crate) whole: OnceLock<Params>,
}

impl Sizes {
    /// # Errors
    /// [`Error::TooLarge`] for a shape beyond all limits.
    pub(crate) fn new(extents: &[usize], dims: &[usize], format: &Format) -> Result<Self, Error> {
        let shape: Extents = dims.iter().map(|&v| extents[v]).collect();
        let bound = format.bind(&shape)?;
        Ok(Self { extents: extents.into(), bound, whole: OnceLock::new() })
    }
}

/// The sizes that all stages run with.
#[derive(Debug)]
pub(crate) struct Frame {
    /// The sizes of the operands, one after another.
    shapes: SmallVec<[usize; 12]>,
    /// The sizes of each stage.
    pub(crate) stages: SmallVec<[Sizes; 1]>,
}

/// The frame of the last run.
#[derive(Debug, Default)]
pub(crate) struct Last(Mutex<Option<Arc<Frame>>>);

impl Last {
    /// The frame for operands of these shapes: that of the last run, or a new one that `stages` computes.
    ///
    /// # Errors
    /// The errors of `stages`.
    pub(crate) fn frame(
        &self,
        operands: &[&Tensor],
        stages: impl FnOnce() -> Result<SmallVec<[Sizes; 1]>, Error>,
    ) -> Result<Arc<Frame>, Error> {
        let mut last = locked(&self.0);
        if let Some(frame) = &*last
            && frame.is_for(operands)
        {
            return Ok(Arc::clone(frame));
        }
        let shapes = operands.iter().flat_map(|tensor| sizes(tensor)).collect();
        let frame = Arc::new(Frame { shapes, stages: stages()? });
        *last = Some(Arc::clone(&frame));
        Ok(frame)
    }
}

/// The shape, and how often the format counts.
fn sizes(tensor: &Tensor) -> impl Iterator<Item = usize> {
    tensor.shape().iter().chain(tensor.bound().counts()).copied()
}

impl Frame {
    fn is_for(&self, operands: &[&Tensor]) -> bool {
        let mut rest = self.shapes.iter().copied();
        operands.iter().all(|tensor| sizes(tensor).all(|size| rest.next() == Some(size)))
    }
}

/// What a kernel was prepared for.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) format: Format,
    pub(crate) fill: Scalar,
    /// Whether one value is stored for all elements. A kernel for others takes such a tensor as well.
    pub(crate) iso: bool,
    /// Whether its sorted dimensions may be walked by places, which a slice cannot.
    pub(crate) sorted: bool,
}

impl From<&Tensor> for Expected {
    fn from(tensor: &Tensor) -> Self {
        let sorted = tensor.format().has_sorted() && tensor.view().shows_all();
        let format = tensor.format().clone();
        Self { format, fill: tensor.fill(), iso: tensor.is_iso(), sorted }
    }
}

/// Checks that tensors have the formats that a kernel was prepared for. `operands` are those of the
/// assignment, followed by the old value for an update.
///
/// # Errors
/// [`Error::Unsupported`].
pub(crate) fn expect(
    assignment: &Assignment,
    operands: &[&Tensor],
    expected: &[Expected],
) -> Result<(), Error> {
    for (at, (tensor, one)) in operands.iter().zip(expected).enumerate() {
        let Expected { format, fill, iso, sorted } = one;
        if *sorted && !tensor.view().shows_all() {
            let text = "a kernel that was prepared for a whole tensor with sorted dimensions, and is given a slice: \
                        convert the slice, or prepare a kernel for it";
            return Err(Error::Unsupported(text.to_owned()));
        }
        if *iso && !tensor.is_iso() {
            let text = "a kernel that was prepared for one value of all elements, and is given a value for each: \
                        prepare a kernel for it";
            return Err(Error::Unsupported(text.to_owned()));
        }
        if tensor.format() != format || !tensor.fill().same(fill) {
            let input = assignment.operands.get(at);
            let name = input.map_or(&assignment.result.name, |input| &input.name);
            return Err(Error::Unsupported(format!(
                "the kernel was prepared for `{name}` in `{format}` with fill value {fill}, and \
                 it is given in `{}` with fill value {}",
                tensor.format(),
                tensor.fill()
            )));
        }
    }
    Ok(())
}

/// Checks that the extents of these indices are not 0.
///
/// # Errors
/// [`Error::Unsupported`].
pub(crate) fn expect_some(
    assignment: &Assignment,
    extents: &[usize],
    indices: &[usize],
) -> Result<(), Error> {
    let Some(&v) = indices.iter().find(|&&v| extents[v] == 0) else { return Ok(()) };
    let name = &assignment.indices[v].name;
    Err(Error::Unsupported(format!(
        "the kernel was prepared for tensors with elements along `{name}`, and is given one without"
    )))
}

/// The extent of every index variable. `aligned`: whether the tensor behind the operands has those of the result, if no
/// other has.
///
/// # Errors
/// [`Error::Shape`] where extents contradict each other.
pub(crate) fn extents(
    assignment: &Assignment,
    operands: &[&Tensor],
    aligned: bool,
) -> Result<Extents, Error> {
    let mut extents: Extents = assignment.indices.iter().map(|i| i.extent).collect();
    let mut seen: SmallVec<[Option<&str>; 8]> = SmallVec::from_elem(None, extents.len());
    for one in &assignment.uses {
        let name = &assignment.operands[one.operand].name;
        for (&v, &extent) in one.indices.iter().zip(operands[one.operand].shape()) {
            match seen[v] {
                Some(other) if extents[v] != extent => {
                    return Err(Error::Shape {
                        found: operands[one.operand].shape().to_vec(),
                        expected: format!(
                            "the index `{}` has extent {} in `{other}`, and {extent} in `{name}`",
                            assignment.indices[v].name, extents[v]
                        ),
                    });
                }
                _ => (seen[v], extents[v]) = (Some(name.as_str()), extent),
            }
        }
    }
    if let Some(old) = operands.get(assignment.operands.len()) {
        let unseen = assignment.result.indices.iter().zip(old.shape());
        for (&v, &extent) in unseen.filter(|(v, _)| aligned && seen[**v].is_none()) {
            extents[v] = extent;
        }
        let wanted = assignment.result.indices.iter().map(|&v| extents[v]);
        if !wanted.clone().eq(old.shape().iter().copied()) {
            return Err(Error::Shape {
                found: old.shape().to_vec(),
                expected: format!("the result has shape {:?}", wanted.collect::<Vec<_>>()),
            });
        }
    }
    Ok(extents)
}
