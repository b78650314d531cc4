//! Lines of format text, as others print them.

use serde_json::Value;
use ust_engine::tensor::Tensor;
use ust_engine::{Coo, Format};

use super::read::{format, same_entries};
use crate::oracle::everywhere;
use crate::report::{Verdict, ensure, wrong};

/// A line parses, stores a small tensor, and gives it back.
pub(super) fn try_line(case: &Value) -> Verdict {
    let Some(text) = case["text"].as_str() else { return wrong("a line without text") };
    let sliced = format(text)?;
    for printed in [sliced.to_string(), sliced.to_mlir()] {
        let again: Format = printed.parse()?;
        ensure(again == sliced, || format!("`{printed}` reads back as `{again}`"))?;
    }
    let whole = sliced.without_slices();
    // Large enough for every slice, and no multiple of any block; two in each group of four.
    let shape = &[9, 10, 6][..whole.rank()];
    let places: Vec<Vec<usize>> = everywhere(shape)
        .into_iter()
        .filter(|place| place.iter().enumerate().all(|(dim, c)| c % 4 == dim || c % 4 == 3))
        .collect();
    let column = |dim: usize| places.iter().map(|place| place[dim] as i64).collect();
    let values: Vec<f64> = (1..=places.len()).map(|n| n as f64).collect();
    let coo = Coo::new(shape.to_vec(), (0..shape.len()).map(column).collect(), values)?;
    let tensor = Tensor::from_coo(&coo, &whole)?;
    same_entries(&tensor, &coo)?;
    let (format, shape, parts) = tensor.clone().into_parts();
    ensure(Tensor::from_parts(&format, &shape, parts)? == tensor, || "its parts differ".into())?;
    if sliced.has_slices() {
        ensure(Tensor::from_coo(&coo, &sliced).is_err(), || {
            "a tensor is built in a sliced format".to_owned()
        })?;
    }
    Ok(())
}
