//! Text to form: lines, names and scopes.

use ust_level_api::ir::idiom::{Code, Numbers};
use ust_level_api::ir::{ArrayId, Var};
use ust_level_api::{ArraySpec, Interval, Run, Step, WalkKind};

use super::FormError;
use super::lex::{Token, error, tokens};
use super::model::{LOCATE, Line, Located, Names, WALK, Walked};

/// The deepest nesting of blocks, and of parentheses and brackets in an expression.
const MAX_NESTED: usize = 32;
/// The most words and signs of a text.
const MAX_TOKENS: usize = 2048;

/// Reads a walk over a level with these arrays, and validates its code.
pub(crate) fn walked(text: &str, arrays: &[ArraySpec]) -> Result<Walked> {
    let mut p = Parser::new(text, arrays, &WALK)?;
    let before = p.lines(&["cursor"])?;
    p.word("cursor")?;
    let kind = match p.next() {
        Token::Word("position") => WalkKind::Position,
        Token::Word("coordinate") => WalkKind::Coordinate,
        Token::Word("other") => WalkKind::Other,
        _ => return p.wrong("expected `position`, `coordinate` or `other`"),
    };
    let name = p.name()?;
    p.word("from")?;
    let lo = p.expr()?;
    p.word("to")?;
    let hi = p.expr()?;
    p.sign(";")?;
    let outer = p.scope.len();
    let at = p.declare(name)?;
    let (step, child) = p.step()?;
    p.scope.truncate(outer + 1);
    let advance = match p.peek() {
        Token::Word("advance") => {
            p.next();
            Some(p.block()?)
        }
        _ => None,
    };
    p.end()?;
    let cursor = Interval { lo, hi };
    let walked = Walked { names: p.names, before, kind, cursor, at, step, child, advance };
    walked.validate(arrays)?;
    Ok(walked)
}

/// Reads a search in a level with these arrays, and validates its code.
pub(crate) fn located(text: &str, arrays: &[ArraySpec]) -> Result<Located> {
    let mut p = Parser::new(text, arrays, &LOCATE)?;
    let before = p.lines(&["position"])?;
    p.word("position")?;
    let pos = p.expr()?;
    p.sign(";")?;
    p.word("found")?;
    let found = p.expr()?;
    p.sign(";")?;
    p.end()?;
    let located = Located { names: p.names, before, pos, found };
    located.validate(arrays)?;
    Ok(located)
}

pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token<'a>, usize)>,
    pub(super) at: usize,
    arrays: &'a [ArraySpec],
    names: Names,
    /// The variables that can be named here.
    scope: Vec<Var>,
    /// Those that can be assigned.
    variables: Vec<bool>,
    nested: usize,
    /// The depth of the present element, in indices of others.
    pub(super) loads: usize,
}

pub(super) type Result<T> = std::result::Result<T, FormError>;

impl<'a> Parser<'a> {
    fn new(text: &'a str, arrays: &'a [ArraySpec], known: &[&str]) -> Result<Self> {
        let tokens = tokens(text)?;
        if tokens.len() > MAX_TOKENS {
            return Err(error(
                text,
                0,
                format!("a text of more than {MAX_TOKENS} words and signs"),
            ));
        }
        let names: Vec<String> = known.iter().map(|&name| name.to_owned()).collect();
        let scope = (0..names.len() as u32).map(Var).collect();
        let variables = vec![false; names.len()];
        let names = Names { assigned: variables.clone(), names };
        Ok(Self { text, tokens, at: 0, arrays, names, scope, variables, nested: 0, loads: 0 })
    }

    pub(super) fn peek(&self) -> Token<'a> {
        self.tokens[self.at].0
    }

    /// The token behind the next.
    pub(super) fn second(&self) -> Token<'a> {
        self.tokens.get(self.at + 1).map_or(Token::End, |token| token.0)
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        if token != Token::End {
            self.at += 1;
        }
        token
    }

    pub(super) fn error(&self, message: String) -> FormError {
        error(self.text, self.tokens[self.at].1, message)
    }

    /// An error about the token before.
    fn wrong<T>(&mut self, message: &str) -> Result<T> {
        self.at = self.at.saturating_sub(1);
        Err(self.error(message.to_owned()))
    }

    pub(super) fn takes(&mut self, sign: &str) -> bool {
        let takes = matches!(self.peek(), Token::Sign(found) if found == sign);
        self.at += usize::from(takes);
        takes
    }

    pub(super) fn sign(&mut self, sign: &str) -> Result<()> {
        if self.takes(sign) { Ok(()) } else { Err(self.error(format!("expected `{sign}`"))) }
    }

    fn word(&mut self, word: &str) -> Result<()> {
        match self.peek() {
            Token::Word(found) if found == word => self.at += 1,
            _ => return Err(self.error(format!("expected `{word}`"))),
        }
        Ok(())
    }

    fn name(&mut self) -> Result<&'a str> {
        match self.peek() {
            Token::Word(name) => {
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.error("expected a name".to_owned())),
        }
    }

    fn end(&self) -> Result<()> {
        match self.peek() {
            Token::End => Ok(()),
            _ => Err(self.error("expected the end of the text".to_owned())),
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<Var> {
        self.scope.iter().rev().find(|var| self.names.names[var.0 as usize] == name).copied()
    }

    /// Declares the name before the present token.
    fn declare(&mut self, name: &str) -> Result<Var> {
        if self.find(name).is_some() {
            return Err(self.error(format!("`{name}` is declared already")));
        }
        let var = Var(self.names.names.len() as u32);
        self.names.names.push(name.to_owned());
        self.names.assigned.push(false);
        self.variables.push(false);
        self.scope.push(var);
        Ok(var)
    }

    pub(super) fn array(&mut self) -> Result<ArrayId> {
        let name = self.name()?;
        let Some(at) = self.arrays.iter().position(|array| array.name == name) else {
            let known: Vec<&str> = self.arrays.iter().map(|array| array.name).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return self.wrong(&format!("`{name}` is no array of the level; it has {known}"));
        };
        Ok(ArrayId(at as u32))
    }

    pub(super) fn nest<T>(&mut self, of: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nested == MAX_NESTED {
            return Err(self.error(format!("nested more than {MAX_NESTED} deep")));
        }
        self.nested += 1;
        let made = of(self);
        self.nested -= 1;
        made
    }

    fn block(&mut self) -> Result<Vec<Line>> {
        self.sign("{")?;
        let outer = self.scope.len();
        let lines = self.nest(|p| p.lines(&[]))?;
        self.scope.truncate(outer);
        self.sign("}")?;
        Ok(lines)
    }

    /// Lines up to the end of a block, or to one of these words as the first of a statement.
    fn lines(&mut self, until: &[&str]) -> Result<Vec<Line>> {
        let mut lines = Vec::new();
        loop {
            let assigned = self.second() == Token::Sign("=");
            match self.peek() {
                Token::End | Token::Sign("}") => return Ok(lines),
                Token::Word(word) if !assigned && until.contains(&word) => return Ok(lines),
                _ => lines.push(self.line()?),
            }
        }
    }

    fn line(&mut self) -> Result<Line> {
        if self.second() == Token::Sign("=") {
            return self.assign();
        }
        match self.next() {
            Token::Word("let") => self.declaration(),
            Token::Word("if") => self.branches(),
            Token::Word("while") => {
                let cond = self.expr()?;
                Ok(Line::While(cond, self.block()?))
            }
            Token::Word("for") => {
                let name = self.name()?;
                self.word("in")?;
                let lo = self.expr()?;
                self.sign("..")?;
                let hi = self.expr()?;
                let outer = self.scope.len();
                let var = self.declare(name)?;
                let body = self.block()?;
                self.scope.truncate(outer);
                Ok(Line::For { var, lo, hi, body })
            }
            _ => self.wrong("expected a line, such as `let x = ...;`"),
        }
    }

    fn assign(&mut self) -> Result<Line> {
        let name = self.name()?;
        let Some(var) = self.find(name) else {
            return self.wrong(&format!("`{name}` is not declared: write `let {name} = ...;`"));
        };
        if !self.variables[var.0 as usize] {
            return self.wrong(&format!("`{name}` is no variable: only `let` declares one"));
        }
        self.names.assigned[var.0 as usize] = true;
        self.sign("=")?;
        let value = self.expr()?;
        self.sign(";")?;
        Ok(Line::Assign(var, value))
    }

    fn declaration(&mut self) -> Result<Line> {
        let name = self.name()?;
        if self.takes(",") {
            let found = self.name()?;
            self.sign("=")?;
            self.word("search")?;
            self.sign("(")?;
            let array = self.array()?;
            self.sign(",")?;
            let lo = self.expr()?;
            self.sign(",")?;
            let hi = self.expr()?;
            self.sign(",")?;
            let wanted = self.expr()?;
            self.sign(")")?;
            self.sign(";")?;
            let (at, found) = (self.declare(name)?, self.declare(found)?);
            let within = Box::new(Interval { lo, hi });
            return Ok(Line::Search { at, found, array, within, wanted });
        }
        self.sign("=")?;
        let value = self.expr()?;
        self.sign(";")?;
        let var = self.declare(name)?;
        self.variables[var.0 as usize] = true;
        Ok(Line::Let(var, value))
    }

    fn branches(&mut self) -> Result<Line> {
        let cond = self.expr()?;
        let then = self.block()?;
        let otherwise = match (self.peek(), self.second()) {
            (Token::Word("else"), Token::Word("if")) => {
                self.at += 2;
                vec![self.nest(Self::branches)?]
            }
            (Token::Word("else"), _) => {
                self.at += 1;
                self.block()?
            }
            _ => Vec::new(),
        };
        Ok(Line::If(cond, then, otherwise))
    }

    /// The step of a walk. Names that it declares stay in scope.
    fn step(&mut self) -> Result<(Vec<Line>, Step)> {
        self.word("step")?;
        self.sign("{")?;
        let (mut lines, mut crd, mut pos, mut guard, mut run) =
            (Vec::new(), None, None, None, None);
        loop {
            lines.extend(self.lines(&["coordinate", "position", "where", "run"])?);
            if self.takes("}") {
                break;
            }
            let word = self.name()?;
            if word == "run" {
                let given = self.run()?;
                if run.replace(given).is_some() {
                    return self.wrong("a second `run`");
                }
                continue;
            }
            let slot = match word {
                "coordinate" => &mut crd,
                "position" => &mut pos,
                _ => &mut guard,
            };
            if slot.is_some() {
                return self.wrong(&format!("a second `{word}`"));
            }
            *slot = Some(self.expr()?);
            self.sign(";")?;
        }
        let (Some(crd), Some(pos)) = (crd, pos) else {
            return self.wrong("a step says the `coordinate` and the `position` of its child");
        };
        Ok((lines, Step { crd, pos, guard, run }))
    }

    /// Several children.
    fn run(&mut self) -> Result<Run> {
        let run = match self.next() {
            Token::Word("consecutive") => Run::Consecutive(self.expr()?),
            Token::Word("shared") => Run::Shared(self.expr()?),
            Token::Word("ones") => Run::Coded(Code::Ones(self.expr()?)),
            Token::Word("gaps") => {
                let count = self.expr()?;
                self.word("of")?;
                self.word("width")?;
                let Token::Number(bits @ ("1" | "2" | "4" | "8" | "16" | "32")) = self.next()
                else {
                    return self.wrong("expected 1, 2, 4, 8, 16 or 32");
                };
                let bits = bits.parse().unwrap_or(32);
                self.word("in")?;
                let numbers = Numbers { array: self.array()?, bits, shift: None };
                Run::Coded(Code::Gaps { count, numbers })
            }
            _ => return self.wrong("expected `consecutive`, `shared`, `ones` or `gaps`"),
        };
        self.sign(";")?;
        Ok(run)
    }
}
