//! The choice of a microkernel: a loop has one for some index kinds and dtypes.

use ust_ir::idiom::{Idiom, Numbers};
use ust_ir::{ArrayDecl, ArrayId, Dtype, Elem, Expr, Function, IndexKind, Stmt, Var};
use ust_kernels::micro::{self, Loop};

use super::super::Suits;
use super::super::loops::{Reason, reason};
use super::super::nest::Inner;
use super::super::pattern::{Ones, Pattern, Runs, SharedRuns};
use super::super::placed::placed;
use super::Emitter;
use super::union::union_kernel;

impl<'a> Emitter<'a, '_> {
    /// The pattern of a loop, the dtype and the address of its kernel.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn kernel(
        &self,
        var: Var,
        body: &[Stmt],
    ) -> Result<(Pattern, Dtype, usize), Reason> {
        if self.options.checked {
            return Err(Reason::Checked);
        }
        match self.pattern(var) {
            Some(pattern) => {
                let kernel = kernel_of(&pattern, &self.function.arrays, self.options.strict);
                kernel.map(|(dtype, address)| (pattern, dtype, address)).ok_or(Reason::Types)
            }
            None => Err(reason(self.function, body)),
        }
    }

    /// The idiom of the loop over a variable, and the number of the loop among its loops.
    fn idiom(&self, var: Var) -> Option<(&'a Idiom, usize)> {
        self.idioms.get(&var).copied()
    }

    /// The nest of loops from the loop over a variable on.
    pub(super) fn nest(&self, var: Var) -> Option<Inner<'a>> {
        match self.idiom(var)? {
            (Idiom::Nest(nest), from) => Some(Inner { nest, from }),
            _ => None,
        }
    }

    /// The operation of the loop over a variable.
    fn pattern(&self, var: Var) -> Option<Pattern> {
        match self.idiom(var)? {
            (Idiom::Nest(nest), from) => Inner { nest, from }.pattern(),
            (Idiom::Placed(of), from) => placed(of, from),
            _ => None,
        }
    }
}

/// The kernel of a pattern. `None` where there is none for the element types of its arrays.
fn kernel_of(pattern: &Pattern, arrays: &[ArrayDecl], strict: bool) -> Option<(Dtype, usize)> {
    if let Pattern::Axpy { factor: Expr::Binary(..), .. } = pattern
        && strict
    {
        // The kernel would multiply the factors in another order.
        return None;
    }
    let Wanted { kernel, indices, kinds, values, moved } = wanted(pattern, arrays)?;
    let elem = |array: ArrayId| arrays[array.0 as usize].elem;
    let one = |arrays: &[ArrayId]| arrays.windows(2).all(|pair| elem(pair[0]) == elem(pair[1]));
    let fits = one(&indices)
        && one(&values)
        && kinds.iter().all(|&(array, kind)| elem(array) == Elem::Index(kind));
    let dtype = match values.first().map(|&array| elem(array)) {
        // A kernel without values: any dtype will do.
        None => Dtype::F64,
        Some(Elem::Value(dtype)) if moved => moved_as(dtype)?,
        Some(Elem::Value(dtype)) => dtype,
        Some(Elem::Index(_)) => return None,
    };
    let address = micro::address(kernel, dtype, strict)?;
    fits.then_some((dtype, address))
}

/// What a pattern wants of the microkernels, and of its arrays.
fn wanted(pattern: &Pattern, arrays: &[ArrayDecl]) -> Option<Wanted> {
    use IndexKind::{I64, U8, U32};
    let kind = |array: ArrayId| match arrays[array.0 as usize].elem {
        Elem::Index(kind) => Some(kind),
        Elem::Value(_) => None,
    };
    let of = |kernel, indices: &[ArrayId], values: &[ArrayId]| Wanted {
        kernel,
        indices: indices.to_vec(),
        kinds: Vec::new(),
        values: values.to_vec(),
        moved: false,
    };
    Some(match pattern {
        Pattern::GatherDot { a, crd, .. } => of(Loop::GatherDot(kind(*crd)?), &[], &[a.array]),
        Pattern::Dot { a, .. } => of(Loop::Dot, &[], &[a.array]),
        Pattern::Total { x, .. } => of(Loop::Total, &[], &[x.array]),
        Pattern::Fill { y, .. } => of(Loop::Fill, &[], &[y.array]),
        Pattern::Axpy { x, .. } => of(Loop::Axpy, &[], &[x.array]),
        Pattern::MultiplyAdd { a, factor: None, .. } => of(Loop::MultiplyAdd, &[], &[a.array]),
        Pattern::MultiplyAdd { a, .. } => of(Loop::ScaledMultiplyAdd, &[], &[a.array]),
        Pattern::Row { a, crd, m: None, .. } => of(Loop::Row(kind(*crd)?), &[], &[a.array]),
        Pattern::Row { a, crd, .. } => of(Loop::TimesRow(kind(*crd)?), &[], &[a.array]),
        Pattern::Rows { pos, crd, a, iso, x, places, .. } => {
            let kernel = if *iso { Loop::IsoRows } else { Loop::Rows };
            let kernel = kernel(kind(pos.array)?, kind(crd.array)?);
            of(kernel, &[pos.array, places.unwrap_or(pos.array)], &[a.array, x.array])
        }
        Pattern::RunDots { runs: Runs { bounds, ofs, a, x, .. }, .. } => {
            of(Loop::RunDots(kind(*ofs)?, kind(*bounds)?), &[], &[a.array, x.array])
        }
        Pattern::SharedDots { runs: SharedRuns { begin, end, a, x, .. }, .. } => {
            of(Loop::SharedDots(kind(*end)?), &[*end, begin.unwrap_or(*end)], &[a.array, x.array])
        }
        Pattern::SharedRows { pos, runs: SharedRuns { begin, end, a, x, .. }, out, places } => {
            let kernel = Loop::SharedRows(kind(pos.array)?, kind(*end)?);
            let places = places.unwrap_or(pos.array);
            let found = of(kernel, &[pos.array, places], &[a, x, out].map(|of| of.array));
            let begins = begin.map(|begin| Some((begin, kind(*end)?)));
            Wanted { kinds: begins.into_iter().flatten().collect(), ..found }
        }
        Pattern::OneDots { ones: Ones { bits, ofs, a, x }, .. } => Wanted {
            kinds: vec![(*bits, U32)],
            ..of(Loop::OneDots(kind(*ofs)?), &[], &[a.array, x.array])
        },
        Pattern::GapDots { a, numbers: Numbers { array, bits, .. }, x, .. } => Wanted {
            kinds: vec![(*array, U8)],
            ..of(Loop::GapDots(*bits as u8), &[], &[a.array, x.array])
        },
        Pattern::Runs { pos, runs: Runs { bounds, ofs, a, x, .. }, out, places } => {
            let pos = pos.as_ref().map_or(*ofs, |pos| pos.array);
            let kernel = Loop::Runs(kind(*ofs)?, kind(*bounds)?);
            of(kernel, &[*ofs, pos, places.unwrap_or(*ofs)], &[a, x, out].map(|of| of.array))
        }
        Pattern::Slots { y, a, crd, x, .. } => {
            of(Loop::Slots(kind(crd.array)?), &[], &[y.array, a.array, *x])
        }
        Pattern::Slices { pos, crd, a, x, y, .. } => {
            of(Loop::Slices(kind(*pos)?, kind(crd.array)?), &[], &[y.array, a.array, *x])
        }
        Pattern::Spread { pos, crd, a, x, places, .. } => {
            of(Loop::Spread(kind(*pos)?), &[*pos, *crd, places.unwrap_or(*pos)], &[*a, *x])
        }
        Pattern::Products { pos, crd, a, .. } => {
            of(Loop::Products(kind(*pos)?), &[*pos, *crd], &[*a])
        }
        Pattern::Combined { pos, crd, a, columns, b, sums, mark, list, .. } => Wanted {
            kinds: vec![(*list, I64)],
            ..of(
                Loop::Combined(kind(*pos)?, kind(*mark)?),
                &[*pos, *crd, *columns],
                &[*a, *b, *sums],
            )
        },
        Pattern::Sampled { out, m, a, rows, b, crd, .. } => {
            let rows = rows.as_ref().map_or(*crd, |(rows, _)| *rows);
            let values = [m.as_ref().unwrap_or(out), out, a, b].map(|stream| stream.array);
            of(Loop::Sampled(kind(*crd)?), &[*crd, rows], &values)
        }
        Pattern::Added { c, rows, a, b, crd, .. } => {
            let crd = crd.as_ref().map_or(*rows, |(crd, _)| *crd);
            let values = [a, b, c].map(|stream| stream.array);
            of(Loop::Added(kind(*rows)?), &[*rows, crd], &values)
        }
        Pattern::Entries { rows, crd, a, x, .. } => {
            of(Loop::Entries(kind(*rows)?), &[*rows, *crd], &[*a, *x])
        }
        Pattern::Scatter { crd, next, column, from, out, .. } => Wanted {
            kinds: vec![(next.array, U32)],
            moved: true,
            ..of(Loop::Scatter(kind(*crd)?), &[*crd, *column], &[from.array, *out])
        },
        Pattern::ScatterRows { pos, crd, next, column, from, out, .. } => Wanted {
            kinds: vec![(next.array, U32)],
            moved: true,
            ..of(Loop::ScatterRows(kind(*crd)?), &[*crd, *pos, *column], &[*from, *out])
        },
        Pattern::Count { pos, crd, counts } => Wanted {
            kinds: vec![(counts.array, U32)],
            ..of(Loop::Count(kind(*crd)?), &[*crd, *pos], &[])
        },
    })
}

/// Whether microkernels run loops of a function, as it is and if all indices had 32 bits.
pub(in super::super) fn suits(function: &Function, strict: bool) -> Suits {
    let mut in_32_bits = function.arrays.clone();
    for array in in_32_bits.iter_mut().filter(|array| !array.written) {
        if let Elem::Index(kind) = &mut array.elem {
            *kind = if kind.signed() { IndexKind::I32 } else { IndexKind::U32 };
        }
    }
    let has_kernel = |idiom: &Idiom, arrays: &[ArrayDecl]| match idiom {
        Idiom::Nest(nest) => {
            let mut each = (0..nest.loops.len()).filter_map(|from| Inner { nest, from }.pattern());
            each.next().is_some_and(|pattern| kernel_of(&pattern, arrays, strict).is_some())
        }
        Idiom::Union(union) => union_kernel(union, arrays, strict).is_some(),
        _ => false,
    };
    let mut wanted =
        function.idioms.iter().filter(|idiom| has_kernel(idiom, &in_32_bits)).peekable();
    match wanted.peek() {
        None => Suits::Nowhere,
        Some(_) => match wanted.all(|idiom| has_kernel(idiom, &function.arrays)) {
            true => Suits::AsItIs,
            false => Suits::In32Bits,
        },
    }
}

/// A kernel, and what the arrays of a loop must hold for it.
struct Wanted {
    kernel: Loop,
    /// Arrays of one kind of index.
    indices: Vec<ArrayId>,
    /// Arrays of the kind of index that stands beside them.
    kinds: Vec<(ArrayId, IndexKind)>,
    /// Arrays of one dtype.
    values: Vec<ArrayId>,
    /// Whether values are moved alone, so that their width is all that matters.
    moved: bool,
}

/// A dtype of the same width, as which values are moved.
fn moved_as(dtype: Dtype) -> Option<Dtype> {
    match dtype.bytes() {
        4 => Some(Dtype::F32),
        8 => Some(Dtype::F64),
        _ => None,
    }
}
