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
    // Where the directory cannot be listed, what it lies in now can be put aside all the same.
    let left = leftovers(parent, name).unwrap_or_default();
    if target.is_missing && left.is_empty() {
        return Err(Error::new("remove", &target.path, ErrorKind::NotFound, "No such file or directory"));
    }
    if target.is_missing && args.renew {
        let reason = "No such file or directory: there is nothing to make anew";
        return Err(Error::new("make anew", &target.path, ErrorKind::NotFound, reason));
    }
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
