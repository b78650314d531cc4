//! `ust levels`: the registered level types, with properties and capabilities.

use std::io::Write;

use serde_json::{Value, json};
use ust::level_api::registry::{expressions, expressions_tried, factories, make};
use ust::level_api::{
    Alias, Description, ExprShape, LevelArgs, LevelFactory, LocateCost, Props, Role, WalkKind,
};

use crate::args::Listing;
use crate::failure::Failure;
use crate::output::Output;
use crate::text;

pub(crate) fn run(args: &Listing, out: &mut Output) -> Result<(), Failure> {
    let all = factories();
    if args.json {
        let levels: Vec<Value> = all.iter().map(|factory| object(factory)).collect();
        return out.json(&json!({ "levels": levels }));
    }
    for (at, factory) in all.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        write(factory, out)?;
    }
    Ok(())
}

/// A level type with arguments.
struct Sample {
    description: Description,
    expressions: Vec<ExprShape>,
}

/// A level type's samples.
fn samples(factory: &LevelFactory) -> impl Iterator<Item = Sample> {
    let made = factory.samples.iter().filter_map(|text| make(&LevelArgs::simple(text)).ok());
    made.map(|level| Sample { description: level.describe(), expressions: expressions(&*level) })
}

/// What is the same for all samples in one line each, what differs in a table.
fn write(factory: &LevelFactory, out: &mut Output) -> Result<(), Failure> {
    writeln!(out, "{}: {}", factory.name, factory.summary)?;
    let samples: Vec<Sample> = samples(factory).collect();
    let mut rows: Vec<Vec<String>> =
        samples.iter().map(|sample| vec![sample.description.text.clone()]).collect();
    let mut titles = vec!["TYPE".to_owned()];
    for (title, fact) in FACTS {
        let facts: Vec<String> = samples.iter().map(fact).collect();
        if facts.windows(2).all(|pair| pair[0] == pair[1]) {
            let fact = facts.first().map_or("", String::as_str);
            writeln!(out, "    {title:10}  {fact}")?;
            continue;
        }
        titles.push(title.to_uppercase());
        for (row, fact) in rows.iter_mut().zip(facts) {
            row.push(fact);
        }
    }
    if !factory.aliases.is_empty() {
        let aliases = join(factory.aliases.iter().map(alias), "");
        writeln!(out, "    {:10}  {aliases}", "aliases")?;
    }
    if rows.len() > 1 {
        rows.insert(0, titles);
        for line in text::table(&rows).lines() {
            writeln!(out, "    {line}")?;
        }
    }
    Ok(())
}

/// The title of a fact about a level type, and the fact in words.
type Fact = (&'static str, fn(&Sample) -> String);

const FACTS: [Fact; 5] = [
    ("properties", |s| join(properties(s.description.props), "none")),
    ("arrays", |s| {
        let arrays = s.description.arrays.iter();
        join(arrays.map(|array| format!("{} ({})", array.name, array.per)), "none")
    }),
    ("walk", |s| walk(s.description.walk).to_owned()),
    ("locate", |s| locate(s.description.locate).to_owned()),
    ("stores", |s| stores(&s.expressions)),
];

fn object(factory: &LevelFactory) -> Value {
    let aliases: Vec<String> = factory.aliases.iter().map(alias).collect();
    let types: Vec<Value> = samples(factory).map(|sample| described(&sample)).collect();
    json!({
        "name": factory.name, "summary": factory.summary, "aliases": aliases, "types": types,
    })
}

fn described(sample: &Sample) -> Value {
    let description = &sample.description;
    let arrays: Vec<Value> = description
        .arrays
        .iter()
        .map(|array| {
            let role = match array.role {
                Role::Position => "position".to_owned(),
                Role::Coordinate => "coordinate".to_owned(),
                Role::Own(kind) => kind.to_string(),
            };
            json!({ "name": array.name, "role": role, "length": array.per.to_string() })
        })
        .collect();
    json!({
        "type": description.text,
        "mlir": description.mlir,
        "properties": properties(description.props).collect::<Vec<_>>(),
        "arrays": arrays,
        "walk": walk(description.walk),
        "locate": locate(description.locate),
        "stores": stores(&sample.expressions),
    })
}

fn properties(props: Props) -> impl Iterator<Item = String> {
    let Props {
        full,
        ordered,
        unique,
        branchless,
        compact,
        padded,
        overhangs,
        bounded,
        contiguous,
    } = props;
    [
        ("full", full),
        ("ordered", ordered),
        ("unique", unique),
        ("branchless", branchless),
        ("compact", compact),
        ("padded", padded),
        ("overhangs", overhangs),
        ("bounded", bounded),
        ("contiguous", contiguous),
    ]
    .into_iter()
    .filter(|&(_, set)| set)
    .map(|(name, _)| name.to_owned())
}

fn walk(kind: WalkKind) -> &'static str {
    match kind {
        WalkKind::Position => "by position",
        WalkKind::Coordinate => "by coordinate",
        WalkKind::Other => "its own way",
    }
}

fn locate(cost: LocateCost) -> &'static str {
    match cost {
        LocateCost::None => "by walking",
        LocateCost::Constant => "in constant time",
        LocateCost::Logarithmic => "by binary search",
    }
}

/// Expressions in words.
fn stores(expressions: &[ExprShape]) -> String {
    let tried = expressions_tried().count();
    if expressions.len() == tried {
        return "any expression".to_owned();
    }
    let plain = ExprShape::Dimension { ranged: false };
    let word = |expr: &ExprShape| {
        Some(match expr {
            ExprShape::Dimension { ranged: false } => "a dimension".to_owned(),
            ExprShape::Dimension { ranged: true } if expressions.contains(&plain) => return None,
            ExprShape::Dimension { ranged: true } => {
                "a dimension within a sum or difference above".to_owned()
            }
            ExprShape::Quotient { .. } => "a quotient".to_owned(),
            ExprShape::Remainder { modulus } => format!("a remainder by {modulus}"),
            ExprShape::Counter => "a counter".to_owned(),
            ExprShape::Other => "other expressions".to_owned(),
        })
    };
    join(expressions.iter().filter_map(word), "no expression that is known")
}

fn alias(alias: &Alias) -> String {
    match alias.with {
        Some(argument) => format!("{}({argument})", alias.name),
        None => alias.name.to_owned(),
    }
}

fn join(parts: impl Iterator<Item = String>, none: &str) -> String {
    let all: Vec<String> = parts.collect();
    if all.is_empty() { none.to_owned() } else { all.join(", ") }
}
