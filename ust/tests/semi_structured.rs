//! NVIDIA's layout of 2:4 and 1:2 matrices: round trips of random matrices, the golden data, and where published
//! programs put the metadata.
#![cfg(feature = "gpu")]

use std::path::PathBuf;

use ust::gpu::{MetadataOrder, SemiStructured};
use ust::{Coo, Dtype, Error, Format, Tensor};

const TWO_FOUR: &str = "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2, 4))";
const ONE_TWO: &str = "(i, j) -> (i : dense, j / 2 : dense, j % 2 : structured(1, 2))";
const IN_COLUMNS: &str = "(i, j) -> (j : dense, i / 4 : dense, i % 4 : structured(2, 4))";

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A matrix in a format with groups of so many elements, of which `places` says what each group stores. The groups
/// are neighbours in dimension `grouped`.
fn matrix(
    shape: [usize; 2],
    format: &str,
    dtype: Dtype,
    (of, grouped): (usize, usize),
    mut places: impl FnMut(usize, usize) -> Vec<(usize, f64)>,
) -> Tensor {
    let mut crd = vec![Vec::new(); 2];
    let mut values = Vec::new();
    for row in 0..shape[1 - grouped] {
        for group in 0..shape[grouped] / of {
            for (place, value) in places(row, group) {
                crd[1 - grouped].push(row as i64);
                crd[grouped].push((group * of + place) as i64);
                values.push(value);
            }
        }
    }
    let coo = Coo::new(shape.to_vec(), crd, values).unwrap();
    let format = Format::resolve(format, Some(2)).unwrap();
    Tensor::from_coo(&coo, &format).unwrap().cast(dtype).unwrap()
}

/// Up to half of each group, with values that are not 0.
fn random_places(random: &mut Random, of: usize) -> Vec<(usize, f64)> {
    let mut all: Vec<usize> = (0..of).collect();
    let count = random.below(of as u64 / 2 + 1);
    while all.len() as u64 > count {
        all.remove(random.below(all.len() as u64) as usize);
    }
    all.into_iter().map(|place| (place, random.below(100) as f64 - 120.0)).collect()
}

#[test]
fn matrices_come_back() {
    let halves = |order, shape| (TWO_FOUR, 4, 1, vec![Dtype::F16, Dtype::Bf16], order, shape);
    let cases = [
        halves(MetadataOrder::Rows, [64, 192]),
        halves(MetadataOrder::Sm80, [256, 384]),
        halves(MetadataOrder::Sm90, [192, 64]),
        (TWO_FOUR, 4, 1, vec![Dtype::I8], MetadataOrder::Rows, [128, 256]),
        (ONE_TWO, 2, 1, vec![Dtype::F32], MetadataOrder::Rows, [64, 96]),
        (IN_COLUMNS, 4, 0, vec![Dtype::F16], MetadataOrder::Sm90, [64, 128]),
    ];
    for (format, of, grouped, dtypes, order, shape) in cases {
        for (dtype, width) in dtypes.into_iter().flat_map(|d| [2, 8, 64].map(|width| (d, width))) {
            let mut random = Random(width ^ 77);
            let format = format!("{format}, crdWidth = {width}");
            let a =
                matrix(shape, &format, dtype, (of, grouped), |_, _| random_places(&mut random, of));
            let stored = SemiStructured::from_tensor(&a, order).unwrap();
            assert_eq!(stored.shape(), [shape[1 - grouped], shape[grouped]]);
            let bytes = stored.bytes().to_vec();
            let taken = SemiStructured::from_bytes(stored.shape(), dtype, order, bytes).unwrap();
            assert_eq!(taken, stored);
            let back = taken.to_tensor(a.format()).unwrap();
            assert_eq!(back, a, "{format} {dtype} {order:?}");
            assert_eq!(back.levels(), a.levels());
            assert_eq!(back.values(), a.values());
        }
    }
}

/// Which of the metadata, four bits each, belong to a group: the one that differs where the group does.
#[test]
fn metadata_stand_where_published_programs_put_them() {
    let usual = |row, group| vec![(0, 1.0), (usize::from((row + group) % 2 == 0) + 1, 2.0)];
    let place = |order, at: (usize, usize)| {
        let stored = |other: bool| {
            let a = matrix([256, 256], TWO_FOUR, Dtype::F16, (4, 1), |row, group| {
                match other && (row, group) == at {
                    true => vec![(2, 1.0), (3, 2.0)],
                    false => usual(row, group),
                }
            });
            let stored = SemiStructured::from_tensor(&a, order).unwrap();
            let halves = |&byte: &u8| [byte & 15, byte >> 4];
            stored.metadata().iter().flat_map(halves).collect::<Vec<u8>>()
        };
        let (with, without) = (stored(true), stored(false));
        let mut found = (0..with.len()).filter(|&place| with[place] != without[place]);
        let place = found.next().unwrap();
        assert_eq!((found.next(), with[place]), (None, 0b1110));
        place
    };
    // Row, group, and the places for devices of 8.0 and of 9.0.
    let known = [
        (0, 0, 0, 0),
        (1, 0, 32, 16),
        (8, 0, 4, 1),
        (16, 4, 24, 130),
        (9, 5, 45, 23),
        (255, 63, 16383, 16383),
        (130, 9, 3137, 8740),
        (77, 38, 8878, 6235),
        (200, 17, 6661, 13317),
        (31, 33, 8437, 2293),
    ];
    for (row, group, of_80, of_90) in known {
        assert_eq!(place(MetadataOrder::Rows, (row, group)), row * 64 + group);
        assert_eq!(place(MetadataOrder::Sm80, (row, group)), of_80, "{row} {group}");
        assert_eq!(place(MetadataOrder::Sm90, (row, group)), of_90, "{row} {group}");
    }
}

#[test]
fn every_pair_of_places_has_its_bits() {
    let codes = |dtype, format: &str, of: usize, pairs: &[&[usize]]| {
        let a = matrix([128, 128], format, dtype, (of, 1), |row, group| {
            let places = pairs[(row * 7 + group) % pairs.len()];
            places.iter().map(|&place| (place, 1.0)).collect()
        });
        let stored = SemiStructured::from_tensor(&a, MetadataOrder::Rows).unwrap();
        (0..pairs.len()).map(|group| stored.metadata()[group / 2] >> (group % 2 * 4) & 15).collect()
    };
    let pairs: [&[usize]; 6] = [&[0, 1], &[0, 2], &[1, 2], &[0, 3], &[1, 3], &[2, 3]];
    let found: Vec<u8> = codes(Dtype::I8, TWO_FOUR, 4, &pairs);
    assert_eq!(found, [0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110]);
    let found: Vec<u8> = codes(Dtype::F32, ONE_TWO, 2, &[&[0], &[1]]);
    assert_eq!(found, [0b0100, 0b1110]);
}

/// The statements of PyTorch's documentation. Says so where the golden data are not there.
#[test]
fn golden_metadata_and_sizes() {
    let folder = std::env::var_os("UST_GOLDEN").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/golden")),
        PathBuf::from,
    );
    let Ok(text) = std::fs::read_to_string(folder.join("examples.json")) else {
        eprintln!("SKIPPED: no golden data in {}", folder.display());
        return;
    };
    let examples: serde_json::Value = serde_json::from_str(&text).unwrap();
    let named = |name: &str| {
        let all = examples["behaviours"].as_array().unwrap();
        let found = all.iter().find(|one| one["name"] == format!("torch/semi_structured_{name}"));
        found.map(|one| one["data"].clone()).unwrap()
    };
    let printed = named("metadata");
    let tile: Vec<u64> =
        printed["tile"].as_array().unwrap().iter().filter_map(serde_json::Value::as_u64).collect();
    let places = || tile.iter().enumerate().filter(|(_, one)| **one != 0);
    let tiled = |dtype| {
        matrix([128, 128], TWO_FOUR, dtype, (4, 1), |_, _| {
            places().map(|(place, &value)| (place, value as f64)).collect()
        })
    };
    let word = printed["printed_metadata_i16"].as_i64().unwrap() as i16;
    let value = half::f16::from_f64(printed["printed_value"].as_f64().unwrap());
    for order in [MetadataOrder::Rows, MetadataOrder::Sm80, MetadataOrder::Sm90] {
        let stored = SemiStructured::from_tensor(&tiled(Dtype::F16), order).unwrap();
        let mut words = stored.metadata().chunks(2);
        assert!(words.all(|pair| pair == word.to_le_bytes()), "{order:?}");
        assert!(stored.values().chunks(2).all(|pair| pair == value.to_le_bytes()));
        assert_eq!(stored.values().len(), 128 * 64 * 2);
    }
    for (name, dtype) in [("f16", Dtype::F16), ("bf16", Dtype::Bf16), ("int8", Dtype::I8)] {
        let stored = SemiStructured::from_tensor(&tiled(dtype), MetadataOrder::Rows).unwrap();
        let factor = &named("factor")[name];
        let [above, below] = [0, 1].map(|at| factor[at].as_u64().unwrap() as usize);
        assert_eq!(stored.bytes().len() * below, 128 * 128 * dtype.bytes() * above, "{name}");
        // One multiple less is refused.
        let multiple = named("shapes")[name].as_u64().unwrap() as usize;
        let take = |rows| {
            let bytes = vec![0x44; rows * multiple * (8 * dtype.bytes() + 2) / 16];
            SemiStructured::from_bytes([rows, multiple], dtype, MetadataOrder::Rows, bytes)
        };
        assert!(take(multiple).is_ok(), "{name}");
        assert!(matches!(take(multiple / 2), Err(Error::Shape { .. })), "{name}");
    }
}

#[test]
fn what_the_layout_does_not_have_is_refused() {
    let rows = MetadataOrder::Rows;
    let a =
        |shape, format: &str, dtype| matrix(shape, format, dtype, (4, 1), |_, _| vec![(1, 1.0)]);
    let refused = |a: &Tensor, order, why: &str| {
        let error = SemiStructured::from_tensor(a, order).unwrap_err().to_string();
        assert!(error.contains(why), "{why}: {error}");
    };
    for shape in [[64, 60], [60, 64], [0, 64], [32, 64]] {
        refused(&a(shape, TWO_FOUR, Dtype::F16), rows, "positive multiples of 64");
    }
    refused(&a([64, 128], TWO_FOUR, Dtype::I8), rows, "positive multiples of 128");
    refused(&a([64, 64], TWO_FOUR, Dtype::F16), MetadataOrder::Sm80, "positive multiples of 128");
    refused(&a([128, 128], TWO_FOUR, Dtype::I8), MetadataOrder::Sm90, "values of 16 bits");
    refused(&a([64, 64], TWO_FOUR, Dtype::F64), rows, "not f64");
    // Of two values of 32 bits one is stored.
    refused(&a([64, 64], TWO_FOUR, Dtype::F32), rows, "1 of every 2");
    refused(&a([64, 64], "CSR", Dtype::F16), rows, "2 of every 4");
    let sparse = "(i, j) -> (i : compressed, j / 4 : dense, j % 4 : structured(2, 4))";
    refused(&a([64, 64], sparse, Dtype::F16), rows, "2 of every 4");
    let bytes = |bytes| SemiStructured::from_bytes([64, 64], Dtype::F16, rows, bytes);
    let length = 64 * 64 + 64 * 64 / 8;
    assert!(bytes(vec![0x44; length - 1]).unwrap_err().to_string().contains("has 4607 bytes"));
    // The second place is not behind the first one.
    let mut wrong = vec![0x44; length];
    wrong[length - 1] = 0x45;
    let error = bytes(wrong).unwrap_err().to_string();
    assert!(error.contains("byte 4607 of the buffer is 0x45"), "{error}");
    let stored = SemiStructured::from_tensor(&a([64, 64], TWO_FOUR, Dtype::F16), rows).unwrap();
    assert!(matches!(stored.to_tensor("CSR"), Err(Error::Unsupported(_))));
}
