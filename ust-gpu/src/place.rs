//! Arrays that stay in a device's memory until somebody looks at them, and what is done to columns there.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;
use ust_cuda::{CudaError, Device, Memory};
use ust_engine::tensor::Values;
use ust_level_api::buffer::Plain;
use ust_level_api::ir::Elsewhere;
use ust_level_api::ir::Packed;
use ust_level_api::ir::elsewhere::{Half, Halves, Segments};
use ust_level_api::{Buffer, Dtype, IndexArray, IndexColumn, IndexKind};

use crate::cache;
use crate::gpu::Gpu;
use crate::prims::{Column, Indices, Primitives, Selection};
use crate::there::{download, read};

/// The memory of an array, and where work on it is done.
pub(crate) struct Place {
    gpu: Gpu,
    memory: Arc<Memory>,
    /// Of a column of numbers that count up from 0, each for a run of entries: where runs begin and end.
    runs: Option<Arc<Held>>,
}

/// Indices in the device's memory.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) memory: Arc<Memory>,
    pub(crate) kind: IndexKind,
    pub(crate) len: usize,
}

impl Held {
    pub(crate) fn column(&self) -> Result<Column<'_>, CudaError> {
        Column::new(&self.memory, self.kind, self.len)
    }

    /// The chosen ones.
    pub(crate) fn kept(&self, chosen: &Selection, of: &Primitives) -> Result<Self, CudaError> {
        let kept = || of.compact(chosen, &self.memory, self.kind.bytes(1));
        let memory = Arc::new(cache::with_room(kept)?);
        Ok(Self { memory, kind: self.kind, len: chosen.count() })
    }

    /// Those at `places`, which all are below the length.
    pub(crate) fn gathered(&self, places: Column<'_>, of: &Primitives) -> Result<Self, CudaError> {
        let misfit = of.misfit()?;
        let gathered = || of.gather(&self.memory, self.kind.bytes(1), places, &misfit);
        let memory = Arc::new(cache::with_room(gathered)?);
        Ok(Self { memory, kind: self.kind, len: places.len() })
    }
}

impl From<Indices> for Held {
    fn from(indices: Indices) -> Self {
        let (kind, len) = (indices.kind(), indices.len());
        Self { memory: Arc::new(indices.into_memory()), kind, len }
    }
}

/// The memory of an array that was not fetched, if it is on this device.
pub(crate) fn memory(place: Option<Arc<dyn Elsewhere>>, device: &Device) -> Option<Arc<Memory>> {
    let place: &dyn Any = &*place?;
    let memory = &place.downcast_ref::<Place>()?.memory;
    (memory.device() == device).then(|| Arc::clone(memory))
}

/// The device that an array is on, with the stream in which it was made.
pub(crate) fn gpu(place: &dyn Elsewhere) -> Option<Gpu> {
    let place: &dyn Any = place;
    place.downcast_ref::<Place>().map(|place| place.gpu.clone())
}

/// Where the runs of a column begin and end, if that is known.
fn runs(column: &IndexColumn) -> Option<Arc<Held>> {
    let place: &dyn Any = &*column.place()?;
    place.downcast_ref::<Place>()?.runs.clone()
}

fn buffer<T: Pod + Plain>(memory: &Arc<Memory>, len: usize, gpu: &Gpu) -> Buffer<T> {
    buffer_of(Place { gpu: gpu.clone(), memory: Arc::clone(memory), runs: None }, len)
}

fn buffer_of<T: Pod + Plain>(place: Place, len: usize) -> Buffer<T> {
    let (memory, stream) = (Arc::clone(&place.memory), place.gpu.stream().clone());
    let place = Arc::new(place);
    Buffer::elsewhere(len, place, move || {
        let mut indices = vec![T::zeroed(); len];
        read(&mut indices, &memory, &stream)?;
        Ok(indices.into())
    })
}

/// A column of indices of 32 or 64 bits that stays there.
pub(crate) fn column(held: &Held, gpu: &Gpu) -> IndexColumn {
    let Held { memory, kind, len } = held;
    match kind {
        IndexKind::U32 => buffer::<u32>(memory, *len, gpu).into(),
        IndexKind::I32 => buffer::<i32>(memory, *len, gpu).into(),
        _ => buffer::<i64>(memory, *len, gpu).into(),
    }
}

/// For each of `n` entries, the number of the run that it is in; of runs, where they begin, and where the last ends.
///
/// # Errors
/// Those of the device.
pub(crate) fn expanded(bounds: Held, n: usize, gpu: &Gpu) -> Result<IndexColumn, CudaError> {
    let kind = numbers(bounds.len as u64);
    let made = || gpu.primitives().expand(bounds.column()?, n, kind);
    let memory = Arc::new(cache::with_room(made)?.into_memory());
    let place = Place { gpu: gpu.clone(), memory, runs: Some(Arc::new(bounds)) };
    Ok(match kind {
        IndexKind::U32 => buffer_of::<u32>(place, n).into(),
        _ => buffer_of::<i64>(place, n).into(),
    })
}

/// An array of indices that stays there.
pub(crate) fn array(held: &Held, gpu: &Gpu) -> IndexArray {
    let Held { memory, kind, len } = held;
    match kind {
        IndexKind::U2 => {
            let bytes = buffer(memory, len.div_ceil(4), gpu);
            IndexArray::U2(Packed::new(bytes, *len).expect("a byte for every four"))
        }
        IndexKind::U8 => IndexArray::U8(buffer(memory, *len, gpu)),
        IndexKind::U16 => IndexArray::U16(buffer(memory, *len, gpu)),
        IndexKind::U32 => IndexArray::U32(buffer(memory, *len, gpu)),
        IndexKind::U64 => IndexArray::U64(buffer(memory, *len, gpu)),
        IndexKind::I8 => IndexArray::I8(buffer(memory, *len, gpu)),
        IndexKind::I16 => IndexArray::I16(buffer(memory, *len, gpu)),
        IndexKind::I32 => IndexArray::I32(buffer(memory, *len, gpu)),
        IndexKind::I64 => IndexArray::I64(buffer(memory, *len, gpu)),
    }
}

/// Values that stay there.
pub(crate) fn values(dtype: Dtype, memory: &Arc<Memory>, len: usize, gpu: &Gpu) -> Values {
    let place = Arc::new(Place { gpu: gpu.clone(), memory: Arc::clone(memory), runs: None });
    let (memory, stream) = (Arc::clone(memory), gpu.stream().clone());
    Values::elsewhere(dtype, len, place, move || Ok(download(dtype, &memory, len, &stream)?))
}

/// The kind of a column of so many numbers from 0 on.
pub(crate) fn numbers(count: u64) -> IndexKind {
    match count <= 1 << 32 {
        true => IndexKind::U32,
        false => IndexKind::I64,
    }
}

/// Indices of a column, in the device's memory: those that follow a rule are written out.
///
/// # Errors
/// [`CudaError::Argument`] if the column is elsewhere.
pub(crate) fn held(column: &IndexColumn, gpu: &Gpu) -> Result<Held, CudaError> {
    let primitives = gpu.primitives();
    let kind = match column {
        IndexColumn::Count(count) => {
            let made = || primitives.iota(*count, numbers(*count as u64));
            return Ok(cache::with_room(made)?.into());
        }
        IndexColumn::Same(number, count) => {
            let len = *count;
            let bytes = len.checked_mul(8).ok_or(CudaError::OutOfMemory { bytes: usize::MAX })?;
            let memory = cache::with_room(|| gpu.stream().alloc(bytes))?;
            primitives.fill(&memory, &number.to_ne_bytes())?;
            return Ok(Held { memory: Arc::new(memory), kind: IndexKind::I64, len });
        }
        IndexColumn::I32(_) => IndexKind::I32,
        IndexColumn::I64(_) => IndexKind::I64,
        // Runs are on the host.
        IndexColumn::U32(_) | IndexColumn::Runs(_) => IndexKind::U32,
    };
    let elsewhere = || CudaError::Argument("a column that is not on the device".to_owned());
    let memory = memory(column.place(), gpu.device()).ok_or_else(elsewhere)?;
    Ok(Held { memory, kind, len: column.len() })
}

impl Place {
    fn primitives(&self) -> &Primitives {
        self.gpu.primitives()
    }

    fn held(&self, column: &IndexColumn) -> Result<Held, CudaError> {
        held(column, &self.gpu)
    }

    fn column(&self, made: Indices) -> IndexColumn {
        column(&made.into(), &self.gpu)
    }

    fn laid(
        &self,
        parents: u64,
        parent: &IndexColumn,
        crd: &IndexColumn,
        merges: bool,
    ) -> Result<Segments, CudaError> {
        let primitives = self.primitives();
        let n = crd.len();
        let alone = Segments {
            offsets: IndexColumn::Count(0),
            crd: crd.clone(),
            child: IndexColumn::Count(n),
        };
        // Entries of different parents are different children.
        let (merged, of) = match merges && !matches!(parent, IndexColumn::Count(_)) {
            false => (alone, parent.clone()),
            true => {
                let (above, own) = (self.held(parent)?, self.held(crd)?);
                let runs = || primitives.runs(&[above.column()?, own.column()?]);
                let runs = cache::with_room(runs)?;
                if runs.count() == n {
                    (alone, parent.clone())
                } else {
                    let kind = numbers(n as u64 + 1);
                    let starts = cache::with_room(|| primitives.starts(&runs, kind))?;
                    let child = expanded(starts.into(), n, &self.gpu)?;
                    let kept = |of: &Held| {
                        Ok::<_, CudaError>(column(&of.kept(&runs, primitives)?, &self.gpu))
                    };
                    let (crd, of) = (kept(&own)?, kept(&above)?);
                    (Segments { crd, child, ..alone }, of)
                }
            }
        };
        let known = runs(&of).filter(|bounds| bounds.len as u64 == parents + 1);
        let offsets = match of {
            _ if let Some(bounds) = known => column(&bounds, &self.gpu),
            IndexColumn::Same(0, count) if parents == 1 => {
                let (memory, kind) = match u32::try_from(count) {
                    Ok(end) => {
                        (self.gpu.stream().upload(bytemuck::bytes_of(&[0, end]))?, IndexKind::U32)
                    }
                    Err(_) => {
                        let ends = [0, count as u64];
                        (self.gpu.stream().upload(bytemuck::bytes_of(&ends))?, IndexKind::I64)
                    }
                };
                column(&Held { memory: Arc::new(memory), kind, len: 2 }, &self.gpu)
            }
            IndexColumn::Count(count) if count as u64 == parents => {
                column(&self.held(&IndexColumn::Count(count + 1))?, &self.gpu)
            }
            of => {
                let (of, kind) = (self.held(&of)?, numbers(n as u64 + 1));
                let found = || primitives.positions(of.column()?, 0, parents as usize, kind);
                self.column(cache::with_room(found)?)
            }
        };
        Ok(Segments { offsets, ..merged })
    }

    fn grouped(
        &self,
        children: &Segments,
        parents: u64,
        n: u64,
    ) -> Result<Option<[IndexColumn; 2]>, CudaError> {
        let primitives = self.primitives();
        let (offsets, crd) = (self.held(&children.offsets)?, self.held(&children.crd)?);
        let (misfit, kind) = (primitives.misfit()?, numbers(parents.saturating_mul(n)));
        let laid =
            || primitives.groups(offsets.column()?, crd.column()?, n as usize, kind, &misfit);
        let (all, places) = cache::with_room(laid)?;
        if misfit.first(self.gpu.stream())?.is_some() {
            return Ok(None);
        }
        let position = match &children.child {
            IndexColumn::Count(_) => self.column(places),
            child => {
                let child = self.held(child)?;
                let found = Held::from(places).gathered(child.column()?, primitives)?;
                column(&found, &self.gpu)
            }
        };
        Ok(Some([self.column(all), position]))
    }
}

/// Whatever fails, the device's memory included, is done on the host.
impl Elsewhere for Place {
    fn extremes(&self, column: &IndexColumn) -> Option<(i64, i64)> {
        let held = self.held(column).ok()?;
        let found = self.primitives().extremes(held.column().ok()?).ok()??;
        Some(found.into_inner())
    }

    fn stored(&self, column: &IndexColumn, kind: IndexKind) -> Option<IndexArray> {
        let (held, primitives) = (self.held(column).ok()?, self.primitives());
        if kind.bits() < 8 {
            let packed = || primitives.pack_two_bits(held.column()?);
            let memory = Arc::new(cache::with_room(packed).ok()?);
            return Some(array(&Held { memory, kind, len: held.len }, &self.gpu));
        }
        let misfit = primitives.misfit().ok()?;
        let stored = || primitives.convert(held.column()?, kind, &misfit);
        Some(array(&cache::with_room(stored).ok()?.into(), &self.gpu))
    }

    fn segments(
        &self,
        parents: u64,
        parent: &IndexColumn,
        crd: &IndexColumn,
        merges: bool,
    ) -> Option<Segments> {
        self.laid(parents, parent, crd, merges).ok()
    }

    fn full(
        &self,
        parent: &IndexColumn,
        crd: &IndexColumn,
        [size, lower, positions]: [i64; 3],
    ) -> Option<IndexColumn> {
        let (parent, crd) = (self.held(parent).ok()?, self.held(crd).ok()?);
        let kind = numbers(positions.cast_unsigned());
        let made = || {
            let (parent, crd) = (parent.column()?, crd.column()?);
            self.primitives().full_positions(parent, crd, (size, lower), kind)
        };
        Some(self.column(cache::with_room(made).ok()?))
    }

    fn pairs(&self, bounds: &IndexColumn) -> Option<IndexColumn> {
        let bounds = self.held(bounds).ok()?;
        let made = || self.primitives().pairs(bounds.column()?);
        Some(self.column(cache::with_room(made).ok()?))
    }

    fn halves(&self, values: &Buffer<f32>, to: Half) -> Option<Halves> {
        let dtype = match to {
            Half::F16 => Dtype::F16,
            Half::Bf16 => Dtype::Bf16,
        };
        let (primitives, len) = (self.primitives(), values.len());
        let memory = memory(values.place(), self.gpu.device())?;
        let rounded = || primitives.halves(&memory, len, dtype);
        let rounded = Arc::new(cache::with_room(rounded).ok()?);
        match self::values(dtype, &rounded, len, &self.gpu) {
            Values::F16(values) => Some(Halves::F16(values)),
            Values::Bf16(values) => Some(Halves::Bf16(values)),
            _ => None,
        }
    }

    fn groups(&self, children: &Segments, parents: u64, n: u64) -> Option<[IndexColumn; 2]> {
        self.grouped(children, parents, n).ok()?
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {:?}", self.memory.len(), self.gpu)
    }
}
