//! Talking to the user: output to stdout, messages to stderr, escaping on terminals.

pub(crate) mod escape;
pub(crate) mod exit;
#[macro_use]
pub(crate) mod message;
pub(crate) mod output;
pub(crate) mod paragraph;
pub(crate) mod sizes;

/// Has the terminal on standard output take escape sequences, where it has to be told; `false` where it does not and would show them.
pub(crate) fn takes_escapes() -> bool {
    #[cfg(windows)]
    {
        anstyle_query::windows::enable_ansi_colors().unwrap_or_default()
    }
    #[cfg(not(windows))]
    {
        true
    }
}

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
