//! A page that needs nothing else: bars for each operation, and heat maps of ratios.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::table::time;
use super::{Record, ratios};

/// How the page looks.
const STYLE: &str = "body{font:14px system-ui,sans-serif;margin:2em auto;max-width:70em;color:#222}\
h2{margin-top:2em}h3{font-weight:600;margin:1.5em 0 .3em}p{color:#555;margin:.2em 0}\
text{font:12px system-ui,sans-serif;fill:#222}code{background:#f3f3f3;padding:0 .2em}";
/// Colours of contenders, in order of appearance; this project's comes first.
const COLOURS: [&str; 10] = [
    "#c0392b", "#7f8c8d", "#2980b9", "#27ae60", "#8e44ad", "#d68910", "#16a085", "#2c3e50",
    "#b03a8c", "#6e7f0c",
];

/// The page. `bandwidths` has the bytes a second that memory gives to so many threads.
pub(crate) fn page(records: &[Record], bandwidths: &[(usize, f64)]) -> String {
    let mut page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Benchmarks</title>\
         <style>{STYLE}</style><h1>Benchmarks</h1>"
    );
    for (threads, bytes) in bandwidths {
        let _ = write!(page, "<p>Memory, {threads} threads: {:.1} GB/s</p>", bytes / 1e9);
    }
    let names: Vec<&str> = unique(records.iter().map(|r| r.entry.contender));
    for op in unique(records.iter().map(|r| r.op)) {
        let of_op: Vec<&Record> = records.iter().filter(|r| r.op == op).collect();
        let Some(first) = of_op.first() else { continue };
        let _ = write!(page, "<h2>{op}</h2><p><code>{}</code></p>", escaped(&first.text));
        for setting in unique(of_op.iter().map(|r| (r.dtype.as_str(), r.threads))) {
            let here: Vec<&Record> = of_op
                .iter()
                .filter(|r| (r.dtype.as_str(), r.threads) == setting)
                .copied()
                .collect();
            let _ = write!(page, "<h3>{}, threads: {}</h3>", setting.0, setting.1);
            heat_map(&mut page, &here, records);
            for input in unique(here.iter().map(|r| r.input.as_str())) {
                let bars: Vec<&Record> =
                    here.iter().filter(|r| r.input == input).copied().collect();
                let _ = write!(page, "<h3>{}</h3>", escaped(input));
                let source = bars.first().map_or("", |r| &r.source);
                let _ = write!(page, "<p>{}</p>", escaped(source));
                draw_bars(&mut page, &bars, &names);
            }
        }
    }
    page + "</html>\n"
}

/// Each once, in order of appearance.
fn unique<T: Ord + Copy>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    all.filter(|&one| seen.insert(one)).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A bar for each record: the median, with the quartiles as a line. Shorter is better.
fn draw_bars(page: &mut String, records: &[&Record], names: &[&str]) {
    let timed: Vec<_> =
        records.iter().filter_map(|r| Some((r, r.entry.median()?, r.entry.quartiles()?))).collect();
    let longest = timed.iter().map(|(_, median, _)| *median).fold(0.0, f64::max);
    // Bars that are far longer than most are cut, and say so by their number.
    let mut medians: Vec<f64> = timed.iter().map(|(_, median, _)| *median).collect();
    medians.sort_by(f64::total_cmp);
    let scale = longest.min(medians.get(medians.len() / 2).map_or(longest, |m| 4.0 * m));
    let height = 18 * timed.len() + 4;
    let _ = write!(page, "<svg width=1000 height={height} role=img>");
    for (at, (record, median, (low, high))) in timed.iter().enumerate() {
        let y = 18 * at;
        let colour = names.iter().position(|n| *n == record.entry.contender).unwrap_or(0);
        let colour = COLOURS[colour % COLOURS.len()];
        let wide = |seconds: f64| 500.0 * (seconds / scale).min(1.0);
        let label = escaped(&format!("{} / {}", record.format, record.entry.contender));
        let _ = write!(
            page,
            "<text x=290 y={} text-anchor=end>{label}</text>\
             <rect x=300 y={} width={:.1} height=13 fill=\"{colour}\"/>\
             <line x1={:.1} x2={:.1} y1={line} y2={line} stroke=\"#000\"/>\
             <text x={:.1} y={}>{}</text>",
            y + 13,
            y + 3,
            wide(*median),
            300.0 + wide(*low),
            300.0 + wide(*high),
            306.0 + wide(*median).max(wide(*high)),
            y + 13,
            time(*median),
            line = y + 9,
        );
    }
    *page += "</svg>";
}

/// Formats down, inputs across: this project's time by that of the best other with any format.
fn heat_map(page: &mut String, records: &[&Record], all: &[Record]) {
    let ours: Vec<&&Record> = records.iter().filter(|r| r.entry.contender == "ust").collect();
    let inputs = unique(ours.iter().map(|r| r.input.as_str()));
    let formats = unique(ours.iter().map(|r| r.format.as_str()));
    if inputs.is_empty() {
        return;
    }
    let (width, height) = (200 + 90 * inputs.len(), 30 + 20 * formats.len());
    *page +=
        "<p>Time, relative to the best other: in the same format, and in any. Green is faster.</p>";
    let _ = write!(page, "<svg width={width} height={height} role=img>");
    for (column, input) in inputs.iter().enumerate() {
        let short: String = input.chars().take(13).collect();
        let _ = write!(page, "<text x={} y=18>{}</text>", 204 + 90 * column, escaped(&short));
    }
    for (row, format) in formats.iter().enumerate() {
        let y = 28 + 20 * row;
        let _ = write!(page, "<text x=4 y={}>{}</text>", y + 14, escaped(format));
        for (column, input) in inputs.iter().enumerate() {
            let record = ours.iter().find(|r| r.input == *input && r.format == *format);
            let Some((same, any)) = record.map(|r| ratios(r, all)) else { continue };
            let Some(shown) = same.or(any) else { continue };
            let text = |r: Option<f64>| r.map_or("-".to_owned(), |r| format!("{r:.2}"));
            let _ = write!(
                page,
                "<rect x={} y={y} width=88 height=18 fill=\"{}\"/><text x={} y={}>{} / {}</text>",
                200 + 90 * column,
                colour(shown),
                206 + 90 * column,
                y + 14,
                text(same),
                text(any),
            );
        }
    }
    *page += "</svg>";
}

/// Green below 1, white at 1, red above, by the logarithm.
fn colour(ratio: f64) -> String {
    let far = (ratio.log2() / 2.0).clamp(-1.0, 1.0);
    let fade = (255.0 - 130.0 * far.abs()) as u8;
    if far < 0.0 { format!("rgb({fade},240,{fade})") } else { format!("rgb(250,{fade},{fade})") }
}

#[cfg(test)]
mod tests {
    use super::colour;

    #[test]
    fn colours_tell_faster_from_slower() {
        assert_eq!(colour(0.25), "rgb(125,240,125)");
        assert_eq!(colour(1.0), "rgb(250,255,255)");
        assert_eq!(colour(16.0), "rgb(250,125,125)");
    }
}
