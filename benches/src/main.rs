//! The benchmark program, with what this crate registers and the facade links.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    ust_benches::main()
}
