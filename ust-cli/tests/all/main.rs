//! The program, as its users meet it.

mod advise;
mod common;
mod emit;
mod info;
mod plugin;
mod readme;
mod reported;
mod shell;
mod tensors;
mod usage;
