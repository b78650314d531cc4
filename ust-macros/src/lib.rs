//! The compile-time half of `ust::format!`, which is documented there. Nobody depends on this crate
//! but the facade.
//!
//! | module | what |
//! |---|---|
//! | `input` | what stands between the parentheses |
//! | `check` | what is wrong with the format text, in the words of the engine's parser |
//! | `expand` | the code that takes the place of the call |
//!
//! The text is read by the engine itself, with the standard level crates linked into the compiler:
//! there is no second grammar, and no level type is named here.
#![forbid(unsafe_code)]

mod check;
mod expand;
mod input;

use proc_macro::TokenStream;

// A crate that nobody names is dropped by the linker, and its level type with it.
use ust_level_band as _;
use ust_level_batch as _;
use ust_level_bits as _;
use ust_level_block2_4 as _;
use ust_level_blocks as _;
use ust_level_byte_map as _;
use ust_level_compressed as _;
use ust_level_delta as _;
use ust_level_dense as _;
use ust_level_dictionary as _;
use ust_level_ell as _;
use ust_level_hashed as _;
use ust_level_interval as _;
use ust_level_loose_compressed as _;
use ust_level_range as _;
use ust_level_run_length as _;
use ust_level_singleton as _;
use ust_level_sparse_run_length as _;

/// Checks format text and gives the code that makes its format: the facade's own crate, a string
/// literal, and the level types that are not standard. Use `ust::format!`.
#[doc(hidden)]
#[proc_macro]
pub fn format(input: TokenStream) -> TokenStream {
    syn::parse(input)
        .and_then(|input| expand::expand(&input))
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
