//! Target of a path: the open parent directory and the name in it, resolved once, even if the path leads
//! elsewhere later.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use megadir::{Dir, FileType, names};

use super::refusal::{NoTarget, Refusal, Way};
use super::system::{self, Identity, Look, Parts};

#[derive(Debug)]
pub(super) struct Target {
    pub(super) parent: Arc<Dir>,
    pub(super) name: Vec<u8>,
    /// Without trailing slashes; for messages.
    pub(super) path: PathBuf,
    pub(super) is_directory: bool,
    pub(super) identity: Identity,
    pub(super) is_mount_point: bool,
    pub(super) is_missing: bool,
}

/// Consecutive paths share their parent's descriptor.
#[derive(Debug)]
pub(super) struct Resolver {
    way: Way,
    last: Option<(Vec<u8>, Arc<Dir>)>,
}

impl Target {
    fn missing(parent: Arc<Dir>, name: Vec<u8>, path: PathBuf) -> Self {
        Self {
            parent,
            name,
            path,
            is_directory: false,
            identity: Identity::NONE,
            is_mount_point: false,
            is_missing: true,
        }
    }
}

impl Resolver {
    pub(super) fn new(way: Way) -> Self {
        Self { way, last: None }
    }

    /// With `may_be_missing`, a missing name is no error.
    pub(super) fn resolve(&mut self, path: &[u8], may_be_missing: bool) -> Result<Target, NoTarget> {
        let Parts { parent, name, is_directory } = system::parts(path).map_err(NoTarget::Refused)?;
        let parent = self.parent(parent)?;
        let shown = path.len() - path.iter().rev().take_while(|byte| is_separator(**byte)).count();
        let shown = PathBuf::from(&*names::to_os(&path[..shown]).map_err(|error| failed(&error))?);
        let Look { kind, identity, is_mount_point } = match system::look(&parent, &name) {
            Err(error) if may_be_missing && error.kind() == io::ErrorKind::NotFound => {
                return Ok(Target::missing(parent, name, shown));
            }
            look => look.map_err(NoTarget::Failed)?,
        };
        if is_directory && kind != FileType::Directory {
            return Err(match kind {
                FileType::Symlink => NoTarget::Refused(Refusal::LinkWithSlash),
                _ => NoTarget::Failed(io::Error::from_raw_os_error(NOT_A_DIRECTORY)),
            });
        }
        Ok(Target {
            is_mount_point,
            parent,
            name,
            path: shown,
            is_missing: false,
            is_directory: kind == FileType::Directory,
            identity,
        })
    }

    fn parent(&mut self, path: Vec<u8>) -> Result<Arc<Dir>, NoTarget> {
        if let Some((last, directory)) = &self.last
            && *last == path
        {
            return Ok(Arc::clone(directory));
        }
        let directory = system::open_parent(&path, self.way)?;
        let directory = Arc::new(directory);
        self.last = Some((path, Arc::clone(&directory)));
        Ok(directory)
    }
}

/// `ENOTDIR`, `ERROR_DIRECTORY`.
const NOT_A_DIRECTORY: i32 = if cfg!(windows) { 267 } else { 20 };

fn is_separator(byte: u8) -> bool {
    byte == b'/' || (cfg!(windows) && byte == b'\\')
}

fn failed(error: &megadir::Error) -> NoTarget {
    NoTarget::Failed(io::Error::other(error.reason()))
}

pub(super) fn shown(path: &[u8]) -> String {
    match names::to_os(path) {
        Ok(path) => crate::ui::message::quoted(Path::new(&path)),
        Err(_) => format!("'{}'", path.escape_ascii()),
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::{NOT_A_DIRECTORY, NoTarget, Refusal, Resolver, Way};
    use crate::cmd::remove::system::parts as taken_apart;

    fn is_no_directory(found: Result<super::Target, NoTarget>) -> bool {
        matches!(found, Err(NoTarget::Failed(error)) if error.raw_os_error() == Some(NOT_A_DIRECTORY))
    }

    #[test]
    fn paths_are_taken_apart_as_posix_has_it() {
        let parts = |path: &str| {
            let parts = taken_apart(path.as_bytes()).unwrap();
            let text = |bytes| String::from_utf8(bytes).unwrap();
            (text(parts.parent), text(parts.name), parts.is_directory)
        };
        let expected = |parent: &str, name: &str, slash| (parent.to_owned(), name.to_owned(), slash);
        assert_eq!(parts("a"), expected("", "a", false));
        assert_eq!(parts("a//"), expected("", "a", true));
        assert_eq!(parts("/a"), expected("/", "a", false));
        assert_eq!(parts("x/../a/"), expected("x/../", "a", true));
        assert_eq!(parts("..."), expected("", "...", false));
        assert_eq!(parts("-rf"), expected("", "-rf", false));
    }

    #[test]
    fn names_of_what_must_stay_are_refused() {
        for (path, reason) in [
            ("", Refusal::Empty),
            ("/", Refusal::Root),
            ("///", Refusal::Root),
            (".", Refusal::Dot),
            ("./", Refusal::Dot),
            ("x/.", Refusal::Dot),
            ("x/.//", Refusal::Dot),
            ("..", Refusal::DotDot),
            ("/..", Refusal::DotDot),
            ("x/../", Refusal::DotDot),
            ("a\0b", Refusal::Nul),
        ] {
            assert_eq!(taken_apart(path.as_bytes()), Err(reason), "{path:?}");
        }
    }

    #[test]
    fn links_are_named_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir(scratch.path().join("d")).unwrap();
        std::fs::write(scratch.path().join("d/f"), "").unwrap();
        symlink("d", scratch.path().join("link")).unwrap();
        let path = |tail: &str| format!("{}/{tail}", scratch.path().display()).into_bytes();
        let mut typed = Resolver::new(Way::Links);
        let link = typed.resolve(&path("link"), false).unwrap();
        assert!(!link.is_directory && link.name == b"link" && !link.is_mount_point);
        assert!(matches!(
            typed.resolve(&path("link/"), false),
            Err(NoTarget::Refused(Refusal::LinkWithSlash))
        ));
        assert!(is_no_directory(typed.resolve(&path("d/f/"), false)));
        assert!(typed.resolve(&path("d/"), false).unwrap().is_directory);
        assert_eq!(typed.resolve(&path("link/f"), false).unwrap().name, b"f");
        let mut listed = Resolver::new(Way::NoLinks);
        assert!(matches!(
            listed.resolve(&path("link/f"), false),
            Err(NoTarget::Refused(Refusal::LinkOnTheWay))
        ));
        assert!(is_no_directory(listed.resolve(&path("d/f/x"), false)));
        assert_eq!(listed.resolve(&path("d/f"), false).unwrap().name, b"f");
        assert_eq!(listed.resolve(&path("link"), false).unwrap().name, b"link");
    }
}
