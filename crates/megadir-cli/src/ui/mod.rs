//! Talking to the user: output to stdout, messages to stderr, escaping on terminals.

pub(crate) mod escape;
#[macro_use]
pub(crate) mod message;
pub(crate) mod output;
pub(crate) mod sizes;
