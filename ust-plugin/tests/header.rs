//! `ust_plugin.h` declares what `abi` has: a C compiler compares sizes, offsets and numbers.

use std::fmt::Write as _;
use std::mem::{offset_of, size_of};

use ust_plugin::abi;

mod shared;

/// The assertions of C that a struct is as it is here.
macro_rules! layout {
    ($text:ident: $($ty:ident as $c:literal { $($field:ident)* })*) => {$(
        // Names every field, so that none is forgotten.
        let _ = |all: abi::$ty| { let abi::$ty { $($field: _),* } = all; };
        writeln!($text, "_Static_assert(sizeof({}) == {}, \"size\");", $c, size_of::<abi::$ty>()).unwrap();
        let mut end = 0;
        $(
            let at = offset_of!(abi::$ty, $field);
            assert!(at >= end, "fields stand in their order");
            end = at + 1;
            let field = stringify!($field);
            writeln!($text, "_Static_assert(offsetof({}, {field}) == {at}, \"{field}\");", $c).unwrap();
        )*
        let _ = end;
    )*};
}

#[test]
fn structs_are_the_same_in_both_languages() {
    let mut text = "#include \"ust_plugin.h\"\n#include <stddef.h>\n".to_owned();
    layout! { text:
            Text as "ust_text" { data len }
            Error as "ust_error" { first second subject message }
            Arg as "ust_arg" { text number is_number }
            ArraySpec as "ust_array_spec" { name length role per kind min_bits }
            Description as "ust_description" { text mlir arrays array_count properties locate traits }
            Parent as "ust_parent" { name text properties locate }
            Place as "ust_place" { parent number expression last single leading }
            Site as "ust_site" { size lower max_positions pos_width crd_width room }
            Children as "ust_children" { parents offsets crd alike }
            Assembly as "ust_assembly" { host array position positions }
            Array as "ust_array" { data length }
            Interval as "ust_interval" { lo hi }
            Parents as "ust_parents" { positions intervals interval_count }
            Reach as "ust_reach" { host add positions listed }
            ChangedArray as "ust_changed_array" { data length }
            Change as "ust_change" { host resize moved pos positions freed done }
            Population as "ust_population" { parents stored runs span }
            Footprint as "ust_footprint" { positions bytes }
            Statistics as "ust_statistics" { shape rank entries runs span value_bytes full }
            Proposals as "ust_proposals" { host add }
            Alias as "ust_alias" { name with }
            LevelType as "ust_level_type" {
                name summary aliases alias_count samples sample_count data
                make describe fits assemble check walk locate footprint candidates relaxed adapted insert remove drop
            }
            Table as "ust_plugin_table" { abi level_count levels }
    }
    let source = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("layout.c");
    std::fs::write(&source, text).unwrap();
    shared::compiler(&["-fsyntax-only", source.to_str().unwrap()]);
}
