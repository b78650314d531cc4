//! The operations that microkernels exist for.

use ust_ir::idiom::Numbers;
use ust_ir::{ArrayId, Expr, Var};

/// Elements `array[sum of at + p]`, where `p` is the loop variable, or a coordinate that the loop reads. The
/// terms of `at` are constant in the loop.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stream {
    pub(super) array: ArrayId,
    pub(super) at: Vec<Expr>,
}

impl Stream {
    /// The array from its beginning.
    pub(super) fn of(array: ArrayId) -> Self {
        Self { array, at: Vec::new() }
    }
}

/// The destination of a sum.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Target {
    /// A variable.
    Var(Var),
    /// One element, the same in every iteration.
    Element(ArrayId, Expr),
}

/// Runs of entries with consecutive coordinates: run `p` has the values from `a[ofs[p]]` up to `a[ofs[p + 1]]`, and
/// the elements of `x` from `bounds[p]` on, or up to there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Runs {
    pub(super) bounds: ArrayId,
    /// Whether `bounds` are ends.
    pub(super) is_end: bool,
    pub(super) ofs: ArrayId,
    pub(super) a: Stream,
    pub(super) x: Stream,
}

/// Runs with one value for all of their entries: run `p` has the value `a[p]`, and the elements of `x` from `begin[p]` up to
/// `end[p]`. Without `begin`, the first begins at `first`, and each other one where the one before ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SharedRuns {
    pub(super) begin: Option<ArrayId>,
    pub(super) first: Expr,
    pub(super) end: ArrayId,
    pub(super) a: Stream,
    pub(super) x: Stream,
}

/// Words `bits[w]`, whose ones are entries: word `w` has the values from `a[ofs[w]]` on, and the elements of `x` from
/// `32 * w` on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ones {
    pub(super) bits: ArrayId,
    pub(super) ofs: ArrayId,
    pub(super) a: Stream,
    pub(super) x: Stream,
}

/// The operation of a loop `for p`. An optional factor that is `None` is left out of the product.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pattern {
    /// `target += a[p] * x[crd[p]] * factor`.
    GatherDot { target: Target, a: Stream, crd: ArrayId, x: Stream, factor: Option<Expr> },
    /// `target += a[p] * b[p] * factor`.
    Dot { target: Target, a: Stream, b: Stream, factor: Option<Expr> },
    /// `target += x[p] * factor`.
    Total { target: Target, x: Stream, factor: Option<Expr> },
    /// `y[p] = value`.
    Fill { y: Stream, value: Expr },
    /// `y[p] += factor * x[p]`.
    Axpy { y: Stream, x: Stream, factor: Expr },
    /// `y[p] += a[p] * x[p] * factor`.
    MultiplyAdd { y: Stream, a: Stream, x: Stream, factor: Option<Expr> },
    /// `sum = 0; for q in pos[p]..pos[p + 1] { sum += a[q] * x[crd[q]] }; out[p] = sum`, or
    /// `out[places[p]] = sum`. With `iso`, `a[0]` in place of `a[q]`.
    Rows {
        pos: Stream,
        /// From where bounds are counted.
        crd: Stream,
        a: Stream,
        iso: bool,
        x: Stream,
        out: Stream,
        places: Option<ArrayId>,
    },
    /// `for k in 0..ofs[p + 1] - ofs[p] { target += a[ofs[p] + k] * x[bounds[p] + k] * factor }`.
    RunDots { target: Target, runs: Runs, factor: Option<Expr> },
    /// `sum = 0; for q in pos[p]..pos[p + 1] { for k in 0..ofs[q + 1] - ofs[q] { sum += a[ofs[q] + k] *
    /// x[bounds[q] + k] } }; out[p] = sum`, or `out[places[p]] = sum`. Without `pos`, `q` is `p`.
    Runs { pos: Option<Stream>, runs: Runs, out: Stream, places: Option<ArrayId> },
    /// `for j in lo..hi { c[j] += a[p] * b[crd[p] * stride + j] * m[j] }`.
    Row {
        c: Stream,
        a: Stream,
        crd: ArrayId,
        b: Stream,
        stride: Expr,
        lo: Expr,
        hi: Expr,
        m: Option<Stream>,
    },
    /// `for j in lo..hi { c[rows[p] * pitch + j] += a[p] * b[crd[p] * stride + j] }`. Without `crd`, every
    /// iteration reads the same row of `b`.
    Added {
        c: Stream,
        rows: ArrayId,
        pitch: Expr,
        a: Stream,
        b: Stream,
        crd: Option<(ArrayId, Expr)>,
        lo: Expr,
        hi: Expr,
    },
    /// `for q in pos[p]..pos[p + 1] { for j in lo..hi { c[p * pitch + j] += a[q] * b[crd[q] * stride + j] } }`.
    /// With `clear`, these elements of `c` are set to zero first.
    Products {
        pos: ArrayId,
        crd: ArrayId,
        a: ArrayId,
        b: Stream,
        c: Stream,
        stride: Expr,
        pitch: Expr,
        lo: Expr,
        hi: Expr,
        clear: bool,
    },
    /// `for j in begin[p]..end[p] { target += a[p] * x[j] * factor }`.
    SharedDots { target: Target, runs: SharedRuns, factor: Option<Expr> },
    /// `sum = 0; for q in pos[p]..pos[p + 1] { for j in begin[q]..end[q] { sum += a[q] * x[j] } }; out[p] = sum`, or
    /// `out[places[p]] = sum`.
    SharedRows { pos: Stream, runs: SharedRuns, out: Stream, places: Option<ArrayId> },
    /// `for each one of bits[p], at place b { target += a[ofs[p] + its number] * x[32 * p + b] * factor }`.
    OneDots { target: Target, ones: Ones, factor: Option<Expr> },
    /// `crd += numbers[p]; target += a[p] * x[crd] * factor; crd += 1`, from a `crd` of 0 on.
    GapDots { target: Target, a: Stream, numbers: Numbers, x: Stream, factor: Option<Expr> },
    /// `for i in lo..hi { y[i] += a[p * stride + i] * x[crd[p * stride + i]] }`.
    Slots { y: Stream, a: Stream, crd: Stream, x: ArrayId, stride: Expr, lo: Expr, hi: Expr },
    /// `for q in pos[p]..pos[p + 1] { for i in 0..min(size, rows - p * size) { y[p * size + i] += a[q * size + i] *
    /// x[crd[q * size + i]] } }`.
    Slices {
        pos: ArrayId,
        crd: Stream,
        a: Stream,
        x: ArrayId,
        y: Stream,
        size: i64,
        rows: Vec<Expr>,
    },
    /// `for q in pos[p]..pos[p + 1] { out[crd[q]] += a[q] * x[p] }`, or `x[places[p]]`.
    Spread {
        pos: ArrayId,
        crd: ArrayId,
        a: ArrayId,
        x: ArrayId,
        out: ArrayId,
        places: Option<ArrayId>,
    },
    /// `for q in pos[crd[p]]..pos[crd[p] + 1] { sums[columns[q]] += a[p] * b[q] }`. A column whose `mark` is
    /// not `stamp` is marked, and appended to `list`, whose length is `touched`.
    Combined {
        pos: ArrayId,
        crd: ArrayId,
        a: ArrayId,
        columns: ArrayId,
        b: ArrayId,
        sums: ArrayId,
        mark: ArrayId,
        list: ArrayId,
        stamp: Expr,
        touched: Var,
    },
    /// `out[p] = m[p] * sum for k in lo..hi of a[rows[p] * pitch + k] * b[crd[p] * stride + k]`. Without
    /// `rows`, every iteration reads the same row of `a`; without `m`, nothing scales the sum.
    Sampled {
        out: Stream,
        m: Option<Stream>,
        a: Stream,
        rows: Option<(ArrayId, Expr)>,
        b: Stream,
        crd: ArrayId,
        stride: Expr,
        lo: Expr,
        hi: Expr,
    },
    /// `out[rows[p]] += a[p] * x[crd[p]]`.
    Entries { rows: ArrayId, crd: ArrayId, a: ArrayId, x: ArrayId, out: ArrayId },
    /// `at = next[crd[p]]; next[crd[p]] = at + 1; column[at] = number; out[at] = from[p]`.
    Scatter {
        crd: ArrayId,
        next: Stream,
        column: ArrayId,
        number: Expr,
        from: Stream,
        out: ArrayId,
    },
    /// `for q in pos[p]..pos[p + 1] { at = next[crd[q]]; next[crd[q]] = at + 1; column[at] = p + number;
    /// out[at] = from[q] }`; `number` is a sum.
    ScatterRows {
        pos: ArrayId,
        crd: ArrayId,
        next: Stream,
        column: ArrayId,
        number: Vec<Expr>,
        from: ArrayId,
        out: ArrayId,
    },
    /// `for q in pos[p]..pos[p + 1] { counts[crd[q]] += 1 }`.
    Count { pos: ArrayId, crd: ArrayId, counts: Stream },
}
