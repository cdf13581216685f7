//! The n-th name of a data set, computed and never stored.
//!
//! Names decide much of a directory's cost: their hashes place them in indexes, and their lengths fill
//! blocks. So the schemes are the ones of published studies, and lengths can be taken from a user's tree.

use md5::{Digest, Md5};
use megadir_record::{NAME_LENGTHS, NameScheme};
use megadir_stats::permutation::SplitMix64;

use super::stream;

pub const NAME_BYTES_MAX: usize = 255;
const PURPOSE: u64 = 0x6e61_6d65;

/// Increment of SplitMix64: 2^64 divided by the golden ratio.
pub(super) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The names of a data set.
///
/// ```
/// use megadir_bench::dataset::{NAME_BYTES_MAX, Names};
/// use megadir_record::NameScheme;
/// let mut buffer = [0; NAME_BYTES_MAX];
/// let names = Names { scheme: NameScheme::Sequence, seed: 1 };
/// assert_eq!(names.write(42, &mut buffer), b"file000000000042");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    pub scheme: NameScheme,
    pub seed: u64,
}

impl Names {
    /// Different indices have different names: [`NameScheme::Md5`] is the digest of `SEED:INDEX` in decimal,
    /// [`NameScheme::Hex`] the output of SplitMix64 at that index, a bijection.
    pub fn write<'a>(&self, index: u64, buffer: &'a mut [u8; NAME_BYTES_MAX]) -> &'a [u8] {
        self.write_in(index, index, buffer)
    }

    /// `number` is the file's number in its directory. Names by length differ only there, so they can be short.
    ///
    /// A name depends on the seed and the numbers alone, so every process computes the same one, and resuming
    /// needs no list. MD5 is a scheme of published studies and protects nothing. The name is written into the
    /// caller's buffer: 10^8 names must not be 10^8 allocations.
    pub(super) fn write_in<'a>(
        &self,
        number: u64,
        index: u64,
        buffer: &'a mut [u8; NAME_BYTES_MAX],
    ) -> &'a [u8] {
        match self.scheme {
            NameScheme::Md5 => {
                let mut text = [0; 41];
                let mut digest = Md5::new();
                digest.update(decimal(self.seed, &mut text));
                digest.update(b":");
                digest.update(decimal(index, &mut text));
                hex_digits(&digest.finalize(), &mut buffer[..32])
            }
            NameScheme::Hex => {
                let state = self.seed.wrapping_add(index.wrapping_mul(GOLDEN));
                hex_digits(&SplitMix64::new(state).next_u64().to_be_bytes(), &mut buffer[..16])
            }
            NameScheme::Sequence => {
                buffer[..4].copy_from_slice(b"file");
                let mut rest = index;
                for digit in buffer[4..16].iter_mut().rev() {
                    *digit = b'0' + (rest % 10) as u8;
                    rest /= 10;
                }
                &buffer[..16]
            }
            NameScheme::Decimal => copy(decimal(index, &mut [0; 41]), buffer),
            NameScheme::UpperHex => {
                let mut digits = [0; 16];
                let digits = hex_digits(&index.to_be_bytes(), &mut digits);
                let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
                let name = copy(&digits[zeros.min(8)..], buffer);
                name.make_ascii_uppercase();
                name
            }
            NameScheme::Lengths { bytes } => self.by_length(bytes, number, index, buffer),
        }
    }

    /// The number, `_`, and pseudorandom characters up to a length from the table. A number that fills the
    /// length has no `_`, so different numbers have different names.
    fn by_length<'a>(
        &self,
        bytes: [u8; NAME_LENGTHS],
        number: u64,
        index: u64,
        buffer: &'a mut [u8; NAME_BYTES_MAX],
    ) -> &'a [u8] {
        let mut random = stream(self.seed, PURPOSE, index);
        let wanted = usize::from(bytes[(random.next_u64() % NAME_LENGTHS as u64) as usize]);
        let mut length = 0;
        let mut rest = number;
        while length == 0 || rest > 0 {
            buffer[length] = CHARACTERS[(rest % 32) as usize];
            rest /= 32;
            length += 1;
        }
        if length < wanted {
            buffer[length] = b'_';
            for chunk in buffer[length + 1..wanted].chunks_mut(8) {
                let drawn = random.next_u64().to_le_bytes();
                chunk.iter_mut().zip(drawn).for_each(|(to, byte)| *to = CHARACTERS[usize::from(byte % 32)]);
            }
            length = wanted;
        }
        &buffer[..length]
    }
}

/// Characters of names by length. `d` is missing, since it starts the names of subdirectories.
const CHARACTERS: &[u8; 32] = b"0123456789abcefghijkmnopqrstuvwx";

/// Windows device names that these characters can form. Numbers have no trailing 0, so `com0` is impossible.
const DEVICES: [&[u8]; 12] =
    [b"con", b"prn", b"aux", b"com1", b"com2", b"com3", b"com4", b"com5", b"com6", b"com7", b"com8", b"com9"];

/// A device name of Windows among the first `numbers` names, if names can be that short.
pub(super) fn device_among(bytes: &[u8; NAME_LENGTHS], numbers: u64) -> Option<&'static str> {
    let shortest = bytes.iter().min().map_or(0, |bytes| usize::from(*bytes));
    let digit = |byte: &u8| CHARACTERS.iter().position(|character| character == byte).map(|at| at as u64);
    let number =
        |device: &[u8]| device.iter().rev().try_fold(0, |number: u64, byte| Some(number * 32 + digit(byte)?));
    let among =
        |device: &&&[u8]| device.len() >= shortest && number(device).is_some_and(|number| number < numbers);
    DEVICES.iter().find(among).and_then(|device| std::str::from_utf8(device).ok())
}

fn copy<'a>(name: &[u8], buffer: &'a mut [u8; NAME_BYTES_MAX]) -> &'a mut [u8] {
    buffer[..name.len()].copy_from_slice(name);
    &mut buffer[..name.len()]
}

pub(super) fn decimal(value: u64, text: &mut [u8; 41]) -> &[u8] {
    let mut rest = value;
    let mut start = text.len();
    loop {
        start -= 1;
        text[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return &text[start..];
        }
    }
}

pub(super) fn hex_digits<'a>(bytes: &[u8], buffer: &'a mut [u8]) -> &'a [u8] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in buffer.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    buffer
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{CHARACTERS, NAME_BYTES_MAX, Names, device_among};
    use megadir_record::{NAME_LENGTHS, NameScheme};

    const LENGTHS: NameScheme = NameScheme::Lengths {
        bytes: [
            1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 9, 9, 9, 9, 9, 9, 9, 255,
        ],
    };
    const SCHEMES: [NameScheme; 6] = [
        NameScheme::Md5,
        NameScheme::Hex,
        NameScheme::Sequence,
        NameScheme::Decimal,
        NameScheme::UpperHex,
        LENGTHS,
    ];

    fn name(scheme: NameScheme, seed: u64, index: u64) -> String {
        let mut buffer = [0; NAME_BYTES_MAX];
        String::from_utf8(Names { scheme, seed }.write(index, &mut buffer).to_vec()).unwrap()
    }

    #[test]
    fn md5_names_match_md5sum() {
        // printf 0:0 | md5sum, and so on.
        assert_eq!(name(NameScheme::Md5, 0, 0), "3eac1f3c2ef5215eb9bd13e28ae0975a");
        assert_eq!(name(NameScheme::Md5, 1, 42), "a15a53f9499ea49862040e62fd86bcc1");
        assert_eq!(name(NameScheme::Md5, u64::MAX, 1_000_000), "d01dd960dd1a5f98ee535aa17f27db94");
    }

    #[test]
    fn hex_names_are_the_published_numbers_of_splitmix64() {
        assert_eq!(name(NameScheme::Hex, 1_234_567, 0), format!("{:016x}", 6_457_827_717_110_365_317_u64));
        assert_eq!(name(NameScheme::Hex, 1_234_567, 2), format!("{:016x}", 9_817_491_932_198_370_423_u64));
    }

    #[test]
    fn numbers_match_printf() {
        for index in [0, 9, 10, 255, 4096, 0xffff_ffff, 0x1_0000_0000, u64::MAX] {
            assert_eq!(name(NameScheme::Decimal, 5, index), format!("{index}"));
            assert_eq!(name(NameScheme::UpperHex, 5, index), format!("{index:08X}"));
        }
    }

    #[test]
    fn names_that_windows_keeps_for_devices_are_found_beforehand() {
        let of = |number| {
            let mut buffer = [0; NAME_BYTES_MAX];
            let names = Names { scheme: LENGTHS, seed: 7 };
            String::from_utf8(names.write_in(number, number, &mut buffer).to_vec()).unwrap()
        };
        let NameScheme::Lengths { bytes } = LENGTHS else { panic!("{LENGTHS:?}") };
        // The first is `con`, unless its drawn length is longer.
        let first = (0..100_000).find(|number| device_among(&bytes, number + 1).is_some()).unwrap();
        assert!(of(first).starts_with("con"), "{first} {}", of(first));
        assert_eq!(device_among(&bytes, first), None);
        assert_eq!(device_among(&bytes, first + 1), Some("con"));
        assert_eq!(device_among(&[4; NAME_LENGTHS], 32_768), None);
        assert_eq!(device_among(&[4; NAME_LENGTHS], 1 << 20), Some("com1"));
        assert_eq!(device_among(&[5; NAME_LENGTHS], u64::MAX), None);
        let refused = |name: &str| megadir::names::refused_by_windows(name).is_some();
        let missed = |number: &u64| refused(&of(*number)) && device_among(&bytes, number + 1).is_none();
        assert_eq!((0..70_000).find(missed), None);
    }

    #[test]
    fn names_differ() {
        for scheme in SCHEMES {
            let names: HashSet<String> = (0..10_000).map(|index| name(scheme, 7, index)).collect();
            assert_eq!(names.len(), 10_000);
        }
    }

    #[test]
    fn names_by_length_have_their_lengths_where_there_are_enough_of_them() {
        let long = NameScheme::Lengths { bytes: [11; NAME_LENGTHS] };
        assert!((0..10_000).all(|index| name(long, 7, index).len() == 11));
        let mut counts = [0_u32; NAME_BYTES_MAX + 1];
        (0..32_000).for_each(|index| counts[name(LENGTHS, 7, index).len()] += 1);
        // Numbers from 1024 on take 3 characters, so only lower numbers can have lengths 1 and 2.
        assert!(counts[1] < 32 && counts[2] < 1024 && counts[3] > 22_000, "{:?}", &counts[..10]);
        // Expected 7 000 and 1 000, with standard deviations of 74 and 31.
        assert!((6_600..7_400).contains(&counts[9]) && (840..1160).contains(&counts[255]), "{:?}", counts[9]);
        assert!(!CHARACTERS.contains(&b'd') && CHARACTERS.is_sorted());
    }
}
