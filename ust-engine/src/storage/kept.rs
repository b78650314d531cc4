//! Places where things are kept that were made of a tensor's data.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::tuning::KEPT_BYTES;

/// A place for what was made of some data, such as their copy in the memory of a device: at most one object of
/// each type. It goes with the data: clones of a tensor share it, it is dropped with the last of them, and a
/// tensor whose data are changed gets a new one.
#[derive(Default)]
pub struct Kept {
    id: OnceLock<u64>,
    made: Mutex<Vec<Made>>,
}

struct Made {
    of: TypeId,
    object: Arc<dyn Any + Send + Sync>,
    bytes: u64,
}

/// Bytes of all objects that are kept.
static ALL: AtomicU64 = AtomicU64::new(0);

impl Kept {
    /// A number that no other data have, and had, in this process.
    #[must_use]
    pub fn id(&self) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        *self.id.get_or_init(|| NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// The object of a type that was kept here.
    #[must_use]
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let found = made.iter().find(|made| made.of == TypeId::of::<T>())?;
        Arc::downcast(Arc::clone(&found.object)).ok()
    }

    /// Keeps an object, in place of an earlier one of its type. `bytes` is the memory of this process that it
    /// takes. Returns false if there is no room: all that is kept in this process may take `KEPT_BYTES` together, 4 GiB.
    pub fn keep<T: Any + Send + Sync>(&self, object: Arc<T>, bytes: u64) -> bool {
        let room = |all: u64| all.checked_add(bytes).filter(|&all| all <= KEPT_BYTES);
        if ALL.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_err() {
            return false;
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let of = TypeId::of::<T>();
        if let Some(at) = made.iter().position(|made| made.of == of) {
            made.swap_remove(at);
        }
        made.push(Made { of, object, bytes });
        true
    }

    /// Bytes of what is kept here.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.iter().map(|made| made.bytes).sum()
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        ALL.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kept({} bytes)", self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_of_each_type_is_kept_as_long_as_the_place() {
        let kept = Kept::default();
        let number = Arc::new(7_u32);
        assert!(kept.get::<u32>().is_none());
        assert!(kept.keep(Arc::clone(&number), 4) && kept.keep(Arc::new("text"), 10));
        assert_eq!((kept.get::<u32>().as_deref(), kept.bytes()), (Some(&7), 14));
        assert!(kept.keep(Arc::new(8_u32), 6));
        assert_eq!((kept.get::<u32>().as_deref(), kept.bytes()), (Some(&8), 16));
        assert_eq!(Arc::strong_count(&number), 1);
        drop(kept);
    }

    #[test]
    fn what_is_too_large_is_not_kept() {
        let kept = Kept::default();
        assert!(!kept.keep(Arc::new(1_u8), KEPT_BYTES + 1));
        assert!(kept.get::<u8>().is_none() && kept.bytes() == 0);
    }

    #[test]
    fn places_have_numbers_of_their_own() {
        let [a, b] = [Kept::default(), Kept::default()];
        assert!(a.id() != b.id() && a.id() == a.id());
    }
}
