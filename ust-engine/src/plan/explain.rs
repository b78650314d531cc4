//! A description of a plan, for people.

use std::fmt::Write;

use ust_format::Spelling;

use super::run::Compiled;
use super::sink::SinkKind;
use super::stage::{Source, Stage, StageAccess};
use crate::expr::term::Assignment;

/// Describes a plan: its stages, conversions, loops, sinks and code. `copied`: which operands are copied
/// first.
pub(crate) fn explain(
    assignment: &Assignment,
    stages: &[Stage],
    compiled: &[Compiled],
    copied: &dyn Fn(&StageAccess) -> bool,
) -> String {
    let mut out = String::new();
    for (at, (stage, compiled)) in stages.iter().zip(compiled).enumerate() {
        // Writing into a string cannot fail.
        let _ = one(&mut out, assignment, at, stages.len(), stage, compiled, copied);
    }
    out
}

fn one(
    out: &mut String,
    assignment: &Assignment,
    at: usize,
    count: usize,
    stage: &Stage,
    compiled: &Compiled,
    copied: &dyn Fn(&StageAccess) -> bool,
) -> std::fmt::Result {
    let planned = &compiled.planned;
    let names: Vec<&str> = assignment.indices.iter().map(|index| index.name.as_str()).collect();
    let label = |u: usize| match stage.accesses[u].source {
        Source::Operand(o) => {
            assignment.operands.get(o).map_or(assignment.result.name.clone(), |i| i.name.clone())
        }
        Source::Stage(s) => format!("t{s}"),
        Source::Order { operand, dim } => order_label(assignment, operand, dim),
    };
    let result = match at + 1 == count {
        true => assignment.result.name.clone(),
        false => format!("t{at}"),
    };
    let indices = |list: &[usize]| list.iter().map(|&v| names[v]).collect::<Vec<_>>().join(",");
    if count > 1 {
        writeln!(out, "stage {} of {count}", at + 1)?;
    }
    writeln!(
        out,
        "result      {result}({}) in `{}`, {}, fill value {}",
        indices(&stage.result),
        compiled.format(),
        stage.dtype,
        planned.fill
    )?;
    for (u, one) in stage.accesses.iter().enumerate() {
        write!(out, "operand     {}({}) ", label(u), indices(&one.dims))?;
        if copied(one) {
            write!(out, "copied first; ")?;
        }
        if one.full {
            write!(out, "stored in full first; ")?;
        }
        match planned.conversions[u].as_ref().filter(|_| !compiled.takes_given()) {
            None => {
                let own = compiled.along.as_ref().map(|along| &along.format);
                writeln!(out, "in `{}`", own.unwrap_or(&planned.formats[u]))?;
            }
            Some(to) => {
                let to = to.format();
                write!(out, "converted from `{}` into `{to}`", planned.formats[u])?;
                match &planned.ways[u] {
                    Some(way) => writeln!(out, ": {way}")?,
                    None => writeln!(out)?,
                }
            }
        }
    }
    if let (true, Some(way)) = (compiled.takes_given(), &planned.copy_way) {
        writeln!(out, "conversion  {way}")?;
        out.push_str(&compiled.chosen.explain());
        return Ok(());
    }
    if let Some(along) = &compiled.along {
        let shared = if along.scalar { "" } else { ", the levels are shared" };
        writeln!(out, "loop        over the values alone{shared}")?;
        writeln!(out, "estimate    {:.3} ms on one thread", planned.cost / 1e6)?;
        out.push_str(&compiled.chosen.explain());
        return writeln!(out, "{}", planned.loops.function);
    }
    if planned.order.conversion_cost > 0.0 {
        let cost = planned.order.conversion_cost / 1e6;
        writeln!(out, "            conversions take about {cost:.3} ms")?;
    }
    for (depth, step) in planned.order.steps.iter().enumerate() {
        let expr = step.expr.display(&names, Spelling::Ust);
        write!(out, "loop {:<6} {}{expr}: ", depth + 1, "  ".repeat(depth))?;
        let walked: Vec<String> =
            step.walkers.iter().map(|&(u, level)| format!("{} level {level}", label(u))).collect();
        match walked.is_empty() {
            true => write!(out, "every coordinate")?,
            false => write!(out, "{}", walked.join(", "))?,
        }
        let tables = &planned.order.tables;
        let searched = step.searches.iter().map(|&(u, level)| {
            let table = tables.iter().any(|of| (of.at, of.level) == (u, level));
            format!("{} level {level}{}", label(u), if table { " by a table" } else { "" })
        });
        let searched: Vec<String> = searched.collect();
        match searched.is_empty() {
            true => writeln!(out)?,
            false => writeln!(out, "; then searched: {}", searched.join(", "))?,
        }
    }
    let how = match planned.sink.kind {
        SinkKind::Full => "combined in place".to_owned(),
        SinkKind::Shared { at } => {
            format!("in the positions of {}, whose levels are shared", label(at))
        }
        SinkKind::Sorted { depth } => format!("rows appended in order, inside loop {depth}"),
        SinkKind::Workspace { open, .. } => {
            format!("combined in a dense row, which is emptied inside loop {open}")
        }
        SinkKind::Unsorted => "appended as they come, sorted and combined afterwards".to_owned(),
    };
    write!(out, "results     {how}")?;
    if planned.rest.dtype() != stage.dtype {
        write!(out, " as {}, rounded at the end", planned.rest.dtype())?;
    }
    match planned.sink.format == planned.format {
        true => writeln!(out)?,
        false => writeln!(out, ", in `{}`, then converted", planned.sink.format)?,
    }
    writeln!(out, "estimate    {:.3} ms on one thread", planned.cost / 1e6)?;
    out.push_str(&compiled.chosen.explain());
    writeln!(out, "{}", planned.loops.function)
}

/// What the order of a sorted dimension is called.
pub(super) fn order_label(assignment: &Assignment, operand: usize, dim: usize) -> String {
    let name = assignment.operands.get(operand).map_or("", |input| &input.name);
    format!("{name}_order{dim}")
}
