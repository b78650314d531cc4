//! Idioms: what nests of loops compute, in a form that back ends choose kernels by.
//!
//! Whoever writes loops [declares](super::Builder::declare) what they compute. The loops stay in the function,
//! and are the meaning of the idiom: a back end that has no kernel for it emits the loops. Names that the code
//! gives to parts of an index do not matter: each index is a sum of strides times loop variables, or times
//! coordinates that are read at a loop variable.
//!
//! | operation | declared as |
//! |---|---|
//! | dot product of a sparse row and a vector | a loop over `p`; factors `a[p]` and `x[crd[p]]`; the target stays |
//! | sparse row added to a vector | a loop over `p`; target `y[crd[p]]` |
//! | row of a product with a dense matrix | loops over `p` and `j`; target `y[j]`, which `p` does not move: a row that can be held in registers |
//! | dot products at the entries of a sparse matrix (SDDMM) | loops over `p` and `k`; a sum inside the first, stored to `out[p]` |
//! | rows of runs of consecutive coordinates, times a vector | loops over `i`, over the runs `s` of a row, and over `j` from `first[s]` on; factors `a[j + ofs[s] - first[s]]` and `x[j]`; a sum inside the first, stored to `y[i]` |
//! | row of entries whose coordinates are in a code, times a vector | a loop over `p` that [decodes](Coded) them; factors `a[p]` and `x[crd]` |
//! | sum of two sparse rows | [`Union`] |
//! | transposition by counting | [`Placed`] |
//!
//! ```
//! use ust_ir::idiom::{By, Idiom, Leaf, Target};
//! use ust_ir::{BinOp, Builder, Dtype, Elem, IndexKind, Ty};
//!
//! // A sparse row times a vector: y[0] += a[p] * x[crd[p]].
//! let mut b = Builder::new("row");
//! let n = b.param("n", Ty::Int);
//! let crd = b.index_array("crd", IndexKind::I32);
//! let [a, x] = ["a", "x"].map(|name| b.array(name, Elem::Value(Dtype::F64), false));
//! let y = b.array("y", Elem::Value(Dtype::F64), true);
//! b.for_("p", 0.into(), n, |b, p| {
//!     let j = b.load(crd, p.clone());
//!     let j = b.bind("j", j);
//!     let factors = vec![b.load(a, p), b.load(x, j)];
//!     let product = factors[0].clone() * factors[1].clone();
//!     b.declare(Leaf::product(Target::Element(y, 0.into()), factors));
//!     b.reduce(BinOp::Add, y, 0.into(), product);
//! });
//! let function = b.finish();
//! let [Idiom::Nest(nest)] = &function.idioms[..] else { panic!("one nest") };
//! let (of, index) = nest.factors[1].element.as_ref().unwrap();
//! assert_eq!((*of, index.steps[0].by), (x, By::Read(crd, nest.loops[0].var)));
//! assert_eq!(function.meant().body.len(), function.body.len());
//! ```

mod coded;
mod effects;
mod index;
mod inner;
mod meaning;
mod settle;
#[cfg(test)]
mod tests;

pub use coded::{Code, Coded, Numbers};
pub use index::{By, Index, Step};
pub(super) use settle::{Path, settle};

use super::{ArrayId, BinOp, Expr, Scalar, Var};

/// What loops of a function compute.
#[derive(Clone, Debug, PartialEq, Hash)]
#[non_exhaustive]
pub enum Idiom {
    /// Products of elements, combined.
    Nest(Box<Nest>),
    /// Sums of sparse rows.
    Union(Union),
    /// Entries moved to the places of their keys.
    Placed(Placed),
}

impl Idiom {
    /// The arrays that its loops write.
    #[must_use]
    pub fn written(&self) -> Vec<ArrayId> {
        match self {
            Self::Nest(nest) => nest.written(),
            Self::Union(union) => union.written(),
            Self::Placed(placed) => placed.written(),
        }
    }
}

/// Loops, each inside the one before, with one innermost operation: products of elements are combined, or
/// stored. Nothing else happens in the loops.
///
/// ```text
/// for loops[0] {
///     clear[from..from + count] = value         if `clear.inside` is 1
///     sum = start                               if `sum.inside` is 1
///     for loops[1] {
///         target = target op (factors[0] * factors[1] * ..)
///     }
///     sum.array[sum.index] op= sum              if `sum.inside` is 1
/// }
/// ```
///
/// The loops from any one on are such a nest, too. All expressions have variables from outside the nest, and its
/// loop variables.
#[derive(Clone, Debug, PartialEq, Hash)]
#[non_exhaustive]
pub struct Nest {
    /// The loops, from the outermost.
    pub loops: Vec<Loop>,
    /// Conditions on which the body of a loop does what is said here, each with the number of loops around it.
    /// Where one fails, other code runs.
    pub conditions: Vec<(usize, Expr)>,
    /// The destination of the products.
    pub target: Place,
    /// The operator that combines a product with its target. `None` if the product is stored.
    pub op: Option<BinOp>,
    /// The operator between factors.
    pub times: BinOp,
    /// The factors.
    pub factors: Vec<Factor>,
    /// The sum that the target is, where it is declared inside the nest.
    pub sum: Option<Sum<Index>>,
    /// Elements that are set before the inner loops.
    pub clear: Option<Clear<Index>>,
    /// Notes of the elements that are combined.
    pub list: Option<List>,
    /// A variable that every iteration sets to true.
    pub hit: Option<Var>,
}

impl Nest {
    /// An expression of the nest as an index, such as the bound of a loop. `None` if it is no sum of strides.
    #[must_use]
    pub fn index(&self, expr: &Expr) -> Option<Index> {
        let moving: Vec<By> = self.loops.iter().flat_map(Loop::moving).collect();
        Index::of(expr, &moving)
    }

    /// The arrays that the loops write.
    #[must_use]
    pub fn written(&self) -> Vec<ArrayId> {
        let target = match &self.target {
            Place::Element(array, _) => Some(*array),
            Place::Var(_) => None,
        };
        let sum = self.sum.as_ref().map(|sum| sum.array);
        let clear = self.clear.as_ref().map(|clear| clear.array);
        let lists = self.list.iter().flat_map(|list| [list.mark, list.list]);
        [target, sum, clear].into_iter().flatten().chain(lists).collect()
    }
}

/// A loop of a nest.
#[derive(Clone, Debug, PartialEq, Hash)]
#[non_exhaustive]
pub struct Loop {
    /// Its variable.
    pub var: Var,
    /// The values of the variable.
    pub range: Range,
    /// The coordinates that it decodes.
    pub coded: Option<Coded>,
}

impl Loop {
    /// The variables that change in the loop.
    #[must_use]
    pub fn moving(&self) -> Vec<By> {
        let decoded = self.coded.iter().map(|coded| By::Decoded(coded.crd, self.var));
        [By::Var(self.var)].into_iter().chain(decoded).collect()
    }
}

/// The values of a loop variable.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Range {
    /// From the first expression up to the second, exclusive.
    Between(Expr, Expr),
    /// From `begin + pos[at]` up to `begin + pos[at + 1]`, exclusive. `at` depends on a loop of the nest.
    Segment {
        /// The array of bounds.
        pos: ArrayId,
        /// The index of the first bound.
        at: Index,
        /// Where bounds are counted from.
        begin: Index,
    },
}

/// A factor of the products.
#[derive(Clone, Debug, PartialEq, Hash)]
#[non_exhaustive]
pub struct Factor {
    /// Its value.
    pub value: Expr,
    /// The element that it is, if its index is a sum of strides.
    pub element: Option<(ArrayId, Index)>,
    /// The element `array[crd[index]]` that it is, if only the inner index is a sum of strides: `array`, `crd` and
    /// `index`.
    pub gathered: Option<(ArrayId, ArrayId, Index)>,
    /// Number of loops of the nest on which it depends: those from the outermost on.
    pub depth: usize,
}

impl Factor {
    /// Whether it is a known element, or the same in all iterations.
    fn is_known(&self) -> bool {
        self.element.is_some() || self.gathered.is_some() || self.depth == 0
    }
}

/// The destination of products.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Place {
    /// A variable.
    Var(Var),
    /// An element.
    Element(ArrayId, Index),
}

/// A sum in a variable. `I` is an index: an expression as written, or [taken apart](Index).
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Sum<I> {
    /// Number of loops around its declaration.
    pub inside: usize,
    /// Its value before the first product.
    pub start: Scalar,
    /// The array that it goes to after the inner loops.
    pub array: ArrayId,
    /// The element that it goes to.
    pub index: I,
    /// The operator that combines it with that element. `None` if it is stored.
    pub op: Option<BinOp>,
}

/// Consecutive elements that are set to a value.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Clear<I> {
    /// Number of loops around it.
    pub inside: usize,
    /// The array.
    pub array: ArrayId,
    /// The first element.
    pub from: I,
    /// Number of elements.
    pub count: Expr,
    /// The value.
    pub value: Scalar,
}

/// Notes of the elements that products go to, by their indices: where `mark` of an index is not `stamp`, it
/// becomes `stamp`, and the index is appended to `list`.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct List {
    /// For each element, the stamp that it was noted with last.
    pub mark: ArrayId,
    /// The stamp.
    pub stamp: Expr,
    /// The indices noted.
    pub list: ArrayId,
    /// The length of the list.
    pub length: Var,
}

/// The innermost operation of the loops that are open where it is [declared](super::Builder::declare). Its
/// expressions are as the code has them, names included; see [`Nest`] for the meaning of each field.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The destination.
    pub target: Target,
    /// The operator that combines a product with its target. `None` if the product is stored.
    pub op: Option<BinOp>,
    /// The operator between factors.
    pub times: BinOp,
    /// The factors.
    pub factors: Vec<Expr>,
    /// The sum that the target is.
    pub sum: Option<Sum<Expr>>,
    /// Elements that are set before inner loops.
    pub clear: Option<Clear<Expr>>,
    /// Notes of the elements that are combined.
    pub list: Option<List>,
    /// A variable that every iteration sets to true.
    pub hit: Option<Var>,
}

impl Leaf {
    /// A product that is added to its target.
    #[must_use]
    pub fn product(target: Target, factors: Vec<Expr>) -> Self {
        Self {
            target,
            op: Some(BinOp::Add),
            times: BinOp::Mul,
            factors,
            sum: None,
            clear: None,
            list: None,
            hit: None,
        }
    }
}

/// The destination of a [`Leaf`].
#[derive(Clone, Debug)]
pub enum Target {
    /// A variable.
    Var(Var),
    /// An element.
    Element(ArrayId, Expr),
}

/// Sums of sparse rows, in a loop over rows: row `i` of `a` and row `i` of `b` are merged. Each coordinate of
/// either is appended to `crd`, with the sum of its values in `values`. The loop may make the arrays longer.
#[derive(Clone, Debug, PartialEq, Hash)]
#[non_exhaustive]
pub struct Union {
    /// The variable of the loop over rows.
    pub var: Var,
    /// One operand.
    pub a: Segments,
    /// The other operand.
    pub b: Segments,
    /// The number of elements of `crd` and `values`.
    pub row: Var,
    /// The coordinates of the result.
    pub crd: ArrayId,
    /// The values of the result.
    pub values: ArrayId,
    /// An array that gets `row` at `var - first` when a row begins, and `first`.
    pub starts: Option<(ArrayId, Expr)>,
}

impl Union {
    fn written(&self) -> Vec<ArrayId> {
        let starts = self.starts.as_ref().map(|(starts, _)| *starts);
        [self.crd, self.values].into_iter().chain(starts).collect()
    }
}

/// Compressed rows: row `i` has the entries from `pos[i]` up to `pos[i + 1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segments {
    /// The bounds of rows.
    pub pos: ArrayId,
    /// The coordinate of each entry.
    pub crd: ArrayId,
    /// The value of each entry.
    pub values: ArrayId,
}

/// A [`Union`] as it is declared inside the loop over rows. Each operand has the position of its row, as the
/// code has it, in place of the loop variable.
#[derive(Clone, Debug)]
pub struct Merged {
    /// Each operand, and its position.
    pub operands: [(Segments, Expr); 2],
    /// See [`Union::row`].
    pub row: Var,
    /// See [`Union::crd`].
    pub crd: ArrayId,
    /// See [`Union::values`].
    pub values: ArrayId,
    /// See [`Union::starts`].
    pub starts: Option<(ArrayId, Expr)>,
}

/// Entries in the order of a key, in one or two loops: each moves to the next free place of its key.
///
/// ```text
/// for loops[0] {
///     at = next[key]; next[key] = at + 1
///     for each move { array[at] = value }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Hash)]
#[non_exhaustive]
pub struct Placed {
    /// The loops, from the outermost.
    pub loops: Vec<Loop>,
    /// For each key, its next free place.
    pub next: ArrayId,
    /// The index of an entry's key.
    pub key: Index,
    /// What is stored at the place: arrays, and the value of each.
    pub moves: Vec<(ArrayId, Factor)>,
}

impl Placed {
    fn written(&self) -> Vec<ArrayId> {
        [self.next].into_iter().chain(self.moves.iter().map(|(array, _)| *array)).collect()
    }
}

/// What is declared at a place of the code.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Declared {
    /// The innermost operation of the open loops.
    Leaf(Leaf),
    /// A merge in the open loop.
    Merged(Merged),
    /// A [`Placed`] in the open loops: `next`, the key, and what is stored.
    Placed(ArrayId, Expr, Vec<(ArrayId, Expr)>),
}

impl From<Leaf> for Declared {
    fn from(leaf: Leaf) -> Self {
        Self::Leaf(leaf)
    }
}

impl From<Merged> for Declared {
    fn from(merged: Merged) -> Self {
        Self::Merged(merged)
    }
}
