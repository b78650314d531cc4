//! Statements about arrays: what they hold, how long they are, how many bytes.

use serde_json::Value;
use ust_engine::tensor::{Parts, Tensor};
use ust_engine::walk::nest::Reach;
use ust_engine::walk::unpack::{Column, Keep, unpack};
use ust_engine::{Coo, Format, Values};
use ust_level_api::{Dtype, IndexArray, Role, Scalar};

use super::super::read::{format, indices, same_entries};
use crate::inputs::inputs;
use crate::oracle::{everywhere, values_of};
use crate::report::{Trouble, Verdict, ensure, wrong};

fn entries(shape: &[usize], list: &[(&[i64], f64)]) -> Result<Coo, Trouble> {
    let column = |dim: usize| list.iter().map(|(place, _)| place[dim]).collect();
    let values: Vec<f64> = list.iter().map(|(_, value)| *value).collect();
    Ok(Coo::new(shape.to_vec(), (0..shape.len()).map(column).collect(), values)?)
}

fn odd_matrix() -> Coo {
    inputs(2, 1, 0).swap_remove(1).coo
}

/// For every row, `pos[i] .. pos[i + 1]` are the places of its entries; levels without arrays have
/// empty ones.
pub(super) fn intervals_are_half_open(_: &Value) -> Verdict {
    let coo = odd_matrix();
    let tensor = Tensor::from_coo(&coo, &format("CSR")?)?;
    ensure(indices(&tensor, 0, Role::Position).is_empty(), || "level 0 has pos".to_owned())?;
    ensure(indices(&tensor, 0, Role::Coordinate).is_empty(), || "level 0 has crd".to_owned())?;
    let (pos, crd) = (indices(&tensor, 1, Role::Position), indices(&tensor, 1, Role::Coordinate));
    ensure(crd.len() == tensor.nse(), || "values follow the last level".to_owned())?;
    for row in 0..coo.shape[0] {
        let mut expected: Vec<i64> = (0..coo.len())
            .filter(|&at| coo.crd[0][at] == row as i64)
            .map(|at| coo.crd[1][at])
            .collect();
        expected.sort_unstable();
        let found = &crd[pos[row] as usize..pos[row + 1] as usize];
        ensure(found == expected, || format!("row {row} has {found:?}, not {expected:?}"))?;
    }
    Ok(())
}

pub(super) fn dense_vectors_store_zeros(_: &Value) -> Verdict {
    let coo = entries(&[4], &[(&[1], 5.0)])?;
    let tensor = Tensor::from_coo(&coo, &format("DenseVector")?)?;
    ensure(tensor.values().typed::<f64>()? == [0.0, 5.0, 0.0, 0.0], || "other values".to_owned())?;
    ensure(tensor.levels()[0].0.is_empty(), || "a dense vector has arrays".to_owned())?;
    ensure(tensor.to_coo()?.len() == 1, || "its padding is listed".to_owned())
}

/// A diagonal has a place for each coordinate of its dimension; those outside the matrix are stored
/// and stand for no element.
pub(super) fn diagonals_are_padded(_: &Value) -> Verdict {
    let coo = entries(&[4, 5], &[(&[1, 0], 1.0), (&[0, 4], 2.0)])?;
    let tensor = Tensor::from_coo(&coo, &format("DIA-I")?)?;
    ensure(tensor.nse() == 2 * 4, || format!("{} places", tensor.nse()))?;
    let columns = [Column::Inside, Column::Value];
    let places = unpack(&tensor, Reach::Everything, &columns, Keep::All, tensor.nse())?;
    let inside = places[0].iter().filter(|&&inside| inside == 1).count();
    // Diagonal -1 has rows 1..4 inside, diagonal 4 has row 0.
    ensure((places[0].len(), inside) == (8, 4), || format!("{inside} places are inside"))?;
    same_entries(&tensor, &coo)
}

pub(super) fn the_smaller_dimension_pads_less(_: &Value) -> Verdict {
    let sizes = |coo: &Coo| -> Result<(usize, usize), Trouble> {
        let stored =
            |name| -> Result<usize, Trouble> { Ok(Tensor::from_coo(coo, &format(name)?)?.nse()) };
        Ok((stored("DIA-I")?, stored("DIA-J")?))
    };
    let list: &[(&[i64], f64)] = &[(&[1, 0], 1.0), (&[0, 0], 2.0), (&[0, 2], 3.0)];
    let (wide, square) = (sizes(&entries(&[5, 7], list)?)?, sizes(&entries(&[5, 5], list)?)?);
    ensure(wide == (3 * 5, 3 * 7), || format!("5x7: {wide:?}"))?;
    ensure(square.0 == square.1, || format!("5x5: {square:?}"))
}

pub(super) fn batches_of_diagonals(_: &Value) -> Verdict {
    let coo = entries(&[2, 3, 3], &[(&[0, 0, 0], 1.0), (&[1, 0, 1], 2.0), (&[1, 2, 1], 3.0)])?;
    let own = Tensor::from_coo(&coo, &format("Batched-DIA")?)?;
    let shared = Tensor::from_coo(&coo, &format("Batched-DIA-Uniform")?)?;
    ensure(indices(&own, 1, Role::Position) == [0, 1, 3], || "each its own".to_owned())?;
    ensure(indices(&own, 1, Role::Coordinate) == [0, -1, 1], || "each its own".to_owned())?;
    ensure(indices(&shared, 0, Role::Coordinate) == [-1, 0, 1], || "one set for all".to_owned())?;
    ensure((own.nse(), shared.nse()) == (3 * 3, 3 * 2 * 3), || "padding".to_owned())
}

/// Items of a batch have as many entries each; a format without a batch does not ask for it.
pub(super) fn items_have_as_many(_: &Value) -> Verdict {
    let (batch, any) = (format("CSR-b1")?, format("BCSR")?);
    let even = entries(&[2, 2, 3], &[(&[0, 0, 2], 1.0), (&[1, 1, 0], 2.0)])?;
    let odd = entries(&[2, 2, 3], &[(&[0, 0, 2], 1.0), (&[1, 1, 0], 2.0), (&[1, 1, 1], 3.0)])?;
    same_entries(&Tensor::from_coo(&even, &batch)?, &even)?;
    same_entries(&Tensor::from_coo(&odd, &any)?, &odd)?;
    match Tensor::from_coo(&odd, &batch) {
        Err(error) => {
            let text = error.to_string();
            ensure(text.contains("item 0 has 1, item 1 has 2"), || text)
        }
        Ok(_) => wrong("items with 1 and with 2 entries are stored"),
    }
}

/// Intervals in any order, with room between them.
pub(super) fn loose_intervals(_: &Value) -> Verdict {
    let [dense, loose] = ["BCSR", "BCOO"].map(format);
    let (dense, loose) = (dense?.descriptions()[0].text.clone(), loose?.descriptions()[1].name);
    let format = format(&format!("(i, j) -> (i : {dense}, j : {loose})"))?;
    let parts = |pos: [i64; 4]| {
        let crd = vec![0_i64, 3, 9, 1, 9];
        Parts::new(
            vec![vec![], vec![pos.to_vec().into(), crd.into()]],
            vec![1.0, 2.0, 0.5, 3.0, 0.5],
        )
    };
    let tensor = Tensor::from_parts(&format, &[2, 4], parts([3, 4, 0, 2]))?;
    let coo = entries(&[2, 4], &[(&[0, 1], 3.0), (&[1, 0], 1.0), (&[1, 3], 2.0)])?;
    same_entries(&tensor, &coo)?;
    for overlapping in [[0, 2, 1, 2], [0, 2, 0, 2], [2, 0, 3, 4], [0, 2, 4, 6]] {
        let taken = Tensor::from_parts(&format, &[2, 4], parts(overlapping));
        ensure(taken.is_err(), || format!("{overlapping:?} is accepted"))?;
    }
    Ok(())
}

pub(super) fn the_last_position_counts(_: &Value) -> Verdict {
    let coo = odd_matrix();
    let pos = indices(&Tensor::from_coo(&coo, &format("CSR")?)?, 1, Role::Position);
    ensure(pos.len() == coo.shape[0] + 1, || format!("{} positions", pos.len()))?;
    ensure(pos.last() == Some(&(coo.len() as i64)), || format!("the last is {:?}", pos.last()))
}

pub(super) fn hybrid_rows(_: &Value) -> Verdict {
    let coo = entries(&[2, 3, 2], &[(&[0, 2, 1], 4.0), (&[1, 0, 0], 5.0)])?;
    let tensor = Tensor::from_coo(&coo, &format("HybridCOO")?)?;
    ensure(tensor.values().typed::<f64>()? == [0.0, 4.0, 5.0, 0.0], || "values".to_owned())
}

pub(super) fn n_of_every_2n(_: &Value) -> Verdict {
    for (name, n) in [("2:4", 2), ("1:2", 1)] {
        let format = format(name)?;
        let group = 2 * n;
        let row = |count: i64| {
            let columns = (0..count).collect::<Vec<i64>>();
            let values = vec![1.0_f32; count as usize];
            Coo::new(vec![1, 2 * group as usize], vec![vec![0; count as usize], columns], values)
        };
        let held = Tensor::from_coo(&row(n)?, &format)?;
        ensure(held.nse() as i64 == 2 * n, || format!("{name} stores {}", held.nse()))?;
        ensure(Tensor::from_coo(&row(n + 1)?, &format).is_err(), || format!("{name}: one more"))?;
    }
    Ok(())
}

/// A matrix with two of each four elements, packed.
fn tiled(rows: usize, columns: usize, dtype: Dtype) -> Result<Tensor, Trouble> {
    let format = format("2:4")?.with_widths(0, 2)?;
    let places: Vec<Vec<usize>> =
        everywhere(&[rows, columns]).into_iter().filter(|place| place[1] % 4 >= 2).collect();
    let column = |dim: usize| places.iter().map(|place| place[dim] as i64).collect();
    let values = values_of(dtype, &vec![dtype.one(); places.len()]);
    let coo = Coo::new(vec![rows, columns], vec![column(0), column(1)], values)?;
    Ok(Tensor::from_coo(&coo, &format)?)
}

pub(super) fn semi_structured_bytes(data: &Value) -> Verdict {
    for (name, ratio) in data.as_object().into_iter().flatten() {
        let Some(&dtype) = Dtype::ALL
            .iter()
            .find(|dtype| dtype.name() == name || dtype.name() == name.replace("int", "i"))
        else {
            continue;
        };
        let stored = tiled(128, 128, dtype)?.bytes() as u64;
        let dense = (128 * 128 * dtype.bytes()) as u64;
        let (above, below) = (ratio[0].as_u64().unwrap_or(0), ratio[1].as_u64().unwrap_or(1));
        ensure(stored * below == dense * above, || format!("{name}: {stored} of {dense} bytes"))?;
    }
    Ok(())
}

/// The printed words of 16 bits are the packed coordinates.
pub(super) fn packed_metadata(data: &Value) -> Verdict {
    let tensor = tiled(128, 128, Dtype::F16)?;
    let Some(IndexArray::U2(packed)) = tensor.crd(2) else {
        return Err(Trouble::Wrong("coordinates are not packed".to_owned()));
    };
    let word = data["printed_metadata_i16"].as_i64();
    let words = packed.bytes().chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]]));
    ensure(words.len() == 128 * 128 / 16, || format!("{} words", words.len()))?;
    for found in words {
        ensure(Some(i64::from(found)) == word, || format!("{found} is no {word:?}"))?;
    }
    let one = Scalar::F64(1.0).cast(Dtype::F16)?;
    ensure(tensor.values().iter().all(|value| value.same(&one)), || "values".to_owned())
}

/// The tensor whose bytes are told: 10 000 rows with 10 entries each, in 64-bit indices.
fn large(name: &str) -> Result<Tensor, Trouble> {
    let format = format(name)?.with_widths(64, 64)?;
    let rows = (0..100_000).map(|at| at / 10).collect();
    let columns = (0..100_000).map(|at| at % 10 * 1000 + at / 10 % 1000).collect();
    let coo = Coo::new(vec![10_000, 10_000], vec![rows, columns], vec![1.0_f32; 100_000])?;
    Ok(Tensor::from_coo(&coo, &format)?)
}

/// The formulas leave out what is not proportional: the positions of COO, the last of CSR's.
fn has_bytes(tensor: &Tensor, expected: &Value, left_out: usize, data: &Value) -> Verdict {
    let bytes = tensor.bytes() - left_out;
    ensure(expected.as_u64() == Some(bytes as u64), || format!("{bytes} bytes, not {expected}"))?;
    let nse = data["nse"].as_u64();
    ensure(nse == Some(tensor.nse() as u64), || format!("nse {}", tensor.nse()))
}

pub(super) fn coo_bytes(data: &Value) -> Verdict {
    let tensor = large("COO")?;
    has_bytes(&tensor, &data["coo_bytes"], 2 * 8, data)?;
    let dense = data["strided_bytes"].as_u64();
    ensure(dense == Some(10_000 * 10_000 * 4), || format!("{dense:?} dense bytes"))?;
    let ratio = dense.zip(data["coo_bytes"].as_u64()).map(|(dense, coo)| dense / coo);
    ensure(ratio == data["ratio"].as_u64(), || format!("a ratio of {ratio:?}"))
}

pub(super) fn csr_bytes(data: &Value) -> Verdict {
    has_bytes(&large("CSR")?, &data["csr_bytes"], 8, data)
}

pub(super) fn hybrid_shapes(_: &Value) -> Verdict {
    let input = inputs(3, 1, 0).swap_remove(1);
    let tensor = Tensor::from_coo(&input.coo, &format("HybridCOO")?)?;
    let shape = tensor.block_shape();
    ensure(shape.len() == 2 && shape[1] == input.coo.shape[2], || format!("values {shape:?}"))?;
    for level in [0, 1] {
        let count = indices(&tensor, level, Role::Coordinate).len();
        ensure(count == shape[0], || format!("level {level} has {count} coordinates"))?;
    }
    Ok(())
}

/// The rules of a compressed level's positions are checked.
pub(super) fn compressed_invariants(_: &Value) -> Verdict {
    let csr = format("CSR")?;
    let take = |pos: Vec<i32>, crd: Vec<i32>| {
        let values: Values = vec![1.0; crd.len()].into();
        Tensor::from_parts(
            &csr,
            &[2, 3],
            Parts::new(vec![vec![], vec![pos.into(), crd.into()]], values),
        )
    };
    ensure(take(vec![0, 1, 3], vec![2, 0, 1]).is_ok(), || "valid arrays are refused".to_owned())?;
    for (what, pos, crd) in [
        ("too short", vec![0, 3], vec![0, 1, 2]),
        ("does not begin at 0", vec![1, 1, 3], vec![2, 0, 1]),
        ("does not end at nse", vec![0, 1, 2], vec![2, 0, 1]),
        ("descends", vec![0, 4, 3], vec![2, 0, 1]),
        ("more than there are columns", vec![0, 0, 4], vec![0, 1, 2, 2]),
    ] {
        ensure(take(pos, crd).is_err(), || format!("accepted, though pos {what}"))?;
    }
    Ok(())
}

pub(super) fn block_values(_: &Value) -> Verdict {
    let format: Format = format("BSR(2, 3)")?;
    let tensor = Tensor::from_coo(&inputs(2, 1, 0).swap_remove(4).coo, &format)?;
    let blocks = indices(&tensor, 1, Role::Coordinate).len();
    let shape = tensor.block_shape();
    ensure(shape == [blocks, 2, 3], || format!("values {shape:?} of {blocks} blocks"))?;
    let typed = ust_level_api::with_dtype!(tensor.dtype(), T => {
        tensor.block_view::<T>().map(|view| view.shape().to_vec())
    })?;
    ensure(typed == shape, || format!("the view has shape {typed:?}"))
}
