//! Tensors, formats and numbers, written and read by serde: as JSON, and as bytes by postcard.

use ust::format::named::named;
use ust::ndarray::s;
use ust::tensor::BuildOptions;
use ust::{Complex, Composed, Coo, Dtype, Format, IndexArray, IndexKind, Scalar, Tensor, Values};
use ust::{bf16, f16};

use crate::common::Random;

const MORE: [&str; 5] = [
    "CSR, posWidth = 64, crdWidth = 16",
    "(i : sorted, j) -> (i : dense, j : compressed)",
    "(i, j : sorted(3)) -> (j : compressed, i : compressed), crdWidth = 8",
    "(i, j) -> (i : dense, j : compressed(nonunique, nonordered))",
    "(i, j) -> (i : dense, j : delta(4))",
];

fn by_text<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

fn by_bytes<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    postcard::from_bytes(&postcard::to_stdvec(value).unwrap()).unwrap()
}

/// Both are equal, and stored alike.
#[track_caller]
fn expect_whole(again: &Tensor, a: &Tensor) {
    let format = a.format();
    assert_eq!(again, a, "{format}");
    assert_eq!(again.is_iso(), a.is_iso(), "{format}");
    let arrays = |tensor: &Tensor| -> Vec<IndexArray> {
        let levels = tensor.levels().iter().flat_map(|level| level.0.clone());
        levels.chain((0..tensor.rank()).filter_map(|dim| tensor.order(dim).cloned())).collect()
    };
    assert_eq!(arrays(again), arrays(a), "{format}");
}

/// A tensor with entries on its diagonal, which every format can store.
fn diagonal(random: &mut Random, format: &Format, dtype: Dtype) -> Tensor {
    let extent = 8;
    let kept: Vec<i64> = (0..extent).filter(|_| random.below(4) > 0).collect();
    let values: Vec<f64> = kept.iter().map(|_| 100.0 * random.number()).collect();
    let values = Values::from(values).cast_lossy(dtype);
    let shape = vec![extent as usize; format.rank()];
    let count = if shape.is_empty() { 1 } else { kept.len() };
    let values = if shape.is_empty() { Values::from(vec![1.5]).cast_lossy(dtype) } else { values };
    assert_eq!(values.len(), count);
    let coo = Coo::new(shape, vec![kept; format.rank()], values).unwrap();
    Tensor::from_coo(&coo, format).unwrap()
}

#[test]
fn tensors_in_every_format_and_of_every_dtype_come_back_whole() {
    let mut random = Random::fresh();
    let formats = named().map(|one| one.example).chain(MORE);
    for (at, text) in formats.enumerate() {
        let format: Format = text.parse().unwrap();
        // Each dtype with some formats, and f64 with all.
        for dtype in [Dtype::F64, Dtype::ALL[at % Dtype::ALL.len()]] {
            let a = diagonal(&mut random, &format, dtype);
            expect_whole(&by_text(&a), &a);
            expect_whole(&by_bytes(&a), &a);
        }
        assert_eq!((by_text(&format), by_bytes(&format)), (format.clone(), format), "{text}");
    }
}

#[test]
fn numbers_of_all_kinds_come_back_to_the_last_bit() {
    let mut random = Random::fresh();
    let mut doubles: Vec<f64> = (0..200).map(|_| f64::from_bits(random.bits())).collect();
    doubles.extend([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 5e-324, f64::MAX]);
    let singles: Vec<f32> = (0..200).map(|_| f32::from_bits(random.bits() as u32)).collect();
    let halves: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    let brains: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
    let pairs: Vec<Complex<f64>> =
        doubles.windows(2).map(|two| Complex::new(two[0], two[1])).collect();
    let wide = vec![0, 1, u64::MAX, i64::MAX as u64 + 1];
    let all: [Values; 8] = [
        doubles.into(),
        singles.into(),
        halves.into(),
        brains.into(),
        pairs.into(),
        wide.into(),
        vec![i64::MIN, -1, i64::MAX].into(),
        vec![true, false].into(),
    ];
    // What is no number has many bit patterns, of which texts keep one.
    let bits = |scalar: Scalar| match scalar {
        Scalar::Complex128(pair) => vec![Scalar::F64(pair.re), Scalar::F64(pair.im)],
        other => vec![other],
    };
    let canonical = |scalar: Scalar| match scalar {
        Scalar::F64(v) if v.is_nan() => Scalar::F64(f64::NAN),
        Scalar::F32(v) if v.is_nan() => Scalar::F32(f32::NAN),
        Scalar::F16(v) if v.is_nan() => Scalar::F16(f16::NAN),
        Scalar::Bf16(v) if v.is_nan() => Scalar::Bf16(bf16::NAN),
        other => other,
    };
    let shown = |values: &Values| -> Vec<String> {
        let each = values.iter().flat_map(bits).map(canonical);
        // The sign of zero is shown, and equality does not see it.
        each.map(|scalar| format!("{scalar:?}")).collect()
    };
    for values in &all {
        assert_eq!(shown(&by_text(values)), shown(values));
        let (mut own, mut again) = (values.clone(), by_bytes(values));
        assert_eq!(bytes(&mut again), bytes(&mut own));
        let one = values.get(0).unwrap();
        assert!(by_text(&one).same(&one) && by_bytes(&one).same(&one));
        assert_eq!(
            (by_text(&values.dtype()), by_bytes(&values.dtype())),
            (one.dtype(), one.dtype())
        );
    }
}

/// The bits of values.
fn bytes(values: &mut Values) -> Vec<u64> {
    match values {
        Values::F64(v) => v.iter().map(|v| v.to_bits()).collect(),
        Values::F32(v) => v.iter().map(|v| v.to_bits().into()).collect(),
        Values::F16(v) => v.iter().map(|v| v.to_bits().into()).collect(),
        Values::Bf16(v) => v.iter().map(|v| v.to_bits().into()).collect(),
        Values::Complex128(v) => v.iter().flat_map(|v| [v.re.to_bits(), v.im.to_bits()]).collect(),
        Values::U64(v) => v.to_vec(),
        Values::I64(v) => v.iter().map(|&v| v as u64).collect(),
        Values::Bool(v) => v.iter().map(|&v| v.into()).collect(),
        other => panic!("{:?}", other.dtype()),
    }
}

#[test]
fn indices_of_every_kind_come_back() {
    let kinds = [2, 8, 16, 32, 64].iter().flat_map(|&bits| [(bits, false), (bits, true)]);
    for kind in kinds.filter_map(|(bits, signed)| IndexKind::new(bits, signed)) {
        let (lo, hi) = kind.range();
        let array = IndexArray::store(kind, &[lo, hi, 0, 1, 1], "crd", "crdWidth").unwrap();
        assert_eq!((by_text(&array), by_bytes(&array)), (array.clone(), array), "{kind}");
    }
}

#[test]
fn what_a_tensor_has_besides_its_arrays_comes_back() {
    let mut random = Random::fresh();
    let a = random.matrix("CSR");
    let filled = BuildOptions { fill: Some(f64::INFINITY.into()), ..Default::default() };
    let filled = Tensor::from_coo_with(&a.to_coo().unwrap(), "CSC", &filled).unwrap();
    let iso = a.pattern().unwrap();
    assert!(iso.is_iso());
    for whole in [&filled, &iso] {
        expect_whole(&by_text(whole), whole);
        expect_whole(&by_bytes(whole), whole);
    }
    // A slice is a tensor of its own.
    let part = a.slice(s![..;2, ..;-1]);
    let part = part.unwrap_or_else(|_| a.slice(s![..;2, ..]).unwrap());
    let again: Tensor = by_bytes(&part);
    assert!(again.view().shows_all());
    assert_eq!(again.to_dense::<f64>().unwrap(), part.to_dense::<f64>().unwrap());
    // The sum of parts.
    let split =
        Composed::split(&a, &"DIA where fill(j - i) >= 0.3 + CSR".parse().unwrap()).unwrap();
    assert!(by_text(&split) == split && by_bytes(&split) == split);
}

/// A matrix in CSR as JSON.
const GOOD: &str = r#"{"format":"CSR","shape":[2,3],"fill":{"f64":0.0},
    "levels":[{},{"pos":{"u32":[0,1,3]},"crd":{"u32":[2,0,1]}}],"orders":[],
    "values":{"f64":[1.0,2.0,3.0]},"iso":null}"#;

#[test]
fn texts_that_people_write_are_read() {
    let a: Tensor = serde_json::from_str(GOOD).unwrap();
    assert_eq!(a.get_as::<f64>(&[1, 1]).unwrap(), 3.0);
    for (from, to) in [
        (r#""fill":{"f64":0.0},"#, ""),
        (r#""orders":[],"#, ""),
        (r#","iso":null"#, ""),
        ("[1.0,2.0,3.0]", "[1,2,3]"),
        (r#""fill":{"f64":0.0}"#, r#""fill":{"i8":0}"#),
    ] {
        assert!(GOOD.contains(from), "{from}");
        assert_eq!(serde_json::from_str::<Tensor>(&GOOD.replace(from, to)).unwrap(), a, "{to}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    for (from, to, said) in [
        ("\"CSR\"", "\"CRS\"", "CSR"),
        ("[2,3]", "[2,3,4]", "3"),
        ("[2,3]", "[2,2]", "crd[0] = 2"),
        ("[2,3]", "[2,-3]", "-3"),
        ("[2,3]", "[18446744073709551615,18446744073709551615]", ""),
        ("[0,1,3]", "[0,1,4]", "pos"),
        ("[0,1,3]", "[0,1]", "pos"),
        ("[0,1,3]", "[0,4000000000,3]", "pos"),
        ("[0,1,3]", "[0,5000000000,3]", "u32 cannot hold"),
        ("[0,1,3]", "[0,-1,3]", "u32 cannot hold"),
        ("[0,1,3]", "[0,1.5,3]", "u32 cannot hold"),
        ("[0,1,3]", "[0,\"1\",3]", "a number"),
        ("[0,1,3]", "[0,\"NaN\",3]", "u32 cannot hold"),
        ("[2,0,1]", "[2,1,0]", "crd"),
        ("[2,0,1]", "[2,0,0]", "crd"),
        ("[2,0,1]", "[2,0,[1,0]]", "a number"),
        ("\"crd\":{\"u32\"", "\"crd\":{\"f64\"", "f64"),
        ("\"crd\":", "\"col\":", "crd"),
        ("\"crd\":", "\"own\":{\"u8\":[]},\"crd\":", "own"),
        ("[{},", "[", "2 levels"),
        ("\"orders\":[]", "\"orders\":[{\"u8\":[0,1]}]", "orders"),
        ("[1.0,2.0,3.0]", "[1.0,2.0]", "2"),
        ("[1.0,2.0,3.0]", "[1.0,2.0,null]", "null"),
        ("[1.0,2.0,3.0]", "[1.0,2.0,\"nan\"]", "NaN"),
        ("{\"f64\":[1.0,2.0,3.0]}", "{\"complex128\":[1.0,2.0,[3.0]]}", "pair"),
        ("{\"f64\":[1.0,2.0,3.0]}", "{\"complex128\":[1.0,2.0,[3.0,1.0,2.0]]}", "pair"),
        ("{\"f64\":[1.0,2.0,3.0]}", "{\"f32\":[1.0,2.0,1e300]}", "f32 cannot hold"),
        ("{\"f64\":[1.0,2.0,3.0]}", "{\"bool\":[true,false,2]}", "bool cannot hold"),
        ("{\"f64\":[1.0,2.0,3.0]}", "{\"f80\":[1.0,2.0,3.0]}", "f80"),
        ("\"iso\":null", "\"iso\":3", "one stands for all"),
        ("[1.0,2.0,3.0]},\"iso\":null", "[1.0]},\"iso\":4611686018427387904", "too large"),
        ("[1.0,2.0,3.0]},\"iso\":null", "[1.0]},\"iso\":4", "4"),
        ("\"iso\":null", "\"also\":null", "also"),
        ("{\"f64\":0.0}", "{\"complex128\":[0.0,1.0]}", "f64"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replacen(from, to, 1);
        let error = serde_json::from_str::<Tensor>(&text).expect_err(to).to_string();
        assert!(error.contains(said), "{to}: {error}");
    }
    let packed = r#"{"u2":{"bytes":[255],"len":5}}"#;
    assert!(
        serde_json::from_str::<IndexArray>(packed)
            .unwrap_err()
            .to_string()
            .contains("four to a byte")
    );
    let overlapping = format!("[{GOOD},{GOOD}]");
    assert!(
        serde_json::from_str::<Composed>(&overlapping)
            .unwrap_err()
            .to_string()
            .contains("both store")
    );
}

#[test]
fn damaged_bytes_are_an_error_or_a_tensor_and_no_panic() {
    let mut random = Random::fresh();
    let mut read = 0;
    for text in ["CSR", "DIA", "BSR(2, 2)", "ELL", "(i : sorted, j) -> (i : dense, j : bits)"] {
        let a = diagonal(&mut random, &text.parse().unwrap(), Dtype::F32);
        let good = postcard::to_stdvec(&a).unwrap();
        for end in 0..good.len() {
            assert!(postcard::from_bytes::<Tensor>(&good[..end]).is_err(), "{text}: {end} bytes");
        }
        for _ in 0..300 {
            let mut bytes = good.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            if let Ok(tensor) = postcard::from_bytes::<Tensor>(&bytes) {
                read += 1;
                // What was accepted is walked without a check.
                assert!(tensor.nse() > 1 << 20 || tensor.to_coo().is_ok(), "{text}");
            }
        }
    }
    println!("{read} damaged tensors were tensors");
}
