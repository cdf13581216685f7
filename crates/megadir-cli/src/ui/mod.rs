//! Talking to the user: output to stdout, escaping on terminals.

pub(crate) mod escape;
pub(crate) mod output;
