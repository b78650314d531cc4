//! Lanes, the elements along the last dimension: sorted, and their largest ones.

use ust_level_api::Scalar;
use ust_level_api::ir::cancel::{PIECE, poll};

use crate::convert::build::BuildOptions;
use crate::error::Error;
use crate::storage::coo::Coo;
use crate::storage::{Tensor, Values};

/// The numbers of some entries, each with the [`key`] of its value.
type Lane = Vec<(u64, i128)>;

impl Tensor {
    /// The elements along the last dimension in ascending order, those that are not stored among them, as in NumPy. NaN
    /// stands last. The format stays.
    ///
    /// ```
    /// use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[3, 0, -1, 0, 2], [0, 7, 0, 0, 5]], "CSR")?;
    /// let expected = ndarray::array![[-1, 0, 0, 2, 3], [0, 0, 0, 5, 7]];
    /// assert_eq!(a.sort()?.to_dense::<i32>()?, expected.into_dyn());
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// Cost: a sort of the stored elements. Duplicates are summed first.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for complex numbers, and where elements that are not stored are not zero;
    /// [`Error::Shape`] for a tensor without dimensions; as [`Tensor::from_coo_with`].
    pub fn sort(&self) -> Result<Self, Error> {
        let (coo, lanes) = self.lanes()?;
        let last = coo.crd.len() - 1;
        let extent = coo.shape[last] as i64;
        let zero = key(self.dtype().zero());
        let (mut kept, mut places) = (Vec::new(), Vec::new());
        for lane in lanes {
            let below = lane.iter().take_while(|(_, key)| Some(*key) < zero).count();
            let above = lane.iter().rev().take_while(|(_, key)| Some(*key) > zero).count();
            kept.extend(lane[..below].iter().map(|(entry, _)| *entry));
            places.extend(0..below as i64);
            kept.extend(lane[lane.len() - above..].iter().map(|(entry, _)| *entry));
            places.extend(extent - above as i64..extent);
        }
        let mut chosen = self.chosen(&coo, &kept);
        chosen.crd[last] = places;
        self.made_of(&chosen)
    }

    /// The `k` largest stored elements of each lane along the last dimension, where they stand. Of equal ones, the
    /// first. Elements that are not stored do not count. The format stays.
    ///
    /// ```
    /// use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[3, 0, -1, 4, 2], [0, 7, 0, 0, 5]], "CSR")?;
    /// let expected = ndarray::array![[3, 0, 0, 4, 0], [0, 7, 0, 0, 5]];
    /// assert_eq!(a.topk(2)?.to_dense::<i32>()?, expected.into_dyn());
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// Cost: as [`Tensor::sort`].
    ///
    /// # Errors
    /// As [`Tensor::sort`].
    pub fn topk(&self, k: usize) -> Result<Self, Error> {
        let (coo, lanes) = self.lanes()?;
        let mut kept = Vec::new();
        for mut lane in lanes {
            lane.sort_by_key(|&(entry, key)| (std::cmp::Reverse(key), entry));
            kept.extend(lane.into_iter().take(k).map(|(entry, _)| entry));
        }
        let chosen = self.chosen(&coo, &kept);
        self.made_of(&chosen)
    }

    /// The entries, and those of each lane that has some, in ascending order, each with its key.
    fn lanes(&self) -> Result<(Coo, Vec<Lane>), Error> {
        let Some(last) = self.rank().checked_sub(1) else {
            let expected = "a dimension at least".to_owned();
            return Err(Error::Shape { found: Vec::new(), expected });
        };
        if !self.fill().same(&self.dtype().zero()) {
            let text = format!("elements that are not stored are {}, not zero", self.fill());
            return Err(Error::Unsupported(text));
        }
        let coo = self.coalesce()?.to_coo()?;
        let keys: Option<Vec<i128>> = coo.values.iter().map(key).collect();
        let keys = keys.ok_or_else(|| {
            Error::Unsupported("complex numbers have no order: sort `abs` of them".to_owned())
        })?;
        let lead = |entry: u64| coo.crd[..last].iter().map(move |crd| crd[entry as usize]);
        let mut order: Vec<u64> = (0..coo.len() as u64).collect();
        let mut compared = 0;
        order.sort_by(|&a, &b| {
            compared += 1;
            if compared % PIECE == 0 {
                poll();
            }
            lead(a).cmp(lead(b)).then(keys[a as usize].cmp(&keys[b as usize])).then(a.cmp(&b))
        });
        let each = order.chunk_by(|&a, &b| lead(a).eq(lead(b)));
        let with_keys = |lane: &[u64]| lane.iter().map(|&at| (at, keys[at as usize])).collect();
        let lanes = each.map(with_keys).collect();
        Ok((coo, lanes))
    }

    /// Some of the entries.
    fn chosen(&self, coo: &Coo, kept: &[u64]) -> Coo {
        let column = |crd: &Vec<i64>| kept.iter().map(|&entry| crd[entry as usize]).collect();
        let values: Values = coo.values.gather(kept);
        Coo { shape: self.shape().to_vec(), crd: coo.crd.iter().map(column).collect(), values }
    }

    /// A tensor of these entries, in the format and with the fill value of this one.
    pub(super) fn made_of(&self, coo: &Coo) -> Result<Self, Error> {
        let options = BuildOptions { fill: Some(self.fill()), ..BuildOptions::default() };
        Self::from_coo_with(coo, self.format().without_slices(), &options)
    }
}

/// A number that is in the order of the values, NaN last. `None` for complex numbers.
fn key(value: Scalar) -> Option<i128> {
    let of_float = |value: f64| match value.is_nan() {
        true => i128::MAX,
        false => {
            // Of the bits of a float, those of negative ones are in reverse order; both zeros are one.
            let bits = (value + 0.0).to_bits() as i64;
            i128::from(if bits < 0 { i64::MIN - bits } else { bits })
        }
    };
    Some(match value {
        Scalar::Bool(value) => value.into(),
        Scalar::I8(value) => value.into(),
        Scalar::I16(value) => value.into(),
        Scalar::I32(value) => value.into(),
        Scalar::I64(value) => value.into(),
        Scalar::U8(value) => value.into(),
        Scalar::U16(value) => value.into(),
        Scalar::U32(value) => value.into(),
        Scalar::U64(value) => value.into(),
        Scalar::F16(value) => of_float(value.into()),
        Scalar::Bf16(value) => of_float(value.into()),
        Scalar::F32(value) => of_float(value.into()),
        Scalar::F64(value) => of_float(value),
        Scalar::Complex64(_) | Scalar::Complex128(_) => return None,
    })
}
