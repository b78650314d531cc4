//! Which loops over this level reach a microkernel, and why the others do not.

#[path = "../../../ust/tests/tables/mod.rs"]
mod tables;

use delta_level as _;

#[test]
fn loops_have_kernels_or_a_reason() {
    let formats = [
        ("rows", "(i, j) -> (i : dense, j : delta)".parse().unwrap()),
        ("delta rows", "(i, j) -> (i : delta, j : delta)".parse().unwrap()),
    ];
    let Some(found) = tables::table(&formats) else { return };
    let expected = include_str!("loops.txt");
    assert!(found == expected, "now the table is\n{found}");
}
