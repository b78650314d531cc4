//! The compiler against plain Rust, against the interpreter, and against what memory may hold.

mod added;
mod cases;
mod coded;
mod combined;
mod patterns;
mod products;
mod random;
mod runs;
mod sampled;
mod scattered;
mod slots;
mod spread;
mod tile;
mod union;

use std::fmt::Debug;

use ust_ir::idiom::Idiom;
use ust_ir::interp::{Memory, Param, Program};
use ust_ir::{Function, Stmt, Var};

use crate::emit::idioms;
use crate::nest::Inner;
use crate::pattern::Pattern;
use crate::placed::placed;
use crate::{Kernel, Options};

/// The loops of a function: each before those inside it.
fn loops_of(function: &Function) -> Vec<Var> {
    let mut all = Vec::new();
    Stmt::visit_all(&function.body, &mut |stmt| {
        if let Stmt::For { var, .. } = stmt {
            all.push(*var);
        }
    });
    all
}

/// The loops of a nest from the loop over a variable on.
fn nest_of(function: &Function, var: Var) -> Option<Inner<'_>> {
    match idioms(function).get(&var)? {
        (Idiom::Nest(nest), from) => Some(Inner { nest, from: *from }),
        _ => None,
    }
}

/// The pattern of the loop over a variable.
fn pattern_at(function: &Function, var: Var) -> Option<Pattern> {
    match idioms(function).get(&var)? {
        (Idiom::Placed(moves), from) => placed(moves, *from),
        _ => nest_of(function, var)?.pattern(),
    }
}

/// The pattern of the loop over a variable of this name.
fn pattern_over(function: &Function, name: &str) -> Option<Pattern> {
    let mut loops = loops_of(function).into_iter();
    let var = loops.find(|var| function.vars[var.0 as usize].name == name);
    pattern_at(function, var.unwrap_or_else(|| panic!("no loop over {name} in\n{function}")))
}

/// The pattern of the outermost loop that has one.
fn pattern_of(function: &Function) -> Option<Pattern> {
    loops_of(function).into_iter().find_map(|var| pattern_at(function, var))
}

/// What runs a function: it takes parameters and memory.
type Run<'a> = &'a dyn Fn(&[Param], &mut [Memory<'_>]);

/// All ways to run a function.
struct Ways {
    function: Function,
    program: Program,
    /// What is declared of its loops, for the interpreter.
    meant: Program,
    /// Machine code, and whether it keeps the order of sums.
    kernels: Vec<(bool, Kernel)>,
}

impl Ways {
    fn of(function: Function) -> Self {
        let program = Program::compile(&function).unwrap();
        let meant = Program::compile(&function.meant())
            .unwrap_or_else(|error| panic!("{error}\n{}\n{function}", function.meant()));
        let options = [(true, true), (false, true), (false, false)];
        let kernels = options.map(|(checked, strict)| {
            (strict, Kernel::compile(&function, &Options { checked, strict }).unwrap())
        });
        Self { function, program, meant, kernels: kernels.into() }
    }

    /// Checks that what is declared, and machine code, do what the interpreter does. The result of machine code
    /// that keeps no order of sums only needs to be `near`.
    fn near<R: PartialEq + Debug>(
        &self,
        case: impl Debug,
        run: impl Fn(Run<'_>) -> R,
        near: impl Fn(&R, &R) -> bool,
    ) -> R {
        let function = &self.function;
        let expected = run(&|params, memory| self.program.run(params, memory).unwrap());
        let meant = run(&|params, memory| self.meant.run(params, memory).unwrap());
        assert_eq!(meant, expected, "meant: {case:?}\n{}\n{function}", function.meant());
        for (strict, kernel) in &self.kernels {
            let found = run(&|params, memory| kernel.run(params, memory).unwrap());
            let same = found == expected || (!strict && near(&found, &expected));
            assert!(same, "{case:?}, strict: {strict}\n{found:?}\n{expected:?}\n{function}");
        }
        expected
    }

    /// Checks that all ways give the same result.
    fn same<R: PartialEq + Debug>(&self, case: impl Debug, run: impl Fn(Run<'_>) -> R) -> R {
        self.near(case, run, |_, _| false)
    }
}

/// Whether all numbers are near each other.
fn all_near(a: &[f64], b: &[f64], near: impl Fn(f64, f64) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| near(a, b))
}
