//! A tensor as an operand of a function: its arrays and sizes, and the places of its levels.

use std::sync::Arc;

use ust_format::{Format, IndexExpr};
use ust_level_api::ir::{ArrayId, Builder, Elem, Expr, Ty};
use ust_level_api::{Description, Interval, ItemSite, Per, Reach, WalkSite};

use super::bounds::{Bounds, Sizes};
use super::emit;
use super::nest::Reach as Visited;
use crate::storage::view::View;
use crate::storage::{Outline, Tensor};

/// A tensor in a function: its arrays and sizes, declared as arrays and parameters.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The format.
    pub format: Format,
    /// For each level, its arrays.
    pub arrays: Vec<Vec<ArrayId>>,
    /// Extents, level sizes and lowest coordinates.
    pub sizes: Sizes,
    pub(crate) bounds: Bounds,
    pub(super) view: View,
    /// For each dimension, the array with its order, if it is sorted.
    pub(super) orders: Vec<Option<ArrayId>>,
}

/// A number that is the same for each item of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemSize {
    /// The positions of a level.
    Positions {
        /// The level.
        level: usize,
    },
    /// The elements of an array.
    Elements {
        /// The level.
        level: usize,
        /// The array, among those of the level.
        array: usize,
    },
}

impl ItemSize {
    /// Those that a format has: none without a batch. The others follow from these and the sizes of levels.
    #[must_use]
    pub fn all(format: &Format) -> Vec<Self> {
        let mut all = Vec::new();
        let batches = format.batches();
        let levels = format.descriptions().iter().enumerate().skip(batches);
        for (level, description) in levels.filter(|(_, one)| batches > 0 && !one.props.full) {
            all.extend((!description.props.branchless).then_some(Self::Positions { level }));
            let arrays = description.arrays.iter().enumerate();
            let own = arrays.filter(|(_, spec)| !matches!(spec.per, Per::Position | Per::Parent));
            all.extend(own.map(|(array, _)| Self::Elements { level, array }));
        }
        all
    }

    /// A name for a parameter.
    pub(crate) fn name(self, tensor: &str) -> String {
        match self {
            Self::Positions { level } => format!("{tensor}{level}_each"),
            Self::Elements { level, array } => format!("{tensor}{level}_each_{array}"),
        }
    }

    /// The number, for a tensor.
    pub(crate) fn of(self, tensor: &Tensor) -> i64 {
        let (level, all) = match self {
            Self::Positions { level } => (level, positions(tensor, level)),
            Self::Elements { level, array } => {
                (level, tensor.levels()[level].0[array].len() as u64)
            }
        };
        all.checked_div(tensor.bound().items(level)).unwrap_or(0) as i64
    }
}

/// Number of positions of a level below a batch.
fn positions(tensor: &Tensor, level: usize) -> u64 {
    let levels = tensor.format().descriptions().iter().zip(tensor.bound().levels());
    let mut positions = 1_u64;
    for (at, (Description { props, arrays, .. }, domain)) in levels.enumerate().take(level + 1) {
        let listed = arrays.iter().position(|spec| spec.per == Per::Position);
        positions = match listed {
            _ if props.full => positions.saturating_mul(domain.size),
            _ if props.branchless => positions,
            Some(listed) => tensor.levels()[at].0[listed].len() as u64,
            // No array tells it.
            None => return counted(tensor).0.get(level).copied().unwrap_or(0),
        };
    }
    positions
}

/// The number of positions of each level.
struct Positions(Vec<u64>);

/// The positions of all levels, as their own checks tell them. Kept with the arrays.
fn counted(tensor: &Tensor) -> Arc<Positions> {
    if let Some(counted) = tensor.kept_of_levels().get::<Positions>() {
        return counted;
    }
    // The checks of levels look at the arrays.
    let is_here = tensor.fetch().is_ok();
    let (bound, mut reach) = (tensor.bound(), Reach::all(1));
    let levels = bound.format().levels().iter().zip(tensor.levels()).enumerate();
    let each = levels.map_while(|(at, (level, arrays))| {
        reach = level.ty.check(&bound.site(at), arrays, &reach).ok()?;
        Some(reach.positions)
    });
    let counted = Arc::new(Positions(if is_here { each.collect() } else { Vec::new() }));
    tensor.kept_of_levels().keep(Arc::clone(&counted), 8 * counted.0.len() as u64);
    counted
}

impl Operand {
    /// Declares the sizes of a tensor as parameters of a function, and its arrays.
    /// [`Operand::size_arguments`] gives the arguments. All operands are declared before the first
    /// statement.
    #[must_use]
    pub fn declare(b: &mut Builder, name: &str, tensor: &Outline) -> Self {
        let format = tensor.format().clone();
        let mut int = |text: String| b.param(&text, Ty::Int);
        let sizes = Sizes {
            extents: (0..format.axes()).map(|d| int(format!("{name}_n{d}"))).collect(),
            sizes: (0..format.level_count())
                .map(|l| match &format.levels()[l].expr {
                    // A constant in the format, the same for every shape.
                    IndexExpr::Mod(_, m) if matches!(**m, IndexExpr::Const(_)) => emit(m, &[]),
                    _ => int(format!("{name}{l}_size")),
                })
                .collect(),
            lowers: (0..format.level_count())
                .map(|l| match can_be_negative(&format.levels()[l].expr) {
                    true => int(format!("{name}{l}_lower")),
                    false => Expr::Int(0),
                })
                .collect(),
            items: ItemSize::all(&format).iter().map(|size| int(size.name(name))).collect(),
        };
        Self::with_sizes(b, name, tensor, sizes)
    }

    /// Declares the arrays of a tensor. Its sizes are given as expressions.
    #[must_use]
    pub(crate) fn with_sizes(b: &mut Builder, name: &str, tensor: &Outline, sizes: Sizes) -> Self {
        let format = tensor.format().clone();
        let arrays = (0..format.level_count())
            .map(|l| {
                let specs = &format.descriptions()[l].arrays;
                let stored = &tensor.arrays()[l];
                let named = specs.iter().zip(stored);
                named
                    .map(|(spec, (kind, _))| {
                        let text = format!("{name}{l}_{}", spec.name);
                        b.array(&text, Elem::Index(*kind), false)
                    })
                    .collect()
            })
            .collect();
        let bounds = Bounds::new(&format);
        let view = tensor.view();
        let order = |dim: usize| {
            let kind = view.order(dim)?.coordinates().kind();
            let text = format!("{name}_{}_order", format.dims()[dim].name);
            Some(b.array(&text, Elem::Index(kind), false))
        };
        let orders = (0..format.rank()).map(order).collect();
        Self { orders, arrays, sizes, bounds, view: view.clone(), format }
    }

    /// The arguments for the parameters that [`Operand::declare`] declares, in that order.
    #[must_use]
    pub fn size_arguments(&self, tensor: &Tensor) -> Vec<i64> {
        let levels = tensor.bound().levels();
        let is_param = |e: &Expr| matches!(e, Expr::Var(_));
        let extents = tensor.bound().extents().iter().map(|&n| n as i64);
        let sizes = self.sizes.sizes.iter().zip(levels).filter(|(e, _)| is_param(e));
        let lowers = self.sizes.lowers.iter().zip(levels).filter(|(e, _)| is_param(e));
        extents
            .chain(sizes.map(|(_, level)| level.size as i64))
            .chain(lowers.map(|(_, level)| level.lower))
            .chain(ItemSize::all(&self.format).iter().map(|size| size.of(tensor)))
            .collect()
    }

    /// The arguments of a level's walk or search under a parent. `above` are the coordinates of the
    /// levels above.
    pub(crate) fn site(
        &self,
        level: usize,
        parent: Interval,
        above: &[Expr],
        reach: Visited,
    ) -> WalkSite {
        let bounds = match reach {
            Visited::Inside => self.bounds.interval(level, above, &self.sizes),
            Visited::Everything => {
                let lo = self.sizes.lowers[level].clone();
                Interval { hi: lo.clone() + self.sizes.sizes[level].clone(), lo }
            }
        };
        let site = WalkSite {
            arrays: self.arrays[level].clone(),
            size: self.sizes.sizes[level].clone(),
            lower: self.sizes.lowers[level].clone(),
            bounds,
            parent,
            item: None,
        };
        let item = self.item(level, above, &site).map(Box::new);
        WalkSite { item, ..site }
    }

    /// Below a batch, the place of a level in its item.
    fn item(&self, level: usize, above: &[Expr], site: &WalkSite) -> Option<ItemSite> {
        let batches = self.format.batches();
        let description = &self.format.descriptions()[level];
        if batches == 0 || level < batches || description.props.full {
            return None;
        }
        let (parents, positions) = (self.of_item(level - 1), self.of_item(level));
        let elements = description.arrays.iter().enumerate().map(|(array, spec)| match spec.per {
            Per::Position => positions.clone(),
            Per::Parent => parents.clone(),
            _ => self.item_size(ItemSize::Elements { level, array }),
        });
        let elements = elements.collect();
        // Of one parent, the coordinates above tell the item.
        let of_batches = above.iter().zip(&self.sizes.sizes).take(batches);
        let told =
            of_batches.fold(Expr::Int(0), |item, (crd, size)| item * size.clone() + crd.clone());
        let is_told = site.parent.is_one() && above.len() >= batches;
        let of = |parent: Expr| {
            let item =
                if is_told { told.clone() } else { parent.clone().floor_div(parents.clone()) };
            let parent = Interval::one(parent - item.clone() * parents.clone());
            (item, WalkSite { parent, ..site.clone() })
        };
        let last = (!site.parent.is_one()).then(|| of(site.parent.hi.clone() - 1));
        let (item, site) = of(site.parent.lo.clone());
        Some(ItemSite { item, parents, positions, elements, site, last })
    }

    /// Number of positions of a level, or of one item of the batch, in each item.
    fn of_item(&self, level: usize) -> Expr {
        let props = self.format.descriptions()[level].props;
        if level < self.format.batches() {
            return Expr::Int(1);
        }
        match props.full || props.branchless {
            false => self.item_size(ItemSize::Positions { level }),
            true if props.full => self.of_item(level - 1) * self.sizes.sizes[level].clone(),
            true => self.of_item(level - 1),
        }
    }

    fn item_size(&self, size: ItemSize) -> Expr {
        let at = ItemSize::all(&self.format).into_iter().position(|one| one == size);
        at.map_or(Expr::Int(0), |at| self.sizes.items[at].clone())
    }

    /// The arguments of the first level's walk.
    pub(crate) fn root(&self, reach: Visited) -> WalkSite {
        self.site(0, Interval::one(Expr::Int(0)), &[], reach)
    }

    /// Whether some dimension is not a sum of multiples of level coordinates, so that some level
    /// coordinates may belong to no element.
    pub(crate) fn has_gaps(format: &Format) -> bool {
        let bounds = Bounds::new(format);
        (0..format.axes()).any(|dim| bounds.needs_guard(dim))
    }
}

/// Whether an expression over dimensions can be negative.
pub(crate) fn can_be_negative(expr: &IndexExpr) -> bool {
    match expr {
        IndexExpr::Const(value) => *value < 0,
        IndexExpr::Var(_) | IndexExpr::Mod(..) => false,
        IndexExpr::Sub(..) => true,
        IndexExpr::Add(a, b) | IndexExpr::Mul(a, b) | IndexExpr::FloorDiv(a, b) => {
            can_be_negative(a) || can_be_negative(b)
        }
    }
}
