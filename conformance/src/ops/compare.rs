//! Whether a result is what plain evaluation says.

use ust_engine::Tensor;
use ust_engine::ops::oracle::close;
use ust_level_api::{Scalar, with_dtype};

use crate::oracle::everywhere;
use crate::report::{Verdict, ensure};

/// Shape, dtype, every element, and arrays that a boundary would accept.
pub(super) fn agrees(found: &Tensor, expected: &Tensor) -> Verdict {
    ensure(found.shape() == expected.shape(), || {
        format!("the result has shape {:?}, not {:?}", found.shape(), expected.shape())
    })?;
    ensure(found.dtype() == expected.dtype(), || {
        format!("the result is {}, not {}", found.dtype(), expected.dtype())
    })?;
    let (found_at, expected_at) = (elements(found)?, elements(expected)?);
    for ((place, a), b) in everywhere(found.shape()).iter().zip(&found_at).zip(&expected_at) {
        ensure(close(*a, *b), || format!("the element at {place:?} is {a}, not {b}"))?;
    }
    let (format, shape, parts) = found.clone().into_parts();
    match Tensor::from_parts(&format, &shape, parts) {
        Ok(again) => ensure(again == *found, || "taken apart, the result is another".to_owned()),
        Err(error) => ensure(false, || format!("the arrays of the result are refused: {error}")),
    }
}

/// Every element, row-major.
pub(super) fn elements(tensor: &Tensor) -> Result<Vec<Scalar>, ust_engine::Error> {
    Ok(with_dtype!(tensor.dtype(), T => {
        tensor.to_dense::<T>()?.iter().map(|&value| value.into()).collect()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::values_of;

    /// A dense tensor in any format that is linked: here without any level.
    fn scalar(value: Scalar) -> Tensor {
        Tensor::from_scalar(value).unwrap()
    }

    #[test]
    fn a_wrong_element_and_a_wrong_dtype_are_seen() {
        let one = scalar(Scalar::F64(1.0));
        assert!(agrees(&one, &scalar(Scalar::F64(1.0 + 1e-13))).is_ok());
        assert!(agrees(&one, &scalar(Scalar::F64(1.0 + 1e-6))).is_err());
        assert!(agrees(&one, &scalar(Scalar::F64(f64::NAN))).is_err());
        assert!(agrees(&one, &scalar(Scalar::F32(1.0))).is_err());
        let changed = one.with_values(values_of(one.dtype(), &[Scalar::F64(-1.0)])).unwrap();
        assert!(agrees(&changed, &one).is_err());
    }
}
