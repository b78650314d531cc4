//! The walk and the search of a level type of Rust as text: the level emits its IR on placeholders, and the IR is
//! printed.

use std::fmt::Write as _;

use ust_level_api::ir::idiom::Code;
use ust_level_api::ir::{ArrayId, Builder, Elem, Expr, Function, IndexKind, Stmt, Ty};
use ust_level_api::{Description, Interval, LevelType, Run, WalkKind, WalkSite};

use super::model::{LOCATE, WALK};

/// The cursor.
const AT: &str = "here";
/// A comment between a step and what advances.
const ADVANCE: &str = "advance";

/// A site made of placeholders, and the rest of them.
fn site<const N: usize>(
    b: &mut Builder,
    level: &Description,
    known: [&str; N],
) -> (WalkSite, [Expr; N]) {
    let params = known.map(|name| b.param(name, Ty::Int));
    let array = |_| b.array("array", Elem::Index(IndexKind::I64), false);
    let arrays: Vec<ArrayId> = level.arrays.iter().map(array).collect();
    let of = |name| params[known.iter().position(|known| *known == name).unwrap_or(0)].clone();
    let (parent, size, lower) = (of("parent"), of("size"), of("lower"));
    let parent = match level.props.contiguous && known.contains(&"parent_end") {
        true => Interval { lo: parent, hi: of("parent_end") },
        false => Interval::one(parent),
    };
    let bounds = Interval { lo: lower.clone(), hi: lower.clone() + size.clone() };
    (WalkSite { arrays, size, lower, bounds, parent, item: None }, params)
}

/// The function, whose arrays have the names of the level: in the text, names of arrays are no names of variables.
fn named(b: Builder, level: &Description) -> Function {
    let mut function = b.finish();
    for (array, spec) in function.arrays.iter_mut().zip(&level.arrays) {
        spec.name.clone_into(&mut array.name);
    }
    function
}

/// Appends statements.
fn lines(text: &mut String, function: &Function, body: &[Stmt], depth: usize) {
    for stmt in body {
        // Writing to a string does not fail.
        let _ = write!(text, "{}", function.show_stmt(stmt, depth));
    }
}

/// The text of a level's walk.
pub(crate) fn walked(ty: &dyn LevelType) -> String {
    let level = ty.describe();
    let mut b = Builder::new("walk");
    let [parent, parent_end, size, lower] = WALK;
    let (site, [.., at]) = site(&mut b, &level, [parent, parent_end, size, lower, AT]);
    let walk = ty.walk(&site, &mut b);
    let mut child = None;
    b.while_(Expr::Bool(true), |b| {
        child = Some((walk.step)(b, at.clone()));
        b.comment(ADVANCE);
        if let Some(advance) = &walk.advance {
            advance(b, at);
        }
    });
    let (kind, Interval { lo, hi }, advances) = (walk.kind, walk.cursor, walk.advance.is_some());
    let function = named(b, &level);
    let Some((Stmt::While { body, .. }, before)) = function.body.split_last() else {
        return String::new();
    };
    let is_mark = |stmt: &Stmt| matches!(stmt, Stmt::Comment(text) if text == ADVANCE);
    let (step, advance) = body.split_at(body.iter().position(is_mark).unwrap_or(body.len()));
    let show = |expr: &Expr| function.show_expr(expr).to_string();
    let kind = match kind {
        WalkKind::Position => "position",
        WalkKind::Coordinate => "coordinate",
        WalkKind::Other => "other",
    };
    let mut text = String::new();
    lines(&mut text, &function, before, 0);
    text += &format!("cursor {kind} {AT} from {} to {};\nstep {{\n", show(&lo), show(&hi));
    lines(&mut text, &function, step, 1);
    if let Some(child) = child {
        text += &format!("  coordinate {};\n  position {};\n", show(&child.crd), show(&child.pos));
        if let Some(guard) = &child.guard {
            text += &format!("  where {};\n", show(guard));
        }
        let run = child.run.map(|run| match run {
            Run::Consecutive(count) => format!("consecutive {}", show(&count)),
            Run::Shared(count) => format!("shared {}", show(&count)),
            Run::Coded(Code::Ones(mask)) => format!("ones {}", show(&mask)),
            Run::Coded(Code::Gaps { count, numbers }) => {
                let (array, bits) = (function.array_name(numbers.array), numbers.bits);
                format!("gaps {} of width {bits} in {array}", show(&count))
            }
        });
        text.extend(run.map(|run| format!("  run {run};\n")));
    }
    text += "}\n";
    if advances {
        text += "advance {\n";
        lines(&mut text, &function, advance, 1);
        text += "}\n";
    }
    text
}

/// The text of a level's search, if it has one.
pub(crate) fn located(ty: &dyn LevelType) -> Option<String> {
    let level = ty.describe();
    let mut b = Builder::new("locate");
    let (site, [.., wanted]) = site(&mut b, &level, LOCATE);
    let there = ty.locate(&site, wanted, &mut b)?;
    let function = named(b, &level);
    let show = |expr: &Expr| function.show_expr(expr).to_string();
    let mut text = String::new();
    lines(&mut text, &function, &function.body, 0);
    text += &format!("position {};\nfound {};\n", show(&there.pos), show(&there.found));
    Some(text)
}
