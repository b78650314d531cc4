//! Counts stored values, and looks whether all have coordinates inside the shape.

use ust_level_api::IndexKind;
use ust_level_api::ir::interp::{Memory, Param};
use ust_level_api::ir::{Builder, Elem, Expr, Ty};

use crate::error::Error;
use crate::storage::Tensor;
use crate::walk::native::Code;
use crate::walk::nest::{Operand, Reach};

/// The number of values that a walk visits, if all have coordinates inside the shape. No value has several coordinates.
///
/// # Errors
/// [`Error::Run`] where the walk leaves the arrays.
pub(super) fn count(tensor: &Tensor) -> Result<Option<usize>, Error> {
    let mut b = Builder::new("inside");
    let operand = Operand::declare(&mut b, "A", &tensor.outline());
    let extents: Vec<Expr> = tensor.shape().iter().map(|_| b.param("extent", Ty::Int)).collect();
    let report = b.array("report", Elem::Index(IndexKind::I64), true);
    let [count, outside] = ["count", "outside"].map(|name| b.var(name, Expr::Int(0)));
    operand.walk(&mut b, Reach::Inside, &mut |b, leaf| {
        b.assign(count, Expr::from(count) + 1);
        let within = |(crd, extent): (&Expr, &Expr)| {
            Expr::Int(0).le(crd.clone()).and(crd.clone().lt(extent.clone()))
        };
        if let Some(inside) = leaf.dims.iter().zip(&extents).map(within).reduce(Expr::and) {
            b.if_else(inside, |_| {}, |b| b.assign(outside, Expr::Int(1)));
        }
    });
    b.store(report, Expr::Int(0), count.into());
    b.store(report, Expr::Int(1), outside.into());

    let mut found = [0_i64; 2];
    let mut memory: Vec<Memory<'_>> = tensor.index_arrays().map(Memory::Index).collect();
    memory.push(Memory::indices_mut(&mut found[..]));
    let sizes = operand.size_arguments(tensor).into_iter();
    let extents = tensor.shape().iter().map(|&extent| extent as i64);
    let params: Vec<Param> = sizes.chain(extents).map(Param::Int).collect();
    Code::new(&b.finish(), tensor.nse())?.run(&params, &mut memory)?;
    drop(memory);
    Ok((found[1] == 0).then_some(found[0] as usize))
}
