//! Trials drawn at random: shapes, entries, formats, from one number.

use std::collections::BTreeMap;

use ust_engine::ops::Expression;
use ust_engine::ops::syntax::Access;
use ust_engine::tensor::Window;
use ust_engine::{Backend, Coo, Error, Format, Values};
use ust_level_api::{Dtype, LevelError, Scalar};

use super::Spec;
use super::pool::{Pool, pick};
use super::table::Operation;
use super::trial::{Given, Run, Trial, columns};
use crate::inputs::{alike, number};
use crate::oracle::{Random, everywhere};
use crate::report::{Trouble, guarded, wrong};
use crate::suite::is_want_of_room;

/// No extent of a small tensor is larger: linearised levels have factors of 8.
const MOST: usize = 8;
/// The largest extent of an index, by the number of indices.
const EXTENTS: [usize; 7] = [7, 7, 7, 6, 5, 4, 3];
/// For tensors that are large enough for several threads.
const LARGE: [usize; 7] = [0, 30_000, 300, 48, 18, 9, 6];

/// What holds for all trials of a run.
pub(super) struct Drawing<'a> {
    pub(super) pool: &'a Pool,
    pub(super) seed: u64,
    /// Every back end on one and two threads, or two of these in turn.
    pub(super) every_run: bool,
    /// Whether some operand has a format without a name.
    pub(super) other: bool,
    /// The one back end that is tried.
    pub(super) backend: Option<Backend>,
}

const BACKENDS: [Run; 8] = [
    (Backend::JIT, 1),
    (Backend::INTERPRETER, 1),
    (Backend::CHECKED_JIT, 2),
    (Backend::Auto, 2),
    (Backend::JIT, 2),
    (Backend::CHECKED_JIT, 1),
    (Backend::Auto, 1),
    (Backend::INTERPRETER, 2),
];

/// Back ends that are linked beside those of the engine, on one and two threads. They may refuse.
fn strangers() -> impl Iterator<Item = Run> {
    let known = BACKENDS.map(|(backend, _)| backend);
    let named = ust_engine::provider::names().into_iter().map(Backend::Named);
    let others = named.filter(move |backend| !known.contains(backend));
    others.flat_map(|backend| [(backend, 1), (backend, 2)])
}

impl Drawing<'_> {
    /// The trial of a specification: always the same one.
    pub(super) fn trial(&self, id: &str, spec: &Spec) -> Result<Trial, Trouble> {
        let mut random = Random::new(self.seed ^ hash(id));
        let operation = *spec.operation();
        let expression = Expression::parse(operation.text)?;
        let all = expression.accesses();
        let accesses = distinct(all.clone());
        let result = &expression.result.indices;
        let large = matches!(spec, Spec::Large(..));
        let extents = extents(&all, result, large, &mut random);
        let (dtypes, chosen) = (self.dtypes(spec, &operation, &mut random), spec.formats());
        let mask = expression.mask.as_ref().map(|mask| mask.access.name.as_str());
        let exact = random.percent(50);
        let mut operands = Vec::new();
        for (at, access) in accesses.iter().enumerate() {
            let is_mask = mask == Some(&access.name)
                && all.iter().filter(|used| used.name == access.name).count() == 1;
            let dtype = match is_mask && random.percent(50) {
                true => Dtype::Bool,
                false => dtypes[at % dtypes.len()],
            };
            let subject = Subject {
                access,
                dtype,
                large,
                exact: exact || dtype.bytes() < 4,
                may_fill: !is_mask && operation.family != "semiring",
                format: chosen.get(at).cloned(),
                other: self.other && at == 0,
            };
            operands.push(self.given(&subject, &extents, &mut random)?);
        }
        let rank = result.len();
        let old = match expression.is_update() {
            true => {
                let access = &expression.result;
                let dtype = dtypes[0];
                let subject = Subject {
                    access,
                    dtype,
                    large,
                    exact: exact || dtype.bytes() < 4,
                    may_fill: false,
                    format: None,
                    other: false,
                };
                Some(self.given(&subject, &extents, &mut random)?)
            }
            false => None,
        };
        let format = match random.percent(70) && rank > 0 {
            true => {
                let shape: Vec<usize> = result.iter().map(|name| extents[name]).collect();
                let drawn = self.pool.draw(rank, false, &mut random);
                let drawn = drawn.map(|f| if large { f } else { widths(f, &mut random) });
                // A linearised map takes no large shape, a level of fixed capacity no full row.
                drawn.filter(|format| format.bind(&shape).is_ok() && (format.has_room() || !large))
            }
            false => None,
        };
        let first = random.below(BACKENDS.len() as u64) as usize;
        let runs = match self.every_run {
            true => BACKENDS.to_vec(),
            false => vec![BACKENDS[first], BACKENDS[(first + 1) % BACKENDS.len()]],
        };
        // A level type of unknown merit: what it emits may be wrong, and is checked as it runs.
        let runs = match self.other {
            true => vec![(Backend::CHECKED_JIT, 2), (Backend::INTERPRETER, 1)],
            false => runs,
        };
        let runs = match large && !self.other {
            // The interpreter is slow, and runs nothing on two threads.
            true => vec![(Backend::JIT, 1), (Backend::Auto, 2), (Backend::CHECKED_JIT, 2)],
            false => runs,
        };
        let runs = match self.backend {
            Some(backend) => vec![(backend, 1)],
            None => runs.into_iter().chain(strangers()).collect(),
        };
        let is_given = |name: &String| accesses.iter().any(|access| access.indices.contains(name));
        let absent = result.iter().filter(|name| !is_given(name)).cloned().collect();
        Ok(Trial { id: id.to_owned(), operation, extents, absent, operands, old, format, runs })
    }

    /// The dtypes of the operands in turn.
    fn dtypes(&self, spec: &Spec, operation: &Operation, random: &mut Random) -> Vec<Dtype> {
        match spec {
            Spec::Dtype(_, dtype) => vec![*dtype],
            Spec::Promote(_, a, b) => vec![*a, *b],
            _ => {
                let all = operation.numbers.dtypes();
                // Half of the trials are of the dtype that shows most.
                match all.contains(&Dtype::F64) && random.percent(50) {
                    true => vec![Dtype::F64],
                    false => pick(&all, random).copied().into_iter().collect(),
                }
            }
        }
    }

    /// A tensor for one operand, that its format has room for.
    fn given(
        &self,
        subject: &Subject<'_>,
        extents: &BTreeMap<String, usize>,
        random: &mut Random,
    ) -> Result<Given, Trouble> {
        let rank = subject.access.indices.len();
        for attempt in 0..8 {
            let format = subject
                .format
                .clone()
                .filter(|_| attempt == 0)
                .or_else(|| self.pool.draw(rank, subject.other && attempt < 4, random));
            let Some(format) = format else {
                return wrong(format!("no format of rank {rank} is linked"));
            };
            let format = if random.percent(20) { widths(format, random) } else { format };
            let mut given = subject.draw(format, extents, random);
            if given.format.batches() > 0 {
                given.coo = alike(&given.coo, &given.format);
            }
            let refused = |why: &dyn std::fmt::Display| {
                wrong(format!("an operand is refused: {given}: {why}"))
            };
            let stored = match guarded(|| Ok(given.store())) {
                Ok(stored) => stored,
                Err(Trouble::Wrong(text)) => return refused(&text),
                Err(excluded @ Trouble::Excluded(_)) => return Err(excluded),
            };
            match stored {
                Ok(_) => return Ok(given),
                Err(error) if is_want_of_room(&given.format, &error) => {
                    given.thin();
                    match guarded(|| Ok(given.store())) {
                        Ok(Ok(_)) => return Ok(given),
                        Ok(Err(_)) => {}
                        Err(Trouble::Wrong(text)) => {
                            return wrong(format!("an operand is refused: {given}: {text}"));
                        }
                        Err(excluded @ Trouble::Excluded(_)) => return Err(excluded),
                    }
                }
                Err(Error::Level { source: LevelError::Width { .. }, .. }) => {}
                // A map that the shape is too large for.
                Err(Error::Format(_)) if subject.large => {}
                Err(error) => return refused(&error),
            }
        }
        wrong(format!("no format holds `{}`", subject.access.name))
    }
}

/// What is known of an operand before it is drawn.
struct Subject<'a> {
    access: &'a Access,
    dtype: Dtype,
    large: bool,
    /// Whether values are such that sums and products of them are not rounded.
    exact: bool,
    may_fill: bool,
    format: Option<Format>,
    other: bool,
}

impl Subject<'_> {
    fn draw(
        &self,
        format: Format,
        extents: &BTreeMap<String, usize>,
        random: &mut Random,
    ) -> Given {
        let Access { name, indices, .. } = self.access;
        let shape: Vec<usize> = indices.iter().map(|index| extents[index]).collect();
        let (shape, windows) = match !self.large && !shape.is_empty() && random.percent(15) {
            true => sliced(&shape, random),
            false => (shape, Vec::new()),
        };
        let density = if self.large { 5 + random.below(30) } else { random.below(101) };
        let mut places: Vec<Vec<usize>> =
            everywhere(&shape).into_iter().filter(|_| random.percent(density)).collect();
        if !format.is_unique() && random.percent(50) {
            let again: Vec<_> = places.iter().filter(|_| random.percent(30)).cloned().collect();
            places.extend(again);
        }
        random.shuffle(&mut places);
        let zeros = if random.percent(25) { 20 } else { 0 };
        let values: Vec<Scalar> = places
            .iter()
            .map(|_| match random.percent(zeros) {
                true => self.dtype.zero(),
                false => self.value(random),
            })
            .collect();
        let fill = match self.may_fill && random.percent(15) {
            true => self.value(random),
            false => self.dtype.zero(),
        };
        let mut coo = columns(&shape, self.dtype, &places, &values);
        // One value for all entries is stored once.
        if let (Some(value), true) = (coo.values.get(0), random.percent(12)) {
            coo.values = Values::iso(value, coo.len());
        }
        Given { name: name.clone(), indices: indices.clone(), format, coo, fill, windows }
    }

    fn value(&self, random: &mut Random) -> Scalar {
        if self.exact {
            return number(self.dtype, random);
        }
        let mut real = || (random.below(1 << 20) as f64 + 0.5) / f64::from(1 << 18) - 2.0;
        let (re, im) = (real(), real());
        let complex = Scalar::Complex128(ust_engine::Complex::new(re, im));
        let tries = if self.dtype.is_complex() { complex } else { Scalar::F64(re) };
        let fits = self.dtype.is_float() || self.dtype.is_complex();
        let rounded = match (fits, self.dtype) {
            (true, Dtype::F32) => Some(Scalar::F32(re as f32)),
            (true, Dtype::Complex64) => {
                Some(Scalar::Complex64(ust_engine::Complex::new(re as f32, im as f32)))
            }
            (true, _) => tries.cast(self.dtype).ok(),
            (false, _) => None,
        };
        rounded.unwrap_or_else(|| number(self.dtype, random))
    }
}

impl Given {
    /// Leaves a few entries far from each other: what levels with little room can hold.
    fn thin(&mut self) {
        let keep = (0..self.coo.len())
            .filter(|&at| self.coo.coordinates(at).iter().all(|c| c % 4 == 0))
            .collect::<Vec<_>>();
        self.keep(&keep);
    }

    /// Leaves the entries at some places of the list.
    pub(super) fn keep(&mut self, places: &[usize]) {
        let rows: Vec<Vec<usize>> = places.iter().map(|&at| self.coo.coordinates(at)).collect();
        let places: Vec<u64> = places.iter().map(|&at| at as u64).collect();
        let values = self.coo.values.gather(&places);
        self.coo = Coo { values, ..columns(&self.coo.shape, self.coo.values.dtype(), &rows, &[]) };
    }
}

/// The same format in any width.
fn widths(format: Format, random: &mut Random) -> Format {
    let mut width = || [0, 0, 8, 16, 32, 64][random.below(6) as usize];
    format.with_widths(width(), width()).unwrap_or(format)
}

/// A larger shape, and a window of the wanted shape on it.
fn sliced(shape: &[usize], random: &mut Random) -> (Vec<usize>, Vec<Window>) {
    let each = shape.iter().map(|&size| {
        let (offset, stride) = (random.below(3) as usize, 1 + random.below(2) as usize);
        let shown = size.saturating_sub(1) * stride + size.min(1);
        let whole = offset + shown + random.below(2) as usize;
        let window = |offset: usize, stride: usize| Window {
            offset: offset as u64,
            size: size as u64,
            stride: stride as u64,
        };
        match whole <= MOST {
            true => (whole, window(offset, stride)),
            false => (size, window(0, 1)),
        }
    });
    each.unzip()
}

/// The first access of each tensor.
fn distinct(accesses: Vec<Access>) -> Vec<Access> {
    let mut first: Vec<Access> = Vec::new();
    for access in accesses {
        if first.iter().all(|other| other.name != access.name) {
            first.push(access);
        }
    }
    first
}

/// An extent for every index: those that stand for the same dimension of a tensor have the same.
fn extents(
    accesses: &[Access],
    result: &[String],
    large: bool,
    random: &mut Random,
) -> BTreeMap<String, usize> {
    let mut names: Vec<&String> = Vec::new();
    for name in result.iter().chain(accesses.iter().flat_map(|access| &access.indices)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let most = if large { LARGE } else { EXTENTS }[names.len().min(6)] as u64;
    let mut extents: BTreeMap<String, usize> = BTreeMap::new();
    for name in &names {
        let extent = match random.below(100) {
            _ if large => most - random.below(1 + most / 4),
            0..3 => 0,
            3..12 => 1,
            _ => 1 + random.below(most),
        };
        extents.insert((*name).clone(), extent as usize);
    }
    // As often as there are names, a chain of equals is followed to its end.
    for _ in &names {
        for (at, access) in accesses.iter().enumerate() {
            let first = accesses[..at].iter().find(|other| other.name == access.name);
            for (dim, index) in access.indices.iter().enumerate() {
                if let Some(first) = first {
                    let (a, b) = (extents[&first.indices[dim]], extents[index]);
                    extents.insert(first.indices[dim].clone(), a.min(b));
                    extents.insert(index.clone(), a.min(b));
                }
            }
        }
    }
    extents
}

/// FNV-1a.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
