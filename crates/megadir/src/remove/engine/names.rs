//! Queue of waiting names in one allocation.

use std::ffi::{CStr, CString};

/// With their NUL; taken from the front.
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

    /// Memory of names already taken is freed with the last name.
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

    /// Takes up to `few` names from the front.
    pub(super) fn take_few(&mut self, few: usize) -> Self {
        let rest = &self.bytes[self.taken..];
        let ends = rest.iter().enumerate().filter(|(_, byte)| **byte == 0);
        let bytes = ends.take(few).last().map_or(0, |(nul, _)| nul + 1);
        let few = Self { bytes: rest[..bytes].to_vec(), taken: 0 };
        self.taken += bytes;
        if self.is_empty() {
            *self = Self::default();
        }
        few
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
    fn what_is_taken_and_what_is_left_are_all_names_once() {
        for count in 0..20 {
            for few in 0..=count + 1 {
                let of: Vec<String> = (0..count).map(|index| "x".repeat(1 + index * index % 7)).collect();
                let of: Vec<&str> = of.iter().map(String::as_str).collect();
                let mut left = names(&of);
                let first = left.take().is_some();
                let taken = all(left.take_few(few));
                assert_eq!(taken.len(), few.min(of.len().saturating_sub(1)), "{count} {few}");
                assert!(!left.is_empty() || left.bytes() == 0);
                let both: Vec<_> = taken.into_iter().chain(all(left)).collect();
                assert_eq!(both, of[usize::from(first)..]);
            }
        }
    }
}
