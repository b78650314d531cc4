//! Who runs each expression on operands in each format, and which microkernels: a change of the choice
//! shows here.

use ust::Format;

use crate::tables_of::{LOOPS_FORMATS, Operands, stages, table};

#[test]
fn each_expression_has_its_kernels() {
    let formats = LOOPS_FORMATS.map(|name| (name, name.parse().unwrap()));
    let Some(found) = table(&formats) else { return };
    let expected = include_str!("loops_chosen.txt");
    assert!(found == expected, "now the table is\n{found}");
}

#[test]
fn slices_of_each_size_are_one_call() {
    if !ust::provider::names().contains(&"jit") {
        return;
    }
    let operands = Operands::new();
    let slices = [3, 4, 8, 16, 32].map(|rows| (format!("SELL({rows})"), "slices-of-rows"));
    for (name, kernel) in slices.into_iter().chain([("ELL".to_owned(), "slots-of-rows")]) {
        let format: Format = name.parse().unwrap();
        let found = stages("y(i) = A(i,j) * x(j)", &operands, &format);
        assert!(found.starts_with("jit") && found.ends_with(kernel), "{name}: {found}");
    }
}
