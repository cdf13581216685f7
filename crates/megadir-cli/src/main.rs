//! megadir: measure and work on directories with millions of entries.

fn main() {}
