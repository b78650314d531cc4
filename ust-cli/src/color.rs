//! Whether there are colours.

use std::env;
use std::ffi::OsString;
use std::io::IsTerminal;

use clap::ColorChoice;

use crate::args::When;

/// Whether standard output gets colours: what `--color` says, else `NO_COLOR` and `CLICOLOR_FORCE`, else whether it is a
/// terminal that shows them.
///
/// Sources: no-color.org, bixense.com/clicolors.
pub(crate) fn on_standard_output(when: When) -> bool {
    decide(when, |name| env::var_os(name), std::io::stdout().is_terminal())
}

fn decide(when: When, var: impl Fn(&str) -> Option<OsString>, terminal: bool) -> bool {
    let set = |name: &str| var(name).filter(|value| !value.is_empty());
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto if set("NO_COLOR").is_some() => false,
        When::Auto if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
        When::Auto if set("CLICOLOR").is_some_and(|value| value == "0") => false,
        When::Auto => terminal && set("TERM").is_none_or(|term| term != "dumb"),
    }
}

/// The same for help and for errors of usage, which are printed before the command line is read as a whole.
pub(crate) fn of_usage(mut words: impl Iterator<Item = OsString>) -> ColorChoice {
    let mut choice = ColorChoice::Auto;
    while let Some(word) = words.next().filter(|word| word != "--") {
        let word = word.to_string_lossy();
        let value = match word.split_once('=') {
            Some(("--color", value)) => value.to_owned(),
            None if word == "--color" => {
                words.next().unwrap_or_default().to_string_lossy().into_owned()
            }
            _ => continue,
        };
        choice = match &*value {
            "always" => ColorChoice::Always,
            "never" => ColorChoice::Never,
            _ => ColorChoice::Auto,
        };
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_counts_more_than_the_environment_and_that_more_than_the_terminal() {
        type Environment = &'static [(&'static str, &'static str)];
        let cases: [(When, Environment, bool, bool); 10] = [
            (When::Auto, &[], true, true),
            (When::Auto, &[], false, false),
            (When::Auto, &[("NO_COLOR", "1")], true, false),
            (When::Auto, &[("NO_COLOR", "")], true, true),
            (When::Auto, &[("CLICOLOR_FORCE", "1")], false, true),
            (When::Auto, &[("CLICOLOR_FORCE", "0")], false, false),
            (When::Auto, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], true, false),
            (When::Auto, &[("TERM", "dumb")], true, false),
            (When::Always, &[("NO_COLOR", "1")], false, true),
            (When::Never, &[("CLICOLOR_FORCE", "1")], true, false),
        ];
        for (when, environment, terminal, expected) in cases {
            let var = |name: &str| {
                let found = environment.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(
                decide(when, var, terminal),
                expected,
                "{when:?} {environment:?} {terminal}"
            );
        }
    }

    #[test]
    fn usage_is_coloured_as_the_last_option_says() {
        for (words, expected) in [
            ("ust --color always info", ColorChoice::Always),
            ("ust info --color=never", ColorChoice::Never),
            ("ust --color always info --color auto", ColorChoice::Auto),
            ("ust info -- --color=never", ColorChoice::Auto),
            ("ust info --color", ColorChoice::Auto),
        ] {
            let words = words.split(' ').map(OsString::from);
            assert_eq!(of_usage(words), expected);
        }
    }
}
