//! Digits of one form, and whether they tile it: `i / 8`, `i % 8 / 2` and `i % 2` tile `i`.

use std::collections::BTreeMap;

use super::error::quote;
use super::expr::Spelling;
use super::form::{Atom, Form, NoForm};
use super::inverse::NoInverse;

/// One digit: `base / divisor % modulus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digit {
    pub(super) divisor: i64,
    pub(super) modulus: Option<i64>,
    /// The first level in which it occurs.
    pub(super) level: usize,
}

impl Digit {
    /// The multiple of the unit at which the digit ends: `None` for a quotient, which has no end.
    fn end(self) -> Option<i128> {
        self.modulus.map(|modulus| i128::from(self.divisor) * i128::from(modulus))
    }

    fn overlaps(self, other: Self) -> bool {
        let starts_before =
            |a: Self, b: Self| b.end().is_none_or(|end| i128::from(a.divisor) < end);
        starts_before(self, other) && starts_before(other, self)
    }
}

/// The digits of one form that occur in levels.
pub(super) struct Digits {
    pub(super) base: Form,
    /// Largest divisor first.
    pub(super) members: Vec<Digit>,
    /// Whether rule 2 was applied to them.
    pub(super) tiled: bool,
}

impl Digits {
    /// The digits in the levels' forms, grouped by their base.
    pub(super) fn of(forms: &[Form]) -> Vec<Self> {
        let mut groups = BTreeMap::new();
        for (level, form) in forms.iter().enumerate() {
            collect(form, level, &mut groups);
        }
        let group = |(base, mut members): (&Form, Vec<Digit>)| {
            members.sort_by_key(|d| (std::cmp::Reverse(d.divisor), d.modulus, d.level));
            members.dedup_by_key(|d| (d.divisor, d.modulus));
            Self { base: base.clone(), members, tiled: false }
        };
        groups.into_iter().map(group).collect()
    }

    /// A digit as an atom.
    pub(super) fn atom(&self, digit: Digit) -> Atom {
        let Digit { divisor, modulus, .. } = digit;
        Atom::Digit { base: Box::new(self.base.clone()), divisor, modulus }
    }

    /// Why the digits do not tile their form; `None` if they do.
    pub(super) fn gap(&self, names: &[String]) -> Option<NoInverse> {
        let mut above = *self.members.first()?;
        if let Some(end) = above.end() {
            return Some(self.missing(names, above, i64::try_from(end).ok(), None));
        }
        for &digit in &self.members[1..] {
            let (start, end) = (i128::from(above.divisor), digit.end());
            if end != Some(start) {
                let end = end.and_then(|end| i64::try_from(end).ok());
                let divides = end.filter(|&end| end < above.divisor && above.divisor % end == 0);
                return Some(match divides {
                    Some(end) => self.missing(names, digit, Some(end), Some(above.divisor / end)),
                    None => self.overlap(names, above, digit),
                });
            }
            above = digit;
        }
        (above.divisor > 1).then(|| self.missing(names, above, Some(1), Some(above.divisor)))
    }

    /// The error that the digit next to `known` is missing; or that another digit overlaps it.
    fn missing(
        &self,
        names: &[String],
        known: Digit,
        divisor: Option<i64>,
        modulus: Option<i64>,
    ) -> NoInverse {
        let Some(divisor) = divisor else {
            return NoInverse::at(known.level, NoForm::Overflow.message().to_owned());
        };
        let missing = Digit { divisor, modulus, level: known.level };
        let overlaps = |other: &&Digit| **other != known && other.overlaps(missing);
        if let Some(&other) =
            self.members.iter().find(|other| overlaps(other) && other.overlaps(known))
        {
            return self.overlap(names, other, known);
        }
        let (missing, base) = (self.text(names, missing), self.text_of(names, &self.base));
        NoInverse::at(
            known.level,
            format!("the levels do not determine {base}: {missing} is missing"),
        )
        .help(format!("add a level that stores {missing}"))
    }

    fn overlap(&self, names: &[String], a: Digit, b: Digit) -> NoInverse {
        let what = if a.overlaps(b) { "overlap" } else { "leave a gap" };
        let (first, second) = (self.text(names, a), self.text(names, b));
        let base = self.text_of(names, &self.base);
        NoInverse::at(b.level, format!("{first} and {second} {what}")).help(format!(
            "the parts of {base} must tile it: beside a quotient by c stands the remainder by c, \
             whole or in parts"
        ))
    }

    fn text(&self, names: &[String], digit: Digit) -> String {
        self.text_of(names, &Form::atom(self.atom(digit)))
    }

    fn text_of(&self, names: &[String], form: &Form) -> String {
        quote(&form.to_expr().display(names, Spelling::Ust))
    }
}

/// Whether an atom is always 0, like `i % 1`.
pub(super) fn is_zero(atom: &Atom) -> bool {
    matches!(atom, Atom::Digit { modulus: Some(1), .. })
}

fn collect<'f>(form: &'f Form, level: usize, groups: &mut BTreeMap<&'f Form, Vec<Digit>>) {
    for atom in form.terms.keys() {
        if let Atom::Digit { base, divisor, modulus } = atom
            && !is_zero(atom)
        {
            let digit = Digit { divisor: *divisor, modulus: *modulus, level };
            groups.entry(base).or_default().push(digit);
            collect(base, level, groups);
        }
    }
}
