//! Who computes. A contender registers itself here; those of this crate have a file each.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use ust::Tensor;
use ust::gpu::Gpu;
use ust::tensor::StoredElement;

use super::case::{Case, weight};

/// Somebody who computes.
pub struct Contender {
    /// The name, for `--contender` and reports.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Gets ready for a case: everything that happens before the clock starts.
    pub prepare: fn(&Case<'_>, &Surroundings) -> Prepared,
}

inventory::collect!(Contender);

/// Which version of another's work a contender is, for reports.
pub struct Version {
    /// The contender's name.
    pub contender: &'static str,
    /// The version, where it can be told.
    pub of: fn(&Surroundings) -> Option<String>,
}

inventory::collect!(Version);

/// The versions of the contenders that are wanted, by name, as far as they can be told.
pub(crate) fn versions(wanted: &[String], around: &Surroundings) -> BTreeMap<&'static str, String> {
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    inventory::iter::<Version>()
        .filter(|version| is_wanted(version.contender))
        .filter_map(|version| Some((version.contender, (version.of)(around)?)))
        .collect()
}

/// Ready to be timed; `None` from those who do not do this, and why it failed.
pub type Prepared = Result<Option<Box<dyn Runner>>, String>;

/// What contenders find around them.
pub struct Surroundings {
    /// Folders in which shared libraries are looked for.
    pub libraries: Vec<PathBuf>,
    /// The Python that has the packages to compare with.
    pub python: Option<PathBuf>,
    /// Whether inputs are small, so that slow contenders may take part.
    pub quick: bool,
    /// The GPU, if a contender was asked for that needs one, and if one can be opened.
    pub gpu: Option<Gpu>,
    /// A folder for files that contenders share.
    pub folder: PathBuf,
}

impl Surroundings {
    /// The name of the case's input as part of a file's name.
    pub fn stem(&self, case: &Case<'_>) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        case.input.name.chars().map(plain).collect()
    }

    /// Where the case's input stands as a Matrix Market file, once somebody has written it.
    pub fn mtx(&self, case: &Case<'_>) -> PathBuf {
        self.folder.join(format!("{}.mtx", self.stem(case)))
    }
}

/// A piece of work that can be repeated.
pub trait Runner {
    /// Does it so many times, and tells the seconds that all of them took.
    fn time(&mut self, calls: usize) -> Result<f64, String>;

    /// Does it once, and tells the result, reduced to a number for each row (see [`Rows`]).
    fn outcome(&mut self) -> Result<Vec<f64>, String>;

    /// The bytes of the result, where the runner knows them.
    fn result_bytes(&self) -> Option<usize> {
        None
    }
}

/// A runner in this process: a state, the work on it, and what came out.
struct InProcess<S, W, O> {
    state: S,
    work: W,
    outcome: O,
}

/// A runner that does its work on a state in this process.
pub fn runner<S, W, O>(state: S, work: W, outcome: O) -> Prepared
where
    S: 'static,
    W: FnMut(&mut S) -> Result<(), String> + 'static,
    O: FnMut(&S) -> Result<Vec<f64>, String> + 'static,
{
    Ok(Some(Box::new(InProcess { state, work, outcome })))
}

/// A runner that makes something in each call. What the call before made is gone by then, for all
/// contenders alike: what is kept takes room in the caches.
pub fn remade<R: 'static>(
    mut make: impl FnMut() -> Result<R, String> + 'static,
    mut outcome: impl FnMut(&R) -> Result<Vec<f64>, String> + 'static,
) -> Prepared {
    let work = move |made: &mut Option<R>| {
        *made = None;
        *made = Some(make()?);
        Ok(())
    };
    runner(None, work, move |made: &Option<R>| outcome(made.as_ref().ok_or("no result")?))
}

impl<S, W, O> Runner for InProcess<S, W, O>
where
    W: FnMut(&mut S) -> Result<(), String>,
    O: FnMut(&S) -> Result<Vec<f64>, String>,
{
    fn time(&mut self, calls: usize) -> Result<f64, String> {
        let start = Instant::now();
        for _ in 0..calls {
            (self.work)(&mut self.state)?;
        }
        Ok(start.elapsed().as_secs_f64())
    }

    fn outcome(&mut self) -> Result<Vec<f64>, String> {
        (self.work)(&mut self.state)?;
        (self.outcome)(&self.state)
    }
}

/// A result of any size as a number for each row: the sum of its elements, each times a weight that
/// depends on the column. Vectors stay as they are.
pub struct Rows(Vec<f64>);

impl Rows {
    /// No elements yet.
    pub fn new(rows: usize) -> Self {
        Self(vec![0.0; rows])
    }

    /// Adds an element of a matrix.
    pub fn add(&mut self, row: usize, column: usize, value: f64) {
        self.0[row] += value * weight(column as u64);
    }

    /// Sets an element of a vector.
    pub fn set(&mut self, row: usize, value: f64) {
        self.0[row] = value;
    }

    /// The numbers.
    pub fn numbers(self) -> Vec<f64> {
        self.0
    }

    /// Of a dense result, row-major.
    pub fn of_dense<T: StoredElement + Into<f64>>(shape: &[usize], values: &[T]) -> Vec<f64> {
        let columns = match shape {
            [_, columns] => *columns,
            _ => return values.iter().map(|&v| v.into()).collect(),
        };
        let mut rows = Self::new(shape[0]);
        for (at, &value) in values.iter().enumerate() {
            rows.add(at / columns, at % columns, value.into());
        }
        rows.numbers()
    }

    /// Of compressed rows.
    pub fn of_csr<P, C, T>(pos: &[P], crd: &[C], values: &[T]) -> Vec<f64>
    where
        P: Copy + TryInto<usize>,
        C: Copy + TryInto<usize>,
        T: Copy + Into<f64>,
    {
        let at = |p: P| p.try_into().unwrap_or(0);
        let mut rows = Self::new(pos.len() - 1);
        for row in 0..pos.len() - 1 {
            for here in at(pos[row])..at(pos[row + 1]) {
                rows.add(row, crd[here].try_into().unwrap_or(0), values[here].into());
            }
        }
        rows.numbers()
    }

    /// Of a tensor in any format.
    pub fn of_tensor(tensor: &Tensor) -> Result<Vec<f64>, String> {
        let coo = tensor.to_coo().map_err(|e| e.to_string())?;
        let values = coo.values.cast(ust::Dtype::F64).map_err(|e| e.to_string())?;
        let values = values.typed::<f64>().map_err(|e| e.to_string())?;
        let mut rows = Self::new(coo.shape[0]);
        for (at, &value) in values.iter().enumerate() {
            match &coo.crd[..] {
                [row] => rows.set(row[at] as usize, value),
                [row, column] => rows.add(row[at] as usize, column[at] as usize, value),
                _ => return Err("results of more than two dimensions are not compared".to_owned()),
            }
        }
        Ok(rows.numbers())
    }
}

/// Runs an expression with a type for the case's dtype, which is `f64` or `f32`.
macro_rules! with_real {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            ust::Dtype::F64 => {
                type $t = f64;
                $body
            }
            ust::Dtype::F32 => {
                type $t = f32;
                $body
            }
            _ => Ok(None),
        }
    };
}
pub(crate) use with_real;

/// The contenders in the order of their names, this project first.
pub(crate) fn contenders(wanted: &[String]) -> Vec<&'static Contender> {
    let mut all: Vec<_> = inventory::iter::<Contender>()
        .filter(|c| wanted.is_empty() || wanted.iter().any(|w| w == c.name))
        .collect();
    all.sort_by_key(|c| (!c.name.starts_with("ust"), c.name));
    all
}
