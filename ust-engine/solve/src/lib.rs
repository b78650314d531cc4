//! Linear systems, eigenvalues and singular values of sparse tensors, in any format, or of functions that multiply.
//!
//! ```
//! use ust::solve::{Ilu0, Matrix, Options, cg};
//! use ust::{Tensor, generate::generate};
//!
//! let a = Tensor::from_coo(&generate("gen:poisson2d(30)")?, "CSR")?;
//! let (matrix, ilu) = (Matrix::new(&a)?, Ilu0::new(&a)?);
//! let b = vec![1.0; 900];
//! let solution = cg(&matrix, &b, Options::new().tolerance(1e-10).preconditioner(&ilu))?;
//! assert!(solution.converged() && solution.iterations < 60);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which method
//!
//! | for | use | memory, in vectors |
//! |---|---|---|
//! | a Hermitian positive definite matrix | [`cg`] | 5 |
//! | any other, quickly | [`bicgstab`] | 8 |
//! | any other, with residuals that do not grow | [`gmres`] | restart + 4 |
//! | the eigenvalue of largest magnitude | [`power_iteration`] | 2 |
//! | a few smallest or largest eigenvalues of a Hermitian matrix | [`lobpcg`] | about 10 for each |
//! | a few largest singular values of any matrix | [`svd`] | about 10 for each, as long as a row and a column |
//! | triangles | [`solve_triangular`], [`Triangular`] | a copy of the matrix |
//!
//! Preconditioners are [`Jacobi`], [`Ilu0`], [`Triangular`], or any [`Operator`] of the caller, such as a function.
//! Numbers are `f32`, `f64`, and complex numbers of these ([`Number`]).
//!
//! Products run on all threads, by the kernels of [`einsum`](ust_engine::einsum()). Operations on vectors run on one.
//!
//! # Where what lives
//!
//! | file | what |
//! |---|---|
//! | `operator` | what is multiplied with |
//! | `options` | options, solutions, why a method stopped |
//! | `cycle` | what iterative methods share: true residuals, fresh starts |
//! | `cg`, `bicgstab`, `gmres` | the methods |
//! | `power`, `lobpcg` | methods for eigenvalues; `eigen` what they give, `rotations` small matrices |
//! | `svd` | singular values, as eigenvalues |
//! | `direct` | direct methods, with the feature `faer` |
//! | `rows` | the entries of a matrix in any format, row by row |
//! | `precondition`, `triangular` | factors that are applied |
//! | `number` | numbers, and operations on vectors |
//! | `error` | what can go wrong |
#![forbid(unsafe_code)]

mod bicgstab;
mod cg;
mod cycle;
#[cfg(feature = "faer")]
pub mod direct;
mod eigen;
mod error;
mod gmres;
mod lobpcg;
mod number;
mod operator;
mod options;
mod power;
mod precondition;
mod rotations;
mod rows;
mod svd;
mod triangular;

pub use bicgstab::bicgstab;
pub use cg::cg;
pub use eigen::Eigenpairs;
pub use error::SolveError;
pub use gmres::gmres;
pub use lobpcg::{Which, lobpcg};
pub use number::Number;
pub use operator::{Matrix, Operator};
pub use options::{Breakdown, Options, Solution, Stop};
pub use power::power_iteration;
pub use precondition::{Identity, Ilu0, Jacobi};
pub use svd::{SingularTriplets, svd};
pub use triangular::{Diagonal, Triangle, Triangular, solve_triangular};
