//! The order of a [sorted](ust_format::spec::Sorted) dimension: which coordinate stands at each place.
//!
//! The levels of such a tensor store places. Apart from that, they are those of an ordinary tensor, which
//! [`Tensor::by_places`] gives. The view maps places to coordinates.

use std::sync::{Arc, OnceLock};

use ust_format::Format;
use ust_level_api::{Arrays, IndexArray, Scalar};

use super::{Tensor, Values};
use crate::error::Error;
use crate::storage::view::View;

/// The coordinate at each place of a dimension.
#[derive(Debug)]
pub struct Order {
    coordinates: IndexArray,
    /// The place of each coordinate, from the first search on.
    places: OnceLock<Vec<i64>>,
    /// The order as a matrix, from the first use on.
    matrix: OnceLock<Tensor>,
}

impl Order {
    pub(crate) fn new(coordinates: IndexArray) -> Arc<Self> {
        Arc::new(Self { coordinates, places: OnceLock::new(), matrix: OnceLock::new() })
    }

    /// The coordinate at each place.
    #[must_use]
    pub fn coordinates(&self) -> &IndexArray {
        &self.coordinates
    }

    /// The place of a coordinate. Cost: O(extent) for the first one.
    pub(crate) fn place(&self, coordinate: i64) -> i64 {
        let places = self.places.get_or_init(|| places_in(&self.coordinates.to_vec()));
        places[coordinate as usize]
    }

    /// The matrix with an entry at each coordinate (row) and its place (column).
    ///
    /// # Errors
    /// [`Error::Format`] if there is no format for it, because no crate of its level types is linked.
    pub(crate) fn matrix(&self) -> Result<&Tensor, Error> {
        if let Some(matrix) = self.matrix.get() {
            return Ok(matrix);
        }
        let extent = self.coordinates.len();
        let format = Format::one_a_column()?;
        let bound = format.bind(&[extent, extent])?;
        let arrays = vec![Arrays::default(), Arrays(vec![self.coordinates.clone()])];
        let values = Values::filled(Scalar::Bool(true), extent);
        let made = Tensor::trusted(bound, arrays, values, Scalar::Bool(false), true);
        Ok(self.matrix.get_or_init(|| made))
    }

    /// Checks that each coordinate has a place.
    ///
    /// # Errors
    /// [`Error::Parts`].
    pub(crate) fn check(&self, name: &str) -> Result<(), Error> {
        self.coordinates.fetch().map_err(Error::Device)?;
        let extent = self.coordinates.len();
        let mut seen = vec![false; extent];
        for (place, coordinate) in self.coordinates.to_vec().into_iter().enumerate() {
            let wrong = match usize::try_from(coordinate).ok().and_then(|at| seen.get_mut(at)) {
                None => format!("is outside the extent {extent}"),
                Some(true) => "has a place already".to_owned(),
                Some(seen) => {
                    *seen = true;
                    continue;
                }
            };
            return Err(Error::Parts(format!(
                "the order of the sorted dimension `{name}`: coordinate {coordinate} at place {place} {wrong}"
            )));
        }
        Ok(())
    }
}

/// The place of each coordinate in an order, which has each coordinate once.
///
/// # Panics
/// If a coordinate is not below the number of them.
#[must_use]
pub fn places_in(order: &[i64]) -> Vec<i64> {
    let mut places = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(&at, place)| places[at as usize] = place);
    places
}

impl PartialEq for Order {
    fn eq(&self, other: &Self) -> bool {
        super::same_indices(&self.coordinates, &other.coordinates)
    }
}

impl Eq for Order {}

impl Tensor {
    /// The order of a dimension that the format [sorts](ust_format::spec::Sorted): the coordinate at each place. `None`
    /// for other dimensions.
    ///
    /// ```
    /// use ust::{Format, Tensor};
    ///
    /// let rows = ndarray::array![[0, 1, 0], [0, 0, 0], [2, 3, 4]];
    /// let a = Tensor::from_dense(&rows, "(i : sorted, j) -> (i : dense, j : compressed)")?;
    /// assert_eq!(a.order(0).unwrap().to_vec(), [2, 0, 1]);
    /// assert_eq!(a.pos(1).unwrap().to_vec(), [0, 3, 4, 4]);
    /// assert_eq!(a.get_as::<i32>(&[2, 0])?, 2);
    /// # Ok::<(), ust::Error>(())
    /// ```
    #[must_use]
    pub fn order(&self, dim: usize) -> Option<&IndexArray> {
        self.view.order(dim).map(Order::coordinates)
    }

    /// All index arrays: those of the levels, and then the orders of sorted dimensions.
    pub(crate) fn index_arrays(&self) -> impl Iterator<Item = &IndexArray> {
        let levels = self.levels().iter().flat_map(|arrays| &arrays.0);
        levels.chain(self.view.orders().map(|(_, order)| order.coordinates()))
    }

    /// The tensor that the levels store: in a sorted dimension, coordinates are places. This one, if there is none.
    pub(crate) fn by_places(&self) -> Self {
        if !self.format().has_sorted() {
            return self.clone();
        }
        let mut tensor = self.clone();
        let unsorted =
            self.format().unsorted().bind_counted(self.bound.shape(), self.bound.counts());
        tensor.bound = unsorted.expect("the levels are the same, and so are their domains");
        (tensor.view, tensor.made) = (View::whole(self.bound.shape()), OnceLock::new());
        tensor
    }

    /// The tensor in this format, whose [`by_places`](Self::by_places) this one is, with an order for each sorted
    /// dimension.
    ///
    /// # Errors
    /// [`Error::Format`] if the shape does not suit the format.
    pub(crate) fn in_order(self, format: &Format, orders: Vec<IndexArray>) -> Result<Self, Error> {
        let bound = format.bind_counted(self.bound.shape(), self.bound.counts())?;
        let mut orders = orders.into_iter();
        let of_dims = format.dims().iter().map(|dim| dim.sorted.and_then(|_| orders.next()));
        let view = View::whole(bound.shape()).in_order(of_dims.map(|one| one.map(Order::new)));
        Ok(Self { bound, view, made: OnceLock::new(), ..self })
    }
}
