//! The side of the program that loads a library.
//!
//! | file | what |
//! |---|---|
//! | `load` | a library is opened, and its level types are registered |
//! | `table` | the library's table is read |
//! | `door` | calls into the library |
//! | `change` | the same, for children that are inserted and removed |
//! | `describe` | what a library says of a level, checked |
//! | `level` | a level of a library, as the contract asks |

mod change;
mod describe;
mod door;
mod level;
mod load;
mod table;
#[cfg(test)]
mod tests;

pub use load::load;
