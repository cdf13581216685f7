//! Invariants of the reader for arbitrary input.

use std::io::Write;

use megadir::Result;

use super::encoding;
use super::open::Part;
use crate::row::OwnedRow;
use crate::rows::{Blocks, Rows};

/// No panic, ascending rows, one-line errors, equal blocks and rows. Checksums are not verified, because no
/// mutated input would get past them.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) {
    encoding::fuzz(bytes);
    let (rows, blocks) = (read(bytes, by_rows), read(bytes, by_blocks));
    match (&rows, &blocks) {
        (Ok(rows), Ok(blocks)) => assert!(rows == blocks, "blocks hold what rows do"),
        (Err(_), Err(_)) => {}
        _ => unreachable!("rows {:?}, blocks {:?}", rows.err(), blocks.err()),
    }
}

fn read(bytes: &[u8], read: fn(Part) -> Result<Vec<OwnedRow>>) -> std::result::Result<Vec<OwnedRow>, String> {
    let message = |error: megadir::Error| {
        let text = error.to_string();
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    };
    let mut file = tempfile::tempfile().map_err(|error| error.to_string())?;
    file.write_all(bytes).map_err(|error| error.to_string())?;
    let inventory = Part::of(file, "bytes".as_ref(), false, false).map_err(message)?;
    let rows = read(inventory).map_err(message)?;
    assert!(rows.is_sorted_by(|before, after| before.row().key < after.row().key), "rows ascend");
    assert_contained(&rows);
    Ok(rows)
}

fn assert_contained(rows: &[OwnedRow]) {
    let mut directories = std::collections::HashSet::new();
    let mut path = Vec::new();
    for row in rows {
        let is_root = row.name.is_empty() && row.parent.is_empty();
        assert!(is_root || megadir::names::is_component(&row.name), "a name is a component");
        assert!(
            row.parent.is_empty() || directories.contains(&(row.root, row.parent.clone())),
            "rows lie in directories of the inventory"
        );
        assert!(row.facts.size_bytes.is_none_or(|size| i64::try_from(size).is_ok()), "sizes have no sign");
        if row.facts.kind == megadir::FileType::Directory {
            row.row().key.path_into(&mut path);
            directories.insert((row.root, path.clone()));
        }
    }
}

fn by_rows(mut inventory: Part) -> Result<Vec<OwnedRow>> {
    let mut rows = Vec::new();
    while let Some(row) = inventory.next_row()? {
        rows.push(row.into());
    }
    Ok(rows)
}

fn by_blocks(inventory: Part) -> Result<Vec<OwnedRow>> {
    let (mut blocks, mut rows) = (Blocks::new(inventory), Vec::new());
    while let Some(block) = blocks.next_block()? {
        if let Some((facts, error)) = block.root_row.as_deref() {
            let key = crate::row::Key { root: block.root, parent: b"", name: b"" };
            rows.push(crate::row::Row { key, facts: *facts, error: error.as_deref() }.into());
        }
        rows.extend((0..block.len()).map(|index| OwnedRow::from(block.row(index, &block.path.to_vec()))));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::tests::{metadata, root};
    use crate::metadata::Metadata;
    use crate::{ContentHash, Facts, Key, Row, Sink, WriteOptions, Writer};
    use megadir::FileType;

    fn facts(number: u64, kind: FileType, odd: bool) -> Facts {
        Facts {
            kind,
            size_bytes: Some(number * number),
            modified_ns: Some(-5 * number as i64),
            changed_ns: Some(1 << 60),
            born_ns: (!number.is_multiple_of(3)).then_some(77),
            inode: Some(number << 30),
            device: Some(66),
            mode: Some(0o644),
            user: Some(u32::MAX),
            group: Some(0),
            links: Some(1),
            errno: odd.then_some(13),
            allocated_bytes: (!number.is_multiple_of(5)).then_some(number * 512),
            accessed_ns: (!number.is_multiple_of(7)).then_some(-3 * number as i64),
            hash: number.is_multiple_of(11).then_some(ContentHash::Blake3([number as u8; 32])),
            inode_high: None,
        }
    }

    /// Small inventory that covers every column and entry type.
    fn inventory() -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inventory");
        let options = WriteOptions { threads: 0, level: 1, group_rows: 16 };
        let mut writer = Writer::create(&path, vec![b"/a".to_vec(), b"/b".to_vec()], options).unwrap();
        let mut rows = 0;
        for root in 0..2 {
            let names = (0..20).map(|name| format!("n{name:02}"));
            for (parent, name) in std::iter::once(("", String::new()))
                .chain(names.clone().map(|name| ("", name)))
                .chain(names.map(|name| ("n01", name)))
            {
                let is_directory = name.is_empty() || parent.is_empty() && name == "n01";
                let kind = if is_directory { FileType::Directory } else { FileType::File };
                let odd = rows % 7 == 3;
                let facts = facts(rows, kind, odd);
                let key = Key { root, parent: parent.as_bytes(), name: name.as_bytes() };
                writer.add(&Row { key, facts, error: odd.then_some("examine: refused") }).unwrap();
                rows += 1;
            }
        }
        writer.finish(&Metadata { rows, ..metadata(vec![root(b"/a"), root(b"/b")]) }).unwrap();
        std::fs::read(path).unwrap()
    }

    /// If the seed is rejected, the fuzzer never gets past the checks.
    #[test]
    fn the_seed_of_the_fuzzer_is_an_inventory() {
        let seed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/inventory/whole");
        if std::env::var_os("MEGADIR_BLESS").is_some() {
            std::fs::write(seed, inventory()).unwrap();
        }
        let seed = std::fs::read(seed).unwrap();
        assert_eq!(read(&seed, by_rows).map(|rows| rows.len()), Ok(82));
        assert_eq!(read(&seed, by_blocks), read(&seed, by_rows));
    }

    #[test]
    fn damaged_inventories_are_read_or_refused_and_never_a_panic() {
        let whole = inventory();
        assert_eq!(read(&whole, by_rows).map(|rows| rows.len()), Ok(82));
        fuzz(&whole);
        let mut random = 5u64;
        let mut next = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % below
        };
        for _ in 0..600 {
            let mut bytes = whole.clone();
            for _ in 0..1 + next(3) {
                let at = next(bytes.len());
                bytes[at] = next(256) as u8;
            }
            fuzz(&bytes);
        }
    }
}
