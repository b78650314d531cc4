//! The benchmarks, with formats that have `ragged`.
use ragged_level as _;

fn main() -> std::process::ExitCode {
    ust_benches::main()
}
