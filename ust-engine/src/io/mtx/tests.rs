//! Matrix Market as specification.
