//! Expressions made at random, beside those of the table.

use super::table::{Numbers, Operation};
use crate::oracle::Random;

/// Names of indices: those of the result come first.
const INDICES: [&str; 5] = ["i", "j", "k", "l", "m"];
/// Names of operands.
const OPERANDS: [&str; 4] = ["A", "B", "D", "E"];
/// Functions that are smooth, and small wherever they are evaluated.
const SMOOTH: [&str; 6] = ["tanh", "sin", "atan", "sigmoid", "asinh", "erf"];
/// Functions with steps or corners: of single elements, that are not rounded.
const STEPS: [&str; 5] = ["abs", "relu", "sgn", "floor", "ceil"];

/// An expression of up to four operands with up to four indices each: sums, differences, products,
/// the greater and the less, comparisons, choices, functions, and reductions in any of them.
///
/// Left out is what the table leaves out, and steps of sums, which rounding may take either way.
pub(super) fn made(id: &str, random: &mut Random) -> Operation {
    let rank = [0, 1, 1, 2, 2, 2, 3, 3, 4][random.below(9) as usize];
    let more = random.below(3) as usize;
    let mut maker = Maker {
        random,
        open: INDICES[..(rank + more).min(4)].to_vec(),
        operands: Vec::new(),
        smooth: false,
    };
    let body = maker.term(3);
    // An expression of constants alone says nothing.
    let body = if maker.operands.is_empty() { maker.access() } else { body };
    let indices = INDICES[..rank].join(",");
    let smooth = maker.smooth;
    let mask = match maker.random.below(100) {
        0..6 => format!("<M({indices})>"),
        6..10 => format!("<!M({indices})>"),
        10..13 => format!("<structure M({indices})>"),
        _ => String::new(),
    };
    let mask = if rank > 0 { mask } else { String::new() };
    let sign = maker.pick(&["=", "=", "=", "+=", "max="]);
    let result = if rank > 0 { format!("R({indices})") } else { "s".to_owned() };
    let text = format!("{result}{mask} {sign} {body}");
    // For the length of the program, like those of the table.
    let kept = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    Operation {
        family: "made",
        name: kept(id.to_owned()),
        text: kept(text),
        numbers: if smooth { Numbers::Double } else { Numbers::Wide },
    }
}

struct Maker<'a> {
    random: &'a mut Random,
    /// Indices that an access may have.
    open: Vec<&'static str>,
    /// Names and numbers of dimensions.
    operands: Vec<(&'static str, usize)>,
    smooth: bool,
}

impl Maker<'_> {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len() as u64) as usize]
    }

    /// An element of a new operand, or of one that is there already.
    fn access(&mut self) -> String {
        let again = self.operands.len() == OPERANDS.len() || self.random.percent(15);
        let known = self.operands.clone();
        let known: Vec<_> = known.into_iter().filter(|known| known.1 <= self.open.len()).collect();
        if again && known.is_empty() && self.operands.len() == OPERANDS.len() {
            return "2".to_owned();
        }
        let (name, rank) = match again && !known.is_empty() {
            true => self.pick(&known),
            false => {
                let name = OPERANDS[self.operands.len()];
                let rank = [0, 1, 1, 2, 2, 2, 2, 3, 3, 4][self.random.below(10) as usize];
                let rank = rank.min(self.open.len());
                self.operands.push((name, rank));
                (name, rank)
            }
        };
        if rank == 0 {
            return name.to_owned();
        }
        let mut indices = self.open.clone();
        self.random.shuffle(&mut indices);
        indices.truncate(rank);
        if self.random.percent(50) {
            indices.sort_unstable();
        }
        if rank > 1 && self.random.percent(4) {
            indices[0] = indices[1];
        }
        format!("{name}({})", indices.join(","))
    }

    fn leaf(&mut self) -> String {
        match self.random.below(100) {
            0..8 => self.pick(&["2", "1", "3"]).to_owned(),
            8..16 => {
                let (function, stored) = (self.pick(&STEPS), self.pick(&["", "", "[stored]"]));
                format!("{function}{stored}({})", self.access())
            }
            _ => self.access(),
        }
    }

    fn term(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let below = depth - 1;
        match self.random.below(100) {
            0..12 => self.leaf(),
            12..32 => format!("({} + {})", self.term(below), self.term(below)),
            32..44 => self.difference(below),
            44..70 => format!("{} * {}", self.factor(below), self.factor(below)),
            70..74 => format!("max({}, {})", self.term(below), self.term(below)),
            74..78 => format!("min({}, {})", self.term(below), self.term(below)),
            78..80 => format!("-({} * {})", self.access(), self.factor(below)),
            80..83 => {
                let sign = self.pick(&["<", "<=", "==", "!=", ">", "stored"]);
                let (a, b) = (self.access(), self.leaf());
                let condition = match sign {
                    "stored" => format!("stored({a})"),
                    sign => format!("{a} {sign} {b}"),
                };
                format!("where({condition}, {}, {})", self.term(below), self.term(below))
            }
            83..89 => {
                self.smooth = true;
                let (function, stored) = (self.pick(&SMOOTH), self.pick(&["", "", "[stored]"]));
                format!("{function}{stored}({})", self.term(below))
            }
            _ => self.reduced(below),
        }
    }

    /// Not of constants alone: it may be less than the dtype holds.
    fn difference(&mut self, depth: usize) -> String {
        let from = self.term(depth);
        let constant = !OPERANDS.iter().any(|name| from.contains(name));
        let from = if constant { self.access() } else { from };
        format!("({from} - {})", self.term(depth))
    }

    fn factor(&mut self, depth: usize) -> String {
        let term = self.term(depth);
        if term.starts_with('-') { format!("({term})") } else { term }
    }

    /// A reduction over an index of its own.
    fn reduced(&mut self, depth: usize) -> String {
        let Some(index) = INDICES.iter().copied().find(|name| !self.open.contains(name)) else {
            return self.term(depth);
        };
        let operator = self.pick(&["sum", "sum", "sum", "max(0, max", "min(0, min"]);
        self.open.push(index);
        let body = format!("{} * {}", self.access(), self.factor(depth));
        self.open.pop();
        // What has not the index is not reduced over it.
        let has = body.split(|c: char| !c.is_alphanumeric()).any(|word| word == index);
        // Infinity, of a reduction over nothing, is left out.
        let end = if operator == "sum" { "" } else { ")" };
        if has { format!("{operator}({index}, {body}){end}") } else { format!("({body})") }
    }
}

#[cfg(test)]
mod tests {
    use ust_engine::ops::Expression;

    use super::*;

    #[test]
    fn what_is_made_can_be_read() {
        let mut random = Random::new(3);
        for at in 0..200 {
            let text = made(&at.to_string(), &mut random).text;
            let read = Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!(!read.accesses().is_empty(), "{text}");
        }
    }
}
