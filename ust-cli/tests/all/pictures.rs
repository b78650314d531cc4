//! Pictures in files: SVG and PNG, light and dark.

use super::common::ust;
#[cfg(feature = "png")]
use super::common::ust_in;

const SHOW: [&str; 4] = ["show", "gen:poisson2d(3)", "--format", "BSR(2,2)"];

/// Width and height of a PNG.
#[cfg(feature = "png")]
fn size(file: &std::path::Path) -> (u32, u32) {
    let bytes = std::fs::read(file).unwrap();
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[test]
#[cfg(feature = "png")]
fn a_picture_is_png_or_svg_as_its_name_says() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["a.svg", "a.png"] {
        let ran = ust_in(folder.path(), &[&SHOW[..], &["--out", name]].concat());
        assert_eq!((ran.code, ran.stdout), (Some(0), format!("wrote {name}\n")), "{}", ran.stderr);
    }
    let svg = std::fs::read_to_string(at("a.svg")).unwrap();
    let (wide, high) = size(&at("a.png"));
    // Two pixels for each of the SVG.
    assert!(
        svg.contains(&format!("width=\"{}\" height=\"{}\"", wide / 2, high / 2)),
        "{wide} {high}"
    );
    let ran = ust_in(folder.path(), &[&SHOW[..], &["--out", "a.jpg"]].concat());
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("`a.svg` or `a.png`"), "{}", ran.stderr);
    let budget = ["--budget", "0.05", "--out", "b.png"];
    ust_in(folder.path(), &[&["advise", "gen:poisson2d(3)"][..], &budget].concat());
    assert!(size(&at("b.png")).0 > 100);
}

#[test]
fn a_dark_picture_is_the_same_one_in_other_colours() {
    let drawn = |theme: &str| ust(&[&SHOW[..], &["--out", "-", "--theme", theme]].concat()).done();
    let (light, dark) = (drawn("light"), drawn("dark"));
    let below_the_style = |svg: &str| svg.split("</defs>").nth(1).unwrap().to_owned();
    assert_eq!(below_the_style(&light), below_the_style(&dark));
    assert!(light.contains(".ust .ground{fill:#fff"));
    assert!(dark.contains(".ust .ground{fill:#0d1117"));
    let named = |svg: &str| svg.replace("@supports", "").contains('@');
    assert!(!named(&light) && !named(&dark), "every colour that is named is put in");
    assert!(!dark.contains("#fff"), "nothing is left of the light one");
    assert_eq!(drawn("light"), ust(&[&SHOW[..], &["--out", "-"]].concat()).done());
}

#[test]
fn slices_use_the_width_there_is() {
    let args = ["show", "gen:ones(6x2x2)", "--format", "CSF"];
    let text = ust(&args).done();
    let first = text.lines().find(|line| line.starts_with("i = 0")).unwrap();
    assert!(first.contains("i = 1") && first.contains("i = 2"), "{text}");
    let svg = ust(&[&args[..], &["--out", "-"]].concat()).done();
    let number = |name: &str| {
        let rest = svg.split(&format!("{name}=\"")).nth(1).unwrap();
        rest.split('"').next().unwrap().parse::<f64>().unwrap()
    };
    assert!(number("width") > number("height"), "{} x {}", number("width"), number("height"));
}

#[test]
fn the_scale_of_a_density_map_reaches_from_the_thinnest_to_the_fullest() {
    let svg = ust(&["show", "gen:rmat(scale=10, edges=9000, seed=3)", "--out", "-"]).done();
    for shade in 0..8 {
        assert!(svg.contains(&format!("class=\"d{shade}\"")), "shade {shade} occurs");
    }
    assert!(svg.contains("of the elements are entries, by a logarithmic scale"));
    let text = ust(&["show", "gen:rmat(scale=10, edges=9000, seed=3)"]).done();
    assert!(text.contains("% .:-=+*#@ ") && text.contains("by a logarithmic scale"), "{text}");
}
