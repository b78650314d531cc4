//! Slices: what [`Tensor::slice`] takes.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use ndarray::{Dimension, SliceInfo, SliceInfoElem};

use super::dims::Dim;
use crate::error::Error;
use crate::storage::Tensor;
use crate::storage::view::Window;

/// What a slice shows of one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// Coordinates at equal distances. The dimension stays.
    Window(Window),
    /// One coordinate. The dimension is dropped.
    At(usize),
}

/// What says which part of a tensor a slice shows: a range or a coordinate for each dimension. Dimensions behind those
/// that are named are shown whole.
///
/// | written | is |
/// |---|---|
/// | `2..5`, `..5`, `2..`, `..`, `2..=4` | along the first dimension |
/// | `(2..5, ..)`, `(3, ..)`, `(.., 0)` | along each; a number drops the dimension |
/// | ndarray's `s![2..5, ..;2]`, `s![-1, ..]` | with steps; negative numbers count from the end |
/// | [`Window`]s, in an array or a slice | offset, size and stride of each dimension |
pub trait Slicing {
    /// What is shown of each dimension that is named, of a tensor of this shape.
    ///
    /// # Errors
    /// [`Error::Shape`] for more dimensions than there are, and [`Error::Unsupported`] for steps backwards.
    fn along(&self, shape: &[usize]) -> Result<Vec<Along>, Error>;
}

/// A range or a coordinate of one dimension.
pub trait Bounds {
    /// What it shows of a dimension of this extent.
    fn of(&self, extent: usize) -> Along;
}

impl Tensor {
    /// A part of this tensor. It shares the arrays, and is read, converted and multiplied like any tensor; it cannot be
    /// written to.
    ///
    /// ```
    /// use ust::{Tensor, ndarray::s};
    ///
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0, 2], [0, 3, 0], [4, 0, 5]], "CSR")?;
    /// let dense = |part: Tensor| part.to_dense::<i32>();
    /// assert_eq!(dense(a.slice(1..)?)?, ndarray::array![[0, 3, 0], [4, 0, 5]].into_dyn());
    /// assert_eq!(dense(a.slice((..2, 1..))?)?, ndarray::array![[0, 2], [3, 0]].into_dyn());
    /// assert_eq!(dense(a.slice(s![..;2, ..;2])?)?, ndarray::array![[1, 2], [4, 5]].into_dyn());
    /// // A coordinate drops its dimension.
    /// assert_eq!(dense(a.slice((.., 0))?)?, ndarray::array![1, 0, 4].into_dyn());
    /// assert_eq!(dense(a.slice(s![-1, ..])?)?, ndarray::array![4, 0, 5].into_dyn());
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// Cost: where the format stores the dimension first, as CSR does rows, an interval costs time in proportion to
    /// its extent, and the slice is as quick in use as a tensor that has these elements alone. Elsewhere the slice is
    /// a view: it costs nothing. What only reads it walks over what it does not show; loops of expressions run on a copy
    /// of what it shows, which is made once and kept, as long as such copies take no more bytes together than the tensor
    /// ([`Tensor::kept_bytes`]): the same slice is as quick from the second use on. To drop a dimension costs
    /// nothing if it is stored first, and else a pass over the slice, the result of which has its own arrays.
    ///
    /// # Errors
    /// [`Error::Shape`] for a range beyond its dimension, or more ranges than dimensions; [`Error::Coordinate`] for a
    /// coordinate outside; [`Error::Unsupported`] for steps of 0 or backwards.
    pub fn slice(&self, slicing: impl Slicing) -> Result<Self, Error> {
        let mut along = slicing.along(self.shape())?;
        if along.len() > self.rank() {
            return Err(Error::Shape {
                found: self.shape().to_vec(),
                expected: format!("the slice names {} dimensions", along.len()),
            });
        }
        let named = along.len();
        along.extend(self.shape()[named..].iter().map(|&n| Along::Window(Window::all(n))));
        let mut dropped = Vec::new();
        let mut windows = Vec::with_capacity(along.len());
        for (dim, along) in along.into_iter().enumerate() {
            windows.push(match along {
                Along::Window(window) => window,
                Along::At(coordinate) if coordinate < self.shape()[dim] => {
                    dropped.push(dim);
                    Window { offset: coordinate as u64, size: 1, stride: 1 }
                }
                Along::At(coordinate) => {
                    return Err(Error::Coordinate { dim, coordinate, extent: self.shape()[dim] });
                }
            });
        }
        self.windowed(&windows)?.without(&dropped)
    }

    /// The tensor at one coordinate of a dimension, which is dropped. Cost: as [`Tensor::slice`].
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0, 2], [0, 3, 0]], "CSR")?;
    /// assert_eq!(a.index_axis(1, 2)?.to_dense::<i32>()?, ndarray::array![2, 0].into_dyn());
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::slice`]; [`Error::Shape`] for a dimension that the tensor does not have.
    pub fn index_axis(&self, dim: impl Dim, coordinate: usize) -> Result<Self, Error> {
        let dim = self.dim(dim)?;
        let mut along: Vec<Along> =
            self.shape()[..dim].iter().map(|&n| Along::Window(Window::all(n))).collect();
        along.push(Along::At(coordinate));
        self.slice(along)
    }

    /// A row of a matrix, as a vector; of a tensor of another rank, what is at a coordinate of its first dimension.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0, 2], [0, 3, 0]], "CSR")?;
    /// let row = a.row(0)?;
    /// assert_eq!((row.shape(), row.values().typed::<i32>()?), (&[3][..], &[1, 2][..]));
    /// assert_eq!(row.crd(0).unwrap().to_vec(), [0, 2]);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::index_axis`].
    pub fn row(&self, row: usize) -> Result<Self, Error> {
        self.index_axis(0, row)
    }

    /// A column of a matrix, as a vector; of a tensor of higher rank, what is at a coordinate of its second dimension.
    ///
    /// # Errors
    /// As [`Tensor::index_axis`].
    pub fn column(&self, column: usize) -> Result<Self, Error> {
        self.index_axis(1, column)
    }
}

impl<T: Slicing + ?Sized> Slicing for &T {
    fn along(&self, shape: &[usize]) -> Result<Vec<Along>, Error> {
        (**self).along(shape)
    }
}

impl Slicing for [Window] {
    fn along(&self, shape: &[usize]) -> Result<Vec<Along>, Error> {
        if self.len() != shape.len() {
            let expected = format!("{} windows, one for each dimension", shape.len());
            return Err(Error::Shape { found: vec![self.len()], expected });
        }
        Ok(self.iter().copied().map(Along::Window).collect())
    }
}

impl<const N: usize> Slicing for [Window; N] {
    fn along(&self, shape: &[usize]) -> Result<Vec<Along>, Error> {
        self[..].along(shape)
    }
}

impl Slicing for Vec<Window> {
    fn along(&self, shape: &[usize]) -> Result<Vec<Along>, Error> {
        self[..].along(shape)
    }
}

impl Slicing for Vec<Along> {
    fn along(&self, _shape: &[usize]) -> Result<Vec<Along>, Error> {
        Ok(self.clone())
    }
}

impl<T, A, B> Slicing for SliceInfo<T, A, B>
where
    T: AsRef<[SliceInfoElem]>,
    A: Dimension,
    B: Dimension,
{
    fn along(&self, shape: &[usize]) -> Result<Vec<Along>, Error> {
        let elements: &[SliceInfoElem] = (**self).as_ref();
        let each = elements.iter().enumerate();
        each.map(|(dim, element)| element_along(*element, shape.get(dim).copied().unwrap_or(0)))
            .collect()
    }
}

/// What an element of ndarray's `s![..]` shows of a dimension.
fn element_along(element: SliceInfoElem, extent: usize) -> Result<Along, Error> {
    let from_start = |at: isize| match at {
        0.. => Some(at as usize),
        _ => extent.checked_sub(at.unsigned_abs()),
    };
    let outside = |at: isize| Error::Shape {
        found: vec![extent],
        expected: format!("the slice counts {} from the end", at.unsigned_abs()),
    };
    match element {
        SliceInfoElem::Index(at) => Ok(Along::At(from_start(at).ok_or_else(|| outside(at))?)),
        SliceInfoElem::Slice { start, end, step } => {
            let Ok(stride @ 1..) = u64::try_from(step) else {
                let text = "a slice takes steps of 1 or more: it cannot reverse a dimension";
                return Err(Error::Unsupported(text.to_owned()));
            };
            let start = from_start(start).ok_or_else(|| outside(start))?;
            let end = match end {
                None => extent,
                Some(end) => from_start(end).ok_or_else(|| outside(end))?,
            };
            let size = (end.saturating_sub(start) as u64).div_ceil(stride);
            // What ends before it begins lies beyond every dimension.
            let offset = if end < start { u64::MAX } else { start as u64 };
            Ok(Along::Window(Window { offset, size, stride }))
        }
        SliceInfoElem::NewAxis => {
            let text = "a slice adds no dimension: use `expand_dims`";
            Err(Error::Unsupported(text.to_owned()))
        }
    }
}

/// The coordinates from one to before another.
fn between(start: usize, end: usize) -> Along {
    let (size, stride) = (end.saturating_sub(start) as u64, 1);
    // What ends before it begins lies beyond every dimension.
    let offset = if end < start { u64::MAX } else { start as u64 };
    Along::Window(Window { offset, size, stride })
}

impl Bounds for usize {
    fn of(&self, _extent: usize) -> Along {
        Along::At(*self)
    }
}

/// Ranges of Rust, along one dimension or the first.
macro_rules! ranges {
    ($($ty:ty: |$range:ident, $extent:ident| $start:expr, $end:expr;)*) => {$(
        impl Bounds for $ty {
            fn of(&self, $extent: usize) -> Along {
                let $range = self;
                between($start, $end)
            }
        }
        impl Slicing for $ty {
            fn along(&self, shape: &[usize]) -> Result<Vec<Along>, Error> {
                Ok(vec![self.of(shape.first().copied().unwrap_or(0))])
            }
        }
    )*};
}
ranges! {
    Range<usize>: |range, _extent| range.start, range.end;
    RangeFrom<usize>: |range, extent| range.start, extent.max(range.start);
    RangeTo<usize>: |range, _extent| 0, range.end;
    RangeFull: |_range, extent| 0, extent;
    RangeInclusive<usize>: |range, _extent| *range.start(), range.end().saturating_add(1);
    RangeToInclusive<usize>: |range, _extent| 0, range.end.saturating_add(1);
}

/// Tuples of ranges and coordinates.
macro_rules! tuples {
    ($(($($name:ident $at:tt),+);)*) => {$(
        impl<$($name: Bounds),+> Slicing for ($($name,)+) {
            fn along(&self, shape: &[usize]) -> Result<Vec<Along>, Error> {
                Ok(vec![$(self.$at.of(shape.get($at).copied().unwrap_or(0))),+])
            }
        }
    )*};
}
tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}
