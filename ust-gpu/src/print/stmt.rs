//! Statements.

use ust_level_api::ir::schedule::{Group, LaneSum, Sharing};
use ust_level_api::ir::{ArrayId, BinOp, Elem, Expr, Stmt, Ty, Var};

use super::expr::Level;
use super::kernel::Reach;
use super::types::{is_half, stored, variable};
use super::{Use, Width, Writer};
use crate::prelude::Sections;

impl Writer<'_> {
    pub(super) fn body(&mut self, body: &[Stmt]) {
        let mut at = 0;
        while let Some(stmt) = body.get(at) {
            if let Some(vector) = self.vector
                && let Some(group) = vector.group(&body[at..])
            {
                self.group(&group);
                at += vector.count as usize;
                continue;
            }
            let before = at.checked_sub(1).map(|at| &body[at]);
            self.stmt(stmt, before);
            at += 1;
        }
    }

    /// Accesses to elements side by side, at once.
    fn group(&mut self, group: &Group<'_>) {
        self.need(Sections::VECTORS);
        match group {
            Group::Load { array, index, vars } => {
                vars.iter().for_each(|var| self.need_variable(*var));
                let names: Vec<&str> = vars.iter().map(|var| self.names.var(*var)).collect();
                let (names, ty) = (names.join(", "), variable(self.elem(*array).ty()));
                let place = self.place(*array, index);
                self.line(&format!("{ty} {names};"));
                self.line(&format!("ust_load(&{place}, {names});"));
            }
            Group::Store { array, index, values } => {
                let place = self.place(*array, index);
                let values: Vec<String> = values.iter().map(|value| self.expr(value)).collect();
                self.by_one(*array, &format!("ust_store(&{place}, {});", values.join(", ")));
            }
        }
    }

    fn block(&mut self, head: &str, body: &[Stmt]) {
        self.line(&format!("{head} {{"));
        self.depth += 1;
        let placed = self.placed.clone();
        self.body(body);
        self.placed = placed;
        self.depth -= 1;
        self.line("}");
    }

    fn stmt(&mut self, stmt: &Stmt, before: Option<&Stmt>) {
        match stmt {
            Stmt::Comment(text) => text.lines().for_each(|line| self.line(&format!("// {line}"))),
            Stmt::Let(var, value) => {
                if self.is_read(value) {
                    self.read.insert(*var);
                }
                let value = self.initial(value);
                let changes = if self.assigned[var.0 as usize] { "" } else { "const " };
                let ty = variable(self.function.vars[var.0 as usize].ty);
                self.need_variable(*var);
                self.line(&format!("{changes}{ty} {} = {value};", self.names.var(*var)));
            }
            Stmt::Assign(var, value) => {
                let name = self.names.var(*var).to_owned();
                let text = match value {
                    Expr::Binary(op @ (BinOp::Add | BinOp::Mul), a, b)
                        if **a == Expr::Var(*var) && self.assigns(self.function.type_of(a)) =>
                    {
                        format!("{name} {op}= {};", self.expr(b))
                    }
                    value => format!("{name} = {};", self.expr(value)),
                };
                self.line(&text);
            }
            Stmt::Store(array, index, value) => self.store(*array, index, value),
            Stmt::Reduce(op, array, index, value) => self.reduce(*op, *array, index, value),
            Stmt::Reserve(..) => {}
            Stmt::Sort(array, _, hi) if self.is_list(*array) => {
                let (list, hi) = (self.array(*array).to_owned(), self.expr(hi));
                self.line(&format!("ust_table_sort({list}, {hi}, lane, width, lanes);"));
            }
            Stmt::Sort(array, lo, hi) => {
                self.need(Sections::SORT);
                let (lo, hi) = (self.expr(lo), self.expr(hi));
                let text = format!("ust_sort({}, {lo}, {hi});", self.array(*array));
                self.by_one(*array, &text);
            }
            Stmt::For { var, body, .. } if self.over_table(*var, body) => {}
            Stmt::For { var, lo, hi, body } => {
                let lanes = self.lanes.filter(|_| !self.within || self.split);
                let marks = self.marks.loops.get(var);
                let vector = marks.and_then(|marks| marks.vector.as_ref());
                let outer = self.vector;
                self.vector = vector.or(outer);
                match (lanes, marks.and_then(|marks| marks.lanes.as_deref())) {
                    (Some(_), Some(sums)) => self.in_lanes((*var, lo, hi), sums, body, before),
                    _ => {
                        let (lo, hi) = (self.initial(lo), self.end(hi));
                        self.count("", *var, &lo, &hi, "++", body);
                    }
                }
                self.vector = outer;
            }
            Stmt::While { cond, body } => {
                let cond = self.expr(cond);
                self.block(&format!("while ({cond})"), body);
            }
            Stmt::If { then, otherwise, .. } if then.is_empty() && otherwise.is_empty() => {}
            Stmt::If { cond, then, otherwise } => {
                let cond = self.expr(cond);
                self.block(&format!("if ({cond})"), then);
                if !otherwise.is_empty() {
                    self.out.truncate(self.out.trim_end().len());
                    self.out.push_str(" else {\n");
                    self.depth += 1;
                    self.body(otherwise);
                    self.depth -= 1;
                    self.line("}");
                }
            }
        }
    }

    /// A loop from `lo` up to `hi`, which is evaluated once.
    pub(super) fn count(
        &mut self,
        from: &str,
        var: Var,
        lo: &str,
        hi: &str,
        step: &str,
        body: &[Stmt],
    ) {
        let name = self.names.var(var).to_owned();
        let simple = hi.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let step = if step == "++" { format!("++{name}") } else { format!("{name} += {step}") };
        let head = match simple {
            true => format!("for (i64 {name} = {lo}{from}; {name} < {hi}; {step})"),
            false => format!(
                "for (i64 {name} = {lo}{from}, end_{name} = {hi}; {name} < end_{name}; {step})"
            ),
        };
        let outer = std::mem::take(&mut self.read);
        self.block(&head, body);
        self.read = outer;
    }

    /// A loop whose iterations lanes share.
    fn in_lanes(
        &mut self,
        (var, lo, hi): (Var, &Expr, &Expr),
        sums: &[LaneSum],
        body: &[Stmt],
        before: Option<&Stmt>,
    ) {
        let Some(width) = self.lanes else { return };
        if width == Width::Given {
            return self.in_groups((var, lo, hi), sums, body);
        }
        self.need(Sections::LANES);
        // Code that counts rows has no need of some sums.
        let sums: Vec<&LaneSum> =
            sums.iter().filter(|sum| self.assigned[sum.var.0 as usize]).collect();
        // A sum that begins right here needs not be kept.
        let begins = |sum: &LaneSum| matches!(before, Some(Stmt::Let(var, start)) if *var == sum.var && *start == sum.start);
        for sum in sums.iter().filter(|sum| !begins(sum)) {
            let (name, start) = (self.names.var(sum.var).to_owned(), self.expr(&sum.start));
            let ty = variable(self.function.vars[sum.var.0 as usize].ty);
            self.line(&format!("const {ty} all_{name} = {name};"));
            self.line(&format!("{name} = {start};"));
        }
        let writes = self.meets(body);
        if writes {
            self.line("__syncwarp(lanes);");
        }
        let (lo, hi) = (self.inner(lo, Level::Sum), self.end(hi));
        self.within = true;
        self.count(" + lane", var, &lo, &hi, &width.to_string(), body);
        self.within = false;
        if writes {
            self.line("__syncwarp(lanes);");
        }
        for sum in sums {
            let name = self.names.var(sum.var).to_owned();
            let Some(op) = word(sum.op) else {
                return self.refuse(&format!("lanes form no sum by `{}`", sum.op));
            };
            self.line(&format!("{name} = ust_lanes_{op}({name}, {width}, lanes);"));
            if begins(sum) {
                continue;
            }
            // The value from before is an operand like the others.
            let ty = self.function.vars[sum.var.0 as usize].ty;
            let text = self.combined(sum.op, ty, &format!("all_{name}"), &name);
            self.line(&format!("{name} = {text};"));
        }
    }

    /// A loop whose iterations as many lanes share as the launch says, or groups of them if another is inside.
    fn in_groups(&mut self, (var, lo, hi): (Var, &Expr, &Expr), sums: &[LaneSum], body: &[Stmt]) {
        if !sums.is_empty() {
            return self.refuse("lanes of tables form no sums in variables");
        }
        let mut holds = false;
        Stmt::visit_all(body, &mut |stmt| {
            if let Stmt::For { var, .. } = stmt {
                holds |= self.marks.loops.get(var).is_some_and(|marks| marks.lanes.is_some());
            }
        });
        let (within, split) = (self.within, self.split);
        let (first, step) = match (split, holds) {
            (true, _) => (" + member", "team"),
            (false, true) => (" + group", "groups"),
            (false, false) => (" + lane", "width"),
        };
        if split || holds {
            self.uses.insert(Use::Groups);
        }
        (self.within, self.split) = (true, holds && !split);
        let (lo, hi) = (self.inner(lo, Level::Sum), self.end(hi));
        self.count(first, var, &lo, &hi, step, body);
        (self.within, self.split) = (within, split);
    }

    /// Whether several may combine values into the same element of an array.
    fn is_shared(&self, array: ArrayId) -> bool {
        matches!(self.sharing(array), Sharing::Atomic | Sharing::Workspace)
    }

    /// Whether lanes write elements that other lanes may read, or may have written.
    fn meets(&self, body: &[Stmt]) -> bool {
        let mut found = false;
        let mut note = |array: &ArrayId| {
            found |= !self.is_shared(*array) && self.ordered[array.0 as usize];
        };
        Stmt::visit_all(body, &mut |stmt| {
            if let Stmt::Store(array, ..) | Stmt::Reduce(_, array, ..) = stmt {
                note(array);
            }
            for expr in stmt.exprs() {
                expr.visit(&mut |part| match part {
                    // What is read here may have been written by another lane.
                    Expr::Load(array, _) if self.function.arrays[array.0 as usize].written => {
                        note(array);
                    }
                    _ => {}
                });
            }
        });
        found
    }

    /// A statement that one lane runs.
    fn by_one(&mut self, array: ArrayId, text: &str) {
        let alone = self.lanes.is_none() || self.within || self.reach(array) == Reach::Counts;
        if alone {
            return self.line(text);
        }
        let meets = !self.is_shared(array) && self.ordered[array.0 as usize];
        if meets && self.lanes == Some(Width::Given) {
            self.refuse("lanes of tables write nothing for each other");
        }
        if meets {
            self.line("__syncwarp(lanes);");
        }
        self.line(&format!("if (lane == 0) {text}"));
        if meets {
            self.line("__syncwarp(lanes);");
        }
    }

    fn store(&mut self, array: ArrayId, index: &Expr, value: &Expr) {
        if self.reach(array) == Reach::Dropped {
            return;
        }
        let elem = self.elem(array);
        if self.is_marks(array) {
            return self.mark(array, index, value);
        }
        if self.is_shared(array) {
            let old = Expr::Load(array, Box::new(index.clone()));
            // Otherwise, the loop owns the element.
            if value.loads(array) {
                self.need(Sections::ATOMICS);
                let place = self.place(array, index);
                self.old = Some(old);
                let value = self.expr(value);
                self.old = None;
                let ty = variable(elem.ty());
                let text = format!(
                    "ust_atomic_update(&{place}, [&]({ty} old) {{ return ({ty})({value}); }});"
                );
                return self.by_one(array, &text);
            }
        }
        let place = self.place(array, index);
        let value = self.value(elem, value);
        self.by_one(array, &format!("{place} = {value};"));
    }

    fn reduce(&mut self, op: BinOp, array: ArrayId, index: &Expr, value: &Expr) {
        if self.reach(array) == Reach::Dropped {
            return;
        }
        let elem = self.elem(array);
        let place = self.place(array, index);
        let ty = elem.ty();
        if self.is_shared(array) {
            self.need(Sections::ATOMICS);
            let Some(name) = word(op) else {
                return self.refuse(&format!("there is no atomic `{op}`"));
            };
            let value = self.expr(value);
            let held = variable(ty);
            // A constant has the type of the element.
            let text = format!("ust_atomic_{name}(&{place}, ({held})({value}));");
            return self.by_one(array, &text);
        }
        let text = match op {
            BinOp::Add | BinOp::Mul if self.assigns(ty) && !is_half(elem) => {
                format!("{place} {op}= {};", self.expr(value))
            }
            op => {
                let value = self.expr(value);
                let (c, held) = (stored(elem), variable(ty));
                let get = if is_half(elem) { "ust_get(at)" } else { "at" };
                let sum =
                    self.combined(op, ty, &format!("({held}){get}"), &format!("({held})({value})"));
                let sum = self.put(elem, &sum);
                format!("{{ {c}& at = {place}; at = {sum}; }}")
            }
        };
        self.by_one(array, &text);
    }

    /// `a op b`, of texts of this type.
    fn combined(&mut self, op: BinOp, ty: Ty, a: &str, b: &str) -> String {
        let truth = ty == Ty::Bool || ty == Ty::Val(ust_level_api::Dtype::Bool);
        match op {
            BinOp::Add | BinOp::Max | BinOp::Or if truth => format!("{a} || {b}"),
            BinOp::Mul | BinOp::Min | BinOp::And if truth => format!("{a} && {b}"),
            BinOp::Add | BinOp::Mul if ty == Ty::Int || self.has_sign(ty) => {
                format!("{a} {op} {b}")
            }
            BinOp::BitAnd => format!("{a} & {b}"),
            op => {
                self.need(match ty {
                    Ty::Val(dtype) if dtype.is_float() => Sections::FLOATS,
                    _ => Sections::INTEGERS,
                });
                let name = match op {
                    BinOp::Add => "add",
                    BinOp::Mul => "mul",
                    BinOp::Min => "minimum",
                    BinOp::Max => "maximum",
                    op => {
                        self.refuse(&format!("nothing is combined by `{op}`"));
                        "add"
                    }
                };
                format!("ust_{name}({a}, {b})")
            }
        }
    }

    /// Whether `+=` and `*=` are operators of C++ for a type.
    fn assigns(&self, ty: Ty) -> bool {
        ty == Ty::Int || matches!(ty, Ty::Val(dtype) if dtype.is_float())
    }

    /// Whether `+` and `*` are operators of C++ for a type.
    fn has_sign(&self, ty: Ty) -> bool {
        match ty {
            Ty::Int => true,
            Ty::Bool => false,
            Ty::Val(dtype) => dtype.is_float() || dtype.is_complex(),
        }
    }

    fn place(&mut self, array: ArrayId, index: &Expr) -> String {
        let index = self.index(array, index);
        format!("{}[{index}]", self.array(array))
    }

    /// The value as it is stored.
    fn value(&mut self, elem: Elem, value: &Expr) -> String {
        let text = self.expr(value);
        self.put(elem, &text)
    }

    fn put(&mut self, elem: Elem, value: &str) -> String {
        match elem {
            elem if is_half(elem) => {
                self.need(Sections::HALVES);
                format!("ust_put<{}>({value})", stored(elem))
            }
            Elem::Index(kind) if kind.bits() < 64 => format!("({})({value})", stored(elem)),
            _ => value.to_owned(),
        }
    }

    fn need_variable(&mut self, var: Var) {
        if matches!(self.function.vars[var.0 as usize].ty, Ty::Val(dtype) if dtype.is_complex()) {
            self.need(Sections::COMPLEX);
        }
    }

    /// The first value of a variable, whose type is known.
    fn initial(&mut self, value: &Expr) -> String {
        let text = self.expr(value);
        match (value, text.strip_prefix("(i64)")) {
            (Expr::Load(..), Some(rest)) => rest.to_owned(),
            _ => text,
        }
    }

    /// The end of a loop. That of a variable which changes is named, since it is evaluated once.
    fn end(&mut self, hi: &Expr) -> String {
        let text = self.initial(hi);
        match hi {
            Expr::Var(var) if self.assigned[var.0 as usize] => format!("({text})"),
            _ => text,
        }
    }
}

/// The operator in the names of functions that combine values of lanes, or into memory.
fn word(op: BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Add => "add",
        BinOp::Mul => "mul",
        BinOp::Min => "min",
        BinOp::Max => "max",
        BinOp::And | BinOp::BitAnd => "and",
        BinOp::Or => "or",
        _ => return None,
    })
}
