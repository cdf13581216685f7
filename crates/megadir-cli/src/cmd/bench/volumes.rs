//! Several directories (`--dir A --dir B`) as volumes to compare: labels, facts and refusals.
//!
//! The label of a volume is in every table, so it is the last component of the path in which all
//! volumes differ:
//!
//! ```text
//! /mnt/fast/data  /mnt/slow/data    last component: equal
//!      ^^^^            ^^^^          second last:    fast, slow
//! ```

use std::path::{Path, PathBuf};

use megadir_bench::{LabFacts, volume_facts};
use megadir_record::{Place, Plan, redact};

use crate::exit::CliError;

/// Columns of a label that tables still have room for.
const LABEL_MAX: usize = 24;

/// Two paths of one directory are compared after resolving links: as two volumes they would show a
/// difference of nothing, which a reader could take for the noise of the disk.
pub(crate) fn facts(dirs: &[PathBuf], share: bool, lab: Option<&str>) -> Result<LabFacts, CliError> {
    if let Some(option) = lab {
        let times = dirs.len();
        return Err(CliError::usage(format!(
            "{option} creates file systems in one directory, and --dir is given {times} times"
        )));
    }
    let whole = dirs.iter().map(|directory| whole(directory)).collect::<Result<Vec<PathBuf>, _>>()?;
    if let Some((place, twice)) =
        whole.iter().enumerate().find(|(place, directory)| whole[..*place].contains(directory))
    {
        return Err(CliError::usage(format!(
            "--dir '{}' and an earlier --dir are the same directory, '{}'",
            dirs[place].display(),
            twice.display()
        )));
    }
    let labels = if share { numbered(whole.len()) } else { labels(&whole) };
    let file_systems = volume_facts(dirs, &labels)?;
    Ok(LabFacts { file_systems, room_bytes: 0 })
}

fn whole(directory: &Path) -> Result<PathBuf, CliError> {
    directory.canonicalize().map_err(|error| {
        let reason = crate::ui::message::reason(&error);
        CliError::nothing_ran(format!("cannot open '{}': {reason}", directory.display()))
    })
}

fn numbered(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("volume {number}")).collect()
}

/// Labels come from one place of all paths, counted from the end. If no place suits, the volumes are
/// numbered, as in an anonymous record, whose labels may not show any part of a path.
fn labels(whole: &[PathBuf]) -> Vec<String> {
    let part = |path: &PathBuf, above: usize| {
        Some(path.components().nth_back(above)?.as_os_str().to_string_lossy().into_owned())
    };
    let parts = |above: usize| whole.iter().map(|path| part(path, above)).collect::<Option<Vec<String>>>();
    let suits = |labels: &Vec<String>| {
        let differ = labels.iter().enumerate().all(|(place, label)| !labels[..place].contains(label));
        differ && labels.iter().all(|label| is_plain(label))
    };
    (0..).map_while(parts).find(suits).unwrap_or_else(|| numbered(whole.len()))
}

fn is_plain(label: &str) -> bool {
    let letter = |letter: char| letter.is_alphanumeric() || "._-".contains(letter);
    !label.is_empty() && label.chars().count() <= LABEL_MAX && label.chars().all(letter)
}

/// Directories for a resumed run. Volumes have an order in the plan, so that all of them are given or none;
/// the labels of the record stay, even if a directory has moved since.
pub(crate) fn of_resumed(plan: &mut Plan, dirs: &[PathBuf]) -> Result<(), String> {
    if !plan.compares_directories() {
        return match dirs.len() {
            0 | 1 => Ok(()),
            several => Err(format!("it has one directory, and --dir is given {several} times")),
        };
    }
    let volumes = plan.file_systems.len();
    if !dirs.is_empty() && dirs.len() != volumes {
        return Err(format!("it compares {volumes} volumes: give --dir {volumes} times, in its order"));
    }
    for (place, of) in plan.file_systems.iter_mut().enumerate() {
        let Place::Directory { path } = &mut of.place else { continue };
        match dirs.get(place) {
            Some(directory) => *path = directory.to_string_lossy().into_owned(),
            None if path == redact::REDACTED => {
                return Err(format!(
                    "it does not name its directories; give --dir {volumes} times, in its order"
                ));
            }
            None => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_the_parts_of_paths_that_differ() {
        let of = |paths: &[&str]| labels(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(of(&["/mnt/local", "/mnt/nfs"]), ["local", "nfs"]);
        assert_eq!(of(&["/mnt/local/data", "/mnt/nfs/data"]), ["local", "nfs"]);
        assert_eq!(of(&["/a/x/data", "/b/x/data", "/c/y/data"]), ["a", "b", "c"]);
        assert_eq!(of(&["/", "/mnt"]), ["volume 1", "volume 2"]);
        assert_eq!(of(&["/mnt/a b", "/mnt/c,d"]), ["volume 1", "volume 2"]);
    }
}
