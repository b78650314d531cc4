//! Random valid functions through the interpreter and through machine code.

use proptest::prelude::*;
use ust_ir::interp::{Limits, Program, RunError};
use ust_ir::testing::{Choices, random, with_memory};

use crate::{Kernel, Options};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn machine_code_does_what_the_interpreter_does(
        functions in prop::collection::vec(prop::collection::vec(any::<u32>(), 20..400), 100)
    ) {
        for numbers in functions {
            let (function, data, params) = random(&mut Choices { numbers, at: 0 });
            let program = Program::compile(&function).unwrap();
            let (expected, written) = with_memory(&function, &data, params, |params, memory| {
                program.run_with(params, memory, Limits { max_steps: 200 })
            });
            if matches!(expected, Err(RunError::StepLimit { .. })) {
                continue;
            }
            // As text, NaN is NaN and zeros have a sign.
            let written = format!("{written:?}");
            for checked in [true, false] {
                // Without checks, what the interpreter refuses may do anything.
                if !checked && expected.is_err() {
                    continue;
                }
                let kernel = Kernel::compile(&function, &Options { checked, strict: true }).unwrap();
                let (result, found) = with_memory(&function, &data, params, |params, memory| {
                    kernel.run(params, memory)
                });
                prop_assert_eq!(&result, &expected, "{}\n{:?} {:?}", function, data, params);
                prop_assert_eq!(format!("{found:?}"), &written[..], "{}\n{:?} {:?}", function, data, params);
            }
        }
    }
}
