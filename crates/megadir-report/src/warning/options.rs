//! The command that made a record, so that what to do about it names options which that command has.

/// The command whose options are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Options {
    /// `megadir bench`: rounds are asked for, and the record is a file.
    Bench,
    /// `megadir advise`: a time is asked for, and the record is kept in the page alone.
    Advise,
}

impl Options {
    /// Returns the command of a command line: a benchmark if it is unknown, as in a program that embeds the library.
    pub(crate) fn of(command: &[String]) -> Self {
        let known = command.iter().skip(1).find(|word| ["advise", "bench"].contains(&word.as_str()));
        match known.map(String::as_str) {
            Some("advise") => Self::Advise,
            _ => Self::Bench,
        }
    }

    /// Returns how to get more rounds, as an imperative phrase.
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
