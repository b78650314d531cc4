//! The prelude as a library of the host: each case is a C++ function over arrays, and a function of
//! the IR that means the same.

use std::path::Path;
use std::process::Command;

use libloading::{Library, Symbol};
use tempfile::TempDir;
use ust_gpu::prelude::{Sections, text};
use ust_level_api::ir::interp::Program;
use ust_level_api::ir::{Builder, Dtype, Elem, Expr, Ty};

use crate::numbers::Numbers;

/// An expression of two numbers.
pub(crate) type Meaning = Box<dyn Fn(Expr, Expr) -> Expr>;

/// Something that the prelude computes from numbers `a` and `b` of one dtype.
pub(crate) struct Case {
    pub(crate) from: Dtype,
    pub(crate) to: Dtype,
    /// Statements of C++ that set `out[i]`, of numbers `a` and `b`, as computed.
    pub(crate) cpp: String,
    pub(crate) meaning: Meaning,
    /// Whether it fails if `b` is 0.
    pub(crate) divides: bool,
    /// How far results may be from the interpreter's, in units in the last place.
    pub(crate) ulps: f64,
}

/// The name of a dtype's elements in C++.
pub(crate) fn element(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "float",
        Dtype::F64 => "double",
        Dtype::Complex64 => "c64",
        Dtype::Complex128 => "c128",
        other => other.name(),
    }
}

/// The name of the numbers that are computed for a dtype.
pub(crate) fn held(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F16 | Dtype::Bf16 => "float",
        other => element(other),
    }
}

impl Case {
    pub(crate) fn function(&self, number: usize) -> String {
        let (from, to, cpp) = (element(self.from), element(self.to), &self.cpp);
        format!(
            "extern \"C\" void case_{number}(const {from}* x, const {from}* y, {to}* out, i64 n, \
             i32* error) {{\n  for (i64 i = 0; i < n; i++) {{\n    auto a = ust_get(x[i]), \
             b = ust_get(y[i]);\n    {cpp}\n  }}\n}}\n"
        )
    }

    /// What the interpreter makes of the numbers.
    fn expected(&self, a: &mut Numbers, b: &mut Numbers) -> Numbers {
        let mut build = Builder::new("case");
        let n = build.param("n", Ty::Int);
        let x = build.array("x", Elem::Value(self.from), false);
        let y = build.array("y", Elem::Value(self.from), false);
        let out = build.array("out", Elem::Value(self.to), true);
        build.for_("i", 0.into(), n, |build, i| {
            let (a, b) = (build.load(x, i.clone()), build.load(y, i.clone()));
            let value = (self.meaning)(a, b);
            build.store(out, i, value);
        });
        let program =
            Program::compile(&build.finish()).unwrap_or_else(|e| panic!("{}: {e}", self.cpp));
        let mut result = Numbers::new(self.to, a.len);
        program
            .run(&[(a.len as i64).into()], &mut [a.memory(), b.memory(), result.memory()])
            .unwrap_or_else(|e| panic!("{}: {e}", self.cpp));
        result
    }

    /// Compares the case, the one of this number in its library, with the interpreter.
    pub(crate) fn check(&self, number: usize, library: &Loaded, [a, b]: &[Numbers; 2]) {
        type Run = unsafe extern "C" fn(*const u8, *const u8, *mut u8, i64, *mut i32);
        let keep: Vec<usize> =
            (0..a.len).filter(|&i| !self.divides || b.scalar(i) != self.from.zero()).collect();
        let (mut a, mut b) = (a.at(&keep), b.at(&keep));
        let (mut given, mut error) = (Numbers::new(self.to, a.len), 0);
        let run: Symbol<'_, Run> = library.function(&format!("case_{number}"));
        // SAFETY: the function takes arrays of these dtypes and of this length.
        unsafe {
            run(
                a.bytes().as_ptr(),
                b.bytes().as_ptr(),
                given.bytes_mut().as_mut_ptr(),
                a.len as i64,
                &mut error,
            );
        }
        assert_eq!(error, 0, "{}", self.cpp);
        let expected = self.expected(&mut a, &mut b);
        given.agree(&expected, self.ulps, |i| {
            format!(
                "{} ({} to {}) of {} and {}",
                self.cpp,
                self.from,
                self.to,
                a.scalar(i),
                b.scalar(i)
            )
        });
    }
}

/// A compiled and loaded C++ text.
pub(crate) struct Loaded {
    library: Library,
    _folder: TempDir,
}

impl Loaded {
    pub(crate) fn function<T>(&self, name: &str) -> Symbol<'_, T> {
        // SAFETY: the caller names the function's type, which it has written itself.
        unsafe { self.library.get(name) }.unwrap_or_else(|e| panic!("{name}: {e}"))
    }
}

/// The host's C++ compiler, or `None`, told aloud.
fn compiler() -> Option<String> {
    let name = std::env::var("CXX").unwrap_or_else(|_| "g++".to_owned());
    let found = Command::new(&name).arg("--version").output().is_ok_and(|out| out.status.success());
    if !found {
        eprintln!("skipped: there is no C++ compiler `{name}`; set $CXX to one");
    }
    found.then_some(name)
}

/// Compiles sections of the prelude, followed by a text, and runs the compiler's program to the end.
fn compile(sections: Sections, rest: &str, folder: &Path, options: &[&str]) -> Option<()> {
    let compiler = compiler()?;
    let file = folder.join("driver.cpp");
    let shim = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/prelude/shim.h");
    std::fs::write(&file, format!("#include \"{shim}\"\n{}{rest}", text(sections))).unwrap();
    // What is undefined ends the program; `float-cast-overflow` is not among what `undefined` says.
    let out = Command::new(compiler)
        .args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"])
        .args(["-Wno-unused-parameter", "-Wno-unused-variable", "-Wno-unused-but-set-variable"])
        .args([
            "-ffp-contract=off",
            "-fno-strict-aliasing",
            "-fsanitize=undefined,float-cast-overflow",
        ])
        .args(["-fsanitize-undefined-trap-on-error", "-shared", "-fPIC"])
        .args(options)
        .arg("-o")
        .arg(folder.join("driver.so"))
        .arg(&file)
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{}", log.chars().take(4000).collect::<String>());
    Some(())
}

/// The whole prelude and a text, ready to be called. `None` without a compiler.
pub(crate) fn load(rest: &str) -> Option<Loaded> {
    let folder = tempfile::tempdir().unwrap();
    compile(Sections::ALL, rest, folder.path(), &[])?;
    // SAFETY: loading runs no code but the initialisation of the C++ library.
    let library = unsafe { Library::new(folder.path().join("driver.so")) }.unwrap();
    Some(Loaded { library, _folder: folder })
}

/// Compiles sections alone, without running them.
pub(crate) fn accepts(sections: Sections, rest: &str) -> Option<()> {
    let folder = tempfile::tempdir().unwrap();
    compile(sections, rest, folder.path(), &["-fsyntax-only"])
}

/// Compares all cases with the interpreter, on all pairs of samples.
pub(crate) fn check(cases: &[Case]) {
    let functions: String = cases.iter().enumerate().map(|(i, case)| case.function(i)).collect();
    let Some(library) = load(&functions) else { return };
    for &dtype in Dtype::ALL {
        let numbers = crate::numbers::pairs(dtype);
        for (number, case) in cases.iter().enumerate().filter(|(_, case)| case.from == dtype) {
            case.check(number, &library, &numbers);
        }
    }
}
