//! What comes in from outside is checked once, here: foreign arrays against their format, and
//! (`claims`) against what their levels say of themselves.

mod claims;

use ust_format::{Bound, Format, IndexExpr};
use ust_level_api::{Arrays, Pos, Reach};

use crate::error::Error;
use crate::storage::{Parts, Tensor, level_error};
use crate::walk::nest::{Operand, Reach as Walked};
use crate::walk::unpack::{Column, Keep, lower, unpack};

impl Tensor {
    /// A tensor over foreign arrays, without a copy, after a full check: lengths, order,
    /// uniqueness, bounds, and that every stored entry decodes to coordinates inside the shape.
    ///
    /// Index arrays may be of any width where the format leaves it open (`posWidth`/`crdWidth` 0),
    /// signed or not.
    ///
    /// ```
    /// use ust::{Tensor, tensor::Parts};
    /// let arrays = vec![vec![], vec![vec![0_i32, 1, 3].into(), vec![2_i32, 0, 1].into()]];
    /// let parts = Parts::new(arrays, vec![1.0, 2.0, 3.0]);
    /// let csr = Tensor::from_parts(&"CSR".parse()?, &[2, 3], parts)?;
    /// assert_eq!(csr.get_as::<f64>(&[1, 1])?, 3.0);
    ///
    /// let arrays = vec![vec![], vec![vec![0_i32, 1, 3].into(), vec![2_i32, 0, 7].into()]];
    /// let bad = Tensor::from_parts(&"CSR".parse()?, &[2, 3], Parts::new(arrays, vec![1.0, 2.0, 3.0]));
    /// assert!(bad.unwrap_err().to_string().contains("crd[2] = 7"));
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Level`] names level, array, index and rule; [`Error::Claim`] the child that is not
    /// what its level type says of itself, where the level's own check let it pass;
    /// [`Error::Parts`] when arrays are missing or of the wrong kind; [`Error::OutOfBounds`], [`Error::Duplicate`], [`Error::Order`] for what
    /// no level sees alone.
    pub fn from_parts(format: &Format, shape: &[usize], parts: Parts) -> Result<Self, Error> {
        let tensor = Self::bind_parts(format, shape, parts)?;
        verify(tensor)
    }
}

/// Are the arrays' contents right? Marks the tensor as clean where no place is out of reach.
fn verify(mut tensor: Tensor) -> Result<Tensor, Error> {
    let reached = levels(&tensor.bound, &tensor.levels, tensor.values.len())?;
    let children = claims::hold(&tensor, &reached)?;
    let repeats = lower(&tensor, Walked::Inside, &[], Keep::All).repeats;
    let places = entries(&tensor, (!repeats).then_some(children))?;
    tensor.clean = places == tensor.nse() && !repeats;
    Ok(tensor)
}

/// Every level's own check, from the root down. Gives what each says is in reach.
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

/// What no level sees alone: coordinates of dimensions, and order and uniqueness across levels.
/// Gives the number of places that coordinates reach. `children` is that of the last level that is
/// not full, or 1; `None` where a child can stand for many.
fn entries(tensor: &Tensor, children: Option<usize>) -> Result<usize, Error> {
    let format = tensor.format();
    let tail = format.tail();
    let props = |level: usize| format.descriptions()[level].props;
    // A nonunique level repeats a coordinate for the levels below: only together are they in order
    // and unique. Levels that are so alone were seen alone.
    let shared = (0..tail.saturating_sub(1)).any(|level| !props(level).unique);
    // Places within a block share their level coordinates: only the first of a block counts.
    let block: u64 = tensor.bound.levels()[tail..].iter().map(|level| level.size).product();
    // There is no room to spare in plain dimensions: what lies in its level lies in the shape.
    let plain = format.levels().iter().all(|level| matches!(level.expr, IndexExpr::Var(_)));
    if let Some(children) = children.filter(|_| plain && !shared) {
        return Ok(children.saturating_mul(block as usize));
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

/// Do level coordinates stand for elements, where levels have room to spare?
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

/// For each block that the trailing full levels make, the first place visited in it.
fn block_heads(tensor: &Tensor) -> Result<Vec<usize>, Error> {
    let above = Column::LevelPosition(tensor.format().tail() - 1);
    let columns = unpack(tensor, Walked::Inside, &[above], Keep::All, tensor.nse())?;
    let position = &columns[0];
    Ok((0..position.len()).filter(|&at| at == 0 || position[at] != position[at - 1]).collect())
}

/// Of the places visited, those with an entry in their block: padding may stand anywhere, also at
/// coordinates that another parent has.
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
