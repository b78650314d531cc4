//! The map between dimensions and levels: inverses and the coordinates of levels.

use proptest::prelude::*;
use ust::Format;
use ust::format::{FormatError, LevelDomain};

fn read(text: &str) -> Format {
    text.parse().unwrap_or_else(|error: FormatError| panic!("{error}"))
}

/// All coordinates inside a shape.
fn points(shape: &[usize]) -> Vec<Vec<i64>> {
    shape.iter().fold(vec![Vec::new()], |points, &extent| {
        let longer = |point: Vec<i64>| {
            (0..extent as i64).map(move |at| point.iter().copied().chain([at]).collect())
        };
        points.into_iter().flat_map(longer).collect()
    })
}

/// Every point of the shape has its own level coordinates, all within the bound domains, and comes
/// back from them.
fn assert_invertible(format: &Format, shape: &[usize]) {
    let bound = format.bind(shape).unwrap_or_else(|error| panic!("{error}"));
    for point in points(shape) {
        let levels = format.dim2lvl(&point).expect("no overflow");
        for (&crd, &LevelDomain { lower, size }) in levels.iter().zip(bound.levels()) {
            assert!(crd >= lower && crd < lower + size as i64, "{format}: {point:?} -> {levels:?}");
        }
        assert_eq!(format.lvl2dim(&levels), Some(point), "{format}: {levels:?}");
    }
}

#[test]
fn inverses_are_inferred() {
    for (text, inverse) in [
        ("() -> ()", &[][..]),
        ("CSC", &["l1", "l0"]),
        ("DIA-I", &["l1", "l0 + l1"]),
        ("DIA-J", &["l1 - l0", "l1"]),
        ("ANTI-DIA-I", &["l1", "l0 - l1"]),
        ("ANTI-DIA-J", &["l0 - l1", "l1"]),
        ("BSR(2, 3)", &["l0 * 2 + l2", "l1 * 3 + l3"]),
        ("(i) -> (i / 8 : dense, i % 8 / 2 : dense, i % 2 : dense)", &["l0 * 8 + l1 * 2 + l2"]),
        ("(i) -> (i % 2 : dense, i / 2 % 4 : dense, i / 8 : dense)", &["l2 * 8 + l1 * 2 + l0"]),
        ("(i) -> (i / 8 : dense, i % 8 / 3 : dense, i % 8 % 3 : dense)", &["l0 * 8 + l1 * 3 + l2"]),
        ("(i, j) -> (i * 9 + j : dense)", &["l0 / 9", "l0 % 9"]),
        ("(i, j, k) -> (i * 20 + j * 4 + k : dense)", &["l0 / 20", "l0 / 4 % 5", "l0 % 4"]),
        (
            "(i, j) -> ((i * 9 + j) / 4 : dense, (i * 9 + j) % 4 : dense)",
            &["(l0 * 4 + l1) / 9", "(l0 * 4 + l1) % 9"],
        ),
        (
            "(i, j) -> (i / 2 * 5 + j / 3 : dense, i % 2 : dense, j % 3 : dense)",
            &["l0 / 5 * 2 + l1", "l0 % 5 * 3 + l2"],
        ),
        ("(i, j, k) -> (i * 9 + j : dense, k - j : dense)", &["l0 / 9", "l0 % 9", "l1 + l0 % 9"]),
        ("(i, j, k) -> (i + j + k : dense, i : dense, k : dense)", &["l1", "l0 - l1 - l2", "l2"]),
        (
            "(i, j) -> ((j - i) / 4 : dense, (j - i) % 4 : dense, i : dense)",
            &["l2", "l0 * 4 + l1 + l2"],
        ),
        ("(i) -> (i + 3 : dense)", &["l0 - 3"]),
        ("(i) -> (5 - i : dense)", &["-l0 + 5"]),
        ("(i) -> (i * 2 : compressed)", &["l0 / 2"]),
        ("(i, j) -> (i / 1 : dense, j : dense, i % 1 : dense)", &["l0", "l1"]),
    ] {
        let format = read(text);
        let found: Vec<String> =
            (0..format.rank()).map(|dim| format.inverse_text(dim).unwrap()).collect();
        assert_eq!(found, inverse, "{text}");
    }
}

#[test]
fn a_given_inverse_is_proved_and_kept_where_it_cannot_be_inferred() {
    for (given, printed) in [
        (
            "(i = ii + 2 * ib) -> (ib = i / 2 : dense, ii = i % 2 : dense)",
            "(i) -> (i / 2 : dense, i % 2 : dense)",
        ),
        (
            "(i = l - l % 9 - l / 9 * 8, j = l - l / 9 * 9) -> (l = i * 9 + j : dense)",
            "(i, j) -> (i * 9 + j : dense)",
        ),
        // More general than it must be, and right where it counts.
        (
            "(i = ib * 2 + ii + ii / 2) -> (ib = i / 2 : dense, ii = i % 2 : dense)",
            "(i) -> (i / 2 : dense, i % 2 : dense)",
        ),
        (
            "(i, j = d + i0) -> (d = j - i : dense, i0 = i : dense)",
            "(i, j) -> (j - i : dense, i : dense)",
        ),
        (
            "(i = a * 2 - b, j = b - a) -> (a = i + j : dense, b = i + j * 2 : dense)",
            "(i = a * 2 - b, j = b - a) -> (a = i + j : dense, b = i + j * 2 : dense)",
        ),
    ] {
        let format = read(given);
        assert_eq!(format.to_string(), printed);
        assert_eq!(read(&format.to_mlir()), format);
        assert_invertible(&format, &[4, 5][..format.rank()]);
    }
}

#[test]
fn a_wrong_inverse_is_refused_and_the_right_one_shown() {
    for (text, place, help) in [
        (
            "(i = ib * 2) -> (ib = i / 2 : dense, ii = i % 2 : dense)",
            "ib * 2",
            "write `i = ib * 2 + ii`",
        ),
        (
            "(i = ib * 3 + ii) -> (ib = i / 2 : dense, ii = i % 2 : dense)",
            "ib * 3 + ii",
            "write `i = ib * 2 + ii`",
        ),
        // Right for i < 256 only, which no sample of small coordinates would show.
        (
            "(i = ib * 2 + ii + ib / 128) -> (ib = i / 2 : dense, ii = i % 2 : dense)",
            "ib * 2 + ii + ib / 128",
            "write `i = ib * 2 + ii`",
        ),
        ("(i, j = d) -> (d = j - i : dense, r = i : dense)", "d", "write `j = d + r`"),
        (
            "(i = b - a, j = b - a) -> (a = i + j : dense, b = i + j * 2 : dense)",
            "b - a",
            "`i + j` leaves `i` and `j` unknown",
        ),
    ] {
        let error = text.parse::<Format>().expect_err(text);
        assert_eq!((&text[error.span()], error.help()), (place, Some(help)), "{error}");
    }
}

#[test]
fn level_coordinates_without_a_point_are_none() {
    let blocks = read("(i) -> (i / 2 : dense, i % 2 : dense)");
    assert_eq!(blocks.lvl2dim(&[3, 1]), Some(vec![7]));
    assert_eq!(blocks.lvl2dim(&[3, 2]), None);
    assert_eq!(blocks.lvl2dim(&[i64::MAX, 0]), None);
    assert_eq!((blocks.lvl2dim(&[3]), blocks.dim2lvl(&[1, 2])), (None, None));
    assert_eq!(read("(i) -> (i * 2 : dense)").lvl2dim(&[3]), None);
    assert_eq!(read("DIA-I").dim2lvl(&[i64::MIN, 1]), None);
}

#[test]
fn levels_have_these_coordinates() {
    for (text, shape, expected) in [
        ("() -> ()", &[][..], &[][..]),
        ("CSC", &[4, 9], &[(0, 9), (0, 4)]),
        ("BSR(2, 3)", &[5, 7], &[(0, 3), (0, 3), (0, 2), (0, 3)]),
        // A block's size is what the format says, even where the shape is smaller.
        ("BSR(2, 3)", &[1, 1], &[(0, 1), (0, 1), (0, 2), (0, 3)]),
        ("BSR(2, 3)", &[0, 7], &[(0, 0), (0, 3), (0, 2), (0, 3)]),
        (
            "(i) -> (i / 8 : dense, i % 8 / 2 : dense, i % 2 : dense)",
            &[9],
            &[(0, 2), (0, 4), (0, 2)],
        ),
        (
            "(i) -> (i / 8 : dense, i % 8 / 3 : dense, i % 8 % 3 : dense)",
            &[9],
            &[(0, 2), (0, 3), (0, 3)],
        ),
        ("DIA-I", &[4, 9], &[(-3, 12), (0, 4)]),
        ("DIA-J", &[4, 9], &[(-3, 12), (0, 9)]),
        ("ANTI-DIA-I", &[4, 9], &[(0, 12), (0, 4)]),
        ("DIA-I", &[0, 9], &[(0, 0), (0, 0)]),
        ("DIA-I", &[9, 0], &[(0, 0), (0, 9)]),
        ("(i, j) -> (i * 9 + j : dense)", &[4, 9], &[(0, 36)]),
        ("(i, j) -> (i * 9 + j : dense)", &[4, 7], &[(0, 36)]),
        ("(i, j) -> (i * 9 + j : dense)", &[4, 0], &[(0, 0)]),
        (
            "(i, j) -> ((i * 9 + j) / 4 : dense, (i * 9 + j) % 4 : dense)",
            &[3, 9],
            &[(0, 7), (0, 4)],
        ),
        (
            "(i, j) -> (i / 2 * 5 + j / 3 : dense, i % 2 : dense, j % 3 : dense)",
            &[3, 15],
            &[(0, 10), (0, 2), (0, 3)],
        ),
        (
            "(i, j) -> ((j - i) / 4 : dense, (j - i) % 4 : dense, i : dense)",
            &[6, 6],
            &[(-2, 4), (0, 4), (0, 6)],
        ),
        ("(i) -> (i + 3 : dense)", &[4], &[(3, 4)]),
        ("(i) -> (5 - i : dense)", &[4], &[(2, 4)]),
        ("(i) -> (i * 2 : dense)", &[4], &[(0, 7)]),
    ] {
        let bound = read(text).bind(shape).unwrap_or_else(|error| panic!("{error}"));
        let found: Vec<(i64, u64)> = bound.levels().iter().map(|d| (d.lower, d.size)).collect();
        assert_eq!(found, expected, "{text} {shape:?}");
    }
}

#[test]
fn a_level_is_told_its_site() {
    let bound = read("DIA-I, posWidth = 16, crdWidth = 8").bind(&[4, 9]).unwrap();
    let site = bound.site(0);
    assert_eq!((site.lower, site.size, site.pos_width, site.crd_width), (-3, 12, 16, 8));
    assert_eq!((bound.shape(), bound.format().rank()), (&[4, 9][..], 2));
}

#[test]
fn shapes_that_do_not_suit_the_format_are_refused_at_the_place() {
    let max = usize::MAX;
    let half = i64::MAX as usize;
    for (text, shape, place, message) in [
        ("CSR", &[3][..], "(i, j)", "the format has 2 dimensions, the shape [3] has 1"),
        ("CSR", &[3, max], "j", "dimension `j` of extent 18446744073709551615 is too large"),
        (
            "(i, j) -> (i * 9 + j : dense)",
            &[3, 10],
            "i * 9 + j : dense",
            "dimension `j` has extent 10, but this level can only be inverted up to 9",
        ),
        (
            "(i, j) -> (i / 2 * 5 + j / 3 : dense, i % 2 : dense, j % 3 : dense)",
            &[3, 16],
            "i / 2 * 5 + j / 3 : dense",
            "dimension `j` has extent 16, but this level can only be inverted up to 15",
        ),
        (
            "DIA-I",
            &[half, half],
            "j - i : compressed",
            &format!("this level's coordinates do not fit in 64 bits at shape [{half}, {half}]"),
        ),
        (
            "(i, j) -> (i * 4611686018427387904 + j : dense)",
            &[3, 1],
            "i * 4611686018427387904 + j : dense",
            "this level's coordinates do not fit in 64 bits at shape [3, 1]",
        ),
        (
            "(i : slice(2, 4, 3), j) -> (i : dense, j : dense)",
            &[11, 1],
            "i : slice(2, 4, 3)",
            "the slice of `i` ends at 11, beyond its extent 11",
        ),
    ] {
        let format = read(text);
        let error = format.bind(shape).expect_err(text);
        let canonical = format.to_string();
        assert_eq!((&canonical[error.span()], error.message()), (place, message), "{error}");
    }
    assert!(read("(i : slice(2, 4, 3), j) -> (i : dense, j : dense)").bind(&[12, 1]).is_ok());
    assert!(read("CSR").bind(&[half, half]).is_ok());
}

/// How one or two dimensions are stored: level expressions over `{a}` and `{b}`.
#[derive(Clone, Debug)]
enum Part {
    Whole,
    Blocked(i64),
    Nested(i64, i64),
    Ragged(i64, i64),
    Difference(bool),
    Sum(bool),
    Linear(i64),
    LinearBlocked(i64, i64),
    LinearBlocks(i64, i64),
    Shifted(i64),
}

impl Part {
    fn dims(&self) -> usize {
        match self {
            Self::Whole
            | Self::Blocked(_)
            | Self::Nested(..)
            | Self::Ragged(..)
            | Self::Shifted(_) => 1,
            _ => 2,
        }
    }

    fn levels(&self, a: &str, b: &str) -> Vec<String> {
        match *self {
            Self::Whole => vec![a.to_owned()],
            Self::Blocked(c) => vec![format!("{a} / {c}"), format!("{a} % {c}")],
            Self::Nested(c, d) => {
                vec![
                    format!("{a} / {}", c * d),
                    format!("{a} % {} / {d}", c * d),
                    format!("{a} % {d}"),
                ]
            }
            Self::Ragged(c, d) => {
                vec![format!("{a} / {c}"), format!("{a} % {c} / {d}"), format!("{a} % {c} % {d}")]
            }
            Self::Difference(first) => {
                vec![format!("{b} - {a}"), if first { a } else { b }.to_owned()]
            }
            Self::Sum(first) => vec![format!("{a} + {b}"), if first { a } else { b }.to_owned()],
            Self::Linear(c) => vec![format!("{a} * {c} + {b}")],
            Self::LinearBlocked(c, d) => {
                vec![format!("({a} * {c} + {b}) / {d}"), format!("({a} * {c} + {b}) % {d}")]
            }
            Self::LinearBlocks(c, d) => {
                vec![format!("{a} * {c} + {b} / {d}"), format!("{b} % {d}")]
            }
            Self::Shifted(c) => vec![format!("{a} + {c}")],
        }
    }

    /// The largest extents at which it can be inverted.
    fn extents(&self) -> Vec<usize> {
        match *self {
            Self::Linear(c) | Self::LinearBlocked(c, _) => vec![6, c as usize],
            Self::LinearBlocks(c, d) => vec![6, (c * d) as usize],
            _ => vec![6; self.dims()],
        }
    }
}

fn any_part() -> impl Strategy<Value = Part> {
    prop_oneof![
        Just(Part::Whole),
        (1..5_i64).prop_map(Part::Blocked),
        (1..4_i64, 1..4_i64).prop_map(|(c, d)| Part::Nested(c, d)),
        (2..6_i64, 2..4_i64).prop_map(|(c, d)| Part::Ragged(c.max(d + 1), d)),
        any::<bool>().prop_map(Part::Difference),
        any::<bool>().prop_map(Part::Sum),
        (2..6_i64).prop_map(Part::Linear),
        (2..6_i64, 1..5_i64).prop_map(|(c, d)| Part::LinearBlocked(c, d)),
        (2..4_i64, 1..4_i64).prop_map(|(c, d)| Part::LinearBlocks(c, d)),
        (-4..4_i64).prop_map(Part::Shifted),
    ]
}

/// Dimension names, level expressions and a shape.
fn any_map() -> impl Strategy<Value = (Vec<String>, Vec<String>, Vec<usize>)> {
    let parts = prop::collection::vec(any_part(), 0..3);
    (parts, any::<prop::sample::Index>(), prop::collection::vec(0..100_usize, 6)).prop_flat_map(
        |(parts, _, sizes)| {
            let rank = parts.iter().map(Part::dims).sum();
            let names: Vec<String> = (0..rank).map(|dim| format!("d{dim}")).collect();
            let (mut levels, mut shape, mut at) = (Vec::new(), Vec::new(), 0);
            for part in &parts {
                let second = names.get(at + 1).map_or("", String::as_str);
                levels.extend(part.levels(&names[at], second));
                shape.extend(
                    part.extents().iter().zip(&sizes[at..]).map(|(n, size)| size % (n + 1)),
                );
                at += part.dims();
            }
            (Just(names), Just(levels).prop_shuffle(), Just(shape))
        },
    )
}

fn text_of(names: &[String], levels: &[String]) -> String {
    let levels: Vec<String> = levels.iter().map(|level| format!("{level} : dense")).collect();
    format!("({}) -> ({})", names.join(", "), levels.join(", "))
}

/// Level expressions over `d0` and `d1` of which few make an invertible map.
fn any_expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => (0..2_usize).prop_map(|dim| format!("d{dim}")),
        1 => (0..5_i64).prop_map(|number| number.to_string()),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} + {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} - {b})")),
            (inner.clone(), 1..6_i64).prop_map(|(a, c)| format!("{a} * {c}")),
            (inner.clone(), 1..6_i64).prop_map(|(a, c)| format!("{a} / {c}")),
            (inner.clone(), 1..6_i64).prop_map(|(a, c)| format!("{a} % {c}")),
            inner.prop_map(|a| format!("-{a}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_map_is_accepted_is_invertible(
        levels in prop::collection::vec(any_expression(), 1..4), shape in [0..7_usize, 0..7_usize],
    ) {
        let names = ["d0".to_owned(), "d1".to_owned()];
        if let Ok(format) = text_of(&names, &levels).parse::<Format>() {
            prop_assert_eq!(&read(&format.to_string()), &format);
            if format.bind(&shape).is_ok() {
                assert_invertible(&format, &shape);
            }
        }
    }

    #[test]
    fn every_point_comes_back_from_its_level_coordinates((names, levels, shape) in any_map()) {
        let format = read(&text_of(&names, &levels));
        assert_invertible(&format, &shape);
        for text in [format.to_string(), format.to_mlir()] {
            prop_assert_eq!(&read(&text), &format);
        }
    }

    #[test]
    fn the_inferred_inverse_is_accepted_when_given_and_a_changed_one_is_not(
        (names, levels, _) in any_map(), which in any::<prop::sample::Index>(), by in 1..4_i64,
    ) {
        let format = read(&text_of(&names, &levels));
        let named: Vec<String> =
            levels.iter().enumerate().map(|(at, level)| format!("l{at} = {level}")).collect();
        let mut dims: Vec<String> = names
            .iter()
            .enumerate()
            .map(|(dim, name)| format!("{name} = {}", format.inverse_text(dim).unwrap()))
            .collect();
        prop_assert_eq!(&read(&text_of(&dims, &named)), &format);
        if !dims.is_empty() {
            let which = which.index(dims.len());
            dims[which] += &format!(" + {by}");
            let text = text_of(&dims, &named);
            let error = text.parse::<Format>().unwrap_err();
            prop_assert!(error.message().contains("does not give"), "{}", error);
        }
    }
}
