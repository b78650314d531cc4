//! Calls into a library. What comes back is copied and checked here as far as pointers go; what it means is for
//! others.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;

use ust_level_api::{LevelArgs, LevelError, Pos};

use super::table::{Fault, MAX_LIST, Type, lent, list, text};
use crate::abi::{self, Code};

/// A description, copied.
pub(super) struct Described {
    pub(super) text: String,
    pub(super) mlir: String,
    pub(super) arrays: Vec<ArrayDescribed>,
    pub(super) properties: u32,
    pub(super) locate: u32,
    pub(super) traits: u32,
}

/// An array of a description, copied.
pub(super) struct ArrayDescribed {
    pub(super) name: String,
    pub(super) length: String,
    pub(super) spec: abi::ArraySpec,
}

/// The level above, for a question about a place.
pub(super) struct Above<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    pub(super) properties: u32,
    pub(super) locate: u32,
}

/// What assembly made.
pub(super) struct Made {
    pub(super) arrays: Vec<Vec<i64>>,
    pub(super) position: Vec<i64>,
    pub(super) positions: u64,
}

/// Why a call failed: the code, and what was written about it.
pub(super) struct Refusal {
    pub(super) code: Code,
    pub(super) first: i64,
    pub(super) second: i64,
    pub(super) subject: String,
    pub(super) message: String,
}

/// Why there is no answer.
pub(super) enum Failed {
    /// The library says why.
    Refused(Refusal),
    /// The answer is none.
    Fault(Fault),
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

pub(super) type Answer<T> = Result<T, Failed>;

/// Calls a function that may fail.
pub(super) fn ask(call: impl FnOnce(*mut abi::Error) -> Code) -> Answer<()> {
    let mut error =
        abi::Error { first: 0, second: 0, subject: [0; abi::SUBJECT], message: [0; abi::MESSAGE] };
    let code = call(&raw mut error);
    if code == abi::OK {
        return Ok(());
    }
    let said = |bytes: &[u8]| {
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let (subject, message) = (said(&error.subject), said(&error.message));
    let abi::Error { first, second, .. } = error;
    Err(Failed::Refused(Refusal { code, first, second, subject, message }))
}

/// What a level type lacks that was tested when it was read.
fn missing(name: &str) -> Failed {
    Failed::Fault(format!("its function `{name}` is null"))
}

/// A level of a library.
pub(super) struct Level {
    pub(super) ty: Type,
    pub(super) raw: *mut abi::Level,
}

// SAFETY: the library promises that functions may be called on a level from several threads at once.
unsafe impl Send for Level {}
// SAFETY: as above.
unsafe impl Sync for Level {}

impl Drop for Level {
    fn drop(&mut self) {
        if let Some(drop) = self.ty.raw.drop {
            // SAFETY: the level is the library's own, and nobody uses it any more.
            unsafe { drop(self.raw) };
        }
    }
}

// In each call below, the pointers are to memory of this function, valid during the call, or to the level, which
// the library made. The library promises not to keep the former, and to write no more than is said in the header.
impl Level {
    pub(super) fn make(ty: &Type, args: &LevelArgs) -> Answer<Self> {
        let make = ty.raw.make.ok_or_else(|| missing("make"))?;
        let texts: Vec<String> = args.args.iter().map(ToString::to_string).collect();
        let raw = texts.iter().zip(&args.args).map(|(text, arg)| {
            let number = match arg {
                ust_level_api::Arg::Int(number) => Some(*number),
                ust_level_api::Arg::Name(_) => None,
            };
            let is_number = u32::from(number.is_some());
            abi::Arg { text: lent(text), number: number.unwrap_or(0), is_number }
        });
        let raw: Vec<abi::Arg> = raw.collect();
        let mut level = ptr::null_mut();
        let (ty, count) = (ty.clone(), raw.len() as u64);
        // SAFETY: as said above.
        ask(|error| unsafe { make(ty.raw, raw.as_ptr(), count, &raw mut level, error) })?;
        Ok(Self { ty, raw: level })
    }

    pub(super) fn describe(&self) -> Answer<Described> {
        let describe = self.ty.raw.describe.ok_or_else(|| missing("describe"))?;
        let none = abi::Text { data: ptr::null(), len: 0 };
        let mut out = abi::Description {
            text: none,
            mlir: none,
            arrays: ptr::null(),
            array_count: 0,
            properties: 0,
            locate: 0,
            traits: 0,
        };
        // SAFETY: as said above.
        ask(|error| unsafe { describe(self.raw, &raw mut out, error) })?;
        let arrays = list(out.arrays, out.array_count, "its arrays")?.into_iter().map(|spec| {
            let name = text(spec.name, "the name of an array")?;
            Ok(ArrayDescribed { name, length: text(spec.length, "the length of an array")?, spec })
        });
        Ok(Described {
            text: text(out.text, "its text")?,
            mlir: text(out.mlir, "its text for MLIR")?,
            arrays: arrays.collect::<Result<_, Fault>>()?,
            properties: out.properties,
            locate: out.locate,
            traits: out.traits,
        })
    }

    /// Asks about a place; `above` is the level above.
    pub(super) fn fits(&self, above: Option<Above<'_>>, place: abi::Place) -> Answer<()> {
        let Some(fits) = self.ty.raw.fits else { return Ok(()) };
        // SAFETY: as said above.
        at(above, place, |place| ask(|error| unsafe { fits(self.raw, place, error) }))
    }

    /// The text of its relaxed form, empty if there is none.
    pub(super) fn relaxed(&self) -> Answer<String> {
        let Some(relaxed) = self.ty.raw.relaxed else { return Ok(String::new()) };
        let mut out = abi::Text { data: ptr::null(), len: 0 };
        // SAFETY: as said above.
        ask(|error| unsafe { relaxed(self.raw, &raw mut out, error) })?;
        Ok(text(out, "the text of its relaxed form")?)
    }

    /// The text of its form for a place, empty if there is none.
    pub(super) fn adapted(&self, above: Option<Above<'_>>, place: abi::Place) -> Answer<String> {
        let Some(adapted) = self.ty.raw.adapted else { return Ok(String::new()) };
        let mut out = abi::Text { data: ptr::null(), len: 0 };
        at(above, place, |place| {
            // SAFETY: as said above.
            ask(|error| unsafe { adapted(self.raw, place, &raw mut out, error) })
        })?;
        Ok(text(out, "the text of its form for a place")?)
    }

    /// Assembles so many arrays, each of at most `most` elements.
    pub(super) fn assemble(
        &self,
        site: &abi::Site,
        (offsets, crd, alike): (&[i64], &[i64], Option<&[u8]>),
        arrays: usize,
        most: u64,
    ) -> Answer<Made> {
        let assemble = self.ty.raw.assemble.ok_or_else(|| missing("assemble"))?;
        let mut host = Arrays { made: vec![None; arrays], most, fault: None };
        // What is not written is no position.
        let mut position = vec![-1; crd.len()];
        let parents = offsets.len() as u64 - 1;
        let alike = alike.map_or(ptr::null(), <[u8]>::as_ptr);
        let children =
            abi::Children { parents, offsets: offsets.as_ptr(), crd: crd.as_ptr(), alike };
        let mut assembly = abi::Assembly {
            host: (&raw mut host).cast(),
            array: Some(array),
            position: position.as_mut_ptr(),
            positions: 0,
        };
        let asked = ask(|error| {
            // SAFETY: as said above.
            unsafe { assemble(self.raw, site, &raw const children, &raw mut assembly, error) }
        });
        let positions = assembly.positions;
        // A refusal of the host is the reason of what the library says afterwards.
        if let Some(fault) = host.fault {
            return Err(fault.into());
        }
        asked?;
        let made: Option<Vec<Vec<i64>>> = host.made.into_iter().collect();
        let arrays = made.ok_or("`assemble` does not make all of its arrays".to_owned())?;
        Ok(Made { arrays, position, positions })
    }

    /// Checks arrays. Gives the number of positions, and those that can be reached, unless all can be.
    pub(super) fn check(
        &self,
        site: &abi::Site,
        arrays: &[Vec<i64>],
        parents: (Pos, &[abi::Interval]),
    ) -> Answer<(u64, Option<Vec<abi::Interval>>)> {
        let check = self.ty.raw.check.ok_or_else(|| missing("check"))?;
        let raw = arrays
            .iter()
            .map(|array| abi::Array { data: array.as_ptr(), length: array.len() as u64 });
        let raw: Vec<abi::Array> = raw.collect();
        let (positions, intervals) = parents;
        let interval_count = intervals.len() as u64;
        let parents = abi::Parents { positions, intervals: intervals.as_ptr(), interval_count };
        let mut reached: Vec<abi::Interval> = Vec::new();
        let host = (&raw mut reached).cast();
        let mut reach = abi::Reach { host, add: Some(add), positions: 0, listed: 0 };
        ask(|error| {
            let parents = &raw const parents;
            // SAFETY: as said above.
            unsafe { check(self.raw, site, raw.as_ptr(), parents, &raw mut reach, error) }
        })?;
        let listed = reach.listed != 0;
        Ok((reach.positions, listed.then_some(reached)))
    }

    pub(super) fn walk(&self) -> Answer<String> {
        let walk = self.ty.raw.walk.ok_or_else(|| missing("walk"))?;
        let mut out = abi::Text { data: ptr::null(), len: 0 };
        // SAFETY: as said above.
        ask(|error| unsafe { walk(self.raw, &raw mut out, error) })?;
        Ok(text(out, "the text of its walk")?)
    }

    /// The text of its search, empty if there is none.
    pub(super) fn locate(&self) -> Answer<String> {
        let Some(locate) = self.ty.raw.locate else { return Ok(String::new()) };
        let mut out = abi::Text { data: ptr::null(), len: 0 };
        // SAFETY: as said above.
        ask(|error| unsafe { locate(self.raw, &raw mut out, error) })?;
        Ok(text(out, "the text of its search")?)
    }

    /// An estimate, if it makes any.
    pub(super) fn footprint(
        &self,
        site: &abi::Site,
        population: &abi::Population,
    ) -> Option<abi::Footprint> {
        let footprint = self.ty.raw.footprint?;
        let mut out = abi::Footprint { positions: f64::NAN, bytes: f64::NAN };
        // SAFETY: as said above.
        ask(|error| unsafe { footprint(self.raw, site, population, &raw mut out, error) }).ok()?;
        let is_estimate = |number: f64| number.is_finite() && number >= 0.0;
        Some(out).filter(|out| is_estimate(out.positions) && is_estimate(out.bytes))
    }

    /// The texts that it proposes.
    pub(super) fn candidates(
        &self,
        (shape, full): (&[u64], &str),
        statistics: abi::Statistics,
    ) -> Vec<String> {
        let Some(candidates) = self.ty.raw.candidates else { return Vec::new() };
        let (data, rank) = (shape.as_ptr(), shape.len() as u64);
        let statistics = abi::Statistics { shape: data, rank, full: lent(full), ..statistics };
        let mut found: Vec<String> = Vec::new();
        let proposals = abi::Proposals { host: (&raw mut found).cast(), add: Some(propose) };
        let asked = ask(|error| {
            let (statistics, proposals) = (&raw const statistics, &raw const proposals);
            // SAFETY: as said above.
            unsafe { candidates(self.raw, statistics, proposals, error) }
        });
        if asked.is_ok() { found } else { Vec::new() }
    }
}

/// Asks about a place; `above` is the level above.
fn at<T>(
    above: Option<Above<'_>>,
    place: abi::Place,
    asked: impl FnOnce(*const abi::Place) -> T,
) -> T {
    let parent = above.map(|above| abi::Parent {
        name: lent(above.name),
        text: lent(above.text),
        properties: above.properties,
        locate: above.locate,
    });
    let parent = parent.as_ref().map_or(ptr::null(), ptr::from_ref);
    let place = abi::Place { parent, ..place };
    asked(&raw const place)
}

/// The arrays that a library asks memory for.
struct Arrays {
    made: Vec<Option<Vec<i64>>>,
    most: u64,
    /// The first thing that was wrong.
    fault: Option<Fault>,
}

impl Arrays {
    fn make(&mut self, number: u64, length: u64) -> Result<*mut i64, Fault> {
        let count = self.made.len();
        let slot = usize::try_from(number).ok().and_then(|number| self.made.get_mut(number));
        let slot = slot.ok_or(format!("`assemble` makes array {number}, of {count} described"))?;
        if slot.is_some() {
            return Err(format!("`assemble` makes array {number} twice"));
        }
        if length > self.most {
            return Err(format!(
                "`assemble` asks for {length} elements; at most {} are allowed",
                self.most
            ));
        }
        let mut elements: Vec<i64> = Vec::new();
        let reserved = elements.try_reserve_exact(length as usize);
        reserved.map_err(|_| format!("there is no memory for {length} elements"))?;
        elements.resize(length as usize, 0);
        Ok(slot.insert(elements).as_mut_ptr())
    }
}

/// Gives a library memory for an array.
unsafe extern "C" fn array(host: *mut c_void, number: u64, length: u64) -> *mut i64 {
    // SAFETY: `host` is what the library got in the call of `assemble` that is under way, on one thread.
    let Some(host) = (unsafe { host.cast::<Arrays>().as_mut() }) else { return ptr::null_mut() };
    match host.make(number, length) {
        Ok(elements) => elements,
        Err(fault) => {
            host.fault.get_or_insert(fault);
            ptr::null_mut()
        }
    }
}

/// Adds an interval of reachable positions.
unsafe extern "C" fn add(host: *mut c_void, lo: u64, hi: u64) {
    // SAFETY: `host` is what the library got in the call of `check` that is under way, on one thread.
    if let Some(reached) = unsafe { host.cast::<Vec<abi::Interval>>().as_mut() } {
        reached.push(abi::Interval { lo, hi });
    }
}

/// Adds a proposal.
unsafe extern "C" fn propose(host: *mut c_void, proposed: abi::Text) {
    // SAFETY: `host` is what the library got in the call of `candidates` that is under way, on one thread.
    if let Some(found) = unsafe { host.cast::<Vec<String>>().as_mut() }
        && found.len() < MAX_LIST as usize
    {
        found.extend(text(proposed, "a proposal"));
    }
}

impl Failed {
    /// As an error of a level type of this name.
    pub(super) fn of(self, level: &str) -> LevelError {
        let level = || level.to_owned();
        let Refusal { code, first, second, subject, message } = match self {
            Self::Fault(fault) => return LevelError::Defective { level: level(), fault },
            Self::Refused(refusal) => refusal,
        };
        match code {
            abi::BAD_ARGUMENT => {
                LevelError::BadArgument { level: level(), argument: subject, help: message }
            }
            abi::MISPLACED => {
                LevelError::Misplaced { level: level(), reason: subject, help: message }
            }
            abi::CANNOT_HOLD => {
                LevelError::CannotHold { parent: first as Pos, crd: second, reason: message }
            }
            abi::INVALID => LevelError::Invalid {
                array: subject,
                index: first as u64,
                found: second,
                rule: message,
            },
            abi::LENGTH => {
                LevelError::Length { array: subject, found: first as u64, expected: message }
            }
            abi::TOO_LARGE => LevelError::Overflow { what: subject, detail: message },
            abi::FAILED => LevelError::Defective { level: level(), fault: message },
            code => {
                let fault = format!("it returns {code}, which is no code: {message}");
                LevelError::Defective { level: level(), fault }
            }
        }
    }
}
