//! `ust format`: a format explained.

use std::io::Write;

use serde_json::{Value, json};
use ust::format::{Bound, Spelling};

use crate::args::{Format, Shape};
use crate::failure::Failure;
use crate::output::Output;
use crate::text;

pub(crate) fn run(args: &Format, out: &mut Output) -> Result<(), Failure> {
    let rank = args.shape.as_ref().map(|Shape(shape)| shape.len());
    let format = ust::Format::resolve(&args.text, rank)?;
    let bound = args.shape.as_ref().map(|Shape(shape)| format.bind(shape)).transpose()?;
    let explained = Explained { format: &format, bound: bound.as_ref() };
    if args.json { out.json(&explained.object()) } else { explained.write(out) }
}

struct Explained<'a> {
    format: &'a ust::Format,
    bound: Option<&'a Bound>,
}

impl Explained<'_> {
    fn write(&self, out: &mut Output) -> Result<(), Failure> {
        let format = self.format;
        let mut facts = vec![["format".to_owned(), format.to_string()]];
        facts.extend(format.name().map(|name| ["name".to_owned(), name]));
        facts.push(["MLIR".to_owned(), format.to_mlir()]);
        for (dim, spec) in format.dims().iter().enumerate() {
            let title = if dim == 0 { "inverse" } else { "" };
            let inverse = format.inverse_text(dim).unwrap_or_default();
            let inverse = match spec.sorted {
                Some(_) => format!("order[{inverse}]"),
                None => inverse,
            };
            facts.push([title.to_owned(), format!("{} = {inverse}", spec.name)]);
        }
        let width = |bits: u32| match bits {
            0 => "by default".to_owned(),
            bits => format!("{bits} bits"),
        };
        let widths = format!(
            "positions {}, coordinates {}",
            width(format.pos_width()),
            width(format.crd_width())
        );
        facts.push(["widths".to_owned(), widths]);
        let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
        facts.push(["unique".to_owned(), yes(format.is_unique())]);
        facts.push(["ordered".to_owned(), yes(format.is_ordered())]);
        if let Some(bound) = self.bound {
            facts.push(["shape".to_owned(), text::shape(bound.shape())]);
        }
        let facts: Vec<Vec<String>> = facts.into_iter().map(Vec::from).collect();
        write!(out, "{}", text::table(&facts))?;
        if format.level_count() == 0 {
            return Ok(());
        }
        let mut rows = vec![vec!["LEVEL", "STORES", "TYPE", "ARRAYS"]];
        if self.bound.is_some() {
            rows[0].push("COORDINATES");
        }
        let mut rows: Vec<Vec<String>> =
            rows.into_iter().map(|row| row.into_iter().map(str::to_owned).collect()).collect();
        let expressions = self.expressions();
        for (level, name) in format.level_names().into_iter().enumerate() {
            let description = &format.descriptions()[level];
            let arrays: Vec<&str> = description.arrays.iter().map(|array| array.name).collect();
            let arrays = if arrays.is_empty() { "none".to_owned() } else { arrays.join(", ") };
            let mut row = vec![name, expressions[level].clone(), description.text.clone(), arrays];
            if let Some(bound) = self.bound {
                let domain = bound.levels()[level];
                let size = text::grouped(domain.size.into());
                row.push(match domain.lower {
                    0 => size,
                    lower => format!("{size} from {lower}"),
                });
            }
            rows.push(row);
        }
        Ok(write!(out, "\n{}", text::table(&rows))?)
    }

    /// What each level stores, over the names of the dimensions.
    fn expressions(&self) -> Vec<String> {
        let names = self.format.axis_names();
        let levels = self.format.levels().iter();
        levels.map(|level| level.expr.display(&names, Spelling::Ust)).collect()
    }

    fn object(&self) -> Value {
        let format = self.format;
        let dims: Vec<Value> = format
            .dims()
            .iter()
            .enumerate()
            .map(|(dim, spec)| {
                json!({
                    "name": spec.name,
                    "inverse": format.inverse_text(dim),
                    "sorted": spec.sorted.map(|sorted| sorted.to_string()),
                    "slice": spec.slice.map(|slice| slice.to_string()),
                })
            })
            .collect();
        let levels: Vec<Value> = format
            .level_names()
            .into_iter()
            .zip(self.expressions())
            .zip(format.descriptions())
            .enumerate()
            .map(|(level, ((name, expression), description))| {
                let domain = self.bound.map(|bound| bound.levels()[level]);
                let arrays: Vec<&str> = description.arrays.iter().map(|array| array.name).collect();
                json!({
                    "name": name,
                    "expression": expression,
                    "type": description.text,
                    "arrays": arrays,
                    "size": domain.map(|domain| domain.size),
                    "lower": domain.map(|domain| domain.lower),
                })
            })
            .collect();
        json!({
            "format": format.to_string(),
            "mlir": format.to_mlir(),
            "name": format.name(),
            "shape": self.bound.map(Bound::shape),
            "dims": dims,
            "levels": levels,
            "posWidth": format.pos_width(),
            "crdWidth": format.crd_width(),
            "unique": format.is_unique(),
            "ordered": format.is_ordered(),
        })
    }
}
