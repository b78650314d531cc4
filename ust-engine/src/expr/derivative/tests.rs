use super::{derivative, derivative_with};
use crate::expr::{Expression, UserOperator};

/// The gradient as text, for the seed `g`.
fn gradient(text: &str, wrt: &str) -> String {
    let expression = Expression::parse(text).unwrap();
    derivative(&expression, wrt, "g").unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
}

fn refusal(text: &str, wrt: &str, seed: &str) -> String {
    derivative(&Expression::parse(text).unwrap(), wrt, seed).unwrap_err().to_string()
}

#[test]
fn gradients_are_as_one_writes_them() {
    let mut wrong = Vec::new();
    for (text, wrt, expected) in [
        ("y(i) = A(i,j) * x(j)", "A", "dA(i,j) = g(i) * x(j)"),
        ("y(i) = A(i,j) * x(j)", "x", "dx(j) = g(i) * A(i,j)"),
        ("y(i) = A(i,j) * x(j) + b(i)", "b", "db(i) = g(i)"),
        ("C(i,j) = A(i,k) * B(k,j)", "B", "dB(k,j) = g(i,j) * A(i,k)"),
        ("C(i,j) = M(i,j) * A(i,k) * B(j,k)", "A", "dA(i,k) = g(i,j) * B(j,k) * M(i,j)"),
        ("C(i,j) = A(i,k) * A(k,j)", "A", "dA(i,k) = g(i,j) * A(k,j) + g(i2,k) * A(i2,i)"),
        ("s = A(i,i)", "A", "dA(i,i2) = where(true, where(i == i2, g, 0), A(i,i2))"),
        ("s = A(i,j) * A(i,j)", "A", "dA(i,j) = g * A(i,j) + g * A(i,j)"),
        ("s = A(i,j)^2", "A", "dA(i,j) = g * (2 * A(i,j))"),
        ("s = A(i,j)^3", "A", "dA(i,j) = g * (3 * A(i,j)^2)"),
        ("s = -x(i)", "x", "dx(i) = where(true, -g, x(i))"),
        ("y(i) = x(i) / z(i)", "z", "dz(i) = -(g(i) * x(i) / (z(i) * z(i)))"),
        ("y(i) = relu(x(i))", "x", "dx(i) = where(x(i) > 0, g(i), 0)"),
        ("y(i) = floor(x(i)) * x(i)", "x", "dx(i) = g(i) * floor(x(i))"),
        ("y(i) = floor(x(i))", "x", "dx(i) = where(true, 0, x(i))"),
        ("s = t * x(i)", "t", "dt() = g * x(i)"),
        ("C(i,j) += A(i,k) * B(k,j)", "C", "dC(i,j) = g(i,j)"),
        ("y(i) *= A(i,j)", "A", "dA(i,j) = where(true, g(i) * y(i), A(i,j))"),
        ("y(i) *= A(i,j)", "y", "dy(i) = g(i) * sum(j2, A(i,j2))"),
        ("y(i)<structure m(i)> = 2 * x(i)", "x", "dx(i) = where(stored(m(i)), g(i), 0) * 2"),
        (
            "y(i) = exp(sum(j, A(i,j) * x(j)))",
            "x",
            "dx(j) = g(i) * exp(sum(j2, A(i,j2) * x(j2))) * A(i,j)",
        ),
        (
            "y(i) = exp[stored](A(i))",
            "A",
            "dA(i) = where(stored(A(i)), g(i), 0) * exp(A(i)) + where(stored(A(i)), 0, g(i))",
        ),
        (
            "y(i) = prod(k, A(i,k))",
            "A",
            "dA(i,k) = where(true, g(i) * prod(k2, where(k2 == k, 1, A(i,k2))), A(i,k))",
        ),
        (
            "y(i) = max(k, A(i,k))",
            "A",
            "dA(i,k) = where(A(i,k) == max(k2, A(i,k2)), g(i) / sum(k3, A(i,k3) == max(k4, A(i,k4))), 0)",
        ),
        // Each `x(j)` counts once for each `A(i,j)`, and each `A` once for each `x`.
        ("y(i) = sum(j, a(i) + x(j))", "a", "da(i) = where(true, g(i), x(j))"),
        ("y(i) = sum(j, a(i) + x(j))", "x", "dx(j) = where(true, g(i), x(j))"),
        (
            "y(i) = sum(j, a(i) + sum(k, x(j,k)))",
            "a",
            "da(i) = where(true, g(i), sum(k2, x(j,k2)))",
        ),
        ("dA = A(i)", "A", "dA_2(i) = where(true, g, A(i))"),
    ] {
        let found = gradient(text, wrt);
        if found != expected {
            wrong.push(format!("{text}, {wrt}:\n  {found}\n  {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_has_no_gradient_says_so() {
    let error = refusal("y(i) = A(i,j) * x(j)", "B", "g");
    assert!(error.contains("the expression has no operand `B`"), "{error}");
    let error = refusal("y(i) = A(i,j) * x(j)", "A", "x");
    assert!(error.contains("`x` cannot be the name of the seed"), "{error}");
    for seed in ["i", "exp", "2", "g = 1; h", ""] {
        let error = refusal("y(i) = A(i,j) * x(j)", "A", seed);
        assert!(error.contains("cannot be the name of the seed"), "{error}");
    }
    let error = refusal("y(i) = A(i,j) * x(j) using min_plus", "A", "g");
    assert!(error.contains("no derivative is known in the semiring `min_plus`"), "{error}");
    assert!(error.contains(&format!("\n  {}^^^^^^^^", " ".repeat(27))), "{error}");
    let error = refusal("y(i) |= x(i)", "x", "g");
    assert!(error.contains("`|=` has no derivative"), "{error}");

    let hypot = UserOperator::new("hypot2", |x, y| (x.clone() * x + y.clone() * y).sqrt());
    let expression = Expression::parse("s = hypot2(k, x(k))").unwrap();
    let error = derivative_with(&expression, "x", "g", &[hypot.identity(0.0)]).unwrap_err();
    assert!(error.to_string().contains("no derivative of a reduction by `hypot2`"), "{error}");
}
