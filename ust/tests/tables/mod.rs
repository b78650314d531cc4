//! What the tables of ways and of kernels are made of: see `ways.rs` and `loops_chosen.rs`.
#![allow(dead_code, missing_docs, unreachable_pub)]

use ust::generate::generate;
use ust::ndarray::{Array1, Array2, s};
use ust::tensor::Way;
use ust::{Format, Tensor, einsum};

/// The formats of the table of ways.
pub const WAYS_FORMATS: [&str; 17] = [
    "COO",
    "COO(col-major)",
    "CSR",
    "CSC",
    "DCSR",
    "DCSC",
    "CROW",
    "BSR(4,4)",
    "BSR(2,2)",
    "BSR-Col(4,4)",
    "BSC(4,4)",
    "Strips(4)",
    "DIA-I",
    "DIA-J",
    "ANTI-DIA-I",
    "Dense",
    "DenseCol",
];

/// Of each way a letter.
pub fn letter(way: &Way) -> String {
    let letter = match way {
        Way::Shared => "=",
        Way::Widths => "w",
        Way::Empty => "0",
        Way::WholeBlocks => "W",
        Way::Pieces { stored_rows: true } => "P",
        Way::Pieces { stored_rows: false } => "p",
        Way::Elements => "E",
        Way::MarkedBlocks => "M",
        Way::Swept => "S",
        Way::Counted { buckets: false } => "C",
        Way::Counted { buckets: true } => "B",
        Way::Columns { in_order, levels } if in_order == levels => "o",
        Way::Columns { in_order: 0, .. } => "s",
        Way::Columns { .. } => "b",
        Way::Between { format, .. } => {
            let name = format.name().unwrap_or_else(|| "other".to_owned());
            return format!(">{}", name.replace(' ', ""));
        }
        other => panic!("a way without a letter: {other}"),
    };
    letter.to_owned()
}

/// The formats of the table of kernels.
pub const LOOPS_FORMATS: [&str; 9] =
    ["CSR", "CSC", "COO", "DCSR", "BSR(4,4)", "Strips(4)", "DIA-I", "ANTI-DIA-I", "Dense"];

/// The expressions of the table of kernels. `A` is in the format at hand, `S` a sparse matrix in the same, `M` one in CSR; `B`, `C`, `x` are dense.
pub const EXPRESSIONS: [&str; 14] = [
    "y(i) = A(i,j) * x(j)",
    "y(j) = A(i,j) * x(i)",
    "Y(i,k) = A(i,j) * B(j,k)",
    "Y(j,k) = A(i,j) * B(i,k)",
    "Y(i,k) = A(i,j) * S(j,k)",
    "Y(i,j) = A(i,j) + S(i,j)",
    "Y(i,j) = A(i,j) * S(i,j)",
    "Y(i,j) = A(i,j) * B(i,k) * C(j,k)",
    "Y(i,j) = M(i,j) * A(i,k) * B(k,j)",
    "y(i) = max(j, A(i,j))",
    "s = A(i,j) * A(i,j)",
    "y(i) = A(i,j) * x(j) using min_plus",
    "Y(i,j) = exp(A(i,j)) - 1",
    "Y(i,j) = A(i,j) * x(i) * x(j)",
];

/// The operands of the expressions.
pub struct Operands {
    csr: Tensor,
    wide: Array2<f64>,
    narrow: Array2<f64>,
    x: Array1<f64>,
}

impl Operands {
    pub fn new() -> Self {
        let coo = generate("gen:poisson2d(40)").unwrap();
        let csr = Tensor::from_coo(&coo, "CSR").unwrap();
        let wide = Array2::<f64>::ones((1600, 1600));
        let narrow = wide.slice(s![.., ..32]).to_owned();
        Self { csr, wide, narrow, x: Array1::ones(1600) }
    }
}

/// Who runs the stages of an expression on operands in a format, and which microkernels.
pub fn stages(expression: &str, operands: &Operands, format: &Format) -> String {
    let Operands { csr, wide, narrow, x } = operands;
    let a = match csr.convert(format) {
        Ok(a) => a,
        Err(error) => return format!("refused: {error}"),
    };
    let dense = if expression.contains("Y(i,j) = M") { wide } else { narrow };
    let mut call = einsum(expression).threads(1);
    for (name, tensor) in [("A", &a), ("S", &a), ("M", csr)] {
        if expression.contains(&format!("{name}(")) {
            call = call.arg(name, tensor);
        }
    }
    for name in ["B", "C"] {
        if expression.contains(&format!("{name}(")) {
            call = call.arg(name, dense);
        }
    }
    if expression.contains("x(") && !expression.contains("max(") {
        call = call.arg("x", x);
    }
    match call.prepare() {
        Ok(kernel) => kernel.stages().join(" | "),
        Err(error) => format!("refused: {error}"),
    }
}

/// Who runs each expression on operands in each format: a table as text. `None` on machines with other kernels
/// than those of the pinned tables, which are for these vector instructions.
pub fn table(formats: &[(&str, Format)]) -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    let is_known = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let is_known = false;
    if !is_known || !ust::provider::names().contains(&"jit") {
        println!("skipped: other kernels on this machine");
        return None;
    }
    let operands = Operands::new();
    let mut table = String::new();
    for expression in EXPRESSIONS {
        table += &format!("{expression}\n");
        for (name, format) in formats {
            table += &format!("  {name:<11} {}\n", stages(expression, &operands, format));
        }
    }
    Some(table)
}
