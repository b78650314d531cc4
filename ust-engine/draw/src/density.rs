//! The density map of a large tensor.

/// The number of entries in each bin of a tensor of at most three dimensions.
#[derive(Clone, Debug, PartialEq)]
pub struct Density {
    /// Extents of slices, rows and columns. With fewer dimensions, the first extents are 1.
    pub extents: [usize; 3],
    /// Number of bins along each of them.
    pub bins: [usize; 3],
    /// Entries in each bin, columns fastest.
    pub counts: Vec<u64>,
}

impl Density {
    /// A map without entries. Each dimension has at most `most` bins, and at least one.
    #[must_use]
    pub fn new(shape: &[usize], most: [usize; 3]) -> Self {
        let mut extents = [1; 3];
        let rank = shape.len().min(3);
        extents[3 - rank..].copy_from_slice(&shape[..rank]);
        let bins = std::array::from_fn(|d| extents[d].min(most[d]).max(1));
        Self { extents, bins, counts: vec![0; bins.iter().product()] }
    }

    /// The numbers of bins for a shape, at most `most`. If each bin is drawn `aspect` times as high as
    /// wide, slices keep their proportions.
    #[must_use]
    pub fn bins_for(shape: &[usize], most: [usize; 3], aspect: f64) -> [usize; 3] {
        let [_, rows, columns] = Self::new(shape, [1; 3]).extents.map(|n| n.max(1) as f64);
        let limit = |wanted: f64, most: usize| (wanted.ceil().max(1.0) as usize).min(most);
        let high = limit(most[2] as f64 * rows / columns / aspect, most[1]);
        // At least 8 bins: the columns of a narrow matrix stay apart.
        let wide = limit((high as f64 * aspect * columns / rows).max(8.0), most[2]);
        [most[0], high, wide]
    }

    /// Adds an entry. Its coordinates are inside the shape.
    pub fn add(&mut self, coordinates: impl ExactSizeIterator<Item = i64>) {
        let front = 3 - coordinates.len().min(3);
        let mut at = [0; 3];
        for (d, c) in coordinates.enumerate().take(3) {
            at[front + d] = self.bin(front + d, c);
        }
        let index = self.index(at);
        self.counts[index] += 1;
    }

    /// The bin of a coordinate along slices (0), rows (1) or columns (2).
    #[must_use]
    pub fn bin(&self, along: usize, coordinate: i64) -> usize {
        let (bins, extent) = (self.bins[along] as u128, self.extents[along].max(1) as u128);
        let coordinate = u128::try_from(coordinate).unwrap_or(0).min(extent - 1);
        (coordinate * bins / extent) as usize
    }

    /// The coordinates that fall into a bin.
    #[must_use]
    pub fn range(&self, along: usize, bin: usize) -> std::ops::Range<usize> {
        let (bins, extent) = (self.bins[along] as u128, self.extents[along] as u128);
        let first = |bin: usize| (bin as u128 * extent).div_ceil(bins) as usize;
        first(bin)..first(bin + 1)
    }

    /// The index of a bin in [`Self::counts`].
    #[must_use]
    pub fn index(&self, [slice, row, column]: [usize; 3]) -> usize {
        (slice * self.bins[1] + row) * self.bins[2] + column
    }

    /// The shade of each bin, of `steps` shades: 0 for an empty bin, at least 1 for any other. The
    /// fullest bins have the last shade, the thinnest the first. The scale is logarithmic, since densities differ by
    /// orders of magnitude. `steps` is at least 2.
    #[must_use]
    pub fn shades(&self, steps: usize) -> Vec<usize> {
        let (thinnest, fullest) = self.range_of_fills().unwrap_or((1.0, 1.0));
        let last = steps.saturating_sub(2) as f64;
        let reach = (fullest / thinnest).ln();
        let shade = |fill: f64| match (fill > 0.0, reach > 0.0) {
            (true, true) => 1 + ((fill / thinnest).ln() / reach * last).round() as usize,
            (true, false) => 1 + last as usize,
            (false, _) => 0,
        };
        self.fills().into_iter().map(shade).collect()
    }

    /// Entries per element in the thinnest bin that has some, and in the fullest.
    #[must_use]
    pub fn range_of_fills(&self) -> Option<(f64, f64)> {
        let fills = self.fills().into_iter().filter(|&fill| fill > 0.0);
        fills.map(|fill| (fill, fill)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// Entries per element in each bin.
    fn fills(&self) -> Vec<f64> {
        let widths: [Vec<f64>; 3] = std::array::from_fn(|d| {
            (0..self.bins[d]).map(|bin| self.range(d, bin).len().max(1) as f64).collect()
        });
        let bin = |index: usize| {
            let (row, column) = (index / self.bins[2], index % self.bins[2]);
            let elements =
                widths[0][row / self.bins[1]] * widths[1][row % self.bins[1]] * widths[2][column];
            self.counts[index] as f64 / elements
        };
        (0..self.counts.len()).map(bin).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_cover_every_coordinate_once() {
        for (extent, most) in [(7, 3), (3, 7), (100, 9), (1, 1), (1 << 40, 5)] {
            let density = Density::new(&[extent], [1, 1, most]);
            let mut end = 0;
            for bin in 0..density.bins[2] {
                let range = density.range(2, bin);
                assert_eq!(range.start, end, "{extent} in {most}");
                assert_eq!(density.bin(2, range.start as i64), bin, "{extent} in {most}");
                assert_eq!(density.bin(2, range.end as i64 - 1), bin, "{extent} in {most}");
                end = range.end;
            }
            assert_eq!(end, extent);
        }
    }

    #[test]
    fn any_entry_is_seen_and_shades_grow_with_density() {
        let mut density = Density::new(&[1000, 1000], [1, 4, 4]);
        density.add([999, 0].into_iter());
        for c in 0..250 {
            density.add([c, c].into_iter());
            density.add([c % 16 + 500, c].into_iter());
        }
        for c in 0..100 {
            density.add([c, 999].into_iter());
        }
        let shades = density.shades(9);
        let at = |row, column| shades[density.index([0, row, column])];
        assert_eq!(at(0, 0), 8);
        assert_eq!(at(2, 2), 0);
        assert!(1 <= at(3, 0) && at(3, 0) < at(0, 3) && at(0, 3) < 8, "{shades:?}");
        assert_eq!(density.counts.iter().sum::<u64>(), 601);
    }

    #[test]
    fn shades_reach_from_the_thinnest_to_the_fullest_however_thin_they_are() {
        let mut density = Density::new(&[3000, 1000], [1, 3, 1]);
        for (row, entries) in [(0, 5), (1000, 50), (2000, 500)] {
            (0..entries).for_each(|at| density.add([row + at / 1000, at % 1000].into_iter()));
        }
        assert_eq!(density.shades(10), [1, 5, 9], "decades are as far apart");
        let (thinnest, fullest) = density.range_of_fills().unwrap();
        assert!((thinnest - 5e-6).abs() < 1e-12 && (fullest - 5e-4).abs() < 1e-12);
        let mut even = Density::new(&[10, 10], [1, 2, 1]);
        [0, 9].into_iter().for_each(|row| even.add([row, row].into_iter()));
        assert_eq!(even.shades(9), [8, 8], "all are the fullest");
    }

    #[test]
    fn a_tensor_without_elements_has_an_empty_bin() {
        let density = Density::new(&[0, 7], [4, 3, 3]);
        assert_eq!((density.bins, density.range_of_fills()), ([1, 1, 3], None));
        assert!(density.shades(5).iter().all(|&shade| shade == 0));
    }
}
