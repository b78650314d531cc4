//! Times that were measured in turns, and what they say.
//!
//! Others on the machine only ever add to a time, for a while: what is compared is measured round after round, and of
//! its times those near the least count (A. Georges, D. Buytaert, L. Eeckhout, "Statistically Rigorous Java Performance
//! Evaluation", 2007, on why one run says little; J. Chen, J. Revels, "Robust benchmarking in noisy environments", 2016,
//! on the least).

/// The share of the times that are below the one that counts.
const LOW: f64 = 0.05;
/// Stretches of time that are compared one by one, to see how far comparisons differ; rounds in each, at least.
const STRETCHES: usize = 8;
const ROUNDS: usize = 3;

/// The time that counts: near the least.
pub(super) fn low(times: &[f64]) -> f64 {
    quantile(times, LOW)
}

/// The time in the middle.
pub(super) fn median(times: &[f64]) -> f64 {
    quantile(times, 0.5)
}

/// How far the middle half of the times reaches, as a share of the time that counts.
pub(super) fn spread(times: &[f64]) -> f64 {
    (quantile(times, 0.75) - quantile(times, 0.25)) / low(times).max(f64::MIN_POSITIVE)
}

/// One thing compared with another that was measured in the same rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Compared {
    /// Its time as a multiple of the other's.
    pub(super) ratio: f64,
    /// How far that may be off, up or down: as stretches of the time differ. Of few rounds, this is a guess.
    pub(super) off: f64,
}

/// Compares times of the same rounds.
pub(super) fn compare(own: &[f64], other: &[f64]) -> Compared {
    let rounds = own.len().min(other.len());
    let (own, other) = (&own[..rounds], &other[..rounds]);
    let ratio = low(own) / low(other);
    let stretches = STRETCHES.min(rounds / ROUNDS);
    if stretches < 3 {
        return Compared { ratio, off: 0.1 * ratio };
    }
    let piece = rounds.div_ceil(stretches);
    let of_pieces = own.chunks(piece).zip(other.chunks(piece));
    let ratios: Vec<f64> = of_pieces.map(|(own, other)| low(own) / low(other)).collect();
    Compared { ratio, off: (quantile(&ratios, 0.75) - quantile(&ratios, 0.25)) / 2.0 }
}

/// The time that has this share of the others below it; infinite where there is none.
fn quantile(times: &[f64], share: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (share * sorted.len() as f64) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times around 1, of which many are disturbed.
    fn disturbed(level: f64, seed: u64, rounds: usize) -> Vec<f64> {
        let mut word = seed;
        let mut random = || {
            word = word
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (word >> 40) as f64 / (1_u64 << 24) as f64
        };
        let one = |_| {
            level
                * (1.0 + 0.02 * random())
                * if random() < 0.6 { 1.0 + 3.0 * random() } else { 1.0 }
        };
        (0..rounds).map(one).collect()
    }

    #[test]
    fn times_that_others_add_to_are_told_apart_all_the_same() {
        for seed in 0..200 {
            let (quick, slow) =
                (disturbed(1.0, 2 * seed + 1, 60), disturbed(1.1, 2 * seed + 2, 60));
            let Compared { ratio, off } = compare(&slow, &quick);
            assert!((ratio - 1.1).abs() < 0.05, "{seed}: {ratio} +- {off}");
            assert!(spread(&slow) > 0.3);
        }
    }

    #[test]
    fn few_rounds_say_little() {
        assert_eq!(compare(&[2.0], &[1.0]), Compared { ratio: 2.0, off: 0.2 });
        assert!(!compare(&[], &[1.0]).ratio.is_finite());
        let same = compare(&[1.0; 40], &[1.0; 40]);
        assert_eq!(same, Compared { ratio: 1.0, off: 0.0 });
        assert_eq!(low(&[3.0, 1.0, 2.0]), 1.0);
    }
}
