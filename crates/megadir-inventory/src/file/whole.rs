//! Adds all rows of a directory at once; most columns are constant within a directory.

use super::columns::{Columns, Numbers, Paths, StoredNumbers};
use crate::packed::columns::{Column, Columns as Rows};
use crate::path::common_bytes as common;

impl Columns {
    /// Without errors and hashes, after [`Columns::directory`].
    pub(super) fn add_whole(&mut self, root: &[u8], parent: &[u8], rows: &Rows<'_>) {
        let count = rows.len() as u32;
        self.rows += rows.len();
        self.name.bytes.extend_from_slice(rows.names);
        self.name.lengths.extend(rows.lengths().map(i64::from));
        self.path.add_whole(root, parent, rows);
        match rows.kind {
            Column::Same(kind) => self.kind.push(&kind, count),
            each => (0..rows.len()).filter_map(|row| each.get(row)).for_each(|kind| self.kind.push(&kind, 1)),
        }
        for (column, given) in self.numbers.iter_mut().zip(&rows.numbers) {
            column.add_whole(*given, count);
        }
        self.has_error.push(false, count);
        self.has_hash.push(false, count);
    }
}

impl Numbers {
    fn add_whole(&mut self, given: Column<'_>, rows: u32) {
        self.present.push(!matches!(given, Column::Nothing), rows);
        match (&mut self.stored, given) {
            (_, Column::Nothing) => {}
            (StoredNumbers::Each(values), Column::Same(number)) => {
                values.extend(std::iter::repeat_n(number, rows as usize));
            }
            (StoredNumbers::Each(values), Column::Each(least, above)) => above.append(least, values),
            (StoredNumbers::Dictionary(dictionary), Column::Same(number)) => dictionary.push(&number, rows),
            (StoredNumbers::Dictionary(dictionary), each @ Column::Each(..)) => {
                let numbers = (0..rows as usize).filter_map(|row| each.get(row));
                numbers.for_each(|number| dictionary.push(&number, 1));
            }
        }
    }
}

impl Paths {
    fn add_whole(&mut self, root: &[u8], parent: &[u8], rows: &Rows<'_>) {
        let mut names = rows.each_name();
        let Some(first) = names.next() else { return };
        self.first(root, parent, first);
        if !rows.names.is_ascii() {
            return names.for_each(|name| self.next(name));
        }
        let mut before = first;
        for name in names {
            let same = common(before, name);
            self.common.push((self.directory_bytes + same) as i64);
            self.rest.push(&name[same..]);
            before = name;
        }
        self.last.truncate(self.directory_bytes);
        self.last.extend_from_slice(before);
    }
}
