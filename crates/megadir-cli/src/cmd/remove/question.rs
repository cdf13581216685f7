//! The question whether so many entries are to go, and how many they are as far as that must be known for it.

use std::io::{self, BufRead, IsTerminal, Write};

use megadir::remove::aside::leftovers;
use megadir::{Attributes, Dir, Entry, Walk, WalkItem, WalkOptions, Want};

use super::args::Args;
use super::system;
use super::target::Target;
use crate::cmd::limits::amount::amount;
use crate::cmd::list::conditions::{Asked, Conditions};
use crate::cmd::list::filter::Filter;
use crate::exit::CliError;
use crate::ui::message::quoted;

/// Up to so many entries go without a question.
const UNASKED_MAX: u64 = 1000;
/// The buffer for one directory, bytes: a thousand entries.
const BUFFER_BYTES: usize = 32 << 10;
/// Directories that may wait to be counted.
const QUEUE_MAX: usize = 256;
/// So many paths are named in the question.
const NAMED_MAX: usize = 3;

/// Which of the entries below go.
pub(super) struct Chosen {
    filter: Filter,
    conditions: Conditions,
}

/// How many entries would go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// Those counted, the paths themselves included.
    entries: u64,
    /// About how many there are in the directories named, where that was found out.
    estimate: Option<u64>,
}

impl Chosen {
    pub(super) fn new(args: &Args) -> Result<Self, CliError> {
        let asked = Asked {
            older_than: args.older_than,
            newer_than: None,
            larger_than: None,
            smaller_than: None,
            owner: None,
        };
        Ok(Self {
            filter: Filter::new(args.types.clone(), args.glob.as_deref())?,
            conditions: Conditions::new(&asked)?,
        })
    }

    /// Returns what must be asked of each entry.
    pub(super) fn want(&self) -> Want {
        let types = if self.filter.needs_types() { Want::TYPE } else { Want::NOTHING };
        self.conditions.want() | types
    }

    /// Tells whether the glob accepts a name.
    pub(super) fn accepts_name(&self, name: &[u8]) -> bool {
        self.filter.accepts_name(name)
    }

    /// Tells whether a target that is no directory goes, as far as that can be known.
    fn accepts_target(&self, target: &Target) -> bool {
        // What cannot be looked at might go.
        let Some(row) = system::row(target) else { return true };
        let kind = row.kind;
        let entry = Entry { name: &target.name, inode: 0, kind, cookie: None, record_bytes: 0 };
        self.filter.accepts(&entry) && self.conditions.accept(&row)
    }

    /// Tells whether an entry goes; one of which that is not known stays.
    pub(super) fn accepts(&self, entry: &Entry<'_>, row: &Attributes) -> bool {
        let kind = if row.have.contains(Want::TYPE) { row.kind } else { entry.kind };
        self.filter.accepts(&Entry { kind, ..*entry }) && self.conditions.accept(row)
    }
}

impl Counted {
    /// Tells whether so many go that it is asked first.
    pub(super) fn is_many(&self) -> bool {
        self.entries > UNASKED_MAX
    }

    /// Adds what would go with a target, unless it is known already that they are many.
    pub(super) fn add(&mut self, target: &Target, args: &Args, chosen: Option<&Chosen>) {
        if self.is_many() {
            return;
        }
        if args.puts_aside() {
            self.add_leftovers(target, args);
        }
        if target.is_missing || self.is_many() {
            return;
        }
        if !target.is_directory {
            self.entries += u64::from(chosen.is_none_or(|chosen| chosen.accepts_target(target)));
            return;
        }
        self.entries += u64::from(!args.contents && chosen.is_none());
        self.add_directory(&target.parent, &target.name, args, chosen);
    }

    /// Adds what lies aside of a target since a run that was cut short, and goes with it.
    fn add_leftovers(&mut self, target: &Target, args: &Args) {
        for aside in leftovers(&target.parent, &target.name).unwrap_or_default() {
            if self.is_many() {
                return;
            }
            self.entries += 1;
            self.add_directory(&target.parent, aside.name(), args, None);
        }
    }

    fn add_directory(&mut self, parent: &Dir, name: &[u8], args: &Args, chosen: Option<&Chosen>) {
        // What cannot be listed cannot be removed either, and is told then.
        let Ok(directory) = parent.open_below(name) else { return };
        let Ok(again) = directory.again() else { return };
        self.count(again, args, chosen);
        if self.is_many() && chosen.is_none() {
            self.estimate = system::estimate(&directory);
        }
    }

    fn count(&mut self, directory: Dir, args: &Args, chosen: Option<&Chosen>) {
        let examine = chosen.map(Chosen::want).filter(|want| *want != Want::NOTHING);
        let examine = match examine.map(|want| (want, megadir::attribute_policy::choose(&directory, want, 1)))
        {
            Some((want, Ok(choice))) => Some((choice.examiner, want)),
            Some((_, Err(_))) => return,
            None => None,
        };
        let options = WalkOptions {
            buffer_bytes: BUFFER_BYTES,
            threads: 1,
            queue_directories_max: QUEUE_MAX,
            cross_mounts: args.cross_mounts,
            examine,
            tell_ends: false,
        };
        let Ok(mut walk) = Walk::new(directory, &options) else { return };
        while let Some(item) = walk.next_item() {
            let WalkItem::Batch { batch, attributes, .. } = item else { continue };
            self.entries += match (chosen, attributes.is_empty()) {
                (None, _) => batch.len() as u64,
                (Some(chosen), true) => {
                    batch.entries().filter(|entry| chosen.accepts(entry, &Attributes::NOTHING)).count() as u64
                }
                (Some(chosen), false) => {
                    let rows = batch.entries().zip(attributes);
                    rows.filter(|(entry, row)| chosen.accepts(entry, row)).count() as u64
                }
            };
            if self.is_many() {
                return;
            }
        }
    }

    /// Returns the question.
    fn question(&self, paths: &[&std::path::Path], some: bool) -> String {
        let named: Vec<String> = paths.iter().take(NAMED_MAX).map(|path| quoted(path)).collect();
        let mut text = named.join(", ");
        if paths.len() > NAMED_MAX {
            text.push_str(&format!(" and {} more", paths.len() - NAMED_MAX));
        }
        let number = match self.estimate {
            Some(about) if about > UNASKED_MAX => format!("about {} entries or more", amount(about)),
            _ => format!("more than {UNASKED_MAX} entries"),
        };
        match some {
            true => format!("megadir: remove {number} of those at and below {text}? [y/N] "),
            false => format!("megadir: remove {text}, {number}? [y/N] "),
        }
    }

    /// Asks whether they are to go; anything but yes is a no.
    pub(super) fn ask(&self, paths: &[&std::path::Path], some: bool) -> bool {
        let mut stderr = io::stderr();
        if stderr.write_all(self.question(paths, some).as_bytes()).is_err() {
            return false;
        }
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer);
        read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
    }
}

/// Tells whether there is somebody to ask.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::Counted;

    #[test]
    fn the_question_names_what_goes() {
        let many = |estimate| Counted { entries: 1001, estimate };
        let paths: Vec<&std::path::Path> = ["a", "b\n", "c", "d", "e"].iter().map(AsRef::as_ref).collect();
        assert_eq!(
            many(None).question(&paths, false),
            "megadir: remove 'a', 'b\\n', 'c' and 2 more, more than 1000 entries? [y/N] "
        );
        assert_eq!(
            many(Some(1_234_567)).question(&paths[..1], false),
            "megadir: remove 'a', about 1.23 M entries or more? [y/N] "
        );
        assert_eq!(
            many(Some(7)).question(&paths[..1], true),
            "megadir: remove more than 1000 entries of those at and below 'a'? [y/N] "
        );
    }
}
