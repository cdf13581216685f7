//! What counts of bytes read from a volume say of what was cached. Pure; runs and is tested everywhere.
//!
//! A volume counts for all who read from it. So what was asked for is asked for twice: after a drop it must come from the volume, and right after
//! that it must not, or others read so much that the first count says nothing.

/// At most this part of what is read after a drop may come from the cache.
const LEFT_MAX: f64 = 0.01;
/// At most this part may be read from the volume by others, or again.
const OTHERS_MAX: f64 = 0.1;
/// The names and attributes of files come in pages at least: fewer bytes are no proof, bytes.
const PAGE_BYTES: u64 = 4096;

/// Bytes that a volume gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// While something was asked for after a drop.
    pub(super) cold: u64,
    /// While the same was asked for again.
    pub(super) again: u64,
}

impl Given {
    /// Says why contents of so many bytes were not shown to be gone, if they were not.
    pub(super) fn contents(self, asked: u64) -> Result<(), String> {
        self.not_disturbed(asked)?;
        if (self.cold as f64) < (1.0 - LEFT_MAX) * asked as f64 {
            let Self { cold, .. } = self;
            return Err(format!(
                "of {asked} bytes that were read after the drop only {cold} came from the volume: some process has the files open"
            ));
        }
        Ok(())
    }

    /// Says why names were not shown to be gone, if they were not.
    pub(super) fn names(self, asked: usize) -> Result<(), String> {
        if self.cold < PAGE_BYTES {
            return Err(format!("{asked} names came back without a read from the volume"));
        }
        self.not_disturbed(self.cold)
    }

    fn not_disturbed(self, of: u64) -> Result<(), String> {
        if self.again as f64 > OTHERS_MAX * of as f64 {
            let Self { again, .. } = self;
            return Err(format!(
                "{again} bytes were read from the volume while nothing should have been: stop what reads from it, or nothing can be verified"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Given;

    #[test]
    fn contents_are_gone_that_come_from_the_volume_once() {
        let given = |cold, again| Given { cold, again };
        assert_eq!(given(1_000_000, 0).contents(1_000_000), Ok(()));
        // Clusters and what is read ahead.
        assert_eq!(given(1_500_000, 90_000).contents(1_000_000), Ok(()));
        assert!(
            given(980_000, 0).contents(1_000_000).unwrap_err().contains("only 980000 came from the volume")
        );
        assert!(given(0, 0).contents(1_000_000).is_err());
        assert!(
            given(1_000_000, 200_000).contents(1_000_000).unwrap_err().contains("200000 bytes were read")
        );
    }

    #[test]
    fn names_are_gone_that_cost_reads_once() {
        let given = |cold, again| Given { cold, again };
        assert_eq!(given(65_536, 0).names(64), Ok(()));
        assert!(given(512, 0).names(64).unwrap_err().starts_with("64 names came back without"));
        assert!(given(65_536, 60_000).names(64).is_err());
    }
}
