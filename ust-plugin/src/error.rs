//! Why a library was not loaded.

use std::path::PathBuf;

use ust_level_api::LevelError;
use ust_level_api::registry::RegisterError;

use crate::abi;

/// Why the level types of a library were not registered. None of them is, then.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PluginError {
    /// There is no such file, or it is no shared library of this machine.
    #[error("cannot load {}: {reason}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The library exports no table.
    #[error(
        "{} is no plug-in: it exports no function `{}`; see `ust_plugin.h`",
        path.display(),
        abi::SYMBOL
    )]
    Symbol {
        /// The file.
        path: PathBuf,
    },
    /// The library speaks another version of the ABI.
    #[error(
        "{} speaks version {found} of the ABI of plug-ins, and this program version {expected}: build it with the \
         `ust_plugin.h` of this program",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version of the library.
        found: u32,
        /// The version of this program.
        expected: u32,
    },
    /// What the library says of itself is no table of level types.
    #[error("{}: {of}: {fault}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// A level type, or the table.
        of: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A level type does not make one of its samples.
    #[error("{}: level type `{level}`, sample `{sample}`: {source}", path.display())]
    Level {
        /// The file.
        path: PathBuf,
        /// The name of the level type.
        level: String,
        /// The sample.
        sample: String,
        /// Why it is not made.
        source: LevelError,
    },
    /// A name is none, or taken.
    #[error("{}: {source}", path.display())]
    Register {
        /// The file.
        path: PathBuf,
        /// Which name.
        source: RegisterError,
    },
}

ust_level_api::debug_shows_message!(PluginError);
