//! The compiler against plain Rust, against the interpreter, and against what memory may hold.

mod cases;
mod patterns;
mod products;
mod random;
mod spread;
