//! Matrices of other crates, from and to tensors, and tensors by serde: each behind a feature of its name.
//!
//! | feature | what |
//! |---|---|
//! | `faer` | `SparseColMat`, `SparseRowMat`, `Mat`, and their references |
//! | `nalgebra-sparse` | `CsrMatrix`, `CscMatrix`, `CooMatrix`; `DMatrix` and `DVector` of nalgebra |
//! | `serde` | `Serialize` and `Deserialize` of tensors, formats, dtypes and numbers |
//! | `sprs` | `CsMatI`, `CsVecI`, `TriMatI`, and their views |
//!
//! All conversions are [`TryFrom`], and all of these matrices are operands of [`einsum`](crate::einsum()).
//!
//! # What is copied
//!
//! | from | to | arrays |
//! |---|---|---|
//! | a matrix that is given away | a tensor in CSR or CSC | are taken as they are, and checked |
//! | a borrowed matrix, or a view | a tensor in CSR or CSC | are copied, and checked |
//! | a tensor in CSR or CSC that is given away | a matrix | are given, where nobody shares them, they are vectors, and indices have the type that is asked for; else copied |
//! | a borrowed tensor | a matrix | are copied |
//! | a borrowed tensor in CSR or CSC | a view or a reference | are lent; it is an error where indices or values have another type |
//! | a tensor in any other format | a matrix | are those of a conversion |
//!
//! A type that may have compressed rows or columns, as sprs' `CsMatI`, gets columns from a tensor that stores columns
//! first. Values have to be of the type that is asked for: [`Tensor::cast`](crate::Tensor::cast) makes them so. Stored
//! zeros stay.

/// Makes types that become tensors operands of expressions.
#[cfg(any(feature = "faer", feature = "nalgebra-sparse", feature = "sprs"))]
macro_rules! operands {
    ($([$($generics:tt)*] $ty:ty;)*) => {$(
        impl<$($generics)*> crate::einsum::Argument for $ty {
            fn into_tensor(self) -> Result<Tensor, Error> {
                self.try_into()
            }
        }
    )*};
}
#[cfg(any(feature = "faer", feature = "nalgebra-sparse", feature = "sprs"))]
use operands;

#[cfg(any(feature = "faer", feature = "nalgebra-sparse", feature = "sprs"))]
#[cfg_attr(
    not(all(feature = "faer", feature = "sprs")),
    allow(dead_code, reason = "some of it is for some of these crates")
)]
mod compressed;
#[cfg(feature = "serde")]
pub mod serde;
#[cfg(feature = "faer")]
mod with_faer;
#[cfg(feature = "nalgebra-sparse")]
mod with_nalgebra;
#[cfg(feature = "sprs")]
mod with_sprs;

#[cfg(feature = "faer")]
pub use faer;
#[cfg(feature = "nalgebra-sparse")]
pub use nalgebra_sparse;
#[cfg(feature = "sprs")]
pub use sprs;

#[cfg(any(feature = "faer", feature = "nalgebra-sparse", feature = "sprs"))]
pub use compressed::Index;
