//! Comments: what a kernel is called with, and how it is launched.

use std::fmt::Write as _;

use ust_engine::format::Format;
use ust_engine::ops::Operator;
use ust_engine::provider::Plan;
use ust_engine::provider::conversion::Conversion;
use ust_engine::provider::plan::{Access, Array, Facts, ItemSize, Parameter};
use ust_engine::schedule::Schedule;
use ust_level_api::ir::schedule::Vector;
use ust_level_api::ir::{ArrayId, Elem, Expr};
use ust_level_api::{Dtype, Per, Scalar};

use super::kernel::{Argument, Purpose};
use super::types::alignment;
use super::{Target, Use, Writer};
use crate::launch::STRICT;

/// The width of comments.
const WIDTH: usize = 100;

/// What comments tell of the tensors of a plan.
#[derive(Clone, Debug)]
pub struct About {
    operands: Vec<Tensor>,
    result: Tensor,
    /// The value of elements before the loops run.
    begin: Scalar,
    /// The name of the operator of the reduction.
    operator: String,
    /// Whether sums are formed in the order of the loops.
    strict: bool,
}

#[derive(Clone, Debug)]
struct Tensor {
    name: String,
    format: Format,
    dtype: Dtype,
    /// For each dimension, the number of its index variable.
    indices: Vec<usize>,
    /// Whether one value stands for all.
    iso: bool,
}

impl About {
    /// What comments tell of the tensors of a plan.
    #[must_use]
    pub fn new(plan: &Plan<'_>) -> Self {
        let tensor = |name: String, of: &Access<'_>| Tensor {
            name,
            format: of.format.clone(),
            dtype: of.dtype,
            indices: of.indices.to_vec(),
            iso: of.iso,
        };
        let operands = plan.operands.iter().enumerate();
        Self {
            operands: operands.map(|(at, of)| tensor(name(plan, at), of)).collect(),
            result: tensor("the result".to_owned(), &plan.result),
            begin: plan.result.fill,
            operator: plan.reduce.map_or(Operator::Add.name(), |(of, _)| of.name()),
            strict: plan.strict,
        }
    }

    /// What comments tell of the tensors of a conversion.
    #[must_use]
    pub fn of_conversion(conversion: &Conversion<'_>) -> Self {
        let dtype = conversion.dtype();
        let indices: Vec<usize> = (0..conversion.tensor().rank()).collect();
        let tensor = |name: &str, format: &Format| Tensor {
            name: name.to_owned(),
            format: format.clone(),
            dtype,
            indices: indices.clone(),
            iso: false,
        };
        Self {
            operands: vec![tensor("A", conversion.tensor().format())],
            result: tensor("the result", conversion.result().format()),
            begin: conversion.fill(),
            strict: false,
            operator: Operator::Add.name(),
        }
    }

    /// The number of elements of the result, for index variables of these extents.
    pub(crate) fn elements(&self, extents: &[usize]) -> u64 {
        let extents = self.result.indices.iter().map(|&v| extents[v] as u64);
        extents.fold(1, u64::saturating_mul)
    }

    /// A line for each tensor.
    pub(super) fn tensors(&self) -> impl Iterator<Item = String> {
        let all = self.operands.iter().chain([&self.result]);
        all.map(|of| format!("{} in `{}`, {}", of.name, of.format, of.dtype))
    }

    /// A line about the option of the compiler without which sums are not those of the loops. `None` if they need
    /// not be.
    pub(super) fn option(&self, target: Target) -> Option<String> {
        let option = match target {
            Target::Cpp => "-ffp-contract=off",
            _ => STRICT,
        };
        self.strict.then(|| format!("compile it with {option}: products are not fused with sums"))
    }
}

/// What comments are about.
#[derive(Clone, Copy)]
pub(super) struct Telling<'a> {
    pub(super) about: &'a About,
    pub(super) facts: &'a Facts,
    pub(super) schedule: &'a Schedule,
}

impl Telling<'_> {
    /// A level of an operand, or of the result.
    fn level(&self, operand: Option<usize>, level: usize) -> String {
        let of = operand.map_or(&self.about.result, |at| &self.about.operands[at]);
        format!("level {level} of {} (`{}`)", of.name, of.format.level_text(level))
    }

    fn parameter(&self, parameter: Parameter) -> String {
        let coordinates = |of| format!("number of coordinates of {of}");
        let lowest = |of| format!("lowest coordinate of {of}");
        match parameter {
            Parameter::Extent(v) => {
                let mut all = self.about.operands.iter().chain([&self.about.result]);
                let place = |of: &Tensor| of.indices.iter().position(|index| *index == v);
                match all.find_map(|of| Some((place(of)?, &of.name))) {
                    Some((dim, of)) => format!("extent of dimension {dim} of {of}"),
                    None => "extent of an index".to_owned(),
                }
            }
            Parameter::Size { operand, level } => coordinates(self.level(Some(operand), level)),
            Parameter::ResultSize(level) => coordinates(self.level(None, level)),
            Parameter::Lower { operand, level } => lowest(self.level(Some(operand), level)),
            Parameter::ResultLower(level) => lowest(self.level(None, level)),
            Parameter::Item { operand, size: ItemSize::Positions { level } } => {
                format!(
                    "positions for each item of the batch, of {}",
                    self.level(Some(operand), level)
                )
            }
            Parameter::Item { operand, size: ItemSize::Elements { level, array } } => {
                format!(
                    "elements for each item of the batch, of array {array} of {}",
                    self.level(Some(operand), level)
                )
            }
            // Kernels set the others themselves.
            _ => "set by the kernel".to_owned(),
        }
    }

    fn array(&self, array: Array, alone: bool) -> String {
        let begin = self.about.begin;
        let room = match alone {
            true => format!("working memory: {}", self.room(array)),
            false => "working memory of each worker".to_owned(),
        };
        match array {
            Array::Level { operand, level, array } => {
                let spec = &self.about.operands[operand].format.descriptions()[level].arrays[array];
                let parents = match level {
                    0 => None,
                    level => Some(format!("each position of level {}", level - 1)),
                };
                let length = match (spec.per, &parents) {
                    (Per::Position, _) => "one for each position of the level".to_owned(),
                    (Per::Parent, Some(parents)) => format!("one for {parents}"),
                    (Per::ParentBound, Some(parents)) => format!("one for {parents}, and one more"),
                    (Per::ParentPair, Some(parents)) => format!("two for {parents}"),
                    (Per::Parent, None) => "1 element".to_owned(),
                    (Per::ParentBound | Per::ParentPair, None) => "2 elements".to_owned(),
                    (Per::Other(text), _) => text.to_owned(),
                };
                format!("`{}` of {}: {length}", spec.name, self.level(Some(operand), level))
            }
            Array::Values(operand) => {
                let of = &self.about.operands[operand];
                let each = match of.iso {
                    true => "one for all positions",
                    false => "one for each position of its last level",
                };
                format!("values of {}: {each}", of.name)
            }
            Array::Column(_) => {
                "a column of the conversion: one for each stored value of A".to_owned()
            }
            Array::Mask => {
                "1 for each stored value of A that is an entry; all are 0 before".to_owned()
            }
            Array::Result => match self.schedule.sets_all {
                true => "values of the result, by position: all are set".to_owned(),
                false => format!("values of the result, by position: all are {begin} before"),
            },
            Array::RowValues => {
                let block = match &self.facts.rows {
                    Some(rows) if rows.block != Expr::Int(1) => {
                        let block =
                            self.schedule.scheduled.function.show_expr(&rows.block).to_string();
                        format!("{block} for each row")
                    }
                    _ => "one for each row".to_owned(),
                };
                format!("values of the rows of the result: {block}; all are {begin} before")
            }
            Array::RowCoordinates(level) => {
                format!("coordinates at {}: one for each row", self.level(None, level))
            }
            Array::RowStarts | Array::AllRowStarts => format!(
                "number of the first row of each coordinate of {}; coordinates beyond the range have no \
                 rows, and are not set",
                self.level(None, 0)
            ),
            Array::WorkValues => format!("{room}, all {begin} before"),
            Array::WorkMarks => format!("{room}, all 0 before"),
            Array::WorkList => format!("{room}, of any values"),
            Array::Table { operand, level } => {
                let each = if alone { "" } else { " for each worker" };
                let level = self.level(Some(operand), level);
                format!(
                    "working memory{each}: one for each coordinate of {level}, and one more; all 0 before"
                )
            }
            _ => "set by the kernel".to_owned(),
        }
    }

    fn argument(&self, argument: Argument, writer: &Writer<'_>, purpose: Purpose) -> String {
        let alone = writer.is_alone();
        let bound = |lo: bool| match &self.schedule.range {
            _ if purpose == Purpose::Add => match lo {
                true => "0".to_owned(),
                false => "number of parts of `run`".to_owned(),
            },
            _ if purpose == Purpose::Longest => match lo {
                true => "beginning of the rows to look at, such as 0".to_owned(),
                false => "end of the rows to look at".to_owned(),
            },
            Err(_) => {
                format!("the {} `i64`: there is one part", if lo { "least" } else { "largest" })
            }
            Ok(range) => {
                let bound = if lo { &range.lo } else { &range.hi };
                let end = if lo { "beginning" } else { "end" };
                match super::reads(&range.lo) || super::reads(&range.hi) {
                    true => format!("{end} of the range that parts cut, as `bounds` stores it"),
                    false => {
                        let bound = self.schedule.scheduled.function.show_expr(bound);
                        format!("{end} of the range that parts cut: {bound}")
                    }
                }
            }
        };
        match argument {
            Argument::Parameter(at) => {
                let mut said = self.parameter(self.facts.parameters[at]);
                let is_own = |vector: &&Vector| vector.extent.0 as usize == at;
                if let Some(Vector { count, .. }) = self.vectors(purpose).find(is_own) {
                    let _ = write!(said, ", a multiple of {count}");
                }
                said
            }
            Argument::Array(id) => {
                let elem = writer.function.arrays[id.0 as usize].elem;
                let said = match self.own(id, purpose) {
                    Some(said) => said.to_owned(),
                    None => self.array(self.facts.arrays[id.0 as usize], alone),
                };
                let mut said = format!("{}, {said}", kind(elem));
                let vector = self.vectors(purpose).find(|vector| vector.arrays.contains(&id));
                if let Some(vector) = vector {
                    let bytes = alignment(vector, elem);
                    let _ = write!(said, "; its address is a multiple of {bytes}");
                }
                if writer.uses.contains(&Use::Short(id)) {
                    said.push_str("; at most 2^32 elements");
                }
                said
            }
            Argument::Length(id) => self.length(id),
            Argument::RangeLo => bound(true),
            Argument::RangeHi => bound(false),
            Argument::Grain if purpose == Purpose::Add => {
                "length of a part, 2 or more, such as 32".to_owned()
            }
            Argument::Grain => "length of a part, 1 or more".to_owned(),
            Argument::Parts if arguments_choose(writer) => "number of parts to be run".to_owned(),
            Argument::Parts if self.schedule.range.is_ok() => {
                "number of parts: (range_hi - range_lo) / grain, rounded up".to_owned()
            }
            Argument::Parts => "number of parts: 1".to_owned(),
            Argument::Counts if purpose == Purpose::Bound => {
                "i64, the number of additions of each part, which the kernel stores".to_owned()
            }
            Argument::Counts => {
                "i64, the number of rows of each part, which the kernel stores".to_owned()
            }
            Argument::Offsets => "i64, the number of rows in the parts before each part".to_owned(),
            Argument::Error => {
                let sites = writer.sites.iter().enumerate();
                let sites: Vec<String> =
                    sites.map(|(at, site)| format!("{} for `{site}`", at + 1)).collect();
                let mut said = vec!["i32, 0 before".to_owned()];
                if !sites.is_empty() {
                    said.push(format!("after an integer division by zero {}", sites.join(", ")));
                }
                if writer.table.is_some() {
                    said.push("-1 if a table has no room".to_owned());
                }
                said.join("; ")
            }
            Argument::Chosen => "i64, the numbers of the parts to be run".to_owned(),
            Argument::Width if writer.target == Target::Spread => {
                "number of threads of a worker: a power of 2, such as the mean number of stored values of a part"
                    .to_owned()
            }
            Argument::Width => {
                "number of threads of a worker: a power of 2 up to 32, or all of a block".to_owned()
            }
            Argument::Team => {
                "number of these that share an inner loop: a power of 2, such as its mean number of iterations"
                    .to_owned()
            }
            Argument::Slots => format!(
                "number of places of a table: a power of 2, 4 or more, and twice {} of a part or more",
                if purpose == Purpose::Count { "what `bound` counts" } else { "the number of rows" }
            ),
            Argument::Room => format!(
                "bytes of a table: {} * slots + 4, rounded up to a multiple of 16",
                writer.two_places().unwrap_or(0) / 2
            ),
            Argument::Memory => "tables of all workers, of any contents".to_owned(),
        }
    }

    /// The elements side by side that a kernel accesses.
    fn vectors(&self, purpose: Purpose) -> impl Iterator<Item = &Vector> {
        self.schedule.vectors().filter(move |vector| purpose == Purpose::Run && !vector.apart)
    }

    /// What an array is that is not one of the plan's.
    fn own(&self, id: ArrayId, purpose: Purpose) -> Option<&'static str> {
        let arrays = &self.schedule.scheduled.function.arrays;
        let first_written = arrays.iter().position(|array| array.written);
        let carries = self.schedule.carries.as_ref();
        match purpose {
            Purpose::Range | Purpose::Longest
                if first_written.is_none_or(|first| id.0 as usize >= first) =>
            {
                Some(if purpose == Purpose::Range {
                    "2 elements: the beginning and the end of the range"
                } else {
                    "1 element, 0 before: the number of entries of the longest row"
                })
            }
            _ if carries.is_some_and(|of| [of.left.rows, of.next.rows].contains(&id)) => {
                Some(match (purpose, carries.is_some_and(|of| of.left.rows == id)) {
                    (Purpose::Add, true) => {
                        "for each part of `run`, or of `add_left` before, the row whose sum it left, or the least `i64`"
                    }
                    _ => {
                        "for each part, the row whose sum it leaves for others, or the least `i64`"
                    }
                })
            }
            _ if self.has_block(id) => Some("for each part, the sums of that row"),
            _ if carries.is_some_and(|of| [of.left.sums, of.next.sums].contains(&id)) => {
                Some("for each part, that sum")
            }
            _ => None,
        }
    }

    /// Whether each part has several elements of an array that is not one of the plan's.
    pub(super) fn has_block(&self, id: ArrayId) -> bool {
        let carries = self.schedule.carries.as_ref();
        carries.is_some_and(|of| {
            [of.left.sums, of.next.sums].contains(&id) && of.block != Expr::Int(1)
        })
    }

    /// How many elements of working memory a worker needs.
    fn room(&self, array: Array) -> String {
        // The last level above the trailing dense block.
        let slots = match self.about.result.format.tail().checked_sub(1) {
            Some(level) => format!("one for each coordinate of {}", self.level(None, level)),
            None => "1 element".to_owned(),
        };
        match (array, &self.facts.rows) {
            (Array::WorkValues, Some(rows)) if rows.block != Expr::Int(1) => {
                format!(
                    "{slots}, times {}",
                    self.schedule.scheduled.function.show_expr(&rows.block)
                )
            }
            _ => slots,
        }
    }

    fn length(&self, id: ArrayId) -> String {
        match self.facts.arrays.get(id.0 as usize) {
            Some(array @ (Array::WorkValues | Array::WorkMarks | Array::WorkList)) => {
                format!("length of the working memory of each worker: {}", self.room(*array))
            }
            None if self.has_block(id) => "number of sums of a row".to_owned(),
            _ => "number of elements".to_owned(),
        }
    }

    /// What a kernel does, and how it is launched.
    fn purpose(
        &self,
        purpose: Purpose,
        writer: &Writer<'_>,
        arguments: &[Argument],
    ) -> Vec<String> {
        let alone = writer.is_alone();
        let mut said = Vec::new();
        said.push(match (purpose, alone) {
            (Purpose::Range, _) => "Stores the range that parts cut. One thread runs it.".to_owned(),
            (Purpose::Run, _) if self.schedule.carries.is_some() => {
                "Writes the result, but for what `add_left` adds afterwards.".to_owned()
            }
            (Purpose::Run, _) if self.facts.arrays.contains(&Array::Column(0)) => {
                "Writes columns, at the position of each stored value.".to_owned()
            }
            (Purpose::Run, _) => "Writes the result.".to_owned(),
            (Purpose::Count, true) => "Gives the number of rows of the result.".to_owned(),
            (Purpose::Count, false) => "Counts the rows of each part. Then `offsets` are made of `counts`: the \
                sum of those before each part. The sum of all is the number of rows, for which `fill` needs \
                room."
                .to_owned(),
            (Purpose::Fill, _) => "Writes the rows of the result, after `count`.".to_owned(),
            (Purpose::Add, _) => "Adds what the parts of `run` left for others. Parts of it are intervals of those \
                parts, and leave something for others in turn: run it again on that, until it has one part."
                .to_owned(),
            (Purpose::Longest, _) => "Finds the longest row.".to_owned(),
            (Purpose::Bound, _) => "Counts the additions of each part: none of its tables has more coordinates."
                .to_owned(),
        });
        let in_order = self.facts.rows.as_ref().is_none_or(|rows| rows.sorted);
        if purpose == Purpose::Fill && (self.schedule.combines_rows || !in_order) {
            let operator = &self.about.operator;
            said.push(format!(
                "Rows are in any order, and several may have the same coordinates: sort them, and \
                 combine the values of those by `{operator}`."
            ));
        }
        if purpose == Purpose::Range || alone {
            return said;
        }
        if arguments_choose(writer) {
            let memory = match writer.target {
                Target::Tables { shared: false } => "",
                _ => ", with `room` bytes of dynamic shared memory for each worker of a block",
            };
            said.push(format!(
                "A worker is `width` threads, and runs every `workers`-th of the parts that `chosen` lists: those \
                 whose tables fit. Launch any number of workers, in blocks of one dimension, with a multiple of 32 \
                 threads in each{memory}."
            ));
            return said;
        }
        let each = match writer.lanes {
            Some(super::Width::Given) => "`width` threads".to_owned(),
            Some(lanes) => format!("{lanes} threads side by side"),
            None => "a thread".to_owned(),
        };
        let has_work = arguments.iter().any(|argument| {
            let Argument::Array(id) = argument else { return false };
            self.facts.arrays.get(id.0 as usize).is_some_and(|array| array.is_work())
        });
        let how_many = match has_work {
            true => "as many workers as there is working memory for",
            false => "any number of workers",
        };
        said.push(format!(
            "A worker is {each}, and runs every `workers`-th part. Launch {how_many}, in blocks of one \
             dimension, with a multiple of 32 threads in each, such as 256."
        ));
        said
    }
}

impl Writer<'_> {
    /// Whether one thread runs all parts.
    fn is_alone(&self) -> bool {
        self.target == super::Target::Cpp
    }

    /// The comment that stands before a kernel.
    pub(super) fn about(
        &self,
        purpose: Purpose,
        about: Telling<'_>,
        arguments: &[Argument],
    ) -> String {
        let mut out = String::new();
        for said in about.purpose(purpose, self, arguments) {
            wrap(&mut out, &said, "");
        }
        for argument in arguments {
            let said = about.argument(*argument, self, purpose);
            wrap(&mut out, &format!("{}: {said}", self.name_of(*argument)), "  ");
        }
        out
    }
}

/// Whether a kernel runs parts that are listed.
fn arguments_choose(writer: &Writer<'_>) -> bool {
    writer.lanes == Some(super::Width::Given) && writer.target != Target::Spread
}

/// The name of an operand. Loops name its values after it.
fn name(plan: &Plan<'_>, operand: usize) -> String {
    let values = plan.facts.arrays.iter().position(|array| *array == Array::Values(operand));
    let name = values.map(|at| plan.function.arrays[at].name.as_str()).unwrap_or_default();
    name.rsplit_once("_val").map_or(name, |(name, _)| name).to_owned()
}

fn kind(elem: Elem) -> String {
    match elem {
        Elem::Index(kind) if kind.bits() < 8 => format!("{kind}, {} in a byte", 8 / kind.bits()),
        Elem::Index(kind) => kind.to_string(),
        Elem::Value(dtype) => dtype.to_string(),
    }
}

/// Writes a comment in lines that are not too long. `indent` stands before the first, and twice before the others.
fn wrap(out: &mut String, text: &str, indent: &str) {
    let mut line = format!("// {indent}");
    let mut begins = true;
    for word in text.split_whitespace() {
        if !begins && line.len() + 1 + word.len() > WIDTH {
            let _ = writeln!(out, "{line}");
            line = format!("// {indent}{indent}");
            begins = true;
        }
        if !begins {
            line.push(' ');
        }
        line.push_str(word);
        begins = false;
    }
    let _ = writeln!(out, "{line}");
}
