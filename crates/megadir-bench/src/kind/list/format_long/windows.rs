//! Lines of PowerShell's `Get-ChildItem`: mode, date, size, name; no owners. Dates are in UTC.

use megadir::Time;
use megadir_sys::windows::facts::Facts;

use super::STEP;
use crate::control::{RunControl, WorkError};
use crate::kind::list::name_arena::NameArena;
use crate::kind::list::output::{Sink, digits, push_number};

const DIRECTORY: u32 = 0x10;
/// Attributes in the order of their letters: directory, archive, read-only, hidden, system, link.
const LETTERS: [(u32, u8); 6] =
    [(DIRECTORY, b'd'), (0x20, b'a'), (0x01, b'r'), (0x02, b'h'), (0x04, b's'), (0x400, b'l')];
/// From 1601 to 1970, in 100 ns.
const UNIX_EPOCH: i64 = 116_444_736_000_000_000;
const TICKS_A_SECOND: i64 = 10_000_000;
const SIZE_COLUMNS_MIN: usize = 14;

/// Formats all entries of the arena, in order.
pub(crate) fn format_long(
    arena: &NameArena,
    control: RunControl<'_>,
    sink: &mut Sink,
) -> Result<(), WorkError> {
    let widest = arena.attributes.iter().map(|facts| digits(facts.size_bytes)).max().unwrap_or(1);
    let width = widest.max(SIZE_COLUMNS_MIN);
    sink.line().extend_from_slice(b"Mode   LastWriteTime    Length         Name");
    sink.end_line()?;
    for (index, (name, facts)) in arena.names().zip(&arena.attributes).enumerate() {
        if index % STEP == 0 {
            control.check()?;
        }
        let text = sink.line();
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
    let seconds = (facts.written - UNIX_EPOCH).div_euclid(TICKS_A_SECOND);
    let date = Time { seconds, nanoseconds: 0 }.utc();
    push_number(text, date.year.unsigned_abs(), 4);
    for (before, value) in [(b'-', date.month), (b'-', date.day), (b' ', date.hour), (b':', date.minute)] {
        text.extend_from_slice(&[before, b'0' + value / 10, b'0' + value % 10]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
