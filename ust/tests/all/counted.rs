//! Places that are not stored are counted exactly, however many there are.

use ust::ops::{einsum, oracle};
use ust::tensor::StoredElement;
use ust::{Complex, Coo, Dtype, Format, Scalar, Tensor, Values};

/// A matrix with a value in its first corner and another at (4, 4).
fn matrix<T: StoredElement>(rows: usize, columns: usize, values: [T; 2], format: &str) -> Tensor
where
    Values: From<Vec<T>>,
{
    let crd = vec![vec![0, 4], vec![0, 4]];
    let coo = Coo::new(vec![rows, columns], crd, values.to_vec()).unwrap();
    Tensor::from_coo(&coo, Format::resolve(format, Some(2)).unwrap()).unwrap()
}

/// The value of an expression without dimensions, by every back end and by the oracle.
fn value(text: &str, a: &Tensor) -> Scalar {
    let call = || einsum(text).arg("A", a);
    let expected = oracle::evaluate(&call()).unwrap().get(&[]).unwrap();
    for backend in ["jit", "interp"] {
        let found = call().backend(backend.parse().unwrap()).run().unwrap().get(&[]).unwrap();
        assert!(oracle::close(found, expected), "{text}, {backend}: {found}, oracle {expected}");
    }
    expected
}

/// A dimension of 2^53 / 10^8 is passed: two numbers next to each other are one `f64`.
const ROWS: usize = 100_000_001;
const COLUMNS: usize = 100_000_003;
const FORMATS: [&str; 6] = [
    "COO",
    "DCSR",
    "DCSC",
    "(i, j) -> (j - i : compressed, i : compressed)",
    "(i, j) -> (i / 2 : compressed, j / 2 : compressed, i % 2 : dense, j % 2 : dense)",
    "(i, j) -> (i : compressed, j / 4 : compressed, j % 4 : dense)",
];

#[test]
fn sums_are_exact_beyond_the_integers_of_f64() {
    for format in FORMATS {
        let a = matrix(ROWS, COLUMNS, [7_i64, 1], format);
        let places = ROWS as i64 * COLUMNS as i64;
        for (text, expected) in [
            ("s = sum((i,j), A(i,j) == 0)", places - 2),
            ("s = sum((i,j), A(i,j) + 1)", places + 8),
            ("s = sum((i,j), 3*A(i,j) + 2)", 2 * places + 24),
            ("s = sum((i,j), A(i,j) < 5)", places - 1),
            ("s = sum((i,j), 1 - A(i,j))", places - 8),
        ] {
            assert_eq!(value(text, &a), Scalar::I64(expected), "{text} {format}");
        }
    }
}

#[test]
fn sums_of_integers_wrap_beyond_2_to_the_63_and_2_to_the_64() {
    for [rows, columns] in [[5_000_000_000, 5_000_000_001], [1 << 40, 1 << 40], [1 << 62, 1 << 62]]
    {
        let places = (rows as u64).wrapping_mul(columns as u64);
        let a = matrix(rows, columns, [7_i64, 1], "DCSR");
        let wrapped = |places: u64| Scalar::I64(places.cast_signed());
        assert_eq!(value("s = sum((i,j), A(i,j) + 1)", &a), wrapped(places.wrapping_add(8)));
        assert_eq!(value("s = sum((i,j), A(i,j) == 0)", &a), wrapped(places.wrapping_sub(2)));
        let a = matrix(rows, columns, [7_u8, 1], "DCSR");
        let found = value("s = sum((i,j), A(i,j) + u8(3))", &a);
        assert_eq!(found, Scalar::U8((places as u8).wrapping_mul(3).wrapping_add(8)));
        let a = matrix(rows, columns, [7.0_f64, 1.0], "DCSR");
        let all = rows as f64 * columns as f64;
        assert!(oracle::close(value("s = sum((i,j), A(i,j) + 1)", &a), Scalar::F64(all + 8.0)));
    }
}

#[test]
fn rows_are_counted_where_few_places_are_left() {
    // All places but one are stored in the first row, all in the second, none in the third.
    let columns = 70;
    let crd: Vec<(i64, i64)> =
        (0..2).flat_map(|i| (0..columns).map(move |j| (i, j))).filter(|&at| at != (0, 9)).collect();
    let (rows, places) = crd.iter().copied().unzip();
    let values = vec![2_i64; crd.len()];
    let coo = Coo::new(vec![1000, columns as usize], vec![rows, places], values).unwrap();
    let a = Tensor::from_coo(&coo, "CSR").unwrap();
    let call = || einsum("y(i) = sum(j, A(i,j) - 1)").arg("A", &a);
    let found = call().run().unwrap();
    let expected: Vec<i64> = (0..1000)
        .map(|i| match i {
            0 => columns - 2,
            1 => columns,
            _ => -columns,
        })
        .collect();
    assert_eq!(found.to_dense::<i64>().unwrap().into_raw_vec_and_offset().0, expected);
}

#[test]
fn an_odd_power_keeps_its_sign() {
    for format in FORMATS {
        for (values, expected) in [([7.0, 3.0], -12.0), ([7.0, 1.0], 0.0), ([-2.0, -1.0], -6.0)] {
            let a = matrix(ROWS, COLUMNS, values, format);
            let found = value("s = prod((i,j), A(i,j) - 1)", &a);
            assert!(oracle::close(found, Scalar::F64(expected)), "{found} {expected} {format}");
        }
    }
    // An odd number of places, of which an even one is stored, and the reverse.
    for (columns, sign) in [(COLUMNS, -1.0), (COLUMNS - 1, 1.0)] {
        for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::Complex64, Dtype::I8] {
            let a = matrix(ROWS, columns, [7.0_f64, 3.0], "COO").cast(dtype).unwrap();
            let found = value("s = prod((i,j), A(i,j) - 1)", &a);
            let expected = Scalar::F64(sign * 12.0).cast(dtype).unwrap();
            assert!(oracle::close(found, expected), "{dtype} {found} {expected}");
        }
    }
}

#[test]
fn powers_turn_by_quarters() {
    let i = Complex::new(0.0, 1.0);
    for more in 0..4 {
        let a = matrix(ROWS, COLUMNS + more, [i * 0.0, i * 3.0], "COO");
        // 0 - i is stored once as an explicit zero, once as 2i.
        let places = ROWS as u64 * (COLUMNS + more) as u64 - 2;
        let turned = [i, -1.0 + 0.0 * i, -i, 1.0 + 0.0 * i];
        let power = turned[((places * 3 + 3) % 4) as usize];
        let expected = power * (-i) * (2.0 * i);
        let found = value("s = prod((i,j), A(i,j) - 1i)", &a);
        assert!(oracle::close(found, Scalar::Complex128(expected)), "{more}: {found} {expected}");
    }
}

#[test]
fn products_of_integers_are_powers() {
    // rows, columns, what is added: the power wraps.
    for (rows, columns, add) in [
        (5_000_000_000, 4, 3),
        (5_000_000_000, 4, 2),
        (ROWS, COLUMNS, -3),
        (ROWS, COLUMNS, -2),
        (1 << 40, 1 << 40, 5),
        (1 << 62, 1 << 62, 6),
        (1 << 32, 1 << 32, 2),
        (8, 8, 2),
        (9, 9, 2),
    ] {
        for dtype in [Dtype::I64, Dtype::U64, Dtype::I32, Dtype::U8, Dtype::I16] {
            if add < 0 && matches!(dtype, Dtype::U64 | Dtype::U8) {
                continue;
            }
            let a = matrix(rows, columns.max(5), [7_i64, 1], "COO").cast(dtype).unwrap();
            let text = format!("s = prod((i,j), A(i,j) + {dtype}({add}))");
            // By repeated multiplication, extent by extent.
            let power = |base: i64, times: u64| {
                (0..64).rev().fold(1_i64, |all, bit| {
                    let squared = all.wrapping_mul(all);
                    if times >> bit & 1 == 1 { squared.wrapping_mul(base) } else { squared }
                })
            };
            let columns = columns.max(5) as u64;
            let rest = power(power(add, columns), rows as u64 - 2);
            let rest =
                rest.wrapping_mul(power(add, columns - 1)).wrapping_mul(power(add, columns - 1));
            let expected = rest.wrapping_mul(7 + add).wrapping_mul(1 + add);
            let found = value(&text, &a).cast(Dtype::I64);
            let narrow = match dtype {
                Dtype::U8 => i64::from(expected as u8),
                Dtype::I16 => i64::from(expected as i16),
                Dtype::I32 => i64::from(expected as i32),
                _ => expected,
            };
            match dtype {
                Dtype::U64 => {
                    assert_eq!(value(&text, &a), Scalar::U64(expected.cast_unsigned()), "{text}");
                }
                _ => assert_eq!(found, Ok(Scalar::I64(narrow)), "{text} {rows} {columns}"),
            }
        }
    }
}

/// The oracle itself: coordinates that are alike are combined by doubling, and no place is left out.
#[test]
fn the_oracle_combines_what_is_alike_as_if_it_were_visited() {
    for extent in [3, 63, 64, 65, 66, 67, 100, 129, 200] {
        let coo = Coo::new(vec![extent, 5], vec![vec![0, 2, 2], vec![1, 0, 4]], vec![4_i64, -3, 9]);
        let coo = coo.unwrap();
        let a = Tensor::from_coo(&coo, "CSR").unwrap();
        let dense = a.to_dense::<i64>().unwrap();
        for (text, expected) in [
            ("s = sum((i,j), A(i,j) + 2)", dense.iter().map(|v| v + 2).sum::<i64>()),
            ("s = prod((i,j), A(i,j) * 2 - 1)", {
                dense.iter().fold(1_i64, |all, v| all.wrapping_mul(v * 2 - 1))
            }),
            ("s = max((i,j), A(i,j) - 20)", dense.iter().map(|v| v - 20).max().unwrap()),
            ("s = min((i,j), A(i,j) + 20)", dense.iter().map(|v| v + 20).min().unwrap()),
        ] {
            let call = einsum(text).arg("A", &a);
            let found = oracle::evaluate(&call).unwrap().get(&[]).unwrap();
            assert_eq!(found, Scalar::I64(expected), "{text} {extent}");
        }
    }
}
