//! Lines that a program printed, as a count and an order-independent hash, in constant memory.
//!
//! Programs print the same names differently: `ls` without a directory, `find` with it and with a line for the directory
//! itself, `fd` with a slash after directories. These differences do not count. A line ends with a newline or a NUL.

use crate::kind::name_hash;

/// The rest of a longer line counts as a line of its own.
const LINE_BYTES_MAX: usize = 1 << 20;

/// `begun` holds the line that is not complete yet, which may be spread over several reads. `directory` is
/// removed from the start of lines. `hash` is a sum over lines, so programs may print them in any order.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    directory: Vec<u8>,
    begun: Vec<u8>,
    pub(super) count: u64,
    pub(super) hash: u64,
    pub(super) bytes: u64,
}

impl Lines {
    pub(super) fn new(directory: &[u8]) -> Self {
        Self { directory: directory.to_vec(), begun: Vec::new(), count: 0, hash: 0, bytes: 0 }
    }

    /// Takes the next bytes of the output, split at any place, and calls `visit` for each complete line
    /// that counts.
    pub(super) fn each(&mut self, bytes: &[u8], visit: &mut dyn FnMut(&[u8])) {
        self.bytes += bytes.len() as u64;
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | 0)) {
            let line = &rest[..end];
            rest = &rest[end + 1..];
            if self.begun.is_empty() {
                self.line(line, visit);
            } else {
                self.begun.extend_from_slice(line);
                self.finish(visit);
            }
        }
        self.begun.extend_from_slice(rest);
        if self.begun.len() > LINE_BYTES_MAX {
            self.finish(visit);
        }
    }

    pub(super) fn finish(&mut self, visit: &mut dyn FnMut(&[u8])) {
        let last = std::mem::take(&mut self.begun);
        if !last.is_empty() {
            self.line(&last, visit);
        }
    }

    fn line(&mut self, line: &[u8], visit: &mut dyn FnMut(&[u8])) {
        if let Some(name) = without_directory(line, &self.directory) {
            self.count += 1;
            self.hash = self.hash.wrapping_add(name_hash(name));
            visit(name);
        }
    }
}

/// `None` if the line only names the directory.
fn without_directory<'a>(line: &'a [u8], directory: &[u8]) -> Option<&'a [u8]> {
    let line = match line {
        [start @ .., b'/'] if !start.is_empty() => start,
        line => line,
    };
    if line == directory || line == b"." {
        return None;
    }
    let below = line.strip_prefix(directory).and_then(|rest| rest.strip_prefix(b"/"));
    Some(below.or_else(|| line.strip_prefix(b"./")).unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::Lines;

    fn of(text: &[u8], piece: usize) -> (u64, u64) {
        let mut lines = Lines::new(b"/a/d");
        text.chunks(piece).for_each(|piece| lines.each(piece, &mut |_| ()));
        lines.finish(&mut |_| ());
        assert_eq!(lines.bytes, text.len() as u64);
        (lines.count, lines.hash)
    }

    #[test]
    fn programs_that_print_names_in_their_own_ways_print_the_same() {
        let ls = of(b"x\ny z\nsub\n", 100);
        for text in [
            &b"/a/d\n/a/d/x\n/a/d/y z\n/a/d/sub\n"[..],
            b"./sub/\n./x\n./y z",
            b".\nsub\ny z\nx\n",
            b"/a/d/sub/\0/a/d/x\0/a/d/y z\0",
        ] {
            for piece in 1..text.len() {
                assert_eq!(of(text, piece), ls, "{} {piece}", String::from_utf8_lossy(text));
            }
        }
        for text in
            [&b"x\ny z\n"[..], b"x\ny z\nsub\nsub\n", b"x\ny\nz sub\n", b"x\ny z\nsub2\n", b"x\ny z\n/a/d2\n"]
        {
            assert_ne!(of(text, 100), ls, "{}", String::from_utf8_lossy(text));
        }
    }
}
