//! The arguments of one generator, matched with its parameters.

use ust_format::suggest::nearest;

use super::MAX_ENTRIES;
use super::error::{GenerateError, GenerateErrorKind as Kind};
use super::spec::{Argument, Call, Spanned};
use super::table::{Generator, Parameter, ParameterKind};

/// For each parameter of the generator, the numbers written, or `None` where the default holds.
pub(super) struct Args<'a> {
    text: &'a str,
    generator: &'static Generator,
    values: Vec<Option<Spanned<Vec<u64>>>>,
}

impl<'a> Args<'a> {
    /// Matches names, counts of numbers, and what must not be missing.
    pub(super) fn new(
        text: &'a str,
        generator: &'static Generator,
        call: Call,
    ) -> Result<Self, GenerateError> {
        let fail = |span, kind| GenerateError { text: text.to_owned(), span, kind };
        let mut values = vec![None; generator.parameters.len()];
        for (number, Argument { name, value }) in call.arguments.into_iter().enumerate() {
            let (at, span) = match name {
                None if number == 0 => (0, value.span.clone()),
                None => {
                    let kind =
                        Kind::Unnamed { generator: generator.name, usage: generator.usage() };
                    return Err(fail(value.span, kind));
                }
                Some(name) => {
                    let mut known = generator.parameters.iter();
                    let Some(at) = known.position(|p| p.name == name.value) else {
                        let names = generator.parameters.iter().map(|p| p.name);
                        let kind = Kind::UnknownParameter {
                            generator: generator.name,
                            nearest: nearest(&name.value, names),
                            usage: generator.usage(),
                            name: name.value,
                        };
                        return Err(fail(name.span, kind));
                    };
                    (at, name.span)
                }
            };
            let Parameter { name: parameter, kind, .. } = &generator.parameters[at];
            if values[at].is_some() {
                return Err(fail(span, Kind::Repeated { parameter }));
            }
            if !kind.takes(value.value.len()) {
                let (expected, found) = (kind.to_string(), value.value.len());
                return Err(fail(value.span, Kind::Extents { parameter, expected, found }));
            }
            values[at] = Some(value);
        }
        let mut missing =
            values.iter().zip(generator.parameters).filter(|(v, p)| v.is_none() && p.needed());
        if let Some((_, parameter)) = missing.next() {
            let kind = Kind::Missing {
                generator: generator.name,
                parameter: parameter.name,
                what: parameter.what,
                usage: generator.usage(),
            };
            return Err(fail(call.end, kind));
        }
        Ok(Self { text, generator, values })
    }

    fn at(&self, parameter: &str) -> usize {
        let mut known = self.generator.parameters.iter();
        known.position(|p| p.name == parameter).expect("a parameter that the table lists")
    }

    /// The number of a parameter, or its default.
    pub(super) fn number(&self, parameter: &str) -> u64 {
        let at = self.at(parameter);
        match (&self.values[at], self.generator.parameters[at].kind) {
            (Some(given), _) => given.value[0],
            (None, ParameterKind::Number { default }) => default.expect("missing is refused"),
            (None, ParameterKind::Extents { .. }) => unreachable!("extents have no default"),
        }
    }

    /// The extents of a parameter, checked to be addressable.
    pub(super) fn extents(&self, parameter: &'static str) -> Result<Vec<usize>, GenerateError> {
        let given = self.values[self.at(parameter)].as_ref().expect("missing is refused");
        let addressable = |&extent: &u64| {
            let fits = i64::try_from(extent).is_ok().then(|| usize::try_from(extent).ok());
            fits.flatten().ok_or_else(|| {
                let rule = "at most 2^63 - 1 coordinates can be told apart".to_owned();
                self.error(parameter, Kind::Value { parameter, found: extent, rule })
            })
        };
        given.value.iter().map(addressable).collect()
    }

    /// Extents of which one may stand for all: `n` for `n x n`.
    pub(super) fn square(
        &self,
        parameter: &'static str,
        rank: usize,
    ) -> Result<Vec<usize>, GenerateError> {
        let given = self.extents(parameter)?;
        Ok(if given.len() == 1 { vec![given[0]; rank] } else { given })
    }

    /// An error about one parameter, with a caret under its numbers.
    pub(super) fn error(&self, parameter: &str, kind: Kind) -> GenerateError {
        let given = self.values[self.at(parameter)].as_ref();
        let span = given.map_or(0..self.text.len(), |value| value.span.clone());
        GenerateError { text: self.text.to_owned(), span, kind }
    }

    /// An error about the number of one parameter.
    pub(super) fn wrong(&self, parameter: &'static str, rule: String) -> GenerateError {
        let found = self.number(parameter);
        self.error(parameter, Kind::Value { parameter, found, rule })
    }

    /// The number of entries, when so many can be made and held: each takes `rank + 1` words.
    /// `None` is a count beyond 128 bits. The caret stands under the parameter.
    pub(super) fn plausible(
        &self,
        parameter: &str,
        entries: Option<u128>,
        rank: usize,
    ) -> Result<usize, GenerateError> {
        let too_large = |why| Err(self.error(parameter, Kind::TooLarge(why)));
        let Some(entries) = entries.filter(|&e| e <= u128::from(MAX_ENTRIES)) else {
            let count = entries.map_or("more than 2^127".to_owned(), |e| e.to_string());
            return too_large(format!("{count} entries; generators make at most {MAX_ENTRIES}"));
        };
        let entries = entries as usize;
        let bytes = entries.saturating_mul(8 * (rank + 1));
        // Asked for and given back untouched: a machine without so much memory says no.
        match Vec::<u8>::new().try_reserve_exact(bytes) {
            Ok(()) => Ok(entries),
            Err(_) => too_large(format!(
                "{entries} entries take {bytes} bytes, which this machine does not have"
            )),
        }
    }
}

/// How many cells a shape has, where 128 bits can tell.
pub(super) fn cells(shape: &[usize]) -> Option<u128> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1_u128, |product, &extent| {
        product.checked_mul(extent as u128).filter(|&p| p <= i128::MAX as u128)
    })
}
