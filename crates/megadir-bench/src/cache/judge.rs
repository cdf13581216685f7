//! Judges from a volume's read counters whether data were cached. Other processes count too, so each request
//! is made twice: the first must read from the volume, the second must not. Contents are judged per file,
//! because readahead of one file would hide that another is cached.
//!
//! Pure, so that it is tested on every system. Every doubt is a refusal of the state.

const LEFT_MAX: f64 = 0.01;
/// Largest share of the bytes read that other processes, or a second pass, may read from the volume.
const OTHERS_MAX: f64 = 0.02;
const PAGE_BYTES: u64 = 4096;
/// Minimum read per name, bytes: a quarter of an NTFS file record (1 KiB, four per page).
const NAME_BYTES: u64 = 256;

/// Bytes that were read from a file, and bytes that its volume delivered meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileRead {
    pub(super) wanted_bytes: u64,
    pub(super) given: u64,
}

/// Fails unless the contents were cold; `again` is the bytes that a second pass reads from the volume.
pub(super) fn contents(files: &[FileRead], again: u64) -> Result<(), String> {
    not_disturbed(again, files.iter().map(|file| file.wanted_bytes).sum())?;
    let cached = files.iter().filter(|file| file.given < file.wanted_bytes).count();
    if cached as f64 > LEFT_MAX * files.len() as f64 {
        return Err(format!(
            "{cached} of {} files read after the drop did not come from the volume: another process has them open",
            files.len()
        ));
    }
    Ok(())
}

/// Fails unless the names were cold; `given` and `again` are bytes read by looking up `wanted_bytes` names after a drop, and once more.
pub(super) fn names(names: usize, given: u64, again: u64) -> Result<(), String> {
    let least = PAGE_BYTES.max(NAME_BYTES * names as u64);
    if given < least {
        return Err(format!(
            "{names} names were found with {given} bytes read from the volume; cold names need at least {least}"
        ));
    }
    not_disturbed(again, given)
}

/// Fails if the second pass, which the cache should have answered alone, reached the volume.
fn not_disturbed(again: u64, of: u64) -> Result<(), String> {
    if again as f64 > OTHERS_MAX * of as f64 {
        return Err(format!(
            "{again} bytes were read from the volume while it should have been idle, so nothing could be \
             verified; stop the programs that read from it"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{FileRead, contents, names};

    fn read(wanted_bytes: u64, given: u64) -> FileRead {
        FileRead { wanted_bytes, given }
    }

    #[test]
    fn contents_read_once_from_the_volume_were_not_cached() {
        assert_eq!(contents(&[read(5000, 5120), read(5000, 8192)], 0), Ok(()));
        assert_eq!(contents(&[read(5000, 5000); 100], 10_000), Ok(()));
        let disturbed = contents(&[read(5000, 5000); 100], 10_001).unwrap_err();
        assert!(disturbed.contains("10001 bytes were read"), "{disturbed}");
        // Readahead of one file does not count for another.
        let half: Vec<_> = (0..100).map(|file| read(5000, if file % 2 == 0 { 10_240 } else { 0 })).collect();
        let cached = contents(&half, 0).unwrap_err();
        assert!(cached.starts_with("50 of 100 files"), "{cached}");
        let reads: Vec<_> = (0..100).map(|file| read(5000, if file == 7 { 0 } else { 5120 })).collect();
        assert_eq!(contents(&reads, 0), Ok(()));
        assert!(contents(&reads[..99], 0).is_err());
    }

    #[test]
    fn names_read_once_from_the_volume_were_not_cached() {
        assert_eq!(names(64, 16_384, 0), Ok(()));
        assert_eq!(names(2, 4096, 0), Ok(()));
        assert!(names(64, 4096, 0).unwrap_err().starts_with("64 names were found with 4096 bytes"));
        assert!(names(2, 512, 0).is_err());
        assert!(names(64, 65_536, 6_000).is_err());
    }
}
