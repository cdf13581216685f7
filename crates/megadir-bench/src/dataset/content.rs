//! What is in the n-th file: computed in pieces as it is written or compared, never held.

use md5::{Digest, Md5};
use megadir_record::ContentKind;
use megadir_stats::permutation::SplitMix64;

use super::json::Json;
use super::names::{GOLDEN, decimal, hex_digits};

/// The content of one file.
#[derive(Clone, Debug)]
pub struct Content {
    bytes: Bytes,
}

#[derive(Clone, Debug)]
enum Bytes {
    Random(SplitMix64),
    Digests(Digests),
    Json(Json),
}

impl Content {
    /// Returns the content of the file of `index`, which has so many bytes.
    pub fn new(kind: ContentKind, seed: u64, index: u64, size_bytes: u64) -> Self {
        let bytes = match kind {
            ContentKind::Pseudorandom => {
                let mut random = SplitMix64::new(seed ^ !index.wrapping_mul(GOLDEN));
                random.next_u64();
                Bytes::Random(random)
            }
            ContentKind::HexDigest => {
                Bytes::Digests(Digests { seed, index, next: 0, left: 0, text: [0; 32] })
            }
            ContentKind::Json => Bytes::Json(Json::new(seed, index, size_bytes)),
        };
        Self { bytes }
    }

    /// Fills `buffer` with the bytes that come next; every call but the last must fill a multiple of 8.
    ///
    /// Beyond the size that was given, the bytes are of no meaning.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        match &mut self.bytes {
            Bytes::Random(random) => {
                for chunk in buffer.chunks_mut(8) {
                    chunk.copy_from_slice(&random.next_u64().to_le_bytes()[..chunk.len()]);
                }
            }
            Bytes::Digests(digests) => digests.fill(buffer),
            Bytes::Json(json) => json.fill(buffer),
        }
    }
}

/// MD5 digests of `SEED:INDEX:content:NUMBER` in hex, one after the other.
#[derive(Clone, Debug)]
struct Digests {
    seed: u64,
    index: u64,
    next: u64,
    /// Bytes at the end of `text` that are still to be given.
    left: usize,
    text: [u8; 32],
}

impl Digests {
    fn fill(&mut self, mut buffer: &mut [u8]) {
        while !buffer.is_empty() {
            if self.left == 0 {
                self.digest();
            }
            let count = self.left.min(buffer.len());
            let (now, later) = buffer.split_at_mut(count);
            let start = self.text.len() - self.left;
            now.copy_from_slice(&self.text[start..start + count]);
            self.left -= count;
            buffer = later;
        }
    }

    fn digest(&mut self) {
        let mut number = [0; 41];
        let mut digest = Md5::new();
        digest.update(decimal(self.seed, &mut number));
        digest.update(b":");
        digest.update(decimal(self.index, &mut number));
        digest.update(b":content:");
        digest.update(decimal(self.next, &mut number));
        hex_digits(&digest.finalize(), &mut self.text);
        self.next += 1;
        self.left = self.text.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [ContentKind; 3] = [ContentKind::Pseudorandom, ContentKind::HexDigest, ContentKind::Json];

    fn content_of(kind: ContentKind, index: u64, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        Content::new(kind, 3, index, size as u64).fill(&mut bytes);
        bytes
    }

    #[test]
    fn contents_come_in_pieces_as_they_come_whole() {
        for kind in KINDS {
            for size in [1, 8, 31, 32, 50, 100, 1000, 5003] {
                let whole = content_of(kind, 9, size);
                for piece in [8, 16, 24, 40, 800] {
                    let mut content = Content::new(kind, 3, 9, size as u64);
                    let mut pieces = vec![0; size];
                    pieces.chunks_mut(piece).for_each(|piece| content.fill(piece));
                    assert!(whole == pieces, "{kind:?} {size} {piece}");
                }
                if size >= 8 {
                    assert_ne!(whole, content_of(kind, 10, size), "{kind:?} {size}");
                }
            }
        }
    }

    #[test]
    fn digests_are_those_that_md5sum_gives() {
        // printf 3:9:content:0 | md5sum, and with 1.
        let text = content_of(ContentKind::HexDigest, 9, 64);
        assert_eq!(String::from_utf8(text).unwrap(), DIGESTS);
    }

    const DIGESTS: &str = "c6415dae0542a37a9e5fdfdae3f9a568cbe5b27ca9c8e8646c4289dd82359004";
}
