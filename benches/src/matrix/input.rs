//! What is computed with: generated tensors, registered here, and files.

use std::path::Path;
use std::sync::OnceLock;

use ust::advise::{Origin, catalogue, stats};
use ust::io::ReadOptions;
use ust::{Coo, Dtype, Tensor};

use crate::names::unknown;

/// A generated tensor with a name.
pub struct NamedInput {
    /// Its short name, for `--input`.
    pub name: &'static str,
    /// The generator's text.
    pub text: &'static str,
    /// Whether it is small enough for `--quick`.
    pub quick: bool,
    /// Formats that suit it, beside those that have names and those that level types offer.
    pub formats: &'static [&'static str],
}

inventory::collect!(NamedInput);

macro_rules! inputs {
    ($($quick:literal $name:literal $text:literal $([$($format:literal),*])?)*) => {$(
        inventory::submit! { NamedInput {
            name: $name, text: $text, quick: $quick, formats: &[$($($format),*)?],
        } }
    )*};
}

inputs! {
    false "st5" "poisson2d(1000)"
    false "st27" "stencil27(100)"
    false "rand16" "random(1000000x1000000, nnz=16000000, seed=1)"
    false "rand4" "random(1000000x1000000, nnz=4000000, seed=1)"
    false "graph" "rmat(scale=19, edges=8000000, seed=1)"
    false "graph16" "rmat(scale=16, edges=500000, seed=1)"
    false "band9" "banded(1000000, diagonals=9)"
    false "band24" "banded(1000000, diagonals=24)"
    false "runs8" "blocks(1000000x1000000, block=1x8, nse=24000000, seed=1)"
    false "blk4" "blocks(1000000x1000000, block=4x4, nse=16000000, seed=1)"
    false "blk16" "blocks(1000000x1000000, block=16x16, nse=16000000, seed=1)"
    false "small" "random(2000x2000, nnz=40000, seed=1)"
    false "prune90" "random(4096x4096, nnz=1677722, seed=1)"
    false "prune85" "random(4096x4096, nnz=2516582, seed=1)" ["(i, j) -> (i : dense, j : delta(4))"]
    false "prune70" "random(4096x4096, nnz=5033165, seed=1)"
    false "nm24" "pruned24(4096x4096)"
    false "image" "steps(4096x4096, run=50, seed=1)" ["(i, j) -> (i : dense, j : run_length)"]
    false "t3" "random(2000x2000x2000, nnz=10000000, seed=1)"
    true "q-st5" "poisson2d(200)"
    true "q-rand16" "random(20000x20000, nnz=320000, seed=1)"
    true "q-band24" "banded(20000, diagonals=24)"
    true "q-runs8" "blocks(20000x20000, block=1x8, nse=320000, seed=1)"
    true "q-blk4" "blocks(20000x20000, block=4x4, nse=320000, seed=1)"
    true "q-prune85" "random(512x512, nnz=39322, seed=1)" ["(i, j) -> (i : dense, j : delta(4))"]
    true "q-prune70" "random(512x512, nnz=78643, seed=1)"
    true "q-nm24" "pruned24(512x512)"
    true "q-image" "steps(512x512, run=50, seed=1)" ["(i, j) -> (i : dense, j : run_length)"]
    true "q-t3" "random(200x200x200, nnz=100000, seed=1)"
}

/// A tensor to compute with.
pub struct Input {
    /// How it is called in reports.
    pub name: String,
    /// The generator's text, or the file's path.
    pub text: String,
    /// Its entries: sorted, without duplicates, of dtype `f64`.
    pub coo: Coo,
    offered: OnceLock<Vec<String>>,
}

impl Input {
    /// The texts of formats that linked level types offer for it, and of those that it was registered with. Cost: a
    /// conversion and a look at it, once.
    pub(crate) fn offered(&self) -> &[String] {
        self.offered.get_or_init(|| {
            let looked_at = || {
                let tensor = Tensor::from_coo(&self.coo, &base_format(self.coo.shape.len()).ok()?);
                stats(&tensor.ok()?).ok()
            };
            // What cannot be stored at all fails where it is measured.
            let candidates = looked_at().map(|stats| catalogue(&stats).0).unwrap_or_default();
            let by_levels = candidates.into_iter().filter(|c| matches!(c.origin, Origin::Level(_)));
            let own = registered().into_iter().filter(|named| named.name == self.name);
            let own = own.flat_map(|named| named.formats).map(|&text| text.to_owned());
            by_levels.map(|candidate| candidate.text).chain(own).collect()
        })
    }
}

/// Every registered input, in the order of their names.
pub(crate) fn registered() -> Vec<&'static NamedInput> {
    let mut all: Vec<_> = inventory::iter::<NamedInput>().collect();
    all.sort_by_key(|n| n.name);
    all
}

/// What `--input` asks for, as name and text; without it, every registered input.
pub(crate) fn chosen(wanted: &[String], quick: bool) -> Vec<(String, String)> {
    let named = |n: &NamedInput| (n.name.to_owned(), n.text.to_owned());
    let all = registered();
    if wanted.is_empty() {
        return all.into_iter().filter(|n| n.quick == quick).map(named).collect();
    }
    let find = |text: &String| {
        let known = all.iter().find(|n| n.name == text);
        known.map_or_else(|| (text.clone(), text.clone()), |n| named(n))
    };
    wanted.iter().map(find).collect()
}

/// Generates or reads it.
pub(crate) fn load(name: &str, text: &str) -> Result<Input, Box<dyn std::error::Error>> {
    let path = Path::new(text);
    let coo = if path.exists() {
        let tensor = ust::io::read(path, &ReadOptions::default())?;
        sorted(&tensor)?
    } else if text.contains('(') {
        ust::generate::generate(text)?
    } else {
        let known = registered().into_iter().map(|input| input.name);
        let said = unknown("input", text, known);
        return Err(format!("{said} Nor is it a file, or a generator's text.").into());
    };
    let file = path.file_name().filter(|_| path.exists());
    let name = file.map_or_else(|| name.to_owned(), |file| file.to_string_lossy().into_owned());
    Ok(Input { name, text: text.to_owned(), coo, offered: OnceLock::new() })
}

fn sorted(tensor: &Tensor) -> Result<Coo, ust::Error> {
    let tree = base_format(tensor.rank())?;
    tensor.cast(Dtype::F64)?.convert(&tree)?.to_coo()
}

/// The format in which contenders that have only one get a tensor.
pub(crate) fn base_format(rank: usize) -> Result<ust::Format, ust::Error> {
    let name = match rank {
        1 => "SparseVector".to_owned(),
        2 => "CSR".to_owned(),
        _ => format!("CSF({rank})"),
    };
    Ok(name.parse()?)
}
