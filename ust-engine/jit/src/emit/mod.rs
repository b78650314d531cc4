//! From IR to Cranelift's IR.
//!
//! A compiled function takes the address of its table (see [`bind`](super::bind)) and gives 0, or
//! the number of the [`Site`] where it ended early, plus one. Addresses and lengths of arrays are
//! read once, on entry; those of arrays that grow again after each growth. Variables are registers:
//! one, or two where they hold a complex number.
//!
//! | module | what |
//! |---|---|
//! | this one | the function, its arrays and variables |
//! | `stmt` | statements and loops |
//! | `pattern` | calls of microkernels for loops, and unrolled loops |
//! | `calls` | the arguments of each microkernel |
//! | `tile` | calls of microkernels for small blocks |
//! | `union` | calls of the microkernel that adds sparse rows |
//! | `microkernel` | the choice of a microkernel by index kind and dtype |
//! | `expr` | expressions of ints and truth values |
//! | `number` | arithmetic on the dtypes |
//! | `half` | f16 and bf16 to f32 and back |
//! | `convert` | casts |
//! | `func` | functions of numbers |
//! | `memory` | addresses, loads, stores |

mod calls;
mod convert;
mod expr;
mod func;
mod half;
mod memory;
mod microkernel;
mod number;
mod pattern;
mod stmt;
mod tile;
mod union;

use std::collections::HashMap;

pub(super) use self::microkernel::suits;

use cranelift_codegen::ir::{
    AbiParam, AliasRegionData, Block, Function as Code, InstBuilder, MemFlagsData, Signature, Type,
    Value, types,
};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use ust_ir::idiom::Idiom;
use ust_ir::{Dtype, Elem, Expr, Function, IndexKind, Ty, Var};

use super::Options;
use super::bind::{self, DETAIL, HEADER, INDEX};
use super::loops::{CodeOf, LoopCode};

/// Where a function can end early, and why.
#[derive(Clone, Debug)]
pub(super) enum Site {
    /// An access outside this array.
    Bounds(usize),
    /// A division by zero.
    Division(Expr),
    /// No memory for this array to grow.
    Memory(usize),
    /// An index that this array of this kind cannot hold.
    Fit(usize, IndexKind),
}

/// A value in registers.
#[derive(Clone, Copy, Debug)]
struct Operand {
    ty: Ty,
    /// The value, or its real part.
    re: Value,
    /// The imaginary part of a complex number.
    im: Option<Value>,
}

/// The register of something that may change: a value that never does, or a variable.
#[derive(Clone, Copy, Debug)]
enum Slot {
    Fixed(Value),
    Changing(Variable),
}

/// An array in machine code.
#[derive(Clone, Copy, Debug)]
struct Array {
    elem: Elem,
    base: Slot,
    len: Slot,
    flags: MemFlagsData,
}

/// A variable's register or registers; `None` before its declaration is reached.
type Held = Option<(Slot, Option<Slot>)>;

struct Emitter<'a, 'b> {
    function: &'a Function,
    options: &'a Options,
    b: FunctionBuilder<'b>,
    isa: &'a dyn TargetIsa,
    table: Value,
    arrays: Vec<Array>,
    vars: Vec<Held>,
    /// Variables that some statement assigns.
    assigned: Vec<bool>,
    sites: Vec<Site>,
    /// The block that ends the function early. Its parameters: the number of the site, an index, a length.
    fault: Option<Block>,
    /// For the variable of each loop of an idiom: the idiom, and the number of the loop among its loops.
    idioms: HashMap<Var, (&'a Idiom, usize)>,
    /// Copies of the code that is being emitted, due to unrolled loops.
    copies: usize,
    /// What became of each innermost loop, and of each nest that is a call.
    loops: Vec<LoopCode>,
    /// Whether the code is what a call is replaced by where it does not pay, or what runs besides.
    noted: bool,
}

/// Emits a valid function into `code`. Gives the sites where it can end early, and what became of its loops.
pub(super) fn emit(
    function: &Function,
    options: &Options,
    code: &mut Code,
    pool: &mut FunctionBuilderContext,
    isa: &dyn TargetIsa,
) -> (Vec<Site>, Vec<LoopCode>) {
    let mut signature = Signature::new(isa.default_call_conv());
    signature.params.push(AbiParam::new(types::I64));
    signature.returns.push(AbiParam::new(types::I64));
    code.signature = signature;
    let mut b = FunctionBuilder::new(code, pool);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    b.seal_block(entry);
    let table = b.block_params(entry)[0];
    let assigned = function.assigned();
    let mut emitter = Emitter {
        function,
        options,
        b,
        isa,
        table,
        arrays: Vec::new(),
        vars: vec![None; function.vars.len()],
        assigned,
        sites: Vec::new(),
        fault: None,
        idioms: idioms(function),
        copies: 1,
        loops: Vec::new(),
        noted: false,
    };
    emitter.read_table();
    emitter.block(&function.body);
    emitter.end()
}

/// The idiom of each loop that has one.
pub(super) fn idioms(function: &Function) -> HashMap<Var, (&Idiom, usize)> {
    let mut all = HashMap::new();
    for idiom in &function.idioms {
        let loops = match idiom {
            Idiom::Nest(nest) => &nest.loops[..],
            Idiom::Placed(placed) => &placed.loops[..],
            Idiom::Union(union) => {
                all.insert(union.var, (idiom, 0));
                continue;
            }
            _ => continue,
        };
        all.extend(loops.iter().enumerate().map(|(at, one)| (one.var, (idiom, at))));
    }
    all
}

/// The type of a register that holds one part of a number.
fn lane(dtype: Dtype) -> Type {
    match dtype {
        Dtype::Bool | Dtype::I8 | Dtype::U8 => types::I8,
        Dtype::I16 | Dtype::U16 => types::I16,
        Dtype::I32 | Dtype::U32 => types::I32,
        Dtype::I64 | Dtype::U64 => types::I64,
        Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::Complex64 => types::F32,
        Dtype::F64 | Dtype::Complex128 => types::F64,
    }
}

/// The type of a register that holds a value, or one part of it.
fn register(ty: Ty) -> Type {
    match ty {
        Ty::Int => types::I64,
        Ty::Bool => types::I8,
        Ty::Val(dtype) => lane(dtype),
    }
}

impl<'a> Emitter<'a, '_> {
    /// A word of the table that does not change while the code runs.
    fn word(&mut self, ty: Type, at: usize) -> Value {
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        self.b.ins().load(ty, flags, self.table, at as i32 * 8)
    }

    fn read_table(&mut self) {
        let function: &'a Function = self.function;
        for (at, decl) in function.arrays.iter().enumerate() {
            let region =
                self.b.func.dfg.alias_regions.insert(AliasRegionData {
                    user_id: at as u32 + 1,
                    description: "array".into(),
                });
            let mut flags = MemFlagsData::trusted().with_alias_region(Some(region));
            if !decl.written {
                flags.set_readonly();
            }
            let word = HEADER + 2 * at;
            let (base, len) = if decl.grows {
                let (base, len) = (self.b.declare_var(types::I64), self.b.declare_var(types::I64));
                self.arrays.push(Array {
                    elem: decl.elem,
                    base: Slot::Changing(base),
                    len: Slot::Changing(len),
                    flags,
                });
                self.read_place(at);
                continue;
            } else {
                (self.word(types::I64, word), self.word(types::I64, word + 1))
            };
            let (base, len) = (Slot::Fixed(base), Slot::Fixed(len));
            self.arrays.push(Array { elem: decl.elem, base, len, flags });
        }
        for (at, decl) in function.vars[..function.params].iter().enumerate() {
            let word = bind::param_word(function.arrays.len(), &function.vars, at);
            let lane = register(decl.ty);
            let re = self.word(lane, word);
            let complex = matches!(decl.ty, Ty::Val(dtype) if dtype.is_complex());
            let im = complex.then(|| self.word(lane, word + 1));
            self.declare(Var(at as u32), Operand { ty: decl.ty, re, im });
        }
    }

    /// Reads address and length of an array that grows.
    fn read_place(&mut self, array: usize) {
        let flags = MemFlagsData::trusted();
        let word = (HEADER + 2 * array) as i32 * 8;
        let base = self.b.ins().load(types::I64, flags, self.table, word);
        let len = self.b.ins().load(types::I64, flags, self.table, word + 8);
        for (slot, value) in [(self.arrays[array].base, base), (self.arrays[array].len, len)] {
            if let Slot::Changing(var) = slot {
                self.b.def_var(var, value);
            }
        }
    }

    fn get(&mut self, slot: Slot) -> Value {
        match slot {
            Slot::Fixed(value) => value,
            Slot::Changing(var) => self.b.use_var(var),
        }
    }

    /// Gives a variable its first value.
    fn declare(&mut self, var: Var, value: Operand) {
        let at = var.0 as usize;
        if !self.assigned[at] {
            self.vars[at] = Some((Slot::Fixed(value.re), value.im.map(Slot::Fixed)));
            return;
        }
        if self.vars[at].is_none() {
            let ty = register(value.ty);
            let re = Slot::Changing(self.b.declare_var(ty));
            let im = value.im.map(|_| Slot::Changing(self.b.declare_var(ty)));
            self.vars[at] = Some((re, im));
        }
        self.assign(var, value);
    }

    fn assign(&mut self, var: Var, value: Operand) {
        let (re, im) = self.vars[var.0 as usize].expect("validated: declared before");
        let parts = [(Some(re), Some(value.re)), (im, value.im)];
        for part in parts {
            if let (Some(Slot::Changing(var)), Some(value)) = part {
                self.b.def_var(var, value);
            }
        }
    }

    fn var(&mut self, var: Var) -> Operand {
        let (re, im) = self.vars[var.0 as usize].expect("validated: declared before");
        let ty = self.function.vars[var.0 as usize].ty;
        Operand { ty, re: self.get(re), im: im.map(|im| self.get(im)) }
    }

    /// Ends early unless `holds`.
    fn guard(&mut self, holds: Value, site: Site, index: Value, detail: Value) {
        self.sites.push(site);
        let fault = *self.fault.get_or_insert_with(|| {
            let block = self.b.create_block();
            self.b.set_cold_block(block);
            for _ in 0..3 {
                self.b.append_block_param(block, types::I64);
            }
            block
        });
        let go_on = self.b.create_block();
        let site = self.b.ins().iconst(types::I64, self.sites.len() as i64);
        self.b.ins().brif(holds, go_on, &[], fault, &[site.into(), index.into(), detail.into()]);
        self.b.switch_to_block(go_on);
        self.b.seal_block(go_on);
    }

    /// Notes what became of a loop, once for each, and says nothing of what stands in for a call.
    fn note(&mut self, var: Option<Var>, code: CodeOf) {
        let name = |var: Var| self.function.vars[var.0 as usize].name.clone();
        let note = LoopCode { var: var.map_or_else(|| "while".to_owned(), name), code };
        if !self.noted && !self.loops.contains(&note) {
            self.loops.push(note);
        }
    }

    /// Emits what is replaced by a call that was noted.
    fn beside(&mut self, emit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.noted, true);
        emit(self);
        self.noted = before;
    }

    fn end(mut self) -> (Vec<Site>, Vec<LoopCode>) {
        let ok = self.b.ins().iconst(types::I64, 0);
        self.b.ins().return_(&[ok]);
        if let Some(fault) = self.fault {
            self.b.switch_to_block(fault);
            self.b.seal_block(fault);
            let &[site, index, detail] = self.b.block_params(fault) else {
                unreachable!("made with three parameters")
            };
            let flags = MemFlagsData::trusted();
            self.b.ins().store(flags, index, self.table, INDEX as i32 * 8);
            self.b.ins().store(flags, detail, self.table, DETAIL as i32 * 8);
            self.b.ins().return_(&[site]);
        }
        self.b.finalize(self.isa.frontend_config());
        (self.sites, self.loops)
    }
}
