//! Integers as differences between consecutive values (`DELTA_BINARY_PACKED`).
//!
//! ```text
//! header: block size, miniblocks in a block, count, first value
//! block: minimum difference, bit width of each miniblock, miniblocks (differences less the minimum)
//! ```

use super::{bits_at, put_bits, put_varint};
use crate::packed::{take_varint, unzigzag, zigzag};

const BLOCK: usize = 128;
const PART: usize = 32;
const BLOCK_MAX: u64 = 1 << 16;

/// Blocks of fixed size, each with its own minimum, so that one large jump widens one miniblock only.
/// Differences wrap around, as the format defines, and so do the sums of the decoder.
pub(in crate::file) fn encode(numbers: &[i64], out: &mut Vec<u8>) {
    put_varint(out, BLOCK as u64);
    put_varint(out, (BLOCK / PART) as u64);
    put_varint(out, numbers.len() as u64);
    put_varint(out, zigzag(numbers.first().copied().unwrap_or(0)));
    let mut differences = [0i64; BLOCK];
    let mut from = 0;
    while from + 1 < numbers.len() {
        let to = (from + BLOCK).min(numbers.len() - 1);
        let differences = &mut differences[..to - from];
        let pairs = numbers[from..to].iter().zip(&numbers[from + 1..=to]);
        for (difference, (before, after)) in differences.iter_mut().zip(pairs) {
            *difference = after.wrapping_sub(*before);
        }
        block(differences, out);
        from = to;
    }
}

fn block(differences: &[i64], out: &mut Vec<u8>) {
    let least = differences.iter().copied().min().unwrap_or(0);
    put_varint(out, zigzag(least));
    let above = |difference: &i64| difference.wrapping_sub(least) as u64;
    let widths_at = out.len();
    out.extend_from_slice(&[0; BLOCK / PART]);
    for (index, part) in differences.chunks(PART).enumerate() {
        let all_bits = part.iter().fold(0, |bits, difference| bits | above(difference));
        let width = 64 - all_bits.leading_zeros();
        out[widths_at + index] = width as u8;
        let rest = std::iter::repeat_n(0, PART - part.len());
        put_bits(out, part.iter().map(above).chain(rest), width);
    }
}

/// Appends at most `most` numbers and moves `bytes` behind them. Every count in the header is checked, since
/// it decides about memory. Sums wrap, as the format defines. The widths of miniblocks behind the last number
/// may be anything, because writers leave them undefined; a block whose last miniblocks are not used has no
/// bytes for them.
pub(in crate::file) fn decode(bytes: &mut &[u8], most: usize, numbers: &mut Vec<i64>) -> Option<()> {
    let (block, parts) = (take_varint(bytes)?, take_varint(bytes)?);
    let total = usize::try_from(take_varint(bytes)?).ok().filter(|total| *total <= most)?;
    if !(1..=BLOCK_MAX).contains(&block) || !(1..=block).contains(&parts) || block % parts != 0 {
        return None;
    }
    let (part, parts) = ((block / parts) as usize, parts as usize);
    let mut number = unzigzag(take_varint(bytes)?);
    if total == 0 || part % 8 != 0 {
        return if total == 0 { Some(()) } else { None };
    }
    numbers.reserve(total);
    numbers.push(number);
    let mut left = total - 1;
    while left > 0 {
        let least = unzigzag(take_varint(bytes)?);
        let (widths, mut rest) = bytes.split_at_checked(parts)?;
        for &width in widths {
            if left == 0 {
                break;
            }
            if width > 64 {
                return None;
            }
            let (packed, after) = rest.split_at_checked(part * usize::from(width) / 8)?;
            rest = after;
            let count = part.min(left);
            unpack(packed, width.into(), count, |above| {
                number = number.wrapping_add(least).wrapping_add(above as i64);
                numbers.push(number);
            });
            left -= count;
        }
        *bytes = rest;
    }
    Some(())
}

/// The usual widths are read by one unaligned load of eight bytes for each number, from a copy that is
/// padded, so that the last load stays within it. Other widths take the slower way by bits.
#[inline]
fn unpack(packed: &[u8], width: u32, count: usize, mut give: impl FnMut(u64)) {
    let mut padded = [0; PART * 8 + 8];
    match packed.len() {
        0 => (0..count).for_each(|_| give(0)),
        bytes if width <= 56 && bytes <= PART * 8 => {
            // A number of up to 56 bits fits in the eight bytes it begins in; pad the end of the input.
            padded[..bytes].copy_from_slice(packed);
            let mask = (1 << width) - 1;
            for bit in (0..count).map(|index| index * width as usize) {
                let Some(window) = padded[bit / 8..].first_chunk() else { return };
                give(u64::from_le_bytes(*window) >> (bit % 8) & mask);
            }
        }
        _ => (0..count).for_each(|index| give(bits_at(packed, index * width as usize, width))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let mut random = 1u64;
        let mut next = |bits: u32| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 1 >> (63 - bits)) as i64
        };
        for length in [0, 1, 2, 31, 33, 128, 129, 130, 1000] {
            for bits in [0, 1, 7, 31, 33, 57, 58, 63] {
                let numbers: Vec<i64> = (0..length).map(|_| next(bits)).collect();
                check(&numbers);
            }
        }
        check(&[i64::MIN, i64::MAX, i64::MIN, 0, i64::MAX, -1]);
    }

    fn check(numbers: &[i64]) {
        let mut bytes = Vec::new();
        encode(numbers, &mut bytes);
        bytes.extend_from_slice(b"rest");
        let (mut rest, mut back) = (&bytes[..], Vec::new());
        assert_eq!(decode(&mut rest, numbers.len(), &mut back), Some(()));
        assert_eq!((&back[..], rest), (numbers, &b"rest"[..]));
        if !numbers.is_empty() {
            assert_eq!(decode(&mut &bytes[..], numbers.len() - 1, &mut back), None, "more than there may be");
            assert_eq!(decode(&mut &bytes[..3], numbers.len(), &mut back), None, "cut off");
        }
    }
}
