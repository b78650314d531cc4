//! Gradients of random expressions, compared with differences.

use proptest::prelude::*;
use ust::format::named::named;
use ust::ndarray::{ArrayD, Dimension, IxDyn};
use ust::ops::{Einsum, Expression, OpError, derivative};
use ust::{Dtype, Error, Format, Tensor, einsum};

/// The extent of every index.
const EXTENT: usize = 3;

/// Makes an expression of the tensors `A` (a matrix), `x` (a vector) and `t` (a number).
struct Maker<'a> {
    picks: std::slice::Iter<'a, u8>,
    /// The indices that may stand here.
    indices: Vec<String>,
    reductions: usize,
}

impl Maker<'_> {
    /// A number below `n`: 0 at the end, where the expression is to end.
    fn pick(&mut self, n: usize) -> usize {
        usize::from(*self.picks.next().unwrap_or(&0)) % n
    }

    fn index(&mut self) -> String {
        let at = self.pick(self.indices.len());
        self.indices[at].clone()
    }

    fn leaf(&mut self) -> String {
        match self.pick(6) {
            0 | 1 => format!("A({},{})", self.index(), self.index()),
            2 => format!("x({})", self.index()),
            3 => "t".to_owned(),
            4 => "0.75".to_owned(),
            _ => {
                let index = self.index();
                format!("({index} - A({index},{}))", self.index())
            }
        }
    }

    fn number(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let functions = [
            "sin", "cos", "tan", "atan", "asinh", "sinh", "cosh", "tanh", "erf", "exp", "expm1",
            "sigmoid", "relu", "abs", "floor", "real", "conj", "f64", "sgn", "-",
        ];
        // These have their domains.
        let narrow = ["asin", "acos", "atanh", "erfinv", "log1p", "sqrt1", "log2", "acosh2"];
        match self.pick(16) {
            0 => self.leaf(),
            1 | 2 => format!("{}({})", functions[self.pick(20)], self.number(depth - 1)),
            3 => {
                let inner = format!("0.9 * tanh({})", self.number(depth - 1));
                match narrow[self.pick(8)] {
                    "sqrt1" => format!("sqrt(1 + {inner})"),
                    "log2" => format!("log(2 + {inner})"),
                    "acosh2" => format!("acosh(2.5 + {inner})"),
                    function => format!("{function}({inner})"),
                }
            }
            4 => {
                let function = ["sin", "exp", "relu", "sigmoid"][self.pick(4)];
                format!("{function}[stored]({})", self.leaf())
            }
            5 | 6 => format!("{} * {}", self.tight(depth - 1), self.tight(depth - 1)),
            7 => format!("({} + {})", self.number(depth - 1), self.number(depth - 1)),
            8 => format!("({} - {})", self.number(depth - 1), self.tight(depth - 1)),
            9 => format!("{} / (2 + sin({}))", self.tight(depth - 1), self.number(depth - 1)),
            10 => {
                let function = ["min", "max"][self.pick(2)];
                let (a, b) = (self.tight(depth - 1), self.tight(depth - 1));
                // No index stands first: that would be a reduction.
                format!("{function}(1 * {a}, {b}, 0.3)")
            }
            11 => {
                let (a, b) = (self.tight(depth - 1), self.number(depth - 1));
                format!("where({} > 0.2, {a}, {b})", self.leaf())
            }
            12 => format!("atan2({}, 2 + {})", self.number(depth - 1), self.leaf()),
            13 => match self.pick(4) {
                0 => format!("{}^2", self.tight(depth - 1)),
                1 => format!("{}^3", self.tight(depth - 1)),
                2 => format!("(1.5 + sin({}))^-1.5", self.number(depth - 1)),
                _ => format!("(1.5 + sin({}))^sin({})", self.number(depth - 1), self.leaf()),
            },
            _ => {
                self.reductions += 1;
                let name = format!("r{}_", self.reductions);
                let function = ["sum", "sum", "prod", "max", "min"][self.pick(5)];
                self.indices.push(name.clone());
                let body = self.tight(depth - 1);
                self.indices.pop();
                format!("{function}({name}, {body} * x({name}))")
            }
        }
    }

    /// A number that may stand beside `*`.
    fn tight(&mut self, depth: usize) -> String {
        format!("({})", self.number(depth))
    }
}

/// A line, and the number of dimensions of its result.
fn line(picks: &[u8]) -> (String, usize) {
    let indices = ["i", "j", "k"].map(str::to_owned).to_vec();
    let mut maker = Maker { picks: picks.iter(), indices, reductions: 0 };
    let rank = maker.pick(3);
    let result = ["y()", "y(i)", "y(i,j)"][rank];
    let mask = match (rank, maker.pick(8)) {
        (1, 0) => "<x(i)>",
        (2, 0) => "<A(j,i)>",
        (2, 1) => "<!structure A(i,j)>",
        _ => "",
    };
    let terms = 1 + maker.pick(2);
    let terms: Vec<String> = (0..terms).map(|_| maker.number(3)).collect();
    (format!("{result}{mask} = {}", terms.join(" - ")), rank)
}

/// The operands, and the derivative of the result with respect to each number that is differentiated.
#[derive(Clone, Debug)]
struct Numbers {
    a: ArrayD<f64>,
    x: ArrayD<f64>,
    t: f64,
    g: ArrayD<f64>,
}

impl Numbers {
    fn new(values: &[f64], rank: usize) -> Self {
        let mut values = values.iter().copied().cycle();
        let mut array = |rank: usize| {
            ArrayD::from_shape_simple_fn(IxDyn(&vec![EXTENT; rank]), || values.next().unwrap())
        };
        Self { a: array(2), x: array(1), t: array(0)[[].as_slice()], g: array(rank) }
    }

    /// The sum of the result, each element times that of the seed.
    fn weighted(&self, text: &str, a: &Tensor) -> Result<f64, ust::ops::OpError> {
        let y = einsum(text).arg("A", a).arg("x", &self.x).arg("t", self.t);
        let y = ["i", "j"].iter().take(self.g.ndim()).fold(y, |y, index| y.extent(index, EXTENT));
        let y = y.format(Format::full(self.g.ndim()).unwrap()).run()?.to_dense::<f64>()?;
        Ok((&y * &self.g).sum())
    }

    /// The gradient as text.
    fn backward(text: &str, wrt: &str) -> String {
        let backward = derivative(&Expression::parse(text).unwrap(), wrt, "g");
        backward.unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
    }

    /// The gradient with its operands.
    fn call(&self, backward: &str, a: &Tensor) -> Einsum {
        let operands = Expression::parse(backward).unwrap().operands();
        let call = einsum(backward).arg("g", &self.g);
        operands.iter().fold(call, |call, name| match name.as_str() {
            "A" => call.arg("A", a),
            "x" => call.arg("x", &self.x),
            "t" => call.arg("t", self.t),
            _ => call,
        })
    }

    fn gradient(&self, text: &str, a: &Tensor, wrt: &str) -> ArrayD<f64> {
        let backward = Self::backward(text, wrt);
        let gradient = self.call(&backward, a).run();
        let gradient = gradient.unwrap_or_else(|error| panic!("{text}: {backward}: {error}"));
        gradient.to_dense::<f64>().unwrap()
    }

    /// The gradient with respect to `A` in the positions of `A`. `None` where a position stands for several elements.
    fn aligned(&self, text: &str, a: &Tensor) -> Option<Tensor> {
        let backward = Self::backward(text, "A");
        match self.call(&backward, a).aligned_with(a).dtype(Dtype::F64).run() {
            Ok(gradient) => Some(gradient),
            Err(OpError::Tensor(Error::Unsupported(_))) => None,
            Err(error) => panic!("{text}: {backward} in {}: {error}", a.format()),
        }
    }
}

/// Whether a position stands for a run of elements.
fn joins(format: &Format) -> bool {
    format.levels().last().is_some_and(|level| level.ty.joins_alike())
}

fn close(found: f64, expected: f64, scale: f64) -> bool {
    (found - expected).abs() <= 2e-5 * scale.max(1.0) || found == expected
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// At numbers without a zero or a tie, the difference quotient is near the derivative.
    #[test]
    fn gradients_are_near_differences(
        picks in prop::collection::vec(any::<u8>(), 4..40),
        values in prop::collection::vec((0.2..1.3_f64, any::<bool>()), 25),
    ) {
        let (text, rank) = line(&picks);
        let values: Vec<f64> = values.iter().map(|&(v, up)| if up { v } else { -v }).collect();
        let numbers = Numbers::new(&values, rank);
        let dense = |numbers: &Numbers| Tensor::from_array(numbers.a.clone()).unwrap();
        let middle = numbers.weighted(&text, &dense(&numbers)).unwrap_or_else(|error| panic!("{text}: {error}"));
        let step = 1e-5;
        for (wrt, rank) in [("A", 2), ("x", 1), ("t", 0)] {
            let named = Expression::parse(&text).unwrap().operands().iter().any(|name| name == wrt);
            if !named {
                continue;
            }
            let gradient = numbers.gradient(&text, &dense(&numbers), wrt);
            prop_assert_eq!(gradient.ndim(), rank);
            for (at, &found) in gradient.indexed_iter() {
                let moved = |by: f64| {
                    let mut numbers = numbers.clone();
                    match wrt {
                        "A" => numbers.a[&at] += by,
                        "x" => numbers.x[&at] += by,
                        _ => numbers.t += by,
                    }
                    numbers.weighted(&text, &dense(&numbers)).unwrap()
                };
                let (above, below) = (moved(step), moved(-step));
                let (right, left) = ((above - middle) / step, (middle - below) / step);
                let scale = right.abs().max(left.abs()).max(middle.abs());
                // A bend or a step between the three points says nothing.
                if (right - left).abs() > 1e-2 * scale.max(1.0) {
                    continue;
                }
                let quotient = (above - below) / (2.0 * step);
                prop_assert!(close(found, quotient, scale), "{}, d{}{:?}: {} but {}", text, wrt, at.slice(), found, quotient);
            }
        }
    }
}

proptest! {
    // Each case is a plan and machine code for each format.
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    /// A gradient is an expression as any other: the same in every format that has a name, and in the positions of
    /// a tensor in that format.
    #[test]
    fn gradients_are_the_same_in_every_format(
        picks in prop::collection::vec(any::<u8>(), 4..30),
        values in prop::collection::vec((0.2..1.3_f64, 0..4_u8), 25),
    ) {
        let (text, rank) = line(&picks);
        let signed = |&(v, kind): &(f64, u8)| if kind == 0 { -v } else { v };
        let mut numbers = Numbers::new(&values.iter().map(signed).collect::<Vec<_>>(), rank);
        for (number, (_, kind)) in numbers.a.iter_mut().zip(&values) {
            if kind % 2 == 0 {
                *number = 0.0;
            }
        }
        prop_assume!(Expression::parse(&text).unwrap().operands().iter().any(|name| name == "A"));
        let coo = Tensor::from_dense(&numbers.a, "COO").unwrap();
        // Others store more elements, for which `[stored]` means something else.
        let stores = !text.contains("[stored]") && !text.contains('<');
        let expected = numbers.gradient(&text, &coo, "A");
        let formats = named().filter_map(|one| Format::resolve(one.example, Some(2)).ok());
        for format in formats {
            let Ok(a) = Tensor::from_dense(&numbers.a, &format) else { continue };
            if a.nse() != coo.nse() && !stores {
                continue;
            }
            let found = numbers.gradient(&text, &a, "A");
            let scale = expected.iter().fold(1.0, |scale: f64, v| scale.max(v.abs()));
            for (found, expected) in found.iter().zip(&expected) {
                let same = close(*found, *expected, scale) || (found.is_nan() && expected.is_nan());
                prop_assert!(same, "{} in {}: {} but {}", text, format, found, expected);
            }
            let Some(aligned) = numbers.aligned(&text, &a) else {
                prop_assert!(joins(&format), "{} in {}", text, format);
                continue;
            };
            prop_assert_eq!(aligned.values().len(), a.values().len());
            prop_assert_eq!(aligned.format().to_string(), a.format().to_string());
            let aligned = aligned.to_dense::<f64>().unwrap();
            for (at, &expected) in expected.indexed_iter().filter(|(at, _)| numbers.a[at] != 0.0) {
                let same = close(aligned[&at], expected, scale)
                    || (aligned[&at].is_nan() && expected.is_nan());
                prop_assert!(same, "{} at {}: {} but {}", text, format, aligned[&at], expected);
            }
        }
    }
}
