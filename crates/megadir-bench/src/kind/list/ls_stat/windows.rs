//! Windows: `GetFileAttributesExW` with the whole path of every entry, for programs that go file by file. There
//! is no stage for extended attributes: no listing program reads their equivalent, access control lists.

use std::io;
use std::os::windows::ffi::OsStrExt;

use megadir::Dir;
use megadir::names::to_wide;
use megadir_record::Stage;
use megadir_sys::windows::facts;

use super::{Asked, STEP};
use crate::control::{RunControl, WorkError};
use crate::kind::list::name_arena::{Attributes, NameArena};

const NOT_FOUND: i32 = 2;

pub(crate) fn lacks(stage: Stage) -> Option<String> {
    let lacking = stage == Stage::ExtendedAttributes;
    lacking.then(|| "extended attributes are queried as in ls, on Linux".to_owned())
}

/// Vanished entries keep empty attributes and are counted; any other error ends the listing.
pub(crate) fn ask(
    directory: &Dir,
    arena: &mut NameArena,
    control: RunControl<'_>,
) -> Result<Asked, WorkError> {
    let failed = |source| WorkError::Stage { stage: "GetFileAttributesExW", source };
    let mut path: Vec<u16> = directory.present_path()?.as_os_str().encode_wide().collect();
    path.push(u16::from(b'\\'));
    let prefix = path.len();
    let mut attributes = Vec::with_capacity(arena.len());
    let mut vanished = 0;
    for (index, name) in arena.names().enumerate() {
        if index % STEP == 0 {
            control.check()?;
        }
        path.truncate(prefix);
        append(&mut path, name).map_err(failed)?;
        attributes.push(match facts::of_terminated(&path) {
            Ok(facts) => facts,
            Err(error) if error.raw_os_error() == Some(NOT_FOUND) => {
                vanished += 1;
                Attributes::default()
            }
            Err(error) => return Err(failed(error)),
        });
    }
    arena.attributes = attributes;
    Ok(Asked { calls: arena.len() as u64, vanished })
}

/// Always fails: the stage does not exist here, see [`lacks`].
pub(crate) fn ask_extended(_: &Dir, _: &mut NameArena, _: RunControl<'_>) -> Result<Asked, WorkError> {
    let source = io::ErrorKind::Unsupported.into();
    Err(WorkError::Stage { stage: "extended attributes", source })
}

#[inline]
fn append(path: &mut Vec<u16>, name: &[u8]) -> io::Result<()> {
    match std::str::from_utf8(name) {
        Ok(text) => path.extend(text.encode_utf16()),
        Err(_) => path.extend(to_wide(name).ok_or(io::ErrorKind::InvalidFilename)?),
    }
    path.push(0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use megadir::ReadOptions;

    use super::*;

    #[test]
    fn what_is_told_is_told_of_the_right_entry_and_what_vanishes_is_counted() {
        let parent = tempfile::tempdir().unwrap();
        for (name, text) in [("one", "1"), ("two", ""), ("thr\u{e4}\u{1f600}", "12345")] {
            std::fs::write(parent.path().join(name), text).unwrap();
        }
        let directory = Dir::open(parent.path()).unwrap();
        let options = ReadOptions { buffer_bytes: 32 << 10, threads: 1, shares: 1, resolve_types: false };
        let mut reader = megadir::backend("by-handle").unwrap().open(&directory, &options).unwrap();
        let mut arena = NameArena::default();
        while let Some(batch) = reader.next_batch().unwrap() {
            arena.add(&batch);
        }
        arena.sort();
        std::fs::remove_file(parent.path().join("two")).unwrap();
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let asked = ask(&directory, &mut arena, RunControl { stop: &stop, heartbeat: &heartbeat }).unwrap();
        assert_eq!(asked, Asked { calls: 3, vanished: 1 });
        let sizes: Vec<u64> = arena.attributes.iter().map(|facts| facts.size_bytes).collect();
        assert_eq!(sizes, [1, 5, 0]);
    }
}
