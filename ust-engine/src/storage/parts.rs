//! Construction of a tensor from raw arrays, and back. Number and kinds of the arrays are checked
//! here; `check` checks their contents.
#![allow(unsafe_code)]

use ust_format::{Bound, Format, Given, IndexExpr};
use ust_level_api::{Arrays, IndexArray, Per, Role, Scalar};

use super::Tensor;
use super::values::Values;
use crate::error::Error;

/// The arrays that a tensor is made of, apart from format and shape.
///
/// # Memory that others change
/// [`Tensor::from_parts`] checks index arrays once, and loops rely on them from then on: many read an index twice, first to
/// count and then to fill. So nobody may change them as long as a tensor has them:
///
/// | where the memory comes from | who sees to it |
/// |---|---|
/// | a `Vec`, an `Arc<[T]>` | Rust: safe code cannot change them |
/// | [`Buffer::copied`](ust_level_api::Buffer::copied) | nobody needs to: others may write what is copied, before, meanwhile and afterwards |
/// | [`Buffer::from_raw`](ust_level_api::Buffer::from_raw), an [`Owner`](ust_level_api::buffer::Owner) of your own | the caller, as its `# Safety` says |
/// | files | they are read into memory of the process, and not mapped |
/// | arrays that plug-ins assemble | they are copied before they are checked |
///
/// So an array of another language whose other owners may write, such as one of NumPy, is given as its copy. A copy of
/// what was changed halfway is checked like any other array. The same promise covers values, though no index is computed
/// of them. Arrays in the memory of a device that others own are promised by who makes the view of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// For each level, the arrays that its level type describes, in that order: for `compressed`
    /// `[pos, crd]`, for `singleton` `[crd]`, for `dense` none.
    pub levels: Vec<Vec<IndexArray>>,
    /// For each dimension that the format sorts, from the first one on, the coordinate at each place.
    pub orders: Vec<IndexArray>,
    /// The values.
    pub values: Values,
    /// The value of elements that are not stored; `None` for zero.
    pub fill: Option<Scalar>,
}

impl Parts {
    /// Arrays and values, with fill value zero.
    #[must_use]
    pub fn new(levels: Vec<Vec<IndexArray>>, values: impl Into<Values>) -> Self {
        Self { levels, orders: Vec::new(), values: values.into(), fill: None }
    }
}

/// The format bound to a shape. The lengths of arrays tell the number of values of a counter that a full level stores,
/// such as that of ELL.
fn bound(format: &Format, shape: &[usize], parts: &Parts) -> Result<Bound, Error> {
    let most = format.bind(shape)?;
    let counter = |at: usize| match format.levels()[at].expr {
        IndexExpr::Var(v) if format.descriptions()[at].props.full => v.checked_sub(format.rank()),
        _ => None,
    };
    let Some(level) = (0..format.level_count()).find(|&at| counter(at).is_some()) else {
        return Ok(most);
    };
    let count = count(&most, level, parts).ok_or_else(|| {
        let text = "the arrays do not tell how often this format counts: below the counter, the first level that is \
                    not full tells the number of its parents by none of its arrays";
        Error::Unsupported(text.to_owned())
    })?;
    let mut counts = most.counts().to_vec();
    let own = &mut counts[counter(level).expect("the level stores a counter")];
    *own = (*own).min(usize::try_from(count).unwrap_or(usize::MAX));
    Ok(format.bind_counted(shape, &counts)?)
}

/// The size of a full level, as the lengths of arrays tell it.
fn count(most: &Bound, level: usize, parts: &Parts) -> Option<u64> {
    // Positions, if the level had one.
    let mut positions = 1_u64;
    let levels = most.format().descriptions().iter().zip(most.levels()).zip(&parts.levels);
    for (at, ((ty, domain), arrays)) in levels.enumerate() {
        let length = |wanted: Per| {
            let specs = ty.arrays.iter().zip(arrays);
            specs.clone().find(|(spec, _)| spec.per == wanted).map(|(_, array)| array.len() as u64)
        };
        if at > level {
            let pairs = || length(Per::ParentPair).map(|length| length / 2);
            let bounds = || length(Per::ParentBound).and_then(|length| length.checked_sub(1));
            let children = || length(Per::Position).filter(|_| ty.props.branchless);
            let parents = length(Per::Parent).or_else(bounds).or_else(pairs).or_else(children);
            if let Some(parents) = parents {
                return Some(parents.checked_div(positions).unwrap_or(0));
            }
        }
        match ty.props.full {
            true if at == level => {}
            true => positions = positions.saturating_mul(domain.size),
            false if ty.props.branchless => {}
            false if at > level => return None,
            false => positions = length(Per::Position)?,
        }
    }
    Some((parts.values.len() as u64).checked_div(positions).unwrap_or(0))
}

impl Tensor {
    /// As [`Tensor::from_parts`], without the check of the arrays' contents.
    ///
    /// # Safety
    /// [`Tensor::from_parts`] would accept the same arguments: kernels access memory without checks
    /// of bounds.
    ///
    /// # Errors
    /// [`Error::Parts`] when arrays are missing or of the wrong kind, [`Error::Format`] when shape
    /// and format do not match.
    pub unsafe fn from_parts_unchecked<'f>(
        format: impl Into<Given<'f>>,
        shape: &[usize],
        parts: Parts,
    ) -> Result<Self, Error> {
        Self::bind_parts(&*format.into().resolve(Some(shape.len()))?, shape, parts)
    }

    pub(crate) fn bind_parts(
        format: &Format,
        shape: &[usize],
        parts: Parts,
    ) -> Result<Self, Error> {
        if format.has_slices() {
            let text = "a sliced format shows part of a tensor that exists: take the arrays in in \
                        the format without slices, then use `Tensor::slice`";
            return Err(Error::Unsupported(text.to_owned()));
        }
        let bound = bound(&format.unsorted(), shape, &parts)?;
        kinds(&bound, &parts)?;
        orders(format, shape, &parts.orders)?;
        let fill = match parts.fill {
            None => parts.values.dtype().zero(),
            Some(fill) => fill.cast(parts.values.dtype()).map_err(|e| Error::Cast {
                value: e.value,
                at: 0,
                to: e.to,
            })?,
        };
        let levels = parts.levels.into_iter().map(Arrays).collect();
        let tensor = Self::trusted(bound, levels, parts.values, fill, false);
        if format.has_sorted() { tensor.in_order(format, parts.orders) } else { Ok(tensor) }
    }

    /// The format, shape and arrays, without a copy. For a slice, those of the whole tensor.
    #[must_use]
    pub fn into_parts(self) -> (Format, Vec<usize>, Parts) {
        let orders = self.view.orders().map(|(_, order)| order.coordinates().clone()).collect();
        let levels = match std::sync::Arc::try_unwrap(self.levels) {
            Ok(levels) => levels.arrays,
            Err(shared) => shared.arrays.clone(),
        };
        let levels = levels.into_iter().map(|arrays| arrays.0).collect();
        let parts = Parts { levels, orders, values: self.values, fill: Some(self.fill) };
        let format = self.bound.format().without_slices();
        (format, self.bound.shape().to_vec(), parts)
    }
}

/// Checks that there is an order for each sorted dimension, as long as its extent, in the format's width.
fn orders(format: &Format, shape: &[usize], orders: &[IndexArray]) -> Result<(), Error> {
    let sorted = format.dims().iter().zip(shape).filter(|(dim, _)| dim.sorted.is_some());
    let wanted = sorted.clone().count();
    if wanted != orders.len() {
        return Err(Error::Parts(format!(
            "the format sorts {wanted} dimensions, and {} orders were given",
            orders.len()
        )));
    }
    for ((dim, &extent), order) in sorted.zip(orders) {
        let name = &dim.name;
        if order.len() != extent {
            return Err(Error::Parts(format!(
                "the order of the sorted dimension `{name}` has {} places, and its extent is {extent}",
                order.len()
            )));
        }
        let bits = order.kind().bits();
        if bits < 8 || (format.crd_width() != 0 && format.crd_width() != bits) {
            return Err(Error::Parts(format!(
                "the order of the sorted dimension `{name}` is stored as {}, and not in the width of the format's \
                 coordinates",
                order.kind()
            )));
        }
    }
    Ok(())
}

/// Checks that each level has the arrays that it describes, in widths that the format allows.
fn kinds(bound: &Bound, parts: &Parts) -> Result<(), Error> {
    let format = bound.format();
    if parts.levels.len() != format.level_count() {
        return Err(Error::Parts(format!(
            "the format has {} levels, and arrays for {} were given",
            format.level_count(),
            parts.levels.len()
        )));
    }
    for (level, arrays) in parts.levels.iter().enumerate() {
        let specs = &format.descriptions()[level].arrays;
        let text = format.level_text(level);
        if specs.len() != arrays.len() {
            let names: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
            return Err(Error::Parts(format!(
                "level {level} (`{text}`) owns [{}], and {} arrays were given",
                names.join(", "),
                arrays.len()
            )));
        }
        for (spec, array) in specs.iter().zip(arrays) {
            let kind = array.kind();
            let wanted = match spec.role {
                Role::Position => format.pos_width(),
                Role::Coordinate => format.crd_width(),
                Role::Own(own) if own == kind => continue,
                Role::Own(own) => {
                    return Err(Error::Parts(format!(
                        "level {level} (`{text}`): {} is stored as {own}, not {kind}",
                        spec.name
                    )));
                }
            };
            let allowed = kind.bits() >= spec.min_bits && (wanted == 0 || kind.bits() == wanted);
            if !allowed {
                return Err(Error::Parts(format!(
                    "level {level} (`{text}`): {} is stored as {kind}, and the format says {} \
                     bits; convert the array, or change the format's width",
                    spec.name,
                    if wanted == 0 {
                        format!("at least {}", spec.min_bits)
                    } else {
                        wanted.to_string()
                    }
                )));
            }
        }
    }
    Ok(())
}
