//! Composed tensors for a terminal.

use ust_engine::Composed;
use ust_engine::error::Error;

use super::line::{Line, Style};
use super::{Text, TextOptions};
use crate::composed::{Owners, heading, legend, sign};

impl Text {
    /// Draws a composed tensor: a digit for the part that stores each element, and below it each part by itself.
    ///
    /// # Errors
    /// As [`Text::new`].
    pub fn of_composed(composed: &Composed, options: &TextOptions) -> Result<Self, Error> {
        if let [one] = composed.parts() {
            return Self::new(one, options);
        }
        let mut owners = Owners::of(composed, options.max_cells)?;
        owners.rows.retain(|row| row.len() <= options.width.max(40) / 2);
        let [title, counts] = heading(composed);
        let mut lines =
            vec![Line::of(Style::Bold, &title), Line::of(Style::Plain, &counts), Line::default()];
        for row in &owners.rows {
            let mut line = Line::default();
            for (at, part) in row.iter().enumerate() {
                line.push(Style::Plain, if at == 0 { "" } else { " " });
                match part {
                    Some(part) => line.push(Style::Group(*part), &sign(*part)),
                    None => line.push(Style::Dim, "."),
                }
            }
            lines.push(line);
        }
        if !owners.rows.is_empty() {
            lines.push(Line::default());
        }
        for (part, about) in owners.parts.iter().enumerate() {
            lines.push(Line::of(Style::Group(part), &legend(part, about)));
        }
        for (at, part) in composed.parts().iter().enumerate() {
            lines.extend([
                Line::default(),
                Line::of(Style::Group(at), &format!("part {}", sign(at))),
            ]);
            lines.extend(Self::new(part, options)?.lines);
        }
        Ok(Self { lines, color: options.color })
    }
}
