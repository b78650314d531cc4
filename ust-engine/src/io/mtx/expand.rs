//! Entries that a file leaves out because others imply them.

use bytemuck::Zeroable;
use num_complex::Complex;
use ust_level_api::{Buffer, Element, assemble};

use super::super::body::Columns;
use super::super::text::Fault;
use super::header::Symmetry;

/// Values that can stand on both sides of a diagonal.
pub(super) trait Mirror: Element + Zeroable {
    /// The negative, or `None` where the type holds none.
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

/// The value on the other side of the diagonal.
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

/// Appends the mirror image of every entry off the diagonal. `place` tells where an entry stands.
pub(super) fn expand<T: Mirror>(
    symmetry: Symmetry,
    columns: &mut Columns<T>,
    place: impl Fn(usize) -> usize,
) -> Result<(), Fault> {
    if symmetry == Symmetry::General {
        return Ok(());
    }
    let mut values = columns.values.to_vec();
    let mut side = None;
    let [rows, cols] = &mut columns.crd[..] else { return Ok(()) };
    for entry in 0..values.len() {
        let (row, column, value) = (rows[entry], cols[entry], values[entry]);
        let fault = |reason: String| Fault::new(place(entry), reason);
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
        let image = mirrored(symmetry, value).map_err(fault)?;
        rows.push(column);
        cols.push(row);
        values.push(image);
    }
    columns.values = assemble::fill(values.len(), |at| values[at]);
    Ok(())
}

/// The whole square from the values of a lower triangle, column by column. `place` tells where a
/// value stands.
pub(super) fn fill<T: Mirror>(
    symmetry: Symmetry,
    size: usize,
    triangle: Buffer<T>,
    place: impl Fn(usize) -> usize,
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
            let fault = |reason: String| Fault::new(place(entry), reason);
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
