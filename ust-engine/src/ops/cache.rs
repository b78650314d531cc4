//! Compiled kernels, shared by the whole process, and bounded in number.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use ust_level_api::{Dtype, IndexKind};

use super::einsum::Settings;
use crate::format::Format;
use crate::plan::execute::Prepared;
use crate::provider::Backend;
use crate::tensor::Tensor;

/// Kernels kept at most; the one that was not used for longest goes first.
pub const CAPACITY: usize = 256;

/// What a kernel is compiled for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    text: String,
    /// Semiring, dtype, extents and operators, where any are asked for.
    check: Option<String>,
    format: Option<String>,
    resolved: Option<Format>,
    backend: Backend,
    strict: bool,
    args: Vec<(String, Signature)>,
    old: Option<Signature>,
}

/// What of a tensor a kernel is compiled for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Signature {
    pub(crate) format: Format,
    pub(crate) dtype: Dtype,
    /// The bits of the fill value.
    pub(crate) fill: [u8; 16],
    pub(crate) kinds: Vec<IndexKind>,
    pub(crate) whole: bool,
    /// A coarse class of how much is stored: plans depend on it.
    pub(crate) class: u32,
}

impl Key {
    pub(crate) fn new(
        text: &str,
        args: &[(String, Tensor)],
        settings: &Settings,
        old: Option<&Tensor>,
    ) -> Self {
        let check = &settings.check;
        let plain = check.semiring.is_none()
            && check.dtype.is_none()
            && check.extents.is_empty()
            && check.operators.is_empty();
        Self {
            text: text.to_owned(),
            check: (!plain).then(|| format!("{check:?}")),
            format: settings.format.clone(),
            resolved: settings.resolved.clone(),
            backend: settings.backend,
            strict: settings.strict,
            args: args.iter().map(|(name, t)| (name.clone(), Signature::of(t))).collect(),
            old: old.map(Signature::of),
        }
    }
}

struct Cached {
    prepared: Arc<Prepared>,
    used: u64,
}

#[derive(Default)]
struct Cache {
    kernels: HashMap<Key, Cached>,
    clock: u64,
}

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);

pub(crate) fn get(key: &Key) -> Option<Arc<Prepared>> {
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    cache.clock += 1;
    let clock = cache.clock;
    let cached = cache.kernels.get_mut(key)?;
    cached.used = clock;
    Some(Arc::clone(&cached.prepared))
}

pub(crate) fn put(key: Key, prepared: Arc<Prepared>) {
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    cache.clock += 1;
    let used = cache.clock;
    if cache.kernels.len() >= CAPACITY && !cache.kernels.contains_key(&key) {
        let oldest = cache.kernels.iter().min_by_key(|(_, cached)| cached.used);
        if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
            cache.kernels.remove(&oldest);
        }
    }
    cache.kernels.insert(key, Cached { prepared, used });
}

/// Forgets every kernel, for measurements of the first call.
pub fn clear() {
    CACHE.lock().unwrap_or_else(PoisonError::into_inner).kernels.clear();
}
