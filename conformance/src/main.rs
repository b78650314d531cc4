//! skeleton
use ust as _;
fn main() {}
