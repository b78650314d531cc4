//! Loops as text: CUDA C++, a kernel or two for each schedule, or functions of C++ for one thread.
//!
//! In CUDA, each part of the outermost loop is run by one thread, or by the lanes of a group of threads together.
//! Elements outside of loops in lanes are written by the first lane. Comments say what a kernel is called with and
//! how it is launched, so that the text can be used alone.

mod about;
mod expr;
mod kernel;
mod names;
mod stmt;
mod table;
pub(crate) mod types;

use std::collections::HashSet;
use std::fmt::Write as _;

pub use about::About;
use about::Telling;
pub use kernel::{Argument, Kernel};
use kernel::{Purpose, Reach};
use names::Names;
use ust_engine::provider::plan::Facts;
use ust_engine::schedule::Schedule;
use ust_level_api::ir::schedule::{LoopMarks, Marks, Sharing, Table, Vector};
use ust_level_api::ir::{ArrayId, Elem, Expr, Function, Stmt, Var};

use crate::prelude::{self, Sections};
use crate::tuning::{BOUND_LANES, WARP};

/// The largest number of elements of an array of which 32 bits tell an index.
pub(crate) const SHORT: u64 = 1 << 32;

/// What a text is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// CUDA C++. Each part is run by so many threads together: a power of 2 up to 32.
    Cuda {
        /// Number of threads.
        lanes: u32,
        /// Whether operands have arrays of at most 2^32 elements. Products in their indices are computed in 32 bits
        /// then, where that takes fewer instructions.
        short: bool,
    },
    /// CUDA C++ for schedules whose lanes write nothing for each other, and form no sums. Each part is run by as many
    /// threads together as the launch says, perhaps of several blocks.
    Spread,
    /// CUDA C++ for schedules with a [table](Table). Each part is run by as many threads together as the launch says.
    Tables {
        /// Whether tables are in shared memory, or else in memory that is given.
        shared: bool,
    },
    /// C++17: functions that run all parts on the thread that calls them.
    Cpp,
}

impl Target {
    /// The name of the language.
    #[must_use]
    pub fn language(self) -> &'static str {
        match self {
            Self::Cuda { .. } | Self::Spread | Self::Tables { .. } => "CUDA C++",
            Self::Cpp => "C++",
        }
    }
}

/// The kernels of a schedule.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Program {
    /// The text, with all that it needs.
    pub text: String,
    /// The kernel that writes the result at known positions, or its rows.
    pub main: Kernel,
    /// The kernel that counts the rows of each part.
    pub count: Option<Kernel>,
    /// The kernel that counts the additions of each part, which [tables](Table) have room for.
    pub bound: Option<Kernel>,
    /// A kernel for one thread, which stores the range that parts cut: two `i64`, at the address of its last
    /// array. `None` if the range depends on parameters alone, or if there is one part.
    pub range: Option<Kernel>,
    /// The kernel that adds what parts left for others; its parts are intervals of parts, and leave something in
    /// turn.
    pub add: Option<Kernel>,
    /// The kernel that finds the longest row; its parts are intervals of the plan's outermost loop.
    pub longest: Option<Kernel>,
    /// Integer divisions that may be by zero. [`Argument::Error`] numbers them from 1.
    pub divisions: Vec<String>,
    target: Target,
    title: String,
}

impl Program {
    /// Writes the kernels of a schedule of a plan with these facts, unless the schedule has its own. `grows` says which arrays of the plan's loops
    /// grow; `about` is for comments.
    ///
    /// # Errors
    /// Why there are no kernels for it.
    pub fn new(
        schedule: &Schedule,
        facts: &Facts,
        grows: &[bool],
        about: &About,
        target: Target,
    ) -> Result<Self, String> {
        let scheduled = &schedule.scheduled;
        let facts = schedule.facts.as_deref().unwrap_or(facts);
        let telling = Telling { about, facts, schedule };
        let lanes = match target {
            Target::Cuda { lanes, .. } => (lanes > 1).then_some(Width::Fixed(lanes)),
            Target::Spread | Target::Tables { .. } => Some(Width::Given),
            Target::Cpp => None,
        };
        let tables = matches!(target, Target::Tables { .. });
        if tables != scheduled.marks.table.is_some() && target != Target::Cpp {
            return Err("tables are for schedules that have some".to_owned());
        }
        let none = Marks::default();
        let mut atomic = Marks::default();
        if let Some(longest) = &schedule.longest {
            let last = ArrayId(longest.arrays.len() as u32 - 1);
            atomic.arrays.insert(last, Sharing::Atomic);
        }
        let adding = schedule.carries.as_ref().map(|carries| &carries.adding);
        let mut sections = Sections::TYPES;
        let mut divisions = Vec::new();
        let mut texts = Vec::new();
        let mut write = |purpose: Purpose, function: &Function| {
            let names = Names::new(function);
            // One thread shares nothing.
            let alone = target == Target::Cpp;
            let lanes = match purpose {
                Purpose::Run | Purpose::Count | Purpose::Fill => lanes,
                Purpose::Bound => Some(Width::Fixed(BOUND_LANES)),
                Purpose::Add => Some(Width::Fixed(WARP)),
                Purpose::Range | Purpose::Longest => None,
            };
            let marks = match purpose {
                _ if alone => &none,
                Purpose::Range => &none,
                Purpose::Add => adding.map_or(&none, |adding| &adding.marks),
                Purpose::Bound => schedule.bounding.as_ref().map_or(&none, |one| &one.marks),
                Purpose::Longest => &atomic,
                Purpose::Run | Purpose::Count | Purpose::Fill => &scheduled.marks,
            };
            let mut writer = Writer {
                target,
                function,
                names: &names,
                marks,
                reach: purpose.reach(function, facts, grows, target),
                ordered: ordered(function, marks),
                assigned: function.assigned(),
                lanes,
                table: marks.table,
                within: false,
                split: false,
                vector: None,
                placed: None,
                read: HashSet::new(),
                sections,
                sites: std::mem::take(&mut divisions),
                uses: HashSet::new(),
                old: None,
                refused: None,
                out: String::new(),
                depth: 1,
            };
            let kernel = match target {
                Target::Cpp => writer.function(purpose, telling),
                _ => writer.kernel(purpose, telling),
            };
            let Writer { out, refused, .. } = writer;
            (sections, divisions) = (writer.sections, writer.sites);
            texts.push(out);
            refused.map_or(Ok(kernel), Err)
        };
        let range = match &schedule.range {
            Ok(range) if target != Target::Cpp && (reads(&range.lo) || reads(&range.hi)) => {
                let bounds = schedule.bounds().expect("a range is known");
                Some(write(Purpose::Range, &bounds)?)
            }
            _ => None,
        };
        let bound = match &schedule.bounding {
            Some(bounding) if tables => Some(write(Purpose::Bound, &bounding.function)?),
            _ => None,
        };
        let count = match &schedule.counting {
            Some(counting) => Some(write(Purpose::Count, counting)?),
            None => None,
        };
        let purpose = if count.is_some() { Purpose::Fill } else { Purpose::Run };
        let main = write(purpose, &scheduled.function)?;
        let mut also = |purpose: Purpose, function: Option<&Function>| {
            function.map(|function| write(purpose, function)).transpose()
        };
        let add = also(Purpose::Add, adding.map(|adding| &adding.function))?;
        let longest = also(Purpose::Longest, schedule.longest.as_ref())?;
        let mut text = match target {
            Target::Cpp => prelude::HOST.to_owned() + "\n",
            _ => String::new(),
        };
        text.push_str(&prelude::text(sections));
        text.push('\n');
        let title = match target {
            Target::Cpp => "one thread".to_owned(),
            _ => schedule.describe(),
        };
        let lines = std::iter::once(title.clone()).chain(about.tensors());
        for line in lines.chain(about.option(target)) {
            let _ = writeln!(text, "// {line}");
        }
        text.push('\n');
        text.push_str(&texts.join("\n"));
        Ok(Self { text, main, count, bound, range, add, longest, divisions, target, title })
    }

    /// A line about the program, for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let (lines, language) = (self.own_text().lines().count(), self.target.language());
        let lanes = match self.main.lanes {
            0 | 1 => String::new(),
            lanes => format!(" ({lanes} threads together)"),
        };
        format!("{lines} lines of {language}: {}{lanes}", self.title)
    }

    /// The text without comments of its own: formats whose loops are the same have the same.
    #[must_use]
    pub(crate) fn code(&self) -> String {
        let own = self.own_text();
        let (prelude, _) = self.text.split_at(self.text.len() - own.len());
        let lines = own.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.fold(prelude.to_owned(), |text, line| text + line + "\n")
    }

    /// The text without the prelude.
    #[must_use]
    pub fn own_text(&self) -> &str {
        prelude::after(&self.text)
    }
}

/// For each array, whether a lane may access elements that another lane writes: it is read, or written at several
/// places, one of which is in a loop in lanes.
fn ordered(function: &Function, marks: &Marks) -> Vec<bool> {
    let count = function.arrays.len();
    let (mut read, mut sites, mut in_lanes) =
        (vec![false; count], vec![0_usize; count], vec![false; count]);
    let mut note = |stmt: &Stmt| {
        for expr in stmt.exprs() {
            expr.visit(&mut |part| {
                if let Expr::Load(array, _) = part {
                    read[array.0 as usize] = true;
                }
            });
        }
        if let Stmt::Store(array, ..) | Stmt::Reduce(_, array, ..) | Stmt::Sort(array, ..) = stmt {
            sites[array.0 as usize] += 1;
        }
    };
    Stmt::visit_all(&function.body, &mut note);
    Stmt::visit_all(&function.body, &mut |stmt| {
        let Stmt::For { var, lo, body, .. } = stmt else { return };
        let Some(LoopMarks { lanes: Some(_), vector, .. }) = marks.loops.get(var) else { return };
        // A loop over a coordinate of the elements, which always begins at the same number, gives each lane the
        // same elements every time.
        let again = |index: &Expr| {
            let mut found = false;
            index.visit(&mut |part| found |= *part == Expr::Var(*var));
            !found || !matches!(lo, Expr::Int(_))
        };
        // Elements side by side are of one lane.
        let all = vector.as_ref().map_or(1, |vector| vector.count as usize);
        for array in vector.iter().flat_map(|vector| &vector.arrays) {
            let mut stores = 0;
            Stmt::visit_all(body, &mut |stmt| {
                stores += usize::from(matches!(stmt, Stmt::Store(to, ..) if to == array));
            });
            sites[array.0 as usize] -= stores - stores / all;
        }
        Stmt::visit_all(body, &mut |stmt| {
            if let Stmt::Store(array, index, _) | Stmt::Reduce(_, array, index, _) = stmt {
                in_lanes[array.0 as usize] = true;
                sites[array.0 as usize] += usize::from(again(index));
            }
        });
    });
    (0..count).map(|at| read[at] || in_lanes[at] && sites[at] > 1).collect()
}

fn reads(expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |part| found |= matches!(part, Expr::Load(..) | Expr::Len(_)));
    found
}

/// What the code of a kernel has to be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Use {
    Parameter(usize),
    Array(ArrayId),
    Length(ArrayId),
    /// An index of the array is computed in 32 bits.
    Short(ArrayId),
    First,
    Last,
    Grain,
    Parts,
    Counts,
    Offsets,
    Error,
    /// What kernels with tables are given.
    Tables,
    Width,
    /// Whether lanes share two nested loops.
    Groups,
}

/// Number of threads that run a part together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// As the text says.
    Fixed(u32),
    /// As the launch says.
    Given,
}

impl std::fmt::Display for Width {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(width) => width.fmt(f),
            Self::Given => f.write_str("width"),
        }
    }
}

/// A kernel that is being written.
struct Writer<'a> {
    target: Target,
    function: &'a Function,
    names: &'a Names,
    marks: &'a Marks,
    reach: Vec<Reach>,
    /// For each array, whether lanes have to wait for each other when it is written.
    ordered: Vec<bool>,
    /// For each variable, whether it changes.
    assigned: Vec<bool>,
    /// Number of threads that run a part together, if there are several.
    lanes: Option<Width>,
    /// The workspace that is kept as a table.
    table: Option<Table>,
    /// Whether the code is in a loop in lanes.
    within: bool,
    /// Whether it is in a loop in lanes with another inside.
    split: bool,
    /// The elements side by side that the loop accesses which is being written.
    vector: Option<&'a Vector>,
    /// The coordinate whose place in the table is known, and that place.
    placed: Option<(Expr, String)>,
    /// The variables whose values the innermost loop reads.
    read: HashSet<Var>,
    sections: Sections,
    sites: Vec<String>,
    uses: HashSet<Use>,
    /// The element that is being combined as a whole: it is `old` in the text.
    old: Option<Expr>,
    refused: Option<String>,
    out: String,
    depth: usize,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:width$}{text}", "", width = self.depth * 2);
    }

    fn need(&mut self, section: Sections) {
        self.sections |= section;
    }

    fn refuse(&mut self, why: &str) {
        self.refused.get_or_insert_with(|| why.to_owned());
    }

    fn reach(&self, array: ArrayId) -> Reach {
        self.reach[array.0 as usize]
    }

    fn elem(&self, array: ArrayId) -> Elem {
        self.function.arrays[array.0 as usize].elem
    }

    fn sharing(&self, array: ArrayId) -> Sharing {
        self.marks.arrays.get(&array).copied().unwrap_or_default()
    }
}
