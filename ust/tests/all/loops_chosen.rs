//! Who runs each expression on operands in each format, and which microkernels: a change of the choice
//! shows here.

use crate::tables_of::{LOOPS_FORMATS, table};

#[test]
fn each_expression_has_its_kernels() {
    let formats = LOOPS_FORMATS.map(|name| (name, name.parse().unwrap()));
    let Some(found) = table(&formats) else { return };
    let expected = include_str!("loops_chosen.txt");
    assert!(found == expected, "now the table is\n{found}");
}
