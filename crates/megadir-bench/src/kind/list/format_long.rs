//! Lines of a long listing: `ls -l` on Linux, PowerShell's `Get-ChildItem` on Windows.

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;

const STEP: u64 = 1024;

#[cfg(target_os = "linux")]
mod linux {
    //! Lines of `ls -l`: mode, links, owner, group, size, date, name, in columns as wide as the widest.

    use std::collections::HashMap;

    use megadir::Time;

    use crate::control::{Result, RunControl};
    use crate::kind::list::format_long::STEP;
    use crate::kind::list::ls_stat::TYPE_BITS;
    use crate::kind::list::output::{Attributes, NameArena, Sink, digits, push_number, push_text};
    use crate::workspace::since_1970;

    const MONTHS: [&[u8; 3]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    /// `ls` prints the time of day for files younger than half a year.
    const HALF_YEAR_S: i64 = 31_556_952 / 2;

    /// Width of each column, in characters: the widest value of all entries.
    #[derive(Clone, Copy, Debug, Default)]
    struct Widths {
        links: usize,
        owner: usize,
        group: usize,
        size: usize,
    }

    /// The widths of the columns need all entries first, as in `ls`: this second pass, and the names of
    /// owners, are part of the cost under study. The output is as from `ls -l` but for its total, which would
    /// need the blocks of each file.
    pub(crate) fn format_long(arena: &NameArena, control: RunControl<'_>, sink: &mut Sink) -> Result<()> {
        let (mut owners, mut groups) = (OwnerNames::read("/etc/passwd"), OwnerNames::read("/etc/group"));
        let mut widths = Widths::default();
        let mut any_acl = false;
        for of_entry in &arena.attributes {
            widths.links = widths.links.max(digits(u64::from(of_entry.links)));
            widths.owner = widths.owner.max(owners.get(of_entry.owner).len());
            widths.group = widths.group.max(groups.get(of_entry.group).len());
            widths.size = widths.size.max(digits(of_entry.size_bytes));
            any_acl |= of_entry.has_acl;
        }
        let now_s = since_1970().as_secs() as i64;
        sink.heading(b"total 0")?;
        for (index, (name, of_entry)) in arena.names().zip(&arena.attributes).enumerate() {
            control.check_every(STEP, index as u64)?;
            let text = &mut sink.text;
            push_mode(text, of_entry.mode);
            if any_acl {
                text.push(if of_entry.has_acl { b'+' } else { b' ' });
            }
            text.push(b' ');
            push_number(text, u64::from(of_entry.links), widths.links);
            text.push(b' ');
            push_text(text, owners.get(of_entry.owner).as_bytes(), widths.owner);
            text.push(b' ');
            push_text(text, groups.get(of_entry.group).as_bytes(), widths.group);
            text.push(b' ');
            push_number(text, of_entry.size_bytes, widths.size);
            text.push(b' ');
            push_date(text, of_entry, now_s);
            text.push(b' ');
            sink.push_name(name);
            sink.end_line()?;
        }
        Ok(())
    }

    fn push_mode(text: &mut Vec<u8>, mode: u16) {
        text.push(match mode & TYPE_BITS {
            0o100_000 => b'-',
            0o040_000 => b'd',
            0o120_000 => b'l',
            0o010_000 => b'p',
            0o140_000 => b's',
            0o060_000 => b'b',
            0o020_000 => b'c',
            _ => b'?',
        });
        // For owner, group and others: the mode bit that turns x into s or t.
        for (shift, special, letter) in [(6, 0o4000, b's'), (3, 0o2000, b's'), (0, 0o1000, b't')] {
            let bits = mode >> shift;
            text.push(if bits & 4 != 0 { b'r' } else { b'-' });
            text.push(if bits & 2 != 0 { b'w' } else { b'-' });
            text.push(match (bits & 1 != 0, mode & special != 0) {
                (true, false) => b'x',
                (false, false) => b'-',
                (true, true) => letter,
                (false, true) => letter.to_ascii_uppercase(),
            });
        }
    }

    /// `Mon DD HH:MM`, or `Mon DD YYYY` for times older than half a year or in the future.
    fn push_date(text: &mut Vec<u8>, of_entry: &Attributes, now_s: i64) {
        let then_s = of_entry.modified_unix_s;
        let date = Time { seconds: then_s, nanoseconds: 0 }.utc();
        text.extend_from_slice(MONTHS[usize::from(date.month - 1)]);
        text.push(b' ');
        push_number(text, u64::from(date.day), 2);
        text.push(b' ');
        if then_s > now_s || now_s - then_s >= HALF_YEAR_S {
            push_number(text, date.year.unsigned_abs(), 5);
        } else {
            let two = |value: u8| [b'0' + value / 10, b'0' + value % 10];
            text.extend_from_slice(&two(date.hour));
            text.push(b':');
            text.extend_from_slice(&two(date.minute));
        }
    }

    /// Names of users or groups by number, read once for each listing. `last` is a cache of one, since
    /// neighbours mostly have the same owner.
    #[derive(Debug, Default)]
    pub(crate) struct OwnerNames {
        names: HashMap<u32, String>,
        last: Option<(u32, String)>,
    }

    impl OwnerNames {
        pub(crate) fn read(path: &str) -> Self {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let row = |line: &str| {
                let mut fields = line.split(':');
                let (name, number) = (fields.next()?, fields.nth(1)?);
                Some((number.parse().ok()?, name.to_owned()))
            };
            // The first name of an ID wins, as in the C library.
            let mut names = HashMap::new();
            for (number, name) in text.lines().filter_map(row) {
                names.entry(number).or_insert(name);
            }
            Self { names, last: None }
        }

        #[inline]
        pub(crate) fn get(&mut self, number: u32) -> &str {
            if self.last.as_ref().is_none_or(|(last, _)| *last != number) {
                let name = self.names.get(&number).cloned().unwrap_or_else(|| number.to_string());
                self.last = Some((number, name));
            }
            self.last.as_ref().map_or("", |(_, name)| name)
        }
    }

    #[cfg(test)]
    mod tests {
        use super::{Attributes, push_date, push_mode};

        fn mode(mode: u16) -> String {
            let mut text = Vec::new();
            push_mode(&mut text, mode);
            String::from_utf8(text).unwrap()
        }

        #[test]
        fn modes_read_as_in_ls() {
            assert_eq!(mode(0o100_644), "-rw-r--r--");
            assert_eq!(mode(0o041_777), "drwxrwxrwt");
            assert_eq!(mode(0o104_755), "-rwsr-xr-x");
            assert_eq!(mode(0o102_644), "-rw-r-Sr--");
            assert_eq!(mode(0o120_777), "lrwxrwxrwx");
        }

        #[test]
        fn dates_read_as_in_ls() {
            let date = |then_s, now_s| {
                let mut text = Vec::new();
                push_date(&mut text, &Attributes { modified_unix_s: then_s, ..Attributes::default() }, now_s);
                String::from_utf8(text).unwrap()
            };
            assert_eq!(date(951_782_400, 951_782_500), "Feb 29 00:00");
            assert_eq!(date(951_782_400, 999_999_999), "Feb 29  2000");
            assert_eq!(date(951_782_400, 951_782_399), "Feb 29  2000");
        }
    }
}

#[cfg(windows)]
mod windows {
    //! Lines of PowerShell's `Get-ChildItem`: mode, date, size, name; no owners. Dates are in UTC.

    use megadir::Time;
    use megadir_sys::windows::facts::Facts;

    use super::STEP;
    use crate::control::{Result, RunControl};
    use crate::kind::list::output::{NameArena, Sink, digits, push_number};

    const DIRECTORY: u32 = 0x10;
    /// Attributes in the order of their letters: directory, archive, read-only, hidden, system, link.
    const LETTERS: [(u32, u8); 6] =
        [(DIRECTORY, b'd'), (0x20, b'a'), (0x01, b'r'), (0x02, b'h'), (0x04, b's'), (0x400, b'l')];
    const SIZE_COLUMNS_MIN: usize = 14;

    pub(crate) fn format_long(arena: &NameArena, control: RunControl<'_>, sink: &mut Sink) -> Result<()> {
        let widest = arena.attributes.iter().map(|facts| digits(facts.size_bytes)).max().unwrap_or(1);
        let width = widest.max(SIZE_COLUMNS_MIN);
        sink.heading(b"Mode   LastWriteTime    Length         Name")?;
        for (index, (name, facts)) in arena.names().zip(&arena.attributes).enumerate() {
            control.check_every(STEP, index as u64)?;
            let text = &mut sink.text;
            push_mode(text, facts.attributes);
            text.push(b' ');
            push_date(text, facts);
            text.push(b' ');
            match facts.attributes & DIRECTORY {
                0 => push_number(text, facts.size_bytes, width),
                _ => text.extend(std::iter::repeat_n(b' ', width)),
            }
            text.push(b' ');
            sink.push_name(name);
            sink.end_line()?;
        }
        Ok(())
    }

    fn push_mode(text: &mut Vec<u8>, attributes: u32) {
        text.extend(LETTERS.iter().map(|(bit, letter)| if attributes & bit != 0 { *letter } else { b'-' }));
    }

    /// Appends `YYYY-MM-DD HH:MM`.
    fn push_date(text: &mut Vec<u8>, facts: &Facts) {
        let date = Time::from_windows(facts.written).utc();
        push_number(text, date.year.unsigned_abs(), 4);
        for (before, value) in [(b'-', date.month), (b'-', date.day), (b' ', date.hour), (b':', date.minute)]
        {
            text.extend_from_slice(&[before, b'0' + value / 10, b'0' + value % 10]);
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// From 1601 to 1970, in 100 ns.
        const UNIX_EPOCH: i64 = 116_444_736_000_000_000;
        const TICKS_A_SECOND: i64 = 10_000_000;

        #[test]
        fn lines_read_as_in_powershell() {
            let of = |attributes, written| {
                let facts = Facts { attributes, written, ..Facts::default() };
                let mut text = Vec::new();
                push_mode(&mut text, facts.attributes);
                text.push(b' ');
                push_date(&mut text, &facts);
                String::from_utf8(text).unwrap()
            };
            assert_eq!(of(0x21, UNIX_EPOCH + 951_782_400 * TICKS_A_SECOND), "-ar--- 2000-02-29 00:00");
            assert_eq!(of(0x410, UNIX_EPOCH - 1), "d----l 1969-12-31 23:59");
        }
    }
}
