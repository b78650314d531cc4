//! What went wrong, for people and as JSON, and the exit code.

use std::io::{self, Write};
use std::ops::Range;
use std::path::{Component, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use ust::format::FormatError;
use ust::io::FileError;
use ust::level_api::LevelError;
use ust::ops::OpError;
use ust::plugin::PluginError;

/// What is said where there is no room.
const MEMORY: &str = "`--memory-limit 24G` says how much may be taken";

/// What is said where a device is missing, or fails.
const DEVICE: &str = "`ust info --gpu` says what this machine has; without `--backend` the processor computes, \
                      and `ust emit` writes the CUDA C++ for another machine";
/// Why a program has no code for GPUs, and how to get one that has.
pub(crate) const NO_GPU: &str = "it was built without the feature `gpu`; `cargo install --locked --path ust-cli \
                                 --features gpu` builds one that has it";
/// Back ends that write code and run nothing.
const WRITES: [&str; 2] = ["cuda-text", "cpp-text"];

/// Why the program ends without having done what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something to be told.
    Told(Box<Told>),
    /// Whoever reads the output has stopped reading: nobody is left to be told.
    NobodyReads,
    /// The command line cannot be read; told by its reader.
    Usage(clap::Error),
    /// Something that was told already.
    Reported {
        /// Whether the input is wrong.
        bad_input: bool,
    },
}

/// What is told about a failure.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Whether the text, the files or the combination of them given to the program are wrong, or
    /// else what was asked could not be done.
    bad_input: bool,
    message: String,
    /// The message, with the text and a mark where there is some, and help.
    full: String,
    help: Option<String>,
    /// Bytes of the text that is wrong.
    span: Option<Range<usize>>,
    /// The file that is wrong, and the line and column in it where there are some.
    file: Option<PathBuf>,
    place: Option<[usize; 2]>,
}

impl Failure {
    /// The input is wrong.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        let message = message.into();
        let full = message.clone();
        Told { bad_input: true, message, full, ..Told::default() }.into()
    }

    /// What was asked could not be done.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        let mut failure = Self::input(message);
        if let Self::Told(told) = &mut failure {
            told.bad_input = false;
        }
        failure
    }

    /// The program is wrong.
    pub(crate) fn defect(message: &str) -> Self {
        Self::failed(format!("a defect of this program, please report it: {message}"))
    }

    /// The same with a line of help.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        if let Self::Told(told) = &mut self {
            let help = help.into();
            told.full += &format!("\nhelp: {help}");
            told.help = Some(help);
        }
        self
    }

    /// The same, when it has been told.
    pub(crate) fn reported(self) -> Self {
        match self {
            Self::Told(told) => Self::Reported { bad_input: told.bad_input },
            other => other,
        }
    }

    /// What went wrong, as an object.
    pub(crate) fn object(&self) -> Value {
        match self {
            Self::Told(told) => told.object()["error"].take(),
            _ => Value::Null,
        }
    }

    /// Tells on standard error, and with `--json` on standard output too, as an object. Gives the
    /// exit code: 1 failed, 2 bad usage or bad input.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        // Where even this cannot be written, the exit code still says it.
        match self {
            Self::NobodyReads => ExitCode::SUCCESS,
            Self::Reported { bad_input } => ExitCode::from(if *bad_input { 2 } else { 1 }),
            Self::Usage(error) => {
                let _ = error.print();
                if json {
                    let text = error.to_string();
                    let first: Vec<&str> =
                        text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
                    let message = first.join(" ");
                    let message = message.strip_prefix("error: ").unwrap_or(&message);
                    let object = json!({ "message": message, "span": null, "help": null });
                    print_object(&json!({ "error": object }));
                }
                ExitCode::from(2)
            }
            Self::Told(told) => {
                let _ = writeln!(io::stderr(), "error: {}", told.full);
                if json {
                    print_object(&told.object());
                }
                ExitCode::from(if told.bad_input { 2 } else { 1 })
            }
        }
    }
}

impl Told {
    fn object(&self) -> Value {
        let span = self.span.as_ref().map(|span| [span.start, span.end]);
        let mut error = json!({ "message": self.message, "span": span, "help": self.help });
        if let Some(file) = &self.file {
            error["file"] = file.to_string_lossy().into();
        }
        if let Some([line, column]) = self.place {
            error["line"] = line.into();
            error["column"] = column.into();
        }
        json!({ "error": error })
    }
}

impl From<Told> for Failure {
    fn from(told: Told) -> Self {
        Self::Told(Box::new(told))
    }
}

fn print_object(object: &Value) {
    let _ = writeln!(io::stdout(), "{object}");
}

/// A command line that cannot be read; or one that asks for help, which is printed.
pub(crate) fn usage(error: clap::Error) -> Result<(), Failure> {
    if error.use_stderr() { Err(Failure::Usage(error)) } else { Ok(error.print()?) }
}

impl From<io::Error> for Failure {
    /// An error of writing to standard output.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::failed(format!("cannot write the output: {error}")),
        }
    }
}

impl From<ust::generate::GenerateError> for Failure {
    fn from(error: ust::generate::GenerateError) -> Self {
        Self::from(Told {
            bad_input: true,
            message: error.kind.to_string(),
            full: error.to_string(),
            help: error.help(),
            span: Some(error.span),
            ..Told::default()
        })
    }
}

impl From<FormatError> for Failure {
    fn from(error: FormatError) -> Self {
        Self::from(Told {
            bad_input: true,
            message: error.message().to_owned(),
            full: error.to_string(),
            help: error.help().map(str::to_owned),
            span: Some(error.span()),
            ..Told::default()
        })
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let text = error.to_string();
        let told = Told {
            bad_input: true,
            message: text.clone(),
            full: text,
            file: Some(error.path().to_owned()),
            ..Told::default()
        };
        Self::from(match error {
            FileError::Tensor { source, path } => match *source {
                // The text ends in the format, marked.
                ust::Error::Format(error) => Told {
                    message: format!("{}: {}", path.display(), error.message()),
                    help: error.help().map(str::to_owned),
                    span: Some(error.span()),
                    ..told
                },
                ust::Error::TooLarge(_) => {
                    return Self::from(Told { bad_input: false, ..told }).help(MEMORY);
                }
                source => Told { bad_input: is_bad_input(&source), ..told },
            },
            FileError::Text { line, column, .. } => Told { place: Some([line, column]), ..told },
            // What cannot be written is no fault of the input.
            FileError::Io { action, .. } => Told { bad_input: action != "write", ..told },
            _ => told,
        })
    }
}

impl From<OpError> for Failure {
    fn from(error: OpError) -> Self {
        let full = error.to_string();
        match error {
            OpError::Text { text, column, width, message, help } => {
                let byte = |at| text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
                let span = Some(byte(column)..byte(column + width));
                Self::from(Told { bad_input: true, message, full, help, span, ..Told::default() })
            }
            OpError::Tensor(error) => error.into(),
            error => Self::failed(error.to_string()),
        }
    }
}

impl From<PluginError> for Failure {
    fn from(error: PluginError) -> Self {
        let text = error.to_string();
        match error {
            // The system looks for a name without a folder elsewhere.
            PluginError::Open { path, .. }
                if path.components().eq(path.file_name().map(Component::Normal)) && path.exists() =>
            {
                Self::input(text).help(format!(
                    "a name alone is looked for where the system has libraries; the file here is `./{}`",
                    path.display()
                ))
            }
            _ => Self::input(text),
        }
    }
}

impl From<ust::advise::AdviseError> for Failure {
    fn from(error: ust::advise::AdviseError) -> Self {
        use ust::advise::AdviseError;
        match error {
            AdviseError::Operation(error) => error.into(),
            AdviseError::Tensor(error) => error.into(),
            error => Self::input(error.to_string()),
        }
    }
}

impl From<ust::Error> for Failure {
    fn from(error: ust::Error) -> Self {
        match error {
            ust::Error::Format(error) => error.into(),
            ust::Error::TooLarge(_) => Self::failed(error.to_string()).help(MEMORY),
            ust::Error::Cast { .. } => {
                Self::failed(error.to_string()).help("`--lossy` converts what does not fit, too")
            }
            ust::Error::Refused { backend, .. } if WRITES.contains(&backend) => {
                Self::failed(error.to_string())
                    .help("`ust emit` writes the source of an expression")
            }
            ust::Error::Refused { backend: "cuda", .. } | ust::Error::Device(_) => {
                Self::failed(error.to_string()).help(DEVICE)
            }
            error if is_bad_input(&error) => Self::input(error.to_string()),
            error => Self::failed(error.to_string()),
        }
    }
}

/// Whether an error says that the input is wrong, and not that something right cannot be done.
fn is_bad_input(error: &ust::Error) -> bool {
    use ust::Error;
    match error {
        Error::Level { source, .. } => {
            matches!(source, LevelError::Invalid { .. } | LevelError::Length { .. })
        }
        Error::Format(_)
        | Error::Columns { .. }
        | Error::OutOfBounds { .. }
        | Error::Order { .. }
        | Error::Parts(_)
        | Error::Shape { .. } => true,
        _ => false,
    }
}
