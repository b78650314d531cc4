//! Several elements in each iteration of a loop: side by side, which a machine may access at once, or apart.

use super::super::{ArrayId, Expr, Stmt, Var};

/// Several elements in the iterations of a loop over a coordinate.
///
/// Side by side: the loop reads and writes `arrays` in groups of `count` elements, one after another. The index of the
/// first is a multiple of `count` if `extent` is, which the loops rely on. If the array begins at such an address, a
/// machine may access all at once.
///
/// Apart: the coordinates of an iteration are as far from one another as there are iterations, so that lanes side by
/// side access elements side by side. That is right for any extent and any address.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// Number of elements of an iteration.
    pub count: u32,
    /// The arrays of which an iteration accesses several elements. Side by side, the loop accesses no element of theirs
    /// outside of such groups.
    pub arrays: Vec<ArrayId>,
    /// The parameter that is the extent of the coordinate. Elements side by side: a multiple of `count`; otherwise, the
    /// loop must not run.
    pub extent: Var,
    /// Whether the elements are apart.
    pub apart: bool,
}

/// Statements, one after another, that access elements side by side.
#[derive(Debug, PartialEq)]
pub enum Group<'a> {
    /// Each variable is declared with the value of an element.
    Load {
        /// The array.
        array: ArrayId,
        /// The index of the first element.
        index: &'a Expr,
        /// The variables.
        vars: Vec<Var>,
    },
    /// Each element is set to a value.
    Store {
        /// The array.
        array: ArrayId,
        /// The index of the first element.
        index: &'a Expr,
        /// The values.
        values: Vec<&'a Expr>,
    },
}

/// An access by a statement: the array, and the index.
fn access(stmt: &Stmt) -> Option<(ArrayId, &Expr)> {
    match stmt {
        Stmt::Let(_, Expr::Load(array, index)) => Some((*array, index)),
        Stmt::Store(array, index, _) => Some((*array, index)),
        _ => None,
    }
}

impl Vector {
    /// The group that these statements begin with.
    #[must_use]
    pub fn group<'a>(&self, body: &'a [Stmt]) -> Option<Group<'a>> {
        if self.apart {
            return None;
        }
        let body = body.get(..self.count as usize)?;
        let (array, index) = access(body.first()?)?;
        let follows = |(at, stmt): (usize, &Stmt)| {
            access(stmt).is_some_and(|(of, own)| {
                of == array && *own == index.clone() + Expr::Int(at as i64)
            })
        };
        if !self.arrays.contains(&array) || !body.iter().enumerate().all(follows) {
            return None;
        }
        let vars = body.iter().filter_map(|stmt| match stmt {
            Stmt::Let(var, _) => Some(*var),
            _ => None,
        });
        let values = body.iter().filter_map(|stmt| match stmt {
            Stmt::Store(.., value) => Some(value),
            _ => None,
        });
        let (vars, values): (Vec<_>, Vec<_>) = (vars.collect(), values.collect());
        match (vars.len(), values.len()) {
            (_, 0) => Some(Group::Load { array, index, vars }),
            (0, _) => Some(Group::Store { array, index, values }),
            _ => None,
        }
    }

    /// Whether code accesses an element of the arrays outside of groups.
    pub(super) fn is_broken(&self, body: &[Stmt]) -> bool {
        if self.apart {
            return false;
        }
        let has = |expr: &Expr| self.arrays.iter().any(|array| expr.loads(*array));
        let mut rest = body;
        while let Some((stmt, after)) = rest.split_first() {
            if let Some(group) = self.group(rest) {
                let is_broken = match group {
                    Group::Load { index, .. } => has(index),
                    Group::Store { index, values, .. } => has(index) || values.into_iter().any(has),
                };
                if is_broken {
                    return true;
                }
                rest = &rest[self.count as usize..];
                continue;
            }
            let is_broken = match stmt {
                Stmt::Store(array, ..) | Stmt::Reduce(_, array, ..) | Stmt::Sort(array, ..) => {
                    self.arrays.contains(array)
                }
                Stmt::For { body, .. } | Stmt::While { body, .. } => self.is_broken(body),
                Stmt::If { then, otherwise, .. } => {
                    self.is_broken(then) || self.is_broken(otherwise)
                }
                _ => false,
            };
            if is_broken || stmt.exprs().into_iter().any(has) {
                return true;
            }
            rest = after;
        }
        false
    }
}
