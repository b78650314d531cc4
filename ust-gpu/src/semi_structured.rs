//! NVIDIA's layout of matrices that store half of each group of neighbours in a row, as cuSPARSELt takes them:
//! the stored values row by row, and behind them the metadata, which say where in its group each value stands.
//!
//! Of four values of 8 or 16 bits two are stored, and of two values of 32 bits one is. The metadata of a group
//! are four bits. Of two stored values they are the two places, the lower one in the lower bits. Of one stored
//! value they are the places of its two halves, as if it were two values of 16 bits: `0100` or `1110`.
//!
//! The order of the groups' bits depends on the device. NVIDIA calls that of the buffers of cuSPARSELt internal, and says
//! that it can change at any time (issue 167 of NVIDIA/CUDALibrarySamples). The orders for devices in [`MetadataOrder`] are
//! those that published programs of others write.

use ust_engine::format::{Format, Given, IndexExpr};
use ust_engine::provider::product::{quotient, remainder};
use ust_engine::provider::{Children, Shape};
use ust_engine::tensor::Parts;
use ust_engine::{Dtype, Error, Tensor, Values};
use ust_level_api::{IndexArray, IndexKind, Role};

/// In which order the metadata of groups are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MetadataOrder {
    /// In the order of the values: row by row, the first group in the lowest bits.
    Rows,
    /// As the kernels for devices of compute capability 8.0 read them. Values have 16 bits, and both extents are
    /// multiples of 128. xFormers and PyTorch write this order for cuSPARSELt (`MetadataCuSparseLt`): they found it in
    /// what the library makes.
    Sm80,
    /// As the kernels for devices of compute capability 9.0 read them. Values have 16 bits. torchao writes this
    /// order for cuSPARSELt.
    Sm90,
}

/// A matrix that stores half of each group of neighbours in a row, in NVIDIA's layout, in the memory of the host.
///
/// The rows of the layout are the coordinates of the tensor's first level. That is the second dimension where
/// groups are neighbours in a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SemiStructured {
    rows: usize,
    columns: usize,
    dtype: Dtype,
    order: MetadataOrder,
    bytes: Vec<u8>,
}

/// The groups of a dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    stored: usize,
    of: usize,
    /// Both extents are multiples of this.
    multiple: usize,
}

impl Groups {
    pub(crate) fn of(dtype: Dtype) -> Result<Self, Error> {
        match dtype {
            Dtype::I8 => Ok(Self { stored: 2, of: 4, multiple: 128 }),
            Dtype::F16 | Dtype::Bf16 => Ok(Self { stored: 2, of: 4, multiple: 64 }),
            Dtype::F32 => Ok(Self { stored: 1, of: 2, multiple: 32 }),
            other => {
                Err(unsupported(format!("the layout has i8, f16, bf16 and f32, not {other}: cast")))
            }
        }
    }

    /// The metadata of a group whose values stand at these places.
    fn code(self, places: &[i64]) -> Option<u8> {
        match *places {
            [first, second] if 0 <= first && first < second && second < 4 => {
                Some((second << 2 | first) as u8)
            }
            [0] => Some(0b0100),
            [1] => Some(0b1110),
            _ => None,
        }
    }

    /// The places of a group's values, of which as many are meant as are stored.
    fn places(self, code: u8) -> Option<[i64; 2]> {
        let places = match self.stored {
            1 => [i64::from(code == 0b1110), 0],
            _ => [i64::from(code & 3), i64::from(code >> 2)],
        };
        (self.code(&places[..self.stored]) == Some(code)).then_some(places)
    }
}

impl MetadataOrder {
    /// The place of a group's metadata, in units of four bits, among those of a matrix with so many rows and
    /// groups in a row.
    fn place(self, [row, group]: [usize; 2], [rows, groups]: [usize; 2]) -> usize {
        // A tile is 32 elements wide, and so is a pair of words of 16 bits.
        let (tile, word, within) = (group / 8, group % 8 / 4, group % 4);
        match self {
            Self::Rows => row * groups + group,
            Self::Sm80 => {
                // Tiles of 32 rows stand one below another, four high and then two wide, and pairs of such
                // columns of tiles in the order of columns.
                let block = tile / 2 * (rows / 128) + row / 128;
                let tile = block * 8 + tile % 2 * 4 + row % 128 / 32;
                let row = row % 32;
                let word = row % 8 * 8 + row / 16 * 4 + word * 2 + row % 16 / 8;
                (tile * 64 + word) * 4 + within
            }
            Self::Sm90 => {
                // A byte has the groups of two rows that are 8 apart.
                let block = row / 64 * (groups / 8) + tile;
                let byte = block * 256 + row % 64 / 16 * 64 + row % 8 * 8;
                let byte = byte + within / 2 * 4 + within % 2 * 2 + word;
                byte * 2 + row % 16 / 8
            }
        }
    }
}

fn unsupported(what: impl Into<String>) -> Error {
    Error::Unsupported(what.into())
}

/// The dimension of rows and that of groups, of a format whose levels have the shapes of such a matrix.
pub(crate) fn dimensions(format: &Format, groups: Groups) -> Result<[usize; 2], Error> {
    let Groups { stored, of, .. } = groups;
    let listed = Shape::Listed { crd: 0, children: Children::Fixed(stored as u64) };
    let plain = format.is_ordered() && format.is_unique() && !format.has_slices();
    let found = match format.levels() {
        [outer, group, within] if plain && format.descriptions()[2].arrays.len() == 1 => {
            let shapes = [0, 1, 2].map(|level| Shape::of(format, level));
            let grouped = quotient(&group.expr)
                .filter(|&found| found.1 == of && remainder(&within.expr) == Some(found));
            match (&outer.expr, grouped) {
                (&IndexExpr::Var(row), Some((column, _)))
                    if row != column && shapes == [Shape::Full, Shape::Full, listed] =>
                {
                    Some([row, column])
                }
                _ => None,
            }
        }
        _ => None,
    };
    found.ok_or_else(|| {
        unsupported(format!(
            "the layout stores {stored} of every {of} neighbours in a row, in a level of its own that lists \
             places below two full ones: convert `{format}` to such a format"
        ))
    })
}

/// Bytes of the values and of the metadata.
fn sizes(
    dtype: Dtype,
    order: MetadataOrder,
    [rows, columns]: [usize; 2],
) -> Result<[usize; 2], Error> {
    let Groups { stored, of, multiple } = Groups::of(dtype)?;
    if order != MetadataOrder::Rows && dtype.bytes() != 2 {
        return Err(unsupported(format!(
            "the order of metadata for devices is known for values of 16 bits, and not for {dtype}: use \
             `MetadataOrder::Rows`"
        )));
    }
    let multiple = if order == MetadataOrder::Sm80 { 128 } else { multiple };
    if [rows, columns].iter().any(|&extent| extent == 0 || extent % multiple != 0) {
        return Err(Error::Shape {
            found: vec![rows, columns],
            expected: format!("both extents must be positive multiples of {multiple} for {dtype}"),
        });
    }
    let groups = rows.checked_mul(columns / of);
    let values = groups.and_then(|groups| groups.checked_mul(stored * dtype.bytes()));
    let sizes = groups.zip(values).map(|(groups, values)| [values, groups / 2]);
    sizes
        .filter(|[values, metadata]| values.checked_add(*metadata).is_some())
        .ok_or_else(|| Error::TooLarge("a matrix".to_owned()))
}

/// The bytes of values, and back.
fn value_bytes(values: &Values) -> Option<&[u8]> {
    match values {
        Values::I8(values) => Some(bytemuck::cast_slice(values)),
        Values::F16(values) => Some(bytemuck::cast_slice(values)),
        Values::Bf16(values) => Some(bytemuck::cast_slice(values)),
        Values::F32(values) => Some(bytemuck::cast_slice(values)),
        _ => None,
    }
}

fn pods<T: bytemuck::Pod>(bytes: &[u8]) -> Vec<T> {
    let mut all = vec![T::zeroed(); bytes.len() / size_of::<T>()];
    bytemuck::cast_slice_mut(&mut all).copy_from_slice(bytes);
    all
}

fn values_of(dtype: Dtype, bytes: &[u8]) -> Option<Values> {
    match dtype {
        Dtype::I8 => Some(Values::I8(pods(bytes).into())),
        Dtype::F16 => Some(Values::F16(pods(bytes).into())),
        Dtype::Bf16 => Some(Values::Bf16(pods(bytes).into())),
        Dtype::F32 => Some(Values::F32(pods(bytes).into())),
        _ => None,
    }
}

impl SemiStructured {
    /// Stores a tensor in the layout. Its levels have the shapes of such a matrix: two full ones, and below them one
    /// that lists the places of two of four elements, or of one of two for f32. Both extents are multiples of 64
    /// for f16 and bf16, of 128 for i8, of 32 for f32.
    ///
    /// Cost: O(stored values).
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for other levels, dtypes and fill values, for views, and for an order that is not known
    /// for the dtype. [`Error::Shape`] for other extents. [`Error::Parts`] if the places of a group do not ascend, which
    /// unchecked arrays may. [`Error::Device`] if the tensor cannot be fetched from a device.
    pub fn from_tensor(tensor: &Tensor, order: MetadataOrder) -> Result<Self, Error> {
        let dtype = tensor.dtype();
        let groups = Groups::of(dtype)?;
        let [row, column] = dimensions(tensor.format(), groups)?;
        if !tensor.view().is_whole() || !tensor.fill().same(&dtype.zero()) {
            return Err(unsupported("the layout has whole matrices with fill value 0"));
        }
        let [rows, columns] = [row, column].map(|dim| tensor.shape()[dim]);
        let [values, metadata] = sizes(dtype, order, [rows, columns])?;
        tensor.fetch()?;
        let parts = value_bytes(tensor.values()).zip(tensor.levels()[2].0.first());
        let wrong = || Error::Parts("the arrays have other lengths than the shape says".to_owned());
        let (stored, places) = parts.ok_or_else(wrong)?;
        if stored.len() != values || places.len() * dtype.bytes() != values {
            return Err(wrong());
        }
        let mut bytes = Vec::with_capacity(values + metadata);
        bytes.extend_from_slice(stored);
        bytes.resize(values + metadata, 0);
        let extents = [rows, columns / groups.of];
        let mut of_group = [0; 2];
        let of_group = &mut of_group[..groups.stored];
        for at in 0..extents[0] * extents[1] {
            places.read(at * groups.stored, of_group);
            let code = groups.code(of_group).ok_or_else(|| {
                Error::Parts(format!("group {at} has the places {of_group:?}, which do not ascend"))
            })?;
            let place = order.place([at / extents[1], at % extents[1]], extents);
            bytes[values + place / 2] |= code << (place % 2 * 4);
        }
        Ok(Self { rows, columns, dtype, order, bytes })
    }

    /// Takes a buffer of another program: so many rows and columns, unstored ones included. Cost: O(bytes).
    ///
    /// # Errors
    ///
    /// As [`SemiStructured::from_tensor`]; [`Error::Parts`] if the buffer has another length, or metadata that no
    /// group has.
    pub fn from_bytes(
        [rows, columns]: [usize; 2],
        dtype: Dtype,
        order: MetadataOrder,
        bytes: Vec<u8>,
    ) -> Result<Self, Error> {
        let [values, metadata] = sizes(dtype, order, [rows, columns])?;
        let groups = Groups::of(dtype)?;
        if bytes.len() != values + metadata {
            let (found, expected) = (bytes.len(), values + metadata);
            return Err(Error::Parts(format!("the buffer has {found} bytes, not {expected}")));
        }
        let known = |code| groups.places(code).is_some();
        let is_known = |&byte: &u8| known(byte & 15) && known(byte >> 4);
        if let Some(at) = bytes[values..].iter().position(|byte| !is_known(byte)) {
            let (at, byte) = (values + at, bytes[values + at]);
            return Err(Error::Parts(format!(
                "byte {at} of the buffer is {byte:#04x}, which no group has as metadata"
            )));
        }
        Ok(Self { rows, columns, dtype, order, bytes })
    }

    /// The tensor in a format whose levels have the shapes that [`SemiStructured::from_tensor`] takes. Cost:
    /// O(stored values).
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for other formats.
    pub fn to_tensor<'f>(&self, format: impl Into<Given<'f>>) -> Result<Tensor, Error> {
        let format = &*format.into().resolve(Some(2))?;
        let groups = Groups::of(self.dtype)?;
        let [row, column] = dimensions(format, groups)?;
        let mut shape = [0; 2];
        (shape[row], shape[column]) = (self.rows, self.columns);
        let extents = [self.rows, self.columns / groups.of];
        let mut places = Vec::with_capacity(extents[0] * extents[1] * groups.stored);
        for at in 0..extents[0] * extents[1] {
            let place = self.order.place([at / extents[1], at % extents[1]], extents);
            let code = self.metadata()[place / 2] >> (place % 2 * 4) & 15;
            places.extend(groups.places(code).into_iter().flatten().take(groups.stored));
        }
        let values = values_of(self.dtype, self.values());
        let values = values.ok_or_else(|| unsupported("the dtype has no layout"))?;
        let spec = &format.descriptions()[2].arrays[0];
        let kind = match spec.role {
            Role::Own(kind) => kind,
            _ => IndexKind::new(format.crd_width(), false).unwrap_or(IndexKind::U64),
        };
        let crd = IndexArray::store(kind, &places, spec.name, "crdWidth");
        let crd = crd.map_err(|error| unsupported(error.to_string()))?;
        Tensor::from_parts(format, &shape, Parts::new(vec![vec![], vec![], vec![crd]], values))
    }

    /// Rows and columns, unstored ones included.
    #[must_use]
    pub fn shape(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    /// The dtype of the values.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The order of the metadata.
    #[must_use]
    pub fn order(&self) -> MetadataOrder {
        self.order
    }

    /// The whole buffer: values, and then metadata.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The stored values, row by row.
    #[must_use]
    pub fn values(&self) -> &[u8] {
        &self.bytes[..self.values_end()]
    }

    /// The metadata.
    #[must_use]
    pub fn metadata(&self) -> &[u8] {
        &self.bytes[self.values_end()..]
    }

    fn values_end(&self) -> usize {
        // Half of the values are stored.
        self.rows * self.columns / 2 * self.dtype.bytes()
    }
}
