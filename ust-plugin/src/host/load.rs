//! A library is opened, and its level types are registered.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ust_level_api::registry::{Source, register};
use ust_level_api::{Alias, LevelArgs, LevelError, LevelFactory, LevelType, inventory};

use super::level::Plugged;
use super::table::{self, Type};
use crate::error::PluginError;
use crate::words::kept;

inventory::submit! {
    Source("If a shared library has it, load that: `ust --plugin LIBRARY`, or `ust::plugin::load`")
}

/// The tables that were read, and the names of their level types.
static LOADED: Mutex<Vec<(usize, Vec<&'static str>)>> = Mutex::new(Vec::new());

/// Opens a shared library, and registers its level types: every format text may then use their names, until the
/// program ends. Gives these names. A library that is loaded already gives them again.
///
/// A file name without a folder is looked for as the system does it, on Linux in `LD_LIBRARY_PATH`; write `./` before
/// one in the present folder.
///
/// # Trust
///
/// A library is code, and has all rights of the program. Load those that you would run. What it says about
/// levels is checked, and so are the arrays that it makes, so that a mistake becomes an error; nothing can check what
/// it does to memory that is not its own.
///
/// # Errors
/// [`PluginError`]: the file is missing or no library, it speaks another version of the ABI, something in its table
/// is null or no text, a level type does not make one of its samples, or a name is taken.
pub fn load(path: impl AsRef<Path>) -> Result<Vec<&'static str>, PluginError> {
    let path = path.as_ref();
    // One library after another: names are compared with those that are registered.
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let (table, types) = table::open(path)?;
    if let Some((_, names)) = loaded.iter().find(|(known, _)| *known == table) {
        return Ok(names.clone());
    }
    for ty in &types {
        try_samples(path, ty)?;
    }
    let factories: Vec<LevelFactory> = types.into_iter().map(factory).collect();
    let names: Vec<&'static str> = factories.iter().map(|factory| factory.name).collect();
    let registered = register(factories);
    registered.map_err(|source| PluginError::Register { path: path.to_owned(), source })?;
    loaded.push((table, names.clone()));
    Ok(names)
}

/// Makes each sample of a level type, so that one that cannot be used is not registered.
fn try_samples(path: &Path, ty: &Type) -> Result<(), PluginError> {
    if ty.samples.is_empty() {
        return Err(PluginError::Malformed {
            path: path.to_owned(),
            of: format!("level type `{}`", ty.name),
            fault: "it has no samples".to_owned(),
        });
    }
    for sample in &ty.samples {
        try_sample(ty, sample).map_err(|source| PluginError::Level {
            path: path.to_owned(),
            level: ty.name.clone(),
            sample: sample.clone(),
            source,
        })?;
    }
    Ok(())
}

fn try_sample(ty: &Type, sample: &str) -> Result<(), LevelError> {
    let name = kept(&ty.name);
    let fails = |fault| Err(LevelError::Defective { level: ty.name.clone(), fault });
    let args = LevelArgs::simple(sample);
    if args.name != name {
        return fails(format!("the sample is one of `{}`", args.name));
    }
    let made = Plugged::make(ty, name, &args)?.describe();
    let again = Plugged::make(ty, name, &LevelArgs::simple(&made.text))?.describe();
    match again == made {
        true => Ok(()),
        false => fails(format!("its canonical text `{}` makes another level", made.text)),
    }
}

fn factory(ty: Type) -> LevelFactory {
    let name = kept(&ty.name);
    let aliases = ty.aliases.iter().map(|(name, with)| {
        let with = (!with.is_empty()).then(|| kept(with));
        Alias { name: kept(name), with }
    });
    let aliases: Vec<Alias> = aliases.collect();
    let samples: Vec<&str> = ty.samples.iter().map(|sample| kept(sample)).collect();
    let summary = kept(&ty.summary);
    let make = move |args: &LevelArgs| -> Result<Box<dyn LevelType>, LevelError> {
        Ok(Box::new(Plugged::make(&ty, name, args)?))
    };
    // What is registered stays for ever.
    LevelFactory {
        name,
        aliases: aliases.leak(),
        summary,
        make: Box::leak(Box::new(make)),
        samples: samples.leak(),
    }
}
