//! Where the outermost loop begins and ends, and how it is split by stored elements.

use ust_level_api::ir::interp::{Memory, Param, Program};
use ust_level_api::ir::{Builder, Elem, Expr, Function, Ty};
use ust_level_api::{IndexKind, Interval, WalkKind};

use super::access::Access;
use super::emit::Split;
use super::emit::merge::first_from;
use super::order::Order;
use crate::error::Error;
use crate::lower::nest::{Operand, Reach};
use crate::tensor::Tensor;

/// Answers about the outermost loop, by running a little code over the tensors' levels.
#[derive(Clone, Debug)]
pub(crate) struct Splitter {
    program: Program,
    operands: Vec<(usize, Operand)>,
    split: Split,
}

/// What the code says about a place of the outermost loop.
struct Answer {
    lo: i64,
    hi: i64,
    /// Stored elements before the place.
    weight: i64,
    /// The nearest place from there on at which a part may begin.
    aligned: i64,
}

impl Splitter {
    /// Prepares the answers for a stage whose outermost loop can be split.
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
        let place = b.param("place", Ty::Int);
        let out = b.array("out", Elem::Index(IndexKind::I64), true);
        let function = emit(b, split, &operands, extent, &place, out);
        Ok(Some(Self { program: Program::compile(&function)?, operands, split }))
    }

    fn ask(&self, tensors: &[&Tensor], extent: i64, place: i64) -> Result<Answer, Error> {
        let mut params = Vec::new();
        let mut memory: Vec<Memory<'_>> = Vec::new();
        for (at, operand) in &self.operands {
            params.extend(operand.size_arguments(tensors[*at]));
            memory.extend(tensors[*at].levels().iter().flat_map(|l| &l.0).map(Memory::Index));
        }
        params.extend([extent, place]);
        let params: Vec<Param> = params.into_iter().map(Param::Int).collect();
        let mut out = [0_i64; 4];
        memory.push(Memory::indices_mut(&mut out));
        self.program.run(&params, &mut memory)?;
        drop(memory);
        let [lo, hi, weight, aligned] = out;
        Ok(Answer { lo, hi, weight, aligned })
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
        let Answer { lo, hi, .. } = self.ask(tensors, extent, 0)?;
        let hi = hi.max(lo);
        let total = self.ask(tensors, extent, hi)?.weight;
        let mut bounds = vec![lo];
        for part in 1..count {
            let wanted = total / count as i64 * part as i64;
            let (mut a, mut z) = (bounds[part - 1], hi);
            while a < z {
                let middle = a + (z - a) / 2;
                match self.ask(tensors, extent, middle)?.weight < wanted {
                    true => a = middle + 1,
                    false => z = middle,
                }
            }
            bounds.push(self.ask(tensors, extent, a)?.aligned.clamp(bounds[part - 1], hi));
        }
        bounds.push(hi);
        Ok(bounds.windows(2).map(|pair| (pair[0], pair[1])).collect())
    }
}

fn emit(
    mut b: Builder,
    split: Split,
    operands: &[(usize, Operand)],
    extent: Expr,
    place: &Expr,
    out: ust_level_api::ir::ArrayId,
) -> Function {
    let mut weight = match split {
        // Where no tensor has anything, nothing is done.
        Split::Merge { every: false, .. } => Expr::Int(0),
        _ => place.clone(),
    };
    let (mut lo, mut hi) = (Expr::Int(0), extent);
    if let (Split::Merge { .. }, [(_, first), ..]) = (split, operands) {
        lo = first.sizes.lowers[0].clone();
        hi = lo.clone() + hi;
    }
    let mut aligned = place.clone();
    for (at, (_, operand)) in operands.iter().enumerate() {
        let site = operand.site(0, Interval::one(Expr::Int(0)), &[], Reach::Inside);
        let walk = operand.format.levels()[0].ty.walk(&site, &mut b);
        let mut before = match split {
            // Under a single root, the position at a full level is the coordinate itself.
            Split::Index(_) | Split::Level(_) => Interval { lo: Expr::Int(0), hi: place.clone() },
            Split::Merge { .. } if operand.format.descriptions()[0].props.full => {
                Interval { lo: Expr::Int(0), hi: place.clone() - lo.clone() }
            }
            Split::Merge { .. } => {
                let Interval { lo, hi } = walk.cursor.clone();
                let lo = b.bind("below_lo", lo);
                Interval { hi: first_from(&mut b, &walk, lo.clone(), hi, place), lo }
            }
            _ => Interval { lo: walk.cursor.lo.clone(), hi: place.clone() },
        };
        if let (0, Split::Cursor { aligned: needed, .. }) = (at, split) {
            lo = b.bind("lo", walk.cursor.lo.clone());
            hi = b.bind("hi", walk.cursor.hi.clone());
            if needed {
                let at = b.var("aligned", place.clone());
                let here = (walk.step)(&mut b, at.into()).crd;
                let above = (walk.step)(&mut b, Expr::from(at) - 1).crd;
                let inside = lo.clone().lt(at).and(Expr::from(at).lt(hi.clone()));
                let same = inside.select(here.equals(above), Expr::Bool(false));
                b.while_(same, |b| b.assign(at, Expr::from(at) + 1));
                aligned = at.into();
            }
        }
        // Down through the levels whose children lie side by side.
        // Elsewhere the cursor tells no position.
        if walk.kind != WalkKind::Position && !operand.format.descriptions()[0].props.full {
            weight = weight + (before.hi - before.lo);
            continue;
        }
        for level in 1..operand.format.level_count() {
            let description = &operand.format.descriptions()[level];
            if description.props.full {
                let size = operand.sizes.sizes[level].clone();
                before = Interval { lo: before.lo * size.clone(), hi: before.hi * size };
                continue;
            }
            if !description.props.contiguous || description.walk != WalkKind::Position {
                break;
            }
            let above = vec![Expr::Int(0); level];
            let site = operand.site(level, before, &above, Reach::Everything);
            let walk = operand.format.levels()[level].ty.walk(&site, &mut b);
            before = Interval {
                lo: b.bind("below_lo", walk.cursor.lo.clone()),
                hi: b.bind("below_hi", walk.cursor.hi.clone()),
            };
        }
        weight = weight + (before.hi - before.lo);
    }
    for (at, value) in [lo, hi, weight, aligned].into_iter().enumerate() {
        b.store(out, Expr::Int(at as i64), value);
    }
    b.finish()
}
