//! The formats that a level type offers when somebody asks for advice.

use ust_advise as advise;
use ust_engine::{Coo, Format, Tensor};
use ust_level_api::stats::TensorStats;

use crate::report::{Trouble, Verdict, ensure, wrong};
use crate::samples::Sample;

/// Shapes, and which places have an entry: full, few in each group, along diagonals, hardly any,
/// none.
type Looks = (&'static [usize], fn(&[usize]) -> bool);

const LOOKS: [Looks; 9] = [
    (&[8, 8], |_| true),
    (&[8, 8], |at| at[1] % 4 < 2),
    (&[8, 16], |at| at[1] % 8 == at[0] % 8),
    (&[12, 12], |at| at[0].abs_diff(at[1]) < 2),
    (&[40, 40], |at| (at[0] * 40 + at[1]) % 97 == 0),
    (&[5, 7], |_| false),
    (&[0, 3], |_| true),
    (&[16], |at| at[0] % 4 < 2),
    (&[4, 3, 8], |at| at[2] % 4 == 1),
];

/// Every format offered can be read, has the tensor's rank and the level type in it, and takes the
/// tensor.
pub(super) fn can_be_built(sample: &Sample) -> Verdict {
    for (shape, stored) in LOOKS {
        let coo = tensor(shape, stored)?;
        let stats = looks(&coo)?;
        for text in sample.ty.candidates(&stats) {
            offered(sample, &coo, &text).map_err(|trouble| match trouble {
                Trouble::Wrong(found) => Trouble::Wrong(format!(
                    "for a tensor {shape:?} with {} entries, `candidates` offers `{text}`: {found}",
                    stats.entries
                )),
                excluded @ Trouble::Excluded(_) => excluded,
            })?;
        }
    }
    Ok(())
}

fn offered(sample: &Sample, coo: &Coo, text: &str) -> Verdict {
    let format: Format = match text.parse() {
        Ok(format) => format,
        Err(error) => return wrong(format!("expected format text, came an error: {error}")),
    };
    let (found, expected) = (format.rank(), coo.shape.len());
    ensure(found == expected, || format!("expected rank {expected}, came rank {found}"))?;
    let name = sample.description.name;
    ensure(format.descriptions().iter().any(|level| level.name == name), || {
        format!("expected a format with a level of type `{name}`, and none of its levels is")
    })?;
    match Tensor::from_coo(coo, &format) {
        Ok(_) => Ok(()),
        Err(error) => wrong(format!("expected that the tensor can be stored in it, came: {error}")),
    }
}

fn tensor(shape: &[usize], stored: fn(&[usize]) -> bool) -> Result<Coo, Trouble> {
    let places: Vec<Vec<usize>> =
        crate::oracle::everywhere(shape).into_iter().filter(|at| stored(at)).collect();
    let column = |dim: usize| places.iter().map(|at| at[dim] as i64).collect();
    let columns: Vec<Vec<i64>> = (0..shape.len()).map(column).collect();
    Ok(Coo::new(shape.to_vec(), columns, vec![1.0; places.len()])?)
}

/// What is known of a tensor when formats are asked for; where no level type is linked in which it
/// could be looked at, the least.
fn looks(coo: &Coo) -> Result<TensorStats, Trouble> {
    match Format::resolve("COO", Some(coo.shape.len())) {
        Ok(format) => Ok(advise::stats(&Tensor::from_coo(coo, &format)?)?),
        Err(_) => Ok(TensorStats {
            shape: coo.shape.clone(),
            entries: coo.len() as u64,
            value_bytes: 8,
            ..TensorStats::default()
        }),
    }
}
