//! Composed tensors: a tensor as the sum of parts in different formats, of which each element is stored by one at most.
//!
//! | module | what |
//! |---|---|
//! | this one | [`Composed`] |
//! | `split` | a tensor, split by the rules of a composition |
//! | `elements` | how many elements have the same values of expressions |
//! | `columns` | entries of several tensors as columns |

mod columns;
mod elements;
mod split;

use std::fmt;
use std::sync::Arc;

use ust_format::{Composition, Format, Given};
use ust_level_api::{Dtype, Element, Scalar};

use self::columns::{entries_of, joined};
use crate::convert::build::{BuildOptions, Duplicates};
use crate::error::Error;
use crate::storage::Tensor;
use crate::storage::coo::{Columns, Coo};
use crate::walk::access::Entry;

/// A tensor as the sum of parts, each in a format that suits its entries. No element is stored in two parts. Unstored
/// elements are zero.
///
/// Cheap to clone: the parts are shared. Operations compute with each part in its own format where they can: see
/// [`einsum`](crate::einsum()).
///
/// ```
/// use ust::{Composed, Tensor, einsum, generate::generate};
///
/// let a = Tensor::from_coo(&generate("gen:poisson2d(9)")?, "CSR")?;
/// let split = Composed::split(&a, &"DIA where fill(j - i) >= 0.95 + CSR".parse()?)?;
/// let [diagonals, rest] = split.parts() else { unreachable!("two parts") };
/// assert_eq!(diagonals.level_array(0, "crd").unwrap().to_vec(), [-9, 0, 9]);
/// assert_eq!(diagonals.nnz() + rest.nnz(), a.nnz());
///
/// let x = ust::ndarray::Array1::<f64>::ones(81);
/// let y = einsum("y(i) = A(i,j) * x(j)").arg("A", &split).arg("x", x).run()?;
/// assert_eq!(y.get_as::<f64>(&[0])?, 2.0);
/// assert_eq!(split.convert(a.format())?, a);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Composed(Arc<[Tensor]>);

impl Composed {
    /// Splits a tensor: each part of the composition takes the entries that its rule says, and the last one takes the
    /// rest. Duplicates are summed. Cost: a pass over the entries for each rule, and the construction of the parts.
    ///
    /// # Errors
    /// [`Error::Shape`] where the rank is another; [`Error::Unsupported`] for a fill value other than zero, and for a
    /// `fill` of expressions whose elements cannot be counted; and as [`Tensor::convert`].
    pub fn split(tensor: &Tensor, composition: &Composition) -> Result<Self, Error> {
        split::split(tensor, composition)
    }

    /// The sum of tensors of one shape and dtype, whose fill value is zero. Cost: that of sorting all entries.
    ///
    /// # Errors
    /// [`Error::Overlap`] where two parts store the same element; [`Error::Shape`] and [`Error::Dtype`] where shapes or
    /// dtypes differ; [`Error::Unsupported`] for no part at all, and for another fill value.
    pub fn from_parts(parts: Vec<Tensor>) -> Result<Self, Error> {
        let Some(first) = parts.first() else {
            let text = "a composed tensor has a part at least, which tells its shape and dtype";
            return Err(Error::Unsupported(text.to_owned()));
        };
        for part in &parts {
            if part.shape() != first.shape() {
                let expected =
                    format!("all parts have one shape, and the first has {:?}", first.shape());
                return Err(Error::Shape { found: part.shape().to_vec(), expected });
            }
            if part.dtype() != first.dtype() {
                return Err(Error::Dtype { expected: first.dtype(), found: part.dtype() });
            }
            expect_zero(part)?;
        }
        let made = Self(parts.into());
        made.check()?;
        Ok(made)
    }

    /// Checks that no element is stored in two parts. Cost: as [`Composed::from_parts`].
    ///
    /// # Errors
    /// [`Error::Overlap`].
    pub fn check(&self) -> Result<(), Error> {
        let each = self.0.iter().map(entries_of).collect::<Result<Vec<_>, _>>()?;
        let Some(sorted) = columns::sorted_format(self.rank())? else { return Ok(()) };
        let options = BuildOptions { duplicates: Duplicates::Refuse, ..Default::default() };
        match Tensor::from_columns(&joined(&each)?, &sorted, &options) {
            Ok(_) => Ok(()),
            Err(Error::Duplicate { coordinates }) => {
                let stores = |part: &&Columns| {
                    let is = |at: usize| {
                        part.crd
                            .iter()
                            .zip(&coordinates)
                            .all(|(column, &crd)| column.at(at) == crd as i64)
                    };
                    (0..part.values.len()).any(is)
                };
                let mut found = (0..each.len()).filter(|&at| stores(&&each[at]));
                let parts = [found.next(), found.next()].map(Option::unwrap_or_default);
                Err(Error::Overlap { coordinates, parts })
            }
            Err(error) => Err(error),
        }
    }

    /// The parts, in order.
    #[must_use]
    pub fn parts(&self) -> &[Tensor] {
        &self.0
    }

    /// Extent of each dimension.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.0[0].shape()
    }

    /// Number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape().len()
    }

    /// The dtype of the values.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.0[0].dtype()
    }

    /// Number of stored elements of all parts, padding included.
    #[must_use]
    pub fn nse(&self) -> usize {
        self.0.iter().map(Tensor::nse).sum()
    }

    /// Number of stored elements inside the shape that are not zero. Cost: O(nse).
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.0.iter().map(Tensor::nnz).sum()
    }

    /// Bytes of the arrays of all parts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.iter().map(Tensor::bytes).sum()
    }

    /// The element at the given coordinates. Cost: a search in each part.
    ///
    /// # Errors
    /// As [`Tensor::get`].
    pub fn get(&self, coordinates: &[usize]) -> Result<Scalar, Error> {
        let zero = self.dtype().zero();
        for part in self.0.iter() {
            let found = part.get(coordinates)?;
            if !found.same(&zero) {
                return Ok(found);
            }
        }
        Ok(zero)
    }

    /// The element at the given coordinates, typed.
    ///
    /// # Errors
    /// As [`Tensor::get_as`].
    pub fn get_as<T: Element>(&self, coordinates: &[usize]) -> Result<T, Error> {
        T::from_scalar(self.get(coordinates)?)
            .ok_or(Error::Dtype { expected: T::DTYPE, found: self.dtype() })
    }

    /// The entries of all parts, one part after another.
    ///
    /// # Errors
    /// As [`Tensor::entries`]. Cost: O(nse).
    pub fn entries(&self) -> Result<impl Iterator<Item = Entry> + use<>, Error> {
        let each = self.0.iter().map(Tensor::entries).collect::<Result<Vec<_>, _>>()?;
        Ok(each.into_iter().flatten())
    }

    /// The entries of all parts as columns, one part after another.
    ///
    /// # Errors
    /// As [`Tensor::to_coo`]. Cost: O(nse).
    pub fn to_coo(&self) -> Result<Coo, Error> {
        let each = self.0.iter().map(entries_of).collect::<Result<Vec<_>, _>>()?;
        Ok(joined(&each)?.into())
    }

    /// The same tensor in one format.
    ///
    /// # Errors
    /// As [`Tensor::convert`].
    pub fn convert<'f>(&self, format: impl Into<Given<'f>>) -> Result<Tensor, Error> {
        let format = &*format.into().resolve(Some(self.rank()))?;
        if let [one] = &*self.0 {
            return one.convert(format);
        }
        let each = self.0.iter().map(entries_of).collect::<Result<Vec<_>, _>>()?;
        Tensor::from_columns(&joined(&each)?, format, &BuildOptions::default())
    }

    /// The same tensor with values of another dtype.
    ///
    /// # Errors
    /// As [`Tensor::cast`].
    pub fn cast(&self, dtype: Dtype) -> Result<Self, Error> {
        let each = self.0.iter().map(|part| part.cast(dtype));
        Ok(Self(each.collect::<Result<_, _>>()?))
    }

    /// As [`Composed::cast`], with numbers that the dtype cannot hold rounded, cut or saturated.
    #[must_use]
    pub fn cast_lossy(&self, dtype: Dtype) -> Self {
        Self(self.0.iter().map(|part| part.cast_lossy(dtype)).collect())
    }

    /// The format in which it is stored where one format is needed: that of the last part, if every tensor fits it,
    /// else a tree of coordinates.
    ///
    /// # Errors
    /// [`Error::Format`] where a level type is not linked.
    pub fn own_format(&self) -> Result<Format, Error> {
        let last = self.0[self.0.len() - 1].format().without_slices();
        match last.has_room() || self.rank() == 0 {
            true => Ok(last),
            false => Ok(Format::tree(self.rank())?),
        }
    }

    /// The formats of the parts, such as `DIA-I + CSR`: names where formats have one.
    #[must_use]
    pub fn formats(&self) -> String {
        let each = self.0.iter().map(|part| part.format().name_or_text());
        each.collect::<Vec<_>>().join(" + ")
    }
}

/// One part.
impl From<Tensor> for Composed {
    fn from(tensor: Tensor) -> Self {
        Self(Arc::new([tensor]))
    }
}

/// Refuses a fill value other than zero.
fn expect_zero(part: &Tensor) -> Result<(), Error> {
    match part.fill().same(&part.dtype().zero()) {
        true => Ok(()),
        false => Err(Error::Unsupported(format!(
            "a tensor with fill value {} is no sum of parts: unstored elements of parts are zero",
            part.fill()
        ))),
    }
}

impl fmt::Debug for Composed {
    /// One line for each part.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter()).finish()
    }
}

impl fmt::Display for Composed {
    /// A heading, then each part with its arrays.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} parts, {} stored", self.0.len(), self.nse())?;
        self.0.iter().enumerate().try_for_each(|(at, part)| write!(f, "\n\npart {at}  {part}"))
    }
}
