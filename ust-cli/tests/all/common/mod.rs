//! Runs the built program.
#![allow(dead_code, reason = "each test file uses a part")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// What a run of the program gave.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `ust` in a folder.
pub(crate) fn ust_in(folder: &Path, args: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ust"));
    let Output { status, stdout, stderr } =
        command.args(args).current_dir(folder).output().expect("the program starts");
    Ran {
        code: status.code(),
        stdout: String::from_utf8(stdout).expect("output is text"),
        stderr: String::from_utf8(stderr).expect("errors are text"),
    }
}

/// Runs `ust` where no file matters.
pub(crate) fn ust(args: &[&str]) -> Ran {
    ust_in(&std::env::temp_dir(), args)
}

impl Ran {
    /// The output of a run that must have succeeded without a word on standard error.
    pub(crate) fn done(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{}", self.stdout);
        self.stdout
    }

    /// The output of such a run, as one JSON object.
    pub(crate) fn json(self) -> Value {
        parse(&self.done())
    }
}

/// Reads one JSON object.
pub(crate) fn parse(text: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert!(value.is_object(), "{text}");
    value
}
