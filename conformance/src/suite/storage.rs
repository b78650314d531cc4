//! What is stored is what was given, however it is read.

use std::collections::{BTreeMap, BTreeSet};

use ust_engine::tensor::{Tensor, Window};
use ust_engine::walk::nest::Reach;
use ust_engine::walk::unpack::{Column, Keep, unpack};
use ust_engine::{Coo, Format};
use ust_level_api::{IndexArray, Scalar, with_dtype};

use super::Stored;
use crate::oracle::{Model, everywhere, pads};
use crate::report::{Verdict, ensure, wrong};

/// Both spellings read back as the same format, and the map is inverted by its inverse.
pub(super) fn prints(format: &Format) -> Verdict {
    for text in [format.to_string(), format.to_mlir()] {
        let again: Format = text.parse()?;
        ensure(again == *format, || format!("`{text}` reads back as `{again}`"))?;
        ensure(again.to_string() == format.to_string(), || format!("`{text}` prints anew"))?;
    }
    for place in everywhere(&[3, 5, 4, 3][..format.rank().min(4)]) {
        let dims: Vec<i64> = place.iter().map(|&c| c as i64).collect();
        let levels = format.dim2lvl(&dims);
        let back = levels.as_ref().and_then(|levels| format.lvl2dim(levels));
        ensure(back.as_ref() == Some(&dims), || {
            format!("{dims:?} is stored at {levels:?}, which stands for {back:?}")
        })?;
    }
    Ok(())
}

/// Taken apart and put together again, the tensor is the same.
pub(super) fn is_accepted_again(stored: &Stored<'_>) -> Verdict {
    let (format, shape, parts) = stored.tensor.clone().into_parts();
    ensure(format == *stored.format, || format!("it came back as `{format}`"))?;
    let again = Tensor::from_parts(&format, &shape, parts)?;
    ensure(again == stored.tensor, || "from its own parts comes another tensor".to_owned())?;
    ensure(again.nnz() == stored.tensor.nnz(), || "with another nnz".to_owned())
}

/// Unpacked, there are the entries: in the order of the levels that are ordered, and those of the same place of a
/// level together.
pub(super) fn unpacks(stored: &Stored<'_>) -> Verdict {
    let coo = stored.tensor.to_coo()?;
    if let Some(text) = stored.model.difference(&Model::of_coo(&coo, stored.tensor.fill())) {
        return wrong(format!("stored and unpacked differ: {text}"));
    }
    let count = stored.tensor.entries()?.count();
    ensure(count == coo.len(), || format!("{count} entries are listed"))?;
    let levels = &stored.format.descriptions()[..stored.format.tail()];
    let place = |at: usize| {
        let dims: Vec<i64> = coo.crd.iter().map(|column| column[at]).collect();
        stored.format.dim2lvl(&by_places(&stored.tensor, &dims)).map(|mut place| {
            place.truncate(levels.len());
            place
        })
    };
    let places: Option<Vec<_>> = (0..coo.len()).map(place).collect();
    let Some(places) = places else { return wrong("coordinates that no level has".to_owned()) };
    let mut begun: BTreeSet<&[i64]> = BTreeSet::new();
    for (at, place) in places.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| &places[before]);
        let differs = |&level: &usize| before.is_none_or(|before| before[level] != place[level]);
        let Some(first) = (0..levels.len()).find(differs) else { continue };
        let in_order = match levels[first].props.ordered {
            true => before.is_none_or(|before| before[first] < place[first]),
            false => !begun.contains(&place[..=first]),
        };
        ensure(in_order, || {
            format!("entry {at} stands out of order, at {:?}", coo.coordinates(at))
        })?;
        begun.extend((first..levels.len()).map(|level| &place[..=level]));
    }
    Ok(())
}

/// Coordinates, with the place in each sorted dimension.
fn by_places(tensor: &Tensor, dims: &[i64]) -> Vec<i64> {
    let place = |(dim, &at): (usize, &i64)| {
        let order = tensor.order(dim)?.to_vec();
        order.iter().position(|&coordinate| coordinate == at).map(|place| place as i64)
    };
    dims.iter().enumerate().map(|(dim, at)| place((dim, at)).unwrap_or(*at)).collect()
}

/// Each element is read as it is, stored or not.
pub(super) fn is_read(stored: &Stored<'_>) -> Verdict {
    reads_as(&stored.tensor, &stored.model)
}

fn reads_as(tensor: &Tensor, model: &Model) -> Verdict {
    for place in model.everywhere() {
        let (found, expected) = (tensor.get(&place)?, model.value(&place));
        ensure(found.same(&expected), || {
            format!("the element at {place:?} is {expected}, and read as {found}")
        })?;
    }
    let outside: Vec<usize> = model.shape.clone();
    ensure(model.shape.is_empty() || tensor.get(&outside).is_err(), || {
        format!("{outside:?} lies outside, and is read")
    })
}

/// A walk reaches each position at most once, unless entries share it, with the coordinates that belong there.
pub(super) fn is_walked(stored: &Stored<'_>) -> Verdict {
    let Stored { format, tensor, .. } = stored;
    let (rank, levels) = (format.rank(), format.level_count());
    let mut columns: Vec<Column> = (0..rank).map(Column::Dim).collect();
    columns.extend((0..levels).map(Column::LevelCoordinate));
    columns.extend((0..levels).map(Column::LevelPosition));
    columns.extend([Column::Value, Column::Inside]);
    let room = 2 * tensor.nse() + 64;
    let all = unpack(tensor, Reach::Everything, &columns, Keep::All, room)?;
    let inside = unpack(tensor, Reach::Inside, &columns, Keep::All, room)?;
    let rows = |columns: &[Vec<i64>]| -> Vec<Vec<i64>> {
        (0..columns[0].len()).map(|at| columns.iter().map(|column| column[at]).collect()).collect()
    };
    let mut seen = BTreeSet::new();
    // For each level, the parent of each position.
    let mut parents: Vec<BTreeMap<i64, i64>> = vec![BTreeMap::new(); levels];
    let mut visited = Vec::new();
    for row in rows(&all) {
        let (dims, rest) = row.split_at(rank);
        let (crds, rest) = rest.split_at(levels);
        let (positions, rest) = rest.split_at(levels);
        let (value, is_inside) = (rest[0], rest[1] == 1);
        ensure((0..tensor.nse() as i64).contains(&value), || format!("a value at {value}"))?;
        let shares = format.levels().last().is_some_and(|level| level.ty.joins_alike());
        ensure(seen.insert(value) || shares, || format!("position {value} is visited twice"))?;
        for level in 1..levels {
            let parent = positions[level - 1];
            let before = parents[level].insert(positions[level], parent);
            ensure(before.is_none_or(|before| before == parent), || {
                format!("position {} of level {level} has two parents", positions[level])
            })?;
        }
        let in_shape = dims.iter().zip(tensor.shape()).all(|(&c, &n)| (0..n as i64).contains(&c));
        ensure(in_shape == is_inside, || format!("{dims:?} is said to be inside: {is_inside}"))?;
        if is_inside {
            let expected = format.dim2lvl(&by_places(tensor, dims));
            ensure(expected.as_deref() == Some(crds), || {
                format!("{dims:?} is visited at {crds:?}, and belongs at {expected:?}")
            })?;
            visited.push(row.clone());
        }
    }
    ensure(visited == rows(&inside), || {
        format!("inside, {} places are visited, not {}", inside[0].len(), visited.len())
    })?;
    let entries = tensor.to_coo()?.len();
    ensure(visited.len() == entries || pads(format), || {
        format!("{} places are visited for {entries} entries", visited.len())
    })
}

/// `nse`, `nnz`, `bytes`, block shape and arrays agree with each other.
pub(super) fn counts(stored: &Stored<'_>) -> Verdict {
    let Stored { tensor, model, .. } = stored;
    let nnz = model.entries.values().flatten().filter(|v| !v.same(&model.fill)).count();
    ensure(tensor.nnz() == nnz, || format!("nnz is {}, not {nnz}", tensor.nnz()))?;
    ensure(tensor.nse() == tensor.values().len(), || "nse is not the number of values".into())?;
    let levels = tensor.levels().iter().flat_map(|level| &level.0);
    let orders = (0..tensor.rank()).filter_map(|dim| tensor.order(dim));
    let arrays: usize = levels.chain(orders).map(IndexArray::bytes).sum();
    let bytes = arrays + tensor.nse() * tensor.dtype().bytes();
    ensure(tensor.bytes() == bytes, || format!("bytes are {}, not {bytes}", tensor.bytes()))?;
    let block: usize = tensor.block_shape().iter().product();
    ensure(block == tensor.nse(), || format!("block shape {:?}", tensor.block_shape()))?;
    for (level, description) in stored.format.descriptions().iter().enumerate() {
        for (at, spec) in description.arrays.iter().enumerate() {
            let named = tensor.level_array(level, spec.name);
            ensure(named == tensor.levels()[level].0.get(at), || {
                format!("`{}` of level {level} is not found", spec.name)
            })?;
        }
    }
    let shown = [tensor.to_string(), format!("{tensor:?}")];
    ensure(shown.iter().all(|text| text.contains(&stored.format.to_string())), || {
        format!("it shows as {shown:?}")
    })
}

/// As a dense array and back.
pub(super) fn is_dense(stored: &Stored<'_>) -> Verdict {
    let Stored { tensor, model, format, .. } = stored;
    with_dtype!(tensor.dtype(), T => {
        let array = tensor.to_dense::<T>()?;
        ensure(array.shape() == model.shape, || format!("dense shape {:?}", array.shape()))?;
        for place in model.everywhere() {
            let (found, expected): (Scalar, Scalar) =
                (array[&place[..]].into(), model.value(&place));
            ensure(found.same(&expected), || format!("dense {place:?}: {found}, not {expected}"))?;
        }
        let options = ust_engine::tensor::BuildOptions { fill: Some(model.fill), ..Default::default() };
        let again = Tensor::from_dense_with(&array, format, &options)?;
        let expected = model.summed().without_fill();
        match expected.difference(&Model::of_tensor(&again)?) {
            Some(text) => wrong(format!("from a dense array: {text}")),
            None => Ok(()),
        }
    })
}

/// A strided window shows what it should, by unpacking and by reading.
pub(super) fn is_sliced(stored: &Stored<'_>) -> Verdict {
    let Stored { tensor, model, .. } = stored;
    let windows: Vec<Window> = model
        .shape
        .iter()
        .enumerate()
        .map(|(dim, &extent)| {
            let (offset, stride) = ((dim as u64 + 1).min(extent as u64), 1 + dim as u64 % 2 * 2);
            Window { offset, size: (extent as u64 - offset).div_ceil(stride), stride }
        })
        .collect();
    let view = tensor.slice(&windows)?;
    let mut expected = Model {
        shape: windows.iter().map(|w| w.size as usize).collect(),
        entries: BTreeMap::new(),
        ..model.clone()
    };
    for place in expected.everywhere() {
        let whole =
            place.iter().zip(&windows).map(|(&c, w)| (w.offset + c as u64 * w.stride) as usize);
        if let Some(values) = model.entries.get(&whole.collect::<Vec<_>>()) {
            expected.entries.insert(place, values.clone());
        }
    }
    if let Some(text) = expected.difference(&Model::of_tensor(&view)?) {
        return wrong(format!("through {windows:?}: {text}"));
    }
    reads_as(&view, &expected)
}

/// Coordinates and values of a model, one entry after another.
pub(super) fn coo_of(model: &Model) -> Coo {
    let rows: Vec<(&Vec<usize>, Scalar)> = model
        .entries
        .iter()
        .flat_map(|(place, values)| values.iter().map(move |&v| (place, v)))
        .collect();
    let values: Vec<Scalar> = rows.iter().map(|(_, value)| *value).collect();
    let column = |dim: usize| rows.iter().map(|(place, _)| place[dim] as i64).collect();
    Coo {
        shape: model.shape.clone(),
        crd: (0..model.shape.len()).map(column).collect(),
        values: crate::oracle::values_of(model.dtype, &values),
    }
}
