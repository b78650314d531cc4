//! The same expressions as C++: a compiler of the host accepts each text.

use std::process::Command;

use super::cases::CASES;

#[test]
fn each_expression_is_cpp_as_well() {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "g++".to_owned());
    if Command::new(&compiler).arg("--version").output().is_err() {
        eprintln!("skipped: there is no C++ compiler `{compiler}`; set $CXX to one");
        return;
    }
    let folder = std::env::temp_dir().join(format!("ust-cpp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut command = Command::new(&compiler);
    command.args(["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]);
    // Loops have names for coordinates that nothing is computed of.
    command.arg("-Wno-unused-variable").current_dir(&folder);
    for case in CASES.iter().filter(|case| case.is_expression()) {
        let file = format!("{}.cpp", case.name);
        std::fs::write(folder.join(&file), case.text_by("cpp-text")).unwrap();
        command.arg(file);
    }
    let out = command.output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}
