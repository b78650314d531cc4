//! Columns of coordinates, a piece of the outermost loop at a time, so that they stay in cache
//! while the caller uses them.

use ust_format::Format;
use ust_level_api::{Buffer, IndexColumn, WalkKind};

use super::balance::outermost;
use super::native::Code;
use super::nest::Reach;
use super::stored::starts;
use super::unpack::{ColumnBuffer, Keep, Unpacking, Wanted};
use crate::error::Error;
use crate::storage::Tensor;

/// A tensor whose outermost loop runs over coordinates, cut into pieces.
pub(crate) struct Pieces<'a> {
    tensor: &'a Tensor,
    wanted: &'a [Wanted],
    unpacking: Unpacking,
    code: Code,
    counting: Counting,
    /// The first coordinate of each piece, and the end of the last.
    cuts: Vec<i64>,
}

/// How the rows of a piece are counted.
enum Counting {
    /// By the first row of each coordinate of the outermost loop.
    Known(Buffer<u32>),
    /// By a walk that counts rows.
    Walked(Box<Unpacking>, Code),
}

impl<'a> Pieces<'a> {
    /// Whether the outermost loop runs over coordinates.
    pub(crate) fn are_of(format: &Format) -> bool {
        format.descriptions().first().is_some_and(|level| level.walk == WalkKind::Coordinate)
    }

    /// Cuts the outermost loop at multiples of `align`. Pieces have about `rows` rows where rows
    /// are spread evenly. `None` where the outermost loop does not run over coordinates, or levels
    /// store runs.
    ///
    /// # Errors
    /// As [`unpack_as`](super::unpack::unpack_as).
    pub(crate) fn new(
        tensor: &'a Tensor,
        reach: Reach,
        wanted: &'a [Wanted],
        align: i64,
        rows: usize,
    ) -> Result<Option<Self>, Error> {
        if !Self::are_of(tensor.format()) {
            return Ok(None);
        }
        let Some([lo, hi]) = outermost(tensor, reach)? else { return Ok(None) };
        let unpacking = Unpacking::new(tensor, reach, wanted, Keep::All);
        if unpacking.repeats {
            return Ok(None);
        }
        let n = tensor.nse();
        let code = Code::trusting(&unpacking.function, n)?;
        let counting = match starts(tensor) {
            Some(starts) => Counting::Known(starts),
            None => {
                let walk = Unpacking::new(tensor, reach, &[], Keep::All);
                let code = Code::trusting(&walk.function, n)?;
                Counting::Walked(Box::new(walk), code)
            }
        };
        let cuts = cuts([lo, hi], n / rows, align);
        Ok(Some(Self { tensor, wanted, unpacking, code, counting, cuts }))
    }

    /// Number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.cuts.len() - 1
    }

    fn piece(&self, at: usize) -> [i64; 2] {
        [self.cuts[at], self.cuts[at + 1]]
    }

    /// Number of rows of a piece.
    ///
    /// # Errors
    /// As [`Unpacking::run`].
    pub(crate) fn rows(&self, at: usize) -> Result<usize, Error> {
        let piece = self.piece(at);
        match &self.counting {
            Counting::Known(starts) => {
                let [first, end] = piece.map(|crd| starts[crd as usize] as usize);
                Ok(end - first)
            }
            Counting::Walked(walk, code) => walk.run(code, self.tensor, Keep::All, &mut [], &piece),
        }
    }

    /// The columns of a piece, which has `rows` rows.
    ///
    /// # Errors
    /// As [`Unpacking::run`].
    pub(crate) fn read(&self, at: usize, rows: usize) -> Result<Vec<IndexColumn>, Error> {
        let mut columns: Vec<ColumnBuffer> =
            self.wanted.iter().map(|wanted| ColumnBuffer::unspecified(wanted.kind, rows)).collect();
        let mut out: Vec<_> = columns.iter_mut().map(ColumnBuffer::all).collect();
        let piece = self.piece(at);
        let written = self.unpacking.run(&self.code, self.tensor, Keep::All, &mut out, &piece)?;
        drop(out);
        Ok(columns.into_iter().map(|column| column.done(written)).collect())
    }
}

/// Cuts an interval at multiples of `align`, into about `pieces` pieces. Gives the start of each
/// piece, and the end.
pub(crate) fn cuts([lo, hi]: [i64; 2], pieces: usize, align: i64) -> Vec<i64> {
    let each = ((hi - lo) / pieces.max(1) as i64 / align + 1).saturating_mul(align);
    let mut cuts = vec![lo];
    let mut next = lo.div_euclid(align).saturating_mul(align);
    while cuts[cuts.len() - 1] < hi {
        next = next.saturating_add(each);
        cuts.push(next.min(hi));
    }
    cuts
}
