//! Talking to the user: output to stdout, messages to stderr, escaping on terminals.

pub(crate) mod escape;
#[macro_use]
pub(crate) mod message;
pub(crate) mod output;
pub(crate) mod paragraph;
pub(crate) mod sizes;

/// Returns whether the locale's character set is UTF-8.
pub(crate) fn is_unicode() -> bool {
    let value = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    cfg!(windows)
        || value.is_some_and(|value| {
            let value = value.to_ascii_lowercase();
            value.contains("utf-8") || value.contains("utf8")
        })
}
