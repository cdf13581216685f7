//! Paths from a list: each ended by NUL, below one of the trees.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::exit::CliError;
use crate::ui::message::quoted;

/// A path by the index of its tree and relative to it.
type Below = (u32, Vec<u8>);

/// Reads the list; returns the paths by tree, and those that are below none.
pub(super) fn read(list: &Path, roots: &[PathBuf]) -> Result<(Vec<Below>, Vec<PathBuf>), CliError> {
    let mut bytes = Vec::new();
    let read = match list == Path::new("-") {
        true => std::io::stdin().read_to_end(&mut bytes),
        false => std::fs::File::open(list).and_then(|mut file| file.read_to_end(&mut bytes)),
    };
    read.map_err(|error| CliError::from(megadir::Error::io("read", list, error)))?;
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let roots: Vec<PathBuf> = roots.iter().map(|root| absolute(root)).collect();
    let (mut below, mut unknown) = (Vec::new(), Vec::new());
    for path in bytes.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
        let path = PathBuf::from(&*megadir::names::to_os(path)?);
        let found = roots.iter().enumerate().find_map(|(index, root)| {
            Some((index as u32, absolute(&path).strip_prefix(root).ok()?.to_owned()))
        });
        match found {
            Some((root, path)) => {
                let path = megadir::names::from_os(path.as_os_str());
                below.push((root, path.strip_suffix(b"/").unwrap_or(path).to_vec()));
            }
            None => unknown.push(path),
        }
    }
    if below.is_empty() && unknown.is_empty() {
        let list = quoted(list);
        return Err(CliError::usage(format!("--files0-from {list}: no path in it, each is ended by NUL")));
    }
    Ok((below, unknown))
}
