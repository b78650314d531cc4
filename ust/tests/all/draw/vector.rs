//! Pictures as SVG.

use std::collections::BTreeSet;

use ust::draw::{SvgOptions, svg};

use super::common::*;

/// A picture is XML, is not too large, and stands inside its own borders.
pub(crate) fn assert_svg(name: &str, text: &str) {
    let document = roxmltree::Document::parse(text).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(text.len() < 1_000_000, "{name}: {} bytes", text.len());
    let root = document.root_element();
    let side = |name: &str| root.attribute(name).unwrap().parse::<f64>().unwrap();
    let (width, height) = (side("width"), side("height"));
    for node in
        document.descendants().filter(|node| !node.ancestors().any(|n| n.has_tag_name("defs")))
    {
        for (from, size, limit) in [
            ("x", "width", width),
            ("y", "height", height),
            ("cx", "r", width),
            ("cy", "r", height),
        ] {
            let number = |name: &str| node.attribute(name).map(|n| n.parse::<f64>().unwrap());
            if let Some(at) = number(from) {
                let end = at + number(size).unwrap_or(0.0);
                assert!(0.0 <= at && end <= limit, "{name}: {node:?}");
            }
        }
    }
}

#[test]
fn an_svg_is_well_formed_and_every_place_stands_in_it_twice() {
    for (name, tensor) in samples() {
        let text = svg(&tensor, &SvgOptions::default()).unwrap();
        assert_svg(&name, &text);
        let document = roxmltree::Document::parse(&text).unwrap();
        let titles: Vec<&str> = document
            .descendants()
            .filter(|n| n.has_tag_name("title"))
            .filter_map(|n| n.text())
            .collect();
        let picture = picture(&tensor);
        for place in &picture.cells().unwrap().places {
            let end = format!("values[{}]", place.value);
            // Once in its cell, once among the values.
            let parts = titles.iter().flat_map(|title| title.split("\n\n"));
            let shown = parts.filter(|part| part.lines().last() == Some(&end)).count();
            assert_eq!(shown, 2, "{name}: {end}");
        }
        for level in &picture.levels {
            for array in &level.arrays {
                for (at, element) in array.array.to_vec().iter().enumerate() {
                    let end = format!("{}[{at}] = {element}", array.name);
                    assert!(titles.iter().any(|title| title.ends_with(&end)), "{name}: {end}");
                }
            }
        }
    }
}

#[test]
fn titles_are_escaped() {
    let title = "<script>&\"\u{7}";
    let options = SvgOptions { title: Some(title.to_owned()), ..SvgOptions::default() };
    let drawn = svg(&tensor(&[1], &BTreeSet::new(), "SparseVector"), &options).unwrap();
    assert_svg("title", &drawn);
    let document = roxmltree::Document::parse(&drawn).unwrap();
    let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    assert!(texts.contains(&"<script>&\"\u{fffd}"), "{texts:?}");
}
