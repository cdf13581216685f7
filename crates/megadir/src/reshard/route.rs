//! New path of a file, from its present path.

use super::ReshardOptions;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{Layout, NameBuffer, PathBuffer, Placed, Placer};

#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    from: Layout,
    pub(super) placer: Placer,
    /// Both in the same directory, so that files may have been moved before.
    is_inside: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<'a> {
    Moves(Placed<'a>),
    Here,
    Refused,
    Foreign,
}

impl Route {
    /// With the depth for `files` files.
    pub(super) fn of(directory: &Dir, options: &ReshardOptions<'_>, files: u64) -> Result<Self> {
        let bad = |reason| Error::new("reshard", directory.path(), ErrorKind::BadOption, reason);
        Self::new(options.from, options.to.at(files), options.into.is_none()).map_err(bad)
    }

    /// Refuses ambiguous layouts in the same directory.
    fn new(from: Layout, placer: Placer, is_inside: bool) -> std::result::Result<Self, String> {
        let to = *placer.layout();
        match from.ambiguity(&to).filter(|_| is_inside) {
            Some(why) => Err(format!(
                "{why}; move the files into another directory (--into), or to a third layout first"
            )),
            None => Ok(Self { from, placer, is_inside }),
        }
    }

    pub(super) fn place<'a>(
        &self,
        path: &[u8],
        names: &mut NameBuffer,
        buffer: &'a mut PathBuffer,
    ) -> Place<'a> {
        if let Some(name) = self.from.name_of(path, names) {
            return match self.placer.place(name, buffer) {
                Ok(placed) if self.is_inside && placed.path() == path => Place::Here,
                Ok(placed) => Place::Moves(placed),
                Err(_) => Place::Refused,
            };
        }
        match self.is_inside && self.placer.layout().name_of(path, names).is_some() {
            true => Place::Here,
            false => Place::Foreign,
        }
    }

    pub(super) fn leads_to_files(&self, level: usize, name: &[u8]) -> bool {
        self.from.has_directory(level, name)
    }

    /// `path` of a directory, relative to the top, or of a file that may be in the way of one.
    pub(super) fn keeps(&self, path: &[u8]) -> bool {
        self.is_inside && self.placer.layout().has_directory_path(path, self.placer.depth())
    }
}

/// `true` for a file whose path its new directory has, or a directory on the way there.
pub(super) fn is_below_own_path(path: &[u8], placed: &Placed<'_>) -> bool {
    let rest = placed.directory().strip_prefix(path);
    rest.is_some_and(|rest| rest.first().is_none_or(|next| *next == b'/'))
}

#[cfg(test)]
mod tests {
    use super::{Place, Route, is_below_own_path};
    use crate::layout::{Layout, NameBuffer, PRESETS, PathBuffer};

    fn layout(text: &str) -> Layout {
        text.parse().unwrap()
    }

    fn route(from: &str, to: &str) -> Result<Route, String> {
        Route::new(layout(from), layout(to).at(0), true)
    }

    #[test]
    fn path_shows_whether_its_file_was_moved() {
        let route = route("flat", "digest:2").unwrap();
        let (mut names, mut buffer) = (NameBuffer::new(), PathBuffer::new());
        let mut of = |path: &[u8]| match route.place(path, &mut names, &mut buffer) {
            Place::Moves(placed) => String::from_utf8(placed.path().to_vec()).unwrap(),
            place => format!("{place:?}"),
        };
        assert_eq!(of(b"abcdef"), "be/abcdef");
        assert_eq!(of(b"be/abcdef"), "Here");
        assert_eq!(of(b"bf/abcdef"), "Foreign");
    }

    #[test]
    fn a_file_may_be_in_its_own_way() {
        let mut buffer = PathBuffer::new();
        for (to, path, expected) in [
            ("prefix:2", "ab", true),
            ("suffix:2", "ab", true),
            ("prefix:2/2", "abcd", false),
            ("prefix:1/3", "abcd", false),
            ("digest:2", "be", false),
            ("digest:2", "b", false),
        ] {
            let placed = layout(to).at(0).place(path.as_bytes(), &mut buffer).unwrap();
            assert_eq!(is_below_own_path(path.as_bytes(), &placed), expected, "{to} {path}");
        }
    }

    #[test]
    fn ambiguous_pairs_are_refused_and_all_others_are_decided_by_the_path() {
        assert!(route("git", "digest:2").unwrap_err().contains("--into"));
        assert!(route("npm-cacache", "nginx").is_err() && route("paperclip", "nginx").is_err());
        assert!(Route::new(layout("git"), layout("digest:2").at(0), false).is_ok());
        let (mut names, mut first) = (NameBuffer::new(), PathBuffer::new());
        let (mut second, mut pairs) = (PathBuffer::new(), 0);
        for from in PRESETS.iter().map(|preset| preset.layout).chain([Layout::FLAT]) {
            for to in PRESETS.iter().map(|preset| preset.layout).chain([Layout::FLAT]) {
                let Ok(route) = Route::new(from, to.at(1_000_000), true) else { continue };
                pairs += 1;
                for name in ["00012345", "123456789", "abababababab", "0A1B2C3F", "ab", "abab"] {
                    let name = name.as_bytes();
                    let (Ok(old), Ok(new)) = (from.at(0).path_for(name), route.placer.path_for(name)) else {
                        continue;
                    };
                    let (old, new) = (old.as_os_str().as_encoded_bytes(), new.as_os_str().as_encoded_bytes());
                    match route.place(old, &mut names, &mut first) {
                        Place::Moves(placed) => assert_eq!(placed.path(), new),
                        place => assert!(place == Place::Here && old == new, "{from} {to} {place:?}"),
                    }
                    let moved = route.place(new, &mut names, &mut second);
                    assert_eq!(moved, Place::Here, "{from} {to} {}", new.escape_ascii());
                }
            }
        }
        assert!(pairs > 50, "{pairs}");
    }
}
