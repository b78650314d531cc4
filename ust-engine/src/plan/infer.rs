//! The format of a result for which the caller names none.

use ust_format::Format;
use ust_level_api::Scalar;

use super::access::Access;
use super::choose::Given;
use super::stage::Stage;
use crate::error::Error;
use crate::tuning::FULL_LEVEL_COORDINATES_PER_ENTRY;

/// Chooses the format of a result for which the caller names none. The first rule that fits decides:
///
/// 1. A scalar is dense. So is a result with a value at every coordinate, or with an unstored value
///    other than zero.
/// 2. If all sparse operands with the dimensions of the result have one format, the result has it.
/// 3. A vector is dense.
/// 4. Otherwise each dimension gets a level: dense if an operand stores all its levels along that index
///    in full, else compressed. With these exceptions:
///    * the first level is dense as well if an operand has rows in full, as CSR does, and they are not
///      many more than its stored elements;
///    * the first level is dense if the others are and every operand stores as many elements as the
///      result has rows;
///    * the last level is compressed if all would be dense, but no operand is stored in full;
///    * a dense level between compressed ones is compressed.
pub(super) fn infer(
    stage: &Stage,
    given: &Given<'_>,
    accesses: &[Access],
    worth: &[bool],
    rest: Scalar,
) -> Result<Format, Error> {
    let rank = stage.result.len();
    let dense = || -> Result<Format, Error> { Ok(Format::full(rank)?) };
    let zero = stage.any_fill || rest.same(&rest.dtype().zero());
    if rank == 0 || worth[0] || worth.len() == 1 || !zero {
        return dense();
    }
    let alike =
        (0..accesses.len()).filter(|&at| !accesses[at].full && accesses[at].dims == stage.result);
    let mut formats = alike.map(|at| given.tensors[at].format().without_slices());
    if let Some(first) = formats.next()
        && first.has_room()
        && first.is_ordered()
        && formats.all(|other| other == first)
    {
        return Ok(first.with_widths(0, 0)?);
    }
    if rank == 1 {
        return dense();
    }
    let is_dense = |v: usize| {
        accesses.iter().any(|access| {
            let by = access.levels.iter().filter(|level| level.vars.contains(&v));
            access.dims.contains(&v) && by.clone().all(|level| level.props.full)
        })
    };
    let full = Format::resolve("Dense", Some(rank))?;
    let tree = Format::tree(rank)?;
    let mut dense_at: Vec<bool> = stage.result.iter().map(|&v| is_dense(v)).collect();
    // A full level above compressed ones, such as the rows of CSR, does not make the last level of the
    // result full. It makes the first level full, unless there are far more rows than stored elements.
    let is_inside = |v: usize| {
        accesses.iter().any(|access| {
            let above = access.levels.iter().rposition(|level| !level.props.full);
            let above = &access.levels[..above.map_or(0, |last| last + 1)];
            access.dims.contains(&v) && !above.iter().any(|level| level.vars.contains(&v))
        })
    };
    let begins = |access: &Access| {
        let places = given.extents[stage.result[0]] as f64;
        let full = access.levels.first().is_some_and(|level| level.props.full);
        full && !access.full && places <= FULL_LEVEL_COORDINATES_PER_ENTRY * access.nse
    };
    if accesses.iter().any(begins) && !stage.result.iter().any(|&v| is_inside(v)) {
        dense_at[0] = true;
    }
    let are_many = |access: &Access| {
        let places = given.extents[stage.result[0]] as f64;
        access.full || !access.dims.contains(&stage.result[0]) || places <= access.nse
    };
    if dense_at[1..].iter().all(|&d| d) && accesses.iter().all(are_many) {
        dense_at[0] = true;
    }
    let in_full = |v: &usize| accesses.iter().any(|access| access.full && access.dims.contains(v));
    if dense_at.iter().all(|&d| d) && !stage.result.iter().any(in_full) {
        dense_at[rank - 1] = false;
    }
    // A full level between compressed ones would store whole rows: only leading and trailing levels are full.
    let last = dense_at.iter().rposition(|&d| !d).map_or(0, |last| last + 1);
    // A format's dimensions have lower-case names; otherwise they are numbered.
    let plain = |name: &String| name.bytes().all(|b| b.is_ascii_lowercase());
    let own: Vec<String> = stage.result.iter().map(|&v| given.indices[v].clone()).collect();
    let names = match own.iter().all(plain) {
        true => own,
        false => (0..rank).map(|dim| format!("d{dim}")).collect(),
    };
    let levels = (0..rank).map(|dim| {
        let trails = dim >= last && is_inside(stage.result[dim]);
        let dense = dense_at[dim] && (trails || dense_at[..dim].iter().all(|&d| d));
        let source = if dense { &full } else { &tree };
        format!("{} : {}", names[dim], source.descriptions()[dim].text)
    });
    let levels: Vec<String> = levels.collect();
    Ok(Format::of_texts(&names, &levels)?)
}
