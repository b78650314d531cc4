//! Expressions: precedence.

use ust_level_api::ir::{BinOp, Expr, UnOp};

use super::lex::Token;
use super::parse::{Parser, Result};

/// The deepest nesting of elements in indices of others.
const MAX_LOADS: usize = 4;

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.nest(|p| {
            let cond = p.binary(0)?;
            if !p.takes("?") {
                return Ok(cond);
            }
            let a = p.expr()?;
            p.sign(":")?;
            Ok(cond.select(a, p.expr()?))
        })
    }

    /// Operators of at least this level, from the loosest.
    fn binary(&mut self, level: usize) -> Result<Expr> {
        const LEVELS: [&[(&str, BinOp, bool)]; 7] = [
            &[("||", BinOp::Or, false)],
            &[("&&", BinOp::And, false)],
            &[
                ("==", BinOp::Eq, false),
                ("!=", BinOp::Ne, false),
                ("<=", BinOp::Le, false),
                (">=", BinOp::Le, true),
                ("<", BinOp::Lt, false),
                (">", BinOp::Lt, true),
            ],
            &[("&", BinOp::BitAnd, false)],
            &[(">>", BinOp::Shr, false)],
            &[("+", BinOp::Add, false), ("-", BinOp::Sub, false)],
            &[
                ("*", BinOp::Mul, false),
                ("floordiv", BinOp::FloorDiv, false),
                ("mod", BinOp::Mod, false),
            ],
        ];
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        loop {
            let (Token::Sign(found) | Token::Word(found)) = self.peek() else { return Ok(left) };
            let Some(&(_, op, swapped)) = operators.iter().find(|(sign, ..)| *sign == found) else {
                return match found {
                    "/" | "%" => Err(self.error(
                        "write `floordiv` or `mod`, which round towards minus infinity".to_owned(),
                    )),
                    _ => Ok(left),
                };
            };
            self.at += 1;
            let right = self.binary(level + 1)?;
            let (a, b) = if swapped { (right, left) } else { (left, right) };
            left = Expr::Binary(op, Box::new(a), Box::new(b));
            // Comparisons do not chain.
            if level == 2 {
                return Ok(left);
            }
        }
    }

    fn unary(&mut self) -> Result<Expr> {
        if self.takes("!") {
            return self.nest(|p| Ok(Expr::Unary(UnOp::Not, Box::new(p.unary()?))));
        }
        if self.takes("-") {
            if let Token::Number(digits) = self.peek() {
                return self.number(&format!("-{digits}"));
            }
            return self.nest(|p| Ok(Expr::Unary(UnOp::Neg, Box::new(p.unary()?))));
        }
        self.atom()
    }

    fn number(&mut self, digits: &str) -> Result<Expr> {
        let number = digits.parse().map(Expr::Int);
        let number = number.map_err(|_| self.error(format!("{digits} has more than 64 bits")))?;
        self.at += 1;
        Ok(number)
    }

    fn atom(&mut self) -> Result<Expr> {
        if self.takes("(") {
            let inner = self.expr()?;
            self.sign(")")?;
            return Ok(inner);
        }
        let name = match self.peek() {
            Token::Number(digits) => return self.number(digits),
            Token::Word(name) => name,
            _ => return Err(self.error("expected a number, a name or `(`".to_owned())),
        };
        match (name, self.second()) {
            (_, Token::Sign("[")) => self.element(),
            ("len", Token::Sign("(")) => {
                self.at += 2;
                let array = self.array()?;
                self.sign(")")?;
                Ok(Expr::Len(array))
            }
            ("min" | "max", Token::Sign("(")) => {
                self.at += 2;
                let a = self.expr()?;
                self.sign(",")?;
                let b = self.expr()?;
                self.sign(")")?;
                let op = if name == "min" { BinOp::Min } else { BinOp::Max };
                Ok(Expr::Binary(op, Box::new(a), Box::new(b)))
            }
            ("count_ones" | "trailing_zeros", Token::Sign("(")) => {
                self.at += 2;
                let a = self.expr()?;
                self.sign(")")?;
                Ok(if name == "count_ones" { a.count_ones() } else { a.trailing_zeros() })
            }
            (_, Token::Sign("(")) => Err(self.error(format!(
                "`{name}` is no function; there are `min`, `max`, `len`, `count_ones`, `trailing_zeros`, and \
                 `search` behind `let`"
            ))),
            ("true" | "false", _) => {
                self.at += 1;
                Ok(Expr::Bool(name == "true"))
            }
            _ => match self.find(name) {
                Some(var) => {
                    self.at += 1;
                    Ok(Expr::Var(var))
                }
                None => Err(self.error(format!("`{name}` is not declared"))),
            },
        }
    }

    /// An element of an array.
    fn element(&mut self) -> Result<Expr> {
        let array = self.array()?;
        self.sign("[")?;
        if self.loads == MAX_LOADS {
            let message = format!("elements as indices of others, more than {MAX_LOADS} deep");
            return Err(self.error(format!("{message}: name some with `let`")));
        }
        self.loads += 1;
        let index = self.expr()?;
        self.loads -= 1;
        self.sign("]")?;
        Ok(Expr::Load(array, Box::new(index)))
    }
}
