//! Kernels on a virtual GPU, which looks at every access: a part of the suite's operations, and schedules of which
//! something false is said. What is wrong on a GPU must be found here.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::OnceLock;

use ndarray::Array1;
use ust::gpu::{FullTable, Gpu, Schedules, emulator};
use ust::level_api::inventory;
use ust::ops::OpError;
use ust::provider::plan::{Array, Plan};
use ust::provider::{Executable, Offer, Provider, Registration};
use ust::schedule::Schedule;
use ust::{Backend, Error, Format, Tensor, einsum};
use ust_conformance::{formats, inputs, samples};
use ust_level_api::ir::schedule::{Marks, Sharing};
use ust_level_api::ir::{ArrayId, Expr, Stmt};

/// Where compiled kernels are kept.
const CACHE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/cache");

/// Whether there is a virtual GPU; says so if there is none.
fn is_emulated() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        // SAFETY: every test comes here first, and waits here for the first one.
        unsafe { std::env::set_var("UST_CACHE_DIR", CACHE) };
        match emulator::install() {
            Ok(()) => true,
            Err(error) => {
                eprintln!("SKIPPED: {error}");
                false
            }
        }
    })
}

/// One trial of so many is tried.
const ONE_IN: &str = "25";

#[test]
fn operations_pass_on_a_virtual_gpu() {
    if !is_emulated() {
        return;
    }
    let suite = Command::new(env!("CARGO_BIN_EXE_ust-conformance"))
        .args(["--emulate-gpu", "--backend", "cuda", "--group", "ops", "--quick"])
        .args(["--one-in", ONE_IN])
        .output()
        .expect("the suite's program starts");
    let report = String::from_utf8_lossy(&suite.stdout);
    print!("{report}");
    assert!(suite.status.success(), "{report}{}", String::from_utf8_lossy(&suite.stderr));
    // What is refused counts as passed: most must have run.
    let told = report.lines().find_map(|line| line.strip_prefix("on a GPU: ")).expect("a tally");
    let launched = told.split(' ').next().and_then(|number| number.parse::<usize>().ok());
    assert!(launched >= Some(150), "{told}");
}

/// So many formats are converted from, at most: more level types make more formats, and each conversion is compiled.
const FORMATS: usize = 75;

/// Converts a tensor on the device and on the host.
fn converts_alike(gpu: &Gpu, tensor: &Tensor, to: &Format) {
    let there = gpu.upload(tensor).unwrap().convert(to).and_then(|made| made.download());
    let here = tensor.convert(to);
    let what = format!("`{}` to `{to}`", tensor.format());
    match (&there, &here) {
        (Ok(there), Ok(here)) => assert_eq!(there, here, "{what}"),
        (Err(there), Err(here)) => assert_eq!(there.to_string(), here.to_string(), "{what}"),
        _ => panic!("{what}: {there:?} on the device, {here:?} on the host"),
    }
}

#[test]
fn conversions_on_a_virtual_gpu_are_those_of_the_host() {
    if !is_emulated() {
        return;
    }
    let gpu = Gpu::open(0).unwrap();
    let samples = samples::all();
    let about: Vec<_> = samples.iter().collect();
    let stacks = formats::stacks(&about, &samples);
    let candidates = stacks.iter().flat_map(|stack| formats::arrange(stack, true));
    let all: Vec<Format> = candidates.filter_map(|one| one.text.parse().ok()).collect();
    let few: Vec<&Format> = all.iter().step_by(all.len().div_ceil(FORMATS).max(1)).collect();
    println!("{} of {} formats", few.len(), all.len());
    assert!(few.len() > 20);
    for (at, from) in few.iter().enumerate() {
        let others = few.iter().cycle().skip(7 * at + 1).take(few.len());
        let others = others.filter(|to| to.rank() == from.rank());
        let others: Vec<_> = others.take(2).collect();
        // Each dtype is another kernel.
        let given = inputs::inputs(from.rank(), 1, at);
        for input in given.iter().filter(|input| matches!(input.name, "spread" | "odd")) {
            let Ok(tensor) = input.store(from) else { continue };
            others.iter().for_each(|to| converts_alike(&gpu, &tensor, to));
        }
    }
}

/// A false statement about a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    /// None.
    None,
    /// Nothing is combined by several parts at the same time.
    NothingAtomic,
    /// Lanes form no sums.
    NoSums,
    /// Lanes that share a table combine nothing into the same value.
    NothingShared,
    /// Some coordinates of a table are not noted.
    FewerNotes,
    /// No additions are counted.
    NoAdditions,
}

thread_local! {
    static LIE: Cell<Lie> = const { Cell::new(Lie::None) };
    static LIED: Cell<bool> = const { Cell::new(false) };
}

struct Lying;

inventory::submit!(Registration(&Lying));

impl Provider for Lying {
    fn name(&self) -> &'static str {
        "lying"
    }

    fn summary(&self) -> &'static str {
        "CUDA by schedules of which something false is said, for tests"
    }

    fn offer(&self, _plan: &Plan<'_>) -> Offer {
        Offer::OnRequest("it lies".to_owned())
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        let mut schedules = Schedules::new(plan).unwrap();
        let Schedules { alone, shared, several, elements, tables, .. } = &mut schedules;
        for schedule in [Some(alone), shared.as_mut(), tables.as_mut()].into_iter().flatten() {
            let lied = falsify(schedule, plan);
            LIED.set(LIED.get() || lied);
        }
        if LIE.get() != Lie::None {
            // They would run in the place of the others.
            *elements = None;
            several.clear();
        }
        ust::gpu::executable(plan, schedules)
    }
}

/// Makes a schedule false. Returns whether it could.
fn falsify(schedule: &mut Schedule, plan: &Plan<'_>) -> bool {
    let marks = &mut schedule.scheduled.marks;
    match LIE.get() {
        Lie::None => false,
        Lie::NothingAtomic => {
            let result = plan.facts.arrays.iter().position(|array| *array == Array::Result);
            let was = result.and_then(|at| marks.arrays.insert(ArrayId(at as u32), Sharing::Own));
            was == Some(Sharing::Atomic)
        }
        Lie::NoSums => {
            let sums = marks.loops.values_mut().filter_map(|marks| marks.lanes.as_mut());
            sums.fold(false, |lied, sums| {
                let had = !sums.is_empty();
                sums.clear();
                lied || had
            })
        }
        Lie::NothingShared => {
            let Some(table) = marks.table else { return false };
            marks.arrays.insert(table.values, Sharing::Own) == Some(Sharing::Workspace)
        }
        Lie::FewerNotes => {
            let Some(table) = marks.table else { return false };
            forget(&mut schedule.scheduled.function.body, table.marks)
        }
        Lie::NoAdditions => {
            let Some(bounding) = &mut schedule.bounding else { return false };
            bounding.function.body.clear();
            bounding.marks = Marks::default();
            true
        }
    }
}

/// Notes no odd coordinates. Returns whether any were noted.
fn forget(body: &mut [Stmt], marks: ArrayId) -> bool {
    body.iter_mut().fold(false, |found, stmt| {
        let here = match stmt {
            Stmt::Store(array, at, Expr::Int(1)) if *array == marks => {
                let cond = at.clone().modulo(2).equals(0);
                *stmt = Stmt::If { cond, then: vec![stmt.clone()], otherwise: Vec::new() };
                true
            }
            Stmt::For { body, .. } | Stmt::While { body, .. } => forget(body, marks),
            Stmt::If { then, otherwise, .. } => forget(then, marks) | forget(otherwise, marks),
            _ => false,
        };
        found | here
    })
}

fn matrix(format: &str) -> Tensor {
    let coo = ust::generate::generate("random(40x40, nnz=300, seed=5)").unwrap();
    Tensor::from_coo(&coo, format).unwrap()
}

fn call(expression: &str, format: &str) -> ust::ops::Einsum {
    if expression == PRODUCT {
        return einsum(expression).arg("A", matrix(format)).arg("B", matrix(format)).format("CSR");
    }
    let values = (0..40).map(|at| f64::from(at % 7) - 2.5).collect::<Array1<_>>();
    let x = Tensor::from_array(values.into_dyn()).unwrap();
    let call = einsum(expression).arg("A", matrix(format)).arg("x", x);
    call.format("Dense")
}

/// The result on the virtual GPU with a lie told, unless it fails, and whether the lie changed anything.
fn told(lie: Lie, expression: &str, format: &str) -> (Option<Tensor>, bool) {
    ust::ops::clear_kernels();
    LIE.set(lie);
    LIED.set(false);
    let call = call(expression, format).backend(Backend::Named("lying"));
    let result = catch_unwind(AssertUnwindSafe(|| call.run()));
    LIE.set(Lie::None);
    (result.ok().and_then(Result::ok), LIED.get())
}

/// Whether a result differs from that of the interpreter. Looking at it may fail.
fn differs(result: Option<Tensor>, expression: &str, format: &str) -> bool {
    let Some(found) = result else { return true };
    let expected = call(expression, format).backend(Backend::INTERPRETER).run().unwrap();
    let full = |result: &Tensor| {
        let full = result.convert(ust::Format::full(result.rank()).unwrap()).unwrap();
        full.values().typed::<f64>().unwrap().to_vec()
    };
    let Ok(found) = catch_unwind(AssertUnwindSafe(|| full(&found))) else { return true };
    found.iter().zip(full(&expected)).any(|(a, b)| (a - b).abs() > 1e-12 * b.abs().max(1.0))
}

#[test]
fn a_table_without_room_is_an_error() {
    if !is_emulated() {
        return;
    }
    for format in ["CSR", "DCSR"] {
        ust::ops::clear_kernels();
        LIE.set(Lie::NoAdditions);
        LIED.set(false);
        let found = call(PRODUCT, format).backend(Backend::Named("lying")).run();
        LIE.set(Lie::None);
        assert!(LIED.get());
        let Err(OpError::Tensor(Error::Device(error))) = found else {
            panic!("{format}: {found:?}")
        };
        assert!(error.is::<FullTable>(), "{format}: {error}");
    }
}

const BY_ROW: &str = "y(i) = A(i,j) * x(j)";
const BY_COLUMN: &str = "y(j) = A(i,j) * x(i)";
const PRODUCT: &str = "C(i,k) = A(i,j) * B(j,k)";

#[test]
fn false_schedules_are_found() {
    if !is_emulated() {
        return;
    }
    let cases = [
        (Lie::NothingAtomic, BY_ROW, "CSC"),
        (Lie::NothingAtomic, BY_ROW, "DIA-I"),
        (Lie::NothingAtomic, BY_ROW, "BSC(4,4)"),
        (Lie::NothingAtomic, BY_COLUMN, "COO"),
        (Lie::NothingAtomic, BY_COLUMN, "CSR"),
        (Lie::NoSums, BY_ROW, "CSR"),
        (Lie::NoSums, BY_ROW, "BSR(4,4)"),
        (Lie::NoSums, BY_COLUMN, "CSC"),
        (Lie::NothingShared, PRODUCT, "CSR"),
        (Lie::NothingShared, PRODUCT, "DCSR"),
        (Lie::FewerNotes, PRODUCT, "CSR"),
    ];
    for (lie, expression, format) in cases {
        let (truth, _) = told(Lie::None, expression, format);
        assert!(!differs(truth, expression, format), "{expression} {format}");
        let (result, lied) = told(lie, expression, format);
        assert!(lied, "{lie:?} changes nothing: {expression} {format}");
        assert!(differs(result, expression, format), "{lie:?} is missed: {expression} {format}");
    }
}
