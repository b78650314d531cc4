//! The formats that compete.
//!
//! Two sources: the table of named formats, with block sizes in place of parameters, and the level
//! types that are linked, each of which may offer formats for what it is told about the tensor
//! ([`LevelType::candidates`]). Each competes with narrow widths, too, where they fit.
//!
//! [`LevelType::candidates`]: ust_level_api::LevelType::candidates

use ust_engine::tensor::order_kind;
use ust_format::named::{NamedFormat, named};
use ust_format::{Bound, Format};
use ust_level_api::registry::{LevelArgs, factories, make};
use ust_level_api::stats::TensorStats;

use super::predict::Sizes;
use super::stats::BLOCKS;

/// Rows that are sorted together: many, so that rows of a slice have about the same length (a graph has few long rows),
/// and few enough that their elements of the result stay in cache.
const WINDOW: usize = 1 << 20;

/// A format that competes.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its name, or text: what to write after `--format`.
    pub text: String,
    /// The format.
    pub format: Format,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether most libraries have it: a [usual](NamedFormat::usual) format, in widths that nobody chose.
    pub usual: bool,
}

/// Where a candidate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The tensor is stored in it.
    Now,
    /// The table of named formats.
    Named,
    /// The level type of this name offered it.
    Level(&'static str),
}

/// A format that does not compete, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name, or text.
    pub text: String,
    /// Why.
    pub reason: String,
}

/// Every format that a tensor which looks like this might be stored in, each once, and those that
/// level types offered but that make no sense for it.
///
/// ```
/// use ust::{Tensor, advise};
///
/// let a = Tensor::from_coo(&ust::generate::generate("pruned24(8x8)")?, "CSR")?;
/// let (candidates, left_out) = advise::catalogue(&advise::stats(&a)?);
/// let texts: Vec<&str> = candidates.iter().map(|candidate| &*candidate.text).collect();
/// for text in ["CSR", "DIA-I", "BSR(4, 4)", "Dense"] {
///     assert!(texts.contains(&text), "{texts:?}");
/// }
/// assert!(texts.iter().any(|text| text.contains("block2_4")) && left_out.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn catalogue(stats: &TensorStats) -> (Vec<Candidate>, Vec<LeftOut>) {
    let rank = stats.shape.len();
    let mut all: Vec<Candidate> = Vec::new();
    let mut left_out = Vec::new();
    let mut add = |text: String, origin: Origin, usual: bool| {
        let bound = |format: Format| format.bind(&stats.shape).map(|_| format);
        match Format::resolve(&text, Some(rank)).and_then(bound) {
            Ok(format) if all.iter().any(|known| known.format == format) => {}
            Ok(format) => all.push(Candidate { text, format, origin, usual }),
            // A named format is for tensors of another rank or shape.
            Err(_) if origin == Origin::Named => {}
            Err(error) => left_out.push(LeftOut { text, reason: error.message().to_owned() }),
        }
    };
    for entry in named() {
        texts(entry).into_iter().for_each(|text| add(text, Origin::Named, entry.usual));
    }
    for factory in factories() {
        for sample in factory.samples {
            // Level types whose own samples cannot be made are for their tests to complain about.
            let Ok(level) = make(&LevelArgs::simple(sample)) else { continue };
            let offered = level.candidates(stats).into_iter();
            offered.for_each(|text| add(text, Origin::Level(factory.name), false));
        }
    }
    (all, left_out)
}

/// The instances of a named format: a family's own, or one for each size of blocks.
fn texts(entry: &NamedFormat) -> Vec<String> {
    let of_blocks = |p: &&str| {
        entry.text.contains(&format!("/ {p} ")) && entry.text.contains(&format!("% {p} "))
    };
    let with = |numbers: &[usize]| {
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        format!("{}({})", entry.name, numbers.join(", "))
    };
    match entry.parameters {
        // A family over the order takes that of the tensor.
        [] | ["d"] => vec![entry.name.to_owned()],
        [rows, window] if of_blocks(rows) && entry.text.contains(&format!("sorted({window})")) => {
            [8, 32].iter().map(|&rows| with(&[rows, WINDOW])).collect()
        }
        // Other parameters than extents of blocks are for a level type to choose.
        parameters if !parameters.iter().all(of_blocks) => Vec::new(),
        [_, _] => BLOCKS.iter().map(|&(m, n)| with(&[m, n])).collect(),
        [_] => [2, 4, 8, 16].iter().map(|&m| with(&[m])).collect(),
        parameters => [2, 4].iter().map(|&m| with(&vec![m; parameters.len()])).collect(),
    }
}

/// The candidate with the narrowest widths that hold the tensor, where they are narrower than those
/// it has: coordinates alone, and positions as well.
pub(super) fn narrowed(candidate: &Candidate, bound: &Bound, sizes: &Sizes) -> Vec<Candidate> {
    let format = &candidate.format;
    if (format.pos_width(), format.crd_width()) != (0, 0) {
        return Vec::new();
    }
    let crd = sizes.levels.iter().filter(|level| level.crd_bits.is_some()).map(|level| {
        let (lower, size) = (level.site.lower, level.site.size);
        let holds = |bits: u32| {
            let half = i128::from(1_u64 << (bits - 1));
            let (low, high) = if lower < 0 { (-half, half) } else { (0, 2 * half) };
            i128::from(lower) >= low && i128::from(lower) + i128::from(size) <= high
        };
        let least = level.crd_bits.unwrap_or(8).max(if lower < 0 { 8 } else { 2 });
        [2, 8, 16].into_iter().find(|&bits| bits >= least && holds(bits)).unwrap_or(0)
    });
    // The widest that one of them needs; 0, the default, is the widest of all.
    let crd = crd.reduce(|a, b| if a.min(b) == 0 { 0 } else { a.max(b) }).unwrap_or(0);
    let most = sizes.levels.iter().filter(|level| level.has_pos).map(|level| level.positions);
    // Some room: positions are estimated.
    let pos = match most.reduce(f64::max).map(|most| most * 1.05) {
        Some(most) if most <= 255.0 => 8,
        Some(most) if most <= 65535.0 => 16,
        _ => 0,
    };
    let mut widths = vec![(0, crd), (pos, 0), (pos, crd)];
    widths.retain(|&widths| widths != (0, 0));
    widths.dedup();
    if pos > 0 && crd > 0 {
        widths.remove(1);
    }
    let with = |(pos, crd): (u32, u32)| {
        let format = format.with_widths(pos, crd).ok()?;
        format.bind(bound.shape()).ok()?;
        let mut dims = format.dims().iter().zip(bound.shape());
        let holds = dims
            .all(|(dim, &extent)| dim.sorted.is_none() || order_kind(&format, extent).is_some());
        let mut text = candidate.text.clone();
        for (name, bits) in [("posWidth", pos), ("crdWidth", crd)] {
            if bits > 0 {
                text += &format!(", {name} = {bits}");
            }
        }
        let origin = match &candidate.origin {
            Origin::Now => Origin::Named,
            other => other.clone(),
        };
        holds.then_some(Candidate { text, format, origin, usual: false })
    };
    widths.into_iter().filter_map(with).collect()
}
