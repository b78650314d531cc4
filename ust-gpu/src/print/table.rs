//! Workspaces that are kept as hash tables.

use ust_level_api::ir::schedule::Table;
use ust_level_api::ir::{ArrayId, Elem, Expr, Stmt, Var};

use super::types::stored;
use super::{Target, Use, Writer};
use crate::prelude::Sections;

/// The name of the place of a coordinate that was noted.
const PLACE: &str = "place_of_mark";

impl Writer<'_> {
    /// Writes a loop over all coordinates of a workspace. Returns whether it is one.
    pub(super) fn over_table(&mut self, var: Var, body: &[Stmt]) -> bool {
        match self.table {
            Some(table) if var == table.clearing => self.clear(var, body),
            Some(table) if var == table.listing => self.list(&table, body),
            _ => return false,
        }
        true
    }

    /// Places are cleared instead of coordinates.
    fn clear(&mut self, var: Var, body: &[Stmt]) {
        let name = self.names.var(var).to_owned();
        self.line("ust_meet(width, lanes);");
        self.within = true;
        self.placed = Some((Expr::Var(var), name));
        self.count("", var, "lane", "slots", "width", body);
        self.placed = None;
        self.within = false;
        self.line("ust_meet(width, lanes);");
    }

    fn list(&mut self, table: &Table, body: &[Stmt]) {
        let mut lists = false;
        Stmt::visit_all(body, &mut |stmt| {
            lists |= matches!(stmt, Stmt::Store(array, ..) if *array == table.list);
        });
        let (marks, listed) = (self.array(table.marks).to_owned(), self.names.var(table.listed));
        let listed = listed.to_owned();
        let rest = "lane, width, lanes);";
        match lists {
            true => {
                let list = self.array(table.list).to_owned();
                self.uses.insert(Use::Error);
                let own = format!("{marks}, slots, {list}, noted, error");
                self.line(&format!("{listed} = ust_table_list({own}, {rest}"));
            }
            false => {
                self.line(&format!("{listed} = ust_table_count({marks}, slots, noted, {rest}"));
            }
        }
    }

    /// Whether an array is that of marks.
    pub(super) fn is_marks(&self, array: ArrayId) -> bool {
        self.table.is_some_and(|table| array == table.marks)
    }

    /// Whether an array is a list of coordinates.
    pub(super) fn is_list(&self, array: ArrayId) -> bool {
        self.table.is_some_and(|table| array == table.list)
    }

    /// Writes a store to a mark.
    pub(super) fn mark(&mut self, array: ArrayId, at: &Expr, value: &Expr) {
        let marks = self.array(array).to_owned();
        if *value == Expr::Int(0) {
            let place = self.index(array, at);
            return self.line(&format!("{marks}[{place}] = UST_FREE;"));
        }
        if !self.within {
            return self.refuse("coordinates are noted where lanes share nothing");
        }
        let coordinate = self.expr(at);
        let name =
            if self.keeps_values() { format!("const u32 {PLACE} = ") } else { String::new() };
        self.uses.insert(Use::Error);
        self.line(&format!("{name}ust_table_note({marks}, slots, {coordinate}, error);"));
        self.placed = Some((at.clone(), PLACE.to_owned()));
    }

    /// Whether the workspace has values, and is not for counting alone.
    fn keeps_values(&self) -> bool {
        let mut found = false;
        Stmt::visit_all(&self.function.body, &mut |stmt| {
            if let Stmt::Store(array, ..) | Stmt::Reduce(_, array, ..) = stmt {
                found |= self.table.is_some_and(|table| *array == table.values);
            }
        });
        found
    }

    /// The index of an element in memory.
    pub(super) fn index(&mut self, array: ArrayId, index: &Expr) -> String {
        let table = self.table.filter(|table| array == table.marks || array == table.values);
        let Some(table) = table else {
            if self.is_short(array, index) {
                self.uses.insert(Use::Short(array));
                return self.short(index);
            }
            return self.expr(index);
        };
        if let Some((at, place)) = &self.placed
            && at == index
        {
            return place.clone();
        }
        let (marks, coordinate) = (self.array(table.marks).to_owned(), self.expr(index));
        format!("ust_table_find({marks}, slots, {coordinate})")
    }

    /// Writes where the table of a worker is, before the loop over parts.
    pub(super) fn tables(&mut self, table: &Table) {
        self.need(Sections::TABLES);
        self.uses.insert(Use::Tables);
        if self.uses.contains(&Use::Groups) {
            self.line(
                "const i64 group = lane / team, groups = width / team, member = lane % team;",
            );
        }
        match self.target {
            Target::Tables { shared: false } => {
                self.line("unsigned char* const own = memory + worker * room;");
            }
            _ => {
                self.line("alignas(16) extern __shared__ unsigned char memory[];");
                self.line("unsigned char* const own = memory + threadIdx.x / width * room;");
            }
        }
        let names =
            [table.values, table.marks, table.list].map(|id| self.names.array(id).to_owned());
        let [values, marks, list] = &names;
        let from = match self.uses.contains(&Use::Array(table.values)) {
            true => {
                let ty = stored(self.elem(table.values));
                self.line(&format!("{ty}* const {values} = ({ty}*)own;"));
                format!("({values} + slots)")
            }
            false => "own".to_owned(),
        };
        self.line(&format!("u32* const {marks} = (u32*){from};"));
        let from = match self.uses.contains(&Use::Array(table.list)) {
            true => {
                self.line(&format!("u32* const {list} = {marks} + slots;"));
                format!("{list} + slots / 2")
            }
            false => format!("{marks} + slots"),
        };
        self.line(&format!("u32* const noted = {from};"));
    }

    /// Bytes of two places of a table.
    pub(super) fn two_places(&self) -> Option<u64> {
        let table = self.table?;
        if !self.keeps_values() {
            return Some(8);
        }
        let value = match self.elem(table.values) {
            Elem::Value(dtype) => dtype.bytes() as u64,
            Elem::Index(kind) => kind.bytes(1) as u64,
        };
        // Two marks; two values, and an element of the list.
        Some(8 + 2 * value + 4)
    }
}
