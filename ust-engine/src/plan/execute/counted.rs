//! Results in formats that count or sort. What these store of an entry depends on the others, so loops collect the
//! entries as a tree of coordinates, which is converted in the end. Where they are those of an operand in the same
//! format, they have their positions already.

use super::Prepared;
use crate::error::Error;
use crate::expr::control::Run;
use crate::plan::stage::{Source, Stage};
use crate::storage::{Tensor, joins_alike};

impl Prepared {
    /// The last stage, which reads operands as trees of entries where these may be the entries of the result: operands
    /// in its format, with its index variables.
    pub(super) fn with_trees(&self, mut stage: Stage, operands: &[&Tensor]) -> Stage {
        let counts = self.counts.as_ref().filter(|format| !joins_alike(format));
        let Some(format) = counts else { return stage };
        for one in &mut stage.accesses {
            one.as_tree |= match one.source {
                Source::Operand(at) => {
                    operands[at].format() == format
                        && operands[at].view().shows_all()
                        && one.dims == stage.result
                }
                Source::Stage(_) | Source::Order { .. } => false,
            };
        }
        stage
    }

    /// The result in the format asked for, from that of the loops.
    ///
    /// # Errors
    /// As [`Tensor::convert_within`].
    pub(super) fn counted(
        &self,
        made: Tensor,
        operands: &[&Tensor],
        how: Run,
    ) -> Result<Tensor, Error> {
        let Some(format) = &self.counts else { return Ok(made) };
        for tensor in operands.iter().filter(|tensor| tensor.format() == format) {
            if let Some(placed) = tensor.with_values_of_tree(&made)? {
                return Ok(placed);
            }
        }
        made.convert_within(format, how.limit)
    }

    /// What is explained of the result.
    pub(super) fn explain_counted(&self) -> String {
        let Some(format) = &self.counts else { return String::new() };
        let mut accesses = self.stages.iter().flat_map(|stage| &stage.accesses);
        match accesses.any(|one| one.as_tree) {
            true => format!(
                "positions   those of an operand in `{format}` where the result has its entries; else \
                 the result is converted to that format\n"
            ),
            false => format!("positions   the result is converted to `{format}`\n"),
        }
    }
}
