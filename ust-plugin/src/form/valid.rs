//! The IR of a form, validated: types and scopes.

use ust_level_api::ir::validate::{ValidateError, validate};
use ust_level_api::ir::{Builder, Elem, Expr, IndexKind, Ty};
use ust_level_api::{ArraySpec, Interval, WalkSite};

use super::model::{Located, Walked};

/// The arguments of a walk, as parameters and arrays of a function that is looked at, not run.
fn site(b: &mut Builder, arrays: &[ArraySpec]) -> WalkSite {
    let array = |spec: &ArraySpec| b.array(spec.name, Elem::Index(IndexKind::I64), false);
    let arrays = arrays.iter().map(array).collect();
    let [parent, parent_end, size, lower, lo, hi] =
        ["parent", "parent_end", "size", "lower", "lo", "hi"].map(|name| b.param(name, Ty::Int));
    let parent = Interval { lo: parent, hi: parent_end };
    WalkSite { arrays, size, lower, bounds: Interval { lo, hi }, parent, item: None }
}

/// Emits that an expression is an integer.
fn integer(b: &mut Builder, name: &str, value: Expr) -> Expr {
    let var = b.var(name, Expr::Int(0));
    b.assign(var, value);
    var.into()
}

impl Walked {
    /// Validates what is emitted for a level with these arrays.
    pub(super) fn validate(&self, arrays: &[ArraySpec]) -> Result<(), ValidateError> {
        let mut b = Builder::new("walk");
        let site = site(&mut b, arrays);
        let walk = self.walk(&site, &mut b);
        let [lo, hi] = [("from", &walk.cursor.lo), ("to", &walk.cursor.hi)]
            .map(|(name, value)| integer(&mut b, name, value.clone()));
        b.for_("cursor", lo, hi, |b, at| {
            let step = (walk.step)(b, at.clone());
            integer(b, "coordinate", step.crd);
            integer(b, "position", step.pos);
            if let Some(run) = step.run {
                integer(b, "run", run.count());
            }
            if let Some(guard) = step.guard {
                b.if_(guard, |b| b.comment("a child"));
            }
            if let Some(advance) = &walk.advance {
                advance(b, at);
            }
        });
        validate(&b.finish())
    }
}

impl Located {
    /// Validates what is emitted for a level with these arrays.
    pub(super) fn validate(&self, arrays: &[ArraySpec]) -> Result<(), ValidateError> {
        let mut b = Builder::new("locate");
        let site = site(&mut b, arrays);
        let wanted = b.param("wanted", Ty::Int);
        let there = self.locate(&site, wanted, &mut b);
        b.if_(there.found, |b| {
            integer(b, "position", there.pos);
        });
        validate(&b.finish())
    }
}
