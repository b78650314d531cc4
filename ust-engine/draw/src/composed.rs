//! Which part of a composed tensor stores each element.

use ust_engine::Composed;
use ust_engine::error::Error;

use crate::label;

/// The parts of the elements of a vector or a matrix.
#[derive(Clone, Debug)]
pub(super) struct Owners {
    /// For each row, the number of the part of each element; `None` where no part stores it.
    pub(super) rows: Vec<Vec<Option<usize>>>,
    /// For each part, its number of entries and the name of its format.
    pub(super) parts: Vec<(usize, String)>,
}

impl Owners {
    /// Without rows for tensors of more than two dimensions, or of more cells than that.
    pub(super) fn of(composed: &Composed, max_cells: usize) -> Result<Self, Error> {
        let each = composed.parts().iter().map(ust_engine::Tensor::to_coo);
        let each = each.collect::<Result<Vec<_>, _>>()?;
        let names = composed.parts().iter().map(|part| part.format().name_or_text());
        let parts = each.iter().map(ust_engine::Coo::len).zip(names).collect();
        let (height, width) = match *composed.shape() {
            [width] => (1, width),
            [height, width] => (height, width),
            _ => (0, 0),
        };
        if height.checked_mul(width).is_none_or(|cells| cells > max_cells) {
            return Ok(Self { rows: Vec::new(), parts });
        }
        let mut rows = vec![vec![None; width]; height];
        for (part, coo) in each.iter().enumerate() {
            for at in 0..coo.len() {
                match *coo.coordinates(at) {
                    [column] => rows[0][column] = Some(part),
                    [row, column] => rows[row][column] = Some(part),
                    _ => {}
                }
            }
        }
        Ok(Self { rows, parts })
    }
}

/// A heading: the formats, and shape, dtype and counts.
pub(super) fn heading(composed: &Composed) -> [String; 2] {
    let shape: Vec<String> = composed.shape().iter().map(ToString::to_string).collect();
    let counts = format!(
        "{} {}, {} parts, {} stored elements",
        shape.join(" x "),
        composed.dtype(),
        composed.parts().len(),
        composed.nse()
    );
    [composed.formats(), counts]
}

/// A digit or a letter for a part.
pub(super) fn sign(part: usize) -> String {
    let part = u32::try_from(part).unwrap_or(u32::MAX);
    char::from_digit(part, 36).unwrap_or('*').to_string()
}

/// A part in a legend, such as `0 = DIA-I, 12 entries`.
pub(super) fn legend(part: usize, (count, name): &(usize, String)) -> String {
    format!("{} = {name}, {count} {}", sign(part), label::entries(*count))
}
