//! Results that share the levels of an operand.

mod along;
mod products;

use ust::Coo;

/// The first is not unique, and the last holds two of every four neighbours.
const FORMATS: &[&str] = &[
    "(i, j) -> (i : compressed, j : compressed(nonunique))",
    "CSR",
    "CSC",
    "DCSR",
    "COO",
    "BSR(2, 3)",
    "DIA-I",
    "DIA-J",
    "CSR, posWidth = 64, crdWidth = 16",
    "(i, j) -> (i : dense, j : loose_compressed)",
    "(i, j) -> (j : dense, i : compressed(nonordered))",
    "(i, j) -> (i + j : compressed, i : dense)",
    "2:4",
];

/// A square matrix with an entry for each pick: where, and what.
fn entries(size: usize, picks: &[(u32, i8)]) -> Coo {
    let mut crd = vec![Vec::new(), Vec::new()];
    for (pick, _) in picks {
        crd[0].push((*pick as usize % size) as i64);
        crd[1].push((*pick as usize / size % size) as i64);
    }
    let values: Vec<f64> = picks.iter().map(|(_, value)| f64::from(*value) / 4.0).collect();
    Coo::new(vec![size, size], crd, values).unwrap()
}

/// The same, with no more than two places taken in each four neighbours.
fn grouped(size: usize, picks: &[(u32, i8)]) -> Coo {
    let mut entries = entries(size, picks);
    entries.crd[1].iter_mut().for_each(|j| *j = *j / 2 * 2);
    entries
}

/// Two hundred entries all over a matrix of 50 rows.
fn many() -> Coo {
    let picks = (0..200).map(|n: u32| (n.wrapping_mul(2_654_435_761), n as i8));
    entries(50, &picks.collect::<Vec<_>>())
}
