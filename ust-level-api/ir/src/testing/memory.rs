//! Memory for the arrays of random functions.

use crate::interp::{GrowValues, Growable, IndicesMut, Memory, Param, ValuesMut, ValuesRef};
use crate::scalar::{Element, Scalar};
use crate::{ArrayDecl, Elem, Function, IndexArray, IndexKind, with_dtype};

/// Growing arrays refuse to grow beyond this; one reservation may double it.
pub const MAX_LEN: usize = 40;

/// The contents of an array: indices, or scalars of one dtype.
#[derive(Clone, Debug)]
pub enum Data {
    /// Indices.
    Indices(Vec<i64>),
    /// Numbers.
    Values(Vec<Scalar>),
}

impl Data {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Data::Indices(data) => data.len(),
            Data::Values(data) => data.len(),
        }
    }
}

/// Growable memory with a largest length.
struct Capped(Box<dyn Growable>);

impl Growable for Capped {
    fn elem(&self) -> Elem {
        self.0.elem()
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn reserve(&mut self, len: usize) -> bool {
        // A length that is there already is always granted.
        len <= self.0.len() || (len <= MAX_LEN && self.0.reserve(len))
    }
    fn memory(&mut self) -> Memory<'_> {
        self.0.memory()
    }
    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr()
    }
}

/// Indices in growable memory of the declared kind.
fn growable(decl: &ArrayDecl, data: &[i64]) -> Capped {
    macro_rules! typed {
        ($($variant:ident($ty:ty)),*) => {
            match decl.elem {
                $(Elem::Index(IndexKind::$variant) => {
                    let data: Vec<$ty> = data.iter().map(|&v| v.try_into().expect("data is made for the kind")).collect();
                    Capped(Box::new(data))
                })*
                elem => panic!("{elem} written"),
            }
        };
    }
    typed!(U8(u8), U16(u16), U32(u32), U64(u64), I8(i8), I16(i16), I32(i32), I64(i64))
}

/// The contents of memory.
fn held(memory: Memory<'_>) -> Data {
    macro_rules! widened {
        ($indices:expr, $($variant:ident)*) => {
            match $indices {
                $(IndicesMut::$variant(slice) => {
                    slice.iter().map(|&v| i64::try_from(v).expect("an index")).collect()
                })*
            }
        };
    }
    macro_rules! scalars {
        ($values:expr, $($variant:ident)*) => {
            match $values {
                $(ValuesMut::$variant(slice) => slice.iter().map(|&v| v.scalar()).collect(),)*
            }
        };
    }
    match memory {
        Memory::IndicesMut(indices) => {
            Data::Indices(widened!(indices, U8 U16 U32 U64 I8 I16 I32 I64))
        }
        Memory::ValuesMut(values) => Data::Values(scalars!(values,
            Bool I8 I16 I32 I64 U8 U16 U32 U64 F16 Bf16 F32 F64 Complex64 Complex128)),
        other => panic!("{other:?} was written"),
    }
}

/// Binds memory to the data of a function made by [`random`](super::random), runs it, and returns
/// the written arrays.
pub fn with_memory<R>(
    function: &Function,
    data: &[Data],
    params: (i64, bool, Scalar),
    run: impl FnOnce(&[Param], &mut [Memory<'_>]) -> R,
) -> (R, [Data; 4]) {
    with_dtype!(params.2.dtype(), T => typed::<T, R>(function, data, params, run))
}

fn typed<T, R>(
    function: &Function,
    data: &[Data],
    (n, flag, alpha): (i64, bool, Scalar),
    run: impl FnOnce(&[Param], &mut [Memory<'_>]) -> R,
) -> (R, [Data; 4])
where
    T: Element,
    GrowValues: From<Vec<T>>,
    for<'a> ValuesRef<'a>: From<&'a [T]>,
    for<'a> ValuesMut<'a>: From<&'a mut [T]>,
{
    let [
        Data::Indices(a),
        Data::Indices(b),
        Data::Indices(w),
        Data::Values(x),
        Data::Values(y),
        Data::Indices(g),
        Data::Values(h),
    ] = data
    else {
        panic!("seven arrays")
    };
    let index = |at: usize, data: &[i64]| match function.arrays[at].elem {
        Elem::Index(kind) => IndexArray::store(kind, data, "", "").expect("made for the kind"),
        Elem::Value(dtype) => panic!("{dtype} as a kind of index"),
    };
    let typed = |data: &[Scalar]| -> Vec<T> {
        data.iter().map(|&v| T::from_scalar(v).expect("made for the dtype")).collect()
    };
    let (a, b) = (index(0, a), index(1, b));
    let (mut w, mut g) = (growable(&function.arrays[2], w), growable(&function.arrays[5], g));
    let (x, mut y) = (typed(x), typed(y));
    let mut h: Capped = Capped(Box::new(GrowValues::from(typed(h))));
    let mut memory = [
        Memory::Index(&a),
        Memory::Index(&b),
        w.memory(),
        Memory::values(&x),
        Memory::values_mut(&mut y),
        Memory::Grow(&mut g),
        Memory::Grow(&mut h),
    ];
    let params = [Param::Int(n), Param::Bool(flag), Param::Val(alpha)];
    let result = run(&params, &mut memory);
    let y = Data::Values(y.into_iter().map(Element::scalar).collect());
    (result, [held(w.memory()), y, held(g.memory()), held(h.memory())])
}
