//! Warnings against trusting a run, each with advice, modelled on criterion and hyperfine.
//!
//! ```text
//! derive.rs: when        kind.rs: the closed set, loud or not      words.rs: text and remedy
//!      `--> Vec<Advisory>, loud first --> JSON, gates (each by itself)
//!                          `--> grouped.rs --> terminal, page, Markdown (merged)
//! ```

mod derive;
mod grouped;
mod kind;
mod words;

pub(crate) use derive::{Wide, advise, wide};
pub(crate) use grouped::{DisplayedWarning, displayed, disturbance, incomplete_line};
pub(crate) use kind::{ARM_LEFT_OUT, DISTURBING};
pub use kind::{Advisory, Warning};
pub(crate) use words::scatter;

/// Command that made the record. Advice names options of that command, since `advise` has no rounds and no
/// files of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Options {
    /// The user sets the number of rounds; the record is a file.
    Bench,
    /// The user sets a time; the page holds the record.
    Advise,
}

impl Options {
    /// The first word that is one of them: options before it and paths of the program are skipped.
    pub(crate) fn of(command: &[String]) -> Self {
        let known = command.iter().skip(1).find(|word| ["advise", "bench"].contains(&word.as_str()));
        match known.map(String::as_str) {
            Some("advise") => Self::Advise,
            _ => Self::Bench,
        }
    }

    pub(crate) fn more_rounds(self) -> &'static str {
        match self {
            Self::Bench => "run more rounds (--rounds)",
            Self::Advise => "measure longer (--time)",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_command_counts() {
        let of = |line: &str| Options::of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(of("megadir advise --report bench ."), Options::Advise);
        assert_eq!(of("megadir bench run layout --dir advise"), Options::Bench);
        assert_eq!(of("advise"), Options::Bench);
        assert_eq!(Options::of(&[]), Options::Bench);
    }
}
