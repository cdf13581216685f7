//! Reads a list of NUL-terminated paths in the trees.

use std::path::{Component, Path, PathBuf};

use crate::cmd::listed::{Item, List};
use crate::exit::CliError;
use crate::ui::message::quoted;

type Below = (u32, Vec<u8>);
/// Kind and message of an error.
type Refused = (&'static str, String);

/// Returns each path as the number of its tree and the path below it, and apart from these the paths that belong to
/// no tree. A tree is recognized by its name and by its real path, since a list may have either. `..` is refused only
/// after a name, because that may be a link, and then it leads elsewhere. One bad path does not end the list; an
/// empty list is an error, because it would otherwise look like a tree without changes.
pub(super) fn read(list: &Path, roots: &[PathBuf]) -> Result<(Vec<Below>, Vec<Refused>), CliError> {
    let mut items = List::open(list)?;
    let here = std::env::current_dir().unwrap_or_default();
    let (mut below, mut unknown) = (Vec::new(), Vec::new());
    // The current directory's path never contains a symbolic link.
    let named = |root: &PathBuf| std::path::absolute(root).unwrap_or_else(|_| root.clone());
    let real = |root: &PathBuf| std::fs::canonicalize(root).unwrap_or_else(|_| root.clone());
    let roots: Vec<[PathBuf; 2]> = roots.iter().map(|root| [named(root), real(root)]).collect();
    let refused = |why: &'static str, path: &Path| (why, format!("compare {}: {why}", quoted(path)));
    while let Some(item) = items.next_item()? {
        let path = match item {
            Item::Path(path) if path.is_empty() => continue,
            Item::Path(path) => PathBuf::from(&*megadir::names::to_os(&path)?),
            Item::Bad(message) => {
                unknown.push(("not a path that ends with NUL", message));
                continue;
            }
        };
        let Some(absolute) = absolute(&here, &path).map(as_named) else {
            unknown.push(refused("'..' after a name may lead anywhere; give the path without it", &path));
            continue;
        };
        let found = roots.iter().enumerate().find_map(|(index, names)| {
            let below = names.iter().find_map(|root| absolute.strip_prefix(root).ok())?;
            Some((index as u32, below))
        });
        match found {
            Some((root, path)) => {
                let names: Vec<&[u8]> =
                    path.components().map(|name| megadir::names::from_os(name.as_os_str())).collect();
                below.push((root, names.join(&b'/')));
            }
            None => unknown.push(refused("not below a tree of the inventory", &path)),
        }
    }
    if below.is_empty() && unknown.is_empty() {
        let list = quoted(list);
        return Err(CliError::usage(format!(
            "--files0-from {list}: contains no path (each must end with NUL)"
        )));
    }
    Ok((below, unknown))
}

/// `None` if `..` follows a name, which may be a symbolic link.
fn absolute(here: &Path, path: &Path) -> Option<PathBuf> {
    let (mut absolute, mut is_named) = (here.to_owned(), false);
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => absolute.push(component),
            Component::CurDir => {}
            Component::ParentDir if is_named => return None,
            Component::ParentDir => {
                absolute.pop();
            }
            Component::Normal(name) => {
                absolute.push(name);
                is_named = true;
            }
        }
    }
    Some(absolute)
}

/// Windows ignores case, but rows compare bytes. For a deleted entry only the parent can be resolved.
fn as_named(path: PathBuf) -> PathBuf {
    if !cfg!(windows) {
        return path;
    }
    let is_link = path.symlink_metadata().is_ok_and(|status| status.is_symlink());
    if !is_link && let Ok(named) = std::fs::canonicalize(&path) {
        return named;
    }
    match (path.parent().map(std::fs::canonicalize), path.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::absolute;
    use std::path::Path;

    #[test]
    fn paths_are_relative_to_the_current_directory_and_resolve() {
        let of = |path: &str| absolute(Path::new("/here/below"), Path::new(path));
        for (path, expected) in [
            ("a/b", "/here/below/a/b"),
            ("./a/./b/", "/here/below/a/b"),
            ("../a", "/here/a"),
            ("../../../a", "/a"),
            (".", "/here/below"),
            ("/a", "/a"),
            ("/../a", "/a"),
        ] {
            assert_eq!(of(path).as_deref(), Some(Path::new(expected)), "{path}");
        }
        assert_eq!((of("a/../b"), of("/a/..")), (None, None));
    }
}
