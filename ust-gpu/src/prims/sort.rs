//! Keys and coordinates in order.

use std::ops::{Range, RangeInclusive};

use ust_cuda::Memory;
use ust_level_api::IndexKind;

use super::copy::numbers;
use super::{
    Column, Indices, NONE, Primitives, Result, THREADS, Text, Word, bytes, refusal, types,
};
use crate::prelude::Sections;

pub(super) const TEXT: Text = Text {
    sections: Sections::TYPES,
    body: concat!(
        include_str!("grid.cuh"),
        "\n",
        include_str!("block.cuh"),
        "\n",
        include_str!("sort.cuh")
    ),
};

/// Bits of a digit.
const DIGIT: u32 = THREADS.trailing_zeros();

impl Primitives {
    /// Keys in ascending order, and what is carried with each: 4 or 8 bytes, or, if nothing is given, the number
    /// of the key, as `u32` or, of more than `2^32` keys, `u64`. Equal keys keep their order. Only the bits
    /// `bits` of keys are looked at, of which the lowest has the number 0; others are equal.
    ///
    /// For each 8 bits it moves each key three times, and twice what is carried.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] if keys do not have such bits, or if what is carried has other widths
    /// or another length; [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn sort(
        &self,
        keys: Column<'_>,
        bits: Range<u32>,
        carried: Option<Column<'_>>,
    ) -> Result<(Indices, Indices)> {
        let n = keys.length;
        if bits.end > keys.kind.bits() {
            return Err(refusal(format!("bits {bits:?} of {}", keys.kind)));
        }
        let with = carried.map_or(numbers(n), |carried| carried.kind);
        if carried.is_some_and(|carried| carried.length != n) || !matches!(with.bits(), 32 | 64) {
            return Err(refusal(format!("{n} keys carry other than as many u32 or u64")));
        }
        let room = || -> Result<(Indices, Indices)> {
            Ok((Indices::room(self, keys.kind, n)?, Indices::room(self, with, n)?))
        };
        if n == 0 || bits.is_empty() {
            return Ok((
                self.copied(keys)?,
                match carried {
                    Some(carried) => self.copied(carried)?,
                    None => self.iota(n, with)?,
                },
            ));
        }
        let key_type = format!("u{}", keys.kind.bits());
        let with_type = format!("u{}", with.bits());
        let head = || types([("From", &key_type), ("Element", &with_type)]);
        let flip = if keys.kind.signed() { 1_u64 << (keys.kind.bits() - 1) } else { 0 };
        // As the text has it.
        let each = if keys.width().max(with.bytes(1)) > 4 { 8 } else { 16 };
        let (piece, blocks) = self.pieces(n, each * THREADS as usize);
        let counters = blocks as usize * THREADS as usize;
        let counts = self.stream().alloc(counters * 4)?;
        let mut sorted: Option<(Indices, Indices)> = None;
        let mut spare = None;
        for shift in bits.clone().step_by(DIGIT as usize) {
            let (from, carried): (Word<'_>, Word<'_>) = match &sorted {
                Some((keys, carried)) => (keys.memory().into(), carried.memory().into()),
                None => (keys.memory.into(), carried.map_or(NONE, |carried| carried.memory.into())),
            };
            let to = spare.take().map_or_else(room, Ok)?;
            let digit = [u64::from(shift), u64::from(DIGIT.min(bits.end - shift)), flip];
            let [shift, width, flip] = digit.map(Word::from);
            let [n, piece] = [n, piece].map(Word::from);
            let arguments = [from, n, piece, shift, width, flip, (&counts).into()];
            self.run((TEXT, head(), "radix_count"), blocks, &arguments)?;
            let counts = Column::new(&counts, IndexKind::U32, counters)?;
            let offsets = self.scan_noting(counts, IndexKind::I64, NONE)?;
            let offsets = offsets.memory().into();
            let (keys_to, carried_to) = (to.0.memory().into(), to.1.memory().into());
            let arguments =
                [from, carried, n, piece, shift, width, flip, offsets, keys_to, carried_to];
            self.run((TEXT, head(), "radix_place"), blocks, &arguments)?;
            spare = sorted.replace(to);
        }
        Ok(sorted.expect("there are bits"))
    }

    /// The order of entries by their coordinates, those of the first column first: the numbers of the entries,
    /// as `u32` or, of more than `2^32` entries, `u64`. Entries with the same coordinates keep their order. Each
    /// column comes with the lowest and the highest coordinate that it can have: if one has others, the order is
    /// none, but each entry still has a number in it.
    ///
    /// As many columns as have 64 bits together are packed into one key, and sorted at once.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] if columns have different lengths, or if there is none;
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn sort_columns(&self, columns: &[(Column<'_>, RangeInclusive<i64>)]) -> Result<Indices> {
        let Some(n) = columns.first().map(|(column, _)| column.length) else {
            return Err(refusal("no column says how many entries there are"));
        };
        if columns.iter().any(|(column, _)| column.length != n) {
            return Err(refusal("columns of different lengths"));
        }
        let mut order: Option<Indices> = None;
        let mut rest = columns;
        while n > 0 && !rest.is_empty() {
            // The last columns that fit one key.
            let mut width = 0;
            let fits = |(_, range): &&(_, RangeInclusive<i64>)| {
                width += bits(range);
                width <= 64
            };
            let count = rest.iter().rev().take_while(fits).count();
            let (others, group) = rest.split_at(rest.len() - count);
            rest = others;
            let width = group.iter().map(|(_, range)| bits(range)).sum();
            if width > 0 {
                let keys = self.packed(group, width, order.as_ref())?;
                let carried = order.as_ref().map(Indices::column);
                order = Some(self.sort(keys.column(), 0..width, carried)?.1);
            }
        }
        order.map_or_else(|| self.iota(n, numbers(n)), Ok)
    }

    /// Keys of so many bits, made of columns whose entries are taken in an order.
    fn packed(
        &self,
        columns: &[(Column<'_>, RangeInclusive<i64>)],
        width: u32,
        order: Option<&Indices>,
    ) -> Result<Indices> {
        let n = columns[0].0.length;
        let kind = if width <= 32 { IndexKind::U32 } else { IndexKind::U64 };
        let keys = Indices::room(self, kind, n)?;
        let order_type = order.map_or("u8".to_owned(), |order| order.column().ty());
        let mut shift = 0;
        for (column, range) in columns.iter().rev().filter(|(_, range)| bits(range) > 0) {
            let named = [("Coordinate", &column.ty()), ("Place", &order_type)];
            let [coordinate, place] = named.map(|(name, ty)| (name, ty.as_str()));
            let head = types([coordinate, place, ("From", &kind.to_string())]);
            let arguments = [
                column.memory.into(),
                order.map_or(NONE, |order| order.memory().into()),
                n.into(),
                (*range.start()).into(),
                u64::from(shift).into(),
                u64::from(shift == 0).into(),
                keys.memory().into(),
            ];
            self.run((TEXT, head, "pack"), self.spread(n), &arguments)?;
            shift += bits(range);
        }
        Ok(keys)
    }

    /// A copy.
    fn copied(&self, column: Column<'_>) -> Result<Indices> {
        let to = Indices::room(self, column.kind, column.length)?;
        let length = bytes(column.length, column.width())?;
        let copy = |from: &Memory| self.stream().copy(from, 0, to.memory(), 0, length);
        copy(column.memory)?;
        Ok(to)
    }
}

/// Bits of the differences to the lowest coordinate.
fn bits(range: &RangeInclusive<i64>) -> u32 {
    match range.is_empty() {
        true => 0,
        false => 64 - range.end().abs_diff(*range.start()).leading_zeros(),
    }
}
