//! What plans say of their loops is true, and what is not true is found: facts are falsified one at a time,
//! and the run in shuffled order has to notice.

use std::cell::Cell;

use ndarray::Array1;
use ust::level_api::inventory;
use ust::level_api::ir::BinOp;
use ust::level_api::ir::idiom::{Idiom, Place};
use ust::level_api::ir::interp::Program;
use ust::ops::OpError;
use ust::provider::plan::{Facts, Over, Plan};
use ust::provider::{Executable, Offer, Provider, Registration};
use ust::{Backend, Error, Tensor, einsum};
use ust_conformance::shuffled::{self, Pass};

/// A false statement about a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    /// None: what the plan says.
    None,
    /// Parts of the outermost loop write different elements.
    PartsOwn,
    /// Iterations of all loops write different elements, and add to no sum.
    LoopsOwn,
    /// Nothing passes from one iteration to the next.
    NothingPasses,
    /// Rows are stored only when it is known that they are kept.
    NothingSpeculative,
    /// Sums begin with another value.
    OtherStart,
    /// No variables but those of loops and sums pass from one iteration of the outermost loop to the next.
    NothingCarried,
    /// Another factor is read in the loops.
    OtherFactor,
    /// The target of products stays where it moves, or moves where it stays.
    OtherTarget,
    /// Sums are combined by another operator.
    OtherOperator,
}

thread_local! {
    static LIE: Cell<Lie> = const { Cell::new(Lie::None) };
    /// Whether the last lie changed the facts of any plan.
    static LIED: Cell<bool> = const { Cell::new(false) };
    /// How plans are scheduled.
    static PASS: Cell<Pass> = const { Cell::new(Pass::Planned) };
}

struct Lying;

inventory::submit!(Registration(&Lying));

impl Provider for Lying {
    fn name(&self) -> &'static str {
        "lying"
    }

    fn summary(&self) -> &'static str {
        "runs plans of which something false is said, for tests"
    }

    fn offer(&self, _plan: &Plan<'_>) -> Offer {
        Offer::OnRequest("it lies".to_owned())
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        let (mut plan, mut facts): (Plan<'_>, Facts) = (plan.clone(), plan.facts.clone());
        let mut lied = false;
        match LIE.get() {
            Lie::None => {}
            Lie::PartsOwn => {
                lied = !facts.outermost.owns;
                facts.outermost.owns = true;
            }
            Lie::LoopsOwn => {
                for one in &mut facts.loops {
                    lied |= !one.owns && !one.sequential;
                    (one.owns, one.sum) = (true, None);
                }
                // Atomic sums of parts would hide those of lanes.
                facts.outermost.owns = true;
                facts.outermost.cut = Err("for this test");
            }
            Lie::NothingPasses => {
                // Only innermost loops run in lanes.
                let most = facts.loops.iter().map(|one| one.depth).max();
                for one in &mut facts.loops {
                    lied |= one.over == Over::Followed && Some(one.depth) == most;
                    (one.sequential, one.owns) = (false, true);
                    one.vars.truncate(1);
                }
            }
            Lie::NothingSpeculative => lied = plan.guarded.take().is_some(),
            Lie::NothingCarried => {
                lied = !facts.carried.is_empty();
                facts.carried.clear();
                if let Some(rows) = &mut facts.rows {
                    lied |= rows.listed.take().is_some();
                }
            }
            Lie::OtherFactor | Lie::OtherTarget => {}
            Lie::OtherOperator => {
                for sum in facts.loops.iter_mut().filter_map(|one| one.sum.as_mut()) {
                    lied |= sum.op == Some(BinOp::Add);
                    sum.op = Some(BinOp::Mul);
                }
            }
            Lie::OtherStart => {
                let most = facts.loops.iter().filter(|one| !one.once).map(|one| one.depth).max();
                for one in &mut facts.loops {
                    let Some(sum) = &mut one.sum else { continue };
                    lied |= !one.sequential && !one.once && Some(one.depth) == most;
                    sum.start = sum.start.dtype().one();
                }
            }
        }
        if let Lie::OtherFactor | Lie::OtherTarget = LIE.get() {
            let mut function = plan.function.clone();
            // Loops for cut blocks, or for rows without entries, are not run here: there must be one nest alone.
            let mut products = function.idioms.iter_mut().filter(|idiom| is_product(idiom));
            lied = match (products.next(), products.next()) {
                (Some(one), None) => falsify(one),
                _ => false,
            };
            LIED.set(LIED.get() || lied);
            return Ok(Box::new(Program::compile(&function.meant())?));
        }
        LIED.set(LIED.get() || lied);
        shuffled::compile(&plan, &facts, PASS.get())
    }
}

/// Whether an idiom is a nest of loops over products, and sets no row to zero alone.
fn is_product(idiom: &Idiom) -> bool {
    matches!(idiom, Idiom::Nest(nest) if nest.op.is_some() || nest.factors.len() > 1)
}

/// Makes an idiom false. Returns whether it could.
fn falsify(idiom: &mut Idiom) -> bool {
    let Idiom::Nest(nest) = idiom else { return false };
    if LIE.get() == Lie::OtherFactor {
        let two = nest.factors.len() == 2;
        if two {
            nest.factors[1] = nest.factors[0].clone();
        }
        return two;
    }
    let index = match (&mut nest.target, &mut nest.sum) {
        (Place::Element(_, index), _) => index,
        (Place::Var(_), Some(sum)) => &mut sum.index,
        (Place::Var(_), None) => return false,
    };
    match index.steps.pop() {
        Some(_) => index.base.clear(),
        None => return false,
    }
    true
}

fn matrix(format: &str) -> Tensor {
    let coo = ust::generate::generate("random(40x40, nnz=300, seed=5)").unwrap();
    Tensor::from_coo(&coo, format).unwrap()
}

fn vector() -> Tensor {
    let values = (0..40).map(|at| f64::from(at % 7) - 2.5).collect::<Array1<_>>();
    Tensor::from_array(values.into_dyn()).unwrap()
}

/// The result of `expression` on `A` and `B` in `format` and a vector `x`, with a lie told. `None` if the lie
/// changes nothing.
fn told(lie: Lie, expression: &str, format: &str) -> Option<Result<Tensor, OpError>> {
    // Kernels are kept by what they are for, and would be taken for another lie.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    ust::ops::clear_kernels();
    LIE.set(lie);
    LIED.set(lie == Lie::None);
    let result = call(expression, format).backend(Backend::Named("lying")).run();
    LIE.set(Lie::None);
    LIED.get().then_some(result)
}

fn call(expression: &str, format: &str) -> ust::ops::Einsum {
    let other = ust::generate::generate("random(40x40, nnz=300, seed=9)").unwrap();
    let other = Tensor::from_coo(&other, format).unwrap();
    let call = einsum(expression).arg("A", matrix(format));
    let call = if expression.contains("x(") { call.arg("x", vector()) } else { call };
    if expression.contains("B(") { call.arg("B", other) } else { call }
}

/// Whether a lie was noticed: the run failed, or gives another result than the interpreter.
fn is_noticed(result: &Result<Tensor, OpError>, expression: &str, format: &str) -> bool {
    let Ok(found) = result else { return true };
    let expected = call(expression, format).backend(Backend::INTERPRETER).run().unwrap();
    !is_near(found, &expected)
}

/// Whether two results are the same but for rounding.
fn is_near(found: &Tensor, expected: &Tensor) -> bool {
    let [found, expected] = [found, expected].map(|one| {
        let full = one.convert(ust::Format::full(one.rank()).unwrap()).unwrap();
        full.values().typed::<f64>().unwrap().to_vec()
    });
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
    found.len() == expected.len() && found.iter().zip(&expected).all(near)
}

const BY_ROW: &str = "y(i) = A(i,j) * x(j)";

const FORMATS: [&str; 8] = [
    "CSR",
    "CSC",
    "COO",
    "DCSR",
    "BSR(4,4)",
    "BSC(4,4)",
    "DIA-I",
    "(i, j) -> (i : compressed(nonunique, nonordered), j : singleton(nonordered))",
];

const EXPRESSIONS: [&str; 7] = [
    BY_ROW,
    "y(j) = A(i,j) * x(i)",
    "C(i,j) = A(i,j) + B(i,j)",
    "C(i,j) = A(i,j) * B(i,j)",
    "C(i,k) = A(i,j) * B(j,k)",
    "s = A(i,j) * B(i,j)",
    "C(i,j) = A(i,j) + x(j)",
];

#[test]
fn the_truth_gives_what_the_interpreter_gives() {
    for expression in EXPRESSIONS {
        for format in FORMATS {
            let result = told(Lie::None, expression, format).unwrap();
            assert!(!is_noticed(&result, expression, format), "{expression} {format}: {result:?}");
        }
    }
}

#[test]
fn lanes_that_share_a_table_give_what_the_interpreter_gives() {
    let expression = "C(i,k) = A(i,j) * B(j,k)";
    let backend = Backend::Named("shuffled-by-table");
    for format in ["CSR", "DCSR", "(i, j) -> (i : compressed(nonunique), j : singleton)"] {
        let result = call(expression, format).format("CSR").backend(backend).run();
        assert!(!is_noticed(&result, expression, format), "{format}: {result:?}");
    }
    // As many additions as coordinates.
    let ends: Vec<i64> = (0..40).collect();
    let one = ust::Coo::new(vec![40, 40], vec![ends.clone(), ends], vec![1.0; 40]).unwrap();
    let one = Tensor::from_coo(&one, "CSR").unwrap();
    let same = einsum(expression).arg("A", matrix("CSR")).arg("B", &one).format("CSR");
    assert!(same.backend(backend).run().unwrap() == matrix("CSR"));
}

/// Expressions whose rows or runs of entries are cut into parts of equally many stored elements, and the formats of
/// `A`.
const BY_STORED: [(&str, &[&str]); 6] = [
    (BY_ROW, &["CSR", "DCSR", "COO"]),
    ("y(i) = A(i,j)", &["CSR", "COO"]),
    ("C(i,j) = A(i,j) * x(j)", &["CSR", "DCSR"]),
    ("C(i,j) = A(i,j) * x(i) * 2", &["CSR", "DCSR"]),
    ("C(i,j) = x(j) * A(i,j) - A(i,j)", &["CSR"]),
    ("C(i,k) = A(i,j) * B(j,k)", &["CSR", "DCSR"]),
];

/// A matrix with a row of 40 entries, which most parts begin in the middle of.
fn with_long_row(format: &str) -> Tensor {
    let i: Vec<i64> = (0..44).map(|at| (at - 39).max(0) * 7).collect();
    let j = (0..44).map(|at| at % 40).collect();
    let values: Vec<f64> = (0..44).map(|at| f64::from(at % 9) - 3.5).collect();
    let coo = ust::Coo::new(vec![40, 40], vec![i, j], values).unwrap();
    Tensor::from_coo(&coo, format).unwrap()
}

/// The result of an expression by stored elements, where `B` is dense, and results have the format of a matrix `A`
/// with the same entries.
fn by_stored(expression: &str, a: &Tensor, backend: Backend) -> Result<Tensor, OpError> {
    let dense = ust::generate::generate("random(40x40, nnz=1600, seed=9)").unwrap();
    let dense = Tensor::from_coo(&dense, "Dense").unwrap();
    let call = einsum(expression).arg("A", a).backend(backend);
    let call = if expression.contains("x(") { call.arg("x", vector()) } else { call };
    match expression {
        _ if expression.contains("B(") => call.arg("B", dense).run(),
        _ if expression.starts_with('C') => call.format(a.format().to_string()).run(),
        _ => call.run(),
    }
}

#[test]
fn parts_of_stored_elements_give_what_the_interpreter_gives() {
    for (expression, formats) in BY_STORED {
        let matrices = formats.iter().flat_map(|format| [matrix(format), with_long_row(format)]);
        for a in matrices {
            let format = a.format();
            let run = |backend| {
                let run = by_stored(expression, &a, backend);
                run.unwrap_or_else(|error| panic!("{expression}, {format}: {error}"))
            };
            let [found, expected] = ["shuffled-by-stored", "interp"].map(Backend::Named).map(run);
            assert!(is_near(&found, &expected), "{expression}, {format}");
        }
    }
}

/// A product with a full matrix of `k` columns, or with `is_sum` products of full matrices of `k` columns at the entries
/// of a matrix.
fn wide(k: usize, is_sum: bool, strict: bool) -> ust::ops::Einsum {
    let full = |rows: usize| {
        let value = |(i, j)| f64::from((i as u32 * 7 + j as u32 * 3) % 11) - 5.0;
        Tensor::from_array(ndarray::Array2::from_shape_fn((rows, k), value).into_dyn()).unwrap()
    };
    let call = match is_sum {
        true => einsum("C(i,j) = M(i,j) * A(i,k) * B(j,k)")
            .arg("M", matrix("CSR"))
            .arg("A", full(40))
            .format("CSR"),
        false => einsum("C(i,k) = A(i,j) * B(j,k)").arg("A", matrix("DCSR")),
    };
    let call = call.arg("B", full(40));
    if strict { call.strict() } else { call }
}

#[test]
fn elements_side_by_side_give_what_the_interpreter_gives() {
    for (k, strict) in [(6, false), (7, false), (6, true)] {
        for is_sum in [true, false] {
            let case = format!("{k}, strict: {strict}, a sum: {is_sum}");
            let call = || wide(k, is_sum, strict);
            let before = shuffled::tally().in_vectors;
            let found = call().backend(Backend::Named("shuffled-in-vectors")).run();
            // A strict sum is formed in its order.
            assert_eq!(found.is_err(), strict && is_sum, "{case}");
            let Ok(found) = found else { continue };
            assert_eq!(shuffled::tally().in_vectors > before, k == 6, "{case}");
            let expected = call().backend(Backend::INTERPRETER).run().unwrap();
            let values = [&found, &expected].map(|one| one.values().typed::<f64>().unwrap());
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
            assert!(values[0].iter().zip(values[1]).all(near), "{case}");
            assert!(!strict || found == expected, "{case}");
        }
    }
}

#[test]
fn elements_apart_give_what_the_interpreter_gives() {
    for (k, strict) in (2..=10).map(|k| (k, false)).chain([(7, true)]) {
        let call = || wide(k, false, strict);
        let found = call().backend(Backend::Named("shuffled-in-strides")).run();
        let found = found.unwrap_or_else(|error| panic!("{k} columns: {error}"));
        let expected = call().backend(Backend::INTERPRETER).run().unwrap();
        assert_eq!(found, expected, "{k} columns, strict: {strict}");
    }
    // Lanes form its sums.
    assert!(wide(7, true, false).backend(Backend::Named("shuffled-in-strides")).run().is_err());
}

/// Expressions of full matrices whose rows share what they read, the format of the result, and whether its elements are
/// side by side as well.
const IN_BLOCKS: &[(&str, &str, bool)] = &[
    ("C(i,k) = A(i,j) * B(j,k)", "Dense", true),
    ("C(i,k) = A(i,j) * B(j,k)", "Dense-Col", false),
    ("C(i,k) = A(i,j) * B(j,k) + z(k)", "Dense", true),
    ("C(i,k) = max(j, A(i,j) + B(j,k))", "Dense", true),
    ("C(i,k) = B(i,k) * z(k)", "Dense", true),
    ("y(i) = B(i,k) * z(k)", "(i) -> (i : dense)", true),
];

#[test]
fn iterations_as_one_give_what_the_interpreter_gives() {
    let full = |shape: &[usize]| {
        let value = |at: ndarray::IxDyn| {
            use ndarray::Dimension as _;
            let sum: usize = at.as_array_view().iter().zip([7, 3]).map(|(at, by)| at * by).sum();
            (sum % 11) as f64 - 5.0
        };
        Tensor::from_array(ndarray::ArrayD::from_shape_fn(shape, value)).unwrap()
    };
    for (expression, result, side_by_side) in IN_BLOCKS {
        for rows in [3, 5, 11] {
            // `B` has the rows of the result, or those that `A` has columns.
            let rows_of_b = if expression.contains("A(") { 7 } else { rows };
            let given = [("A", full(&[rows, 7])), ("B", full(&[rows_of_b, 6])), ("z", full(&[6]))];
            let used = given.iter().filter(|(name, _)| expression.contains(&format!("{name}(")));
            let call = || {
                let call = einsum(expression).format(*result);
                used.clone().fold(call, |call, (name, of)| call.arg(name, of))
            };
            let expected = call().backend(Backend::INTERPRETER).run().unwrap();
            for (backend, runs) in
                [("shuffled-in-blocks", true), ("shuffled-in-blocks-of-vectors", *side_by_side)]
            {
                let case = format!("{expression}, {result}, {rows} rows, {backend}");
                let found = call().backend(Backend::Named(backend)).run();
                assert_eq!(found.is_ok(), runs, "{case}: {found:?}");
                assert!(found.is_ok_and(|found| is_near(&found, &expected)) == runs, "{case}");
            }
        }
    }
}

/// Blocks beyond the border of a matrix of 40 rows and columns, and blocks of one row.
const OF_BLOCKS: [&str; 4] = ["BSR(4,4)", "BSR(3,7)", "BSR-Col(6,4)", "BSR(1,3)"];

#[test]
fn rows_of_blocks_give_what_the_interpreter_gives() {
    for format in OF_BLOCKS {
        for n in [95, 96] {
            let full = |columns: usize| {
                let value = |(i, j)| ((i * 7 + j * 3) % 11) as f64 - 5.5;
                ndarray::Array2::from_shape_fn((40, columns), value).into_dyn()
            };
            let a = Tensor::from_dense(&full(40), format).unwrap();
            let b = Tensor::from_array(full(n)).unwrap();
            let call = || einsum("C(i,k) = A(i,j) * B(j,k)").arg("A", &a).arg("B", &b);
            let expected = call().backend(Backend::INTERPRETER).run().unwrap();
            // One row is no block, and is not in another way either.
            let in_blocks = format != "BSR(1,3)";
            let backends = [
                ("in-variables", true),
                ("in-strides", true),
                ("in-blocks", in_blocks),
                ("in-blocks-of-vectors", in_blocks),
            ];
            for (backend, runs) in backends {
                let case = format!("{format}, {n} columns, {backend}");
                let backend: Backend = format!("shuffled-{backend}").parse().unwrap();
                let found = call().backend(backend).run();
                assert_eq!(found.is_ok(), runs, "{case}: {found:?}");
                assert!(found.is_ok_and(|found| is_near(&found, &expected)) == runs, "{case}");
            }
        }
    }
}

#[test]
fn sums_that_are_added_in_another_way_are_found() {
    PASS.set(Pass::ByStored);
    for format in ["CSR", "DCSR"] {
        let found = told(Lie::None, BY_ROW, format).unwrap();
        assert!(!is_noticed(&found, BY_ROW, format), "{format}: {found:?}");
        let found = told(Lie::OtherOperator, BY_ROW, format).expect("a lie");
        assert!(is_noticed(&found, BY_ROW, format), "{format}");
    }
    PASS.set(Pass::Planned);
}

#[test]
fn loops_compute_what_is_declared() {
    let before = ust_conformance::meant::tally();
    for expression in EXPRESSIONS {
        for format in FORMATS {
            let result = call(expression, format).backend(Backend::Named("meant")).run();
            assert!(!is_noticed(&result, expression, format), "{expression} {format}: {result:?}");
        }
    }
    let now = ust_conformance::meant::tally();
    assert!(now.plans >= before.plans + 50 && now.nests >= before.nests + 50, "{now:?}");
    assert!(now.unions > before.unions, "{now:?}");
}

/// Runs all expressions with a lie. Each time that it changes anything, it must be noticed.
fn every(lie: Lie, least: usize) {
    let (mut told_in_all, mut missed) = (0, Vec::new());
    for expression in EXPRESSIONS {
        for format in FORMATS {
            let Some(result) = told(lie, expression, format) else { continue };
            told_in_all += 1;
            if !is_noticed(&result, expression, format) {
                missed.push(format!("{expression} {format}"));
            }
        }
    }
    println!("{lie:?}: told {told_in_all} times, {} missed", missed.len());
    assert!(told_in_all >= least, "{lie:?} was told {told_in_all} times");
    assert!(missed.is_empty(), "{lie:?} was not noticed: {missed:#?}");
}

#[test]
fn parts_that_meet_are_found() {
    for format in ["CSC", "COO", "DIA-I", "BSC(4,4)"] {
        let expression = if format == "COO" { "y(j) = A(i,j) * x(i)" } else { BY_ROW };
        let error = told(Lie::PartsOwn, expression, format).expect("a lie").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("a race: ") && text.contains("`out["), "{format}: {error}");
    }
}

#[test]
fn lanes_that_meet_or_lack_their_sum_are_found() {
    let error = told(Lie::LoopsOwn, BY_ROW, "CSR").expect("a lie").unwrap_err();
    assert!(error.to_string().contains("is not marked as a sum"), "{error}");
    let error = told(Lie::LoopsOwn, "y(j) = A(i,j) * x(i)", "COO").expect("a lie").unwrap_err();
    assert!(error.to_string().contains("a race: lane"), "{error}");
    every(Lie::OtherStart, 4);
}

#[test]
fn what_passes_from_one_iteration_to_the_next_is_found() {
    every(Lie::NothingPasses, 1);
}

#[test]
fn variables_that_nobody_tells_of_are_found() {
    every(Lie::NothingCarried, 4);
}

#[test]
fn loops_that_compute_something_else_are_found() {
    every(Lie::OtherFactor, 10);
    every(Lie::OtherTarget, 10);
}

#[test]
fn rows_written_too_early_are_found() {
    every(Lie::NothingSpeculative, 4);
}
