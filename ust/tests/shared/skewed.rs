//! Tensors with a few long rows.

use ust::Coo;

/// Entries of which two rows (of `extents[0]`) have very many, some none, and the others fewer than `few`.
pub(crate) fn skewed(extents: &[usize], few: usize, seed: u64) -> Coo {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    // Sometimes neighbours, or the first and the last row.
    let first = random(extents[0]);
    let long = [first, [first + 1, extents[0] - 1, 0][random(3)] % extents[0]];
    let mut all = Vec::new();
    for row in 0..extents[0] {
        let count = match row {
            row if row == long[0] => 2 * extents[1] / 3,
            row if row == long[1] => extents[1] / (1 + random(9)),
            row if row % 3 == 1 => 0,
            _ => random(few),
        };
        for _ in 0..count {
            let mut crd = vec![row as i64];
            crd.extend(extents[1..].iter().map(|extent| random(*extent) as i64));
            all.push(crd);
        }
    }
    all.sort_unstable();
    all.dedup();
    let crd = (0..extents.len()).map(|dim| all.iter().map(|one| one[dim]).collect());
    let values: Vec<f64> = all.iter().map(|_| random(17) as f64 / 4.0 - 2.0).collect();
    Coo::new(extents.to_vec(), crd.collect(), values).unwrap()
}
