//! `ust info --gpu`: the GPUs of this machine.

use crate::failure::Failure;
use crate::output::Output;

#[cfg(feature = "gpu")]
pub(super) fn run(json: bool, out: &mut Output) -> Result<(), Failure> {
    let machine = ust::gpu::Machine::look();
    if json { out.json(&told::object(&machine)) } else { told::write(&machine, out) }
}

#[cfg(not(feature = "gpu"))]
pub(super) fn run(json: bool, out: &mut Output) -> Result<(), Failure> {
    use std::io::Write;
    let missing = format!("code for GPUs in this program: {}", crate::failure::NO_GPU);
    match json {
        true => out.json(&serde_json::json!({ "devices": [], "missing": missing })),
        false => Ok(writeln!(out, "missing   {missing}")?),
    }
}

#[cfg(feature = "gpu")]
mod told {
    use std::fmt::Display;
    use std::io::Write;

    use serde_json::{Map, Value, json};
    use ust::gpu::cuda::Info;
    use ust::gpu::{Library, Machine};

    use crate::failure::Failure;
    use crate::output::Output;
    use crate::text;

    fn version((major, minor): (u32, u32)) -> String {
        format!("{major}.{minor}")
    }

    /// A library in a few words, or why there is none.
    fn library(found: &Result<Library, impl Display>) -> String {
        match found {
            Err(_) => "none".to_owned(),
            Ok(Library { version: found, file: Some(file), .. }) => {
                format!("{}, {}", version(*found), file.display())
            }
            Ok(library) => version(library.version),
        }
    }

    pub(super) fn write(machine: &Machine, out: &mut Output) -> Result<(), Failure> {
        let mut rows: Vec<[String; 2]> = machine.devices.iter().map(device).collect();
        if rows.is_empty() {
            rows.push(["devices", "none"].map(str::to_owned));
        }
        rows.push(["driver".to_owned(), library(&machine.driver)]);
        rows.push(["NVRTC".to_owned(), library(&machine.compiler)]);
        for (name, found) in &machine.products {
            rows.push([(*name).to_owned(), library(found)]);
        }
        if let Some(cache) = &machine.cache {
            let bytes = text::bytes(usize::try_from(cache.bytes).unwrap_or(usize::MAX));
            rows.push(["cache".to_owned(), format!("{bytes} in {}", cache.folder.display())]);
        }
        let missing = machine.missing();
        rows.extend(missing.map(|missing| ["missing".to_owned(), missing]));
        let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
        Ok(write!(out, "{}", text::table(&rows))?)
    }

    fn device(info: &Info) -> [String; 2] {
        let told = format!(
            "{}, compute capability {}, {}, {} multiprocessors",
            info.name,
            version(info.capability),
            text::bytes(info.memory),
            info.multiprocessors
        );
        ["device".to_owned(), told]
    }

    pub(super) fn object(machine: &Machine) -> Value {
        let devices: Vec<Value> = machine
            .devices
            .iter()
            .map(|info| {
                json!({
                    "name": info.name, "compute_capability": version(info.capability),
                    "memory": info.memory, "multiprocessors": info.multiprocessors,
                })
            })
            .collect();
        let library = |found: Option<&Library>| {
            found.map(
                |library| json!({ "version": version(library.version), "library": library.file }),
            )
        };
        let products: Map<String, Value> = machine
            .products
            .iter()
            .map(|(name, found)| ((*name).to_owned(), json!(library(found.as_ref().ok()))))
            .collect();
        json!({
            "devices": devices,
            "missing": machine.missing(),
            "driver": library(machine.driver.as_ref().ok()),
            "compiler": library(machine.compiler.as_ref().ok()),
            "products": products,
            "cache": machine.cache.as_ref().map(|cache| {
                json!({ "folder": cache.folder, "bytes": cache.bytes })
            }),
        })
    }
}
