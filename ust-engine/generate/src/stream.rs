//! Random words by number, and the uniform and normal numbers made of them.
//!
//! Word `n` of a stream is computed from the stream's key and `n` alone, so that entries can be
//! made in any order on any number of threads. The mixing function is that of `SplitMix64` (Steele,
//! Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
//!
//! Floating-point numbers are made with `+ - * /`, `sqrt` and comparisons only, which IEEE 754
//! defines to the last bit; the logarithm is computed here, not by the platform's library.

/// The golden ratio's fraction, odd: the step between two states.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// What a stream's words are for; streams of one seed and different purposes are independent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Positions = 1,
    Values = 2,
}

/// An endless sequence of 64-bit words, each computable on its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    key: u64,
}

fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

impl Stream {
    pub(super) fn new(seed: u64, purpose: Purpose) -> Self {
        Self { key: mix(mix(seed).wrapping_add((purpose as u64).wrapping_mul(STEP))) }
    }

    /// Word `n`: 64 random bits.
    pub(super) fn word(self, n: u64) -> u64 {
        mix(self.key.wrapping_add(n.wrapping_add(1).wrapping_mul(STEP)))
    }

    /// Number `n` below a bound: the word's share of it, rounded down.
    pub(super) fn below(self, n: u64, bound: u64) -> u64 {
        ((u128::from(self.word(n)) * u128::from(bound)) >> 64) as u64
    }

    /// Number `n`, uniform in the open interval (0, 1): the odd multiples of 2^-53.
    pub(super) fn uniform(self, n: u64) -> f64 {
        // Both the integer and its product with a power of two are exact.
        ((self.word(n) >> 12) * 2 + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Number `n`, normal with mean 0 and variance 1, never 0: the polar method (Marsaglia and
    /// Bray, 1964) on the words of a stream whose key is word `n`.
    pub(super) fn normal(self, n: u64) -> f64 {
        let own = Stream { key: self.word(n) };
        let mut attempt = 0;
        loop {
            let u = 2.0 * own.uniform(attempt) - 1.0;
            let v = 2.0 * own.uniform(attempt + 1) - 1.0;
            let square = u * u + v * v;
            if square < 1.0 {
                return u * (-2.0 * ln(square) / square).sqrt();
            }
            attempt += 2;
        }
    }
}

/// The natural logarithm of a positive normal number, the same bits everywhere; its error is a few
/// units in the last place.
///
/// `x = m * 2^e` with `m` in [1/sqrt 2, sqrt 2); `ln m = 2 artanh s` with `s = (m - 1) / (m + 1)`,
/// by its power series in `s^2 < 0.03` up to `s^23`.
fn ln(x: f64) -> f64 {
    const LN_2: f64 = std::f64::consts::LN_2;
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut m = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if m >= std::f64::consts::SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for odd in (1..=23).rev().step_by(2) {
        sum = sum * square + 1.0 / f64::from(odd);
    }
    f64::from(exponent) * LN_2 + 2.0 * s * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_the_logarithm() {
        let stream = Stream::new(3, Purpose::Values);
        let uniform = (0..10_000).map(|n| stream.uniform(n));
        let extremes = [f64::MIN_POSITIVE, 1e-31, 0.5, 0.999_999_999, 1.0, 2.0, 1e300];
        for x in uniform.chain(extremes) {
            let error = (ln(x) - x.ln()).abs();
            assert!(error <= 4.0 * f64::EPSILON * x.ln().abs().max(0.25), "ln {x}: off by {error}");
        }
    }

    #[test]
    fn the_words_are_those_of_split_mix_64() {
        // The published first outputs of the generator seeded with 1234567.
        let stream = Stream { key: 1_234_567 };
        let words: Vec<u64> = (0..3).map(|n| stream.word(n)).collect();
        assert_eq!(
            words,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn numbers_have_the_moments_of_their_distributions() {
        const COUNT: u64 = 200_000;
        let moments = |draw: &dyn Fn(u64) -> f64| {
            let mut sums = [0.0; 4];
            for n in 0..COUNT {
                let x = draw(n);
                for (power, sum) in (1..).zip(&mut sums) {
                    *sum += x.powi(power) / COUNT as f64;
                }
            }
            sums
        };
        for seed in [0, 1, u64::MAX] {
            let stream = Stream::new(seed, Purpose::Values);
            let uniform = (moments(&|n| stream.uniform(n)), [0.5, 1.0 / 3.0, 0.25, 0.2], 0.004);
            let normal = (moments(&|n| stream.normal(n)), [0.0, 1.0, 0.0, 3.0], 0.08);
            for (found, expected, within) in [uniform, normal] {
                for (f, e) in found.iter().zip(expected) {
                    assert!((f - e).abs() < within, "{found:?} instead of {expected:?}");
                }
            }
        }
    }

    #[test]
    fn numbers_below_a_bound_reach_every_number_alike() {
        let stream = Stream::new(9, Purpose::Positions);
        let mut counts = [0; 7];
        for n in 0..70_000 {
            counts[stream.below(n, 7) as usize] += 1;
        }
        assert!(counts.iter().all(|c| (9_500..10_500).contains(c)), "{counts:?}");
    }
}
