//! Golden data: arrays and statements of other systems, compared with what is stored here.
//!
//! The data are JSON files in a folder of their own, which need not be there; a README beside them
//! defines their fields.
//!
//! | module | file | what |
//! |---|---|---|
//! | `texts` | `formats.json` | lines of format text that parse and store |
//! | `arrays` | `mlir.json` | arrays as MLIR stores them |
//! | `worked` | `examples.json` | worked examples, many of them in part |
//! | `behaviours` | `examples.json` | statements that a test should hold |
//! | `taco` | `taco.json` | arrays of TACO and others, and products |
//! | `read` | | formats, tensors and arrays out of JSON |

mod arrays;
mod behaviours;
mod read;
mod taco;
mod texts;
mod worked;

use std::path::PathBuf;

use serde_json::Value;

use crate::report::{Case, Outcome, Verdict};

/// Names the folder of golden data, where it is not `../shared/golden` beside the workspace.
pub const FOLDER: &str = "UST_GOLDEN";

/// Where the golden data are looked for.
#[must_use]
pub fn folder() -> PathBuf {
    std::env::var_os(FOLDER).map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/golden")),
        PathBuf::from,
    )
}

/// Tries every golden case. A file that is not there is one case, which says so.
#[must_use]
pub fn cases() -> Vec<Case> {
    type Try = fn(&Value) -> Verdict;
    let files: [(&str, &str, &str, Try); 5] = [
        ("formats.json", "", "golden/formats", texts::try_line),
        ("mlir.json", "", "golden/mlir", arrays::try_case),
        ("examples.json", "/storage", "golden/examples", worked::try_case),
        ("examples.json", "/behaviours", "golden/behaviours", behaviours::try_case),
        ("taco.json", "", "golden/taco", taco::try_case),
    ];
    let mut cases = Vec::new();
    for (file, part, group, body) in files {
        match list(file, part) {
            Ok(list) => cases.extend(list.iter().map(|case| {
                let name = case["name"].as_str().unwrap_or("(no name)");
                Case::run(group, name, || body(case))
            })),
            Err(outcome) => {
                let (group, name) = (group.to_owned(), file.to_owned());
                cases.push(Case { group, name, outcome, tried: 1 });
            }
        }
    }
    cases
}

/// The cases of a file.
fn list(file: &str, part: &str) -> Result<Vec<Value>, Outcome> {
    let path = folder().join(file);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Outcome::Absent(format!(
                "folder not found: {} (set {FOLDER})",
                path.display()
            )));
        }
        Err(error) => return Err(Outcome::Failed(format!("{}: {error}", path.display()))),
    };
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| Outcome::Failed(format!("{}: {error}", path.display())))?;
    match value.pointer(part) {
        Some(Value::Array(list)) => Ok(list.clone()),
        _ => Err(Outcome::Failed(format!("{file} has no list at `{part}`"))),
    }
}
