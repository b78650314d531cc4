//! Plans: loops as IR, and what their maker knows about them and the code does not show.

use ust_format::{Bound, Format, IndexExpr};
use ust_level_api::ir::interp::{Memory, Param, Program};
use ust_level_api::ir::{ArrayDecl, ArrayId, BinOp, Elem, Expr, Function, Stmt, Var};
use ust_level_api::{Description, Dtype, IndexKind, Interval, Scalar, WalkKind};

use super::Shape;
use crate::error::Error;
use crate::expr::Operator;
use crate::expr::term::Term;
use crate::storage::Tensor;
use crate::tuning::WIDE_INDICES_TIME;
pub use crate::walk::operand::ItemSize;

/// The loops of a stage, and the expression and tensors that they are for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan<'a> {
    /// The loops. Arrays are bound in the order of their declarations, see [`Facts::arrays`], and parameters
    /// in the order of [`Facts::parameters`]. What nests of loops compute, apart from the loops around them,
    /// is declared in [`Function::idioms`].
    pub function: &'a Function,
    /// The meaning of parameters, arrays, loops and variables of `function`.
    pub facts: &'a Facts,
    /// The same loops, except that no row is stored before it is known whether the row is kept. `None` if that
    /// holds for `function`. All facts hold for both. See [`Rows::speculative`].
    pub guarded: Option<&'a Function>,
    /// The same loops, in parts that begin and end inside rows. `None` if they can be cut between rows only, or if
    /// entries of one operand are all that is to be cut.
    pub split: Option<Split<'a>>,
    /// Each access to a tensor.
    pub operands: Vec<Access<'a>>,
    /// The tensor of each access that the plan was made for. The executable runs on others as well.
    pub tensors: Vec<&'a Tensor>,
    /// For each access, whether its tensor is converted before the loops run.
    pub converted: Vec<bool>,
    /// The tensor that the loops write. If it is stored in full, or shares the levels of an operand, the loops
    /// write [`Array::Result`], whose elements begin with [`Access::fill`]. Otherwise they append
    /// [rows](Facts::rows).
    pub result: Access<'a>,
    /// The term inside the reduction. Its elements are numbered like `operands`.
    pub body: &'a Term,
    /// Whether the loops only copy a sparse operand into another format, perhaps transposed.
    pub copies: bool,
    /// The operator of the reduction, and the index variables that it reduces over.
    pub reduce: Option<(&'a Operator, &'a [usize])>,
    /// Whether sums have to be formed in the order of the loops.
    pub strict: bool,
    /// The sizes of the tensors that the plan was made for. The executable runs on others as well.
    pub sizes: &'a Sizes,
    /// The estimated time of these loops as machine code on one thread of the CPU, in nanoseconds.
    pub estimate: f64,
    /// Whether operands are converted to other formats before the loops run. The estimate has the time for it.
    pub converts: bool,
    /// Whether indices of operands are stored in 32 bits before the loops run. The estimate has the time for it,
    /// unless tensors keep what is made.
    pub in_32_bits: bool,
    /// Whether loops read indices of other widths than 32 bits. Another plan of the stage converts these indices
    /// first.
    pub other_widths: bool,
    /// Whether parts of the outermost loop add to the same elements, whose sums have to be formed in the order of the
    /// loops. Another plan of the stage converts operands so that parts write elements of their own, with the same
    /// order of sums.
    pub other_apart: bool,
    /// Whether the loops add to what a result in full holds before they run, and set no element. An executable that does
    /// so says [`adds_onto`](super::Executable::adds_onto); from another, the result is taken and added.
    pub onto: bool,
}

impl Plan<'_> {
    /// The time of kernels that read the indices as they are, as a multiple of that of 32 bits.
    pub(super) fn index_time(&self) -> f64 {
        let is_wide = |elem: Elem| matches!(elem, Elem::Index(kind) if kind.bits() > 32);
        let mut read = self.function.arrays.iter().filter(|array| !array.written);
        match read.any(|array| is_wide(array.elem)) {
            true => WIDE_INDICES_TIME,
            false => 1.0,
        }
    }
}

/// Loops in parts that begin and end inside rows: parts are intervals of the entries that the first loops merge or
/// append, as the [range](Outermost::range) of `facts` tells. Parameters and arrays are those of the plan.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Split<'a> {
    /// The loops. No row is stored before it is known whether the row is kept.
    pub function: &'a Function,
    /// The meaning of these loops.
    pub facts: &'a Facts,
    /// A function that stores the largest number of entries of a row, see
    /// [`Schedule::longest`](crate::schedule::Schedule::longest). `None` if rows are searched: then their number in a
    /// part of the plan's loops is not known.
    pub longest: Option<&'a Function>,
}

/// An access to a tensor.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Access<'a> {
    /// How it is stored.
    pub format: &'a Format,
    /// The dtype of its values.
    pub dtype: Dtype,
    /// The fill value of the tensor. An expression may give unstored elements another value, such as the
    /// zero of a semiring. For the result, the value of each element before the loops run.
    pub fill: Scalar,
    /// For each dimension, the number of its index variable.
    pub indices: &'a [usize],
    /// Whether the loops read the first element of its values alone, which stands for all: see
    /// [`Tensor::is_iso`](crate::Tensor::is_iso).
    pub iso: bool,
}

impl<'a> Access<'a> {
    /// What each level stores, and in which shape: for CSR, dimension 0 in full and dimension 1 in segments.
    /// Cost: that of emitting the walks of all levels.
    #[must_use]
    pub fn shapes(&self) -> Vec<(&'a IndexExpr, Shape)> {
        let levels = self.format.levels().iter().enumerate();
        levels.map(|(at, level)| (&level.expr, Shape::of(self.format, at))).collect()
    }
}

/// Sizes, exact or estimated.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sizes {
    /// The extent of each index variable.
    pub extents: Vec<usize>,
    /// The size of each operand.
    pub operands: Vec<OperandSize>,
    /// For each depth of loops, the estimated number of iterations, in all iterations of the loops around
    /// together.
    pub iterations: Vec<f64>,
}

/// The size of an operand.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OperandSize {
    /// Number of stored elements.
    pub nse: f64,
    /// The size of each level.
    pub levels: Vec<LevelSize>,
}

/// The size of a level of an operand.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LevelSize {
    /// Number of coordinates.
    pub coordinates: f64,
    /// Number of positions.
    pub positions: f64,
    /// Coordinates under one coordinate of the level above, on average.
    pub children: f64,
}

/// What the maker of loops knows about them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Facts {
    /// The meaning of each parameter. All are of type `int`.
    pub parameters: Vec<Parameter>,
    /// The meaning of each array. Those of operands come first: the arrays of all levels of all operands, then
    /// the values of each.
    pub arrays: Vec<Array>,
    /// The outermost loop.
    pub outermost: Outermost,
    /// The loops over coordinates and stored elements, each before those inside it. Other loops of the
    /// function, such as binary searches, have no meaning of their own.
    pub loops: Vec<Loop>,
    /// How rows are appended. `None` if the result is written at known positions.
    pub rows: Option<Rows>,
    /// The other variables whose values pass from one iteration of the outermost loop to the next: all that are
    /// declared before it and assigned in it, but for those of `loops`, their sums, and `rows`.
    pub carried: Vec<Var>,
    /// Whether the loops set every element of a result at known positions before they read it.
    pub sets_all: bool,
    /// Pairs of loops, by their variables, which are the only statements in the two branches of a condition: one for
    /// blocks that are whole, and one for blocks at the border. The second is right for all blocks, up to the smaller
    /// of both ends.
    pub borders: Vec<[Var; 2]>,
}

/// The meaning of a parameter of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parameter {
    /// The extent of an index variable.
    Extent(usize),
    /// The number of coordinates of a level of an operand.
    Size {
        /// The operand.
        operand: usize,
        /// The level.
        level: usize,
    },
    /// The lowest coordinate of a level of an operand.
    Lower {
        /// The operand.
        operand: usize,
        /// The level.
        level: usize,
    },
    /// A number that is the same for each item of the batch that an operand is.
    Item {
        /// The operand.
        operand: usize,
        /// What it is.
        size: ItemSize,
    },
    /// The number of coordinates of a level of the result.
    ResultSize(usize),
    /// The lowest coordinate of a level of the result.
    ResultLower(usize),
    /// The number of the region of each [`Array::Table`] that this run uses. Runs at the same time use
    /// different regions.
    Region,
    /// The beginning of this part of the outermost loop. It may lie outside the loop's range.
    PartLo,
    /// The end of this part of the outermost loop, exclusive. It may lie outside the loop's range.
    PartHi,
}

impl Parameter {
    /// Its value, for tensors with these levels, the part `part` of the outermost loop, and the region `region` of
    /// each table.
    pub(crate) fn value(
        self,
        extents: &[usize],
        operands: &[&Tensor],
        result: &Bound,
        part: (i64, i64),
        region: usize,
    ) -> Param {
        let domain = |operand: usize, level: usize| &operands[operand].bound().levels()[level];
        Param::Int(match self {
            Self::Extent(v) => extents[v] as i64,
            Self::Size { operand, level } => domain(operand, level).size as i64,
            Self::Lower { operand, level } => domain(operand, level).lower,
            Self::Item { operand, size } => size.of(operands[operand]),
            Self::ResultSize(level) => result.levels()[level].size as i64,
            Self::ResultLower(level) => result.levels()[level].lower,
            Self::Region => region as i64,
            Self::PartLo => part.0,
            Self::PartHi => part.1,
        })
    }
}

/// The meaning of an array of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Array {
    /// An array of a level of an operand.
    Level {
        /// The operand.
        operand: usize,
        /// The level.
        level: usize,
        /// Its number among the arrays of the level.
        array: usize,
    },
    /// The values of an operand.
    Values(usize),
    /// Of a [conversion](super::conversion): a column, with an element for each stored value.
    Column(usize),
    /// Of a conversion: the mask, with an element for each stored value.
    Mask,
    /// The values of the result, at known positions.
    Result,
    /// The values of rows, a block for each row. The array grows.
    RowValues,
    /// For each row, its coordinate at a level of the result. The array grows.
    RowCoordinates(usize),
    /// Two elements: the number of rows, and the number of times that a workspace was opened. A run continues
    /// with the numbers that it finds.
    RowCounts,
    /// For each iteration of the outermost loop, counted from the beginning of the part, the number of its
    /// first row. The result's level 0 has no [`Array::RowCoordinates`] then.
    RowStarts,
    /// As [`Array::RowStarts`], counted from the beginning of the loop. The part in which an iteration begins sets its
    /// element.
    AllRowStarts,
    /// Working memory: a block of values for each coordinate of the result's last level above its trailing
    /// dense block. Before and after a run, all have the value [`Access::fill`] of the result. Runs at the same
    /// time need one each.
    WorkValues,
    /// Working memory: for each of these coordinates, the number of the workspace that last wrote there.
    /// Zeros at first. Runs at the same time need one each.
    WorkMarks,
    /// Working memory: an element for each of these coordinates, of any value. Runs at the same time need one
    /// each.
    WorkList,
    /// Working memory: regions, each with an element for each coordinate of a level of an operand, and one more.
    /// Zeros at first.
    Table {
        /// The operand.
        operand: usize,
        /// The level.
        level: usize,
    },
}

impl Array {
    /// Whether it is memory that several runs at the same time cannot share.
    #[must_use]
    pub fn is_work(self) -> bool {
        matches!(self, Self::WorkValues | Self::WorkMarks | Self::WorkList | Self::Table { .. })
    }
}

/// The outermost loop of a plan.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outermost {
    /// What can be cut, at any number within the range. If nothing can, why not, for people. Parts that cover the
    /// range, each from where the part before ends, together do what the loop does.
    pub cut: Result<Cut, &'static str>,
    /// What [`Parameter::PartLo`] and [`Parameter::PartHi`] cut: an interval of cursors or of coordinates. Its
    /// expressions have no variables but parameters, and read arrays of operands at most. `None` if the loop
    /// cannot be cut, or the range is not known before other code of the function has run.
    pub range: Option<Interval>,
    /// Whether parts write different elements of a result at known positions. False if rows are appended.
    pub owns: bool,
    /// The levels that the loop walks, each as (operand, level).
    pub walks: Vec<(usize, usize)>,
}

/// What parts of the outermost loop are intervals of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cut {
    /// The coordinates of an index variable, from 0 to its extent.
    Index(usize),
    /// The coordinates of the first level of an operand.
    Level(usize),
    /// The cursor over the first level of an operand.
    Cursor(usize),
    /// The coordinates of a merge over first levels: each part begins with a search in every level.
    Merge {
        /// One of the merged operands.
        operand: usize,
        /// Whether the loop visits every coordinate.
        every: bool,
    },
}

/// A function that stores the values of expressions: those of a plan that have no variables but the parameters
/// of `function`. It takes the same parameters, the arrays of the operands, and one more array, of indices of
/// kind i64.
#[must_use]
pub fn storing(values: Vec<Expr>, function: &Function) -> Function {
    let operands = function.arrays.iter().take_while(|array| !array.written);
    let mut arrays: Vec<ArrayDecl> = operands.cloned().collect();
    let to = ArrayId(arrays.len() as u32);
    let elem = Elem::Index(IndexKind::I64);
    arrays.push(ArrayDecl { name: "stored_values".to_owned(), elem, written: true, grows: false });
    let stores = values.into_iter().enumerate();
    let body = stores.map(|(at, value)| Stmt::Store(to, (at as i64).into(), value)).collect();
    let vars = function.vars[..function.params].to_vec();
    let (name, params) = ("values".to_owned(), function.params);
    Function { name, arrays, params, vars, body, idioms: Vec::new() }
}

/// The values of expressions that have no variables but the parameters of `function`. `None` if one reads an
/// array.
///
/// # Errors
/// [`Error::Run`] if it divides by zero.
pub fn evaluated(
    values: &[Expr],
    function: &Function,
    params: &[Param],
) -> Result<Option<Vec<i64>>, Error> {
    let mut reads = false;
    for value in values {
        value.visit(&mut |part| reads |= matches!(part, Expr::Load(..) | Expr::Len(_)));
    }
    if reads {
        return Ok(None);
    }
    let none = Function { arrays: Vec::new(), ..storing(Vec::new(), function) };
    let program = Program::compile(&storing(values.to_vec(), &none))?;
    let mut found = vec![0_i64; values.len()];
    program.run(params, &mut [Memory::indices_mut(&mut found[..])])?;
    Ok(Some(found))
}

/// An interval with names replaced by their values, so that it has parameters and arrays of operands only.
/// `None` if it depends on other variables.
pub(crate) fn from_start(range: Interval, function: &Function) -> Option<Interval> {
    // What is named further on may depend on what other statements do.
    let names = function.first_names();
    let expand = |expr: Expr| {
        let expr = expr.replaced(&|var| names.get(&var).cloned());
        let mut known = true;
        expr.visit(&mut |part| match part {
            Expr::Var(var) => known &= (var.0 as usize) < function.params,
            Expr::Load(array, _) | Expr::Len(array) => {
                known &= !function.arrays[array.0 as usize].written;
            }
            _ => {}
        });
        known.then_some(expr)
    };
    Some(Interval { lo: expand(range.lo)?, hi: expand(range.hi)? })
}

/// A loop of a plan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Loop {
    /// The variable of a `for`, or the cursors of a `while`.
    pub vars: Vec<Var>,
    /// Its place in the order of loops: 0 for the outermost. Several loops have the same place if they stand
    /// in different branches of the code, and [`Over::Run`] stands inside a loop of the same place.
    pub depth: usize,
    /// The coordinates that it gives, as an expression over index variables.
    pub expr: IndexExpr,
    /// What its variables are.
    pub over: Over,
    /// If its variable is the cursor of a level: the coordinate there, an expression of that variable, parameters,
    /// arrays of operands, and names that are given in the loop.
    pub crd: Option<Expr>,
    /// The levels that it walks, each as (operand, level). The other operands are searched, or are stored in
    /// full.
    pub walks: Vec<(usize, usize)>,
    /// Whether it has exactly one iteration, as where each parent has one child. It stands for the code inside it.
    pub once: bool,
    /// Whether the loop's range continues where it ended in the previous iteration of the loop around it: its
    /// cursors are those of one level that stores the children of consecutive parents side by side.
    pub contiguous: bool,
    /// Whether no two iterations write the same element of a result at known positions, within one iteration of
    /// the loops around it. False if rows are appended.
    pub owns: bool,
    /// The sum that its iterations add to, if it is formed in a variable.
    pub sum: Option<Sum>,
    /// Whether variables other than that sum pass from one iteration to the next: cursors that follow the
    /// coordinates, state of a level, the number of rows.
    pub sequential: bool,
}

/// Whether the cursors of a level continue from one iteration of a loop over the level above to the next.
pub(crate) fn continues(level: &Description, around: Over, above: &Description) -> bool {
    let by_one = match around {
        Over::Cursor => above.walk == WalkKind::Position,
        Over::Coordinates => above.props.full,
        Over::Runs | Over::Run | Over::Followed | Over::Merge => false,
    };
    by_one && level.props.contiguous && level.walk == WalkKind::Position
}

/// What the variables of a loop are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Over {
    /// Coordinates: each one in the range.
    Coordinates,
    /// The cursor of a level.
    Cursor,
    /// The first cursor of each coordinate of a level, which may be stored at several.
    Runs,
    /// The coordinates at one cursor of the loop around it.
    Run,
    /// Coordinates: each one in the range. The cursors of levels follow it.
    Followed,
    /// Several cursors, merged.
    Merge,
}

/// A sum that a loop forms in a variable, which is declared outside the loop.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sum {
    /// The variable.
    pub var: Var,
    /// The operation, if the IR has one for it: `var = var op value`.
    pub op: Option<BinOp>,
    /// The value of an empty sum.
    pub start: Scalar,
    /// A variable that iterations which add something set to true.
    pub hit: Option<Var>,
}

/// How loops append rows to a result. For each row, the values grow by a block, and each array of coordinates
/// by one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rows {
    /// The number of rows so far.
    pub row: Var,
    /// The number of times that a workspace was opened so far.
    pub opened: Option<Var>,
    /// The number of coordinates that [`Array::WorkList`] has. Each workspace begins with none.
    pub listed: Option<Var>,
    /// Number of values of a row: an expression of parameters.
    pub block: Expr,
    /// Whether one row is open around all loops. Then each part of the outermost loop appends its own rows,
    /// and rows with the same coordinates are to be combined by the operator of the reduction.
    pub around_all: bool,
    /// Whether rows are in ascending order. If not, they are to be sorted, and those with the same coordinates
    /// combined.
    pub sorted: bool,
    /// Whether the loops write the row behind the last one and keep it only if it turns out to be needed. On
    /// memory that parts of the outermost loop share, this row is the first of another part:
    /// use [`Plan::guarded`].
    pub speculative: bool,
}
