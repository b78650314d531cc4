//! Compiled kernels, shared by the whole process, and bounded in number.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use ust_format::{Format, Given};
use ust_level_api::ir::process::Guarded;
use ust_level_api::{Dtype, IndexKind};

use super::builder::Settings;
use crate::plan::execute::Prepared;
use crate::plan::execute::aligned::is_same;
use crate::provider::Backend;
use crate::storage::Tensor;

/// Kernels that are kept, at most; the least recently used is dropped first.
pub const CAPACITY: usize = 256;

/// What becomes of the result of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// It is assigned, or combined with the old value as the expression says.
    Whole,
    /// It is added to the results for other parts of composed operands.
    Added {
        /// Whether the loops do that, if they can.
        onto: bool,
    },
    /// It is computed in the positions of a tensor.
    Aligned,
}

/// The key of a kernel: the expression, its options, and the formats of its operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    text: String,
    /// Semiring, dtype, extents and operators as text, if the caller names any.
    check: Option<String>,
    format: Option<Given<'static>>,
    backend: Backend,
    strict: bool,
    /// The power of two of a memory limit that the caller gives: plans may take half of it for indices.
    limit: Option<u32>,
    args: Vec<(String, Signature)>,
    /// The old value, or the tensor in whose positions the result is computed.
    old: Option<Signature>,
    /// The number of the argument that this tensor is, if it is one.
    same: Option<usize>,
    role: Role,
}

/// The properties of a tensor that a kernel depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Signature {
    pub(crate) format: Format,
    pub(crate) dtype: Dtype,
    /// The bits of the fill value.
    pub(crate) fill: [u8; 16],
    pub(crate) kinds: Vec<IndexKind>,
    pub(crate) whole: bool,
    pub(crate) iso: bool,
    /// What providers that run elsewhere distinguish, if one of them may be chosen.
    pub(crate) states: u64,
    /// A coarse class of the number of stored elements and of the longest dimension, on which plans depend.
    pub(crate) class: u32,
}

impl Key {
    pub(crate) fn new(
        text: &str,
        args: &[(String, Tensor)],
        settings: &Settings,
        old: Option<&Tensor>,
        role: Role,
    ) -> Self {
        let check = &settings.check;
        let plain = check.semiring.is_none()
            && check.dtype.is_none()
            && check.extents.is_empty()
            && check.operators.is_empty();
        let signature = |tensor: &Tensor| Signature::of(tensor, settings.backend);
        Self {
            text: text.to_owned(),
            check: (!plain).then(|| format!("{check:?}")),
            format: settings.format.clone(),
            limit: settings.limit.map(|bytes| bytes.checked_ilog2().unwrap_or(0)),
            backend: settings.backend,
            strict: settings.strict,
            args: args.iter().map(|(name, t)| (name.clone(), signature(t))).collect(),
            old: old.map(signature),
            same: old.and_then(|old| args.iter().position(|(_, tensor)| is_same(tensor, old))),
            role,
        }
    }
}

/// A kernel keeps what follows from the shapes of its last run behind locks of its own, which a thread may hold while
/// another one forks: a child begins without kernels.
static KERNELS: Guarded<LruCache<Key, Arc<Prepared>>> = Guarded::apart(|| {
    let capacity = NonZeroUsize::new(CAPACITY).expect("a positive number");
    LruCache::new(capacity)
});

pub(crate) fn get(key: &Key) -> Option<Arc<Prepared>> {
    KERNELS.lock().get(key).cloned()
}

pub(crate) fn put(key: Key, prepared: Arc<Prepared>) {
    KERNELS.lock().put(key, prepared);
}

/// Drops every kernel, also those of conversions, for measurements of first calls.
pub fn clear() {
    KERNELS.lock().clear();
    crate::walk::native::forget();
}
