//! Infers the inverse map: each dimension as an expression over level coordinates.
//!
//! Each level is an equation, `form over dimensions and digits = level coordinate`. Three rules are
//! applied until nothing changes:
//!
//! 1. An equation with one unknown is solved for it (`j - i` determines `j` once `i` is known).
//! 2. Digits that tile a form determine the form (`i / 8`, `i % 8 / 2` and `i % 2` determine `i`).
//! 3. If rules 1 and 2 do not apply, an equation whose coefficients grow fast enough is split like
//!    the digits of a number (`i * 9 + j` determines `i` and `j`). This limits some extents (`j` to
//!    9); [`bind`](super::Format::bind) checks these limits.
//!
//! Every level must be used exactly once. The inferred inverse is proved by substitution.

use std::collections::{BTreeMap, BTreeSet};

use super::canonical::Proof;
use super::error::quote;
use super::expr::{IndexExpr, Spelling};
use super::form::{Atom, Form, NoForm, quotient, remainder};
use super::tiling::{Digit, Digits, is_zero};

/// The largest number of terms of an inverse expression.
const MAX_SIZE: usize = 1 << 10;

/// An inferred inverse.
#[derive(Clone, Debug)]
pub(super) struct Inverse {
    /// For each dimension, an expression over level coordinates.
    pub(super) exprs: Vec<IndexExpr>,
    /// Limits of extents.
    pub(super) limits: Vec<Limit>,
    /// Forms that were split like the digits of a number.
    pub(super) splits: Vec<Split>,
}

/// The largest extent of a dimension with which a linearised level can be inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) dim: usize,
    pub(super) extent: i64,
    /// The linearised level.
    pub(super) level: usize,
}

/// A form that was split, and the number of values of each atom, except that with the largest
/// coefficient: in `i * 9 + j`, 9 values of `j`.
#[derive(Clone, Debug)]
pub(super) struct Split {
    pub(super) form: Form,
    pub(super) sizes: BTreeMap<Atom, i64>,
}

/// Why there is no inverse, and the level at fault (0 if no single level is).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoInverse {
    pub(super) level: usize,
    /// Whether the level follows from others. An explicit inverse does not help then.
    pub(super) redundant: bool,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl NoInverse {
    pub(super) fn at(level: usize, message: String) -> Self {
        Self { level, redundant: false, message, help: None }
    }

    pub(super) fn help(self, help: String) -> Self {
        Self { help: Some(help), ..self }
    }
}

/// For each dimension, the largest extent that the limits allow.
pub(super) fn limit_table(rank: usize, limits: &[Limit]) -> Vec<Option<u64>> {
    let mut table: Vec<Option<u64>> = vec![None; rank];
    for limit in limits {
        let extent = limit.extent.unsigned_abs();
        let least = table[limit.dim].map_or(extent, |before| before.min(extent));
        table[limit.dim] = Some(least);
    }
    table
}

/// Infers the inverse of the levels `exprs`, whose forms are `forms`, over the dimensions `names`.
/// Cost: O(levels squared) form operations.
pub(super) fn infer(
    names: &[String],
    exprs: &[&IndexExpr],
    forms: &[Form],
) -> Result<Inverse, NoInverse> {
    let mut solver = Solver::new(names, forms);
    while solver.solve_one()? || solver.tile()? || solver.split()? {}
    solver.finish(exprs)
}

struct Equation {
    form: Form,
    /// The right-hand side, over levels.
    value: Form,
    level: usize,
    solved: bool,
}

struct Solver<'a> {
    names: &'a [String],
    equations: Vec<Equation>,
    groups: Vec<Digits>,
    /// The values over levels of the atoms that were solved for.
    known: BTreeMap<Atom, Form>,
    limits: Vec<Limit>,
    splits: Vec<Split>,
}

impl<'a> Solver<'a> {
    fn new(names: &'a [String], forms: &[Form]) -> Self {
        let groups = Digits::of(forms);
        let equations = forms
            .iter()
            .enumerate()
            .map(|(level, form)| Equation {
                form: form.clone(),
                value: Form::var(level),
                level,
                // A level such as `i % 1` is always 0. It is allowed, and determines nothing.
                solved: form.terms.keys().all(is_zero) && !form.terms.is_empty(),
            })
            .collect();
        let (known, limits, splits) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { names, equations, groups, known, limits, splits }
    }

    fn text(&self, form: &Form) -> String {
        form.to_expr().display(self.names, Spelling::Ust)
    }

    /// The value of an atom over levels, if it was solved for, or can be computed from atoms that
    /// were.
    fn value(&self, atom: &Atom) -> Result<Option<Form>, NoForm> {
        if let Some(value) = self.known.get(atom) {
            return Ok(Some(value.clone()));
        }
        let Atom::Digit { base, divisor, modulus } = atom else { return Ok(None) };
        if *modulus == Some(1) {
            return Ok(Some(Form::default()));
        }
        let mut sum = Form::constant(base.constant);
        for (inner, &coefficient) in &base.terms {
            let Some(value) = self.value(inner)? else { return Ok(None) };
            sum = sum.plus(&value, coefficient)?;
        }
        let value = quotient(sum, *divisor)?;
        Ok(Some(match modulus {
            Some(modulus) => remainder(value, *modulus)?,
            None => value,
        }))
    }

    /// The unknown atoms of a form with their coefficients, and the value of its other terms.
    fn split_known(&self, form: &Form) -> Result<(Vec<(Atom, i64)>, Form), NoForm> {
        let mut unknown = Vec::new();
        let mut rest = Form::constant(form.constant);
        for (atom, &coefficient) in &form.terms {
            match self.value(atom)? {
                Some(value) => rest = rest.plus(&value, coefficient)?,
                None => unknown.push((atom.clone(), coefficient)),
            }
        }
        Ok((unknown, rest))
    }

    fn learn(&mut self, atom: Atom, value: Form) -> Result<(), NoForm> {
        if value.size() > MAX_SIZE {
            return Err(NoForm::TooLarge);
        }
        self.known.insert(atom, value);
        Ok(())
    }

    /// Rule 1: solves equations with one unknown.
    fn solve_one(&mut self) -> Result<bool, NoInverse> {
        let mut progress = false;
        for at in 0..self.equations.len() {
            let equation = &self.equations[at];
            let level = equation.level;
            let failed = |no: NoForm| NoInverse::at(level, no.message().to_owned());
            if equation.solved {
                continue;
            }
            let (mut unknown, rest) = self.split_known(&equation.form).map_err(failed)?;
            match (unknown.pop(), unknown.is_empty()) {
                (None, _) => return Err(self.redundant(level, &equation.form)),
                (Some((atom, coefficient)), true) => {
                    let sign = coefficient.signum();
                    let value = equation
                        .value
                        .times(sign)
                        .and_then(|value| value.plus(&rest, -sign))
                        .and_then(|value| {
                            let divisor = coefficient.checked_abs().ok_or(NoForm::Overflow)?;
                            quotient(value, divisor)
                        });
                    value.and_then(|value| self.learn(atom, value)).map_err(failed)?;
                    self.equations[at].solved = true;
                    progress = true;
                }
                _ => {}
            }
        }
        Ok(progress)
    }

    fn redundant(&self, level: usize, form: &Form) -> NoInverse {
        let text = quote(&self.text(form));
        NoInverse {
            redundant: true,
            ..NoInverse::at(level, format!("{text} is redundant: it follows from other levels"))
                .help("leave this level out, or store something the others do not".to_owned())
        }
    }

    /// Rule 2: adds an equation for a form that digits tile.
    fn tile(&mut self) -> Result<bool, NoInverse> {
        for at in 0..self.groups.len() {
            let group = &self.groups[at];
            if group.tiled || group.gap(self.names).is_some() {
                continue;
            }
            let level = group.members[0].level;
            let values: Option<Vec<(&Form, i64)>> = group
                .members
                .iter()
                .map(|&digit| Some((self.known.get(&group.atom(digit))?, digit.divisor)))
                .collect();
            let Some(values) = values else { continue };
            let value = values
                .into_iter()
                .try_fold(Form::default(), |sum, (value, divisor)| sum.plus(value, divisor))
                .map_err(|no| NoInverse::at(level, no.message().to_owned()))?;
            let form = group.base.clone();
            self.equations.push(Equation { form, value, level, solved: false });
            self.groups[at].tiled = true;
            return Ok(true);
        }
        Ok(false)
    }

    /// Rule 3: splits an equation into the digits of a number.
    fn split(&mut self) -> Result<bool, NoInverse> {
        for at in 0..self.equations.len() {
            let equation = &self.equations[at];
            let level = equation.level;
            let failed = |no: NoForm| NoInverse::at(level, no.message().to_owned());
            if equation.solved {
                continue;
            }
            let (mut unknown, rest) = self.split_known(&equation.form).map_err(failed)?;
            unknown.sort_by_key(|&(_, coefficient)| coefficient);
            let Some(sizes) = part_sizes(&unknown) else { continue };
            if self.determined(at).map_err(failed)? {
                continue;
            }
            let form = equation.form.clone();
            let mut value = equation.value.clone().plus(&rest, -1).map_err(failed)?;
            for (atom, coefficient) in unknown.iter().rev() {
                let part = quotient(value.clone(), *coefficient).map_err(failed)?;
                value = remainder(value, *coefficient).map_err(failed)?;
                self.learn(atom.clone(), part).map_err(failed)?;
            }
            for (atom, &size) in &sizes {
                if let Some((dim, divisor)) = limited(atom) {
                    let extent = size.saturating_mul(divisor);
                    self.limits.push(Limit { dim, extent, level });
                }
            }
            self.splits.push(Split { form, sizes });
            self.equations[at].solved = true;
            return Ok(true);
        }
        Ok(false)
    }

    /// Whether the equations that share unknowns with an equation, directly or through others, are
    /// at least as many as their unknowns. They may then have a solution without limits, although
    /// one that is not inferred; and a split would make one of the equations redundant.
    fn determined(&self, start: usize) -> Result<bool, NoForm> {
        let mut unknowns = Vec::new();
        for equation in &self.equations {
            unknowns.push(match equation.solved {
                true => Vec::new(),
                false => self.split_known(&equation.form)?.0,
            });
        }
        let mut reached: BTreeSet<&Atom> = unknowns[start].iter().map(|(atom, _)| atom).collect();
        let mut taken = vec![false; unknowns.len()];
        loop {
            let next = (0..unknowns.len()).find(|&at| {
                !taken[at] && unknowns[at].iter().any(|(atom, _)| reached.contains(atom))
            });
            let Some(at) = next else { break };
            taken[at] = true;
            reached.extend(unknowns[at].iter().map(|(atom, _)| atom));
        }
        Ok(taken.iter().filter(|&&taken| taken).count() >= reached.len())
    }

    /// The inverse, after the last rule was applied. An error if an atom is unknown, or a level is
    /// not used.
    fn finish(self, exprs: &[&IndexExpr]) -> Result<Inverse, NoInverse> {
        for group in self.groups.iter().filter(|group| !group.tiled) {
            let solved_for = |digit: &&Digit| self.known.contains_key(&group.atom(**digit));
            let Some(&digit) = group.members.iter().find(solved_for) else { continue };
            if matches!(self.split_known(&group.base), Ok((unknown, _)) if unknown.is_empty()) {
                return Err(self.redundant(digit.level, &Form::atom(group.atom(digit))));
            }
            if let Some(reason) = group.gap(self.names) {
                return Err(reason);
            }
        }
        let unknown: Vec<usize> = (0..self.names.len())
            .filter(|&dim| !self.known.contains_key(&Atom::Var(dim)))
            .collect();
        let open = self.equations.iter().find(|equation| !equation.solved);
        if let Some(equation) = open {
            return Err(self.unsolved(equation, &unknown));
        }
        let failed = |no: NoForm| NoInverse::at(0, no.message().to_owned());
        let limits = limit_table(self.names.len(), &self.limits);
        let proof = Proof::new(exprs, &limits).map_err(failed)?;
        let mut inverse = Vec::new();
        for (dim, name) in self.names.iter().enumerate() {
            let expr = self.known.get(&Atom::Var(dim)).map(Form::to_expr);
            match expr {
                Some(expr) if proof.recovers(&expr, dim).map_err(failed)? => inverse.push(expr),
                _ => {
                    let message =
                        format!("the inverse of the levels for `{name}` cannot be proved");
                    return Err(NoInverse::at(0, message));
                }
            }
        }
        Ok(Inverse { exprs: inverse, limits: self.limits, splits: self.splits })
    }

    fn unsolved(&self, equation: &Equation, unknown: &[usize]) -> NoInverse {
        let mut dims = Vec::new();
        collect_vars(&equation.form, &mut dims);
        let named = |dims: &[usize], or: &str| {
            let names: Vec<String> = dims.iter().map(|&d| format!("`{}`", self.names[d])).collect();
            match names.split_last() {
                Some((last, [])) => last.clone(),
                Some((last, rest)) => format!("{} {or} {last}", rest.join(", ")),
                None => String::new(),
            }
        };
        dims.retain(|dim| unknown.contains(dim));
        let text = quote(&self.text(&equation.form));
        NoInverse::at(equation.level, format!("{text} leaves {} unknown", named(&dims, "and")))
            .help(format!(
                "add a level that stores {} by itself, or give the inverse",
                named(&dims, "or")
            ))
    }
}

/// The number of values of each unknown, except that with the largest coefficient. `unknown` is
/// sorted by ascending coefficient. `None` if an equation with these unknowns cannot be split.
fn part_sizes(unknown: &[(Atom, i64)]) -> Option<BTreeMap<Atom, i64>> {
    let (top, _) = unknown.last()?;
    let nonnegative = match top {
        Atom::Digit { base, modulus: None, .. } => {
            base.constant >= 0
                && base.terms.iter().all(|(atom, &c)| c > 0 && matches!(atom, Atom::Var(_)))
        }
        _ => true,
    };
    if unknown.len() < 2 || unknown[0].1 < 1 || !nonnegative {
        return None;
    }
    let mut sizes = BTreeMap::new();
    for pair in unknown.windows(2) {
        let size = pair[1].1 / pair[0].1;
        let fits = match &pair[0].0 {
            Atom::Digit { modulus: Some(modulus), .. } => *modulus <= size,
            atom => limited(atom).is_some(),
        };
        if size < 2 || !fits {
            return None;
        }
        sizes.insert(pair[0].0.clone(), size);
    }
    Some(sizes)
}

/// The dimension whose extent limits an atom, and the divisor of that extent.
fn limited(atom: &Atom) -> Option<(usize, i64)> {
    match atom {
        Atom::Var(dim) => Some((*dim, 1)),
        Atom::Digit { base, divisor, modulus: None } => base.as_var().map(|dim| (dim, *divisor)),
        Atom::Digit { .. } => None,
    }
}

fn collect_vars(form: &Form, found: &mut Vec<usize>) {
    for atom in form.terms.keys() {
        match atom {
            Atom::Var(var) if !found.contains(var) => found.push(*var),
            Atom::Var(_) => {}
            Atom::Digit { base, .. } => collect_vars(base, found),
        }
    }
}
