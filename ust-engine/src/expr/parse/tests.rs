use proptest::prelude::*;

use crate::expr::syntax::{Access, Assign, Expression, Kind, Literal, Node, Sign};
use crate::expr::{OpError, parse};

fn parse(text: &str) -> Expression {
    Expression::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn what_is_printed_reads_back_and_is_as_short_as_the_rules_allow() {
    for (text, printed) in [
        ("y(i)=A(i,j)*x(j)", "y(i) = A(i,j) * x(j)"),
        ("s = a+b*c", "s() = a + b * c"),
        ("s() = (a+b)*c", "s() = (a + b) * c"),
        ("s = a-(b-c)-d", "s() = a - (b - c) - d"),
        ("s = ((a))", "s() = a"),
        ("s = a/b/c*d", "s() = a / b / c * d"),
        ("s = a/(b*c)", "s() = a / (b * c)"),
        ("s = -a^2", "s() = -a^2"),
        ("s = (-a)^-b^c", "s() = (-a)^-b^c"),
        ("s = (a^b)^c", "s() = (a^b)^c"),
        ("s = !a & b | c & !(d|e)", "s() = !a & b | c & !(d | e)"),
        ("s = a < b & c+1 >= d", "s() = a < b & c + 1 >= d"),
        ("s = (a<b)==(c!=d)", "s() = (a < b) == (c != d)"),
        ("s = --a", "s() = --a"),
        ("s = -a*b", "s() = -a * b"),
        ("s = 2 + .5 + 1e-3 + 2i + 1.5e+2i", "s() = 2 + 0.5 + 0.001 + 2.0i + 150.0i"),
        ("s = inf - nan + 5.", "s() = inf - nan + 5.0"),
        ("s = where(true, a, false)", "s() = where(true, a, false)"),
        ("y(i) = sum((k,l), A(i,k,l))", "y(i) = sum((k,l), A(i,k,l))"),
        ("y(i) = max( k ,A(i,k))", "y(i) = max(k, A(i,k))"),
        ("y(i) = exp [ stored ]( A(i,i) )", "y(i) = exp[stored](A(i,i))"),
        ("C(i,j) <M(i,j)> = A(i,j)", "C(i,j)<M(i,j)> = A(i,j)"),
        ("C(i,j)<!structure M(i,j)>+=A(i,j)", "C(i,j)<!structure M(i,j)> += A(i,j)"),
        ("C(i)<structure(i)>=A(i)", "C(i)<structure(i)> = A(i)"),
        ("C(i)<M(i)>>=A(i)", ""),
        ("s min= a", "s() min= a"),
        ("min = a", "min() = a"),
        ("min min= a", "min() min= a"),
        ("s max= a", "s() max= a"),
        ("s *= a", "s() *= a"),
        ("s |= a", "s() |= a"),
        ("s &= a", "s() &= a"),
        ("y(i) = A(i,k) * b(k) using min_plus", "y(i) = A(i,k) * b(k) using min_plus"),
        ("é_1(ß) = Ω(ß)", "é_1(ß) = Ω(ß)"),
    ] {
        if printed.is_empty() {
            assert!(Expression::parse(text).is_err(), "{text}");
            continue;
        }
        let expression = parse(text);
        assert_eq!(expression.to_string(), printed, "{text}");
        assert_eq!(parse(printed), expression, "{printed}");
    }
}

#[test]
fn operands_are_told_from_indices_and_functions() {
    for (text, operands) in [
        ("y(i) = A(i,j) * x(j) + A(j,i)", "A x"),
        ("C(i,j)<M(i,j)> = a * B(i,j) + b()", "M a B b"),
        ("y(i) = exp(A(i,k)) + sin(s)", "A s"),
        ("y(i) = min(k, A(i,k)) + min(a, b)", "A a b"),
        ("y(i) = sum(k, l, A(i,k,l)) * prod((m,n), B(m,n))", "A B"),
        ("y(i) = sum(q, A(i))", "A"),
        ("s = 2", ""),
        ("s = hypot2(a, B(i))", "a B"),
    ] {
        assert_eq!(parse(text).operands().join(" "), operands, "{text}");
    }
}

#[test]
fn errors_point_at_their_place() {
    for (text, column, width, part) in [
        ("y(i) A(i,j)", 5, 1, "`=`"),
        ("y(i) = A(i,", 11, 1, "the text ends"),
        ("y(i) = (a + b", 7, 1, "the text ends before"),
        ("y(i) = A(i,j", 8, 1, "the text ends before"),
        ("y(i) = a + b)", 12, 1, "found `)`"),
        ("y(i) = a b", 9, 1, "an operator, or the end"),
        ("y(i) = a +", 10, 1, "the text ends"),
        ("y(i) = * a", 7, 1, "found `*`"),
        ("y(i,i) = A(i,j)", 0, 6, "twice"),
        ("é(i) = B(i) * é(i)", 14, 4, "cannot be an operand"),
        ("y(i) += B(i) * y(i)", 15, 4, "cannot be an operand"),
        ("y(i)<y(i)> = B(i)", 5, 4, "cannot be an operand"),
        ("s = s + 1", 4, 1, "cannot be an operand"),
        ("s = a < b < c", 10, 1, "do not chain"),
        ("s = a && b", 7, 1, "`&` is enough"),
        ("s = a ** b", 7, 1, "written `^`"),
        ("s = 2x", 4, 2, "no number"),
        ("s = 1e999", 4, 5, "too large"),
        ("s = .", 4, 1, "no number"),
        ("s = 18446744073709551616", 4, 20, "too large for an integer"),
        ("s = a # b", 6, 1, "no sign"),
        ("s = exp[dense](a)", 8, 5, "`stored`"),
        ("s = exp[stored]", 15, 1, "`(`"),
        ("s = inf(2)", 7, 1, "an operator"),
        ("inf = 2", 0, 3, "is a number"),
        ("s = a using", 11, 1, "semiring"),
        ("s<M()> ! a", 7, 1, "`=`"),
        ("s<M() = a", 6, 1, "`>`"),
        ("s == a", 2, 2, "`=`"),
        ("", 0, 1, "the text ends"),
    ] {
        let error = Expression::parse(text).expect_err(text);
        let OpError::Text { column: found, width: wide, .. } = &error else { panic!("{error}") };
        assert_eq!((*found, (*wide).max(1)), (column, width), "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn hostile_texts_are_refused_and_shown_in_part() {
    let repeat = |part: &str, n: usize| part.repeat(n);
    for text in [
        format!("s = {}", repeat("(", 1_000_000)),
        format!("s = {}", repeat("(", 60_000)),
        format!("s = {}a{}", repeat("(", 30_000), repeat(")", 30_000)),
        format!("s = {}a", repeat("-", 60_000)),
        format!("s = {}a", repeat("a^", 30_000)),
        format!("s = {}a", repeat("a+", 30_000)),
        format!("s = {}a", repeat("exp(", 15_000)),
        format!("s = {}a{}", repeat("a*(b+", 10_000), repeat(")", 10_000)),
        format!("s = min({}a)", repeat("a,", 30_000)),
        format!("s = {}", repeat("é", 2_000_000)),
    ] {
        let error = Expression::parse(&text).expect_err("hostile");
        let OpError::Text { text, column, width, .. } = &error else { panic!("{error}") };
        assert!(text.chars().count() <= 1024 && column + width <= 1024);
    }
    let terms = vec!["a(i)"; parse::MAX_DEPTH - 1].join(" + ");
    assert_eq!(parse(&format!("y(i) = {terms}")).operands(), ["a"]);
}

fn node(kind: Kind) -> Node {
    Node { kind, span: 0..0 }
}

fn name() -> impl Strategy<Value = String> {
    let reserved = ["inf", "nan", "true", "false", "using"];
    "[a-z][a-z0-9_]{0,3}".prop_filter("reserved", move |name| !reserved.contains(&&**name))
}

/// Trees as the parser makes them.
fn tree() -> impl Strategy<Value = Node> {
    let literal = prop_oneof![
        any::<bool>().prop_map(Literal::Bool),
        any::<u64>().prop_map(Literal::Int),
        any::<f64>().prop_map(|x| Literal::Float(if x.is_nan() { f64::NAN } else { x.abs() })),
        (0.0..1e300).prop_map(Literal::Imaginary),
    ];
    let leaf = prop_oneof![literal.prop_map(Kind::Literal), name().prop_map(Kind::Name)];
    leaf.prop_map(node).prop_recursive(6, 40, 3, |inner| {
        use Sign::{Add, And, Div, Eq, Ge, Gt, Le, Lt, Mul, Ne, Not, Or, Pow, Sub};
        let signs = [Or, And, Eq, Ne, Lt, Le, Gt, Ge, Add, Sub, Mul, Div, Pow];
        let boxed = || inner.clone().prop_map(Box::new);
        let names = prop::collection::vec(name().prop_map(|name| node(Kind::Name(name))), 2..4);
        prop_oneof![
            (prop::sample::select(signs.to_vec()), boxed(), boxed())
                .prop_map(|(sign, a, b)| node(Kind::Binary(sign, a, b))),
            (prop::sample::select(vec![Sub, Not]), boxed())
                .prop_map(|(sign, a)| node(Kind::Unary(sign, a))),
            (name(), any::<bool>(), prop::option::of(names), prop::collection::vec(inner, 0..4))
                .prop_map(|(name, stored, over, args)| {
                    node(Kind::Apply { name, stored, over, args })
                }),
        ]
    })
}

proptest! {
    #[test]
    fn every_tree_prints_as_text_that_reads_back(body in tree()) {
        let result = Access { name: "result_of_all".into(), indices: vec![], span: 0..0 };
        let expression = Expression {
            text: String::new(),
            result,
            mask: None,
            assign: Assign::Set,
            body,
            semiring: None,
        };
        let text = expression.to_string();
        let read = Expression::parse(&text);
        prop_assert!(read.is_ok(), "{text}: {}", read.unwrap_err());
        prop_assert_eq!(read.unwrap(), expression, "{}", text);
    }

    #[test]
    fn no_text_is_a_panic(text in ".{0,60}") {
        let _ = Expression::parse(&text);
    }

    #[test]
    fn no_text_of_the_right_signs_is_a_panic(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "y", "(", ")", "i", ",", "=", "+", "-", "*", "/", "^", "<", ">", "!", "&", "|",
                "sum", "min", "exp", "[stored]", "2", "0.5", "1e", "2i", "inf", "using", "==",
                "structure", " ", "A(i,j)", "where(", "((k,l),", "é",
            ]),
            0..24,
        )
    ) {
        let _ = Expression::parse(&parts.concat());
        let _ = Expression::parse(&format!("y(i) = {}", parts.concat()));
    }
}
