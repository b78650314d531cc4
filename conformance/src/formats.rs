//! Which formats are tried: level types at every depth, with every neighbour, under many maps.
//!
//! A [`Stack`] is a sequence of level types; [`arrange`] gives its levels expressions. Nothing here
//! knows a level type: what a level's expression must look like follows from where it says it fits
//! ([`Needs`]).

use std::collections::BTreeSet;

use ust_level_api::{Description, ExprShape, LevelType, Place};

use crate::samples::{Needs, Sample, representatives};

/// Level types, one under another.
pub type Stack<'a> = Vec<&'a Sample>;

/// Names of dimensions.
const NAMES: [&str; 6] = ["i", "j", "k", "l", "m", "n"];
/// The factor of a linearised level: no extent of a test tensor is larger.
const FACTOR: usize = 8;

/// What a level stores. Dimensions are counted in the order in which they were introduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    Dimension(usize),
    Quotient(usize, u64),
    Remainder(usize, u64),
    /// The middle digit of a dimension that is split in three.
    Middle(usize, u64, u64),
    /// The first dimension minus the second.
    Difference(usize, usize),
    Sum(usize, usize),
    /// Two dimensions in one level.
    Linear(usize, usize),
}

impl Cell {
    fn text(self) -> String {
        let name = |dim: usize| NAMES[dim];
        match self {
            Cell::Dimension(d) => name(d).to_owned(),
            Cell::Quotient(d, c) => format!("{} / {c}", name(d)),
            Cell::Remainder(d, c) => format!("{} % {c}", name(d)),
            Cell::Middle(d, outer, inner) => format!("{} % {outer} / {inner}", name(d)),
            Cell::Difference(a, b) => format!("{} - {}", name(a), name(b)),
            Cell::Sum(a, b) => format!("{} + {}", name(a), name(b)),
            Cell::Linear(a, b) => format!("{} * {FACTOR} + {}", name(a), name(b)),
        }
    }

    /// As a level is told, given the cells above; `None` where it is not for this suite to say.
    fn shape(self, above: &[Cell]) -> Option<ExprShape> {
        let ranges = |dim: usize| {
            above.iter().any(|cell| match *cell {
                Cell::Difference(a, b) | Cell::Sum(a, b) => a == dim || b == dim,
                _ => false,
            })
        };
        Some(match self {
            Cell::Dimension(dim) => ExprShape::Dimension { ranged: ranges(dim) },
            Cell::Quotient(_, divisor) => ExprShape::Quotient { divisor },
            Cell::Remainder(_, modulus) => ExprShape::Remainder { modulus },
            Cell::Middle(..) => return None,
            Cell::Difference(..) | Cell::Sum(..) | Cell::Linear(..) => ExprShape::Other,
        })
    }
}

/// A format to try.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its text.
    pub text: String,
    /// Number of levels.
    pub levels: usize,
    /// Whether its levels say that they fit, where their answers settle it.
    pub fits: Option<bool>,
    /// Whether it is the plainest arrangement of its level types.
    pub plain: bool,
}

/// Every stack with the level types of `about` in it, up to three levels: alone, above and below
/// every sample, and at each depth among representatives of all.
#[must_use]
pub fn stacks<'a>(about: &[&'a Sample], samples: &'a [Sample]) -> Vec<Stack<'a>> {
    let few = representatives(samples);
    let mut seen = BTreeSet::new();
    let mut all: Vec<Stack<'a>> = Vec::new();
    let mut add = |stack: Stack<'a>| {
        if seen.insert(stack.iter().map(|s| s.text).collect::<Vec<_>>()) {
            all.push(stack);
        }
    };
    for &sample in about {
        add(vec![sample]);
        for other in samples {
            add(vec![sample, other]);
            add(vec![other, sample]);
        }
        for &a in &few {
            for &b in &few {
                add(vec![sample, a, b]);
                add(vec![a, sample, b]);
                add(vec![a, b, sample]);
            }
        }
    }
    all
}

/// Formats whose levels are of the stack's types. The plainest map comes first, in every choice of
/// hosts for levels that want a remainder or a range; with `thorough`, then transposed, sorted, blocked,
/// diagonal and linearised maps.
#[must_use]
pub fn arrange(stack: &[&Sample], thorough: bool) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::new();
    for hosts in hosts(stack) {
        let Some(hosts) = hosts else {
            all.push(homeless(stack));
            continue;
        };
        let free: Vec<usize> = (0..stack.len())
            .filter(|&level| hosts[level].is_none() && !hosts.contains(&Some(level)))
            .collect();
        let plain = cells(stack, &hosts, &[], false);
        all.push(candidate(stack, &plain, false, true));
        if !thorough {
            continue;
        }
        all.push(candidate(stack, &plain, true, false));
        all.push(sorted(&candidate(stack, &plain, false, false)));
        if hosts.iter().flatten().next().is_some() {
            all.push(candidate(stack, &cells(stack, &hosts, &[], true), false, false));
        }
        for (at, &upper) in free.iter().enumerate() {
            let linear = cells(stack, &hosts, &[(upper, Change::Linear)], false);
            all.push(candidate(stack, &linear, at % 2 == 1, false));
            for &lower in &free[at + 1..] {
                for change in [Change::Block, Change::Difference, Change::Sum] {
                    let changed = cells(stack, &hosts, &[(upper, change), (lower, change)], false);
                    all.push(candidate(stack, &changed, false, false));
                }
            }
        }
        if let [first, second, third] = free[..] {
            let changes =
                [(first, Change::Digits), (second, Change::Digits), (third, Change::Digits)];
            all.push(candidate(stack, &cells(stack, &hosts, &changes, false), false, false));
        }
    }
    let mut seen = BTreeSet::new();
    all.retain(|candidate| seen.insert(candidate.text.clone()));
    all
}

/// What becomes of levels that would store a dimension each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// A quotient above, the remainder below.
    Block,
    /// A difference above, a dimension below.
    Difference,
    /// A sum above, a dimension below.
    Sum,
    /// Three digits of one dimension.
    Digits,
    /// Two dimensions in one level.
    Linear,
}

/// For each level that wants something, the level above that makes it possible: every choice.
/// `None` stands for a stack in which such a level has nobody above.
fn hosts(stack: &[&Sample]) -> Vec<Option<Vec<Option<usize>>>> {
    let mut choices = vec![Some(vec![None; stack.len()])];
    for (level, sample) in stack.iter().enumerate() {
        if sample.needs == Needs::Nothing {
            continue;
        }
        choices = choices
            .into_iter()
            .flat_map(|choice| {
                let Some(taken) = choice else { return vec![None] };
                let can = |&host: &usize| {
                    stack[host].needs == Needs::Nothing && !taken.contains(&Some(host))
                };
                let found: Vec<_> = (0..level)
                    .filter(can)
                    .map(|host| {
                        let mut next = taken.clone();
                        next[level] = Some(host);
                        Some(next)
                    })
                    .collect();
                if found.is_empty() { vec![None] } else { found }
            })
            .collect();
    }
    choices.dedup();
    choices
}

/// Expressions for all levels.
fn cells(
    stack: &[&Sample],
    hosts: &[Option<usize>],
    changes: &[(usize, Change)],
    sums: bool,
) -> Vec<Cell> {
    let mut cells: Vec<Option<Cell>> = vec![None; stack.len()];
    let mut dims = 0;
    let mut fresh = || {
        dims += 1;
        dims - 1
    };
    for level in 0..stack.len() {
        if cells[level].is_some() {
            continue;
        }
        let guest = hosts.iter().position(|&host| host == Some(level));
        if let Some(guest) = guest {
            let dim = fresh();
            (cells[level], cells[guest]) = match stack[guest].needs {
                Needs::Remainder(m) => {
                    (Some(Cell::Quotient(dim, m)), Some(Cell::Remainder(dim, m)))
                }
                _ => {
                    let other = fresh();
                    let together =
                        if sums { Cell::Sum(dim, other) } else { Cell::Difference(other, dim) };
                    (Some(together), Some(Cell::Dimension(dim)))
                }
            };
            continue;
        }
        let Some(&(_, change)) = changes.iter().find(|(at, _)| *at == level) else {
            cells[level] = Some(Cell::Dimension(fresh()));
            continue;
        };
        let below: Vec<usize> =
            changes.iter().map(|&(at, _)| at).filter(|&at| at > level).collect();
        let dim = fresh();
        match (change, &below[..]) {
            (Change::Block, &[lower]) => {
                cells[level] = Some(Cell::Quotient(dim, 2));
                cells[lower] = Some(Cell::Remainder(dim, 2));
            }
            (Change::Digits, &[middle, lower]) => {
                cells[level] = Some(Cell::Quotient(dim, 4));
                cells[middle] = Some(Cell::Middle(dim, 4, 2));
                cells[lower] = Some(Cell::Remainder(dim, 2));
            }
            (Change::Difference, &[lower]) => {
                cells[level] = Some(Cell::Difference(fresh(), dim));
                cells[lower] = Some(Cell::Dimension(dim));
            }
            (Change::Sum, &[lower]) => {
                cells[level] = Some(Cell::Sum(dim, fresh()));
                cells[lower] = Some(Cell::Dimension(dim));
            }
            _ => cells[level] = Some(Cell::Linear(dim, fresh())),
        }
    }
    cells.into_iter().map(|cell| cell.unwrap_or(Cell::Dimension(0))).collect()
}

fn candidate(stack: &[&Sample], cells: &[Cell], transposed: bool, plain: bool) -> Candidate {
    // `None` where no level can be asked.
    fn place<'p>(
        (cells, batches): (&[Cell], usize),
        level: usize,
        parent: Option<&'p Description>,
    ) -> Option<Place<'p>> {
        let expr = cells[level].shape(&cells[..level])?;
        let (last, leading) = (level + 1 == cells.len(), level <= batches);
        Some(Place { parent, expr, last, single: false, leading })
    }
    let map = (cells, stack.iter().take_while(|sample| sample.ty.is_batch()).count());
    let is_placed = |level: usize, ty: &dyn LevelType, parent: Option<&Description>| {
        Some(ty.fits(&place(map, level, parent)?).is_ok())
    };
    let mut fits = Some(true);
    let mut above: Vec<Description> = Vec::new();
    for (level, sample) in stack.iter().enumerate() {
        match is_placed(level, &*sample.ty, above.last()) {
            Some(true) => {}
            Some(false)
                if let Some(place) = place(map, level, above.last())
                    && let Some(adapted) = sample.ty.adapted(&place)
                    && is_placed(level, &*adapted, above.last()) == Some(true) =>
            {
                above.push(adapted.describe());
                continue;
            }
            Some(false) => {
                // The level above may leave something open that makes it fit.
                let relaxed = level.checked_sub(1).and_then(|at| stack[at].ty.relaxed());
                let relaxed = relaxed.map(|relaxed| (relaxed.describe(), relaxed));
                let relaxed = relaxed.filter(|(description, relaxed)| {
                    let parent = level.checked_sub(2).map(|at| &above[at]);
                    is_placed(level - 1, &**relaxed, parent) == Some(true)
                        && is_placed(level, &*sample.ty, Some(description)) == Some(true)
                });
                match relaxed {
                    Some((description, _)) => above[level - 1] = description,
                    None => fits = fits.map(|_| false),
                }
            }
            None => fits = None,
        }
        above.push(sample.description.clone());
    }
    Candidate { text: text(stack, cells, transposed), levels: stack.len(), fits, plain }
}

/// The same with sorted dimensions.
fn sorted(one: &Candidate) -> Candidate {
    let (dims, levels) = one.text.split_once(" -> ").unwrap_or_default();
    let dims = dims.replace(')', " : sorted)").replace(',', " : sorted(3),");
    Candidate { text: format!("{dims} -> {levels}"), ..one.clone() }
}

/// A stack in which a level lacks what it wants: as it would be written by mistake.
fn homeless(stack: &[&Sample]) -> Candidate {
    let cells: Vec<Cell> = stack
        .iter()
        .enumerate()
        .map(|(dim, sample)| match sample.needs {
            Needs::Remainder(m) => Cell::Remainder(dim, m),
            _ => Cell::Dimension(dim),
        })
        .collect();
    Candidate {
        text: text(stack, &cells, false),
        levels: stack.len(),
        fits: Some(false),
        plain: false,
    }
}

fn text(stack: &[&Sample], cells: &[Cell], transposed: bool) -> String {
    let used = |cell: &Cell| match *cell {
        Cell::Dimension(a) | Cell::Quotient(a, _) | Cell::Remainder(a, _) => a,
        Cell::Middle(a, ..) => a,
        Cell::Difference(a, b) | Cell::Sum(a, b) | Cell::Linear(a, b) => a.max(b),
    };
    let count = cells.iter().map(used).max().map_or(0, |last| last + 1);
    let mut dims = NAMES[..count].to_vec();
    if transposed {
        dims.reverse();
    }
    let levels: Vec<String> = stack
        .iter()
        .zip(cells)
        .map(|(sample, cell)| format!("{} : {}", cell.text(), sample.text))
        .collect();
    format!("({}) -> ({})", dims.join(", "), levels.join(", "))
}
