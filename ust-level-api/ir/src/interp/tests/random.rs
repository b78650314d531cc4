//! Random valid functions, run by the interpreter and by the oracle: same results, same errors, no
//! panic.

use proptest::prelude::*;

use super::oracle::Walk;
use super::*;
use crate::testing::{Choices, random, with_memory};

const MAX_STEPS: u64 = 200;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_interpreter_does_what_the_tree_means(
        functions in prop::collection::vec(prop::collection::vec(any::<u32>(), 20..400), 100)
    ) {
        for numbers in functions {
            let (function, data, params) = random(&mut Choices { numbers, at: 0 });
            let program = match Program::compile(&function) {
                Ok(program) => program,
                Err(error) => panic!("{error}\n{function}"),
            };
            let mut walk = Walk::new(&function, data.clone(), params, MAX_STEPS);
            let expected = walk.block(&function.body);
            let (result, written) = with_memory(&function, &data, params, |params, memory| {
                program.run_with(params, memory, Limits { max_steps: MAX_STEPS })
            });
            prop_assert_eq!(&result, &expected, "{}\n{:?} {:?}", function, data, params);
            // In text, NaN equals NaN, and zeros have a sign.
            let written = format!("{written:?}");
            let expected = format!("{:?}", [2, 4, 5, 6].map(|at| &walk.data[at]));
            prop_assert_eq!(written, expected, "{}\n{:?} {:?}", function, data, params);
        }
    }
}
