//! The parameters and arrays of loops.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use ust_format::{ExprKey, IndexExpr};
use ust_level_api::ir::{ArrayId, Builder, Elem, Expr, Ty};
use ust_level_api::{IndexKind, Interval};

use super::{Emit, Input, table};
use crate::plan::output::Output;
use crate::provider::plan::{Array, Parameter};
use crate::walk::bounds::Sizes;
use crate::walk::emit as index;
use crate::walk::operand::{ItemSize, Operand, can_be_negative};

impl<'a> Emit<'a> {
    /// Declares parameters and arrays: also those that bound a part. `longest`: an array behind those of the operands.
    pub(super) fn declared(
        input: &'a Input<'_>,
        longest: Option<&mut Option<ArrayId>>,
    ) -> (Builder, Interval, Self) {
        let mut b = Builder::new(input.name);
        let mut parameters = Vec::new();
        let mut int = |b: &mut Builder, name: String, parameter: Parameter| {
            parameters.push(parameter);
            b.param(&name, Ty::Int)
        };
        let extents: Vec<Expr> = (0..input.indices.len())
            .map(|v| int(&mut b, format!("n_{}", input.indices[v]), Parameter::Extent(v)))
            .collect();
        let mut domains: HashMap<ExprKey, (Expr, Expr)> = HashMap::new();
        let mut sizes = Vec::new();
        for (at, access) in input.accesses.iter().enumerate() {
            let mut of = Sizes {
                extents: access.dims.iter().map(|&v| extents[v].clone()).collect(),
                sizes: Vec::new(),
                lowers: Vec::new(),
                items: Vec::new(),
            };
            for (l, level) in access.levels.iter().enumerate() {
                let domain = domains.entry(level.key.clone()).or_insert_with(|| {
                    let size = match &level.expr {
                        IndexExpr::Var(v) => extents[*v].clone(),
                        // A constant of the format, the same for every shape.
                        IndexExpr::Mod(_, m) if matches!(**m, IndexExpr::Const(_)) => index(m, &[]),
                        _ => int(
                            &mut b,
                            format!("size_{at}_{l}"),
                            Parameter::Size { operand: at, level: l },
                        ),
                    };
                    let lower = match can_be_negative(&level.expr) {
                        true => int(
                            &mut b,
                            format!("lower_{at}_{l}"),
                            Parameter::Lower { operand: at, level: l },
                        ),
                        false => Expr::Int(0),
                    };
                    (size, lower)
                });
                of.sizes.push(domain.0.clone());
                of.lowers.push(domain.1.clone());
            }
            let item_sizes = ItemSize::all(input.tensors[at].format()).into_iter();
            of.items = item_sizes
                .map(|size| {
                    let name = size.name(&input.names[at]);
                    int(&mut b, name, Parameter::Item { operand: at, size })
                })
                .collect();
            sizes.push(of);
        }
        let mut result_domains = Vec::new();
        for (l, expr) in input.sink.levels.iter().enumerate() {
            let domain = domains.entry(ExprKey::new(expr)).or_insert_with(|| {
                let size = match expr {
                    IndexExpr::Var(v) => extents[*v].clone(),
                    IndexExpr::Mod(_, m) if matches!(**m, IndexExpr::Const(_)) => index(m, &[]),
                    _ => int(&mut b, format!("size_{l}"), Parameter::ResultSize(l)),
                };
                let lower = match can_be_negative(expr) {
                    true => int(&mut b, format!("lower_{l}"), Parameter::ResultLower(l)),
                    false => Expr::Int(0),
                };
                (size, lower)
            });
            result_domains.push(domain.clone());
        }
        let tables = input.order.tables.len();
        let region = table::Tables::declare_region(&mut b, &mut parameters, tables);
        let mut int = |b: &mut Builder, name: &str, parameter: Parameter| {
            parameters.push(parameter);
            b.param(name, Ty::Int)
        };
        let part = Interval {
            lo: int(&mut b, "part_lo", Parameter::PartLo),
            hi: int(&mut b, "part_hi", Parameter::PartHi),
        };
        let mut operands = Vec::new();
        let mut arrays = Vec::new();
        for (operand, of) in sizes.into_iter().enumerate() {
            let tensor = &input.tensors[operand];
            operands.push(Operand::with_sizes(&mut b, &input.names[operand], tensor, of));
            for (level, description) in tensor.format().descriptions().iter().enumerate() {
                let each = 0..description.arrays.len();
                arrays.extend(each.map(|array| Array::Level { operand, level, array }));
            }
        }
        let values = (0..operands.len()).map(|at| {
            arrays.push(Array::Values(at));
            let elem = Elem::Value(input.tensors[at].dtype());
            b.array(&format!("{}_val", input.names[at]), elem, false)
        });
        let values = values.collect();
        if let Some(longest) = longest {
            *longest = Some(b.array("longest", Elem::Index(IndexKind::I64), true));
        }
        let output = Output::declare(&mut b, input, result_domains, &mut arrays);
        let tables = table::Tables::declare(&mut b, region, tables);
        let of_tables = input.order.tables.iter();
        arrays.extend(of_tables.map(|of| Array::Table { operand: of.at, level: of.level }));
        let emit = Emit {
            input,
            operands,
            values,
            extents,
            part: None,
            split: None,
            bounds: None,
            output,
            tables,
            guarded: false,
            parameters,
            arrays,
            collected: RefCell::default(),
            sets_all: Cell::new(false),
            in_memory: Cell::new(false),
            speculative: Cell::new(false),
        };
        (b, part, emit)
    }
}
