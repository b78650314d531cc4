//! What a tensor is: how many entries its rows have; of a matrix, symmetry, bandwidth and diagonal.

use ust_engine::coo::Coo;
use ust_engine::error::Error;
use ust_engine::tensor::Tensor;
use ust_level_api::scalar::Complex;
use ust_level_api::{Dtype, Scalar};

use super::stats::Counts;

/// What a tensor is. Stored zeros count as entries, and padding does not.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Structure {
    /// For each dimension, how many entries its coordinates have: of a matrix, its rows, then its columns.
    pub dims: Vec<Numbers>,
    /// More of a matrix.
    pub matrix: Option<Matrix>,
}

/// How many entries the coordinates of a dimension have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// The fewest.
    pub min: u64,
    /// Half of the coordinates have no more.
    pub median: u64,
    /// The most.
    pub max: u64,
    /// Coordinates without entries.
    pub empty: u64,
}

/// What a matrix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// What it has in common with its transpose.
    pub symmetry: Symmetry,
    /// How far entries are from the diagonal: below it, and above it.
    pub bandwidth: (u64, u64),
    /// Elements of the diagonal that are stored and not zero.
    pub diagonal: u64,
    /// Rows in which the element of the diagonal is at least as large as the others together: all of them, if the
    /// matrix is diagonally dominant. Not known of matrices with many more rows than entries.
    pub dominant: Option<u64>,
}

/// What a matrix has in common with its transpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Symmetry {
    /// Nothing.
    #[default]
    None,
    /// The places of the entries.
    Pattern,
    /// The transpose is the negative.
    SkewSymmetric,
    /// The transpose is the conjugate, and some entry is not real.
    Hermitian,
    /// The transpose is the same.
    Symmetric,
}

impl Symmetry {
    /// In a word or two.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Pattern => "pattern alone",
            Self::SkewSymmetric => "skew-symmetric",
            Self::Hermitian => "Hermitian",
            Self::Symmetric => "symmetric",
        }
    }
}

/// Looks at the entries of a tensor: how many its rows have, and of a matrix its symmetry, bandwidth and diagonal.
/// Duplicates are summed first.
///
/// ```
/// use ust::advise::{Symmetry, structure};
/// use ust::{Tensor, generate::generate};
///
/// let a = Tensor::from_coo(&generate("banded(100, diagonals=3)")?, "CSR")?;
/// let rows = structure(&a)?.dims[0];
/// assert_eq!((rows.min, rows.median, rows.max, rows.empty), (2, 3, 3, 0));
///
/// let laplacian = Tensor::from_coo(&generate("poisson2d(9)")?, "CSR")?;
/// let matrix = structure(&laplacian)?.matrix.unwrap();
/// assert_eq!((matrix.symmetry, matrix.bandwidth), (Symmetry::Symmetric, (9, 9)));
/// assert_eq!((matrix.diagonal, matrix.dominant), (81, Some(81)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Cost: O(entries). Symmetries are told by sums of hashes: a matrix that has none is said to have one once in 2^64.
///
/// # Errors
/// As [`Tensor::to_coo`].
pub fn structure(tensor: &Tensor) -> Result<Structure, Error> {
    let coo = match tensor.format().is_unique() {
        true => tensor.to_coo()?,
        false => tensor.sum_duplicates()?.to_coo()?,
    };
    let dims = coo.crd.iter().zip(&coo.shape).map(|(column, &extent)| numbers(column, extent));
    Ok(Structure { dims: dims.collect(), matrix: (coo.shape.len() == 2).then(|| matrix(&coo)) })
}

fn numbers(column: &[i64], extent: usize) -> Numbers {
    let counts = Counts::of(0, extent as u128, column.len(), column.iter().copied());
    let mut used: Vec<u32> = counts.used().map(|(_, count)| count).collect();
    used.sort_unstable();
    let empty = extent - used.len();
    let at = |place: usize| {
        place.checked_sub(empty).map_or(0, |at| used.get(at).map_or(0, |&n| n.into()))
    };
    Numbers {
        min: at(0),
        median: at(extent.saturating_sub(1) / 2),
        max: used.last().map_or(0, |&most| most.into()),
        empty: empty as u64,
    }
}

/// Sums of hashes that are zero if the entries above the diagonal are those below it, mirrored.
#[derive(Default)]
struct Balance {
    pattern: u64,
    symmetric: u64,
    skew: u64,
    hermitian: u64,
}

impl Balance {
    /// Adds the entry on one side of the diagonal or takes off the mirrored one on the other side.
    fn add(&mut self, [i, j]: [i64; 2], value: Scalar, is_zero: bool) {
        let above = i < j;
        let place = mixed(mixed(i.min(j) as u64).wrapping_add(i.max(j) as u64));
        let count = |sum: &mut u64, word: u64| {
            *sum = if above { sum.wrapping_add(word) } else { sum.wrapping_sub(word) };
        };
        count(&mut self.pattern, place);
        // What is not stored is zero as well.
        if !is_zero {
            let word = |negative, conjugate| mixed(place ^ number(value, negative, conjugate));
            count(&mut self.symmetric, word(false, false));
            count(&mut self.skew, word(!above, false));
            count(&mut self.hermitian, word(false, !above));
        }
    }
}

fn matrix(coo: &Coo) -> Matrix {
    let [rows, columns] = [coo.shape[0], coo.shape[1]];
    let mut balance = Balance::default();
    let (mut below, mut above, mut diagonal) = (0, 0, 0);
    let (mut zero_diagonal, mut real_diagonal, mut all_real) = (true, true, true);
    // For each row, the sizes of the element of the diagonal and of the others.
    let known = rows <= coo.len().saturating_mul(8).saturating_add(1 << 16);
    let mut sizes: Vec<[f64; 2]> = vec![[0.0; 2]; if known { rows } else { 0 }];
    for ((&i, &j), value) in coo.crd[0].iter().zip(&coo.crd[1]).zip(coo.values.iter()) {
        let Complex { re, im } = complex(value);
        let (size, is_zero) = (re.hypot(im), re == 0.0 && im == 0.0);
        all_real &= im == 0.0;
        if i == j {
            diagonal += u64::from(!is_zero);
            zero_diagonal &= is_zero;
            real_diagonal &= im == 0.0;
        } else {
            (below, above) = (below.max(i - j), above.max(j - i));
            balance.add([i, j], value, is_zero);
        }
        if let Some(sizes) = sizes.get_mut(i as usize) {
            sizes[usize::from(i != j)] += size;
        }
    }
    let Balance { pattern, symmetric, skew, hermitian } = balance;
    let symmetry = match rows == columns {
        false => Symmetry::None,
        true if symmetric == 0 => Symmetry::Symmetric,
        true if hermitian == 0 && real_diagonal && !all_real => Symmetry::Hermitian,
        true if skew == 0 && zero_diagonal => Symmetry::SkewSymmetric,
        true if pattern == 0 => Symmetry::Pattern,
        true => Symmetry::None,
    };
    // Sums are rounded.
    let dominates = |[own, others]: &&[f64; 2]| own * (1.0 + 1e-12) >= *others;
    let dominant = known.then(|| sizes.iter().filter(dominates).count() as u64);
    Matrix { symmetry, bandwidth: (below as u64, above as u64), diagonal, dominant }
}

fn complex(value: Scalar) -> Complex<f64> {
    match value.cast(Dtype::Complex128) {
        Ok(Scalar::Complex128(number)) => number,
        // An integer of 64 bits that no such number is.
        _ => match value {
            Scalar::I64(number) => Complex { re: number as f64, im: 0.0 },
            Scalar::U64(number) => Complex { re: number as f64, im: 0.0 },
            _ => Complex { re: f64::NAN, im: 0.0 },
        },
    }
}

/// A hash of a number, of its negative, or of its conjugate.
fn number(value: Scalar, negative: bool, conjugate: bool) -> u64 {
    let exact = match value {
        Scalar::I64(number) => Some(i128::from(number)),
        Scalar::U64(number) => Some(i128::from(number)),
        _ => None,
    };
    if let Some(exact) = exact {
        return mixed(if negative { -exact } else { exact } as u64);
    }
    let Complex { re, im } = complex(value);
    let re = if negative { -re } else { re };
    let im = if negative != conjugate { -im } else { im };
    // Both zeros are one.
    mixed(mixed((re + 0.0).to_bits()).wrapping_add((im + 0.0).to_bits()))
}

/// Mixes the bits of a word (the finalizer of `SplitMix64`).
fn mixed(word: u64) -> u64 {
    let z = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use ust::Dtype;
    use ust::generate::generate;

    use super::*;

    /// What a matrix is, element by element.
    fn plainly(tensor: &Tensor) -> (Vec<Numbers>, Matrix) {
        let &[rows, columns] = tensor.shape() else { panic!("a matrix") };
        let is_entry = |i: usize, j: usize| {
            let coo = tensor.to_coo().unwrap();
            (0..coo.len()).any(|at| coo.coordinates(at) == [i, j])
        };
        let stored: Vec<Vec<bool>> =
            (0..rows).map(|i| (0..columns).map(|j| is_entry(i, j)).collect()).collect();
        let at = |i: usize, j: usize| complex(tensor.get(&[i, j]).unwrap());
        let numbers = |mut counts: Vec<u64>| {
            counts.sort_unstable();
            Numbers {
                min: counts[0],
                median: counts[(counts.len() - 1) / 2],
                max: counts[counts.len() - 1],
                empty: counts.iter().filter(|&&count| count == 0).count() as u64,
            }
        };
        let count =
            |entries: &mut dyn Iterator<Item = bool>| entries.filter(|&is| is).count() as u64;
        let of_rows = (0..rows).map(|i| count(&mut (0..columns).map(|j| stored[i][j])));
        let of_columns = (0..columns).map(|j| count(&mut (0..rows).map(|i| stored[i][j])));
        let dims = vec![numbers(of_rows.collect()), numbers(of_columns.collect())];
        let pairs = || (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
        let entries = || pairs().filter(|&(i, j)| stored[i][j]);
        let square = rows == columns;
        let holds = |relation: &dyn Fn(Complex<f64>, Complex<f64>) -> bool| {
            square && pairs().all(|(i, j)| relation(at(i, j), at(j, i)))
        };
        let symmetry = if holds(&|a, b| a == b) {
            Symmetry::Symmetric
        } else if holds(&|a, b| a == b.conj()) {
            Symmetry::Hermitian
        } else if holds(&|a, b| a == -b) {
            Symmetry::SkewSymmetric
        } else if square && pairs().all(|(i, j)| stored[i][j] == stored[j][i]) {
            Symmetry::Pattern
        } else {
            Symmetry::None
        };
        let below = entries().map(|(i, j)| i.saturating_sub(j)).max().unwrap_or(0);
        let above = entries().map(|(i, j)| j.saturating_sub(i)).max().unwrap_or(0);
        let size = |i: usize, j: usize| at(i, j).re.hypot(at(i, j).im);
        let zero = Complex { re: 0.0, im: 0.0 };
        let others = |i: usize| (0..columns).filter(|&j| j != i).map(|j| size(i, j)).sum::<f64>();
        let own = |i: usize| if i < columns { size(i, i) } else { 0.0 };
        let dominant = (0..rows).filter(|&i| own(i) * (1.0 + 1e-12) >= others(i)).count() as u64;
        let diagonal = (0..rows.min(columns)).filter(|&i| at(i, i) != zero).count() as u64;
        let bandwidth = (below as u64, above as u64);
        (dims, Matrix { symmetry, bandwidth, diagonal, dominant: Some(dominant) })
    }

    fn matrix_of(
        rows: usize,
        columns: usize,
        dtype: Dtype,
        entries: &[(i64, i64, [f64; 2])],
    ) -> Tensor {
        let crd =
            vec![entries.iter().map(|e| e.0).collect(), entries.iter().map(|e| e.1).collect()];
        let values: Vec<Complex<f64>> =
            entries.iter().map(|(_, _, [re, im])| Complex { re: *re, im: *im }).collect();
        let coo = Coo::new(vec![rows, columns], crd, values).unwrap();
        let coo = ust::Tensor::from_coo(&coo, "CSR").unwrap();
        coo.cast_lossy(dtype)
    }

    #[test]
    fn the_structure_is_what_elements_one_by_one_say() {
        let mut kinds = std::collections::HashMap::<&str, usize>::new();
        let mut seed = u64::from(std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos());
        println!("seed {seed}");
        let mut random = |below: u64| {
            seed = mixed(seed);
            seed % below
        };
        for round in 0..200 {
            let rows = 1 + random(7) as usize;
            let columns = if round % 5 == 0 { 1 + random(7) as usize } else { rows };
            let dtype = [Dtype::F64, Dtype::I64, Dtype::Complex128, Dtype::F32][random(4) as usize];
            let mut entries = std::collections::BTreeMap::new();
            for _ in 0..random(12) {
                let (i, j) = (random(rows as u64) as i64, random(columns as u64) as i64);
                let mut value = || random(7) as f64 - 3.0;
                let (re, im) = (value(), value());
                entries.insert((i, j), [re, im]);
                // Mirrored in one of the ways that matter, or not at all.
                let mirrored = match round % 4 {
                    0 => [re, im],
                    1 => [-re, -im],
                    2 => [re, -im],
                    _ => [re + 1.0, im],
                };
                if rows == columns && (i != j || round % 4 == 1) {
                    entries.insert((j, i), if i == j { [0.0; 2] } else { mirrored });
                } else if rows == columns && round % 4 == 2 {
                    entries.insert((i, i), [re, 0.0]);
                }
            }
            let entries: Vec<_> =
                entries.into_iter().map(|((i, j), value)| (i, j, value)).collect();
            let tensor = matrix_of(rows, columns, dtype, &entries);
            let found = structure(&tensor).unwrap();
            let (dims, matrix) = plainly(&tensor);
            assert_eq!((&found.dims, found.matrix), (&dims, Some(matrix)), "{entries:?} {dtype}");
            *kinds.entry(matrix.symmetry.name()).or_default() += 1;
        }
        assert_eq!(kinds.len(), 5, "every symmetry occurs: {kinds:?}");
    }

    #[test]
    fn padding_is_no_entry_and_duplicates_count_once() {
        let coo = generate("poisson2d(6)").unwrap();
        let csr = Tensor::from_coo(&coo, "CSR").unwrap();
        let expected = structure(&csr).unwrap();
        for format in ["BSR(4, 4)", "DIA", "CSC", "ELL"] {
            let tensor = csr.convert(format).unwrap();
            assert_eq!(structure(&tensor).unwrap(), expected, "{format}");
        }
        let twice = "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))";
        let mut doubled = coo.clone();
        doubled.crd.iter_mut().for_each(|column| column.extend_from_within(..));
        doubled.values = [coo.values.clone(), coo.values.clone()]
            .iter()
            .flat_map(ust::Values::iter)
            .map(|v| complex(v).re)
            .collect::<Vec<f64>>()
            .into();
        let doubled = Tensor::from_coo(&doubled, twice).unwrap();
        assert_eq!((doubled.nse(), structure(&doubled).unwrap()), (2 * csr.nse(), expected));
    }

    #[test]
    fn integers_beyond_the_reach_of_floats_are_told_apart() {
        let big = 1_i64 << 53;
        let crd = vec![vec![0, 1], vec![1, 0]];
        let coo = Coo::new(vec![2, 2], crd, vec![big, big + 1]).unwrap();
        let tensor = Tensor::from_coo(&coo, "CSR").unwrap();
        assert_eq!(structure(&tensor).unwrap().matrix.unwrap().symmetry, Symmetry::Pattern);
    }
}
