//! What is timed: expressions, conversions and reading. Each registers itself.

use ust::Tensor;

/// Something that contenders do with an input.
pub struct Operation {
    /// Its short name, for `--op`.
    pub name: &'static str,
    /// The rank of inputs that it takes.
    pub rank: usize,
    /// What is done.
    pub task: Task,
    /// Extents of indices that the input does not have.
    pub extents: &'static [(&'static str, usize)],
    /// Multiplications and additions, for an input in its base format.
    pub flops: fn(&Tensor) -> f64,
}

inventory::collect!(Operation);

/// What is done.
#[derive(Clone, Copy)]
pub enum Task {
    /// An expression in index notation.
    Expression {
        /// The expression; each name in `stored` is the input or another tensor like it.
        text: &'static str,
        /// The operands that are stored in the format of the case. The first is the input.
        stored: &'static [&'static str],
        /// Whether the result is stored in that format, too; it is dense otherwise.
        sparse: bool,
    },
    /// From unsorted coordinates, every tenth twice, to a format.
    Build(&'static str),
    /// From one named format to another.
    Convert(&'static str, &'static str),
    /// Reading a Matrix Market file.
    Read,
}

impl Operation {
    /// The expression, or what else is done.
    pub fn text(&self) -> String {
        match self.task {
            Task::Expression { text, .. } => text.to_owned(),
            Task::Build(to) => format!("entries -> {to}"),
            Task::Convert(from, to) => format!("{from} -> {to}"),
            Task::Read => "file -> CSR".to_owned(),
        }
    }
}

/// Every operation, in the order of their names.
pub(crate) fn operations() -> Vec<&'static Operation> {
    let mut all: Vec<_> = inventory::iter::<Operation>().collect();
    all.sort_by_key(|op| op.name);
    all
}

/// The accesses of an expression, each name once: the result first, then the operands.
pub(crate) fn accesses(text: &str) -> Result<Vec<(String, Vec<String>)>, String> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('(') {
        let name = name.trim_start_matches([' ', '=', '+', '*']).trim();
        let (indices, after) =
            after.split_once(')').ok_or_else(|| format!("`{text}` lacks a `)`"))?;
        if !found.iter().any(|(known, _)| known == name) {
            found
                .push((name.to_owned(), indices.split(',').map(|i| i.trim().to_owned()).collect()));
        }
        rest = after;
    }
    match found.len() {
        0 | 1 => Err(format!("`{text}` lacks a result or an operand")),
        _ => Ok(found),
    }
}

fn twice(a: &Tensor) -> f64 {
    2.0 * a.nse() as f64
}

const fn expression(text: &'static str, stored: &'static [&'static str], sparse: bool) -> Task {
    Task::Expression { text, stored, sparse }
}

inventory::submit! { Operation {
    name: "spmv", rank: 2, extents: &[], flops: twice,
    task: expression("y(i) = A(i,j) * x(j)", &["A"], false),
}}
inventory::submit! { Operation {
    name: "spmvt", rank: 2, extents: &[], flops: twice,
    task: expression("y(j) = A(i,j) * x(i)", &["A"], false),
}}
inventory::submit! { Operation {
    name: "spmm32", rank: 2, extents: &[("k", 32)], flops: |a| 32.0 * twice(a),
    task: expression("C(i,k) = A(i,j) * B(j,k)", &["A"], false),
}}
inventory::submit! { Operation {
    name: "spmm128", rank: 2, extents: &[("k", 128)], flops: |a| 128.0 * twice(a),
    task: expression("C(i,k) = A(i,j) * B(j,k)", &["A"], false),
}}
inventory::submit! { Operation {
    name: "spgemm", rank: 2, extents: &[], flops: products,
    task: expression("C(i,k) = A(i,j) * A(j,k)", &["A"], true),
}}
inventory::submit! { Operation {
    name: "spadd", rank: 2, extents: &[], flops: |a| a.nse() as f64,
    task: expression("C(i,j) = A(i,j) + B(i,j)", &["A", "B"], true),
}}
inventory::submit! { Operation {
    name: "sddmm", rank: 2, extents: &[("k", 32)], flops: |a| 32.0 * twice(a),
    task: expression("C(i,j) = M(i,j) * A(i,k) * B(j,k)", &["M"], true),
}}
inventory::submit! { Operation {
    name: "ttv", rank: 3, extents: &[], flops: twice,
    task: expression("C(i,j) = T(i,j,k) * v(k)", &["T"], false),
}}
inventory::submit! { Operation {
    name: "mttkrp", rank: 3, extents: &[("r", 32)], flops: |t| 48.0 * twice(t),
    task: expression("D(i,r) = T(i,j,k) * B(j,r) * C(k,r)", &["T"], false),
}}
inventory::submit! { Operation {
    name: "coo-csr", rank: 2, extents: &[], flops: |_| 0.0, task: Task::Build("CSR"),
}}
inventory::submit! { Operation {
    name: "csr-csc", rank: 2, extents: &[], flops: |_| 0.0, task: Task::Convert("CSR", "CSC"),
}}
inventory::submit! { Operation {
    name: "csr-bsr", rank: 2, extents: &[], flops: |_| 0.0, task: Task::Convert("CSR", "BSR(4,4)"),
}}
inventory::submit! { Operation {
    name: "csr-dia", rank: 2, extents: &[], flops: |_| 0.0, task: Task::Convert("CSR", "DIA-I"),
}}
inventory::submit! { Operation {
    name: "dense-csr", rank: 2, extents: &[], flops: |_| 0.0, task: Task::Convert("Dense", "CSR"),
}}
inventory::submit! { Operation {
    name: "mtx-read", rank: 2, extents: &[], flops: |_| 0.0, task: Task::Read,
}}

/// The products that a matrix times itself takes, twice.
fn products(a: &Tensor) -> f64 {
    let (Some(pos), Some(crd)) = (a.pos(1), a.crd(1)) else { return 0.0 };
    let (pos, crd) = (pos.to_vec(), crd.to_vec());
    let length = |row: i64| {
        let row = row as usize;
        pos.get(row + 1).map_or(0, |end| end - pos[row])
    };
    2.0 * crd.iter().map(|&j| length(j) as f64).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::accesses;

    #[test]
    fn an_expression_has_its_result_and_each_operand_once() {
        let names = |text| {
            let all = accesses(text).unwrap().into_iter();
            all.map(|(n, i)| n + &i.concat()).collect::<Vec<_>>()
        };
        assert_eq!(names("C(i,k) = A(i,j) * A(j,k)"), ["Cik", "Aij"]);
        assert_eq!(names("C(i,j) = M(i,j) * A(i,k) * B(j,k)"), ["Cij", "Mij", "Aik", "Bjk"]);
    }

    #[test]
    fn an_expression_that_is_none_is_refused() {
        for text in ["", "y", "y(i)", "y(i) = A(i,j", "y(i) = A)("] {
            assert!(accesses(text).is_err(), "{text}");
        }
    }
}
