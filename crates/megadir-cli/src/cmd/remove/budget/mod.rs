//! `--keep-within`: selects what has to go, asks, and has it removed.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod outcome;

#[cfg(not(target_os = "linux"))]
pub(super) use self::elsewhere::{Budget, Kept, Selection, kept};
#[cfg(target_os = "linux")]
pub(super) use self::linux::{kept, run};
#[cfg(target_os = "linux")]
pub(super) use self::outcome::Kept;
#[cfg(target_os = "linux")]
pub(super) use megadir::remove::budget::{Budget, Selection};

#[cfg(target_os = "linux")]
pub(super) fn budget(text: &str) -> Result<Budget, String> {
    Budget::parse(text)
}

/// The option is refused there.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use crate::cmd::remove::args::Args;
    use crate::ui::object::Object;

    pub(in crate::cmd::remove) type Budget = String;

    #[derive(Debug)]
    pub(in crate::cmd::remove) enum Selection {}

    #[derive(Debug)]
    pub(in crate::cmd::remove) enum Kept {}

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

#[cfg(not(target_os = "linux"))]
pub(super) fn budget(text: &str) -> Result<Budget, String> {
    Ok(text.to_owned())
}
