//! One cell of the matrix: an operation on an input in a format, with its operands made.

use ust::level_api::assemble::fill;
use ust::tensor::{Parts, StoredElement};
use ust::{Coo, Dtype, Format, Tensor};

use super::input::{Input, base_format};
use super::operation::{Operation, Task, accesses};

/// Everything that a contender needs to know.
pub struct Case<'a> {
    /// What is done.
    pub op: &'static Operation,
    /// With what.
    pub input: &'a Input,
    /// The operands' format, as reports call it.
    pub format: String,
    /// Dtype of every operand.
    pub dtype: Dtype,
    /// Threads that contenders may use.
    pub threads: usize,
    /// The operands by name, those that are stored in the format of the case.
    pub operands: Vec<(String, Tensor)>,
    /// The same operands in the base format: CSR, or the tree of compressed dimensions.
    pub base: Vec<(String, Tensor)>,
    /// The result's format, where it is not dense.
    pub target: Option<Format>,
    /// Shape of the result.
    pub shape: Vec<usize>,
    /// Unsorted entries, where those are the operand.
    pub entries: Option<Coo>,
}

impl Case<'_> {
    /// The first operand: the input, in the format of the case.
    ///
    /// # Panics
    /// Of a [`Task::Build`], whose operand is the entries.
    pub fn first(&self) -> &Tensor {
        &self.operands[0].1
    }

    /// The values of the n-th operand: all elements, row-major, of a dense one.
    pub fn values<T: StoredElement>(&self, at: usize) -> Option<&[T]> {
        self.operands.get(at)?.1.values().typed::<T>().ok()
    }

    /// The expression of the operation, where it is one.
    pub fn expression(&self) -> Option<&'static str> {
        match self.op.task {
            Task::Expression { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The name, extents and so on, for reports.
    pub fn label(&self) -> String {
        let (op, input, dtype) = (self.op.name, &self.input.name, self.dtype);
        format!("{op} {input} {} {dtype} {}t", self.format, self.threads)
    }

    /// Bytes that must move at least, without the result.
    pub fn operand_bytes(&self) -> usize {
        let entries = self.entries.as_ref().map_or(0, |coo| coo.len() * (8 * coo.shape.len() + 8));
        entries + self.operands.iter().map(|(_, t)| t.bytes()).sum::<usize>()
    }
}

/// The operands of an operation on an input, in the base format, which all its cases share.
pub(crate) struct Shared {
    operands: Vec<(String, Tensor)>,
    shape: Vec<usize>,
}

/// Makes the operands, or says nothing where the input does not suit.
pub(crate) fn shared(
    op: &Operation,
    input: &Input,
    dtype: Dtype,
) -> Result<Option<Shared>, Box<dyn std::error::Error>> {
    let rank = input.coo.shape.len();
    if rank != op.rank {
        return Ok(None);
    }
    let first = || Tensor::from_coo(&input.coo, &base_format(rank)?)?.cast(dtype);
    let Task::Expression { text, stored, .. } = op.task else {
        let shape = input.coo.shape.clone();
        return Ok(Some(Shared { operands: vec![("A".to_owned(), first()?)], shape }));
    };
    let accesses = accesses(text)?;
    let mut extents: Vec<(String, usize)> =
        op.extents.iter().map(|&(index, extent)| (index.to_owned(), extent)).collect();
    let first_stored = stored.first().ok_or("the operation stores no operand")?;
    let sparse = accesses.iter().find(|(name, _)| name == first_stored);
    let indices = &sparse.ok_or("the expression lacks its stored operand")?.1;
    extents.extend(indices.iter().cloned().zip(input.coo.shape.iter().copied()));
    // A matrix times itself: its columns are its rows.
    if text.matches(first_stored).count() > 1 && input.coo.shape.windows(2).any(|w| w[0] != w[1]) {
        return Ok(None);
    }
    let extent = |index: &String| {
        extents.iter().find(|(i, _)| i == index).map_or(input.coo.shape[0], |&(_, n)| n)
    };
    let shape_of = |indices: &[String]| indices.iter().map(extent).collect::<Vec<_>>();
    let mut operands = Vec::new();
    for (at, (name, indices)) in accesses[1..].iter().enumerate() {
        let tensor = match stored.iter().position(|s| s == name) {
            Some(0) => first()?,
            Some(_) => Tensor::from_coo(&shifted(&input.coo), &base_format(rank)?)?.cast(dtype)?,
            None => dense(&shape_of(indices), at as u64)?.cast(dtype)?,
        };
        operands.push((name.clone(), tensor));
    }
    let shape = shape_of(&accesses[0].1);
    Ok(Some(Shared { operands, shape }))
}

/// Puts the stored operands into a format.
pub(crate) fn case<'a>(
    op: &'static Operation,
    input: &'a Input,
    (name, format): (&str, &Format),
    (dtype, threads): (Dtype, usize),
    shared: &Shared,
) -> Result<Case<'a>, Box<dyn std::error::Error>> {
    let mut operands = shared.operands.clone();
    let mut entries = None;
    let target = match op.task {
        Task::Expression { stored, sparse, .. } => {
            for (name, tensor) in &mut operands {
                if stored.contains(&name.as_str()) {
                    *tensor = tensor.convert(format)?;
                }
            }
            sparse.then(|| format.clone())
        }
        Task::Build(to) => {
            entries = Some(unsorted(&shared.operands[0].1.to_coo()?));
            operands.clear();
            Some(to.parse()?)
        }
        Task::Convert(from, to) => {
            operands[0].1 = operands[0].1.convert(from)?;
            Some(to.parse()?)
        }
        Task::Read => Some("CSR".parse()?),
    };
    Ok(Case {
        op,
        input,
        format: name.to_owned(),
        dtype,
        threads,
        operands,
        base: shared.operands.clone(),
        target,
        shape: shared.shape.clone(),
        entries,
    })
}

/// A dense tensor of numbers between 1/2 and 1, in large pages where it is large: as NumPy's arrays.
fn dense(shape: &[usize], seed: u64) -> Result<Tensor, ust::Error> {
    let values = fill(shape.iter().product(), |at| weight(at as u64 + 1000 * (seed + 1)));
    let format = Format::resolve("Dense", Some(shape.len()))?;
    let levels = vec![Vec::new(); format.level_count()];
    Tensor::from_parts(&format, shape, Parts::new(levels, values))
}

/// A number in 1/2 .. 1 that depends on another as if by chance.
pub(crate) fn weight(at: u64) -> f64 {
    let mixed = at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    0.5 + mixed as f64 / f64::from(1 << 25)
}

/// Half of the entries where they were, half four columns to the right: blocks and bands stay such.
fn shifted(coo: &Coo) -> Coo {
    let (rows, columns) = (&coo.crd[0], &coo.crd[1]);
    let last = coo.shape[1] as i64;
    let moved = |at: usize| columns[at] + if (rows[at] / 4) % 2 == 0 { 0 } else { 4 };
    let kept: Vec<u64> =
        (0..coo.len()).filter(|&at| moved(at) < last).map(|at| at as u64).collect();
    let row = kept.iter().map(|&at| rows[at as usize]).collect();
    let column = kept.iter().map(|&at| moved(at as usize)).collect();
    let values = coo.values.gather(&kept);
    Coo { shape: coo.shape.clone(), crd: vec![row, column], values }
}

/// The entries in an order as if by chance, every tenth twice.
fn unsorted(coo: &Coo) -> Coo {
    let n = coo.len() as u64;
    let mut order: Vec<u64> =
        (0..n + n / 10).map(|at| if at < n { at } else { (at - n) * 10 }).collect();
    for at in (1..order.len()).rev() {
        let mixed = (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
        order.swap(at, (mixed % (at as u64 + 1)) as usize);
    }
    let gather = |column: &Vec<i64>| order.iter().map(|&at| column[at as usize]).collect();
    let crd = coo.crd.iter().map(gather).collect();
    Coo { shape: coo.shape.clone(), crd, values: coo.values.gather(&order) }
}
