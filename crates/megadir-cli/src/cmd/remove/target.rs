//! What a path names: the open directory that it lies in and its name there, found out once.
//!
//! Whatever is done afterwards is done to that name in that directory, wherever the path leads by then.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use megadir::Dir;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Statx, StatxAttributes, StatxFlags, openat, statx};
use rustix::io::{Errno, retry_on_intr};

use super::refusals::{Identity, Refusal};

/// A path as it was given, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// The directory that the name lies in; empty for the current one.
    pub(super) parent: Vec<u8>,
    /// The last component, never '.' or '..'.
    pub(super) name: Vec<u8>,
    /// Whether a slash follows, so that a directory is meant.
    pub(super) is_directory: bool,
}

/// A name in an open directory.
#[derive(Debug)]
pub(super) struct Target {
    /// The directory that the name lies in.
    pub(super) parent: Arc<Dir>,
    /// The name.
    pub(super) name: Vec<u8>,
    /// The path as it was given, without slashes at its end; for messages.
    pub(super) path: PathBuf,
    /// Whether the name is that of a directory.
    pub(super) is_directory: bool,
    /// Which file it is.
    pub(super) identity: Identity,
    /// Whether something is mounted on it.
    pub(super) is_mount_point: bool,
    /// Whether nothing has the name.
    pub(super) is_missing: bool,
}

/// Why a path leads to no target.
#[derive(Debug)]
pub(super) enum NoTarget {
    /// It is never removed.
    Refused(Refusal),
    /// The system says so.
    Failed(Errno),
}

/// Whether symbolic links on the way to the name are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// As everywhere: for paths that somebody has typed.
    Links,
    /// A link is refused: for paths that somebody else may have chosen long ago.
    NoLinks,
}

/// Finds targets; directories that several paths in a row lie in are opened once.
#[derive(Debug)]
pub(super) struct Resolver {
    way: Way,
    last: Option<(Vec<u8>, Arc<Dir>)>,
}

/// Opened to look names up in it, which needs no permission to list.
const LOOK_UP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// The longest path that the kernel takes at once, with its NUL.
const PATH_BYTES_MAX: usize = 4096;

impl Parts {
    /// Takes a path apart; refuses those that name nothing or what must stay, whatever it is.
    pub(super) fn of(path: &[u8]) -> Result<Self, Refusal> {
        if path.is_empty() {
            return Err(Refusal::Empty);
        }
        let Some(last) = path.iter().rposition(|byte| *byte != b'/') else { return Err(Refusal::Root) };
        let trimmed = &path[..=last];
        let start = trimmed.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let name = &trimmed[start..];
        match name {
            b"." => return Err(Refusal::Dot),
            b".." => return Err(Refusal::DotDot),
            _ if name.contains(&0) => return Err(Refusal::Nul),
            _ => {}
        }
        Ok(Self {
            parent: trimmed[..start].to_vec(),
            name: name.to_vec(),
            is_directory: trimmed.len() < path.len(),
        })
    }
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

    /// Finds out what a path names now; nothing if it `may_be_missing`.
    pub(super) fn resolve(&mut self, path: &[u8], may_be_missing: bool) -> Result<Target, NoTarget> {
        let Parts { parent, name, is_directory } = Parts::of(path).map_err(NoTarget::Refused)?;
        let parent = self.parent(parent)?;
        let shown = path.len() - path.iter().rev().take_while(|byte| **byte == b'/').count();
        let shown = PathBuf::from(OsString::from_vec(path[..shown].to_vec()));
        let status = match status_of(&parent, &name) {
            Err(Errno::NOENT) if may_be_missing => return Ok(Target::missing(parent, name, shown)),
            status => status.map_err(NoTarget::Failed)?,
        };
        let kind = FileType::from_raw_mode(status.stx_mode.into());
        if is_directory && kind != FileType::Directory {
            return Err(match kind {
                FileType::Symlink => NoTarget::Refused(Refusal::LinkWithSlash),
                _ => NoTarget::Failed(Errno::NOTDIR),
            });
        }
        Ok(Target {
            is_mount_point: is_mount_point(&parent, &status).map_err(NoTarget::Failed)?,
            parent,
            name,
            path: shown,
            is_missing: false,
            is_directory: kind == FileType::Directory,
            identity: Identity::of(&status),
        })
    }

    /// Opens the directory that a name lies in.
    fn parent(&mut self, path: Vec<u8>) -> Result<Arc<Dir>, NoTarget> {
        if let Some((last, directory)) = &self.last
            && *last == path
        {
            return Ok(Arc::clone(directory));
        }
        let opened = match self.way {
            Way::Links if path.len() < PATH_BYTES_MAX => open(CWD, or_dot(&path), OFlags::empty()),
            Way::Links => step_by_step(&path, OFlags::empty()),
            Way::NoLinks => step_by_step(&path, OFlags::NOFOLLOW),
        };
        let descriptor = opened.map_err(|error| match (self.way, error) {
            // What a link that is not followed gives with O_DIRECTORY; told apart from a file on the way below.
            (Way::NoLinks, Errno::LOOP) => NoTarget::Refused(Refusal::LinkOnTheWay),
            (_, error) => NoTarget::Failed(error),
        })?;
        let directory = Dir::from_descriptor(descriptor, OsStr::from_bytes(&path));
        let directory = Arc::new(directory);
        self.last = Some((path, Arc::clone(&directory)));
        Ok(directory)
    }
}

fn or_dot(path: &[u8]) -> &[u8] {
    if path.is_empty() { b"." } else { path }
}

fn open(at: impl std::os::fd::AsFd, path: &[u8], more: OFlags) -> Result<OwnedFd, Errno> {
    retry_on_intr(|| openat(&at, path, LOOK_UP | more, Mode::empty()))
}

/// Opens a directory component by component, which takes paths of any length and can leave links unfollowed.
fn step_by_step(path: &[u8], more: OFlags) -> Result<OwnedFd, Errno> {
    let mut directory = open(CWD, if path.starts_with(b"/") { b"/" } else { b"." }, OFlags::empty())?;
    for name in path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b".")) {
        directory = match open(&directory, name, more) {
            Err(Errno::NOTDIR) if more.contains(OFlags::NOFOLLOW) && is_link(&directory, name) => {
                return Err(Errno::LOOP);
            }
            opened => opened?,
        };
    }
    Ok(directory)
}

fn is_link(directory: &OwnedFd, name: &[u8]) -> bool {
    statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::TYPE)
        .is_ok_and(|status| FileType::from_raw_mode(status.stx_mode.into()) == FileType::Symlink)
}

fn status_of(directory: &Dir, name: &[u8]) -> Result<Statx, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    retry_on_intr(|| statx(directory, name, flags, StatxFlags::TYPE | StatxFlags::INO))
}

/// Tells whether something is mounted on a name, from its status; before Linux 5.8 by the device.
fn is_mount_point(parent: &Dir, status: &Statx) -> Result<bool, Errno> {
    if status.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) {
        return Ok(status.stx_attributes.contains(StatxAttributes::MOUNT_ROOT));
    }
    let above = retry_on_intr(|| statx(parent, "", AtFlags::EMPTY_PATH, StatxFlags::TYPE))?;
    Ok((above.stx_dev_major, above.stx_dev_minor) != (status.stx_dev_major, status.stx_dev_minor))
}

/// Returns a path as messages show it.
pub(super) fn shown(path: &[u8]) -> String {
    crate::ui::message::quoted(Path::new(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::{NoTarget, Parts, Refusal, Resolver, Way};

    #[test]
    fn paths_are_taken_apart_as_posix_has_it() {
        let parts = |path: &str| {
            let parts = Parts::of(path.as_bytes()).unwrap();
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
            assert_eq!(Parts::of(path.as_bytes()), Err(reason), "{path:?}");
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
        assert!(matches!(
            typed.resolve(&path("d/f/"), false),
            Err(NoTarget::Failed(rustix::io::Errno::NOTDIR))
        ));
        assert!(typed.resolve(&path("d/"), false).unwrap().is_directory);
        assert_eq!(typed.resolve(&path("link/f"), false).unwrap().name, b"f");
        let mut listed = Resolver::new(Way::NoLinks);
        assert!(matches!(
            listed.resolve(&path("link/f"), false),
            Err(NoTarget::Refused(Refusal::LinkOnTheWay))
        ));
        assert!(matches!(
            listed.resolve(&path("d/f/x"), false),
            Err(NoTarget::Failed(rustix::io::Errno::NOTDIR))
        ));
        assert_eq!(listed.resolve(&path("d/f"), false).unwrap().name, b"f");
        assert_eq!(listed.resolve(&path("link"), false).unwrap().name, b"link");
    }

    #[test]
    fn a_path_may_be_longer_than_the_kernel_takes() {
        let scratch = tempfile::tempdir().unwrap();
        let mut path = scratch.path().as_os_str().as_encoded_bytes().to_vec();
        let mut directory = super::open(super::CWD, &path, super::OFlags::empty()).unwrap();
        for _ in 0..30 {
            let name = [b'n'; 200];
            rustix::fs::mkdirat(&directory, &name[..], rustix::fs::Mode::RWXU).unwrap();
            directory = super::open(&directory, &name, super::OFlags::empty()).unwrap();
            path.push(b'/');
            path.extend_from_slice(&name);
        }
        for way in [Way::Links, Way::NoLinks] {
            assert!(Resolver::new(way).resolve(&path, false).unwrap().is_directory, "{way:?}");
        }
    }
}
