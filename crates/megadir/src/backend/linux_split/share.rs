//! Shares of a directory: the entries of a share, and its end.
//!
//! A record's offset is the position *after* it, so an entry's own position is the offset of the record before,
//! within one call. The first record of a call lies at or past the call's position: the entry that was there
//! may have been unlinked. If the second record lies past the share's end, the reader seeks to the end: if it
//! finds the first entry from there (not necessarily first, since entries may have been created), the entry
//! belongs to the next share.
//!
//! ```text
//! call at p (first: start) -> e0 (at p or past it), e1 at e0.offset, e2 at e1.offset ...
//! e0.offset <  end:  e0 lies before e1 and so before the end: ours
//! e0.offset >= end:  ours unless seek(end) -> ... e0 ..., at e0.offset at the latest
//! ```

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender};
use megadir_sys::getdents::getdents64;
use rustix::fs::{SeekFrom, seek};

use super::super::linux_getdents::malformed;
use super::contention::Contention;
use super::reader::{RECORD_BYTES_MAX, Shared, unreliable};
use super::throughput::Throughput;
use crate::attributes::Attributes;
use crate::attributes::examiner::Examine;
use crate::batch::Batch;
use crate::decode::{Checked, Malformed, Records};
use crate::dir::Dir;
use crate::error::{Error, Result};

pub(super) struct Filled {
    buffer: Box<[u8]>,
    length: usize,
    checked: Checked,
    /// Attributes of the entries, if they are wanted.
    pub(super) rows: Vec<Attributes>,
}

impl Filled {
    pub(super) fn new(buffer_bytes: usize) -> Self {
        let buffer = vec![0; buffer_bytes].into_boxed_slice();
        Self { buffer, length: 0, checked: Checked::NOTHING, rows: Vec::new() }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// `true` if the longest possible record still fits.
    pub(super) fn has_room(&self) -> bool {
        self.length + RECORD_BYTES_MAX < self.buffer.len()
    }

    /// Counted by [`Filled::keep`].
    pub(super) fn batch(&self) -> Batch<'_> {
        Batch::from_checked(self.bytes(), self.checked, true)
    }

    /// Up to the position `end`.
    pub(super) fn scan(&self, before: Option<i64>, end: i64, path: &Path) -> Result<Scanned> {
        scan(self.bytes(), before, end).map_err(|bad| malformed(path, bad))
    }

    /// Truncates the buffer to the scanned share.
    pub(super) fn keep(&mut self, inside: &Scanned) {
        self.length = inside.inside_bytes;
        self.checked = inside.inside;
    }

    pub(super) fn examine(&mut self, directory: &Dir, examine: &mut dyn Examine) -> Result<()> {
        let batch = Batch::from_checked(&self.buffer[..self.length], self.checked, true);
        crate::attributes::stream::examine(examine, directory, batch, &mut self.rows)
    }

    /// So that the next call is not charged for page faults.
    pub(super) fn touch(&mut self) {
        self.buffer.fill(1);
    }

    /// From the descriptor's position.
    pub(super) fn fill(
        &mut self,
        directory: BorrowedFd<'_>,
        want_bytes: usize,
        path: &Path,
        calls: &AtomicU64,
    ) -> Result<()> {
        calls.fetch_add(1, Ordering::Relaxed);
        let want_bytes = want_bytes.min(self.buffer.len());
        self.length = getdents64(directory, &mut self.buffer[..want_bytes])
            .map_err(|error| Error::io("read", path, error))?;
        Ok(())
    }
}

/// Inside means before the share's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scanned {
    /// Bytes of the records inside.
    pub(crate) inside_bytes: usize,
    /// Records inside, including `.` and `..`.
    pub(crate) inside_records: usize,
    pub(crate) inside: Checked,
    /// A record at or past the end was seen.
    pub(crate) past_end: bool,
    /// Offsets did not descend.
    pub(crate) ascending: bool,
    /// Position of the second record.
    pub(crate) first_offset: i64,
    /// Position of the next call's first record.
    pub(crate) last_offset: i64,
}

/// `before` is the position of the first record, if known. Offsets may repeat (equal hashes in ext4) but not
/// descend.
pub(crate) fn scan(bytes: &[u8], before: Option<i64>, end: i64) -> std::result::Result<Scanned, Malformed> {
    let mut records = Records::new(bytes);
    let mut position = before;
    let mut scanned = Scanned {
        inside_bytes: 0,
        inside_records: 0,
        inside: Checked::NOTHING,
        past_end: false,
        ascending: true,
        first_offset: 0,
        last_offset: before.unwrap_or(0),
    };
    let mut at = 0;
    for record in &mut records {
        scanned.ascending &= position.is_none_or(|position| record.offset >= position);
        scanned.past_end |= end != i64::MAX && position.is_some_and(|position| position >= end);
        if at == 0 {
            scanned.first_offset = record.offset;
        }
        at += usize::from(record.record_bytes);
        if !scanned.past_end {
            scanned.inside_bytes = at;
            scanned.inside_records += 1;
            scanned.inside.count(&record);
        }
        position = Some(record.offset);
        scanned.last_offset = record.offset;
    }
    if records.rest_bytes() > 0 { Err(Malformed { at }) } else { Ok(scanned) }
}

/// Takes shares until none is left.
pub(super) struct ShareReader {
    shared: Arc<Shared>,
    /// The position belongs to the open file.
    directory: Dir,
    /// Reads attributes, if wanted.
    examine: Option<Box<dyn Examine>>,
    share: Option<Share>,
    /// Present if threads may only wait for each other.
    throughput: Option<Throughput>,
    /// Present if reading attributes may slow other threads down.
    pub(super) contention: Option<Contention>,
}

/// Margin beyond the expected rest of a share.
const LAST_BYTES: usize = 4 << 10;

#[derive(Clone, Copy)]
pub(super) struct Share {
    start: i64,
    /// Position of the next call; `None` before the first.
    pub(super) before: Option<i64>,
    /// Bytes of records read so far.
    bytes: usize,
    /// [`i64::MAX`] for the last share.
    pub(super) end: i64,
}

impl Share {
    fn is_behind(self, position: i64) -> bool {
        self.end != i64::MAX && position >= self.end
    }

    /// Anything read past the end of the share is read twice.
    fn expected_bytes(self) -> usize {
        match self.before {
            Some(before) if self.end != i64::MAX && before > self.start => {
                let density = self.bytes as f64 / (before - self.start) as f64;
                let left = (self.end - before).max(0) as f64 * density;
                // Cheaper than a second call for the last few entries.
                (left * 1.05) as usize + LAST_BYTES
            }
            _ => usize::MAX,
        }
    }
}

impl ShareReader {
    pub(super) fn new(
        shared: Arc<Shared>,
        directory: Dir,
        examine: Option<Box<dyn Examine>>,
        throughput: Option<Throughput>,
    ) -> Self {
        Self { shared, directory, examine, share: None, throughput, contention: None }
    }

    /// Reads until no share is left, the caller has gone, or an error occurs.
    pub(super) fn run(mut self, filled: &Sender<Result<Filled>>, empty: &Receiver<Filled>) {
        while let Ok(mut buffer) = empty.recv() {
            // The caller's thread stays and takes over the rest.
            let contended = self.contention.is_some_and(|contention| contention.is_contended());
            if contended || self.throughput.is_some_and(|throughput| throughput.is_useless()) {
                return self.shared.leave(self.share.take());
            }
            let sent = match self.step(&mut buffer) {
                Ok(true) => filled.send(Ok(buffer)),
                Ok(false) => return,
                Err(error) => filled.send(Err(error)),
            };
            if sent.is_err() || self.shared.stop.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// `false` if no share is left. After an error no thread takes another share.
    pub(super) fn step(&mut self, buffer: &mut Filled) -> Result<bool> {
        let stepped = self.try_step(buffer);
        if stepped.is_err() {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
        stepped
    }

    fn try_step(&mut self, buffer: &mut Filled) -> Result<bool> {
        loop {
            let share = match self.share {
                Some(share) => share,
                None => match self.next_share()? {
                    Some(share) => share,
                    None => return Ok(false),
                },
            };
            self.share = None;
            if let Some(rest) = self.read(buffer, share)? {
                self.share = rest;
                if let Some(examine) = &mut self.examine {
                    buffer.examine(&self.directory, examine.as_mut())?;
                    if let Some(contention) = &mut self.contention {
                        contention.note(buffer.batch().len());
                    }
                }
                return Ok(true);
            }
        }
    }

    fn next_share(&mut self) -> Result<Option<Share>> {
        if self.shared.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let Some((start, end)) = self.shared.take() else { return Ok(None) };
        self.seek(start)?;
        Ok(Some(Share { start, before: None, bytes: 0, end }))
    }

    /// The rest of the share; `None` if nothing was left.
    fn read(&mut self, buffer: &mut Filled, share: Share) -> Result<Option<Option<Share>>> {
        let started = self.throughput.map(|_| Instant::now());
        let want_bytes = share.expected_bytes();
        buffer.fill(self.directory.as_fd(), want_bytes, &self.shared.path, &self.shared.calls)?;
        if buffer.is_empty() {
            return Ok(None);
        }
        if let (Some(throughput), Some(started)) = (&mut self.throughput, started) {
            throughput.note(buffer.length, started.elapsed());
        }
        let scanned = buffer.scan(share.before, share.end, &self.shared.path)?;
        if !scanned.ascending {
            return Err(unreliable(&self.shared));
        }
        // The call's first record, with the next one already past the end.
        let ambiguous = scanned.inside_records == 1 && share.is_behind(scanned.first_offset);
        if ambiguous && self.first_lies_past(buffer.bytes(), share.end, scanned.first_offset)? {
            return Ok(None);
        }
        buffer.keep(&scanned);
        // The next call's records lie at `last_offset` or later.
        let ended = scanned.past_end || share.is_behind(scanned.last_offset);
        let bytes = share.bytes + scanned.inside_bytes;
        let rest = Share { before: Some(scanned.last_offset), bytes, ..share };
        Ok(Some((!ended).then_some(rest)))
    }

    /// `true` if the first entry of `bytes`, at most at `latest`, lies at or past `end`.
    fn first_lies_past(&mut self, bytes: &[u8], end: i64, latest: i64) -> Result<bool> {
        let Some(ours) = Records::new(bytes).next() else { return Ok(false) };
        self.seek(end)?;
        let mut buffer = [0; 1024];
        let mut position = end;
        while position <= latest {
            self.shared.calls.fetch_add(1, Ordering::Relaxed);
            let filled = getdents64(self.directory.as_fd(), &mut buffer)
                .map_err(|error| Error::io("read", &self.shared.path, error))?;
            if filled == 0 {
                return Ok(false);
            }
            for record in Records::new(&buffer[..filled]) {
                // Compare names only: a rename over the entry changes the inode.
                if record.name == ours.name {
                    return Ok(true);
                }
                position = record.offset;
                if position > latest {
                    return Ok(false);
                }
            }
        }
        Ok(false)
    }

    /// Seeks like a new descriptor: ext4 remembers its progress among names of equal hash and would continue
    /// there if it seeks to the current position.
    fn seek(&mut self, position: i64) -> Result<()> {
        let to = u64::try_from(position).unwrap_or(0);
        let seek = |directory: &Dir, to| {
            seek(directory, to).map_err(|error| Error::io("seek in", &self.shared.path, error.into()))
        };
        if seek(&self.directory, SeekFrom::Current(0))? == to {
            self.directory = self.directory.again()?;
        }
        seek(&self.directory, SeekFrom::Start(to)).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::scan;
    use crate::decode::encode;

    fn records(offsets: &[i64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (index, offset) in offsets.iter().enumerate() {
            assert!(encode(&mut bytes, index as u64 + 1, *offset, 8, b"name"));
        }
        bytes
    }

    #[test]
    fn the_first_record_has_no_position_and_the_last_offset_carries_over() {
        let scanned = scan(&records(&[10, 20, 30]), None, 20).unwrap();
        assert_eq!((scanned.inside_records, scanned.past_end, scanned.last_offset), (2, true, 30));
        let scanned = scan(&records(&[10, 20, 30]), Some(5), 100).unwrap();
        assert_eq!((scanned.inside_records, scanned.past_end), (3, false));
        let scanned = scan(&records(&[10, 20, 30]), Some(5), 5).unwrap();
        assert_eq!((scanned.inside_records, scanned.inside_bytes, scanned.past_end), (0, 0, true));
    }

    #[test]
    fn equal_offsets_ascend_and_descending_ones_do_not() {
        assert!(scan(&records(&[10, 10, 11]), Some(10), 99).unwrap().ascending);
        assert!(!scan(&records(&[10, 9]), None, 99).unwrap().ascending);
        assert!(!scan(&records(&[10]), Some(11), 99).unwrap().ascending);
    }
}
