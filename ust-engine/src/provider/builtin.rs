//! The providers of this crate: machine code, and the interpreter.

use ust_level_api::inventory;
use ust_level_api::ir::interp::{Memory, Param, Program};

use super::{Cuts, Executable, Offer, Plan, Provider, Registration};
use crate::error::Error;
use crate::tuning::INTERPRETER_TIME;

pub(crate) const INTERPRETER: &str = "interp";

struct Interpreter;

inventory::submit!(Registration(&Interpreter));

impl Provider for Interpreter {
    fn name(&self) -> &'static str {
        INTERPRETER
    }

    fn summary(&self) -> &'static str {
        "the checked interpreter: the reference, and slow"
    }

    fn offer(&self, plan: &Plan<'_>) -> Offer {
        Offer::Time { run: INTERPRETER_TIME * plan.estimate, compile: 0.0 }
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        Ok(Box::new(Program::compile(plan.function)?))
    }
}

impl Executable for Program {
    fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), Error> {
        Ok(Program::run(self, params, memory)?)
    }

    /// The interpreter is a reference: one thread runs the loops, and errors come in their order.
    fn cuts(&self) -> Cuts {
        Cuts::OneThread
    }

    fn sets_all(&self, loops: bool) -> bool {
        loops
    }

    fn adds_onto(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        format!("{} instructions", self.instructions())
    }
}

#[cfg(feature = "jit")]
mod jit {
    use super::*;
    use crate::provider::Groups;
    use crate::tuning::{JIT_COMPILE_NS, OTHER_WIDTHS_TIME};
    use ust_jit::{JitError, Kernel, Options, Suits, is_supported};
    use ust_level_api::ir::Function;

    struct Jit {
        checked: bool,
    }

    inventory::submit!(Registration(&Jit { checked: false }));
    inventory::submit!(Registration(&Jit { checked: true }));

    impl Provider for Jit {
        fn name(&self) -> &'static str {
            if self.checked { "checked-jit" } else { "jit" }
        }

        fn summary(&self) -> &'static str {
            match self.checked {
                false => "machine code, made on the spot",
                true => "machine code that checks every access, for tests",
            }
        }

        fn offer(&self, plan: &Plan<'_>) -> Offer {
            let suits = plan.other_widths.then(|| Kernel::suits(plan.function, plan.strict));
            let slower = match suits {
                None | Some(Suits::Nowhere) => 1.0,
                Some(Suits::In32Bits) => OTHER_WIDTHS_TIME,
                Some(Suits::AsItIs) => plan.index_time(),
            };
            match (is_supported(), self.checked) {
                (false, _) => Offer::Refused("there is no compiler for this processor".to_owned()),
                (true, true) => Offer::OnRequest("it checks every access".to_owned()),
                (true, false) => {
                    Offer::Time { run: slower * plan.estimate, compile: JIT_COMPILE_NS }
                }
            }
        }

        fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
            compile(plan.function, &Options { checked: self.checked, strict: plan.strict })
        }
    }

    fn compile(function: &Function, options: &Options) -> Result<Box<dyn Executable>, Error> {
        match Kernel::compile(function, options) {
            Ok(kernel) => Ok(Box::new(kernel)),
            Err(JitError::Invalid(error)) => Err(error.into()),
            Err(error) => Err(Error::Unsupported(error.to_string())),
        }
    }

    impl Executable for Kernel {
        fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), Error> {
            Ok(Kernel::run(self, params, memory)?)
        }

        fn run_apart(
            &self,
            groups: &Groups<'_>,
            memory: &mut [Memory<'_>],
            check: &(dyn Fn() -> Result<(), Error> + Sync),
        ) -> Result<(), Error> {
            Kernel::run_apart(self, groups, memory, check)
        }

        fn sets_all(&self, loops: bool) -> bool {
            loops
        }

        fn adds_onto(&self) -> bool {
            true
        }

        fn compile_also(&self, function: &Function) -> Option<Result<Box<dyn Executable>, Error>> {
            Some(compile(function, self.options()))
        }

        fn describe(&self) -> String {
            format!(
                "{} bytes of machine code, compiled in {:.3} ms",
                self.code().len(),
                self.compile_time().as_secs_f64() * 1e3
            )
        }

        fn loops(&self) -> Vec<String> {
            Kernel::loops(self).iter().map(ToString::to_string).collect()
        }

        fn disassembly(&self) -> Option<String> {
            Some(Kernel::disassembly(self))
        }
    }
}
