//! Directories that are put aside first (`--detach`, `--renew`), and what lies aside since a run that was cut short.

use megadir::names;
use megadir::remove::aside::{Aside, detach, leftovers, renew};
use megadir::remove::{Progress, RemoveOptions, remove_tree};
use megadir::{Error, ErrorKind};

use super::args::Args;
use super::target::Target;
use crate::ui::message::quoted;

/// Puts a directory aside and removes it there, after what earlier runs have left of it.
pub(super) fn remove(
    args: &Args,
    target: &Target,
    options: &RemoveOptions<'_>,
    progress: &Progress,
    say: &dyn Fn(&str),
) -> Result<(), Error> {
    let (parent, name) = (&*target.parent, target.name.as_slice());
    let left = left(args, target)?;
    // First, so that the name is free, or the directory empty, at once.
    let now = match (target.is_directory, args.renew) {
        (true, true) => Some(renew(parent, name)?),
        (true, false) => Some(detach(parent, name)?),
        (false, _) => None,
    };
    for aside in now.iter().chain(&left) {
        one(aside, target, options, progress, say)?;
    }
    if !target.is_directory && !target.is_missing {
        remove_tree(parent, name, options, progress)?;
    }
    Ok(())
}

/// Counts what would go: what lies aside, and what would be put there, the directory itself included.
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

/// Finds what lies aside of a target, which may be all that there is of it.
fn left<'a>(args: &Args, target: &'a Target) -> Result<Vec<Aside<'a>>, Error> {
    // Where the directory cannot be listed, what it lies in now can be put aside all the same.
    let left = leftovers(&target.parent, &target.name).unwrap_or_default();
    if target.is_missing && left.is_empty() {
        return Err(Error::new("remove", &target.path, ErrorKind::NotFound, "No such file or directory"));
    }
    if target.is_missing && args.renew {
        let reason = "No such file or directory: there is nothing to make anew";
        return Err(Error::new("make anew", &target.path, ErrorKind::NotFound, reason));
    }
    Ok(left)
}

fn one(
    aside: &Aside<'_>,
    target: &Target,
    options: &RemoveOptions<'_>,
    progress: &Progress,
    say: &dyn Fn(&str),
) -> Result<(), Error> {
    let removed = aside.remove(options, progress)?;
    if !removed.complete {
        let path = names::to_os(aside.name()).map(|name| target.parent.path().join(name))?;
        say(&format!("megadir: what is left of {} lies in {}", quoted(&target.path), quoted(&path)));
    }
    Ok(())
}
