//! `blocks`: a matrix of dense blocks times a vector, by a kernel that keeps sums in registers over
//! a whole row of blocks.

use ust_level_api::ir::Elem;
use ust_level_api::ir::interp::{Memory, Param, ValuesMut, ValuesRef};
use ust_level_api::{IndexArray, IndexKind, inventory};

use super::{Executable, Groups, Offer, Plan, Provider, Registration, product};
use crate::error::Error;
use crate::format::{Format, IndexExpr};
use crate::kernels::blocks::{Blocks, LANES};

struct Native;

inventory::submit!(Registration(&Native));

/// Of the time that the loops take as they are written.
const SHARE: f64 = 0.6;

impl Provider for Native {
    fn name(&self) -> &'static str {
        "blocks"
    }

    fn summary(&self) -> &'static str {
        "a kernel for BSR times a vector, of f32 and f64"
    }

    fn offer(&self, plan: &Plan<'_>) -> Offer {
        match Product::of(plan) {
            Ok(_) => Offer::Time(SHARE * plan.estimate),
            Err(why) => Offer::Refused(why.to_owned()),
        }
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        let refused = |why: &str| Error::Refused { backend: self.name(), reason: why.to_owned() };
        Ok(Box::new(Product::of(plan).map_err(refused)?))
    }
}

/// What is known of the matrix before it is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Product {
    size: [usize; 2],
}

impl Product {
    /// The product that a plan is, or why it is none.
    fn of(plan: &Plan<'_>) -> Result<Self, &'static str> {
        let a = product::matrix(plan)?;
        let this = Self::blocks(a.format)
            .ok_or("it takes BSR with default widths and blocks as wide as vectors")?;
        let indices = plan.function.arrays.iter().filter_map(|array| match array.elem {
            Elem::Index(kind) => Some(kind),
            Elem::Value(_) => None,
        });
        match indices.eq([IndexKind::U32; 2]) {
            true => Ok(this),
            false => Err("it takes 32-bit indices"),
        }
    }

    /// The blocks of a format that has some.
    fn blocks(format: &Format) -> Option<Self> {
        let [rows, columns, _, _] = format.levels() else { return None };
        let size = |expr: &IndexExpr, dim: usize| match expr {
            IndexExpr::FloorDiv(of, by) if **of == IndexExpr::Var(dim) => match **by {
                IndexExpr::Const(size) => usize::try_from(size).ok().filter(|&size| size > 0),
                _ => None,
            },
            _ => None,
        };
        let size = [size(&rows.expr, 0)?, size(&columns.expr, 1)?];
        let named = Format::resolve(&format!("BSR({}, {})", size[0], size[1]), Some(2)).ok()?;
        (named == *format && size[1].is_multiple_of(LANES)).then_some(Self { size })
    }

    fn run_all(
        self,
        groups: &[Vec<(i64, i64)>],
        memory: &mut [Memory<'_>],
        check: &(dyn Fn() -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        let Self { size } = self;
        macro_rules! of {
            ($($kind:ident),*) => {
                match memory {
                    $([
                        Memory::Index(IndexArray::U32(pos)),
                        Memory::Index(IndexArray::U32(crd)),
                        Memory::Values(ValuesRef::$kind(values)),
                        Memory::Values(ValuesRef::$kind(x)),
                        Memory::ValuesMut(ValuesMut::$kind(y)),
                    ] => {
                        let blocks = Blocks { pos, crd, values, size };
                        product::run(y, size[0], groups, check, |rows, y| blocks.times(rows, x, y))
                    })*
                    _ => Err(Error::Unsupported(
                        "`blocks` is run on other memory than it was compiled for".to_owned(),
                    )),
                }
            };
        }
        of!(F32, F64)
    }
}

impl Executable for Product {
    fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), Error> {
        self.run_all(&[vec![product::part(params)]], memory, &|| Ok(()))
    }

    fn run_apart(
        &self,
        groups: &Groups<'_>,
        memory: &mut [Memory<'_>],
        check: &(dyn Fn() -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        self.run_all(&product::parts(groups), memory, check)
    }

    fn describe(&self) -> String {
        let [rows, columns] = self.size;
        format!("native, blocks of {rows} x {columns}")
    }
}
