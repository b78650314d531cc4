//! Words of the command line: how they are read.

use ust::Backend;

use crate::failure::NO_GPU;

/// The kinds of files, as the ends of their names.
pub(crate) const KINDS: &str = "mtx, mtx.gz, tns, tns.gz, npy, npz, ust.npz";

/// The coordinates of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Element(pub(crate) Vec<usize>);

/// A language that loops are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Cuda,
    Cpp,
}

/// The sizes of the dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape(pub(crate) Vec<usize>);

/// `NAME=TEXT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// `NAME=SHAPE`, or `SHAPE` alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedShape {
    pub(crate) name: Option<String>,
    pub(crate) shape: Shape,
}

/// `NAME=FORMAT`, or `FORMAT` alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedFormat {
    pub(crate) name: Option<String>,
    pub(crate) text: String,
}

/// Reads `4x6x8`; nothing at all for a tensor without dimensions.
pub(super) fn shape(text: &str) -> Result<Shape, String> {
    if text.trim().is_empty() {
        return Ok(Shape(Vec::new()));
    }
    let extent = |part: &str| {
        let part = part.trim();
        let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        match part.parse::<usize>() {
            Ok(extent) if digits && i64::try_from(extent).is_ok() => Ok(extent),
            _ if digits => Err(format!("`{part}` is larger than any dimension can be")),
            _ => Err(format!("`{part}` is not a size; a shape is written like 4x6x8")),
        }
    };
    Ok(Shape(text.split('x').map(extent).collect::<Result<_, _>>()?))
}

pub(super) fn named(text: &str) -> Result<Named, String> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    match text.split_once('=') {
        Some((name, rest)) if is_name(name.trim()) => {
            Ok(Named { name: name.trim().to_owned(), text: rest.trim().to_owned() })
        }
        _ => Err("write the tensor's name before it, such as `A=...`".to_owned()),
    }
}

pub(super) fn extent(text: &str) -> Result<(String, usize), String> {
    let read = named(text).ok().and_then(|n| Some((n.name, n.text.parse().ok()?)));
    read.ok_or_else(|| "write an index and its extent, such as `k=9`".to_owned())
}

/// Reads a number of bytes: `8G`, `1.5GiB`, `500M`, `4096`. A K is 1024.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text[digits.len()..].to_ascii_uppercase();
    let unit = unit.strip_suffix("IB").or(unit.strip_suffix('B')).unwrap_or(&unit);
    let power = ["", "K", "M", "G", "T"].iter().position(|known| *known == unit);
    let number = digits.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
    match (number, power) {
        (Some(number), Some(power)) => Ok((number * 1024_f64.powi(power as i32)) as u64),
        _ => Err("write a number of bytes, such as 8G, 1.5G or 500M".to_owned()),
    }
}

pub(super) fn language(text: &str) -> Result<Language, String> {
    match text {
        "cuda" => Ok(Language::Cuda),
        "c++" | "cpp" => Ok(Language::Cpp),
        "c" => {
            Err("loops are written as C++17, whose functions have C linkage: `--lang c++`"
                .to_owned())
        }
        _ => Err("loops are written as `cuda` or `c++`".to_owned()),
    }
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let read = text.parse().ok().filter(|seconds| (0.0..=1e6).contains(seconds));
    read.ok_or_else(|| "write a number of seconds, such as 20 or 0.5".to_owned())
}

/// A kind of file, as the end of a name.
pub(super) fn kind(text: &str) -> Result<String, String> {
    let kind = text.trim_start_matches('.').to_ascii_lowercase();
    match ust::io::Kind::of(format!("-.{kind}").as_ref()) {
        Ok(_) => Ok(kind),
        Err(_) => Err(format!("the kinds are {KINDS}")),
    }
}

/// What runs the loops: a name.
pub(super) fn backend(text: &str) -> Result<Backend, String> {
    text.parse().map_err(|error: ust::Error| match text {
        "cuda" if cfg!(not(feature = "gpu")) => {
            format!("this program runs nothing on GPUs: {NO_GPU}")
        }
        _ => error.to_string(),
    })
}

/// Coordinates of an element: `5,8`.
pub(super) fn element(text: &str) -> Result<Element, String> {
    let read = |part: &str| part.trim().parse::<usize>().ok();
    let trimmed = text.trim().trim_start_matches(['(', '[']).trim_end_matches([')', ']']);
    let read: Option<Vec<usize>> = trimmed.split(',').map(read).collect();
    read.map(Element).ok_or_else(|| "write the coordinates of an element, such as 5,8".to_owned())
}

/// Text of a format may have a `=` of its own: `(i = 2 * a + b, j) -> ...`.
#[expect(clippy::unnecessary_wraps, reason = "a parser of arguments")]
pub(super) fn named_format(text: &str) -> Result<NamedFormat, String> {
    Ok(match named(text) {
        Ok(Named { name, text }) => NamedFormat { name: Some(name), text },
        Err(_) => NamedFormat { name: None, text: text.trim().to_owned() },
    })
}

/// A format where there is one tensor: a name before it says nothing new.
pub(super) fn one_format(text: &str) -> Result<String, String> {
    Ok(named_format(text)?.text)
}

pub(super) fn named_shape(text: &str) -> Result<NamedShape, String> {
    if !text.contains('=') {
        return Ok(NamedShape { name: None, shape: shape(text)? });
    }
    let Named { name, text } = named(text)?;
    Ok(NamedShape { name: Some(name), shape: shape(&text)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read() {
        assert_eq!(shape("4x6x8"), Ok(Shape(vec![4, 6, 8])));
        assert_eq!(shape("0"), Ok(Shape(vec![0])));
        assert_eq!(shape(""), Ok(Shape(vec![])));
        for text in
            ["4x", "x", "-1", "+1", "4 6", "a", "99999999999999999999", "9223372036854775808"]
        {
            assert!(shape(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_have_units() {
        let read = ["8G", "1.5GiB", "500M", "4096", "2kb", "0.5K"].map(bytes);
        assert_eq!(read, [8 << 30, 3 << 29, 500 << 20, 4096, 2048, 512].map(Ok));
        for text in ["", "G", "8X", "-1G", "0", "8 G G", "NaN"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_stand_before_the_first_equals_sign() {
        let read = named("A=(i = a, j) -> (i : dense)").unwrap();
        assert_eq!((&*read.name, &*read.text), ("A", "(i = a, j) -> (i : dense)"));
        let read = named_shape("A=4x6").unwrap();
        assert_eq!((read.name.as_deref(), read.shape), (Some("A"), Shape(vec![4, 6])));
        assert_eq!(named_shape("7").unwrap().name, None);
        let read =
            ["A=CSR", "CSR", "(i = a, j) -> (i : dense)"].map(|text| named_format(text).unwrap());
        let names = read.each_ref().map(|read| read.name.as_deref());
        assert_eq!(names, [Some("A"), None, None]);
        assert_eq!(read.map(|read| read.text), ["CSR", "CSR", "(i = a, j) -> (i : dense)"]);
        for text in ["matrix.mtx", "=x", "a.b=c", "1=2", ""] {
            assert!(named(text).is_err(), "{text}");
        }
    }

    #[test]
    fn kinds_are_ends_of_names_and_elements_have_commas() {
        assert_eq!(
            ["mtx", ".UST.npz", "tns.gz"].map(kind),
            ["mtx", "ust.npz", "tns.gz"].map(|k| Ok(k.to_owned()))
        );
        assert!(["csv", "", "gz"].map(kind).iter().all(Result::is_err));
        assert_eq!(element("5,8"), Ok(Element(vec![5, 8])));
        assert_eq!(element("(0, 12, 3)"), Ok(Element(vec![0, 12, 3])));
        assert!(["", "5;8", "-1,2", "5,", "a"].map(element).iter().all(Result::is_err));
    }
}
