//! Statements about building, reading and converting.

use ndarray::{ArrayD, IxDyn};
use serde_json::Value;
use ust_engine::tensor::{Parts, Tensor, Window};
use ust_engine::{Coo, Dtype, Error, Format, einsum};
use ust_level_api::Scalar;

use super::super::read::{format, integers, numbers, same_entries};
use crate::inputs::inputs;
use crate::oracle::{Model, everywhere};
use crate::report::{Trouble, Verdict, ensure};

/// CSR that keeps what it is given: rows unsorted, with duplicates.
fn uncoalesced() -> Result<Format, Trouble> {
    let csr = format("CSR")?;
    let types: Vec<&str> = csr.descriptions().iter().map(|level| level.text.as_str()).collect();
    format(&format!("(i, j) -> (i : {}, j : {}(nonunique, nonordered))", types[0], types[1]))
}

fn csr_parts(pos: Vec<i64>, crd: Vec<i64>, values: Vec<f64>) -> Parts {
    Parts::new(vec![vec![], vec![pos.into(), crd.into()]], values)
}

/// From a dense array, another tensor, nothing, coordinates, arrays.
pub(super) fn constructors(_: &Value) -> Verdict {
    let csr = format("CSR")?;
    let coo = Coo::new(vec![2, 3], vec![vec![1, 0], vec![0, 2]], vec![3.0, 2.0])?;
    let expected = Tensor::from_coo(&coo, &csr)?;
    let array = ArrayD::from_shape_vec(IxDyn(&[2, 3]), vec![0.0, 0.0, 2.0, 3.0, 0.0, 0.0])?;
    let made = [
        ("an array", Tensor::from_dense(&array, &csr)?),
        ("sparse", Tensor::from_coo(&coo, &format("CSC")?)?.convert(&csr)?),
        (
            "arrays",
            Tensor::from_parts(
                &csr,
                &[2, 3],
                csr_parts(vec![0, 1, 2], vec![2, 0], vec![2.0, 3.0]),
            )?,
        ),
        ("coordinates", Tensor::from_coo(&Coo::inferred(coo.crd.clone(), vec![3.0, 2.0])?, &csr)?),
    ];
    for (what, tensor) in made {
        ensure(tensor == expected, || format!("from {what}: {tensor}"))?;
    }
    let nothing = Tensor::zeros(&[3, 4], &csr, Dtype::F64)?;
    ensure((nothing.nse(), nothing.shape()) == (0, &[3, 4][..]), || "zeros".to_owned())
}

pub(super) fn unsorted_rows(_: &Value) -> Verdict {
    let parts = || csr_parts(vec![0, 3, 5], vec![1, 0, 2, 0, 2], vec![2.0, 1.0, 3.0, 4.0, 5.0]);
    ensure(Tensor::from_parts(&format("CSR")?, &[2, 3], parts()).is_err(), || {
        "CSR, which is ordered, takes unsorted rows".to_owned()
    })?;
    let tensor = Tensor::from_parts(&uncoalesced()?, &[2, 3], parts())?;
    ensure(tensor.get(&[0, 0])?.same(&Scalar::F64(1.0)), || "element [0, 0]".to_owned())?;
    let sorted = tensor.sort_indices()?;
    let crd = sorted.crd(1).map(ust_level_api::IndexArray::to_vec);
    ensure(crd == Some(vec![0, 1, 2, 0, 2]), || format!("sorted, crd is {crd:?}"))
}

pub(super) fn duplicates_are_kept_then_summed(_: &Value) -> Verdict {
    let parts = csr_parts(vec![0, 3, 3], vec![2, 0, 2], vec![1.0, 5.0, 3.0]);
    let tensor = Tensor::from_parts(&uncoalesced()?, &[2, 3], parts)?;
    ensure(tensor.nse() == 3, || "duplicates are not kept".to_owned())?;
    ensure(tensor.get(&[0, 2])?.same(&Scalar::F64(4.0)), || "reading does not sum".to_owned())?;
    let summed = tensor.sum_duplicates()?;
    let crd = summed.crd(1).map(ust_level_api::IndexArray::to_vec);
    ensure(crd == Some(vec![0, 2]), || format!("summed, crd is {crd:?}"))?;
    ensure(summed.values().typed::<f64>()? == [5.0, 4.0], || "other sums".to_owned())
}

pub(super) fn cancelled_sums_are_kept(data: &Value) -> Verdict {
    let values = numbers(&data["duplicates"], Dtype::F64)?;
    let places = vec![0; values.len()];
    let coo = Coo::new(vec![2, 3], vec![places.clone(), places], values)?;
    let tensor = Tensor::from_coo(&coo, &uncoalesced()?)?;
    let untouched = tensor.eliminate_zeros()?;
    ensure(untouched.nse() == coo.len(), || "values that cancel are dropped singly".to_owned())?;
    let summed = tensor.sum_duplicates()?;
    let sum = numbers(&data["sum"], Dtype::F64)?.get(0);
    ensure(summed.nse() == 1 && summed.values().get(0) == sum, || format!("{summed}"))?;
    ensure(summed.eliminate_zeros()?.nse() == 0, || "the zero stays".to_owned())
}

const LAYOUTS: [&str; 6] = ["COO", "CSR", "CSC", "BSR(2, 3)", "BSC(2, 3)", "Dense"];

pub(super) fn every_layout(_: &Value) -> Verdict {
    let input = inputs(2, 1, 0).swap_remove(1);
    for from in LAYOUTS {
        let tensor = Tensor::from_coo(&input.coo, &format(from)?)?;
        for to in LAYOUTS {
            let converted = tensor.convert(&format(to)?)?;
            same_entries(&converted, &input.coo)?;
            let back = converted.convert(tensor.format())?;
            ensure(back == tensor, || format!("{from} to {to} and back is another tensor"))?;
        }
    }
    let semi = inputs(2, 1, 0).swap_remove(0);
    same_entries(&Tensor::from_coo(&semi.coo, &format("2:4")?)?, &semi.coo)
}

/// A product's result is the same whatever the formats of its factors.
pub(super) fn products_do_not_depend_on_formats(_: &Value) -> Verdict {
    let matrix = inputs(2, 1, 0).swap_remove(1);
    let vector = Tensor::from_array(ArrayD::from_shape_fn(IxDyn(&[7]), |at| at[0] as f64 - 2.5))?;
    let model = matrix.model();
    for name in LAYOUTS {
        let a = Tensor::from_coo(&matrix.coo, &format(name)?)?;
        for x in [vector.clone(), vector.convert(&format("SparseVector")?)?] {
            let y = einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", x).run()?;
            for i in 0..5 {
                let mut expected = 0.0;
                for j in 0..7 {
                    if let (Scalar::F64(a), Scalar::F64(x)) =
                        (model.value(&[i, j]), vector.get(&[j])?)
                    {
                        expected += a * x;
                    }
                }
                // Halves of small numbers: every sum is exact in any order.
                let found = y.get(&[i])?;
                ensure(found.same(&Scalar::F64(expected)), || {
                    format!("{name}: y({i}) is {found}, not {expected}")
                })?;
            }
        }
    }
    Ok(())
}

/// Shapes are inferred from coordinates, one column a dimension.
pub(super) fn shapes_are_inferred(_: &Value) -> Verdict {
    let coo = Coo::inferred(vec![vec![0, 1, 1], vec![2, 0, 2]], vec![3.0, 4.0, 5.0])?;
    ensure(coo.shape == [2, 3], || format!("shape {:?}", coo.shape))?;
    let ragged = Coo::new(vec![2, 3], vec![vec![0, 1], vec![2]], vec![3.0, 4.0]);
    ensure(matches!(ragged, Err(Error::Columns { .. })), || "ragged columns".to_owned())
}

pub(super) fn duplicates_mean_their_sum(_: &Value) -> Verdict {
    for input in inputs(2, 1, 0).into_iter().filter(|input| input.name == "duplicates") {
        let tensor = Tensor::from_coo(&input.coo, &uncoalesced()?)?;
        let model = input.model();
        ensure(tensor.nse() == input.coo.len(), || "duplicates are not kept".to_owned())?;
        for place in everywhere(&input.coo.shape) {
            let (found, expected) = (tensor.get(&place)?, model.value(&place));
            ensure(found.same(&expected), || format!("{place:?} is {found}, not {expected}"))?;
        }
    }
    Ok(())
}

pub(super) fn coalesced(_: &Value) -> Verdict {
    let parts = csr_parts(vec![0, 3, 3], vec![2, 0, 2], vec![1.0, 5.0, 3.0]);
    let tensor = Tensor::from_parts(&uncoalesced()?, &[2, 3], parts)?;
    ensure(!tensor.is_coalesced()?, || "it is said to be coalesced".to_owned())?;
    let coalesced = tensor.coalesce()?;
    ensure(coalesced.is_coalesced()?, || "coalesced, it is not".to_owned())?;
    let entries: Vec<_> = coalesced.entries()?.map(|entry| entry.coordinates).collect();
    ensure(entries == [[0, 0], [0, 2]], || format!("entries at {entries:?}"))
}

pub(super) fn indexing(data: &Value) -> Verdict {
    let values = vec![3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    let rows = vec![vec![0, 0, 1, 1, 1, 1], vec![2, 2, 0, 0, 2, 2], vec![0, 1, 0, 1, 0, 1]];
    let tensor = Tensor::from_coo(&Coo::new(vec![2, 3, 2], rows, values)?, &format("HybridCOO")?)?;
    let expected = numbers(&data["s[1,0,1]"], Dtype::F64)?.get(0);
    ensure(Some(tensor.get(&[1, 0, 1])?) == expected, || "s[1, 0, 1]".to_owned())?;
    let one = |offset| Window { offset, size: 1, stride: 1 };
    let view = tensor.slice([one(1), one(0), one(1)])?;
    let expected = numbers(&data["s[1,0,1:]"], Dtype::F64)?.get(0);
    ensure(Some(view.get(&[0, 0, 0])?) == expected, || "s[1, 0, 1:]".to_owned())
}

pub(super) fn zeros_are_missing(_: &Value) -> Verdict {
    let array = ArrayD::from_shape_vec(IxDyn(&[2, 2]), vec![0.0, 1.0, 0.0, 0.0])?;
    for name in ["CSR", "CSC"] {
        let tensor = Tensor::from_dense(&array, &format(name)?)?;
        ensure(tensor.nse() == 1, || format!("{name} stores {}", tensor.nse()))?;
    }
    Ok(())
}

/// The arrays of a CSR matrix, taken as CSC, are its transpose.
pub(super) fn transposes_share_arrays(data: &Value) -> Verdict {
    let list = |path: &str| data.pointer(path).and_then(integers).unwrap_or_default();
    let parts = || -> Result<Parts, Trouble> {
        let values = numbers(&data["values"], Dtype::F64)?;
        let arrays = vec![vec![], vec![list("/compressed").into(), list("/plain").into()]];
        Ok(Parts::new(arrays, values))
    };
    let csr = Tensor::from_parts(&format("CSR")?, &[2, 2], parts()?)?;
    let csc = Tensor::from_parts(&format("CSC")?, &[2, 2], parts()?)?;
    for place in everywhere(&[2, 2]) {
        let (a, b) = (csr.get(&place)?, csc.get(&[place[1], place[0]])?);
        ensure(a.same(&b), || format!("{place:?} is {a}, transposed {b}"))?;
    }
    ensure(csr.nse() == 4, || "not all is stored".to_owned())
}

/// `D * S` is the transpose of `S' * D'`.
pub(super) fn dense_times_sparse(_: &Value) -> Verdict {
    let sparse = Tensor::from_coo(&inputs(2, 1, 0).swap_remove(1).coo, &format("CSR")?)?;
    let dense = ArrayD::from_shape_fn(IxDyn(&[4, 5]), |at| at[0] as f64 - at[1] as f64 / 2.0);
    let dense = Tensor::from_array(dense)?;
    let product = |text: &str| einsum(text).arg("S", &sparse).arg("D", &dense).run();
    let straight = product("C(i,j) = D(i,k) * S(k,j)")?;
    let turned = product("C(j,i) = S(k,j) * D(i,k)")?;
    let model = Model::of_tensor(&straight)?;
    for place in everywhere(&[4, 7]) {
        let (a, b) = (model.value(&place), turned.get(&[place[1], place[0]])?);
        ensure(a.same(&b), || format!("{place:?} is {a}, transposed {b}"))?;
    }
    ensure(!model.is_empty(), || "the product is empty".to_owned())
}
