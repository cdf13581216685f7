//! Content of the n-th file: generated in pieces while it is written or compared, never stored.
//!
//! ```text
//!  Content::fill(buffer) <- Piece (up to 160 bytes, kept from call to call) <- next_piece: digest, or JSON
//!                        <- SplitMix64 directly, 8 bytes a step
//! ```
//!
//! Contents matter where a file system compresses or deduplicates: pseudorandom bytes give it nothing to
//! do, and JSON can be compressed. Generation must keep up with writing, so nothing here allocates.

use md5::{Digest, Md5};
use megadir_record::ContentKind;
use megadir_stats::permutation::SplitMix64;

use crate::dataset::names::{GOLDEN, decimal, hex_digits};
use crate::dataset::stream;

/// Position within the content of one file.
#[derive(Clone, Debug)]
pub struct Content {
    source: ContentSource,
    piece: Piece,
}

#[derive(Clone, Debug)]
enum ContentSource {
    Random(SplitMix64),
    Digests(Digests),
    Json(Json),
}

impl Content {
    pub fn new(kind: ContentKind, seed: u64, index: u64, size_bytes: u64) -> Self {
        let source = match kind {
            ContentKind::Pseudorandom => {
                let mut random = SplitMix64::new(seed ^ !index.wrapping_mul(GOLDEN));
                random.next_u64();
                ContentSource::Random(random)
            }
            ContentKind::HexDigest => ContentSource::Digests(Digests { seed, index, next: 0 }),
            ContentKind::Json => {
                let random = stream(seed, PURPOSE, index);
                ContentSource::Json(Json { random, index, part: Part::Start, rest: size_bytes })
            }
        };
        Self { source, piece: Piece { bytes: [0; PIECE_BYTES_MAX], length: 0, given: 0 } }
    }

    /// Every call but the last must fill a multiple of 8 bytes; bytes beyond the given size are unspecified.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        match &mut self.source {
            ContentSource::Random(random) => {
                for chunk in buffer.chunks_mut(8) {
                    chunk.copy_from_slice(&random.next_u64().to_le_bytes()[..chunk.len()]);
                }
            }
            ContentSource::Digests(digests) => self.piece.fill(buffer, |piece| digests.next_piece(piece)),
            ContentSource::Json(json) => self.piece.fill(buffer, |piece| json.next_piece(piece)),
        }
    }
}

/// MD5 digests of `SEED:INDEX:content:NUMBER` in hex, concatenated.
#[derive(Clone, Debug)]
struct Digests {
    seed: u64,
    index: u64,
    next: u64,
}

impl Digests {
    fn next_piece(&mut self, piece: &mut Piece) {
        let mut number = [0; 41];
        let mut digest = Md5::new();
        digest.update(decimal(self.seed, &mut number));
        digest.update(b":");
        digest.update(decimal(self.index, &mut number));
        digest.update(b":content:");
        digest.update(decimal(self.next, &mut number));
        piece.hex(&digest.finalize());
        self.next += 1;
    }
}

const OBJECT_BYTES_MIN: u64 = 128;
const PIECE_BYTES_MAX: usize = 160;
const RECORD_BYTES_MAX: u64 = 144;
/// End of the list of records and start of the note, and end of the document.
const NOTE: &[u8] = b"],\"note\":\"";
const END: &[u8] = b"\"}";
const PURPOSE: u64 = 0x6a73_6f6e;

const WORDS: [&str; 32] = [
    "alpha", "archive", "batch", "blue", "cache", "client", "copper", "delta", "east", "entry", "field",
    "green", "harbour", "index", "item", "journal", "key", "large", "market", "minor", "north", "order",
    "parcel", "query", "red", "river", "sample", "south", "status", "stone", "table", "west",
];

/// A document of exactly the file's size. The hard part is its end: `rest` counts the bytes that
/// are left, so that records are added while one certainly fits, and a text of any length fills the
/// remainder.
///
/// ```text
///  {"id":..,"key":"..","records":[{..},{..}],"note":"words words wor"}
///  Start                          Records         Text                Done (spaces, if the buffer is longer)
/// ```
#[derive(Clone, Debug)]
struct Json {
    random: SplitMix64,
    index: u64,
    part: Part,
    rest: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Start,
    Records { first: bool },
    Text { object: bool },
    Done,
}

impl Json {
    fn next_piece(&mut self, piece: &mut Piece) {
        match self.part {
            Part::Start => self.start(piece),
            Part::Records { first } if self.rest >= RECORD_BYTES_MAX + (NOTE.len() + END.len()) as u64 => {
                self.record(first, piece);
                self.part = Part::Records { first: false };
            }
            Part::Records { .. } => {
                piece.push(NOTE);
                self.part = Part::Text { object: true };
            }
            Part::Text { object } => self.text(if object { END } else { b"\"" }, piece),
            Part::Done => {
                piece.push(b" ");
                return;
            }
        }
        self.rest -= piece.length as u64;
    }

    /// Shorter sizes than an object needs are a string, a digit, or nothing, all of them valid JSON but the
    /// empty file.
    fn start(&mut self, piece: &mut Piece) {
        match self.rest {
            0 => self.part = Part::Done,
            1 => {
                piece.push(&[b'0' + (self.random.next_u64() % 10) as u8]);
                self.part = Part::Done;
            }
            2..OBJECT_BYTES_MIN => {
                piece.push(b"\"");
                self.part = Part::Text { object: false };
            }
            _ => {
                piece.push(b"{\"id\":");
                piece.number(self.index);
                piece.push(b",\"key\":\"");
                piece.hex(&self.random.next_u64().to_be_bytes());
                piece.push(b"\",\"records\":[");
                self.part = Part::Records { first: true };
            }
        }
    }

    fn record(&mut self, first: bool, piece: &mut Piece) {
        let drawn = self.random.next_u64();
        let word = |shift: u32| WORDS[(drawn >> shift & 31) as usize];
        piece.push(if first { b"{\"at\":" } else { b",{\"at\":" });
        piece.number(1_000_000_000 + (drawn >> 40));
        piece.push_all(&[",\"name\":\"", word(0), " ", word(5), "\",\"price\":"]);
        piece.number(drawn >> 10 & 0xfff);
        piece.push(b".");
        piece.number(1 + (drawn >> 22 & 7));
        piece.push_all(&[",\"tags\":[\"", word(25), "\",\"", word(30), "\"],\"open\":"]);
        piece.push(if drawn >> 35 & 1 == 0 { b"true" } else { b"false" });
        piece.push(b",\"mark\":\"");
        piece.hex(&self.random.next_u64().to_be_bytes());
        piece.push(b"\"}");
    }

    /// Words up to the last byte before `end`; the last word is cut.
    fn text(&mut self, end: &[u8], piece: &mut Piece) {
        while piece.length < PIECE_BYTES_MAX / 2 {
            let left = self.rest - (piece.length + end.len()) as u64;
            if left == 0 {
                piece.push(end);
                self.part = Part::Done;
                return;
            }
            let word = WORDS[(self.random.next_u64() % WORDS.len() as u64) as usize].as_bytes();
            let count = word.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            piece.push(&word[..count]);
            if left > word.len() as u64 {
                piece.push(b" ");
            }
        }
    }
}

/// Bytes that were generated and not all returned yet: `given` of `length`.
#[derive(Clone, Debug)]
struct Piece {
    bytes: [u8; PIECE_BYTES_MAX],
    length: usize,
    given: usize,
}

impl Piece {
    /// Fills a buffer with pieces; `next` writes the next one.
    fn fill(&mut self, mut buffer: &mut [u8], mut next: impl FnMut(&mut Self)) {
        while !buffer.is_empty() {
            if self.given == self.length {
                (self.given, self.length) = (0, 0);
                next(self);
            }
            let ready = &self.bytes[self.given..self.length];
            let count = ready.len().min(buffer.len());
            let (now, later) = buffer.split_at_mut(count);
            now.copy_from_slice(&ready[..count]);
            self.given += count;
            buffer = later;
        }
    }

    fn push(&mut self, text: &[u8]) {
        self.bytes[self.length..self.length + text.len()].copy_from_slice(text);
        self.length += text.len();
    }

    fn number(&mut self, number: u64) {
        self.push(decimal(number, &mut [0; 41]));
    }

    fn hex(&mut self, bytes: &[u8]) {
        let end = self.length + 2 * bytes.len();
        hex_digits(bytes, &mut self.bytes[self.length..end]);
        self.length = end;
    }

    fn push_all(&mut self, texts: &[&str]) {
        texts.iter().for_each(|text| self.push(text.as_bytes()));
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
    fn digests_match_md5sum() {
        // printf 3:9:content:0 | md5sum, and with 1.
        let text = content_of(ContentKind::HexDigest, 9, 64);
        assert_eq!(String::from_utf8(text).unwrap(), DIGESTS);
    }

    const DIGESTS: &str = "c6415dae0542a37a9e5fdfdae3f9a568cbe5b27ca9c8e8646c4289dd82359004";
}

#[cfg(test)]
mod tests_of_json {
    use crate::dataset::content::*;

    fn document(index: u64, size: u64) -> Vec<u8> {
        let mut text = vec![0; size as usize];
        Content::new(ContentKind::Json, 5, index, size).fill(&mut text);
        text
    }

    #[test]
    fn documents_of_every_size_parse() {
        for size in (1..3000).chain([50_000, 1 << 20]) {
            let text = document(size * 7, size);
            let value: serde_json::Value = serde_json::from_slice(&text)
                .unwrap_or_else(|error| panic!("{size}: {error}: {}", String::from_utf8_lossy(&text)));
            assert_eq!(value.is_object(), size >= OBJECT_BYTES_MIN, "{size}");
            // Reading past the end of the document would give spaces.
            assert_ne!(text.last(), Some(&b' '), "{size}");
        }
    }

    #[test]
    fn a_document_is_about_its_file() {
        let value: serde_json::Value = serde_json::from_slice(&document(41, 10_000)).unwrap();
        assert_eq!(value["id"], 41);
        let records = value["records"].as_array().unwrap();
        assert!(records.len() > 80, "{}", records.len());
        assert!(records.iter().all(|record| record["tags"].as_array().unwrap().len() == 2));
        assert_ne!(records[0], records[1]);
    }
}
