//! From a syntax tree to a checked [`Format`]: names are resolved, level types are made and placed,
//! the inverse is inferred or proved, widths are checked. Every error has a place in the text.

use std::cell::RefCell;
use std::collections::HashMap;

use ust_level_api::registry::{self, MakeError};
use ust_level_api::{Arg, Batched, Description, ExprShape, LevelError, LevelType, Place};

use super::canonical::{Canonical, Proof};
use super::error::{FormatError, quote};
use super::expr::{IndexExpr, Spelling};
use super::form::{Atom, Form, NoForm, digits};
use super::inverse::{Inverse, NoInverse, infer, limit_table};
use super::model::{Format, Inner};
use super::names::Scope;
use super::outside::Outside;
use super::print::names_for_levels;
use super::spec::{Counter, DimSpec, LevelSpec};
use super::suggest::nearest;
use super::syntax::{Attributes, ExprSyntax, FormatSyntax, LevelSyntax, Name, Span};

/// Makes a format from the syntax tree of `source`.
pub(super) fn build(source: &str, syntax: &FormatSyntax) -> Result<Format, FormatError> {
    build_with(source, syntax, &[])
}

/// The same, with stand-ins for the level types in `outside` that no linked crate makes.
pub(super) fn build_with(
    source: &str,
    syntax: &FormatSyntax,
    outside: &[&str],
) -> Result<Format, FormatError> {
    let text = Text { source };
    let dims = text.unique(syntax.dims.iter().map(|dim| &dim.name), "dimension")?;
    let declared = text.level_names(syntax)?;
    let named = text.unique(declared.iter().flatten().copied(), "level")?;
    // Numbers levels among all levels, not among the named ones.
    let places: HashMap<&str, usize> = declared
        .iter()
        .enumerate()
        .filter_map(|(at, name)| name.map(|name| (name.text.as_str(), at)))
        .collect();
    debug_assert_eq!(named.len(), places.len());

    let counters = RefCell::default();
    let dim_scope = Scope {
        vars: &dims,
        what: "dimension",
        other: &places,
        other_what: "level",
        counters: Some(&counters),
        symbols: &syntax.symbols,
    };
    let mut exprs = Vec::with_capacity(syntax.levels.len());
    let mut forms = Vec::with_capacity(syntax.levels.len());
    for level in &syntax.levels {
        let expr = text.expr(&level.expr, &dim_scope)?;
        forms.push(text.form(&level.expr, &expr)?);
        exprs.push(expr);
    }
    let counters = counters.into_inner();
    text.all_used(syntax, &exprs)?;

    let mut types: Vec<Box<dyn LevelType>> = Vec::with_capacity(syntax.levels.len());
    let mut stands_in = Vec::with_capacity(syntax.levels.len());
    for level in &syntax.levels {
        let ty = text.level_type(level, outside)?;
        stands_in.push(ty.is_none());
        types.push(ty.unwrap_or_else(|| Box::new(Outside::new(&level.ty))));
    }
    let descriptions = text.placed(syntax, (&forms, &counters), &mut types, &stands_in)?;

    let map = Map {
        syntax,
        exprs: &exprs,
        forms: &forms,
        level_scope: &places,
        dims: &dims,
        counters: &counters,
    };
    let (inverse, inverse_given) = text.inverse(&map)?;
    let canonical = Canonical::new(&[]);
    let canonical = exprs
        .iter()
        .zip(&syntax.levels)
        .map(|(expr, level)| canonical.of(expr).map_err(|no| text.no_form(&level.expr, no)))
        .collect::<Result<_, _>>()?;
    let levels = exprs
        .into_iter()
        .zip(types)
        .zip(&declared)
        .map(|((expr, ty), name)| LevelSpec { name: name.map(|n| n.text.clone()), expr, ty })
        .collect();
    let dims = syntax
        .dims
        .iter()
        .map(|dim| DimSpec { name: dim.name.text.clone(), sorted: dim.sorted, slice: dim.slice })
        .collect();
    let format = Format::from_inner(Inner {
        dims,
        counters,
        levels,
        descriptions,
        forms,
        canonical,
        inverse: inverse.exprs,
        inverse_given,
        limits: inverse.limits,
        splits: inverse.splits,
        pos_width: 0,
        crd_width: 0,
        explicit_val: None,
        implicit_val: None,
        unsorted: None,
        hash: 0,
    });
    with_attributes(source, &format, &syntax.attributes)
}

/// The format with the attributes that `source` adds to it.
pub(super) fn with_attributes(
    source: &str,
    format: &Format,
    attributes: &Attributes,
) -> Result<Format, FormatError> {
    let mut inner = format.inner().clone();
    let mut pos_span = 0..0;
    let mut crd_span = 0..0;
    if let Some((bits, span)) = &attributes.pos_width {
        (inner.pos_width, pos_span) = (*bits, span.clone());
    }
    if let Some((bits, span)) = &attributes.crd_width {
        (inner.crd_width, crd_span) = (*bits, span.clone());
    }
    inner.explicit_val = attributes.explicit_val.clone().or(inner.explicit_val);
    inner.implicit_val = attributes.implicit_val.clone().or(inner.implicit_val);
    let format = Format::from_inner(inner);
    format.check_widths().map_err(|wrong| {
        let span = if wrong.of_pos { pos_span } else { crd_span };
        FormatError::new(source, span, wrong.message).with_help(wrong.help)
    })?;
    Ok(format)
}

/// The kind of a level's expression, as level types distinguish it.
fn shape_of(forms: &[Form], level: usize, rank: usize) -> ExprShape {
    match forms[level].as_atom() {
        Some(Atom::Var(axis)) if *axis >= rank => ExprShape::Counter,
        Some(Atom::Var(dim)) => ExprShape::Dimension {
            ranged: forms[..level].iter().any(|form| is_sum_with(form, *dim)),
        },
        Some(Atom::Digit { modulus: Some(modulus), .. }) => {
            ExprShape::Remainder { modulus: modulus.unsigned_abs() }
        }
        Some(Atom::Digit { divisor, modulus: None, .. }) => {
            ExprShape::Quotient { divisor: divisor.unsigned_abs() }
        }
        None => ExprShape::Other,
    }
}

/// Whether levels above one store a counter and determine the dimensions that it counts among.
fn is_counted(forms: &[Form], counters: &[Counter], level: usize, rank: usize) -> bool {
    let has = |form: &Form, axis: usize| form.to_expr().vars().contains(&axis);
    let (above, below) = forms.split_at(level);
    (rank..).zip(counters).any(|(axis, counter)| {
        above.iter().any(|form| form.as_atom() == Some(&Atom::Var(axis)))
            && counter.of.iter().all(|&dim| !below.iter().any(|form| has(form, dim)))
    })
}

/// Whether a form is a sum or difference of the dimension and one other term.
fn is_sum_with(form: &Form, dim: usize) -> bool {
    form.terms.len() == 2
        && form.terms.contains_key(&Atom::Var(dim))
        && form.terms.iter().all(|(atom, c)| matches!(atom, Atom::Var(_)) && c.abs() == 1)
}

/// The parts of the map that its inverse depends on.
struct Map<'a> {
    syntax: &'a FormatSyntax,
    exprs: &'a [IndexExpr],
    forms: &'a [Form],
    level_scope: &'a HashMap<&'a str, usize>,
    dims: &'a HashMap<&'a str, usize>,
    counters: &'a [Counter],
}

/// The text that errors refer to.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) source: &'a str,
}

impl Text<'_> {
    pub(super) fn error(self, span: &Span, message: impl Into<String>) -> FormatError {
        FormatError::new(self.source, span.clone(), message)
    }

    fn unique<'n>(
        self,
        names: impl Iterator<Item = &'n Name>,
        what: &str,
    ) -> Result<HashMap<&'n str, usize>, FormatError> {
        let mut found = HashMap::new();
        for (at, name) in names.enumerate() {
            if found.insert(name.text.as_str(), at).is_some() {
                let message = format!("{what} {} is named twice", quote(&name.text));
                return Err(self.error(&name.span, message));
            }
        }
        Ok(found)
    }

    /// The name of each level, if it has one.
    fn level_names(self, syntax: &FormatSyntax) -> Result<Vec<Option<&Name>>, FormatError> {
        let own = syntax.levels.iter().map(|level| level.name.as_ref());
        let Some((declared, span)) = &syntax.declared else { return Ok(own.collect()) };
        if declared.len() != syntax.levels.len() {
            let (names, levels) = (declared.len(), syntax.levels.len());
            return Err(self.error(span, format!("{names} level names for {levels} levels")));
        }
        own.zip(declared)
            .map(|(own, declared)| match own {
                Some(own) if own.text != declared.text => Err(self
                    .error(
                        &own.span,
                        format!("this level was declared as {}", quote(&declared.text)),
                    )
                    .with_help("levels stand in the order of their names in `{ }`")),
                _ => Ok(Some(declared)),
            })
            .collect()
    }

    fn form(self, syntax: &ExprSyntax, expr: &IndexExpr) -> Result<Form, FormatError> {
        let form = digits(expr).map_err(|no| self.no_form(syntax, no))?;
        if form.terms.is_empty() {
            let message = format!("this level stores nothing but {}", form.constant);
            return Err(self
                .error(&syntax.span, message)
                .with_help("a level's expression must depend on a dimension"));
        }
        Ok(form)
    }

    fn no_form(self, syntax: &ExprSyntax, no: NoForm) -> FormatError {
        self.error(&syntax.span, no.message())
    }

    fn all_used(self, syntax: &FormatSyntax, exprs: &[IndexExpr]) -> Result<(), FormatError> {
        let mut used = vec![false; syntax.dims.len()];
        for var in exprs.iter().flat_map(IndexExpr::vars) {
            if let Some(used) = used.get_mut(var) {
                *used = true;
            }
        }
        match syntax.dims.iter().zip(used).find(|(_, used)| !used) {
            None => Ok(()),
            Some((dim, _)) => Err(self
                .error(
                    &dim.name.span,
                    format!("no level stores dimension {}", quote(&dim.name.text)),
                )
                .with_help(format!("add a level for {}", quote(&dim.name.text)))),
        }
    }

    /// The level type; `None` for one in `outside` that no linked crate makes.
    fn level_type(
        self,
        level: &LevelSyntax,
        outside: &[&str],
    ) -> Result<Option<Box<dyn LevelType>>, FormatError> {
        let error = match registry::make(&level.ty) {
            Ok(ty) => return Ok(Some(ty)),
            Err(error) => error,
        };
        if outside.contains(&level.ty.name.as_str()) {
            return Ok(None);
        }
        Err(match error {
            MakeError::Unknown { name, known } => {
                let aliases =
                    registry::factories().into_iter().flat_map(|f| f.aliases).map(|a| a.name);
                let known = match nearest(&name, known.iter().copied().chain(aliases)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("known level types: {}.", known.join(", ")),
                };
                let help = format!("{known} {}", registry::of_another_crate(&quote(&name)));
                let span = level.ty_span.start..level.ty_span.start + name.len();
                self.error(&span, format!("unknown level type {}", quote(&name))).with_help(help)
            }
            MakeError::Level(error) => self.level_error(level, error),
            error => self.error(&level.ty_span, error.to_string()),
        })
    }

    /// The descriptions of all levels, each of which must fit at its place. If a level does not fit
    /// below the one above it, its adapted form is tried, and then the relaxed form of that one.
    fn placed(
        self,
        syntax: &FormatSyntax,
        (forms, counters): (&[Form], &[Counter]),
        types: &mut [Box<dyn LevelType>],
        stands_in: &[bool],
    ) -> Result<Vec<Description>, FormatError> {
        // Any level may fit under a stand-in.
        fn place<'p>(
            (forms, counters, rank, batches): (&[Form], &[Counter], usize, usize),
            at: usize,
            parent: Option<&'p Description>,
        ) -> Place<'p> {
            let (expr, last) = (shape_of(forms, at, rank), at + 1 == forms.len());
            let single = is_counted(forms, counters, at, rank);
            Place { parent, expr, last, single, leading: at <= batches }
        }
        let batches = types.iter().take_while(|ty| ty.is_batch()).count();
        let map = (forms, counters, syntax.dims.len(), batches);
        let fits = |ty: &dyn LevelType, at: usize, parent: Option<&Description>| {
            if at > 0 && stands_in[at - 1] { Ok(()) } else { ty.fits(&place(map, at, parent)) }
        };
        let mut descriptions: Vec<Description> = Vec::with_capacity(types.len());
        for at in 0..types.len() {
            let parent = descriptions.last();
            if fits(&*types[at], at, parent).is_err()
                && let Some(adapted) = types[at].adapted(&place(map, at, parent))
                && fits(&*adapted, at, parent).is_ok()
            {
                types[at] = adapted;
            }
            if let Err(error) = fits(&*types[at], at, descriptions.last()) {
                let above = at.checked_sub(1);
                let relaxed = above.and_then(|above| types[above].relaxed()).filter(|relaxed| {
                    let parent = at.checked_sub(2).map(|at| &descriptions[at]);
                    fits(&**relaxed, at - 1, parent).is_ok()
                });
                let Some(relaxed) = relaxed else {
                    return Err(self.level_error(&syntax.levels[at], error));
                };
                descriptions[at - 1] = relaxed.describe();
                types[at - 1] = relaxed;
                fits(&*types[at], at, descriptions.last())
                    .map_err(|error| self.level_error(&syntax.levels[at], error))?;
            }
            descriptions.push(types[at].describe());
        }
        // The levels below a batch store its items side by side.
        let below = if batches > 0 { batches } else { types.len() };
        for at in below..types.len() {
            types[at] = Batched::of(types[at].clone());
            descriptions[at] = types[at].describe();
        }
        Ok(descriptions)
    }

    fn level_error(self, level: &LevelSyntax, error: LevelError) -> FormatError {
        match error {
            LevelError::BadArgument { level: name, argument, help } => {
                // Of equal arguments, the last one is superfluous.
                let at = level.ty.args.iter().rposition(|arg| arg.to_string() == argument);
                let span = at.map_or(&level.ty_span, |at| &level.arg_spans[at]);
                let near = at
                    .filter(|&at| matches!(level.ty.args[at], Arg::Name(_)))
                    .and_then(|_| nearest(&argument, words(&help)))
                    .filter(|near| *near != argument);
                let help = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => help,
                };
                let message = match &argument[..] {
                    "" => format!("{} lacks its arguments", quote(&name)),
                    argument => format!("{} does not take {}", quote(&name), quote(argument)),
                };
                self.error(span, message).with_help(help)
            }
            LevelError::Misplaced { level: name, reason, help } => {
                let message = format!("{} cannot stand here: {reason}", quote(&name));
                self.error(&level.ty_span, message).with_help(help)
            }
            error => self.error(&level.ty_span, error.to_string()),
        }
    }

    /// The inverse, and whether it is the given one. It is inferred if possible. A given inverse is
    /// proved in any case.
    fn inverse(self, map: &Map<'_>) -> Result<(Inverse, bool), FormatError> {
        let mut names: Vec<String> =
            map.syntax.dims.iter().map(|dim| dim.name.text.clone()).collect();
        let counters: Vec<String> = map.counters.iter().map(|one| one.text(&names)).collect();
        names.extend(counters);
        let exprs: Vec<&IndexExpr> = map.exprs.iter().collect();
        let scope = Scope {
            counters: None,
            symbols: &[],
            vars: map.level_scope,
            what: "level",
            other: map.dims,
            other_what: "dimension",
        };
        let mut given = Vec::new();
        for dim in &map.syntax.dims {
            given.push(dim.inverse.as_ref().map(|e| self.expr(e, &scope)).transpose()?);
        }
        let inferred = infer(&names, &exprs, map.forms);
        let all_given: Option<Vec<IndexExpr>> = given.iter().cloned().collect();
        let reason = match (inferred, all_given) {
            (Ok(inverse), _) => {
                let limits = limit_table(names.len(), &inverse.limits);
                self.prove(map, &exprs, &given, &limits, |dim| {
                    let dims: Vec<&str> = names.iter().map(String::as_str).collect();
                    let levels: Vec<Option<&str>> = map
                        .syntax
                        .levels
                        .iter()
                        .map(|l| l.name.as_ref().map(|n| n.text.as_str()))
                        .collect();
                    let text = inverse.exprs[dim]
                        .display(&names_for_levels(&levels, &dims), Spelling::Ust);
                    format!("write `{} = {text}`", names[dim])
                })?;
                return Ok((inverse, false));
            }
            (Err(reason), Some(all))
                if !reason.redundant && map.counters.is_empty() && uses_all(&all, exprs.len()) =>
            {
                self.prove(map, &exprs, &given, &vec![None; names.len()], |_| {
                    reason.message.clone()
                })?;
                let inverse = Inverse { exprs: all, limits: Vec::new(), splits: Vec::new() };
                return Ok((inverse, true));
            }
            (Err(reason), _) => reason,
        };
        let NoInverse { level, message, help, .. } = reason;
        let span = match map.syntax.levels.get(level) {
            Some(level) => &level.expr.span,
            None => &map.syntax.dims_span,
        };
        Err(self.error(span, message).maybe_help(help))
    }

    /// Proves the given inverses.
    fn prove(
        self,
        map: &Map<'_>,
        exprs: &[&IndexExpr],
        given: &[Option<IndexExpr>],
        limits: &[Option<u64>],
        help: impl Fn(usize) -> String,
    ) -> Result<(), FormatError> {
        if given.iter().all(Option::is_none) {
            return Ok(());
        }
        let proof = Proof::new(exprs, limits);
        for (at, (dim, given)) in map.syntax.dims.iter().zip(given).enumerate() {
            let (Some(syntax), Some(given)) = (&dim.inverse, given) else { continue };
            let shown = match &proof {
                Ok(proof) => proof.recovers(given, at),
                Err(no) => Err(*no),
            };
            if shown != Ok(true) {
                let message = match shown {
                    Err(no) => format!("this inverse cannot be proved: {}", no.message()),
                    Ok(_) => format!("this does not give {} back", quote(&dim.name.text)),
                };
                return Err(self.error(&syntax.span, message).with_help(help(at)));
            }
        }
        Ok(())
    }
}

/// Whether every level occurs in one of the expressions.
fn uses_all(inverse: &[IndexExpr], levels: usize) -> bool {
    let used: std::collections::BTreeSet<usize> =
        inverse.iter().flat_map(IndexExpr::vars).collect();
    used.len() == levels
}

/// The words of a help text that may be arguments.
fn words(help: &str) -> impl Iterator<Item = &str> {
    help.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| word.len() > 2)
}
