//! `ust formats`: the named formats.

use std::io::Write;

use serde_json::{Value, json};
use ust::format::NamedFormat;
use ust::format::named::named;

use crate::args::Listing;
use crate::failure::Failure;
use crate::output::Output;
use crate::text;

pub(crate) fn run(args: &Listing, out: &mut Output) -> Result<(), Failure> {
    if args.json {
        let formats: Vec<Value> = named().map(object).collect();
        return out.json(&json!({ "formats": formats }));
    }
    let rows: Vec<Vec<String>> = named().flat_map(lines).collect();
    write!(out, "{}", text::table(&rows))?;
    Ok(writeln!(out, "\nNames are read without regard to case, blanks, `-` and `_`.")?)
}

/// The name and what it is; below, its text and other names.
fn lines(format: &NamedFormat) -> Vec<Vec<String>> {
    let name = match format.parameters {
        // A name such as `COO(col-major)` or `n:m` says its parameters itself, or has an example.
        [] => format.name.to_owned(),
        _ if format.name.contains([':', '(']) => format.name.to_owned(),
        parameters => format!("{}({})", format.name, parameters.join(", ")),
    };
    let mut lines = vec![vec![name, format.summary.to_owned()]];
    lines.push(vec![String::new(), format.text.to_owned()]);
    if format.example != format.name {
        lines.push(vec![String::new(), format!("for example {}", format.example)]);
    }
    if !format.aliases.is_empty() {
        lines.push(vec![String::new(), format!("also {}", format.aliases.join(", "))]);
    }
    lines
}

fn object(format: &NamedFormat) -> Value {
    json!({
        "name": format.name,
        "parameters": format.parameters,
        "text": format.text,
        "example": format.example,
        "summary": format.summary,
        "aliases": format.aliases,
    })
}
