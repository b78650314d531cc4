use ust_level_api::Dtype;

use super::{check_with, is_error};
use crate::expr::{CheckOptions, Expression, GivenInput, UserOperator};

#[test]
fn errors_point_at_their_place() {
    for (text, column, width, part) in [
        // Names.
        ("y(i) = Q(i)", 7, 4, "no tensor `Q` was given"),
        ("y(i) = A(i,j) * Aq(j)", 16, 5, "did you mean `A`?"),
        ("y(i) = b(i) * q", 14, 1, "no tensor `q`"),
        ("y(i) = exq(A(i,k))", 7, 11, "did you mean `exp`?"),
        ("y(i) = frobnicate(A(i,k))", 7, 18, "there is no function"),
        ("y(i) = b(i+1)", 9, 3, "`i+1` is no name"),
        ("s1 = sum(k, i * b(i))", 9, 1, "the index `k` does not occur"),
        // Extents and ranks.
        ("y(i) = A(i)", 7, 4, "`A` has 2 dimensions, and 1 index stands here"),
        ("y(i) = b(i,j) * A(i,j)", 7, 6, "1 dimension, and 2 indices stand"),
        ("y(i) = A(i,j) * b(j)", 16, 4, "`j` has extent 3 in `b`, and 4 in `A`"),
        ("y(i) = A(i,i)", 7, 6, "extent 4 in `A`, and 3 in `A`"),
        ("C(i,j) = b(i)", 0, 6, "how far the index `j`"),
        // Functions.
        ("y(i) = exp(b(i), 2)", 7, 12, "takes 1 argument, and 2 stand"),
        ("y(i) = where(b(i), 2)", 7, 14, "takes 3 arguments, and 2 stand"),
        ("y(i) = exp()", 7, 5, "takes 1 argument, and 0 stand"),
        ("y(i) = max(b(i))", 7, 9, "takes 2 arguments, and 1 stand"),
        ("y(i) = pow[stored](b(i), 2)", 7, 20, "`pow` takes 2"),
        ("y(i) = sum[stored](k, A(i,k))", 7, 22, "no stored-only form"),
        ("y(i) = exp((k,l), T(i,k,l))", 7, 20, "is no reduction"),
        // Dtypes.
        ("y(i) = b_complex64(i) < 1", 7, 18, "`<` takes no complex64"),
        ("y(i) = max(b_complex64(i), 1)", 7, 22, "`max` takes no complex64"),
        ("y(i) = max(k, A_complex64(i,k))", 7, 24, "`max` takes no complex64"),
        ("y(i) = floor(b_complex128(i))", 7, 22, "`floor` takes no complex128"),
        ("y(i) = -b_bool(i)", 7, 10, "`-` takes no bool"),
        ("y(i) = b_bool(i) - c_bool(i)", 7, 21, "`-` takes no bool"),
        ("y(i) = 300 * b_u8(i)", 7, 13, "the number 300 is no u8"),
        ("y(i) = b_f16(i) + 1e5", 7, 14, "100000 is no f16"),
        // Reductions.
        ("y(i) = sum(k, b(i))", 11, 1, "`k` does not occur"),
        ("y(i) = sum(k, 2)", 11, 1, "`k` does not occur"),
        ("y(i) = min(k, b(i)) * A(i,k)", 11, 1, "`k` does not occur"),
        ("y(i) = sum(i, A(i,k))", 11, 1, "an index of the result"),
        ("y(i) = sum(k, k, A(i,k))", 14, 1, "reduced over already"),
        ("y(i) = sum(k, A(i,k) * sum(k, x(k)))", 27, 1, "reduced over already"),
        ("y(i) = A(i,k) * sum(k, x(k))", 7, 21, "free in another"),
        ("y(i) = sum(A(i,k))", 7, 11, "over which index"),
        ("y(i) = sum()", 7, 5, "nothing to reduce"),
        ("y(i) = sum(k, b(i), A(i,k))", 14, 4, "one expression last"),
        ("y(i) = sum((k,l))", 7, 10, "nothing to reduce"),
        // Masks and semirings.
        ("y(i)<A(i,j)> = b(i)", 5, 6, "the mask has the index `j`"),
        ("y(i) = b(i) using min_pluss", 18, 9, "did you mean `min_plus`?"),
        ("y(i) = b(i) using frobnicate", 18, 10, "there is no semiring"),
        ("y(i) = b(i) - c(i) using min_plus", 7, 11, "no difference"),
        ("y(i) = A_complex64(i,j) using min_plus", 7, 16, "has no zero"),
    ] {
        is_error(check_with(text, &CheckOptions::default()), column, width, part);
    }
}

#[test]
fn options_are_checked_too() {
    let extents = |name: &str, extent| CheckOptions {
        extents: vec![(name.to_owned(), extent)],
        ..CheckOptions::default()
    };
    let broadcast = check_with("C(i,j) = b(i)", &extents("j", 7)).unwrap();
    assert_eq!(broadcast.indices[1].extent, 7);
    is_error(check_with("y(i) = b(i)", &extents("i", 7)), 0, 4, "extent 3 in `b`, and 7");
    is_error(check_with("y(i) = b(i)", &extents("q", 7)), 0, 4, "no index here");

    let own = |op| CheckOptions { operators: vec![op], ..CheckOptions::default() };
    let twice = own(UserOperator::new("both", |x, y| x + y));
    is_error(check_with("y(i) = both(k, A(i,k))", &twice), 7, 15, "has no identity");
    is_error(check_with("y(i) = both(b(i))", &twice), 7, 10, "takes 2 arguments");
    is_error(check_with("y(i) = bothh(b(i), 1)", &twice), 7, 14, "did you mean `both`?");
    let unary = own(UserOperator::unary("one", |x| x + 1.0));
    is_error(check_with("y(i) = one(k, A(i,k))", &unary), 7, 14, "cannot reduce");
    let order = own(UserOperator::new("order", crate::expr::Sym::lt).identity(false));
    is_error(check_with("y(i) = order(b_complex64(i), 1)", &order), 7, 24, "takes no complex64");
    let huge = own(UserOperator::unary("huge", |x| (0..40).fold(x, |x, _| x.clone() + x)));
    is_error(check_with("y(i) = huge(b(i))", &huge), 7, 10, "`huge` takes no f64");
}

#[test]
fn no_text_of_the_right_signs_is_a_panic() {
    use proptest::prelude::*;
    let words = vec![
        "A(i,k)",
        "x(k)",
        "b(i)",
        "s",
        "i",
        "k",
        "(",
        ")",
        ",",
        "+",
        "-",
        "*",
        "/",
        "^",
        "<",
        ">",
        "!",
        "&",
        "|",
        "sum(",
        "min(",
        "exp(",
        "exp[stored](",
        "where(",
        "2",
        "0.5",
        "2i",
        "==",
        "A_bool(i,k)",
        "A_complex64(i,k)",
        "b_u8(i)",
        "sum(k,",
        "max((k,l),",
        "f32(",
        "300",
    ];
    let parts = prop::collection::vec(prop::sample::select(words), 1..12);
    let tails = prop::sample::select(vec!["", " using min_plus", " using or_and"]);
    proptest!(|(parts in parts, tail in tails)| {
        let _ = check_with(&format!("y(i) = {}{tail}", parts.concat()), &CheckOptions::default());
    });
}

#[test]
fn extents_conflict_across_operands_wherever_they_stand() {
    let expression = Expression::parse("s = sum(k, a(k)) * sum(k, b(k))").unwrap();
    let [a, b] = [("a", [2]), ("b", [3])];
    let inputs = [&a, &b].map(|(name, shape)| GivenInput {
        name,
        shape,
        dtype: Dtype::F64,
        fill: Dtype::F64.zero(),
        full: true,
    });
    is_error(expression.check(&inputs, &CheckOptions::default()), 26, 4, "extent 3 in `b`, and 2");
}
