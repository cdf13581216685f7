//! Passes sorted items to the sink, joined with errors.

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;

use megadir::{Result, TreeEvent, reason_of};

use super::collector::{self, Item};
use super::{ScanWatch, spill_error};
use crate::metadata::Metadata;
use crate::path::common_bytes;
use crate::row::{Facts, Key, Row};
use crate::rows::Sink;
use crate::sorter::Sorter;

const ROWS_PER_LOOK: u64 = 4096;

/// Runs after all trees were read, on the caller's thread. `watch` is called every few thousand rows, so that
/// a long merge can be stopped; the sink then gets no end.
pub(crate) fn emit(
    sorter: Sorter,
    watch: &mut ScanWatch<'_>,
    sink: &mut dyn Sink,
    metadata: Metadata,
) -> Result<Option<Metadata>> {
    let mut emitter =
        Emitter { errors: VecDeque::new(), parent: Vec::new(), root: 0, last_alone: None, sink, metadata };
    let spill_directory = sorter.directory.clone();
    let mut flow = ControlFlow::Continue(());
    let mut looked = 0;
    sorter.finish(
        |error| spill_error(&spill_directory, error),
        |key, item| {
            emitter.item(key, item)?;
            if emitter.metadata.rows >= looked + ROWS_PER_LOOK {
                looked = emitter.metadata.rows;
                flow = watch(TreeEvent::Written(looked));
            }
            Ok(flow.is_continue())
        },
    )?;
    if flow.is_continue() {
        emitter.alone(None)?;
    }
    Ok(flow.is_continue().then_some(emitter.metadata))
}

/// Restores rows from sorted items. Errors have keys of their own, which precede the rows of their directory,
/// so they wait in `errors` until the row of the same name comes. `parent` is the directory of the current
/// items. `last_alone` is the name of the last single row, to leave out a name that a changing directory has
/// listed twice.
struct Emitter<'s> {
    errors: VecDeque<(Vec<u8>, String)>,
    root: u32,
    parent: Vec<u8>,
    last_alone: Option<Vec<u8>>,
    sink: &'s mut dyn Sink,
    metadata: Metadata,
}

impl Emitter<'_> {
    /// A directory without errors is passed on in its packed form, without looking at single rows: this is the
    /// usual way. Otherwise each row is unpacked and joined with its error. Errors whose rows never come
    /// belong to entries that could not be examined at all, and become rows of their own when the directory
    /// ends.
    fn item(&mut self, key: &[u8], item: &[u8]) -> Result<()> {
        let Some((root, parent, kind, name)) = collector::key_parts(key, &self.parent) else {
            unreachable!("the key was encoded by the same code")
        };
        let same = common_bytes(&self.parent, parent);
        if root != self.root || same < self.parent.len().max(parent.len()) {
            self.alone(None)?;
            self.root = root;
            self.last_alone = None;
            self.parent.truncate(same);
            self.parent.extend_from_slice(&parent[same..]);
        }
        if kind == collector::ERROR {
            let words = String::from_utf8_lossy(item).into_owned();
            self.errors.push_back((name.to_vec(), words));
            return Ok(());
        }
        let Some(Item { rows, some_failed, hash }) = Item::of(root, parent, item) else {
            unreachable!("the item was encoded by the same code")
        };
        if rows.len() == 1 {
            // A changing directory may list a name twice.
            if self.last_alone.as_deref() == Some(name) {
                return Ok(());
            }
            let last = self.last_alone.get_or_insert_default();
            last.clear();
            last.extend_from_slice(name);
        }
        if !some_failed && hash.is_none() && self.errors.is_empty() {
            self.metadata.rows += rows.len() as u64;
            return self.sink.add_packed(&rows);
        }
        rows.iter().try_for_each(|row| self.row(Row { facts: Facts { hash, ..row.facts }, ..row }))
    }

    fn row(&mut self, row: Row<'_>) -> Result<()> {
        let name = row.key.name;
        if !self.errors.is_empty() {
            self.alone(Some(name))?;
        }
        let error = match self.errors.front() {
            Some((failed, _)) if failed == name => self.errors.pop_front().map(|(_, words)| words),
            _ => row
                .facts
                .errno
                .map(|errno| format!("examine: {}", reason_of(&io::Error::from_raw_os_error(errno)))),
        };
        self.add(&Row { error: error.as_deref(), ..row })
    }

    fn alone(&mut self, before: Option<&[u8]>) -> Result<()> {
        while self.errors.front().is_some_and(|(name, _)| before.is_none_or(|before| &name[..] < before))
            && let Some((name, words)) = self.errors.pop_front()
        {
            let parent = std::mem::take(&mut self.parent);
            let key = Key { root: self.root, parent: &parent, name: &name };
            self.add(&Row { key, facts: Facts::NOTHING, error: Some(&words) })?;
            self.parent = parent;
        }
        Ok(())
    }

    fn add(&mut self, row: &Row<'_>) -> Result<()> {
        self.metadata.rows += 1;
        self.metadata.failed += u64::from(row.error.is_some());
        self.sink.add(row)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use megadir::{Attributes, BatchBuilder, FileType, Time};

    use super::super::gather::Gather;
    use super::super::{Run, ScanOptions};
    use super::emit;
    use crate::file::tests::metadata;
    use crate::file::{GROUP_ROWS, WriteOptions, Writer};
    use crate::metadata::Metadata;
    use crate::row::{Facts, OwnedRow};
    use crate::rows::Sink;

    /// Gives the rows of a directory with these entries, batch by batch, to a sink; returns how many they are.
    fn give(batches: &[&[(&[u8], Attributes)]], held_bytes_max: usize, sink: &mut dyn Sink) -> Metadata {
        let options = ScanOptions::new(1, 1 << 20, std::env::temp_dir());
        let run = Run::new(&options);
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir(scratch.path().join("d")).unwrap();
        let top = scratch.path();
        let below = megadir::Dir::open(top).unwrap().open_below(b"d").unwrap();
        let directory = below.dir_path();
        let mut gather = Gather::new(&run, 0, top, None);
        gather.held_bytes_max = held_bytes_max;
        for entries in batches {
            let mut batch = BatchBuilder::new(4096, false);
            for (name, _) in *entries {
                assert!(batch.push(name, 1, FileType::File, 0));
            }
            let attributes: Vec<Attributes> = entries.iter().map(|entry| entry.1).collect();
            gather.batch(directory, batch.batch(), &attributes).unwrap();
        }
        gather.end(directory).unwrap();
        let mut watch = |_: megadir::TreeEvent<'_>| ControlFlow::Continue(());
        let sorter = run.shared.into_inner().unwrap().into_sorter().unwrap();
        emit(sorter, &mut watch, sink, metadata(Vec::new())).unwrap().unwrap()
    }

    /// So much may be held that rows are sorted at once, and so little that they go one by one as in a large directory.
    const HELD_BYTES_MAX: [usize; 2] = [1 << 20, 0];

    #[test]
    fn a_name_that_a_changing_directory_gives_twice_is_one_row() {
        let entries = |names: &'static [&str]| -> Vec<(&[u8], Attributes)> {
            names.iter().map(|name| (name.as_bytes(), Attributes::NOTHING)).collect()
        };
        let batches = [entries(&["b", "a", "b"]), entries(&["c", "a"]), entries(&["b", "ab"])];
        let batches = [&batches[0][..], &batches[1], &batches[2]];
        for held_bytes_max in HELD_BYTES_MAX {
            let mut rows: Vec<OwnedRow> = Vec::new();
            let metadata = give(&batches, held_bytes_max, &mut rows);
            let names: Vec<_> = rows.iter().map(|row| (&row.parent[..], &row.name[..])).collect();
            assert_eq!(names, [b"a", &b"ab"[..], b"b", b"c"].map(|name| (&b"d"[..], name)));
            assert_eq!(metadata.rows, 4);
        }
    }

    /// Entry that differs from the others only in numbers of `bits` bits.
    fn entry(index: u64, bits: u32) -> (Vec<u8>, Attributes) {
        let mixed = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let number = mixed.checked_shr(64 - bits).unwrap_or(0);
        let time =
            |number: u64| Time { seconds: number as i64 >> 32, nanoseconds: number as u32 % 1_000_000_000 };
        let name = match index % 3 {
            0 => format!("plain-{mixed:x}").into_bytes(),
            1 => format!("Ümläut-{index}").into_bytes(),
            _ => [b"\xff\xfe", &index.to_be_bytes()[..]]
                .concat()
                .into_iter()
                .filter(|byte| *byte > 0)
                .collect(),
        };
        let attributes = Attributes {
            have: Facts::WANT,
            kind: if number % 5 == 4 { FileType::Directory } else { FileType::File },
            mode: 0o644 | (number % 2) as u16,
            links: 1 + number % 3,
            size_bytes: number,
            inode: number,
            modified: time(number),
            changed: time(number.wrapping_add(index)),
            ..Attributes::NOTHING
        };
        (name, attributes)
    }

    #[test]
    fn rows_are_the_same_and_so_are_files_whether_they_come_at_once_or_one_by_one() {
        let directory = tempfile::tempdir().unwrap();
        for (count, bits, plain) in
            [(1, 8, false), (7, 3, false), (8, 0, true), (60, 8, true), (90, 31, false), (80, 64, false)]
        {
            let entries = (0..count).map(|index| entry(if plain { index * 3 } else { index }, bits));
            let entries: Vec<(Vec<u8>, Attributes)> = entries.collect();
            let mut entries: Vec<(&[u8], Attributes)> =
                entries.iter().map(|(name, attributes)| (&name[..], *attributes)).collect();
            // As they are, and one of them not examined: what others have it lacks.
            for failed in [None, Some(count / 2)] {
                if let Some(failed) = failed {
                    entries[failed as usize].1 = Attributes { error: 13, ..Attributes::NOTHING };
                }
                let given = HELD_BYTES_MAX.map(|held_bytes_max| {
                    let mut rows: Vec<OwnedRow> = Vec::new();
                    give(&[&entries], held_bytes_max, &mut rows);
                    let path = directory.path().join(held_bytes_max.to_string());
                    let options = WriteOptions { threads: 0, level: 1, group_rows: GROUP_ROWS };
                    let mut writer = Writer::create(&path, vec![b"/t".to_vec()], options).unwrap();
                    let metadata = give(&[&entries], held_bytes_max, &mut writer);
                    writer.finish(&metadata).unwrap();
                    (rows, std::fs::read(path).unwrap())
                });
                let [(rows, file), (single_rows, single_file)] = given;
                assert_eq!(rows, single_rows, "{count} rows of {bits} bits");
                assert!(file == single_file, "{count} rows of {bits} bits make the same file");
                let mut expected: Vec<&(&[u8], Attributes)> = entries.iter().collect();
                expected.sort_by_key(|entry| entry.0);
                assert_eq!(rows.len(), expected.len());
                for (row, (name, attributes)) in rows.iter().zip(expected) {
                    assert_eq!(row.name, *name);
                    assert_eq!(row.facts, Facts::new(FileType::File, attributes));
                }
            }
        }
    }
}
