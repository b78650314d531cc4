//! Statements about formats: their text, their maps, their number.

use serde_json::Value;
use ust_engine::Format;
use ust_engine::tensor::Tensor;
use ust_level_api::registry::{self, LevelArgs};

use super::super::read::{format, format_of_rank, same_entries};
use crate::inputs::inputs;
use crate::oracle::everywhere;
use crate::report::{Trouble, Verdict, ensure, wrong};

/// The levels of the formats that only permute dimensions, from the two that the statement names:
/// the level types of the named dense and sparse vector.
fn dense_and_compressed() -> Result<[String; 2], Trouble> {
    let text =
        |name| -> Result<String, Trouble> { Ok(format(name)?.descriptions()[0].text.clone()) };
    Ok([text("DenseVector")?, text("SparseVector")?])
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for at in 0..count {
        all = all
            .iter()
            .flat_map(|order: &Vec<usize>| {
                (0..=at).map(|place| {
                    let mut longer = order.clone();
                    longer.insert(place, at);
                    longer
                })
            })
            .collect();
    }
    all
}

const NAMES: [&str; 6] = ["i", "j", "k", "l", "m", "n"];

/// Format text with dimension `order[at]` at level `at`; bit `at` of `choice` picks its type.
fn permuted(order: &[usize], choice: usize, types: &[String; 2]) -> String {
    let levels: Vec<String> = order
        .iter()
        .enumerate()
        .map(|(at, &dim)| format!("{} : {}", NAMES[dim], types[choice >> at & 1]))
        .collect();
    format!("({}) -> ({})", NAMES[..order.len()].join(", "), levels.join(", "))
}

/// All of them parse and are different; those of small order are stored and read back.
pub(super) fn counts(data: &Value) -> Verdict {
    let types = dense_and_compressed()?;
    for (order, expected) in data.as_object().into_iter().flatten() {
        let Ok(d) = order.parse::<usize>() else { return wrong("an order that is no number") };
        let input = inputs(d.min(4), 1, d).swap_remove(0);
        let mut distinct = std::collections::HashSet::new();
        for permutation in permutations(d) {
            for choice in 0..1 << d {
                let format: Format = permuted(&permutation, choice, &types).parse()?;
                if d <= 4 {
                    same_entries(&Tensor::from_coo(&input.coo, &format)?, &input.coo)?;
                }
                distinct.insert(format);
            }
        }
        let count = distinct.len() as u64;
        ensure(expected.as_u64() == Some(count), || format!("{count} formats of order {d}"))?;
    }
    Ok(())
}

pub(super) fn dense_permutations(_: &Value) -> Verdict {
    let types = dense_and_compressed()?;
    let input = inputs(3, 1, 0).swap_remove(1);
    let mut stored = Vec::new();
    for order in permutations(3) {
        let format: Format = permuted(&order, 0, &types).parse()?;
        let tensor = Tensor::from_coo(&input.coo, &format)?;
        // The last level is the one whose neighbours lie side by side.
        for place in everywhere(&input.coo.shape) {
            let position = order.iter().fold(0, |p, &dim| p * input.coo.shape[dim] + place[dim]);
            let (found, stored) = (tensor.get(&place)?, tensor.values().get(position));
            ensure(stored == Some(found), || format!("{place:?} is not at {position}"))?;
        }
        stored.push(tensor.values().clone());
    }
    let different = (0..6).all(|a| (0..a).all(|b| stored[a] != stored[b]));
    ensure(different && stored.len() == 6, || "some are stored alike".to_owned())
}

pub(super) fn maps_are_inverted(_: &Value) -> Verdict {
    let [dense, _] = dense_and_compressed()?;
    for (text, invertible) in [
        (format!("(i, j) -> (i + j : {dense}, i : {dense})"), true),
        (format!("(i, j) -> (i + j : {dense})"), false),
        (format!("(i, j) -> (i : {dense}, i : {dense})"), false),
        (format!("(i) -> (i / 2 : {dense})"), false),
        (format!("(i) -> (i / 2 : {dense}, i % 3 : {dense})"), false),
        (format!("(i, j) -> (i * j : {dense}, i : {dense})"), false),
    ] {
        let read = text.parse::<Format>();
        ensure(read.is_ok() == invertible, || format!("`{text}`: {read:?}"))?;
    }
    Ok(())
}

/// The level types that the statement names are registered, with those properties.
pub(super) fn level_properties(_: &Value) -> Verdict {
    let of = |name: &str| -> Result<Vec<_>, Trouble> { Ok(format(name)?.descriptions().to_vec()) };
    let [dense, compressed] =
        [of("DenseVector")?.swap_remove(0), of("SparseVector")?.swap_remove(0)];
    let coo = of("COO")?;
    let diagonal = of("DIA-I")?;
    ensure(dense.props.full && dense.arrays.is_empty(), || "dense is not full".to_owned())?;
    ensure(!compressed.props.full && compressed.arrays.len() == 2, || {
        "compressed levels".to_owned()
    })?;
    ensure(coo[1].props.branchless && !coo[0].props.unique, || "singletons".to_owned())?;
    ensure(diagonal[1].props.full && diagonal[1].props.padded, || "ranges".to_owned())?;
    let all = [&dense, &compressed, &coo[1], &diagonal[1]];
    ensure(all.iter().all(|level| level.props.unique && level.props.ordered), || {
        "some level is not unique and ordered by default".to_owned()
    })
}

pub(super) fn row_is_an_alias(_: &Value) -> Verdict {
    let [dense, compressed] = dense_and_compressed()?;
    for (name, text) in [
        ("CROW", format!("(i, j) -> (i : {compressed}, j : row)")),
        ("CCOL", format!("(i, j) -> (j : {compressed}, i : row)")),
    ] {
        let (named, printed) = (format(name)?, format(&text)?);
        ensure(named == printed, || format!("{name} is `{named}`, not `{printed}`"))?;
        let last = &printed.descriptions()[1].text;
        ensure(*last == dense, || format!("`row` is {last}"))?;
    }
    Ok(())
}

pub(super) fn strips_and_blocks(_: &Value) -> Verdict {
    ensure(format("Strips(2)")?.level_count() == 3, || "strips".to_owned())?;
    let variants = ["BSR-Row(2, 3)", "BSR-Col(2, 3)", "BSC-Row(2, 3)", "BSC-Col(2, 3)"];
    let input = inputs(2, 1, 0).swap_remove(1);
    let mut stored = Vec::new();
    for name in variants {
        let format = format(name)?;
        ensure(format.level_count() == 4, || format!("{name} has other levels"))?;
        let tensor = Tensor::from_coo(&input.coo, &format)?;
        same_entries(&tensor, &input.coo)?;
        stored.push(tensor.values().clone());
    }
    let different = (0..4).all(|a| (0..a).all(|b| stored[a] != stored[b]));
    ensure(different, || "some variants are stored alike".to_owned())
}

/// What SciPy, `CuPy` and `PyTorch` call COO, CSR and DIA are formats with the same names.
pub(super) fn other_libraries_formats(_: &Value) -> Verdict {
    for name in ["COO", "CSR", "CSC", "DIA"] {
        let format = format(name)?;
        ensure(format.name().is_some(), || format!("`{format}` has no name"))?;
    }
    Ok(())
}

pub(super) fn ranks_change(_: &Value) -> Verdict {
    let [dense, compressed] = dense_and_compressed()?;
    let blocks = format("BSR(2, 3)")?;
    ensure((blocks.rank(), blocks.level_count()) == (2, 4), || "BSR".to_owned())?;
    for ty in [dense, compressed] {
        let line = format(&format!("(i, j) -> (i * 9 + j : {ty})"))?;
        ensure((line.rank(), line.level_count()) == (2, 1), || "linearised".to_owned())?;
        let input = inputs(2, 1, 0).swap_remove(1);
        same_entries(&Tensor::from_coo(&input.coo, &line)?, &input.coo)?;
        ensure(line.bind(&[4, 10]).is_err(), || "column 9 is row 1, column 0".to_owned())?;
    }
    Ok(())
}

/// Every level type is what its bare name says with the positive words written out.
pub(super) fn defaults(_: &Value) -> Verdict {
    let mut tried = 0;
    for factory in registry::factories() {
        let bare = registry::make(&LevelArgs::simple(factory.name));
        let words = format!("{}(unique, ordered)", factory.name);
        let (Ok(bare), Ok(explicit)) = (bare, registry::make(&LevelArgs::simple(&words))) else {
            continue;
        };
        tried += 1;
        let (bare, explicit) = (bare.describe(), explicit.describe());
        ensure(bare == explicit, || format!("`{words}` is `{}`", explicit.text))?;
        ensure(bare.props.unique && bare.props.ordered, || format!("`{}`", factory.name))?;
        for (word, is_relaxed) in [("nonunique", false), ("nonordered", true)] {
            let text = format!("{}({word})", factory.name);
            let props = registry::make(&LevelArgs::simple(&text))?.describe().props;
            ensure((props.unique, props.ordered) == (is_relaxed, !is_relaxed), || text)?;
        }
    }
    match tried {
        0 => Err(Trouble::Excluded("no linked level type has these properties".to_owned())),
        _ => Ok(()),
    }
}

pub(super) fn high(_: &Value) -> Verdict {
    let printed =
        format("(i, j, k) -> (i : dense, j : compressed(nonunique, high), k : singleton)")?;
    ensure(printed == format("BCOO")?, || format!("it is read as `{printed}`"))
}

pub(super) fn widths(data: &Value) -> Verdict {
    let csr = format("CSR")?;
    let choices: Vec<u32> = data["choices"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|bits| Some(bits.as_u64()? as u32))
        .collect();
    for bits in 0..=128 {
        let accepted = csr.with_widths(bits, bits).is_ok();
        ensure(accepted == choices.contains(&bits), || format!("{bits} bits: {accepted}"))?;
    }
    let packed = data["nv_24_crdWidth"].as_u64().unwrap_or(0) as u32;
    ensure(format("2:4")?.with_widths(0, packed).is_ok(), || "2:4 is not packed".to_owned())?;
    let dcsc = format("DCSC")?.with_widths(32, 8)?;
    let tensor = Tensor::from_coo(&inputs(2, 1, 0).swap_remove(1).coo, &dcsc)?;
    let bits = |array: Option<&ust_level_api::IndexArray>| array.map(|array| array.kind().bits());
    ensure((bits(tensor.pos(0)), bits(tensor.crd(1))) == (Some(32), Some(8)), || {
        "the arrays have other widths".to_owned()
    })
}

pub(super) fn explicit_inverse(_: &Value) -> Verdict {
    let inferred = format("BSR(2, 3)")?;
    let types: Vec<&str> = inferred.descriptions().iter().map(|d| d.mlir.as_str()).collect();
    let map = |i: &str| {
        format!(
            "#sparse_tensor.encoding<{{ map = {{ ib, jb, ii, jj }} (i = {i}, j = jb * 3 + jj) -> \
             (ib = i floordiv 2 : {}, jb = j floordiv 3 : {}, ii = i mod 2 : {}, jj = j mod 3 : {}) \
             }}>",
            types[0], types[1], types[2], types[3]
        )
    };
    ensure(format(&map("ib * 2 + ii"))? == inferred, || "it is another format".to_owned())?;
    ensure(map("ib * 3 + ii").parse::<Format>().is_err(), || {
        "an inverse that is none is accepted".to_owned()
    })
}

pub(super) fn slices(_: &Value) -> Verdict {
    let csr = format("CSR")?;
    let types: Vec<&str> = csr.descriptions().iter().map(|d| d.mlir.as_str()).collect();
    let sliced = format(&format!(
        "#sparse_tensor.encoding<{{ map = (i : #sparse_tensor<slice(0, 4, 1)>, \
         j : #sparse_tensor<slice(0, 8, ?)>) -> (i : {}, j : {}) }}>",
        types[0], types[1]
    ))?;
    ensure(sliced.without_slices() == csr, || "without slices it is no CSR".to_owned())?;
    let input = inputs(2, 1, 0).swap_remove(4);
    let whole = Tensor::from_coo(&input.coo, &format_of_rank("CSR", 2)?)?;
    ensure(whole.view_as(&sliced, &[]).is_err(), || "`?` is bound by nobody".to_owned())?;
    let window = |size, stride| ust_engine::tensor::Window { offset: 0, size, stride };
    let view = whole.view_as(&sliced, &[window(4, 1), window(8, 1)])?;
    ensure(view.shape() == [4, 8], || format!("the view has shape {:?}", view.shape()))?;
    for place in everywhere(&[4, 8]) {
        let (seen, there) = (view.get(&place)?, whole.get(&place)?);
        ensure(seen.same(&there), || format!("{place:?} is seen as {seen}, not {there}"))?;
    }
    Ok(())
}
