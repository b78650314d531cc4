//! The program, as its users meet it.

mod advise;
mod bench;
mod common;
mod emit;
mod info;
mod pictures;
mod plugin;
mod readme;
mod reported;
mod shell;
mod tensors;
mod usage;
