//! Entries, written one a line: the opposite of [`body`](super::body).

use std::io::{self, Write};

use ust_level_api::ir::parallel;

use super::number::WriteNumber;

/// Entries formatted at a time, by one thread.
const BLOCK: usize = 1 << 14;

/// Writes a line for each entry: its coordinates from 1, what stands `after` them, its value.
///
/// The columns and the values have the same length.
pub(super) fn write_entries<T: WriteNumber>(
    out: &mut dyn Write,
    crd: &[Vec<i64>],
    after: &str,
    values: &[T],
) -> io::Result<()> {
    let blocks = values.len().div_ceil(BLOCK);
    let at_once = rayon::current_num_threads() * 4;
    for first in (0..blocks).step_by(at_once) {
        let texts = parallel::map(at_once.min(blocks - first), |block| {
            let block = first + block;
            let mut text = Vec::with_capacity(BLOCK * 16);
            for entry in block * BLOCK..values.len().min((block + 1) * BLOCK) {
                for (dim, column) in crd.iter().enumerate() {
                    let space = if dim == 0 { "" } else { " " };
                    write!(text, "{space}{}", column[entry].saturating_add(1))?;
                }
                let space = if crd.is_empty() { "" } else { " " };
                write!(text, "{after}{space}")?;
                values[entry].write(&mut text)?;
                text.push(b'\n');
            }
            Ok::<_, io::Error>(text)
        });
        for text in texts {
            out.write_all(&text?)?;
        }
    }
    Ok(())
}
