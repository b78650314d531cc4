//! Values in other dtypes.

use ust_level_api::{Dtype, Scalar};

use super::elsewhere::converter;
use crate::error::Error;
use crate::storage::{Tensor, Values};

impl Tensor {
    /// The tensor with its values in another dtype, rounded or wrapped where that dtype cannot hold
    /// them: see [`Values::cast_lossy`](Values::cast_lossy). Level arrays are shared. Values that are elsewhere, such as
    /// in the memory of a device, stay there.
    ///
    /// ```
    /// use ust::{Dtype, Tensor};
    /// let a = Tensor::from_dense(&ndarray::array![[0.0, 2.75], [-3.0, 0.0]], "CSR")?;
    /// assert!(a.cast(Dtype::I8).is_err());
    /// assert_eq!(a.cast_lossy(Dtype::I8).values().typed::<i8>()?, [2, -3]);
    /// # Ok::<(), ust::Error>(())
    /// ```
    #[must_use]
    pub fn cast_lossy(&self, dtype: Dtype) -> Self {
        if self.dtype() == dtype {
            return self.clone();
        }
        let fill = Values::filled(self.fill, 1).cast_lossy(dtype).get(0).unwrap_or(dtype.zero());
        let mut tensor = self.clone();
        tensor.set_values(lossy(self, dtype));
        tensor.fill = fill;
        tensor
    }

    /// The tensor with the same values in another dtype. Level arrays are shared. Values that are elsewhere stay there
    /// if the dtype holds all numbers of theirs, and are fetched otherwise.
    ///
    /// # Errors
    /// [`Error::Cast`] with the first value, or the fill value, that the dtype cannot hold.
    pub fn cast(&self, dtype: Dtype) -> Result<Self, Error> {
        if self.dtype() == dtype {
            return Ok(self.clone());
        }
        let values = match always_fits(self.dtype(), dtype) {
            true => lossy(self, dtype),
            false => self.values().cast(dtype)?,
        };
        let fill = self.fill.cast(dtype).map_err(|e| Error::Cast {
            value: e.value,
            at: self.nse(),
            to: e.to,
        })?;
        let mut tensor = self.clone();
        tensor.set_values(values);
        tensor.fill = fill;
        // `clean` stays: rounding may turn an entry into the fill value, but keeps the fill value.
        Ok(tensor)
    }
}

/// The values of a tensor in another dtype, made where they are.
fn lossy(tensor: &Tensor, dtype: Dtype) -> Values {
    if tensor.is_iso() {
        return tensor.values().cast_lossy(dtype);
    }
    let there = converter(tensor).and_then(|converter| converter.cast(tensor, dtype));
    there.unwrap_or_else(|| tensor.values().cast_lossy(dtype))
}

/// Whether every number of a dtype is one of another, up to rounding to floating point.
fn always_fits(from: Dtype, to: Dtype) -> bool {
    let fractions = from.is_float() || from.is_complex();
    let real = !(to.is_float() || to.is_complex());
    let loses_a_part = fractions && real || from.is_complex() && !to.is_complex();
    !loses_a_part && extremes(from).iter().all(|number| number.cast(to).is_ok())
}

/// The least and the greatest number of a dtype that are finite.
fn extremes(dtype: Dtype) -> [Scalar; 2] {
    use ust_level_api::scalar::{Complex, bf16, f16};
    match dtype {
        Dtype::Bool => [false, true].map(Scalar::Bool),
        Dtype::I8 => [i8::MIN, i8::MAX].map(Scalar::I8),
        Dtype::I16 => [i16::MIN, i16::MAX].map(Scalar::I16),
        Dtype::I32 => [i32::MIN, i32::MAX].map(Scalar::I32),
        Dtype::I64 => [i64::MIN, i64::MAX].map(Scalar::I64),
        Dtype::U8 => [u8::MIN, u8::MAX].map(Scalar::U8),
        Dtype::U16 => [u16::MIN, u16::MAX].map(Scalar::U16),
        Dtype::U32 => [u32::MIN, u32::MAX].map(Scalar::U32),
        Dtype::U64 => [u64::MIN, u64::MAX].map(Scalar::U64),
        Dtype::F16 => [f16::MIN, f16::MAX].map(Scalar::F16),
        Dtype::Bf16 => [bf16::MIN, bf16::MAX].map(Scalar::Bf16),
        Dtype::F32 => [f32::MIN, f32::MAX].map(Scalar::F32),
        Dtype::F64 => [f64::MIN, f64::MAX].map(Scalar::F64),
        Dtype::Complex64 => {
            [f32::MIN, f32::MAX].map(|part| Scalar::Complex64(Complex::new(part, part)))
        }
        Dtype::Complex128 => {
            [f64::MIN, f64::MAX].map(|part| Scalar::Complex128(Complex::new(part, part)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dtype_always_fits_where_no_number_is_refused() {
        let fits = |from: Dtype| -> String {
            let into = Dtype::ALL.iter().filter(|to| always_fits(from, **to));
            into.map(|to| format!("{to} ")).collect::<String>().trim_end().to_owned()
        };
        let floats = "f32 f64 complex64 complex128";
        assert_eq!(fits(Dtype::Bool).split(' ').count(), Dtype::ALL.len());
        assert_eq!(fits(Dtype::I8), format!("i8 i16 i32 i64 f16 bf16 {floats}"));
        // 65535 would become infinite.
        assert_eq!(fits(Dtype::U16), format!("i32 i64 u16 u32 u64 bf16 {floats}"));
        assert_eq!(fits(Dtype::U64), format!("u64 bf16 {floats}"));
        assert_eq!(fits(Dtype::F16), format!("f16 bf16 {floats}"));
        assert_eq!(fits(Dtype::F32), floats);
        assert_eq!(fits(Dtype::F64), "f64 complex128");
        assert_eq!(fits(Dtype::Complex64), "complex64 complex128");
    }
}
