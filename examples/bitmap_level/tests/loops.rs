//! Which loops over this level reach a microkernel, and why the others do not.

#[path = "../../../ust/tests/tables/mod.rs"]
mod tables;

use bitmap_level as _;

#[test]
fn loops_have_kernels_or_a_reason() {
    let formats = [
        ("rows", "(i, j) -> (i : dense, j : bitmap)".parse().unwrap()),
        ("blocks", "(i, j) -> (i : bitmap, j : dense)".parse().unwrap()),
    ];
    let Some(found) = tables::table(&formats) else { return };
    let expected = include_str!("loops.txt");
    assert!(found == expected, "now the table is\n{found}");
}
