//! Solvers, against dense oracles and by residuals that are measured without them.

#[cfg(feature = "faer")]
mod direct;
mod eigenvalues;
mod oracle;
mod singular;
mod stops;
mod systems;
mod triangles;
