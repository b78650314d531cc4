//! A compiled function and its call.

use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Module, default_libcall_names};
use ust_ir::interp::{Memory, Param, RunError};
use ust_ir::{Function, validate};
use ust_kernels::pool::apart;

use super::bind::{self, CONTEXT, DETAIL, HEADER, INDEX};
use super::emit::{self, Site};
use super::loops::LoopCode;
use super::shims::Context as Callback;
use super::tuning::MAX_STACK_WORDS;
use super::{JitError, Options, Suits, host};

/// Machine code: reads the table, and returns 0, or the number of the [`Site`] where it ended early, plus
/// one.
type Entry = unsafe extern "C" fn(*mut u64) -> u64;
/// A function as machine code: immutable, and free to run on several threads at once.
pub struct Kernel {
    function: Function,
    options: Options,
    entry: Entry,
    /// Bytes of code, from the entry on.
    size: usize,
    /// Words of the table.
    words: usize,
    sites: Vec<Site>,
    loops: Vec<LoopCode>,
    compile_time: Duration,
    /// Owns the code.
    module: Mutex<Option<JITModule>>,
}

impl Kernel {
    /// Compiles a function. Cost: 0.1 ms and more, about 10 µs a statement.
    ///
    /// # Errors
    /// [`JitError`]: the function is not valid, or there is no compiler for this machine.
    pub fn compile(function: &Function, options: &Options) -> Result<Self, JitError> {
        let start = Instant::now();
        let isa = host::isa()?;
        validate::validate(function)?;
        let failed = |error: &dyn fmt::Display| JitError::Compile {
            function: function.name.clone(),
            reason: error.to_string(),
        };
        let mut module = JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()));
        let mut context = module.make_context();
        let (sites, loops) = emit::emit(
            function,
            options,
            &mut context.func,
            &mut FunctionBuilderContext::new(),
            module.isa(),
        );
        let id = module
            .declare_anonymous_function(&context.func.signature)
            .map_err(|error| failed(&error))?;
        // Only the debug form of the error names the instruction that was not understood.
        module.define_function(id, &mut context).map_err(|error| failed(&format!("{error:?}")))?;
        let size = context.compiled_code().map_or(0, |code| code.code_buffer().len());
        module.finalize_definitions().map_err(|error| failed(&error))?;
        let address = module.get_finalized_function(id);
        // SAFETY: the address is that of a function compiled with the signature `Entry`, in the
        // C calling convention of this machine; the module that owns it lives as long as `self`.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(address) };
        Ok(Self {
            words: bind::param_word(
                function.arrays.len(),
                &function.vars[..function.params],
                function.params,
            ),
            function: function.clone(),
            options: *options,
            entry,
            size,
            sites,
            loops,
            compile_time: start.elapsed(),
            module: Mutex::new(Some(module)),
        })
    }

    /// Whether the code of a function would call microkernels. Cost: microseconds; nothing is compiled.
    #[must_use]
    pub fn suits(function: &Function, strict: bool) -> Suits {
        emit::suits(function, strict)
    }

    /// The options that it was compiled with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The time that compilation took.
    #[must_use]
    pub fn compile_time(&self) -> Duration {
        self.compile_time
    }

    /// Which microkernel each innermost loop became, or why it is scalar code.
    #[must_use]
    pub fn loops(&self) -> &[LoopCode] {
        &self.loops
    }

    /// The bytes of the machine code.
    #[must_use]
    pub fn code(&self) -> &[u8] {
        // SAFETY: `size` bytes were written at the entry, and do not change before the module is dropped
        // with `self`.
        unsafe { std::slice::from_raw_parts(self.entry as *const u8, self.size) }
    }

    /// The machine code as text, in the compiler's notation. Compiles again: the text is not kept.
    #[must_use]
    pub fn disassembly(&self) -> String {
        let Ok(isa) = host::isa() else { return String::new() };
        let mut context = Context::new();
        context.set_disasm(true);
        let mut pool = FunctionBuilderContext::new();
        emit::emit(&self.function, &self.options, &mut context.func, &mut pool, &*isa);
        match context.compile(&*isa, &mut ControlPlane::default()) {
            Ok(code) => code.vcode.clone().unwrap_or_default(),
            Err(error) => error.inner.to_string(),
        }
    }

    /// Executes the function: `params` in the order of its parameters, `memory` in the order of its
    /// arrays.
    ///
    /// # Errors
    /// [`RunError`]; what was stored before stays stored.
    ///
    /// # Safety contract
    /// A kernel compiled without [`Options::checked`] trusts its IR and its arrays: every index
    /// that the function computes from them lies within the array that it is used on. The engine
    /// runs such kernels only with IR that it emitted and level arrays that were checked when they
    /// came in.
    pub fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), RunError> {
        let mut small = [0; MAX_STACK_WORDS];
        let mut large;
        let table: &mut [u64] = if self.words <= MAX_STACK_WORDS {
            &mut small[..self.words]
        } else {
            large = vec![0; self.words];
            &mut large
        };
        self.fill(table, params, memory)?;
        let callback = Callback {
            memory: memory.as_mut_ptr().cast(),
            places: table[HEADER..].as_mut_ptr().cast(),
        };
        table[CONTEXT] = &raw const callback as u64;
        // SAFETY: the table has all words that the code reads, with an address and a length for each
        // array, of the declared kind and writable where it is declared so. The borrows of the arrays last
        // until the end of this function. A checked kernel checks its accesses itself; of an unchecked one,
        // the caller answers for the IR and the arrays, as said above.
        let status = unsafe { (self.entry)(table.as_mut_ptr()) };
        if status == 0 { Ok(()) } else { Err(self.error(status, table)) }
    }

    /// Executes the function several times on the same memory, once for each list of parameters. Lists of one
    /// group run in order, different groups on different threads. `check` is called before each execution.
    ///
    /// # Safety contract
    /// As of [`Kernel::run`]. Executions of different groups write different elements, and none reads an
    /// element that another writes. The function has no growing arrays.
    pub fn run_apart<P: AsRef<[Param]> + Sync, E: From<RunError> + Send>(
        &self,
        groups: &[Vec<P>],
        memory: &mut [Memory<'_>],
        check: &(dyn Fn() -> Result<(), E> + Sync),
    ) -> Result<(), E> {
        let Some(first) = groups.iter().flatten().next() else { return Ok(()) };
        let mut shared = vec![0; self.words];
        self.fill(&mut shared, first.as_ref(), memory)?;
        apart(groups, |group| {
            let mut table = shared.clone();
            for params in group {
                check()?;
                self.fill_params(&mut table, params.as_ref())?;
                // SAFETY: as in `run`; the caller promises that no two threads touch an element
                // that one of them writes. There is no callback without growing arrays.
                let status = unsafe { (self.entry)(table.as_mut_ptr()) };
                if status != 0 {
                    return Err(self.error(status, &table).into());
                }
            }
            Ok(())
        })
    }

    fn fill(
        &self,
        table: &mut [u64],
        params: &[Param],
        memory: &mut [Memory<'_>],
    ) -> Result<(), RunError> {
        let Function { name, arrays, .. } = &self.function;
        let (expected, given) = (arrays.len(), memory.len());
        if expected != given {
            return Err(RunError::MemoryCount { function: name.clone(), expected, given });
        }
        let mut at = HEADER;
        for (decl, memory) in arrays.iter().zip(memory) {
            bind::place(decl, memory, &mut table[at..at + 2])?;
            at += 2;
        }
        self.fill_params(table, params)
    }

    fn fill_params(&self, table: &mut [u64], params: &[Param]) -> Result<(), RunError> {
        let Function { name, arrays, vars, .. } = &self.function;
        let (expected, given) = (self.function.params, params.len());
        if expected != given {
            return Err(RunError::ParamCount { function: name.clone(), expected, given });
        }
        let mut at = HEADER + 2 * arrays.len();
        for (decl, param) in vars.iter().zip(params) {
            at += bind::param(decl, param, &mut table[at..])?;
        }
        Ok(())
    }

    #[cold]
    fn error(&self, status: u64, table: &[u64]) -> RunError {
        let name = |array: usize| self.function.arrays[array].name.clone();
        let index = table[INDEX] as i64;
        match &self.sites[status as usize - 1] {
            Site::Bounds(array) => {
                let len = table[DETAIL] as usize;
                RunError::OutOfBounds { array: name(*array), index, len }
            }
            Site::Division(expr) => {
                let expr = self.function.show_expr(expr).to_string();
                RunError::DivisionByZero { expr }
            }
            Site::Memory(array) => RunError::OutOfMemory { array: name(*array), len: index },
            Site::Fit(array, kind) => {
                let value = table[DETAIL] as i64;
                RunError::DoesNotFit { array: name(*array), index, value, kind: *kind }
            }
        }
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let module = match self.module.get_mut() {
            Ok(module) => module.take(),
            Err(poisoned) => poisoned.into_inner().take(),
        };
        if let Some(module) = module {
            // SAFETY: the addresses did not leave `self`, and no call is under way: `self` is borrowed
            // mutably.
            unsafe { module.free_memory() };
        }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("function", &self.function.name)
            .field("options", &self.options)
            .field("bytes", &self.size)
            .field("compile_time", &self.compile_time)
            .finish_non_exhaustive()
    }
}
