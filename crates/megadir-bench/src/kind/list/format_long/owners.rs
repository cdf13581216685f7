//! The names of owners and groups, looked up once each, as `ls` does.
//!
//! From `/etc/passwd` and `/etc/group` themselves: the C library's lookup may ask a network, which would
//! be measured with the rest.

use std::collections::HashMap;

/// A table of names by number.
#[derive(Debug, Default)]
pub(crate) struct Names {
    names: HashMap<u32, String>,
    last: Option<(u32, String)>,
}

impl Names {
    /// Reads a table; one that cannot be read is empty, and numbers are printed as they are.
    pub(crate) fn read(path: &str) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let row = |line: &str| {
            let mut fields = line.split(':');
            let (name, number) = (fields.next()?, fields.nth(1)?);
            Some((number.parse().ok()?, name.to_owned()))
        };
        // The first name of a number counts, as in the C library.
        let mut names = HashMap::new();
        for (number, name) in text.lines().filter_map(row) {
            names.entry(number).or_insert(name);
        }
        Self { names, last: None }
    }

    /// Returns the name of a number.
    #[inline]
    pub(crate) fn get(&mut self, number: u32) -> &str {
        if self.last.as_ref().is_none_or(|(last, _)| *last != number) {
            let name = self.names.get(&number).cloned().unwrap_or_else(|| number.to_string());
            self.last = Some((number, name));
        }
        self.last.as_ref().map_or("", |(_, name)| name)
    }
}
