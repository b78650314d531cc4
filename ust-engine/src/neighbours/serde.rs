//! Tensors, written and read by [serde](https://serde.rs), in any of its formats, without loss.
//!
//! | field | what |
//! |---|---|
//! | `format` | the text of the format |
//! | `shape` | extent of each dimension |
//! | `fill` | the value of elements that are not stored, under its dtype; when read, zero if it is not there |
//! | `levels` | for each level, its arrays by name; each under the type of its indices |
//! | `orders` | for each dimension that the format sorts, the coordinate at each place |
//! | `values` | the stored values, under their dtype, padding included; one, if it stands for all of them |
//! | `iso` | if one value stands for all: how many are stored |
//!
//! ```
//! use ust::Tensor;
//! let a = Tensor::csr((2, 3), vec![0_u32, 1, 2], vec![2_u32, 0], vec![1.5, f64::INFINITY])?;
//! let text = serde_json::to_string(&a)?;
//! assert_eq!(
//!     text,
//!     r#"{"format":"(i, j) -> (i : dense, j : compressed)","shape":[2,3],"fill":{"f64":0.0},"#.to_owned()
//!         + r#""levels":[{},{"crd":{"u32":[2,0]},"pos":{"u32":[0,1,2]}}],"orders":[],"#
//!         + r#""values":{"f64":[1.5,"inf"]},"iso":null}"#
//! );
//! assert_eq!(serde_json::from_str::<Tensor>(&text)?, a);
//! let wrong = text.replace("[2,0]", "[7,0]");
//! let error = serde_json::from_str::<Tensor>(&wrong).unwrap_err();
//! assert!(error.to_string().contains("crd[0] = 7"), "{error}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In formats for people, arrays are lists of numbers, complex numbers are pairs, and numbers that are not finite are
//! the texts `NaN`, `inf` and `-inf`, since JSON has none. `serde_json` reads the last bit of a number right with its
//! feature `float_roundtrip`. In other formats, arrays are bytes, little-endian, and every bit is kept.
//!
//! What is read goes through [`Tensor::from_parts`], as foreign arrays do. A slice is written as a tensor of its own.
//! The level types of the format have to be linked where it is read.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ust_format::Format;
use ust_level_api::{IndexArray, Scalar};

use crate::composed::Composed;
use crate::error::Error;
use crate::storage::memory::default_limit;
use crate::storage::{Parts, Tensor, Values};

#[derive(Serialize, Deserialize)]
#[serde(rename = "Tensor", deny_unknown_fields)]
struct Stored {
    format: Format,
    shape: Vec<usize>,
    #[serde(default)]
    fill: Option<Scalar>,
    levels: Vec<BTreeMap<String, IndexArray>>,
    #[serde(default)]
    orders: Vec<IndexArray>,
    values: Values,
    #[serde(default)]
    iso: Option<usize>,
}

impl TryFrom<&Tensor> for Stored {
    type Error = Error;

    fn try_from(tensor: &Tensor) -> Result<Self, Error> {
        let whole = match tensor.view().shows_all() {
            true => tensor.clone(),
            false => tensor.convert(tensor.format().without_slices())?,
        };
        whole.fetch()?;
        let iso = whole.iso_value();
        let (format, shape, parts) = whole.into_parts();
        let of_level = |(level, arrays): (&ust_level_api::Description, Vec<IndexArray>)| {
            level.arrays.iter().map(|spec| spec.name.to_owned()).zip(arrays).collect()
        };
        let levels = format.descriptions().iter().zip(parts.levels).map(of_level).collect();
        let (values, iso) = match iso {
            Some(value) => (Values::filled(value, 1), Some(parts.values.len())),
            None => (parts.values, None),
        };
        Ok(Self { format, shape, fill: parts.fill, levels, orders: parts.orders, values, iso })
    }
}

impl TryFrom<Stored> for Tensor {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self, Error> {
        let Stored { format, shape, fill, levels, orders, values, iso } = stored;
        if levels.len() != format.level_count() {
            let text =
                format!("the format has {} levels, not {}", format.level_count(), levels.len());
            return Err(Error::Parts(text));
        }
        let named = format.descriptions().iter().zip(levels).enumerate();
        let levels = named.map(|(at, (level, mut arrays))| {
            let own = level.arrays.iter().map(|spec| {
                arrays
                    .remove(spec.name)
                    .ok_or_else(|| Error::Parts(format!("level {at} has no array `{}`", spec.name)))
            });
            let own = own.collect::<Result<Vec<_>, _>>()?;
            match arrays.keys().next() {
                None => Ok(own),
                Some(name) => Err(Error::Parts(format!("level {at} has no place for `{name}`"))),
            }
        });
        let levels = levels.collect::<Result<Vec<_>, Error>>()?;
        let values = iso.map_or(Ok(values.clone()), |count| for_all(&values, count))?;
        Self::from_parts(&format, &shape, Parts { levels, orders, values, fill })
    }
}

/// One value, for so many.
fn for_all(values: &Values, count: usize) -> Result<Values, Error> {
    let (Some(value), 1) = (values.get(0), values.len()) else {
        let text = format!("{} values, where one stands for all", values.len());
        return Err(Error::Parts(text));
    };
    // Whoever looks at all of them makes them.
    let bytes = (count as u64).checked_mul(values.dtype().bytes() as u64);
    if bytes.is_none_or(|bytes| bytes > default_limit()) {
        return Err(Error::TooLarge(format!("{count} values")));
    }
    Ok(Values::iso(value, count))
}

/// See [`neighbours::serde`](self).
impl Serialize for Tensor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Stored::try_from(self).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// See [`neighbours::serde`](self).
impl<'de> Deserialize<'de> for Tensor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Stored::deserialize(deserializer)?.try_into().map_err(D::Error::custom)
    }
}

/// A list of its parts.
impl Serialize for Composed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.parts().serialize(serializer)
    }
}

/// From a list of parts, of which no two store the same element.
impl<'de> Deserialize<'de> for Composed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_parts(Vec::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
