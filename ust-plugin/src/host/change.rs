//! Calls into a library to insert or to remove a child in place. The library works on copies of the arrays.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;

use ust_level_api::{Change, Move, Pos};

use super::door::{Answer, Level, ask};
use super::table::Fault;
use crate::abi;

/// A change, and the arrays after it.
pub(super) type Changed = (Change, Vec<Vec<i64>>);

// The pointers are to memory of this function, valid during the call, or to the level, which the library made.
impl Level {
    /// Makes a place for a child; `None` where the level cannot.
    pub(super) fn insert(
        &self,
        site: &abi::Site,
        arrays: Vec<Vec<i64>>,
        parent: Pos,
        crd: i64,
    ) -> Answer<Option<Changed>> {
        self.change(self.ty.raw.insert, site, arrays, parent, crd)
    }

    /// Removes the child at a position; `None` where the level cannot.
    pub(super) fn remove(
        &self,
        site: &abi::Site,
        arrays: Vec<Vec<i64>>,
        parent: Pos,
        pos: Pos,
    ) -> Answer<Option<Changed>> {
        self.change(self.ty.raw.remove, site, arrays, parent, pos)
    }

    fn change<T>(
        &self,
        function: Option<abi::Changes<T>>,
        site: &abi::Site,
        mut arrays: Vec<Vec<i64>>,
        parent: Pos,
        at: T,
    ) -> Answer<Option<Changed>> {
        let Some(function) = function else { return Ok(None) };
        let raw = arrays.iter_mut().map(|array| abi::ChangedArray {
            data: array.as_mut_ptr(),
            length: array.len() as u64,
        });
        let raw: Vec<abi::ChangedArray> = raw.collect();
        let longest = arrays.iter().map(Vec::len).max().unwrap_or(0);
        let most = longest.saturating_mul(4).saturating_add(64) as u64;
        let mut host = Host { arrays, most, moves: Vec::new(), fault: None };
        let mut out = abi::Change {
            host: (&raw mut host).cast(),
            resize: Some(resize),
            moved: Some(moved),
            pos: 0,
            positions: 0,
            freed: abi::Interval { lo: 0, hi: 0 },
            done: 0,
        };
        let asked = ask(|error| {
            // SAFETY: as said above.
            unsafe { function(self.raw, site, raw.as_ptr(), parent, at, &raw mut out, error) }
        });
        // A refusal of the host is the reason of what the library says afterwards.
        if let Some(fault) = host.fault {
            return Err(fault.into());
        }
        asked?;
        let abi::Change { pos, positions, freed, done, .. } = out;
        let change = Change { pos, positions, moves: host.moves, freed: freed.lo..freed.hi };
        Ok((done != 0).then_some((change, host.arrays)))
    }
}

/// What a library may ask for while it changes arrays.
struct Host {
    arrays: Vec<Vec<i64>>,
    /// The greatest length of an array.
    most: u64,
    moves: Vec<Move>,
    /// The first thing that was wrong.
    fault: Option<Fault>,
}

impl Host {
    fn resize(&mut self, number: u64, length: u64) -> Result<*mut i64, Fault> {
        let count = self.arrays.len();
        let array = usize::try_from(number).ok().and_then(|number| self.arrays.get_mut(number));
        let array =
            array.ok_or(format!("a change resizes array {number}, of {count} described"))?;
        if length > self.most {
            return Err(format!(
                "a change asks for {length} elements; at most {} are allowed",
                self.most
            ));
        }
        let more = (length as usize).saturating_sub(array.len());
        let reserved = array.try_reserve(more);
        reserved.map_err(|_| format!("there is no memory for {length} elements"))?;
        array.resize(length as usize, 0);
        Ok(array.as_mut_ptr())
    }

    fn moved(&mut self, lo: Pos, hi: Pos, to: Pos) {
        if self.moves.len() as u64 >= self.most {
            self.fault.get_or_insert_with(|| format!("a change has more than {} moves", self.most));
            return;
        }
        self.moves.push(Move { from: lo..hi, to });
    }
}

/// Gives an array another length.
unsafe extern "C" fn resize(host: *mut c_void, number: u64, length: u64) -> *mut i64 {
    // SAFETY: `host` is what the library got in the call that is under way, on one thread.
    let Some(host) = (unsafe { host.cast::<Host>().as_mut() }) else { return ptr::null_mut() };
    host.resize(number, length).unwrap_or_else(|fault| {
        host.fault.get_or_insert(fault);
        ptr::null_mut()
    })
}

/// Notes a move.
unsafe extern "C" fn moved(host: *mut c_void, lo: u64, hi: u64, to: u64) {
    // SAFETY: `host` is what the library got in the call that is under way, on one thread.
    if let Some(host) = unsafe { host.cast::<Host>().as_mut() } {
        host.moved(lo, hi, to);
    }
}
