//! JSON objects, written member by member: numbers are exact at any size, and names may have any bytes.
//!
//! A general serializer is not used, because 64-bit numbers have to stay exact and names need not be UTF-8.

use std::fmt::Display;
use std::io::Write;

use super::escape;

/// An object in progress; its end is written by [`braced`], so that it cannot be forgotten.
pub(crate) struct Object<'a> {
    text: &'a mut Vec<u8>,
    is_empty: bool,
}

impl Object<'_> {
    /// Appends a line with an object. Its first member is `v`, the format version 1.
    pub(crate) fn line(text: &mut Vec<u8>, write: impl FnOnce(&mut Object<'_>)) {
        braced(text, |object| {
            object.number_or_null("v", Some(1));
            write(object);
        });
        text.push(b'\n');
    }

    /// As [`Object::line`], for a text of one object.
    pub(crate) fn text(write: impl FnOnce(&mut Object<'_>)) -> String {
        let mut text = Vec::new();
        Self::line(&mut text, write);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Keys are plain words: they need no escape.
    fn key(&mut self, key: &str) {
        self.separate();
        self.text.push(b'"');
        self.text.extend_from_slice(key.as_bytes());
        self.text.extend_from_slice(b"\":");
    }

    fn separate(&mut self) {
        if !self.is_empty {
            self.text.push(b',');
        }
        self.is_empty = false;
    }

    /// A number or `true`, `false`, `null`.
    pub(crate) fn raw(&mut self, key: &str, value: impl Display) {
        self.key(key);
        let _ = write!(self.text, "{value}");
    }

    /// For rows by the million: without the formatting machinery.
    pub(crate) fn number_or_null(&mut self, key: &str, value: Option<impl itoa::Integer>) {
        self.key(key);
        match value {
            Some(value) => escape::number(self.text, value),
            None => self.text.extend_from_slice(b"null"),
        }
    }

    fn null(&mut self, key: &str) {
        self.number_or_null(key, None::<u64>);
    }

    pub(crate) fn raw_or_null(&mut self, key: &str, value: Option<impl Display>) {
        self.raw(key, escape::json_or_null(value));
    }

    pub(crate) fn string(&mut self, key: &str, value: &str) {
        self.key(key);
        escape::json_string(self.text, value);
    }

    pub(crate) fn string_or_null(&mut self, key: &str, value: Option<&str>) {
        match value {
            Some(value) => self.string(key, value),
            None => self.null(key),
        }
    }

    /// Or hex under the key with `_hex` appended.
    pub(crate) fn name(&mut self, key: &str, name: &[u8]) {
        self.separate();
        escape::json_member(self.text, key, name);
    }

    pub(crate) fn part(&mut self, key: &str, write: impl FnOnce(&mut Object<'_>)) {
        self.key(key);
        braced(self.text, write);
    }

    pub(crate) fn part_or_null<T>(
        &mut self,
        key: &str,
        value: Option<&T>,
        write: impl FnOnce(&mut Object<'_>, &T),
    ) {
        match value {
            Some(value) => self.part(key, |part| write(part, value)),
            None => self.null(key),
        }
    }

    pub(crate) fn list<T>(&mut self, key: &str, items: &[T], write: impl Fn(&mut Object<'_>, &T)) {
        self.array(key, items, |text, item| braced(text, |object| write(object, item)));
    }

    pub(crate) fn strings(&mut self, key: &str, values: &[String]) {
        self.array(key, values, |text, value| escape::json_string(text, value));
    }

    fn array<T>(&mut self, key: &str, items: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
        self.key(key);
        self.text.push(b'[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.text.push(b',');
            }
            write(self.text, item);
        }
        self.text.push(b']');
    }

    pub(crate) fn ages(&mut self, from_s: Option<i64>, to_s: Option<i64>) {
        self.raw_or_null("from_s", from_s);
        self.raw_or_null("to_s", to_s);
    }
}

fn braced(text: &mut Vec<u8>, write: impl FnOnce(&mut Object<'_>)) {
    text.push(b'{');
    write(&mut Object { text, is_empty: true });
    text.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::Object;

    #[test]
    fn members_are_separated_at_every_level() {
        let mut text = Vec::new();
        Object::line(&mut text, |object| {
            object.name("dir", b"\xff");
            object.list("rows", &[1, 2], |row, number| row.raw("n", number));
            object.list("none", &[0; 0], |_, _| {});
            object.part("empty", |_| {});
            object.part_or_null("lacking", None::<&u8>, |part, value| part.raw("n", value));
            object.string_or_null("words", Some("\"x\""));
            object.ages(None, Some(7));
        });
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "{\"v\":1,\"dir_hex\":\"ff\",\"rows\":[{\"n\":1},{\"n\":2}],\"none\":[],\"empty\":{},\
             \"lacking\":null,\"words\":\"\\\"x\\\"\",\"from_s\":null,\"to_s\":7}\n"
        );
    }
}
