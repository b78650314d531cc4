//! The memory bandwidth that plain loops reach, to compare operations with.

use std::hint::black_box;
use std::time::Instant;

use rayon::prelude::*;

/// Elements of each array: well beyond any cache.
const LENGTH: usize = 1 << 24;

/// Bytes a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bandwidth {
    /// Of reading one array.
    pub(crate) read: f64,
    /// Of `a = b + s * c`, counting the bytes that the loop names.
    pub(crate) triad: f64,
}

impl Bandwidth {
    /// The better of both.
    pub(crate) fn best(self) -> f64 {
        self.read.max(self.triad)
    }
}

/// Measures with so many threads: the best of a few rounds.
pub(crate) fn bandwidth(threads: usize, quick: bool) -> Result<Bandwidth, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| e.to_string())?;
    let length = if quick { LENGTH / 2 } else { LENGTH };
    let (b, c) = (vec![1.0_f64; length], vec![2.0_f64; length]);
    let mut a = vec![0.0_f64; length];
    let chunk = length.div_ceil(threads);
    let (mut read, mut triad) = (0.0_f64, 0.0_f64);
    pool.install(|| {
        for _ in 0..if quick { 3 } else { 7 } {
            let start = Instant::now();
            black_box(b.par_chunks(chunk).map(sum).sum::<f64>());
            read = read.max(8.0 * length as f64 / start.elapsed().as_secs_f64());
            let start = Instant::now();
            let parts = a.par_chunks_mut(chunk).zip(b.par_chunks(chunk)).zip(c.par_chunks(chunk));
            parts.for_each(|((a, b), c)| {
                for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                    *a = b + 3.0 * c;
                }
            });
            black_box(&mut a);
            triad = triad.max(24.0 * length as f64 / start.elapsed().as_secs_f64());
        }
    });
    Ok(Bandwidth { read, triad })
}

/// A sum in sixteen parts, so that additions do not wait for each other.
fn sum(values: &[f64]) -> f64 {
    let mut parts = [0.0; 16];
    for chunk in values.chunks_exact(16) {
        for (part, value) in parts.iter_mut().zip(chunk) {
            *part += value;
        }
    }
    parts.iter().sum()
}
