//! Tensors as arrays: what people who know NumPy, SciPy or ndarray expect of one. Each method is short for an
//! expression, or for a change of storage; none computes by itself.
//!
//! | module | what |
//! |---|---|
//! | `build` | from triplets, from the arrays of CSR and its kin; identities, diagonals |
//! | [`slicing`] | `slice`, with ranges, `s![..]` and single coordinates; rows and columns |
//! | `without` | dimensions of extent 1, dropped |

mod build;
pub mod slicing;
mod without;

/// Names of so many index variables.
fn names(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("i{at}")).collect()
}
