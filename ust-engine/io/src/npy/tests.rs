//! NumPy arrays as specification.

use std::path::Path;

use num_complex::Complex;
use proptest::prelude::*;
use ust_engine::Values;
use ust_level_api::Scalar;

use super::super::tests::temporary;
use super::*;

/// The bytes of an array file with this header and data.
fn file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((header.len() as u16).to_le_bytes()),
        _ => bytes.extend((header.len() as u32).to_le_bytes()),
    }
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn header(descr: &str, fortran: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}    \n")
}

fn simple(descr: &str, shape: &str, data: &[u8]) -> Result<DenseArray, FileError> {
    parse(&file(1, &header(descr, "False", shape), data), Path::new("a.npy"))
}

/// Asserts that the bytes are refused for this reason.
#[track_caller]
fn refused(bytes: &[u8], reason: &str) {
    let error = parse(bytes, Path::new("a.npy")).unwrap_err();
    assert!(error.to_string().contains(reason), "{error}");
    assert!(error.to_string().starts_with("a.npy: "), "{error}");
}

#[test]
fn every_dtype_is_read_in_both_byte_orders() {
    let c64 = |re, im| Values::from(vec![Complex::<f32> { re, im }]);
    let c128 = |re, im| Values::from(vec![Complex::<f64> { re, im }]);
    let cases: Vec<(&str, Vec<u8>, Values)> = vec![
        ("b1", vec![1], vec![true].into()),
        ("i1", vec![0xfe], vec![-2_i8].into()),
        ("i2", (-2_i16).to_le_bytes().into(), vec![-2_i16].into()),
        ("i4", (-2_i32).to_le_bytes().into(), vec![-2_i32].into()),
        ("i8", (-2_i64).to_le_bytes().into(), vec![-2_i64].into()),
        ("u1", vec![0xfe], vec![254_u8].into()),
        ("u2", 65534_u16.to_le_bytes().into(), vec![65534_u16].into()),
        ("u4", (u32::MAX - 1).to_le_bytes().into(), vec![u32::MAX - 1].into()),
        ("u8", (u64::MAX - 1).to_le_bytes().into(), vec![u64::MAX - 1].into()),
        ("f2", vec![0x00, 0x3e], vec![half::f16::from_f32(1.5)].into()),
        ("f4", 1.5_f32.to_le_bytes().into(), vec![1.5_f32].into()),
        ("f8", 1.5_f64.to_le_bytes().into(), vec![1.5_f64].into()),
        ("c8", [1.5_f32.to_le_bytes(), (-2_f32).to_le_bytes()].concat(), c64(1.5, -2.0)),
        ("c16", [1.5_f64.to_le_bytes(), (-2_f64).to_le_bytes()].concat(), c128(1.5, -2.0)),
    ];
    for (name, little, values) in cases {
        let part = if name.starts_with('c') { little.len() / 2 } else { little.len() };
        let big: Vec<u8> = little.chunks(part).flat_map(|c| c.iter().rev().copied()).collect();
        let expected = DenseArray::vector(values);
        assert_eq!(simple(&format!("<{name}"), "(1,)", &little).unwrap(), expected, "<{name}");
        assert_eq!(simple(&format!(">{name}"), "(1,)", &big).unwrap(), expected, ">{name}");
        if little.len() == 1 {
            assert_eq!(simple(&format!("|{name}"), "(1,)", &little).unwrap(), expected, "|{name}");
        }
    }
}

#[test]
fn versions_orders_and_ranks_are_read() {
    let expected = |shape: &[usize], values: &[u8]| DenseArray {
        shape: shape.to_vec(),
        values: values.to_vec().into(),
    };
    for version in [1, 2, 3] {
        let bytes = file(version, &header("|u1", "False", "(2, 3)"), &[1, 2, 3, 4, 5, 6]);
        let array = parse(&bytes, Path::new("a.npy")).unwrap();
        assert_eq!(array, expected(&[2, 3], &[1, 2, 3, 4, 5, 6]));
    }
    let bytes = file(1, &header("|u1", "True", "(2, 3)"), &[1, 4, 2, 5, 3, 6]);
    assert_eq!(parse(&bytes, Path::new("a.npy")).unwrap(), expected(&[2, 3], &[1, 2, 3, 4, 5, 6]));
    assert_eq!(simple("|u1", "()", &[7]).unwrap(), expected(&[], &[7]));
    assert_eq!(simple("|u1", "(0, 5)", &[]).unwrap(), expected(&[0, 5], &[]));
    let wide = "(4294967296, 4294967296, 0)";
    for order in ["False", "True"] {
        let bytes = file(1, &header("|u1", order, wide), &[]);
        let array = parse(&bytes, Path::new("a.npy")).unwrap();
        assert_eq!(array, expected(&[1 << 32, 1 << 32, 0], &[]), "{order}");
    }
    assert_eq!(simple("|u1", "(1L, 2L)", &[7, 8]).unwrap(), expected(&[1, 2], &[7, 8]));
    let keys = "{\"shape\":(2,),'fortran_order':False,\"descr\":'|u1'}";
    assert_eq!(
        parse(&file(1, keys, &[7, 8]), Path::new("a.npy")).unwrap(),
        expected(&[2], &[7, 8])
    );
}

#[test]
fn empty_arrays_are_written_as_far_as_numpy_reads_them() {
    // NumPy limits the product of the other extents and the bytes of an element.
    for (shape, values, written) in [
        (vec![0], Values::from(Vec::<f64>::new()), true),
        (vec![5, 0, 3], Vec::<f64>::new().into(), true),
        (vec![0, 1 << 31, 1 << 28], Vec::<f64>::new().into(), true),
        (vec![0, 1 << 30, 1 << 30], Vec::<f64>::new().into(), false),
        (vec![0, 1 << 30, 1 << 30], Vec::<u8>::new().into(), true),
        (vec![1 << 32, 0, 1 << 32], Vec::<u8>::new().into(), false),
    ] {
        let array = DenseArray { shape, values };
        let mut bytes = Vec::new();
        match write_to(&mut bytes, &array) {
            Ok(()) => assert_eq!(parse(&bytes, Path::new("a.npy")).unwrap(), array),
            Err(error) => assert!(error.to_string().contains("NumPy has no arrays"), "{error}"),
        }
        assert_eq!(!bytes.is_empty(), written, "{:?}", array.shape);
    }
}

#[test]
fn hostile_and_malformed_files_are_refused() {
    let full = |header: &str, data: &[u8]| file(1, header, data);
    for (bytes, reason) in [
        (vec![], "ends within the header"),
        (b"\x93NUMPY\x01".to_vec(), "ends within the header"),
        (b"PK\x03\x04abcdefgh".to_vec(), "does not start with"),
        (file(9, "{}", &[]), "version 9.0"),
        (
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}".to_vec(),
            "a header of 4294967295 bytes where 2 follow",
        ),
        (full("", &[]), "ends where `{` was expected"),
        (full("[1]", &[]), "`{` was expected before `[1]`"),
        (full("{'descr': '<f8'}", &[]), "no key `fortran_order`"),
        (full("{'fortran_order': False, 'shape': ()}", &[0; 8]), "no key `descr`"),
        (full("{'descr': '<f8', 'fortran_order': False}", &[0; 8]), "no key `shape`"),
        (full("{'descr': '<f8", &[]), "a string without end"),
        (full("{'descr': '<f8', 'x': 1}", &[]), "unknown key `x`"),
        (full(&header("<f8", "0", "()"), &[0; 8]), "`True` or `False` was expected"),
        (full(&header("<f8", "False", "3"), &[0; 8]), "`(` was expected"),
        (full(&header("<f8", "False", "(-3,)"), &[0; 8]), "a size was expected before `-3"),
        (full(&header("<f8", "False", "(3 4)"), &[0; 8]), "`)` was expected"),
        (
            full(&format!("{}x", header("<f8", "False", "()")), &[0; 8]),
            "after the header's closing brace",
        ),
        (full(&header("<f8", "False", "(99999999999999999999,)"), &[]), "does not fit 64 bits"),
        (full(&header("<f8", "False", "(9223372036854775807, 3)"), &[]), "cannot be addressed"),
        (full(&header("<f8", "False", "(2305843009213693952,)"), &[]), "cannot be addressed"),
        (
            full(&header("<f8", "False", "(1000000000000,)"), &[0; 8]),
            "takes 8000000000000 bytes, 8 follow",
        ),
        (full(&header("<f8", "False", "(2,)"), &[0; 15]), "takes 16 bytes, 15 follow"),
        (full(&header("<f8", "False", "(2,)"), &[0; 17]), "takes 16 bytes, 17 follow"),
        (full(&header("|b1", "False", "(3,)"), &[0, 1, 2]), "value 2 is the byte 2"),
        (full(&header("<U3", "False", "()"), &[0xff; 12]), "no Unicode"),
        (full(&header("|S3", "False", "()"), b"csr"), "text, not numbers"),
        (full(&header("|S3", "False", "(2,)"), b"csrcsc"), "array of texts"),
        (full(&header("<f16", "False", "()"), &[0; 16]), "dtype `<f16` is not supported"),
        (full(&header("|O", "False", "()"), &[0; 8]), "dtype `|O` is not supported"),
        (full(&header("<M8[ns]", "False", "()"), &[0; 8]), "is not supported"),
        (
            full("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': ()}", &[0; 8]),
            "records",
        ),
    ] {
        refused(&bytes, reason);
    }
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let array = DenseArray { shape: vec![2, 2], values: vec![1.0, f64::NAN, 0.5, -0.0].into() };
    let mut bytes = Vec::new();
    write_to(&mut bytes, &array).unwrap();
    assert_eq!(bytes.len() % 64, 32, "the values start at a multiple of 64 bytes");
    for end in 0..bytes.len() {
        assert!(parse(&bytes[..end], Path::new("a.npy")).is_err(), "{end}");
    }
}

#[test]
fn files_are_written_and_read_back() {
    let folder = temporary();
    let path = folder.path().join("a.npy");
    let array = DenseArray { shape: vec![3, 1], values: vec![1_u16, 2, 3].into() };
    write(&path, &array).unwrap();
    assert_eq!(read(&path).unwrap(), array);
    let deep = DenseArray { shape: vec![1; 30_000], values: vec![1_u8].into() };
    write(&path, &deep).unwrap();
    assert_eq!(read(&path).unwrap(), deep, "a header that needs version 2");
    assert!(matches!(read(&folder.path().join("b.npy")), Err(FileError::Io { .. })));
    assert!(matches!(read(folder.path()), Err(FileError::Unsupported { .. })));
}

#[test]
fn what_numpy_cannot_hold_is_refused_with_advice() {
    let folder = temporary();
    let path = folder.path().join("a.npy");
    let array = DenseArray::vector(vec![half::bf16::ONE]);
    assert!(write(&path, &array).unwrap_err().to_string().contains("cast to f32"));
    let array = DenseArray { shape: vec![3], values: vec![1_u8].into() };
    assert!(write(&path, &array).unwrap_err().to_string().contains("does not have 1 values"));
    assert!(!path.exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_written_reads_back_the_same(
        shape in prop::collection::vec(0..5_usize, 0..4),
        dtype in prop::sample::select(ust_level_api::Dtype::ALL.to_vec()),
        seed in any::<u8>(),
    ) {
        prop_assume!(dtype != Dtype::Bf16);
        let count = shape.iter().product::<usize>();
        let values: Vec<u8> = (0..count).map(|k| (seed as usize + k) as u8 % 2).collect();
        let values = Values::from(values).cast(dtype).unwrap();
        let array = DenseArray { shape, values };
        let mut bytes = Vec::new();
        write_to(&mut bytes, &array).unwrap();
        prop_assert_eq!(parse(&bytes, Path::new("a.npy")).unwrap(), array);
    }

    #[test]
    fn no_header_makes_the_reader_panic(
        text in "[{}()\\[\\],:' descrfotanuhpFalseT<>0-9L]{0,80}",
        data in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let _ = parse(&file(1, &text, &data), Path::new("a.npy"));
        if let Ok(array) = simple("<f4", &text, &data) {
            prop_assert!(array.values.get(0).is_none_or(|v| matches!(v, Scalar::F32(_))));
        }
    }
}
