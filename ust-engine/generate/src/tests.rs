//! What generated tensors are, stated as facts.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn make(spec: &str) -> Coo {
    generate(spec).unwrap_or_else(|error| panic!("{error}"))
}

fn entries(coo: &Coo) -> BTreeMap<Vec<usize>, f64> {
    let values = coo.values.typed::<f64>().unwrap();
    (0..coo.len()).map(|at| (coo.coordinates(at), values[at])).collect()
}

/// FNV-1a over rank, shape, coordinates entry by entry, and the bits of the values.
fn checksum(coo: &Coo) -> u64 {
    let shape = coo.shape.iter().map(|&n| n as u64);
    let crd = (0..coo.len()).flat_map(|at| coo.crd.iter().map(move |column| column[at] as u64));
    let values = coo.values.typed::<f64>().unwrap().iter().map(|v| v.to_bits());
    std::iter::once(coo.shape.len() as u64)
        .chain(shape)
        .chain(crd)
        .chain(values)
        .flat_map(u64::to_le_bytes)
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        })
}

/// Small tensors of every generator, with the checksum that every machine must find. The numbers
/// come from a second implementation of the definitions in the help text, in another language.
const PINNED: &[(&str, u64)] = &[
    ("poisson2d(5)", 0xD88C_F2FD_5446_6717),
    ("poisson2d(3x4)", 0x5A05_255C_BC66_7D07),
    ("poisson3d(3)", 0xDC9B_EC79_BC93_572F),
    ("poisson3d(2x3x4)", 0x4DFC_EBD4_862F_8207),
    ("stencil27(3)", 0xF5BD_5661_15A8_FE5D),
    ("stencil27(4x1x3)", 0x9E93_D246_7DAA_4FE7),
    ("random(100x200, nnz=160, seed=1)", 0x4A1B_311F_2629_B73F),
    ("random(10x20, nnz=150, seed=2)", 0xC616_E27A_AB2C_86BB),
    ("random(5x6x7x8, nnz=100)", 0xB27F_2135_2C5A_EBC5),
    (
        "random(5000000000x6000000000x7000000000, nnz=50, seed=18446744073709551615)",
        0xC167_69D4_625F_81D6,
    ),
    ("banded(20, diagonals=9)", 0x9E4C_E346_9660_9321),
    ("banded(7x12, diagonals=6, seed=3)", 0xA45E_FD65_BBEF_B705),
    ("banded(12x7, diagonals=6, seed=3)", 0x5681_C6FE_9340_C88C),
    ("rmat(scale=5, edges=200, seed=1)", 0x493F_B44B_529E_EFA5),
    ("rmat(scale=31, edges=50)", 0x67A6_F848_3EC2_D592),
    ("blocks(40x40, block=4x4, nse=160, seed=1)", 0x994B_42C9_9335_11C1),
    ("blocks(17x9x5, block=2x3x4, nse=960)", 0xBAAC_273B_E66A_9393),
    ("pruned24(16x16)", 0x200E_B5E4_4B99_4ABE),
    ("pruned24(3x5x7, seed=9)", 0x3A32_1F0B_B699_EEC7),
    ("steps(20x30, run=7, seed=1)", 0x60C2_BB56_BE11_E872),
    ("steps(3x4x5, run=2)", 0xEAA9_101A_2E23_EA20),
    ("ones(9)", 0x091E_BB1F_BBD3_8A78),
    ("ones(2x3)", 0xADDA_069B_9F7D_DD87),
    ("uniform(50, seed=1)", 0xBA4B_5CE1_D243_31C5),
    ("normal(20x10)", 0x8016_C7B8_9619_8D91),
    ("normal(3x4x5, seed=123456789)", 0xF836_7973_E55E_EDCD),
];

#[test]
fn every_machine_makes_the_same_tensors() {
    for &(spec, expected) in PINNED {
        let found = checksum(&make(spec));
        assert_eq!(found, expected, "{spec}: {found:#018x}");
    }
}

#[test]
fn every_generator_is_pinned() {
    for generator in generators() {
        let prefix = format!("{}(", generator.name);
        assert!(PINNED.iter().any(|(spec, _)| spec.starts_with(&prefix)), "{prefix}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let large = [
        "poisson2d(100)",
        "stencil27(20)",
        "random(1000x1000, nnz=50000)",
        "random(200x200, nnz=30000)",
        "banded(10000, diagonals=6)",
        "rmat(scale=10, edges=50000)",
        "blocks(1000x999, block=4x4, nse=48000)",
        "pruned24(100x99)",
        "steps(300x299, run=50)",
        "normal(30000)",
    ];
    for spec in large {
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| make(spec))
        };
        assert_eq!(with(1), with(2), "{spec}");
    }
}

#[test]
fn entries_are_inside_the_shape_sorted_and_distinct() {
    for &(spec, _) in PINNED {
        let coo = make(spec);
        let checked = Coo::new(coo.shape.clone(), coo.crd.clone(), coo.values.clone());
        assert!(checked.is_ok(), "{spec}: {checked:?}");
        let all: Vec<Vec<usize>> = (0..coo.len()).map(|at| coo.coordinates(at)).collect();
        assert!(all.windows(2).all(|w| w[0] < w[1]), "{spec}");
    }
}

#[test]
fn the_number_of_entries_is_as_defined() {
    let cases = [
        ("poisson2d(7)", 5 * 49 - 4 * 7),
        ("poisson2d(7x3)", 5 * 21 - 2 * 7 - 2 * 3),
        ("poisson2d(1)", 1),
        ("poisson2d(0)", 0),
        ("poisson2d(0x5)", 0),
        ("poisson3d(5)", 7 * 125 - 6 * 25),
        ("stencil27(5)", 13 * 13 * 13),
        ("stencil27(1x2x3)", 4 * 7),
        ("stencil27(4x0x3)", 0),
        ("random(10x20x30, nnz=123)", 123),
        ("random(6, nnz=6)", 6),
        ("random(0x9, nnz=0)", 0),
        ("random(4000000000x4000000000x4000000000, nnz=100)", 100),
        ("banded(10, diagonals=1)", 10),
        ("banded(10, diagonals=4)", 10 + 9 + 9 + 8),
        ("banded(10, diagonals=19)", 100),
        ("banded(3x5, diagonals=4)", 3 + 3 + 3 + 2),
        ("banded(3x5, diagonals=6)", 3 + 3 + 3 + 2 + 2 + 1),
        ("banded(5x3, diagonals=5)", 3 + 3 + 3 + 2 + 1),
        ("banded(0x3, diagonals=5)", 0),
        ("blocks(8x6, block=2x3, nse=24)", 24),
        ("blocks(7x5, block=2x3, nse=48)", 35),
        ("blocks(10, block=5, nse=0)", 0),
        ("pruned24(3x8)", 12),
        ("pruned24(3x9)", 15),
        ("pruned24(3x11)", 18),
        ("pruned24(2x3x4)", 12),
        ("pruned24(5x0)", 0),
        ("steps(5x7, run=3)", 35),
        ("steps(5x0, run=3)", 0),
        ("ones(7)", 7),
        ("uniform(2x3x4)", 24),
        ("normal(0)", 0),
        ("rmat(scale=0, edges=5)", 1),
        ("rmat(scale=4, edges=0)", 0),
    ];
    for (spec, expected) in cases {
        assert_eq!(make(spec).len(), expected, "{spec}");
    }
}

#[test]
fn laplacians_are_symmetric_and_vanish_on_constants_away_from_the_boundary() {
    let cases = [
        ("poisson2d(6x5)", vec![6, 5], 4.0),
        ("poisson3d(4x5x3)", vec![4, 5, 3], 6.0),
        ("stencil27(4x5x3)", vec![4, 5, 3], 26.0),
    ];
    for (spec, grid, centre) in cases {
        let matrix = entries(&make(spec));
        let points: usize = grid.iter().product();
        for row in 0..points {
            assert_eq!(matrix[&vec![row, row]], centre);
            let mut rest = row;
            let inner = grid.iter().rev().all(|&n| {
                let at = rest % n;
                rest /= n;
                0 < at && at < n - 1
            });
            let of_row = matrix.iter().filter(|(crd, _)| crd[0] == row);
            let sum: f64 = of_row.map(|(_, v)| v).sum();
            assert_eq!(sum == 0.0, inner, "{spec}: row {row}");
            assert!(sum >= 0.0, "{spec}: diagonally dominant");
        }
        for (crd, value) in &matrix {
            assert_eq!(matrix.get(&vec![crd[1], crd[0]]), Some(value), "{spec}: {crd:?}");
            assert!(crd[0] == crd[1] || *value == -1.0);
        }
    }
}

#[test]
fn neighbours_on_the_grid_are_neighbours_in_the_matrix() {
    let matrix = entries(&make("poisson2d(3x4)"));
    let of_row: Vec<usize> = matrix.keys().filter(|c| c[0] == 5).map(|c| c[1]).collect();
    assert_eq!(of_row, [1, 4, 5, 6, 9]);
    let matrix = entries(&make("stencil27(2x3x3)"));
    let of_row: Vec<usize> = matrix.keys().filter(|c| c[0] == 0).map(|c| c[1]).collect();
    assert_eq!(of_row, [0, 1, 3, 4, 9, 10, 12, 13]);
}

#[test]
fn a_band_holds_the_diagonals_around_the_main_one() {
    for (spec, below, above) in [
        ("banded(9, diagonals=1)", 0, 0),
        ("banded(9, diagonals=2)", 0, 1),
        ("banded(9, diagonals=5)", 2, 2),
        ("banded(6x9, diagonals=6)", 2, 3),
        ("banded(9x4, diagonals=6)", 2, 3),
    ] {
        let coo = make(spec);
        let mut expected = BTreeSet::new();
        for i in 0..coo.shape[0] as i64 {
            for j in 0..coo.shape[1] as i64 {
                if (-below..=above).contains(&(j - i)) {
                    expected.insert(vec![i as usize, j as usize]);
                }
            }
        }
        assert_eq!(entries(&coo).into_keys().collect::<BTreeSet<_>>(), expected, "{spec}");
    }
}

#[test]
fn blocks_are_full_up_to_the_shape() {
    let coo = make("blocks(50x33, block=4x5, nse=600)");
    let cells: BTreeSet<Vec<usize>> = entries(&coo).into_keys().collect();
    let blocks: BTreeSet<(usize, usize)> = cells.iter().map(|c| (c[0] / 4, c[1] / 5)).collect();
    assert_eq!(blocks.len(), 600 / 20);
    for (bi, bj) in blocks {
        for i in bi * 4..50.min(bi * 4 + 4) {
            for j in bj * 5..33.min(bj * 5 + 5) {
                assert!(cells.contains(&vec![i, j]), "block ({bi}, {bj}) lacks ({i}, {j})");
            }
        }
    }
}

#[test]
fn pruning_keeps_the_two_largest_of_each_group_of_four() {
    let dense = make("normal(20x18, seed=4)");
    let dense = dense.values.typed::<f64>().unwrap();
    let kept = entries(&make("pruned24(20x18, seed=4)"));
    for row in 0..20 {
        for start in (0..18).step_by(4) {
            let group: Vec<usize> = (start..18.min(start + 4)).collect();
            let is_kept = |j: &&usize| kept.contains_key(&vec![row, **j]);
            let (stay, go): (Vec<&usize>, Vec<&usize>) = group.iter().partition(is_kept);
            assert_eq!(stay.len(), 2);
            for j in stay {
                let value = dense[row * 18 + j];
                assert_eq!(kept[&vec![row, *j]], value);
                for other in &go {
                    assert!(dense[row * 18 + *other].abs() <= value.abs());
                }
            }
        }
    }
}

#[test]
fn steps_are_as_long_as_wanted_on_average_and_begin_in_each_row() {
    let (coo, longer) = (make("steps(100x2000, run=20)"), make("steps(100x2000, run=4000)"));
    let changes = |coo: &Coo| {
        let values = coo.values.typed::<f64>().unwrap();
        assert!(values.iter().all(|&v| v.fract() == 0.0 && (1.0..256.0).contains(&v)));
        let rows = values.chunks(2000);
        rows.map(|row| row.windows(2).filter(|w| w[0] != w[1]).count()).sum::<usize>()
    };
    // One in 255 neighbours has the same value.
    let expected = 100.0 * 2000.0 / 20.0 * 254.0 / 255.0;
    assert!((changes(&coo) as f64 / expected - 1.0).abs() < 0.05, "{}", changes(&coo));
    let values = longer.values.typed::<f64>().unwrap();
    let first: BTreeSet<u64> = values.chunks(2000).map(|row| row[0].to_bits()).collect();
    assert!(first.len() > 50 && changes(&longer) < 100, "{}", first.len());
}

#[test]
fn the_quadrants_of_a_graph_have_their_probabilities() {
    // Of so large a graph hardly any edge is drawn twice.
    let coo = make("rmat(scale=30, edges=100000)");
    assert!(coo.len() > 99_000);
    let mut quadrants = [0; 4];
    for at in 0..coo.len() {
        let crd = coo.coordinates(at);
        quadrants[crd[0] >> 29 << 1 | crd[1] >> 29] += 1;
    }
    for (found, probability) in quadrants.iter().zip([0.57, 0.19, 0.19, 0.05]) {
        let share = f64::from(*found) / coo.len() as f64;
        assert!((share - probability).abs() < 0.01, "{quadrants:?}");
    }
    assert!(coo.values.typed::<f64>().unwrap().iter().all(|&v| v == 1.0));
}

#[test]
fn random_cells_and_values_are_spread_evenly() {
    for spec in ["random(1000x800, nnz=20000)", "random(100x80, nnz=7000)"] {
        let coo = make(spec);
        for (dim, extent) in coo.shape.iter().enumerate() {
            let mean = coo.crd[dim].iter().sum::<i64>() as f64 / coo.len() as f64;
            assert!((mean / *extent as f64 - 0.5).abs() < 0.02, "{spec}: mean of dimension {dim}");
        }
        let values = coo.values.typed::<f64>().unwrap();
        assert!(values.iter().all(|&v| 0.0 < v && v < 1.0));
        let mean = values.iter().sum::<f64>() / coo.len() as f64;
        assert!((mean - 0.5).abs() < 0.02, "{spec}: mean of values {mean}");
    }
}

#[test]
fn the_seed_decides_and_zero_is_the_default() {
    for spec in [
        "random(100x100, nnz=50",
        "banded(9, diagonals=3",
        "rmat(8, edges=99",
        "uniform(9",
        "normal(9",
        "pruned24(8x8",
        "steps(8x8, run=3",
        "blocks(90x90, block=3x3, nse=90",
    ] {
        let seeded = |seed: &str| make(&format!("{spec}{seed})"));
        assert_eq!(seeded(""), seeded(", seed=0"), "{spec}");
        assert_eq!(seeded(", seed=7"), seeded(", seed = 7 "), "{spec}");
        assert_ne!(seeded(", seed=7"), seeded(", seed=8"), "{spec}");
    }
}

#[test]
fn the_text_may_be_written_freely() {
    let expected = make("random(10x20, nnz=5, seed=1)");
    for spec in [
        "gen:random(10x20, nnz=5, seed=1)",
        "  gen:random ( 10 x 20 ,seed=1,nnz = 5 ) ",
        "random(shape=1_0x20, nnz=5, seed=1)",
        "random(nnz=5, shape=10x20, seed=1)",
    ] {
        assert_eq!(make(spec), expected, "{spec}");
    }
    assert_eq!(make("poisson2d(3)"), make("poisson2d(3x3)"));
}

#[test]
fn errors_point_at_the_spot_and_say_what_would_do() {
    // The text, what the carets stand under, and what the message contains.
    let cases = [
        ("", "", "expected the name of a generator, found the end"),
        ("gen:", "", "expected the name of a generator"),
        ("gen:7", "7", "found `7`"),
        ("ones", "", "expected `(`"),
        ("ones(", "", "expected a number, found the end"),
        ("ones()", ")", "`ones` needs `shape`"),
        ("ones(7", "", "expected `,` or `)`"),
        ("ones(7,)", ")", "expected a number"),
        ("ones(7x)", ")", "expected a number"),
        ("ones(-7)", "-", "expected a number, found `-`"),
        ("ones(7.5)", ".", "expected `,` or `)`"),
        ("ones(7) x", "x", "expected nothing more"),
        ("ones(seven)", ")", "expected `=`"),
        ("ones(99999999999999999999)", "99999999999999999999", "too large"),
        ("ones(18446744073709551615)", "18446744073709551615", "2^63 - 1"),
        ("posson2d(3)", "posson2d", "did you mean `poisson2d`?"),
        ("gen:Random(3, nnz=1)", "Random", "did you mean `random`?"),
        ("zebra(3)", "zebra", "known generators: poisson2d, poisson3d,"),
        ("random(3x3, nzn=1)", "nzn", "did you mean `nnz`?"),
        (
            "random(3x3, vehicles=1)",
            "vehicles",
            "it is written `random(SHAPE, nnz=NUMBER, seed=0)`",
        ),
        ("random(3x3, 4)", "4", "only the first argument"),
        ("random(3x3)", ")", "`random` needs `nnz`"),
        ("random(3x3, nnz=1, nnz=2)", "nnz", "`nnz` is given twice"),
        ("random(3, shape=3, nnz=1)", "shape", "`shape` is given twice"),
        ("random(3x3, nnz=10)", "10", "the shape has 9 cells"),
        ("random(0x3, nnz=1)", "1", "the shape has 0 cells"),
        ("random(3x3, nnz=2x2)", "2x2", "takes one number, not 2"),
        ("poisson2d(2x3x4)", "2x3x4", "takes one extent, or 2"),
        ("poisson3d(2x3)", "2x3", "takes one extent, or 3"),
        ("banded(5, diagonals=0)", "0", "at least 1"),
        ("banded(5, diagonals=10)", "10", "at most 9 fit"),
        ("banded(2x9, diagonals=5)", "5", "at most 4 fit"),
        ("steps(8x8, run=0)", "0", "at least 1"),
        ("blocks(8x8, block=2, nse=4)", "2", "one extent for each of the shape's 2"),
        ("blocks(8x8, block=2x0, nse=4)", "2x0", "at least one cell"),
        ("blocks(8x8, block=2x2, nse=6)", "6", "not a multiple of the 4 values"),
        ("blocks(8x8, block=2x2, nse=68)", "68", "room for 64"),
        (
            "blocks(8x8, block=4000000000x4000000000, nse=68)",
            "4000000000x4000000000",
            "in one block",
        ),
        ("rmat(32, edges=1)", "32", "at most 31"),
        ("rmat(scale=3, edges=2147483649)", "2147483649", "at most 2147483648"),
        ("ones(100000x100000)", "100000x100000", "10000000000 entries"),
        ("poisson2d(1000000)", "1000000", "entries; generators make at most"),
        ("stencil27(9000000000000000000)", "9000000000000000000", "too large"),
        ("poisson3d(9000000000000000000)", "9000000000000000000", "too large"),
        ("banded(9000000000000000000, diagonals=7)", "7", "too large"),
        (
            "pruned24(9000000000x9000000000x9000000000x4)",
            "9000000000x9000000000x9000000000x4",
            "too large",
        ),
        (
            "random(9000000000000000000x9000000000000000000x9000000000000000000, nnz=1)",
            "9000000000000000000x9000000000000000000x9000000000000000000",
            "cannot be told apart",
        ),
    ];
    for (spec, under, contains) in cases {
        let error = generate(spec).expect_err(spec);
        assert_eq!(&spec[error.span.clone()], under, "{spec}: {error}");
        assert!(error.to_string().contains(contains), "{spec}: {error}");
    }
}

#[test]
fn the_carets_stand_under_the_spot() {
    let shown = |spec: &str| generate(spec).expect_err("a wrong text").to_string();
    assert_eq!(
        shown("gen:random(3x3, nzn=1)"),
        "`random` has no parameter `nzn`\n  gen:random(3x3, nzn=1)\n                  ^~~\nhelp: did you mean `nnz`?"
    );
    let wide = shown(&format!("random({}, é=1)", "3x".repeat(20) + "3"));
    let lines: Vec<&str> = wide.lines().collect();
    let column = lines[2].chars().position(|c| c == '^').unwrap();
    assert_eq!(lines[1].chars().nth(column), Some('é'), "{wide}");
}

#[test]
fn hostile_texts_give_short_errors() {
    for spec in [
        format!("ones({})", "9".repeat(1_000_000)),
        "(".repeat(1_000_000),
        format!("ones({}1)", "1x".repeat(1_000_000)),
        format!("{}(1)", "a".repeat(1_000_000)),
        format!("random({}nnz=1)", "nnz=1,".repeat(200_000)),
        "ones(\u{0}\n\u{1b}[31m)".to_owned(),
        "ones(７)".to_owned(),
    ] {
        let error = generate(&spec).expect_err("a hostile text");
        assert!(error.to_string().len() < 2000);
        assert!(!error.to_string().contains('\u{1b}'));
    }
}

#[test]
fn the_help_text_names_every_parameter_and_its_examples_work() {
    let help = help();
    for generator in generators() {
        assert!(help.contains(&generator.usage()), "{generator:?}");
        assert!(help.contains(generator.example), "{generator:?}");
        let call = spec::parse(generator.example).unwrap();
        assert!(args::Args::new(generator.example, generator, call).is_ok(), "{generator:?}");
    }
    assert!(help.lines().all(|line| line.chars().count() <= 110), "{help}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn no_text_panics(text in "(gen:)?[a-z0-9]{0,9}[(]?[a-z0-9=x, _é()]{0,40}[)]?") {
        let _ = spec::parse(&text);
    }
}
