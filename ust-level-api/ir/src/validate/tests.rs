use super::{ExprError, MAX_DEPTH, ValidateError, validate};
use crate::scalar::Scalar;
use crate::{
    ArrayDecl, ArrayId, BinOp, Builder, Dtype, Elem, Expr, Func, Function, IndexKind, Stmt, Ty,
    UnOp, Var,
};

const N: Var = Var(0);
const FLAG: Var = Var(1);
const ALPHA: Var = Var(2);
const Z: Var = Var(3);
const LOCAL: Var = Var(4);
const READ: ArrayId = ArrayId(0);
const WRITTEN: ArrayId = ArrayId(1);
const VALUES: ArrayId = ArrayId(2);

/// Parameters `n`, `flag`, `alpha` (f64), `z` (complex128); a variable `local` (int) that nothing
/// declares yet; arrays `read` (u32), `written` (i64), `values` (f64, written).
fn function(body: Vec<Stmt>) -> Function {
    let mut b = Builder::new("f");
    b.param("n", Ty::Int);
    b.param("flag", Ty::Bool);
    b.param("alpha", Ty::Val(Dtype::F64));
    b.param("z", Ty::Val(Dtype::Complex128));
    b.index_array("read", IndexKind::U32);
    b.array("written", Elem::Index(IndexKind::I64), true);
    b.array("values", Elem::Value(Dtype::F64), true);
    b.var("local", 0.into());
    Function { body, ..b.finish() }
}

fn let_local(value: impl Into<Expr>) -> Stmt {
    Stmt::Let(LOCAL, value.into())
}

fn two(op: BinOp, a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
    Expr::Binary(op, Box::new(a.into()), Box::new(b.into()))
}

fn loop_(var: Var, body: Vec<Stmt>) -> Stmt {
    Stmt::For { var, lo: 0.into(), hi: N.into(), body }
}

/// Asserts the error of a body, and its message.
#[track_caller]
fn refused(body: Vec<Stmt>, error: &ValidateError, text: &str) {
    let given = validate(&function(body)).unwrap_err();
    assert_eq!(&given, error);
    assert_eq!(given.to_string(), text);
}

/// Asserts the fault of an expression, which `let` assigns to a variable.
#[track_caller]
fn wrong(expr: &Expr, source: ExprError, text: &str) {
    let body = vec![Stmt::Let(LOCAL, expr.clone())];
    let expr = function(Vec::new()).show_expr(expr).to_string();
    refused(body, &ValidateError::Expr { expr, source }, text);
}

#[test]
fn a_body_that_uses_everything_rightly_is_valid() {
    let load = |array, index: Expr| Expr::Load(array, Box::new(index));
    let body = vec![
        let_local(load(READ, Expr::Len(READ) - 1)),
        Stmt::Assign(LOCAL, Expr::from(LOCAL).floor_div(2).modulo(3).min(4)),
        Stmt::Assign(N, Expr::from(N) + 1),
        Stmt::Store(WRITTEN, LOCAL.into(), Expr::Unary(UnOp::Neg, Box::new(N.into()))),
        Stmt::Reduce(BinOp::BitAnd, WRITTEN, 0.into(), LOCAL.into()),
        Stmt::If {
            cond: two(BinOp::And, FLAG, two(BinOp::Lt, ALPHA, load(VALUES, 0.into()))),
            then: vec![Stmt::Reduce(BinOp::Max, VALUES, 0.into(), two(BinOp::Div, ALPHA, ALPHA))],
            otherwise: vec![Stmt::Comment("nothing".to_owned())],
        },
        Stmt::While { cond: two(BinOp::Ne, Z, Z), body: vec![] },
    ];
    assert_eq!(validate(&function(body)), Ok(()));
}

#[test]
fn declarations() {
    let base = || function(Vec::new());
    let named = |name: &str| Function { name: name.to_owned(), ..base() };

    let mut twice = named("twice");
    twice.arrays[0].name = "alpha".to_owned();
    let error = validate(&twice).unwrap_err();
    let (f, name) = ("twice".to_owned(), "alpha".to_owned());
    assert_eq!(error, ValidateError::DuplicateName { function: f, name });

    let missing = Function { params: 9, ..named("missing") };
    let error = validate(&missing).unwrap_err();
    assert_eq!(error.to_string(), "`missing` has 9 parameters but only 5 variables");
    assert!(matches!(error, ValidateError::MissingParams { params: 9, vars: 5, .. }));

    let mut narrow = base();
    narrow.arrays[0].written = true;
    assert_eq!(validate(&narrow), Ok(()));
    let mut packed = base();
    packed.arrays[0] = ArrayDecl { elem: Elem::Index(IndexKind::U2), ..packed.arrays[0].clone() };
    assert_eq!(validate(&packed), Ok(()));
    packed.arrays[0].written = true;
    let error = validate(&packed).unwrap_err();
    assert_eq!(error, ValidateError::PackedWritten("read".to_owned()));

    let mut grows = base();
    grows.arrays[0].grows = true;
    let error = validate(&grows).unwrap_err();
    assert_eq!(error, ValidateError::GrowsUnwritten("read".to_owned()));
}

#[test]
fn scopes() {
    let local = || "local".to_owned();
    let unknown =
        [Stmt::Let(Var(9), 0.into()), Stmt::Assign(Var(9), 0.into()), loop_(Var(9), vec![])];
    for stmt in unknown {
        refused(vec![stmt], &ValidateError::UnknownVar(9), "no variable number 9 is declared");
    }
    refused(
        vec![Stmt::Store(ArrayId(7), 0.into(), 0.into())],
        &ValidateError::UnknownArray(7),
        "no array number 7 is declared",
    );
    let twice = [
        vec![let_local(0), let_local(1)],
        vec![loop_(LOCAL, vec![]), loop_(LOCAL, vec![])],
        vec![loop_(LOCAL, vec![let_local(0)])],
        vec![Stmt::While { cond: FLAG.into(), body: vec![let_local(0)] }, let_local(0)],
    ];
    for body in twice {
        refused(
            body,
            &ValidateError::DeclaredTwice(local()),
            "`local` is declared twice; every `let` and every loop needs a variable of its own",
        );
    }
    refused(
        vec![Stmt::Let(N, 0.into())],
        &ValidateError::DeclaredTwice("n".to_owned()),
        "`n` is declared twice; every `let` and every loop needs a variable of its own",
    );
    let assign = || Stmt::Assign(LOCAL, 0.into());
    let block = |body| Stmt::If { cond: FLAG.into(), then: body, otherwise: vec![] };
    for body in [
        vec![assign(), let_local(0)],
        vec![block(vec![let_local(0)]), assign()],
        vec![loop_(LOCAL, vec![]), assign()],
    ] {
        refused(
            body,
            &ValidateError::AssignedOutOfScope(local()),
            "`local` is assigned where it is not in scope",
        );
    }
    refused(
        vec![loop_(LOCAL, vec![assign()])],
        &ValidateError::AssignedLoopVar(local()),
        "`local` is a loop variable and cannot be assigned",
    );
    let out = || ValidateError::Expr { expr: local(), source: ExprError::OutOfScope(local()) };
    for body in [
        vec![let_local(LOCAL)],
        vec![Stmt::For { var: LOCAL, lo: 0.into(), hi: LOCAL.into(), body: vec![] }],
        vec![block(vec![let_local(0)]), Stmt::Assign(N, LOCAL.into())],
    ] {
        refused(body, &out(), "in `local`: `local` is not in scope");
    }
}

#[test]
fn statements() {
    let load = || Expr::Load(VALUES, Box::new(0.into()));
    let mismatch = |role: &str, expr: &str, expected, found| ValidateError::Type {
        role: role.to_owned(),
        expr: expr.to_owned(),
        expected,
        found,
    };
    let f64 = Ty::Val(Dtype::F64);
    let empty = Vec::new;
    let cases = [
        (let_local(load()), mismatch("the value of `local`", "values[0]", Ty::Int, f64)),
        (Stmt::Assign(ALPHA, 1.into()), mismatch("the value of `alpha`", "1", f64, Ty::Int)),
        (
            Stmt::Assign(ALPHA, Expr::Const(Scalar::F32(1.0))),
            mismatch("the value of `alpha`", "f32(1)", f64, Ty::Val(Dtype::F32)),
        ),
        (
            Stmt::Store(VALUES, 0.into(), 1.into()),
            mismatch("the value stored into `values`", "1", f64, Ty::Int),
        ),
        (
            Stmt::Store(VALUES, FLAG.into(), ALPHA.into()),
            mismatch("the index into `values`", "flag", Ty::Int, Ty::Bool),
        ),
        (
            Stmt::For { var: LOCAL, lo: FLAG.into(), hi: N.into(), body: empty() },
            mismatch("the first value of `local`", "flag", Ty::Int, Ty::Bool),
        ),
        (
            Stmt::For { var: LOCAL, lo: N.into(), hi: FLAG.into(), body: empty() },
            mismatch("the bound of `local`", "flag", Ty::Int, Ty::Bool),
        ),
        (
            Stmt::While { cond: N.into(), body: empty() },
            mismatch("the condition of `while`", "n", Ty::Bool, Ty::Int),
        ),
        (
            Stmt::If { cond: N.into(), then: empty(), otherwise: empty() },
            mismatch("the condition of `if`", "n", Ty::Bool, Ty::Int),
        ),
    ];
    for (stmt, error) in cases {
        let text = error.to_string();
        refused(vec![stmt], &error, &text);
    }
    refused(
        vec![Stmt::Assign(N, FLAG.into())],
        &mismatch("the value of `n`", "flag", Ty::Int, Ty::Bool),
        "the value of `n` is `flag`, of type bool; needed is int",
    );
    refused(
        vec![Stmt::Store(READ, 0.into(), 0.into())],
        &ValidateError::NotWritten("read".to_owned()),
        "`read` is stored into but not declared as written",
    );
    for op in [BinOp::Sub, BinOp::Div, BinOp::BitAnd, BinOp::Eq, BinOp::Or] {
        let (array, elem) = ("values".to_owned(), Elem::Value(Dtype::F64));
        refused(
            vec![Stmt::Reduce(op, VALUES, 0.into(), ALPHA.into())],
            &ValidateError::Reduction { array, elem, op },
            &format!("`{op}` does not reduce into `values`, which holds f64"),
        );
    }
    let mut val = function(vec![loop_(LOCAL, vec![])]);
    val.vars[LOCAL.0 as usize].ty = Ty::Bool;
    let error = validate(&val).unwrap_err();
    assert_eq!(error, ValidateError::LoopVarType { name: "local".to_owned(), found: Ty::Bool });
}

#[test]
fn expressions() {
    let f64 = Ty::Val(Dtype::F64);
    wrong(
        &Expr::Var(Var(9)),
        ExprError::UnknownVar(9),
        "in `?v9`: no variable number 9 is declared",
    );
    wrong(
        &Expr::Len(ArrayId(9)),
        ExprError::UnknownArray(9),
        "in `len(?a9)`: no array number 9 is declared",
    );
    wrong(
        &Expr::Load(READ, Box::new(FLAG.into())),
        ExprError::Index { array: "read".to_owned(), found: Ty::Bool },
        "in `read[flag]`: the index of `read` is of type bool, not int",
    );
    wrong(
        &two(BinOp::Add, N, ALPHA),
        ExprError::Operands { op: BinOp::Add, left: Ty::Int, right: f64 },
        "in `n + alpha`: `+` between int and f64; both sides must be of one type",
    );
    wrong(
        &Expr::from(N).select(1, 2),
        ExprError::Condition { found: Ty::Int },
        "in `n ? 1 : 2`: the condition is of type int, not bool",
    );
    wrong(
        &Expr::from(FLAG).select(1, ALPHA),
        ExprError::Sides { left: Ty::Int, right: f64 },
        "in `flag ? 1 : alpha`: one side is of type int, the other of type f64",
    );
}

#[test]
fn growth_sorts_functions_and_casts() {
    let name = |name: &str| name.to_owned();
    refused(
        vec![Stmt::Reserve(WRITTEN, 1.into())],
        &ValidateError::NotGrowing(name("written")),
        "`written` is made longer but not declared to grow",
    );
    refused(
        vec![Stmt::Reserve(ArrayId(9), 1.into())],
        &ValidateError::UnknownArray(9),
        "no array number 9 is declared",
    );
    refused(
        vec![Stmt::Sort(READ, 0.into(), 1.into())],
        &ValidateError::NotWritten(name("read")),
        "`read` is stored into but not declared as written",
    );
    refused(
        vec![Stmt::Sort(VALUES, 0.into(), 1.into())],
        &ValidateError::Sorted { array: name("values"), elem: Elem::Value(Dtype::F64) },
        "`values` is sorted but holds f64; sorted are only indices of kind i64",
    );
    refused(
        vec![Stmt::Sort(WRITTEN, 0.into(), FLAG.into())],
        &ValidateError::Type {
            role: name("the end of what is sorted in `written`"),
            expr: name("flag"),
            expected: Ty::Int,
            found: Ty::Bool,
        },
        "the end of what is sorted in `written` is `flag`, of type bool; needed is int",
    );
    let [alpha, z] = [Expr::from(ALPHA), Expr::from(Z)];
    wrong(
        &Expr::call(Func::Pow, [alpha.clone()]),
        ExprError::Arity { func: Func::Pow, given: 1 },
        "in `pow(alpha)`: `pow` takes 2 arguments, 1 are given",
    );
    wrong(
        &Expr::call(Func::Sqrt, []),
        ExprError::Arity { func: Func::Sqrt, given: 0 },
        "in `sqrt()`: `sqrt` takes 1 arguments, 0 are given",
    );
    wrong(
        &Expr::call(Func::Pow, [alpha.clone(), z.clone()]),
        ExprError::Arguments {
            func: Func::Pow,
            left: Ty::Val(Dtype::F64),
            right: Ty::Val(Dtype::Complex128),
        },
        "in `pow(alpha, z)`: `pow` of f64 and complex128; both arguments must be of one type",
    );
    wrong(
        &Expr::call(Func::Floor, [z.clone()]),
        ExprError::Argument { func: Func::Floor, found: Ty::Val(Dtype::Complex128) },
        "in `floor(z)`: `floor` does not take complex128",
    );
    wrong(
        &Expr::call(Func::Abs, [Expr::from(N)]),
        ExprError::Argument { func: Func::Abs, found: Ty::Int },
        "in `abs(n)`: `abs` does not take int",
    );
    wrong(
        &Expr::from(N).to_int(),
        ExprError::ToInt { found: Ty::Int },
        "in `(int)n`: an int is made of int, not of a number",
    );
    // The size of a complex number is real.
    let size = Expr::call(Func::Abs, [z]);
    let body = vec![
        Stmt::Assign(ALPHA, size.clone()),
        Stmt::Assign(FLAG, Expr::call(Func::Signbit, [size])),
        Stmt::Assign(ALPHA, Expr::from(FLAG).cast(Dtype::F64)),
        Stmt::Assign(N, alpha.to_int()),
        Stmt::Sort(WRITTEN, 0.into(), N.into()),
    ];
    assert_eq!(validate(&function(body)), Ok(()));
}

#[test]
fn operators_take_what_they_mean_something_for() {
    use BinOp::{
        Add, And, BitAnd, Div, Eq, FloorDiv, Le, Lt, Max, Min, Mod, Mul, Ne, Or, Shr, Sub,
    };
    let all = [Add, Sub, Mul, FloorDiv, Mod, Div, Min, Max, BitAnd, Shr, And, Or, Eq, Ne, Lt, Le];
    let truth = Expr::Const(Scalar::Bool(true));
    let table: [(Expr, Ty, &[BinOp]); 5] = [
        (N.into(), Ty::Int, &[Div, And, Or]),
        (
            FLAG.into(),
            Ty::Bool,
            &[Add, Sub, Mul, FloorDiv, Mod, Div, Min, Max, BitAnd, Shr, Eq, Ne, Lt, Le],
        ),
        (ALPHA.into(), Ty::Val(Dtype::F64), &[FloorDiv, Mod, BitAnd, Shr, And, Or]),
        (
            Z.into(),
            Ty::Val(Dtype::Complex128),
            &[FloorDiv, Mod, Min, Max, BitAnd, Shr, And, Or, Lt, Le],
        ),
        (truth.clone(), Ty::Val(Dtype::Bool), &[Sub, FloorDiv, Mod, Div, BitAnd, Shr, And, Or]),
    ];
    for (operand, found, refused_ops) in table {
        for op in all {
            let expr = two(op, operand.clone(), operand.clone());
            if refused_ops.contains(&op) {
                let text = function(Vec::new()).show_expr(&expr).to_string();
                let text = format!("in `{text}`: `{op}` does not take {found}");
                wrong(&expr, ExprError::BinaryOperand { op, found }, &text);
            } else {
                let cond = match function(Vec::new()).type_of(&expr) {
                    Ty::Bool => expr,
                    _ => two(Eq, expr.clone(), expr),
                };
                let stmt = Stmt::While { cond, body: Vec::new() };
                assert_eq!(validate(&function(vec![stmt])), Ok(()), "{op} on {found}");
            }
        }
    }
    for (op, operand, found) in [
        (UnOp::Not, Expr::from(N), Ty::Int),
        (UnOp::Neg, Expr::from(FLAG), Ty::Bool),
        (UnOp::CountOnes, Expr::from(FLAG), Ty::Bool),
        (UnOp::TrailingZeros, truth.clone(), Ty::Val(Dtype::Bool)),
        (UnOp::Neg, truth, Ty::Val(Dtype::Bool)),
    ] {
        let expr = Expr::Unary(op, Box::new(operand));
        let text = function(Vec::new()).show_expr(&expr).to_string();
        let text = format!("in `{text}`: `{op}` does not take {found}");
        wrong(&expr, ExprError::UnaryOperand { op, found }, &text);
    }
}

#[test]
fn nesting_has_a_limit() {
    let nested =
        |depth| (1..depth).fold(Expr::from(N), |expr, _| Expr::Unary(UnOp::Neg, Box::new(expr)));
    assert_eq!(validate(&function(vec![let_local(nested(MAX_DEPTH - 1))])), Ok(()));
    let text = "`f` is nested deeper than 256; name parts of it with `let`";
    let error = ValidateError::TooDeep { function: "f".to_owned() };
    refused(vec![let_local(nested(MAX_DEPTH))], &error, text);
    let blocks = (0..MAX_DEPTH).fold(Stmt::Comment(String::new()), |stmt, _| Stmt::If {
        cond: FLAG.into(),
        then: vec![stmt],
        otherwise: Vec::new(),
    });
    refused(vec![blocks], &error, text);
}
