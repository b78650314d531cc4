//! The effects that declared loops may have: which statements belong to what was declared.

use super::super::{ArrayId, Expr, Stmt, Var};
use super::{Leaf, Merged, Target};

/// The effects that loops may have.
pub(super) struct Effects<'a> {
    of: Of<'a>,
    /// The arrays that they write.
    pub(super) arrays: Vec<ArrayId>,
    /// The variables that they assign.
    pub(super) vars: Vec<Var>,
}

#[derive(Clone, Copy)]
enum Of<'a> {
    Leaf(&'a Leaf),
    Merged(&'a Merged),
    Placed(ArrayId, &'a [(ArrayId, Expr)]),
}

/// A statement of what was declared. But for parts of a merge, each stands once in its block.
#[derive(PartialEq)]
pub(super) enum Part {
    Clear,
    Sum,
    Target,
    List,
    Hit,
    Array(ArrayId),
    Merge,
}

impl<'a> Effects<'a> {
    pub(super) fn of_leaf(leaf: &'a Leaf) -> Self {
        let (target, sum_var) = match leaf.target {
            Target::Element(array, _) => (Some(array), None),
            Target::Var(var) => (None, Some(var)),
        };
        let lists = leaf.list.iter().flat_map(|list| [list.mark, list.list]);
        let sum = leaf.sum.as_ref().map(|sum| sum.array);
        let clear = leaf.clear.as_ref().map(|clear| clear.array);
        let length = leaf.list.as_ref().map(|list| list.length);
        Self {
            of: Of::Leaf(leaf),
            arrays: [target, sum, clear].into_iter().flatten().chain(lists).collect(),
            vars: [sum_var, length, leaf.hit].into_iter().flatten().collect(),
        }
    }

    pub(super) fn of_merge(merged: &'a Merged) -> Self {
        let starts = merged.starts.as_ref().map(|(starts, _)| *starts);
        Self {
            of: Of::Merged(merged),
            arrays: [merged.crd, merged.values].into_iter().chain(starts).collect(),
            vars: vec![merged.row],
        }
    }

    pub(super) fn of_moves(next: ArrayId, moves: &'a [(ArrayId, Expr)]) -> Self {
        Self {
            of: Of::Placed(next, moves),
            arrays: [next].into_iter().chain(moves.iter().map(|(array, _)| *array)).collect(),
            vars: Vec::new(),
        }
    }

    /// Whether a variable that is assigned may be declared inside `around` loops: the sum, where it begins, and
    /// the cursors of a merge.
    pub(super) fn has_variable(&self, var: Var, around: usize, innermost: bool) -> bool {
        match self.of {
            Of::Leaf(Leaf { target: Target::Var(target), sum: Some(sum), .. }) => {
                *target == var && sum.inside == around
            }
            Of::Merged(_) => innermost,
            _ => false,
        }
    }

    /// What a statement that is directly inside `around` loops, `innermost` or not, is of what was declared.
    fn part(&self, stmt: &Stmt, around: usize, innermost: bool) -> Option<Part> {
        match self.of {
            Of::Leaf(leaf) if is_sum(leaf, stmt, around) => Some(Part::Sum),
            Of::Leaf(leaf) if is_clear(leaf, stmt, around) => Some(Part::Clear),
            Of::Leaf(leaf) if innermost => part_of(leaf, stmt),
            Of::Leaf(_) => None,
            Of::Merged(merged) => match stmt {
                Stmt::While { .. } => innermost.then_some(Part::Merge),
                Stmt::Store(array, ..) => {
                    let (starts, _) = merged.starts.as_ref()?;
                    (starts == array).then_some(Part::Array(*array))
                }
                Stmt::If { then, otherwise, .. } => {
                    let reserves = |stmt: &Stmt| matches!(stmt, Stmt::Let(..) | Stmt::Reserve(..));
                    let is_room = otherwise.is_empty() && then.iter().all(reserves);
                    is_room.then_some(Part::Merge)
                }
                _ => None,
            },
            Of::Placed(next, moves) => match stmt {
                Stmt::Store(array, ..) if innermost => {
                    let is_own = *array == next || moves.iter().any(|(to, _)| to == array);
                    is_own.then_some(Part::Array(*array))
                }
                _ => None,
            },
        }
    }

    /// The part that a statement is, where it is the first of its kind. `seen` are those of its block so far.
    pub(super) fn is_part(
        &self,
        stmt: &Stmt,
        around: usize,
        innermost: bool,
        seen: &mut Vec<Part>,
    ) -> bool {
        match self.part(stmt, around, innermost) {
            Some(part) if part == Part::Merge || !seen.contains(&part) => {
                seen.push(part);
                true
            }
            _ => false,
        }
    }
}

fn is_sum(leaf: &Leaf, stmt: &Stmt, around: usize) -> bool {
    leaf.sum.as_ref().filter(|sum| sum.inside == around).is_some_and(|sum| match stmt {
        Stmt::Store(array, index, _) => {
            sum.op.is_none() && *array == sum.array && *index == sum.index
        }
        Stmt::Reduce(op, array, index, _) => {
            sum.op == Some(*op) && *array == sum.array && *index == sum.index
        }
        _ => false,
    })
}

fn is_clear(leaf: &Leaf, stmt: &Stmt, around: usize) -> bool {
    leaf.clear.as_ref().filter(|clear| clear.inside == around).is_some_and(|clear| {
        let sets = |stmt: &Stmt| matches!(stmt, Stmt::Store(array, ..) if *array == clear.array);
        match stmt {
            Stmt::For { body, .. } => body.iter().all(sets),
            stmt => sets(stmt),
        }
    })
}

/// The part of the innermost operation that a statement is.
fn part_of(leaf: &Leaf, stmt: &Stmt) -> Option<Part> {
    match (stmt, &leaf.target) {
        (Stmt::Assign(var, Expr::Bool(true)), _) if leaf.hit == Some(*var) => Some(Part::Hit),
        (Stmt::Assign(var, _), Target::Var(sum)) => (var == sum).then_some(Part::Target),
        (Stmt::Reduce(op, array, index, _), Target::Element(target, place)) => {
            let is_own = leaf.op == Some(*op) && array == target && index == place;
            is_own.then_some(Part::Target)
        }
        (Stmt::Store(array, index, _), Target::Element(target, place)) => {
            let is_own = leaf.op.is_none() && array == target && index == place;
            is_own.then_some(Part::Target)
        }
        (Stmt::If { then, otherwise, .. }, _) => {
            let list = leaf.list.as_ref()?;
            let notes = |stmt: &Stmt| match stmt {
                Stmt::Store(array, ..) => [list.mark, list.list].contains(array),
                Stmt::Assign(var, _) => *var == list.length,
                Stmt::Comment(_) => true,
                _ => false,
            };
            (otherwise.is_empty() && then.iter().all(notes)).then_some(Part::List)
        }
        _ => None,
    }
}
