//! Copies of tensors in a device's memory, kept with the tensors. Where room is short, those that were not used for
//! the longest time go.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use ust_cuda::{CudaError, Device};
use ust_engine::tensor::Kept;

use crate::tuning::KEPT_SHARE;

/// Something in a device's memory.
pub(crate) trait There: Any + Send + Sync {
    /// The device.
    fn device(&self) -> Option<&Device>;
    /// Its bytes.
    fn bytes(&self) -> u64;
    /// Whether others have its memory, too, such as arrays that nobody has looked at yet.
    fn is_shared(&self) -> bool;
}

/// A place for a copy, which may be given up.
struct Slot<T> {
    held: Mutex<Option<Arc<T>>>,
    used: AtomicU64,
}

trait Evict: Send + Sync {
    /// When it was used last.
    fn used(&self) -> u64;
    /// Bytes of the copy, unless somebody else uses it.
    fn idle_bytes(&self) -> u64;
    /// Gives the copy up, unless somebody else uses it.
    fn evict(&self);
    /// Bytes of the copy.
    fn bytes(&self) -> u64;
}

impl<T> Slot<T> {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<T>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether nobody uses a copy: its memory is freed when it is given up.
fn is_idle<T: There>(held: &Arc<T>) -> bool {
    Arc::strong_count(held) == 1 && !held.is_shared()
}

impl<T: There> Evict for Slot<T> {
    fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn idle_bytes(&self) -> u64 {
        let held = self.lock();
        held.iter().filter(|held| is_idle(held)).map(|held| held.bytes()).sum()
    }

    fn evict(&self) {
        let mut held = self.lock();
        if held.as_ref().is_some_and(is_idle) {
            *held = None;
        }
    }

    fn bytes(&self) -> u64 {
        self.lock().iter().map(|held| held.bytes()).sum()
    }
}

static SLOTS: Mutex<Vec<Weak<dyn Evict>>> = Mutex::new(Vec::new());

/// All places of which the tensors still live, those first that were not used for the longest time.
fn slots() -> Vec<Arc<dyn Evict>> {
    let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
    slots.retain(|slot| slot.strong_count() > 0);
    let mut living: Vec<Arc<dyn Evict>> = slots.iter().filter_map(Weak::upgrade).collect();
    drop(slots);
    living.sort_by_key(|slot| slot.used());
    living
}

/// Bytes of all copies that are kept.
pub(crate) fn bytes() -> u64 {
    slots().iter().map(|slot| slot.bytes()).sum()
}

/// Gives up copies that nobody uses, until there are `bytes` bytes less of them. Returns whether it gave up any.
fn give_up(bytes: u64) -> bool {
    let mut left = bytes;
    for slot in slots() {
        if left == 0 {
            break;
        }
        let idle = slot.idle_bytes();
        slot.evict();
        left = left.saturating_sub(idle);
    }
    left < bytes
}

/// Does something that needs room in a device's memory. Copies that nobody uses are given up if there is none.
pub(crate) fn with_room<T>(mut work: impl FnMut() -> Result<T, CudaError>) -> Result<T, CudaError> {
    match work() {
        Err(CudaError::OutOfMemory { .. }) if give_up(u64::MAX) => work(),
        result => result,
    }
}

/// What is kept in a place, for a device.
pub(crate) fn get<T: There>(kept: &Kept, device: &Device) -> Option<Arc<T>> {
    let slot = kept.get::<Slot<T>>()?;
    let found = slot.lock().clone().filter(|there| there.device().is_none_or(|of| of == device))?;
    slot.used.store(now(), Ordering::Relaxed);
    Some(found)
}

/// Whether something is kept in a place, for a device. It does not count as a use.
pub(crate) fn has<T: There>(kept: &Kept, device: &Device) -> bool {
    let is_there = |there: &Arc<T>| there.device().is_none_or(|of| of == device);
    kept.get::<Slot<T>>().is_some_and(|slot| slot.lock().as_ref().is_some_and(is_there))
}

/// Keeps something in a place. Beyond a share of the device's memory, others are given up.
pub(crate) fn keep<T: There>(kept: &Kept, there: &Arc<T>, device: &Device) {
    let most = (device.info().memory as f64 * KEPT_SHARE) as u64;
    let all = bytes().saturating_add(there.bytes());
    if all > most {
        give_up(all - most);
    }
    let held = Mutex::new(Some(Arc::clone(there)));
    let slot = Arc::new(Slot { held, used: AtomicU64::new(now()) });
    if kept.keep(Arc::clone(&slot), 0) {
        let weak: Weak<dyn Evict> = Arc::downgrade(&(slot as Arc<dyn Evict>));
        SLOTS.lock().unwrap_or_else(PoisonError::into_inner).push(weak);
    }
}

/// A number that is larger each time.
fn now() -> u64 {
    static TIME: AtomicU64 = AtomicU64::new(0);
    TIME.fetch_add(1, Ordering::Relaxed)
}
