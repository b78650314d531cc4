//! The program `ust`, with `NAME` among its level types.
use CRATE as _;

fn main() -> std::process::ExitCode {
    ust_cli::main()
}
