//! Archives and SciPy's layout as specification.

use std::io::Write as _;
use std::path::Path;

use proptest::prelude::*;
use ust_engine::Values;
use zip::write::SimpleFileOptions;

use super::super::tests::temporary;
use super::*;

fn bytes(members: &Members) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_members_to(&mut bytes, members).unwrap();
    bytes
}

fn back(bytes: &[u8]) -> Result<Archive, FileError> {
    parse(bytes, Path::new("a.npz"), &ReadOptions::default())
}

fn members<const N: usize>(list: [(&str, Member); N]) -> Members {
    let mut members = Members::new();
    for (name, member) in list {
        members.insert(name, member);
    }
    members
}

fn ints(values: &[i32]) -> Member {
    Values::from(values.to_vec()).into()
}

fn floats(values: &[f64]) -> Member {
    Values::from(values.to_vec()).into()
}

/// Asserts that the members are refused for this reason.
#[track_caller]
fn refused(members: &Members, reason: &str) {
    let error = back(&bytes(members)).unwrap_err().to_string();
    assert!(error.starts_with("a.npz") && error.contains(reason), "{error}");
}

fn csr() -> Compressed {
    Compressed {
        shape: [2, 3],
        indptr: vec![0_i32, 2, 3].into(),
        indices: vec![2_i32, 0, 1].into(),
        data: vec![1.0, 2.0, 3.0].into(),
    }
}

fn examples() -> Vec<Archive> {
    let dense = |shape: &[usize], values: &[f64]| DenseArray {
        shape: shape.to_vec(),
        values: values.to_vec().into(),
    };
    vec![
        Archive::Csr(csr()),
        Archive::Csc(csr()),
        Archive::Coo(
            Coo::new(vec![4, 5], vec![vec![3, 0, 3], vec![4, 0, 4]], vec![1_i8, 2, 3]).unwrap(),
        ),
        Archive::Coo(Coo::new(vec![9], vec![vec![8, 1]], vec![true, true]).unwrap()),
        Archive::Coo(
            Coo::new(vec![2, 2, 2], vec![vec![1], vec![0], vec![1]], vec![2.5_f32]).unwrap(),
        ),
        Archive::Bsr(Blocks {
            shape: [4, 6],
            indptr: vec![0_i32, 0, 1].into(),
            indices: vec![1_i32].into(),
            data: dense(&[1, 2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        }),
        Archive::Dia(Diagonals {
            shape: [3, 3],
            offsets: vec![1_i32, -2].into(),
            data: dense(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 0.0, 0.0]),
        }),
        Archive::Plain(members([("x", floats(&[1.0])), ("t", "text".into()), ("0", ints(&[]))])),
    ]
}

#[test]
fn every_layout_is_written_and_read_back() {
    let folder = temporary();
    let path = folder.path().join("a.npz");
    for archive in examples() {
        write(&path, archive.clone()).unwrap();
        assert_eq!(read(&path, &ReadOptions::default()).unwrap(), archive);
    }
}

#[test]
fn the_same_members_make_the_same_bytes() {
    let list = members([("x", floats(&[1.0, 2.0]))]);
    assert_eq!(bytes(&list), bytes(&list));
}

#[test]
fn the_format_may_be_bytes_as_scipy_writes_it() {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let mut add = |name: &str, content: &[u8]| {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    };
    let header = "{'descr': '|S3', 'fortran_order': False, 'shape': (), }";
    let mut format = b"\x93NUMPY\x01\x00".to_vec();
    format.extend((header.len() as u16).to_le_bytes());
    format.extend(header.as_bytes());
    format.extend(b"csr");
    add("format.npy", &format);
    for (name, array) in [
        ("shape", Values::from(vec![2_i64, 3])),
        ("indptr", vec![0_i32, 2, 3].into()),
        ("indices", vec![2_i32, 0, 1].into()),
        ("data", vec![1.0, 2.0, 3.0].into()),
    ] {
        let mut content = Vec::new();
        super::super::npy::write_to(&mut content, &DenseArray::vector(array)).unwrap();
        add(&format!("{name}.npy"), &content);
    }
    let bytes = zip.finish().unwrap().into_inner();
    assert_eq!(back(&bytes).unwrap(), Archive::Csr(csr()));
}

#[test]
fn indices_are_written_in_the_integers_that_scipy_uses() {
    let folder = temporary();
    let path = folder.path().join("a.npz");
    let wide = i64::from(i32::MAX) + 1;
    for (indices, expected) in [
        (IndexArray::from(vec![2_u8, 0, 1]), IndexArray::from(vec![2_i32, 0, 1])),
        (vec![2_i64, 0, 1].into(), vec![2_i32, 0, 1].into()),
        (vec![2_i64, 0, wide].into(), vec![2_i64, 0, wide].into()),
    ] {
        write(&path, Archive::Csr(Compressed { indices, ..csr() })).unwrap();
        let Archive::Csr(found) = read(&path, &ReadOptions::default()).unwrap() else { panic!() };
        assert_eq!(found.indices, expected);
    }
}

/// The members that SciPy writes for a `csr_array` of rank 1.
fn vector(size: i32, indptr: &[i32], indices: &[i32], data: &[f64]) -> Members {
    members([
        ("indices", ints(indices)),
        ("indptr", ints(indptr)),
        ("format", "csr".into()),
        ("shape", ints(&[size])),
        ("data", floats(data)),
    ])
}

#[test]
fn a_csr_of_rank_1_is_a_vector() {
    let folder = temporary();
    let path = folder.path().join("v.npz");
    for (size, indices, data) in [
        (4, vec![1, 3], vec![1.5, 2.0]),
        // Unsorted and with a duplicate, as SciPy allows.
        (4, vec![3, 1, 3], vec![2.0, 1.5, 1.0]),
        (4, vec![], vec![]),
        (0, vec![], vec![]),
    ] {
        let list = vector(size, &[0, indices.len() as i32], &indices, &data);
        write_members(&path, &list).unwrap();
        let Archive::Coo(listed) = read(&path, &ReadOptions::default()).unwrap() else { panic!() };
        assert_eq!(listed.shape, [size as usize]);
        let crd: Vec<i64> = indices.iter().map(|&at| at.into()).collect();
        assert_eq!((listed.crd, listed.values), (vec![crd], Values::from(data)));
    }
    refused(&vector(4, &[0, 1], &[4], &[1.0]), "member `indices`: [0] = 4 lies outside 0..4");
    refused(&vector(4, &[0, 1, 1], &[0], &[1.0]), "member `indptr`: 3 positions");
    refused(&vector(4, &[0, 2], &[0], &[1.0]), "member `indices`: 1 elements");
}

#[test]
fn members_that_make_no_matrix_are_refused() {
    let shape = || ints(&[2, 3]);
    for (list, reason) in [
        (members([("format", "lil".into())]), "sparse format `lil` is not supported"),
        (members([("format", ints(&[1]))]), "member `format`: a text was expected"),
        (members([("format", "csr".into())]), "member `shape`: the archive lacks"),
        (
            members([("format", "csr".into()), ("shape", ints(&[2, 3, 4]))]),
            "two sizes were expected, not 3",
        ),
        (members([("format", "csr".into()), ("shape", ints(&[2, -3]))]), "a size is negative"),
        (
            members([("format", "csr".into()), ("shape", floats(&[2.0, 3.0]))]),
            "integers were expected, not f64",
        ),
        (
            members([("format", "csr".into()), ("shape", "2x3".into())]),
            "numbers were expected, not text",
        ),
        (
            members([("format", "csr".into()), ("shape", shape())]),
            "member `indptr`: the archive lacks",
        ),
        (
            members([
                ("format", "dia".into()),
                ("shape", shape()),
                ("offsets", ints(&[0])),
                ("data", floats(&[1.0])),
            ]),
            "rank 2 was expected, not 1",
        ),
        (
            members([
                ("format", "coo".into()),
                ("shape", shape()),
                ("data", floats(&[1.0])),
                ("row", ints(&[0])),
                ("col", ints(&[3])),
            ]),
            "lies outside 0..3",
        ),
        (
            members([
                ("format", "coo".into()),
                ("shape", shape()),
                ("data", floats(&[1.0])),
                ("row", ints(&[-1])),
                ("col", ints(&[0])),
            ]),
            "lies outside 0..2",
        ),
        (
            members([
                ("format", "coo".into()),
                ("shape", shape()),
                ("data", floats(&[1.0])),
                ("row", ints(&[0, 0])),
                ("col", ints(&[0])),
            ]),
            "columns of lengths [2, 1]",
        ),
    ] {
        refused(&list, reason);
    }
}

#[test]
fn damaged_archives_are_refused() {
    let good = bytes(&members([("x", floats(&[1.0; 40])), ("y", ints(&[1, 2, 3]))]));
    for end in 0..good.len() {
        assert!(back(&good[..end]).is_err(), "cut at {end}");
    }
    let error = back(b"no archive at all").unwrap_err().to_string();
    assert!(error.contains("no readable zip archive"), "{error}");
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("readme.txt", SimpleFileOptions::default()).unwrap();
    let error = back(&zip.finish().unwrap().into_inner()).unwrap_err().to_string();
    assert!(error.contains("member `readme.txt` is no array"), "{error}");
}

#[test]
fn decompression_bombs_stop_at_the_limit() {
    let zeros = bytes(&members([("x", floats(&[0.0; 100_000]))]));
    assert!(zeros.len() < 8_000, "well compressed");
    assert!(back(&zeros).is_ok());
    let options = ReadOptions::default().with_max_bytes(700_000);
    let error = parse(&zeros, Path::new("a.npz"), &options).unwrap_err().to_string();
    assert!(error.contains("unpacks to more than 700000"), "{error}");
}

#[test]
fn bf16_is_refused_with_the_member_and_advice() {
    let folder = temporary();
    let list = members([("x", Values::from(vec![half::bf16::ONE]).into())]);
    let error = write_members(&folder.path().join("a.npz"), &list).unwrap_err().to_string();
    assert!(error.contains("member `x`") && error.contains("cast to f32"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_flipped_byte_makes_the_reader_panic_or_changes_a_number(
        at in any::<prop::sample::Index>(), flip in 1..=255_u8,
    ) {
        let list = members([("x", floats(&[1.5, -2.0])), ("y", ints(&[1, 2, 3]))]);
        let mut damaged = bytes(&list);
        let at = at.index(damaged.len());
        damaged[at] ^= flip;
        if let Ok(Archive::Plain(found)) = back(&damaged) {
            for (_, member) in found.iter() {
                prop_assert!(list.iter().any(|(_, original)| original == member));
            }
        }
    }
}
