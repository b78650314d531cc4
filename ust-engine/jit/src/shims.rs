//! Functions that machine code calls: growth and sorting of arrays.

use ust_ir::interp::Memory;

/// The context of a shim, to which a word of the table points.
#[repr(C)]
pub(super) struct Context {
    /// The memory of the run, one for each array.
    pub(super) memory: *mut Memory<'static>,
    /// Address and length of each array, in the table that machine code reads.
    pub(super) places: *mut [u64; 2],
}

/// Makes an array at least `len` long and updates its address and length. Returns 0 if there is no memory.
///
/// # Safety
/// `context` is that of the run that makes the call; its array number `array` is bound to
/// [`Memory::Grow`].
pub(super) unsafe extern "C" fn reserve(context: *const Context, array: u64, len: i64) -> u64 {
    // SAFETY: the caller gives the context of its run, which outlives it, and the run holds no
    // reference to the memory while machine code runs.
    let (memory, place) = unsafe {
        let context = &*context;
        (&mut *context.memory.add(array as usize), &mut *context.places.add(array as usize))
    };
    let Memory::Grow(grows) = memory else { return 0 };
    if let Ok(len) = usize::try_from(len)
        && !grows.reserve(len)
    {
        return 0;
    }
    *place = [grows.as_mut_ptr() as u64, grows.len() as u64];
    1
}

/// Sorts `len` indices.
///
/// # Safety
/// `start` points to `len` indices that no other code accesses meanwhile.
pub(super) unsafe extern "C" fn sort(start: *mut i64, len: u64) {
    // SAFETY: as the caller promises.
    ust_kernels::moving::few::sort_few(unsafe {
        std::slice::from_raw_parts_mut(start, len as usize)
    });
}
