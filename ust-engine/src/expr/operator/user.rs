//! Operators that a user declares.

use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ust_level_api::ir::Expr;
use ust_level_api::{Dtype, Scalar};

use super::sym::{Sym, Tree};
use crate::expr::check::typed::{self, Ty, Typed};
use crate::expr::term::Term;

/// An operator composed of other operators by a closure on symbolic numbers. The closure is not called for
/// elements: its result is compiled into the loops.
///
/// ```
/// use ust::ops::UserOperator;
/// let hypot = UserOperator::new("hypot2", |x, y| (x.clone() * x + y.clone() * y).sqrt())
///     .identity(0.0);
/// assert_eq!(hypot.name(), "hypot2");
/// ```
///
/// In text it is a function, `hypot2(a, b)`, and, where it has an identity, a reduction,
/// `hypot2(k, A(i,k))`. A reduction combines in any order: the operator has to be associative and
/// commutative.
///
/// Two operators are equal when they do the same under the same name.
#[derive(Clone)]
pub struct UserOperator {
    name: Arc<str>,
    arity: usize,
    pub(super) body: Sym,
    identity: Option<Scalar>,
    annihilator: Option<Scalar>,
    /// All other fields, as text.
    key: Arc<str>,
}

impl UserOperator {
    /// An operator of two arguments. Its name is that of a function in text: letters, digits, `_`.
    #[must_use]
    pub fn new(name: &str, body: impl FnOnce(Sym, Sym) -> Sym) -> Self {
        let [x, y] = [0, 1].map(Sym::argument);
        Self::make(name, 2, body(x, y))
    }

    /// An operator of one argument.
    #[must_use]
    pub fn unary(name: &str, body: impl FnOnce(Sym) -> Sym) -> Self {
        Self::make(name, 1, body(Sym::argument(0)))
    }

    /// An operator of any number of arguments, at least one.
    ///
    /// # Panics
    /// When `arity` is 0, or the closure asks for more arguments.
    #[must_use]
    pub fn with_arity(name: &str, arity: usize, body: impl FnOnce(&[Sym]) -> Sym) -> Self {
        assert!(arity > 0, "an operator has an argument");
        let args: Vec<Sym> = (0..arity).map(Sym::argument).collect();
        Self::make(name, arity, body(&args))
    }

    fn make(name: &str, arity: usize, body: Sym) -> Self {
        let (identity, annihilator) = (None, None);
        let mut made =
            Self { name: name.into(), arity, body, identity, annihilator, key: "".into() };
        made.set_key();
        made
    }

    fn set_key(&mut self) {
        let mut key = format!("{}/{} = ", self.name, self.arity);
        write_key(&self.body, &mut key);
        let _ = write!(key, "; {:?}; {:?}", self.identity, self.annihilator);
        self.key = key.into();
    }

    /// Declares the identity: `op(identity, x) = op(x, identity) = x`.
    #[must_use]
    pub fn identity(mut self, value: impl Into<Scalar>) -> Self {
        self.identity = Some(value.into());
        self.set_key();
        self
    }

    /// Declares the annihilator: if any argument has this value, the result has it. Loops do not visit
    /// unstored elements with this value.
    #[must_use]
    pub fn annihilator(mut self, value: impl Into<Scalar>) -> Self {
        self.annihilator = Some(value.into());
        self.set_key();
        self
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of arguments.
    #[must_use]
    pub fn arity(&self) -> usize {
        self.arity
    }

    /// The dtype of the result for arguments of a dtype. `None` if an operator of the body does not take its
    /// arguments, or if the body is larger than the [limit](super::sym::MAX_SIZE).
    #[must_use]
    pub fn result(&self, of: Dtype) -> Option<Dtype> {
        self.typed(of).map(|typed| typed.ty.dtype())
    }

    pub(super) fn identity_as(&self, dtype: Dtype) -> Option<Scalar> {
        self.identity?.cast(dtype).ok()
    }

    pub(super) fn annihilator_as(&self, dtype: Dtype) -> Option<Scalar> {
        self.annihilator?.cast(dtype).ok()
    }

    /// The body for arguments of a dtype, which are [`Term::Element`]s.
    fn typed(&self, of: Dtype) -> Option<Typed> {
        typed_body(&self.body, of)
    }

    /// # Panics
    /// When the operator does not take numbers of this dtype.
    pub(super) fn emit(&self, args: &[Expr], of: Dtype) -> Expr {
        let body = self.typed(of).expect("the dtype was looked up in the signature");
        emit(&body.term, args, of)
    }

    pub(super) fn repeats(&self, at: usize, of: Dtype) -> bool {
        fn uses(term: &Term, at: usize, of: Dtype) -> usize {
            match term {
                Term::Element(found) => usize::from(*found == at),
                Term::Call { op, args, .. } => {
                    let inner = args.last().map_or(of, |arg| dtype(arg, of));
                    let weight = |n: usize| if op.repeats(n, inner) { 2 } else { 1 };
                    let used =
                        args.iter().enumerate().map(|(n, arg)| weight(n) * uses(arg, at, of));
                    used.sum()
                }
                _ => 0,
            }
        }
        self.typed(of).is_some_and(|body| uses(&body.term, at, of) > 1)
    }
}

fn typed_body(sym: &Sym, of: Dtype) -> Option<Typed> {
    match &*sym.tree {
        Tree::Arg(at) => Some(Typed { term: Term::Element(*at), ty: Ty::Strong(of) }),
        Tree::Number(value) => Some(typed::literal(*value)),
        Tree::Call(op, args) => {
            let args = args.iter().map(|arg| typed_body(arg, of)).collect::<Option<_>>()?;
            typed::call(op, args, None).ok()
        }
        Tree::Cast(dtype, arg) => Some(typed::cast(typed_body(arg, of)?, *dtype, None)),
        Tree::TooLarge => None,
    }
}

/// The dtype of a part of a body.
fn dtype(term: &Term, of: Dtype) -> Dtype {
    match term {
        Term::Const(value) => value.dtype(),
        Term::Call { dtype, .. } => *dtype,
        _ => of,
    }
}

fn emit(term: &Term, args: &[Expr], of: Dtype) -> Expr {
    match term {
        Term::Const(value) => Expr::Const(*value),
        Term::Element(at) => args[*at].clone(),
        Term::Call { op, args: inner, dtype: to } => {
            let from = inner.last().map_or(of, |arg| dtype(arg, of));
            op.emit(inner.iter().map(|arg| emit(arg, args, of)).collect(), from, *to)
        }
        Term::Present(_)
        | Term::Index(_)
        | Term::Places(..)
        | Term::Stored { .. }
        | Term::Reduce { .. } => {
            unreachable!("a body has calls only")
        }
    }
}

fn write_key(sym: &Sym, key: &mut String) {
    let _ = match &*sym.tree {
        Tree::Arg(at) => write!(key, "${at}"),
        Tree::Number(value) => write!(key, "{value:?}"),
        Tree::TooLarge => write!(key, "too large"),
        Tree::Cast(dtype, arg) => {
            let _ = write!(key, "{dtype}(");
            write_key(arg, key);
            write!(key, ")")
        }
        Tree::Call(op, args) => {
            let _ = write!(key, "{}(", op.key());
            for arg in args {
                write_key(arg, key);
                key.push(',');
            }
            write!(key, ")")
        }
    };
}

impl fmt::Debug for UserOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.key)
    }
}

impl PartialEq for UserOperator {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for UserOperator {}

impl Hash for UserOperator {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}
