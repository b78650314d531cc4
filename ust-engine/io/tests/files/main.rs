//! Tensors through files of every kind.

mod common;
mod others;
mod own;
mod refusals;
mod round_trips;
mod scipy;
