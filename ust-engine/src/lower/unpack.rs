//! Storage into columns of coordinates: the first half of every conversion.

use ust_level_api::ir::interp::{Memory, Param, Program};
use ust_level_api::ir::{ArrayId, BinOp, Builder, Elem, Expr, Function};
use ust_level_api::{IndexArray, IndexKind};

use super::nest::{Leaf, Operand, Reach};
use crate::error::Error;
use crate::tensor::Tensor;

/// One thing to write down about each place that a walk visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The coordinate of a dimension.
    Dim(usize),
    /// The coordinate at a level.
    LevelCoordinate(usize),
    /// The position at a level.
    LevelPosition(usize),
    /// The position of the value.
    Value,
    /// 1 where the place is an element of the tensor, 0 where it lies outside.
    Inside,
}

/// Walks a tensor and writes columns, one row for each place visited.
///
/// `keep` says for each value position whether it is wanted; without it, all are. `rows` is the
/// most rows that can come. Cost: O(places visited), through the interpreter.
///
/// # Errors
/// [`Error::Run`] for arrays that break their level's rules.
pub fn unpack(
    tensor: &Tensor,
    reach: Reach,
    columns: &[Column],
    keep: Option<&IndexArray>,
    rows: usize,
) -> Result<Vec<Vec<i64>>, Error> {
    let (function, operand) = lower(tensor, reach, columns, keep.is_some());
    let program = Program::compile(&function)?;

    let mut written = [0];
    let mut out = vec![vec![0_i64; rows]; columns.len()];
    let mut memory: Vec<Memory<'_>> = Vec::new();
    memory.extend(tensor.levels().iter().flat_map(|level| &level.0).map(Memory::Index));
    memory.extend(keep.map(Memory::Index));
    memory.push(Memory::IndicesMut(&mut written));
    memory.extend(out.iter_mut().map(|column| Memory::IndicesMut(column)));
    let params: Vec<Param> = operand.size_arguments(tensor).into_iter().map(Param::Int).collect();
    program.run(&params, &mut memory)?;
    drop(memory);
    for column in &mut out {
        column.truncate(written[0] as usize);
    }
    Ok(out)
}

/// The function that writes columns.
///
/// Arrays: the tensor's, `keep` where `masked`, `count` (one index: the rows written), and one for
/// each column. Parameters: the tensor's sizes.
#[must_use]
pub fn lower(
    tensor: &Tensor,
    reach: Reach,
    columns: &[Column],
    masked: bool,
) -> (Function, Operand) {
    let mut b = Builder::new("unpack");
    let operand = Operand::declare(&mut b, "A", tensor);
    let kept = masked.then(|| b.array("keep", Elem::Index(IndexKind::U8), false));
    let count = b.array("count", Elem::Index(IndexKind::I64), true);
    let outputs: Vec<ArrayId> = (0..columns.len())
        .map(|at| b.array(&format!("column{at}"), Elem::Index(IndexKind::I64), true))
        .collect();
    let row = b.var("row", Expr::Int(0));
    operand.walk(&mut b, reach, &mut |b, leaf| {
        let wanted = kept.map_or(Expr::Bool(true), |keep| {
            Expr::binary(BinOp::Ne, b.load(keep, leaf.value()), Expr::Int(0))
        });
        b.if_(wanted, |b| {
            for (&output, column) in outputs.iter().zip(columns) {
                b.store(output, row.into(), of(leaf, *column));
            }
            b.assign(row, Expr::from(row) + 1);
        });
    });
    b.store(count, Expr::Int(0), row.into());
    (b.finish(), operand)
}

fn of(leaf: &Leaf, column: Column) -> Expr {
    match column {
        Column::Dim(dim) => leaf.dims[dim].clone(),
        Column::LevelCoordinate(level) => leaf.levels[level].clone(),
        Column::LevelPosition(level) => leaf.positions[level].clone(),
        Column::Value => leaf.value(),
        Column::Inside => leaf.inside.clone().select(1, 0),
    }
}
