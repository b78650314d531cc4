//! From a checked assignment to loops.
//!
//! | module | what |
//! |---|---|
//! | `stage` | an assignment in stages, each with one reduction at most |
//! | `divide` | stages with too many sparse operands, in smaller ones |
//! | `path` | products of several tensors, some of them before the others |
//! | `rest` | reductions over what is not stored |
//! | `simplify` | what remains of a term where tensors have nothing stored |
//! | `access` | a use of a tensor: its levels as expressions over index variables |
//! | `order` | which loops, in which order, over which levels; which tensors are converted first |
//! | `sink` | how results are collected |
//! | `infer` | the format of a result that nobody named |
//! | `along` | results that store what an operand stores, with other values |
//! | `choose` | all of these together: the plan of a stage |
//! | `emit`, `output` | the loops, as IR |
//! | `split` | the outermost loop in parts of as many stored elements |
//! | `frame` | what follows from the shapes of the operands |
//! | `run`, `collect` | a planned stage on tensors, and what its loops collect |
//! | `unsorted` | rows in any order, sorted and combined |
//! | `execute` | an assignment, stage by stage |
//! | `explain` | what a plan does, for people |

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
mod unsorted;
