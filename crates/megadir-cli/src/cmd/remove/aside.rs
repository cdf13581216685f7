//! Directories renamed aside first (`--detach`, `--renew`), and leftovers of interrupted runs.

use megadir::names;
use megadir::remove::aside::{Aside, detach, leftovers, renew};
use megadir::remove::target::Target;
use megadir::remove::{Progress, RemoveOptions, remove_contents, remove_tree};
use megadir::{Dir, Error, ErrorKind};

use super::args::Args;
use crate::cmd::mass_change::size_kept;
use crate::ui::message::quoted;

pub(super) fn remove(
    args: &Args,
    target: &Target,
    options: &RemoveOptions<'_>,
    progress: &Progress,
) -> Result<(), Error> {
    let (parent, name) = (&*target.parent, target.name.as_slice());
    let left = left(args, target)?;
    // The name is free, or the directory empty, at once.
    let now = match (target.is_directory, args.renew) {
        (true, true) => Some(renewed(target, options, progress)?),
        (true, false) => Some(detach(parent, name)?),
        (false, _) => None,
    };
    for aside in now.iter().chain(&left) {
        one(aside, target, options, progress)?;
    }
    if !target.is_directory && !target.is_missing {
        remove_tree(parent, name, options, progress)?;
    }
    Ok(())
}

/// An empty copy needs an inode, which a full file system lacks until something is removed.
fn renewed<'a>(
    target: &'a Target,
    options: &RemoveOptions<'_>,
    progress: &Progress,
) -> Result<Aside<'a>, Error> {
    match renew(&target.parent, &target.name) {
        Err(error) if error.kind() == ErrorKind::NoSpace => {
            let path = quoted(&target.path);
            eprintln!("megadir: no room for an empty copy of {path}: its contents are removed first");
            remove_contents(&target.open()?, options, progress)?;
            renew(&target.parent, &target.name)
        }
        renewed => renewed,
    }
}

pub(super) fn would_remove(
    args: &Args,
    target: &Target,
    options: &RemoveOptions<'_>,
    progress: &Progress,
) -> Result<(), Error> {
    let left = left(args, target)?;
    let now = (!target.is_missing).then_some(target.name.as_slice());
    for name in now.into_iter().chain(left.iter().map(Aside::name)) {
        remove_tree(&target.parent, name, options, progress)?;
    }
    Ok(())
}

fn left<'a>(args: &Args, target: &'a Target) -> Result<Vec<Aside<'a>>, Error> {
    let left = match leftovers(&target.parent, &target.name) {
        // If the parent cannot be listed, the target itself can still be renamed aside.
        Err(_) if !target.is_missing => Vec::new(),
        left => left?,
    };
    if target.is_missing && left.is_empty() {
        return Err(Error::new("remove", &target.path, ErrorKind::NotFound, "No such file or directory"));
    }
    if target.is_missing && args.renew {
        let reason = "No such file or directory";
        return Err(Error::new("renew", &target.path, ErrorKind::NotFound, reason));
    }
    Ok(left)
}

fn one(
    aside: &Aside<'_>,
    target: &Target,
    options: &RemoveOptions<'_>,
    progress: &Progress,
) -> Result<(), Error> {
    let removed = aside.remove(options, progress)?;
    if !removed.complete {
        let path = names::to_os(aside.name()).map(|name| target.parent.path().join(name))?;
        eprintln!("megadir: the rest of {} is in {}", quoted(&target.path), quoted(&path));
    }
    Ok(())
}

pub(super) fn advise_renew(directory: &Dir) -> Option<String> {
    let size = size_kept(directory)?;
    Some(format!("{} {size}; --contents --renew replaces it", quoted(directory.path())))
}
