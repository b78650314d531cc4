//! Compares foreign arrays with the claims of their levels.
//!
//! A level type's own `check` gives the best error messages. But a level type may come from a third
//! party, and loops rely on its claims without tests. So all children are tested once more,
//! independently of `check`.

use ust_level_api::Reach;

use super::listed;
use crate::error::Error;
use crate::storage::Tensor;
use crate::storage::memory::default_limit;
use crate::walk::claims::{Breach, Pass, PassOptions, Rule, pass};

/// Compares the lengths of all arrays and all children with the claims of their levels, and with the positions that each level's
/// `check` says are in reach. Returns the number of children of the last level that is not full, or
/// 1 where all levels are full.
///
/// # Errors
/// [`Error::Claim`] with the first child that breaks a claim.
pub(super) fn compare(tensor: &Tensor, reached: &[Reach]) -> Result<usize, Error> {
    let format = tensor.format();
    let levels = format.tail();
    for (level, description) in format.descriptions().iter().enumerate() {
        if description.props.full && !tensor.levels()[level].0.is_empty() {
            let found = "it owns arrays".to_owned();
            let rule = "the positions of a full level follow from coordinates alone";
            return Err(broken(tensor, level, found, "full", rule, DESCRIPTION));
        }
    }
    have_lengths(tensor, reached)?;
    if let Some(children) = listed::children(tensor, reached) {
        return Ok(children);
    }
    let mut options = vec![PassOptions::default(); levels];
    let first = run_pass(tensor, reached, &options)?;
    // The number of parents that the walk visited, and of all parents.
    let mut parents = (1, 1);
    for (level, own) in options.iter_mut().enumerate() {
        let (props, children) = (format.descriptions()[level].props, first.children[level]);
        let all = reached[level].positions;
        // The walk does not visit the children of parents out of reach, which need not be valid.
        if props.compact && parents.0 == parents.1 && children as u64 != all {
            let found = format!("{children} of its {all} positions are met in a walk");
            let rule = "every position stands for a child";
            return Err(broken(tensor, level, found, "compact", rule, ARRAYS));
        }
        parents = (children as u64, all);
        // The only child of a parent has no sibling with the same coordinate.
        own.listed = props.unique && !props.ordered && !props.branchless;
        // The `check` of the next level did not test children of positions out of reach.
        let below = level + 1 < levels && reached[level].intervals.is_some();
        own.marked = !first.rises[level] || own.listed || below;
    }
    if options.iter().any(|own| own.marked) {
        let marked = options.iter().zip(reached).filter(|(own, _)| own.marked);
        let bytes = marked
            .map(|(own, reach)| reach.positions.saturating_mul(1 + 24 * u64::from(own.listed)));
        let bytes = bytes.fold(0, u64::saturating_add);
        if bytes > default_limit() {
            let text = format!("{bytes} bytes are needed to check levels that are not in order");
            return Err(Error::TooLarge(text));
        }
        let listed = run_pass(tensor, reached, &options)?.listed;
        for (level, [parents, from, to]) in listed.iter().enumerate() {
            distinct(tensor, level, parents, from, to)?;
        }
    }
    Ok(first.children[levels - 1] as usize)
}

/// Compares the lengths of arrays with what their elements stand for.
fn have_lengths(tensor: &Tensor, reached: &[Reach]) -> Result<(), Error> {
    let mut parents = 1;
    for (level, reach) in reached.iter().enumerate() {
        let specs = &tensor.format().descriptions()[level].arrays;
        for (spec, array) in specs.iter().zip(&tensor.levels()[level].0) {
            let (len, length) = (array.len() as u64, spec.per.length(parents, reach.positions));
            if let Some(length) = length.filter(|&length| length != len) {
                let found = format!("`{}` has {len} elements", spec.name);
                let rule = format!("it has {length} (`{}`)", spec.per);
                return Err(broken(tensor, level, found, "per", &rule, ARRAYS));
            }
        }
        parents = reach.positions;
    }
    Ok(())
}

/// The advice in an error message about arrays, and about a description.
const ARRAYS: &str = "mend the arrays; where they are meant so, its description or its `check` is \
                      wrong";
const DESCRIPTION: &str = "mend the level type";

fn broken(
    tensor: &Tensor,
    level: usize,
    found: String,
    claim: &'static str,
    rule: &str,
    help: &str,
) -> Error {
    let text = tensor.format().level_text(level);
    Error::Claim { level, text, found, claim, rule: format!("{rule}; {help}") }
}

fn run_pass(tensor: &Tensor, reached: &[Reach], options: &[PassOptions]) -> Result<Pass, Error> {
    match pass(tensor, reached, options) {
        Ok(Ok(pass)) => Ok(pass),
        Ok(Err(breach)) => Err(claim_error(tensor, reached, breach)),
        Err(Error::Run(error)) => Err(Error::Parts(format!(
            "every level type's own `check` accepts the arrays, and a walk through them fails: \
             {error}; mend the arrays, and the `check` of the level type that owns this one"
        ))),
        Err(other) => Err(other),
    }
}

/// Tests that the coordinates under each parent are distinct, for a level whose coordinates are not
/// ordered. Children are given by their parent, first and last coordinate.
fn distinct(
    tensor: &Tensor,
    level: usize,
    parents: &[i64],
    from: &[i64],
    to: &[i64],
) -> Result<(), Error> {
    let mut order: Vec<usize> = (0..parents.len()).collect();
    let key = |&at: &usize| (parents[at], from[at]);
    if !order.is_sorted_by_key(key) {
        order.sort_unstable_by_key(key);
    }
    for pair in order.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        if parents[a] == parents[b] && from[b] <= to[a] {
            let found = format!("under parent {}, coordinate {} stands twice", parents[b], from[b]);
            let rule = "coordinates under one parent are distinct";
            return Err(broken(tensor, level, found, "unique", rule, ARRAYS));
        }
    }
    Ok(())
}

/// The error message for a breach.
fn claim_error(tensor: &Tensor, reached: &[Reach], breach: Breach) -> Error {
    let Breach { rule, level, parent, position, coordinate, other } = breach;
    let domain = tensor.bound.levels()[level];
    let end = domain.lower.saturating_add_unsigned(domain.size);
    let bounds = || ("size", format!("its coordinates lie in [{}, {end})", domain.lower));
    let props = tensor.format().descriptions()[level].props;
    let child = format!("under parent {parent}, coordinate {coordinate} at position {position}");
    let (found, (claim, rule)) = match rule {
        Rule::Bounds => (child, bounds()),
        Rule::Ordered if coordinate < domain.lower => (child, bounds()),
        Rule::Ordered if props.unique && coordinate == other => {
            let rule = "coordinates under one parent are distinct, and the same stands before it";
            (child, ("unique", rule.to_owned()))
        }
        Rule::Ordered => {
            let rule = format!("coordinates under one parent ascend, and {other} stands before it");
            (child, ("ordered", rule))
        }
        Rule::Reach => (child, ("check", format!("it has the positions 0..{other}"))),
        Rule::Cursors => {
            let found = format!("under parent {parent}, children at {position}..{coordinate}");
            (found, ("check", format!("it has the positions 0..{other}")))
        }
        Rule::Cursor => {
            let kind = tensor.format().descriptions()[level].walk;
            (child, ("walk", format!("the cursor, which stands at {other}, is the {kind:?}")))
        }
        Rule::Full => {
            let rule = "every coordinate stands at `parent * size + (crd - lower)`";
            (child, ("full", format!("{rule}, which is {other}")))
        }
        Rule::Branchless => {
            (child, ("branchless", "the child of each parent stands at its position".to_owned()))
        }
        Rule::Children => {
            let found = format!("{coordinate} children under parent {parent}");
            let claim = if props.full { "full" } else { "branchless" };
            (found, (claim, format!("each parent has exactly {other}")))
        }
        Rule::Contiguous => {
            let found = format!("under parent {parent}, children from position {position} on");
            let rule = "the children of neighbouring parents lie side by side";
            (found, ("contiguous", format!("{rule}, and those before end at {other}")))
        }
        Rule::Many => {
            let found = format!("under parent {parent}, children at {position}..{coordinate}");
            let rule = "each child has a position of its own";
            let many = format!("{rule}, and with these there are more than {other}");
            (found, ("check", many))
        }
        Rule::Apart if !reached[level].intervals().any(|i| i.contains(&(position as u64))) => {
            (child, ("check", "it says that this position is out of reach".to_owned()))
        }
        Rule::Apart => (child, ("check", "each child has a position of its own".to_owned())),
    };
    broken(tensor, level, found, claim, &rule, ARRAYS)
}
