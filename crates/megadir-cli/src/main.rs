//! megadir: measure and work on directories with millions of entries. Only this crate prints and reads arguments or the environment.
//!
//! | folder or file | subject |
//! |---|---|
//! | `cmd/` | a module or folder per subcommand, and what several share |
//! | `deferred.rs` | builds the arguments of the given command only |
//! | `ui/` | standard output, messages, escaping of names, exit codes |
//! | `examples.rs` | the one table of examples: help and man pages print it, and a test runs it |
//! | `tips.rs`, `tips/` | turns an error of the parser into the line to type; a line that parses gets there only for a word of `find` |

#[macro_use]
mod ui;
mod cmd;
mod deferred;
mod examples;
mod tips;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches, Parser};

use ui::exit::{self, CliError};
use ui::message::quoted;

/// Measure and work on directories with millions of entries
///
/// Exit codes: 0 done; 1 done, but some entries failed; 2 usage; 3 nothing could run; 10 the requested
/// condition was met; 11 it could not be judged; 12 contents are rotten; 130 interrupted.
#[derive(Parser)]
#[command(name = "megadir", version, max_term_width = 100, arg_required_else_help = true)]
// The commands fill the screen of -h, which therefore has no empty line before and after the usage.
#[command(help_template = "{about-with-newline}{usage-heading} {usage}\n{all-args}{after-help}")]
struct Cli {
    #[command(subcommand)]
    command: cmd::Command,
}

fn program() -> Command {
    examples::added(Cli::command())
}

/// The words of a measurement's launcher are recognized before the parser is built, whose memory would count as the
/// measured program's. Parsing builds only the given command; if that fails, the whole program is built and parsed
/// once more, because messages and help need the other commands. Some lines that parse well are still refused, if
/// their words are probably meant for another program. Standard output gets help and version, standard error all the
/// rest.
fn main() -> ExitCode {
    let words = cmd::with_joined_share(std::env::args_os().collect());
    #[cfg(target_os = "linux")]
    if let Some(done) = cmd::launched(&words) {
        return end(done, &words);
    }
    // Only errors need the other commands, and only help the examples: building them every time would slow down each start.
    let mut program = deferred::deferring(Cli::command);
    let parsed = parsed_by(&mut program, &words).or_else(|error| {
        program = match error.kind() {
            ErrorKind::DisplayHelp => self::program(),
            _ => Cli::command(),
        };
        parsed_by(&mut program, &words)
    });
    let done = match parsed {
        _ if let Some(error) = detached_value(&program, &words) => Err(error),
        Ok(_) if let Some(line) = tips::misread(&program, &words) => Err(CliError::usage(line)),
        Ok(cli) if cli.command.requests_help() => ui::output::print(&short_help("list")),
        Ok(cli) => cmd::run(&cli.command),
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            return ExitCode::from(exit::USAGE);
        }
        Err(error) if error.use_stderr() => Err(match tips::line(&program, &words, &error) {
            Some(line) => CliError::usage(line),
            None => exit::usage(&error),
        }),
        Err(error)
            if error.kind() == ErrorKind::DisplayVersion && words.iter().any(|word| word == "--verbose") =>
        {
            ui::output::print(&cmd::version::text())
        }
        Err(error) => ui::output::print(&error.to_string()),
    };
    end(done, &words)
}

fn parsed_by(program: &mut Command, words: &[OsString]) -> Result<Cli, clap::Error> {
    let mut matches = program.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(program))
}

fn end(done: Result<u8, CliError>, words: &[OsString]) -> ExitCode {
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let with_engine = words.iter().any(|word| word.as_encoded_bytes().starts_with(b"--engine"));
            cmd::engine::print_error(&error, with_engine);
            ExitCode::from(error.code)
        }
    }
}

fn short_help(name: &str) -> String {
    let mut program = Cli::command();
    // Only a built command knows what precedes its name.
    program.build();
    program.find_subcommand_mut(name).map_or_else(String::new, |command| command.render_help().to_string())
}

/// Finds the value of an option that takes one only after `=`, such as `--watch 5m`, where the parser sees a directory;
/// `None` if the word after such an option is a directory.
fn detached_value(program: &Command, words: &[OsString]) -> Option<CliError> {
    let mut command = program;
    for (index, word) in words.iter().enumerate().skip(1) {
        if word == "--" {
            return None;
        }
        if let Some(below) = command.find_subcommand(word) {
            command = below;
        }
        let Some(next) = words.get(index + 1) else { continue };
        let is_option = next.as_encoded_bytes().starts_with(b"-");
        if has_optional_value(command, word) && !is_option && !Path::new(next).is_dir() {
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

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::builder::ValueParser;
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    use clap::{Arg, Command, CommandFactory};

    /// With any value.
    fn word(argument: &Arg) -> String {
        match argument.get_long() {
            Some(long) if argument.get_action().takes_values() => format!("--{long}=x"),
            Some(long) => format!("--{long}"),
            None => "x".to_owned(),
        }
    }

    /// Options without which `words` are refused.
    fn required<'a>(command: &'a Command, words: &[String]) -> Vec<&'a Arg> {
        let Err(error) = command.clone().try_get_matches_from(words) else { return Vec::new() };
        let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else {
            return Vec::new();
        };
        let is_missing = |argument: &&Arg| {
            let long = argument.get_long().map(|long| format!("--{long}"));
            long.is_some_and(|long| {
                missing.iter().any(|word| word.split([' ', '=', '[']).next() == Some(&*long))
            })
        };
        match error.kind() {
            ErrorKind::MissingRequiredArgument => command.get_arguments().filter(is_missing).collect(),
            _ => Vec::new(),
        }
    }

    fn line(arguments: &[&Arg], operands: &[&str]) -> Vec<String> {
        let options = arguments.iter().map(|argument| word(argument));
        let operands = operands.iter().map(|operand| (*operand).to_owned());
        std::iter::once("megadir".to_owned()).chain(options).chain(operands).collect()
    }

    /// Words with `given` and everything that they need but `needed`, if the parser accepts them.
    fn accepted_without<'a>(
        command: &'a Command,
        mut given: Vec<&'a Arg>,
        needed: &Arg,
        operands: &[&str],
    ) -> Option<Vec<String>> {
        loop {
            let words = line(&given, operands);
            let missing = required(command, &words).into_iter();
            let more: Vec<&Arg> = missing.filter(|more| more.get_id() != needed.get_id()).collect();
            if more.is_empty() {
                return command.clone().try_get_matches_from(&words).is_ok().then_some(words);
            }
            given.extend(more);
        }
    }

    fn excludes(command: &Command, a: &Arg, b: &Arg) -> bool {
        let lists = |a: &Arg, b: &Arg| {
            command.get_arg_conflicts_with(a).iter().any(|found| found.get_id() == b.get_id())
        };
        lists(a, b) || lists(b, a)
    }

    fn check(command: &Command, path: &str, accepted: &mut Vec<String>) {
        for below in command.get_subcommands() {
            check(below, &format!("{path} {}", below.get_name()), accepted);
        }
        let any: ValueParser = clap::value_parser!(OsString);
        let command = command.clone().mut_args(|argument| match argument.get_action().takes_values() {
            true => argument.value_parser(any.clone()),
            false => argument,
        });
        for operands in [&[][..], &["x"], &["x", "x"]] {
            let always = required(&command, &line(&[], operands));
            let options = command.get_arguments().filter(|argument| argument.get_long().is_some());
            for argument in options {
                let needed = required(&command, &line(&[argument], operands));
                let needed = needed.iter().filter(|needed| !always.contains(needed));
                for (needed, other) in
                    needed.flat_map(|needed| std::iter::repeat(needed).zip(command.get_arguments()))
                {
                    if other.get_id() != argument.get_id()
                        && excludes(&command, needed, other)
                        && let Some(words) =
                            accepted_without(&command, vec![argument, other], needed, operands)
                    {
                        accepted.push(format!("{path} {}", words[1..].join(" ")));
                    }
                }
            }
        }
    }

    /// The parser does not ask for a required option that another option excludes. `remove --list --log FILE` removed for that
    /// reason, although `--list` needs `--dry-run`.
    #[test]
    fn an_option_inherits_the_exclusions_of_its_requirement() {
        let mut program = super::Cli::command();
        program.build();
        let mut accepted = Vec::new();
        check(&program, "megadir", &mut accepted);
        accepted.sort();
        accepted.dedup();
        assert!(accepted.is_empty(), "accepted without a needed option:\n{}", accepted.join("\n"));
    }
}
