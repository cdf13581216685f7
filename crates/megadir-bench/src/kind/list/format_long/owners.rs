//! Names of owners and groups, looked up once each, as `ls` does. Read directly from `/etc/passwd` and
//! `/etc/group`: the C library may query a network, which would be measured too.

use std::collections::HashMap;

#[derive(Debug, Default)]
pub(crate) struct Names {
    names: HashMap<u32, String>,
    last: Option<(u32, String)>,
}

impl Names {
    /// Reads a table; if it cannot be read, IDs are printed as numbers.
    pub(crate) fn read(path: &str) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let row = |line: &str| {
            let mut fields = line.split(':');
            let (name, number) = (fields.next()?, fields.nth(1)?);
            Some((number.parse().ok()?, name.to_owned()))
        };
        // The first name of an ID wins, as in the C library.
        let mut names = HashMap::new();
        for (number, name) in text.lines().filter_map(row) {
            names.entry(number).or_insert(name);
        }
        Self { names, last: None }
    }

    #[inline]
    pub(crate) fn get(&mut self, number: u32) -> &str {
        if self.last.as_ref().is_none_or(|(last, _)| *last != number) {
            let name = self.names.get(&number).cloned().unwrap_or_else(|| number.to_string());
            self.last = Some((number, name));
        }
        self.last.as_ref().map_or("", |(_, name)| name)
    }
}
