//! Tensors as JSON, written as a stream: a large tensor never exists twice.

use std::io::{self, Write};

use serde_json::Value;
use ust::level_api::IndexArray;
use ust::level_api::scalar::Complex;
use ust::{Composed, Scalar, Tensor};

/// Writes everything that a tensor stores, as one object:
///
/// ```json
/// {"shape":[2,2],"dtype":"f64","format":"...","fill":0,"nse":3,
///  "levels":[
///   {"type":"dense","size":2,"pos":[],"crd":[]},
///   {"type":"compressed","size":2,"pos":[0,1,3],"crd":[1,0,1]}],
///  "values":[5,2.5,1]}
/// ```
///
/// Arrays of a level beyond `pos` and `crd` follow under their own names. `"orders":{"i":[2,0,1]}` stands before the
/// levels if the format sorts dimensions. Complex numbers are
/// `[re, im]`, what is not finite is one of `"NaN"`, `"inf"`, `"-inf"`.
pub(crate) fn tensor(out: &mut impl Write, tensor: &Tensor) -> io::Result<()> {
    let format = Value::from(tensor.format().to_string());
    let shape = Value::from(tensor.shape());
    write!(out, r#"{{"shape":{shape},"dtype":"{}","format":{format}"#, tensor.dtype())?;
    write!(out, r#","fill":"#)?;
    scalar(out, tensor.fill())?;
    write!(out, ",\"nse\":{},", tensor.nse())?;
    let sorted = tensor.format().dims().iter().enumerate();
    let sorted = sorted.filter_map(|(dim, spec)| Some((&spec.name, tensor.order(dim)?)));
    for (at, (name, order)) in sorted.enumerate() {
        let before = if at == 0 { "\n \"orders\":{" } else { "," };
        write!(out, "{before}{}:", Value::from(&**name))?;
        indices(out, order)?;
    }
    let behind = if tensor.format().has_sorted() { "}," } else { "" };
    write!(out, "{behind}\n \"levels\":[")?;
    for level in 0..tensor.levels().len() {
        out.write_all(if level == 0 { b"\n  " } else { b",\n  " })?;
        write_level(out, tensor, level)?;
    }
    write!(out, "],\n \"values\":")?;
    list(out, tensor.values().iter(), |out, value| scalar(out, value))?;
    write!(out, "}}")
}

/// Writes a composed tensor: `{"parts":[...]}`, with each part as [`tensor`] writes it. One part is written as a tensor.
pub(crate) fn composed(out: &mut impl Write, composed: &Composed) -> io::Result<()> {
    if let [one] = composed.parts() {
        return tensor(out, one);
    }
    out.write_all(b"{\"parts\":[\n")?;
    for (at, part) in composed.parts().iter().enumerate() {
        out.write_all(if at == 0 { b"" } else { b",\n" })?;
        tensor(out, part)?;
    }
    out.write_all(b"]}")
}

fn write_level(out: &mut impl Write, tensor: &Tensor, level: usize) -> io::Result<()> {
    let description = tensor.format().levels()[level].ty.describe();
    let size = tensor.bound().levels()[level].size;
    let ty = Value::from(description.text);
    write!(out, r#"{{"type":{ty},"size":{size}"#)?;
    for name in ["pos", "crd"] {
        write!(out, r#","{name}":"#)?;
        match tensor.level_array(level, name) {
            Some(array) => indices(out, array)?,
            None => write!(out, "[]")?,
        }
    }
    for (spec, array) in description.arrays.iter().zip(&tensor.levels()[level].0) {
        if !["pos", "crd"].contains(&spec.name) {
            write!(out, ",{}:", Value::from(spec.name))?;
            indices(out, array)?;
        }
    }
    write!(out, "}}")
}

fn indices(out: &mut impl Write, array: &IndexArray) -> io::Result<()> {
    let all = (0..array.len()).filter_map(|at| array.get(at));
    list(out, all, |out, index| write!(out, "{index}"))
}

fn list<W: Write, T>(
    out: &mut W,
    items: impl Iterator<Item = T>,
    write_one: impl Fn(&mut W, T) -> io::Result<()>,
) -> io::Result<()> {
    write!(out, "[")?;
    for (at, item) in items.enumerate() {
        if at > 0 {
            write!(out, ",")?;
        }
        write_one(out, item)?;
    }
    write!(out, "]")
}

/// Writes one value: to a reader that takes JSON numbers as f64, exactly the one that is stored.
pub(crate) fn scalar(out: &mut impl Write, value: Scalar) -> io::Result<()> {
    match value {
        Scalar::F64(v) => float(out, v),
        Scalar::F32(v) => float(out, v.into()),
        Scalar::F16(v) => float(out, v.into()),
        Scalar::Bf16(v) => float(out, v.into()),
        Scalar::Complex128(Complex { re, im }) => pair(out, re, im),
        Scalar::Complex64(Complex { re, im }) => pair(out, re.into(), im.into()),
        // Integers, true and false.
        plain => write!(out, "{plain}"),
    }
}

/// One value as a JSON value.
pub(crate) fn value(scalar_value: Scalar) -> Value {
    let mut text = Vec::new();
    let written = scalar(&mut text, scalar_value);
    written.ok().and_then(|()| serde_json::from_slice(&text).ok()).unwrap_or(Value::Null)
}

fn pair(out: &mut impl Write, re: f64, im: f64) -> io::Result<()> {
    write!(out, "[")?;
    float(out, re)?;
    write!(out, ",")?;
    float(out, im)?;
    write!(out, "]")
}

/// The shortest digits that give the same f64 again.
fn float(out: &mut impl Write, v: f64) -> io::Result<()> {
    match v {
        v if !v.is_finite() => write!(out, "\"{v}\""),
        v if v == 0.0 && v.is_sign_negative() => write!(out, "-0.0"),
        v if v == 0.0 || (1e-5..1e16).contains(&v.abs()) => write!(out, "{v}"),
        v => write!(out, "{v:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_so_that_they_can_be_read_back() {
        for (scalar, text) in [
            (Scalar::F64(1.0), "1"),
            (Scalar::F64(-0.0), "-0.0"),
            (Scalar::F64(0.1), "0.1"),
            (Scalar::F64(1e300), "1e300"),
            (Scalar::F64(5e-324), "5e-324"),
            (Scalar::F64(f64::NAN), "\"NaN\""),
            (Scalar::F64(f64::NEG_INFINITY), "\"-inf\""),
            (Scalar::F32(0.1), "0.10000000149011612"),
            (Scalar::F32(f32::INFINITY), "\"inf\""),
            (Scalar::U64(u64::MAX), "18446744073709551615"),
            (Scalar::Bool(true), "true"),
            (Scalar::Complex64(Complex::new(1.5, f32::NAN)), "[1.5,\"NaN\"]"),
            (Scalar::Complex128(Complex::new(0.0, -2.0)), "[0,-2]"),
        ] {
            let mut written = Vec::new();
            super::scalar(&mut written, scalar).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), text);
        }
        for v in [f64::MIN_POSITIVE, f64::MAX, 1.0 / 3.0, 123_456_789.123_456_78, 9.999e15, 1e16] {
            assert_eq!(value(Scalar::F64(v)).as_f64(), Some(v));
        }
    }
}
