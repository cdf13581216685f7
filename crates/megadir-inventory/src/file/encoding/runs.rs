//! Small integers as runs (`RLE`): definition levels and dictionary indexes.
//!
//! ```text
//! run: length * 2, value
//! bit-packed: (groups of eight) * 2 + 1, values of the fixed width
//! ```

use super::{bits_at, put_bits, put_varint};
use crate::packed::take_varint;

const GROUP: usize = 8;

pub(in crate::file) type Run = (u32, u32);

#[inline]
pub(in crate::file) fn push(runs: &mut Vec<Run>, number: u32, count: u32) {
    match runs.last_mut() {
        Some((last, length)) if *last == number => *length += count,
        _ => runs.push((number, count)),
    }
}

pub(in crate::file) fn width(numbers: usize) -> u32 {
    usize::BITS - numbers.saturating_sub(1).leading_zeros()
}

/// Numbers wait in `single` until a run is long enough to be written as one. Packed groups have eight
/// numbers, so a long run first fills the last group; only the end of the page may have a group that is not
/// full.
pub(in crate::file) fn encode(runs: &[Run], width: u32, out: &mut Vec<u8>) {
    let mut single: Vec<u32> = Vec::new();
    for &(number, mut count) in runs {
        let lacking = (GROUP - single.len() % GROUP) % GROUP;
        let taken = lacking.min(count as usize);
        single.extend(std::iter::repeat_n(number, taken));
        count -= taken as u32;
        if count as usize >= GROUP {
            flush(&mut single, width, out);
            put_varint(out, u64::from(count) << 1);
            out.extend_from_slice(&number.to_le_bytes()[..width.div_ceil(8) as usize]);
        } else {
            single.extend(std::iter::repeat_n(number, count as usize));
        }
    }
    flush(&mut single, width, out);
}

fn flush(single: &mut Vec<u32>, width: u32, out: &mut Vec<u8>) {
    if single.is_empty() {
        return;
    }
    let groups = single.len().div_ceil(GROUP);
    single.resize(groups * GROUP, 0);
    put_varint(out, (groups as u64) << 1 | 1);
    put_bits(out, single.iter().map(|&number| number.into()), width);
    single.clear();
}

/// Passes each run to `take` as its number and length until `count` numbers were passed, and moves `bytes`
/// behind them. A packed group may have more numbers than are left, because groups have eight; the rest is
/// padding. A width of 0 is valid: all numbers are 0 then and take no bytes. `None` from `take` ends the
/// decoding as damage does.
pub(in crate::file) fn decode(
    bytes: &mut &[u8],
    width: u32,
    count: usize,
    mut take: impl FnMut(u32, u32) -> Option<()>,
) -> Option<()> {
    let mut left = count;
    if width > 32 {
        return None;
    }
    while left > 0 {
        let head = take_varint(bytes)?;
        let length = usize::try_from(head >> 1).ok().filter(|length| *length > 0)?;
        if head & 1 == 0 {
            let (number, rest) = bytes.split_at_checked(width.div_ceil(8) as usize)?;
            *bytes = rest;
            let mut four = [0; 4];
            four[..number.len()].copy_from_slice(number);
            let (number, length) = (u32::from_le_bytes(four), length.min(left));
            if u64::from(number) >> width != 0 {
                return None;
            }
            take(number, length as u32)?;
            left -= length;
        } else {
            let packed = length.checked_mul(width as usize)?;
            let (packed, rest) = bytes.split_at_checked(packed)?;
            *bytes = rest;
            let length = length.checked_mul(GROUP)?.min(left);
            for index in 0..length {
                take(bits_at(packed, index * width as usize, width) as u32, 1)?;
            }
            left -= length;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_come_back() {
        let lists: [&[Run]; 7] = [
            &[],
            &[(0, 1)],
            &[(1, 100_000)],
            &[(0, 3), (1, 2), (5, 1), (2, 20), (7, 3)],
            &[(0, 8), (1, 8), (3, 7), (4, 9), (6, 1)],
            &[(1, 1), (0, 1), (1, 1), (0, 70), (1, 5)],
            &[(0, 15), (1, 1), (2, 16)],
        ];
        for runs in lists {
            let most = runs.iter().map(|run| run.0 as usize).max().unwrap_or(0);
            for width in [width(most + 1), 9, 32] {
                let (mut bytes, mut back) = (Vec::new(), Vec::new());
                encode(runs, width, &mut bytes);
                bytes.extend_from_slice(b"rest");
                let count = runs.iter().map(|run| run.1 as usize).sum();
                let mut rest = &bytes[..];
                let taken = decode(&mut rest, width, count, |number, count| {
                    push(&mut back, number, count);
                    Some(())
                });
                assert_eq!((taken, &back[..], rest), (Some(()), runs, &b"rest"[..]), "width {width}");
            }
        }
        assert_eq!((width(0), width(1), width(2), width(3), width(256), width(257)), (0, 0, 1, 2, 8, 9));
        assert_eq!(decode(&mut &[0x03, 0xff][..], 2, 8, |_, _| Some(())), None, "cut off");
        assert_eq!(decode(&mut &[0x00, 0x01][..], 2, 8, |_, _| Some(())), None, "a run of none");
    }
}
