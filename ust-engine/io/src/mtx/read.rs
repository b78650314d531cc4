//! Reading a Matrix Market text into entries.

use num_complex::Complex;
use ust_engine::coo::Columns;
use ust_engine::tensor::{StoredElement, Values};
use ust_level_api::Scalar;

use super::super::body::Body;
use super::super::dense::DenseArray;
use super::super::number::{integer, real};
use super::super::plain::{Always, Integers, NoFastPath, Plainly, Reals};
use super::super::progress::Progress;
use super::super::text::{Fault, Line};
use super::super::words::Words;
use super::Loaded;
use super::expand::{Mirror, expand, fill};
use super::header::{COMMENT, Field, Header, Layout, Symmetry};

/// Reads the text of a whole file.
pub(super) fn parse(text: &[u8], progress: &Progress) -> Result<Loaded, Fault> {
    let header = Header::parse(text)?;
    let declared = match header.layout {
        Layout::Coordinate(entries) => entries,
        Layout::Array => array_values(&header)?,
    };
    let body = Body::new(text, header.body, COMMENT, Some(declared), words(&header))?;
    match header.field {
        Field::Real => {
            let value = |line: &mut Line<'_>| real(line.expect("value")?);
            read(&header, &body, progress, value, &Reals)
        }
        Field::Integer => {
            let value = |line: &mut Line<'_>| integer::<i64>(line.expect("value")?);
            read(&header, &body, progress, value, &Integers)
        }
        Field::Unsigned => {
            let value = |line: &mut Line<'_>| integer::<u64>(line.expect("value")?);
            read(&header, &body, progress, value, &NoFastPath)
        }
        Field::Complex => {
            let value = |line: &mut Line<'_>| {
                let re = real(line.expect("real part")?)?;
                let im = real(line.expect("imaginary part")?)?;
                Ok(Complex { re, im })
            };
            read(&header, &body, progress, value, &NoFastPath)
        }
        Field::Pattern => {
            let mut loaded = read(&header, &body, progress, |_| Ok(1.0), &Always(1.0))?;
            if let Loaded::Coordinate(columns) = &mut loaded {
                columns.values = Values::iso(Scalar::F64(1.0), columns.values.len());
            }
            Ok(loaded)
        }
    }
}

fn read<T: Mirror + StoredElement>(
    header: &Header,
    body: &Body<'_>,
    progress: &Progress,
    value: impl Fn(&mut Line<'_>) -> Result<T, Fault> + Sync,
    plain: &impl Plainly<T>,
) -> Result<Loaded, Fault> {
    let shape = vec![header.rows, header.columns];
    match header.layout {
        Layout::Coordinate(_) => {
            let extents = [header.rows as u64, header.columns as u64];
            let mut columns = body.parse(&extents, value, plain, progress)?;
            expand(header.symmetry, &mut columns, |entry| body.entry(entry))?;
            let (crd, values) = (columns.crd, T::wrap(columns.values));
            Ok(Loaded::Coordinate(Columns { shape, crd, values }))
        }
        Layout::Array => {
            let values = body.parse(&[], value, plain, progress)?.values;
            let values = fill(header.symmetry, header.rows, values, |entry| body.entry(entry))?;
            Ok(Loaded::Array(DenseArray::from_fortran(shape, &values)))
        }
    }
}

/// The tokens of a line of the body.
fn words(header: &Header) -> Words {
    let value: &[&str] = match header.field {
        Field::Real | Field::Integer | Field::Unsigned => &["value"],
        Field::Complex => &["real part", "imaginary part"],
        Field::Pattern => &[],
    };
    match header.layout {
        Layout::Coordinate(_) => Words { rank: 2, value, of: "an entry" },
        Layout::Array => Words { rank: 0, value, of: "a line of an array" },
    }
}

/// The number of values in a file with the layout `array`.
fn array_values(header: &Header) -> Result<usize, Fault> {
    let (rows, columns) = (header.rows as u128, header.columns as u128);
    let values = match header.symmetry {
        Symmetry::General => rows * columns,
        Symmetry::Symmetric | Symmetry::Hermitian => rows * (rows + 1) / 2,
        Symmetry::Skew => rows * rows.saturating_sub(1) / 2,
    };
    usize::try_from(values).map_err(|_| {
        Fault::new(header.body, format!("an array of {rows} x {columns} cannot be addressed"))
    })
}
