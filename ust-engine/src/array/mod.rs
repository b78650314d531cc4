//! Tensors as arrays: what people who know NumPy, SciPy or ndarray expect of one. Each method is short for an
//! expression, or for a change of storage; none computes by itself.
//!
//! | module | what |
//! |---|---|
//! | `build` | from triplets, from the arrays of CSR and its kin; identities, diagonals |
//! | `change` | functions of each element, `+=`, softmax |
//! | [`dims`] | numbers of dimensions, from either end |
//! | [`iter`] | stored entries, one after another, with their types |
//! | `lanes` | what is along the last dimension, sorted; the largest of it |
//! | `masks` | elements by a mask of all, by a function of coordinates; triangles |
//! | [`operators`] | `&a + &b`, with broadcasting |
//! | `products` | `dot`, `matmul`, `kron`, `addmm` |
//! | [`reduce`] | sums, means, extremes and norms, over some dimensions or all |
//! | `select` | rows and columns by number or by a mask of them, diagonals, coordinates of what is not zero |
//! | `shapes` | other shapes: reshaped, joined, split, repeated |
//! | [`slicing`] | `slice`, with ranges, `s![..]` and single coordinates; rows and columns |
//! | `without` | dimensions of extent 1, dropped |

mod build;
mod change;
pub mod dims;
pub mod iter;
mod lanes;
mod masks;
pub mod operators;
mod products;
pub mod reduce;
mod select;
mod shapes;
pub mod slicing;
mod without;

/// Names of so many index variables.
fn names(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("i{at}")).collect()
}

/// Index variables, as they stand in parentheses.
fn list(names: &[impl AsRef<str>]) -> String {
    names.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(",")
}
