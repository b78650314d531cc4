//! Every program runs on what it is given when nothing is said, and says something.

use std::process::Command;

#[test]
fn every_program_runs() {
    for program in [
        env!("CARGO_BIN_EXE_attention"),
        env!("CARGO_BIN_EXE_bellman_ford"),
        env!("CARGO_BIN_EXE_conjugate_gradients"),
        env!("CARGO_BIN_EXE_cp_als"),
        env!("CARGO_BIN_EXE_pagerank"),
        env!("CARGO_BIN_EXE_triangles"),
    ] {
        let output = Command::new(program).output().expect("the program starts");
        let told = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !told.is_empty(), "{program}: {told}{error}");
    }
}

#[test]
fn another_format_can_be_given() {
    let program = env!("CARGO_BIN_EXE_triangles");
    let count = |format: &str| {
        let output = Command::new(program).args(["gen:rmat(8, edges=2000)", format]).output();
        String::from_utf8(output.expect("the program starts").stdout).expect("text")
    };
    assert!(count("CSR").contains("triangles"));
    assert_eq!(count("CSR"), count("DCSR"));
}
