//! New path of a file, from its present path.

use crate::layout::{Layout, NameBuffer, PathBuffer, Placed, Placer, Refused, Source};

/// New layout at its depth.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// In the directory with the old layout, so that files may have been moved before.
    Inside(Placer),
    /// Another directory.
    Elsewhere(Placer),
}

/// Old and new layout of a directory.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    from: Layout,
    way: Way,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<'a> {
    Moves(Placed<'a>),
    Here,
    Refused(Refused),
    Foreign,
}

impl Route {
    /// Combines two layouts. Errors: a path in the same directory may belong to both layouts with different
    /// names: both put files on the same level, and one of them shortens names.
    pub fn new(from: &Layout, way: &Way) -> Result<Self, String> {
        let Way::Inside(placer) = way else { return Ok(Self { from: *from, way: *way }) };
        let to = placer.layout();
        let (old, new) = (from.depths(), to.depths());
        let overlap = old.start() <= new.end() && new.start() <= old.end();
        if overlap && from != to && (changes_names(from) || changes_names(to)) {
            return Err(format!(
                "a path could belong to {from} and to {to} with different names, as both have files {} level{} down and one \
                 shortens names; move the files into another directory (--into), or to a third layout first",
                old.end().min(new.end()),
                if *old.end().min(new.end()) == 1 { "" } else { "s" },
            ));
        }
        Ok(Self { from: *from, way: *way })
    }

    pub(super) fn placer(&self) -> &Placer {
        let (Way::Inside(placer) | Way::Elsewhere(placer)) = &self.way;
        placer
    }

    pub(super) fn of<'a>(
        &self,
        path: &[u8],
        names: &mut NameBuffer,
        buffer: &'a mut PathBuffer,
    ) -> Place<'a> {
        if let Some(name) = self.from.name_of(path, names) {
            return match self.placer().place(name, buffer) {
                Ok(placed) if self.is_inside() && placed.path() == path => Place::Here,
                Ok(placed) => Place::Moves(placed),
                Err(refused) => Place::Refused(refused),
            };
        }
        match self.is_inside() && self.placer().layout().name_of(path, names).is_some() {
            true => Place::Here,
            false => Place::Foreign,
        }
    }

    pub(super) fn leads_to_files(&self, level: usize, name: &[u8]) -> bool {
        self.from.has_directory(level, name)
    }

    pub(super) fn keeps(&self, level: usize, name: &[u8]) -> bool {
        let placer = self.placer();
        self.is_inside() && level < placer.depth() && placer.layout().has_directory(level, name)
    }

    fn is_inside(&self) -> bool {
        matches!(self.way, Way::Inside(_))
    }
}

fn changes_names(layout: &Layout) -> bool {
    layout.is_trimmed() || layout.source() == Source::Decimal
}

#[cfg(test)]
mod tests {
    use super::{Place, Route, Way};
    use crate::layout::{Layout, NameBuffer, PRESETS, PathBuffer};

    fn layout(text: &str) -> Layout {
        text.parse().unwrap()
    }

    fn route(from: &str, to: &str) -> Result<Route, String> {
        Route::new(&layout(from), &Way::Inside(layout(to).at(0)))
    }

    #[test]
    fn a_path_says_if_its_file_was_moved() {
        let route = route("flat", "digest:2").unwrap();
        let (mut names, mut buffer) = (NameBuffer::new(), PathBuffer::new());
        let mut of = |path: &[u8]| match route.of(path, &mut names, &mut buffer) {
            Place::Moves(placed) => String::from_utf8(placed.path().to_vec()).unwrap(),
            place => format!("{place:?}"),
        };
        assert_eq!(of(b"abcdef"), "be/abcdef");
        assert_eq!(of(b"be/abcdef"), "Here");
        assert_eq!(of(b"bf/abcdef"), "Foreign");
    }

    #[test]
    fn ambiguous_pairs_are_refused_and_all_others_are_decided_by_the_path() {
        assert!(route("git", "digest:2").unwrap_err().contains("--into"));
        assert!(route("npm-cacache", "nginx").is_err() && route("paperclip", "nginx").is_err());
        let elsewhere = Way::Elsewhere(layout("digest:2").at(0));
        assert!(Route::new(&layout("git"), &elsewhere).is_ok());
        let (mut names, mut first) = (NameBuffer::new(), PathBuffer::new());
        let (mut second, mut pairs) = (PathBuffer::new(), 0);
        for from in PRESETS.iter().map(|preset| preset.layout).chain([Layout::FLAT]) {
            for to in PRESETS.iter().map(|preset| preset.layout).chain([Layout::FLAT]) {
                let Ok(route) = Route::new(&from, &Way::Inside(to.at(1_000_000))) else { continue };
                pairs += 1;
                for name in ["00012345", "123456789", "abababababab", "0A1B2C3F", "ab", "abab"] {
                    let name = name.as_bytes();
                    let (Ok(old), Ok(new)) = (from.at(0).path_for(name), route.placer().path_for(name))
                    else {
                        continue;
                    };
                    let (old, new) = (old.as_os_str().as_encoded_bytes(), new.as_os_str().as_encoded_bytes());
                    match route.of(old, &mut names, &mut first) {
                        Place::Moves(placed) => assert_eq!(placed.path(), new),
                        place => assert!(place == Place::Here && old == new, "{from} {to} {place:?}"),
                    }
                    let moved = route.of(new, &mut names, &mut second);
                    assert_eq!(moved, Place::Here, "{from} {to} {}", new.escape_ascii());
                }
            }
        }
        assert!(pairs > 50, "{pairs}");
    }
}
