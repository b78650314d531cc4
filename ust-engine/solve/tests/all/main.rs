//! Solvers, against dense oracles and by residuals that are measured without them.

mod eigenvalues;
mod oracle;
mod stops;
mod systems;
mod triangles;
