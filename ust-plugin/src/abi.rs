//! The C ABI: what `ust_plugin.h` declares, in the same order, as Rust sees it. A test compiles the header and
//! compares sizes and offsets.

use std::ffi::{c_char, c_void};

/// The version of this ABI. A library says which one it speaks; another is refused.
pub const ABI: u32 = 2;
/// The name of the one symbol that a library exports: a function [`Entry`].
pub const SYMBOL: &str = "ust_plugin";
/// The exported function.
pub type Entry = unsafe extern "C" fn() -> *const Table;

/// Bytes of [`Error::subject`].
pub const SUBJECT: usize = 128;
/// Bytes of [`Error::message`].
pub const MESSAGE: usize = 512;

/// What a function returns.
pub type Code = i32;
/// It is done.
pub const OK: Code = 0;
/// The level type does not take an argument.
pub const BAD_ARGUMENT: Code = 1;
/// The level does not stand there.
pub const MISPLACED: Code = 2;
/// The level cannot hold an entry.
pub const CANNOT_HOLD: Code = 3;
/// An element of an array breaks a rule.
pub const INVALID: Code = 4;
/// An array has a wrong length.
pub const LENGTH: Code = 5;
/// A quantity is too large.
pub const TOO_LARGE: Code = 6;
/// Anything else.
pub const FAILED: Code = 7;

/// Number of bits that stand for properties, in the order of `Props`.
pub const PROPERTIES: u32 = 9;

/// [`ArraySpec::kind`]: this, added to the number of bits, where indices are signed.
pub const SIGNED: u32 = 256;

/// UTF-8 text.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Its bytes; may be null if there are none.
    pub data: *const c_char,
    /// Their number.
    pub len: u64,
}

/// Why a function failed. The host clears it before each call.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct Error {
    /// A number: its meaning depends on the code.
    pub first: i64,
    /// Another number.
    pub second: i64,
    /// A word or two, up to a zero byte.
    pub subject: [u8; SUBJECT],
    /// A sentence, up to a zero byte.
    pub message: [u8; MESSAGE],
}

/// An argument in format text.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// The argument as it is written.
    pub text: Text,
    /// Its value, if it is a number.
    pub number: u64,
    /// 1 for a number, 0 for a word.
    pub is_number: u32,
}

/// An array that a level owns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ArraySpec {
    /// Its name.
    pub name: Text,
    /// Its length, for people, if it follows a rule of the level's own.
    pub length: Text,
    /// What it holds.
    pub role: u32,
    /// What its elements stand for.
    pub per: u32,
    /// The kind of its elements, if it holds the level's own data: a number of bits, [`SIGNED`] or not.
    pub kind: u32,
    /// The least number of bits of an element.
    pub min_bits: u32,
}

/// The description of a level.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Canonical text, with arguments.
    pub text: Text,
    /// The same in MLIR's spelling; empty if it is the same.
    pub mlir: Text,
    /// The arrays.
    pub arrays: *const ArraySpec,
    /// Their number.
    pub array_count: u64,
    /// Properties, as bits.
    pub properties: u32,
    /// The cost to find a coordinate: 0 only by walking, 1 constant, 2 logarithmic.
    pub locate: u32,
    /// What the level is besides, as bits: [`JOINS_ALIKE`], [`BATCH`].
    pub traits: u32,
}

/// Neighbours whose values are equal get one position.
pub const JOINS_ALIKE: u32 = 1;
/// What stands below is stored for each position as if it were alone.
pub const BATCH: u32 = 2;

/// The level above.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parent {
    /// Its name.
    pub name: Text,
    /// Its canonical text.
    pub text: Text,
    /// Its properties.
    pub properties: u32,
    /// The cost to find a coordinate there.
    pub locate: u32,
}

/// The place of a level in a format.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The level above; null at the root.
    pub parent: *const Parent,
    /// The divisor of a quotient or a remainder, else 0.
    pub number: u64,
    /// The kind of the expression.
    pub expression: u32,
    /// Whether it is the last level.
    pub last: u32,
    /// Whether no parent has several children.
    pub single: u32,
    /// Whether all levels above are batches, or there are none.
    pub leading: u32,
}

/// Shape and options of a level.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Number of coordinates.
    pub size: u64,
    /// The smallest.
    pub lower: i64,
    /// The largest number of positions that there may be.
    pub max_positions: u64,
    /// `posWidth`.
    pub pos_width: u32,
    /// `crdWidth`.
    pub crd_width: u32,
    /// Whether assembly leaves room for children that are inserted later.
    pub room: u32,
}

/// What is assembled.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Children {
    /// Number of parents.
    pub parents: u64,
    /// Where the children of each begin, and where the last end.
    pub offsets: *const i64,
    /// The coordinate of each child.
    pub crd: *const i64,
    /// Whether each has the value of the child before; null if that is not known.
    pub alike: *const u8,
}

/// What assembly makes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Assembly {
    /// For `array`.
    pub host: *mut c_void,
    /// Memory for an array; null if the host refuses.
    pub array: Option<unsafe extern "C" fn(*mut c_void, u64, u64) -> *mut i64>,
    /// To be written: the position of each child.
    pub position: *mut i64,
    /// To be set: the number of positions.
    pub positions: u64,
}

/// An array that is checked.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// Its elements.
    pub data: *const i64,
    /// Their number.
    pub length: u64,
}

/// An interval of positions.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// First.
    pub lo: u64,
    /// Bound, exclusive.
    pub hi: u64,
}

/// The parents that can be reached.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parents {
    /// Number of parents, reachable or not.
    pub positions: u64,
    /// The reachable ones.
    pub intervals: *const Interval,
    /// Number of intervals.
    pub interval_count: u64,
}

/// The positions that can be reached: what a check gives back.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// For `add`.
    pub host: *mut c_void,
    /// Adds an interval of reachable positions.
    pub add: Option<unsafe extern "C" fn(*mut c_void, u64, u64)>,
    /// To be set: the number of positions.
    pub positions: u64,
    /// To be set to 1 if only the positions that were added are reachable.
    pub listed: u32,
}

/// An array that is changed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ChangedArray {
    /// Its elements.
    pub data: *mut i64,
    /// Their number.
    pub length: u64,
}

/// What a level did to insert or to remove a child.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// For `resize` and `move`.
    pub host: *mut c_void,
    /// Gives an array another length; null if the host refuses.
    pub resize: Option<unsafe extern "C" fn(*mut c_void, u64, u64) -> *mut i64>,
    /// Says that children have other positions: from, to, and the first of them afterwards.
    pub moved: Option<unsafe extern "C" fn(*mut c_void, u64, u64, u64)>,
    /// To be set: the position of the new child, or that of the removed one.
    pub pos: u64,
    /// To be set: the number of positions afterwards.
    pub positions: u64,
    /// To be set: positions that belong to no child any more.
    pub freed: Interval,
    /// To be set to 1 if it is done.
    pub done: u32,
}

/// A function that inserts the child with a coordinate, or removes that at a position, under a parent.
pub type Changes<T> = unsafe extern "C" fn(
    *const Level,
    *const Site,
    *const ChangedArray,
    u64,
    T,
    *mut Change,
    *mut Error,
) -> Code;

/// An estimate of what a level would store.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Population {
    /// Number of parents.
    pub parents: f64,
    /// Number of coordinates under all of them.
    pub stored: f64,
    /// Number of runs of neighbouring coordinates.
    pub runs: f64,
    /// Number of coordinates from the first under each parent to the last.
    pub span: f64,
}

/// An estimate of memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Footprint {
    /// Number of positions.
    pub positions: f64,
    /// Bytes of the arrays.
    pub bytes: f64,
}

/// Statistics of a tensor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    /// Extents of the dimensions.
    pub shape: *const u64,
    /// Number of dimensions.
    pub rank: u64,
    /// Number of entries.
    pub entries: u64,
    /// Number of runs along the last dimension.
    pub runs: u64,
    /// Number of coordinates from the first entry of each row to the last.
    pub span: u64,
    /// Bytes of a value.
    pub value_bytes: u64,
    /// The text of a full level type, for levels above; empty if there is none.
    pub full: Text,
}

/// Takes the formats that a level type proposes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Proposals {
    /// For `add`.
    pub host: *mut c_void,
    /// Adds the text of a level, for the last dimension, or of a format.
    pub add: Option<unsafe extern "C" fn(*mut c_void, Text)>,
}

/// Another spelling of a level type.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    /// The other name.
    pub name: Text,
    /// The argument that has to be written; empty if none.
    pub with: Text,
}

/// A level, as the library represents it.
pub type Level = c_void;

/// A level type.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LevelType {
    /// Its name in format text.
    pub name: Text,
    /// One line about it.
    pub summary: Text,
    /// Other spellings.
    pub aliases: *const Alias,
    /// Their number.
    pub alias_count: u64,
    /// Level texts that are tried.
    pub samples: *const Text,
    /// Their number.
    pub sample_count: u64,
    /// The library's own.
    pub data: *const c_void,
    /// Makes a level of arguments.
    pub make: Option<
        unsafe extern "C" fn(
            *const LevelType,
            *const Arg,
            u64,
            *mut *mut Level,
            *mut Error,
        ) -> Code,
    >,
    /// Describes it.
    pub describe: Option<unsafe extern "C" fn(*const Level, *mut Description, *mut Error) -> Code>,
    /// Whether it fits at a place; null if it does everywhere.
    pub fits: Option<unsafe extern "C" fn(*const Level, *const Place, *mut Error) -> Code>,
    /// Makes arrays.
    pub assemble: Option<
        unsafe extern "C" fn(
            *const Level,
            *const Site,
            *const Children,
            *mut Assembly,
            *mut Error,
        ) -> Code,
    >,
    /// Checks arrays.
    pub check: Option<
        unsafe extern "C" fn(
            *const Level,
            *const Site,
            *const Array,
            *const Parents,
            *mut Reach,
            *mut Error,
        ) -> Code,
    >,
    /// The text of its walk.
    pub walk: Option<unsafe extern "C" fn(*const Level, *mut Text, *mut Error) -> Code>,
    /// The text of its search; null if only walking finds a coordinate.
    pub locate: Option<unsafe extern "C" fn(*const Level, *mut Text, *mut Error) -> Code>,
    /// Estimates memory; may be null.
    pub footprint: Option<
        unsafe extern "C" fn(
            *const Level,
            *const Site,
            *const Population,
            *mut Footprint,
            *mut Error,
        ) -> Code,
    >,
    /// Proposes formats; may be null.
    pub candidates: Option<
        unsafe extern "C" fn(*const Level, *const Statistics, *const Proposals, *mut Error) -> Code,
    >,
    /// The text of its relaxed form; may be null.
    pub relaxed: Option<unsafe extern "C" fn(*const Level, *mut Text, *mut Error) -> Code>,
    /// The text of its form for a place; may be null.
    pub adapted:
        Option<unsafe extern "C" fn(*const Level, *const Place, *mut Text, *mut Error) -> Code>,
    /// Makes a place for a child with a coordinate; may be null.
    pub insert: Option<Changes<i64>>,
    /// Removes the child at a position; may be null.
    pub remove: Option<Changes<u64>>,
    /// Frees a level; may be null.
    pub drop: Option<unsafe extern "C" fn(*mut Level)>,
}

/// What a library exports.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The version of the ABI that it speaks.
    pub abi: u32,
    /// Number of level types.
    pub level_count: u32,
    /// The level types.
    pub levels: *const LevelType,
}
