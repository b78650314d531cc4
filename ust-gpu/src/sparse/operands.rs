//! Operands and results on the device, as the library is told of them.

use std::sync::Arc;

use ust_cuda::sparse::{Dense, Matrix, Number, Order, Sparse, Storage};
use ust_cuda::{Memory, Stream};
use ust_engine::provider::Call;
use ust_engine::{Error, Tensor};

use super::recognise::Stored;
use crate::gpu::Gpu;
use crate::product::Full;
use crate::room::Room;
use crate::there::{self, Levels, ValuesThere, device};

/// An operand on the device.
pub(super) struct There {
    pub(super) matrix: Matrix,
    pub(super) levels: Arc<Levels>,
}

/// A dense matrix on the device.
pub(super) struct Held {
    pub(super) matrix: Dense,
    /// A copy with more rows, if it has one.
    _copy: Option<Memory>,
}

/// A run.
pub(super) struct Running<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) room: Room,
    pub(super) library: &'a Sparse,
    pub(super) gpu: &'a Gpu,
    pub(super) stream: &'a Stream,
    /// The arrays of all operands.
    pub(super) levels: &'a [Arc<Levels>],
    pub(super) values: &'a [Arc<ValuesThere>],
    /// Of the operands.
    pub(super) number: Number,
    /// Of the result.
    pub(super) result: Number,
}

impl Running<'_> {
    /// The extent of an index variable; one column for a vector.
    pub(super) fn extent(&self, index: Option<usize>) -> usize {
        index.map_or(1, |index| self.call.extents()[index])
    }

    /// Number of values of the result.
    pub(super) fn count(&self) -> Result<usize, Error> {
        self.call.value_count().ok_or_else(|| Error::TooLarge("the result".to_owned()))
    }

    pub(super) fn is_empty(&self, of: &Stored) -> bool {
        self.call.operands()[of.operand].nse() == 0
    }

    /// A result of zeros.
    pub(super) fn zeros(&self, count: usize) -> Result<Tensor, Error> {
        there::stays(self.call, self.cleared(count, self.result.bytes())?, self.gpu)
    }

    /// Memory for so many numbers of so many bytes, all 0.
    pub(super) fn cleared(&self, count: usize, each: usize) -> Result<Memory, Error> {
        let bytes = count.checked_mul(each);
        let bytes = bytes.ok_or_else(|| Error::TooLarge("the result".to_owned()))?;
        self.room.take(bytes as u64)?;
        let memory = there::alloc(bytes, self.stream).map_err(device)?;
        self.stream.zero(&memory).map_err(device)?;
        Ok(memory)
    }

    pub(super) fn sparse_operand(&self, of: &Stored) -> Result<There, Error> {
        let tensor = self.call.operands()[of.operand];
        let levels = Arc::clone(&self.levels[of.operand]);
        let size = |level: usize| {
            let size = tensor.bound().levels()[level].size;
            usize::try_from(size).map_err(|_| Error::TooLarge("a level".to_owned()))
        };
        let [rows, columns] = match of.storage {
            Storage::Bsr { size: [height, width], .. } => {
                let whole = |blocks: usize, by: usize| {
                    blocks.checked_mul(by).ok_or_else(|| Error::TooLarge("a level".to_owned()))
                };
                [whole(size(of.levels[0])?, height)?, whole(size(of.levels[1])?, width)?]
            }
            _ => of.indices.map(|index| self.call.extents()[index]),
        };
        let [outer, inner] = of.arrays.map(|(level, array)| levels.0[level][array].address());
        let (level, array) = of.arrays[1];
        let matrix = Matrix {
            rows,
            columns,
            storage: of.storage,
            stored: tensor.levels()[level].0[array].len(),
            number: self.number,
            index: of.index,
            outer,
            inner,
            values: self.values[of.operand].0.address(),
        };
        Ok(There { matrix, levels })
    }

    /// A dense matrix with so many rows: those beyond its own are 0.
    pub(super) fn dense_operand(&self, of: &Full, rows: usize) -> Result<Held, Error> {
        let values = &self.values[of.operand];
        let (own, width) = (self.extent(of.indices[0]), self.extent(of.indices[1]));
        let mut matrix = Dense::new(rows, width, of.order, self.number, values.0.address());
        let mut copy = None;
        if own < rows {
            let all =
                rows.checked_mul(width).ok_or_else(|| Error::TooLarge("a copy".to_owned()))?;
            let each = self.number.bytes();
            let longer = self.cleared(all, each)?;
            match of.order {
                Order::Rows => {
                    self.copy_lines(each, (&values.0, width), (&longer, width), width, own)?;
                }
                Order::Columns => {
                    self.copy_lines(each, (&values.0, own), (&longer, rows), own, width)?;
                }
            }
            matrix.values = longer.address();
            copy = Some(longer);
        }
        Ok(Held { matrix, _copy: copy })
    }

    /// Copies the first numbers, of so many bytes, of lines: from memory to memory, each with the numbers from one
    /// line to the next.
    pub(super) fn copy_lines(
        &self,
        bytes: usize,
        (from, from_stride): (&Memory, usize),
        (to, to_stride): (&Memory, usize),
        numbers: usize,
        lines: usize,
    ) -> Result<(), Error> {
        let (numbers, lines) = match numbers == from_stride && numbers == to_stride {
            true => (numbers * lines, 1),
            false => (numbers, lines),
        };
        (0..lines).try_for_each(|line| {
            let (at, target) = (line * from_stride * bytes, line * to_stride * bytes);
            self.stream.copy(from, at, to, target, numbers * bytes).map_err(device)
        })
    }
}
