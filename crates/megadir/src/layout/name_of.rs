//! Maps a path back to its name.

use super::{Layout, NAME_BYTES_MAX, PathBuffer, Source};

/// Buffer for a name.
#[derive(Clone)]
pub struct NameBuffer {
    bytes: [u8; NAME_BYTES_MAX],
}

impl NameBuffer {
    /// Creates an empty buffer.
    pub fn new() -> Self {
        Self { bytes: [0; NAME_BYTES_MAX] }
    }
}

impl Default for NameBuffer {
    fn default() -> Self {
        Self::new()
    }
}

impl Layout {
    /// Returns the name that has this path, at any depth of the layout; `None` if no name has.
    ///
    /// The path is relative to the top, with `/` between its components.
    ///
    /// ```
    /// use megadir::layout::{Layout, NameBuffer};
    /// let layout: Layout = "paperclip".parse()?;
    /// let mut buffer = NameBuffer::new();
    /// assert_eq!(layout.name_of(b"000/001/234", &mut buffer), Some(&b"1234"[..]));
    /// assert_eq!(layout.name_of(b"000/1234", &mut buffer), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name_of<'a>(&self, path: &[u8], buffer: &'a mut NameBuffer) -> Option<&'a [u8]> {
        let depth = path.iter().filter(|byte| **byte == b'/').count();
        let placer = self.placers().find(|placer| placer.depth() == depth)?;
        let length = self.guess(path, &mut buffer.bytes)?;
        let name = &buffer.bytes[..length];
        // Right only if it maps back to this path.
        let mut again = PathBuffer::new();
        let placed = placer.place(name, &mut again).ok()?;
        (placed.path() == path).then_some(name)
    }

    /// The length of the only possible name.
    fn guess(&self, path: &[u8], name: &mut [u8; NAME_BYTES_MAX]) -> Option<usize> {
        let mut components = path.split(|byte| *byte == b'/');
        let file = components.next_back()?;
        let mut length = 0;
        let mut append = |bytes: &[u8]| {
            name.get_mut(length..length + bytes.len())?.copy_from_slice(bytes);
            length += bytes.len();
            Some(())
        };
        if self.source == Source::Decimal || self.trimmed {
            for directory in components {
                append(directory.strip_prefix(self.label.as_bytes())?)?;
            }
        }
        append(file)?;
        if self.source == Source::Decimal {
            let zeros = name[..length].iter().take_while(|digit| **digit == b'0').count();
            let start = zeros.min(length.saturating_sub(1));
            name.copy_within(start..length, 0);
            length -= start;
        }
        Some(length)
    }
}
