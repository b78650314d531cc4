//! Finds formats by name, and names of formats.

mod axes;

use std::ops::Range;

use self::axes::Axes;
use super::build::{build, with_attributes};
use super::error::{FormatError, quote};
use super::lex::{Lexer, Mode, Token};
use super::model::Format;
use super::named::{NamedFormat, named};
use super::parse::{MAX_RANK, parse, parse_attributes};
use super::suggest::nearest;

/// The largest order of a family's member.
const MAX_ORDER: usize = MAX_RANK;

/// A piece of the text, and its place.
#[derive(Clone, Debug)]
struct Piece<'a> {
    text: &'a str,
    span: Range<usize>,
}

impl<'a> Piece<'a> {
    fn trimmed(source: &'a str, range: Range<usize>) -> Self {
        let text = &source[range.clone()];
        let start = range.start + (text.len() - text.trim_start().len());
        let text = text.trim();
        Self { text, span: start..start + text.len() }
    }
}

/// Reads a named format from `source[at..]`: `BSR(2, 3), posWidth = 32`.
pub(super) fn read(source: &str, at: usize, rank: Option<usize>) -> Result<Format, FormatError> {
    let end = end_of_name(source, at);
    let name = Piece::trimmed(source, at..end);
    let mut after = end;
    let mut args = Vec::new();
    if source[end..].starts_with('(') {
        let close = source[end..].find([')', '#', '\n']).map(|len| end + len);
        let Some(close) = close.filter(|&at| source[at..].starts_with(')')) else {
            return Err(FormatError::new(source, source.len()..source.len(), "expected `)`"));
        };
        args = pieces(source, end + 1..close);
        after = close + 1;
    }
    let text = match (find(source, &name, &args), Axes::of(name.text)) {
        (Err(error), Some(axes)) => {
            let start = name.span.start;
            let own = Piece::trimmed(source, start..start + axes.name);
            let (entry, rest) = find(source, &own, &args)?;
            axes.with(&expand(source, entry, &own, &rest, None)?).ok_or(error)?
        }
        (found, _) => {
            let (entry, rest) = found?;
            expand(source, entry, &name, &rest, rank)?
        }
    };
    // An error in the text of the named format is reported at the name.
    let format = parse(&text).and_then(|syntax| build(&text, &syntax)).map_err(|error| {
        FormatError::new(source, name.span.start..after, error.message())
            .with_help(error.help().map_or(format!("it stands for {text}"), str::to_owned))
    })?;
    let attributes = parse_attributes(source, after)?;
    with_attributes(source, &format, &attributes)
}

/// The end of the name: its arguments, an attribute, a comment, or the end of the line.
fn end_of_name(source: &str, at: usize) -> usize {
    source[at..].find(['(', ',', '#', '\n']).map_or(source.len(), |len| at + len)
}

fn pieces(source: &str, range: Range<usize>) -> Vec<Piece<'_>> {
    let mut start = range.start;
    let mut all = Vec::new();
    // More arguments than any format takes, which suffices to report too many.
    for part in source[range.clone()].split(',').take(8) {
        all.push(Piece::trimmed(source, start..start + part.len()));
        start += part.len() + 1;
    }
    if let [only] = &all[..]
        && only.text.is_empty()
    {
        all.clear();
    }
    all
}

/// A name without case, blanks, `-` and `_`, which make no difference.
fn key(name: &str) -> String {
    name.chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '-' | '_'))
        .take(64)
        .flat_map(char::to_lowercase)
        .collect()
}

/// The format of this name, and its arguments. Words among the arguments (`col-major`) belong to
/// the name. The name `2:4` contains its arguments.
fn find<'a>(
    source: &'a str,
    name: &Piece<'a>,
    args: &[Piece<'a>],
) -> Result<(&'static NamedFormat, Vec<Piece<'a>>), FormatError> {
    if let Some(colon) = name.text.find(':')
        && args.is_empty()
    {
        let middle = name.span.start + colon;
        let parts = vec![
            Piece::trimmed(source, name.span.start..middle),
            Piece::trimmed(source, middle + 1..name.span.end),
        ];
        if let Some(entry) = named().find(|entry| entry.name.contains(':'))
            && parts.iter().all(|part| part.text.starts_with(|c: char| c.is_ascii_digit()))
        {
            return Ok((entry, parts));
        }
    }
    let is_number = |piece: &&Piece<'_>| piece.text.starts_with(|c: char| c.is_ascii_digit());
    let numbers: Vec<Piece<'a>> = args.iter().filter(is_number).cloned().collect();
    let words: Vec<&Piece<'a>> = args.iter().filter(|piece| !is_number(piece)).collect();
    let mut wanted = name.text.chars().take(65).collect::<String>();
    if let Some(word) = words.first() {
        wanted += &format!("({})", word.text.chars().take(65).collect::<String>());
    }
    let wanted = key(&wanted);
    let matches = |entry: &&NamedFormat| {
        entry.aliases.iter().chain([&entry.name]).any(|name| key(name) == wanted)
    };
    if let Some(entry) = named().find(matches)
        && words.len() < 2
    {
        return Ok((entry, numbers));
    }
    let all = || named().flat_map(|entry| entry.aliases.iter().chain([&entry.name]).copied());
    let bare = key(name.text);
    if let Some(word) = words.first()
        && all().any(|known| key(known) == bare)
    {
        let message = format!("{} does not take {}", quote(name.text), quote(word.text));
        let examples: Vec<&str> = named()
            .filter(|entry| {
                entry.aliases.iter().chain([&entry.name]).any(|n| key(n).starts_with(&bare))
            })
            .map(|entry| entry.example)
            .collect();
        return Err(FormatError::new(source, word.span.clone(), message)
            .with_help(format!("for example `{}`", examples.join("`, `"))));
    }
    let error = FormatError::new(
        source,
        name.span.clone(),
        if name.text.is_empty() {
            "expected a format: `(i, j) -> (...)` or a name such as `CSR`".to_owned()
        } else {
            format!("unknown format {}", quote(name.text))
        },
    );
    Err(match nearest(name.text, all()) {
        Some(near) => error.with_help(format!("did you mean `{near}`?")),
        None => error.with_help(
            "write a format such as `(i, j) -> (i : dense, j : compressed)`, or a name such as `CSR`",
        ),
    })
}

/// The text of a named format with these arguments.
fn expand(
    source: &str,
    entry: &NamedFormat,
    name: &Piece<'_>,
    args: &[Piece<'_>],
    rank: Option<usize>,
) -> Result<String, FormatError> {
    let count = entry.parameters.len();
    let optional = entry.family.is_some();
    if args.len() > count || (args.len() < count && !optional) {
        let span = match args.get(count) {
            Some(extra) => extra.span.clone(),
            None => name.span.clone(),
        };
        let takes = match entry.parameters {
            [] => "no numbers".to_owned(),
            [one] => format!("one number, {one}"),
            several => format!("{} numbers, {}", several.len(), several.join(", ")),
        };
        return Err(FormatError::new(source, span, format!("`{}` takes {takes}", entry.name))
            .with_help(format!("for example `{}`", entry.example)));
    }
    let mut numbers = Vec::new();
    for arg in args {
        match arg.text.parse::<i64>() {
            Ok(number) if number > 0 => numbers.push(number),
            _ => {
                let message = format!("{} is not a number of at least 1", quote(arg.text));
                return Err(FormatError::new(source, arg.span.clone(), message)
                    .with_help(format!("for example `{}`", entry.example)));
            }
        }
    }
    let Some((default, _)) = entry.family else { return Ok(instance(entry, &numbers)) };
    let order = match numbers.first() {
        Some(&order) => usize::try_from(order).unwrap_or(usize::MAX),
        None => rank.unwrap_or(default),
    };
    if order > MAX_ORDER {
        let span = args.first().map_or(name.span.clone(), |arg| arg.span.clone());
        return Err(FormatError::new(source, span, format!("an order beyond {MAX_ORDER}")));
    }
    Ok(of_order(entry, order))
}

/// The text with numbers substituted for its parameters.
fn instance(entry: &NamedFormat, numbers: &[i64]) -> String {
    let mut lexer = Lexer::new(entry.text, 0, Mode::Ust);
    let mut text = String::new();
    let mut last = 0;
    loop {
        let (token, span) = lexer.next();
        let number = match token {
            Token::End => break,
            Token::Name(name) => entry.parameters.iter().position(|p| *p == name),
            _ => None,
        };
        text.push_str(&entry.text[last..span.start]);
        match number.and_then(|at| numbers.get(at)) {
            Some(number) => text.push_str(&number.to_string()),
            None => text.push_str(&entry.text[span.clone()]),
        }
        last = span.end;
    }
    text + &entry.text[last..]
}

/// The text of a family's member: the first level, the second one repeated, the last level.
fn of_order(entry: &NamedFormat, order: usize) -> String {
    let names: Vec<String> = (0..order)
        .map(|dim| match u8::try_from(dim) {
            Ok(dim) if order <= 18 => char::from(b'i' + dim).to_string(),
            _ => format!("d{dim}"),
        })
        .collect();
    if let (1, Some((_, one))) = (order, entry.family) {
        return one.to_owned();
    }
    let (_, levels) = entry.text.split_once("-> (").unwrap_or_default();
    let levels: Vec<&str> = levels.trim_end_matches(')').split(", ").collect();
    let ty = |at: usize| levels[at].split_once(" : ").unwrap_or_default().1;
    let reversed = levels[0].starts_with("n ");
    let stored = (0..order).map(|level| {
        let name = &names[if reversed { order - 1 - level } else { level }];
        let ty = match level {
            0 => ty(0),
            _ if level + 1 == order => ty(levels.len() - 1),
            _ => ty(1),
        };
        format!("{name} : {ty}")
    });
    format!("({}) -> ({})", names.join(", "), stored.collect::<Vec<_>>().join(", "))
}

impl Format {
    /// The name of the format, such as `CSR` or `BSR(2, 3)`, if it has one. The name reads back as
    /// this format with default widths. A sliced format has no name. Cost: parsing a few formats.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        if self.has_slices() {
            return None;
        }
        let numbers = numbers(&self.to_string());
        named().find_map(|entry| self.name_from(entry, &numbers))
    }

    fn name_from(&self, entry: &NamedFormat, numbers: &[i64]) -> Option<String> {
        let same = |text: &str| {
            let format = parse(text).and_then(|syntax| build(text, &syntax));
            format.is_ok_and(|format| format.same_layout(self))
        };
        if let Some((default, _)) = entry.family {
            let order = self.level_count();
            let found = order > 0 && order == self.rank() && same(&of_order(entry, order));
            return found.then(|| match entry.name.strip_suffix(')') {
                _ if order == default => entry.name.to_owned(),
                Some(open) => format!("{open}, {order})"),
                None => format!("{}({order})", entry.name),
            });
        }
        let count = entry.parameters.len();
        let levels = entry.text.split_once("->").unwrap_or_default().1;
        if levels.matches(" : ").count() != self.level_count() {
            return None;
        }
        let mut choice = vec![0; count];
        loop {
            let chosen: Option<Vec<i64>> =
                choice.iter().map(|&at: &usize| numbers.get(at).copied()).collect();
            if same(&instance(entry, &chosen?)) {
                let chosen = choice.iter().map(|&at| numbers[at].to_string());
                let chosen: Vec<String> = chosen.collect();
                return Some(match count {
                    0 => entry.name.to_owned(),
                    _ if entry.name.contains(':') => chosen.join(":"),
                    _ => format!("{}({})", entry.name, chosen.join(", ")),
                });
            }
            // The next choice, counting up like an odometer.
            let at = choice.iter().rposition(|&at| at + 1 < numbers.len())?;
            choice[at] += 1;
            choice[at + 1..].fill(0);
        }
    }
}

/// The distinct numbers in a text. The arguments of a named format are among them.
fn numbers(text: &str) -> Vec<i64> {
    let mut found = Vec::new();
    for digits in text.split(|c: char| !c.is_ascii_digit()) {
        if let Ok(number) = digits.parse()
            && !found.contains(&number)
            && found.len() < 6
        {
            found.push(number);
        }
    }
    found
}
