//! Outcome of `--keep-within` in one line and in JSON.
//!
//! The library decides which files go; here is only the wording. Elsewhere than on Linux the type has no
//! value, so that callers need no conditions of their own.

#[cfg(not(target_os = "linux"))]
pub(super) use self::elsewhere::Kept;
#[cfg(target_os = "linux")]
pub(super) use self::outcome::{Kept, text};

/// The option is refused there.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use crate::ui::object::Object;

    #[derive(Debug)]
    pub(in crate::cmd::remove) enum Kept {}

    impl Kept {
        pub(in crate::cmd::remove) fn is_met(&self) -> bool {
            match *self {}
        }

        pub(in crate::cmd::remove) fn words(&self, _dry_run: bool) -> String {
            match *self {}
        }

        pub(in crate::cmd::remove) fn write(&self, _object: &mut Object<'_>) {
            match *self {}
        }
    }
}

#[cfg(target_os = "linux")]
mod outcome {
    use std::path::Path;

    use megadir::remove::budget::{Budget, Measure, Outcome};

    use crate::cmd::amount::{grouped, plural};
    use crate::ui::message::quoted;
    use crate::ui::object::Object;
    use crate::ui::sizes;

    #[derive(Clone, Debug)]
    pub(in crate::cmd::remove) struct Kept {
        outcome: Outcome,
        measure: Measure,
        is_of_free: bool,
        path: String,
    }

    /// Reasons why the budget was not reached. They name causes that a person can check, since the library
    /// cannot know which of them it was.
    const STAYS: &str = "the rest does not meet the conditions, has several names or times to come, was used meanwhile or could not be removed";
    const NOT_FREED: &str = "the rest stays for its conditions or use, could not be removed, or frees nothing (snapshots, open files)";

    const IN_VAIN: &str = "nothing more goes, because what went freed next to nothing (snapshots, reflinks, open files, small files of btrfs, a lower layer)";

    impl Kept {
        pub(in crate::cmd::remove) fn new(outcome: Outcome, budget: Budget, path: &Path) -> Self {
            let (measure, is_of_free) = (budget.measure(), budget.is_of_free());
            Self { outcome, measure, is_of_free, path: quoted(path) }
        }

        pub(in crate::cmd::remove) fn is_met(&self) -> bool {
            self.outcome.is_surely_met()
        }

        /// The end of the sentence on the removal.
        pub(in crate::cmd::remove) fn words(&self, dry_run: bool) -> String {
            let Outcome { limit, now, is_met, unread, .. } = self.outcome;
            let amount = |number| text(self.measure, self.is_of_free, number);
            let difference = amount(now.abs_diff(limit));
            let (holds, is_free) = match dry_run {
                true => ("would hold", "would be free"),
                false => ("holds", "are free"),
            };
            let holds = match unread {
                0 => holds.to_owned(),
                _ => format!("{holds}, besides what could not be read,"),
            };
            let why = self.why();
            match (self.is_of_free, is_met) {
                (false, true) => format!("{} {holds} {}, within {}", self.path, amount(now), amount(limit)),
                (false, false) => {
                    format!(
                        "{} {holds} {}, {difference} over {}: {why}",
                        self.path,
                        amount(now),
                        amount(limit)
                    )
                }
                (true, true) => format!("{} {is_free}, at least {}", amount(now), amount(limit)),
                (true, false) => {
                    format!("{} {is_free}, {difference} less than {}: {why}", amount(now), amount(limit))
                }
            }
        }

        /// Out of reach means that not even removing all that may go would reach the budget. Then nothing
        /// is removed, since it would be in vain.
        fn why(&self) -> String {
            let Outcome { reachable, is_out_of_reach, freed, .. } = self.outcome;
            let nothing = if freed.files > 0 { "nothing more goes" } else { "nothing goes" };
            let reachable = text(self.measure, self.is_of_free, reachable);
            match (is_out_of_reach, self.is_of_free) {
                // Asked first, because such a removal ended early, and its other figures do not matter.
                _ if self.outcome.frees_nothing => IN_VAIN.to_owned(),
                (false, false) => STAYS.to_owned(),
                (false, true) => NOT_FREED.to_owned(),
                (true, true) => format!(
                    "{nothing}, because no more than {reachable} would be free without all that may go; give a smaller share"
                ),
                (true, false) => format!(
                    "{nothing}, because files with several names or times to come, which stay, hold {reachable} alone; give a larger budget"
                ),
            }
        }

        pub(in crate::cmd::remove) fn write(&self, object: &mut Object<'_>) {
            let Outcome { held, linked, changed, limit, now, is_out_of_reach, unread, .. } = self.outcome;
            object.string("measure", if self.measure == Measure::Bytes { "bytes" } else { "files" });
            object.raw("is_of_free", self.is_of_free);
            object.raw("limit", limit);
            object.raw("now", now);
            object.raw("is_met", self.is_met());
            object.raw("is_out_of_reach", is_out_of_reach);
            object.raw("frees_nothing", self.outcome.frees_nothing);
            object.raw("held_files", held.files);
            object.raw("held_bytes", held.bytes);
            object.raw("linked_files", linked.files);
            object.raw("linked_bytes", linked.bytes);
            object.raw("changed", changed);
            object.raw("unread", unread);
        }
    }

    pub(in crate::cmd::remove) fn text(measure: Measure, is_of_free: bool, number: u64) -> String {
        match (measure, is_of_free) {
            (Measure::Bytes, _) => sizes::text(number),
            (Measure::Files, true) => format!("{} inodes", grouped(number)),
            (Measure::Files, false) => plural(number, "file", "files"),
        }
    }

    #[cfg(test)]
    mod tests {
        use std::path::Path;

        use megadir::remove::budget::{Amount, Budget, Outcome};

        use super::Kept;

        #[test]
        fn the_line_has_the_current_budget() {
            let outcome = Outcome { limit: 50 << 30, now: 49 << 30, is_met: true, ..Outcome::default() };
            let kept =
                |outcome, budget: &str| Kept::new(outcome, Budget::parse(budget).unwrap(), Path::new("c"));
            let words = |outcome, budget| kept(outcome, budget).words(false);
            assert_eq!(words(outcome, "50GiB"), "'c' holds 49G, within 50G");
            assert_eq!(words(outcome, "50GiB free"), "49G are free, at least 50G");
            let files = Outcome { limit: 10, now: 1234, is_met: false, ..outcome };
            assert!(
                words(files, "10 files")
                    .starts_with("'c' holds 1 234 files, 1 224 files over 10 files: the rest ")
            );
            assert!(
                words(files, "10 free inodes")
                    .starts_with("1 234 inodes are free, 1 224 inodes less than 10 inodes: ")
            );
            let in_vain = Outcome { is_met: false, frees_nothing: true, now: 1, ..outcome };
            assert!(
                words(in_vain, "50GiB free")
                    .contains(": nothing more goes, because what went freed next to nothing (")
            );
            let unread = words(Outcome { unread: 2, ..outcome }, "50GiB");
            assert_eq!(unread, "'c' holds, besides what could not be read, 49G, within 50G");
            assert_eq!(kept(outcome, "50GiB").words(true), "'c' would hold 49G, within 50G");
            let out_of_reach = Outcome {
                now: 70 << 30,
                is_met: false,
                is_out_of_reach: true,
                reachable: 60 << 30,
                ..outcome
            };
            let line = words(out_of_reach, "50GiB");
            assert!(
                line.contains(": nothing goes, because") && line.contains("hold 60G alone; give a larger")
            );
            // Others have linked most files since the first ones went.
            let some_removed = Outcome { freed: Amount { files: 1, bytes: 1 }, ..out_of_reach };
            assert!(words(some_removed, "50GiB").contains(": nothing more goes, because"));
        }
    }
}
