//! The benchmarks, with formats that have `NAME`.
use CRATE as _;

fn main() -> std::process::ExitCode {
    ust_benches::main()
}
