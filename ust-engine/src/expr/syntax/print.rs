//! The tree as text. The parser reads the text back as the same tree.

use std::fmt;

use super::{Access, Assign, Expression, Kind, Literal, Node, Sign, UNARY};

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.result)?;
        if let Some(mask) = &self.mask {
            let not = if mask.complement { "!" } else { "" };
            let structure = if mask.structural { "structure " } else { "" };
            write!(f, "<{not}{structure}{}>", mask.access)?;
        }
        write!(f, " {} {}", self.assign, self.body)?;
        match &self.semiring {
            Some((name, _)) => write!(f, " using {name}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, self.indices.join(","))
    }
}

impl fmt::Display for Assign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Assign::Set => "=",
            Assign::Add => "+=",
            Assign::Mul => "*=",
            Assign::Min => "min=",
            Assign::Max => "max=",
            Assign::Or => "|=",
            Assign::And => "&=",
        })
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self, 0, f)
    }
}

/// Writes a node, in parentheses if its precedence is below `least`.
fn show(node: &Node, least: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let strength = match &node.kind {
        Kind::Binary(sign, ..) => sign.strength(),
        Kind::Unary(..) => UNARY,
        _ => u8::MAX,
    };
    if strength < least {
        f.write_str("(")?;
        show(node, 0, f)?;
        return f.write_str(")");
    }
    match &node.kind {
        Kind::Literal(literal) => write!(f, "{literal}"),
        Kind::Name(name) => f.write_str(name),
        Kind::Apply { name, stored, over, args } => {
            write!(f, "{name}{}(", if *stored { "[stored]" } else { "" })?;
            if let Some(over) = over {
                f.write_str("(")?;
                list(over, ",", f)?;
                f.write_str(if args.is_empty() { ")" } else { "), " })?;
            }
            let bare = args.iter().all(|arg| matches!(arg.kind, Kind::Name(_)));
            list(args, if bare { "," } else { ", " }, f)?;
            f.write_str(")")
        }
        Kind::Unary(sign, a) => {
            f.write_str(sign.text())?;
            show(a, UNARY, f)
        }
        Kind::Binary(sign @ Sign::Pow, a, b) => {
            show(a, strength + 1, f)?;
            f.write_str(sign.text())?;
            show(b, UNARY, f)
        }
        Kind::Binary(sign, a, b) => {
            // Comparisons do not chain: both sides bind tighter.
            show(a, strength + u8::from(strength == Sign::Eq.strength()), f)?;
            write!(f, " {} ", sign.text())?;
            show(b, strength + 1, f)
        }
    }
}

fn list(nodes: &[Node], separator: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, node) in nodes.iter().enumerate() {
        if at > 0 {
            f.write_str(separator)?;
        }
        show(node, 0, f)?;
    }
    Ok(())
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Bool(value) => write!(f, "{value}"),
            Literal::Int(value) => write!(f, "{value}"),
            Literal::Float(value) if value.is_nan() => f.write_str("nan"),
            // Shortest digits that read back as the same number; `inf` as it is.
            Literal::Float(value) => write!(f, "{value:?}"),
            Literal::Imaginary(value) => write!(f, "{value:?}i"),
        }
    }
}
