//! Target of a path: the open parent directory and the name in it, resolved once.
//!
//! ```
//! use std::path::Path;
//! use megadir::remove::target::{Guards, Links, NoTarget, Refusal, Resolver};
//!
//! let found = Resolver::new(Links::Followed).resolve(b"src", false);
//! let target = found.map_err(|none| none.into_error(Path::new("src")))?;
//! assert_eq!(target.name, b"src");
//! Guards::find().check(&target, false).expect("it may be removed");
//! assert!(matches!(Resolver::new(Links::Followed).resolve(b"/", false), Err(NoTarget::Refused(Refusal::Root))));
//! # Ok::<(), megadir::Error>(())
//! ```

mod guards;
mod refusal;
mod system;
mod taken;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

pub use self::guards::Guards;
pub use self::refusal::{NoTarget, Refusal};
use self::system::{Identity, Look, Parts};
pub use self::taken::Taken;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::file_type::FileType;
use crate::names;

/// Entry to remove: a name in an open directory.
///
/// It was looked at once, when the path was resolved; `identity` then allows recognizing the directory at any later
/// time, after a question for instance, if another one has taken its name.
#[derive(Debug)]
pub struct Target {
    /// Directory of the entry, perhaps opened only for lookups.
    pub parent: Arc<Dir>,
    /// Name in the directory; never `.` or `..`.
    pub name: Vec<u8>,
    /// Path as given, without trailing slashes; for messages.
    pub path: PathBuf,
    /// `true` if it is a directory.
    pub is_directory: bool,
    identity: Identity,
    /// `true` if something is mounted on it. Always `false` on Windows.
    pub is_mount_point: bool,
    /// `true` if nothing has this name.
    pub is_missing: bool,
}

/// Treatment of symbolic links on the way to the parent. The last name is never followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Followed: for paths that the user has given.
    Followed,
    /// Refused: for paths in a list, which another user may have influenced.
    Refused,
}

/// Finds the targets of paths. Consecutive paths share their parent's descriptor.
#[derive(Debug)]
pub struct Resolver {
    links: Links,
    last: Option<(Vec<u8>, Arc<Dir>)>,
}

impl Target {
    /// Opens the directory, to empty it. Errors: as [`Dir::open_below`]; [`ErrorKind::NotFound`] if another
    /// directory has taken its name since.
    pub fn open(&self) -> Result<Dir> {
        let directory = self.parent.open_below(&self.name)?;
        if system::identity(&directory)? == self.identity {
            return Ok(directory);
        }
        let reason = "another directory has taken its name";
        Err(Error::new("remove", &self.path, ErrorKind::NotFound, reason))
    }
}

impl Resolver {
    /// Makes a resolver for paths with the same treatment of links.
    pub fn new(links: Links) -> Self {
        Self { links, last: None }
    }

    /// Checks the spelling of a path, without touching a file system. Errors: [`Resolver::resolve`] would refuse this spelling.
    pub fn check(path: &[u8]) -> std::result::Result<(), Refusal> {
        system::parts(path).map(drop)
    }

    /// Opens the directory above the last name of a path and looks the name up. A trailing slash requires a
    /// directory. Errors: the path ends in no name, leads through a link that is refused, or does not exist.
    pub fn resolve(&mut self, path: &[u8], may_be_missing: bool) -> std::result::Result<Target, NoTarget> {
        let Parts { parent, name, is_directory } = system::parts(path)?;
        let parent = self.parent(parent)?;
        let shown = path.len() - path.iter().rev().take_while(|byte| is_separator(**byte)).count();
        let failed = |error: Error| NoTarget::Failed(io::Error::other(error.reason()));
        let shown = PathBuf::from(&*names::to_os(&path[..shown]).map_err(failed)?);
        let nothing = Look { kind: FileType::Unknown, identity: Identity::NONE, is_mount_point: false };
        let (look, is_missing) = match system::look(&parent, &name) {
            Err(error) if may_be_missing && error.kind() == io::ErrorKind::NotFound => (nothing, true),
            look => (look.map_err(NoTarget::Failed)?, false),
        };
        let Look { kind, identity, is_mount_point } = look;
        if is_directory && kind != FileType::Directory && !is_missing {
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
            is_missing,
            is_directory: kind == FileType::Directory,
            identity,
        })
    }

    fn parent(&mut self, path: Vec<u8>) -> std::result::Result<Arc<Dir>, NoTarget> {
        if let Some((last, directory)) = &self.last
            && *last == path
        {
            return Ok(Arc::clone(directory));
        }
        let directory = system::open_parent(&path, self.links)?;
        let directory = Arc::new(directory);
        self.last = Some((path, Arc::clone(&directory)));
        Ok(directory)
    }
}

const NOT_A_DIRECTORY: i32 = if cfg!(windows) { 267 } else { 20 };

fn is_separator(byte: u8) -> bool {
    byte == b'/' || (cfg!(windows) && byte == b'\\')
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::system::parts as taken_apart;
    use super::{Links, NOT_A_DIRECTORY, NoTarget, Refusal, Resolver};

    fn is_no_directory(found: Result<super::Target, NoTarget>) -> bool {
        matches!(found, Err(NoTarget::Failed(error)) if error.raw_os_error() == Some(NOT_A_DIRECTORY))
    }

    #[test]
    fn paths_are_split_as_posix_specifies() {
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
    fn names_of_protected_entries_are_refused() {
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
        let mut typed = Resolver::new(Links::Followed);
        let link = typed.resolve(&path("link"), false).unwrap();
        assert!(!link.is_directory && link.name == b"link" && !link.is_mount_point);
        assert!(matches!(
            typed.resolve(&path("link/"), false),
            Err(NoTarget::Refused(Refusal::LinkWithSlash))
        ));
        assert!(is_no_directory(typed.resolve(&path("d/f/"), false)));
        assert!(typed.resolve(&path("d/"), false).unwrap().is_directory);
        assert_eq!(typed.resolve(&path("link/f"), false).unwrap().name, b"f");
        let mut listed = Resolver::new(Links::Refused);
        assert!(matches!(
            listed.resolve(&path("link/f"), false),
            Err(NoTarget::Refused(Refusal::LinkOnTheWay))
        ));
        assert!(is_no_directory(listed.resolve(&path("d/f/x"), false)));
        assert_eq!(listed.resolve(&path("d/f"), false).unwrap().name, b"f");
        assert_eq!(listed.resolve(&path("link"), false).unwrap().name, b"link");
    }
}
