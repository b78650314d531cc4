//! A library is opened, and its table is read: texts and lists are copied, and pointers checked.
#![allow(unsafe_code)]

use std::path::Path;
use std::ptr;

use crate::abi;
use crate::error::PluginError;

/// The longest text, in bytes, and the longest list, that a library may give.
const MAX_TEXT: u64 = 1 << 20;
pub(super) const MAX_LIST: u64 = 1 << 12;

/// What is wrong with a text or a list.
pub(super) type Fault = String;

/// A copy of a text.
pub(super) fn text(text: abi::Text, what: &str) -> Result<String, Fault> {
    match (text.data.is_null(), text.len) {
        (_, 0) => return Ok(String::new()),
        (true, len) => return Err(format!("{what} is null, and {len} bytes long")),
        (false, len) if len > MAX_TEXT => return Err(format!("{what} is {len} bytes long")),
        _ => {}
    }
    // SAFETY: the library promises that a text is as long as it says, and that it stays valid during the call.
    let bytes = unsafe { std::slice::from_raw_parts(text.data.cast::<u8>(), text.len as usize) };
    let text = std::str::from_utf8(bytes);
    text.map(str::to_owned).map_err(|_| format!("{what} is not UTF-8"))
}

/// A copy of a list.
pub(super) fn list<T: Copy>(data: *const T, len: u64, what: &str) -> Result<Vec<T>, Fault> {
    match (data.is_null(), len) {
        (_, 0) => return Ok(Vec::new()),
        (true, len) => return Err(format!("{what} are null, and {len} in number")),
        (false, len) if len > MAX_LIST => return Err(format!("{what} are {len} in number")),
        _ => {}
    }
    if !data.is_aligned() {
        return Err(format!("{what} are not aligned"));
    }
    // SAFETY: the library promises that a list is as long as it says, and that it stays valid during the call.
    Ok(unsafe { std::slice::from_raw_parts(data, len as usize) }.to_vec())
}

/// A text for the library, which is valid as long as this one.
pub(super) fn lent(text: &str) -> abi::Text {
    abi::Text { data: text.as_ptr().cast(), len: text.len() as u64 }
}

/// A level type of a library.
#[derive(Clone)]
pub(super) struct Type {
    pub(super) name: String,
    pub(super) summary: String,
    /// Names, and arguments that have to be written.
    pub(super) aliases: Vec<(String, String)>,
    pub(super) samples: Vec<String>,
    pub(super) raw: &'static abi::LevelType,
}

// SAFETY: the library promises that its functions may be called from several threads, and never changes its table.
unsafe impl Send for Type {}
// SAFETY: as above.
unsafe impl Sync for Type {}

/// Opens a library, which stays open until the program ends, and reads its table. The number tells whether a
/// table was read before.
pub(super) fn open(path: &Path) -> Result<(usize, Vec<Type>), PluginError> {
    let own = || path.to_owned();
    // SAFETY: the code that a library runs when it is loaded has the rights of the program: see `load`.
    let library = unsafe { libloading::Library::new(path) };
    let library =
        library.map_err(|error| PluginError::Open { path: own(), reason: reason(&error) })?;
    // SAFETY: a function of this name has this type: the header says so.
    let entry = unsafe { library.get::<abi::Entry>(abi::SYMBOL) }.map(|entry| *entry);
    let entry = entry.map_err(|_| PluginError::Symbol { path: own() })?;
    // SAFETY: as above.
    let table = unsafe { entry() };
    let malformed = |of: &str, fault: Fault| {
        let of = of.to_owned();
        PluginError::Malformed { path: own(), of, fault }
    };
    if table.is_null() || !table.is_aligned() {
        return Err(malformed("the table", "the pointer to it is null, or not aligned".to_owned()));
    }
    // SAFETY: a table begins with the version, in every version.
    let found = unsafe { ptr::read(table.cast::<u32>()) };
    if found != abi::ABI {
        return Err(PluginError::Version { path: own(), found, expected: abi::ABI });
    }
    // SAFETY: a table of this version, which stays valid as long as the library.
    let raw = unsafe { ptr::read(table) };
    let count = u64::from(raw.level_count);
    let levels = list(raw.levels, count, "the level types");
    let levels = levels.map_err(|fault| malformed("the table", fault))?;
    if levels.is_empty() {
        return Err(malformed("the table", "it has no level types".to_owned()));
    }
    let types = levels.into_iter().enumerate().map(|(at, raw)| {
        let of = text(raw.name, "its name")
            .map_or(format!("level type {at}"), |n| format!("level type `{n}`"));
        read(raw).map_err(|fault| malformed(&of, fault))
    });
    let types = types.collect::<Result<Vec<Type>, PluginError>>()?;
    // Level types are never forgotten, and neither is the library.
    std::mem::forget(library);
    Ok((table as usize, types))
}

/// What the system says about a library that it does not open.
fn reason(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    source.unwrap_or_else(|| error.to_string())
}

pub(super) fn read(raw: abi::LevelType) -> Result<Type, Fault> {
    let missing = [
        ("make", raw.make.is_none()),
        ("describe", raw.describe.is_none()),
        ("assemble", raw.assemble.is_none()),
        ("check", raw.check.is_none()),
        ("walk", raw.walk.is_none()),
    ];
    if let Some((name, _)) = missing.into_iter().find(|(_, missing)| *missing) {
        return Err(format!("its function `{name}` is null"));
    }
    let aliases = list(raw.aliases, raw.alias_count, "its aliases")?.into_iter();
    let alias = |a: abi::Alias| Ok((text(a.name, "an alias")?, text(a.with, "an alias")?));
    let samples = list(raw.samples, raw.sample_count, "its samples")?.into_iter();
    Ok(Type {
        name: text(raw.name, "its name")?,
        summary: text(raw.summary, "its summary")?,
        aliases: aliases.map(alias).collect::<Result<_, Fault>>()?,
        samples: samples.map(|sample| text(sample, "a sample")).collect::<Result<_, Fault>>()?,
        raw: Box::leak(Box::new(raw)),
    })
}
