//! Reading a format from any of its spellings.

use std::num::NonZeroUsize;
use std::str::FromStr;

use lru::LruCache;
use ust_level_api::ir::process::Guarded;

use super::build::build_with;
use super::error::FormatError;
use super::lex::{Lexer, Mode};
use super::lookup;
use super::model::Format;
use super::named::ONE_A_COLUMN;
use super::named::named;
use super::parse::{MAX_TEXT, parse};

/// The most formats in the cache, and the longest text of one, in bytes.
const KEPT_FORMATS: NonZeroUsize = NonZeroUsize::new(64).expect("a positive number");
const KEPT_TEXT: usize = 256;

/// A text, and the rank of the tensor that it is read for, if given.
type Asked = (String, Option<usize>);

/// The cache of formats: conversions and plans often read the same text.
static READ: Guarded<LruCache<Asked, Format>> = Guarded::inherited(|| LruCache::new(KEPT_FORMATS));

impl Format {
    /// Reads format text (UST's or MLIR's spelling) or the name of a format. A family of formats
    /// without a number (`COO`, `Dense`) takes its order from `rank`, if given: of rank 0, all are `() -> ()`. Cost: linear in the
    /// text, which is at most 1 MiB long; short texts are cached.
    ///
    /// # Errors
    /// The fault in the text, and its place. Also if the rank of the format is not `rank`.
    pub fn resolve(text: &str, rank: Option<usize>) -> Result<Self, FormatError> {
        if text.len() > KEPT_TEXT {
            return resolve(text, rank, &[]);
        }
        let key = (text.to_owned(), rank);
        if let Some(format) = READ.lock().get(&key) {
            return Ok(format.clone());
        }
        let format = resolve(text, rank, &[])?;
        READ.lock().put(key, format.clone());
        Ok(format)
    }

    /// The format that stores every element of tensors of this rank, in row-major order.
    ///
    /// # Errors
    /// If its level type is not linked.
    pub fn full(rank: usize) -> Result<Self, FormatError> {
        Self::resolve("Dense", Some(rank))
    }

    /// The format of a tree of compressed dimensions, in their order, for tensors of this rank.
    ///
    /// # Errors
    /// If its level type is not linked.
    pub fn tree(rank: usize) -> Result<Self, FormatError> {
        Self::resolve("CSF", Some(rank))
    }

    /// The format of a matrix with one entry in each column, such as a permutation.
    ///
    /// # Errors
    /// If its level types are not linked.
    pub fn one_a_column() -> Result<Self, FormatError> {
        Self::resolve(ONE_A_COLUMN, Some(2))
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
