//! The looks of shapes. Colours can be told apart without seeing red and green. They lie on a light
//! ground of their own, so that a picture reads the same on a dark page.

use std::fmt::Write as _;

use super::super::picture::COLORS;
use super::{Place, State};

/// For each colour of a group, the fill of entries and the colour of outlines. The fills are the light
/// scheme of P. Tol's colour-blind safe palettes; black text reads well on each.
const GROUPS: [(&str, &str); COLORS] = [
    ("#77aadd", "#2f6ea8"),
    ("#ee8866", "#b04f2c"),
    ("#eedd88", "#8f7b22"),
    ("#44bb99", "#1d7a60"),
    ("#ffaabb", "#b4566c"),
    ("#99ddff", "#34809f"),
    ("#bbcc33", "#717d17"),
    ("#c9c3e6", "#6a5fa6"),
];

/// Shades of the density map, from thin to full.
pub(super) const SHADES: [&str; 8] =
    ["#cfe1f2", "#abcfe6", "#82b9db", "#58a1cf", "#3787c0", "#1c6aaf", "#0a4a90", "#08306b"];

/// The classes of a place whose group has the given colour.
pub(super) fn class(state: State, color: usize) -> String {
    let state = match state {
        State::Entry => 'e',
        State::Padding => 'p',
        State::Outside => 'x',
    };
    format!("{state} g{}", color % COLORS)
}

const BASE: &str = "\
.ust text{font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:12px;\
fill:#1f2328;white-space:pre}
.ust .h1{font-size:18px;font-weight:700}
.ust .b{font-weight:700}
.ust .i{font-style:italic}
.ust .q{fill:#59636e}
.ust .s{font-size:9.5px;fill:#59636e}
.ust .c{text-anchor:middle}
.ust .r{text-anchor:end}
.ust .o{fill:#747d87}
.ust .w{fill:#4b535c;stroke:#fff;stroke-width:3px;stroke-linejoin:round;paint-order:stroke}
.ust .k{fill:#4b0092;font-weight:700}
.ust .ground{fill:#fff;stroke:#d8dee4}
.ust .cell{fill:#fff;stroke:#e1e6eb}
.ust .edge{fill:none;stroke:#59636e;stroke-width:1.5}
.ust .box{fill:#f3f5f7;stroke:#c4ccd4}
.ust .gap{fill:#fff;stroke:#8a939d;stroke-dasharray:2 2}
.ust .way{fill:none;stroke:#4b0092;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}
.ust .dot{fill:#4b0092}
.ust .mark{fill:none;stroke:#4b0092;stroke-width:2.6}
";

/// The style sheet and the hatches. For each place in `hover`, all its shapes are highlighted when the
/// pointer is on one of them.
pub(super) fn style(hover: &[Place]) -> String {
    let mut css = BASE.to_owned();
    let mut hatches = String::new();
    for (at, (fill, line)) in GROUPS.iter().enumerate() {
        let _ = writeln!(css, ".ust .e.g{at}{{fill:{fill};stroke:{line}}}");
        let _ = writeln!(css, ".ust .p.g{at}{{fill:url(#ust-p{at});stroke:{fill}}}");
        let _ = writeln!(
            css,
            ".ust .x.g{at}{{fill:#fff;stroke:{line};stroke-width:1.3;stroke-dasharray:4 3}}"
        );
        let _ = writeln!(
            hatches,
            "<pattern id=\"ust-p{at}\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" \
             patternTransform=\"rotate(45)\"><rect width=\"7\" height=\"7\" fill=\"#fff\"/>\
             <rect width=\"1.8\" height=\"7\" fill=\"{fill}\"/></pattern>"
        );
    }
    for (at, fill) in SHADES.iter().enumerate() {
        let _ = writeln!(css, ".ust .d{at}{{fill:{fill}}}");
    }
    if !hover.is_empty() {
        let rule = |place: &Place| format!(".ust:has(.v{at}:hover) .v{at}>rect", at = place.value);
        let rules: Vec<String> = hover.iter().map(rule).collect();
        let _ = writeln!(
            css,
            "@supports selector(:has(*)){{{}{{stroke:#1f2328;stroke-width:2.6;\
             stroke-dasharray:none}}}}",
            rules.join(",")
        );
    }
    format!("<style>\n{}</style>\n<defs>\n{hatches}</defs>\n", css.replace('>', "&gt;"))
}
