//! This project: a prepared kernel, run again and again.

use ust::io::ReadOptions;
use ust::tensor::StoredElement;
use ust::{Backend, Coo, Format, Kernel, Tensor, einsum};

use crate::matrix::case::Case;
use crate::matrix::contender::with_real;
use crate::matrix::contender::{Contender, Prepared, Rows, Runner, Surroundings};
use crate::matrix::operation::Task;

inventory::submit! { Contender {
    name: "ust", about: "this project, prepared kernels",
    prepare: |case, around| prepare(case, around, Backend::Cpu),
}}
inventory::submit! { Contender {
    name: "ust-interpreter", about: "this project without machine code, on small inputs",
    prepare: |case, around| match (case.op.task, around.quick) {
        (Task::Expression { .. }, true) if case.operand_bytes() < 1 << 20 => {
            prepare(case, around, Backend::INTERPRETER)
        }
        _ => Ok(None),
    },
}}

fn prepare(case: &Case<'_>, around: &Surroundings, backend: Backend) -> Prepared {
    match case.op.task {
        Task::Expression { text, .. } => with_real!(case.dtype, T => {
            let work = Work::<T>::new(case, text, backend)?;
            Ok(Some(Box::new(work)))
        }),
        Task::Build(_) => build(case),
        Task::Convert(..) => convert(case),
        Task::Read => read(case, around),
    }
}

/// A kernel with its operands and, where the result is dense, memory for it.
struct Work<T> {
    kernel: Kernel,
    operands: Vec<Tensor>,
    shape: Vec<usize>,
    dense: Option<Vec<T>>,
    result: Option<Tensor>,
}

impl<T: StoredElement + Into<f64> + num_traits::Float> Work<T> {
    fn new(case: &Case<'_>, text: &str, backend: Backend) -> Result<Self, String> {
        let mut expression = einsum(text).threads(case.threads).backend(backend);
        for (name, tensor) in &case.operands {
            expression = expression.arg(name, tensor);
        }
        expression = match &case.target {
            Some(format) => expression.format(format),
            None => expression.format(format!("Dense({})", case.shape.len())),
        };
        let kernel = expression.prepare().map_err(|e| e.to_string())?;
        let dense = case.target.is_none().then(|| vec![T::nan(); case.shape.iter().product()]);
        let operands = case.operands.iter().map(|(_, tensor)| tensor.clone()).collect();
        Ok(Self { kernel, operands, shape: case.shape.clone(), dense, result: None })
    }

    fn run(&mut self) -> Result<(), String> {
        let operands: Vec<&Tensor> = self.operands.iter().collect();
        match &mut self.dense {
            Some(out) => self.kernel.run_into(&operands, out).map_err(|e| e.to_string()),
            None => {
                // As of `remade`.
                self.result = None;
                self.result = Some(self.kernel.run(&operands).map_err(|e| e.to_string())?);
                Ok(())
            }
        }
    }
}

impl<T: StoredElement + Into<f64> + num_traits::Float> Runner for Work<T> {
    fn time(&mut self, calls: usize) -> Result<f64, String> {
        let start = std::time::Instant::now();
        for _ in 0..calls {
            self.run()?;
        }
        Ok(start.elapsed().as_secs_f64())
    }

    fn outcome(&mut self) -> Result<Vec<f64>, String> {
        // What is not written is not a number, and differs.
        if let Some(out) = &mut self.dense {
            out.fill(T::nan());
        }
        self.run()?;
        match (&self.dense, &self.result) {
            (Some(out), _) => Ok(Rows::of_dense(&self.shape, out)),
            (None, Some(result)) => Rows::of_tensor(result),
            (None, None) => Err("no result".to_owned()),
        }
    }

    fn result_bytes(&self) -> Option<usize> {
        let dense = self.dense.as_ref().map(|out| size_of_val(&out[..]));
        dense.or(self.result.as_ref().map(Tensor::bytes))
    }
}

/// A tensor made again and again.
struct Made<S> {
    source: S,
    format: Format,
    make: fn(&S, &Format) -> Result<Tensor, String>,
    result: Option<Tensor>,
    pool: rayon::ThreadPool,
}

fn made<S: Send + Sync + 'static>(
    case: &Case<'_>,
    source: S,
    make: fn(&S, &Format) -> Result<Tensor, String>,
) -> Prepared {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(case.threads).build();
    let pool = pool.map_err(|e| e.to_string())?;
    let format = case.target.clone().ok_or("a conversion has a target")?;
    Ok(Some(Box::new(Made { source, format, make, result: None, pool })))
}

impl<S: Send + Sync> Runner for Made<S> {
    fn time(&mut self, calls: usize) -> Result<f64, String> {
        let Self { source, format, make, result, pool } = self;
        // The pool says how many threads there are: it is entered once, not by each call.
        pool.install(|| {
            let start = std::time::Instant::now();
            for _ in 0..calls {
                // As of `remade`.
                *result = None;
                *result = Some(make(source, format)?);
            }
            Ok(start.elapsed().as_secs_f64())
        })
    }

    fn outcome(&mut self) -> Result<Vec<f64>, String> {
        self.time(1)?;
        Rows::of_tensor(self.result.as_ref().ok_or("no result")?)
    }
}

fn build(case: &Case<'_>) -> Prepared {
    let entries = case.entries.clone().ok_or("entries are given")?;
    let values = entries.values.cast(case.dtype).map_err(|e| e.to_string())?;
    let entries = Coo { values, ..entries };
    made(case, entries, |coo, format| Tensor::from_coo(coo, format).map_err(|e| e.to_string()))
}

fn convert(case: &Case<'_>) -> Prepared {
    made(case, case.first().clone(), |a, format| a.convert(format).map_err(|e| e.to_string()))
}

fn read(case: &Case<'_>, around: &Surroundings) -> Prepared {
    let path = around.mtx(case);
    if !path.exists() {
        ust::io::write(&path, case.first()).map_err(|e| e.to_string())?;
    }
    made(case, path, |path, format| {
        let options = ReadOptions::default().with_format(format.clone());
        ust::io::read(path, &options).map_err(|e| e.to_string())
    })
}
