//! Work of every kind ends early in the scope of a token that is cancelled, and leaves nothing half done.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use ust::advise::{AdviseError, advise};
use ust::io::{self, FileError, ReadOptions};
use ust::level_api::ir::{Builder, Expr, cancel};
use ust::level_api::{
    Arrays, Assembled, Change, Crd, Description, Entries, LevelError, LevelFactory, LevelType,
    Located, Place, Pos, Reach, Site, Walk, WalkSite, inventory,
};
use ust::ops::{CancelToken, Cancelled, Kernel, OpError};
use ust::{Coo, Dtype, Error, Format, Scalar, Tensor, einsum, generate::generate};

/// Why work ended.
#[derive(Debug)]
enum Ended {
    Cancelled,
    Otherwise(String),
}

impl From<Cancelled> for Ended {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        match error {
            Error::Cancelled => Self::Cancelled,
            other => Self::Otherwise(other.to_string()),
        }
    }
}

impl From<OpError> for Ended {
    fn from(error: OpError) -> Self {
        match error {
            OpError::Tensor(error) => error.into(),
            other => Self::Otherwise(other.to_string()),
        }
    }
}

impl From<AdviseError> for Ended {
    fn from(error: AdviseError) -> Self {
        match error {
            AdviseError::Tensor(error) => error.into(),
            AdviseError::Operation(error) => error.into(),
            other => Self::Otherwise(other.to_string()),
        }
    }
}

impl From<FileError> for Ended {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Cancelled => Self::Cancelled,
            FileError::Tensor { source, .. } => (*source).into(),
            other => Self::Otherwise(other.to_string()),
        }
    }
}

/// A piece of work, and its name.
type Work<'a> = (String, Box<dyn Fn() -> Result<(), Ended> + 'a>);

/// A matrix with entries in no order, large enough for several threads.
fn entries() -> Coo {
    let coo = generate("gen:poisson2d(150)").unwrap();
    let crd = coo.crd.iter().map(|column| column.iter().rev().copied().collect()).collect();
    Coo::new(coo.shape.clone(), crd, coo.values.clone()).unwrap()
}

/// All kinds of work on a matrix, in a folder.
fn all<'a>(coo: &'a Coo, a: &'a Tensor, kernel: &'a Kernel, folder: &'a Path) -> Vec<Work<'a>> {
    let mut all: Vec<Work<'a>> = Vec::new();
    for format in ["CSR", "COO", "CSC", "ELL", "BSR(2,2)", "(i, j) -> (i : dense, j : hashed)"] {
        all.push((
            format!("build {format}"),
            Box::new(move || Ok(Tensor::from_coo(coo, format).map(drop)?)),
        ));
        if format != "CSR" {
            all.push((
                format!("convert {format}"),
                Box::new(move || Ok(a.convert(format).map(drop)?)),
            ));
        }
        let (format_of, shape, parts) = a.convert(format).unwrap().into_parts();
        all.push((
            format!("check {format}"),
            Box::new(move || Ok(Tensor::from_parts(&format_of, &shape, parts.clone()).map(drop)?)),
        ));
    }
    for name in ["a.mtx", "a.npz"] {
        let there = folder.join(format!("there-{name}"));
        io::write(&there, a).unwrap();
        all.push((
            format!("read {name}"),
            Box::new(move || Ok(io::read(&there, &ReadOptions::default()).map(drop)?)),
        ));
        let path = folder.join(name);
        all.push((
            format!("write {name}"),
            Box::new(move || {
                let written = io::write(&path, a);
                assert_eq!(path.exists(), written.is_ok());
                written?;
                std::fs::remove_file(&path).unwrap();
                Ok(())
            }),
        ));
    }
    all.push((
        "advise".to_owned(),
        Box::new(move || Ok(advise(a, &ust::advise::Options::default()).map(drop)?)),
    ));
    all.push((
        "einsum".to_owned(),
        Box::new(move || {
            let call = einsum("C(i,j) = A(i,k) * A(k,j)").arg("A", a).format("CSR");
            Ok(call.run().map(drop)?)
        }),
    ));
    all.push(("kernel".to_owned(), Box::new(move || Ok(kernel.run(&[a]).map(drop)?))));
    all.push((
        "add in place".to_owned(),
        Box::new(move || {
            let mut sum = a.clone();
            sum += a;
            Ok(())
        }),
    ));
    type Method = fn(&Tensor) -> Result<Tensor, Error>;
    let methods: [(&str, Method); 6] = [
        ("sort", Tensor::sort),
        ("topk", |a| a.topk(2)),
        ("filter", |a| a.filter(|at| at[0] > at[1])),
        ("reshape", |a| a.reshape(&[11_250, 45_000])),
        ("concat", |a| Tensor::concat(&[a, a], -1)),
        ("kron", |a| a.kron(&Tensor::eye(2, "CSR", Dtype::F64)?)),
    ];
    for (name, method) in methods {
        all.push((name.to_owned(), Box::new(move || Ok(method(a).map(drop)?))));
    }
    all
}

/// Calls `test` with all kinds of work, and the folder that it may leave files in.
fn with_all(test: impl Fn(&[Work<'_>], &Path)) {
    let coo = entries();
    let a = Tensor::from_coo(&coo, "CSR").unwrap();
    let product = einsum("C(i,j) = A(i,k) * A(k,j)").arg("A", &a).format("CSR");
    let kernel = product.prepare().unwrap();
    let folder = tempfile::tempdir().unwrap();
    test(&all(&coo, &a, &kernel, folder.path()), folder.path());
}

/// The files in a folder.
fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn work_ends_at_any_look() {
    with_all(|all, folder| {
        let before = files(folder);
        for (name, work) in all {
            // The first look of all, and some later ones.
            for looks in [0, 1, 2, 3, 5, 8, 13, 21, 34] {
                let ended = CancelToken::after(looks).scope(work);
                match ended {
                    Err(Ended::Cancelled) => {}
                    Ok(()) => assert!(looks > 0, "{name} is not cancelled"),
                    Err(Ended::Otherwise(error)) => panic!("{name}: {error}"),
                }
                assert_eq!(files(folder), before, "{name} leaves a file");
            }
            work().unwrap_or_else(|error| panic!("{name}, after it was cancelled: {error:?}"));
        }
    });
}

#[test]
fn a_token_asks_on_the_thread_that_waits() {
    with_all(|all, _| {
        for (name, work) in all {
            let (here, asked) = (thread::current().id(), Arc::new(AtomicUsize::new(0)));
            let asks = Arc::clone(&asked);
            let token = CancelToken::asking(move || {
                assert_eq!(thread::current().id(), here);
                asks.fetch_add(1, Relaxed);
                true
            });
            let ended = token.scope(work);
            assert!(matches!(ended, Err(Ended::Cancelled)), "{name}: {ended:?}");
            assert_eq!(asked.load(Relaxed), 1, "{name}");
        }
    });
}

#[test]
fn another_thread_cancels() {
    let a = Tensor::from_coo(&entries(), "CSR").unwrap();
    let format = "CSC";
    let (token, rounds) = (CancelToken::new(), AtomicUsize::new(0));
    let ended = thread::scope(|scope| {
        scope.spawn(|| {
            while rounds.load(Relaxed) < 3 {
                thread::yield_now();
            }
            token.cancel();
        });
        token.scope(|| {
            loop {
                a.convert(format)?;
                rounds.fetch_add(1, Relaxed);
            }
            #[allow(unreachable_code)]
            Ok::<(), Error>(())
        })
    });
    assert!(matches!(ended, Err(Error::Cancelled)));
    // The token stays cancelled; other work goes on.
    assert!(matches!(token.scope(|| a.convert(format)), Err(Error::Cancelled)));
    assert!(a.convert(format).is_ok());
}

/// In a pool of the caller, threads take the work of others while they wait: none ends for a token of another.
#[test]
fn only_the_work_of_the_token_ends() {
    let a = Tensor::from_coo(&entries(), "CSR").unwrap();
    let format = "CSC";
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        rayon::scope(|scope| {
            for at in 0..20 {
                let a = &a;
                scope.spawn(move |_| match at % 2 {
                    0 => {
                        let ended = CancelToken::after(at).scope(|| a.convert(format));
                        assert!(matches!(ended, Ok(_) | Err(Error::Cancelled)));
                        assert!(at > 0 || ended.is_err());
                    }
                    _ => assert!(a.convert(format).is_ok()),
                });
            }
        });
    });
}

#[test]
fn the_inner_and_the_outer_token_end_the_work() {
    let a = Tensor::from_coo(&entries(), "CSR").unwrap();
    let format = "CSC";
    let convert = || a.convert(format).map_err(Ended::from);
    // The inner token: the outer work goes on.
    let ended = CancelToken::new().scope(|| {
        let inner = CancelToken::after(0).scope(convert);
        assert!(matches!(inner, Err(Ended::Cancelled)));
        convert()
    });
    assert!(ended.is_ok());
    // The outer token: the inner scope does not return.
    let ended = CancelToken::after(0).scope(|| {
        let _ = CancelToken::new().scope(convert);
        panic!("the inner scope returns");
        #[allow(unreachable_code)]
        Ok::<(), Ended>(())
    });
    assert!(matches!(ended, Err(Ended::Cancelled)));
    // As an option of one call.
    let call = || einsum("C(i,j) = A(i,k) * A(k,j)").arg("A", &a).format("CSR");
    let ended = call().cancel(&CancelToken::after(0)).run();
    assert!(matches!(ended, Err(OpError::Tensor(Error::Cancelled))));
    assert!(call().run().is_ok());
}

inventory::submit! {
    LevelFactory {
        name: "looking",
        aliases: &[],
        summary: "a hash table that looks at tokens after it was changed",
        make: &|_| {
            let format: Format = "(i, j) -> (i : dense, j : hashed)".parse().unwrap();
            Ok(Box::new(Looking(format.levels()[1].ty.clone())))
        },
        samples: &["looking"],
    }
}

/// Another level, which looks at tokens when it has changed its arrays: as one does that shares work among threads.
#[derive(Clone, Debug)]
struct Looking(Box<dyn LevelType>);

impl LevelType for Looking {
    fn describe(&self) -> Description {
        let [text, mlir] = ["looking"; 2].map(str::to_owned);
        Description { name: "looking", text, mlir, ..self.0.describe() }
    }

    fn fits(&self, place: &Place<'_>) -> Result<(), LevelError> {
        self.0.fits(place)
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        self.0.assemble(site, entries)
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        self.0.check(site, arrays, parents)
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        self.0.walk(site, b)
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        self.0.locate(site, crd, b)
    }

    fn insert(
        &self,
        site: &Site,
        arrays: &mut Arrays,
        parent: Pos,
        crd: Crd,
    ) -> Result<Option<Change>, LevelError> {
        let change = self.0.insert(site, arrays, parent, crd);
        cancel::poll();
        change
    }

    fn remove(
        &self,
        site: &Site,
        arrays: &mut Arrays,
        parent: Pos,
        pos: Pos,
    ) -> Result<Option<Change>, LevelError> {
        let change = self.0.remove(site, arrays, parent, pos);
        cancel::poll();
        change
    }
}

/// All entries, in order.
fn entries_of(tensor: &Tensor) -> Vec<(Vec<usize>, f64)> {
    // What a change leaves half done is found by a check, or by a look at the entries.
    let (format, shape, parts) = tensor.clone().into_parts();
    let checked = Tensor::from_parts(&format, &shape, parts).unwrap();
    let each = checked.entries().unwrap().map(|entry| (entry.coordinates.to_vec(), entry.value));
    let mut all: Vec<_> = each
        .map(|(at, value)| match value {
            Scalar::F64(value) => (at, value),
            other => panic!("{other:?}"),
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

#[test]
fn a_change_is_made_or_not() {
    let coo = generate("gen:poisson2d(40)").unwrap();
    for format in ["(i, j) -> (i : dense, j : looking)", "CSR", "(i, j) -> (i : dense, j : hashed)"]
    {
        let old = Tensor::from_coo(&coo, format).unwrap();
        type Change<'a> = &'a dyn Fn(&mut Tensor) -> Result<(), Error>;
        let changes: [(&str, Change<'_>); 4] = [
            ("insert", &|a| a.insert(&[3, 1000], 7.0).map(drop)),
            ("remove", &|a| a.remove(&[3, 3]).map(drop)),
            ("scale", &|a| a.scale(2.0)),
            ("add", &|a| {
                *a += &old;
                Ok(())
            }),
        ];
        for (name, change) in changes {
            let mut new = old.clone();
            change(&mut new).unwrap();
            let wanted = [&old, &new].map(entries_of);
            assert_ne!(wanted[0], wanted[1]);
            for looks in 0..60 {
                let mut changed = old.clone();
                let ended = CancelToken::after(looks).scope(|| change(&mut changed));
                let found = entries_of(&changed);
                match ended {
                    Ok(()) => assert_eq!(found, wanted[1], "{name} in {format} after {looks}"),
                    Err(Error::Cancelled) => {
                        assert!(wanted.contains(&found), "{name} in {format} after {looks}");
                    }
                    Err(error) => panic!("{name} in {format}: {error}"),
                }
            }
        }
    }
}
