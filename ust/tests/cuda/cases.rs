//! Expressions whose CUDA C++ is kept.

use ust::{Backend, Dtype, Format, Tensor, einsum};

/// An expression, and its operands and result by name, dtype and format.
pub(crate) struct Case {
    /// The name of the file.
    pub(crate) name: &'static str,
    expression: &'static str,
    semiring: &'static str,
    operands: &'static [(&'static str, Dtype, &'static str)],
    /// The format of the result, or "" for the one that is inferred.
    result: &'static str,
    backend: &'static str,
}

const fn case(
    name: &'static str,
    expression: &'static str,
    operands: &'static [(&'static str, Dtype, &'static str)],
    result: &'static str,
) -> Case {
    Case { name, expression, semiring: "", operands, result, backend: "cuda-text" }
}

/// Of conversions of the operand to the format of the result.
const CONVERSION: &str = "conversion";

const fn conversion(
    name: &'static str,
    operands: &'static [(&'static str, Dtype, &'static str)],
    result: &'static str,
) -> Case {
    Case { backend: CONVERSION, ..case(name, "A(i,j)", operands, result) }
}

/// The back end that writes parts of equally many stored elements.
pub(crate) const BY_STORED: &str = "cuda-text-by-stored";

/// The back end that writes tables outside of shared memory.
pub(crate) const LARGE_TABLES: &str = "cuda-text-large-tables";

/// The back end that writes loops over elements side by side.
pub(crate) const IN_VECTORS: &str = "cuda-text-in-vectors";

/// The back end that writes loops over elements that are apart.
pub(crate) const IN_STRIDES: &str = "cuda-text-in-strides";

/// The back end that writes loops over several rows, and elements side by side.
pub(crate) const IN_BLOCKS: &str = "cuda-text-in-blocks";

const F64: Dtype = Dtype::F64;
const F32: Dtype = Dtype::F32;
const SPMV: &str = "y(i) = A(i,j) * x(j)";
const SPMM: &str = "C(i,k) = A(i,j) * B(j,k)";
const MTTKRP: &str = "C(i,r) = A(i,k,l) * B(k,r) * D(l,r)";
const SDDMM: &str = "C(i,j) = M(i,j) * A(i,k) * B(j,k)";

pub(crate) const CASES: &[Case] = &[
    conversion("convert_csr_bsr", &[("A", F64, "CSR")], "BSR(4,4)"),
    conversion("convert_dia_csc", &[("A", F32, "DIA-I")], "CSC"),
    conversion("convert_coo_csr", &[("A", F64, "COO")], "CSR"),
    case("spmv_csr", SPMV, &[("A", F64, "CSR"), ("x", F64, "Dense")], ""),
    case("spmv_csc", SPMV, &[("A", F64, "CSC"), ("x", F64, "Dense")], ""),
    case("spmv_coo", SPMV, &[("A", F64, "COO"), ("x", F64, "Dense")], ""),
    case("spmv_dcsr", SPMV, &[("A", F64, "DCSR"), ("x", F64, "Dense")], ""),
    case("spmv_dia", SPMV, &[("A", F64, "DIA-I"), ("x", F64, "Dense")], ""),
    case("spmv_bsr", SPMV, &[("A", F32, "BSR(4,4)"), ("x", F32, "Dense")], ""),
    case("spmv_two_four", SPMV, &[("A", Dtype::F16, "2:4"), ("x", Dtype::F16, "Dense")], ""),
    case("spmv_two_bits", SPMV, &[("A", F32, "2:4, crdWidth = 2"), ("x", F32, "Dense")], ""),
    case(
        "spmv_wide",
        SPMV,
        &[
            ("A", F64, "(i, j) -> (i : dense, j : compressed), posWidth = 64, crdWidth = 64"),
            ("x", F64, "Dense"),
        ],
        "",
    ),
    case("spmv_complex", SPMV, &[("A", Dtype::Complex128, "CSC"), ("x", F64, "Dense")], ""),
    case("spmv_integers", SPMV, &[("A", Dtype::I16, "CSR"), ("x", Dtype::U8, "Dense")], ""),
    case("spmm_csr", SPMM, &[("A", F32, "CSR"), ("B", F32, "Dense")], ""),
    case("spmm_coo", SPMM, &[("A", F64, "COO"), ("B", F64, "Dense")], ""),
    case("sddmm_csr", SDDMM, &[("M", F32, "CSR"), ("A", F32, "Dense"), ("B", F32, "Dense")], "CSR"),
    case("spgemm_csr", SPMM, &[("A", F64, "CSR"), ("B", F64, "CSR")], "CSR"),
    case("spadd_csr", "C(i,j) = A(i,j) + B(i,j)", &[("A", F64, "CSR"), ("B", F64, "CSR")], "CSR"),
    case("spadd_coo", "C(i,j) = A(i,j) + B(i,j)", &[("A", F64, "COO"), ("B", F64, "COO")], "COO"),
    case("mttkrp_csf", MTTKRP, &[("A", F64, "CSF"), ("B", F64, "Dense"), ("D", F64, "Dense")], ""),
    case(
        "mask",
        "C(i,j)<M(i,j)> = A(i,j) + 1",
        &[("M", Dtype::Bool, "CSR"), ("A", F64, "CSR")],
        "CSR",
    ),
    Case {
        semiring: "min_plus",
        ..case("shortest", SPMV, &[("A", F64, "CSC"), ("x", F64, "Dense")], "")
    },
    case("functions", "y(i) = exp(x(i)) * sqrt(x(i))", &[("x", Dtype::Complex64, "Dense")], ""),
    case("product_of_entries", "s = prod(i, prod(j, A(i,j) + 1))", &[("A", F64, "CSR")], ""),
    case(
        "spmv_of_triangle",
        "y(i) = A(i,j) * (i >= j) * x(j)",
        &[("A", F64, "CSR"), ("x", F64, "Dense")],
        "",
    ),
    case("any", "y(i) = any(j, A(i,j) > 0)", &[("A", F64, "CSR")], ""),
    Case {
        backend: LARGE_TABLES,
        ..case("spgemm_csr_large", SPMM, &[("A", F32, "CSR"), ("B", F32, "CSR")], "CSR")
    },
    Case {
        semiring: "min_plus",
        ..case("spgemm_shortest", SPMM, &[("A", F64, "DCSR"), ("B", F64, "DCSR")], "DCSR")
    },
    case(
        "spgemm_complex",
        SPMM,
        &[("A", Dtype::Complex128, "CSR"), ("B", Dtype::Complex128, "CSR")],
        "CSR",
    ),
    Case {
        backend: BY_STORED,
        ..case("spmv_csr_by_stored", SPMV, &[("A", F64, "CSR"), ("x", F64, "Dense")], "")
    },
    Case {
        backend: BY_STORED,
        ..case("spmv_dcsr_by_stored", SPMV, &[("A", F32, "DCSR"), ("x", F32, "Dense")], "")
    },
    Case {
        backend: BY_STORED,
        ..case("spmv_coo_by_stored", SPMV, &[("A", F32, "COO"), ("x", F32, "Dense")], "")
    },
    Case {
        backend: BY_STORED,
        ..case("spmm_csr_by_stored", SPMM, &[("A", F64, "CSR"), ("B", F64, "Dense")], "")
    },
    Case {
        backend: BY_STORED,
        ..case(
            "scaled_csr_by_stored",
            "C(i,j) = A(i,j) * x(j)",
            &[("A", F64, "CSR"), ("x", F64, "Dense")],
            "CSR",
        )
    },
    Case {
        backend: BY_STORED,
        ..case(
            "spadd_csr_by_stored",
            "C(i,j) = A(i,j) + B(i,j)",
            &[("A", F64, "CSR"), ("B", F64, "CSR")],
            "CSR",
        )
    },
    Case {
        backend: IN_VECTORS,
        ..case("spmm_csr_in_vectors", SPMM, &[("A", F32, "CSR"), ("B", F32, "Dense")], "")
    },
    Case {
        backend: IN_VECTORS,
        ..case("spmm_dcsr_in_vectors", SPMM, &[("A", F64, "DCSR"), ("B", F64, "Dense")], "")
    },
    Case {
        backend: IN_BLOCKS,
        ..case("product_in_blocks", SPMM, &[("A", F32, "Dense"), ("B", F32, "Dense")], "")
    },
    Case {
        backend: IN_BLOCKS,
        ..case(
            "spmm_bsr_in_blocks",
            "C(m,n) = A(m,o) * B(o,n)",
            &[("A", F32, "BSR(4,4)"), ("B", F32, "Dense")],
            "",
        )
    },
    Case {
        backend: IN_STRIDES,
        ..case("spmm_csr_in_strides", SPMM, &[("A", F32, "CSR"), ("B", F32, "Dense")], "")
    },
    Case {
        backend: IN_STRIDES,
        ..case(
            "mttkrp_csf_in_strides",
            MTTKRP,
            &[("A", F64, "CSF"), ("B", F64, "Dense"), ("D", F64, "Dense")],
            "",
        )
    },
    Case {
        backend: IN_VECTORS,
        ..case(
            "sddmm_csr_in_vectors",
            SDDMM,
            &[("M", F32, "CSR"), ("A", F32, "Dense"), ("B", Dtype::F16, "Dense")],
            "CSR",
        )
    },
];

impl Case {
    /// The whole text.
    pub(crate) fn is_expression(&self) -> bool {
        self.backend != CONVERSION
    }

    /// The whole text.
    pub(crate) fn text(&self) -> String {
        if !self.is_expression() {
            let (tensor, format) = (tensor(self, &self.operands[0]), self.result.parse().unwrap());
            return ust::gpu::conversion_text(&tensor, &format).unwrap().expect("a kernel");
        }
        self.text_by(self.backend)
    }

    /// The whole text that a back end writes.
    pub(crate) fn text_by(&self, backend: &str) -> String {
        let tensors: Vec<Tensor> = self.operands.iter().map(|one| tensor(self, one)).collect();
        let mut call = einsum(self.expression).backend(backend.parse::<Backend>().unwrap());
        for ((name, ..), tensor) in self.operands.iter().zip(&tensors) {
            call = call.arg(name, tensor);
        }
        if !self.result.is_empty() {
            call = call.format(self.result);
        }
        if !self.semiring.is_empty() {
            call = call.semiring(self.semiring);
        }
        let kernel = call.prepare().unwrap_or_else(|error| panic!("{}: {error}", self.name));
        kernel.machine_code().unwrap_or_else(|| panic!("{}: no text", self.name))
    }
}

/// A tensor with a few entries. Each index has the same extent wherever it stands.
fn tensor(case: &Case, (name, dtype, format): &(&str, Dtype, &str)) -> Tensor {
    let from = case.expression.find(&format!("{name}(")).expect("the operand is used");
    let indices = case.expression[from + name.len() + 1..].split(')').next().expect("indices");
    let extent = |index: &str| match index {
        "i" => 16,
        "j" => 24,
        "k" => 8,
        "n" => 96,
        "m" | "o" => 256,
        _ => 4,
    };
    let shape: Vec<usize> = indices.split(',').map(extent).collect();
    let format = Format::resolve(format, Some(shape.len()))
        .unwrap_or_else(|error| panic!("{format}: {error}"));
    // Every fourth element of a row, and of some rows another one; all where loops run over blocks.
    let all = case.backend == IN_BLOCKS;
    let mut entries: Vec<(Vec<usize>, f64)> = Vec::new();
    let size: usize = shape.iter().product();
    for at in 0..size {
        let mut left = at;
        let mut place: Vec<usize> = shape
            .iter()
            .rev()
            .map(|&extent| {
                let own = left % extent;
                left /= extent;
                own
            })
            .collect();
        place.reverse();
        let sum: usize = place.iter().sum();
        if all || sum.is_multiple_of(4) || sum % 8 == 3 {
            entries.push((place, 1.0));
        }
    }
    let columns =
        (0..shape.len()).map(|dim| entries.iter().map(|(place, _)| place[dim] as i64).collect());
    let values: Vec<f64> = entries.iter().map(|(_, value)| *value).collect();
    let coo = ust::Coo::new(shape.clone(), columns.collect::<Vec<Vec<i64>>>(), values).unwrap();
    Tensor::from_coo(&coo, &format).unwrap().cast(*dtype).unwrap()
}
