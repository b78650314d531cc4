//! A child that was forked computes as its parent does, whatever its parent did before.

/// Nothing is forked here.
#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
fn main() {
    forks::run();
}

#[cfg(unix)]
mod forks {
    #![allow(unsafe_code)]

    use std::process;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::thread;

    use rayon::{ThreadPool, ThreadPoolBuilder};
    use ust::tensor::Parts;
    use ust::{Coo, Tensor, einsum, generate::generate, io};

    /// Seconds after which a process that hangs is ended by the system.
    const TIMEOUT: u32 = 120;

    /// Runs `child` in a child, and says whether it returned.
    fn returns(child: impl FnOnce()) -> bool {
        // SAFETY: the child does what this test is about, and leaves by `_exit`, without what its parent would do at its
        // end.
        match unsafe { libc::fork() } {
            0 => {
                unsafe { libc::alarm(TIMEOUT) };
                let is_fine = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).is_ok();
                unsafe { libc::_exit(i32::from(!is_fine)) }
            }
            child => {
                assert!(child > 0, "cannot fork");
                let mut status = 0;
                assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                status == 0
            }
        }
    }

    /// Work of all kinds, large enough for several threads. Whole numbers, so that every order of sums gives the same.
    fn work() {
        let coo = generate("gen:poisson2d(160)").unwrap();
        let shape = coo.shape.clone();
        let (n, nse) = (shape[0], coo.len());
        // Not in order, so that it is sorted.
        let turned = Coo::new(
            shape.clone(),
            coo.crd.iter().map(|column| column.iter().rev().copied().collect()).collect(),
            ust::tensor::Values::from(
                coo.values.typed::<f64>().unwrap().iter().rev().copied().collect::<Vec<_>>(),
            ),
        )
        .unwrap();
        let a = Tensor::from_coo(&turned, "CSR").unwrap();
        let x: Vec<f64> = (0..n).map(|at| (at % 7) as f64).collect();
        let mut expected = vec![0.0; n];
        for ((&i, &j), value) in
            coo.crd[0].iter().zip(&coo.crd[1]).zip(coo.values.typed::<f64>().unwrap())
        {
            expected[i as usize] += value * x[j as usize];
        }
        let x = ust::ndarray::Array1::from(x);
        for format in ["CSR", "CSC", "COO", "BSR(2,2)", "ELL"] {
            let b = a.convert(format).unwrap();
            let y = einsum("y(i) = A(i,j) * x(j)").arg("A", &b).arg("x", x.clone()).run().unwrap();
            assert_eq!(y.values().typed::<f64>().unwrap(), expected, "{format}");
        }
        let square = einsum("C(i,j) = A(i,k) * A(k,j)").arg("A", &a).format("CSR").run().unwrap();
        assert!(square.nse() > nse);
        let (format, shape, parts) = a.clone().into_parts();
        let taken = Tensor::from_parts(&format, &shape, Parts { ..parts }).unwrap();
        let folder = std::env::temp_dir().join(format!("ust-fork-{}", process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["a.mtx", "a.npz"] {
            let path = folder.join(name);
            io::write(&path, &taken).unwrap();
            let read = io::read(&path, &io::ReadOptions::default()).unwrap();
            assert_eq!(read.nse(), nse);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// The threads of this process, where the system tells.
    fn threads() -> Option<usize> {
        std::fs::read_dir("/proc/self/task").ok().map(Iterator::count)
    }

    pub(super) fn run() {
        ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
        // The parent may hang, too.
        unsafe { libc::alarm(4 * TIMEOUT) };
        let generations = || {
            work();
            assert!(returns(|| {
                assert!(threads().is_none_or(|count| count == 1));
                work();
                assert!(
                    threads().is_none_or(|count| count > 2),
                    "the child has threads of its own"
                );
                // A child of the child, and both once more.
                assert!(returns(work));
                work();
            }));
            work();
        };
        generations();
        println!("a child and its child compute as the parent does");

        let pool: ThreadPool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        pool.install(generations_of_a_thread);
        println!("so does a child of a thread of a pool");

        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    work();
                }
            });
            for _ in 0..10 {
                assert!(returns(work));
            }
            over.store(true, Relaxed);
        });
        println!("so does a child that is forked while others work");
    }

    /// In the pool's thread: a child has none of the others, and computes alone.
    fn generations_of_a_thread() {
        work();
        assert!(returns(work));
        work();
    }
}
