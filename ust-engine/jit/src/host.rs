//! The compiler for this machine, made once.

use std::sync::{Arc, OnceLock};

use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::settings::{self, Configurable};

use super::JitError;

/// Whether there is a compiler for this machine. Without one the interpreter runs every function.
#[must_use]
pub fn is_supported() -> bool {
    isa().is_ok()
}

/// The instruction set of this machine, with every extension that it has.
pub(super) fn isa() -> Result<Arc<dyn TargetIsa>, JitError> {
    static ISA: OnceLock<Result<Arc<dyn TargetIsa>, String>> = OnceLock::new();
    let made = ISA.get_or_init(|| make().map_err(|error| error.to_string()));
    made.clone().map_err(|reason| JitError::Unsupported { reason })
}

fn make() -> Result<Arc<dyn TargetIsa>, Box<dyn std::error::Error>> {
    let mut flags = settings::builder();
    flags.set("opt_level", "speed")?;
    flags.set("is_pic", "false")?;
    flags.set("use_colocated_libcalls", "false")?;
    flags.set("enable_probestack", "false")?;
    flags.set("unwind_info", "false")?;
    flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" })?;
    let builder = cranelift_native::builder()?;
    Ok(builder.finish(settings::Flags::new(flags))?)
}
