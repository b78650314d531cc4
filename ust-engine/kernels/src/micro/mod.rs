//! Microkernels: innermost loops in Rust, compiled ahead of time for several instruction sets. Machine
//! code calls a microkernel where its loop is declared.
//!
//! | module | what |
//! |---|---|
//! | this one | the list of kernels, and the choice for this machine |
//! | `body` | loops over contiguous vectors |
//! | `gather` | sparse rows times a vector |
//! | `slots` | rows side by side, as ELL has them, times a vector |
//! | `ones` | words whose ones are entries, times a vector |
//! | `gaps` | rows whose coordinates are running sums, times a vector |
//! | `runs` | rows of consecutive coordinates times a vector |
//! | `tiles` | sparse rows times a dense matrix: a part of the result's row in registers |
//! | `sampled` | a product of two dense matrices at the entries of a sparse one (SDDMM) |
//! | `spread` | sparse rows, or entries, added to a vector at their coordinates |
//! | `scatter` | entries counted by column, and moved to their columns |
//! | `full` | `scatter` for rows that are nearly full |
//! | `combined` | sparse rows added to a dense row that lists its nonzero places |
//! | `tile` | a product of two small blocks |
//! | `dots` | SDDMM on a small block |
//! | `union` | the sum of two sparse rows |
//! | `row_sample` | properties of a matrix, estimated from a sample of its rows |
//!
//! Every kernel is an `unsafe extern "C" fn`: pointers and counts in, at most one number out. Its
//! requirements stand beside its code. An *exact* kernel does to each element the operations of the
//! plain loop, in the same order, and fuses no product with a sum. Other kernels use fused
//! multiply-adds where the machine has them, and dot products are summed in several parts.

mod body;
mod combined;
mod dots;
mod full;
mod gaps;
mod gather;
mod ones;
mod row_sample;
mod runs;
mod sampled;
mod scatter;
mod shared;
mod slots;
mod spread;
#[cfg(test)]
mod tests;
mod tile;
mod tiles;
mod union;

use ust_ir::{Dtype, IndexKind};

use super::vector::{Gathering, InstructionSet, gathering, instruction_set};

/// A loop that has kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loop {
    /// `sum of a[p] * x[crd[p]]`: `fn(a, crd, x, n) -> T`. Never exact.
    GatherDot(IndexKind),
    /// `sum of a[k] * b[k]`: `fn(a, b, n) -> T`. Never exact.
    Dot,
    /// `sum of x[k]`: `fn(x, n) -> T`. Never exact.
    Total,
    /// `y[j] = s`: `fn(y, n, s)`.
    Fill,
    /// `y[j] += s * x[j]`: `fn(y, x, n, s)`.
    Axpy,
    /// `y[i] += a[i] * x[i]`: `fn(y, a, x, n)`.
    MultiplyAdd,
    /// `y[i] += s * a[i] * x[i]`: `fn(y, a, x, n, s)`. Never exact.
    ScaledMultiplyAdd,
    /// `c[j] += m[j] * sum of a[p] * b[crd[p] * stride + j]`, for each j:
    /// `fn(c, a, crd, b, count, width, stride, m)`. Never exact.
    TimesRow(IndexKind),
    /// `c[j] += a[p] * b[crd[p] * stride + j]` for each p and j: `fn(c, a, crd, b, count, width, stride)`.
    Row(IndexKind),
    /// `c[rows[p] * pitch + j] += a[p] * b[crd[p] * stride + j]` for each p and j:
    /// `fn(c, rows, a, crd, b, count, width, stride, pitch, total, reach)`. Where `crd` is null, every
    /// `p` reads the first row of `b`. `c` lies in an array of `total` numbers, `b` in one of `reach`.
    Added(IndexKind),
    /// The same for compressed rows: `c[i * pitch + j] += a[p] * b[crd[p] * stride + j]` for `p` in
    /// `pos[i]..pos[i + 1]`, for each `i` in `lo..hi`; where `clear`, `c` is set to the sum instead:
    /// `fn(pos, crd, a, b, c, lo, hi, width, stride, pitch, clear, total, reach)`. `c` lies in an
    /// array of `total` numbers, `b` in one of `reach`.
    Products(IndexKind),
    /// `out[i] = sum of a[p] * x[crd[p]]` for `p` in `pos[i]..pos[i + 1]`, for each `i` in
    /// `lo..hi`: `fn(pos, crd, a, x, out, lo, hi, places)`; `out[places[i]]` where `places` is not
    /// null. Index kinds: of `pos` and `places`; of `crd`.
    Rows(IndexKind, IndexKind),
    /// As [`Loop::Rows`], with `a[0]` for each `a[p]`.
    IsoRows(IndexKind, IndexKind),
    /// `sum of a[ofs[s] + k] * x[crd + k]` for `k` below `count = ofs[s + 1] - ofs[s]`, for `s` in `lo..hi`:
    /// `fn(bounds, ofs, a, x, lo, hi, is_end) -> T`. `crd` is `bounds[s]`, or `bounds[s] - count` where
    /// `is_end`. Index kinds: of `ofs`; of `bounds`. Never exact.
    RunDots(IndexKind, IndexKind),
    /// `out[i]` = that sum for `s` in `pos[i]..pos[i + 1]`, for each `i` in `lo..hi`:
    /// `fn(pos, bounds, ofs, a, x, out, lo, hi, places, is_end)`; `s` is `i` where `pos` is null, and
    /// `out[places[i]]` is set where `places` is not null. Index kinds: of `pos`, `ofs` and `places`; of
    /// `bounds`.
    Runs(IndexKind, IndexKind),
    /// `sum of a[s] * x[j]` for `j` in `begin[s]..end[s]`, for `s` in `lo..hi`: `fn(begin, end, a, x, lo, hi, first) -> T`.
    /// Where `begin` is null, run `lo` begins at `first`, and each other one where the one before ends. Index kind: of
    /// `begin` and `end`. Never exact.
    SharedDots(IndexKind),
    /// `out[i]` = that sum for `s` in `pos[i]..pos[i + 1]`, for each `i` in `lo..hi`:
    /// `fn(pos, begin, end, a, x, out, lo, hi, places, first, reach)`; `out[places[i]]` where `places` is not null. `x` lies
    /// in an array that ends `reach` numbers behind its address. Index kinds: of `pos` and `places`; of `begin` and `end`.
    /// Never exact.
    SharedRows(IndexKind, IndexKind),
    /// `sum of a[ofs[w] + k] * x[32 * w + b]` for the place `b` of the `k`th one of `bits[w]`, an index of kind u32, for
    /// `w` in `lo..hi`: `fn(bits, ofs, a, x, lo, hi, room) -> T`. `a` lies in an array that ends `room` numbers behind its
    /// address. Index kind: of `ofs`. Never exact.
    OneDots(IndexKind),
    /// `sum of a[k] * x[crd]` for `k` below `n`, where `crd` is the sum of the numbers of positions `at..=at + k`, each
    /// of 4 or 8 bits, and `k`: `fn(a, numbers, x, at, n) -> T`. Never exact.
    GapDots(u8),
    /// `y[i] += a[p * stride + i] * x[crd[p * stride + i]]` for each `p` below `slots`, for each `i` below `rows`:
    /// `fn(y, a, crd, x, slots, rows, stride)`.
    Slots(IndexKind),
    /// The same for slices of `size` rows, `n` rows in all, each with slots of its own: slice `i` has rows
    /// `i * size..min((i + 1) * size, n)` and slots `pos[i]..pos[i + 1]`, where `y[i * size + r] += a[p * size + r] *
    /// x[crd[p * size + r]]`, for each `i` in `lo..hi`: `fn(pos, crd, a, x, y, lo, hi, size, n)`. Index kinds: of `pos`;
    /// of `crd`.
    Slices(IndexKind, IndexKind),
    /// `out[crd[p]] += a[p] * x[i]` for `p` in `pos[i]..pos[i + 1]`, for each `i` in `lo..hi`:
    /// `fn(pos, crd, a, x, out, lo, hi, places)`; `x[places[i]]` where `places` is not null.
    Spread(IndexKind),
    /// `sums[columns[p]] += a[q] * b[p]` for `p` in `pos[crd[q]]..pos[crd[q] + 1]`, for each `q` in
    /// `lo..hi`. `mark[columns[p]]` becomes `stamp`; a column whose mark was another is appended to
    /// `list`: `fn(pos, crd, a, columns, b, sums, mark, list, lo, hi, end, rows, stamp, touched, places)
    /// -> touched`, the length of `list` before and after. `crd` ends at `end`, `pos` describes `rows`
    /// rows, `mark` has `places` elements. Index kinds: of coordinates; of marks.
    Combined(IndexKind, IndexKind),
    /// The sum of sparse rows `i` of `a` and `b` is appended to `crd` and `out` at `*row`, for each `i`
    /// in `lo..hi`; before that, `starts[i - lo] = *row` if `starts` is not null:
    /// `fn(a_pos, a_crd, a, b_pos, b_crd, b, crd, out, room, starts, lo, hi, row) -> i`. It stops at the
    /// first row `i` that may not fit into `room` elements. Index kinds: of `pos`; of coordinates.
    Union(IndexKind, IndexKind),
    /// `out[p] = m[p] * sum of a[rows[p] * pitch + k] * b[crd[p] * stride + k]` for each `p`:
    /// `fn(out, m, a, b, rows, pitch, crd, stride, count, width, room, reach)`; `rows` may be null,
    /// `crd` has `room` numbers, and `b` lies in an array of `reach`. Never exact.
    Sampled(IndexKind),
    /// `out[rows[p]] += a[p] * x[crd[p]]` for each `p`: `fn(rows, crd, a, x, out, n)`.
    Entries(IndexKind),
    /// `at = next[crd[p]]; next[crd[p]] = at + 1; column[at] = number; out[at] = from[p]` for each
    /// `p`: `fn(crd, rest, count, next, keys, column, number, from, out, total)`.
    Scatter(IndexKind),
    /// The same for `p` in `pos[i]..pos[i + 1]`, with `number + i`, for each `i` in `lo..hi`:
    /// `fn(pos, crd, next, column, number, from, out, lo, hi, total)`.
    ScatterRows(IndexKind),
    /// `c[i * of_c + k] += a[i * down + j * right] * b[j * of_b + k]` for each `i` below `rows`, `j` below
    /// `sums` and `k` below the given constant: `fn(c, a, b, of_c, down, right, of_b, rows, sums)`.
    Tile(u8),
    /// `out[p] = m[p] * sum of a[i * of_a + k] * b[j * of_b + k]`, for each `k` below `width`, at `p = i *
    /// down + j * right`, for each `i` below `rows` and `j` below `columns`:
    /// `fn(out, m, a, b, down, right, of_a, of_b, rows, columns, width, next, reach)`. `b` lies in an array
    /// of `reach` numbers. `next` is null, or the rows of `b` for a call that follows soon. Never exact.
    Dots,
    /// `counts[crd[p]] += 1` for `p` in `pos[i]..pos[i + 1]`, for each `i` in `lo..hi`:
    /// `fn(pos, crd, counts, lo, hi)`.
    Count(IndexKind),
}

/// The address of the kernel of a loop on this machine. `None` where there is no kernel for the dtype
/// or the kind of indices, or no exact kernel and `exact` is set.
pub fn address(wanted: Loop, dtype: Dtype, exact: bool) -> Option<usize> {
    address_at(instruction_set(), gathering(), wanted, dtype, exact)
}

macro_rules! pick {
    ($name:ident, $module:ident, $rows:ident, $runs:ident) => {
        fn $name(wanted: Loop, dtype: Dtype, exact: bool) -> Option<usize> {
            use body::$module::{f32 as single, f64 as double};
            macro_rules! both {
                ($kernel:ident) => {
                    match dtype {
                        Dtype::F64 => Some(double::$kernel as *const () as usize),
                        Dtype::F32 => Some(single::$kernel as *const () as usize),
                        _ => None,
                    }
                };
            }
            match (wanted, exact) {
                (Loop::Dot, false) => both!(dot),
                (Loop::Total, false) => both!(total),
                (Loop::Fill, _) => both!(fill),
                (Loop::Scatter(kind), _) => scatter::of_row(kind, dtype),
                (Loop::ScatterRows(kind), _) => scatter::of_rows(kind, dtype),
                (Loop::Dots, true) => None,
                (Loop::Dots, false) => dots::$module::address(dtype),
                (Loop::Tile(width), exact) => tile::$module::address(width, dtype, exact),
                (Loop::Count(kind), _) => scatter::counting(kind),
                (Loop::OneDots(_) | Loop::GapDots(_), true) => None,
                (Loop::SharedDots(_) | Loop::SharedRows(..), true) => None,
                (Loop::SharedDots(_) | Loop::SharedRows(..), false) => {
                    shared::$module::address(wanted, dtype)
                }
                (Loop::OneDots(_), false) => ones::$module::address(wanted, dtype),
                (Loop::GapDots(_), false) => gaps::$runs::address(wanted, dtype),
                (Loop::Slots(_) | Loop::Slices(..), true) => slots::exact(wanted, dtype),
                (Loop::Slots(_) | Loop::Slices(..), false) => slots::$runs::fast(wanted, dtype),
                (Loop::Spread(kind), _) => spread::of_rows(kind, dtype),
                (Loop::Combined(kind, mark), _) => combined::address(kind, mark, dtype),
                (Loop::Union(pos, crd), _) => union::address(pos, crd, dtype),
                (Loop::Entries(kind), _) => spread::of_entries(kind, dtype),
                (Loop::GatherDot(_) | Loop::Rows(..) | Loop::IsoRows(..), true) => {
                    gather::exact(wanted, dtype)
                }
                (Loop::GatherDot(_) | Loop::Rows(..) | Loop::IsoRows(..), false) => {
                    gather::$rows::fast(wanted, dtype)
                }
                (Loop::RunDots(..) | Loop::Runs(..), true) => runs::exact(wanted, dtype),
                (Loop::RunDots(..) | Loop::Runs(..), false) => runs::$runs::fast(wanted, dtype),
                (Loop::Total | Loop::Dot | Loop::Sampled(_), true) => None,
                (Loop::Sampled(_), false) => sampled::$module::address(wanted, dtype),
                // These kernels may multiply the factors in another order.
                (Loop::TimesRow(_) | Loop::ScaledMultiplyAdd, true) => None,
                (Loop::ScaledMultiplyAdd, false) => both!(scaled_multiply_add),
                (Loop::TimesRow(kind), false) => match kind {
                    IndexKind::U32 => both!(times_row_u32),
                    IndexKind::I32 => both!(times_row_i32),
                    IndexKind::U64 | IndexKind::I64 => both!(times_row_i64),
                    _ => None,
                },
                (Loop::Axpy, true) => both!(axpy_exact),
                (Loop::Axpy, false) => both!(axpy_fused),
                (Loop::MultiplyAdd, true) => both!(multiply_add_exact),
                (Loop::MultiplyAdd, false) => both!(multiply_add_fused),
                (Loop::Products(kind), true) => match kind {
                    IndexKind::U32 => both!(products_u32_exact),
                    IndexKind::I32 => both!(products_i32_exact),
                    IndexKind::U64 | IndexKind::I64 => both!(products_i64_exact),
                    _ => None,
                },
                (Loop::Products(kind), false) => match kind {
                    IndexKind::U32 => both!(products_u32_fused),
                    IndexKind::I32 => both!(products_i32_fused),
                    IndexKind::U64 | IndexKind::I64 => both!(products_i64_fused),
                    _ => None,
                },
                (Loop::Added(kind), true) => match kind {
                    IndexKind::U32 => both!(added_u32_exact),
                    IndexKind::I32 => both!(added_i32_exact),
                    IndexKind::U64 | IndexKind::I64 => both!(added_i64_exact),
                    _ => None,
                },
                (Loop::Added(kind), false) => match kind {
                    IndexKind::U32 => both!(added_u32_fused),
                    IndexKind::I32 => both!(added_i32_fused),
                    IndexKind::U64 | IndexKind::I64 => both!(added_i64_fused),
                    _ => None,
                },
                (Loop::Row(kind), true) => match kind {
                    IndexKind::U32 => both!(row_u32_exact),
                    IndexKind::I32 => both!(row_i32_exact),
                    IndexKind::U64 | IndexKind::I64 => both!(row_i64_exact),
                    _ => None,
                },
                (Loop::Row(kind), false) => match kind {
                    IndexKind::U32 => both!(row_u32_fused),
                    IndexKind::I32 => both!(row_i32_fused),
                    IndexKind::U64 | IndexKind::I64 => both!(row_i64_fused),
                    _ => None,
                },
            }
        }
    };
}
pick!(portable, portable, portable, portable);
#[cfg(target_arch = "x86_64")]
pick!(avx2, avx2, avx2, avx2);
#[cfg(target_arch = "x86_64")]
pick!(avx512, avx512, avx2, avx2);
#[cfg(target_arch = "x86_64")]
pick!(far, avx512, far, avx2);
#[cfg(target_arch = "x86_64")]
pick!(always, avx512, always, avx2);

fn address_at(
    set: InstructionSet,
    gathering: Gathering,
    wanted: Loop,
    dtype: Dtype,
    exact: bool,
) -> Option<usize> {
    match (set, gathering) {
        (InstructionSet::Portable, _) => portable(wanted, dtype, exact),
        #[cfg(target_arch = "x86_64")]
        (InstructionSet::Avx2, _) => avx2(wanted, dtype, exact),
        #[cfg(target_arch = "x86_64")]
        (InstructionSet::Avx512, Gathering::Never) => avx512(wanted, dtype, exact),
        #[cfg(target_arch = "x86_64")]
        (InstructionSet::Avx512, Gathering::Far) => far(wanted, dtype, exact),
        #[cfg(target_arch = "x86_64")]
        (InstructionSet::Avx512, Gathering::Always) => always(wanted, dtype, exact),
    }
}
