//! The n-th name and the n-th content of a data set, computed and never held.

use md5::{Digest, Md5};
use megadir_record::NameScheme;
use megadir_stats::permutation::SplitMix64;

/// The longest name that any scheme gives, bytes.
pub const NAME_BYTES_MAX: usize = 32;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

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
    /// How they are computed.
    pub scheme: NameScheme,
    /// The seed.
    pub seed: u64,
}

impl Names {
    /// Writes the name of `index` into `buffer` and returns it; different indices have different names.
    ///
    /// [`NameScheme::Md5`] is the digest of `SEED:INDEX` in decimal, which anyone can check with
    /// md5sum; [`NameScheme::Hex`] is the output of SplitMix64 at that index, a bijection.
    pub fn write<'a>(&self, index: u64, buffer: &'a mut [u8; NAME_BYTES_MAX]) -> &'a [u8] {
        match self.scheme {
            NameScheme::Md5 => {
                let mut text = [0; 41];
                let mut digest = Md5::new();
                digest.update(decimal(self.seed, &mut text));
                digest.update(b":");
                digest.update(decimal(index, &mut text));
                hex(&digest.finalize(), buffer)
            }
            NameScheme::Hex => {
                let state = self.seed.wrapping_add(index.wrapping_mul(GOLDEN));
                hex(&SplitMix64::new(state).next_u64().to_be_bytes(), buffer)
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
                let mut digits = [0; NAME_BYTES_MAX];
                let digits = hex(&index.to_be_bytes(), &mut digits);
                let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
                let name = copy(&digits[zeros.min(8)..], buffer);
                name.make_ascii_uppercase();
                name
            }
        }
    }
}

/// Copies a name to the beginning of `buffer` and returns it there.
fn copy<'a>(name: &[u8], buffer: &'a mut [u8; NAME_BYTES_MAX]) -> &'a mut [u8] {
    buffer[..name.len()].copy_from_slice(name);
    &mut buffer[..name.len()]
}

/// Writes `value` in decimal at the end of `text` and returns it.
fn decimal(value: u64, text: &mut [u8; 41]) -> &[u8] {
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

fn hex<'a>(bytes: &[u8], buffer: &'a mut [u8; NAME_BYTES_MAX]) -> &'a [u8] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in buffer.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    &buffer[..bytes.len() * 2]
}

/// The content of one file: pseudorandom bytes that no file system can compress away.
#[derive(Clone, Debug)]
pub struct Content {
    random: SplitMix64,
}

impl Content {
    /// Returns the content of the file of `index`.
    pub fn new(seed: u64, index: u64) -> Self {
        let mut random = SplitMix64::new(seed ^ !index.wrapping_mul(GOLDEN));
        random.next_u64();
        Self { random }
    }

    /// Fills `buffer` with the bytes that come next; every call but the last must fill a multiple of 8.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&self.random.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Content, NAME_BYTES_MAX, Names};
    use megadir_record::NameScheme;

    const SCHEMES: [NameScheme; 5] =
        [NameScheme::Md5, NameScheme::Hex, NameScheme::Sequence, NameScheme::Decimal, NameScheme::UpperHex];

    fn name(scheme: NameScheme, seed: u64, index: u64) -> String {
        let mut buffer = [0; NAME_BYTES_MAX];
        String::from_utf8(Names { scheme, seed }.write(index, &mut buffer).to_vec()).unwrap()
    }

    #[test]
    fn md5_names_are_those_that_md5sum_gives() {
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
    fn numbers_are_those_that_printf_prints() {
        for index in [0, 9, 10, 255, 4096, 0xffff_ffff, 0x1_0000_0000, u64::MAX] {
            assert_eq!(name(NameScheme::Decimal, 5, index), format!("{index}"));
            assert_eq!(name(NameScheme::UpperHex, 5, index), format!("{index:08X}"));
        }
    }

    #[test]
    fn names_differ() {
        for scheme in SCHEMES {
            let names: HashSet<String> = (0..10_000).map(|index| name(scheme, 7, index)).collect();
            assert_eq!(names.len(), 10_000);
        }
    }

    #[test]
    fn contents_come_in_pieces_as_they_come_whole() {
        let (mut whole, mut pieces) = ([0; 50], [0; 50]);
        Content::new(3, 9).fill(&mut whole);
        let mut content = Content::new(3, 9);
        content.fill(&mut pieces[..16]);
        content.fill(&mut pieces[16..]);
        assert_eq!(whole, pieces);
        let mut other = [0; 50];
        Content::new(3, 10).fill(&mut other);
        assert_ne!(whole, other);
    }
}
