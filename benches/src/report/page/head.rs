//! What stands above the tables: the machine, versions, and how it was measured; and the data below them.

use std::fmt::Write;

use serde_json::{Value, json};

use super::super::OURS;
use super::super::row::Row;
use super::text::{bytes, escaped, plural, without_folders};
use super::{setting_text, unique};

/// With fewer rounds there is no spread, and no tie.
const FEWEST_ROUNDS: usize = 3;

/// The machine, the date, versions and settings, as terms and descriptions. What is not known is left out.
pub(super) fn facts(run: &Value, rows: &[Row]) -> String {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let machine = &run["machine"];
    let cores = machine["cores"].as_u64().map(|n| plural(n as usize, "core"));
    let memory = machine["memory"].as_f64().map(|n| format!("{} of memory", bytes(n)));
    let processor = joined([text(&machine["processor"]), cores, memory]);
    let bandwidths = run["bandwidths"].as_array().into_iter().flatten().filter_map(|pair| {
        let rate = pair[1].as_f64()? / 1e9;
        Some(match pair[0].as_u64()? {
            0 => format!("{rate:.0} GB/s, read and written by a copy"),
            threads => format!("{rate:.1} GB/s with {}", plural(threads as usize, "thread")),
        })
    });
    let bandwidths = bandwidths.collect::<Vec<_>>().join(", ");
    let ours = text(&run["ust"]).map(|version| {
        let commit = text(&run["commit"]).map(|commit| format!("commit {commit}"));
        let built = match run["optimised"].as_bool() {
            Some(false) => Some("built without optimisation".to_owned()),
            _ => None,
        };
        joined([Some(format!("{OURS} {version}")), commit, text(&run["compiler"]), built])
            .unwrap_or_default()
    });
    let settings = unique(rows.iter().map(|row| (row.dtype.as_str(), row.threads)));
    let settings = settings.iter().map(|&(dtype, threads)| setting_text(dtype, threads));
    let timed = rows.iter().filter(|row| row.time.is_some()).count();
    let measured = joined([
        Some(plural(timed, "measurement")),
        run["rounds"].as_u64().map(|n| format!("up to {} each", plural(n as usize, "round"))),
    ]);
    let facts = [
        ("Processor", processor),
        ("Memory bandwidth", Some(bandwidths)),
        ("System", text(&machine["system"])),
        ("Date", text(&run["date"])),
        ("This project", ours),
        ("Others", Some(others(run, rows))),
        ("Settings", Some(settings.collect::<Vec<_>>().join("; "))),
        ("Measured", measured),
    ];
    let mut page = String::new();
    for (term, description) in facts {
        if let Some(description) = description.filter(|text| !text.is_empty()) {
            let description = escaped(&without_folders(&description));
            let _ = writeln!(page, "<div><dt>{term}</dt><dd>{description}</dd></div>");
        }
    }
    page
}

fn joined(parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The other contenders that were timed, with their versions where these are known.
fn others(run: &Value, rows: &[Row]) -> String {
    let timed = rows.iter().filter(|row| row.time.is_some() && !row.is_ours());
    let mut names = unique(timed.map(|row| row.contender.as_str()));
    names.sort_unstable();
    let told = names.into_iter().map(|name| match run["versions"][name].as_str() {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    });
    told.collect::<Vec<_>>().join(", ")
}

/// How it was measured, and what is to be kept in mind of these results.
pub(super) fn method(run: &Value, rows: &[Row]) -> String {
    let how = match run["device"].is_string() {
        true => "Times are those of the device, between two events, with operands there.",
        false => {
            "Contenders of a case take turns, round by round, after their results have been compared with each other's."
        }
    };
    let mut page = format!(
        "<p>{how} A time is the <b>median</b> of the rounds: half of them took no longer. The <b>quartiles</b> enclose \
         the middle half of the rounds. Preparing, which is done once, is not timed.</p>\n"
    );
    let timed = || rows.iter().filter(|row| row.time.is_some());
    let short = timed().filter(|row| (1..FEWEST_ROUNDS).contains(&row.rounds)).count();
    if short > 0 {
        let _ = writeln!(
            page,
            "<p class=\"warning\">Fewer than three rounds were made in {short} of {}: hardly any spread is \
             known of these, and small differences mean nothing.</p>",
            plural(timed().count(), "measurement")
        );
    }
    if run["virtual"] == true {
        page += "<p class=\"warning\">The device is a virtual one: its times mean nothing.</p>\n";
    }
    if run["optimised"] == false {
        page += "<p class=\"warning\">The program was built without optimisation.</p>\n";
    }
    let timed = unique(timed().map(|row| row.contender.as_str()));
    let known: Vec<(&str, &str)> =
        timed.iter().filter_map(|&name| Some((name, run["contenders"][name].as_str()?))).collect();
    if !known.is_empty() {
        page += "<details><summary>Who takes part</summary>\n<dl class=\"who\">";
        for (name, about) in known {
            let version = run["versions"][name].as_str().map_or(String::new(), |v| format!(" {v}"));
            let told = [name, &version, about].map(|text| escaped(&without_folders(text)));
            let _ = writeln!(page, "<dt><b>{}</b>{}</dt><dd>{}</dd>", told[0], told[1], told[2]);
        }
        page += "</dl></details>\n";
    }
    let beside = timed.into_iter().filter(|name| name.starts_with(OURS) && *name != OURS);
    let beside = beside.collect::<Vec<_>>().join(", ");
    if !beside.is_empty() {
        let _ = writeln!(
            page,
            "<p>Verdicts and ratios are those of <b>{OURS}</b>. Shown in its colour, and in no comparison: {}.</p>",
            escaped(&beside)
        );
    }
    page
}

/// The rows, for programs that read the page.
pub(super) fn data(rows: &[Row]) -> String {
    let row = |row: &Row| {
        json!({
            "op": row.op, "input": row.input, "source": row.source, "entries": row.entries,
            "format": row.format, "dtype": row.dtype, "threads": row.threads,
            "contender": row.contender, "bytes": row.bytes,
            "median": row.time.map(|t| t.median), "q1": row.time.map(|t| t.low),
            "q3": row.time.map(|t| t.high), "failed": row.failed,
        })
    };
    Value::Array(rows.iter().map(row).collect()).to_string()
}
