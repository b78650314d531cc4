//! Tables of ratios: how many times as fast this project is as the best other.

use std::fmt::Write;

use super::super::OURS;
use super::super::row::Row;
use super::duel::{Duel, Outcome, Setting, in_any_format, in_same_format, median};
use super::text::{escaped, time, times};
use super::{anchor, setting_text, unique};

/// From so many times on, a colour is a strong one.
const MUCH: f64 = 2.0;

/// A comparison as the inside and the class of a cell: colour, sign and number say the same.
pub(super) fn shown(duel: Option<Duel<'_>>) -> (&'static str, String) {
    let Some(Duel { ratio, outcome, .. }) = duel else { return ("none", "·".to_owned()) };
    let (class, sign) = match outcome {
        Outcome::Faster if ratio >= MUCH => ("faster much", '▲'),
        Outcome::Faster => ("faster", '▲'),
        Outcome::Slower if ratio <= 1.0 / MUCH => ("slower much", '▼'),
        Outcome::Slower => ("slower", '▼'),
        Outcome::Tie => ("tie", '='),
    };
    (class, format!("{sign}\u{a0}{}", times(ratio)))
}

/// A comparison in words: with whom.
pub(super) fn against(Duel { other, ratio, outcome, .. }: Duel<'_>) -> String {
    let seconds = other.time.map_or(String::new(), |t| time(t.median));
    let end = if outcome == Outcome::Tie { "; a tie: the quartiles overlap" } else { "" };
    format!(
        "{} times as fast as {} in {}, {seconds}{end}",
        times(ratio),
        other.contender,
        other.format
    )
}

/// A comparison in words: who, and with whom.
fn words(duel: Duel<'_>) -> String {
    let seconds = duel.ours.time.map_or(String::new(), |t| time(t.median));
    format!("{} in {}, {seconds}\n{}", duel.ours.contender, duel.ours.format, against(duel))
}

/// Operations down, inputs across in their given order: best against best. A table for each dtype and number of threads.
pub(super) fn summary(rows: &[Row], all_inputs: &[&str]) -> String {
    let mut page = String::new();
    for (dtype, threads) in unique(rows.iter().map(|row| (row.dtype.as_str(), row.threads))) {
        let here: Vec<&Row> =
            rows.iter().filter(|r| (r.dtype.as_str(), r.threads) == (dtype, threads)).collect();
        let known = |input: &&str| here.iter().any(|row| row.input == *input);
        let inputs: Vec<&str> = all_inputs.iter().copied().filter(known).collect();
        let _ = write!(
            page,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Summary\">\
             <table class=\"ratios\">\n<caption>Best against best{}</caption>\n<thead><tr><th scope=\"col\">Operation</th>",
            behind_comma(dtype, threads)
        );
        heads(&mut page, &inputs);
        page += "</tr></thead>\n<tbody>\n";
        for op in unique(here.iter().map(|row| row.op.as_str())) {
            let of_op: Vec<&Row> = here.iter().filter(|row| row.op == op).copied().collect();
            let _ = write!(
                page,
                "<tr><th scope=\"row\"><a href=\"#{}\">{}</a></th>",
                anchor(op),
                escaped(op)
            );
            let duels = inputs.iter().map(|&input| in_any_format(&of_op, (input, dtype, threads)));
            line(&mut page, &duels.collect::<Vec<_>>());
        }
        page += "</tbody></table></div>\n";
    }
    page
}

/// Formats down, inputs across: each against the best other in the same format. Formats that nobody else has are left
/// out.
pub(super) fn formats(page: &mut String, rows: &[&Row], one_setting: bool) {
    let ours: Vec<&Row> = rows.iter().filter(|row| row.contender == OURS).copied().collect();
    for (dtype, threads) in unique(ours.iter().map(|row| (row.dtype.as_str(), row.threads))) {
        let duel = |format: &str, (input, dtype, threads): Setting<'_>| {
            let is = |row: &&&Row| {
                let own = (row.format.as_str(), row.input.as_str(), row.dtype.as_str());
                own == (format, input, dtype) && row.threads == threads
            };
            in_same_format(ours.iter().find(is)?, rows)
        };
        let inputs = unique(ours.iter().map(|row| row.input.as_str()));
        let lines: Vec<(&str, Vec<_>)> = unique(ours.iter().map(|row| row.format.as_str()))
            .into_iter()
            .map(|format| {
                let duels = inputs.iter().map(|&input| duel(format, (input, dtype, threads)));
                (format, duels.collect::<Vec<_>>())
            })
            .filter(|(_, duels)| duels.iter().any(Option::is_some))
            .collect();
        // The table of one format says what the summary says.
        if lines.len() < 2 {
            continue;
        }
        let which = if one_setting { String::new() } else { behind_comma(dtype, threads) };
        let _ = write!(
            page,
            "<details><summary>Format by format{which}</summary>\n\
             <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Format by format\">\
             <table class=\"ratios\">\n\
             <caption>Against the best other in the same format</caption>\n\
             <thead><tr><th scope=\"col\">Format</th>"
        );
        heads(page, &inputs);
        *page += "</tr></thead>\n<tbody>\n";
        for (format, duels) in lines {
            let _ = write!(page, "<tr><th scope=\"row\">{}</th>", escaped(format));
            line(page, &duels);
        }
        *page += "</tbody></table></div></details>\n";
    }
}

/// A setting as the end of a title.
fn behind_comma(dtype: &str, threads: u64) -> String {
    match setting_text(dtype, threads) {
        none if none.is_empty() => none,
        some => format!(", {}", escaped(&some)),
    }
}

fn heads(page: &mut String, inputs: &[&str]) {
    *page += "<th scope=\"col\">median</th>";
    for input in inputs {
        let _ = write!(page, "<th scope=\"col\">{}</th>", escaped(input));
    }
}

/// The median of some comparisons, which has no colour, since it is none; and a cell for each of them.
fn line(page: &mut String, duels: &[Option<Duel<'_>>]) {
    let mut all: Vec<f64> = duels.iter().flatten().map(|duel| duel.ratio).collect();
    all.sort_by(f64::total_cmp);
    let middle = if all.is_empty() { "·".to_owned() } else { times(median(&all)) };
    let _ = write!(page, "<td class=\"median\">{middle}</td>");
    for &duel in duels {
        let (class, text) = shown(duel);
        let title =
            duel.map_or(String::new(), |duel| format!(" title=\"{}\"", escaped(&words(duel))));
        let _ = write!(page, "<td class=\"{class}\"{title}>{text}</td>");
    }
    *page += "</tr>\n";
}
