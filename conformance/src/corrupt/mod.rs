//! Arrays of unknown origin: every small damage is refused, or does no harm.
//!
//! A stored tensor is taken apart, one thing in its arrays is spoilt, and the parts are offered to
//! [`Tensor::from_parts`]. Some damage can only be a mistake and must be refused; other damage may
//! by chance make another valid tensor, which must then behave like one: every walk and every
//! search stays inside the arrays, every coordinate inside the shape.

pub(crate) mod damage;

use damage::{Anatomy, Damage};
use ust_engine::tensor::{Parts, Tensor};
use ust_engine::walk::nest::Reach;
use ust_engine::walk::unpack::{Column, Keep, unpack};
use ust_engine::{Error, Format};
use ust_level_api::{IndexArray, Scalar};

use crate::inputs::Input;
use crate::oracle::{Model, Random, values_of};
use crate::report::{Case, Trouble, Verdict, ensure, guarded, wrong};

/// Sets of random arrays offered to each format.
const HOSTILE: usize = 30;
/// Damages tried on each tensor, at most.
const MOST: usize = 150;

/// Spoils tensors in one format.
pub(crate) fn cases(format: &Format, inputs: &[Input], seed: u64) -> Vec<Case> {
    let name = format.to_string();
    let mut random = Random::new(seed);
    let mut cases = Vec::new();
    for (group, certain) in [("corrupt/refuse", true), ("corrupt/harmless", false)] {
        let mut tried = 0;
        let case = Case::run(group, &name, || {
            for input in inputs.iter().filter(|input| worth_spoiling(input)) {
                let Ok(tensor) = input.store(format) else { continue };
                tried += spoil(&tensor, certain, &mut random).map_err(|trouble| match trouble {
                    Trouble::Wrong(text) => Trouble::Wrong(format!("{}: {text}", input.label())),
                    excluded @ Trouble::Excluded(_) => excluded,
                })?;
            }
            Ok(())
        });
        cases.push(case.with_tried(tried));
    }
    cases.push(Case::run("corrupt/shape", &name, || misfits(format, inputs)));
    let hostile = Case::run("corrupt/random", &name, || {
        (0..HOSTILE).try_for_each(|_| hostile(format, &mut random))
    });
    cases.push(hostile.with_tried(HOSTILE));
    cases
}

/// Small enough to spoil in many ways, and not so small that nothing is there.
fn worth_spoiling(input: &Input) -> bool {
    matches!(input.name, "spread" | "sparse" | "another fill" | "duplicates")
}

/// Spoils a tensor in every way, one at a time: in those that break a rule for certain, or in the
/// others. Gives how many were tried.
fn spoil(tensor: &Tensor, certain: bool, random: &mut Random) -> Result<usize, Trouble> {
    let (format, shape, parts) = tensor.clone().into_parts();
    let mut damages = damage::all(tensor, &Anatomy::of(tensor)?);
    damages.retain(|damage| damage.breaks.is_some() == certain);
    random.shuffle(&mut damages);
    damages.truncate(MOST);
    for Damage { what, level, array, contents, breaks } in &damages {
        let mut spoilt = parts.clone();
        spoilt.levels[*level][*array] = contents.clone();
        let verdict = guarded(|| {
            let refused = offer(&format, &shape, spoilt)?;
            ensure(refused || breaks.is_none(), || {
                let rule = breaks.unwrap_or_default();
                format!("expected: its `check` refuses that, because {rule}; came: it is accepted")
            })
        });
        if let Err(Trouble::Wrong(text)) = verdict {
            let name = format.descriptions()[*level].arrays[*array].name;
            let (was, is) = (parts.levels[*level][*array].to_vec(), contents.to_vec());
            return wrong(format!(
                "of level {level} (`{}`), the array `{name}` was changed, {what}: {text}\n\
                 {was:?} -> {is:?}",
                format.level_text(*level)
            ));
        }
    }
    Ok(damages.len())
}

/// Offers parts to a format: whether they are refused. What is accepted must behave.
fn offer(format: &Format, shape: &[usize], parts: Parts) -> Result<bool, Trouble> {
    let tensor = match Tensor::from_parts(format, shape, parts) {
        Ok(tensor) => tensor,
        Err(error) => {
            ensure(!matches!(error, Error::Run(_) | Error::Malformed(_)), || {
                format!("the check itself failed: {error}")
            })?;
            ensure(error.to_string().len() > 10, || format!("refused with `{error}`"))?;
            return Ok(true);
        }
    };
    behaves(&tensor)?;
    Ok(false)
}

/// Whatever is done with an accepted tensor stays inside arrays and shape.
fn behaves(tensor: &Tensor) -> Verdict {
    let harm = |error: Error| Trouble::Wrong(format!("accepted, and then: {error}"));
    let coo = tensor.to_coo().map_err(harm)?;
    for (column, &extent) in coo.crd.iter().zip(tensor.shape()) {
        let outside = column.iter().find(|&&c| c < 0 || c as u64 >= extent as u64);
        ensure(outside.is_none(), || format!("accepted, with a coordinate {outside:?}"))?;
    }
    let room = 2 * tensor.nse() + 64;
    unpack(tensor, Reach::Everything, &[Column::Value], Keep::All, room).map_err(harm)?;
    let model = Model::of_coo(&coo, tensor.fill());
    for place in model.everywhere() {
        let (found, listed) = (tensor.get(&place).map_err(harm)?, model.value(&place));
        ensure(found.same(&listed), || {
            format!("{place:?} is read as {found}, listed as {listed}")
        })?;
    }
    let nnz = coo.values.iter().filter(|value| !value.same(&tensor.fill())).count();
    ensure(tensor.nnz() == nnz, || format!("nnz is {}, not {nnz}", tensor.nnz()))?;
    let again = tensor.sum_duplicates();
    ensure(!matches!(again, Err(Error::Run(_))), || "it cannot be sorted".to_owned())?;
    let copy = tensor.format().with_widths(64, 64).map(|wide| tensor.convert(&wide));
    ensure(!matches!(copy, Ok(Err(Error::Run(_)))), || "it cannot be converted".to_owned())
}

/// Too few or too many arrays and values, kinds that do not belong, another shape.
fn misfits(format: &Format, inputs: &[Input]) -> Verdict {
    let Some(tensor) = inputs.iter().find_map(|input| input.store(format).ok()) else {
        return Ok(());
    };
    let (_, shape, parts) = tensor.clone().into_parts();
    let refuses = |what: &str, shape: &[usize], parts: Parts| {
        guarded(|| match offer(format, shape, parts)? {
            true => Ok(()),
            false => wrong(format!("{what} is accepted")),
        })
    };
    let change = |change: &dyn Fn(&mut Parts)| {
        let mut changed = parts.clone();
        change(&mut changed);
        changed
    };
    let dtype = tensor.dtype();
    let resized = |len: usize| values_of(dtype, &vec![dtype.one(); len]);
    refuses("one value more", &shape, change(&|p| p.values = resized(tensor.nse() + 1)))?;
    if tensor.nse() > 0 {
        refuses("one value less", &shape, change(&|p| p.values = resized(tensor.nse() - 1)))?;
    }
    refuses("one level more", &shape, change(&|p| p.levels.push(Vec::new())))?;
    let longer: Vec<usize> = shape.iter().copied().chain([2]).collect();
    refuses("a shape of another rank", &longer, parts.clone())?;
    if let Some(last) = format.level_count().checked_sub(1) {
        refuses("one level less", &shape, change(&|p| drop(p.levels.pop())))?;
        let extra = || IndexArray::from(vec![0_u32]);
        refuses("one array more", &shape, change(&|p| p.levels[last].push(extra())))?;
    }
    for (level, description) in format.descriptions().iter().enumerate() {
        for (array, spec) in description.arrays.iter().enumerate() {
            refuses("one array less", &shape, change(&|p| drop(p.levels[level].remove(array))))?;
            let stored = &parts.levels[level][array];
            if let Some(kind) = damage::foreign_kind(spec, format)
                && let Ok(other) = IndexArray::store(kind, &vec![0; stored.len()], "", "")
            {
                let what = format!("{} as {kind}", spec.name);
                refuses(&what, &shape, change(&|p| p.levels[level][array] = other.clone()))?;
            }
        }
    }
    let alien = if dtype.is_complex() { Scalar::U8(1) } else { Scalar::Complex128(complex()) };
    if alien.cast(dtype).is_err() {
        refuses("a fill value of another kind", &shape, change(&|p| p.fill = Some(alien)))?;
    }
    Ok(())
}

fn complex() -> ust_level_api::scalar::Complex<f64> {
    ust_level_api::scalar::Complex::new(0.0, 1.0)
}

/// Arrays that nobody made, of any length.
fn hostile(format: &Format, random: &mut Random) -> Verdict {
    let shape: Vec<usize> = (0..format.rank()).map(|_| random.below(5) as usize).collect();
    let number = |random: &mut Random| match random.below(12) {
        0 => -1,
        1 => i64::from(i32::MAX),
        2 => i64::MAX,
        3 => i64::MIN,
        _ => random.below(6) as i64,
    };
    let sorted = random.percent(70);
    let mut array = |spec: &ust_level_api::ArraySpec| {
        let mut numbers: Vec<i64> = (0..random.below(8)).map(|_| number(random)).collect();
        if sorted {
            numbers.sort_unstable();
            if let Some(first) = numbers.first_mut() {
                *first = 0;
            }
        }
        damage::store(spec, numbers)
    };
    let levels: Vec<Vec<IndexArray>> = format
        .descriptions()
        .iter()
        .map(|level| level.arrays.iter().map(&mut array).collect())
        .collect();
    let values = vec![1.5; random.below(12) as usize];
    let seen = format!("{shape:?}, {levels:?}, {} values", values.len());
    guarded(|| offer(format, &shape, Parts::new(levels, values))).map(|_| ()).map_err(|trouble| {
        match trouble {
            Trouble::Wrong(text) => Trouble::Wrong(format!("{text}\n{seen}")),
            excluded @ Trouble::Excluded(_) => excluded,
        }
    })
}
