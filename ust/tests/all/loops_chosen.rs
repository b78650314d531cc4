//! Who runs each expression on operands in each format, and which microkernels: a change of the choice
//! shows here.

use crate::tables_of::{EXPRESSIONS, LOOPS_FORMATS, Operands, stages};

fn table() -> String {
    let operands = Operands::new();
    let mut table = String::new();
    for expression in EXPRESSIONS {
        table += &format!("{expression}\n");
        for format in LOOPS_FORMATS {
            let told = stages(expression, &operands, &format.parse().unwrap());
            table += &format!("  {format:<11} {told}\n");
        }
    }
    table
}

/// What `loops.txt` says holds with these vector instructions, in which most kernels are written.
#[test]
fn each_expression_has_its_kernels() {
    #[cfg(target_arch = "x86_64")]
    let is_known = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let is_known = false;
    if !is_known || !ust::provider::names().contains(&"jit") {
        println!("skipped: other kernels on this machine");
        return;
    }
    let found = table();
    let expected = include_str!("loops_chosen.txt");
    assert!(found == expected, "now the table is\n{found}");
}
