//! Folder of a record without `--output`: the current directory. In a checkout of this project, whose checks read every file, the user's state
//! directory takes its place.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Exists afterwards. Empty for the current directory, so that names stay short.
pub(super) fn folder() -> io::Result<PathBuf> {
    let is_checkout = std::env::current_dir().is_ok_and(|current| is_in_checkout(&current));
    match state(|name| std::env::var_os(name)).filter(|_| is_checkout) {
        Some(folder) => std::fs::create_dir_all(&folder).map(|()| folder),
        None => Ok(PathBuf::new()),
    }
}

fn is_in_checkout(directory: &Path) -> bool {
    directory.ancestors().any(|above| above.join("crates/megadir-cli/Cargo.toml").is_file())
}

/// By the XDG base directory specification, which ignores relative paths.
fn state(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = match cfg!(windows) {
        true => absolute("LOCALAPPDATA"),
        false => {
            absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        }
    };
    state.map(|state| state.join("megadir"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::state;

    #[test]
    fn the_state_directory_is_absolute_or_unknown() {
        let of = |xdg: Option<&str>, home: Option<&str>| {
            state(|name| if name == "HOME" { home } else { xdg }.map(Into::into))
        };
        assert_eq!(of(Some("/s"), Some("/h")), Some("/s/megadir".into()));
        assert_eq!(of(Some("s"), Some("/h")), Some("/h/.local/state/megadir".into()));
        assert_eq!(of(None, Some("")), None);
        assert_eq!(of(None, None), None);
    }
}
