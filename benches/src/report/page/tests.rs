//! The page of results made up for it.

use serde_json::{Value, json};

use super::duel::verdict;
use super::page;
use crate::report::row::{Row, Time, read};

/// A line: who, in which format, on which input, and how many microseconds the median and the quartiles took.
fn line(who: &str, format: &str, input: &str, micros: [f64; 3]) -> Value {
    let [low, median, high] = micros.map(|micros| micros * 1e-6);
    json!({
        "op": "spmv", "expression": "y(i) = A(i,j) * x(j)", "input": input, "source": input,
        "entries": 100, "format": format, "dtype": "f64", "threads": 1, "contender": who,
        "median": median, "q1": low, "q3": high, "seconds": [low, median, high], "bytes": 8000,
    })
}

fn even(micros: f64) -> [f64; 3] {
    [micros * 0.99, micros, micros * 1.01]
}

fn said(lines: &[Value]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let (_, rows) = read(&text).unwrap();
    verdict(&rows.iter().collect::<Vec<_>>()).join(" ")
}

fn made(lines: &[Value]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    page(&text).unwrap()
}

#[test]
fn verdicts_say_what_the_data_say() {
    let ust = |format, input, micros| line("ust", format, input, even(micros));
    let loops = |format, input, micros| line("loop", format, input, even(micros));
    let cases = [
        ("no time of ours", vec![loops("CSR", "a", 10.0)], "No time of <b>ust</b>."),
        (
            "no rival",
            vec![ust("CSR", "a", 10.0), line("ust-composed", "CSR", "a", even(5.0))],
            "Nobody else was timed: nothing to compare <b>ust</b> with.",
        ),
        (
            "one row each",
            vec![ust("CSR", "a", 10.0), loops("CSR", "a", 13.0)],
            "<b>ust</b> is faster on the one input, 1.30 times as fast as the best other.",
        ),
        (
            "no format in common",
            vec![ust("CSR", "a", 10.0), loops("COO", "a", 5.0)],
            "Best against best: <b>ust</b> is slower on the one input, \
             0.50 times as fast as the best other. In no format was another timed as well.",
        ),
        (
            "faster, tied, slower, and alone; a second of the others that is slower counts for nothing",
            vec![
                ust("CSR", "a", 10.0),
                loops("CSR", "a", 40.0),
                line("sprs", "CSR", "a", even(50.0)),
                ust("CSR", "b", 10.0),
                line("loop", "CSR", "b", [9.0, 11.0, 12.0]),
                ust("DIA", "b", 50.0),
                line("loop", "DIA", "b", [20.0, 20.0, 50.0]),
                ust("CSR", "c", 10.0),
                loops("CSR", "c", 5.0),
                ust("COO", "c", 20.0),
                ust("CSR", "d", 10.0),
            ],
            "Best against best: <b>ust</b> is faster on 1 of 3 inputs, \
             tied on 1, slower on 1, in the median 1.10 times as fast as the best other (0.50 to 4.00); \
             1 more input has no other contender. \
             In the same format: faster in 1 of 4 cases, tied in 2, slower in 1, \
             in the median 0.74 times as fast as the best other (0.40 to 4.00); \
             2 more cases have no other contender. \
             The slowest case that is no tie: CSR on c, 0.50 times as fast as loop.",
        ),
        (
            "in another format than the best other",
            vec![
                ust("CSR", "a", 10.0),
                ust("COO", "a", 5.0),
                loops("CSR", "a", 8.0),
                ust("CSR", "b", 5.0),
                loops("CSR", "b", 10.0),
            ],
            "Best against best: <b>ust</b> is faster on both inputs, \
             in the median 1.79 times as fast as the best other (1.60 to 2.00). \
             In the same format: faster in 1 of 2 cases, slower in 1, \
             in the median 1.26 times as fast as the best other (0.80 to 2.00); \
             1 more case has no other contender. \
             The slowest case that is no tie: CSR on a, 0.80 times as fast as loop.",
        ),
    ];
    for (what, lines, expected) in cases {
        assert_eq!(said(&lines), expected, "{what}");
    }
}

#[test]
fn no_verdict_comes_of_what_is_no_time() {
    for median in [json!(0.0), json!(-1.0), json!(null), json!("x")] {
        let (mut ours, mut other) =
            (line("ust", "CSR", "a", even(10.0)), line("loop", "CSR", "a", even(9.0)));
        other["median"] = median.clone();
        assert_eq!(
            said(&[ours.clone(), other.clone()]),
            "Nobody else was timed: nothing to compare <b>ust</b> with."
        );
        ours["median"] = median;
        assert_eq!(said(&[ours.clone(), other.clone()]), "No time of <b>ust</b>.");
        well_formed(&made(&[ours, other]));
    }
}

#[test]
fn quartiles_that_meet_are_a_tie_however_far_the_medians_are() {
    let told = |own, other| {
        let row = |contender: &str, [low, median, high]: [f64; 3]| Row {
            contender: contender.to_owned(),
            time: Some(Time { low, median, high }),
            ..Row::default()
        };
        let rows = [row("ust", own), row("loop", other)];
        verdict(&rows.iter().collect::<Vec<_>>()).remove(0)
    };
    for (own, other, word) in [
        ([1.0, 2.0, 3.0], [3.0, 9.0, 9.0], "tied"),
        ([1.0, 2.0, 2.9], [3.0, 9.0, 9.0], "faster"),
        ([3.0, 9.0, 9.0], [1.0, 2.0, 3.0], "tied"),
        ([3.1, 9.0, 9.0], [1.0, 2.0, 3.0], "slower"),
    ] {
        let said = told(own, other);
        assert!(said.contains(&format!("<b>ust</b> is {word} on the one input")), "{said}");
    }
}

/// Panics where the page is not one that a strict parser takes; gives its elements.
fn well_formed(page: &str) -> Vec<Element> {
    elements(page).unwrap_or_else(|error| panic!("{error}\n{page}"))
}

/// An element: its name, its attributes, and the text right behind its start.
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
}

impl Element {
    fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Elements that have an end, attributes in quotes, each once; `<` and `&` nowhere else. Scripts and styles are text.
fn elements(page: &str) -> Result<Vec<Element>, String> {
    let (mut found, mut open): (Vec<Element>, Vec<String>) = (Vec::new(), Vec::new());
    let mut rest = page.strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
    while let Some((text, after)) = rest.split_once('<') {
        plain(text)?;
        let (tag, after) = after.split_once('>').ok_or("a tag has no end")?;
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop();
            if last.as_deref() != Some(name) {
                return Err(format!("</{name}> ends {last:?}"));
            }
            continue;
        }
        let empty = tag.ends_with('/');
        let tag = tag.trim_end_matches('/').trim();
        let (name, mut left) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
        let mut attributes: Vec<(String, String)> = Vec::new();
        while let Some((key, after)) = left.split_once("=\"") {
            let (value, after) = after.split_once('"').ok_or("an attribute has no end")?;
            plain(value)?;
            let key = key.trim().to_owned();
            if key.contains([' ', '"']) || attributes.iter().any(|(known, _)| *known == key) {
                return Err(format!("attribute `{key}` in <{tag}>"));
            }
            attributes.push((key, value.to_owned()));
            left = after;
        }
        if !left.trim().is_empty() {
            return Err(format!("`{left}` in <{tag}>"));
        }
        if ["script", "style"].contains(&name) {
            let end = format!("</{name}>");
            let (text, after) = rest.split_once(&end).ok_or("a script has no end")?;
            found.push(Element { name: name.to_owned(), attributes, text: text.to_owned() });
            rest = after;
            continue;
        }
        if !empty {
            open.push(name.to_owned());
        }
        let text = rest.split('<').next().unwrap_or("").to_owned();
        found.push(Element { name: name.to_owned(), attributes, text });
    }
    if open.is_empty() { Ok(found) } else { Err(format!("open at the end: {open:?}")) }
}

fn plain(text: &str) -> Result<(), String> {
    let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
    match text.split('&').skip(1).find(|end| !known.iter().any(|name| end.starts_with(name))) {
        Some(end) => Err(format!("`&{end}` is no character")),
        None => Ok(()),
    }
}

/// A page with something of everything.
fn full() -> String {
    let run = json!({ "run": {
        "date": "2026-01-31 12:00 UTC", "rounds": 3, "ust": "0.1.0", "commit": "0123456789",
        "machine": {"processor": "A processor", "cores": 2, "memory": 8e9, "system": "A system"},
        "bandwidths": [[1, 1e10]], "versions": {"sprs": "0.11.6"}, "contenders": {"sprs": "the crate"},
    } });
    let mut failed = line("mkl", "CSR", "a", even(1.0));
    failed["median"] = Value::Null;
    failed["failed"] = "/opt/mkl/lib.so: not found".into();
    let mut file = line("ust", "CSR", "b.mtx", even(30.0));
    file["source"] = "/home/somebody/matrices/b.mtx".into();
    made(&[
        run,
        line("ust", "CSR", "a", even(10.0)),
        line("ust", "COO", "a", even(25.0)),
        line("loop", "CSR", "a", even(13.0)),
        line("sprs", "CSR", "a", even(14.0)),
        failed,
        file,
        line("sprs", "CSR", "b.mtx", even(20.0)),
    ])
}

#[test]
fn a_page_is_well_formed_and_its_tables_can_be_read_aloud() {
    let page = full();
    let all = well_formed(&page);
    let named = |name: &'static str| all.iter().filter(move |element| element.name == name);
    assert_eq!(named("html").next().unwrap().get("lang"), Some("en"));
    assert_eq!(named("h1").count(), 1);
    assert!(named("th").all(|head| head.get("scope").is_some()));
    assert_eq!(named("table").count(), named("caption").count());
    let ids: Vec<&str> = all.iter().filter_map(|element| element.get("id")).collect();
    for (at, id) in ids.iter().enumerate() {
        assert!(!ids[..at].contains(id), "{id} twice");
    }
    for link in named("a").filter_map(|link| link.get("href")) {
        assert!(ids.contains(&link.strip_prefix('#').unwrap()), "{link}");
    }
    // Nothing is loaded, and nothing is filled in later.
    assert!(!page.contains("http") && !page.contains("{{"), "{page}");
    assert!(all.iter().all(|element| element.get("src").is_none()));
}

#[test]
fn times_stand_in_rows_with_their_bars() {
    let page = full();
    let all = well_formed(&page);
    let rows: Vec<&Element> = all.iter().filter(|e| e.get("data-time").is_some()).collect();
    assert_eq!(rows.len(), 6);
    assert_eq!(rows.iter().filter(|row| row.get("class") == Some("ours")).count(), 2);
    assert_eq!(rows.iter().filter(|row| row.get("class") == Some("ours rest")).count(), 1);
    let tip = rows[0].get("title").unwrap();
    for fact in [
        "ust in CSR",
        "median 10.0 µs, 3 rounds",
        "quartiles 9.90 µs to 10.1 µs",
        "8.0 kB, 0.80 GB/s",
    ] {
        assert!(tip.contains(fact), "{tip}");
    }
    // From 1 to 100 microseconds: ten are the half.
    let bars: Vec<_> =
        all.iter().filter(|e| e.name == "i").filter_map(|e| e.get("style")).collect();
    assert_eq!((bars.len(), bars[0]), (6, "--m:50.00%;--a:49.78%;--b:50.22%"));
    let cells: Vec<(&str, &str)> = all
        .iter()
        .filter(|e| e.name == "td" && e.get("class").is_some_and(|class| class.starts_with("any ")))
        .map(|e| (e.get("class").unwrap(), e.text.as_str()))
        .filter(|(_, text)| !text.is_empty())
        .collect();
    assert_eq!(
        cells,
        [
            ("any faster", "▲\u{a0}1.30"),
            ("any slower", "▼\u{a0}0.52"),
            ("any slower", "▼\u{a0}0.67")
        ]
    );
}

#[test]
fn the_head_says_what_is_known_of_the_run() {
    let page = full();
    for fact in [
        "A processor, 2 cores, 8.0 GB of memory",
        "10.0 GB/s with 1 thread",
        "ust 0.1.0, commit 0123456789",
        "loop, sprs 0.11.6",
        "2026-01-31 12:00 UTC",
    ] {
        assert!(page.contains(&format!("<dd>{fact}</dd>")), "{fact}");
    }
    assert!(page.contains("<dt><b>sprs</b> 0.11.6</dt><dd>the crate</dd>"));
    let bare = made(&[line("ust", "CSR", "a", even(1.0))]);
    well_formed(&bare);
    assert!(!bare.contains("<dt>Processor</dt>"));
}

#[test]
fn the_lead_counts_operations_and_inputs() {
    let lead = "<b class=\"ours\">ust</b> against the best of all others, operation by operation and input by input: \
                faster in 1 of 2 comparisons, slower in 1, \
                in the median 0.93 times as fast as the best other (0.67 to 1.30).";
    assert!(full().contains(lead));
    assert!(!made(&[line("ust", "CSR", "a", even(1.0))]).contains("class=\"lead\""));
    let both = [line("ust", "CSR", "a", even(1.0)), line("loop", "CSR", "a", even(2.0))];
    let virtually =
        |is| [&[json!({"run": {"device": "a device", "virtual": is}})][..], &both].concat();
    assert!(!made(&virtually(true)).contains("class=\"lead\""));
    assert!(made(&virtually(false)).contains("class=\"lead\""));
}

#[test]
fn too_few_rounds_are_told() {
    let mut short = line("ust", "CSR", "a", even(1.0));
    short["seconds"] = json!([1e-6, 1e-6]);
    assert!(made(&[short]).contains("Fewer than three rounds were made in 1 of 1 measurement:"));
    assert!(!full().contains("Fewer than three rounds"));
}

#[test]
fn expressions_come_first_and_inputs_stay_in_their_order() {
    let with_text = |op: &str, text: &str, input: &str| {
        let mut line = line("ust", "CSR", input, even(1.0));
        line["op"] = op.into();
        line["expression"] = text.into();
        line
    };
    let page = made(&[
        with_text("a-b", "a -> b", "z"),
        with_text("spmv", "y(i) = A(i,j) * x(j)", "b"),
        with_text("spmm", "C(i,k) = A(i,j) * B(j,k)", "a"),
    ]);
    let all = well_formed(&page);
    let sections: Vec<_> = all.iter().filter_map(|element| element.get("data-op")).collect();
    assert_eq!(sections, ["spmm", "spmv", "a-b"]);
    let heads = all.iter().filter(|e| e.name == "th" && e.get("scope") == Some("col"));
    let heads: Vec<&str> = heads.map(|head| head.text.as_str()).take(5).collect();
    assert_eq!(heads, ["Operation", "median", "z", "b", "a"]);
}

#[test]
fn each_setting_has_a_table_of_ratios() {
    let with_threads = |threads: u64, micros| {
        let lines = [line("ust", "CSR", "a", even(10.0)), line("loop", "CSR", "a", even(micros))];
        lines.map(|mut line| {
            line["threads"] = threads.into();
            line
        })
    };
    let lines = [with_threads(1, 20.0), with_threads(2, 5.0)].concat();
    let page = made(&lines);
    well_formed(&page);
    for caption in ["Best against best, f64, 1 thread", "Best against best, f64, 2 threads"] {
        assert_eq!(page.matches(&format!("<caption>{caption}</caption>")).count(), 1);
    }
    assert!(
        said(&lines).starts_with("<b>ust</b> is faster in 1 of 2 settings, slower in 1"),
        "{}",
        said(&lines)
    );
}

#[test]
fn a_page_of_nothing_is_a_page() {
    well_formed(&page("").unwrap());
    assert!(page("nothing").is_err());
}

#[test]
fn no_folder_of_the_machine_is_told() {
    let page = full();
    for part in ["/home/", "somebody", "matrices", "/opt/"] {
        assert!(!page.contains(part), "{part}");
    }
    assert!(page.contains("b.mtx") && page.contains("lib.so: not found"));
}

#[test]
fn names_are_text_whatever_they_look_like() {
    let evil = "</script><script>alert('1 & \"2\"')</script>{{data}}";
    let mut row = line(evil, evil, evil, even(1.0));
    for name in ["op", "expression", "source", "dtype"] {
        row[name] = evil.into();
    }
    let mut ours = row.clone();
    ours["contender"] = "ust".into();
    let mut failed = ours.clone();
    failed["median"] = Value::Null;
    failed["failed"] = evil.into();
    let run =
        json!({"run": {"date": evil, "machine": {"processor": evil}, "versions": {evil: evil}}});
    let page = made(&[run, row, ours, failed]);
    let all = well_formed(&page);
    assert_eq!(all.iter().filter(|element| element.name == "script").count(), 2);
    // What programs read has every name as it was.
    let data = all.iter().find(|element| element.get("id") == Some("data")).unwrap();
    assert!(!data.text.contains('<'), "{}", data.text);
    let data: Value = serde_json::from_str(&data.text).unwrap();
    assert_eq!(data[0]["format"], evil);
    assert_eq!(data.as_array().unwrap().len(), 3);
}

#[test]
fn the_script_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.js");
    std::fs::write(&file, super::SCRIPT).unwrap();
    match std::process::Command::new("node").arg("--check").arg(&file).output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        Err(error) => eprintln!("SKIPPED: node: {error}"),
    }
}
