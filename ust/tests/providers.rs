//! A provider that the engine has never heard of: asked, chosen, asked for by name, run.

use std::sync::atomic::{AtomicUsize, Ordering};

use ust::level_api::inventory;
use ust::level_api::ir::interp::{Memory, Param, ValuesMut, ValuesRef};
use ust::ops::Operator;
use ust::ops::term::Term;
use ust::provider::{Executable, Offer, Plan, Provider, Registration};
use ust::{Backend, Dtype, Error, IndexArray, Tensor, einsum};

thread_local! {
    /// Runs on this thread.
    static RUNS_HERE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Rows of CSR times a vector, by a loop written by hand.
struct ByHand;

inventory::submit!(Registration(&ByHand));

impl Provider for ByHand {
    fn name(&self) -> &'static str {
        "by-hand"
    }

    fn summary(&self) -> &'static str {
        "CSR times a vector, for tests"
    }

    fn offer(&self, plan: &Plan<'_>) -> Offer {
        let [a, x] = &plan.operands[..] else {
            return Offer::Refused("it takes two operands".to_owned());
        };
        let product = matches!(plan.body, Term::Call { op: Operator::Mul, args, .. }
            if matches!(args[..], [Term::Element(0), Term::Element(1)]));
        let sum =
            matches!(plan.reduce, Some((Operator::Add, indices)) if *indices == x.indices[..]);
        let csr = a.format == &"CSR".parse().unwrap() && plan.result.indices == &a.indices[..1];
        let real = [a, x, &plan.result].iter().all(|one| one.dtype == Dtype::F64);
        match product && sum && csr && real {
            // Not true, but it wins.
            true => Offer::Time { run: plan.estimate / 2.0, compile: 0.0 },
            false => Offer::Refused("it multiplies CSR with a vector, and nothing else".to_owned()),
        }
    }

    fn compile(&self, _plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        Ok(Box::new(Loop))
    }
}

static RUNS: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug)]
struct Loop;

impl Executable for Loop {
    fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), Error> {
        RUNS.fetch_add(1, Ordering::Relaxed);
        RUNS_HERE.set(RUNS_HERE.get() + 1);
        let [.., Param::Int(lo), Param::Int(hi)] = *params else { panic!("{params:?}") };
        let [
            Memory::Index(IndexArray::U32(pos)),
            Memory::Index(IndexArray::U32(crd)),
            Memory::Values(ValuesRef::F64(values)),
            Memory::Values(ValuesRef::F64(x)),
            Memory::ValuesMut(ValuesMut::F64(y)),
        ] = memory
        else {
            panic!("{memory:?}")
        };
        for row in lo.max(0) as usize..hi.min(y.len() as i64) as usize {
            let segment = pos[row] as usize..pos[row + 1] as usize;
            y[row] = segment.map(|p| values[p] * x[crd[p] as usize]).sum();
        }
        Ok(())
    }

    fn describe(&self) -> String {
        "a loop".to_owned()
    }
}

fn matrix() -> Tensor {
    let coo = ust::generate::generate("random(3000x2000, nnz=90000, seed=3)").unwrap();
    Tensor::from_coo(&coo, "CSR").unwrap()
}

fn vector(n: usize) -> Tensor {
    Tensor::from_array(
        (0..n).map(|at| (at % 7) as f64 - 2.5).collect::<ndarray::Array1<_>>().into_dyn(),
    )
    .unwrap()
}

const PRODUCT: &str = "y(i) = A(i,j) * x(j)";

#[test]
fn the_quickest_offer_is_taken_and_told() {
    let (a, x) = (matrix(), vector(2000));
    for threads in [1, 2] {
        let kernel = einsum(PRODUCT).threads(threads).arg("A", &a).arg("x", &x).prepare().unwrap();
        assert_eq!(kernel.backend(), "by-hand");
        let said = kernel.explain();
        assert!(said.contains("back end    by-hand, a loop\n"), "{said}");
        for asked in ["by-hand: about", "jit: about", "interp: about", "checked-jit: on request"] {
            assert!(said.contains(&format!("asked       {asked}")), "{said}");
        }
        let before = RUNS.load(Ordering::Relaxed);
        let y = kernel.run(&[&a, &x]).unwrap();
        assert!(RUNS.load(Ordering::Relaxed) > before);
        let expected = einsum(PRODUCT).backend(Backend::INTERPRETER).arg("A", &a).arg("x", &x);
        let expected = expected.run().unwrap();
        let pairs = y.values().typed::<f64>().unwrap().iter();
        for (y, expected) in pairs.zip(expected.values().typed::<f64>().unwrap()) {
            assert!((y - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{y} {expected}");
        }
    }
}

#[test]
fn a_plan_that_is_refused_goes_to_another() {
    let (a, x) = (matrix(), vector(3000));
    let other = einsum("y(j) = A(i,j) * x(i)").arg("A", &a).arg("x", &x).prepare().unwrap();
    assert_ne!(other.backend(), "by-hand");
    let said = other.explain();
    assert!(
        said.contains("asked       by-hand: refused: it multiplies CSR with a vector"),
        "{said}"
    );
}

/// Loops for blocks by columns times a wide dense matrix take rows, which they are converted into each time.
#[test]
fn who_takes_what_is_given_is_asked_for_that() {
    let entries = ust::generate::generate("poisson2d(60)").unwrap();
    let a = Tensor::from_coo(&entries, "BSC(4, 4)").unwrap();
    let b = ndarray::Array2::from_shape_fn((3600, 300), |(j, k)| ((3 * j + k) % 11) as f64 - 4.5);
    let b = Tensor::from_array(b.into_dyn()).unwrap();
    let with =
        |backend| einsum("C(i,k) = A(i,j) * B(j,k)").backend(backend).arg("A", &a).arg("B", &b);
    let kernel = with(Backend::Auto).prepare().unwrap();
    let said = kernel.explain();
    assert_eq!(kernel.backend(), "blocks", "{said}");
    assert!(!said.contains("converted from"), "{said}");
    assert!(said.contains("ms without conversions, the least of all"), "{said}");
    let loops = with(Backend::JIT).prepare().unwrap();
    assert!(loops.explain().contains("converted from"), "{}", loops.explain());
    // Small integers and a half: sums are exact in any order.
    assert_eq!(kernel.run(&[&a, &b]).unwrap(), loops.run(&[&a, &b]).unwrap());
}

#[test]
fn a_name_is_taken_at_its_word() {
    let (a, x) = (matrix(), vector(2000));
    let with = |name: &str, text: &str| {
        let backend = name.parse::<Backend>()?;
        einsum(text)
            .backend(backend)
            .arg("A", &a)
            .arg("x", &x)
            .prepare()
            .map_err(|error| Error::Unsupported(error.to_string()))
    };
    for name in ["by-hand", "interp"] {
        let kernel = with(name, PRODUCT).unwrap();
        assert_eq!(kernel.backend(), name);
        assert!(kernel.explain().contains("asked for\n"));
        assert_eq!(name.parse::<Backend>().unwrap().to_string(), name);
    }
    let refused = with("by-hand", "y(i) = A(i,j) * x(j) * 2").unwrap_err().to_string();
    assert!(refused.contains("`by-hand` cannot run this plan: it multiplies CSR"), "{refused}");
    let unknown = with("nobody", PRODUCT).unwrap_err().to_string();
    assert!(unknown.contains("known are auto, ") && unknown.contains("by-hand, "), "{unknown}");
}

#[test]
fn what_was_computed_to_plan_is_not_computed_again() {
    let (a, x) = (matrix(), vector(2000));
    // The product is a stage of its own, and the next is planned for what it gives.
    let call = || einsum("z(i) = exp(sum(j, A(i,j) * x(j)))").threads(1).arg("A", &a).arg("x", &x);
    let count = |run: &dyn Fn() -> Tensor| {
        let before = RUNS_HERE.get();
        (run(), RUNS_HERE.get() - before)
    };
    let (cold, runs) = count(&|| call().run().unwrap());
    assert_eq!(runs, 1);
    let (again, runs) = count(&|| call().run().unwrap());
    assert_eq!(runs, 1);
    assert_eq!(cold.values(), again.values());
}
