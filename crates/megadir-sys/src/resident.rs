//! Resident set of this process: smaps and clear_refs in proc(5), madvise(2).

use std::fs::File;
use std::io::{self, Write};

const RESET_PEAK: &[u8] = b"5";

/// Drops the resident pages of the program and its libraries that are as in their files, and resets the largest resident set.
/// The kernel maps such a page again when it is used. Errors: the process has several threads, or the kernel lacks these files
/// in /proc (`CONFIG_PROC_PAGE_MONITOR`).
pub fn drop_file_pages() -> io::Result<()> {
    if std::fs::read_dir("/proc/self/task")?.nth(1).is_some() {
        return Err(io::Error::other("another thread could change a page meanwhile"));
    }
    let mappings = std::fs::read_to_string("/proc/self/smaps")?;
    let mut reset_peak = File::options().write(true).open("/proc/self/clear_refs")?;
    let (mut mapping, mut unchanged) = (None, Vec::new());
    for line in mappings.lines() {
        if let Some(found) = file_mapping(line) {
            mapping = found;
        } else if line.strip_prefix("Anonymous:").is_some_and(|size| size.trim() == "0 kB") {
            unchanged.extend(mapping.take());
        }
    }
    // Code called from here on is resident again.
    for (start, end) in unchanged {
        // SAFETY: the mapping is of a file, and no page of it differs from the file. There is no other thread that could
        // write to it since, so all pages have the same content when they are mapped again.
        unsafe {
            libc::madvise(std::ptr::with_exposed_provenance_mut(start), end - start, libc::MADV_DONTNEED)
        };
    }
    reset_peak.write_all(RESET_PEAK)
}

/// Addresses of the mapping that a line of smaps begins, `Some(None)` unless it is of a file and not
/// writable; `None` for other lines.
fn file_mapping(line: &str) -> Option<Option<(usize, usize)>> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let (start, end) = (address(start)?, address(end)?);
    let is_of_file =
        words.next()?.starts_with("r-") && words.nth(3).is_some_and(|path| path.starts_with('/'));
    Some(is_of_file.then_some((start, end)))
}

#[cfg(test)]
mod tests {
    use super::{drop_file_pages, file_mapping};

    #[test]
    fn mappings_of_files_are_found() {
        let text = "7f00-8f00 r-xp 00028000 fe:00 1234   /usr/lib/libc.so.6";
        assert_eq!(file_mapping(text), Some(Some((0x7f00, 0x8f00))));
        assert_eq!(file_mapping("7f00-8f00 rw-p 00028000 fe:00 1234   /usr/lib/libc.so.6"), Some(None));
        assert_eq!(file_mapping("7f00-8f00 r-xp 00000000 00:00 0   [vdso]"), Some(None));
        assert_eq!(file_mapping("7f00-8f00 rw-p 00000000 00:00 0"), Some(None));
        assert_eq!(file_mapping("Rss:   4 kB"), None);
    }

    #[test]
    fn a_process_with_threads_is_refused() {
        // The test runner is the other thread.
        assert!(drop_file_pages().is_err());
    }
}
