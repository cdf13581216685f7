//! Arguments of commands that are built only when the command is given. Building the arguments of all
//! commands took half of the instructions of a short command.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// Set while the program, which has one thread then, builds its commands.
static DEFERS: AtomicBool = AtomicBool::new(false);

/// Arguments of one command; boxed, because some are a hundred times as large as others.
pub(crate) struct Deferred<T>(Box<T>);

/// Calls `build`, which leaves out the arguments of [`Deferred`] commands: the parser adds them for the
/// command that it meets. Help, hints and errors need all of it, and do not use this.
pub(crate) fn deferring(build: impl FnOnce() -> Command) -> Command {
    DEFERS.store(true, Ordering::Relaxed);
    let command = build();
    DEFERS.store(false, Ordering::Relaxed);
    command
}

impl<T> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        if DEFERS.load(Ordering::Relaxed) { command.defer(T::augment_args) } else { T::augment_args(command) }
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(|arguments| Self(Box::new(arguments)))
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(|arguments| Self(Box::new(arguments)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }

    fn update_from_arg_matches_mut(&mut self, matches: &mut ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches_mut(matches)
    }
}
