//! Tests that need level types. Those that register something of their own are programs of their own.

mod advise;
mod blocks;
mod bounds;
mod builder;
mod copies;
mod counted;
mod counters;
mod draw;
mod elsewhere;
mod errors;
mod format;
mod format_errors;
mod format_maps;
mod half;
mod into;
mod kernels;
mod large;
mod loops;
mod loops_chosen;
mod macros;
mod many;
mod native;
mod padding;
mod path;
mod registry;
mod rest;
mod semirings;
mod shared;
mod storage;
mod strays;
mod tables;
#[path = "../tables/mod.rs"]
mod tables_of;
mod threads;
mod ways;
mod widths;
