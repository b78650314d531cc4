//! Contenders in Python, in one process for all, which answers line by line: so their rounds take
//! turns with everybody else's, and their clock runs inside of Python.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use serde_json::{Value, json};
use ust::io::ReadOptions;
use ust::ndarray::Array1;
use ust::{Dtype, Tensor};

use super::BLOCKTIME;
use crate::matrix::case::Case;
use crate::matrix::contender::{Contender, Prepared, Runner, Surroundings, Version};
use crate::matrix::operation::Task;

inventory::submit! { Contender {
    name: "scipy", about: "SciPy, with --python", prepare: |case, around| prepare("scipy", case, around),
}}
inventory::submit! { Contender {
    name: "scipy-sorted", about: "SciPy, its products sorted as those of others are",
    prepare: |case, around| prepare("scipy-sorted", case, around),
}}
inventory::submit! { Contender {
    name: "numba", about: "loops compiled by Numba, with --python",
    prepare: |case, around| prepare("numba", case, around),
}}
inventory::submit! { Contender {
    name: "torch", about: "PyTorch, with --python", prepare: |case, around| prepare("torch", case, around),
}}

inventory::submit! { Version { contender: "scipy", of: |around| version("scipy", around) } }
inventory::submit! { Version { contender: "scipy-sorted", of: |around| version("scipy", around) } }
inventory::submit! { Version { contender: "numba", of: |around| version("numba", around) } }
inventory::submit! { Version { contender: "torch", of: |around| version("torch", around) } }

/// Refuses a Python that cannot be asked.
pub(crate) fn check(python: &Path) -> Result<(), String> {
    let shown = python.display();
    let probe = Command::new(python).args(["-c", "import numpy, scipy"]).output();
    let told = probe.map_err(|error| format!("--python {shown}: {error}"))?;
    match told.status.success() {
        true => Ok(()),
        false => Err(format!(
            "--python {shown}: it has no NumPy or no SciPy; `{shown} -m pip install numpy scipy` installs them"
        )),
    }
}

/// The version of a package, where there is a Python that has it.
fn version(package: &str, around: &Surroundings) -> Option<String> {
    let process = process(around.python.as_deref()?).ok()?;
    let mut process = process.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = process.ask(&json!({ "do": "version", "id": 0, "package": package })).ok()?;
    answer["version"].as_str().map(str::to_owned)
}

/// How often threads of GNU's OpenMP look for more work: about [`BLOCKTIME`].
const SPINCOUNT: u32 = 50_000 * BLOCKTIME;

/// What has the process's threads rest after [`BLOCKTIME`]. Who sets these variables is heard.
fn rest_soon() -> impl Iterator<Item = (&'static str, String)> {
    let variables = [("GOMP_SPINCOUNT", SPINCOUNT), ("KMP_BLOCKTIME", BLOCKTIME)];
    let unset = variables.into_iter().filter(|(name, _)| std::env::var_os(name).is_none());
    unset.map(|(name, value)| (name, value.to_string()))
}

/// The process, started when it is needed first, and how many requests to prepare it got.
static PROCESS: LazyLock<Mutex<Option<Arc<Mutex<Process>>>>> = LazyLock::new(Mutex::default);

struct Process {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    prepared: u64,
}

impl Process {
    fn start(python: &Path) -> Result<Self, String> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/python/contenders.py");
        let mut child = Command::new(python)
            .arg(script)
            .envs(rest_soon())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{}: {e}", python.display()))?;
        let requests = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().ok_or("Python has no output")?);
        Ok(Self { child, requests, answers, prepared: 0 })
    }

    fn ask(&mut self, request: &Value) -> Result<Value, String> {
        let requests = self.requests.as_mut().ok_or("Python is gone")?;
        writeln!(requests, "{request}").map_err(|e| e.to_string())?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|e| e.to_string())?;
        let answer: Value = serde_json::from_str(&line)
            .map_err(|_| "Python ended: does it have NumPy and SciPy?".to_owned())?;
        match answer["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The end of its input ends it.
        self.requests = None;
        let _ = self.child.wait();
    }
}

/// A piece of work that waits in the process.
struct Remote {
    process: Arc<Mutex<Process>>,
    id: u64,
    folder: PathBuf,
}

impl Remote {
    fn ask(&self, mut request: Value) -> Result<Value, String> {
        request["id"] = self.id.into();
        self.process.lock().unwrap_or_else(PoisonError::into_inner).ask(&request)
    }
}

impl Runner for Remote {
    fn time(&mut self, calls: usize) -> Result<f64, String> {
        let answer = self.ask(json!({ "do": "time", "calls": calls }))?;
        answer["seconds"].as_f64().ok_or_else(|| "no time was told".to_owned())
    }

    fn outcome(&mut self) -> Result<Vec<f64>, String> {
        let path = self.folder.join("outcome.npy");
        self.ask(json!({ "do": "outcome", "to": path }))?;
        let tensor = ust::io::read(&path, &ReadOptions::default()).map_err(|e| e.to_string())?;
        Ok(tensor.values().typed::<f64>().map_err(|e| e.to_string())?.to_vec())
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.ask(json!({ "do": "drop" }));
    }
}

/// The process, which is started if there is none.
fn process(python: &Path) -> Result<Arc<Mutex<Process>>, String> {
    let mut process = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    if process.is_none() {
        *process = Some(Arc::new(Mutex::new(Process::start(python)?)));
    }
    Ok(process.clone().ok_or("no process")?)
}

fn prepare(who: &str, case: &Case<'_>, around: &Surroundings) -> Prepared {
    let Some(python) = &around.python else { return Ok(None) };
    // Tensors of rank 3 have no counterpart there.
    if case.op.rank != 2 {
        return Ok(None);
    }
    let process = process(python)?;
    let id = {
        let mut process = process.lock().unwrap_or_else(PoisonError::into_inner);
        process.prepared += 1;
        process.prepared
    };
    let remote = Remote { process, id, folder: around.folder.clone() };
    let request = json!({
        "do": "prepare", "who": who, "op": case.op.name, "format": case.format,
        "threads": case.threads, "shape": case.shape, "file": around.mtx(case),
        "operands": files(case, around)?,
    });
    let answer = remote.ask(request)?;
    Ok((answer["ready"] == true).then(|| Box::new(remote) as Box<dyn Runner>))
}

/// The operands as files, written when they are needed first.
fn files(case: &Case<'_>, around: &Surroundings) -> Result<Vec<(String, PathBuf)>, String> {
    let mut tensors: Vec<(String, Tensor)> = match case.op.task {
        Task::Read => Vec::new(),
        Task::Build(_) => Vec::new(),
        _ => case.base.clone(),
    };
    if let Some(coo) = &case.entries {
        let column = |at: usize| Tensor::from_array(Array1::from(coo.crd[at].clone()).into_dyn());
        let values = coo.values.cast(Dtype::F64).map_err(|e| e.to_string())?;
        let values = values.typed::<f64>().map_err(|e| e.to_string())?.to_vec();
        let values = Tensor::from_array(Array1::from(values).into_dyn());
        let values = values.and_then(|v| v.cast(case.dtype));
        for (name, tensor) in [("rows", column(0)), ("columns", column(1)), ("values", values)] {
            tensors.push((name.to_owned(), tensor.map_err(|e| e.to_string())?));
        }
    }
    let mut files = Vec::new();
    for (name, tensor) in tensors {
        let kind = if tensor.format().tail() == 0 { "npy" } else { "npz" };
        let (op, input, dtype) = (case.op.name, around.stem(case), case.dtype);
        let path = around.folder.join(format!("{input}-{op}-{name}-{dtype}.{kind}"));
        if !path.exists() {
            ust::io::write(&path, &tensor).map_err(|e| e.to_string())?;
        }
        files.push((name, path));
    }
    Ok(files)
}
