//! Names of variables and arrays, as C++ takes them.

use std::collections::HashSet;

use ust_level_api::ir::{ArrayId, Function, Var};

/// Words that C++ keeps for itself, that kernels use, or that compilers and headers replace.
const TAKEN: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class \
    compl const constexpr const_cast continue decltype default delete do double dynamic_cast else enum explicit \
    export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr \
    operator or or_eq private protected public register reinterpret_cast return short signed sizeof static \
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union \
    unsigned using virtual void volatile wchar_t while xor xor_eq \
    i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 c64 c128 min max abs \
    threadIdx blockIdx blockDim gridDim warpSize signbit \
    linux unix NULL EOF NAN INFINITY HUGE_VAL assert errno stdin stdout stderr \
    part part_begin parts range_lo range_hi grain worker workers lane lanes counts offsets error old held opened at \
    chosen turn width team slots room memory own group groups member noted place_of_mark UST_FREE UST_FN";

/// A name for each variable and each array of a function.
pub(super) struct Names {
    vars: Vec<String>,
    arrays: Vec<String>,
}

impl Names {
    pub(super) fn new(function: &Function) -> Self {
        let mut taken: HashSet<String> = TAKEN.split_whitespace().map(str::to_owned).collect();
        let mut own = |name: &str, also: &[&str]| {
            let mut made = plain(name);
            let like = |made: &str| -> Vec<String> {
                also.iter().map(|before| format!("{before}{made}")).collect()
            };
            while like(&made).iter().any(|name| taken.contains(name)) {
                made.push('_');
            }
            taken.extend(like(&made));
            made
        };
        // Arrays also have lengths; loops have ends, and sums are kept while lanes form others.
        let arrays = function.arrays.iter().map(|array| own(&array.name, &["", "len_", "all_"]));
        let arrays = arrays.collect();
        let vars = function.vars.iter().map(|var| own(&var.name, &["", "end_", "all_"])).collect();
        Self { vars, arrays }
    }

    pub(super) fn var(&self, var: Var) -> &str {
        &self.vars[var.0 as usize]
    }

    pub(super) fn array(&self, array: ArrayId) -> &str {
        &self.arrays[array.0 as usize]
    }
}

/// The name in letters, digits and `_`.
fn plain(name: &str) -> String {
    let mut made = String::new();
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '_' => made.push(c),
            ' ' => made.push('_'),
            c => made.push_str(&format!("u{:x}", u32::from(c))),
        }
    }
    // Names that begin otherwise are those of the language and of the prelude.
    match made.chars().next() {
        Some(c) if c.is_ascii_alphabetic() && !made.starts_with("ust_") => made,
        _ => format!("v{made}"),
    }
}

#[cfg(test)]
mod tests {
    use ust_level_api::ir::{Builder, Ty};

    use super::*;

    #[test]
    fn names_are_words_of_their_own() {
        let mut b = Builder::new("f");
        for name in ["for", "n", "größe", "_x", "ust_add", "i", "linux"] {
            b.param(name, Ty::Int);
        }
        let function = b.finish();
        let names = Names::new(&function);
        let made: Vec<&str> = (0..7).map(|at| names.var(Var(at))).collect();
        assert_eq!(made, ["for_", "n", "gruf6udfe", "v_x", "vust_add", "i", "linux_"]);
    }
}
