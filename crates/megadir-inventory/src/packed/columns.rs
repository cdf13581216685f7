//! Rows of a directory as columns: equal values are stored once, others with the width of their range.
//!
//! ```text
//! columns: type column, number columns, lengths of the names (2 each), names
//! column: NOTHING | 0, value (8) | width (1, 2, 4 or 8), minimum (8), offset above the minimum of each row
//! ```

use super::Numbers;
use crate::row::NUMBERS;

const NOTHING: u8 = u8::MAX;
const LEAST_BYTES: usize = 8;

/// Found while rows are added, without keeping them: `differ` has a bit for each bit in which any row differs
/// from the first. A column without such bits takes one value. `lacking` marks numbers that some rows lack,
/// which columns cannot hold.
#[derive(Default)]
pub(crate) struct Alike {
    first: Option<Numbers>,
    differ: [i64; NUMBERS],
    kind_differs: bool,
    lacking: u16,
}

impl Alike {
    #[inline]
    pub(crate) fn add(&mut self, row: &Numbers) {
        let Some(first) = &self.first else {
            self.first = Some(*row);
            return;
        };
        for ((differ, first), number) in self.differ.iter_mut().zip(&first.values).zip(&row.values) {
            *differ |= first ^ number;
        }
        self.kind_differs |= first.kind != row.kind;
        self.lacking |= first.have ^ row.have;
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.first.is_some() && self.lacking == 0
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// `alike` must have seen all rows and be whole.
pub(crate) fn pack<'r>(
    out: &mut Vec<u8>,
    alike: &Alike,
    rows: &(impl ExactSizeIterator<Item = &'r Numbers> + Clone),
    names: &(impl Iterator<Item = &'r [u8]> + Clone),
) {
    let Some(first) = &alike.first else { return };
    let kinds = rows.clone().map(|row| i64::from(row.kind));
    column(out, first.kind.into(), alike.kind_differs, kinds);
    for (at, &number) in first.values.iter().enumerate() {
        match first.have & (1 << at) == 0 {
            true => out.push(NOTHING),
            false => column(out, number, alike.differ[at] != 0, rows.clone().map(|row| row.values[at])),
        }
    }
    // Names of 64 KiB exist on no file system, and a batch rejects them.
    names.clone().for_each(|name| out.extend_from_slice(&(name.len() as u16).to_ne_bytes()));
    names.clone().for_each(|name| out.extend_from_slice(name));
}

/// Without `differ`, all rows have the value `first`.
fn column(out: &mut Vec<u8>, first: i64, differ: bool, numbers: impl ExactSizeIterator<Item = i64> + Clone) {
    let ends = |(least, greatest): (i64, i64), number: i64| (least.min(number), greatest.max(number));
    let (least, greatest) = if differ { numbers.clone().fold((first, first), ends) } else { (first, first) };
    let span = greatest.wrapping_sub(least) as u64;
    let width = match 64 - span.leading_zeros() {
        0 => 0,
        1..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        _ => 8,
    };
    out.push(width);
    out.extend_from_slice(&least.to_ne_bytes());
    let above = numbers.map(|number| number.wrapping_sub(least) as u64);
    match width {
        0 => {}
        1 => values::<1>(out, above),
        2 => values::<2>(out, above),
        4 => values::<4>(out, above),
        _ => values::<8>(out, above),
    }
}

fn values<const WIDTH: usize>(out: &mut Vec<u8>, numbers: impl ExactSizeIterator<Item = u64>) {
    let start = out.len();
    out.resize(start + numbers.len() * WIDTH, 0);
    for (place, number) in out[start..].as_chunks_mut::<WIDTH>().0.iter_mut().zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes()[..WIDTH]);
    }
}

pub(crate) struct Columns<'a> {
    pub(crate) kind: Column<'a>,
    pub(crate) numbers: [Column<'a>; NUMBERS],
    lengths: &'a [[u8; 2]],
    pub(crate) names: &'a [u8],
}

#[derive(Clone, Copy)]
pub(crate) enum Column<'a> {
    Nothing,
    Same(i64),
    /// Minimum, and offsets above it.
    Each(i64, Above<'a>),
}

#[derive(Clone, Copy)]
pub(crate) enum Above<'a> {
    One(&'a [[u8; 1]]),
    Two(&'a [[u8; 2]]),
    Four(&'a [[u8; 4]]),
    Eight(&'a [[u8; 8]]),
}

impl<'a> Columns<'a> {
    pub(crate) fn take(bytes: &mut &'a [u8], rows: usize) -> Option<Self> {
        let kind = Column::take(bytes, rows)?;
        let mut numbers = [Column::Nothing; NUMBERS];
        for column in &mut numbers {
            *column = Column::take(bytes, rows)?;
        }
        let lengths = fixed::<2>(bytes, rows)?;
        let names_bytes = lengths.iter().map(|&length| usize::from(u16::from_ne_bytes(length))).sum();
        let names = split(bytes, names_bytes)?;
        Some(Self { kind, numbers, lengths, names })
    }

    pub(crate) fn len(&self) -> usize {
        self.lengths.len()
    }

    pub(crate) fn lengths(&self) -> impl ExactSizeIterator<Item = u16> + use<'a> {
        self.lengths.iter().map(|&length| u16::from_ne_bytes(length))
    }

    pub(crate) fn each_name(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut names = self.names;
        self.lengths().map_while(move |length| split(&mut names, length.into()))
    }
}

impl<'a> Column<'a> {
    fn take(bytes: &mut &'a [u8], rows: usize) -> Option<Self> {
        let (&width, rest) = bytes.split_first()?;
        *bytes = rest;
        if width == NOTHING {
            return Some(Self::Nothing);
        }
        let least = i64::from_ne_bytes(*split(bytes, LEAST_BYTES)?.first_chunk()?);
        Some(match width {
            0 => Self::Same(least),
            1 => Self::Each(least, Above::One(fixed(bytes, rows)?)),
            2 => Self::Each(least, Above::Two(fixed(bytes, rows)?)),
            4 => Self::Each(least, Above::Four(fixed(bytes, rows)?)),
            8 => Self::Each(least, Above::Eight(fixed(bytes, rows)?)),
            _ => return None,
        })
    }

    pub(crate) fn get(&self, row: usize) -> Option<i64> {
        match *self {
            Self::Nothing => None,
            Self::Same(number) => Some(number),
            Self::Each(least, above) => Some(least.wrapping_add(above.get(row)? as i64)),
        }
    }
}

impl Above<'_> {
    fn get(self, row: usize) -> Option<u64> {
        Some(match self {
            Self::One(numbers) => u8::from_le_bytes(*numbers.get(row)?).into(),
            Self::Two(numbers) => u16::from_le_bytes(*numbers.get(row)?).into(),
            Self::Four(numbers) => u32::from_le_bytes(*numbers.get(row)?).into(),
            Self::Eight(numbers) => u64::from_le_bytes(*numbers.get(row)?),
        })
    }

    pub(crate) fn append(self, least: i64, numbers: &mut Vec<i64>) {
        let number = |above: u64| least.wrapping_add(above as i64);
        match self {
            Self::One(all) => numbers.extend(all.iter().map(|raw| number(u8::from_le_bytes(*raw).into()))),
            Self::Two(all) => numbers.extend(all.iter().map(|raw| number(u16::from_le_bytes(*raw).into()))),
            Self::Four(all) => numbers.extend(all.iter().map(|raw| number(u32::from_le_bytes(*raw).into()))),
            Self::Eight(all) => numbers.extend(all.iter().map(|raw| number(u64::from_le_bytes(*raw)))),
        }
    }
}

fn split<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (front, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(front)
}

fn fixed<'a, const WIDTH: usize>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [[u8; WIDTH]]> {
    Some(split(bytes, count.checked_mul(WIDTH)?)?.as_chunks().0)
}

#[cfg(test)]
mod tests {
    use super::{Alike, Columns, pack};
    use crate::packed::Numbers;
    use crate::row::Facts;
    use megadir::FileType;

    /// Packs and unpacks rows with the given sizes.
    fn sizes(sizes: &[u64]) -> (Vec<u64>, usize) {
        let facts = |(index, &size): (usize, &u64)| Facts {
            kind: if index % 2 == 0 { FileType::File } else { FileType::Directory },
            size_bytes: Some(size),
            born_ns: Some(i64::MIN),
            ..Facts::NOTHING
        };
        let rows: Vec<Numbers> =
            sizes.iter().enumerate().map(facts).map(|facts| Numbers::new(&facts)).collect();
        let names: Vec<String> = (0..rows.len()).map(|index| "n".repeat(index % 7)).collect();
        let (mut alike, mut bytes) = (Alike::default(), Vec::new());
        rows.iter().for_each(|row| alike.add(row));
        assert!(alike.is_whole());
        pack(&mut bytes, &alike, &rows.iter(), &names.iter().map(String::as_bytes));
        let length = bytes.len();
        assert!(Columns::take(&mut &bytes[..length - 1], rows.len()).is_none(), "cut off");
        bytes.extend_from_slice(b"rest");
        let mut rest = &bytes[..];
        let columns = Columns::take(&mut rest, rows.len()).unwrap();
        assert_eq!((rest, columns.len()), (&b"rest"[..], rows.len()));
        assert!(columns.each_name().eq(names.iter().map(String::as_bytes)));
        let back = (0..rows.len()).map(|row| {
            let kind = columns.kind.get(row).map(|kind| FileType::ALL[kind as usize]).unwrap();
            let numbers = std::array::from_fn(|at| columns.numbers[at].get(row));
            let back = Facts::from_numbers(kind, &numbers);
            assert_eq!(back, facts((row, &sizes[row])));
            back.size_bytes.unwrap()
        });
        (back.collect(), length)
    }

    #[test]
    fn rows_come_back_whatever_their_span() {
        let mut lengths = Vec::new();
        for span in [0, 1, 0xff, 0x100, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, u64::MAX] {
            for least in [0, 7, u64::MAX / 2, u64::MAX] {
                let all = [least, least.wrapping_add(span), least.wrapping_add(span / 2), least];
                let (back, length) = sizes(&all);
                assert_eq!(back, all);
                lengths.push(length);
            }
        }
        // Equal values take no space, small ranges little.
        assert_eq!(lengths[4] - lengths[0], 4);
        assert_eq!(lengths[lengths.len() - 4] - lengths[0], 4 * 8);
    }

    #[test]
    fn rows_with_missing_attributes_are_no_columns() {
        let some = Facts { size_bytes: Some(0), ..Facts::NOTHING };
        let mut alike = Alike::default();
        assert!(!alike.is_whole(), "of no row");
        [&some, &some].into_iter().for_each(|facts| alike.add(&Numbers::new(facts)));
        assert!(alike.is_whole());
        alike.add(&Numbers::new(&Facts::NOTHING));
        assert!(!alike.is_whole());
        alike.clear();
        alike.add(&Numbers::new(&Facts::NOTHING));
        assert!(alike.is_whole());
    }
}
