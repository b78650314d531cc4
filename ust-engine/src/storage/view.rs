//! How a tensor shows what its levels store: the orders of sorted dimensions, and slices, which are a strided window
//! for each dimension.

use std::sync::Arc;

use ust_format::Slice;
use ust_level_api::ir::{ArrayId, Builder, Expr};

use super::order::Order;
use crate::error::Error;

/// The part of each dimension that a tensor shows: all coordinates, or a strided window. The levels store places in
/// place of coordinates of sorted dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    shape: Vec<usize>,
    /// A window for each dimension; empty if all of the tensor is shown.
    windows: Vec<Window>,
    /// The order of each dimension; empty if none is sorted.
    orders: Vec<Option<Arc<Order>>>,
}

/// A strided window on one dimension: the `size` coordinates `offset, offset + stride, ...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first shown coordinate, in the whole tensor.
    pub offset: u64,
    /// Number of coordinates shown.
    pub size: u64,
    /// Distance between shown coordinates, at least 1.
    pub stride: u64,
}

impl View {
    /// The whole tensor.
    #[must_use]
    pub fn whole(shape: &[usize]) -> Self {
        Self { shape: shape.to_vec(), windows: Vec::new(), orders: Vec::new() }
    }

    /// This view of a tensor with these orders of its dimensions, at least one.
    pub(crate) fn in_order(self, orders: impl Iterator<Item = Option<Arc<Order>>>) -> Self {
        Self { orders: orders.collect(), ..self }
    }

    /// The order of a dimension, if it is sorted.
    #[must_use]
    pub fn order(&self, dim: usize) -> Option<&Order> {
        self.orders.get(dim)?.as_deref()
    }

    /// The sorted dimensions and their orders.
    pub(crate) fn orders(&self) -> impl Iterator<Item = (usize, &Order)> {
        (0..self.orders.len()).filter_map(|dim| Some((dim, self.order(dim)?)))
    }

    /// A view of a tensor with the shape `whole`. `bound` has a window for each dimension, or is
    /// empty. It must give the parts of a slice that are `?`, and must agree with the parts that
    /// the slice gives.
    ///
    /// # Errors
    /// [`Error::Shape`] when a window extends beyond its dimension, and [`Error::Unsupported`] for
    /// a stride of 0, a `?` without a number, or a contradiction.
    pub fn windows(
        whole: &[usize],
        slices: &[Option<Slice>],
        bound: &[Window],
    ) -> Result<Self, Error> {
        let mut windows = Vec::with_capacity(whole.len());
        for (dim, &extent) in whole.iter().enumerate() {
            let given = bound.get(dim).copied();
            let written = slices.get(dim).and_then(Option::as_ref);
            let everything = Window::all(extent);
            let window = match (written, given) {
                (None, None) => everything,
                (None, Some(window)) => window,
                (Some(slice), given) => Window {
                    offset: part(slice.offset, given.map(|w| w.offset), dim, "offset")?,
                    size: part(slice.size, given.map(|w| w.size), dim, "size")?,
                    stride: part(slice.stride, given.map(|w| w.stride), dim, "stride")?,
                },
            };
            window.check(extent, dim)?;
            windows.push(window);
        }
        let shape = windows.iter().map(|w| w.size as usize).collect();
        Ok(Self { shape, windows, orders: Vec::new() })
    }

    /// A view of this view, as a view of the whole tensor.
    #[must_use]
    pub fn then(&self, inner: &Self) -> Self {
        let windows = self.windows.iter().zip(&inner.windows).map(|(outer, inner)| Window {
            offset: outer.offset + inner.offset * outer.stride,
            size: inner.size,
            stride: outer.stride.saturating_mul(inner.stride),
        });
        let windows = match self.shows_all() {
            true => inner.windows.clone(),
            false => windows.collect(),
        };
        Self { shape: inner.shape.clone(), windows, orders: self.orders.clone() }
    }

    /// The view with dimension `order[d]` as dimension `d`.
    pub(crate) fn permuted(&self, order: &[usize]) -> Self {
        let windows = order.iter().filter_map(|&dim| self.windows.get(dim).copied());
        Self {
            shape: order.iter().map(|&dim| self.shape[dim]).collect(),
            windows: windows.collect(),
            orders: order.iter().filter_map(|&dim| self.orders.get(dim).cloned()).collect(),
        }
    }

    /// The view with one more dimension, of extent 1, before dimension `dim`.
    pub(crate) fn with_one(&self, dim: usize) -> Self {
        let mut view = self.clone();
        view.shape.insert(dim, 1);
        if !view.windows.is_empty() {
            view.windows.insert(dim, Window::all(1));
        }
        view
    }

    /// Extent of each dimension of the view.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Whether the view is what the levels store: the whole tensor, without sorted dimensions.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.shows_all() && self.orders.is_empty()
    }

    /// Whether the view shows all of the tensor.
    #[must_use]
    pub fn shows_all(&self) -> bool {
        self.windows.is_empty()
    }

    /// The window on each dimension; empty where the view is the whole tensor.
    #[must_use]
    pub fn get(&self) -> &[Window] {
        &self.windows
    }

    /// What the levels store of a coordinate in the view.
    #[must_use]
    pub fn to_whole(&self, dim: usize, shown: i64) -> i64 {
        let whole = match self.windows.get(dim) {
            Some(w) => w.offset as i64 + shown * w.stride as i64,
            None => shown,
        };
        self.order(dim).map_or(whole, |order| order.place(whole))
    }

    /// Emits the coordinate in the view, given what the levels store of it, and whether the view shows it. `order` is
    /// the array with the order of a sorted dimension.
    #[must_use]
    pub fn emit_shown(
        &self,
        b: &mut Builder,
        dim: usize,
        whole: Expr,
        order: Option<ArrayId>,
    ) -> (Expr, Expr) {
        let whole = match order {
            Some(order) => {
                let coordinate = b.load(order, whole);
                b.bind("sorted", coordinate)
            }
            None => whole,
        };
        let Some(w) = self.windows.get(dim) else { return (whole, Expr::Bool(true)) };
        let (offset, stride) = (w.offset as i64, w.stride as i64);
        let from = whole - offset;
        let last = (w.size as i64 - 1) * stride;
        let shown = Expr::Int(0)
            .le(from.clone())
            .and(from.clone().le(last))
            .and(from.clone().modulo(stride).equals(0));
        (from.floor_div(stride), shown)
    }
}

impl Window {
    /// All coordinates of a dimension.
    #[must_use]
    pub fn all(extent: usize) -> Self {
        Self { offset: 0, size: extent as u64, stride: 1 }
    }

    /// Whether it shows all coordinates of a dimension, in their order.
    #[must_use]
    pub fn is_all(&self, extent: usize) -> bool {
        *self == Self { stride: self.stride, ..Self::all(extent) }
            && (self.stride == 1 || extent < 2)
    }

    fn check(self, extent: usize, dim: usize) -> Result<(), Error> {
        if self.stride == 0 {
            let text = format!("the slice of dimension {dim} has stride 0: use at least 1");
            return Err(Error::Unsupported(text));
        }
        let end = self
            .size
            .saturating_sub(1)
            .checked_mul(self.stride)
            .and_then(|span| span.checked_add(self.offset));
        let inside = match end {
            Some(last) if self.size > 0 => last < extent as u64,
            Some(first) => first <= extent as u64,
            None => false,
        };
        if inside {
            return Ok(());
        }
        Err(Error::Shape {
            found: vec![extent],
            expected: format!(
                "dimension {dim} is sliced from {} in {} steps of {}, which reach beyond it",
                self.offset, self.size, self.stride
            ),
        })
    }
}

fn part(written: Option<u64>, bound: Option<u64>, dim: usize, what: &str) -> Result<u64, Error> {
    match (written, bound) {
        (Some(a), Some(b)) if a != b => Err(Error::Unsupported(format!(
            "the slice of dimension {dim} has {what} {a} in the format, but {b} was given"
        ))),
        (Some(value), _) | (None, Some(value)) => Ok(value),
        (None, None) => Err(Error::Unsupported(format!(
            "the slice of dimension {dim} has {what} `?`: give it when the tensor is sliced"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_stay_inside_their_dimension() {
        let window = |offset, size, stride| Window { offset, size, stride };
        for (w, extent, fits) in [
            (window(0, 4, 1), 4, true),
            (window(1, 2, 3), 5, true),
            (window(1, 2, 3), 4, false),
            (window(4, 0, 1), 4, true),
            (window(5, 0, 1), 4, false),
            (window(0, 1, 0), 4, false),
            (window(1, u64::MAX, u64::MAX), 4, false),
        ] {
            assert_eq!(View::windows(&[extent], &[None], &[w]).is_ok(), fits, "{w:?} of {extent}");
        }
    }

    #[test]
    fn question_marks_are_bound_and_contradictions_refused() {
        let slice = Some(Slice { offset: Some(1), size: None, stride: Some(2) });
        let window = Window { offset: 1, size: 3, stride: 2 };
        assert_eq!(View::windows(&[9], &[slice], &[window]).unwrap().shape(), [3]);
        assert!(View::windows(&[9], &[slice], &[]).is_err());
        let other = Window { offset: 0, ..window };
        assert!(View::windows(&[9], &[slice], &[other]).is_err());
    }
}
