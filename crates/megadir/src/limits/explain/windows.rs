//! Explains the error of a create on Windows. NTFS reports "disk full" for a volume and for a quota; free
//! space for this user and in total tells them apart.

use std::io;
use std::os::windows::io::{AsHandle, BorrowedHandle};
use std::path::Path;

use megadir_sys::windows::volume::{self, Size};

use super::{Explanation, Step};
use crate::dir::Dir;
use crate::limits::cure::{self, Cure};
use crate::limits::{Limit, QuotaOf};

/// `ERROR_HANDLE_DISK_FULL`, `ERROR_DISK_FULL`.
const FULL: [i32; 2] = [39, 112];
/// `ERROR_DISK_QUOTA_EXCEEDED`, and `ERROR_NOT_ENOUGH_QUOTA` from `STATUS_QUOTA_EXCEEDED`.
const QUOTA: [i32; 2] = [1295, 1816];
/// `ERROR_FILE_SYSTEM_LIMITATION`: NTFS cannot describe the file any further.
const LIMITATION: i32 = 665;
const LINKS: i32 = 1142; // ERROR_TOO_MANY_LINKS
/// `ERROR_CANNOT_MAKE`: a FAT directory is full.
const CANNOT_MAKE: i32 = 82;
const CLUSTERS_LEFT_MAX: i64 = 16;

/// Finds the limit behind a refused create or write; `None` if no limit gives this error. Call it at once:
/// space freed by other processes hides the evidence.
pub fn explain(directory: &Dir, step: Step, error: &io::Error) -> Option<Explanation> {
    explain_at(directory.as_handle(), directory.path(), step, error)
}

/// As [`explain`], for a directory that is already open; `_path` is for messages.
pub fn explain_at(
    directory: BorrowedHandle<'_>,
    _path: &Path,
    step: Step,
    error: &io::Error,
) -> Option<Explanation> {
    let code = error.raw_os_error()?;
    decide(code, step, volume::size(directory).ok())
}

fn decide(code: i32, step: Step, room: Option<Size>) -> Option<Explanation> {
    if QUOTA.contains(&code) {
        return Some(quota(room));
    }
    if FULL.contains(&code) {
        return Some(match room {
            Some(size) if size.free_to_caller <= CLUSTERS_LEFT_MAX && size.free > CLUSTERS_LEFT_MAX => {
                quota(room)
            }
            _ => full(room),
        });
    }
    let (limit, evidence, cure) = match (code, step) {
        // A file has a limited number of 1 KiB records.
        (LIMITATION, Step::Write) => (Limit::DirectorySize, FRAGMENTS, Cure::new(COPY_FRAGMENTS)),
        (LIMITATION, _) => (Limit::DirectorySize, FRAGMENTS, cure::spread()),
        (LINKS, _) => (Limit::LinkCount, NAMES, Cure::new("copy the file instead of adding a name")),
        (CANNOT_MAKE, Step::Create | Step::MakeDirectory) => {
            (Limit::DirectorySize, "the directory takes no more entries (ERROR_CANNOT_MAKE)", cure::spread())
        }
        _ => return None,
    };
    Some(Explanation::new(limit, evidence, vec![cure]))
}

const FRAGMENTS: &str =
    "the file system cannot describe more fragments of the directory or file (ERROR_FILE_SYSTEM_LIMITATION)";
const COPY_FRAGMENTS: &str = "copy the file: the copy has fewer fragments";
const NAMES: &str = "the file has the maximum number of names (1024 on NTFS)";

fn full(room: Option<Size>) -> Explanation {
    let figures = room.map_or_else(String::new, |size| {
        format!(" ({} of {} clusters free)", size.free_to_caller, size.clusters)
    });
    let cures = vec![Cure::new("remove unneeded files, or extend the volume")];
    Explanation::new(Limit::Blocks, format!("the volume is full{figures}"), cures)
}

fn quota(room: Option<Size>) -> Explanation {
    let figures = room.map_or_else(String::new, |size| {
        format!(" ({} clusters left of it, though {} of the volume are free)", size.free_to_caller, size.free)
    });
    let cures = vec![Cure::new("have an administrator raise it (fsutil quota query, fsutil quota modify)")];
    Explanation::new(Limit::Quota(QuotaOf::Hidden), format!("a quota is used up{figures}"), cures)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(free_to_caller: i64, free: i64) -> Option<Size> {
        Some(Size { clusters: 1000, free_to_caller, free, sectors_per_cluster: 8, bytes_per_sector: 512 })
    }

    #[test]
    fn quota_is_distinguished_from_a_full_volume() {
        let limit = |code, room| decide(code, Step::Create, room).map(|explanation| explanation.limit);
        assert_eq!(limit(112, size(0, 0)), Some(Limit::Blocks));
        assert_eq!(limit(39, size(3, 500)), Some(Limit::Quota(QuotaOf::Hidden)));
        assert_eq!(limit(112, None), Some(Limit::Blocks));
        assert_eq!(limit(1295, size(3, 500)), Some(Limit::Quota(QuotaOf::Hidden)));
        assert_eq!(limit(665, None), Some(Limit::DirectorySize));
        assert_eq!(limit(1142, None), Some(Limit::LinkCount));
        assert_eq!(decide(82, Step::Write, None), None);
        assert_eq!(decide(5, Step::Create, size(0, 0)), None);
        let text = decide(112, Step::Write, size(3, 500)).unwrap().to_string();
        assert_eq!(text, "a quota is used up (3 clusters left of it, though 500 of the volume are free)");
    }

    #[test]
    fn an_error_of_the_system_is_explained_and_others_are_not() {
        let top = tempfile::tempdir().unwrap();
        let directory = Dir::open(top.path()).unwrap();
        let full = explain(&directory, Step::Create, &io::Error::from_raw_os_error(112)).unwrap();
        assert!(full.evidence.starts_with("the volume is full (") || full.evidence.starts_with("a quota"));
        assert_eq!(explain(&directory, Step::Create, &io::Error::from_raw_os_error(2)), None);
        assert_eq!(explain(&directory, Step::Create, &io::Error::other("disk full")), None);
    }
}
