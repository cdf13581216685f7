//! Names that wait, one after another in one allocation.

use std::ffi::{CStr, CString};

/// Names, each with its NUL; taken from the front.
#[derive(Debug, Default)]
pub(super) struct Names {
    bytes: Vec<u8>,
    taken: usize,
}

impl Names {
    pub(super) fn push(&mut self, name: &CStr) {
        self.bytes.extend_from_slice(name.to_bytes_with_nul());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.taken == self.bytes.len()
    }

    /// Returns the memory in use, bytes, as [`Names::take`] and [`Names::split`] change it.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Takes the first name.
    pub(super) fn take(&mut self) -> Option<CString> {
        let name = CStr::from_bytes_until_nul(&self.bytes[self.taken..]).ok()?.to_owned();
        self.taken += name.count_bytes() + 1;
        if self.is_empty() {
            *self = Self::default();
        }
        Some(name)
    }

    /// Takes the later half, which is the larger where they differ.
    pub(super) fn split(&mut self) -> Self {
        let rest = &self.bytes[self.taken..];
        let middle = rest.len().saturating_sub(1) / 2;
        let at = rest[..middle].iter().rposition(|byte| *byte == 0).map_or(0, |nul| nul + 1);
        let bytes = self.bytes.split_off(self.taken + at);
        if self.is_empty() {
            *self = Self::default();
        }
        Self { bytes, taken: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::Names;
    use std::ffi::CString;

    fn names(of: &[&str]) -> Names {
        let mut names = Names::default();
        of.iter().for_each(|name| names.push(&CString::new(*name).unwrap()));
        names
    }

    fn all(mut names: Names) -> Vec<String> {
        std::iter::from_fn(|| names.take()).map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn halves_have_all_names_once() {
        for count in 0..20 {
            for taken in 0..=count {
                let of: Vec<String> = (0..count).map(|index| "x".repeat(1 + index * index % 7)).collect();
                let of: Vec<&str> = of.iter().map(String::as_str).collect();
                let mut first = names(&of);
                (0..taken).for_each(|_| drop(first.take().unwrap()));
                let second = all(first.split());
                assert_eq!(second.is_empty(), count == taken, "{count} {taken}");
                assert!(!first.is_empty() || first.bytes() == 0);
                let mut both = all(first);
                both.extend(second);
                assert_eq!(both, of[taken..]);
            }
        }
    }
}
