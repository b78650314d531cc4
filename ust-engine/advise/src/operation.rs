//! The operation that formats compete in, and its operands.

use ust_engine::error::Error;
use ust_engine::ops::syntax::Access;
use ust_engine::ops::{Argument, Expression, Kernel, OpError, Operand, Semiring, einsum};
use ust_engine::tensor::{Tensor, Values};
use ust_engine::{Composed, Format, with_values};
use ust_level_api::stats::TensorStats;
use ust_level_api::{Dtype, Scalar};

use super::AdviseError;
use super::predict::Load;

/// The extent of an index that no tensor at hand has.
const NEW: usize = 32;

/// An expression with its operands, but for the one that is looked at.
pub(super) struct Operation {
    pub(super) text: String,
    /// The name of the tensor that is looked at.
    pub(super) name: String,
    /// What `+` and `*` mean in it, where it says so.
    pub(super) semiring: Option<Semiring>,
    others: Vec<(String, Tensor)>,
    /// Multiplications for each of its values.
    work: f64,
    threads: Option<usize>,
    /// As many threads for conversions, where there are not to be more.
    pool: Option<rayon::ThreadPool>,
    limit: u64,
}

/// What is done by default with a tensor: its last dimension is contracted with a vector.
#[must_use]
pub fn default_operation(rank: usize) -> String {
    let index = |dim: usize| match u8::try_from(dim) {
        Ok(at) if rank <= 12 => char::from(b'i' + at).to_string(),
        _ => format!("d{dim}"),
    };
    let all: Vec<String> = (0..rank).map(index).collect();
    let Some((last, leading)) = all.split_last() else { return "s = A".to_owned() };
    let result = match leading.len() {
        0 => "s".to_owned(),
        1 => format!("y({})", leading[0]),
        _ => format!("C({})", leading.join(",")),
    };
    // An index has no name that a tensor has.
    let vector = if all.iter().any(|index| index == "x") { "v" } else { "x" };
    format!("{result} = A({}) * {vector}({last})", all.join(","))
}

impl Operation {
    /// Reads the expression, finds the tensor in it, and makes the operands that are not given.
    pub(super) fn new(
        text: &str,
        tensor: &Tensor,
        given: &[(String, Tensor)],
        threads: Option<usize>,
        limit: u64,
    ) -> Result<Self, AdviseError> {
        let expression = Expression::parse(text)?;
        if expression.is_update() {
            return Err(AdviseError::Update { operation: text.to_owned() });
        }
        let accesses = expression.accesses();
        let names = expression.operands();
        let is_free = |access: &&Access| given.iter().all(|(name, _)| *name != access.name);
        let fits = |access: &&Access| access.indices.len() == tensor.rank() && is_free(access);
        let by_name = accesses.iter().filter(is_free).find(|access| access.name == "A");
        let found = by_name.or_else(|| accesses.iter().find(fits)).filter(fits);
        let Some(place) = found else {
            let operation = text.to_owned();
            return Err(AdviseError::NoPlace { operation, rank: tensor.rank() });
        };
        if let Some((name, _)) = given.iter().find(|(name, _)| !names.contains(name)) {
            let (operation, name) = (text.to_owned(), name.clone());
            return Err(AdviseError::Stranger { operation, name, known: names });
        }
        let mut extents: Vec<(String, usize)> = Vec::new();
        let mut learn = |indices: &[String], shape: &[usize]| {
            for (index, &extent) in indices.iter().zip(shape) {
                if !extents.iter().any(|(known, _)| known == index) {
                    extents.push((index.clone(), extent));
                }
            }
        };
        learn(&place.indices, tensor.shape());
        for access in &accesses {
            if let Some((_, tensor)) = given.iter().find(|(name, _)| *name == access.name) {
                learn(&access.indices, tensor.shape());
            }
        }
        let extent = |index: &String| {
            extents.iter().find(|(known, _)| known == index).map_or(NEW, |&(_, extent)| extent)
        };
        let mut others = Vec::new();
        for name in names.iter().filter(|name| **name != place.name) {
            let known = given.iter().find(|(given, _)| given == name);
            let made = || -> Result<Tensor, Error> {
                let access = accesses.iter().find(|access| access.name == *name);
                let indices = access.map_or(&[][..], |access| &access.indices);
                dense(&indices.iter().map(extent).collect::<Vec<_>>(), tensor.dtype(), limit)
            };
            let tensor = known.map_or_else(made, |(_, tensor)| Ok(tensor.clone()))?;
            others.push((name.clone(), tensor));
        }
        let mut new: Vec<&String> = accesses
            .iter()
            .flat_map(|access| &access.indices)
            .filter(|index| !place.indices.contains(index))
            .collect();
        new.sort();
        new.dedup();
        let work = new.into_iter().map(|index| extent(index) as f64).product();
        let (text, name) = (text.to_owned(), place.name.clone());
        let semiring = expression.semiring.as_ref().and_then(|(name, _)| Semiring::named(name));
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok();
        let pool = threads.and_then(pool);
        Ok(Self { text, name, semiring, others, work, threads, pool, limit })
    }

    /// The tensor as it is converted to formats: a whole one, without duplicates, with the semiring's zero where nothing is
    /// stored.
    pub(super) fn source(&self, tensor: &Tensor, stats: &TensorStats) -> Result<Tensor, OpError> {
        let source = match tensor.format() {
            format if format.has_slices() => tensor.convert(format.without_slices())?,
            _ if stats.duplicates > 0 => tensor.sum_duplicates()?,
            _ => tensor.clone(),
        };
        match &self.semiring {
            Some(semiring) => Ok(semiring.operand(&source)?),
            None => Ok(source),
        }
    }

    /// A tensor in another format.
    pub(super) fn convert(&self, tensor: &Tensor, format: &Format) -> Result<Tensor, Error> {
        self.within(|| tensor.convert(format))
    }

    /// Does something with no more threads than the operation has.
    pub(super) fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// What predictions have to know.
    pub(super) fn load(&self) -> Load {
        let threads = self.threads.unwrap_or_else(rayon::current_num_threads);
        Load {
            work: self.work.max(1.0),
            other_bytes: self.others.iter().map(|(_, tensor)| tensor.bytes() as f64).sum(),
            threads: threads.min(rayon::current_num_threads()) as f64,
        }
    }

    pub(super) fn prepare(&self, tensor: impl Argument) -> Result<Kernel, OpError> {
        let mut call = einsum(&self.text).arg(&self.name, tensor).memory_limit(self.limit);
        for (name, other) in &self.others {
            call = call.arg(name, other);
        }
        if let Some(threads) = self.threads {
            call = call.threads(threads);
        }
        call.prepare()
    }

    /// The tensor and the other operands, as kernels take them.
    fn given<'a>(&'a self, tensor: &'a Tensor) -> Vec<&'a Tensor> {
        let others = self.others.iter().map(|(_, other)| other);
        [tensor].into_iter().chain(others).collect()
    }

    /// As [`Operation::run`], with a composed tensor.
    pub(super) fn run_composed(
        &self,
        kernel: &Kernel,
        composed: &Composed,
        into: &mut Option<Values>,
    ) -> Result<(), OpError> {
        let others = self.others.iter().map(|(_, other)| Operand::from(other));
        let given: Vec<Operand<'_>> = [composed.into()].into_iter().chain(others).collect();
        match into {
            Some(values) => {
                with_values!(values, out => kernel.run_with_into(&given, out.make_mut()))
            }
            None => kernel.run_with(&given).map(drop),
        }
    }

    /// The result; into the memory given, where there is some.
    pub(super) fn run(
        &self,
        kernel: &Kernel,
        tensor: &Tensor,
        into: &mut Option<Values>,
    ) -> Result<(), OpError> {
        let given = self.given(tensor);
        match into {
            Some(values) => with_values!(values, out => kernel.run_into(&given, out.make_mut())),
            None => kernel.run(&given).map(drop),
        }
    }

    /// Memory for results where they are stored in full, as whoever does the same again and again has
    /// it. It depends on the shapes alone.
    pub(super) fn room(&self, kernel: &Kernel, tensor: &Tensor) -> Result<Option<Values>, OpError> {
        let result = kernel.run(&self.given(tensor))?;
        let full = Format::resolve("Dense", Some(result.rank()));
        Ok(full.is_ok_and(|full| *result.format() == full).then(|| Values::from(&result)))
    }
}

/// A tensor of numbers that every floating dtype holds exactly; ones where it is of integers.
fn dense(shape: &[usize], dtype: Dtype, limit: u64) -> Result<Tensor, Error> {
    let cells = shape.iter().try_fold(1_usize, |cells, &extent| cells.checked_mul(extent));
    let fits = |&cells: &usize| (cells as u64).saturating_mul(8) <= limit;
    let Some(cells) = cells.filter(fits) else {
        let text = format!("an operand of shape {shape:?} is beyond the memory limit");
        return Err(Error::TooLarge(text));
    };
    let values = match dtype.is_float() || dtype.is_complex() {
        false => Values::filled(dtype.one(), cells),
        true => {
            let word = |at: usize| (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61;
            let number = |at| 0.125 + word(at) as f64 / 8.0;
            Values::from((0..cells).map(number).collect::<Vec<f64>>()).cast(dtype)?
        }
    };
    if shape.is_empty() {
        return Tensor::from_scalar(values.get(0).unwrap_or(Scalar::F64(1.0)));
    }
    with_values!(values, buffer => {
        let array = ndarray::ArrayD::from_shape_vec(shape.to_vec(), buffer.to_vec());
        let array = array.map_err(|error| Error::TooLarge(error.to_string()))?;
        Tensor::from_array(array)?.convert(&Format::resolve("Dense", Some(shape.len()))?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_dimension_is_contracted_by_default() {
        assert_eq!(default_operation(1), "s = A(i) * x(i)");
        assert_eq!(default_operation(2), "y(i) = A(i,j) * x(j)");
        assert_eq!(default_operation(3), "C(i,j) = A(i,j,k) * x(k)");
        for rank in 1..20 {
            let read = Expression::parse(&default_operation(rank)).unwrap();
            assert_eq!(read.accesses()[0].indices.len(), rank);
        }
    }
}
