//! Lanes and threads that combine into one number.

use ust_level_api::ir::func::cast;
use ust_level_api::ir::interp::Program;
use ust_level_api::ir::scalar::Complex;
use ust_level_api::ir::{BinOp, Builder, Dtype, Elem, Ty, with_dtype};

use crate::driver::{element, load};
use crate::numbers::{Numbers, Random, pairs};

/// The functions for a dtype, and the operator that has the same result for the numbers that are
/// combined.
fn combined(dtype: Dtype) -> Vec<(&'static str, BinOp)> {
    let mut all = vec![("add", BinOp::Add), ("mul", BinOp::Mul)];
    if !dtype.is_complex() {
        all.extend([("min", BinOp::Min), ("max", BinOp::Max)]);
    }
    if !dtype.is_complex() && !dtype.is_float() {
        all.extend([("and", BinOp::Mul), ("or", BinOp::Max)]);
    }
    all
}

/// Numbers that are combined to the same in any order: bits for `and` and `or`, factors of absolute
/// value 1, small whole numbers.
fn exact(dtype: Dtype, name: &str, len: usize) -> Numbers {
    let mut random = Random(len as u64 + 17);
    let mut below = |n: u64| (random.bits() >> 20) % n;
    let one = |_| match name {
        "and" | "or" => Complex::new(below(2) as f64, 0.0),
        "mul" if dtype == Dtype::Bool => Complex::new(f64::from(below(50) != 0), 0.0),
        "mul" => {
            let turns = [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)];
            let (re, im) = turns[below(if dtype.is_complex() { 4 } else { 2 }) as usize];
            Complex::new(re, im)
        }
        _ => Complex::new(below(7) as f64 - 3.0, below(7) as f64 - 3.0),
    };
    let all: Vec<Complex<f64>> = (0..len).map(one).collect();
    with_dtype!(dtype, T => {
        Numbers::of(&all.into_iter().map(cast::<_, T>).collect::<Vec<_>>())
    })
}

/// Each `width` consecutive numbers, combined by the interpreter.
fn groups(op: BinOp, numbers: &mut Numbers, width: usize) -> Numbers {
    let mut build = Builder::new("groups");
    let (n, size) = (build.param("n", Ty::Int), build.param("size", Ty::Int));
    let x = build.array("x", Elem::Value(numbers.dtype), false);
    let out = build.array("out", Elem::Value(numbers.dtype), true);
    build.for_("i", 0.into(), n, |build, i| {
        let (group, value) = (i.clone().floor_div(size.clone()), build.load(x, i.clone()));
        build.if_else(
            i.modulo(size).equals(0),
            |build| build.store(out, group.clone(), value.clone()),
            |build| build.reduce(op, out, group.clone(), value.clone()),
        );
    });
    let program = Program::compile(&build.finish()).unwrap();
    let mut result = Numbers::new(numbers.dtype, numbers.len / width);
    let params = [(numbers.len as i64).into(), (width as i64).into()];
    program.run(&params, &mut [numbers.memory(), result.memory()]).unwrap();
    result
}

fn each(at: impl Fn(Dtype, &str) -> String) -> String {
    let all = Dtype::ALL
        .iter()
        .flat_map(|&dtype| combined(dtype).into_iter().map(move |(name, _)| (dtype, name)));
    all.map(|(dtype, name)| at(dtype, name)).collect()
}

fn is_half(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F16 | Dtype::Bf16)
}

#[test]
fn lanes_of_a_group_get_what_all_of_them_combine_to() {
    type Run = unsafe extern "C" fn(*const u8, *mut u8, i32, u32);
    let functions = each(|dtype, name| {
        // Halves are computed as `float`.
        if is_half(dtype) {
            return String::new();
        }
        let (ty, dtype) = (element(dtype), dtype.name());
        format!(
            "extern \"C\" void lanes_{dtype}_{name}(const {ty}* x, {ty}* out, int width, u32 mask) {{\n\
               struct Data {{ const {ty}* x; {ty}* out; int width; u32 mask; }} data{{x, out, width, mask}};\n\
               run_warp(mask, [](int lane, void* data) {{\n\
                 Data d = *(Data*)data;\n\
                 {ty} all = ust_lanes_{name}(d.x[lane], d.width, d.mask);\n\
                 d.out[2 * lane] = all;\n\
                 d.out[2 * lane + 1] = ust_lanes_first(d.x[lane], d.width, d.mask);\n\
               }}, &data);\n}}\n"
        )
    });
    let Some(library) = load(&functions) else { return };
    for &dtype in Dtype::ALL.iter().filter(|&&dtype| !is_half(dtype)) {
        for (name, op) in combined(dtype) {
            let run = library.function::<Run>(&format!("lanes_{}_{name}", dtype.name()));
            for (width, mask) in [
                (1, u32::MAX),
                (2, u32::MAX),
                (4, u32::MAX),
                (8, u32::MAX),
                (16, u32::MAX),
                (32, u32::MAX),
                (8, 0xff00_ff00),
                (16, 0x0000_ffff),
                (2, 0x0000_000c),
            ] {
                let any = pairs(dtype)[1].at(&(0..32).map(|i| i * 5 % 2).collect::<Vec<_>>());
                for (mut values, known) in [(exact(dtype, name, 32), true), (any, false)] {
                    let mut out = Numbers::new(dtype, 64);
                    // SAFETY: the function reads 32 numbers of this dtype and writes twice as many.
                    unsafe {
                        run(
                            values.bytes().as_ptr(),
                            out.bytes_mut().as_mut_ptr(),
                            width as i32,
                            mask,
                        );
                    }
                    let expected = groups(op, &mut values, width);
                    for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
                        let first = lane / width * width;
                        let what = format!("{name} of {width} lanes of {dtype}, lane {lane}");
                        if known {
                            let right = expected.scalar(lane / width);
                            assert_eq!(out.scalar(2 * lane), right, "{what}");
                        }
                        assert_eq!(
                            out.at(&[2 * lane]).bytes(),
                            out.at(&[2 * first]).bytes(),
                            "{what}"
                        );
                        assert_eq!(
                            out.at(&[2 * lane + 1]).bytes(),
                            values.at(&[first]).bytes(),
                            "{what}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn threads_lose_nothing_that_they_combine_into_neighbours() {
    const THREADS: usize = 4;
    const PLACES: usize = 7;
    const EACH: usize = 400;
    type Run = unsafe extern "C" fn(usize, usize, i64);
    let function = |dtype: Dtype, name: &str, call: &str| {
        let ty = element(dtype);
        format!(
            "extern \"C\" void threads_{}_{name}({ty}* out, const {ty}* x, i64 from) {{\n\
               for (i64 i = from; i < {}; i += {THREADS}) {{\n\
                 if (i % {EACH} == 0) continue;\n\
                 {ty}* p = &out[i / {EACH}]; auto value = ust_get(x[i]);\n\
                 {call};\n}}\n}}\n",
            dtype.name(),
            PLACES * EACH,
        )
    };
    let mut functions =
        each(|dtype, name| function(dtype, name, &format!("ust_atomic_{name}(p, value)")));
    let update = "ust_atomic_update(p, [=](decltype(value) old) { return ust_add(old, value); })";
    functions.extend(Dtype::ALL.iter().map(|&dtype| function(dtype, "update", update)));
    let Some(library) = load(&functions) else { return };
    for &dtype in Dtype::ALL {
        for (name, op) in combined(dtype).into_iter().chain([("update", BinOp::Add)]) {
            let mut values = exact(dtype, name, PLACES * EACH);
            let expected = groups(op, &mut values, EACH);
            // The first of each group is there before the threads come.
            let mut out = values.at(&(0..PLACES).map(|i| i * EACH).collect::<Vec<_>>());
            let run = library.function::<Run>(&format!("threads_{}_{name}", dtype.name()));
            let run = *run;
            let (to, from) =
                (out.bytes_mut().as_mut_ptr() as usize, values.bytes().as_ptr() as usize);
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    // SAFETY: the function reads as many numbers of this dtype as there are, and
                    // combines into as many as there are groups, by atomics.
                    scope.spawn(move || unsafe { run(to, from, thread as i64) });
                }
            });
            for place in 0..PLACES {
                let right = expected.scalar(place);
                assert_eq!(out.scalar(place), right, "{name} of {dtype}, place {place}");
            }
        }
    }
}
