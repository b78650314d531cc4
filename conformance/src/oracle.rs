//! The truth: a tensor as a map from coordinates to values, and what storing it may change.
//!
//! Nothing here knows about levels. A [`Model`] is compared with what a stored tensor says.

use std::collections::BTreeMap;
use std::fmt;

use ust_engine::tensor::{StoredElement, Tensor};
use ust_engine::{Coo, Error, Format, Values};
use ust_level_api::{Buffer, Dtype, Element, Scalar, with_dtype};

/// Random numbers, the same for the same seed on every machine (`SplitMix64`).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence of its own for each seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below a bound that is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound
    }

    /// True so many times in a hundred.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// Puts a list in any order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}

/// A tensor as numbers at coordinates. Several numbers at one place are a sum not yet formed, in
/// the order in which they were given.
#[derive(Clone, Debug)]
pub struct Model {
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    /// The dtype.
    pub dtype: Dtype,
    /// What is not stored has this value.
    pub fill: Scalar,
    /// What is stored.
    pub entries: BTreeMap<Vec<usize>, Vec<Scalar>>,
}

impl Model {
    /// The entries of coordinate columns.
    #[must_use]
    pub fn of_coo(coo: &Coo, fill: Scalar) -> Self {
        let mut entries: BTreeMap<Vec<usize>, Vec<Scalar>> = BTreeMap::new();
        for (at, value) in coo.values.iter().enumerate() {
            entries.entry(coo.coordinates(at)).or_default().push(value);
        }
        Self { shape: coo.shape.clone(), dtype: coo.values.dtype(), fill, entries }
    }

    /// The entries of a stored tensor.
    ///
    /// # Errors
    /// As [`Tensor::to_coo`].
    pub fn of_tensor(tensor: &Tensor) -> Result<Self, Error> {
        Ok(Self::of_coo(&tensor.to_coo()?, tensor.fill()))
    }

    /// What remains of the entries in a format: duplicates become their sum where the format is
    /// unique, and entries equal to the fill value become padding where it ends in a full or padded
    /// level.
    #[must_use]
    pub fn stored_in(&self, format: &Format) -> Self {
        let merged = if format.is_unique() { self.summed() } else { self.clone() };
        if pads(format) { merged.without_fill() } else { merged }
    }

    /// Duplicates summed.
    #[must_use]
    pub fn summed(&self) -> Self {
        let mut model = self.clone();
        for values in model.entries.values_mut() {
            *values = vec![sum(values)];
        }
        model
    }

    /// Entries equal to the fill value left out.
    #[must_use]
    pub fn without_fill(&self) -> Self {
        let mut model = self.clone();
        for values in model.entries.values_mut() {
            values.retain(|value| !value.same(&self.fill));
        }
        model.entries.retain(|_, values| !values.is_empty());
        model
    }

    /// The element at the given coordinates.
    #[must_use]
    pub fn value(&self, coordinates: &[usize]) -> Scalar {
        self.entries.get(coordinates).map_or(self.fill, |values| sum(values))
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.values().map(Vec::len).sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Every coordinate of the shape, in row-major order.
    #[must_use]
    pub fn everywhere(&self) -> Vec<Vec<usize>> {
        everywhere(&self.shape)
    }

    /// What differs in another model, or `None` when nothing does.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self.shape != other.shape || self.dtype != other.dtype || !self.fill.same(&other.fill) {
            return Some(format!("{self} is not {other}"));
        }
        let places = self.entries.keys().chain(other.entries.keys());
        for place in places {
            let (a, b) = (self.entries.get(place), other.entries.get(place));
            let same = match (a, b) {
                (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
                _ => false,
            };
            if !same {
                return Some(format!("at {place:?}: {} is not {}", show(a), show(b)));
            }
        }
        None
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shape, dtype, fill, .. } = self;
        write!(f, "{shape:?} {dtype} with {} entries and fill {fill}", self.len())
    }
}

fn show(values: Option<&Vec<Scalar>>) -> String {
    values.map_or("nothing".to_owned(), |values| {
        values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" + ")
    })
}

/// Whether a stored value equal to the fill value is padding: the format ends in a full or padded
/// level, or has no level at all.
#[must_use]
pub fn pads(format: &Format) -> bool {
    format.descriptions().last().is_none_or(|last| last.props.full || last.props.padded)
}

/// The sum of values of one dtype, formed from the first on.
///
/// # Panics
/// When there is none, or an integer dtype cannot hold the sum.
#[must_use]
pub fn sum(values: &[Scalar]) -> Scalar {
    let plus = |a: Scalar, b: &Scalar| {
        with_dtype!(a.dtype(), T => match (T::from_scalar(a), T::from_scalar(*b)) {
            (Some(a), Some(b)) => {
                a.checked_plus(b).expect("samples are small, and so are their sums").scalar()
            }
            _ => unreachable!("values of one tensor have one dtype"),
        })
    };
    let (first, rest) = values.split_first().expect("a place that is stored has a value");
    rest.iter().fold(*first, plus)
}

/// A buffer of scalars of one dtype.
#[must_use]
pub fn values_of(dtype: Dtype, scalars: &[Scalar]) -> Values {
    with_dtype!(dtype, T => {
        let typed: Vec<T> = scalars.iter().filter_map(|s| T::from_scalar(*s)).collect();
        T::wrap(Buffer::from(typed))
    })
}

/// Every coordinate of a shape, in row-major order.
#[must_use]
pub fn everywhere(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &extent in shape {
        all = all
            .into_iter()
            .flat_map(|head| (0..extent).map(move |c| head.iter().copied().chain([c]).collect()))
            .collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_formed_in_order_and_fill_is_left_out() {
        let coo = Coo::new(vec![3], vec![vec![1, 0, 1, 2]], vec![1_i32, 0, -1, 5]).unwrap();
        let model = Model::of_coo(&coo, Scalar::I32(0));
        assert_eq!((model.len(), model.summed().len()), (4, 3));
        assert_eq!(model.value(&[1]), Scalar::I32(0));
        assert_eq!(model.summed().without_fill().entries.keys().collect::<Vec<_>>(), [&[2]]);
        assert!(model.difference(&model.summed()).unwrap().contains("1 + -1 is not 0"));
        assert!(model.difference(&model.clone()).is_none());
    }

    #[test]
    fn every_coordinate_is_listed_once() {
        assert_eq!(everywhere(&[2, 2]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!((everywhere(&[]).len(), everywhere(&[3, 0]).len()), (1, 0));
    }
}
