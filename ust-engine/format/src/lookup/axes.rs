//! Names with further axes: `CSR-b1` is a batch of matrices in CSR, `CSR-d1` a matrix in CSR whose elements are dense
//! vectors, `BSR-b2-d1(2, 2)` both. nvmath-python names its formats so.

use super::super::named::AXES;
use super::super::parse::MAX_RANK;

/// A name apart from the axes that it ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axes {
    /// The length of the name without them.
    pub(super) name: usize,
    batches: usize,
    dense: usize,
}

impl Axes {
    /// The axes at the end of a name. `None` without any.
    pub(super) fn of(name: &str) -> Option<Self> {
        let (front, dense) = ending(name, 'd');
        let (front, batches) = ending(front, 'b');
        let some = batches + dense > 0 && batches + dense <= MAX_RANK && !front.is_empty();
        some.then_some(Self { name: front.len(), batches, dense })
    }

    /// The text of a format with these axes before and behind its own.
    pub(super) fn with(self, text: &str) -> Option<String> {
        let (dims, levels) = text.strip_prefix('(')?.strip_suffix(')')?.split_once(") -> (")?;
        // What is counted or sorted is so among the rows of one matrix.
        if text.contains('#') || dims.contains(':') {
            return None;
        }
        let named = |letter: char, count: usize| -> Vec<String> {
            (0..count)
                .map(|at| if count == 1 { letter.to_string() } else { format!("{letter}{at}") })
                .collect()
        };
        let (batches, dense) = (named('b', self.batches), named('d', self.dense));
        let listed = |own: &str, level: &dyn Fn(&str, &str) -> String| {
            let before = batches.iter().map(|axis| level(axis, AXES[0]));
            let behind = dense.iter().map(|axis| level(axis, AXES[1]));
            before.chain([own.to_owned()]).chain(behind).collect::<Vec<_>>().join(", ")
        };
        let dims = listed(dims, &|axis, _| axis.to_owned());
        let levels = listed(levels, &|axis, ty| format!("{axis} : {ty}"));
        Some(format!("({dims}) -> ({levels})"))
    }
}

/// A name without the ending `-bN`, and N, which is at least 1; the name as it is, and 0.
fn ending(name: &str, letter: char) -> (&str, usize) {
    let parts = name.trim_end().rsplit_once('-').and_then(|(front, end)| {
        let digits = end.strip_prefix(letter)?;
        let digits = digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(digits)?;
        Some((front, digits.parse().ok().filter(|&count: &usize| count > 0)?))
    });
    parts.unwrap_or((name, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_stand_before_and_behind() {
        fn text(name: &str) -> Option<(&str, String)> {
            let axes = Axes::of(name)?;
            Some((&name[..axes.name], axes.with("(i, j) -> (i : dense, j : compressed)")?))
        }
        let expected = "(b, i, j) -> (b : batch, i : dense, j : compressed)".to_owned();
        assert_eq!(text("CSR-b1"), Some(("CSR", expected)));
        let expected =
            "(b0, b1, i, j, d) -> (b0 : batch, b1 : batch, i : dense, j : compressed, d : dense)";
        assert_eq!(text("X-Y-b2-d1"), Some(("X-Y", expected.to_owned())));
        for name in ["CSR", "CSR-b0", "CSR-b", "CSR-b-1", "CSR-bx", "-b1", "CSR-b999", "CSR-d1-b1x"]
        {
            assert_eq!(text(name), None, "{name}");
        }
        assert_eq!(Axes::of("ELL-b1").unwrap().with("(i, j) -> (#i : dense, i : dense)"), None);
    }
}
