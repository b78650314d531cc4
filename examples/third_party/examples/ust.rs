//! The program `ust`, with `ragged` among its level types.
use ragged_level as _;

fn main() -> std::process::ExitCode {
    ust_cli::main()
}
