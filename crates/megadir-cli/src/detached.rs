//! Finds the value of an option that takes one only after '=', such as `--watch 5m`, where the parser sees a
//! directory.

use std::ffi::OsString;
use std::path::Path;

use clap::{Command, Parser};

use crate::Cli;
use crate::ui::exit::CliError;
use crate::ui::message::quoted;

/// `None` if the word after such an option is a directory.
pub(crate) fn value(program: &Command, words: &[OsString]) -> Option<CliError> {
    let mut command = program;
    for (index, word) in words.iter().enumerate().skip(1) {
        if word == "--" {
            return None;
        }
        if let Some(below) = command.find_subcommand(word) {
            command = below;
        }
        let Some(next) = words.get(index + 1) else { continue };
        if has_optional_value(command, word) && !is_option(next) && !Path::new(next).is_dir() {
            let mut joined = word.clone();
            joined.push("=");
            joined.push(next);
            let (option, shown) = (word.display(), joined.display());
            let error = format!(
                "{} is not a directory; if it is the value of {option}, write {shown}",
                quoted(Path::new(next))
            );
            let corrected = words[..index].iter().chain([&joined]).chain(&words[index + 2..]);
            // Otherwise it is a mistyped directory.
            if Cli::try_parse_from(corrected).is_ok() {
                return Some(CliError::usage(error));
            }
        }
    }
    None
}

fn has_optional_value(command: &Command, word: &OsString) -> bool {
    let Some(name) = word.to_str().and_then(|word| word.strip_prefix("--")) else { return false };
    command.get_arguments().any(|option| {
        let is_optional = option.get_num_args().is_some_and(|values| values.min_values() == 0);
        option.is_require_equals_set() && is_optional && option.get_long() == Some(name)
    })
}

fn is_option(word: &OsString) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}
