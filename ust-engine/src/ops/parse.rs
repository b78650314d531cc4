//! The text of an expression.

use std::ops::Range;

use super::OpError;

/// `out(i, ...) = a(...) * b(...) * ...`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    text: String,
    /// The result.
    pub result: Access,
    /// The factors, in order.
    pub factors: Vec<Access>,
}

/// A tensor's name and the indices of its dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The name.
    pub name: String,
    /// One index for each dimension.
    pub indices: Vec<String>,
    /// Where it stands in the text, in bytes.
    pub span: Range<usize>,
}

impl Expression {
    /// Reads a product in index notation.
    ///
    /// ```
    /// use ust::ops::Expression;
    /// let e = Expression::parse("y(i) = A(i,j) * x(j)")?;
    /// assert_eq!(e.factors[0].indices, ["i", "j"]);
    /// assert!(Expression::parse("y(i) = A(i,j) + x(i)").is_err());
    /// # Ok::<(), ust::ops::OpError>(())
    /// ```
    ///
    /// # Errors
    /// [`OpError::Text`] points at what is wrong: a sign that is not expected, an index of the
    /// result that no factor has, the result among the factors.
    pub fn parse(text: &str) -> Result<Self, OpError> {
        let mut scanner = Scanner { text, at: 0 };
        let result = scanner.access()?;
        scanner.expect('=', "`=` after the result, as in `y(i) = A(i,j) * x(j)`")?;
        let mut factors = vec![scanner.access()?];
        while scanner.peek().is_some() {
            scanner.expect('*', "`*` and another tensor, or the end")?;
            factors.push(scanner.access()?);
        }
        let expression = Self { text: text.to_owned(), result, factors };
        expression.check()?;
        Ok(expression)
    }

    fn check(&self) -> Result<(), OpError> {
        let result = &self.result;
        for (at, index) in result.indices.iter().enumerate() {
            if result.indices[..at].contains(index) {
                let message = format!("the index `{index}` stands twice in the result");
                return Err(self.error(&result.span, message, None));
            }
            if !self.factors.iter().any(|f| f.indices.contains(index)) {
                let message = format!("no factor has the index `{index}` of the result");
                let help = "every index of the result must occur on the right".to_owned();
                return Err(self.error(&result.span, message, Some(help)));
            }
        }
        match self.factors.iter().find(|f| f.name == result.name) {
            Some(factor) => {
                let message = format!("`{}` is the result, and cannot be a factor", factor.name);
                Err(self.error(&factor.span, message, None))
            }
            None => Ok(()),
        }
    }

    /// An error at a place of the text.
    #[must_use]
    pub fn error(&self, span: &Range<usize>, message: String, help: Option<String>) -> OpError {
        error(&self.text, span, message, help)
    }
}

fn error(text: &str, span: &Range<usize>, message: String, help: Option<String>) -> OpError {
    // One line, tabs as blanks: the caret then stands below its place.
    let clean = |part: &str| part.replace(['\n', '\r', '\t'], " ");
    OpError::Text {
        text: clean(text),
        column: text[..span.start].chars().count(),
        width: text[span.clone()].chars().count(),
        message,
        help,
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn fail(&mut self, expected: &str) -> OpError {
        let found = self.peek();
        let span = self.at..self.at + found.map_or(0, char::len_utf8);
        let message = match found {
            Some(c) => format!("found `{c}`, expected {expected}"),
            None => format!("the text ends, expected {expected}"),
        };
        let help = matches!(found, Some('+' | '-' | '/'))
            .then(|| "only products are evaluated so far".to_owned());
        error(self.text, &span, message, help)
    }

    fn expect(&mut self, wanted: char, expected: &str) -> Result<(), OpError> {
        if self.peek() == Some(wanted) {
            self.at += wanted.len_utf8();
            return Ok(());
        }
        Err(self.fail(expected))
    }

    fn name(&mut self, expected: &str) -> Result<String, OpError> {
        match self.peek() {
            Some(c) if c.is_alphabetic() || c == '_' => {}
            _ => return Err(self.fail(expected)),
        }
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += end;
        Ok(rest[..end].to_owned())
    }

    fn access(&mut self) -> Result<Access, OpError> {
        self.peek();
        let start = self.at;
        let name = self.name("a tensor with its indices, such as `A(i,j)`")?;
        self.expect('(', "`(` and the tensor's indices (`()` for a scalar)")?;
        let mut indices = Vec::new();
        if self.peek() != Some(')') {
            loop {
                indices.push(self.name("an index, such as `i`")?);
                if self.peek() == Some(')') {
                    break;
                }
                self.expect(',', "`,` and another index, or `)`")?;
            }
        }
        self.expect(')', "`)`")?;
        Ok(Access { name, indices, span: start..self.at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_point_at_their_place() {
        for (text, column, part) in [
            ("y(i) = A(i,j) + x(j)", 14, "only products"),
            ("y(i) A(i,j)", 5, "`=`"),
            ("y(i) = A(i,", 11, "the text ends"),
            ("y(k) = A(i,j) * x(j)", 0, "no factor has the index `k`"),
            ("y(i,i) = A(i,j)", 0, "twice"),
            ("é(i) = B(i) * é(i)", 14, "cannot be a factor"),
            ("", 0, "the text ends"),
        ] {
            let error = Expression::parse(text).expect_err(text);
            let OpError::Text { column: found, .. } = &error else { panic!("{error}") };
            assert_eq!(*found, column, "{text}");
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
