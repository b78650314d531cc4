//! Texts are read as what they say, and refused with the place of the fault.

// The standard level types.
use ust as _;

use ust_level_api::ir::interp::{Memory, Param, Program};
use ust_level_api::ir::{BinOp, Builder, Elem, Expr, IndexKind, Ty};
use ust_level_api::registry::{LevelArgs, factories, make};
use ust_level_api::{ArraySpec, Interval, Walk, WalkSite};

use super::{located, print_located, print_walked, walked};

fn compressed() -> Vec<ArraySpec> {
    vec![ArraySpec::pos(), ArraySpec::crd()]
}

/// A site made of parameters, whose bounds are those of the whole level.
fn site(b: &mut Builder, arrays: &[ArraySpec]) -> WalkSite {
    let [parent, size, lower] = ["parent", "size", "lower"].map(|name| b.param(name, Ty::Int));
    let array = |spec: &ArraySpec| b.array(spec.name, Elem::Index(IndexKind::I64), false);
    let arrays = arrays.iter().map(array).collect();
    let bounds = Interval { lo: lower.clone(), hi: lower.clone() + size.clone() };
    WalkSite { arrays, size, lower, bounds, parent: Interval::one(parent), item: None }
}

/// A function with a site for a walk.
fn begun(arrays: &[ArraySpec]) -> (Builder, WalkSite) {
    let mut b = Builder::new("walk");
    let site = site(&mut b, arrays);
    (b, site)
}

/// The loop of a walk as text.
fn looped(mut b: Builder, walk: &Walk<'_>) -> String {
    let out = b.array("out", Elem::Index(IndexKind::I64), true);
    b.for_("here", walk.cursor.lo.clone(), walk.cursor.hi.clone(), |b, at| {
        let step = (walk.step)(b, at.clone());
        let guard = step.guard.unwrap_or(Expr::Bool(true));
        b.if_(guard, |b| {
            b.store(out, step.pos, step.crd);
            if let Some(run) = step.run {
                b.comment(&format!("{run:?}"));
                b.reduce(BinOp::Add, out, Expr::Int(0), run.count());
            }
        });
        if let Some(advance) = &walk.advance {
            advance(b, at);
        }
    });
    b.finish().to_string()
}

/// Where a search finds a coordinate, if it does.
fn find(
    arrays: &[ArraySpec],
    memory: &[Vec<i64>],
    [parent, wanted]: [i64; 2],
    of: &dyn Fn(&WalkSite, Expr, &mut Builder) -> ust_level_api::Located,
) -> Option<i64> {
    let mut b = Builder::new("locate");
    let wanted_is = b.param("wanted", Ty::Int);
    let site = site(&mut b, arrays);
    let out = b.array("out", Elem::Index(IndexKind::I64), true);
    let there = of(&site, wanted_is, &mut b);
    b.if_(there.found, |b| b.store(out, Expr::Int(0), there.pos));
    let mut found = [i64::MIN];
    let columns: Vec<ust_level_api::IndexArray> = memory.iter().map(|m| m.clone().into()).collect();
    let mut bound: Vec<Memory<'_>> = columns.iter().map(Memory::Index).collect();
    bound.push(Memory::indices_mut(&mut found[..]));
    let params = [wanted, parent, 10, 0].map(Param::Int);
    let program = Program::compile(&b.finish()).expect("valid code");
    program.run(&params, &mut bound).expect("no access is out of bounds");
    drop(bound);
    (found[0] != i64::MIN).then_some(found[0])
}

#[test]
fn the_walk_of_every_level_type_is_the_same_after_it_was_text() {
    let mut tried = 0;
    for sample in factories().into_iter().flat_map(|factory| factory.samples) {
        let level = make(&LevelArgs::simple(sample)).unwrap();
        let arrays = level.describe().arrays;
        let text = print_walked(&*level);
        let read =
            walked(&text, &arrays).unwrap_or_else(|error| panic!("{sample}: {error}\n{text}"));
        assert_eq!(read.kind, level.describe().walk, "{sample}");
        let ((mut a, site_a), (mut b, site_b)) = (begun(&arrays), begun(&arrays));
        let (again, own) = (read.walk(&site_a, &mut a), level.walk(&site_b, &mut b));
        assert_eq!(looped(a, &again), looped(b, &own), "{sample}\n{text}");
        if let Some(text) = print_located(&*level) {
            located(&text, &arrays).unwrap_or_else(|error| panic!("{sample}: {error}\n{text}"));
        }
        tried += 1;
    }
    assert!(tried > 20, "{tried} samples");
}

#[test]
fn searches_find_what_is_stored_and_stay_inside_arrays() {
    let text = "
        let at, found = search(crd, pos[parent], pos[parent + 1], wanted);
        position at;
        found found;";
    let arrays = compressed();
    let read = located(text, &arrays).unwrap();
    let found = |memory: [Vec<i64>; 2], parent, wanted| {
        find(&arrays, &memory, [parent, wanted], &|site, crd, b| read.locate(site, crd, b))
    };
    let sound = || [vec![0, 2, 2, 5], vec![1, 4, 0, 2, 9]];
    for (parent, wanted, expected) in [
        (0, 1, Some(0)),
        (0, 4, Some(1)),
        (0, 2, None),
        (1, 1, None),
        (2, 9, Some(4)),
        (2, -7, None),
    ] {
        assert_eq!(found(sound(), parent, wanted), expected, "{parent} {wanted}");
    }
    // Arrays that no check would accept, and parents that there are not.
    for (pos, crd) in [
        (vec![-9, 99, 7, i64::MAX], vec![1, 4, 0]),
        (vec![i64::MIN, i64::MAX], vec![]),
        (vec![], vec![3]),
    ] {
        for parent in [-1, 0, 1, 2, 9, i64::MAX] {
            let at = found([pos.clone(), crd.clone()], parent, 4);
            assert!(at.is_none_or(|at| crd[at as usize] == 4), "{pos:?} {crd:?} {parent}");
        }
    }
    let text = "position crd[crd[wanted mod pos[parent]]] floordiv pos[parent]; found crd[wanted] == wanted;";
    let read = located(text, &arrays).unwrap();
    for wanted in [-1, 0, 1, 8] {
        find(&arrays, &[vec![0], vec![7, 1]], [0, wanted], &|site, crd, b| {
            read.locate(site, crd, b)
        });
    }
}

#[test]
fn operators_bind_as_they_do_in_the_ir() {
    // Evaluated by a search, whose position it is.
    let value = |text: &str| {
        let text = format!("position {text}; found true;");
        let read = located(&text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
        find(&[], &[], [3, 7], &|site, crd, b| read.locate(site, crd, b)).unwrap()
    };
    for (text, expected) in [
        ("1 + 2 * 3 - 4", 3),
        ("(1 + 2) * 3", 9),
        ("10 - 3 - 2", 5),
        ("-7 floordiv 2", -4),
        ("-7 mod 4", 1),
        ("-(wanted)", -7),
        ("min(wanted, 3) + max(parent, 5)", 8),
        ("12 >> 1 + 1", 3),
        ("wanted & 3 + 1", 4),
        ("wanted & 3 == 3 ? 1 : 2", 1),
        ("wanted > 3 ? wanted >= 7 ? 1 : 2 : 3", 1),
        ("wanted < 3 || wanted != 7 ? 1 : 2", 2),
        ("!(wanted == 7) && true ? 1 : 2", 2),
        ("-9223372036854775808 + 1", i64::MIN + 1),
        ("wanted // a comment\n * 2", 14),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn faults_are_told_with_their_places() {
    let step = "step { coordinate at; position at; }";
    let cursor = "cursor position at from 0 to pos[parent]; ";
    let deep = format!("let x = {}1{};", "(".repeat(99), ")".repeat(99));
    let loads = "let x = pos[pos[pos[pos[pos[0]]]]];";
    let long = format!("let x = 1{};", " + 1".repeat(3000));
    let chain = format!("let x = parent{};{cursor}{step}", " + parent".repeat(400));
    for (text, told) in [
        (String::new(), "line 1, column 1: expected `cursor`"),
        (cursor.to_owned(), "expected `step`"),
        (
            format!("let x = gap[0]; {cursor}{step}"),
            "column 9: `gap` is no array of the level; it has pos, crd",
        ),
        (format!("let x = y; {cursor}{step}"), "line 1, column 9: `y` is not declared"),
        (
            format!("\n  x = 1;\n{cursor}{step}"),
            "line 2, column 3: `x` is not declared: write `let x = ...;`",
        ),
        (format!("size = 1; {cursor}{step}"), "`size` is no variable"),
        (format!("let size = 1; {cursor}{step}"), "`size` is declared already"),
        (format!("if 1 == 1 {{ let x = 1; }} x = 2; {cursor}{step}"), "`x` is not declared"),
        (format!("let x = 1 / 2; {cursor}{step}"), "write `floordiv` or `mod`"),
        (format!("let x = 1 == 2 == 3; {cursor}{step}"), "expected `;`"),
        (format!("let x = abs(1); {cursor}{step}"), "`abs` is no function"),
        (format!("let x = 9223372036854775808; {cursor}{step}"), "more than 64 bits"),
        (format!("let x = 1 @ 2; {cursor}{step}"), "`@` has no meaning here"),
        (format!("crd[0] = 1; {cursor}{step}"), "expected a line"),
        (
            format!("{cursor} step {{ position at; }}"),
            "a step says the `coordinate` and the `position`",
        ),
        (format!("{cursor} step {{ position at; position at; }}"), "a second `position`"),
        (format!("{cursor}{step} advance {{ at = 1; }}"), "`at` is no variable"),
        (format!("{cursor}{step} more"), "expected the end of the text"),
        ("cursor row at from 0 to 1;".to_owned(), "expected `position`, `coordinate` or `other`"),
        (deep, "nested more than 32 deep"),
        (loads.to_owned(), "elements as indices of others"),
        (long, "more than 2048 words and signs"),
        (chain, "nested deeper than 256"),
        (format!("let x = 1 + true; {cursor}{step}"), "between int and bool"),
        (format!("let x = !1; {cursor}{step}"), "does not take int"),
        (format!("let x = 1; x = true; {cursor}{step}"), "`x`"),
        (format!("{cursor} step {{ coordinate true; position at; }}"), "`coordinate`"),
        (format!("{cursor} step {{ coordinate at; position at; where 1; }}"), "condition"),
        (format!("{cursor} step {{ coordinate at; position at; run shared true; }}"), "`run`"),
        (
            format!(
                "{cursor} step {{ coordinate at; position at; run gaps 1 of width 3 in crd; }}"
            ),
            "expected 1, 2, 4, 8, 16 or 32",
        ),
        (
            format!("{cursor} step {{ coordinate at; position at; run gaps 1 of width 4 in at; }}"),
            "`at` is no array",
        ),
        (
            format!("{cursor} step {{ coordinate at; position at; run ones at; run ones at; }}"),
            "a second `run`",
        ),
        (
            format!("{cursor} step {{ coordinate at; position at; run ones true; }}"),
            "does not take bool",
        ),
        (format!("while 1 {{ }} {cursor}{step}"), "condition"),
        (format!("cursor position at from true to 1; {step}"), "`from`"),
    ] {
        let error = walked(&text, &compressed()).expect_err(&text).to_string();
        assert!(error.contains(told), "{text}: {error}");
    }
    let error = located("position wanted;", &[]).unwrap_err().to_string();
    assert!(error.contains("expected `found`"), "{error}");
    let error = located("position 1; found 1;", &[]).unwrap_err().to_string();
    assert!(error.contains("condition"), "{error}");
}

#[test]
fn cursors_over_coordinates_stay_within_the_bounds() {
    let text = "cursor coordinate at from 0 to pos[parent]; step { coordinate at; position at; }";
    let arrays = compressed();
    let read = walked(text, &arrays).unwrap();
    let mut b = Builder::new("walk");
    let site = WalkSite {
        bounds: Interval { lo: Expr::Int(2), hi: Expr::Int(5) },
        ..site(&mut b, &arrays)
    };
    let walk = read.walk(&site, &mut b);
    let function_of = |expr: &Expr| format!("{expr:?}");
    assert_eq!(walk.cursor.lo, Expr::Int(2));
    assert!(function_of(&walk.cursor.hi).starts_with("Binary(Min, Int(5)"), "{:?}", walk.cursor.hi);
}
