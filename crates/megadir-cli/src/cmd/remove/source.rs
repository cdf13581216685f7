//! Where the paths come from: the command line, or a list.

use std::collections::VecDeque;
use std::path::Path;

use megadir::names;

use super::args::Args;
use super::guards::Here;
use super::listed::{Item, List};
use super::question::{Chosen, Counted, UNASKED};
use super::refusal::{NoTarget, Way};
use super::summary::Failure;
use super::system;
use super::target::{Resolver, Target, shown};
use crate::exit::{CliError, NOTHING_RAN, SOME_FAILED, USAGE, windows_hint};
use crate::ui::message::reason;

/// Gives one target after the other.
pub(super) struct Source<'a> {
    /// Targets that were found out beforehand, or why not.
    held: VecDeque<Result<Target, Astray>>,
    /// Paths of the command line that follow them.
    rest: &'a [std::ffi::OsString],
    list: Option<List>,
    resolver: Resolver,
}

/// A path that leads to nothing that may be removed.
pub(super) struct Astray {
    pub(super) error: CliError,
    pub(super) failure: Failure,
}

impl<'a> Source<'a> {
    /// Opens the list, or refuses paths of the command line before any is touched.
    pub(super) fn open(args: &'a Args, here: &Here) -> Result<Self, CliError> {
        if let Some(path) = &args.files0_from {
            let list = Some(List::open(path)?);
            return Ok(Self {
                held: VecDeque::new(),
                rest: &[],
                list,
                resolver: Resolver::new(Way::NoLinks),
            });
        }
        for path in &args.paths {
            let path = names::from_os(path);
            system::parts(path).map_err(|refusal| refused(path, &refusal).error)?;
        }
        let mut resolver = Resolver::new(Way::Links);
        let mut held = VecDeque::new();
        let held_max = system::held_max();
        for (index, path) in args.paths.iter().enumerate() {
            let target = find(&mut resolver, names::from_os(path), args, here);
            match target {
                Err(astray) if astray.error.code == USAGE => return Err(astray.error),
                target if index < held_max => held.push_back(target),
                _ => {}
            }
        }
        let rest = args.paths.get(held_max..).unwrap_or(&[]);
        Ok(Self { held, rest, list: None, resolver })
    }

    /// `true` if what is named may go: it is little, or a person says so.
    ///
    /// # Errors
    ///
    /// If it is much, or may be, and there is no terminal to ask on.
    pub(super) fn may_go(&self, args: &Args, here: &Here, chosen: &Chosen) -> Result<bool, CliError> {
        let mut counted = Counted::default();
        let conditions = args.has_conditions().then_some(chosen);
        let Some(path) = &args.files0_from else {
            for target in self.held.iter().flatten() {
                counted.add(target, args, conditions);
            }
            let mut resolver = Resolver::new(Way::Links);
            for path in self.rest {
                let path = names::from_os(path);
                match resolver.resolve(path, args.puts_aside()) {
                    Ok(target) => counted.add(&target, args, conditions),
                    Err(error) => counted.not_found_out(path, &error),
                }
            }
            let named: Vec<&Path> = args.paths.iter().map(Path::new).collect();
            return counted.may_go(&named, conditions.is_some());
        };
        if !path.metadata().is_ok_and(|status| status.is_file()) {
            let reason = "what comes through a pipe cannot be counted before it is removed";
            return Err(CliError::usage(format!("--files0-from: {reason} {UNASKED}")));
        }
        let (mut list, mut resolver) = (List::open(path)?, Resolver::new(Way::NoLinks));
        while let Some(item) = list.next_item()? {
            let Item::Path(path) = item else { continue };
            match resolver.resolve(&path, args.puts_aside()) {
                Ok(target) if here.check(&target, args.contents).is_ok() => {
                    counted.add(&target, args, conditions);
                }
                Ok(_) => {}
                Err(error) => counted.not_found_out(&path, &error),
            }
            if counted.is_many() {
                break;
            }
        }
        counted.may_go(&[path], conditions.is_some())
    }

    /// Returns the next target, or why there is none at this place; `None` at the end.
    ///
    /// # Errors
    ///
    /// When nothing more can be read of a list.
    pub(super) fn next(
        &mut self,
        args: &Args,
        here: &Here,
    ) -> Result<Option<Result<Target, Astray>>, CliError> {
        if let Some(target) = self.held.pop_front() {
            return Ok(Some(target));
        }
        if let Some((path, rest)) = self.rest.split_first() {
            self.rest = rest;
            return Ok(Some(find(&mut self.resolver, names::from_os(path), args, here)));
        }
        let Some(list) = &mut self.list else { return Ok(None) };
        Ok(match list.next_item()? {
            None => None,
            Some(Item::Bad(message)) => {
                let failure = Failure::of_message(&message);
                Some(Err(Astray { error: CliError { message, code: SOME_FAILED }, failure }))
            }
            Some(Item::Path(path)) => Some(find(&mut self.resolver, &path, args, here)),
        })
    }
}

/// Finds out what a path names, and refuses what is never removed.
fn find(resolver: &mut Resolver, path: &[u8], args: &Args, here: &Here) -> Result<Target, Astray> {
    let target = resolver.resolve(path, args.puts_aside()).map_err(|error| match error {
        NoTarget::Refused(refusal) => refused(path, &refusal),
        NoTarget::Failed(error) => {
            let hint = if cfg!(windows) { windows_hint_of(path) } else { "" };
            let reason = format!("{}{hint}", reason(&error));
            let message = format!("remove {}: {reason}", shown(path));
            let failure = Failure::at(path, format!("remove: {reason}"));
            Astray { error: CliError { message, code: NOTHING_RAN }, failure }
        }
    })?;
    here.check(&target, args.contents).map_err(|refusal| refused(path, &refusal))?;
    Ok(target)
}

/// Returns what may be wrong with a path that Windows has refused.
fn windows_hint_of(path: &[u8]) -> &'static str {
    names::to_os(path).map_or("", |path| windows_hint(Path::new(&path)))
}

fn refused(path: &[u8], refusal: &super::refusal::Refusal) -> Astray {
    let error = CliError::usage(format!("refused to remove {}: {refusal}", shown(path)));
    Astray { error, failure: Failure::at(path, format!("refused to remove: {refusal}")) }
}
