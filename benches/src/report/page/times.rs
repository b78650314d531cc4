//! The times of an operation: a body of the table for each input, a row for each contender in each format.

use std::fmt::Write;

use super::super::OURS;
use super::super::row::{Row, Time};
use super::duel::{Duel, in_same_format, quickest, setting};
use super::ratios::{against, shown};
use super::text::{bytes, escaped, grouped, plural, time};
use super::{setting_text, unique};

/// More decades than these are not all labelled.
const LABELS: i32 = 6;

/// The logarithmic axis: whole decades that hold every time.
struct Axis {
    /// The first power of ten.
    from: i32,
    /// How many times ten.
    decades: i32,
}

impl Axis {
    fn of(rows: &[&Row]) -> Option<Self> {
        let times = || rows.iter().filter_map(|row| row.time);
        let low = times().map(|t| t.low).min_by(f64::total_cmp)?.log10().floor();
        let high = times().map(|t| t.high).max_by(f64::total_cmp)?.log10().ceil();
        Some(Self { from: low as i32, decades: ((high - low) as i32).max(1) })
    }

    /// Where a time stands, in percent.
    fn place(&self, seconds: f64) -> f64 {
        (100.0 * (seconds.log10() - f64::from(self.from)) / f64::from(self.decades))
            .clamp(0.0, 100.0)
    }

    /// The head of the column: a label at each decade, or at every other.
    fn labels(&self) -> String {
        let step = (self.decades + LABELS - 1) / LABELS;
        let mut text = String::new();
        for at in (0..=self.decades).step_by(step as usize) {
            let place = self.place(10_f64.powi(self.from + at));
            let label = label(self.from + at);
            let _ = write!(text, "<span style=\"left:{place:.2}%\">{label}</span>");
        }
        text
    }
}

/// A power of ten, in seconds.
fn label(power: i32) -> String {
    let unit = power.div_euclid(3).clamp(-4, 0);
    let name = ["s", "ms", "µs", "ns", "ps"][unit.unsigned_abs() as usize];
    match power - 3 * unit {
        small @ 0..=3 => format!("{} {name}", 10_u32.pow(small as u32)),
        other => format!("1e{other} {name}"),
    }
}

/// The table.
pub(super) fn table(page: &mut String, op: &str, rows: &[&Row], one_setting: bool) {
    let Some(axis) = Axis::of(rows) else { return };
    let heads = [("name", "Contender, format"), ("time", "Median"), ("rate", "GB/s")];
    let ratios = [("same", "Same format"), ("any", "Any format")];
    let head = |(key, label): (&str, &str)| {
        format!("<th scope=\"col\" class=\"{key}\" data-sort=\"{key}\">{label}</th>")
    };
    let [name, median, rate] = heads.map(head);
    let [same, any] = ratios.map(head);
    let _ = write!(
        page,
        "<table class=\"times\" style=\"--decades:{}\">\n\
         <caption class=\"hidden\">Times of {}: shorter is better, the axis is logarithmic</caption>\n\
         <thead><tr>{name}<th scope=\"col\" class=\"axis\" aria-label=\"Bar\"><div>{}</div></th>\
         {median}{rate}{same}{any}</tr></thead>\n",
        axis.decades,
        escaped(op),
        axis.labels()
    );
    for at in unique(rows.iter().map(|row| setting(row))) {
        let mut here: Vec<&Row> =
            rows.iter().copied().filter(|row| setting(row) == at && row.time.is_some()).collect();
        here.sort_by(|a, b| median_of(a).total_cmp(&median_of(b)));
        let Some(first) = here.first() else { continue };
        let mut about =
            if one_setting { Vec::new() } else { vec![escaped(&setting_text(at.1, at.2))] };
        if first.entries > 0 {
            about.insert(0, format!("{} entries", grouped(first.entries)));
        }
        if first.source != first.input && !first.source.is_empty() {
            about.insert(0, escaped(&first.source));
        }
        let _ = write!(
            page,
            "<tbody data-input=\"{input}\" data-dtype=\"{}\" data-threads=\"{}\">\n\
             <tr class=\"case\"><th scope=\"rowgroup\" colspan=\"3\">{input} <small>{}</small></th>\
             <td class=\"rate\"></td><td class=\"same\"></td><td class=\"any\"></td></tr>\n",
            escaped(at.1),
            at.2,
            about.join(", "),
            input = escaped(at.0),
        );
        for row in &here {
            line(page, row, &here, &axis);
        }
        *page += "</tbody>\n";
    }
    *page += "</table>\n";
}

fn median_of(row: &Row) -> f64 {
    row.time.map_or(f64::INFINITY, |time| time.median)
}

/// A row, within all of its setting.
fn line(page: &mut String, row: &Row, here: &[&Row], axis: &Axis) {
    let Some(Time { low, median, high }) = row.time else { return };
    let best = quickest(here.iter().copied().filter(|other| other.contender == row.contender));
    let is_best = best.is_some_and(|best| std::ptr::eq(best, row));
    let judged = row.contender == OURS;
    let same = judged.then(|| in_same_format(row, here)).flatten();
    let others = here.iter().copied().filter(|other| !other.is_ours());
    let any = judged.then(|| Duel::new(row, quickest(others)?)).flatten();
    let mut classes = vec![if row.is_ours() { "ours" } else { "other" }];
    if !is_best {
        classes.push("rest");
    }
    let _ = write!(
        page,
        "<tr class=\"{}\" data-time=\"{median:e}\" title=\"{}\">\
         <th scope=\"row\"><b>{}</b> <span>{}</span></th>\
         <td class=\"bar\"><div><i style=\"--m:{:.2}%;--a:{:.2}%;--b:{:.2}%\"></i></div></td>\
         <td class=\"time\">{}</td><td class=\"rate\">{}</td>",
        classes.join(" "),
        escaped(&details(row, same, any)),
        escaped(&row.contender),
        escaped(&row.format),
        axis.place(median),
        axis.place(low),
        axis.place(high),
        time(median),
        row.rate().map_or("·".to_owned(), |rate| format!("{:.2}", rate / 1e9)),
    );
    for (name, duel) in [("same", same), ("any", any)] {
        let (class, text) = shown(duel);
        let text = if judged { text } else { String::new() };
        let _ = write!(page, "<td class=\"{name} {class}\">{text}</td>");
    }
    *page += "</tr>\n";
}

/// What is told of a row when it is pointed at: a fact a line.
fn details(row: &Row, same: Option<Duel<'_>>, any: Option<Duel<'_>>) -> String {
    let mut lines = vec![format!("{} in {}", row.contender, row.format)];
    if let Some(Time { low, median, high }) = row.time {
        let rounds = match row.rounds {
            0 => String::new(),
            n => format!(", {}", plural(n, "round")),
        };
        lines.push(format!("median {}{rounds}", time(median)));
        lines.push(format!("quartiles {} to {}", time(low), time(high)));
    }
    if let Some(rate) = row.rate() {
        lines.push(format!("{}, {:.2} GB/s", bytes(row.bytes), rate / 1e9));
    }
    let told = [("in the same format", same), ("in any format", any)];
    for (name, duel) in told {
        lines.extend(duel.map(|duel| format!("{name}: {}", against(duel))));
    }
    lines.join("\n")
}
