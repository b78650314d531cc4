//! Pictures of tensors: what is drawn is what is stored.

mod common;
mod edges;
mod picture;
mod text;
mod vector;
