//! Kernels: the code around the loops, and what each kernel is called with.

use ust_engine::provider::plan::{Array, Facts, Parameter};
use ust_level_api::ir::schedule::Sharing;
use ust_level_api::ir::{ArrayId, Elem, Function, Var};

use super::about::Telling;
use super::types::{int, is_half, stored};
use super::{Target, Use, Width, Writer};
use crate::prelude::Sections;

/// How a kernel reaches the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Through a pointer.
    Plain,
    /// Not at all: nothing is stored.
    Dropped,
    /// [`Array::RowCounts`]: each part has its own.
    Counts,
    /// [`Array::RowStarts`]: each part has its piece of the array.
    Starts,
    /// Working memory: each worker has its own.
    Work,
    /// Each part has an element.
    Part,
    /// The workspace that is kept as a table.
    Table,
}

/// An argument of a kernel: 8 bytes, an integer or an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Argument {
    /// A parameter of the loops.
    Parameter(usize),
    /// The address of an array. Of working memory, the address of that of all workers.
    Array(ArrayId),
    /// Number of elements of an array. Of working memory, of each worker.
    Length(ArrayId),
    /// The beginning of the range that parts cut.
    RangeLo,
    /// The end of that range.
    RangeHi,
    /// The length of a part.
    Grain,
    /// Number of parts.
    Parts,
    /// The address of an `i64` for each part, that gets the number of its rows.
    Counts,
    /// The address of an `i64` for each part, the number of its first row.
    Offsets,
    /// The address of an `i32`: 0, or the number of an integer division by zero.
    Error,
    /// The address of an `i64` for each part to be run: its number. [`Argument::Parts`] is how many there are.
    Chosen,
    /// Number of threads that run a part together: a power of 2 up to 32, or all of a block.
    Width,
    /// Number of those that share an inner loop: a power of 2.
    Team,
    /// Number of places of a table: a power of 2, twice as many as coordinates or more.
    Slots,
    /// Bytes of a table, see [`Kernel::room`].
    Room,
    /// The address of the tables of all workers, which are not in shared memory.
    Memory,
}

/// A kernel of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kernel {
    /// Its name in the text.
    pub name: &'static str,
    /// What it is called with, in order.
    pub arguments: Vec<Argument>,
    /// Number of threads that run a part together. 0 if it is an [argument](Argument::Width).
    pub lanes: u32,
    /// Bytes of two places of a table, if workers have tables.
    pub two_places: Option<u64>,
}

impl Kernel {
    /// Bytes of a table of so many places: for each worker of a block, in dynamic shared memory, or for each worker.
    /// `None` if workers have no tables, or if nothing is so large.
    #[must_use]
    pub fn room(&self, slots: u64) -> Option<u64> {
        // And a counter.
        (slots / 2).checked_mul(self.two_places?)?.checked_add(4)?.checked_next_multiple_of(16)
    }
}

/// What a kernel is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To write a result at known positions.
    Run,
    /// To count the rows of each part.
    Count,
    /// To write the rows of each part.
    Fill,
    /// To store the range that parts cut; by one thread.
    Range,
    /// To add what parts left for others.
    Add,
    /// To find the longest row.
    Longest,
    /// To count the additions of each part.
    Bound,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Count => "count",
            Self::Fill => "fill",
            Self::Range => "bounds",
            Self::Add => "add_left",
            Self::Longest => "longest",
            Self::Bound => "bound",
        }
    }

    /// How kernels reach each array.
    pub(super) fn reach(
        self,
        function: &Function,
        facts: &Facts,
        grows: &[bool],
        target: Target,
    ) -> Vec<Reach> {
        let each = facts.arrays.iter().zip(grows);
        let of = |(array, grows): (&Array, &bool)| match array {
            _ if matches!(self, Self::Range | Self::Add | Self::Longest) => Reach::Plain,
            Array::RowCounts => Reach::Counts,
            Array::WorkValues | Array::WorkMarks | Array::WorkList
                if matches!(target, Target::Tables { .. }) =>
            {
                Reach::Table
            }
            _ if *grows && self == Self::Count => Reach::Dropped,
            Array::RowStarts | Array::AllRowStarts if matches!(self, Self::Count | Self::Bound) => {
                Reach::Dropped
            }
            // One thread has the whole array.
            _ if target == Target::Cpp => Reach::Plain,
            Array::RowStarts => Reach::Starts,
            Array::WorkValues | Array::WorkMarks | Array::WorkList => Reach::Work,
            _ => Reach::Plain,
        };
        let mut reach: Vec<Reach> = each.map(of).collect();
        // The last two arrays are what parts leave for others. Before them is what other parts left.
        let count = function.arrays.len();
        if self == Self::Add {
            reach.resize(count - 2, Reach::Plain);
        }
        // Other functions store something that is not the plan's.
        let more = if matches!(self, Self::Run | Self::Add) { Reach::Part } else { Reach::Plain };
        reach.resize(count, more);
        reach
    }
}

impl Writer<'_> {
    /// Writes the kernel, and says what it is called with.
    pub(super) fn kernel(&mut self, purpose: Purpose, about: Telling<'_>) -> Kernel {
        self.depth = if purpose == Purpose::Range { 1 } else { 2 };
        let function = self.function;
        self.body(&function.body);
        let body = std::mem::take(&mut self.out);
        self.depth = 1;
        if purpose != Purpose::Range {
            self.around(&body, purpose, about);
        } else {
            self.out = body;
        }
        self.finished(purpose, about, "__global__ void")
    }

    /// Writes a function for one thread, which runs all parts.
    pub(super) fn function(&mut self, purpose: Purpose, about: Telling<'_>) -> Kernel {
        let function = self.function;
        self.body(&function.body);
        let body = std::mem::take(&mut self.out);
        let whole =
            [(Parameter::PartLo, i64::MIN), (Parameter::PartHi, i64::MAX), (Parameter::Region, 0)];
        for (of, value) in whole {
            let at = about.facts.parameters.iter().position(|one| *one == of);
            let Some(at) = at.filter(|at| self.uses.remove(&Use::Parameter(*at))) else { continue };
            let name = self.names.var(Var(at as u32)).to_owned();
            self.line(&format!("const i64 {name} = {};", int(value)));
        }
        let ids = (0..function.arrays.len()).map(|at| ArrayId(at as u32));
        let counts = ids.clone().find(|id| self.reach(*id) == Reach::Counts);
        let rows = counts.map(|id| (self.names.array(id).to_owned(), stored(self.elem(id))));
        if let Some((name, ty)) = &rows {
            self.line(&format!("{ty} {name}[2] = {{0, 0}};"));
        }
        self.out.push_str(&body);
        match rows {
            Some((name, _)) if purpose == Purpose::Count => {
                self.line(&format!("return {name}[0];"));
                self.finished(purpose, about, "i64")
            }
            _ => self.finished(purpose, about, "void"),
        }
    }

    /// Puts comments and the head before the code that was written.
    fn finished(&mut self, purpose: Purpose, about: Telling<'_>, gives: &str) -> Kernel {
        let code = std::mem::take(&mut self.out);
        let arguments = self.arguments();
        let shown: Vec<String> = arguments.iter().map(|one| self.declared(*one)).collect();
        self.out = format!(
            "{}extern \"C\" {gives} {}(\n    {})\n{{\n{code}}}\n",
            self.about(purpose, about, &arguments),
            purpose.name(),
            shown.join(",\n    ")
        );
        let lanes = match self.lanes {
            None => 1,
            Some(Width::Fixed(lanes)) => lanes,
            Some(Width::Given) => 0,
        };
        let two_places = self.table.and_then(|_| self.two_places());
        Kernel { name: purpose.name(), arguments, lanes, two_places }
    }

    /// Writes the loop over parts, with the loops of a part in it.
    fn around(&mut self, body: &str, purpose: Purpose, about: Telling<'_>) {
        let (facts, cut) = (about.facts, about.schedule.range.is_ok());
        let var = |of: Parameter| {
            let at = facts.parameters.iter().position(|one| *one == of)?;
            self.uses.contains(&Use::Parameter(at)).then_some(Var(at as u32))
        };
        let [lo, hi, region] = [Parameter::PartLo, Parameter::PartHi, Parameter::Region].map(var);
        for own in [lo, hi, region].into_iter().flatten() {
            self.uses.remove(&Use::Parameter(own.0 as usize));
        }
        let thread = "(i64)blockIdx.x * blockDim.x + threadIdx.x";
        let threads = "(i64)gridDim.x * blockDim.x";
        match self.lanes {
            None => {
                self.line(&format!("const i64 worker = {thread};"));
                self.line(&format!("const i64 workers = {threads};"));
            }
            Some(Width::Given) if self.table.is_none() => {
                self.uses.insert(Use::Width);
                self.line(&format!("const i64 thread = {thread};"));
                self.line("const i64 lane = thread % width, worker = thread / width;");
                self.line(&format!("const i64 workers = {threads} / width;"));
            }
            Some(width) => {
                self.line(&format!("const i64 lane = threadIdx.x % {width};"));
                let lanes = match width {
                    Width::Given => "ust_lanes_of(width)".to_owned(),
                    Width::Fixed(32) => "0xffffffffu".to_owned(),
                    Width::Fixed(width) => format!(
                        "{:#x}u << (threadIdx.x % 32 / {width} * {width})",
                        (1_u64 << width) - 1
                    ),
                };
                // Lanes that never wait for each other have no use for it.
                if body.contains("lanes)") {
                    self.line(&format!("const u32 lanes = {lanes};"));
                }
                self.line(&format!("const i64 worker = ({thread}) / {width};"));
                self.line(&format!("const i64 workers = {threads} / {width};"));
            }
        }
        let is_used = |writer: &Self, id: ArrayId| writer.uses.contains(&Use::Array(id));
        let ids = (0..self.function.arrays.len()).map(|at| ArrayId(at as u32));
        for id in ids.clone() {
            if self.reach(id) == Reach::Work && is_used(self, id) {
                self.uses.insert(Use::Length(id));
                let (name, ty) = (self.names.array(id).to_owned(), stored(self.elem(id)));
                self.line(&format!("{ty}* const {name} = all_{name} + worker * len_{name};"));
            }
        }
        let tables = self.table.filter(|_| self.lanes == Some(Width::Given));
        if let Some(table) = tables {
            self.tables(&table);
        }
        let works = purpose != Purpose::Bound
            && tables.is_none()
            && facts.rows.as_ref().is_some_and(|rows| rows.opened.is_some());
        if works {
            self.line("i64 opened = 0;");
        }
        self.uses.insert(Use::Parts);
        match tables {
            Some(_) => {
                self.line("for (i64 turn = worker; turn < parts; turn += workers) {");
                self.depth += 1;
                self.line("const i64 part = chosen[turn];");
            }
            None => {
                self.line("for (i64 part = worker; part < parts; part += workers) {");
                self.depth += 1;
            }
        }
        let named = |writer: &Self, var: Var| writer.names.var(var).to_owned();
        let starts = ids.clone().find(|id| self.reach(*id) == Reach::Starts && is_used(self, *id));
        let begin = match lo {
            _ if !cut => "range_lo".to_owned(),
            Some(var) => named(self, var),
            None => "part_begin".to_owned(),
        };
        if lo.is_some() || hi.is_some() || starts.is_some() {
            self.uses.insert(Use::First);
            if cut {
                self.uses.insert(Use::Grain);
                self.line(&format!("const i64 {begin} = range_lo + part * grain;"));
            } else if let Some(var) = lo {
                let name = named(self, var);
                self.line(&format!("const i64 {name} = range_lo;"));
            }
        }
        if let Some(var) = hi {
            self.uses.insert(Use::Last);
            let name = named(self, var);
            match cut {
                true => {
                    self.need(Sections::INTEGERS);
                    self.line(&format!(
                        "const i64 {name} = ust_minimum({begin} + grain, range_hi);"
                    ));
                }
                false => self.line(&format!("const i64 {name} = range_hi;")),
            }
        }
        if let Some(var) = region {
            let name = named(self, var);
            self.line(&format!("const i64 {name} = worker;"));
        }
        if let Some(id) = starts {
            let (name, ty) = (self.names.array(id).to_owned(), stored(self.elem(id)));
            let from = if cut { format!(" + ({begin} - range_lo)") } else { String::new() };
            self.line(&format!("{ty}* const {name} = all_{name}{from};"));
        }
        for id in ids.clone() {
            if self.reach(id) == Reach::Part && is_used(self, id) {
                let (name, ty) = (self.names.array(id).to_owned(), stored(self.elem(id)));
                let each = if about.has_block(id) {
                    self.uses.insert(Use::Length(id));
                    format!(" * len_{name}")
                } else {
                    String::new()
                };
                self.line(&format!("{ty}* const {name} = all_{name} + part{each};"));
            }
        }
        let counts = ids.clone().find(|id| self.reach(*id) == Reach::Counts);
        if let Some(id) = counts {
            let (name, ty) = (self.names.array(id).to_owned(), stored(self.elem(id)));
            let from = match purpose {
                Purpose::Count | Purpose::Bound => "0".to_owned(),
                _ => {
                    self.uses.insert(Use::Offsets);
                    "offsets[part]".to_owned()
                }
            };
            let opened = if works { "opened" } else { "0" };
            self.line(&format!("{ty} {name}[2] = {{{from}, {opened}}};"));
        }
        self.out.push_str(body);
        if let Some(id) = counts {
            let name = self.names.array(id).to_owned();
            if matches!(purpose, Purpose::Count | Purpose::Bound) {
                self.uses.insert(Use::Counts);
                let one = if self.lanes.is_some() { "if (lane == 0) " } else { "" };
                self.line(&format!("{one}counts[part] = {name}[0];"));
            }
            if works {
                self.line(&format!("opened = {name}[1];"));
            }
        }
        self.depth -= 1;
        self.line("}");
    }

    /// What the kernel is called with, in order.
    fn arguments(&self) -> Vec<Argument> {
        let used = |of: &Use| self.uses.contains(of);
        let mut made: Vec<Argument> = Vec::new();
        let params = (0..self.function.params).filter(|at| used(&Use::Parameter(*at)));
        made.extend(params.map(Argument::Parameter));
        for id in (0..self.function.arrays.len()).map(|at| ArrayId(at as u32)) {
            let is_local = matches!(self.reach(id), Reach::Counts | Reach::Table);
            if used(&Use::Array(id)) && !is_local {
                made.push(Argument::Array(id));
            }
            if used(&Use::Length(id)) && !is_local {
                made.push(Argument::Length(id));
            }
        }
        let rest = [
            (Use::First, Argument::RangeLo),
            (Use::Last, Argument::RangeHi),
            (Use::Grain, Argument::Grain),
            (Use::Parts, Argument::Parts),
            (Use::Counts, Argument::Counts),
            (Use::Offsets, Argument::Offsets),
            (Use::Error, Argument::Error),
        ];
        made.extend(rest.into_iter().filter(|(of, _)| used(of)).map(|(_, argument)| argument));
        made.extend(used(&Use::Width).then_some(Argument::Width));
        if used(&Use::Tables) {
            made.extend([Argument::Chosen, Argument::Width]);
            made.extend(used(&Use::Groups).then_some(Argument::Team));
            made.extend([Argument::Slots, Argument::Room]);
            let is_given = self.target == Target::Tables { shared: false };
            made.extend(is_given.then_some(Argument::Memory));
        }
        made
    }

    /// The name of an argument in the text.
    pub(super) fn name_of(&self, argument: Argument) -> String {
        let fixed = match argument {
            Argument::Parameter(at) => self.names.var(Var(at as u32)),
            Argument::Array(id)
                if matches!(self.reach(id), Reach::Starts | Reach::Work | Reach::Part) =>
            {
                return format!("all_{}", self.names.array(id));
            }
            Argument::Array(id) => self.names.array(id),
            Argument::Length(id) => return format!("len_{}", self.names.array(id)),
            Argument::RangeLo => "range_lo",
            Argument::RangeHi => "range_hi",
            Argument::Grain => "grain",
            Argument::Parts => "parts",
            Argument::Counts => "counts",
            Argument::Offsets => "offsets",
            Argument::Error => "error",
            Argument::Chosen => "chosen",
            Argument::Width => "width",
            Argument::Team => "team",
            Argument::Slots => "slots",
            Argument::Room => "room",
            Argument::Memory => "memory",
        };
        fixed.to_owned()
    }

    fn declared(&self, argument: Argument) -> String {
        let name = self.name_of(argument);
        match argument {
            Argument::Array(id) => {
                let decl = &self.function.arrays[id.0 as usize];
                let ty = stored(decl.elem);
                match self.reach(id) {
                    Reach::Plain if !decl.written => format!("const {ty}* __restrict__ {name}"),
                    Reach::Plain if self.sharing(id) == Sharing::Atomic => format!("{ty}* {name}"),
                    _ => format!("{ty}* __restrict__ {name}"),
                }
            }
            Argument::Counts => format!("i64* __restrict__ {name}"),
            Argument::Offsets | Argument::Chosen => format!("const i64* __restrict__ {name}"),
            Argument::Memory => format!("unsigned char* {name}"),
            Argument::Error => format!("i32* {name}"),
            _ => format!("const i64 {name}"),
        }
    }

    /// The name by which code reaches an array.
    pub(super) fn array(&mut self, array: ArrayId) -> &str {
        self.uses.insert(Use::Array(array));
        match self.elem(array) {
            elem if is_half(elem) => self.need(Sections::HALVES),
            Elem::Value(dtype) if dtype.is_complex() => self.need(Sections::COMPLEX),
            _ => {}
        }
        self.names.array(array)
    }
}
