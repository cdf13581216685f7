//! JSON documents of an exact size, made as they are written.
//!
//! ```text
//! 0 bytes        nothing, which is no document
//! 1 byte         a digit
//! 2 to 127       a string
//! 128 and more   {"id":NUMBER,"key":"HEX","records":[RECORD,...],"note":"TEXT"}
//! ```
//!
//! Records have numbers, words, lists and truths, so they compress as such documents do; the note at the end takes the bytes
//! that no record fills.

use megadir_stats::permutation::SplitMix64;

use super::names::{decimal, hex_digits};
use super::stream;

/// Documents of fewer bytes are a string.
const OBJECT_BYTES_MIN: u64 = 128;
/// A piece of text is at most this long, bytes.
const PIECE_BYTES_MAX: usize = 160;
/// A record with its comma is at most this long, bytes.
const RECORD_BYTES_MAX: u64 = 144;
/// What ends the list of records and begins the note, and what ends that.
const NOTE: &[u8] = b"],\"note\":\"";
const END: &[u8] = b"\"}";
const PURPOSE: u64 = 0x6a73_6f6e;

const WORDS: [&str; 32] = [
    "alpha", "archive", "batch", "blue", "cache", "client", "copper", "delta", "east", "entry", "field",
    "green", "harbour", "index", "item", "journal", "key", "large", "market", "minor", "north", "order",
    "parcel", "query", "red", "river", "sample", "south", "status", "stone", "table", "west",
];

/// A document being written.
#[derive(Clone, Debug)]
pub(super) struct Json {
    random: SplitMix64,
    index: u64,
    part: Part,
    /// Bytes of the document that are not in `piece` yet.
    rest: u64,
    piece: Piece,
    /// Bytes of `piece` that were given already.
    given: usize,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Start,
    Records { first: bool },
    Text { object: bool },
    Done,
}

impl Json {
    pub(super) fn new(seed: u64, index: u64, size_bytes: u64) -> Self {
        let random = stream(seed, PURPOSE, index);
        Self { random, index, part: Part::Start, rest: size_bytes, piece: Piece::new(), given: 0 }
    }

    /// Fills `buffer` with the bytes that come next; after the end, with spaces.
    pub(super) fn fill(&mut self, mut buffer: &mut [u8]) {
        while !buffer.is_empty() {
            if self.given == self.piece.length {
                self.next_piece();
            }
            let ready = &self.piece.bytes[self.given..self.piece.length];
            let count = ready.len().min(buffer.len());
            let (now, later) = buffer.split_at_mut(count);
            now.copy_from_slice(&ready[..count]);
            self.given += count;
            buffer = later;
        }
    }

    /// Writes the next piece of the document.
    fn next_piece(&mut self) {
        self.given = 0;
        self.piece.length = 0;
        match self.part {
            Part::Start => self.start(),
            // A record must leave room for the end.
            Part::Records { first } if self.rest >= RECORD_BYTES_MAX + (NOTE.len() + END.len()) as u64 => {
                self.record(first);
                self.part = Part::Records { first: false };
            }
            Part::Records { .. } => {
                self.piece.push(NOTE);
                self.part = Part::Text { object: true };
            }
            Part::Text { object } => self.text(if object { END } else { b"\"" }),
            Part::Done => {
                self.piece.push(b" ");
                return;
            }
        }
        self.rest -= self.piece.length as u64;
    }

    fn start(&mut self) {
        match self.rest {
            0 => self.part = Part::Done,
            1 => {
                self.piece.push(&[b'0' + (self.random.next_u64() % 10) as u8]);
                self.part = Part::Done;
            }
            2..OBJECT_BYTES_MIN => {
                self.piece.push(b"\"");
                self.part = Part::Text { object: false };
            }
            _ => {
                self.piece.push(b"{\"id\":");
                self.piece.number(self.index);
                self.piece.push(b",\"key\":\"");
                self.piece.hex(self.random.next_u64());
                self.piece.push(b"\",\"records\":[");
                self.part = Part::Records { first: true };
            }
        }
    }

    fn record(&mut self, first: bool) {
        let Self { random, piece, .. } = self;
        let drawn = random.next_u64();
        piece.push(if first { b"{\"at\":" } else { b",{\"at\":" });
        piece.number(1_000_000_000 + (drawn >> 40));
        piece.push(b",\"name\":\"");
        piece.word(drawn);
        piece.push(b" ");
        piece.word(drawn >> 5);
        piece.push(b"\",\"price\":");
        piece.number(drawn >> 10 & 0xfff);
        piece.push(b".");
        piece.number(1 + (drawn >> 22 & 7));
        piece.push(b",\"tags\":[\"");
        piece.word(drawn >> 25);
        piece.push(b"\",\"");
        piece.word(drawn >> 30);
        piece.push(if drawn >> 35 & 1 == 0 { b"\"],\"open\":true" } else { b"\"],\"open\":false" });
        piece.push(b",\"mark\":\"");
        piece.hex(random.next_u64());
        piece.push(b"\"}");
    }

    /// Writes words up to what ends the document.
    fn text(&mut self, end: &[u8]) {
        while self.piece.length < PIECE_BYTES_MAX / 2 {
            let left = self.rest - (self.piece.length + end.len()) as u64;
            if left == 0 {
                self.piece.push(end);
                self.part = Part::Done;
                return;
            }
            let word = WORDS[(self.random.next_u64() % WORDS.len() as u64) as usize].as_bytes();
            let count = word.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            self.piece.push(&word[..count]);
            if left > word.len() as u64 {
                self.piece.push(b" ");
            }
        }
    }
}

/// A piece of text.
#[derive(Clone, Debug)]
struct Piece {
    bytes: [u8; PIECE_BYTES_MAX],
    length: usize,
}

impl Piece {
    fn new() -> Self {
        Self { bytes: [0; PIECE_BYTES_MAX], length: 0 }
    }

    fn push(&mut self, text: &[u8]) {
        self.bytes[self.length..self.length + text.len()].copy_from_slice(text);
        self.length += text.len();
    }

    fn number(&mut self, number: u64) {
        self.push(decimal(number, &mut [0; 41]));
    }

    fn hex(&mut self, number: u64) {
        let end = self.length + 16;
        hex_digits(&number.to_be_bytes(), &mut self.bytes[self.length..end]);
        self.length = end;
    }

    /// Appends the word that the last five bits choose.
    fn word(&mut self, bits: u64) {
        self.push(WORDS[(bits & 31) as usize].as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(index: u64, size: u64) -> Vec<u8> {
        let mut text = vec![0; size as usize];
        Json::new(5, index, size).fill(&mut text);
        text
    }

    #[test]
    fn documents_of_every_size_parse() {
        for size in (1..3000).chain([50_000, 1 << 20]) {
            let text = document(size * 7, size);
            let value: serde_json::Value = serde_json::from_slice(&text)
                .unwrap_or_else(|error| panic!("{size}: {error}: {}", String::from_utf8_lossy(&text)));
            assert_eq!(value.is_object(), size >= OBJECT_BYTES_MIN, "{size}");
            // A document that went on behind its end would have spaces there.
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
