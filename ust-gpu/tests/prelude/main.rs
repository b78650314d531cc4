//! The prelude of generated kernels, compiled for the host, does what the IR says: every operator,
//! cast, function and atomic of every dtype is compared with the interpreter.

mod driver;
mod numbers;
mod warp;

use driver::{Case, Meaning, accepts, check, element, held, load};
use numbers::Numbers;
use ust_gpu::prelude::{Sections, text};
use ust_level_api::ir::scalar::{bf16, f16};
use ust_level_api::ir::{BinOp, Dtype, Expr, Func, UnOp};

fn case(
    from: Dtype,
    to: Dtype,
    value: &str,
    meaning: impl Fn(Expr, Expr) -> Expr + 'static,
) -> Case {
    let cpp = format!("out[i] = ust_put<{}>({value});", element(to));
    Case { from, to, cpp, meaning: Box::new(meaning), divides: false, ulps: 0.0 }
}

fn op(op: BinOp) -> impl Fn(Expr, Expr) -> Expr + Clone + 'static {
    move |a, b| Expr::Binary(op, Box::new(a), Box::new(b))
}

fn is_int(dtype: Dtype) -> bool {
    dtype != Dtype::Bool && !dtype.is_float() && !dtype.is_complex()
}

/// The operators that the IR has for a dtype, and the functions that compute them.
fn operators(dtype: Dtype) -> Vec<(&'static str, BinOp)> {
    let mut all = vec![("add", BinOp::Add), ("mul", BinOp::Mul)];
    if !dtype.is_complex() {
        all.extend([("minimum", BinOp::Min), ("maximum", BinOp::Max)]);
    }
    if dtype != Dtype::Bool {
        all.extend([("sub", BinOp::Sub), ("div", BinOp::Div)]);
    }
    all
}

/// Bitwise operators of integers of any width, by those of `int`.
fn bitwise(dtype: Dtype) -> [(&'static str, Meaning); 2] {
    if dtype == Dtype::Bool {
        return [("and", Box::new(op(BinOp::Mul))), ("or", Box::new(op(BinOp::Add)))];
    }
    let and = |a: Expr, b: Expr| op(BinOp::BitAnd)(a.to_int(), b.to_int());
    [
        ("and", Box::new(move |a, b| and(a, b).cast(dtype))),
        (
            "or",
            Box::new(move |a: Expr, b: Expr| {
                let sum = op(BinOp::Add)(a.clone().to_int(), b.clone().to_int());
                op(BinOp::Sub)(sum, and(a, b)).cast(dtype)
            }),
        ),
    ]
}

#[test]
fn operators_are_those_of_the_interpreter() {
    let mut cases = Vec::new();
    for &dtype in Dtype::ALL {
        for (name, binary) in operators(dtype) {
            let divides = binary == BinOp::Div && is_int(dtype);
            let error = if divides { ", error, 1" } else { "" };
            let value = format!("ust_{name}(a, b{error})");
            cases.push(Case { divides, ..case(dtype, dtype, &value, op(binary)) });
        }
        if dtype != Dtype::Bool {
            let neg = |a, _| Expr::Unary(UnOp::Neg, Box::new(a));
            cases.push(case(dtype, dtype, "ust_neg(a)", neg));
        }
        if is_int(dtype) || dtype == Dtype::Bool {
            for (name, meaning) in bitwise(dtype) {
                cases.push(case(dtype, dtype, &format!("ust_{name}(a, b)"), meaning));
            }
        }
        if dtype.is_complex() {
            let table =
                [("+", BinOp::Add), ("-", BinOp::Sub), ("*", BinOp::Mul), ("/", BinOp::Div)];
            for (sign, binary) in table {
                cases.push(case(dtype, dtype, &format!("a {sign} b"), op(binary)));
            }
            for (sign, binary) in [("==", BinOp::Eq), ("!=", BinOp::Ne)] {
                let meaning = move |a, b| op(binary)(a, b).cast(Dtype::Bool);
                cases.push(case(dtype, Dtype::Bool, &format!("a {sign} b"), meaning));
            }
        }
    }
    for (name, unary) in [("count_ones", UnOp::CountOnes), ("trailing_zeros", UnOp::TrailingZeros)]
    {
        let meaning = move |a: Expr, _| Expr::Unary(unary, Box::new(a.to_int())).cast(Dtype::I64);
        cases.push(case(Dtype::I64, Dtype::I64, &format!("ust_{name}(a)"), meaning));
    }
    for (name, binary) in [("floordiv", BinOp::FloorDiv), ("floormod", BinOp::Mod)] {
        for (error, divides) in [("", true), (", error, 1", true)] {
            let value = format!("ust_{name}(a, b{error})");
            let meaning =
                move |a: Expr, b: Expr| op(binary)(a.to_int(), b.to_int()).cast(Dtype::I64);
            cases.push(Case { divides, ..case(Dtype::I64, Dtype::I64, &value, meaning) });
        }
    }
    check(&cases);
}

#[test]
fn casts_are_those_of_the_interpreter() {
    let mut cases = Vec::new();
    for &from in Dtype::ALL {
        for &to in Dtype::ALL {
            let value = format!("ust_cast<{}>(a)", held(to));
            cases.push(case(from, to, &value, move |a: Expr, _| a.cast(to)));
        }
    }
    check(&cases);
}

/// How far a function may be from the interpreter's, in units in the last place of each part. What
/// is no approximation is exact. Most others call the same library of the system as the interpreter;
/// the inverse hyperbolic functions and the error function are another library's there, and inverse
/// functions of complex numbers are made of them.
fn allowed(func: Func) -> f64 {
    use Func::{
        Abs, Acos, Acosh, Asin, Asinh, Atan, Atanh, Ceil, Conj, Erf, Erfinv, Floor, Imag, Real,
        Rem, Round, Sgn, Signbit, Sqrt, Trunc,
    };
    match func {
        Abs | Ceil | Conj | Floor | Imag | Real | Rem | Round | Sgn | Signbit | Sqrt | Trunc => 0.0,
        Acos | Acosh | Asin | Asinh | Atan | Atanh | Erf => 4.0,
        Erfinv => 8.0,
        _ => 2.0,
    }
}

#[test]
fn functions_are_those_of_the_interpreter() {
    let mut cases = Vec::new();
    for &func in Func::ALL {
        for &dtype in Dtype::ALL.iter().filter(|&&dtype| func.accepts(dtype)) {
            let divides = func == Func::Rem && is_int(dtype);
            let rest = match func.arity() {
                1 => "",
                _ if divides => ", b, error, 1",
                _ => ", b",
            };
            let value = format!("ust_{}(a{rest})", func.name());
            let meaning = move |a: Expr, b: Expr| {
                Expr::call(func, if func.arity() == 1 { vec![a] } else { vec![a, b] })
            };
            let case = match func.result(dtype) {
                ust_level_api::ir::Ty::Val(to) => case(dtype, to, &value, meaning),
                _ => case(dtype, Dtype::Bool, &value, move |a, b| meaning(a, b).cast(Dtype::Bool)),
            };
            cases.push(Case { divides, ulps: allowed(func), ..case });
        }
    }
    check(&cases);
}

#[test]
fn atomics_are_those_of_the_interpreter() {
    let mut cases = Vec::new();
    for &dtype in Dtype::ALL {
        let mut add = |name: &str, meaning: Meaning| {
            let cpp = format!("out[i] = x[i]; ust_atomic_{name};");
            let case = case(dtype, dtype, "", meaning);
            cases.push(Case { cpp, ..case });
        };
        for (name, binary) in operators(dtype) {
            let name = match binary {
                BinOp::Min => "min",
                BinOp::Max => "max",
                BinOp::Add | BinOp::Mul => name,
                _ => continue,
            };
            add(&format!("{name}(&out[i], b)"), Box::new(op(binary)));
        }
        if is_int(dtype) || dtype == Dtype::Bool {
            for (name, meaning) in bitwise(dtype) {
                add(&format!("{name}(&out[i], b)"), meaning);
            }
        }
        // An operator of a user: the last number counts.
        let last = format!("update(&out[i], [=]({}) {{ return b; }})", held(dtype));
        add(&last, Box::new(|_, b| b));
    }
    check(&cases);
}

#[test]
fn halves_are_rounded_right_wherever_it_matters() {
    let exact = |dtype: Dtype| case(dtype, Dtype::F32, "a", |a: Expr, _| a.cast(Dtype::F32));
    let rounded = |dtype: Dtype| case(Dtype::F32, dtype, "a", move |a: Expr, _| a.cast(dtype));
    let cases = [exact(Dtype::F16), exact(Dtype::Bf16), rounded(Dtype::F16), rounded(Dtype::Bf16)];
    let functions: String = cases.iter().enumerate().map(|(i, case)| case.function(i)).collect();
    let Some(library) = load(&functions) else { return };
    let all: [Numbers; 2] = [
        Numbers::of(&(0..=u16::MAX).map(f16::from_bits).collect::<Vec<_>>()),
        Numbers::of(&(0..=u16::MAX).map(bf16::from_bits).collect::<Vec<_>>()),
    ];
    // Each number, the middle between it and the next one, and what stands beside them.
    let around = |value: f32, next: f32| {
        let middle = f64::midpoint(value.into(), next.into()) as f32;
        [value, middle].into_iter().flat_map(|v| [v.next_down(), v, v.next_up()])
    };
    let beside: [Vec<f32>; 2] = [
        (0..u16::MAX)
            .flat_map(|i| around(f16::from_bits(i).to_f32(), f16::from_bits(i + 1).to_f32()))
            .collect(),
        (0..u16::MAX)
            .flat_map(|i| around(bf16::from_bits(i).to_f32(), bf16::from_bits(i + 1).to_f32()))
            .collect(),
    ];
    for (number, all) in all.into_iter().enumerate() {
        cases[number].check(number, &library, &[all.clone(), all]);
    }
    for (number, beside) in beside.iter().enumerate() {
        let all = Numbers::of(beside);
        cases[number + 2].check(number + 2, &library, &[all.clone(), all]);
    }
}

#[test]
fn a_division_by_zero_is_noted_with_its_place() {
    let Some(library) = load(
        "template <class T> bool fails(int site) {\n\
           i32 error = 0; T zero = 0, one = 1;\n\
           bool right = ust_div(one, one, &error, site) == 1 && ust_rem(one, one, &error, site) == 0;\n\
           right = right && error == 0 && ust_div(one, zero, &error, site) == 0 && error == site;\n\
           return right && ust_rem(one, zero, &error, site + 1) == 0 && error == site + 1;\n}\n\
         extern \"C\" bool division() {\n\
           i32 error = 0;\n\
           bool floor = ust_floordiv(-7, 0, &error, 3) == 0 && error == 3\n\
             && ust_floormod(-7, 0, &error, 4) == 0 && error == 4;\n\
           return floor && fails<i8>(5) && fails<i16>(6) && fails<i32>(7) && fails<i64>(8)\n\
             && fails<u8>(9) && fails<u16>(10) && fails<u32>(11) && fails<u64>(12);\n}\n\
         extern \"C\" bool constants() {\n\
           return ust_infinity<float>() == INFINITY && ust_infinity<double>() == INFINITY\n\
             && isnan(ust_nan<float>()) && isnan(ust_nan<double>());\n}\n",
    ) else {
        return;
    };
    for name in ["division", "constants"] {
        let right = library.function::<unsafe extern "C" fn() -> bool>(name);
        // SAFETY: the function has no parameters.
        assert!(unsafe { right() }, "{name}");
    }
}

#[test]
fn numbers_are_sorted_in_place_and_nothing_beside_them_is_touched() {
    let Some(library) =
        load("extern \"C\" void sort(i64* array, i64 lo, i64 hi) { ust_sort(array, lo, hi); }\n")
    else {
        return;
    };
    let sort = library.function::<unsafe extern "C" fn(*mut i64, i64, i64)>("sort");
    let mut random = numbers::Random(7);
    for len in (0..130_usize).chain([1000, 4097]) {
        let arrays: [Vec<i64>; 5] = [
            (0..len).map(|_| random.bits() as i64).collect(),
            (0..len).map(|_| random.bits() as i64 % 5).collect(),
            (0..len as i64).collect(),
            (0..len as i64).rev().collect(),
            vec![i64::MIN; len],
        ];
        for mut array in arrays {
            let (lo, hi) = (len / 5, len - len / 7);
            let mut expected = array.clone();
            if lo < hi {
                expected[lo..hi].sort_unstable();
            }
            // SAFETY: the array has elements up to `hi`.
            unsafe { sort(array.as_mut_ptr(), lo as i64, hi as i64) };
            assert_eq!(array, expected, "{len} numbers");
        }
    }
    let mut array = [3, 2, 1];
    // SAFETY: nothing is sorted if the end is not behind the start.
    unsafe { sort(array.as_mut_ptr(), 2, 0) };
    assert_eq!(array, [3, 2, 1]);
}

#[test]
fn each_section_compiles_with_what_it_needs_alone_and_twice() {
    let sections = [
        Sections::TYPES,
        Sections::INTEGERS,
        Sections::FLOATS,
        Sections::HALVES,
        Sections::COMPLEX,
        Sections::CASTS,
        Sections::FUNCTIONS,
        Sections::COMPLEX_FUNCTIONS,
        Sections::ATOMICS,
        Sections::LANES,
        Sections::SORT,
        Sections::TABLES,
        Sections::ALL,
    ];
    for section in sections {
        if accepts(section, &text(section)).is_none() {
            return;
        }
    }
}
