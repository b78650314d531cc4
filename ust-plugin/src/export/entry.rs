//! The table of a library, and its functions, which the host calls.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;

use ust_level_api::registry::factories;
use ust_level_api::{Arg, Arrays, Change, LevelError, LevelFactory, LevelType, Move, Reach, Site};

use super::answer::{Above, Exported, given, refusal};
use crate::abi::{self, Code};

/// The table of all level types that this library links.
#[must_use]
pub fn table() -> *const abi::Table {
    static TABLE: OnceLock<Shared> = OnceLock::new();
    &raw const TABLE.get_or_init(|| Shared(made())).0
}

/// A table, which nobody changes.
struct Shared(abi::Table);

// SAFETY: the table points to what is never changed, and never freed.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

fn made() -> abi::Table {
    let levels: Vec<abi::LevelType> = factories().into_iter().map(level_type).collect();
    let levels = levels.leak();
    abi::Table { abi: abi::ABI, level_count: levels.len() as u32, levels: levels.as_ptr() }
}

fn level_type(factory: &'static LevelFactory) -> abi::LevelType {
    let aliases = factory.aliases.iter().map(|alias| abi::Alias {
        name: given(alias.name),
        with: given(alias.with.unwrap_or_default()),
    });
    let aliases: &[abi::Alias] = aliases.collect::<Vec<_>>().leak();
    let samples = factory.samples.iter().map(|sample| given(sample));
    let samples: &[abi::Text] = samples.collect::<Vec<_>>().leak();
    abi::LevelType {
        name: given(factory.name),
        summary: given(factory.summary),
        aliases: aliases.as_ptr(),
        alias_count: aliases.len() as u64,
        samples: samples.as_ptr(),
        sample_count: samples.len() as u64,
        data: ptr::from_ref(factory).cast::<c_void>(),
        make: Some(make),
        describe: Some(describe),
        fits: Some(fits),
        assemble: Some(assemble),
        check: Some(check),
        walk: Some(walk),
        locate: Some(locate),
        footprint: Some(footprint),
        candidates: Some(candidates),
        relaxed: Some(relaxed),
        adapted: Some(adapted),
        insert: Some(insert),
        remove: Some(remove),
        drop: Some(drop),
    }
}

/// Runs a function; writes why it fails.
///
/// # Safety
/// The pointer is to an error of the host.
unsafe fn told(error: *mut abi::Error, run: impl FnOnce() -> Result<(), LevelError>) -> Code {
    // What is left half done is the host's, which is told.
    let (code, [first, second], subject, message) = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => return abi::OK,
        Ok(Err(error)) => refusal(error),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            let text = format!("it panics: {}", text.as_deref().unwrap_or("no reason given"));
            (abi::FAILED, [0; 2], String::new(), text)
        }
    };
    // SAFETY: the caller promises it.
    if let Some(error) = unsafe { error.as_mut() } {
        (error.first, error.second) = (first, second);
        write(&mut error.subject, &subject);
        write(&mut error.message, &message);
    }
    code
}

/// Writes as much of a text as there is room for, and a zero byte.
fn write(to: &mut [u8], text: &str) {
    let mut len = text.len().min(to.len() - 1);
    while !text.is_char_boundary(len) {
        len -= 1;
    }
    to[..len].copy_from_slice(&text.as_bytes()[..len]);
    to[len] = 0;
}

/// The numbers or structs of the host.
///
/// # Safety
/// The pointer is to so many, or there are none.
unsafe fn list<'a, T>(data: *const T, len: u64) -> &'a [T] {
    match len {
        0 => &[],
        // SAFETY: the caller promises it.
        len => unsafe { std::slice::from_raw_parts(data, len as usize) },
    }
}

/// A text of the host.
///
/// # Safety
/// The text is as long as it says.
unsafe fn text(text: abi::Text) -> String {
    // SAFETY: the caller promises it.
    String::from_utf8_lossy(unsafe { list(text.data.cast::<u8>(), text.len) }).into_owned()
}

/// A level that `make` gave to the host.
///
/// # Safety
/// The pointer came from `make`, and was not dropped.
unsafe fn exported<'a>(level: *const abi::Level) -> &'a Exported {
    // SAFETY: the caller promises it.
    unsafe { &*level.cast::<Exported>() }
}

// The host promises, in all functions below, that pointers are to what the header says, valid during the call; that
// levels came from `make`, and are not used after `drop`.

unsafe extern "C" fn make(
    ty: *const abi::LevelType,
    args: *const abi::Arg,
    count: u64,
    level: *mut *mut abi::Level,
    error: *mut abi::Error,
) -> Code {
    // SAFETY: as the host promises; `data` is what the table has.
    unsafe {
        told(error, || {
            let factory = &*(*ty).data.cast::<LevelFactory>();
            let args = list(args, count).iter().map(|arg| match arg.is_number {
                0 => Arg::Name(text(arg.text)),
                _ => Arg::Int(arg.number),
            });
            let made = Exported::make(factory, args.collect())?;
            *level = Box::into_raw(Box::new(made)).cast();
            Ok(())
        })
    }
}

unsafe extern "C" fn describe(
    level: *const abi::Level,
    description: *mut abi::Description,
    error: *mut abi::Error,
) -> Code {
    // SAFETY: as the host promises.
    unsafe {
        told(error, || {
            *description = exported(level).describe();
            Ok(())
        })
    }
}

unsafe extern "C" fn fits(
    level: *const abi::Level,
    place: *const abi::Place,
    error: *mut abi::Error,
) -> Code {
    // SAFETY: as the host promises.
    unsafe { told(error, || exported(level).fits(above(place), &*place)) }
}

/// The level above a place.
///
/// # Safety
/// The place is one of the host.
unsafe fn above(place: *const abi::Place) -> Option<Above> {
    // SAFETY: the caller promises it.
    unsafe {
        let above = (*place).parent.as_ref();
        above.map(|p| (text(p.name), text(p.text), p.properties, p.locate))
    }
}

unsafe extern "C" fn relaxed(
    level: *const abi::Level,
    out: *mut abi::Text,
    error: *mut abi::Error,
) -> Code {
    // SAFETY: as the host promises.
    unsafe {
        told(error, || {
            *out = given(exported(level).relaxed().unwrap_or_default());
            Ok(())
        })
    }
}

unsafe extern "C" fn adapted(
    level: *const abi::Level,
    place: *const abi::Place,
    out: *mut abi::Text,
    error: *mut abi::Error,
) -> Code {
    // SAFETY: as the host promises.
    unsafe {
        told(error, || {
            *out = given(exported(level).adapted(above(place), &*place).unwrap_or_default());
            Ok(())
        })
    }
}

unsafe extern "C" fn assemble(
    level: *const abi::Level,
    site: *const abi::Site,
    children: *const abi::Children,
    assembly: *mut abi::Assembly,
    error: *mut abi::Error,
) -> Code {
    // SAFETY: as the host promises; memory for arrays is as long as it was asked for.
    unsafe {
        told(error, || {
            let (children, assembly) = (&*children, &mut *assembly);
            let offsets = list(children.offsets, children.parents + 1);
            let count = offsets.last().map_or(0, |&end| end as u64);
            let crd = list(children.crd, count).to_vec();
            let alike = (!children.alike.is_null())
                .then(|| list(children.alike, count).iter().map(|&one| one != 0).collect());
            let made = exported(level).assemble(&*site, offsets, crd, alike)?;
            for (number, array) in (0..).zip(&made.arrays.0) {
                let elements = array.to_vec();
                let ask =
                    assembly.array.map(|ask| ask(assembly.host, number, elements.len() as u64));
                let Some(to) = ask.filter(|to| !to.is_null()) else {
                    return Err(refused(number));
                };
                ptr::copy_nonoverlapping(elements.as_ptr(), to, elements.len());
            }
            for child in 0..made.position.len().min(count as usize) {
                *assembly.position.add(child) = made.position.at(child);
            }
            assembly.positions = made.positions;
            Ok(())
        })
    }
}

unsafe extern "C" fn check(
    level: *const abi::Level,
    site: *const abi::Site,
    arrays: *const abi::Array,
    parents: *const abi::Parents,
    reach: *mut abi::Reach,
    error: *mut abi::Error,
) -> Code {
    // SAFETY: as the host promises: there are as many arrays as the description has.
    unsafe {
        told(error, || {
            let (level, parents, reach) = (exported(level), &*parents, &mut *reach);
            let arrays = list(arrays, level.arrays.len() as u64).iter();
            let arrays = arrays.map(|array| list(array.data, array.length).to_vec()).collect();
            let intervals = list(parents.intervals, parents.interval_count);
            let positions = parents.positions;
            let all = matches!(intervals, [all] if all.lo == 0 && all.hi == positions);
            let intervals = intervals.iter().map(|i| i.lo..i.hi).collect();
            let parents = Reach { positions, intervals: (!all).then_some(intervals) };
            let reached = level.check(&*site, arrays, &parents)?;
            reach.positions = reached.positions;
            reach.listed = u32::from(reached.intervals.is_some());
            for interval in reached.intervals.into_iter().flatten() {
                if let Some(add) = reach.add {
                    add(reach.host, interval.start, interval.end);
                }
            }
            Ok(())
        })
    }
}

unsafe extern "C" fn insert(
    level: *const abi::Level,
    site: *const abi::Site,
    arrays: *const abi::ChangedArray,
    parent: u64,
    crd: i64,
    out: *mut abi::Change,
    error: *mut abi::Error,
) -> Code {
    // SAFETY: as the host promises.
    unsafe {
        told(error, || {
            change(level, site, arrays, out, |level, site, arrays| {
                level.insert(site, arrays, parent, crd)
            })
        })
    }
}

unsafe extern "C" fn remove(
    level: *const abi::Level,
    site: *const abi::Site,
    arrays: *const abi::ChangedArray,
    parent: u64,
    pos: u64,
    out: *mut abi::Change,
    error: *mut abi::Error,
) -> Code {
    // SAFETY: as the host promises.
    unsafe {
        told(error, || {
            change(level, site, arrays, out, |level, site, arrays| {
                level.remove(site, arrays, parent, pos)
            })
        })
    }
}

/// Changes arrays of the host.
///
/// # Safety
/// The pointers are those of `insert` and `remove`: there are as many arrays as the description has.
unsafe fn change(
    level: *const abi::Level,
    site: *const abi::Site,
    arrays: *const abi::ChangedArray,
    out: *mut abi::Change,
    run: impl FnOnce(&dyn LevelType, &Site, &mut Arrays) -> Result<Option<Change>, LevelError>,
) -> Result<(), LevelError> {
    // SAFETY: the caller promises it; memory is as long as it was asked for.
    unsafe {
        let (level, out) = (exported(level), &mut *out);
        let before = list(arrays, level.arrays.len() as u64);
        let elements = before.iter().map(|array| list(array.data, array.length).to_vec());
        let Some((change, after)) = level.changed(&*site, elements.collect(), run)? else {
            return Ok(());
        };
        for (number, (array, before)) in (0..).zip(after.0.iter().zip(before)) {
            let elements = array.to_vec();
            let mut to = before.data;
            if elements.len() as u64 != before.length {
                to = out.resize.map_or(ptr::null_mut(), |resize| {
                    resize(out.host, number, elements.len() as u64)
                });
            }
            if to.is_null() && !elements.is_empty() {
                return Err(refused(number));
            }
            ptr::copy_nonoverlapping(elements.as_ptr(), to, elements.len());
        }
        for Move { from, to } in change.moves {
            if let Some(moved) = out.moved {
                moved(out.host, from.start, from.end, to);
            }
        }
        (out.pos, out.positions) = (change.pos, change.positions);
        out.freed = abi::Interval { lo: change.freed.start, hi: change.freed.end };
        out.done = 1;
        Ok(())
    }
}

/// The host gives no memory for an array.
fn refused(number: u64) -> LevelError {
    LevelError::Overflow { what: format!("array {number}"), detail: "the host refuses".to_owned() }
}

unsafe extern "C" fn walk(
    level: *const abi::Level,
    out: *mut abi::Text,
    error: *mut abi::Error,
) -> Code {
    // SAFETY: as the host promises.
    unsafe {
        told(error, || {
            *out = given(&exported(level).walk);
            Ok(())
        })
    }
}

unsafe extern "C" fn locate(
    level: *const abi::Level,
    out: *mut abi::Text,
    error: *mut abi::Error,
) -> Code {
    // SAFETY: as the host promises.
    unsafe {
        told(error, || {
            *out = given(&exported(level).locate);
            Ok(())
        })
    }
}

unsafe extern "C" fn footprint(
    level: *const abi::Level,
    site: *const abi::Site,
    population: *const abi::Population,
    out: *mut abi::Footprint,
    error: *mut abi::Error,
) -> Code {
    // SAFETY: as the host promises.
    unsafe {
        told(error, || {
            *out = exported(level).footprint(&*site, &*population);
            Ok(())
        })
    }
}

unsafe extern "C" fn candidates(
    level: *const abi::Level,
    statistics: *const abi::Statistics,
    proposals: *const abi::Proposals,
    error: *mut abi::Error,
) -> Code {
    // SAFETY: as the host promises.
    unsafe {
        told(error, || {
            let (statistics, proposals) = (&*statistics, &*proposals);
            let shape = list(statistics.shape, statistics.rank);
            let shape = shape.iter().map(|&extent| extent as usize).collect();
            let full = text(statistics.full);
            for proposed in exported(level).candidates(statistics, shape, &full) {
                if let Some(add) = proposals.add {
                    add(proposals.host, given(&proposed));
                }
            }
            Ok(())
        })
    }
}

unsafe extern "C" fn drop(level: *mut abi::Level) {
    // SAFETY: as the host promises. A panic of the level's own is no harm to the host.
    let _ = catch_unwind(AssertUnwindSafe(|| unsafe {
        std::mem::drop(Box::from_raw(level.cast::<Exported>()));
    }));
}
