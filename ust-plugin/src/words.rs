//! Words of the contract as numbers of the ABI, and back. Each is written once.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use ust_level_api::{ExprShape, IndexKind, LocateCost, Per, Props, Role};

use crate::abi;

/// Properties as bits.
pub(crate) fn bits(props: Props) -> u32 {
    let Props {
        full,
        ordered,
        unique,
        branchless,
        compact,
        padded,
        overhangs,
        bounded,
        contiguous,
    } = props;
    let all = [full, ordered, unique, branchless, compact, padded, overhangs, bounded, contiguous];
    all.iter().enumerate().map(|(at, &set)| u32::from(set) << at).sum()
}

/// Properties of bits; `None` if a bit has no meaning.
pub(crate) fn props(bits: u32) -> Option<Props> {
    let has = |at: u32| bits >> at & 1 == 1;
    (bits >> abi::PROPERTIES == 0).then(|| Props {
        full: has(0),
        ordered: has(1),
        unique: has(2),
        branchless: has(3),
        compact: has(4),
        padded: has(5),
        overhangs: has(6),
        bounded: has(7),
        contiguous: has(8),
    })
}

/// The cost of a search as a number.
pub(crate) fn cost(cost: LocateCost) -> u32 {
    match cost {
        LocateCost::None => 0,
        LocateCost::Constant => 1,
        LocateCost::Logarithmic => 2,
    }
}

/// The cost that a number stands for.
pub(crate) fn cost_of(number: u32) -> Option<LocateCost> {
    [LocateCost::None, LocateCost::Constant, LocateCost::Logarithmic]
        .into_iter()
        .nth(number as usize)
}

/// What an array holds: role and kind.
pub(crate) fn role(role: Role) -> (u32, u32) {
    match role {
        Role::Position => (0, 0),
        Role::Coordinate => (1, 0),
        Role::Own(kind) => (2, kind.bits() + if kind.holds(-1) { abi::SIGNED } else { 0 }),
    }
}

/// What role and kind stand for.
pub(crate) fn role_of(role: u32, kind: u32) -> Option<Role> {
    match role {
        0 => Some(Role::Position),
        1 => Some(Role::Coordinate),
        2 => {
            let (bits, signed) = (kind % abi::SIGNED, kind >= abi::SIGNED);
            IndexKind::new(bits, signed).filter(|_| kind < 2 * abi::SIGNED).map(Role::Own)
        }
        _ => None,
    }
}

/// What elements stand for; a length of the level's own is beside it.
pub(crate) fn per(per: Per) -> (u32, &'static str) {
    match per {
        Per::Position => (0, ""),
        Per::Parent => (1, ""),
        Per::ParentBound => (2, ""),
        Per::ParentPair => (3, ""),
        Per::Other(length) => (4, length),
    }
}

/// What a number and a length stand for.
pub(crate) fn per_of(number: u32, length: &'static str) -> Option<Per> {
    let all = [Per::Position, Per::Parent, Per::ParentBound, Per::ParentPair, Per::Other(length)];
    all.into_iter().nth(number as usize)
}

/// The kind of an expression, and its divisor.
pub(crate) fn expression(expr: ExprShape) -> (u32, u64) {
    match expr {
        ExprShape::Dimension { ranged: false } => (0, 0),
        ExprShape::Dimension { ranged: true } => (1, 0),
        ExprShape::Counter => (2, 0),
        ExprShape::Quotient { divisor } => (3, divisor),
        ExprShape::Remainder { modulus } => (4, modulus),
        ExprShape::Other => (5, 0),
    }
}

/// The expression that a kind and a divisor stand for.
pub(crate) fn expression_of(kind: u32, number: u64) -> ExprShape {
    match kind {
        0 => ExprShape::Dimension { ranged: false },
        1 => ExprShape::Dimension { ranged: true },
        2 => ExprShape::Counter,
        3 => ExprShape::Quotient { divisor: number },
        4 => ExprShape::Remainder { modulus: number },
        _ => ExprShape::Other,
    }
}

/// A text that stays for ever. Descriptions repeat few of them.
pub(crate) fn kept(text: &str) -> &'static str {
    static KEPT: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.get_or_insert_default();
    if let Some(known) = kept.get(text) {
        return known;
    }
    let leaked: &'static str = Box::leak(text.to_owned().into_boxed_str());
    kept.insert(leaked);
    leaked
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of a name in the header.
    fn number(name: &str) -> u32 {
        let header = include_str!("../include/ust_plugin.h");
        let after =
            header.split(&format!(" {name} ")).nth(1).unwrap_or_else(|| panic!("no {name}"));
        let digits = after.trim_start_matches("= ").split(|c: char| !c.is_ascii_digit()).next();
        digits
            .and_then(|digits| digits.parse().ok())
            .unwrap_or_else(|| panic!("{name} is no number"))
    }

    /// A name in the header, and the property that it stands for.
    type Property = (&'static str, fn(Props) -> bool);

    #[test]
    fn numbers_are_those_of_the_header() {
        assert_eq!(number("UST_PLUGIN_ABI"), abi::ABI);
        for (name, code) in [
            ("UST_OK", abi::OK),
            ("UST_BAD_ARGUMENT", abi::BAD_ARGUMENT),
            ("UST_MISPLACED", abi::MISPLACED),
            ("UST_CANNOT_HOLD", abi::CANNOT_HOLD),
            ("UST_INVALID", abi::INVALID),
            ("UST_LENGTH", abi::LENGTH),
            ("UST_TOO_LARGE", abi::TOO_LARGE),
            ("UST_FAILED", abi::FAILED),
        ] {
            assert_eq!(number(name) as abi::Code, code, "{name}");
        }
        let is: [Property; abi::PROPERTIES as usize] = [
            ("UST_FULL", |p| p.full),
            ("UST_ORDERED", |p| p.ordered),
            ("UST_UNIQUE", |p| p.unique),
            ("UST_BRANCHLESS", |p| p.branchless),
            ("UST_COMPACT", |p| p.compact),
            ("UST_PADDED", |p| p.padded),
            ("UST_OVERHANGS", |p| p.overhangs),
            ("UST_BOUNDED", |p| p.bounded),
            ("UST_CONTIGUOUS", |p| p.contiguous),
        ];
        for (name, own) in is {
            let set = props(number(name)).unwrap();
            assert_eq!(
                (is.iter().filter(|(_, is)| is(set)).count(), own(set)),
                (1, true),
                "{name}"
            );
            assert_eq!(bits(set), number(name));
        }
        assert_eq!(props(1 << abi::PROPERTIES), None);
        assert_eq!(number("UST_JOINS_ALIKE"), abi::JOINS_ALIKE);
        assert_eq!(number("UST_BATCH"), abi::BATCH);
        for (name, of) in [
            ("UST_LOCATE_BY_WALKING", LocateCost::None),
            ("UST_LOCATE_CONSTANT", LocateCost::Constant),
            ("UST_LOCATE_LOGARITHMIC", LocateCost::Logarithmic),
        ] {
            assert_eq!((cost(of), cost_of(number(name))), (number(name), Some(of)), "{name}");
        }
        assert_eq!(cost_of(3), None);
        let own = number("UST_OWN");
        for (name, of) in [
            ("UST_U2", IndexKind::U2),
            ("UST_U8", IndexKind::U8),
            ("UST_U16", IndexKind::U16),
            ("UST_U32", IndexKind::U32),
            ("UST_U64", IndexKind::U64),
            ("UST_I8", IndexKind::I8),
            ("UST_I16", IndexKind::I16),
            ("UST_I32", IndexKind::I32),
            ("UST_I64", IndexKind::I64),
        ] {
            let of = Role::Own(of);
            assert_eq!(
                (role(of), role_of(own, number(name))),
                ((own, number(name)), Some(of)),
                "{name}"
            );
        }
        for (name, of) in [("UST_POSITIONS", Role::Position), ("UST_COORDINATES", Role::Coordinate)]
        {
            assert_eq!(
                (role(of), role_of(number(name), 0)),
                ((number(name), 0), Some(of)),
                "{name}"
            );
        }
        assert_eq!([role_of(3, 8), role_of(2, 7), role_of(2, 258), role_of(2, 520)], [None; 4]);
        for (name, of) in [
            ("UST_PER_POSITION", Per::Position),
            ("UST_PER_PARENT", Per::Parent),
            ("UST_PER_PARENT_BOUND", Per::ParentBound),
            ("UST_PER_PARENT_PAIR", Per::ParentPair),
            ("UST_PER_OTHER", Per::Other("two")),
        ] {
            let (found, length) = per(of);
            assert_eq!((found, per_of(number(name), length)), (number(name), Some(of)), "{name}");
        }
        assert_eq!(per_of(5, ""), None);
        for (name, of) in [
            ("UST_DIMENSION", ExprShape::Dimension { ranged: false }),
            ("UST_DIMENSION_RANGED", ExprShape::Dimension { ranged: true }),
            ("UST_COUNTER", ExprShape::Counter),
            ("UST_QUOTIENT", ExprShape::Quotient { divisor: 7 }),
            ("UST_REMAINDER", ExprShape::Remainder { modulus: 7 }),
            ("UST_OTHER", ExprShape::Other),
        ] {
            let (found, divisor) = expression(of);
            assert_eq!((found, expression_of(found, divisor)), (number(name), of), "{name}");
        }
    }
}
