//! Rows of entries whose coordinates are in a code. Elements of `x` that belong to no entry are no numbers.

use ust_ir::idiom::{Code, Leaf, Numbers, Sum, Target};
use ust_ir::interp::Memory;
use ust_ir::testing::write_leaf;
use ust_ir::{Builder, Dtype, Elem, Expr, Function, IndexArray, IndexKind, Ty};

use super::{Run, Ways, all_near, pattern_of};
use crate::loops::{CodeOf, Reason};
use crate::pattern::Pattern;
use crate::{Kernel, Options};

/// How the rows of a function are made.
#[derive(Clone, Copy, Debug)]
struct Form {
    /// Bits of a number; of words of ones without.
    bits: Option<u32>,
    /// The kind of bounds.
    kind: IndexKind,
    dtype: Dtype,
    /// Whether products have another factor.
    scaled: bool,
    change: Change,
}

/// What makes loops that have no kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    None,
    /// Every other element of `x`.
    Strided,
    /// The value of the row, not of the entry.
    Shared,
    /// Words that begin elsewhere.
    Apart,
}

/// Words of a row.
const WORDS: i64 = 3;

impl Form {
    fn function(self) -> Function {
        let mut b = Builder::new("coded");
        let (n, shift) = (b.param("n", Ty::Int), b.param("shift", Ty::Int));
        let of_codes = match self.bits {
            None | Some(32) => IndexKind::U32,
            Some(16) => IndexKind::U16,
            Some(_) => IndexKind::U8,
        };
        let (pos, codes) = (b.index_array("pos", self.kind), b.index_array("codes", of_codes));
        let [a, x] = ["a", "x"].map(|name| b.array(name, Elem::Value(self.dtype), false));
        let y = b.array("y", Elem::Value(self.dtype), true);
        let (start, one) = (self.dtype.zero(), self.dtype.one());
        b.for_("row", 0.into(), n, |b, row| {
            let sum = b.var("sum", Expr::Const(start));
            let to = Sum { inside: 1, start, array: y, index: row.clone(), op: None };
            let twice = b.bind("twice", Expr::Const(one) + Expr::Const(one));
            let entry = |b: &mut Builder, crd: Expr, p: Expr| {
                let column = if self.change == Change::Strided { crd * 2 } else { crd };
                let at = if self.change == Change::Shared { row.clone() } else { p };
                let mut factors = vec![b.load(a, at), b.load(x, column + shift.clone())];
                factors.extend(self.scaled.then(|| twice.clone()));
                let leaf = Leaf::product(Target::Var(sum), factors);
                write_leaf(b, Leaf { sum: Some(to.clone()), ..leaf });
            };
            match self.bits {
                Some(bits) => {
                    let first = b.load(pos, row.clone());
                    let count = b.load(pos, row.clone() + 1) - first.clone();
                    let code =
                        Code::Gaps { count, numbers: Numbers { array: codes, bits, shift: None } };
                    b.coded("j", (0.into(), first), code, entry);
                }
                None => {
                    let begin = b.bind("begin", row.clone() * WORDS);
                    b.for_("word", begin.clone(), begin.clone() + WORDS, |b, word| {
                        let wide = if self.change == Change::Apart { 31 } else { 32 };
                        let first = (word.clone() - begin) * wide;
                        let (ones, at) = (b.load(codes, word.clone()), b.load(pos, word));
                        b.coded("j", (first, at), Code::Ones(ones), entry);
                    });
                }
            }
            b.store(y, row, sum.into());
        });
        b.finish()
    }

    fn same_as_interpreter(self, function: Function) {
        const SHIFT: usize = 2;
        let ways = Ways::of(function);
        let mut state = 11_u64;
        let mut random = |bound: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        for rows in [0, 1, 7, 30_u64] {
            let (mut pos, mut codes, mut columns) = (vec![0_i64], Vec::new(), Vec::new());
            let mut numbers = Vec::new();
            for _ in 0..rows {
                match self.bits {
                    None => {
                        for word in 0..WORDS {
                            let few = random(1 << 31) & random(1 << 31);
                            let ones = [0, u64::from(u32::MAX), few, few << 1][random(4) as usize];
                            codes.push(ones as i64);
                            let places = (0..32).filter(|place| ones >> place & 1 == 1);
                            columns.extend(places.map(|place| (32 * word + place) as usize));
                            pos.push(columns.len() as i64);
                        }
                    }
                    Some(bits) => {
                        let mut next = 0;
                        let longest = [1, 9, 70][random(3) as usize];
                        for _ in 0..random(longest) {
                            let number = random(1 << bits.min(4));
                            numbers.push(number);
                            columns.push(next + number as usize);
                            next += number as usize + 1;
                        }
                        pos.push(columns.len() as i64);
                    }
                }
            }
            if let Some(bits) = self.bits {
                let each = (8 / bits).max(1) as usize;
                codes.extend(numbers.chunks(each).map(|own| {
                    own.iter().rev().fold(0, |all, &number| all << (bits % 8) | number as i64)
                }));
            }
            let kind = match self.bits {
                None | Some(32) => IndexKind::U32,
                Some(16) => IndexKind::U16,
                Some(_) => IndexKind::U8,
            };
            let indices = [(self.kind, &pos), (kind, &codes)]
                .map(|(kind, of)| IndexArray::store(kind, of, "", "").unwrap());
            let mut numbers = |len: usize| -> Vec<f64> {
                (0..len).map(|_| random(2001) as f64 / 1000.0 - 1.0).collect()
            };
            let a = numbers(columns.len() + rows as usize);
            let mut x = numbers(2 * (70 * 16 + 96) + SHIFT);
            if self.change == Change::None {
                let mut read = vec![false; x.len()];
                columns.iter().for_each(|column| read[column + SHIFT] = true);
                let beside = x.iter_mut().zip(read).filter(|(_, read)| !read).enumerate();
                beside.for_each(|(k, (x, _))| *x = [f64::NAN, f64::INFINITY][k % 2]);
            }
            let run = |run: Run<'_>| {
                let mut y = vec![f64::NAN; rows as usize];
                macro_rules! run {
                    ($ty:ty) => {{
                        let narrow =
                            |of: &[f64]| of.iter().map(|&v| v as $ty).collect::<Vec<$ty>>();
                        let (a, x, mut out) = (narrow(&a), narrow(&x), narrow(&y));
                        let [pos, codes] = &indices;
                        let mut memory = [
                            Memory::Index(pos),
                            Memory::Index(codes),
                            Memory::values(&a),
                            Memory::values(&x),
                            Memory::values_mut(&mut out[..]),
                        ];
                        run(&[(rows as i64).into(), (SHIFT as i64).into()], &mut memory);
                        y = out.into_iter().map(f64::from).collect();
                    }};
                }
                match self.dtype {
                    Dtype::F32 => run!(f32),
                    _ => run!(f64),
                }
                y
            };
            let tolerance = if self.dtype == Dtype::F32 { 1e-4 } else { 1e-12 };
            let near = |a: f64, b: f64| (a - b).abs() <= tolerance;
            let found = ways.near((self, rows), run, |a, b| all_near(a, b, near));
            assert!(found.iter().all(|sum| sum.is_finite()), "{self:?}");
        }
    }
}

const PLAIN: Form = Form {
    bits: None,
    kind: IndexKind::U32,
    dtype: Dtype::F64,
    scaled: false,
    change: Change::None,
};

#[test]
fn rows_of_a_code_are_calls_unless_their_sums_are_strict() {
    let bits = [None, Some(4), Some(8)];
    let forms = bits.into_iter().flat_map(|bits| {
        let plain = Form { bits, ..PLAIN };
        let single = Form { dtype: Dtype::F32, kind: IndexKind::I64, ..plain };
        [plain, single, Form { scaled: true, ..plain }]
    });
    for form in forms {
        let function = form.function();
        let (name, factor) = match pattern_of(&function) {
            Some(Pattern::OneDots { factor, .. }) => ("one-dots", factor),
            Some(Pattern::GapDots { factor, .. }) => ("gap-dots", factor),
            other => panic!("{form:?} {other:?}\n{function}"),
        };
        assert_eq!((name == "gap-dots", factor.is_some()), (form.bits.is_some(), form.scaled));
        for (strict, expected) in
            [(false, CodeOf::Microkernel(name)), (true, CodeOf::Scalar(Reason::Types))]
        {
            let kernel = Kernel::compile(&function, &Options { checked: false, strict }).unwrap();
            let found = kernel.loops().iter().find(|found| found.code == expected);
            assert!(found.is_some(), "{form:?} {:?}", kernel.loops());
        }
        form.same_as_interpreter(function);
    }
}

#[test]
fn other_rows_of_a_code_are_loops() {
    let of_ones = [Change::Strided, Change::Shared, Change::Apart].map(|change| (None, change));
    let of_gaps = [Change::Strided, Change::Shared].map(|change| (Some(4), change));
    for (bits, change) in of_ones.into_iter().chain(of_gaps) {
        let form = Form { bits, change, ..PLAIN };
        let function = form.function();
        assert_eq!(pattern_of(&function), None, "{form:?}\n{function}");
        form.same_as_interpreter(function);
    }
    for bits in [1, 2, 16, 32] {
        let form = Form { bits: Some(bits), ..PLAIN };
        let kernel = Kernel::compile(&form.function(), &Options { checked: false, strict: false });
        let scalar = CodeOf::Scalar(Reason::Types);
        assert!(kernel.unwrap().loops().iter().any(|found| found.code == scalar), "{bits}");
        form.same_as_interpreter(form.function());
    }
}
