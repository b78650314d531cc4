//! Files of our own: everything is kept, and nothing is trusted.

use ust::io::npz::{self, Member, Members};
use ust::io::{self, DenseArray, FileError, ReadOptions};
use ust::level_api::scalar::{Complex, bf16};
use ust::tensor::{BuildOptions, Parts};
use ust::{Composed, Coo, Dtype, Scalar, Tensor, Values};

use crate::common::*;

#[test]
fn own_files_keep_everything() {
    let folder = folder();
    let path = folder.path().join("a.ust.npz");
    let keeps = |a: &Tensor| {
        io::write(&path, a).unwrap_or_else(|e| panic!("{e}"));
        let b = io::read(&path, &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(&b, a);
        assert_eq!(b.format().to_string(), a.format().to_string());
        for (x, y) in b.levels().iter().zip(a.levels()) {
            assert_eq!(x.0, y.0, "the same arrays in the same widths");
        }
    };
    for &dtype in Dtype::ALL {
        for text in ["CSR", "Dense", "BSR(2, 2)", "COO"] {
            keeps(&tensor(&[5, 4], dtype, text));
        }
    }
    for text in MATRIX_FORMATS {
        keeps(&tensor(&[6, 5], Dtype::F32, text));
    }
    for widths in ["posWidth = 8, crdWidth = 8", "posWidth = 16, crdWidth = 32", "crdWidth = 64"] {
        keeps(&tensor(
            &[6, 5],
            Dtype::F64,
            &format!("(i, j) -> (i : dense, j : compressed), {widths}"),
        ));
    }
    let pruned =
        Coo::new(vec![2, 8], vec![vec![0, 0, 1, 1], vec![1, 6, 0, 3]], vec![1.0, 2.0, 3.0, 4.0]);
    let packed = "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2, 4)), crdWidth = 2";
    keeps(&Tensor::from_coo(&pruned.unwrap(), format(packed)).unwrap());
    let twice = Coo::new(vec![2, 2], vec![vec![1, 1], vec![0, 0]], vec![1.0, 2.0]).unwrap();
    let uncoalesced = format("(i, j) -> (i : dense, j : compressed(nonunique))");
    keeps(&Tensor::from_coo(&twice, &uncoalesced).unwrap());
    let filled = BuildOptions { fill: Some(Scalar::F64(-1.5)), ..Default::default() };
    keeps(&Tensor::from_coo_with(&twice, format("CSR"), &filled).unwrap());
    let special = vec![f64::NAN, f64::INFINITY, -0.0];
    let special = Coo::new(vec![3], vec![vec![0, 1, 2]], special).unwrap();
    keeps(&Tensor::from_coo(&special, format("SparseVector")).unwrap());
    keeps(&Tensor::zeros(&[0, 7, 0], format("CSF"), Dtype::Bf16).unwrap());
    keeps(&Tensor::from_scalar(Scalar::Complex64(Complex::new(1.0, -2.0))).unwrap());
}

pub(crate) fn own() -> Members {
    let folder = folder();
    let path = folder.path().join("a.ust.npz");
    io::write(&path, &tensor(&[4, 6], Dtype::F64, "CSR")).unwrap();
    npz::read_members(&path, &ReadOptions::default()).unwrap()
}

pub(crate) fn read_own(members: &Members) -> Result<Tensor, FileError> {
    let folder = folder();
    let path = folder.path().join("a.ust.npz");
    npz::write_members(&path, members).unwrap();
    io::read(&path, &ReadOptions::default())
}

#[test]
fn own_files_are_readable_from_numpy_by_their_members() {
    let names: Vec<String> = own().into_vec().into_iter().map(|(name, _)| name).collect();
    let expected =
        ["version", "format", "shape", "dtype", "fill", "values", "level1.pos", "level1.crd"];
    assert_eq!(names, expected);
    assert_eq!(own().get("format"), Some(&"(i, j) -> (i : dense, j : compressed)".into()));
}

#[test]
fn own_files_that_are_changed_are_refused() {
    for (name, _) in own().into_vec() {
        let mut members = own();
        members.remove(&name);
        let error = read_own(&members).unwrap_err().to_string();
        assert!(error.contains(&format!("member `{name}`: the archive lacks")), "{error}");
    }
    let single = |value: i64| DenseArray { shape: vec![], values: vec![value].into() };
    for (name, member, reason) in [
        ("version", single(2).into(), "member `parts`"),
        ("version", single(3).into(), "newer program"),
        ("format", "(i, j) -> (i : dens, j : compressed)".into(), "dens"),
        ("format", single(0).into(), "a text was expected"),
        ("format", "(i, j) -> (i : dense, j : dense)".into(), "no place for this member"),
        (
            "format",
            "(i, j) -> (i : compressed, j : compressed)".into(),
            "`level0.pos`: the archive lacks",
        ),
        ("shape", Values::from(vec![4_i64, 2]).into(), "crd"),
        ("shape", Values::from(vec![4_i64]).into(), "dimensions"),
        ("shape", Values::from(vec![4_i64, -6]).into(), "sizes from 0"),
        ("shape", Values::from(vec![4.0, 6.0]).into(), "64-bit integers"),
        ("dtype", "f99".into(), "unknown dtype"),
        ("dtype", "f32".into(), "f64 values, where `dtype` says f32"),
        ("fill", Values::from(vec![0.0]).into(), "rank 0"),
        ("values", Values::from(vec![1.0]).into(), "1 values"),
        ("level1.pos", Values::from(vec![0_i32; 5]).into(), "expected 0 (the last of pos)"),
        ("level1.pos", Values::from(vec![0_i32, 1]).into(), "pos"),
        ("level1.crd", Values::from(vec![0.5]).into(), "integers were expected"),
        ("level1.crd", Values::from(vec![-1_i32]).into(), "crd"),
        ("level9.crd", Values::from(vec![0_i32]).into(), "no place for this member"),
        ("level1.crd.len", single(4).into(), "packed bytes were expected"),
    ] {
        let mut members = own();
        let member: Member = member;
        members.insert(name, member);
        let error = read_own(&members).unwrap_err().to_string();
        assert!(error.contains(reason), "{name}: {error}");
    }
}

/// Entries that all have one value.
fn iso(value: Scalar, text: &str) -> Tensor {
    let crd = vec![vec![0, 0, 2, 4], vec![1, 3, 0, 2]];
    Tensor::from_coo(&Coo::iso(vec![5, 4], crd, value).unwrap(), format(text)).unwrap()
}

#[test]
fn one_value_for_all_is_stored_once() {
    let folder = folder();
    let path = folder.path().join("a.ust.npz");
    for &dtype in Dtype::ALL {
        for text in ["CSR", "COO", "DCSC", "(i, j) -> (i : dense, j : loose_compressed)"] {
            let a = iso(dtype.one(), text);
            io::write(&path, &a).unwrap();
            let b = io::read(&path, &ReadOptions::default()).unwrap();
            assert_eq!((&b, b.iso_value()), (&a, Some(dtype.one())), "{text}");
            let members = npz::read_members(&path, &ReadOptions::default()).unwrap();
            let Some(Member::Array(values)) = members.get("values") else { panic!("values") };
            assert_eq!(values.shape, [1]);
        }
    }
    let composed = Composed::from_parts(vec![iso(Scalar::F64(2.0), "CSR"), {
        let coo = Coo::new(vec![5, 4], vec![vec![3], vec![3]], vec![5.0]).unwrap();
        Tensor::from_coo(&coo, format("COO")).unwrap()
    }]);
    io::write_composed(&path, &composed.unwrap()).unwrap();
    let composed = io::read_composed(&path, &ReadOptions::default()).unwrap();
    let values: Vec<_> = composed.parts().iter().map(Tensor::iso_value).collect();
    assert_eq!(values, [Some(Scalar::F64(2.0)), None]);
}

#[test]
fn one_value_is_for_as_many_as_are_stored() {
    let folder = folder();
    let path = folder.path().join("a.ust.npz");
    io::write(&path, &iso(Scalar::F64(2.0), "CSR")).unwrap();
    let members = npz::read_members(&path, &ReadOptions::default()).unwrap();
    let single = |values: Values| DenseArray { shape: vec![], values };
    for (name, member, reason) in [
        ("iso", Member::from(single(vec![3_u64].into())), "4 positions, and 3 values"),
        ("iso", single(vec![u64::MAX].into()).into(), "memory limit"),
        ("iso", single(vec![1_u64 << 50].into()).into(), "memory limit"),
        ("iso", single(vec![4_i64].into()).into(), "a 64-bit number"),
        ("iso", Values::from(vec![4_u64]).into(), "rank 0"),
        ("values", Values::from(vec![2.0; 4]).into(), "one value for all"),
        ("values", Values::from(Vec::<f64>::new()).into(), "one value for all"),
    ] {
        let mut members = members.clone();
        members.insert(name, member);
        let error = read_own(&members).unwrap_err().to_string();
        assert!(error.contains(reason), "{name}: {error}");
    }
}

/// In the files of others, each entry has its value.
#[test]
fn patterns_are_read_and_others_get_each_value() {
    let folder = folder();
    let text = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n1 1\n2 1\n3 2\n";
    let path = folder.path().join("p.mtx");
    std::fs::write(&path, text).unwrap();
    let a = io::read(&path, &ReadOptions::default()).unwrap();
    assert_eq!((a.nse(), a.iso_value(), a.dtype()), (5, Some(Scalar::F64(1.0)), Dtype::F64));
    assert_eq!(a.get(&[0, 1]).unwrap(), Scalar::F64(1.0));
    for name in ["b.mtx", "b.tns", "b.npz"] {
        let path = folder.path().join(name);
        let csr = a.convert(format("CSR")).unwrap();
        io::write(&path, &csr).unwrap();
        let b = io::read(&path, &ReadOptions::default()).unwrap();
        assert!(b.convert(format("CSR")).unwrap() == csr && !b.is_iso(), "{name}");
        assert_eq!(csr.kept_bytes(), 0, "{name}");
    }
}

#[test]
fn own_files_under_the_shorter_ending_say_so() {
    let folder = folder();
    let path = folder.path().join("a.npz");
    npz::write_members(&path, &own()).unwrap();
    let error = io::read(&path, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("give the file that ending"), "{error}");
}

#[test]
fn bf16_is_stored_as_its_bits() {
    let folder = folder();
    let path = folder.path().join("a.ust.npz");
    let parts = Parts::new(vec![vec![]], vec![bf16::ONE, bf16::from_f32(-2.5)]);
    let a = Tensor::from_parts(format("DenseVector"), &[2], parts).unwrap();
    io::write(&path, &a).unwrap();
    let members = npz::read_members(&path, &ReadOptions::default()).unwrap();
    assert_eq!(members.get("values"), Some(&Values::from(vec![0x3f80_u16, 0xc020]).into()));
    assert_eq!(io::read(&path, &ReadOptions::default()).unwrap(), a);
}

#[test]
fn parts_of_composed_tensors_stay_apart() {
    let folder = folder();
    let path = folder.path().join("a.ust.npz");
    let given = tensor(&[9, 7], Dtype::F64, "CSR");
    for text in [
        "DIA where fill(j - i) >= 0.3 + CSR",
        "ELL where #i < 1 + BSR(2, 2) where count(i) > 1 + COO",
    ] {
        let composed = Composed::split(&given, &text.parse().unwrap()).unwrap();
        io::write_composed(&path, &composed).unwrap();
        let again = io::read_composed(&path, &ReadOptions::default()).unwrap();
        assert_eq!(again, composed);
        // As one tensor, in the format of the last part.
        let one = io::read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(one, composed.convert(composed.own_format().unwrap()).unwrap());
        let as_csr = ReadOptions::default().with_format(format("CSR"));
        assert_eq!(
            io::read_composed(&path, &as_csr).unwrap().parts(),
            std::slice::from_ref(&given)
        );
        let names: Vec<String> = npz::read_members(&path, &ReadOptions::default())
            .unwrap()
            .iter()
            .map(|(name, _)| name.to_owned())
            .collect();
        assert!(names.contains(&"part0.format".to_owned()), "{names:?}");
        assert!(names.contains(&"part1.values".to_owned()), "{names:?}");
        let wrong = ReadOptions::default().with_shape(vec![7, 9]);
        assert!(matches!(io::read_composed(&path, &wrong), Err(FileError::Tensor { .. })));
        // Other kinds of files take one format.
        let text = folder.path().join("a.mtx");
        io::write_composed(&text, &composed).unwrap();
        let read = io::read(&text, &ReadOptions::default().with_format(format("CSR"))).unwrap();
        assert_eq!(read.to_coo().unwrap(), given.to_coo().unwrap());
        // A file of one part is one of a tensor.
        io::write_composed(&path, &given.clone().into()).unwrap();
        assert_eq!(io::read(&path, &ReadOptions::default()).unwrap(), given);
    }
}

#[test]
fn parts_that_share_elements_or_lack_members_are_refused() {
    let folder = folder();
    let path = folder.path().join("a.ust.npz");
    let given = tensor(&[9, 7], Dtype::F64, "CSR");
    let composed =
        Composed::split(&given, &"DIA where fill(j - i) >= 0.3 + CSR".parse().unwrap()).unwrap();
    io::write_composed(&path, &composed).unwrap();
    let members = npz::read_members(&path, &ReadOptions::default()).unwrap();
    let refused = |change: &dyn Fn(&mut Members)| {
        let mut changed = members.clone();
        change(&mut changed);
        npz::write_members(&path, &changed).unwrap();
        io::read_composed(&path, &ReadOptions::default()).unwrap_err().to_string()
    };
    let copied = refused(&|members| {
        let first: Vec<(String, Member)> = members
            .iter()
            .filter(|(name, _)| name.starts_with("part0."))
            .map(|(name, member)| (name.replace("part0.", "part1."), member.clone()))
            .collect();
        let old: Vec<String> = members.iter().map(|(name, _)| name.to_owned()).collect();
        old.iter().filter(|name| name.starts_with("part1.")).for_each(|name| {
            members.remove(name);
        });
        first.into_iter().for_each(|(name, member)| members.insert(name, member));
    });
    assert!(copied.contains("parts 0 and 1 both store the element at"), "{copied}");
    let lacks = refused(&|members| drop(members.remove("part1.values")));
    assert!(lacks.contains("part1.values"), "{lacks}");
    let many = refused(&|members| {
        members.insert(
            "parts",
            Member::Array(DenseArray { shape: vec![], values: vec![1_u64 << 40].into() }),
        );
    });
    assert!(many.contains("parts"), "{many}");
    let more = refused(&|members| members.insert("part2.format", "CSR"));
    assert!(more.contains("no place for this member"), "{more}");
}
