//! The level type as a plug-in: this test does not link it, but loads the library that exports it.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::PathBuf;
use std::sync::Once;

use ust::advise::{Origin, catalogue, stats};
use ust::level_api::{LevelArgs, LevelError, Place, registry};
use ust::{Coo, Format, Tensor, generate};
use ust_conformance::{Options, run};

/// The library: `cargo test` builds it as an example, into a folder beside that of tests.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let examples = test.parent().unwrap().with_file_name("examples");
    let library = examples.join(format!("{DLL_PREFIX}bitmap_plugin{DLL_SUFFIX}"));
    assert!(library.is_file(), "`cargo build -p bitmap_level --examples` makes the library");
    library
}

fn load() {
    static LOADED: Once = Once::new();
    LOADED.call_once(|| {
        assert!(registry::factories().iter().all(|factory| factory.name != "bitmap"));
        assert_eq!(ust::plugin::load(library()).unwrap(), ["bitmap"]);
    });
}

fn tensor(text: &str) -> Tensor {
    Tensor::from_coo(&generate::generate(text).unwrap(), "CSR").unwrap()
}

#[test]
fn it_conforms() {
    load();
    // Of operations, which take longest, some.
    let level = Some("bitmap".to_owned());
    let options = Options { level, quick: true, one_in: 8, ..Options::default() };
    run(&options, &|_, _| {}).assert_passed();
}

#[test]
fn it_stores_what_the_linked_one_stores() {
    load();
    let format: Format = "(i, j) -> (i : dense, j : bitmap)".parse().unwrap();
    let coo =
        Coo::new(vec![2, 3], vec![vec![0, 0, 1], vec![0, 2, 2]], vec![1.0, 2.0, 3.0]).unwrap();
    let tensor = Tensor::from_coo(&coo, &format).unwrap();
    assert_eq!(tensor.level_array(1, "mask").unwrap().to_vec(), [1, 0, 1, 0, 0, 1]);
    assert_eq!(tensor.get_as::<f64>(&[1, 2]).unwrap(), 3.0);
    assert_eq!(tensor.to_coo().unwrap(), coo);
}

#[test]
fn it_competes_and_estimates_its_memory() {
    load();
    let of_bitmap = |text: &str| {
        let (candidates, _) = catalogue(&stats(&tensor(text)).unwrap());
        candidates.iter().any(|candidate| candidate.origin == Origin::Level("bitmap"))
    };
    assert!(of_bitmap("random(40x40, nnz=400)"));
    assert!(!of_bitmap("random(400x400, nnz=400)"));
    let level = registry::make(&LevelArgs::simple("bitmap")).unwrap();
    let site = ust::level_api::Site { size: 7, ..Default::default() };
    let population = ust::level_api::Population { parents: 3.0, stored: 4.0, ..Default::default() };
    assert_eq!(level.footprint(&site, &population).bytes, 21.0);
}

#[test]
fn what_it_refuses_is_told_as_the_linked_one_tells_it() {
    load();
    let wrong = registry::make(&LevelArgs::simple("bitmap(9)")).map(|_| ()).unwrap_err();
    assert_eq!(wrong.to_string(), "`bitmap` does not take `9`: it takes no arguments");
    let level = registry::make(&LevelArgs::simple("bitmap")).unwrap();
    let expr = ust::level_api::ExprShape::Other;
    assert!(
        level.fits(&Place { parent: None, expr, last: true, single: false, leading: true }).is_ok()
    );
    let site = ust::level_api::Site { size: 3, ..Default::default() };
    let arrays = |mask: Vec<u8>| ust::level_api::Arrays(vec![mask.into()]);
    let one = ust::level_api::Reach::all(1);
    let error = level.check(&site, &arrays(vec![0, 2, 1]), &one).unwrap_err();
    assert!(matches!(error, LevelError::Invalid { index: 1, found: 2, .. }), "{error}");
    let error = level.check(&site, &arrays(vec![0, 1]), &one).unwrap_err();
    assert!(matches!(error, LevelError::Length { found: 2, .. }), "{error}");
    let reach = level.check(&site, &arrays(vec![0, 1, 1]), &one).unwrap();
    assert!(reach.iter().eq([1, 2]));
}
