//! The CUDA C++ that generated kernels call: a small header, in sections that are put in only where
//! a kernel needs them.
//!
//! Each section is a file beside this one. It includes nothing, since NVRTC has no headers; it may
//! be given twice; and it is C++17 for NVRTC and for host compilers that are given CUDA's words and
//! intrinsics. Functions are named `ust_...`, and overloaded for all types that they take.

use std::ops::{BitOr, BitOrAssign};

use ust_level_api::ir::{Dtype, Func};

/// The line that ends every prelude.
pub const END: &str = "// ---- end of the prelude";

/// CUDA's words for a C++ compiler of the host: what a prelude without [`Sections::ATOMICS`],
/// [`Sections::LANES`] and [`Sections::TABLES`] needs before it.
pub const HOST: &str = include_str!("host.h");

/// What stands behind the prelude of a text.
#[must_use]
pub fn after(text: &str) -> &str {
    let end = text.find(END).map_or(0, |at| at + END.len());
    text[end..].trim_start()
}

/// A set of sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sections(u16);

/// A section, the sections that it needs, and its text. The order is that of the prelude: a section
/// stands behind those that it needs, and behind those whose types its functions serve.
const TEXTS: [(Sections, Sections, &str); 13] = [
    (Sections::TYPES, Sections::NONE, include_str!("types.cuh")),
    (Sections::INTEGERS, Sections::TYPES, include_str!("integers.cuh")),
    (Sections::FLOATS, Sections::TYPES, include_str!("floats.cuh")),
    (Sections::HALVES, Sections::TYPES, include_str!("halves.cuh")),
    (Sections::COMPLEX, Sections::TYPES, include_str!("complex.cuh")),
    (Sections::CASTS, Sections::TYPES, include_str!("casts.cuh")),
    (Sections::FUNCTIONS, NUMBERS, include_str!("functions.cuh")),
    (Sections::COMPLEX_FUNCTIONS, COMPLEX_NUMBERS, include_str!("complex_functions.cuh")),
    (Sections::ATOMICS, NUMBERS, include_str!("atomics.cuh")),
    (Sections::LANES, NUMBERS, include_str!("lanes.cuh")),
    (Sections::SORT, Sections::TYPES, include_str!("sort.cuh")),
    (Sections::TABLES, NUMBERS.and(Sections::ATOMICS), include_str!("tables.cuh")),
    (Sections::VECTORS, Sections::TYPES, include_str!("vectors.cuh")),
];
const NUMBERS: Sections = Sections::TYPES.and(Sections::INTEGERS).and(Sections::FLOATS);
const COMPLEX_NUMBERS: Sections = Sections::TYPES.and(Sections::FLOATS).and(Sections::COMPLEX);

impl Sections {
    /// No section.
    pub const NONE: Self = Self(0);
    /// Short names of types; how arrays hold numbers (`ust_get`, `ust_put`).
    pub const TYPES: Self = Self(1);
    /// Arithmetic of integers and truth values, such as `ust_add`, `ust_floordiv`, `ust_minimum`.
    pub const INTEGERS: Self = Self(1 << 1);
    /// Arithmetic of floating-point numbers, such as `ust_minimum`; `ust_infinity`, `ust_nan`.
    pub const FLOATS: Self = Self(1 << 2);
    /// `f16` and `bf16`.
    pub const HALVES: Self = Self(1 << 3);
    /// `c64` and `c128`.
    pub const COMPLEX: Self = Self(1 << 4);
    /// `ust_cast`.
    pub const CASTS: Self = Self(1 << 5);
    /// Each [`Func`] of integers and floating-point numbers.
    pub const FUNCTIONS: Self = Self(1 << 6);
    /// Each [`Func`] of complex numbers.
    pub const COMPLEX_FUNCTIONS: Self = Self(1 << 7);
    /// `ust_atomic_add` and its kin; `ust_atomic_update`.
    pub const ATOMICS: Self = Self(1 << 8);
    /// `ust_lanes_add` and its kin; `ust_lanes_first`.
    pub const LANES: Self = Self(1 << 9);
    /// `ust_sort`.
    pub const SORT: Self = Self(1 << 10);
    /// `ust_table_note` and its kin: hash tables of coordinates.
    pub const TABLES: Self = Self(1 << 11);
    /// `ust_load` and `ust_store` of several elements side by side.
    pub const VECTORS: Self = Self(1 << 12);
    /// All sections.
    pub const ALL: Self = Self((1 << TEXTS.len()) - 1);

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What numbers of a dtype need, in memory and in registers.
    #[must_use]
    pub fn of(dtype: Dtype) -> Self {
        match dtype {
            Dtype::F16 | Dtype::Bf16 => Self::HALVES | Self::FLOATS,
            Dtype::F32 | Dtype::F64 => Self::FLOATS,
            Dtype::Complex64 | Dtype::Complex128 => Self::COMPLEX,
            _ => Self::INTEGERS,
        }
    }

    /// What a call of a function of numbers of a dtype needs.
    #[must_use]
    pub fn of_call(func: Func, dtype: Dtype) -> Self {
        match func {
            Func::Rem => Self::of(dtype),
            _ if dtype.is_complex() => Self::COMPLEX_FUNCTIONS,
            _ => Self::FUNCTIONS,
        }
    }

    /// Whether all of these sections are in the set.
    #[must_use]
    pub fn contains(self, sections: Self) -> bool {
        self.and(sections) == self
    }
}

impl BitOr for Sections {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.and(other)
    }
}

impl BitOrAssign for Sections {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

/// The sections asked for and those that they need, each once.
///
/// ```
/// use ust_gpu::prelude::{Sections, text};
///
/// let text = text(Sections::SORT);
/// assert!(text.contains("typedef long long i64;") && text.contains("void ust_sort("));
/// assert!(!text.contains("ust_atomic_add"));
/// ```
#[must_use]
pub fn text(sections: Sections) -> String {
    // What a section needs has no needs that it does not name itself.
    let needed = TEXTS
        .iter()
        .filter(|(section, ..)| sections.contains(*section))
        .fold(sections, |all, (_, needs, _)| all | *needs);
    let mut text = String::new();
    for (_, _, section) in TEXTS.iter().filter(|(section, ..)| needed.contains(*section)) {
        text.push_str(section);
        text.push('\n');
    }
    text + END + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of a section, by which others name it.
    fn name(text: &str) -> String {
        let guard = text.lines().find_map(|line| line.strip_prefix("#ifndef UST_")).unwrap();
        guard.to_lowercase()
    }

    #[test]
    fn sections_stand_behind_those_that_they_name_as_needed() {
        for (place, (section, needs, text)) in TEXTS.iter().enumerate() {
            assert_eq!(section.0, 1 << place);
            let told = text.lines().find_map(|line| line.strip_prefix("// Needs: ")).unwrap();
            let before = TEXTS[..place].iter().filter(|(other, ..)| needs.contains(*other));
            let before: Vec<_> = before.map(|(.., text)| name(text)).collect();
            let expected = if before.is_empty() { "nothing".to_owned() } else { before.join(", ") };
            assert_eq!(told.trim_end_matches('.'), expected, "{}", name(text));
        }
    }

    #[test]
    fn a_text_has_what_is_asked_for_and_what_that_needs_and_nothing_else() {
        let guards = |sections| {
            let text = text(sections);
            assert_eq!(text.lines().last(), Some(END));
            let guards = text.lines().filter_map(|line| line.strip_prefix("#ifndef UST_"));
            guards.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(guards(Sections::NONE), Vec::<String>::new());
        assert_eq!(guards(Sections::SORT), ["TYPES", "SORT"]);
        let complex = guards(Sections::COMPLEX_FUNCTIONS);
        assert_eq!(complex, ["TYPES", "FLOATS", "COMPLEX", "COMPLEX_FUNCTIONS"]);
        assert_eq!(guards(Sections::ALL).len(), TEXTS.len());
    }
}
