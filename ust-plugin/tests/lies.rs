//! A library that lies gets an error, and does no harm.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ust::advise::{catalogue, stats};
use ust::level_api::{LevelArgs, registry};
use ust::{Coo, Error, Format, Tensor};
use ust_plugin::{PluginError, load};

mod shared;

fn lies(name: &str, defines: &[&str]) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/lies.c");
    shared::library(&source, name, defines)
}

/// The level type whose argument names its lie, if there is a C compiler: made and loaded once.
fn loaded() -> bool {
    static LOADED: OnceLock<bool> = OnceLock::new();
    *LOADED.get_or_init(|| match lies("lies", &[]) {
        Some(library) => load(&library).unwrap() == ["lies"],
        None => false,
    })
}

fn format(lie: &str) -> Result<Format, String> {
    let text = format!("(i, j) -> (i : dense, j : lies({lie}))");
    text.parse::<Format>().map_err(|error| error.to_string())
}

fn coo() -> Coo {
    let crd = vec![vec![0, 0, 1, 2], vec![1, 3, 0, 4]];
    Coo::new(vec![3, 5], crd, vec![1.0, 2.0, 3.0, 4.0]).unwrap()
}

#[test]
fn files_that_are_no_plug_ins_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.so");
    std::fs::write(&text, "no library").unwrap();
    for path in [text, folder.path().join("missing.so"), folder.path().to_owned()] {
        let error = load(&path).unwrap_err();
        assert!(matches!(error, PluginError::Open { .. }), "{error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

#[test]
fn tables_that_lie_are_refused() {
    for (name, defines, told) in [
        ("symbol", vec!["SYMBOL=another"], "it exports no function `ust_plugin`"),
        ("null", vec!["TABLE=0"], "the table: the pointer to it is null"),
        (
            "version",
            vec!["ABI=99", "LEVELS=(const ust_level_type *)8"],
            "speaks version 99 of the ABI of plug-ins, and this program version 2",
        ),
        ("old", vec!["ABI=0"], "speaks version 0"),
        ("none", vec!["COUNT=0"], "it has no level types"),
        ("levels", vec!["LEVELS=0"], "the level types are null, and 1 in number"),
        ("many", vec!["COUNT=4000000000u"], "the level types are 4000000000 in number"),
        ("odd", vec!["LEVELS=(const ust_level_type *)13"], "the level types are not aligned"),
        ("unnamed", vec!["NAME={0,4}"], "level type 0: its name is null, and 4 bytes long"),
        ("empty", vec!["NAME={0,0}", "SAMPLES=0"], "it has no samples"),
        ("bytes", vec!["NAME={\"\\xff\\xfe\",2}"], "its name is not UTF-8"),
        ("long", vec!["NAME={\"lies\",1ull<<40}"], "its name is 1099511627776 bytes long"),
        ("samples", vec!["SAMPLES=0"], "level type `lies`: it has no samples"),
        ("walk", vec!["WALK=0"], "level type `lies`: its function `walk` is null"),
        ("sample", vec!["NAME=UST_TEXT(\"others\")"], "the sample is one of `lies`"),
    ] {
        let Some(library) = lies(name, &defines) else { return };
        let error = load(&library).expect_err(name).to_string();
        assert!(error.contains(told), "{name}: {error}");
    }
}

#[test]
fn names_are_not_taken_twice() {
    if !loaded() {
        return;
    }
    // Another file with the same name of a level type.
    let Some(library) = lies("again", &[]) else { return };
    let error = load(&library).unwrap_err();
    assert!(matches!(error, PluginError::Register { .. }), "{error}");
    assert!(
        error.to_string().contains("the name `lies` is taken by the level type `lies`"),
        "{error}"
    );
}

#[test]
fn levels_that_lie_about_themselves_are_not_made() {
    if !loaded() {
        return;
    }
    let level = "the level type `lies` is defective: ";
    for (lie, told) in [
        ("make_code", "it returns 77, which is no code"),
        ("make_long", "xxxxxxxx"),
        ("text_other", "its canonical text `compressed` is that of `compressed`"),
        ("text_open", "its canonical text `lies(text_open` is no text of a level"),
        ("text_bytes", "its text is not UTF-8"),
        ("text_null", "its text is null"),
        ("text_long", "its text is 1099511627776 bytes long"),
        ("arrays_null", "its arrays are null, and 2 in number"),
        ("arrays_many", "its arrays are 1099511627776 in number"),
        ("bits", "have bits without a meaning"),
        ("full_arrays", "a level that is full has no arrays"),
        ("cost", "9 is no cost of a search"),
        ("cost_none", "its description says that only walking finds a coordinate"),
        ("locate_none", "its description has a cost of a search, and it has no search"),
        ("locate_type", "the text of its search: the condition of `if`"),
        ("name_twice", "it has two arrays of the name `pos`"),
        ("name_bytes", "the name of an array is not UTF-8"),
        ("role", "array `crd`: 5 is no role with a kind"),
        ("kind", "array `crd`: 2 is no role with a kind"),
        ("per", "array `crd`: 9 is no rule for its length"),
        ("min_bits", "array `crd`: 5 is no least number of bits"),
        ("walk_empty", "the text of its walk: line 1, column 1: expected `cursor`"),
        ("walk_bytes", "the text of its walk is not UTF-8"),
        ("walk_null", "the text of its walk is null, and 12 bytes long"),
        ("walk_array", "`gap` is no array of the level; it has pos, crd"),
        ("walk_type", "the text of its walk: "),
    ] {
        let error = format(lie).expect_err(lie);
        assert!(error.contains(told), "{lie}: {error}");
        if lie != "make_long" {
            assert!(error.contains(level), "{lie}: {error}");
        }
    }
    let error = "(i, j) -> (i : lies(root), j : dense)".parse::<Format>().unwrap_err().to_string();
    assert!(
        error.contains("it is the first level") && error.contains("put it under another"),
        "{error}"
    );
}

#[test]
fn what_is_assembled_wrongly_is_refused() {
    if !loaded() {
        return;
    }
    assert_eq!(
        Tensor::from_coo(&coo(), format("sound").unwrap()).unwrap().to_coo().unwrap(),
        coo()
    );
    let csr = Tensor::from_coo(&coo(), "CSR").unwrap();
    for (lie, told) in [
        ("array_missing", "`assemble` does not make all of its arrays"),
        ("array_twice", "`assemble` makes array 0 twice"),
        ("array_beyond", "`assemble` makes array 2, of 2 described"),
        ("array_huge", "`assemble` asks for 18446744073709551615 elements"),
        ("array_large", "`assemble` asks for 1125899906842624 elements"),
        ("length", "crd has length 5, expected 4 (positions, as its description says)"),
        ("cannot_hold", "it is full (under parent position 3, at coordinate 5)"),
        ("code", "it returns -5, which is no code"),
        ("position_high", "`assemble` gives child 0 the position 4, and there are 4 positions"),
        ("position_low", "`assemble` gives child 0 the position -9"),
        ("position_none", "`assemble` gives child 0 the position 0, and there are 0 positions"),
        ("positions_many", "the number of positions is too large"),
        ("crd_wide", "`assemble`: "),
        ("narrow", "`assemble`: "),
        ("crd_high", "coordinate 1000"),
        ("crd_low", "coordinate -1"),
        ("crd_descends", "its level type claims `ordered`"),
        ("pos_beyond", "its level type claims `check`"),
        ("pos_negative", "the value -1000000000 does not fit u32"),
        ("pos_descends", "its level type claims"),
        ("check_many", "`check` says that there are 18446744073709551615 positions"),
        ("check_few", "crd has length 4, expected 3"),
        ("check_beyond", "are in reach, and that there are 4 positions"),
        ("check_turned", "are in reach, and that there are 4 positions"),
        ("check_code", "it returns 99, which is no code"),
        ("walk_beyond", "a walk through them fails"),
        ("walk_parent", "a walk through them fails"),
        ("walk_long", "its level type claims"),
        ("walk_zero", "a walk through them fails"),
        ("walk_other", "its level type claims"),
        ("walk_coordinate", "its level type claims"),
        ("walk_run", "its level type claims"),
    ] {
        let format = format(lie).unwrap_or_else(|error| panic!("{lie}: {error}"));
        for made in [Tensor::from_coo(&coo(), &format), csr.convert(&format)] {
            let error = made.map(|_| ()).expect_err(lie).to_string();
            assert!(error.contains(told), "{lie}: {error}");
        }
    }
}

#[test]
fn foreign_arrays_that_a_lying_check_accepts_are_refused() {
    if !loaded() {
        return;
    }
    let format = format("sound").unwrap();
    let take = |pos: Vec<i64>, crd: Vec<i32>| -> Result<Tensor, Error> {
        let arrays = vec![vec![], vec![pos.into(), crd.into()]];
        let parts = ust::tensor::Parts::new(arrays, vec![1.0, 2.0]);
        Tensor::from_parts(&format, &[2, 5], parts)
    };
    assert!(take(vec![0, 1, 2], vec![4, 0]).is_ok());
    for (pos, crd) in [
        (vec![0, 1, 2], vec![5, 0]),
        (vec![0, 1, 2], vec![4, -1]),
        (vec![0, 2, 2], vec![4, 0]),
        (vec![0, 1, 3], vec![4, 0]),
        (vec![0, 1], vec![4, 0]),
        (vec![0, i64::MAX, 2], vec![4, 0]),
    ] {
        assert!(take(pos.clone(), crd.clone()).is_err(), "{pos:?} {crd:?}");
    }
}

#[test]
fn changes_that_lie_are_refused_and_leave_the_tensor_as_it_was() {
    if !loaded() {
        return;
    }
    let made = |lie: &str| Tensor::from_coo(&coo(), format(lie).unwrap()).unwrap();
    let mut sound = made("sound");
    sound.insert(&[2, 1], 5.0).unwrap();
    let crd = vec![vec![0, 0, 1, 2, 2], vec![1, 3, 0, 1, 4]];
    let values = vec![1.0, 2.0, 3.0, 5.0, 4.0];
    assert_eq!(sound.to_coo().unwrap(), Coo::new(vec![3, 5], crd, values).unwrap());
    for (lie, told) in [
        ("insert_code", "it returns 88, which is no code"),
        ("insert_refuses", "it is full (under parent position 3, at coordinate 5)"),
        ("insert_beyond", "a change resizes array 2, of 2 described"),
        ("insert_huge", "a change asks for 1125899906842624 elements"),
        ("insert_moves", "a change has more than "),
        ("insert_nothing", "its level type claims"),
        ("insert_crd", "coordinate 1000"),
        ("insert_other_crd", "its level type claims `change`"),
        ("insert_bounds", "its level type claims"),
        ("insert_pos", "its level type claims `change`"),
        ("insert_pos_beyond", "its level type claims `change`"),
        ("insert_positions", "its level type claims `change`"),
        ("insert_fewer", "its level type claims `change`"),
        ("insert_freed", "its level type claims `change`"),
        ("insert_turned", "its level type claims `change`"),
        ("insert_move", "its level type claims `change`"),
        ("insert_to", "its level type claims `change`"),
    ] {
        let before = made(lie);
        let mut a = before.clone();
        let error = a.insert(&[2, 1], 5.0).map(|_| ()).expect_err(lie).to_string();
        assert!(error.contains(told), "{lie}: {error}");
        assert_eq!(a, before, "{lie}");
    }
    // What cannot be stored, and what is not done, is built anew.
    for lie in ["insert_wide", "insert_others", "insert_undone"] {
        let mut a = made(lie);
        a.insert(&[2, 1], 5.0).unwrap();
        assert_eq!(a.to_coo().unwrap(), sound.to_coo().unwrap(), "{lie}");
    }
    let before = made("remove_nothing");
    let mut a = before.clone();
    let error = a.remove(&[2, 4]).unwrap_err().to_string();
    assert!(error.contains("its level type claims `change`"), "{error}");
    assert_eq!(a, before);
}

#[test]
fn searches_that_lie_find_nothing_out_of_bounds() {
    if !loaded() {
        return;
    }
    let tensor = Tensor::from_coo(&coo(), format("locate_beyond").unwrap()).unwrap();
    let x = Tensor::from_coo(&coo(), "CSR").unwrap();
    for row in 0..3 {
        for column in 0..5 {
            // Whatever it is, it is there.
            let _ = tensor.get_as::<f64>(&[row, column]);
        }
    }
    let product = ust::einsum("C(i,j) = X(i,j) * A(i,j)").arg("X", &x).arg("A", &tensor);
    let _ = product.format("CSR").run();
}

#[test]
fn estimates_and_proposals_that_lie_are_ignored() {
    if !loaded() {
        return;
    }
    let level = registry::make(&LevelArgs::simple("lies")).unwrap();
    let site = ust::level_api::Site { size: 5, ..Default::default() };
    let population = ust::level_api::Population { parents: 2.0, stored: 8.0, ..Default::default() };
    assert_eq!(level.footprint(&site, &population).positions, 8.0);
    let tensor = Tensor::from_coo(&coo(), "CSR").unwrap();
    let (candidates, _) = catalogue(&stats(&tensor).unwrap());
    let of_lies = |c: &&ust::advise::Candidate| c.origin == ust::advise::Origin::Level("lies");
    assert_eq!(candidates.iter().filter(of_lies).count(), 0);
}
