//! One contender in one case, as a line of JSON has it: pages are made of these, whoever wrote them.

use serde_json::Value;

use super::OURS;

/// The back end by which this project is judged on a device.
const DEVICE: &str = "cuda";

/// A row of a report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) op: String,
    /// The expression, or what else is done.
    pub(crate) text: String,
    pub(crate) input: String,
    /// The generator's text, or the file.
    pub(crate) source: String,
    pub(crate) entries: u64,
    pub(crate) format: String,
    pub(crate) dtype: String,
    /// Threads allowed; 0 where a device computed.
    pub(crate) threads: u64,
    pub(crate) contender: String,
    /// Median and quartiles in seconds, where it was timed.
    pub(crate) time: Option<Time>,
    /// Samples of which these are.
    pub(crate) rounds: usize,
    /// Bytes that must move at least.
    pub(crate) bytes: f64,
    /// Why it was not timed.
    pub(crate) failed: Option<String>,
}

/// Seconds: finite, and above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Time {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Time {
    /// Of a median and its quartiles, which are the median where they are unknown or do not enclose it. Zero, and
    /// what is no number, is no time.
    pub(crate) fn new(median: f64, low: Option<f64>, high: Option<f64>) -> Option<Self> {
        let positive = |seconds: &f64| seconds.is_finite() && *seconds > 0.0;
        let low = low.filter(positive).filter(|low| *low <= median).unwrap_or(median);
        let high = high.filter(positive).filter(|high| *high >= median).unwrap_or(median);
        positive(&median).then_some(Self { low, median, high })
    }
}

impl Row {
    /// Whether it is this project's.
    pub(crate) fn is_ours(&self) -> bool {
        self.contender.starts_with(OURS)
    }

    /// Bytes a second, where it was timed.
    pub(crate) fn rate(&self) -> Option<f64> {
        Some(self.bytes / self.time?.median).filter(|rate| *rate > 0.0)
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name)?.as_str().map(str::to_owned);
        let number = |name: &str| value.get(name).and_then(Value::as_f64);
        let count = |name: &str| value.get(name).and_then(Value::as_u64);
        // What `gpu` writes says with which back end, and how long the median took; its device has no threads.
        let contender = text("contender").or_else(|| {
            let backend = text("backend")?;
            Some(if backend == DEVICE { OURS.to_owned() } else { backend })
        });
        let median = number("median").or_else(|| number("seconds"));
        Some(Self {
            op: text("op")?,
            text: text("expression").unwrap_or_default(),
            input: text("input")?,
            source: text("source").unwrap_or_default(),
            entries: count("entries").unwrap_or(0),
            format: text("format")?,
            dtype: text("dtype").unwrap_or_default(),
            threads: count("threads").unwrap_or(0),
            contender: contender?,
            time: median.and_then(|m| Time::new(m, number("q1"), number("q3"))),
            rounds: value.get("seconds").and_then(Value::as_array).map_or(0, Vec::len),
            bytes: number("bytes").unwrap_or(0.0),
            failed: text("failed"),
        })
    }
}

/// What the lines of a file say: of the run, where one of them does, and of each contender in each case.
pub(crate) fn read(text: &str) -> Result<(Value, Vec<Row>), String> {
    let (mut run, mut rows) = (Value::Null, Vec::new());
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |why: String| format!("line {}: {why}", at + 1);
        let value: Value = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        match (value.get("run"), Row::read(&value)) {
            (Some(known), _) => run = known.clone(),
            (None, Some(row)) => rows.push(row),
            (None, None) => {
                let what = "a line says what `matrix --json` says: op, input, format, contender";
                return Err(wrong(what.to_owned()));
            }
        }
    }
    Ok((run, rows))
}

#[cfg(test)]
mod tests {
    use super::{Time, read};

    #[test]
    fn what_is_no_time_is_none() {
        for median in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Time::new(median, Some(1.0), Some(2.0)), None, "{median}");
        }
        let plain = Time { low: 2.0, median: 2.0, high: 2.0 };
        assert_eq!(Time::new(2.0, None, None), Some(plain));
        assert_eq!(Time::new(2.0, Some(f64::NAN), Some(1.0)), Some(plain));
    }

    #[test]
    fn what_a_device_did_is_read_as_well() {
        let line = |backend: &str| {
            format!(
                r#"{{"op":"spmv","input":"a","format":"CSR","backend":"{backend}","seconds":2.0,"q1":1.0}}"#
            )
        };
        let (_, rows) = read(&format!("{}\n{}\n", line("cuda"), line("cusparse"))).unwrap();
        let names = [rows[0].contender.as_str(), &rows[1].contender];
        assert_eq!((names, rows[0].threads), (["ust", "cusparse"], 0));
        assert_eq!(rows[0].time, Some(Time { low: 1.0, median: 2.0, high: 2.0 }));
    }

    #[test]
    fn lines_that_are_none_are_told_by_number() {
        let good = r#"{"op":"spmv","input":"a","format":"CSR","contender":"ust","median":null}"#;
        let (run, rows) = read(&format!("{{\"run\":{{\"rounds\":3}}}}\n\n{good}\n")).unwrap();
        assert_eq!((run["rounds"].as_u64(), rows.len(), rows[0].time), (Some(3), 1, None));
        for (bad, start) in [("{", "line 2: "), ("[]", "line 2: a line says"), ("{}", "line 2: a")]
        {
            let error = read(&format!("{good}\n{bad}")).unwrap_err();
            assert!(error.starts_with(start), "{error}");
        }
    }
}
