//! Dimensions of extent 1, dropped and added.

use std::sync::OnceLock;

use ust_format::{Format, IndexExpr};

use super::dims::Dim;
use super::names;
use crate::einsum::einsum;
use crate::error::Error;
use crate::storage::Tensor;

impl Tensor {
    /// Without the dimensions of extent 1. Cost: nothing where a level stores each of them alone and in full, as dense
    /// formats and the rows of CSR do; else a pass over the stored elements.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[[1], [0], [2]]], "CSF")?;
    /// assert_eq!((a.shape(), a.squeeze()?.shape()), (&[1, 3, 1][..], &[3][..]));
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of an expression: see [`einsum`].
    pub fn squeeze(&self) -> Result<Self, Error> {
        let one = |&dim: &usize| self.shape()[dim] == 1;
        self.without(&(0..self.rank()).filter(one).collect::<Vec<_>>())
    }

    /// With a dimension of extent 1 more, which is dimension `dim` of the result: -1 for the last. The arrays are shared.
    /// Cost: O(1).
    ///
    /// ```
    /// # use ust::Tensor;
    /// let row = Tensor::from_dense(&ndarray::array![1, 0, 2], "SparseVector")?;
    /// assert_eq!(row.expand_dims(0)?.to_dense::<i32>()?, ndarray::array![[1, 0, 2]].into_dyn());
    /// assert_eq!(row.expand_dims(1)?.shape(), [3, 1]);
    /// assert_eq!(row.expand_dims(-1)?.shape(), [3, 1]);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if there is no such place; [`Error::Unsupported`] for batches, counted and sorted formats, which
    /// are to be converted first.
    pub fn expand_dims(&self, dim: impl Dim) -> Result<Self, Error> {
        let dim = self.new_dim(dim)?;
        if !is_plain(self.format()) {
            let text = "a dimension cannot be added to a batch, or to a counted or sorted format: convert first";
            return Err(Error::Unsupported(text.to_owned()));
        }
        let full = Format::full(1)?;
        let mut dims = self.format().axis_names();
        let name = (0..).map(|at| format!("n{at}")).find(|name| !dims.contains(name));
        let name = name.expect("there are more numbers than dimensions");
        let first = format!("{name} : {}", full.descriptions()[0].text);
        let levels: Vec<String> =
            std::iter::once(first).chain(level_texts(self.format())).collect();
        dims.insert(dim, name);
        let mut arrays = self.levels().to_vec();
        arrays.insert(0, ust_level_api::Arrays::default());
        let mut shape = self.bound.shape().to_vec();
        shape.insert(dim, 1);
        self.restored(&dims, &levels, arrays, &shape, |view| view.with_one(dim))
    }

    /// The number of a dimension of a tensor that has one more than this.
    pub(super) fn new_dim(&self, dim: impl Dim) -> Result<usize, Error> {
        let mut shape = self.shape().to_vec();
        shape.push(1);
        dim.of(&shape)
    }

    /// Without these dimensions, each of extent 1.
    pub(super) fn without(&self, dims: &[usize]) -> Result<Self, Error> {
        if dims.is_empty() {
            return Ok(self.clone());
        }
        if let Some(dropped) = self.levels_dropped(dims) {
            return dropped;
        }
        let all = names(self.rank());
        let kept: Vec<&str> =
            (0..self.rank()).filter(|dim| !dims.contains(dim)).map(|dim| &*all[dim]).collect();
        let text = format!("R({}) = A({})", kept.join(","), all.join(","));
        let format = self.format_for(kept.len())?;
        Ok(einsum(&text).arg("A", self).format(format).dtype(self.dtype()).run()?)
    }

    /// The same arrays without the levels of these dimensions. `None` if a level stores more than a dimension, or not
    /// in full.
    fn levels_dropped(&self, dims: &[usize]) -> Option<Result<Self, Error>> {
        let format = self.format();
        if !is_plain(format) || dims.iter().any(|&dim| self.bound.shape()[dim] != 1) {
            return None;
        }
        let mut dropped = vec![false; format.level_count()];
        for &dim in dims {
            let mut by = (0..format.level_count())
                .filter(|&at| format.levels()[at].expr.vars().contains(&dim));
            let at = by.next()?;
            let alone = format.levels()[at].expr == IndexExpr::Var(dim) && by.next().is_none();
            if !alone || !format.descriptions()[at].props.full {
                return None;
            }
            dropped[at] = true;
        }
        let all = format.axis_names();
        let kept: Vec<usize> = (0..self.rank()).filter(|dim| !dims.contains(dim)).collect();
        let own = |of: &[usize]| of.iter().map(|&dim| self.bound.shape()[dim]).collect::<Vec<_>>();
        let stays = |at: &usize| !dropped[*at];
        let texts = level_texts(format).enumerate().filter(|(at, _)| stays(at));
        let arrays = self.levels().iter().enumerate().filter(|(at, _)| stays(at));
        let names: Vec<String> = kept.iter().map(|&dim| all[dim].clone()).collect();
        Some(self.restored(
            &names,
            &texts.map(|(_, text)| text).collect::<Vec<_>>(),
            arrays.map(|(_, arrays)| arrays.clone()).collect(),
            &own(&kept),
            |view| view.permuted(&kept),
        ))
    }

    /// The same values with other levels, which give each the same position.
    fn restored(
        &self,
        dims: &[String],
        levels: &[String],
        arrays: Vec<ust_level_api::Arrays>,
        shape: &[usize],
        view: impl FnOnce(&crate::storage::view::View) -> crate::storage::view::View,
    ) -> Result<Self, Error> {
        let own = self.format();
        let format = Format::of_texts(dims, levels)?;
        let format = format.with_widths(own.pos_width(), own.crd_width())?;
        let mut tensor = self.clone();
        (tensor.bound, tensor.view) = (format.bind(shape)?, view(&self.view));
        (tensor.levels, tensor.made) = (std::sync::Arc::new(arrays.into()), OnceLock::new());
        Ok(tensor)
    }

    /// The format of a tensor made of this one, with another rank: full if this one is, else a tree of compressed
    /// dimensions.
    pub(super) fn format_for(&self, rank: usize) -> Result<Format, Error> {
        let own = self.format();
        Ok(match rank {
            _ if rank == own.rank() => own.without_slices(),
            0 => Format::full(0)?,
            _ if own.is_full() => Format::full(rank)?,
            _ => Format::tree(rank)?,
        })
    }
}

/// Whether levels of a format can be taken away, and others added: each stores an expression over dimensions alone.
fn is_plain(format: &Format) -> bool {
    format.batches() == 0 && format.counters().is_empty() && !format.has_sorted()
}

/// The levels of a format, as they are written.
fn level_texts(format: &Format) -> impl Iterator<Item = String> {
    (0..format.level_count()).map(|level| format.level_text(level))
}
