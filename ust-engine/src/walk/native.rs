//! Code that runs as fast as it can: compiled where there is a compiler and enough to do.

#[cfg(feature = "jit")]
use std::hash::{Hash, Hasher};
#[cfg(feature = "jit")]
use std::num::NonZeroUsize;
#[cfg(feature = "jit")]
use std::sync::{Arc, LazyLock, Mutex};

#[cfg(feature = "jit")]
use lru::LruCache;
#[cfg(feature = "jit")]
use ust_kernels::pool::locked;
use ust_level_api::ir::Function;
use ust_level_api::ir::interp::{Limits, Memory, Param, Program, RunError};

use crate::error::Error;

/// Less work than this, in all the times that a function was asked for, is done before a compiler has
/// begun.
#[cfg(feature = "jit")]
const LITTLE: usize = 1 << 12;

/// A function, ready to run.
#[derive(Debug)]
pub enum Code {
    /// By the interpreter.
    Interpreted(Box<Program>, Limits),
    /// As machine code.
    #[cfg(feature = "jit")]
    Compiled(Arc<ust_jit::Kernel>),
}

/// Machine code kept at most.
#[cfg(feature = "jit")]
const CAPACITY: NonZeroUsize = NonZeroUsize::new(256).expect("a positive number");

/// What is known of a function.
#[cfg(feature = "jit")]
#[derive(Clone)]
enum Known {
    /// It was run by the interpreter, for so much work in all.
    Asked(usize),
    Compiled(Arc<ust_jit::Kernel>),
}

/// Machine code by its function and options: conversions between the same formats ask for the same
/// code again and again.
#[cfg(feature = "jit")]
static KNOWN: LazyLock<Mutex<LruCache<(Bytes, ust_jit::Options), Known>>> =
    LazyLock::new(|| Mutex::new(LruCache::new(CAPACITY)));

/// All that something consists of, to the last bit of its numbers.
#[cfg(feature = "jit")]
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Bytes(Vec<u8>);

#[cfg(feature = "jit")]
impl Bytes {
    fn of(value: &impl Hash) -> Self {
        let mut all = Self::default();
        value.hash(&mut all);
        all
    }
}

#[cfg(feature = "jit")]
impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("bytes are kept, not made one number")
    }
}

/// Forgets all machine code, for measurements of the first call.
pub(crate) fn forget() {
    #[cfg(feature = "jit")]
    locked(&KNOWN).clear();
}

impl Code {
    /// Prepares a function for about so much work. Every access is checked.
    ///
    /// # Errors
    /// For a function that is not valid.
    pub fn new(function: &Function, work: usize) -> Result<Self, Error> {
        Self::prepared(function, work, true)
    }

    /// As [`Code::new`], for arrays that were checked before: accesses are not.
    ///
    /// # Errors
    /// As [`Code::new`].
    pub(crate) fn trusting(function: &Function, work: usize) -> Result<Self, Error> {
        Self::prepared(function, work, false)
    }

    fn prepared(function: &Function, work: usize, checked: bool) -> Result<Self, Error> {
        #[cfg(feature = "jit")]
        if ust_jit::is_supported() {
            use ust_jit::{Kernel, Options};
            let options = Options { checked, strict: true };
            let key = (Bytes::of(function), options);
            let known = locked(&KNOWN).get(&key).cloned();
            let asked = match known {
                Some(Known::Compiled(kernel)) => return Ok(Self::Compiled(kernel)),
                Some(Known::Asked(before)) => work.saturating_add(before),
                None => work,
            };
            if asked < LITTLE {
                locked(&KNOWN).put(key, Known::Asked(asked));
            } else if let Ok(kernel) = Kernel::compile(function, &options) {
                let kernel = Arc::new(kernel);
                locked(&KNOWN).put(key, Known::Compiled(Arc::clone(&kernel)));
                return Ok(Self::Compiled(kernel));
            }
        }
        let _ = (work, checked);
        Ok(Self::Interpreted(Box::new(Program::compile(function)?), Limits::default()))
    }

    /// Runs it.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), RunError> {
        match self {
            Self::Interpreted(program, limits) => program.run_with(params, memory, *limits),
            #[cfg(feature = "jit")]
            Self::Compiled(kernel) => kernel.run(params, memory),
        }
    }

    /// Runs it several times, each group of parameters on a thread of its own where that can be:
    /// runs of different groups write to different elements, and read none that another writes.
    ///
    /// # Errors
    /// As [`Code::run`].
    pub(crate) fn run_apart(
        &self,
        groups: &[Vec<Vec<Param>>],
        memory: &mut [Memory<'_>],
    ) -> Result<(), Error> {
        match self {
            Self::Interpreted(..) => {
                groups.iter().flatten().try_for_each(|params| Ok(self.run(params, memory)?))
            }
            #[cfg(feature = "jit")]
            Self::Compiled(kernel) => kernel.run_apart(groups, memory, &|| Ok(())),
        }
    }
}

#[cfg(all(test, feature = "jit"))]
mod tests {
    use ust_level_api::ir::{Builder, Elem, Expr};
    use ust_level_api::{Dtype, Scalar};

    use super::*;

    /// Stores a number.
    fn stores(number: f64) -> Function {
        let mut b = Builder::new("stores");
        let out = b.array("out", Elem::Value(Dtype::F64), true);
        b.store(out, Expr::Int(0), Expr::Const(Scalar::F64(number)));
        b.finish()
    }

    #[test]
    fn what_is_asked_for_again_and_again_is_compiled() {
        let function = stores(0.125);
        let code = |work| Code::new(&function, work).unwrap();
        assert!(matches!(code(LITTLE / 2), Code::Interpreted(..)));
        if ust_jit::is_supported() {
            // The table is shared: another test may have put this function out of it.
            assert!((0..100).any(|_| matches!(code(LITTLE / 2), Code::Compiled(_))));
        }
    }

    #[test]
    fn numbers_are_told_apart_by_their_bits() {
        let bytes = |number| Bytes::of(&stores(number));
        assert!(bytes(0.0) != bytes(-0.0) && bytes(0.0) != bytes(1.0));
        assert!(bytes(f64::NAN) == bytes(f64::NAN));
        assert!(bytes(0.0) != Bytes::of(&Function { name: "other".to_owned(), ..stores(0.0) }));
    }
}
