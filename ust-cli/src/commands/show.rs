//! `ust show`: everything that a tensor stores, drawn or as JSON.

use std::io::Write;

use ust::draw::{SvgOptions, Text, TextOptions, svg_of_composed};

use super::picture;
use crate::args::{Element, Show};
use crate::failure::Failure;
use crate::output::Output;
use crate::{json, source, text};

pub(crate) fn run(args: &Show, color: bool, out: &mut Output) -> Result<(), Failure> {
    args.out.as_deref().map_or(Ok(()), |file| picture::check(file, args.json))?;
    args.reading.is_for(std::slice::from_ref(&args.tensor))?;
    let tensor =
        source::composed(&args.tensor, args.shape.as_ref(), args.format.as_deref(), &args.reading)?;
    let trace = args.trace.as_ref().map(|element| inside(element, tensor.shape())).transpose()?;
    if let Some(file) = &args.out {
        let options =
            SvgOptions { trace: trace.clone(), theme: args.theme.into(), ..SvgOptions::default() };
        picture::write(file, &svg_of_composed(&tensor, &options)?, out)?;
        if picture::is_standard_output(file) {
            return Ok(());
        }
    }
    if args.json {
        json::composed(out, &tensor)?;
        writeln!(out)?;
    } else if let Some(file) = &args.out {
        writeln!(out, "wrote {}", file.display())?;
    } else {
        let options = TextOptions { trace, ..for_this_terminal(color) };
        writeln!(out, "{}", Text::of_composed(&tensor, &options)?)?;
    }
    Ok(())
}

/// The coordinates, if the tensor has such an element.
fn inside(Element(element): &Element, shape: &[usize]) -> Result<Vec<usize>, Failure> {
    let fits = element.len() == shape.len() && element.iter().zip(shape).all(|(at, n)| at < n);
    match fits {
        true => Ok(element.clone()),
        false => {
            let numbers: Vec<String> = element.iter().map(usize::to_string).collect();
            let (rank, shape) = (shape.len(), text::shape(shape));
            let help = match element.len() == rank {
                true => "coordinates count from 0".to_owned(),
                false => format!("an element has {rank} coordinates here, separated by commas"),
            };
            Err(Failure::input(format!("a tensor of {shape} has no element {}", numbers.join(",")))
                .help(help))
        }
    }
}

/// The width that `COLUMNS` gives.
fn for_this_terminal(color: bool) -> TextOptions {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let default = TextOptions::default();
    let width = columns.unwrap_or(default.width).clamp(40, 1000);
    TextOptions { color, width, ..default }
}
