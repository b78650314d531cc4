//! Numbers and names as the page writes them.

use super::super::table;

/// Text as HTML, also within an attribute.
pub(super) fn escaped(text: &str) -> String {
    let plain = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    plain.replace('"', "&quot;").replace('\'', "&#39;")
}

/// Text of JSON that may stand within a script: nothing in it ends one or begins a comment.
pub(super) fn json(text: &str) -> String {
    text.replace('<', "\\u003c").replace('&', "\\u0026").replace('>', "\\u003e")
}

/// Seconds, in the unit that suits them.
pub(super) fn time(seconds: f64) -> String {
    table::time(seconds).replace(" us", " µs")
}

/// A ratio, with three digits.
pub(super) fn times(ratio: f64) -> String {
    match ratio {
        r if r >= 99.95 => format!("{r:.0}"),
        r if r >= 9.995 => format!("{r:.1}"),
        r if r >= 0.0995 => format!("{r:.2}"),
        r if r >= 0.009_95 => format!("{r:.3}"),
        r => format!("{r:.1e}"),
    }
}

/// `1 input`, `2 inputs`.
pub(super) fn plural(n: usize, what: &str) -> String {
    if n == 1 { format!("{n} {what}") } else { format!("{n} {what}s") }
}

/// A count, its digits in threes.
pub(super) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Bytes, in the unit that suits them.
pub(super) fn bytes(n: f64) -> String {
    match n {
        n if n >= 1e9 => format!("{:.1} GB", n / 1e9),
        n if n >= 1e6 => format!("{:.1} MB", n / 1e6),
        n if n >= 1e3 => format!("{:.1} kB", n / 1e3),
        n => format!("{n:.0} B"),
    }
}

/// Text whose paths are the names of files alone: nobody else has the folders of this machine.
pub(super) fn without_folders(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || "`'\"()[]<>,;=".contains(c);
    text.split_inclusive(ends)
        .map(|word| {
            let (name, end) = match word.char_indices().next_back() {
                Some((at, c)) if ends(c) => word.split_at(at),
                _ => (word, ""),
            };
            let colon = name.ends_with(':');
            let bare = name.trim_end_matches(':');
            let letter = bare.starts_with(|c: char| c.is_ascii_alphabetic());
            let absolute = bare.len() > 1
                && (bare.starts_with(['/', '~', '\\']) || (letter && bare[1..].starts_with(":\\")));
            let relative = bare.starts_with("../") || bare.starts_with("./");
            let kept = match absolute || relative {
                true => bare.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or(""),
                false => bare,
            };
            format!("{kept}{}{end}", if colon { ":" } else { "" })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lose_their_folders_and_formats_keep_their_slashes() {
        for (text, expected) in [
            ("/home/me/x.mtx", "x.mtx"),
            ("~/data/x.mtx and C:\\data\\y.npz", "x.mtx and y.npz"),
            ("`/usr/bin/python3`: not found", "`python3`: not found"),
            ("/opt/a/python: No such file", "python: No such file"),
            ("../matrices/a.mtx", "a.mtx"),
            ("(i, j) -> (j / 4 : dense, i : dense)", "(i, j) -> (j / 4 : dense, i : dense)"),
            ("i/4, j % 4", "i/4, j % 4"),
            ("File \"/opt/lib/a b.py\", line 3", "File \"a b.py\", line 3"),
            ("", ""),
        ] {
            assert_eq!(without_folders(text), expected);
        }
    }

    #[test]
    fn ratios_have_three_digits() {
        let all = [
            (1.306, "1.31"),
            (0.92, "0.92"),
            (9.996, "10.0"),
            (123.4, "123"),
            (0.067, "0.067"),
            (0.004, "4.0e-3"),
        ];
        for (ratio, text) in all {
            assert_eq!(times(ratio), text);
        }
    }

    #[test]
    fn numbers_are_told_in_threes_and_units() {
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(
            (grouped(12), plural(1, "row"), plural(0, "row")),
            ("12".into(), "1 row".into(), "0 rows".into())
        );
        assert_eq!((bytes(999.0), bytes(1.5e6)), ("999 B".to_owned(), "1.5 MB".to_owned()));
    }
}
