//! Describes the trees of a job, before its first task.

use std::path::{Path, PathBuf};

use megadir::{Dir, Error, ErrorKind, Result, StatBackend, StatMask, attribute_policy};
use megadir_inventory::Facts;

use crate::job::{Budget, Bytes, Item, Job, Kind, Root, VERSION};

/// Work that a caller asks for.
///
/// Only [`prepare`] reads it, and adds the facts of the roots on this machine; nothing else passes from the
/// caller to the tasks. Paths may be relative here, and are absolute in the job.
#[derive(Clone, Debug)]
pub struct Request {
    pub kind: Kind,
    pub paths: Vec<PathBuf>,
    /// Folder of the parts of a scan.
    pub folder: Option<PathBuf>,
    pub budget: Budget,
    /// Levels below the roots with sums of their own.
    pub depth: u32,
    /// Keep the roots themselves when removing.
    pub contents: bool,
    /// Ask the server of a network file system for attributes ([`attribute_policy::fresh`]).
    pub fresh: bool,
}

/// Errors: a tree cannot be opened; for a removal, a path that must stay (see [`megadir::remove::target`]);
/// [`ErrorKind::BadOption`] for a bad budget, no tree, or a folder in one of the trees.
pub fn prepare(request: &Request) -> Result<Job> {
    let bad = |reason: &str| Err(Error::new("prepare", "".as_ref(), ErrorKind::BadOption, reason));
    let Budget { seconds, entries } = request.budget;
    if !(seconds > 0.0 && seconds.is_finite()) || entries == 0 {
        return bad("the budget of a task must be positive");
    }
    if request.paths.is_empty() {
        return bad("no path");
    }
    let fresh = request.fresh.then(attribute_policy::fresh).transpose()?;
    let mut stat_backend = String::new();
    let mut roots = Vec::new();
    for path in &request.paths {
        if request.kind == Kind::Remove {
            check_removal(path, request.contents)?;
        }
        let directory = Dir::open(path)?;
        stat_backend = attribute_policy::stat_backend(&directory, Facts::WANT, fresh)?.name().to_owned();
        if let Some(folder) = &request.folder {
            check_apart(folder, path)?;
        }
        roots.push(root(path, &directory)?);
    }
    let folder = request.folder.as_deref().map(megadir_inventory::root_path).transpose()?.map(Bytes);
    let Request { kind, budget, depth, contents, .. } = *request;
    Ok(Job { version: VERSION, kind, roots, folder, budget, stat_backend, depth, contents })
}

fn root(path: &Path, directory: &Dir) -> Result<Root> {
    let (root, facts) = megadir_inventory::Root::of(path, directory)?;
    let (path, inode) = (Bytes(root.path), directory.id()?.inode);
    let device = directory.attributes(StatMask::DEVICE)?.device;
    Ok(Root {
        path,
        inode,
        device,
        born_ns: facts.born_ns,
        file_system: root.file_system,
        driver: root.driver,
        lasting_inodes: root.lasting_inodes,
        granule_ns: root.granule_ns,
    })
}

#[cfg(any(target_os = "linux", windows))]
fn check_removal(path: &Path, contents: bool) -> Result<()> {
    if megadir::remove::target::Guards::resolve(path, contents)?.is_directory {
        return Ok(());
    }
    let reason = "not a directory: remove it with megadir.remove";
    Err(Error::new("remove", path, ErrorKind::NotADirectory, reason))
}

#[cfg(not(any(target_os = "linux", windows)))]
fn check_removal(path: &Path, _contents: bool) -> Result<()> {
    Err(Error::new("remove", path, ErrorKind::Unavailable, "unavailable on this system"))
}

/// Parts that are being written would be entries of the tree.
fn check_apart(folder: &Path, tree: &Path) -> Result<()> {
    let real = |path: &Path| std::fs::canonicalize(path).map_err(|error| Error::io("open", path, error));
    // It may have to be created.
    let (parent, name) =
        (folder.parent().filter(|parent| !parent.as_os_str().is_empty()), folder.file_name());
    let folder_real = match (real(folder), name) {
        (Err(error), Some(name)) if error.kind() == ErrorKind::NotFound => {
            real(parent.unwrap_or(Path::new(".")))?.join(name)
        }
        (found, _) => found?,
    };
    if folder_real.starts_with(real(tree)?) {
        let reason = format!("this folder is in the tree '{}': name another", tree.display());
        return Err(Error::new("scan into", folder, ErrorKind::BadOption, reason));
    }
    Ok(())
}

impl Job {
    /// Stat backend, if the request asked for fresh attributes.
    pub(crate) fn fresh(&self) -> Option<&'static dyn StatBackend> {
        attribute_policy::fresh().ok().filter(|fresh| fresh.name() == self.stat_backend)
    }

    pub(crate) fn first_items(&self) -> Vec<Item> {
        let item = |(root, index): (&Root, u32)| Item {
            root: index,
            path: Bytes::default(),
            inode: Some(root.inode),
            range: None,
        };
        self.roots.iter().zip(0..).map(item).collect()
    }
}
