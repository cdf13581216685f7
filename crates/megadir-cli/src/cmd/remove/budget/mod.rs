//! `--keep-within`: the selection, what could not be read for it, and its outcome for the summary.

#[cfg(target_os = "linux")]
mod outcome;
#[cfg(target_os = "linux")]
mod unread;

#[cfg(target_os = "linux")]
pub(super) use megadir::remove::budget::Selection;

#[cfg(not(target_os = "linux"))]
pub(super) use self::elsewhere::{Kept, Selection, Unread, has_reported, kept};
#[cfg(target_os = "linux")]
pub(super) use self::outcome::{Kept, kept, text};
#[cfg(target_os = "linux")]
pub(super) use self::unread::{Unread, has_reported};

/// The option is refused there.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use megadir::Error;

    use crate::cmd::mass_change::Failure;
    use crate::cmd::remove::args::Args;
    use crate::ui::object::Object;

    #[derive(Debug)]
    pub(in crate::cmd::remove) enum Selection {}

    #[derive(Debug)]
    pub(in crate::cmd::remove) enum Kept {}

    #[derive(Debug)]
    pub(in crate::cmd::remove) enum Unread {}

    pub(in crate::cmd::remove) fn has_reported(_: Option<&Selection>, _: &Error) -> bool {
        false
    }

    impl Unread {
        pub(in crate::cmd::remove) fn failures(self) -> (Vec<Failure>, u64) {
            match self {}
        }
    }

    pub(in crate::cmd::remove) fn kept(_: &Args, selection: &Selection) -> Kept {
        match *selection {}
    }

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
