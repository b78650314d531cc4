//! Tables: for each coordinate, the child of a position that has it.
//!
//! In `A(i,j) * B(j,k) * C(i,k)`, each row of `C` is searched once for each entry of a row of `A`. When
//! row `i` begins, its children are written into a table by coordinate. Each search then takes constant
//! time.
//!
//! A table holds numbers that grow from one filling to the next, so it need not be cleared. A number
//! below the first one of the current filling is left over from an earlier filling.

use ust_level_api::ir::{ArrayId, Builder, Elem, Expr, Var};
use ust_level_api::{IndexKind, Located, ir::Ty};

use super::{Emit, Pos, State};
use crate::provider::plan::Parameter;
use crate::walk::nest::Reach;

/// The tables of a plan, declared.
#[derive(Debug)]
pub(super) struct Tables {
    /// The number of the region of each table that these loops use: threads have separate regions.
    region: Expr,
    each: Vec<Table>,
}

#[derive(Debug)]
struct Table {
    array: ArrayId,
    /// Declared before the loops: the index of the region's first element, and the last number assigned.
    begun: Option<(Expr, Var)>,
}

/// A filled table.
#[derive(Clone, Debug)]
pub(super) struct Filled {
    /// The first number of this filling.
    base: Expr,
    /// The difference between a number and the cursor that it stands for.
    shift: Expr,
}

impl Tables {
    /// Declares the parameter for the region, if there are tables.
    pub(super) fn declare_region(
        b: &mut Builder,
        parameters: &mut Vec<Parameter>,
        count: usize,
    ) -> Expr {
        if count == 0 {
            return Expr::Int(0);
        }
        parameters.push(Parameter::Region);
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
    /// Number of coordinates of a table.
    fn places(&self, table: usize) -> Expr {
        let of = &self.input.order.tables[table];
        self.operands[of.at].sizes.sizes[of.level].clone()
    }

    /// Before all loops: finds the region, and the last number assigned in it.
    pub(super) fn begin_tables(&mut self, b: &mut Builder) {
        for table in 0..self.tables.each.len() {
            let size = self.places(table);
            let start = b.bind("start", self.tables.region.clone() * (size.clone() + 1));
            let given = b.load(self.tables.each[table].array, start.clone() + size);
            let given = b.var("given", given);
            self.tables.each[table].begun = Some((start, given));
        }
    }

    /// After all loops: stores the last number assigned, for the next run.
    pub(super) fn end_tables(&self, b: &mut Builder) {
        for (table, Table { array, begun }) in self.tables.each.iter().enumerate() {
            let (start, given) = begun.as_ref().expect("begun");
            b.store(*array, start.clone() + self.places(table), (*given).into());
        }
    }

    /// The variables with the last number assigned in each table.
    pub(super) fn table_numbers(&self) -> Vec<Var> {
        self.tables.each.iter().filter_map(|table| Some(table.begun.as_ref()?.1)).collect()
    }

    /// Fills the tables of the positions that become known inside `depth` loops.
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

    /// Looks a coordinate up in the table of a level. `None` if the level has no filled table.
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
        // The coordinates above the level; the child's own comes last.
        let above = &state.coordinates[at][..level];
        let parent = ust_level_api::Interval::one(parent.clone());
        let site = operand.site(level, parent, above, Reach::Inside);
        let walk = operand.format.levels()[level].ty.walk(&site, b);
        let here = (walk.step)(b, entry.clone() - shift.clone());
        Some(Located { pos: here.pos, found: base.clone().le(entry) })
    }
}
