//! The plan of a stage: conversions of operands, loops, and the sink of the result.

use ust_format::{Format, IndexExpr};
use ust_level_api::Scalar;

use super::access::{Access, Level, converted};
use super::emit::{Input, Loops, emit};
use super::infer::infer;
use super::order::{Apart, Order, Problem, best};
use super::simplify::simplify;
use super::sink::{Shape, Sink, SinkKind, columns};
use super::stage::{Stage, cast};
use crate::convert::way::Way;
use crate::convert::widths::{size_in_32_bits, with_32_bits};
use crate::error::Error;
use crate::expr::term::Term;
use crate::provider::plan::{LevelSize, OperandSize, Sizes};
use crate::storage::{Outline, Tensor, joins_alike};
use crate::tuning::{KEPT_INDEX_BYTES, KEPT_INDICES_TIME, WIDTH_ENTRY_NS};

/// A planned stage.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) loops: Loops,
    pub(crate) order: Order,
    pub(crate) sink: Sink,
    /// For each access, the conversion of its tensor before the loops run.
    pub(crate) conversions: Vec<Option<Conversion>>,
    /// For each of these conversions, the way, as chosen for the tensors that the stage was planned for: see
    /// [`Planned::find_ways`].
    pub(crate) ways: Vec<Option<Way>>,
    /// For a stage that copies its operand, the way of that conversion.
    pub(crate) copy_way: Option<Way>,
    /// The format of the result.
    pub(crate) format: Format,
    /// The value of a coordinate that the loops do not visit, in the dtype that they write.
    pub(crate) rest: Scalar,
    /// The fill value of the result: `rest`; but if the loops visit every coordinate, [`Given::zero`],
    /// or 0 in a full format.
    pub(crate) fill: Scalar,
    /// For each access, the format of its tensor.
    pub(crate) formats: Vec<Format>,
    /// The estimated time of conversions, loops and result, in nanoseconds.
    pub(crate) cost: f64,
    /// The sizes that the plan was made for.
    pub(crate) sizes: Sizes,
    /// Whether loops read indices of other widths than 32 bits, which another plan converts first.
    pub(crate) other_widths: bool,
    /// Whether parts of the outermost loop add to the same elements, and those of another plan, with the same order
    /// of sums, do not.
    pub(crate) other_apart: bool,
    /// Whether the loops add to what a result in full holds.
    pub(crate) onto: bool,
}

/// A conversion of an operand before the loops run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Conversion {
    /// To a tree of coordinates.
    Tree(Format),
    /// To the same format with indices of 32 bits.
    Widths(Format),
}

impl Conversion {
    /// The format that it leads to.
    pub(crate) fn format(&self) -> &Format {
        match self {
            Self::Tree(format) | Self::Widths(format) => format,
        }
    }
}

impl Planned {
    /// Whether parts of the outermost loop would add to the same elements of a result at known positions.
    fn adds_together(&self) -> bool {
        self.loops.facts.rows.is_none() && !self.loops.facts.outermost.owns
    }

    /// Finds how operands are converted. This depends on the contents of arrays, as nothing else here does, and
    /// serves people alone.
    pub(crate) fn find_ways(&mut self, stage: &Stage, tensors: &[&Tensor]) {
        // The conversion itself reports its error, when it runs.
        let way =
            |(tensor, to): (&&Tensor, &Option<Conversion>)| tensor.way(to.as_ref()?.format()).ok();
        self.ways = tensors.iter().zip(&self.conversions).map(way).collect();
        let copied = |order: Vec<usize>| tensors[0].permute(&order)?.way(&self.format);
        self.copy_way = stage.copied().and_then(|order| copied(order).ok());
    }
}

/// The input of the planner.
pub(crate) struct Given<'a> {
    pub(crate) stage: &'a Stage,
    /// The tensor of each access.
    pub(crate) tensors: &'a [Outline],
    /// For each access, whether its tensor is the caller's, and keeps what is made of it for further runs.
    pub(crate) lasting: Vec<bool>,
    /// Bytes that a run may take.
    pub(crate) limit: u64,
    pub(crate) names: Vec<String>,
    /// The value of each access at unstored coordinates.
    pub(crate) fills: Vec<Scalar>,
    /// Whether sums have to be formed in the order of the loops.
    pub(crate) strict: bool,
    /// Whether the loops add to what a result in full holds.
    pub(crate) onto: bool,
    /// The access whose positions the result has to have, if there is one.
    pub(crate) leads: Option<usize>,
    /// The name of each index variable.
    pub(crate) indices: &'a [String],
    /// The extent of each index variable.
    pub(crate) extents: &'a [usize],
    /// The format asked for.
    pub(crate) format: Option<Format>,
    /// The fill value of a result whose loops visit every coordinate, in the result's dtype.
    pub(crate) zero: Scalar,
}

/// A plan, and the tensors that its loops run on. A tensor that is converted first stands there in its
/// new format, without entries.
pub(crate) type Candidate = (Planned, Vec<Outline>);

/// Returns the quickest plan of a stage; none where one access [has to lead](Given::leads) and cannot. If that plan
/// converts operands, a second one takes them as they are, if there is one: a native kernel may run it faster. For each
/// of the two whose loops read indices of other widths than 32 bits, one more stores these in 32 bits first. If parts of
/// the quickest would add to the same elements, and sums have to be formed in the order of the loops, the last one
/// converts operands so that parts write elements of their own, if it forms sums in the same order.
///
/// # Errors
/// [`Error::Unsupported`] if no order of loops is found; [`Error::Format`] if the level types
/// of an intermediate format are not linked.
pub(crate) fn choose(given: &Given<'_>) -> Result<Vec<Candidate>, Error> {
    let none = || Error::Unsupported("no order of loops was found for this expression".to_owned());
    let Some(mut quickest) = candidate(given, Conversions::default())? else {
        return if given.leads.is_some() { Ok(Vec::new()) } else { Err(none()) };
    };
    // The other plans are optional: an error only means that there is none.
    let plan = |wanted: bool, conversions: Conversions<'_>| match wanted {
        true => candidate(given, conversions).ok().flatten(),
        false => None,
    };
    let widened = |one: &Candidate, as_given| {
        plan(one.0.other_widths, Conversions { as_given, widths: true, apart: None })
    };
    let converts = quickest.0.conversions.iter().any(Option::is_some);
    let mut as_given = plan(converts, Conversions { as_given: true, ..Conversions::default() });
    let mut others =
        [widened(&quickest, false), as_given.as_ref().and_then(|one| widened(one, true))];
    let adds_together = |one: &Candidate| given.strict && one.0.adds_together();
    let order = sums_of(given, &quickest).filter(|_| adds_together(&quickest));
    let apart = order.as_deref();
    let apart = plan(order.is_some(), Conversions { apart, ..Conversions::default() })
        .filter(|one| !adds_together(one) && sums_of(given, one) == order);
    for one in [&mut as_given].into_iter().chain(&mut others).flatten().chain([&mut quickest]) {
        one.0.other_apart = apart.is_some() && adds_together(one);
    }
    let all = [Some(quickest), as_given].into_iter().chain(others).chain([apart]);
    Ok(all.flatten().collect())
}

/// The index variables that loops sum over, from the outermost on, if this is the order in which the products of each
/// element are added.
fn sums_of(given: &Given<'_>, (planned, tensors): &Candidate) -> Option<Vec<usize>> {
    // What is converted has one entry for each coordinate, in their order.
    let is_tree = |tensor: &Outline| tensor.format().is_unique() && tensor.format().is_ordered();
    let sums = planned.order.steps.iter().filter_map(|step| match step.expr {
        IndexExpr::Var(v) if given.stage.result.contains(&v) => None,
        IndexExpr::Var(v) => Some(Some(v)),
        _ => Some(None),
    });
    sums.collect::<Option<_>>().filter(|_| tensors.iter().all(is_tree))
}

/// The conversions of operands that a plan may have.
#[derive(Clone, Copy, Default)]
struct Conversions<'a> {
    /// None to trees of coordinates.
    as_given: bool,
    /// Indices of other widths to 32 bits.
    widths: bool,
    /// Such that the outermost loop runs over an index variable of the result, and loops run over the others in this
    /// order.
    apart: Option<&'a [usize]>,
}

/// The quickest plan with these conversions. `None` if there is none.
fn candidate(given: &Given<'_>, may: Conversions<'_>) -> Result<Option<Candidate>, Error> {
    let to_32_bits = may.widths;
    let stage = given.stage;
    let accesses: Vec<Access> =
        stage.accesses.iter().zip(given.tensors).map(|(u, t)| Access::new(t, &u.dims)).collect();
    let sparse: Vec<usize> = (0..accesses.len()).filter(|&at| !accesses[at].full).collect();
    if sparse.len() > 12 {
        let text = "more than 12 sparse operands in one sum of products: split the expression";
        return Err(Error::Unsupported(text.to_owned()));
    }
    let rest = stage.rest(&|at| sparse.contains(&at).then(|| given.fills[at]));
    let worth = worth(given, &sparse, rest);
    let format = match &given.format {
        Some(format) => format.clone(),
        None => infer(stage, given, &accesses, &worth, rest)?,
    };
    let Some(Ordered { order, sink, plain }) =
        ordered(given, may, &accesses, &sparse, &worth, (&format, rest))?
    else {
        return Ok(None);
    };
    let tree =
        |tree: &Option<_>| Ok(tree.as_ref().map(converted).transpose()?.map(Conversion::Tree));
    let mut conversions: Vec<Option<Conversion>> =
        order.converted.iter().map(tree).collect::<Result<_, Error>>()?;
    let mut cost = order.cost;
    let widths = other_widths(given, &sparse, &order);
    if to_32_bits {
        for (at, format) in &widths {
            conversions[*at] = Some(Conversion::Widths(format.clone()));
            let is_kept =
                given.lasting[*at] && size_in_32_bits(&given.tensors[*at]) <= KEPT_INDEX_BYTES;
            if !is_kept {
                cost += accesses[*at].nse * WIDTH_ENTRY_NS;
            }
        }
        cost *= KEPT_INDICES_TIME;
    }
    let tensors: Vec<Outline> = given
        .tensors
        .iter()
        .zip(&conversions)
        .map(|(tensor, format)| match format {
            // An empty tensor has the arrays of the format.
            Some(to) => {
                let made = Tensor::empty(tensor.shape(), to.format(), tensor.fill())?.outline();
                // Indices in other widths stand beside the same values.
                let same = matches!(to, Conversion::Widths(_));
                let made = made.with_iso(tensor.is_iso() && same);
                Ok(if same && !tensor.has_padding() { made.without_padding() } else { made })
            }
            None => Ok(tensor.clone()),
        })
        .collect::<Result<_, Error>>()?;
    let (loops, rest) = emitted(given, &tensors, &order, &sink, rest, plain);
    let formats = given.tensors.iter().map(|t| t.format().clone()).collect();
    let sizes = sizes(given, &accesses, &order);
    // A full format stores every element; its fill value does not show.
    let fill = match worth[0] {
        true if format.is_full() => rest.dtype().zero(),
        true => given.zero.cast(rest.dtype()).unwrap_or(rest.dtype().zero()),
        false => rest,
    };
    let planned = Planned {
        loops,
        order,
        sink,
        conversions,
        ways: Vec::new(),
        copy_way: None,
        format,
        rest,
        fill,
        formats,
        cost,
        sizes,
        other_widths: !to_32_bits && !widths.is_empty(),
        other_apart: false,
        onto: given.onto,
    };
    Ok(Some((planned, tensors)))
}

/// The sparse operands that the loops read as they are, and whose indices have other widths than 32 bits, each
/// with its format in 32 bits. Not those whose indices would take much of the memory that a run may take.
fn other_widths(given: &Given<'_>, sparse: &[usize], order: &Order) -> Vec<(usize, Format)> {
    let fits = |at: usize| size_in_32_bits(&given.tensors[at]) <= given.limit / 2;
    let candidates = sparse.iter().filter(|&&at| order.converted[at].is_none() && fits(at));
    candidates.filter_map(|&at| Some((at, with_32_bits(&given.tensors[at])?))).collect()
}

/// The sizes of the tensors that the loops run on. Those of a converted tensor are estimated.
fn sizes(given: &Given<'_>, accesses: &[Access], order: &Order) -> Sizes {
    let converted = |access: &Access, dims: &[usize]| {
        let (mut parents, mut elements) = (1.0, 1.0);
        let levels = dims.iter().map(|&dim| {
            let coordinates = given.extents[access.dims[dim]] as f64;
            elements *= coordinates;
            let positions = super::access::distinct(access.nse, elements);
            let children = if parents > 0.0 { positions / parents } else { 0.0 };
            parents = positions;
            LevelSize { coordinates, positions, children }
        });
        levels.collect()
    };
    let operands = accesses.iter().zip(&order.converted).map(|(access, tree)| {
        let levels = match tree {
            Some(tree) => converted(access, &tree.dims),
            None => access.levels.iter().map(Level::sizes).collect(),
        };
        OperandSize { nse: access.nse, levels }
    });
    let iterations = order.steps.iter().map(|step| step.iterations);
    Sizes {
        extents: given.extents.to_vec(),
        operands: operands.collect(),
        iterations: iterations.collect(),
    }
}

/// For each set of sparse operands, whether the term differs from `rest` where these store an entry and
/// the others store none. Bit `k` of the index of a set is the `k`-th sparse operand.
fn worth(given: &Given<'_>, sparse: &[usize], rest: Scalar) -> Vec<bool> {
    let is_rest = |term: &Term| matches!(term, Term::Const(value) if value.same(&rest));
    let differs = |set: u32| {
        let absent = |at: usize| {
            let bit = sparse.iter().position(|&s| s == at)?;
            (set >> bit & 1 == 0).then(|| given.fills[at])
        };
        !is_rest(&simplify(&given.stage.body, &absent))
    };
    (0..1_u32 << sparse.len()).map(differs).collect()
}

/// The order of the loops and the sink that suits it.
struct Ordered {
    order: Order,
    sink: Sink,
    /// Whether repeated coordinates are visited one by one.
    plain: bool,
}

/// The cheapest order of loops for a result in this format, and its sink. `None` if there is no order.
fn ordered(
    given: &Given<'_>,
    may: Conversions<'_>,
    accesses: &[Access],
    sparse: &[usize],
    worth: &[bool],
    (format, rest): (&Format, Scalar),
) -> Result<Option<Ordered>, Error> {
    let stage = given.stage;
    let extents: Vec<f64> = given.extents.iter().map(|&n| n as f64).collect();
    let result = Shape::new(stage.result.clone(), format.clone(), &extents);
    // Repeated coordinates may be visited one by one if a single tensor is sparse, the loops do nothing
    // where it stores nothing, and the term is linear in it or it is unique.
    let mut plain = !worth[0]
        && matches!(*sparse, [at] if !accesses[at].repeats_padding()
            && (given.tensors[at].format().is_unique() || stage.is_linear_in(at)));
    let (order, sink) = loop {
        let must_convert =
            (0..accesses.len()).map(|at| !accesses[at].full && !accesses[at].can_walk(plain));
        let problem = Problem {
            accesses,
            extents: &extents,
            indices: stage.indices(),
            must_convert: must_convert.collect(),
            sparse: sparse.to_vec(),
            worth: worth.to_vec(),
            result: &result,
            as_given: may.as_given,
            apart: may.apart.map(|sums| Apart { result: &stage.result, sums }),
            leads: given.leads,
        };
        let Some(order) = best(&problem) else { return Ok(None) };
        let sink = result.sink(&order.steps)?;
        if plain && repeats(accesses, &order, &sink) {
            plain = false;
            continue;
        }
        break (order, sink);
    };
    let mut sink = match is_ordered(accesses, &order, &sink) {
        true => sink,
        false => result.unsorted()?,
    };
    let shared = match given.leads {
        None => shared(given, format, rest, sparse, &order).filter(|_| plain),
        // Where nothing is stored, there is nothing, whatever the others store.
        Some(at) => {
            let whole = !stage.visits_more && rest.same(&given.zero);
            if !whole || !leads(given, at, &order) {
                return Ok(None);
            }
            Some(at)
        }
    };
    if let Some(at) = shared {
        let levels = result.levels.iter().map(|(expr, _)| expr.clone()).collect();
        let kind = SinkKind::Shared { at };
        sink = Sink { kind, format: format.clone(), levels, columns: Vec::new() };
    }
    let shape: Vec<usize> = stage.result.iter().map(|&v| given.extents[v]).collect();
    sink.columns = columns(&sink.format.bind(&shape)?);
    Ok(Some(Ordered { order, sink, plain }))
}

/// The loops over these tensors, and the value of an element that no loop sets. Sums of half precision that
/// go through memory are formed in a wider dtype.
fn emitted(
    given: &Given<'_>,
    tensors: &[Outline],
    order: &Order,
    sink: &Sink,
    rest: Scalar,
    plain: bool,
) -> (Loops, Scalar) {
    let stage = given.stage;
    let accesses: Vec<Access> =
        stage.accesses.iter().zip(tensors).map(|(u, t)| Access::new(t, &u.dims)).collect();
    let input = Input {
        name: "kernel",
        tensors,
        names: &given.names,
        fills: &given.fills,
        accesses: &accesses,
        indices: given.indices,
        order,
        sink,
        result: &stage.result,
        body: &stage.body,
        reduce: stage.reduce.as_ref().map(|(op, _)| op),
        rest,
        plain,
        onto: given.onto,
    };
    let loops = emit(&input);
    if loops.in_memory
        && let Some((op, _)) = &stage.reduce
        && let wide = op.accumulator(stage.dtype)
        && wide != stage.dtype
    {
        let rest = op.identity(wide).unwrap_or(wide.zero());
        let body = cast(stage.body.clone(), stage.dtype, wide);
        return (emit(&Input { body: &body, rest, ..input }), rest);
    }
    (loops, rest)
}

/// The sparse operand whose levels the result can share: both have the same format and index variables,
/// and the outer loops walk this operand's levels, so that they visit each of its positions once.
fn shared(
    given: &Given<'_>,
    format: &Format,
    rest: Scalar,
    sparse: &[usize],
    order: &Order,
) -> Option<usize> {
    let stage = given.stage;
    // A stage with no other operand is for `along`.
    let &[at] = sparse else { return None };
    let stored = given.tensors[at].format();
    let same = stage.accesses.len() > 1
        && !stage.visits_more
        && stored == format
        && stored.is_unique()
        && !joins_alike(stored)
        && !stored.has_slices()
        && rest.same(&stage.dtype.zero());
    (same && leads(given, at, order)).then_some(at)
}

/// Whether an operand has the index variables of the result, and the outer loops walk all its levels as they are, so
/// that they visit each of its positions once.
fn leads(given: &Given<'_>, at: usize, order: &Order) -> bool {
    let stage = given.stage;
    let levels = given.tensors[at].format().level_count();
    let walked = |level: usize| {
        order.steps.get(level).is_some_and(|step| step.walkers.contains(&(at, level)))
    };
    let own = |v: &usize| stage.result.contains(v);
    let apart = order.steps[..levels.min(order.steps.len())]
        .iter()
        .all(|step| step.expr.vars().iter().all(own));
    let same = stage.accesses[at].dims == stage.result && order.converted[at].is_none();
    same && apart && (0..levels).all(walked)
}

/// Whether the loops would append a row of the result more than once, since they visit repeated
/// coordinates one by one.
fn repeats(accesses: &[Access], order: &Order, sink: &Sink) -> bool {
    let depth = match sink.kind {
        SinkKind::Full | SinkKind::Shared { .. } | SinkKind::Unsorted => return false,
        SinkKind::Sorted { depth } => depth,
        SinkKind::Workspace { open, .. } => open,
    };
    (0..accesses.len()).any(|at| {
        let mut walked = order.steps[..depth].iter().flat_map(|step| &step.walkers);
        let last = walked.rfind(|w| w.0 == at);
        order.converted[at].is_none()
            && last.is_some_and(|&(at, level)| !accesses[at].levels[level].props.unique)
    })
}

/// Whether the loops around a row visit coordinates in ascending order.
fn is_ordered(accesses: &[Access], order: &Order, sink: &Sink) -> bool {
    let depth = match sink.kind {
        SinkKind::Full | SinkKind::Shared { .. } | SinkKind::Unsorted => return true,
        SinkKind::Sorted { depth } => depth,
        SinkKind::Workspace { open, .. } => open,
    };
    order.steps[..depth].iter().flat_map(|step| &step.walkers).all(|&(at, level)| {
        order.converted[at].is_some() || accesses[at].levels[level].props.ordered
    })
}
