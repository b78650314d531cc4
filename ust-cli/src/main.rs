//! The program `ust`, with the level types and back ends that the facade links.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    ust_cli::main()
}
