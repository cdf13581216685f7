//! Lists of paths (`--files0-from`), read as the work proceeds. A list is untrusted and may be truncated:
//! only a NUL-terminated path counts, because a prefix often names a parent directory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::exit::CliError;
use crate::ui::message::{quoted, quoted_bytes, reason};
use crate::ui::output::check_input_open;

/// Far more than a kernel accepts.
const PATH_BYTES_MAX: usize = 1 << 20;
const SHOWN_BYTES: usize = 80;

pub(in crate::cmd) struct List {
    reader: Box<dyn BufRead + Send>,
    name: String,
    number: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::cmd) enum Item {
    Path(Vec<u8>),
    /// The list continues unless it is at its end.
    Bad(String),
}

impl List {
    pub(in crate::cmd) fn open(path: &Path) -> Result<Self, CliError> {
        if path == Path::new("-") {
            check_input_open()?;
            let reader = Box::new(BufReader::new(io::stdin()));
            return Ok(Self { reader, name: "standard input".to_owned(), number: 0 });
        }
        let name = quoted(path);
        let refused = |why: &str| CliError::nothing_ran(format!("--files0-from {name}: {why}"));
        let failed = |error: io::Error| refused(&reason(&error));
        let file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_dir() {
            return Err(refused("is a directory (expected a file of paths)"));
        }
        Ok(Self { reader: Box::new(BufReader::new(file)), name, number: 0 })
    }

    pub(in crate::cmd) fn next_item(&mut self) -> Result<Option<Item>, CliError> {
        let failed =
            |error: io::Error| CliError::nothing_ran(format!("read {}: {}", self.name, reason(&error)));
        let mut path = Vec::new();
        self.number += 1;
        let limit = PATH_BYTES_MAX as u64 + 1;
        self.reader.by_ref().take(limit).read_until(0, &mut path).map_err(failed)?;
        if path.is_empty() {
            return Ok(None);
        }
        if path.pop_if(|last| *last == 0).is_some() {
            return Ok(Some(Item::Path(path)));
        }
        let bad = match path.len() > PATH_BYTES_MAX {
            true => {
                self.reader.skip_until(0).map_err(failed)?;
                format!("is longer than {PATH_BYTES_MAX} bytes")
            }
            false => "has no NUL terminator: the list is truncated, or not from find -print0".to_owned(),
        };
        path.truncate(SHOWN_BYTES);
        let more = if path.len() == SHOWN_BYTES { "..." } else { "" };
        let shown = quoted_bytes(&path);
        Ok(Some(Item::Bad(format!("{}: path {}, {shown}{more}, {bad}; skipped", self.name, self.number))))
    }
}

#[cfg(test)]
mod tests {
    use super::{Item, List, PATH_BYTES_MAX};

    fn list(bytes: Vec<u8>) -> List {
        List { reader: Box::new(std::io::Cursor::new(bytes)), name: "list".to_owned(), number: 0 }
    }

    #[test]
    fn paths_are_bytes_up_to_a_nul() {
        let mut list = list(b"a\0b\nc\0\0\xff\0".to_vec());
        for path in [&b"a"[..], b"b\nc", b"", b"\xff"] {
            assert_eq!(list.next_item().unwrap(), Some(Item::Path(path.to_vec())));
        }
        assert_eq!(list.next_item().unwrap(), None);
        assert_eq!(list.next_item().unwrap(), None);
    }

    #[test]
    fn a_truncated_path_is_no_path() {
        let mut list = list(b"/srv/me/old\0/srv/me".to_vec());
        assert_eq!(list.next_item().unwrap(), Some(Item::Path(b"/srv/me/old".to_vec())));
        let Some(Item::Bad(why)) = list.next_item().unwrap() else { panic!("taken for a path") };
        assert!(why.contains("path 2, '/srv/me'") && why.contains("no NUL"), "{why}");
        assert_eq!(list.next_item().unwrap(), None);
    }

    #[test]
    fn a_path_that_is_too_long_is_passed_over() {
        for (length, taken) in
            [(PATH_BYTES_MAX, true), (PATH_BYTES_MAX + 1, false), (PATH_BYTES_MAX * 3, false)]
        {
            let mut list = list([&vec![b'x'; length][..], b"\0next\0"].concat());
            match list.next_item().unwrap() {
                Some(Item::Path(path)) => assert!(taken && path.len() == length),
                Some(Item::Bad(why)) => {
                    assert!(!taken && why.contains("is longer") && why.len() < 250, "{why}");
                }
                None => panic!("nothing"),
            }
            assert_eq!(list.next_item().unwrap(), Some(Item::Path(b"next".to_vec())), "{length}");
            assert_eq!(list.next_item().unwrap(), None);
        }
    }
}
