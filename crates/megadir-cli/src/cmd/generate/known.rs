//! Values of options and operands that completions offer, from the registries that the commands use. The parsers accept more (a study file) and
//! explain what they refuse, so the values are added only to the copy of the definitions that completions are made from.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Command, ValueHint};
use megadir::layout::PRESETS;
use megadir::{BACKENDS, FileType, STAT_BACKENDS};
use megadir_bench::dataset::CONTENTS;
use megadir_bench::lab::{DISKS, FILE_SYSTEMS};
use megadir_bench::study::BUILT_IN;
use megadir_record::CacheState;
use megadir_report::chart::CHARTS;

use super::PROGRAM;
use crate::cmd::list;

/// Id of an argument as clap has it, and its values.
type Known = (&'static str, fn() -> Vec<&'static str>);

/// Arguments of the same name have the same values in every command.
static KNOWN: &[Known] = &[
    ("backend", || BACKENDS.iter().map(|backend| backend.name()).collect()),
    ("cache", || CacheState::ALL.map(CacheState::name).to_vec()),
    ("chart", || CHARTS.iter().map(|chart| chart.name).collect()),
    ("content", || CONTENTS.iter().map(|(name, ..)| *name).collect()),
    ("stat_backend", || STAT_BACKENDS.iter().map(|stat_backend| stat_backend.name()).collect()),
    ("disk", || DISKS.iter().map(|kind| kind.name).collect()),
    ("fields", list::field::names),
    ("fs", file_systems),
    ("from_layout", layouts),
    ("layout", layouts),
    ("specs", file_systems),
    ("to_layout", layouts),
    ("transition", layouts),
    ("study", || BUILT_IN.iter().map(|study| study.name).collect()),
    ("types", || FileType::names().collect()),
];

fn layouts() -> Vec<&'static str> {
    std::iter::once("flat").chain(PRESETS.iter().map(|preset| preset.name)).collect()
}

fn file_systems() -> Vec<&'static str> {
    FILE_SYSTEMS.iter().map(|entry| entry.name).collect()
}

/// A copy without hidden commands, which completions would offer otherwise. The names are leaked, since
/// clap keeps them as static text here, and the program ends soon after.
pub(super) fn without_hidden(command: &Command) -> Command {
    let name: &'static str = command.get_name().to_owned().leak();
    let below = command.get_subcommands().filter(|below| !below.is_hide_set()).map(without_hidden);
    Command::new(name)
        .about(command.get_about().cloned().unwrap_or_default())
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_flag(true)
        .disable_version_flag(true)
        .disable_help_subcommand(true)
        .args(command.get_arguments())
        .groups(command.get_groups())
        .subcommands(below)
}

/// Values for those in `KNOWN`, and otherwise a hint by the name of the value.
pub(super) fn with_values(program: Command) -> Command {
    program.mut_subcommands(with_values).mut_args(|argument| {
        if !argument.get_action().takes_values() {
            return argument;
        }
        let name = argument.get_value_names().and_then(<[_]>::first).map(|name| name.as_str().to_owned());
        // zsh takes the colon in `NAME[:N]` for the end of a description.
        let has_colon = name.as_ref().is_some_and(|name| name.contains(':'));
        let argument = if has_colon { argument.value_name("VALUE") } else { argument };
        match (KNOWN.iter().find(|(id, _)| argument.get_id() == id), name.as_deref()) {
            (Some((_, values)), _) => argument.value_parser(PossibleValuesParser::new(values())),
            (None, Some("DIR")) => argument.value_hint(ValueHint::DirPath),
            (None, Some("FILE" | "RECORD" | "INVENTORY" | "PATH" | "LIST" | "DEVICE")) => {
                argument.value_hint(ValueHint::FilePath)
            }
            (None, Some("USER")) => argument.value_hint(ValueHint::Username),
            // Not a file, which shells offer by default.
            (None, Some(_)) if !argument.is_positional() => argument.value_hint(ValueHint::Other),
            _ => argument,
        }
    })
}

/// Completions of operands for fish, which `clap_complete` leaves out.
pub(super) fn fish_operands(program: &Command) -> String {
    let mut text = String::new();
    for command in program.get_subcommands() {
        operands(&mut text, command, &format!("__fish_{PROGRAM}_using_subcommand {}", command.get_name()));
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            let condition = format!(
                "__fish_{PROGRAM}_using_subcommand {}; and __fish_seen_subcommand_from {}",
                command.get_name(),
                below.get_name()
            );
            operands(&mut text, below, &condition);
        }
    }
    text
}

/// Operands with a fixed set of values only: fish completes files without help.
fn operands(text: &mut String, command: &Command, condition: &str) {
    for operand in command.get_positionals() {
        let values = values(operand);
        if !values.is_empty() {
            let values = values.join(" ");
            text.push_str(&format!("complete -c {PROGRAM} -n \"{condition}\" -a \"{values}\"\n"));
        }
    }
}

/// Hidden values are accepted, not offered.
pub(super) fn values(operand: &Arg) -> Vec<String> {
    let values = operand.get_value_parser().possible_values().into_iter().flatten();
    let shown = values.filter(|value| !value.is_hide_set());
    shown.map(|value: PossibleValue| value.get_name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::KNOWN;
    use clap::Command;

    /// Calls `check` with each command that has the argument, and its words.
    fn each(command: &Command, words: &[&str], id: &str, check: &mut dyn FnMut(&[&str], Option<&str>)) {
        if let Some(argument) = command.get_arguments().find(|argument| argument.get_id() == id) {
            check(words, argument.get_long());
        }
        for below in command.get_subcommands() {
            each(below, &[words, &[below.get_name()]].concat(), id, check);
        }
    }

    #[test]
    fn every_value_is_accepted_by_its_option() {
        let program = crate::program();
        for (id, values) in KNOWN {
            let mut commands = 0;
            each(&program, &["megadir"], id, &mut |words, long| {
                commands += 1;
                for value in values() {
                    let option = long.map_or(value.to_owned(), |long| format!("--{long}={value}"));
                    let parsed = crate::program().try_get_matches_from([words, &[option.as_str()]].concat());
                    let refused = parsed.err().filter(|error| {
                        use clap::error::ErrorKind::{InvalidValue, UnknownArgument, ValueValidation};
                        matches!(error.kind(), InvalidValue | UnknownArgument | ValueValidation)
                    });
                    assert!(refused.is_none(), "{words:?} {option}: {refused:?}");
                }
            });
            assert!(commands > 0 && !values().is_empty(), "no command has {id}");
        }
    }
}
