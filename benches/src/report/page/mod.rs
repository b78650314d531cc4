//! A page that needs nothing else: a verdict for each operation, a table of ratios, and every time as a bar.
//!
//! Everything stands in the page as tables. `page.js` sorts and filters what is there, and shows details; without it
//! the page can be read all the same.
//!
//! | module | what |
//! |---|---|
//! | `head` | the machine, versions, how it was measured |
//! | `duel` | comparisons with the best of the others, and verdicts |
//! | `ratios` | tables of ratios: operations and inputs, formats and inputs |
//! | `times` | the table of times of an operation |
//! | `text` | numbers and names |

mod duel;
mod head;
mod ratios;
#[cfg(test)]
mod tests;
mod text;
mod times;

use std::collections::BTreeSet;
use std::fmt::Write;

use super::row::{self, Row};
use duel::verdict;
use text::{escaped, plural, without_folders};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page of the lines that `matrix --json` writes.
pub(crate) fn page(lines: &str) -> Result<String, String> {
    let (run, mut rows) = row::read(lines)?;
    for row in &mut rows {
        // The name of a file is its name, wherever it stands.
        let is_file = row.source.ends_with(&row.input);
        row.source = if is_file { row.input.clone() } else { without_folders(&row.source) };
        row.input = without_folders(&row.input);
        row.failed = row.failed.as_deref().map(without_folders);
    }
    let inputs: Vec<String> = rows.iter().map(|row| row.input.clone()).collect();
    let inputs = unique(inputs.iter().map(String::as_str));
    // Expressions before conversions, else by name.
    rows.sort_by(|a, b| order(a).cmp(&order(b)));
    let operations = unique(rows.iter().map(|row| row.op.as_str()));
    let one_setting = unique(rows.iter().map(|row| (row.dtype.as_str(), row.threads))).len() == 1;
    let mut sections = String::new();
    for op in &operations {
        let of_op: Vec<&Row> = rows.iter().filter(|row| row.op == *op).collect();
        section(&mut sections, op, &of_op, one_setting);
    }
    // Times of a virtual device say nothing of any other.
    let lead = match run["virtual"] == true {
        true => String::new(),
        false => duel::lead(&rows, &operations),
    };
    let parts = [
        ("style", STYLE.to_owned()),
        ("lead", lead),
        ("facts", head::facts(&run, &rows)),
        ("method", head::method(&run, &rows)),
        ("summary", ratios::summary(&rows, &inputs)),
        ("choices", choices(&rows)),
        ("sections", sections),
        ("data", text::json(&head::data(&rows))),
        ("script", SCRIPT.to_owned()),
    ];
    Ok(filled(TEMPLATE, &parts))
}

/// What operations are sorted by.
fn order(row: &Row) -> (bool, &str) {
    (!row.text.contains('='), &row.op)
}

/// The template with each `{{name}}` replaced, in one pass: what is put in is not looked at again.
fn filled(template: &str, parts: &[(&str, String)]) -> String {
    let mut page = String::new();
    for (at, piece) in template.split("{{").enumerate() {
        let (name, rest) = match piece.split_once("}}") {
            Some(split) if at > 0 => split,
            _ => ("", piece),
        };
        page += parts.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text);
        page += rest;
    }
    page
}

/// Each once, in order of appearance.
fn unique<T: Ord + Copy>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    all.filter(|&one| seen.insert(one)).collect()
}

/// The name by which links find an operation, whatever it is called.
fn anchor(op: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("op-{}", op.chars().map(plain).collect::<String>())
}

/// An operation: its verdict, ratios in each format, and times. Dtype and threads are left out where the page has
/// `one_setting` of them.
fn section(page: &mut String, op: &str, rows: &[&Row], one_setting: bool) {
    let text = rows.first().map_or("", |row| &row.text);
    let _ = write!(
        page,
        "<section class=\"op\" id=\"{}\" data-op=\"{name}\">\n<h2>{name} <code>{}</code></h2>\n",
        anchor(op),
        escaped(text),
        name = escaped(op),
    );
    let _ = writeln!(page, "<p class=\"verdict\">{}</p>", verdict(rows).join("<br />\n"));
    ratios::formats(page, rows, one_setting);
    times::table(page, op, rows, one_setting);
    let failed: Vec<_> = rows.iter().filter_map(|r| Some((r, r.failed.as_deref()?))).collect();
    if !failed.is_empty() {
        let _ = write!(page, "<details><summary>{} not timed</summary>\n<ul>", failed.len());
        for (row, reason) in failed {
            let _ = write!(
                page,
                "<li>{} in {} on {}: {}</li>",
                escaped(&row.contender),
                escaped(&row.format),
                escaped(&row.input),
                escaped(reason.lines().next().unwrap_or(""))
            );
        }
        *page += "</ul></details>\n";
    }
    *page += "</section>\n";
}

/// What the page can be narrowed to: a menu for each axis of which there is more than one value.
fn choices(rows: &[Row]) -> String {
    type Axis = (&'static str, &'static str, fn(&Row) -> String);
    let axes: [Axis; 6] = [
        ("op", "Operation", |row| row.op.clone()),
        ("input", "Input", |row| row.input.clone()),
        ("format", "Format", |row| row.format.clone()),
        ("contender", "Contender", |row| row.contender.clone()),
        ("dtype", "Dtype", |row| row.dtype.clone()),
        ("threads", "Threads", |row| row.threads.to_string()),
    ];
    let mut menus = String::new();
    for (name, label, value) in axes {
        let all: Vec<String> = rows.iter().map(value).collect();
        let all = unique(all.iter().map(String::as_str));
        if all.len() < 2 {
            continue;
        }
        let _ =
            write!(menus, "<label>{label} <select name=\"{name}\"><option value=\"\">all</option>");
        for value in all {
            let _ = write!(menus, "<option>{}</option>", escaped(value));
        }
        menus += "</select></label>\n";
    }
    menus
}

/// `f64, 1 thread`: what a setting has besides its input.
fn setting_text(dtype: &str, threads: u64) -> String {
    let threads = match threads {
        0 => String::new(),
        n => plural(usize::try_from(n).unwrap_or(usize::MAX), "thread"),
    };
    let known = [dtype, &threads].into_iter().filter(|text| !text.is_empty());
    known.collect::<Vec<_>>().join(", ")
}
