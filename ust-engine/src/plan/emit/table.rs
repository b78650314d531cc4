//! Tables: where the children of a position stand, by coordinate.
//!
//! A level that is looked into again and again under the same position, as the rows of `C` are in
//! `A(i,j) * B(j,k) * C(i,k)`, is written into a table when the position is known: what follows
//! looks a coordinate up in constant time, instead of walking along or searching. An entry is a
//! number that grows from one filling to the next, so that nothing has to be cleared in between:
//! what is below the first number of this filling is from an earlier one.

use ust_level_api::ir::{ArrayId, Builder, Elem, Expr, Var};
use ust_level_api::{IndexKind, Located, ir::Ty};

use super::{Argument, Emit, Pos, State};
use crate::walk::nest::Reach;

/// The tables of a plan, declared.
#[derive(Debug)]
pub(super) struct Tables {
    /// Which region of each table belongs to this run of the loops.
    region: Expr,
    each: Vec<Table>,
}

#[derive(Debug)]
struct Table {
    array: ArrayId,
    /// What is declared where the loops begin: the region's first element, and the last number given.
    begun: Option<(Expr, Var)>,
}

/// A table that is filled.
#[derive(Clone, Debug)]
pub(super) struct Filled {
    /// The first number of this filling.
    base: Expr,
    /// What is taken from a number to get a cursor.
    shift: Expr,
}

impl Tables {
    /// Declares what says which region is whose, where there are tables.
    pub(super) fn declare_region(
        b: &mut Builder,
        arguments: &mut Vec<Argument>,
        count: usize,
    ) -> Expr {
        if count == 0 {
            return Expr::Int(0);
        }
        arguments.push(Argument::Region);
        b.param("region", Ty::Int)
    }

    pub(super) fn declare(b: &mut Builder, region: Expr, count: usize) -> Self {
        let one = |_| {
            let array = b.array("table", Elem::Index(IndexKind::I64), true);
            Table { array, begun: None }
        };
        Self { region, each: (0..count).map(one).collect() }
    }
}

impl Emit<'_> {
    /// Number of places of a table.
    fn places(&self, table: usize) -> Expr {
        let of = &self.input.order.tables[table];
        self.operands[of.at].sizes.sizes[of.level].clone()
    }

    /// Before all loops: where the region is, and which number was given last.
    pub(super) fn begin_tables(&mut self, b: &mut Builder) {
        for table in 0..self.tables.each.len() {
            let size = self.places(table);
            let start = b.bind("start", self.tables.region.clone() * (size.clone() + 1));
            let given = b.load(self.tables.each[table].array, start.clone() + size);
            let given = b.var("given", given);
            self.tables.each[table].begun = Some((start, given));
        }
    }

    /// After all loops: the next run goes on from there.
    pub(super) fn end_tables(&self, b: &mut Builder) {
        for (table, Table { array, begun }) in self.tables.each.iter().enumerate() {
            let (start, given) = begun.as_ref().expect("begun");
            b.store(*array, start.clone() + self.places(table), (*given).into());
        }
    }

    /// Fills the tables whose positions are known where so many loops are open.
    pub(super) fn fill_tables(&self, b: &mut Builder, depth: usize, state: &mut State) {
        for (table, of) in self.input.order.tables.iter().enumerate() {
            let Some(Pos::One(parent)) = &state.live[of.at] else { continue };
            if of.depth != depth {
                continue;
            }
            let Table { array, begun } = &self.tables.each[table];
            let (start, given) = begun.as_ref().expect("begun");
            let operand = &self.operands[of.at];
            let parent = ust_level_api::Interval::one(parent.clone());
            let above = &state.coordinates[of.at];
            let site = operand.site(of.level, parent, above, Reach::Inside);
            let walk = operand.format.levels()[of.level].ty.walk(&site, b);
            let lo = b.bind("lo", walk.cursor.lo.clone());
            let hi = b.bind("hi", walk.cursor.hi.clone());
            let base: Expr = b.var("base", Expr::from(*given) + 1).into();
            let shift = b.bind("shift", base.clone() - lo.clone());
            let place = start.clone() - operand.sizes.lowers[of.level].clone();
            b.for_("cursor", lo.clone(), hi.clone(), |b, cursor| {
                let step = (walk.step)(b, cursor.clone());
                b.store(*array, place.clone() + step.crd, cursor + shift.clone());
            });
            b.assign(*given, base.clone() + (hi - lo).max(0));
            state.tables[table] = Some(Filled { base, shift });
        }
    }

    /// Looks a coordinate up, where a table of that level is filled.
    pub(super) fn look_up(
        &self,
        b: &mut Builder,
        (at, level): (usize, usize),
        wanted: &Expr,
        state: &State,
    ) -> Option<Located> {
        let Some(Pos::One(parent)) = &state.live[at] else { return None };
        let mut tables = self.input.order.tables.iter();
        let table = tables.position(|of| (of.at, of.level) == (at, level))?;
        let Filled { base, shift } = state.tables[table].as_ref()?;
        let Table { array, begun } = &self.tables.each[table];
        let (start, _) = begun.as_ref().expect("begun");
        let operand = &self.operands[at];
        let place = start.clone() - operand.sizes.lowers[level].clone();
        let entry = b.load(*array, place + wanted.clone());
        let entry = b.bind("entry", entry);
        // What is known of a child: its coordinate is the last one.
        let above = &state.coordinates[at][..level];
        let parent = ust_level_api::Interval::one(parent.clone());
        let site = operand.site(level, parent, above, Reach::Inside);
        let walk = operand.format.levels()[level].ty.walk(&site, b);
        let here = (walk.step)(b, entry.clone() - shift.clone());
        Some(Located { pos: here.pos, found: base.clone().le(entry) })
    }
}
