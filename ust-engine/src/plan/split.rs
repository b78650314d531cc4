//! Where the outermost loop begins and ends, and how it is split by stored elements.

use ust_level_api::ir::interp::{Memory, Param, Program};
use ust_level_api::ir::{ArrayId, Builder, Elem, Expr, Ty, Var};
use ust_level_api::{IndexKind, Interval};

use super::access::Access;
use super::emit::Split;
use super::emit::merge::first_from;
use super::order::Order;
use crate::error::Error;
use crate::lower::balance::{below, bounds};
use crate::lower::nest::{Operand, Reach};
use crate::tensor::Tensor;

/// Splits the outermost loop, by running a little code over the tensors' levels.
#[derive(Clone, Debug)]
pub(crate) struct Splitter {
    program: Program,
    operands: Vec<(usize, Operand)>,
    split: Split,
}

impl Splitter {
    /// Prepares the code for a stage whose outermost loop can be split.
    ///
    /// # Errors
    /// [`Error::Malformed`] where a level type emits what is no code.
    pub(crate) fn new(
        split: Split,
        order: &Order,
        accesses: &[Access],
        tensors: &[&Tensor],
    ) -> Result<Option<Self>, Error> {
        let Some(step) = order.steps.first() else { return Ok(None) };
        let uses: Vec<usize> = match split {
            Split::No => return Ok(None),
            Split::Cursor { at, .. } => vec![at],
            Split::Index(_) | Split::Level(_) | Split::Merge { .. } => {
                step.walkers.iter().map(|w| w.0).filter(|&at| !accesses[at].full).collect()
            }
        };
        let mut b = Builder::new("split");
        let declared: Vec<Operand> =
            uses.iter().map(|&at| Operand::declare(&mut b, "A", tensors[at])).collect();
        let operands: Vec<(usize, Operand)> = uses.into_iter().zip(declared).collect();
        let extent = b.param("extent", Ty::Int);
        let count = b.param("count", Ty::Int);
        let out = b.array("bounds", Elem::Index(IndexKind::I64), true);
        emit(&mut b, split, &operands, extent, &count, out);
        Ok(Some(Self { program: Program::compile(&b.finish())?, operands, split }))
    }

    /// Whether parts are ranges of coordinates, which may be cut again anywhere.
    pub(crate) fn is_by_coordinate(&self) -> bool {
        !matches!(self.split, Split::No | Split::Cursor { .. })
    }

    /// Splits the outermost loop into so many parts of about as many stored elements each.
    /// Neighbouring parts share a bound; parts may be empty.
    ///
    /// # Errors
    /// [`Error::Run`] on arrays that nobody checked.
    pub(crate) fn parts(
        &self,
        tensors: &[&Tensor],
        extents: &[usize],
        count: usize,
    ) -> Result<Vec<(i64, i64)>, Error> {
        let extent = match self.split {
            Split::Index(v) => extents[v] as i64,
            Split::Level(at) | Split::Merge { at, .. } => {
                tensors[at].bound().levels()[0].size as i64
            }
            Split::No | Split::Cursor { .. } => 0,
        };
        let (mut params, mut memory) = (Vec::new(), Vec::new());
        for (at, operand) in &self.operands {
            params.extend(operand.size_arguments(tensors[*at]));
            memory.extend(tensors[*at].levels().iter().flat_map(|l| &l.0).map(Memory::Index));
        }
        params.extend([extent, count as i64]);
        let params: Vec<Param> = params.into_iter().map(Param::Int).collect();
        let mut bounds = vec![0_i64; count + 1];
        memory.push(Memory::indices_mut(&mut bounds));
        self.program.run(&params, &mut memory)?;
        drop(memory);
        Ok(bounds.windows(2).map(|pair| (pair[0], pair[1])).collect())
    }
}

/// Sets the bounds of so many parts, the first and the last of which are those of the loop.
fn emit(
    b: &mut Builder,
    split: Split,
    operands: &[(usize, Operand)],
    extent: Expr,
    count: &Expr,
    out: ArrayId,
) {
    let (lo, hi) = match (split, operands) {
        (Split::Cursor { .. }, [(_, operand), ..]) => {
            let site = operand.root(Reach::Inside);
            let Interval { lo, hi } = operand.format.levels()[0].ty.walk(&site, b).cursor;
            (lo, hi)
        }
        (Split::Merge { .. }, [(_, first), ..]) => {
            let lo = first.sizes.lowers[0].clone();
            (lo.clone(), lo + extent)
        }
        _ => (Expr::Int(0), extent),
    };
    let lo = b.bind("lo", lo);
    let hi = b.bind("hi", hi.max(lo.clone()));
    bounds(
        b,
        [&lo, &hi],
        count,
        out,
        |b, place| weight(b, split, operands, &lo, place),
        |b, place| align(b, split, operands, (&lo, &hi), place),
    );
}

/// Moves on to the nearest place, before the end, at which a part may begin.
fn align(
    b: &mut Builder,
    split: Split,
    operands: &[(usize, Operand)],
    (lo, hi): (&Expr, &Expr),
    place: Var,
) {
    if let (Split::Cursor { aligned: true, .. }, [(_, operand), ..]) = (split, operands) {
        let site = operand.root(Reach::Inside);
        let walk = operand.format.levels()[0].ty.walk(&site, b);
        let here = (walk.step)(b, place.into()).crd;
        let above = (walk.step)(b, Expr::from(place) - 1).crd;
        let inside = lo.clone().lt(place).and(Expr::from(place).lt(hi.clone()));
        let same = inside.select(here.equals(above), Expr::Bool(false));
        b.while_(same, |b| b.assign(place, Expr::from(place) + 1));
    }
}

/// Stored elements before a place.
fn weight(
    b: &mut Builder,
    split: Split,
    operands: &[(usize, Operand)],
    lo: &Expr,
    place: &Expr,
) -> Expr {
    let mut weight = match split {
        // Where no tensor has anything, nothing is done.
        Split::Merge { every: false, .. } => Expr::Int(0),
        _ => place.clone(),
    };
    for (_, operand) in operands {
        let site = operand.root(Reach::Inside);
        let walk = operand.format.levels()[0].ty.walk(&site, b);
        let before = match split {
            // Under a single root, the position at a full level is the coordinate itself.
            Split::Index(_) | Split::Level(_) => Interval { lo: Expr::Int(0), hi: place.clone() },
            Split::Merge { .. } if operand.format.descriptions()[0].props.full => {
                Interval { lo: Expr::Int(0), hi: place.clone() - lo.clone() }
            }
            Split::Merge { .. } => {
                let Interval { lo, hi } = walk.cursor.clone();
                let lo = b.bind("below_lo", lo);
                Interval { hi: first_from(b, &walk, lo.clone(), hi, place), lo }
            }
            _ => Interval { lo: walk.cursor.lo.clone(), hi: place.clone() },
        };
        weight = weight + below(b, operand, &walk, before);
    }
    weight
}
