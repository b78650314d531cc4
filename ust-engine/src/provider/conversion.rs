//! Conversions that back ends do where tensors are, and what is known of their loops.

use ust_level_api::WalkKind;

use super::plan::{Array, Cut, Facts, Loop, Outermost, Over, Parameter, continues, from_start};
pub use crate::convert::elsewhere::{Column, Conversion, Converter, Levels, Loops, Registration};
use crate::walk::operand::{ItemSize, can_be_negative};

impl Conversion<'_> {
    /// What is known of the [loops](Self::loops) of this conversion: the same as of the loops of a plan with one
    /// operand.
    #[must_use]
    pub fn facts(&self, loops: &Loops) -> Facts {
        let format = self.tensor().format();
        let levels = || format.levels().iter().enumerate();
        // Sizes that are constants are no parameters.
        let sizes = loops.sizes();
        let mut parameters: Vec<Parameter> = (0..format.axes()).map(Parameter::Extent).collect();
        let sized = levels().filter(|(level, _)| sizes[*level]);
        parameters.extend(sized.map(|(level, _)| Parameter::Size { operand: 0, level }));
        let lowered = levels().filter(|(_, level)| can_be_negative(&level.expr));
        parameters.extend(lowered.map(|(level, _)| Parameter::Lower { operand: 0, level }));
        let items = ItemSize::all(format).into_iter();
        parameters.extend(items.map(|size| Parameter::Item { operand: 0, size }));
        parameters.extend([Parameter::PartLo, Parameter::PartHi]);
        let described = format.descriptions().iter().enumerate();
        let mut arrays: Vec<Array> = described
            .flat_map(|(level, described)| {
                let count = described.arrays.len();
                (0..count).map(move |array| Array::Level { operand: 0, level, array })
            })
            .collect();
        arrays.push(Array::Values(0));
        arrays.extend((0..loops.columns()).map(Array::Column));
        arrays.extend(loops.is_masked().then_some(Array::Mask));
        let noted = loops.noted();
        let each = noted.loops.iter().zip(levels()).zip(format.descriptions());
        let over = |kind: WalkKind| match kind {
            WalkKind::Coordinate => Over::Coordinates,
            WalkKind::Position | WalkKind::Other => Over::Cursor,
        };
        // Each loop stands in that over the level above.
        let continues = |level: usize| {
            let above = level.checked_sub(1)?;
            let descriptions = format.descriptions();
            Some(continues(
                &descriptions[level],
                over(noted.loops[above].kind),
                &descriptions[above],
            ))
        };
        let all = each.map(|((noted, (level, spec)), described)| Loop {
            vars: vec![noted.var],
            depth: level,
            expr: spec.expr.clone(),
            over: over(noted.kind),
            crd: None,
            walks: vec![(0, level)],
            once: described.props.branchless,
            contiguous: continues(level).unwrap_or(false),
            owns: true,
            sum: None,
            sequential: noted.carries,
        });
        let outermost = Outermost {
            cut: match loops.range() {
                Some(_) => Ok(Cut::Cursor(0)),
                None => Err("the first level carries state from one child to the next"),
            },
            range: loops.range().cloned().and_then(|range| from_start(range, loops.function())),
            owns: true,
            walks: vec![(0, 0)],
        };
        let (loops, carried) = (all.collect(), noted.carried.clone());
        Facts {
            parameters,
            arrays,
            outermost,
            loops,
            rows: None,
            carried,
            sets_all: false,
            borders: Vec::new(),
        }
    }
}
