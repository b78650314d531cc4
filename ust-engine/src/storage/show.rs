//! `Debug` and `Display` of a tensor.

use std::fmt;

use ust_level_api::IndexArray;

use super::Tensor;
use super::view::Window;

/// Elements of an array that are shown; a longer array is shown with a gap.
const SHOWN: usize = 12;

impl fmt::Debug for Tensor {
    /// One line: format, shape, dtype, sizes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("format", &self.format().to_string())
            .field("shape", &self.shape())
            .field("dtype", &self.dtype().name())
            .field("nse", &self.nse())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Tensor {
    /// A heading, then the arrays of each level and the values, long ones with a gap.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape: Vec<String> = self.shape().iter().map(ToString::to_string).collect();
        let shape = if shape.is_empty() { "scalar".to_owned() } else { shape.join("x") };
        writeln!(f, "{}", self.format())?;
        let whole = if self.view.shows_all() { "" } else { " in the whole" };
        write!(f, "{shape} {}, {} stored{whole}", self.dtype(), self.nse())?;
        if !self.fill.same(&self.dtype().zero()) {
            write!(f, ", fill {}", self.fill)?;
        }
        if !self.view.shows_all() {
            let names = self.format().axis_names();
            let each = names.iter().zip(self.view.get()).zip(self.bound.shape());
            let part = |((name, window), extent): ((&String, &Window), &usize)| {
                let end = window.offset + window.size.saturating_sub(1) * window.stride;
                let end = if window.size == 0 { window.offset } else { end + 1 };
                let step =
                    if window.stride == 1 { String::new() } else { format!(";{}", window.stride) };
                format!("{name} {}..{end}{step} of {extent}", window.offset)
            };
            let parts = each.map(part).collect::<Vec<_>>().join(", ");
            write!(f, "\nslice    {parts}; the arrays are those of the whole")?;
        }
        for (dim, order) in self.view.orders() {
            let name = &self.format().dims()[dim].name;
            write!(f, "\nsorted {name}\n  {:<7}{}", "order", indices(order.coordinates()))?;
        }
        for (level, arrays) in self.levels().iter().enumerate() {
            write!(f, "\nlevel {level}  {}", self.format().level_text(level))?;
            let specs = &self.format().descriptions()[level].arrays;
            for (spec, array) in specs.iter().zip(&arrays.0) {
                write!(f, "\n  {:<7}{}", spec.name, indices(array))?;
            }
        }
        if let Some(value) = self.iso_value() {
            return write!(f, "\nvalues   [{value}] for all {}", self.nse());
        }
        let values = preview(self.nse(), |at| {
            self.values.get(at).map_or_else(String::new, |v| v.to_string())
        });
        write!(f, "\nvalues   {values}")
    }
}

fn indices(array: &IndexArray) -> String {
    preview(array.len(), |at| array.get(at).map_or_else(|| "?".to_owned(), |v| v.to_string()))
}

fn preview(len: usize, show: impl Fn(usize) -> String) -> String {
    let list = |range: std::ops::Range<usize>| range.map(&show).collect::<Vec<_>>().join(" ");
    if len <= SHOWN {
        return format!("[{}]", list(0..len));
    }
    format!("[{} ... {}] ({len})", list(0..SHOWN - 3), list(len - 2..len))
}
