//! Terminal and pipe output: standard output, messages, escaping, exit codes.

// First: modules after it see its macro.
#[macro_use]
pub(crate) mod message;

pub(crate) mod escape;
pub(crate) mod exit;
pub(crate) mod new_file;
pub(crate) mod object;
pub(crate) mod output;
pub(crate) mod screen;
pub(crate) use megadir::sizes;

/// By `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR`, and otherwise on terminals.
pub(crate) fn uses_color(is_terminal: bool) -> bool {
    let is = |name: &str, word: &str| std::env::var_os(name).is_some_and(|value| value == word);
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if set("NO_COLOR") {
        return false;
    }
    let is_forced = set("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0");
    is_forced || is_terminal && !is("CLICOLOR", "0") && !is("TERM", "dumb") && takes_escapes()
}

/// `false` if a Windows console would print escape sequences.
#[cfg(windows)]
fn takes_escapes() -> bool {
    anstyle_query::windows::enable_ansi_colors().unwrap_or_default()
}

#[cfg(not(windows))]
fn takes_escapes() -> bool {
    true
}

/// By the first locale variable that is set, in the order of POSIX. Consoles of Windows take Unicode.
pub(crate) fn is_unicode() -> bool {
    let given = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(given).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    cfg!(windows) || locale.contains("utf-8") || locale.contains("utf8")
}
