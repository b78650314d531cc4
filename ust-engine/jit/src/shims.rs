//! What machine code calls back: growth and sorting.

use ust_ir::interp::Memory;

/// What a shim finds behind the first word of the table.
#[repr(C)]
pub(super) struct Context {
    /// The memory of the run, one for each array.
    pub(super) memory: *mut Memory<'static>,
    /// Address and length of each array, as machine code sees them.
    pub(super) places: *mut [u64; 2],
}

/// Makes an array at least `len` long and writes its place anew; 0 where there is no memory.
///
/// # Safety
/// `context` is the one of the run that calls; its array number `array` is bound to
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
/// `start` points to so many, which nobody else accesses.
pub(super) unsafe extern "C" fn sort(start: *mut i64, len: u64) {
    // SAFETY: as the caller promises.
    ust_kernels::moving::few::sort_few(unsafe {
        std::slice::from_raw_parts_mut(start, len as usize)
    });
}
