//! The tensors that every format is tried on: small, odd, and made to find mistakes.

use ust_engine::format::IndexExpr;
use ust_engine::tensor::BuildOptions;
use ust_engine::{Coo, Error, Format, Tensor};
use ust_level_api::{Dtype, Scalar};

use crate::oracle::{Model, Random, everywhere, values_of};

/// A tensor to store: entries in any order, duplicates among them.
#[derive(Clone, Debug)]
pub struct Input {
    /// What it is about.
    pub name: &'static str,
    /// The entries.
    pub coo: Coo,
    /// What is not stored has this value.
    pub fill: Scalar,
}

impl Input {
    /// The truth about it.
    #[must_use]
    pub fn model(&self) -> Model {
        Model::of_coo(&self.coo, self.fill)
    }

    /// Stores it.
    ///
    /// # Errors
    /// As [`Tensor::from_coo_with`].
    pub fn store(&self, format: &Format) -> Result<Tensor, Error> {
        let options = BuildOptions { fill: Some(self.fill), ..BuildOptions::default() };
        Tensor::from_coo_with(&self.coo, format, &options)
    }

    /// Name, dtype and shape, for messages.
    #[must_use]
    pub fn label(&self) -> String {
        format!("`{}` {:?} {}", self.name, self.coo.shape, self.coo.values.dtype())
    }
}

/// What a format can hold whose items have as many entries each: below a batch, the entries of the first item in all
/// of them. Without a batch, the tensor as it is.
#[must_use]
pub fn alike(coo: &Coo, format: &Format) -> Coo {
    let dims: Vec<usize> = format.levels()[..format.batches()]
        .iter()
        .filter_map(|level| match level.expr {
            IndexExpr::Var(dim) => Some(dim),
            _ => None,
        })
        .collect();
    let mut rows: Vec<(Vec<usize>, Scalar)> = (0..coo.len())
        .filter_map(|at| Some((coo.coordinates(at), coo.values.get(at)?)))
        .filter(|(place, _)| dims.iter().all(|&dim| place[dim] == 0))
        .collect();
    for &dim in &dims {
        let first = std::mem::take(&mut rows);
        let items = (0..coo.shape[dim]).flat_map(|item| first.iter().map(move |row| (item, row)));
        rows.extend(items.map(|(item, (place, value))| {
            let mut place = place.clone();
            place[dim] = item;
            (place, *value)
        }));
    }
    let (places, values): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    columns(&coo.shape, &places, values_of(coo.values.dtype(), &values))
}

/// Extents that no block size divides, all at most 8.
const ODD: [usize; 4] = [5, 7, 3, 2];
/// Extents that blocks of 2 and 4 divide.
const EVEN: [usize; 4] = [4, 8, 2, 4];

/// The tensors of one rank (at most 4). `turn` chooses the dtypes, so that a few formats together
/// see all of them.
#[must_use]
pub fn inputs(rank: usize, seed: u64, turn: usize) -> Vec<Input> {
    let mut random = Random::new(seed ^ (rank as u64) << 32 ^ turn as u64);
    let random = &mut random;
    let dtypes = Dtype::ALL;
    let any = dtypes[turn % dtypes.len()];
    let float = [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16][turn % 4];
    let odd = &ODD[..rank];
    let even = &EVEN[..rank];
    let mut thin = odd.to_vec();
    let mut none = odd.to_vec();
    if rank > 0 {
        thin[turn % rank] = 1;
        none[turn % rank] = 0;
    }
    let last: Vec<usize> = odd.iter().map(|extent| extent - 1).collect();
    let mut all = vec![
        // A few far from each other: what levels with little room can hold.
        picked("spread", even, any, random, |place, _| place.iter().all(|c| c % 4 == 0)),
        picked("odd", odd, Dtype::F64, random, |_, random| random.percent(30)),
        picked("one", odd, any, random, |place, _| *place == last),
        picked("empty", odd, any, random, |_, _| false),
        picked("full", even, any, random, |_, _| true),
        picked("thin", &thin, any, random, |_, random| random.percent(50)),
        picked("none", &none, any, random, |_, _| true),
        picked("sparse", odd, any, random, |_, random| random.percent(8)),
    ];
    let mut zeros = picked("explicit zeros", odd, Dtype::I32, random, |_, r| r.percent(30));
    replace(&mut zeros, Scalar::I32(0), 3);
    all.push(zeros);
    let mut strange = picked("not finite", odd, float, random, |_, r| r.percent(25));
    for (every, value) in [(2, f64::NAN), (3, f64::INFINITY), (5, f64::NEG_INFINITY), (7, -0.0)] {
        if let Ok(value) = Scalar::F64(value).cast(float) {
            replace(&mut strange, value, every);
        }
    }
    all.push(strange);
    let mut filled = picked("another fill", odd, Dtype::F64, random, |_, r| r.percent(30));
    filled.fill = Scalar::F64(7.0);
    replace(&mut filled, Scalar::F64(7.0), 3);
    all.push(filled);
    let mut twice = picked("duplicates", odd, any, random, |_, r| r.percent(25));
    double(&mut twice, random);
    all.push(twice);
    let mut twice = picked("duplicates, another fill", odd, float, random, |_, r| r.percent(20));
    if let Ok(fill) = Scalar::F64(-2.0).cast(float) {
        twice.fill = fill;
    }
    double(&mut twice, random);
    all.push(twice);
    all
}

/// Entries at the chosen places, in any order.
fn picked(
    name: &'static str,
    shape: &[usize],
    dtype: Dtype,
    random: &mut Random,
    mut choose: impl FnMut(&Vec<usize>, &mut Random) -> bool,
) -> Input {
    let mut places: Vec<Vec<usize>> =
        everywhere(shape).into_iter().filter(|place| choose(place, random)).collect();
    random.shuffle(&mut places);
    let values: Vec<Scalar> = places.iter().map(|_| number(dtype, random)).collect();
    Input { name, coo: columns(shape, &places, values_of(dtype, &values)), fill: dtype.zero() }
}

fn columns(shape: &[usize], places: &[Vec<usize>], values: ust_engine::Values) -> Coo {
    let column = |dim: usize| places.iter().map(|place| place[dim] as i64).collect();
    Coo { shape: shape.to_vec(), crd: (0..shape.len()).map(column).collect(), values }
}

/// A number that is not zero and that sums of a few of its kind hold exactly.
pub(crate) fn number(dtype: Dtype, random: &mut Random) -> Scalar {
    let size = 1 + random.below(4) as i64;
    let signed = if random.percent(50) { -size } else { size };
    let half = signed as f64 / 2.0;
    let tries = [
        Scalar::Complex128(ust_level_api::scalar::Complex::new(half, signed as f64)),
        Scalar::F64(half),
        Scalar::I64(signed),
        Scalar::I64(size),
    ];
    let fitting = if dtype.is_complex() { &tries[..] } else { &tries[1..] };
    // Halves are kept for floating-point dtypes.
    let fitting = fitting.iter().filter(|s| s.dtype() != Dtype::F64 || dtype.is_float());
    fitting.filter_map(|scalar| scalar.cast(dtype).ok()).next().unwrap_or(dtype.one())
}

/// Every `every`th value becomes another.
fn replace(input: &mut Input, value: Scalar, every: usize) {
    let mut values: Vec<Scalar> = input.coo.values.iter().collect();
    for at in (0..values.len()).step_by(every) {
        values[at] = value;
    }
    input.coo.values = values_of(value.dtype(), &values);
}

/// Half of the entries stand twice, some three times; where the dtype allows it, some cancel.
fn double(input: &mut Input, random: &mut Random) {
    let dtype = input.coo.values.dtype();
    let mut rows: Vec<(Vec<usize>, Scalar)> = (0..input.coo.len())
        .filter_map(|at| Some((input.coo.coordinates(at), input.coo.values.get(at)?)))
        .collect();
    for at in 0..rows.len() {
        let (place, value) = rows[at].clone();
        let times = [0, 1, 1, 2][random.below(4) as usize];
        for _ in 0..times {
            let negated = negated(value).filter(|_| random.percent(30));
            rows.push((place.clone(), negated.unwrap_or_else(|| number(dtype, random))));
        }
    }
    random.shuffle(&mut rows);
    let (places, values): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    input.coo = columns(&input.coo.shape, &places, values_of(dtype, &values));
}

fn negated(value: Scalar) -> Option<Scalar> {
    match value.cast(Dtype::F64).ok()? {
        Scalar::F64(number) => Scalar::F64(-number).cast(value.dtype()).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_tensors() {
        for rank in 0..=4 {
            let print = |seed| format!("{:?}", inputs(rank, seed, 3));
            assert_eq!(print(1), print(1));
            assert!(rank == 0 || print(1) != print(2), "rank {rank}");
        }
    }

    #[test]
    fn inputs_are_what_their_names_say() {
        for turn in 0..Dtype::ALL.len() {
            for input in inputs(2, 5, turn) {
                let (model, name) = (input.model(), input.name);
                let chosen = matches!(name, "spread" | "odd" | "one" | "full");
                assert!(!chosen || !model.is_empty(), "{name}");
                assert!(!matches!(name, "empty" | "none") || model.is_empty(), "{name}");
                assert_eq!(
                    model.len() > model.entries.len(),
                    name.starts_with("duplicates"),
                    "{name}"
                );
                let zeros = model.entries.values().flatten().any(|v| v.same(&model.fill));
                assert!(!matches!(name, "explicit zeros" | "another fill") || zeros, "{name}");
            }
        }
    }
}
