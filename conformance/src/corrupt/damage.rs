//! What can be wrong with one array.

use std::collections::BTreeMap;

use ust_engine::Format;
use ust_engine::tensor::Tensor;
use ust_engine::walk::nest::Reach as Walked;
use ust_engine::walk::unpack::{Column, Keep, unpack};
use ust_level_api::{ArraySpec, IndexArray, IndexKind, Per, Reach, Role};

use crate::report::Trouble;

/// Other contents for one array.
pub(super) struct Damage {
    /// What was done, in words.
    pub(super) what: String,
    pub(super) level: usize,
    pub(super) array: usize,
    pub(super) contents: IndexArray,
    /// The rule that it breaks for certain, where it does.
    pub(super) breaks: Option<&'static str>,
}

const NONE: (bool, &str) = (false, "");
const LENGTH: &str = "the array has another length than its description says";
const AMONG: &str = "positions lie among those that there are";
const BESIDE: &str = "the level claims `contiguous`: positions do not descend from one parent to the \
                      next";
const INSIDE: &str = "coordinates lie in `site.bounds()`";
const DISTINCT: &str = "the level claims `unique`: no coordinate stands twice under one parent";
const ORDER: &str = "the level claims `ordered`: coordinates ascend under one parent";

/// What a walk says of each level: its children.
pub(super) struct Anatomy {
    /// For each level, for each position visited, its parent.
    parents: Vec<BTreeMap<i64, i64>>,
    /// For each level, whether all of its parents are in reach. What is stored for others is
    /// nobody's, and need not make sense.
    reached: Vec<bool>,
}

impl Anatomy {
    /// Walks a tensor.
    pub(super) fn of(tensor: &Tensor) -> Result<Self, Trouble> {
        let levels = tensor.format().level_count();
        let columns: Vec<Column> = (0..levels).map(Column::LevelPosition).collect();
        let room = tensor.nse() + 1;
        let columns = unpack(tensor, Walked::Everything, &columns, Keep::All, room)?;
        let parents = (0..levels).map(|level| {
            let above = level.checked_sub(1).map(|above| &columns[above]);
            let here = columns[level].iter().enumerate();
            here.map(|(row, &pos)| (pos, above.map_or(0, |above| above[row]))).collect()
        });
        let mut reach = Reach::all(1);
        let mut reached = Vec::new();
        for (level, arrays) in tensor.levels().iter().enumerate() {
            reached.push(reach.iter().count() as u64 == reach.positions);
            let ty = &tensor.format().levels()[level].ty;
            reach = ty.check(&tensor.bound().site(level), arrays, &reach)?;
        }
        Ok(Self { parents: parents.collect(), reached })
    }

    fn is_visited(&self, level: usize, pos: usize) -> bool {
        self.parents[level].contains_key(&(pos as i64))
    }

    /// Whether two positions are visited under one parent.
    fn are_siblings(&self, level: usize, a: usize, b: usize) -> bool {
        let parent = |pos: usize| self.parents[level].get(&(pos as i64));
        parent(a).is_some() && parent(a) == parent(b)
    }
}

/// Every damage to every array.
pub(super) fn all(tensor: &Tensor, anatomy: &Anatomy) -> Vec<Damage> {
    let mut all = Vec::new();
    for (level, description) in tensor.format().descriptions().iter().enumerate() {
        for (array, spec) in description.arrays.iter().enumerate() {
            let target = Target { tensor, anatomy, level, array, spec };
            target.lengths(&mut all);
            match spec {
                bounds if bounds.bounds_children() => target.positions(&mut all),
                list if list.lists_coordinates() => target.coordinates(&mut all),
                _ => target.anything(&mut all),
            }
        }
    }
    all
}

/// One array of a tensor.
struct Target<'a> {
    tensor: &'a Tensor,
    anatomy: &'a Anatomy,
    level: usize,
    array: usize,
    spec: &'a ArraySpec,
}

impl Target<'_> {
    fn numbers(&self) -> Vec<i64> {
        self.tensor.levels()[self.level].0[self.array].to_vec()
    }

    /// Other numbers. They break a rule for certain where that says so.
    fn add(
        &self,
        all: &mut Vec<Damage>,
        what: String,
        numbers: Vec<i64>,
        (certain, rule): (bool, &'static str),
    ) {
        if numbers == self.numbers() {
            return;
        }
        let contents = store(self.spec, numbers);
        let Self { level, array, .. } = *self;
        all.push(Damage { what, level, array, contents, breaks: certain.then_some(rule) });
    }

    fn put(&self, all: &mut Vec<Damage>, at: usize, value: i64, breaks: (bool, &'static str)) {
        let mut numbers = self.numbers();
        numbers[at] = value;
        self.add(all, format!("[{at}] = {value}"), numbers, breaks);
    }

    /// Another length than the level says cannot be right, where it says one.
    fn lengths(&self, all: &mut Vec<Damage>) {
        let numbers = self.numbers();
        let breaks = (!matches!(self.spec.per, Per::Other(_)), LENGTH);
        for extra in [1, 2] {
            let mut longer = numbers.clone();
            longer.extend(vec![numbers.last().copied().unwrap_or(0); extra]);
            self.add(all, format!("{extra} more"), longer, breaks);
        }
        if let Some((_, shorter)) = numbers.split_last() {
            self.add(all, "the last is missing".to_owned(), shorter.to_vec(), breaks);
            self.add(all, "empty".to_owned(), Vec::new(), breaks);
        }
    }

    fn positions(&self, all: &mut Vec<Damage>) {
        let numbers = self.numbers();
        let most = numbers.iter().copied().max().unwrap_or(0);
        let reached = self.anatomy.reached[self.level];
        let props = self.tensor.format().descriptions()[self.level].props;
        let contiguous = reached && props.contiguous;
        for (at, &value) in numbers.iter().enumerate() {
            for huge in [most + 1, i64::from(i32::MAX), i64::MAX] {
                self.put(all, at, huge, (reached, AMONG));
            }
            for negative in [-1, i64::MIN] {
                self.put(all, at, negative, (reached, AMONG));
            }
            // Where neighbours share their boundaries, a descent cannot be right.
            let descends = at > 0 && contiguous && value - 1 < numbers[at - 1];
            self.put(all, at, value - 1, (descends, BESIDE));
            self.put(all, at, value + 1, NONE);
            self.put(all, at, 0, NONE);
            if at > 0 {
                let mut swapped = numbers.clone();
                swapped.swap(at - 1, at);
                self.add(
                    all,
                    format!("[{}] and [{at}] swapped", at - 1),
                    swapped,
                    (contiguous, BESIDE),
                );
            }
        }
    }

    fn coordinates(&self, all: &mut Vec<Damage>) {
        let numbers = self.numbers();
        let domain = self.tensor.bound().levels()[self.level];
        let end = domain.lower + domain.size as i64;
        let props = self.tensor.format().descriptions()[self.level].props;
        for (at, &value) in numbers.iter().enumerate() {
            let visited = self.anatomy.is_visited(self.level, at);
            for outside in [end, domain.lower - 1, i64::MAX, i64::MIN] {
                self.put(all, at, outside, (visited, INSIDE));
            }
            for near in [value.wrapping_sub(1), value.wrapping_add(1)] {
                let inside = (domain.lower..end).contains(&near);
                self.put(all, at, near, (visited && !inside, INSIDE));
            }
            if at > 0 && visited && self.anatomy.are_siblings(self.level, at - 1, at) {
                let before = numbers[at - 1];
                self.put(all, at, before, (props.unique, DISTINCT));
                let mut swapped = numbers.clone();
                swapped.swap(at - 1, at);
                let what = format!("[{}] and [{at}] swapped", at - 1);
                self.add(all, what, swapped, (props.ordered, ORDER));
            }
        }
    }

    /// Nobody knows the rules of such an array: what is accepted must behave.
    fn anything(&self, all: &mut Vec<Damage>) {
        for (at, value) in self.numbers().into_iter().enumerate() {
            for other in [value.wrapping_sub(1), value.wrapping_add(1), 0, 1, -1, i64::MAX] {
                self.put(all, at, other, NONE);
            }
        }
    }
}

/// Numbers as an array that the engine does not refuse for its kind alone, where that can be: as
/// wide as can be, or as near as the level's own kind comes.
pub(crate) fn store(spec: &ArraySpec, numbers: Vec<i64>) -> IndexArray {
    match spec.role {
        Role::Position | Role::Coordinate => IndexArray::from(numbers),
        Role::Own(kind) => {
            let (lo, hi) = kind.range();
            let near: Vec<i64> = numbers.into_iter().map(|number| number.clamp(lo, hi)).collect();
            IndexArray::store(kind, &near, "", "").unwrap_or_else(|_| IndexArray::empty(kind))
        }
    }
}

/// A kind in which the array is never stored.
pub(super) fn foreign_kind(spec: &ArraySpec, format: &Format) -> Option<IndexKind> {
    match spec.role {
        Role::Own(IndexKind::U16) => Some(IndexKind::U8),
        Role::Own(_) => Some(IndexKind::U16),
        Role::Position | Role::Coordinate if spec.min_bits > 2 => Some(IndexKind::U2),
        Role::Coordinate if !matches!(format.crd_width(), 0 | 64) => Some(IndexKind::U64),
        Role::Position | Role::Coordinate => None,
    }
}
