//! Who runs each expression on operands in each format, and which microkernels: a change of the choice
//! shows here.

use ust::generate::generate;
use ust::ndarray::Array2;
use ust::{Tensor, einsum};

const FORMATS: [&str; 9] =
    ["CSR", "CSC", "COO", "DCSR", "BSR(4,4)", "Strips(4)", "DIA-I", "ANTI-DIA-I", "Dense"];

/// `A` is in the format at hand, `S` a sparse matrix in the same, `M` one in CSR; `B`, `C`, `x` are dense.
const EXPRESSIONS: [&str; 14] = [
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

fn table() -> String {
    let coo = generate("gen:poisson2d(40)").unwrap();
    let csr = Tensor::from_coo(&coo, &"CSR".parse().unwrap()).unwrap();
    let dense = Array2::<f64>::ones((1600, 1600));
    let x = ust::ndarray::Array1::<f64>::ones(1600);
    let mut table = String::new();
    for expression in EXPRESSIONS {
        table += &format!("{expression}\n");
        let wide = expression.contains("Y(i,j) = M");
        let narrow = dense.slice(ust::ndarray::s![.., ..if wide { 1600 } else { 32 }]).to_owned();
        for format in FORMATS {
            let a = csr.convert(&format.parse().unwrap()).unwrap();
            let mut call = einsum(expression).threads(1);
            for (name, tensor) in [("A", &a), ("S", &a), ("M", &csr)] {
                if expression.contains(&format!("{name}(")) {
                    call = call.arg(name, tensor);
                }
            }
            for (name, array) in [("B", &narrow), ("C", &narrow)] {
                if expression.contains(&format!("{name}(")) {
                    call = call.arg(name, array);
                }
            }
            if expression.contains("x(") && !expression.contains("max(") {
                call = call.arg("x", &x);
            }
            let told = match call.prepare() {
                Ok(kernel) => kernel.stages().join(" | "),
                Err(error) => format!("refused: {error}"),
            };
            table += &format!("  {format:<11} {told}\n");
        }
    }
    table
}

/// What `loops.txt` says holds with these vector instructions, in which most kernels are written.
#[test]
fn each_expression_has_its_kernels() {
    #[cfg(target_arch = "x86_64")]
    let is_known = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let is_known = false;
    if !is_known || !ust::provider::names().contains(&"jit") {
        println!("skipped: other kernels on this machine");
        return;
    }
    let found = table();
    let expected = include_str!("loops_chosen.txt");
    assert!(found == expected, "now the table is\n{found}");
}
