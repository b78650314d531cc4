//! The looks of shapes. Colours can be told apart without seeing red and green. They lie on a
//! ground of their own, so that a picture reads the same on any page.

use std::fmt::Write as _;

use super::super::picture::COLORS;
use super::{Place, State};

/// Whether a picture is dark on light, or light on dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Theme {
    /// Dark on light.
    #[default]
    Light,
    /// Light on dark.
    Dark,
}

/// Shades of the density map.
pub(super) const SHADES: usize = 8;

/// The colours of a theme.
struct Palette {
    /// For each colour of a group, the fill of entries and the colour of outlines.
    groups: [(&'static str, &'static str); COLORS],
    /// From thin to full.
    shades: [&'static str; SHADES],
    /// The ground, and the names of other colours with what they are.
    ground: &'static str,
    named: [(&'static str, &'static str); 10],
}

/// The fills are the light scheme of P. Tol's colour-blind safe palettes; black text reads well on each.
const LIGHT: Palette = Palette {
    groups: [
        ("#77aadd", "#2f6ea8"),
        ("#ee8866", "#b04f2c"),
        ("#eedd88", "#8f7b22"),
        ("#44bb99", "#1d7a60"),
        ("#ffaabb", "#b4566c"),
        ("#99ddff", "#34809f"),
        ("#bbcc33", "#717d17"),
        ("#c9c3e6", "#6a5fa6"),
    ],
    shades: [
        "#cfe1f2", "#abcfe6", "#82b9db", "#58a1cf", "#3787c0", "#1c6aaf", "#0a4a90", "#08306b",
    ],
    ground: "#fff",
    named: [
        ("text", "#1f2328"),
        ("quiet", "#59636e"),
        ("outer", "#747d87"),
        ("padding", "#4b535c"),
        ("trace", "#4b0092"),
        ("frame", "#d8dee4"),
        ("grid", "#e1e6eb"),
        ("box", "#f3f5f7"),
        ("rim", "#c4ccd4"),
        ("gap", "#8a939d"),
    ],
};

/// The same hues, so dark that light text reads well on each.
const DARK: Palette = Palette {
    groups: [
        ("#2a5d8f", "#77aadd"),
        ("#9c4a2a", "#ee8866"),
        ("#76671c", "#eedd88"),
        ("#1f6f59", "#44bb99"),
        ("#94475a", "#ffaabb"),
        ("#2a6a86", "#99ddff"),
        ("#5f6a15", "#bbcc33"),
        ("#5b5190", "#c9c3e6"),
    ],
    shades: [
        "#1d4068", "#1f4f80", "#1c5896", "#2770b4", "#3f8cd0", "#66aae2", "#97c9f0", "#d2e9fb",
    ],
    ground: "#0d1117",
    named: [
        ("text", "#e6edf3"),
        ("quiet", "#9ba5b0"),
        ("outer", "#848d97"),
        ("padding", "#c4ccd4"),
        ("trace", "#c297ff"),
        ("frame", "#30363d"),
        ("grid", "#21262d"),
        ("box", "#161b22"),
        ("rim", "#444c56"),
        ("gap", "#767f89"),
    ],
};

impl Theme {
    fn palette(self) -> &'static Palette {
        match self {
            Self::Light => &LIGHT,
            Self::Dark => &DARK,
        }
    }
}

/// The classes of a place whose group has the given colour.
pub(super) fn class(state: State, color: usize) -> String {
    let state = match state {
        State::Entry => 'e',
        State::Padding => 'p',
        State::Outside => 'x',
    };
    format!("{state} g{}", color % COLORS)
}

/// `@` stands before the names of colours.
const BASE: &str = "\
.ust text{font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:12px;\
fill:@text;white-space:pre}
.ust .h1{font-size:18px;font-weight:700}
.ust .b{font-weight:700}
.ust .i{font-style:italic}
.ust .q{fill:@quiet}
.ust .s{font-size:9.5px;fill:@quiet}
.ust .c{text-anchor:middle}
.ust .r{text-anchor:end}
.ust .o{fill:@outer}
.ust .w{fill:@padding;stroke:@ground;stroke-width:3px;stroke-linejoin:round;paint-order:stroke}
.ust .k{fill:@trace;font-weight:700}
.ust .ground{fill:@ground;stroke:@frame}
.ust .cell{fill:@ground;stroke:@grid}
.ust .edge{fill:none;stroke:@quiet;stroke-width:1.5}
.ust .box{fill:@box;stroke:@rim}
.ust .gap{fill:@ground;stroke:@gap;stroke-dasharray:2 2}
.ust .way{fill:none;stroke:@trace;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}
.ust .dot{fill:@trace}
.ust .mark{fill:none;stroke:@trace;stroke-width:2.6}
";

/// The style sheet and the hatches. For each place in `hover`, all its shapes are highlighted when the
/// pointer is on one of them.
pub(super) fn style(hover: &[Place], theme: Theme) -> String {
    let Palette { groups, shades, ground, named } = theme.palette();
    let mut css = BASE.replace("@ground", ground);
    for (name, color) in named {
        css = css.replace(&format!("@{name}"), color);
    }
    let mut hatches = String::new();
    for (at, (fill, line)) in groups.iter().enumerate() {
        let _ = writeln!(css, ".ust .e.g{at}{{fill:{fill};stroke:{line}}}");
        let _ = writeln!(css, ".ust .p.g{at}{{fill:url(#ust-p{at});stroke:{fill}}}");
        let _ = writeln!(
            css,
            ".ust .x.g{at}{{fill:{ground};stroke:{line};stroke-width:1.3;stroke-dasharray:4 3}}"
        );
        let _ = writeln!(
            hatches,
            "<pattern id=\"ust-p{at}\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" \
             patternTransform=\"rotate(45)\"><rect width=\"7\" height=\"7\" fill=\"{ground}\"/>\
             <rect width=\"1.8\" height=\"7\" fill=\"{fill}\"/></pattern>"
        );
    }
    for (at, fill) in shades.iter().enumerate() {
        let _ = writeln!(css, ".ust .d{at}{{fill:{fill}}}");
    }
    if !hover.is_empty() {
        let rule = |place: &Place| format!(".ust:has(.v{at}:hover) .v{at}>rect", at = place.value);
        let rules: Vec<String> = hover.iter().map(rule).collect();
        let _ = writeln!(
            css,
            "@supports selector(:has(*)){{{}{{stroke:{};stroke-width:2.6;\
             stroke-dasharray:none}}}}",
            rules.join(","),
            named[0].1
        );
    }
    format!("<style>\n{}</style>\n<defs>\n{hatches}</defs>\n", css.replace('>', "&gt;"))
}
