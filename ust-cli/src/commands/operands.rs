//! The tensors of an expression.

use std::collections::HashMap;

use ust::format::Composition;
use ust::ops::{Einsum, Expression, Semiring};
use ust::{Composed, Dtype, Tensor, einsum};

use crate::args::{Asked, Named, NamedFormat};
use crate::failure::Failure;
use crate::source;

/// The tensors of an expression.
pub(super) struct Operands {
    /// Those on the right.
    pub(super) tensors: Vec<(String, Composed)>,
    /// For an update, what is there already.
    pub(super) old: Option<Tensor>,
    /// The name of the result.
    pub(super) result: String,
    /// The formats asked for, by the names of tensors.
    formats: HashMap<String, String>,
}

impl Operands {
    /// Reads the tensors of an expression.
    pub(super) fn read(args: &Asked, expression: &Expression) -> Result<Self, Failure> {
        operands(args, expression, formats(args, expression)?)
    }

    /// The expression with its tensors, and what was asked for.
    pub(super) fn einsum(&self, args: &Asked, dtype: Option<Dtype>) -> Einsum {
        let mut call = einsum(&args.expression);
        for (name, tensor) in &self.tensors {
            call = call.arg(name, tensor);
        }
        if let Some(format) = self.formats.get(&self.result) {
            call = call.format(format);
        }
        if let Some(dtype) = dtype {
            call = call.dtype(dtype);
        }
        if let Some(semiring) = &args.semiring {
            call = call.semiring(semiring);
        }
        for (index, extent) in &args.extent {
            call = call.extent(index, *extent);
        }
        match args.reading.memory_limit {
            Some(limit) => call.memory_limit(limit),
            None => call,
        }
    }
}

/// The formats asked for, by the names of tensors.
fn formats(args: &Asked, expression: &Expression) -> Result<HashMap<String, String>, Failure> {
    let all = expression.accesses().into_iter().chain([expression.result.clone()]);
    let mut ranks: Vec<(String, usize)> = Vec::new();
    for access in all {
        if !ranks.iter().any(|(name, _)| *name == access.name) {
            ranks.push((access.name, access.indices.len()));
        }
    }
    let mut formats = HashMap::new();
    for NamedFormat { name, text } in &args.format {
        let name = match name {
            Some(name) => name.clone(),
            None => {
                let fits = |rank: usize| Composition::resolve(text, Some(rank)).is_ok();
                let mut fitting = ranks.iter().filter(|(_, rank)| fits(*rank));
                match (fitting.next(), fitting.next()) {
                    (Some((name, _)), None) => name.clone(),
                    (None, _) => {
                        // Says what is wrong with the text, if anything is.
                        Composition::resolve(text, None)?;
                        let message =
                            format!("no tensor of `{}` can be in `{text}`", args.expression);
                        return Err(Failure::input(message));
                    }
                    (Some((name, _)), Some(_)) => {
                        let message =
                            format!("`--format {text}` does not say which tensor is meant");
                        let help = format!("write `--format \"{name}={text}\"`, for one");
                        return Err(Failure::input(message).help(help));
                    }
                }
            }
        };
        if let Some(before) = formats.insert(name.clone(), text.clone()) {
            let message = format!("the format of `{name}` is given twice: `{before}` and `{text}`");
            return Err(Failure::input(message));
        }
    }
    Ok(formats)
}

/// The tensors of the expression, each in the shape and format asked for.
fn operands(
    args: &Asked,
    expression: &Expression,
    formats: HashMap<String, String>,
) -> Result<Operands, Failure> {
    // A name that an extent is given for is an index.
    let mut names = expression.operands();
    names.retain(|name| args.extent.iter().all(|(index, _)| index != name));
    let result = expression.result.name.clone();
    let updates = expression.is_update();
    let mut wanted: Vec<&str> = names.iter().map(String::as_str).collect();
    if updates {
        wanted.push(&result);
    }
    check_names(args, expression, &formats, &wanted)?;
    let named = expression.semiring.as_ref().map(|(name, _)| name).or(args.semiring.as_ref());
    let semiring = named.and_then(|name| Semiring::named(name));
    let read = |wanted: &str| -> Result<Composed, Failure> {
        let mut given = args.tensors.iter().filter(|given| given.name == wanted);
        let Some(Named { text, .. }) = given.next() else {
            return Err(Failure::input(format!("the tensor `{wanted}` is not given"))
                .help(format!("give it as `{wanted}=FILE` or `{wanted}=gen:...`")));
        };
        if given.next().is_some() {
            return Err(Failure::input(format!("the tensor `{wanted}` is given twice")));
        }
        let mut shapes = args.shape.iter().rev();
        let shape = shapes.find(|s| s.name.as_deref().is_none_or(|name| name == wanted));
        let (shape, format) = (shape.map(|named| &named.shape), formats.get(wanted));
        let (Some(semiring), Some(format)) = (&semiring, format) else {
            let format = format.map(String::as_str);
            return source::composed(text, shape, format, &args.reading);
        };
        if source::composition(format)? {
            return source::composed(text, shape, Some(format), &args.reading);
        }
        // Stored as it is meant: a format may have a place for what is not stored.
        let tensor = source::tensor(text, shape, None, &args.reading)?;
        let format = source::resolve(format, tensor.rank())?;
        let meant = semiring.zero(tensor.dtype()).map(|_| semiring.operand(&tensor)).transpose()?;
        Ok(meant.unwrap_or(tensor).convert_within(&format, args.reading.limit())?.into())
    };
    let mut tensors = Vec::new();
    for name in &names {
        tensors.push((name.clone(), read(name)?));
    }
    let old = match updates {
        true => {
            let old = read(&result)?;
            Some(old.convert(&old.own_format()?)?)
        }
        false => None,
    };
    Ok(Operands { tensors, old, result, formats })
}

/// Whether everything that is said about a tensor is said about one of the expression.
fn check_names(
    args: &Asked,
    expression: &Expression,
    formats: &HashMap<String, String>,
    wanted: &[&str],
) -> Result<(), Failure> {
    let result = &*expression.result.name;
    let known: Vec<&str> = wanted.iter().copied().chain([result]).collect();
    let tensors = args.tensors.iter().map(|named| (&*named.name, wanted));
    let formats = formats.keys().map(|name| (&**name, &known[..]));
    let shapes = args.shape.iter().filter_map(|s| Some((s.name.as_deref()?, wanted)));
    for (name, known) in tensors.chain(formats).chain(shapes) {
        if known.contains(&name) {
            continue;
        }
        if let Some(wrong) = expression.misused(name) {
            return Err(wrong.into());
        }
        let message = match name == result {
            true => format!("`{name}` is the result of `{}`, not an operand", args.expression),
            false => format!("`{}` has no tensor `{name}`", args.expression),
        };
        let help = match known {
            [] => format!("nothing is given to it; a scalar is named bare, as `s = 2 * {name}`"),
            _ => format!("it may be {}", known.join(", ")),
        };
        return Err(Failure::input(message).help(help));
    }
    if wanted.len() > 1 && args.shape.iter().any(|shape| shape.name.is_none()) {
        let help = format!("write `--shape NAME=SHAPE` with one of {}", wanted.join(", "));
        return Err(Failure::input("--shape does not say which tensor is meant").help(help));
    }
    Ok(())
}
