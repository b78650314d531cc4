//! Foreign arrays are checked once, here: by each level's own `check`, against the claims of their
//! levels (`claims`, and `listed` where that takes no walk), and for the rules that concern several levels together.

mod claims;
mod inside;
mod listed;

use ust_format::{Bound, Format, Given, IndexExpr};
use ust_level_api::{Arrays, IndexArray, Pos, Reach, Scalar};

use crate::error::Error;
use crate::storage::{Parts, Tensor, Values, level_error};
use crate::walk::nest::{Operand, Reach as Walked};
use crate::walk::unpack::{Column, Keep, lower, unpack};

impl Tensor {
    /// A tensor over foreign arrays, without a copy, after a full check: lengths, order,
    /// uniqueness, bounds, and that every stored entry has coordinates inside the shape.
    ///
    /// Index arrays may have any width where the format leaves the width open
    /// (`posWidth`/`crdWidth` 0), signed or unsigned.
    ///
    /// ```
    /// use ust::{Tensor, tensor::Parts};
    /// let arrays = vec![vec![], vec![vec![0_i32, 1, 3].into(), vec![2_i32, 0, 1].into()]];
    /// let parts = Parts::new(arrays, vec![1.0, 2.0, 3.0]);
    /// let csr = Tensor::from_parts("CSR", &[2, 3], parts)?;
    /// assert_eq!(csr.get_as::<f64>(&[1, 1])?, 3.0);
    ///
    /// let arrays = vec![vec![], vec![vec![0_i32, 1, 3].into(), vec![2_i32, 0, 7].into()]];
    /// let bad = Tensor::from_parts("CSR", &[2, 3], Parts::new(arrays, vec![1.0, 2.0, 3.0]));
    /// assert!(bad.unwrap_err().to_string().contains("crd[2] = 7"));
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Level`] names level, array, index and broken rule. [`Error::Claim`] names a child
    /// that breaks a claim of its level type, where the level's own check accepted it.
    /// [`Error::Parts`] is returned when arrays are missing or of the wrong kind;
    /// [`Error::OutOfBounds`], [`Error::Duplicate`] and [`Error::Order`] for rules that concern
    /// several levels together.
    pub fn from_parts<'f>(
        format: impl Into<Given<'f>>,
        shape: &[usize],
        parts: Parts,
    ) -> Result<Self, Error> {
        let format = &*format.into().resolve(Some(shape.len()))?;
        let tensor = Self::bind_parts(format, shape, parts)?;
        for (dim, order) in tensor.view().orders() {
            order.check(&format.dims()[dim].name)?;
        }
        let mut orders = vec![None; shape.len()];
        tensor
            .view()
            .orders()
            .for_each(|(dim, order)| orders[dim] = Some(order.coordinates().clone()));
        verify(tensor).map_err(|error| in_coordinates(error, &orders))
    }

    /// A tensor whose arrays level types assembled. Checked as foreign arrays are if one of them [is not
    /// trusted](ust_level_api::LevelType::is_trusted).
    ///
    /// # Errors
    /// As [`Tensor::from_parts`].
    pub(crate) fn assembled(
        bound: Bound,
        levels: Vec<Arrays>,
        values: Values,
        fill: Scalar,
        clean: bool,
    ) -> Result<Self, Error> {
        let is_trusted = are_trusted(bound.format());
        let tensor = Self::trusted(bound, levels, values, fill, clean);
        if is_trusted {
            return Ok(tensor);
        }
        tensor.fetch()?;
        verify(tensor)
    }
}

/// An error about coordinates, where those of sorted dimensions were places.
fn in_coordinates(mut error: Error, orders: &[Option<IndexArray>]) -> Error {
    if let Error::Duplicate { coordinates } | Error::Order { coordinates } = &mut error {
        for (at, order) in coordinates.iter_mut().zip(orders) {
            let coordinate = order.as_ref().and_then(|order| order.get(*at));
            *at = coordinate.and_then(|at| usize::try_from(at).ok()).unwrap_or(*at);
        }
    }
    error
}

/// Whether arrays that the level types of a format assemble are used unchecked.
pub(crate) fn are_trusted(format: &Format) -> bool {
    format.levels().iter().all(|level| level.ty.is_trusted())
}

/// Checks the contents of the arrays. Marks the tensor as clean where coordinates reach every position.
pub(crate) fn verify(mut tensor: Tensor) -> Result<Tensor, Error> {
    let stored = tensor.by_places();
    let reached = levels(&stored.bound, stored.levels(), stored.values().len())?;
    let children = claims::compare(&stored, &reached)?;
    let repeats = lower(&stored, Walked::Inside, &[], Keep::All).repeats;
    let places = entries(&stored, (!repeats).then_some(children))?;
    tensor.clean = places == tensor.nse() && !repeats;
    Ok(tensor)
}

/// Runs every level's own check, from the first level down. Returns the positions of each level
/// that are in reach.
fn levels(bound: &Bound, arrays: &[Arrays], values: usize) -> Result<Vec<Reach>, Error> {
    let root = Reach::all(1);
    let mut reached: Vec<Reach> = Vec::new();
    for (level, arrays) in arrays.iter().enumerate() {
        let ty = &bound.format().levels()[level].ty;
        let reach = ty
            .check(&bound.site(level), arrays, reached.last().unwrap_or(&root))
            .map_err(|source| level_error(bound, level, source))?;
        let all = reach.positions;
        let beyond = |i: &std::ops::Range<Pos>| i.start > i.end || i.end > all;
        if let Some(beyond) = reach.intervals.iter().flatten().find(|i| beyond(i)) {
            return Err(Error::Parts(format!(
                "level {level} (`{}`): its `check` says that the positions {beyond:?} are in reach, \
                 and that there are {all} positions: mend the level type",
                bound.format().level_text(level)
            )));
        }
        reached.push(reach);
    }
    let positions = reached.last().unwrap_or(&root).positions;
    if positions != values as u64 {
        return Err(Error::Parts(format!(
            "the levels have {positions} positions, and {values} values were given"
        )));
    }
    Ok(reached)
}

/// Checks the rules that concern several levels together: coordinates of dimensions, and order and
/// uniqueness across levels. Returns the number of positions that coordinates reach. `children` is
/// the number of children of the last level that is not full, or 1; `None` where one child can
/// stand for many elements.
fn entries(tensor: &Tensor, children: Option<usize>) -> Result<usize, Error> {
    let format = tensor.format();
    let tail = format.tail();
    let props = |level: usize| format.descriptions()[level].props;
    // A nonunique level repeats a coordinate for the levels below, as in COO: order and uniqueness
    // concern these levels together. Unique levels were checked alone.
    let shared = (0..tail.saturating_sub(1)).any(|level| !props(level).unique);
    // The values of a block have the same coordinates above the block: only the first of each block
    // is compared.
    let block: u64 = tensor.bound.levels()[tail..].iter().map(|level| level.size).product();
    // Where levels store dimensions themselves, coordinates inside the levels are inside the shape.
    let plain = format.levels().iter().all(|level| matches!(level.expr, IndexExpr::Var(_)));
    if let Some(children) = children.filter(|_| plain && (!shared || listed::ascend(tensor))) {
        return Ok(children.saturating_mul(block as usize));
    }
    // What one stored value stands for is told by no column.
    if children.is_some()
        && !shared
        && !Operand::has_gaps(format)
        && let Some(places) = inside::count(tensor)?
    {
        return Ok(places);
    }
    let mut columns: Vec<Column> = (0..tensor.rank()).map(Column::Dim).collect();
    if shared {
        columns.extend((0..tail).map(Column::LevelCoordinate));
    }
    let columns = unpack(tensor, Walked::Inside, &columns, Keep::All, tensor.nse())?;
    let (dims, levels) = columns.split_at(tensor.rank());
    let places = columns.first().map_or(1, Vec::len);
    for (dim, (column, &extent)) in dims.iter().zip(tensor.shape()).enumerate() {
        let outside = column.iter().position(|&c| c < 0 || c as u64 >= extent as u64);
        if let Some(entry) = outside {
            let coordinate = column[entry];
            return Err(Error::OutOfBounds { entry, dim, coordinate, extent });
        }
    }
    if Operand::has_gaps(format) {
        maps_back(tensor)?;
    }
    if !shared {
        return Ok(places);
    }
    let ordered = (0..tail).all(|level| props(level).ordered);
    let compare = |a: usize, b: usize| {
        levels.iter().map(|column| column[a].cmp(&column[b])).find(|o| o.is_ne())
    };
    let heads: Vec<usize> = match block {
        0 | 1 => (0..places).collect(),
        _ => block_heads(tensor)?,
    };
    let heads = match tail.checked_sub(1).is_some_and(|last| props(last).padded) {
        true => without_padding(tensor, heads, block.max(1) as usize)?,
        false => heads,
    };
    let coordinates = |at: usize| dims.iter().map(|column| column[at] as usize).collect();
    if ordered {
        for pair in heads.windows(2) {
            match compare(pair[0], pair[1]) {
                Some(std::cmp::Ordering::Less) => {}
                None if !format.is_unique() => {}
                None => return Err(Error::Duplicate { coordinates: coordinates(pair[1]) }),
                Some(_) => return Err(Error::Order { coordinates: coordinates(pair[1]) }),
            }
        }
    } else if format.is_unique() {
        let mut sorted = heads;
        sorted.sort_by(|&a, &b| compare(a, b).unwrap_or(std::cmp::Ordering::Equal));
        if let Some(pair) = sorted.windows(2).find(|pair| compare(pair[0], pair[1]).is_none()) {
            return Err(Error::Duplicate { coordinates: coordinates(pair[1]) });
        }
    }
    Ok(places)
}

/// Checks that level coordinates belong to elements, where levels have coordinates that belong to none.
fn maps_back(tensor: &Tensor) -> Result<(), Error> {
    let format = tensor.format();
    let levels = format.level_count();
    let columns: Vec<Column> = (0..levels).map(Column::LevelCoordinate).collect();
    let columns = unpack(tensor, Walked::Inside, &columns, Keep::All, tensor.nse())?;
    for entry in 0..columns.first().map_or(0, Vec::len) {
        let coordinates: Vec<i64> = columns.iter().map(|column| column[entry]).collect();
        if format.lvl2dim(&coordinates).is_none() {
            return Err(Error::Parts(format!(
                "entry {entry} has level coordinates {coordinates:?}, which no element of \
                 `{format}` has"
            )));
        }
    }
    Ok(())
}

/// For each trailing dense block, the index of its first visited value.
fn block_heads(tensor: &Tensor) -> Result<Vec<usize>, Error> {
    let above = Column::LevelPosition(tensor.format().tail() - 1);
    let columns = unpack(tensor, Walked::Inside, &[above], Keep::All, tensor.nse())?;
    let position = &columns[0];
    Ok((0..position.len()).filter(|&at| at == 0 || position[at] != position[at - 1]).collect())
}

/// The block heads whose block has an entry. Blocks of padding may have any coordinates, also those
/// of another block.
fn without_padding(tensor: &Tensor, heads: Vec<usize>, block: usize) -> Result<Vec<usize>, Error> {
    let values =
        unpack(tensor, Walked::Inside, &[Column::Value], Keep::All, tensor.nse())?.remove(0);
    let mask = tensor.entry_mask();
    let is_entry = |&place: &usize| {
        let first = values[place] as usize / block * block;
        mask[first..(first + block).min(mask.len())].contains(&1)
    };
    Ok(heads.into_iter().filter(is_entry).collect())
}
