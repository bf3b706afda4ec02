//! Assay: the load lab.
fn main() {}
