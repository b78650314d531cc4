//! The side of a library of Rust: level types of crates are exported as they are.
//!
//! A crate of its own makes the library, so that the crate of the level type need not know of plug-ins:
//!
//! ```toml
//! [lib]
//! crate-type = ["cdylib"]
//!
//! [dependencies]
//! my_level = "0.1"
//! ust-plugin = "0.1"
//! ```
//!
//! ```ignore
//! ust_plugin::export!(my_level);
//! ```
//!
//! What is exported: everything that the contract asks. Of the level above, [`fits`](ust_level_api::LevelType::fits) sees
//! name, text, properties and the cost of a search; of a tensor, [`candidates`](ust_level_api::LevelType::candidates) sees
//! what `ust_statistics` has. A panic becomes an error.
//!
//! | file | what |
//! |---|---|
//! | `entry` | the table, and its functions |
//! | `answer` | what a level type of Rust answers, in the words of the ABI |
//! | `leading` | a stand-in for the full level type of the host |

mod answer;
mod entry;
mod leading;

pub use entry::table;

/// Exports every level type that the library links, and links these crates. To be written once in a library.
#[macro_export]
macro_rules! export {
    ($($level:ident),+ $(,)?) => {
        // A crate that nobody names is dropped by the linker.
        $(use $level as _;)+

        /// The table of the level types of this library.
        #[allow(unsafe_code, reason = "the name of the symbol is part of the ABI")]
        #[unsafe(no_mangle)]
        pub extern "C" fn ust_plugin() -> *const $crate::abi::Table {
            $crate::export::table()
        }
    };
}
