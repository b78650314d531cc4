//! Names that are known, and those that somebody meant.

use ust::format::suggest::nearest;

/// What is said, as a whole sentence, of a name that nobody registered, with the one that was meant, if it can be told: the shortest that
/// begins so, or else the nearest.
pub(crate) fn unknown<'a>(
    kind: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> String {
    let said = format!("no {kind} is called `{name}`");
    match meant(name, known) {
        Some(meant) => format!("{said}: did you mean `{meant}`?"),
        None => said + ".",
    }
}

fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let lower = name.to_lowercase();
    let begins = |other: &&&str| !name.is_empty() && other.to_lowercase().starts_with(&lower);
    let longer = known.iter().filter(begins).min_by_key(|other| other.len());
    longer.copied().or_else(|| nearest(name, known))
}

#[cfg(test)]
mod tests {
    use super::unknown;

    #[test]
    fn a_beginning_and_a_slip_are_understood() {
        let known = ["spmm128", "spmm32", "spmv", "spmvt", "csr-csc"];
        for (name, expected) in [
            ("spmm", "no operation is called `spmm`: did you mean `spmm32`?"),
            ("SPMM1", "no operation is called `SPMM1`: did you mean `spmm128`?"),
            ("smpv", "no operation is called `smpv`: did you mean `spmv`?"),
            ("csrcsc", "no operation is called `csrcsc`: did you mean `csr-csc`?"),
            ("nothing", "no operation is called `nothing`."),
            ("", "no operation is called ``."),
        ] {
            assert_eq!(unknown("operation", name, known), expected);
        }
    }
}
