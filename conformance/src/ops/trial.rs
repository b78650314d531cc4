//! One evaluation with its tensors, compared with plain evaluation on every back end.

use std::collections::BTreeMap;
use std::fmt;

use ust_engine::ops::{CancelToken, Einsum, OpError, einsum, oracle};
use ust_engine::tensor::{BuildOptions, Tensor, Window};
use ust_engine::{Backend, Coo, Error, Format};
use ust_level_api::{Dtype, Element, LevelError, Scalar, with_dtype};

use super::compare::agrees;
use super::table::Operation;
use crate::oracle::{everywhere, values_of};
use crate::report::{Trouble, Verdict, ensure, guarded, wrong};
use crate::suite::is_want_of_room;

/// A tensor to be stored.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) name: String,
    /// The index of each dimension, where it is used first.
    pub(super) indices: Vec<String>,
    pub(super) format: Format,
    pub(super) coo: Coo,
    pub(super) fill: Scalar,
    /// What of it the operation is shown: all, where there are none.
    pub(super) windows: Vec<Window>,
}

impl Given {
    pub(super) fn store(&self) -> Result<Tensor, Error> {
        let options = BuildOptions { fill: Some(self.fill), ..BuildOptions::default() };
        let tensor = Tensor::from_coo_with(&self.coo, &self.format, &options)?;
        if self.windows.is_empty() { Ok(tensor) } else { tensor.slice(&self.windows) }
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, format, coo, fill, windows, .. } = self;
        write!(f, "{name}: {} {:?} in `{format}`", coo.values.dtype(), coo.shape)?;
        if !fill.same(&fill.dtype().zero()) {
            write!(f, ", fill {fill}")?;
        }
        for (dim, Window { offset, size, stride }) in windows.iter().enumerate() {
            write!(f, ", dimension {dim} from {offset}, {size} by {stride}")?;
        }
        write!(f, ", {} entries", coo.len())?;
        const SHOWN: usize = 24;
        for (at, value) in coo.values.iter().enumerate().take(SHOWN) {
            write!(f, " {:?}={value}", coo.coordinates(at))?;
        }
        if coo.len() > SHOWN { write!(f, " ...") } else { Ok(()) }
    }
}

/// What runs the loops, on how many threads.
pub(super) type Run = (Backend, usize);

/// An operation on tensors.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// What it is called, to be tried alone.
    pub(super) id: String,
    pub(super) operation: Operation,
    /// The extent of every index.
    pub(super) extents: BTreeMap<String, usize>,
    /// Indices that no operand has.
    pub(super) absent: Vec<String>,
    pub(super) operands: Vec<Given>,
    /// What an update begins with. Its dtype is that of what it is combined with.
    pub(super) old: Option<Given>,
    /// The format of the result, or the one that is inferred.
    pub(super) format: Option<Format>,
    pub(super) runs: Vec<Run>,
}

/// How a trial went that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Went {
    /// Every back end gave what plain evaluation gives.
    Well,
    /// The format of the result has no room for it.
    NoRoom,
}

impl Trial {
    fn call(&self, tensors: &[Tensor]) -> Einsum {
        let call = einsum(self.operation.text);
        let call = self
            .operands
            .iter()
            .zip(tensors)
            .fold(call, |call, (given, tensor)| call.arg(&given.name, tensor));
        self.absent.iter().fold(call, |call, name| call.extent(name, self.extents[name]))
    }

    /// Evaluates on every back end. Trouble says on which, and what is wrong.
    pub(super) fn check(&self) -> Result<Went, Trouble> {
        let tensors: Vec<Tensor> =
            self.operands.iter().map(Given::store).collect::<Result<_, _>>()?;
        let computed = oracle::evaluate(&self.call(&tensors))?;
        let old = match &self.old {
            Some(old) => Some(old.store()?.cast(computed.dtype())?),
            None => None,
        };
        let expected = match &old {
            Some(old) => self.combined(&tensors, old, &computed)?,
            None => computed,
        };
        for &(backend, threads) in &self.runs {
            let call = || {
                let call = self.call(&tensors).backend(backend).threads(threads);
                // What may be cancelled runs in many parts, however little there is to do.
                let call = if threads > 1 { call.cancel(&CancelToken::new()) } else { call };
                self.format.iter().fold(call, Einsum::format)
            };
            let went = guarded(|| self.compare(&call, old.as_ref(), &expected));
            match went.map_err(|trouble| on(backend, threads, trouble))? {
                Went::Well => {}
                Went::NoRoom => return Ok(Went::NoRoom),
            }
        }
        Ok(Went::Well)
    }

    /// What an update comes to, by plain evaluation. What a mask leaves out stays as it was.
    fn combined(
        &self,
        tensors: &[Tensor],
        old: &Tensor,
        computed: &Tensor,
    ) -> Result<Tensor, OpError> {
        let (before, _) = self.operation.text.split_once('=').expect("an update");
        let (target, sign) = before.rsplit_once(' ').expect("a space before the sign");
        let names = target.find('(').map_or("()", |from| {
            &target[from..=from + target[from..].find(')').expect("indices in parentheses")]
        });
        let (a, b) = (format!("a{names}"), format!("b{names}"));
        let both = match sign {
            "min" | "max" => format!("{sign}({a}, {b})"),
            _ => format!("{a} {sign} {b}"),
        };
        let Some(mask) = target.find('<').map(|from| &target[from..]) else {
            let call = einsum(&format!("r{names} = {both}")).arg("a", old).arg("b", computed);
            return oracle::evaluate(&call);
        };
        let indices = names[1..names.len() - 1].split(',');
        let call = einsum(&format!("r{names}{mask} = 1"));
        let call = indices.fold(call, |call, index| call.extent(index, self.extents[index]));
        let used = |given: &Given| mask.contains(&format!("{}(", given.name));
        let operands = self.operands.iter().zip(tensors).filter(|(given, _)| used(given));
        let call = operands.fold(call, |call, (given, tensor)| call.arg(&given.name, tensor));
        let inside = oracle::evaluate(&call)?;
        let text = format!("r{names} = where(inside{names} != 0, {both}, {a})");
        let call = einsum(&text).arg("a", old).arg("b", computed).arg("inside", &inside);
        oracle::evaluate(&call)
    }

    fn compare(
        &self,
        call: &dyn Fn() -> Einsum,
        old: Option<&Tensor>,
        expected: &Tensor,
    ) -> Result<Went, Trouble> {
        let evaluated = match old {
            Some(old) => {
                let mut target = old.clone();
                call().update(&mut target).map(|()| target)
            }
            None => call().run(),
        };
        match evaluated {
            Ok(found) => agrees(&found, expected)?,
            Err(OpError::Tensor(error)) if self.has_no_room(&error) => return Ok(Went::NoRoom),
            // It was asked for everything, whatever it is for.
            Err(OpError::Tensor(Error::Refused { .. })) => return Ok(Went::Well),
            Err(error) => return wrong(format!("refused: {error}")),
        }
        if old.is_none() && self.format.is_none() && expected.rank() > 0 {
            into_memory(call(), expected)?;
        }
        Ok(Went::Well)
    }

    /// Whether the format that was asked for lacks room, in a level of fixed capacity or for wide
    /// numbers.
    fn has_no_room(&self, error: &Error) -> bool {
        let formats = self.format.iter().chain(self.old.as_ref().map(|old| &old.format));
        let lacks = |format: &Format| match error {
            Error::Level { level, .. } if *level >= format.level_count() => false,
            Error::Level { source: LevelError::Width { .. }, .. } => format.pos_width() == 8,
            _ => is_want_of_room(format, error),
        };
        formats.into_iter().any(lacks)
    }
}

fn on(backend: Backend, threads: usize, trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Wrong(text) => {
            let plural = if threads == 1 { "" } else { "s" };
            Trouble::Wrong(format!("{backend:?}, {threads} thread{plural}: {text}"))
        }
        excluded @ Trouble::Excluded(_) => excluded,
    }
}

/// Into memory that is full of something else.
fn into_memory(call: Einsum, expected: &Tensor) -> Verdict {
    let Ok(dense) = Format::resolve("Dense", Some(expected.rank())) else {
        // The level type is not linked.
        return Ok(());
    };
    with_dtype!(expected.dtype(), T => {
        let count = expected.shape().iter().product();
        let poison = T::from_scalar(poison(T::DTYPE)).expect("of the dtype");
        let mut out: Vec<T> = vec![poison; count];
        match call.format(&dense).run_into(&mut out) {
            Ok(()) => {}
            // It may be one for sparse results.
            Err(OpError::Tensor(Error::Refused { .. })) => return Ok(()),
            Err(error) => return wrong(format!("into memory: refused: {error}")),
        }
        let array = expected.to_dense::<T>()?;
        let places = everywhere(expected.shape());
        for ((place, a), b) in places.iter().zip(&out).zip(array.iter()) {
            let (a, b): (Scalar, Scalar) = ((*a).into(), (*b).into());
            ensure(oracle::close(a, b), || {
                format!("into memory: the element at {place:?} is {a}, not {b}")
            })?;
        }
        Ok(())
    })
}

fn poison(dtype: Dtype) -> Scalar {
    [Scalar::F64(f64::NAN), Scalar::I64(77), Scalar::Bool(true)]
        .iter()
        .filter(|s| dtype.is_float() || dtype.is_complex() || s.dtype() != Dtype::F64)
        .find_map(|s| s.cast(dtype).ok())
        .unwrap_or(dtype.one())
}

/// Coordinates and values as columns.
pub(super) fn columns(
    shape: &[usize],
    dtype: Dtype,
    places: &[Vec<usize>],
    values: &[Scalar],
) -> Coo {
    let column = |dim: usize| places.iter().map(|place| place[dim] as i64).collect();
    Coo {
        shape: shape.to_vec(),
        crd: (0..shape.len()).map(column).collect(),
        values: values_of(dtype, values),
    }
}
