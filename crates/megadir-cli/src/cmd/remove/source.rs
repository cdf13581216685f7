//! Source of paths: the command line or a list.
//!
//! ```text
//! command line ─► held: up to HELD_MAX targets, opened before the first removal
//!             └─► rest: later paths, resolved when it is their turn
//! --files0-from ─► list: each path resolved when it is its turn; links in paths are refused
//! ```
//!
//! Paths on the command line were typed by a person, so that links in them are followed. Paths of a list
//! may have been influenced by another user, who could lead the removal elsewhere by a link.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use megadir::remove::target::{Guards, Links, NoTarget, Refusal, Resolver, Taken, Target};
use megadir::{Conditions, names};

use super::args::Args;
use super::confirm::{ALTERNATIVES, Counted, Paths};
use crate::cmd::listed::{Item, List};
use crate::cmd::mass_change::Failure;
use crate::exit::{CliError, USAGE, windows_hint};
use crate::ui::message::{quoted_bytes, reason};
use crate::ui::new_file::folder_of;

/// Targets held open; more would cost descriptors that the removal needs.
const HELD_MAX: usize = 64;
#[cfg(unix)]
/// Share of the limit of descriptors that one target may count on.
const DESCRIPTORS_A_TARGET: u64 = 8;

/// `held` has the first targets of the command line, resolved to open directories before anything is removed, so that
/// no removal can change the meaning of a later path; `rest` are the others, since there are not enough
/// descriptors for all. `taken` has the targets that are gone. `here` has the directories that must not go.
pub(super) struct Source<'a> {
    args: &'a Args,
    here: &'a Guards,
    held: VecDeque<Result<Target, BadPath>>,
    rest: &'a [OsString],
    list: Option<List>,
    links: Links,
    resolver: Resolver,
    taken: Taken,
}

pub(super) struct BadPath {
    pub(super) error: CliError,
    pub(super) failure: Failure,
    /// The path, if nothing has it.
    pub(super) missing: Option<PathBuf>,
}

impl<'a> Source<'a> {
    /// Checks all paths of the command line before any is touched.
    pub(super) fn open(args: &'a Args, here: &'a Guards) -> Result<Self, CliError> {
        let list = args.files0_from.as_deref().map(List::open).transpose()?;
        for path in &args.paths {
            let path = names::from_os(path);
            Resolver::check(path).map_err(|refusal| refused(path, &refusal).error)?;
        }
        let links = if list.is_some() { Links::Refused } else { Links::Followed };
        let resolver = Resolver::new(links);
        let held_max = held_max();
        let rest = args.paths.get(held_max..).unwrap_or(&[]);
        let mut source =
            Self { args, here, held: VecDeque::new(), rest, list, links, resolver, taken: Taken::default() };
        // Every path is resolved once, also if it is not held: an error of usage is found before
        // anything goes.
        for (index, path) in args.paths.iter().enumerate() {
            match source.find(names::from_os(path)) {
                Err(astray) if astray.error.code == USAGE => return Err(astray.error),
                // A path that is missing already was not removed by this run.
                Err(astray) if index < held_max => {
                    source.held.push_back(Err(BadPath { missing: None, ..astray }));
                }
                target if index < held_max => source.held.push_back(target),
                _ => {}
            }
        }
        Ok(source)
    }

    /// Target of a path that is not of the command line, or is the only one. Errors: it is missing or refused.
    #[cfg(target_os = "linux")]
    pub(super) fn target(args: &'a Args, here: &'a Guards, path: &Path) -> Result<Target, CliError> {
        let bytes = names::from_os(path.as_os_str());
        Resolver::check(bytes).map_err(|refusal| refused(bytes, &refusal).error)?;
        let (held, taken) = (VecDeque::new(), Taken::default());
        let (links, resolver) = (Links::Followed, Resolver::new(Links::Followed));
        let mut source = Self { args, here, held, rest: &[], list: None, links, resolver, taken };
        source.find(bytes).map_err(|astray| astray.error)
    }

    /// The one target. Errors: there is none, because the path is missing or refused, or several.
    #[cfg(target_os = "linux")]
    pub(super) fn only_target(&self) -> Result<&Target, CliError> {
        match (self.held.front(), self.held.len()) {
            (Some(Ok(target)), 1) => Ok(target),
            (Some(Err(BadPath { error, .. })), 1) => Err(error.clone()),
            _ => Err(CliError::usage("--keep-within: give one directory")),
        }
    }

    /// Counts all targets before the first is removed, and asks if there are many. A list is read a second time for
    /// this, so a pipe is refused: it could not be read again. Counting ends when the question is certain, since a
    /// list may have millions of paths. Paths of the list that would be refused anyway do not count.
    pub(super) fn may_go(&self, conditions: &Arc<Conditions>) -> Result<bool, CliError> {
        let (args, mut counted) = (self.args, Counted::default());
        let conditions = args.has_conditions().then_some(conditions);
        let Some(path) = &args.files0_from else {
            for target in self.held.iter().flatten() {
                counted.add(target, args, conditions);
            }
            let mut resolver = Resolver::new(Links::Followed);
            for path in self.rest {
                let path = names::from_os(path);
                match resolver.resolve(path, args.puts_aside()) {
                    Ok(target) => counted.add(&target, args, conditions),
                    Err(error) => counted.unresolved(path, &error),
                }
            }
            let named: Vec<&Path> = args.paths.iter().map(Path::new).collect();
            return counted.may_go(Paths::Named(&named), args);
        };
        if !path.metadata().is_ok_and(|status| status.is_file()) {
            let reason = "paths from a pipe cannot be counted before removal";
            return Err(CliError::usage(format!("--files0-from: {reason} {ALTERNATIVES}")));
        }
        let (mut list, mut resolver) = (List::open(path)?, Resolver::new(Links::Refused));
        while let Some(item) = list.next_item()? {
            let Item::Path(path) = item else { continue };
            match resolver.resolve(&path, args.puts_aside()) {
                Ok(target) if self.here.check(&target, args.contents).is_ok() => {
                    counted.add(&target, args, conditions);
                }
                Ok(_) => {}
                Err(error) => counted.unresolved(&path, &error),
            }
            if counted.is_many() {
                counted.cut();
                break;
            }
        }
        counted.may_go(Paths::ListedIn(path), args)
    }

    /// Notes what the run has removed or emptied. A list may have ten million files, and none lies in another.
    pub(super) fn note(&mut self, target: &Target) {
        if target.is_directory || self.list.is_none() {
            self.taken.note(target);
        }
    }

    /// `true` if this run has removed the entry with this path.
    pub(super) fn has_taken(&self, path: &Path) -> bool {
        self.taken.covers(names::from_os(path.as_os_str()), self.links)
    }

    /// `None` at the end. Fails if the list cannot be read any further.
    pub(super) fn next_target(&mut self) -> Result<Option<Result<Target, BadPath>>, CliError> {
        if let Some(target) = self.held.pop_front() {
            return Ok(Some(target));
        }
        if let Some((path, rest)) = self.rest.split_first() {
            self.rest = rest;
            return Ok(Some(self.find(names::from_os(path))));
        }
        let Some(list) = &mut self.list else { return Ok(None) };
        Ok(match list.next_item()? {
            None => None,
            Some(Item::Bad(message)) => {
                let failure = Failure::of_message(&message);
                Some(Err(BadPath { error: CliError::some_failed(message), failure, missing: None }))
            }
            Some(Item::Path(path)) => Some(self.find(&path)),
        })
    }

    /// `true` if a dry run may meet an entry twice.
    pub(super) fn may_overlap(&self) -> bool {
        self.list.is_some() || lie_in_each_other(&self.args.paths)
    }

    /// Resolves a path and asks the guards: the order matters, because a guard judges the directory that
    /// was found, not the words of the path.
    fn find(&mut self, path: &[u8]) -> Result<Target, BadPath> {
        let found = self.resolver.resolve(path, self.args.puts_aside());
        let target = found.map_err(|error| match error {
            NoTarget::Refused(refusal) => refused(path, &refusal),
            NoTarget::Failed(error) => {
                let hint = names::to_os(path).map_or("", |path| windows_hint(Path::new(&path)));
                let reason = format!("{}{}", reason(&error), if cfg!(windows) { hint } else { "" });
                let message = format!("remove {}: {reason}", quoted_bytes(path));
                let failure = Failure::at(path, format!("remove: {reason}"));
                let missing = (error.kind() == io::ErrorKind::NotFound)
                    .then(|| names::to_os(path).ok().map(|path| PathBuf::from(&*path)))
                    .flatten();
                BadPath { error: CliError::nothing_ran(message), failure, missing }
            }
        })?;
        // With a budget, files are refused in another place.
        let contents = self.args.contents || (self.args.takes_contents() && target.is_directory);
        self.here.check(&target, contents).map_err(|refusal| refused(path, &refusal))?;
        Ok(target)
    }
}

/// By their real paths: a bind mount can hide it, and then an entry counts twice.
fn lie_in_each_other(paths: &[OsString]) -> bool {
    if paths.len() < 2 {
        return false;
    }
    let real = |path: &OsString| {
        let path = Path::new(path);
        Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?))
    };
    let mut real: Vec<_> = paths.iter().filter_map(real).collect();
    // By components, so that entries of a directory follow it.
    real.sort_unstable();
    real.windows(2).any(|pair| pair[1].starts_with(&pair[0]))
}

/// Names the options that lead to a result for refusals that an option can lift.
fn refused(path: &[u8], refusal: &Refusal) -> BadPath {
    let refusal = match refusal {
        Refusal::NoContents => "--contents: not a directory".to_owned(),
        Refusal::MountPoint => "it is a mount point (umount it, or empty it with --contents)".to_owned(),
        other => other.to_string(),
    };
    let error = CliError::usage(format!("refused to remove {}: {refusal}", quoted_bytes(path)));
    BadPath { error, failure: Failure::at(path, format!("refused to remove: {refusal}")), missing: None }
}

/// Each target has a descriptor, and most descriptors stay free.
fn held_max() -> usize {
    #[cfg(unix)]
    {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let share = limit.unwrap_or(u64::MAX) / DESCRIPTORS_A_TARGET;
        usize::try_from(share).map_or(HELD_MAX, |share| share.min(HELD_MAX))
    }
    #[cfg(not(unix))]
    HELD_MAX
}
