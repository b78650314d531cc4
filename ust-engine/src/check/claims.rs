//! Foreign arrays against what their levels say of themselves.
//!
//! A level type's own `check` knows its arrays and says best what is wrong in them; but it may have
//! been written by anybody, and the loops rely on what the description claims. So all children are
//! looked at once more.

use ust_level_api::Reach;

use crate::error::Error;
use crate::storage::Tensor;
use crate::storage::memory::default_limit;
use crate::walk::claims::{Breach, Closer, Pass, Rule, pass};

/// Compares all children with the claims of their levels, and with what each level's `check` says is
/// in reach. Gives the number of children of the last level that is not full, or 1 where all are.
///
/// # Errors
/// [`Error::Claim`] with the first child that is not as claimed.
pub(super) fn hold(tensor: &Tensor, reached: &[Reach]) -> Result<usize, Error> {
    let format = tensor.format();
    let levels = format.tail();
    for (level, description) in format.descriptions().iter().enumerate() {
        if description.props.full && !tensor.levels()[level].0.is_empty() {
            let found = "it owns arrays".to_owned();
            let rule = "the positions of a full level follow from coordinates alone";
            return Err(broken(tensor, level, found, "full", rule, DESCRIPTION));
        }
    }
    if levels == 0 {
        return Ok(1);
    }
    let mut closer = vec![Closer::default(); levels];
    let first = look(tensor, reached, &closer)?;
    let mut parents = (1, 1);
    for (level, closer) in closer.iter_mut().enumerate() {
        let (props, children) = (format.descriptions()[level].props, first.children[level]);
        let all = reached[level].positions;
        // Children of parents that nobody reaches are not met, and need not make sense.
        if props.compact && parents.0 == parents.1 && children as u64 != all {
            let found = format!("{children} of its {all} positions are met in a walk");
            let rule = "every position stands for a child";
            return Err(broken(tensor, level, found, "compact", rule, ARRAYS));
        }
        parents = (children as u64, all);
        // One child of each parent is alone.
        closer.listed = props.unique && !props.ordered && !props.branchless;
        // What stands below positions out of reach was not checked by its own level type.
        let below = level + 1 < levels && reached[level].intervals.is_some();
        closer.marked = !first.rises[level] || closer.listed || below;
    }
    if closer.iter().any(|closer| closer.marked) {
        let marked = closer.iter().zip(reached).filter(|(closer, _)| closer.marked);
        let bytes = marked.map(|(closer, reach)| {
            reach.positions.saturating_mul(1 + 24 * u64::from(closer.listed))
        });
        let bytes = bytes.fold(0, u64::saturating_add);
        if bytes > default_limit() {
            let text = format!("{bytes} bytes are needed to check levels that are not in order");
            return Err(Error::TooLarge(text));
        }
        let listed = look(tensor, reached, &closer)?.listed;
        for (level, [parents, from, to]) in listed.iter().enumerate() {
            distinct(tensor, level, parents, from, to)?;
        }
    }
    Ok(first.children[levels - 1] as usize)
}

/// What to do about arrays, and about a description.
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

fn look(tensor: &Tensor, reached: &[Reach], closer: &[Closer]) -> Result<Pass, Error> {
    match pass(tensor, reached, closer) {
        Ok(Ok(pass)) => Ok(pass),
        Ok(Err(breach)) => Err(told(tensor, reached, breach)),
        Err(Error::Run(error)) => Err(Error::Parts(format!(
            "every level type's own `check` accepts the arrays, and a walk through them fails: \
             {error}; mend the arrays, and the `check` of the level type that owns this one"
        ))),
        Err(other) => Err(other),
    }
}

/// Where no coordinate stands twice under one parent, though they are in no order.
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

/// What a breach means, in words.
fn told(tensor: &Tensor, reached: &[Reach], breach: Breach) -> Error {
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
