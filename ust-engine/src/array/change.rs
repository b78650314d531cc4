//! Changed values: functions of each, scaled and bounded in place, and `+=`.

use ust_format::Format;
use ust_level_api::Scalar;
use ust_level_api::ir::cancel;

use super::{list, names};
use crate::einsum::{Argument, einsum};
use crate::error::Error;
use crate::storage::{StoredElement, Tensor, Values};

impl Tensor {
    /// A function of every element. It is called for each stored one, and once for those that are not stored, whose
    /// value is the fill value of the result. The structure stays, but that duplicates are summed first.
    ///
    /// ```
    /// use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [4.0, 9.0]], "CSR")?;
    /// let roots = a.map(|value: f64| value.sqrt() as f32)?;
    /// assert_eq!(roots.values().typed::<f32>()?, [1.0, 2.0, 3.0]);
    /// // Of what is not stored, it is 1.
    /// assert_eq!(a.map(f64::exp)?.get_as::<f64>(&[0, 1])?, 1.0);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Dtype`] when the values are of another type.
    pub fn map<T: StoredElement, U: StoredElement>(
        &self,
        f: impl Fn(T) -> U,
    ) -> Result<Self, Error> {
        let found = self.dtype();
        let fill = T::from_scalar(self.fill()).ok_or(Error::Dtype { expected: T::DTYPE, found })?;
        let this = self.without_duplicates()?;
        let clean = this.clean_values()?;
        let values: Vec<U> = clean.typed::<T>()?.iter().map(|&value| f(value)).collect();
        let mut made = this.with_clean_values(U::wrap(values.into()))?;
        made.fill = f(fill).scalar();
        Ok(made)
    }

    /// This tensor, with each element stored once: a function of a sum is no sum of functions.
    fn without_duplicates(&self) -> Result<Self, Error> {
        if self.format().is_unique() { Ok(self.clone()) } else { self.coalesce() }
    }

    /// Multiplies every element by a number, in place. The number is cast to the dtype of the values.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let mut a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [4.0, 9.0]], "CSR")?;
    /// a.scale(2.0)?;
    /// assert_eq!(a.values().typed::<f64>()?, [2.0, 8.0, 18.0]);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Cast`] for a number that the dtype cannot hold.
    pub fn scale(&mut self, by: impl Into<Scalar>) -> Result<(), Error> {
        let (by, to) = (by.into(), self.dtype());
        let by = by.cast(to).map_err(|_| Error::Cast { value: by, at: 0, to })?;
        let all = list(&names(self.rank()));
        let text = format!("R({all}) = A({all}) * s");
        let format = self.format().without_slices();
        *self = einsum(&text).arg("A", &*self).arg("s", by).format(format).run()?;
        Ok(())
    }

    /// Every element, or the nearer bound if it lies outside of `low ..= high`, numbers. The structure stays.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [-4.0, 9.0]], "CSR")?;
    /// assert_eq!(a.clip(-2.0, 2.0)?.values().typed::<f64>()?, [1.0, -2.0, 2.0]);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of an expression.
    pub fn clip(&self, low: impl Argument, high: impl Argument) -> Result<Self, Error> {
        let (low, high) = (low.into_tensor()?, high.into_tensor()?);
        let clipped = |values: Values| {
            let call = einsum("R(n) = max(min(V(n), high), low)").dtype(values.dtype());
            call.arg("V", Self::full(&[values.len()], values)?)
                .arg("low", &low)
                .arg("high", &high)
                .run()
        };
        let this = self.without_duplicates()?;
        let mut made = this.with_clean_values(clipped(this.clean_values()?)?.values().clone())?;
        made.fill = clipped(Values::filled(self.fill(), 1))?.get(&[0])?;
        Ok(made)
    }

    /// Sets an element. It is stored from then on, even if it is zero. As [`Tensor::insert`], without the old value.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let mut a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [4.0, 9.0]], "CSR")?;
    /// a.set(&[0, 1], 7.0)?;
    /// assert_eq!(a.values().typed::<f64>()?, [1.0, 7.0, 4.0, 9.0]);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::insert`].
    pub fn set(&mut self, coordinates: &[usize], value: impl Into<Scalar>) -> Result<(), Error> {
        self.insert(coordinates, value).map(drop)
    }

    /// `exp(a) / sum(exp(a))` over the stored elements along the last dimension. Elements that are not stored stay zero:
    /// they count as minus infinity, as in PyTorch's `sparse.softmax`.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0, 1.0], [0.0, 5.0, 0.0]], "CSR")?;
    /// assert_eq!(a.softmax()?.values().typed::<f64>()?, [0.5, 0.5, 1.0]);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] for a tensor without dimensions; those of an expression.
    pub fn softmax(&self) -> Result<Self, Error> {
        let Exponentials { exps, sums, above, .. } = self.exponentials()?;
        let all = list(&names(self.rank()));
        let text = format!("R({all})<structure E({all})> = E({all}) / s({above})");
        let call = einsum(&text).arg("E", &exps).arg("s", &sums);
        Ok(call.format(self.format().without_slices()).run()?)
    }

    /// The logarithm of [`Tensor::softmax`] at the stored elements. Elements that are not stored stay zero.
    ///
    /// # Errors
    /// As [`Tensor::softmax`].
    pub fn log_softmax(&self) -> Result<Self, Error> {
        let Exponentials { largest, sums, above, .. } = self.exponentials()?;
        let all = list(&names(self.rank()));
        let text =
            format!("R({all})<structure A({all})> = A({all}) - m({above}) - log(s({above}))");
        let call = einsum(&text).arg("A", self).arg("m", &largest).arg("s", &sums);
        Ok(call.format(self.format().without_slices()).run()?)
    }

    /// The exponentials of the stored elements along the last dimension, each less the largest, so that none overflows.
    fn exponentials(&self) -> Result<Exponentials, Error> {
        let Some(last) = self.rank().checked_sub(1) else {
            let expected = "a dimension at least".to_owned();
            return Err(Error::Shape { found: Vec::new(), expected });
        };
        let all = names(self.rank());
        let (above, all) = (list(&all[..last]), list(&all));
        let vector = Format::full(last)?;
        // What is not stored is minus infinity there.
        let text = format!("m({above}) = A({all}) using max_plus");
        let largest = einsum(&text).arg("A", self).format(&vector).run()?;
        let text = format!("E({all})<structure A({all})> = exp(A({all}) - m({above}))");
        let call = einsum(&text).arg("A", self).arg("m", &largest);
        let exps = call.format(self.format().without_slices()).run()?;
        let text = format!("s({above}) = E({all})");
        let sums = einsum(&text).arg("E", &exps).format(&vector).run()?;
        Ok(Exponentials { exps, largest, sums, above })
    }
}

/// See [`Tensor::exponentials`].
struct Exponentials {
    exps: Tensor,
    /// The largest stored element of each lane.
    largest: Tensor,
    /// The sum of the exponentials of each lane.
    sums: Tensor,
    /// The index variables of all dimensions but the last.
    above: String,
}

macro_rules! assigning {
    ($($trait:ident::$method:ident => $sign:tt, $what:literal;)*) => {$(
        impl<A: Argument> std::ops::$trait<A> for Tensor {
            #[doc = concat!($what, " in place, with broadcasting, in the format of this tensor.")]
            ///
            /// # Panics
            /// Where the operator without `=` gives an error: an assignment cannot return one.
            fn $method(&mut self, other: A) {
                let assigned = (&*self $sign other).map_err(Error::from).and_then(|made| {
                    let format = self.format().without_slices();
                    if made.shape() == self.shape() {
                        return made.convert(format);
                    }
                    let expected = format!("the result has shape {:?}", made.shape());
                    Err(Error::Shape { found: self.shape().to_vec(), expected })
                });
                match assigned {
                    Ok(made) => *self = made,
                    Err(error) => {
                        // Cancelled work ends its scope.
                        cancel::poll();
                        panic!("{error}")
                    }
                }
            }
        }
    )*};
}
assigning! {
    AddAssign::add_assign => +, "Adds";
    SubAssign::sub_assign => -, "Subtracts";
    MulAssign::mul_assign => *, "Multiplies";
    DivAssign::div_assign => /, "Divides";
}
