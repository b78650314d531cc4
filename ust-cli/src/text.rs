//! Numbers, sizes and tables that a person can read.

/// A number of bytes in the largest binary unit that gives at least one, such as `1.5 MiB`.
pub(crate) fn bytes(count: usize) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1024 {
        return format!("{count} bytes");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    // 1023.95 would be written as 1024.0.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A number with commas between groups of three digits, such as `8,000,000`.
pub(crate) fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A shape, such as `4 x 6 x 8`.
pub(crate) fn shape(shape: &[usize]) -> String {
    if shape.is_empty() {
        return "scalar".to_owned();
    }
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ")
}

/// Lines of cells, aligned in columns two blanks apart.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let line: String =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}  ")).collect();
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_given_in_the_unit_that_suits() {
        for (count, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (usize::MAX, "16.0 EiB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn digits_are_grouped_by_three() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (12_345_678, "12,345,678")]
        {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [vec!["a".to_owned(), "bc".to_owned()], vec!["def".to_owned()]];
        assert_eq!(table(&rows), "a    bc\ndef\n");
    }
}
