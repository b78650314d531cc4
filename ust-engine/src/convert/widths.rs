//! Conversion to the same format with other index widths: arrays are stored anew, values are shared.

use std::sync::{Arc, OnceLock};

use ust_format::{Bound, Format};
use ust_level_api::{Arrays, IndexArray, IndexKind, Role, Site};

use crate::error::Error;
use crate::storage::{Levels, Outline, Tensor};
use crate::tuning::KEPT_INDEX_BYTES;

/// Whether two formats differ in the widths of indices, and in nothing else.
pub(crate) fn differ_in_widths(from: &Format, to: &Format) -> bool {
    let widths = |format: &Format| (format.pos_width(), format.crd_width());
    widths(from) != widths(to)
        && from.with_widths(to.pos_width(), to.crd_width()).is_ok_and(|f| f == *to)
}

/// The levels of a tensor with indices of 32 bits, kept from the first run that converts them on.
struct In32Bits {
    bound: Bound,
    levels: Arc<Levels>,
}

impl Tensor {
    /// With each index array in the kind that it has in another tensor of the same format, where that holds it.
    pub(crate) fn in_kinds_of(mut self, other: &Self) -> Self {
        let alike =
            self.index_arrays().zip(other.index_arrays()).all(|(a, b)| a.kind() == b.kind());
        if alike {
            return self;
        }
        let each = self.levels().iter().zip(other.levels()).map(|(own, other)| {
            let arrays = own.0.iter().zip(&other.0);
            Arrays(arrays.map(|(a, b)| a.in_kind(b.kind()).unwrap_or_else(|| a.clone())).collect())
        });
        let levels: Vec<Arrays> = each.collect();
        (self.levels, self.made) = (Arc::new(levels.into()), OnceLock::new());
        self
    }

    /// The tensor in a format that [differs in widths](differ_in_widths), with the same positions. `None`
    /// where an array has an index that does not fit. Cost: O(length of the arrays).
    ///
    /// # Errors
    /// [`Error::Format`] when the format does not suit the shape.
    pub(crate) fn in_widths(&self, format: &Format) -> Result<Option<Self>, Error> {
        let bound = format.bind_counted(self.shape(), self.bound.counts())?;
        let levels = self.levels().iter().enumerate();
        let levels: Option<Vec<Arrays>> =
            levels.map(|(level, arrays)| stored(&bound, level, arrays)).collect();
        Ok(levels.map(|levels| self.with_levels(bound, Arc::new(levels.into()))))
    }

    /// The tensor in its format [with 32 bits](with_32_bits), at the same positions. Its arrays are made once and
    /// kept, if they are not large: to make them takes as long as a small kernel. Parallel. Also returns the bytes
    /// of what was made. Cost: O(length of the arrays) for the first call.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the new arrays take more than `limit` bytes; [`Error::Unsupported`] if indices do not
    /// fit; [`Error::Format`] when the format does not suit the shape.
    pub(crate) fn in_32_bits(&self, format: &Format, limit: u64) -> Result<(Self, u64), Error> {
        let bind = || format.bind_counted(self.shape(), self.bound.counts());
        if let Some(kept) = self.kept_of_levels().get::<In32Bits>() {
            // Tensors of other shapes share the arrays: a transposed one does.
            let fits = kept.bound.shape() == self.shape() && kept.bound.format() == format;
            let bound = if fits { kept.bound.clone() } else { bind()? };
            return Ok((self.with_levels(bound, Arc::clone(&kept.levels)), 0));
        }
        let bound = bind()?;
        // The format was chosen for the tensor that a kernel was prepared with; this one may be larger.
        if !fit_32_bits(&self.outline(), &bound) {
            let text = "a kernel that was prepared for indices of 32 bits, on a tensor that needs more: \
                        prepare a kernel for it";
            return Err(Error::Unsupported(text.to_owned()));
        }
        let bytes =
            bytes_in_32_bits(self.levels().iter().flat_map(|level| &level.0).map(IndexArray::len));
        if bytes > limit {
            return Err(Error::TooLarge(format!(
                "indices of 32 bits, which kernels take, are {bytes} bytes beside those of the \
                 tensor, more than the limit of {limit}: convert the tensor to 32 bits, or raise \
                 the memory limit"
            )));
        }
        let levels = self.levels().iter().enumerate().map(|(level, arrays)| {
            let specs = &bound.format().descriptions()[level].arrays;
            let each = arrays.0.iter().zip(specs).map(|(array, spec)| match spec.role {
                // What is read fits: it lies inside the shape. What nobody reads may be anything.
                Role::Position => array.truncated(IndexKind::U32),
                Role::Coordinate => array.truncated(site(&bound, level).crd_kind()),
                Role::Own(_) => array.clone(),
            });
            Arrays(each.collect())
        });
        let levels = Arc::new(Levels::from(levels.collect::<Vec<Arrays>>()));
        let made = self.with_levels(bound.clone(), Arc::clone(&levels));
        if bytes <= KEPT_INDEX_BYTES {
            self.kept_of_levels().keep(Arc::new(In32Bits { bound, levels }), bytes);
        }
        Ok((made, bytes))
    }

    fn with_levels(&self, bound: Bound, levels: Arc<Levels>) -> Self {
        let mut made = self.clone();
        (made.bound, made.levels, made.made) = (bound, levels, OnceLock::new());
        made
    }
}

/// Bytes of index arrays of these lengths in 32 bits.
fn bytes_in_32_bits(lengths: impl Iterator<Item = usize>) -> u64 {
    lengths.map(|length| 4 * length as u64).sum()
}

/// Bytes that the indices of a tensor take in 32 bits.
pub(crate) fn size_in_32_bits(tensor: &Outline) -> u64 {
    bytes_in_32_bits(tensor.arrays().iter().flatten().map(|(_, length)| *length))
}

/// The arrays of a level in the kinds of a format.
fn stored(bound: &Bound, level: usize, arrays: &Arrays) -> Option<Arrays> {
    let specs = &bound.format().descriptions()[level].arrays;
    let each = arrays.0.iter().zip(specs).map(|(array, spec)| match spec.role {
        Role::Position => match bound.format().pos_width() {
            0 => array.in_kind(IndexKind::U32).or_else(|| array.in_kind(IndexKind::U64)),
            bits => array.in_kind(IndexKind::new(bits, false)?),
        },
        Role::Coordinate => array.in_kind(site(bound, level).crd_kind()),
        Role::Own(_) => Some(array.clone()),
    });
    each.collect::<Option<Vec<IndexArray>>>().map(Arrays)
}

fn site(bound: &Bound, level: usize) -> Site {
    let domain = &bound.levels()[level];
    let crd_width = bound.format().crd_width();
    Site { size: domain.size, lower: domain.lower, crd_width, ..Site::default() }
}

/// A format of the same levels whose indices all have 32 bits by default, if the tensor has others.
pub(crate) fn with_32_bits(tensor: &Outline) -> Option<Format> {
    if tensor.arrays().iter().flatten().all(|(kind, _)| is_32(*kind)) {
        return None;
    }
    let format = tensor.format().without_slices().with_widths(0, 0).ok()?;
    let bound = tensor.bound();
    let bound = format.bind_counted(bound.shape(), bound.counts()).ok()?;
    let fits = fit_32_bits(tensor, &bound);
    (fits && differ_in_widths(tensor.format(), &format)).then_some(format)
}

fn is_32(kind: IndexKind) -> bool {
    matches!(kind, IndexKind::U32 | IndexKind::I32)
}

/// Whether all indices of a tensor that are read fit 32 bits: those of `bound`, which has its shape and the same
/// levels with indices of 32 bits.
fn fit_32_bits(tensor: &Outline, bound: &Bound) -> bool {
    // Positions are at most the number of values, or of elements of an array.
    let lengths = tensor.arrays().iter().flatten().map(|(_, length)| *length);
    let positions = lengths.chain([tensor.nse()]).all(|length| u32::try_from(length).is_ok());
    let levels = bound.format().descriptions().iter().enumerate();
    let mut specs = levels.flat_map(|(level, of)| of.arrays.iter().map(move |spec| (level, spec)));
    specs.all(|(level, spec)| match spec.role {
        Role::Position => positions,
        Role::Coordinate => is_32(site(bound, level).crd_kind()),
        Role::Own(kind) => is_32(kind),
    })
}
