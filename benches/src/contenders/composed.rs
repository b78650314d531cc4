//! This project, with the first operand split into parts in different formats, as advice proposes first.

use ust::advise::compositions;
use ust::format::Composition;
use ust::ops::Operand;
use ust::{Backend, Composed, Format, Tensor, einsum};

use crate::matrix::case::Case;
use crate::matrix::contender::with_real;
use crate::matrix::contender::{Contender, Prepared, Rows, runner};
use crate::matrix::operation::Task;

inventory::submit! { Contender {
    name: "ust-composed", about: "this project, a matrix in CSR split as advice proposes",
    prepare: |case, _| prepare(case),
}}

fn prepare(case: &Case<'_>) -> Prepared {
    let Task::Expression { text, .. } = case.op.task else { return Ok(None) };
    let (_, a) = &case.operands[0];
    let csr = Format::resolve("CSR", Some(2)).map_err(|e| e.to_string())?;
    if case.target.is_some() || *a.format() != csr {
        return Ok(None);
    }
    let proposed = compositions(a).map_err(|e| e.to_string())?;
    let Some(composition) = proposed.first() else { return Ok(None) };
    let composition: Composition = composition.parse().map_err(|e| format!("{e}"))?;
    let composed = Composed::split(a, &composition).map_err(|e| e.to_string())?;
    let others: Vec<Tensor> = case.operands[1..].iter().map(|(_, tensor)| tensor.clone()).collect();
    let mut call = einsum(text).threads(case.threads).backend(Backend::Cpu);
    call = call.arg(&case.operands[0].0, &composed);
    for (name, tensor) in &case.operands[1..] {
        call = call.arg(name, tensor);
    }
    let call = call.format(format!("Dense({})", case.shape.len()));
    let kernel = call.prepare().map_err(|e| e.to_string())?;
    let shape = case.shape.clone();
    with_real!(case.dtype, T => {
        let out = vec![T::NAN; shape.iter().product()];
        let work = move |out: &mut Vec<T>| {
            let others = others.iter().map(Operand::from);
            let operands: Vec<Operand<'_>> = [Operand::from(&composed)].into_iter().chain(others).collect();
            kernel.run_with_into(&operands, out).map_err(|e| e.to_string())
        };
        runner(out, work, move |out: &Vec<T>| Ok(Rows::of_dense(&shape, out)))
    })
}
