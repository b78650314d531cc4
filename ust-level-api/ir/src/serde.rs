//! Numbers and arrays, written and read by [serde](https://serde.rs).
//!
//! | | in formats for people, such as JSON | in others |
//! |---|---|---|
//! | an array | a list of numbers | bytes, little-endian |
//! | a complex number | a pair | its bytes |
//! | a number that is not finite | the text `NaN`, `inf` or `-inf` | its bytes |
//!
//! What is read is a number of the type: one that it cannot hold is an error, as in [`Scalar::cast`](crate::Scalar::cast).

use std::fmt;
use std::marker::PhantomData;

use bytemuck::checked::try_pod_read_unaligned;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::{Error as _, SerializeTuple};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::index::Packed;
use crate::scalar::Wide;
use crate::{Buffer, Dtype, Element};

/// Texts of numbers that are not finite.
const NOT_FINITE: [(&str, f64); 3] =
    [("NaN", f64::NAN), ("inf", f64::INFINITY), ("-inf", f64::NEG_INFINITY)];
/// Elements that have room before any was read: what a file says of its length may be wrong.
const TRUSTED: usize = 1 << 12;

/// A real number, with as many digits as its type has.
struct Real {
    value: f64,
    double: bool,
}

impl Serialize for Real {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let same = |number: &f64| {
            number.to_bits() == self.value.to_bits() || number.is_nan() && self.value.is_nan()
        };
        match NOT_FINITE.iter().find(|(_, number)| same(number)) {
            Some((text, _)) => serializer.serialize_str(text),
            None if self.double => serializer.serialize_f64(self.value),
            // Halves are numbers of single precision, too.
            None => serializer.serialize_f32(self.value as f32),
        }
    }
}

/// An element for people.
struct Shown<T>(T);

impl<T: Element> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let double = matches!(T::DTYPE, Dtype::F64 | Dtype::Complex128);
        let real = |value| Real { value, double };
        match self.0.wide() {
            Wide::Int(value) if T::DTYPE == Dtype::Bool => serializer.serialize_bool(value != 0),
            Wide::Int(value) => match i64::try_from(value) {
                Ok(value) => serializer.serialize_i64(value),
                Err(_) => serializer.serialize_u64(value as u64),
            },
            Wide::Float(value) => real(value).serialize(serializer),
            Wide::Complex(re, im) => {
                let mut pair = serializer.serialize_tuple(2)?;
                pair.serialize_element(&real(re))?;
                pair.serialize_element(&real(im))?;
                pair.end()
            }
        }
    }
}

impl<'de, T: Element> Deserialize<'de> for Shown<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wide = deserializer.deserialize_any(Number { may_be_pair: T::DTYPE.is_complex() })?;
        let fits = T::from_wide(wide).map(Self);
        fits.ok_or_else(|| D::Error::custom(format_args!("a number that {} cannot hold", T::DTYPE)))
    }
}

/// Reads a number of any type.
struct Number {
    may_be_pair: bool,
}

/// A real number as a part of a pair.
struct Part(f64);

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_any(Number { may_be_pair: false })? {
            Wide::Float(value) => Ok(Self(value)),
            Wide::Int(value) => Ok(Self(value as f64)),
            Wide::Complex(..) => Err(D::Error::custom("a pair within a pair")),
        }
    }
}

impl<'de> Visitor<'de> for Number {
    type Value = Wide;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.may_be_pair {
            true => "a number, or a pair of them, each a number or `NaN`, `inf` or `-inf`",
            false => "a number, or `NaN`, `inf` or `-inf`",
        })
    }

    fn visit_bool<E>(self, value: bool) -> Result<Wide, E> {
        Ok(Wide::Int(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Wide, E> {
        Ok(Wide::Int(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Wide, E> {
        Ok(Wide::Int(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Wide, E> {
        Ok(Wide::Float(value))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Wide, E> {
        let found = NOT_FINITE.iter().find(|(name, _)| *name == text);
        let found = found.map(|&(_, value)| Wide::Float(value));
        found.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Wide, A::Error> {
        if !self.may_be_pair {
            return Err(A::Error::invalid_type(serde::de::Unexpected::Seq, &self));
        }
        let short = |length: usize| A::Error::invalid_length(length, &"a pair of numbers");
        let Part(re) = parts.next_element()?.ok_or_else(|| short(0))?;
        let Part(im) = parts.next_element()?.ok_or_else(|| short(1))?;
        match parts.next_element::<Part>()? {
            None => Ok(Wide::Complex(re, im)),
            Some(_) => Err(short(3)),
        }
    }
}

/// Bytes of each number: of half an element, if it is complex.
fn word<T: Element>() -> usize {
    size_of::<T>() / if T::DTYPE.is_complex() { 2 } else { 1 }
}

/// Bytes between the order of the machine and little-endian order, in place.
fn swap<T: Element>(bytes: &mut [u8]) {
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(word::<T>()).for_each(<[u8]>::reverse);
    }
}

/// Writes elements as bytes.
fn serialize_bytes<T: Element, S: Serializer>(
    elements: &[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let bytes: &[u8] = bytemuck::cast_slice(elements);
    if cfg!(target_endian = "little") {
        return serializer.serialize_bytes(bytes);
    }
    let mut bytes = bytes.to_vec();
    swap::<T>(&mut bytes);
    serializer.serialize_bytes(&bytes)
}

/// Elements as they were written.
struct Elements<T>(PhantomData<T>);

impl<'de, T: Element> Visitor<'de> for Elements<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "numbers of type {}", T::DTYPE)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut elements = Vec::with_capacity(list.size_hint().unwrap_or(0).min(TRUSTED));
        while let Some(Shown(element)) = list.next_element()? {
            elements.push(element);
        }
        Ok(elements)
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Vec<T>, E> {
        let each = bytes.chunks_exact(size_of::<T>());
        if !each.remainder().is_empty() {
            return Err(E::invalid_length(bytes.len(), &self));
        }
        let read = |bytes: &[u8]| {
            let mut own = [0; 16];
            let own = &mut own[..bytes.len()];
            own.copy_from_slice(bytes);
            swap::<T>(own);
            try_pod_read_unaligned(own)
                .map_err(|_| E::invalid_value(serde::de::Unexpected::Bytes(bytes), &self))
        };
        each.map(read).collect()
    }
}

/// A list of numbers, or bytes.
impl<T: Element> Serialize for Buffer<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fetch().map_err(S::Error::custom)?;
        match serializer.is_human_readable() {
            true => serializer.collect_seq(self.iter().map(|&element| Shown(element))),
            false => serialize_bytes(self, serializer),
        }
    }
}

impl<'de, T: Element> Deserialize<'de> for Buffer<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let elements = Elements(PhantomData);
        let read = match deserializer.is_human_readable() {
            true => deserializer.deserialize_seq(elements),
            false => deserializer.deserialize_bytes(elements),
        };
        Ok(read?.into())
    }
}

/// One element.
pub(crate) mod one {
    use serde::de::Error as _;

    use super::{
        Deserialize, Deserializer, Element, Elements, PhantomData, Serialize, Serializer, Shown,
        serialize_bytes,
    };

    pub(crate) fn serialize<T: Element, S: Serializer>(
        element: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => Shown(*element).serialize(serializer),
            false => serialize_bytes(&[*element], serializer),
        }
    }

    pub(crate) fn deserialize<'de, T: Element, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        if deserializer.is_human_readable() {
            return Shown::deserialize(deserializer).map(|Shown(element)| element);
        }
        let read = deserializer.deserialize_bytes(Elements::<T>(PhantomData))?;
        match read[..] {
            [one] => Ok(one),
            _ => Err(D::Error::invalid_length(read.len(), &"one number")),
        }
    }
}

/// Indices as they were written: their bytes, and how many they are.
#[derive(Deserialize)]
#[serde(rename = "Packed", deny_unknown_fields)]
pub(crate) struct Bits {
    bytes: Buffer<u8>,
    len: usize,
}

impl TryFrom<Bits> for Packed {
    type Error = &'static str;

    fn try_from(bits: Bits) -> Result<Self, Self::Error> {
        Self::new(bits.bytes, bits.len).ok_or("packed indices are stored four to a byte")
    }
}
