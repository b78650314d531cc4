//! Storage to columns of coordinates: the first step of a general conversion. A column has a row
//! for each stored value that a walk visits.

use ust_format::IndexExpr;
use ust_level_api::ir::interp::{Limits, Memory, Param, Program, RunError};
use ust_level_api::ir::parallel;
use ust_level_api::ir::{ArrayId, BinOp, Builder, Elem, Expr, Function, Ty};
use ust_level_api::{Buffer, IndexArray, IndexColumn, IndexKind};

use super::balance::cuts;
use super::emit;
use super::native::Code;
use super::nest::{Leaf, Operand, Reach};
use crate::error::Error;
use crate::storage::Tensor;
use crate::storage::memory::default_limit;
use crate::tuning::UNPACK_PIECES_PER_THREAD;

/// What a column says about each visited value.
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
    /// 1 where the value is an element of the tensor, 0 where it lies outside the shape.
    Inside,
}

/// A column to write, and the kind of its elements: `U32`, `I32` or `I64`.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The content.
    pub what: What,
    /// The kind of the elements.
    pub kind: IndexKind,
}

/// The content of a column.
#[derive(Clone, Debug)]
pub enum What {
    /// A property of the visited value.
    Of(Column),
    /// An expression over the dimensions.
    Expr(IndexExpr),
}

/// The stored values that get a row.
#[derive(Clone, Copy, Debug)]
pub enum Keep<'a> {
    /// All values.
    All,
    /// The values whose element in this mask is not 0.
    Masked(&'a IndexArray),
    /// The values at these positions, which ascend. The array ends with one more position, beyond
    /// all values. Only for formats whose walk visits positions in order.
    At(&'a IndexArray),
}

impl<'a> Keep<'a> {
    fn array(self) -> Option<&'a IndexArray> {
        match self {
            Self::All => None,
            Self::Masked(array) | Self::At(array) => Some(array),
        }
    }
}

/// Walks a tensor and writes columns, one row for each visited value that `keep` selects.
///
/// `rows` is the maximal number of rows where no value is visited twice. Where levels store runs,
/// rows are counted first. Cost: O(positions visited).
///
/// # Errors
/// [`Error::Run`] for arrays that break their level's rules, [`Error::TooLarge`] for more rows than
/// memory holds.
pub fn unpack(
    tensor: &Tensor,
    reach: Reach,
    columns: &[Column],
    keep: Keep<'_>,
    rows: usize,
) -> Result<Vec<Vec<i64>>, Error> {
    let wanted: Vec<Wanted> = columns
        .iter()
        .map(|&column| Wanted { what: What::Of(column), kind: IndexKind::I64 })
        .collect();
    let made = unpack_as(tensor, reach, &wanted, keep, rows, Code::new)?;
    Ok(made.into_iter().map(IndexColumn::into_vec).collect())
}

/// As [`unpack`], with columns of the given kinds. A number that does not fit its column is an
/// error, or is truncated. Parallel, over pieces of the outermost loop. `prepare` compiles the
/// loops: [`Code::trusting`] for arrays that were checked before.
///
/// # Errors
/// As [`unpack`].
pub(crate) fn unpack_as(
    tensor: &Tensor,
    reach: Reach,
    columns: &[Wanted],
    keep: Keep<'_>,
    rows: usize,
    prepare: fn(&Function, usize) -> Result<Code, Error>,
) -> Result<Vec<IndexColumn>, Error> {
    let unpacking = Unpacking::new(tensor, reach, columns, keep);
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
    let code = prepare(&unpacking.function, rows)?;
    let all = [i64::MIN, i64::MAX];
    let cuts = match unpacking.splits && !unpacking.repeats {
        true => cuts(tensor, reach, UNPACK_PIECES_PER_THREAD)?,
        false => Vec::new(),
    };
    // The number of rows of each piece of the outermost loop.
    let mut counts = vec![rows];
    let mut pieces = vec![all];
    if cuts.len() > 2 {
        let counting = Unpacking::new(tensor, reach, &[], keep);
        let code = prepare(&counting.function, rows)?;
        let cut: Vec<[i64; 2]> = cuts.windows(2).map(|pair| [pair[0], pair[1]]).collect();
        let counted =
            parallel::map(cut.len(), |at| counting.run(&code, tensor, keep, &mut [], &cut[at]));
        let found = counted.into_iter().collect::<Result<Vec<_>, Error>>()?;
        // More rows than possible mean invalid arrays: then a single loop runs, and reports the error.
        if found.iter().sum::<usize>() <= rows {
            (counts, pieces) = (found, cut);
        }
    }
    let total = counts.iter().sum();
    let mut out: Vec<ColumnBuffer> =
        columns.iter().map(|c| ColumnBuffer::unspecified(c.kind, total)).collect();
    let mut parts: Vec<Vec<Slice<'_>>> = counts.iter().map(|_| Vec::new()).collect();
    for column in &mut out {
        column.cut(&counts, &mut parts);
    }
    let written = parallel::map_items(parts.into_iter().zip(&pieces), |_, (mut out, piece)| {
        unpacking.run(&code, tensor, keep, &mut out, piece)
    });
    let written = written.into_iter().sum::<Result<usize, Error>>()?;
    Ok(out.into_iter().map(|column| column.done(written)).collect())
}

/// The number of rows that `columns` columns can have within the memory limit.
fn most_rows(columns: usize) -> usize {
    (default_limit() / (8 * columns.max(1) as u64)) as usize
}

/// Counts rows, where one value can have many rows.
fn count(tensor: &Tensor, reach: Reach, columns: usize, keep: Keep<'_>) -> Result<usize, Error> {
    let most = most_rows(columns) as u64;
    let limits = Limits { max_steps: most };
    let counting = Unpacking::new(tensor, reach, &[], keep);
    let code = Code::Interpreted(Box::new(Program::compile(&counting.function)?), limits);
    match counting.run(&code, tensor, keep, &mut [], &[i64::MIN, i64::MAX]) {
        Err(Error::Run(RunError::StepLimit { .. })) => {
            Err(Error::TooLarge(format!("the runs stand for more than {most} entries")))
        }
        rows => rows,
    }
}

/// A column that a loop writes.
pub(super) enum ColumnBuffer {
    U32(Buffer<u32>),
    I32(Buffer<i32>),
    I64(Buffer<i64>),
}

/// A part of a column.
pub(super) enum Slice<'a> {
    U32(&'a mut [u32]),
    I32(&'a mut [i32]),
    I64(&'a mut [i64]),
}

impl ColumnBuffer {
    /// A column of `len` elements without specified content.
    pub(super) fn unspecified(kind: IndexKind, len: usize) -> Self {
        match kind {
            IndexKind::U32 => Self::U32(Buffer::unspecified(len)),
            IndexKind::I32 => Self::I32(Buffer::unspecified(len)),
            _ => Self::I64(Buffer::unspecified(len)),
        }
    }

    /// Cuts the column into parts of the given lengths, and appends each part to its piece.
    fn cut<'a>(&'a mut self, lengths: &[usize], pieces: &mut [Vec<Slice<'a>>]) {
        fn parts<'a, T>(
            mut rest: &'a mut [T],
            lengths: &[usize],
        ) -> impl Iterator<Item = &'a mut [T]> {
            lengths.iter().map(move |&len| {
                let (part, others) = std::mem::take(&mut rest).split_at_mut(len);
                rest = others;
                part
            })
        }
        macro_rules! cut {
            ($words:expr, $variant:ident) => {
                for (part, piece) in parts($words.make_mut(), lengths).zip(pieces) {
                    piece.push(Slice::$variant(part));
                }
            };
        }
        match self {
            Self::U32(words) => cut!(words, U32),
            Self::I32(words) => cut!(words, I32),
            Self::I64(words) => cut!(words, I64),
        }
    }

    /// The column as one part.
    pub(super) fn all(&mut self) -> Slice<'_> {
        match self {
            Self::U32(words) => Slice::U32(words.make_mut()),
            Self::I32(words) => Slice::I32(words.make_mut()),
            Self::I64(words) => Slice::I64(words.make_mut()),
        }
    }

    pub(super) fn memory(&mut self) -> Memory<'_> {
        match self {
            Self::U32(words) => Memory::indices_mut(words.make_mut()),
            Self::I32(words) => Memory::indices_mut(words.make_mut()),
            Self::I64(words) => Memory::indices_mut(words.make_mut()),
        }
    }

    /// The first `written` rows as a finished column.
    pub(super) fn done(self, written: usize) -> IndexColumn {
        macro_rules! done {
            ($words:expr) => {{
                let mut words = $words;
                words.truncate(written);
                words.into()
            }};
        }
        match self {
            Self::U32(words) => done!(words),
            Self::I32(words) => done!(words),
            Self::I64(words) => done!(words),
        }
    }
}

impl Slice<'_> {
    fn memory(&mut self) -> Memory<'_> {
        match self {
            Self::U32(words) => Memory::indices_mut(words),
            Self::I32(words) => Memory::indices_mut(words),
            Self::I64(words) => Memory::indices_mut(words),
        }
    }
}

/// Code that writes columns, and its arguments.
#[derive(Clone, Debug)]
pub struct Unpacking {
    /// The code.
    ///
    /// Arrays: those of the tensor, `keep` unless all values get a row, `count` (one index: the
    /// number of rows written), and one for each column. Parameters: the sizes of the tensor, the
    /// interval of the outermost loop's cursor, and the number of positions for [`Keep::At`].
    pub function: Function,
    /// Whether a value can be visited more than once.
    pub repeats: bool,
    /// Whether the outermost loop can be cut into pieces.
    splits: bool,
    operand: Operand,
}

impl Unpacking {
    /// Emits code that writes columns.
    pub(super) fn new(tensor: &Tensor, reach: Reach, columns: &[Wanted], keep: Keep<'_>) -> Self {
        let mut b = Builder::new("unpack");
        let operand = Operand::declare(&mut b, "A", &tensor.outline());
        let piece = (b.param("from", Ty::Int), b.param("to", Ty::Int));
        let places = matches!(keep, Keep::At(_)).then(|| b.param("places", Ty::Int));
        let kept = keep.array().map(|keep| b.array("keep", Elem::Index(keep.kind()), false));
        let count = b.array("count", Elem::Index(IndexKind::I64), true);
        let outputs: Vec<ArrayId> = columns
            .iter()
            .enumerate()
            .map(|(at, column)| b.array(&format!("column{at}"), Elem::Index(column.kind), true))
            .collect();
        let row = b.var("row", Expr::Int(0));
        let write = |b: &mut Builder, leaf: &Leaf| {
            for (&output, column) in outputs.iter().zip(columns) {
                let number = match &column.what {
                    What::Of(column) => of(leaf, *column),
                    // Outside the shape, coordinates may not fit the column: 0 is written.
                    What::Expr(expr) => match reach {
                        Reach::Inside => emit(expr, &leaf.dims),
                        Reach::Everything => leaf.inside.clone().select(emit(expr, &leaf.dims), 0),
                    },
                };
                b.store(output, row.into(), number);
            }
            b.assign(row, Expr::from(row) + 1);
        };
        let walked = match (places, kept) {
            (Some(count), Some(places)) => {
                let places = (places, count);
                operand.walk_places(&mut b, reach, piece, places, &mut |b, leaf| write(b, leaf))
            }
            _ => operand.walk_piece(&mut b, reach, piece, &mut |b, leaf| {
                let wanted = kept.map_or(Expr::Bool(true), |keep| {
                    Expr::binary(BinOp::Ne, b.load(keep, leaf.value()), Expr::Int(0))
                });
                b.if_(wanted, |b| write(b, leaf));
            }),
        };
        b.store(count, Expr::Int(0), row.into());
        let (repeats, splits) = (walked.repeats, walked.splits);
        Self { function: b.finish(), repeats, splits, operand }
    }

    /// Runs the code on a piece of the outermost loop. Returns the number of rows written.
    ///
    /// # Errors
    /// As [`Code::run`].
    pub(super) fn run(
        &self,
        code: &Code,
        tensor: &Tensor,
        keep: Keep<'_>,
        out: &mut [Slice<'_>],
        piece: &[i64],
    ) -> Result<usize, Error> {
        let mut written = [0_i64];
        let mut memory: Vec<Memory<'_>> = Vec::new();
        memory.extend(tensor.index_arrays().map(Memory::Index));
        memory.extend(keep.array().map(Memory::Index));
        memory.push(Memory::indices_mut(&mut written[..]));
        memory.extend(out.iter_mut().map(Slice::memory));
        let mut params: Vec<Param> =
            self.operand.size_arguments(tensor).into_iter().map(Param::Int).collect();
        params.extend([Param::Int(piece[0]), Param::Int(piece[1])]);
        if let Keep::At(places) = keep {
            params.push(Param::Int(places.len() as i64 - 1));
        }
        code.run(&params, &mut memory)?;
        drop(memory);
        Ok(written[0] as usize)
    }
}

/// Emits code that writes columns of 64 bits.
#[must_use]
pub fn lower(tensor: &Tensor, reach: Reach, columns: &[Column], keep: Keep<'_>) -> Unpacking {
    let wanted: Vec<Wanted> = columns
        .iter()
        .map(|&column| Wanted { what: What::Of(column), kind: IndexKind::I64 })
        .collect();
    Unpacking::new(tensor, reach, &wanted, keep)
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
