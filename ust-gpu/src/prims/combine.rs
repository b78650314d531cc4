//! Values of a run combined into one.

use ust_cuda::Memory;
use ust_level_api::ir::Elem;
use ust_level_api::{Dtype, Scalar};

use super::{Primitives, Result, Selection, TILE, Text, bytes, has, refusal, types};
use crate::prelude::Sections;
use crate::print::types::stored;
use crate::there::bytes_of;

const BODY: &str = concat!(include_str!("block.cuh"), "\n", include_str!("combine.cuh"));
const COMPARE: &str = concat!(include_str!("grid.cuh"), "\n", include_str!("compare.cuh"));
const ROUND: &str = concat!(include_str!("grid.cuh"), "\n", include_str!("round.cuh"));
/// Bytes of the largest `State` of the text.
const STATE: usize = 32;

/// An associative operator of two numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Combination {
    /// The sum; or, for bool.
    Add,
    /// The product; and, for bool.
    Mul,
    /// The smaller number. Not for complex numbers.
    Min,
    /// The larger number. Not for complex numbers.
    Max,
    /// Bits of both. Integers and bool.
    And,
    /// Bits of either. Integers and bool.
    Or,
    /// Statements of CUDA C++ that return what is made of `a` and `b`, numbers as they are computed (`float` for
    /// half precision), where `a` comes first: `return ust_add(a, b);`. And the sections of the prelude that they
    /// call, beside those of the dtype. Whoever writes them answers for them: they touch no memory.
    Text(String, Sections),
}

impl Combination {
    /// The statements for a dtype.
    fn body(&self, dtype: Dtype) -> Result<(String, Sections)> {
        let has_bits = !dtype.is_float() && !dtype.is_complex();
        let (function, known) = match self {
            Self::Add => ("ust_add", true),
            Self::Mul => ("ust_mul", true),
            Self::Min => ("ust_minimum", !dtype.is_complex()),
            Self::Max => ("ust_maximum", !dtype.is_complex()),
            Self::And => ("ust_and", has_bits),
            Self::Or => ("ust_or", has_bits),
            Self::Text(body, sections) => return Ok((body.clone(), *sections)),
        };
        match known {
            true => Ok((format!("return {function}(a, b);"), Sections::NONE)),
            false => Err(refusal(format!("{self:?} of {dtype}"))),
        }
    }
}

impl Primitives {
    /// The values of each run, combined into one: a value for each chosen entry, made of its value and of those
    /// behind it, up to the next chosen one. Values before the first chosen entry are left out.
    ///
    /// Values are combined in their order, so that the operator need not be commutative. How operations are
    /// grouped follows from the number of values and from where runs begin: results have the same bits on every
    /// run. Values of half precision are rounded once.
    ///
    /// It moves each value once and a byte for it, and each result.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] if there are fewer values than entries, or if the dtype does not have the
    /// operator; [`ust_cuda::CudaError::Compile`] for a text that is none;
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn combine(
        &self,
        runs: &Selection,
        values: &Memory,
        dtype: Dtype,
        operator: &Combination,
    ) -> Result<Memory> {
        let (n, width) = (runs.length, dtype.bytes());
        let (text, head) = text(operator, dtype, &runs.places().ty())?;
        has(values, n, width)?;
        let to = self.stream().alloc(bytes(runs.count, width)?)?;
        if runs.count == 0 {
            return Ok(to);
        }
        let (piece, blocks) = self.pieces(n, TILE);
        let room = || self.stream().alloc(blocks as usize * STATE);
        let (wholes, leads) = (room()?, room()?);
        let (flags, places) = ((&runs.flags).into(), runs.places.memory().into());
        let (wholes, leads, to_word) = ((&wholes).into(), (&leads).into(), (&to).into());
        let [n, piece] = [n, piece].map(Into::into);
        let arguments = [values.into(), flags, places, n, piece, to_word, wholes, leads];
        self.run((text, head.clone(), "combine_pieces"), blocks, &arguments)?;
        if blocks > 1 {
            let arguments = [wholes, leads, u64::from(blocks).into(), piece, places, to_word];
            self.run((text, head, "combine_across"), 1, &arguments)?;
        }
        Ok(to)
    }
}

/// The text that rounds to a dtype, and the lines above it.
pub(super) fn rounding(dtype: Dtype) -> (Text, String) {
    let head = types([("Element", stored(Elem::Value(dtype)))]);
    (Text { sections: Sections::TYPES | Sections::of(dtype), body: ROUND }, head)
}

/// The text that compares numbers of a dtype, and the lines above it.
pub(super) fn comparing(dtype: Dtype) -> (Text, String) {
    let head = types([("Element", stored(Elem::Value(dtype)))]);
    (Text { sections: Sections::TYPES | Sections::of(dtype), body: COMPARE }, head)
}

impl Primitives {
    /// The first `n` numbers of single precision, rounded to the nearest of `dtype`, which is one of half precision.
    ///
    /// It moves each number once in both dtypes.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] if there are fewer numbers, or for another dtype;
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn halves(&self, values: &Memory, n: usize, dtype: Dtype) -> Result<Memory> {
        if !matches!(dtype, Dtype::F16 | Dtype::Bf16) {
            return Err(refusal(format!("{dtype} is no half precision")));
        }
        has(values, n, 4)?;
        let to = self.stream().alloc(bytes(n, 2)?)?;
        if n > 0 {
            let (text, head) = rounding(dtype);
            let arguments = [values.into(), n.into(), (&to).into()];
            self.run((text, head, "halves"), self.spread(n), &arguments)?;
        }
        Ok(to)
    }

    /// A byte for each of the first `n` values: 1 if it is not the [same](Scalar::same) as `other`, 0 if it is.
    ///
    /// It moves each value and each byte once.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] if there are fewer values, or if a part of a complex `other` is NaN;
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn differing(&self, values: &Memory, n: usize, other: Scalar) -> Result<Memory> {
        let dtype = other.dtype();
        has(values, n, dtype.bytes())?;
        let is_nan = PartialEq::ne(&other, &other);
        if is_nan && dtype.is_complex() {
            return Err(refusal("a complex number with NaN"));
        }
        let to = self.stream().alloc(n)?;
        if n > 0 {
            let other = self.stream().upload(&bytes_of(other))?;
            let (text, head) = comparing(dtype);
            let arguments =
                [values.into(), n.into(), (&other).into(), u64::from(is_nan).into(), (&to).into()];
            self.run((text, head, "differing"), self.spread(n), &arguments)?;
        }
        Ok(to)
    }
}

/// The text for an operator of a dtype, and the lines above it.
pub(super) fn text(operator: &Combination, dtype: Dtype, places: &str) -> Result<(Text, String)> {
    let (body, sections) = operator.body(dtype)?;
    let element = stored(Elem::Value(dtype));
    let head = types([("Element", element), ("Place", places)])
        + "typedef ust_held<Element> Held;\n"
        + &format!("UST_FN Held combine_two(Held a, Held b) {{ {body} }}\n");
    Ok((Text { sections: Sections::TYPES | Sections::of(dtype) | sections, body: BODY }, head))
}
