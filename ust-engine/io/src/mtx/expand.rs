//! Adds the entries that a symmetric file leaves out because others imply them.

use bytemuck::Zeroable;
use num_complex::Complex;
use ust_level_api::column::IndexWord;
use ust_level_api::{Buffer, Element, IndexColumn, assemble};

use super::super::body::Read;
use super::super::text::Fault;
use super::header::Symmetry;

/// Values that can be mirrored at the diagonal.
pub(super) trait Mirror: Element + Zeroable {
    /// The negative, or `None` if the type cannot hold it.
    fn negated(self) -> Option<Self>;
    /// The complex conjugate.
    fn conjugated(self) -> Self;
}

impl Mirror for f64 {
    fn negated(self) -> Option<Self> {
        Some(-self)
    }
    fn conjugated(self) -> Self {
        self
    }
}

impl Mirror for i64 {
    fn negated(self) -> Option<Self> {
        self.checked_neg()
    }
    fn conjugated(self) -> Self {
        self
    }
}

impl Mirror for u64 {
    fn negated(self) -> Option<Self> {
        (self == 0).then_some(0)
    }
    fn conjugated(self) -> Self {
        self
    }
}

impl Mirror for Complex<f64> {
    fn negated(self) -> Option<Self> {
        Some(-self)
    }
    fn conjugated(self) -> Self {
        self.conj()
    }
}

/// The value of the mirror image.
fn mirrored<T: Mirror>(symmetry: Symmetry, value: T) -> Result<T, String> {
    match symmetry {
        Symmetry::General | Symmetry::Symmetric => Ok(value),
        Symmetry::Hermitian => Ok(value.conjugated()),
        Symmetry::Skew => {
            value.negated().ok_or_else(|| format!("the negative of {value} does not fit 64 bits"))
        }
    }
}

/// Refuses a value on the diagonal that contradicts the symmetry.
fn check_diagonal<T: Mirror>(symmetry: Symmetry, value: T) -> Result<(), String> {
    match symmetry {
        Symmetry::Skew if value != T::ZERO => {
            Err(format!("{value} on the diagonal: that of a skew-symmetric matrix is zero"))
        }
        Symmetry::Hermitian if !value.same(value.conjugated()) => {
            Err(format!("{value} on the diagonal: that of a Hermitian matrix is real"))
        }
        _ => Ok(()),
    }
}

/// Appends the mirror image of every entry off the diagonal. `offset` gives the byte at which an entry
/// starts.
pub(super) fn expand<T: Mirror>(
    symmetry: Symmetry,
    columns: &mut Read<T>,
    offset: impl Fn(usize) -> usize,
) -> Result<(), Fault> {
    if symmetry == Symmetry::General {
        return Ok(());
    }
    let [rows, cols] = &columns.crd[..] else { return Ok(()) };
    let values = &columns.values;
    let mut side = None;
    // The entries off the diagonal, and the values of their images.
    let (mut entries, mut images) = (Vec::new(), Vec::new());
    for (entry, &value) in values.iter().enumerate() {
        let (row, column) = (rows.at(entry), cols.at(entry));
        let fault = |reason: String| Fault::new(offset(entry), reason);
        if row == column {
            check_diagonal(symmetry, value).map_err(fault)?;
            continue;
        }
        let lower = row > column;
        if *side.get_or_insert(lower) != lower {
            let (this, others) = if lower { ("below", "above") } else { ("above", "below") };
            return Err(fault(format!(
                "an entry {this} the diagonal, after entries {others} it: a symmetric file holds \
                 one side, the other follows from it"
            )));
        }
        images.push(mirrored(symmetry, value).map_err(fault)?);
        entries.push(entry);
    }
    let n = values.len();
    columns.values =
        assemble::fill(n + images.len(), |at| if at < n { values[at] } else { images[at - n] });
    columns.crd = vec![with_images(rows, cols, &entries), with_images(cols, rows, &entries)];
    Ok(())
}

/// The coordinates of `column`, then those of the images: the elements `entries` of `other`.
fn with_images(column: &IndexColumn, other: &IndexColumn, entries: &[usize]) -> IndexColumn {
    fn joined<W: IndexWord>(column: &[W], other: &[W], entries: &[usize]) -> IndexColumn {
        let n = column.len();
        W::column(assemble::fill(n + entries.len(), |at| match at.checked_sub(n) {
            None => column[at],
            Some(image) => other[entries[image]],
        }))
    }
    match (column, other) {
        (IndexColumn::U32(column), IndexColumn::U32(other)) => joined(column, other, entries),
        _ => joined(&column.to_vec(), &other.to_vec(), entries),
    }
}

/// The whole matrix, from the values of its lower triangle, which stand column by column. `offset`
/// gives the byte at which a value starts.
pub(super) fn fill<T: Mirror>(
    symmetry: Symmetry,
    size: usize,
    triangle: Buffer<T>,
    offset: impl Fn(usize) -> usize,
) -> Result<Buffer<T>, Fault> {
    if symmetry == Symmetry::General {
        return Ok(triangle);
    }
    let diagonal = symmetry != Symmetry::Skew;
    let mut square = vec![T::ZERO; size * size];
    let mut values = triangle.iter().copied().enumerate();
    for column in 0..size {
        let first = if diagonal { column } else { column + 1 };
        for (row, (entry, value)) in (first..size).zip(values.by_ref()) {
            let fault = |reason: String| Fault::new(offset(entry), reason);
            square[column * size + row] = value;
            if row == column {
                check_diagonal(symmetry, value).map_err(fault)?;
            } else {
                square[row * size + column] = mirrored(symmetry, value).map_err(fault)?;
            }
        }
    }
    Ok(square.into())
}
