//! Solvers, against dense oracles and by residuals that are measured without them.

mod oracle;
mod stops;
mod systems;
mod triangles;
