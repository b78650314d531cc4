//! Storage into columns of coordinates: the first half of every conversion.

use ust_level_api::ir::interp::{Limits, Memory, Param, Program, RunError};
use ust_level_api::ir::{ArrayId, BinOp, Builder, Elem, Expr, Function};
use ust_level_api::{IndexArray, IndexKind};

use super::nest::{Leaf, Operand, Reach};
use crate::error::Error;
use crate::tensor::Tensor;
use crate::tensor::memory::default_limit;

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
/// most rows that can come where no value is visited twice; where levels store runs, rows are
/// counted first. Cost: O(places visited), through the interpreter.
///
/// # Errors
/// [`Error::Run`] for arrays that break their level's rules, [`Error::TooLarge`] for more rows than
/// memory holds.
pub fn unpack(
    tensor: &Tensor,
    reach: Reach,
    columns: &[Column],
    keep: Option<&IndexArray>,
    rows: usize,
) -> Result<Vec<Vec<i64>>, Error> {
    let unpacking = lower(tensor, reach, columns, keep.is_some());
    let rows = match unpacking.repeats {
        false => rows,
        true => count(tensor, reach, columns.len(), keep)?,
    };
    if rows > most_rows(columns.len()) {
        return Err(Error::TooLarge(format!(
            "{} columns of coordinates for {rows} stored elements are more than memory holds",
            columns.len()
        )));
    }
    // One by one: a copy would touch memory that may never be written.
    let mut out: Vec<Vec<i64>> = columns.iter().map(|_| vec![0; rows]).collect();
    let written = unpacking.run(tensor, keep, &mut out, Limits::default())?;
    for column in &mut out {
        column.truncate(written);
    }
    Ok(out)
}

/// How many rows so many columns can have in memory.
fn most_rows(columns: usize) -> usize {
    (default_limit() / (8 * columns.max(1) as u64)) as usize
}

/// How many rows there are, where one value can stand for many.
fn count(
    tensor: &Tensor,
    reach: Reach,
    columns: usize,
    keep: Option<&IndexArray>,
) -> Result<usize, Error> {
    let most = most_rows(columns) as u64;
    let limits = Limits { max_steps: most };
    match lower(tensor, reach, &[], keep.is_some()).run(tensor, keep, &mut [], limits) {
        Err(Error::Run(RunError::StepLimit { .. })) => {
            Err(Error::TooLarge(format!("the runs stand for more than {most} entries")))
        }
        rows => rows,
    }
}

/// Code that writes columns, and what it needs to run.
#[derive(Clone, Debug)]
pub struct Unpacking {
    /// The code.
    ///
    /// Arrays: the tensor's, `keep` where masked, `count` (one index: the rows written), and one for
    /// each column. Parameters: the tensor's sizes.
    pub function: Function,
    /// Whether a value can be visited more than once.
    pub repeats: bool,
    operand: Operand,
}

impl Unpacking {
    /// Runs the code. Gives the number of rows written.
    fn run(
        &self,
        tensor: &Tensor,
        keep: Option<&IndexArray>,
        out: &mut [Vec<i64>],
        limits: Limits,
    ) -> Result<usize, Error> {
        let program = Program::compile(&self.function)?;
        let mut written = [0];
        let mut memory: Vec<Memory<'_>> = Vec::new();
        memory.extend(tensor.levels().iter().flat_map(|level| &level.0).map(Memory::Index));
        memory.extend(keep.map(Memory::Index));
        memory.push(Memory::IndicesMut(&mut written));
        memory.extend(out.iter_mut().map(|column| Memory::IndicesMut(column)));
        let sizes = self.operand.size_arguments(tensor);
        let params: Vec<Param> = sizes.into_iter().map(Param::Int).collect();
        program.run_with(&params, &mut memory, limits)?;
        drop(memory);
        Ok(written[0] as usize)
    }
}

/// Emits code that writes columns, where `masked` only for the values wanted.
#[must_use]
pub fn lower(tensor: &Tensor, reach: Reach, columns: &[Column], masked: bool) -> Unpacking {
    let mut b = Builder::new("unpack");
    let operand = Operand::declare(&mut b, "A", tensor);
    let kept = masked.then(|| b.array("keep", Elem::Index(IndexKind::U8), false));
    let count = b.array("count", Elem::Index(IndexKind::I64), true);
    let outputs: Vec<ArrayId> = (0..columns.len())
        .map(|at| b.array(&format!("column{at}"), Elem::Index(IndexKind::I64), true))
        .collect();
    let row = b.var("row", Expr::Int(0));
    let repeats = operand.walk(&mut b, reach, &mut |b, leaf| {
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
    Unpacking { function: b.finish(), repeats, operand }
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
