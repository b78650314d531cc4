//! Runs emitted functions: as machine code where a compiler is available and there are enough
//! entries, else by the interpreter.

#[cfg(feature = "jit")]
use std::hash::{Hash, Hasher};
#[cfg(feature = "jit")]
use std::num::NonZeroUsize;
#[cfg(feature = "jit")]
use std::sync::Arc;

#[cfg(feature = "jit")]
use lru::LruCache;
use ust_level_api::ir::Function;
use ust_level_api::ir::cancel;
use ust_level_api::ir::interp::{Limits, Memory, Param, Program, RunError};
#[cfg(feature = "jit")]
use ust_level_api::ir::process::Guarded;

use crate::error::Error;
#[cfg(feature = "jit")]
use crate::tuning::COMPILE_MIN_ENTRIES;

/// A function, ready to run.
#[derive(Debug)]
pub enum Code {
    /// By the interpreter.
    Interpreted(Box<Program>, Limits),
    /// As machine code.
    #[cfg(feature = "jit")]
    Compiled(Arc<ust_jit::Kernel>),
}

/// Functions in the cache, at most.
#[cfg(feature = "jit")]
const CAPACITY: NonZeroUsize = NonZeroUsize::new(256).expect("a positive number");

/// A function in the cache.
#[cfg(feature = "jit")]
#[derive(Clone)]
enum Known {
    /// The interpreter runs it. Counts the entries of all calls so far.
    Asked(usize),
    /// Its machine code.
    Compiled(Arc<ust_jit::Kernel>),
}

/// Machine code by function and options: conversions between the same formats need the same functions.
#[cfg(feature = "jit")]
static KNOWN: Guarded<LruCache<(Bytes, ust_jit::Options), Known>> =
    Guarded::inherited(|| LruCache::new(CAPACITY));

/// All bytes that a value gives to a hasher. Values with equal bytes are equal: unlike a hash,
/// there are no collisions.
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
        unreachable!("the bytes are the result")
    }
}

/// Clears the cache of machine code, for measurements of the first call.
pub(crate) fn forget() {
    #[cfg(feature = "jit")]
    KNOWN.lock().clear();
}

impl Code {
    /// Prepares a function to run over about `work` entries. Every access is checked.
    ///
    /// # Errors
    /// For a function that is not valid.
    pub fn new(function: &Function, work: usize) -> Result<Self, Error> {
        Self::prepared(function, work, true)
    }

    /// As [`Code::new`], without checks of accesses, for arrays that were checked before.
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
            let known = KNOWN.lock().get(&key).cloned();
            let asked = match known {
                Some(Known::Compiled(kernel)) => return Ok(Self::Compiled(kernel)),
                Some(Known::Asked(before)) => work.saturating_add(before),
                None => work,
            };
            if asked < COMPILE_MIN_ENTRIES {
                KNOWN.lock().put(key, Known::Asked(asked));
            } else if let Ok(kernel) = Kernel::compile(function, &options) {
                let kernel = Arc::new(kernel);
                KNOWN.lock().put(key, Known::Compiled(Arc::clone(&kernel)));
                return Ok(Self::Compiled(kernel));
            }
        }
        let _ = (work, checked);
        Ok(Self::Interpreted(Box::new(Program::compile(function)?), Limits::default()))
    }

    /// Runs the function.
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

    /// Runs the function once for each list of parameters. Different groups may run on different
    /// threads: their runs write to different elements, and read no element that another group
    /// writes. Each run is a look at the tokens of the scopes of this thread.
    ///
    /// # Errors
    /// As [`Code::run`].
    pub(crate) fn run_apart(
        &self,
        groups: &[Vec<Vec<Param>>],
        memory: &mut [Memory<'_>],
    ) -> Result<(), Error> {
        match self {
            Self::Interpreted(..) => groups.iter().flatten().try_for_each(|params| {
                cancel::check()?;
                Ok(self.run(params, memory)?)
            }),
            #[cfg(feature = "jit")]
            Self::Compiled(kernel) => kernel.run_apart(groups, memory, &|| Ok(cancel::check()?)),
        }
    }
}

#[cfg(all(test, feature = "jit"))]
mod tests {
    use ust_level_api::ir::{Builder, Elem, Expr};
    use ust_level_api::{Dtype, Scalar};

    use super::*;

    /// A function that stores a number.
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
        assert!(matches!(code(COMPILE_MIN_ENTRIES / 2), Code::Interpreted(..)));
        if ust_jit::is_supported() {
            // Tests share the cache: another test may have evicted this function.
            assert!((0..100).any(|_| matches!(code(COMPILE_MIN_ENTRIES / 2), Code::Compiled(_))));
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
