//! The compiler against plain Rust, against the interpreter, and against what memory may hold.

mod added;
mod cases;
mod combined;
mod patterns;
mod products;
mod random;
mod sampled;
mod spread;
mod tile;
mod union;
