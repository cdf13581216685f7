//! Names of a layout's directories.

use super::component::is_dots;
use super::{Layout, Source};

impl Layout {
    /// `true` if a directory of the layout can have this name, on a level counted from 0 at the top. Other
    /// directories may have it too: any two characters fit `prefix:2`.
    ///
    /// ```
    /// use megadir::layout::Layout;
    /// let layout: Layout = "digest:2/3".parse()?;
    /// assert!(layout.has_directory(0, b"be") && layout.has_directory(1, b"f50"));
    /// assert!(!layout.has_directory(0, b"xy") && !layout.has_directory(2, b"be"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn has_directory(&self, level: usize, name: &[u8]) -> bool {
        if level >= *self.depths().end() {
            return false;
        }
        let width = self.levels()[level];
        if self.source == Source::Sequence {
            return is_below(width, name);
        }
        let Some(digits) = name.strip_prefix(self.label.as_bytes()) else { return false };
        let is_digit: fn(&u8) -> bool = match self.source {
            Source::Digest => |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Source::Decimal => u8::is_ascii_digit,
            _ => |_| true,
        };
        digits.len() == usize::from(width) && digits.iter().all(is_digit) && !is_dots(name)
    }
}

fn is_below(count: u16, name: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(name) else { return false };
    let number = u32::from_str_radix(text, 16);
    number.is_ok_and(|number| number < u32::from(count) && format!("{number:02X}") == text)
}

#[cfg(test)]
mod tests {
    use crate::layout::{Layout, PRESETS, PathBuffer};

    #[test]
    fn every_directory_of_a_path_is_one_of_the_layout() {
        let others =
            ["prefix:2/3", "suffix:1/2+label=x", "digest:1/4", "next-to-last:3", "sequence:300/4096"];
        let layouts = PRESETS.iter().map(|preset| preset.name).chain(others);
        for layout in layouts.map(|text| text.parse::<Layout>().unwrap()) {
            let mut buffer = PathBuffer::new();
            for name in ["00012345", "123456789", "abcdefghij", "0A1B2C3F"] {
                for placer in layout.placers() {
                    let Ok(placed) = placer.place(name.as_bytes(), &mut buffer) else { continue };
                    let parts =
                        placed.directory().split(|byte| *byte == b'/').filter(|part| !part.is_empty());
                    for (level, part) in parts.enumerate() {
                        assert!(layout.has_directory(level, part), "{layout} {name} {level}");
                    }
                    assert!(!layout.has_directory(*layout.depths().end(), placed.file()), "{layout}");
                }
            }
        }
    }

    #[test]
    fn other_names_are_not() {
        for (layout, name) in [
            ("flat", "ab"),
            ("prefix:2", "abc"),
            ("prefix:2", ".."),
            ("digest:2", "AB"),
            ("digest:2+label=d", "ab"),
            ("paperclip", "00a"),
            ("squid", "10"),
            ("squid", "0a"),
            ("squid", "00A"),
            ("squid", "+1"),
        ] {
            assert!(!layout.parse::<Layout>().unwrap().has_directory(0, name.as_bytes()), "{layout} {name}");
        }
    }
}
