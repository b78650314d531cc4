//! The arrays of the result, and appends to them. `code` opens and closes rows, workspaces and sums.

mod code;

use ust_level_api::IndexKind;
use ust_level_api::ir::{ArrayId, Builder, Elem, Expr, Var};

use super::emit::Input;
use super::sink::SinkKind;
use crate::provider::plan::{Array, Rows};
use crate::tuning::RESULT_SPARE_ELEMENTS;

/// The arrays of the result, in the order in which they are bound.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    kind: SinkKind,
    /// In place: the values of the result. Else the values of rows, a growing array.
    values: ArrayId,
    /// Growing arrays of coordinates: for each level above the trailing dense block, or for each but the
    /// first.
    columns: Vec<ArrayId>,
    /// If the outermost loop runs over the first level: for each iteration, the number of its first row.
    starts: Option<ArrayId>,
    /// Two elements: the number of rows, and the number of times that the workspace was opened. Each part
    /// of the outermost loop continues with the numbers of the part before.
    counts: Option<ArrayId>,
    workspace: Option<Workspace>,
    /// Size and lowest coordinate of each level of the result.
    domains: Vec<(Expr, Expr)>,
    /// Number of levels above the trailing dense block.
    tail: usize,
    row: Option<Var>,
    stamp: Option<Var>,
    /// Number of coordinates that this row wrote.
    touched: Option<Var>,
}

#[derive(Clone, Debug)]
struct Workspace {
    /// A block of values for each coordinate. Between two rows, all have the unstored value.
    values: ArrayId,
    /// For each coordinate, the stamp of the row that last wrote there.
    mark: ArrayId,
    /// The coordinates that this row wrote.
    list: ArrayId,
}

/// The destination of values in the emitted code.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// Not known yet.
    None,
    /// A block of elements of an array, from `base` on.
    Block { array: ArrayId, base: Expr },
    /// A variable, which is written to memory after the loops of the reduction. `hit` is true once a value
    /// was added.
    Sum { var: Var, hit: Option<Var> },
}

impl Output {
    /// Declares the arrays, and appends their meaning to `arrays`.
    pub(super) fn declare(
        b: &mut Builder,
        input: &Input<'_>,
        domains: Vec<(Expr, Expr)>,
        arrays: &mut Vec<Array>,
    ) -> Self {
        let sink = input.sink;
        let elem = Elem::Value(input.rest.dtype());
        let long = Elem::Index(IndexKind::I64);
        let tail = sink.format.tail();
        let in_place = sink.kind.is_in_place();
        let mut output = Self {
            kind: sink.kind,
            values: match in_place {
                true => b.array("out", elem, true),
                false => b.growing("out", elem),
            },
            columns: Vec::new(),
            starts: None,
            counts: None,
            workspace: None,
            domains,
            tail,
            row: None,
            stamp: None,
            touched: None,
        };
        if in_place {
            arrays.push(Array::Result);
            return output;
        }
        arrays.push(Array::RowValues);
        let by_first = input.is_by_first();
        let columns = sink.columns.iter().enumerate().skip(usize::from(by_first));
        output.columns = columns
            .map(|(level, &kind)| {
                arrays.push(Array::RowCoordinates(level));
                b.growing(&format!("out{level}_crd"), Elem::Index(kind))
            })
            .collect();
        arrays.push(Array::RowCounts);
        output.counts = Some(b.array("rows", long, true));
        if by_first {
            arrays.push(Array::RowStarts);
            output.starts = Some(b.array("row_starts", long, true));
        }
        if let SinkKind::Workspace { .. } = sink.kind {
            arrays.extend([Array::WorkValues, Array::WorkMarks, Array::WorkList]);
            output.workspace = Some(Workspace {
                values: b.array("row_val", elem, true),
                mark: b.array("row_mark", Elem::Index(sink.mark()), true),
                list: b.array("row_list", long, true),
            });
        }
        output
    }

    pub(super) fn begin(&mut self, b: &mut Builder) {
        if let Some(counts) = self.counts {
            let row = b.load(counts, Expr::Int(0));
            self.row = Some(b.var("row", row));
        }
        if let (Some(_), Some(counts)) = (&self.workspace, self.counts) {
            let stamp = b.load(counts, Expr::Int(1));
            self.stamp = Some(b.var("stamp", stamp));
            self.touched = Some(b.var("touched", Expr::Int(0)));
        }
    }

    pub(super) fn end(&self, b: &mut Builder) {
        let Some(counts) = self.counts else { return };
        for (at, count) in [self.row, self.stamp].into_iter().enumerate() {
            if let Some(count) = count {
                b.store(counts, Expr::Int(at as i64), count.into());
            }
        }
    }

    /// How rows are appended, for providers.
    pub(super) fn rows(&self, input: &Input<'_>, speculative: bool) -> Option<Rows> {
        Some(Rows {
            row: self.row?,
            opened: self.stamp,
            listed: self.touched,
            block: self.block(),
            around_all: matches!(self.kind, SinkKind::Workspace { open: 0, .. }),
            sorted: input.sink.kind != SinkKind::Unsorted,
            speculative,
        })
    }

    /// Number of values of a row.
    fn block(&self) -> Expr {
        let sizes = self.domains[self.tail..].iter().map(|(size, _)| size.clone());
        sizes.fold(Expr::Int(1), |block, size| block * size)
    }

    /// Whether rows of one value each are appended inside `depth` loops.
    pub(super) fn appends_at(&self, depth: usize) -> bool {
        self.kind == SinkKind::Sorted { depth } && self.tail == self.domains.len()
    }

    /// Whether the result stores single elements, each with its own coordinates.
    pub(super) fn stores_elements(&self) -> bool {
        self.kind != SinkKind::Full && self.tail == self.domains.len()
    }

    /// The number of rows, the coordinates, the values, and the starts of rows, if rows have one value each and
    /// one array of coordinates.
    pub(super) fn rows_of_one_column(&self) -> Option<(Var, ArrayId, ArrayId, Option<ArrayId>)> {
        let &[crd] = &self.columns[..] else { return None };
        self.stores_elements().then_some((self.row?, crd, self.values, self.starts))
    }

    /// Number of coordinates of a row.
    pub(super) fn columns(&self) -> usize {
        self.tail
    }

    /// Stores the number of the first row of an iteration of the outermost loop.
    pub(super) fn begin_iteration(&self, b: &mut Builder, iteration: Expr) {
        if let (Some(starts), Some(row)) = (self.starts, self.row) {
            b.store(starts, iteration, row.into());
        }
    }

    /// Writes the coordinates of a row.
    fn store_row(&self, b: &mut Builder, at: &Expr, coordinates: impl IntoIterator<Item = Expr>) {
        let written = coordinates.into_iter().skip(usize::from(self.starts.is_some()));
        for (&column, crd) in self.columns.iter().zip(written) {
            b.store(column, at.clone(), crd);
        }
    }

    /// Writes a row of one value. The arrays must have room for it.
    fn store(&self, b: &mut Builder, coordinates: Vec<Expr>, value: Expr) -> Var {
        let row = self.row.expect("rows are counted");
        self.store_row(b, &row.into(), coordinates);
        b.store(self.values, row.into(), value);
        row
    }

    /// Appends a row of one value. The arrays must have room for it.
    fn push(&self, b: &mut Builder, coordinates: Vec<Expr>, value: Expr) {
        let row = self.store(b, coordinates, value);
        b.assign(row, Expr::from(row) + 1);
    }

    /// Makes room for `more` rows.
    pub(super) fn reserve(&self, b: &mut Builder, more: Expr) {
        let row = Expr::from(self.row.expect("rows are counted"));
        let rows = b.bind("rows_needed", row + more);
        let full = b.bind("room", Expr::Len(self.columns[0]));
        b.if_(full.lt(rows.clone()), |b| {
            // Twice the number of rows needed, and some: every array gets exactly that many rows.
            let some = match self.block() {
                Expr::Int(block) => RESULT_SPARE_ELEMENTS / block.max(1),
                _ => 0,
            };
            let rows = b.bind("room", rows.clone() + rows + some);
            for &column in &self.columns {
                b.reserve(column, rows.clone());
            }
            b.reserve(self.values, rows * self.block());
        });
    }
}
