//! Reading a format from any of its spellings.

use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::{LazyLock, Mutex, PoisonError};

use lru::LruCache;

use super::build::build_with;
use super::error::FormatError;
use super::lex::{Lexer, Mode};
use super::lookup;
use super::model::Format;
use super::named::named;
use super::parse::{MAX_TEXT, parse};

/// Formats kept at most, and the longest text of one, in bytes.
const KEPT: NonZeroUsize = NonZeroUsize::new(64).expect("a positive number");
const KEPT_TEXT: usize = 256;

/// A text, and the rank of the tensor at hand.
type Asked = (String, Option<usize>);

/// Formats that were read, by their text and the rank at hand: conversions and plans name the same
/// ones again and again.
static READ: LazyLock<Mutex<LruCache<Asked, Format>>> =
    LazyLock::new(|| Mutex::new(LruCache::new(KEPT)));

impl Format {
    /// Reads format text (UST's or MLIR's spelling) or the name of a format. A family of formats
    /// without a number (`COO`, `Dense`) takes the order of the tensor at hand, where `rank` says
    /// it. Cost: linear in the text, which is at most 1 MiB long; short texts that were read lately
    /// are looked up.
    ///
    /// # Errors
    /// What is wrong with the text, and where; also a format whose rank is not `rank`.
    pub fn resolve(text: &str, rank: Option<usize>) -> Result<Self, FormatError> {
        if text.len() > KEPT_TEXT {
            return resolve(text, rank, &[]);
        }
        let key = (text.to_owned(), rank);
        let read = || READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(format) = read().get(&key) {
            return Ok(format.clone());
        }
        let format = resolve(text, rank, &[])?;
        read().put(key, format.clone());
        Ok(format)
    }

    /// The format that stores every element, row-major, of tensors of this rank.
    ///
    /// # Errors
    /// Where the level type that it is made of is not linked.
    pub fn full(rank: usize) -> Result<Self, FormatError> {
        Self::resolve(if rank == 0 { "Scalar" } else { "Dense" }, Some(rank))
    }
}

/// Reads a format; the level types in `outside` may be unknown.
pub(super) fn resolve(
    text: &str,
    rank: Option<usize>,
    outside: &[&str],
) -> Result<Format, FormatError> {
    if text.len() > MAX_TEXT {
        let message = format!("format text of {} bytes; at most {MAX_TEXT}", text.len());
        return Err(FormatError::new(text, 0..0, message));
    }
    let mut start = Lexer::new(text, 0, Mode::Start);
    start.skip();
    let rest = &text[start.at..];
    let is_text = rest.starts_with(['(', '[', '{', '#']) || rest.contains("->");
    let format = if is_text {
        build_with(text, &parse(text)?, outside)?
    } else {
        lookup::read(text, start.at, rank)?
    };
    match rank {
        Some(rank) if rank != format.rank() => {
            let span = start.at..start.at + rest.trim_end().len();
            let of = format.rank();
            let message = format!("a format of {of} dimensions for a tensor of rank {rank}");
            let any: Vec<&str> = named().filter(|f| f.family.is_some()).map(|f| f.name).collect();
            Err(FormatError::new(text, span, message)
                .with_help(format!("these take any rank: {}", any.join(", "))))
        }
        _ => Ok(format),
    }
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        Self::resolve(text, None)
    }
}
