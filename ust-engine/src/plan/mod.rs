//! From a checked assignment to loops.
//!
//! | module | what |
//! |---|---|
//! | `stage` | an assignment divided into stages, each with at most one reduction |
//! | `divide` | stages with too many sparse operands, divided into smaller ones |
//! | `path` | contraction paths: which factors of a product are multiplied first |
//! | `rest` | reductions over unstored coordinates |
//! | `simplify` | a term where some tensors store nothing |
//! | `access` | an access to a tensor: its levels as expressions over index variables |
//! | `order` | the order of loops, the levels that each walks, the tensors that are converted first |
//! | `sink` | how results are collected |
//! | `infer` | the format of a result for which the caller names none |
//! | `along` | loops over the values of one operand alone, such as `abs(A(i,j))` |
//! | `choose` | the plan of a stage |
//! | `emit`, `output` | the loops, as IR |
//! | `split` | the outermost loop cut into parts with equally many stored elements |
//! | `frame` | sizes that follow from the shapes of the operands |
//! | `run`, `collect` | runs a planned stage on tensors; memory for its rows |
//! | `unsorted` | rows in any order, sorted and combined |
//! | `execute` | runs an assignment, stage by stage |
//! | `explain` | a description of a plan, for people |

pub(crate) mod access;
mod along;
pub(crate) mod choose;
mod collect;
mod divide;
pub(crate) mod emit;
pub(crate) mod execute;
mod explain;
mod frame;
mod infer;
pub(crate) mod order;
mod output;
mod path;
mod rest;
pub(crate) mod run;
pub(crate) mod simplify;
pub(crate) mod sink;
pub(crate) mod split;
pub(crate) mod stage;
