//! What a GPU computes. Each operation registers itself.

use ust::Dtype;

/// An operation that `gpu` times, with an operand `A`, which is stored in each of the formats in turn, and dense
/// ones. Beside [`Operation`](crate::Operation) it says what suits a GPU: inputs that fill one, and dtypes.
pub struct DeviceOperation {
    /// Its short name, for `--op`.
    pub name: &'static str,
    /// The expression.
    pub text: &'static str,
    /// Columns of dense operands.
    pub columns: usize,
    /// Dtype of every operand.
    pub dtype: Dtype,
    /// The formats of `A`.
    pub formats: &'static [&'static str],
    /// Operands beside `A`: their names, and which dimensions of `A` they have; `None` is a dimension of
    /// `columns`.
    pub others: &'static [(&'static str, &'static [Option<usize>])],
    /// The format of the result: empty if it is dense, `same` for that of `A`.
    pub result: &'static str,
    /// Generators' texts of `A`.
    pub inputs: &'static [&'static str],
    /// The same for `--quick`.
    pub quick_inputs: &'static [&'static str],
}

inventory::collect!(DeviceOperation);

/// Every operation, in the order of their names.
pub(crate) fn operations() -> Vec<&'static DeviceOperation> {
    let mut all: Vec<_> = inventory::iter::<DeviceOperation>().collect();
    all.sort_by_key(|op| op.name);
    all
}

pub(super) const STENCILS: &[&str] = &["poisson2d(3000)", "poisson3d(200)", "stencil27(130)"];
const ALL: &[&str] = &[
    "poisson2d(3000)",
    "stencil27(130)",
    "random(2000000x2000000, nnz=40000000)",
    "rmat(21, edges=30000000)",
];
const SOME: &[&str] = &["stencil27(100)", "random(1000000x1000000, nnz=20000000)"];
const TINY: &[&str] = &["poisson2d(12)", "rmat(7, edges=900)"];

const VECTOR: &[(&str, &[Option<usize>])] = &[("x", &[Some(1)])];
const MATRIX: &[(&str, &[Option<usize>])] = &[("B", &[Some(1), None])];
const SPMV: &str = "y(i) = A(i,j) * x(j)";
const SPMM: &str = "C(i,k) = A(i,j) * B(j,k)";

inventory::submit! { DeviceOperation {
    name: "spmv",
    text: SPMV,
    columns: 1,
    dtype: Dtype::F64,
    formats: &["CSR", "COO", "CSC", "DCSR"],
    others: VECTOR,
    result: "",
    inputs: ALL,
    quick_inputs: TINY,
}}
inventory::submit! { DeviceOperation {
    name: "spmv-stencil",
    text: SPMV,
    columns: 1,
    dtype: Dtype::F64,
    formats: &["CSR", "DIA-I", "BSR(4,4)"],
    others: VECTOR,
    result: "",
    inputs: STENCILS,
    quick_inputs: &["poisson2d(12)"],
}}
inventory::submit! { DeviceOperation {
    name: "spmm32",
    text: SPMM,
    columns: 32,
    dtype: Dtype::F32,
    formats: &["CSR", "COO"],
    others: MATRIX,
    result: "",
    inputs: SOME,
    quick_inputs: TINY,
}}
inventory::submit! { DeviceOperation {
    name: "spmm128",
    text: SPMM,
    columns: 128,
    dtype: Dtype::F32,
    formats: &["CSR", "COO"],
    others: MATRIX,
    result: "",
    inputs: SOME,
    quick_inputs: TINY,
}}
inventory::submit! { DeviceOperation {
    name: "gemm",
    text: SPMM,
    columns: 512,
    dtype: Dtype::F16,
    formats: &["Dense", "DenseCol"],
    others: MATRIX,
    result: "",
    inputs: &["uniform(4096x4096)"],
    quick_inputs: &["uniform(16x32)"],
}}
inventory::submit! { DeviceOperation {
    name: "two-four",
    text: SPMM,
    columns: 512,
    dtype: Dtype::F16,
    formats: &["2:4, crdWidth = 2"],
    others: MATRIX,
    result: "",
    inputs: &["pruned24(4096x4096)"],
    quick_inputs: &["pruned24(16x32)"],
}}
inventory::submit! { DeviceOperation {
    name: "sddmm64",
    text: "C(i,j) = A(i,j) * P(i,k) * Q(j,k)",
    columns: 64,
    dtype: Dtype::F32,
    formats: &["CSR", "COO"],
    others: &[("P", &[Some(0), None]), ("Q", &[Some(1), None])],
    result: "same",
    inputs: SOME,
    quick_inputs: TINY,
}}
inventory::submit! { DeviceOperation {
    name: "spgemm",
    text: "C(i,k) = A(i,j) * A(j,k)",
    columns: 1,
    dtype: Dtype::F64,
    formats: &["CSR"],
    others: &[],
    result: "CSR",
    inputs: &["poisson2d(1000)", "random(200000x200000, nnz=2000000)"],
    quick_inputs: TINY,
}}
inventory::submit! { DeviceOperation {
    name: "spadd",
    text: "C(i,j) = A(i,j) + A(j,i)",
    columns: 1,
    dtype: Dtype::F64,
    formats: &["CSR"],
    others: &[],
    result: "CSR",
    inputs: &["poisson2d(2000)"],
    quick_inputs: TINY,
}}
inventory::submit! { DeviceOperation {
    name: "mttkrp32",
    text: "C(i,r) = A(i,k,l) * P(k,r) * Q(l,r)",
    columns: 32,
    dtype: Dtype::F64,
    formats: &["CSF", "COO"],
    others: &[("P", &[Some(1), None]), ("Q", &[Some(2), None])],
    result: "",
    inputs: &["random(20000x5000x5000, nnz=10000000)"],
    quick_inputs: &["random(20x9x8, nnz=200)"],
}}
