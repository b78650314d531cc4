//! Numbers of all dtypes as bytes: samples, and how two of them are compared.

use bytemuck::checked::{cast_slice, cast_slice_mut};
use ust_level_api::ir::func::{Cast, cast};
use ust_level_api::ir::interp::Memory;
use ust_level_api::ir::scalar::{Complex, Element, Scalar, bf16, f16};
use ust_level_api::ir::{Dtype, with_dtype};

/// Numbers of one dtype, aligned for all of them.
#[derive(Clone)]
pub(crate) struct Numbers {
    pub(crate) dtype: Dtype,
    words: Vec<u128>,
    pub(crate) len: usize,
}

impl Numbers {
    /// Zeros.
    pub(crate) fn new(dtype: Dtype, len: usize) -> Self {
        Self { dtype, words: vec![0; (len * dtype.bytes()).div_ceil(16)], len }
    }

    pub(crate) fn of<T: Element>(numbers: &[T]) -> Self {
        let mut all = Self::new(T::DTYPE, numbers.len());
        all.bytes_mut().copy_from_slice(bytemuck::cast_slice(numbers));
        all
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len * self.dtype.bytes()]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len * self.dtype.bytes()]
    }

    pub(crate) fn memory(&mut self) -> Memory<'_> {
        with_dtype!(self.dtype, T => {
            Memory::values_mut(cast_slice_mut::<u8, T>(self.bytes_mut()))
        })
    }

    pub(crate) fn scalar(&self, at: usize) -> Scalar {
        let bytes = self.dtype.bytes();
        let one = &self.bytes()[at * bytes..][..bytes];
        with_dtype!(self.dtype, T => cast_slice::<u8, T>(one)[0].scalar())
    }

    /// The numbers at some places.
    pub(crate) fn at(&self, places: &[usize]) -> Self {
        let mut all = Self::new(self.dtype, places.len());
        let bytes = self.dtype.bytes();
        for (to, &from) in all.bytes_mut().chunks_exact_mut(bytes).zip(places) {
            to.copy_from_slice(&self.bytes()[from * bytes..][..bytes]);
        }
        all
    }

    /// Panics unless the numbers agree with others up to a number of units in the last place: parts
    /// of complex numbers each by itself, zeros with their signs, any NaN with any other.
    #[track_caller]
    pub(crate) fn agree(&self, expected: &Self, ulps: f64, what: impl Fn(usize) -> String) {
        assert_eq!((self.dtype, self.len), (expected.dtype, expected.len));
        for place in 0..self.len {
            let (given, right) = (self.scalar(place), expected.scalar(place));
            let same = match (parts(given), parts(right)) {
                (Some(given), Some(right)) => (0..2).all(|part| {
                    close(given.parts[part], right.parts[part], ulps, right.epsilon, right.least)
                }),
                _ => given == right,
            };
            assert!(same, "{}: {given}, expected {right}", what(place));
        }
    }
}

struct Parts {
    parts: [f64; 2],
    /// The distance from 1 to the next number.
    epsilon: f64,
    /// The least positive number.
    least: f64,
}

fn parts(scalar: Scalar) -> Option<Parts> {
    let single = (f64::from(f32::EPSILON), 2_f64.powi(-149));
    let double = (f64::EPSILON, 5e-324);
    let (parts, (epsilon, least)) = match scalar {
        Scalar::F16(v) => ([v.to_f64(), 0.0], (2_f64.powi(-10), 2_f64.powi(-24))),
        Scalar::Bf16(v) => ([v.to_f64(), 0.0], (2_f64.powi(-7), 2_f64.powi(-133))),
        Scalar::F32(v) => ([v.into(), 0.0], single),
        Scalar::F64(v) => ([v, 0.0], double),
        Scalar::Complex64(v) => ([v.re.into(), v.im.into()], single),
        Scalar::Complex128(v) => ([v.re, v.im], double),
        _ => return None,
    };
    Some(Parts { parts, epsilon, least })
}

fn close(given: f64, right: f64, ulps: f64, epsilon: f64, least: f64) -> bool {
    if given == right && (right != 0.0 || given.is_sign_negative() == right.is_sign_negative()) {
        return true;
    }
    let near = (given - right).abs() <= ulps * f64::max(epsilon * right.abs(), least);
    (given.is_nan() && right.is_nan()) || (right != 0.0 && near)
}

/// Pseudo-random bits (xorshift64*).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// From -1 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.bits() as i64 as f64 / 2_f64.powi(63)
    }
}

/// Ends of ranges, of all types: what does not fit is wrapped.
const WHOLE: [i64; 26] = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    -3,
    5,
    7,
    -7,
    10,
    63,
    64,
    100,
    127,
    -128,
    255,
    32767,
    -32768,
    65535,
    2147483647,
    -2147483648,
    4294967295,
    i64::MAX,
    i64::MAX - 1,
    i64::MIN,
];

/// Zeros, ends of the ranges of all types, ties, places where functions begin to overflow.
const REAL: [f64; 45] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    0.5,
    -0.5,
    1.5,
    2.0,
    64.0,
    2.5,
    -2.5,
    3.0,
    -0.3,
    0.9,
    1e-3,
    -1e-9,
    88.8,
    127.9,
    -128.9,
    -129.0,
    255.5,
    256.0,
    709.5,
    -710.6,
    32767.5,
    65519.9,
    65520.0,
    2147483648.0,
    -2147483649.0,
    4294967296.0,
    9223372036854775808.0,
    -9223372036854775808.0,
    18446744073709551616.0,
    1e30,
    3.4028235e38,
    1e200,
    -1e300,
    f64::MAX,
    5e-324,
    1e-300,
    1.1754944e-38,
    2.9802322e-8,
];

/// Numbers of a dtype: the ends of ranges, random bits, and random numbers of usual sizes.
fn samples(dtype: Dtype) -> Numbers {
    fn ints<T: Element + Cast>(random: &mut Random) -> Numbers {
        let mut all: Vec<T> = WHOLE.iter().map(|&v| cast(v)).collect();
        all.extend((0..60).map(|i| cast::<u64, T>(random.bits() >> i)));
        Numbers::of(&all)
    }
    fn reals(random: &mut Random) -> Vec<f64> {
        let mut all = REAL.to_vec();
        all.extend((0..20).map(|_| f64::from_bits(random.bits())));
        all.extend((0..20).map(|_| f64::from(f32::from_bits(random.bits() as u32))));
        all.extend((0..20).map(|_| random.unit() * 1.2));
        all.extend((0..20).map(|_| random.unit() * 50.0));
        all
    }
    fn floats<T: Element + Cast>(random: &mut Random) -> Numbers {
        Numbers::of(&reals(random).into_iter().map(cast::<f64, T>).collect::<Vec<_>>())
    }
    let mut random = Random(0x1234_5678_9abc_def1);
    match dtype {
        Dtype::Bool => Numbers::of(&[false, true]),
        Dtype::Complex64 | Dtype::Complex128 => {
            let reals = reals(&mut random);
            // All pairs of the first ones, and each of the others with a random one.
            let mut pairs: Vec<(f64, f64)> = reals[..12]
                .iter()
                .flat_map(|&re| reals[..12].iter().map(move |&im| (re, im)))
                .collect();
            for _ in 0..2 {
                pairs.extend(
                    reals.iter().map(|&re| (re, reals[random.bits() as usize % reals.len()])),
                );
            }
            pairs.extend((0..40).map(|_| (random.unit() * 2.0, random.unit() * 2.0)));
            let complex = |(re, im)| Complex::new(re, im);
            let all: Vec<_> = pairs.into_iter().map(complex).collect();
            if dtype == Dtype::Complex128 {
                Numbers::of(&all)
            } else {
                Numbers::of(&all.into_iter().map(cast::<_, Complex<f32>>).collect::<Vec<_>>())
            }
        }
        Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64 => match dtype {
            Dtype::F16 => floats::<f16>(&mut random),
            Dtype::Bf16 => floats::<bf16>(&mut random),
            Dtype::F32 => floats::<f32>(&mut random),
            _ => floats::<f64>(&mut random),
        },
        _ => with_dtype!(dtype, T => ints::<T>(&mut random)),
    }
}

/// All pairs of samples of a dtype, as two columns.
pub(crate) fn pairs(dtype: Dtype) -> [Numbers; 2] {
    let one = samples(dtype);
    let first: Vec<usize> = (0..one.len * one.len).map(|i| i / one.len).collect();
    let second: Vec<usize> = (0..one.len * one.len).map(|i| i % one.len).collect();
    [one.at(&first), one.at(&second)]
}
