//! What a library says of a level, checked and put into the words of the contract.

use ust_level_api::{ArraySpec, Description, LevelArgs, LocateCost, WalkKind};

use super::door::{ArrayDescribed, Described};
use super::table::Fault;
use crate::abi;
use crate::form::{Located, Walked, located, walked};
use crate::words::{self, kept};

/// The description of a level of this name, but for its walk.
pub(super) fn description(name: &'static str, said: &Described) -> Result<Description, Fault> {
    let arrays = said.arrays.iter().map(array).collect::<Result<Vec<ArraySpec>, Fault>>()?;
    let read = LevelArgs::simple(&said.text);
    if read.name != name {
        return Err(format!("its canonical text `{}` is that of `{}`", said.text, read.name));
    }
    if read.to_string() != said.text {
        return Err(format!(
            "its canonical text `{}` is no text of a level: `{read}` is",
            said.text
        ));
    }
    if let Some(twice) =
        (0..arrays.len()).find(|&at| arrays[..at].iter().any(|a| a.name == arrays[at].name))
    {
        return Err(format!("it has two arrays of the name `{}`", arrays[twice].name));
    }
    let no_bits = || format!("its properties {:#x} have bits without a meaning", said.properties);
    let props = words::props(said.properties).ok_or_else(no_bits)?;
    if props.full && !arrays.is_empty() {
        return Err("a level that is full has no arrays".to_owned());
    }
    if said.traits & !(abi::JOINS_ALIKE | abi::BATCH) != 0 {
        return Err(format!("its traits {:#x} have bits without a meaning", said.traits));
    }
    if said.traits & abi::BATCH != 0 && !props.full {
        return Err("a batch is full".to_owned());
    }
    let no_cost = || format!("{} is no cost of a search", said.locate);
    let locate = words::cost_of(said.locate).ok_or_else(no_cost)?;
    let mlir = if said.mlir.is_empty() { said.text.clone() } else { said.mlir.clone() };
    let walk = WalkKind::Coordinate;
    Ok(Description { name, text: said.text.clone(), mlir, props, arrays, walk, locate })
}

fn array(said: &ArrayDescribed) -> Result<ArraySpec, Fault> {
    let ArrayDescribed { name, length, spec } = said;
    if !is_word(name) {
        return Err(format!("`{name}` is no name of an array: letters, digits and `_`"));
    }
    let wrong = |what: &str, number: u32| format!("array `{name}`: {number} is no {what}");
    let role = words::role_of(spec.role, spec.kind);
    let role = role.ok_or_else(|| wrong("role with a kind", spec.role))?;
    let per = words::per_of(spec.per, kept(length));
    let per = per.ok_or_else(|| wrong("rule for its length", spec.per))?;
    let min_bits = match spec.min_bits {
        0 => 8,
        bits @ (2 | 8 | 16 | 32 | 64) => bits,
        bits => return Err(wrong("least number of bits: 8, or more, or 2", bits)),
    };
    Ok(ArraySpec { name: kept(name), role, per, min_bits })
}

fn is_word(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The walk of a level, which adds its kind to the description.
pub(super) fn walk(text: &str, level: &mut Description) -> Result<Walked, Fault> {
    let walk =
        walked(text, &level.arrays).map_err(|error| format!("the text of its walk: {error}"))?;
    level.walk = walk.kind;
    Ok(walk)
}

/// The search of a level, if it has one.
pub(super) fn search(text: &str, level: &Description) -> Result<Option<Located>, Fault> {
    match (text.is_empty(), level.locate) {
        (true, LocateCost::None) => Ok(None),
        (true, _) => Err("its description has a cost of a search, and it has no search".to_owned()),
        (false, LocateCost::None) => {
            Err("it has a search, and its description says that only walking finds a coordinate"
                .to_owned())
        }
        (false, _) => {
            let found = located(text, &level.arrays);
            found.map(Some).map_err(|error| format!("the text of its search: {error}"))
        }
    }
}
