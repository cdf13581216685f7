//! Terminal and pipe output: standard output, messages, escaping, exit codes.

pub(crate) mod escape;
pub(crate) mod exit;
#[macro_use]
pub(crate) mod message;
pub(crate) mod new_file;
pub(crate) mod output;
pub(crate) mod paragraph;
pub(crate) mod sizes;

/// `false` if a Windows console would print escape sequences.
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

/// `true` if the locale's character set is UTF-8.
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
