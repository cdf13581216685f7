//! A layout's rule as code that can be pasted into a program: Python, Rust, Go and shell.
