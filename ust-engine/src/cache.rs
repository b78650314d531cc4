//! What was made once and is made use of again: shared by the whole process, bounded in number.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{LazyLock, Mutex};

use crate::pool::locked;

/// A table of at most so many entries; the one that was not used for longest goes first. Free to be
/// used on several threads at once.
pub(crate) struct Cache<K, V> {
    capacity: usize,
    entries: LazyLock<Mutex<Entries<K, V>>>,
}

struct Entries<K, V> {
    kept: HashMap<K, Entry<V>>,
    /// Counts what is asked and stored.
    clock: u64,
}

struct Entry<V> {
    value: V,
    used: u64,
}

impl<K, V> Default for Entries<K, V> {
    fn default() -> Self {
        Self { kept: HashMap::new(), clock: 0 }
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Cache<K, V> {
    pub(crate) const fn new(capacity: usize) -> Self {
        Self { capacity, entries: LazyLock::new(Mutex::default) }
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let mut entries = locked(&self.entries);
        entries.clock += 1;
        let clock = entries.clock;
        let entry = entries.kept.get_mut(key)?;
        entry.used = clock;
        Some(entry.value.clone())
    }

    pub(crate) fn put(&self, key: K, value: V) {
        let mut entries = locked(&self.entries);
        entries.clock += 1;
        let used = entries.clock;
        if entries.kept.len() >= self.capacity && !entries.kept.contains_key(&key) {
            let oldest = entries.kept.iter().min_by_key(|(_, entry)| entry.used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                entries.kept.remove(&oldest);
            }
        }
        entries.kept.insert(key, Entry { value, used });
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        locked(&self.entries).kept.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        static SQUARES: Cache<u32, u32> = Cache::new(2);
        SQUARES.put(2, 4);
        SQUARES.put(3, 9);
        assert_eq!(SQUARES.get(&2), Some(4));
        SQUARES.put(4, 16);
        assert_eq!([SQUARES.get(&2), SQUARES.get(&3), SQUARES.get(&4)], [Some(4), None, Some(16)]);
        // Something that is there already takes nobody's place.
        SQUARES.put(4, 17);
        assert_eq!([SQUARES.get(&2), SQUARES.get(&4)], [Some(4), Some(17)]);
        SQUARES.clear();
        assert_eq!(SQUARES.get(&2), None);
    }
}
