//! Development tasks: ci, tidy, goldens, speed.

fn main() {}
