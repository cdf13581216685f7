//! Lines to type instead of a word of another program, such as `du` or `-name`, or to add a missing one.
//! A line that parses gets no tip, unless a word of `find` was taken for short options.
//!
//! Each tip is one line in which the directory that was given is repeated, if that is safe. Nothing runs
//! without being typed, since a guess about a removal could be wrong.

mod find;

use std::ffi::OsString;
use std::path::{Component, Path};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use megadir_bench::study::BUILT_IN;

use crate::ui::message::quoted;

/// Words that people type for a command, and the command that does the same here.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["ls", "dir", "fd"], "'megadir list DIR', with attributes 'megadir list -l DIR'"),
    (&["find", "search", "locate"], "'megadir list --recursive DIR', and --match GLOB for names"),
    (&["count", "wc"], "'megadir list --count DIR', and of a tree 'megadir usage DIR'"),
    (&["stat"], "'megadir list -l DIR', or --fields size,mtime,name"),
    (&["du", "tree", "top", "ncdu", "dust", "dua", "gdu", "space"], "'megadir usage DIR'"),
    (&["df", "inodes", "limit", "full"], "'megadir limits DIR'"),
    (
        &["diff", "cmp", "rdiff", "verify"],
        "'megadir compare A B' for two directories; for one, 'megadir scan DIR --output FILE.parquet' now and 'megadir changes FILE.parquet' later",
    ),
    (
        &["status", "changed"],
        "'megadir scan DIR --output FILE.parquet' now, and 'megadir changes FILE.parquet' later",
    ),
    (&["delete", "rm", "del", "unlink", "rmdir"], "'megadir remove PATH'"),
    (&["empty", "clear"], "'megadir remove --contents DIR'"),
    (
        &["purge", "prune", "tmpwatch", "expire"],
        "'megadir remove --older-than 30d DIR', first with --dry-run",
    ),
    (
        &["clean", "cleanup"],
        "'megadir remove --older-than 30d DIR' for old files, and 'megadir bench clean DIR' for what a killed benchmark left",
    ),
    (&["create", "touch", "mkdir", "fill", "mk"], "'megadir make DIR --entries N'"),
    (&["move", "mv", "shard", "split"], "'megadir reshard DIR --to LAYOUT'"),
    (&["inventory", "index", "snapshot"], "'megadir scan DIR --output FILE.parquet'"),
    (&["benchmark", "run", "measure"], "'megadir bench run STUDY'; 'megadir bench list' names the studies"),
];

/// Options of other programs, or of a neighbour here: command, words, and the line. An option that the command has gets no row.
const OPTIONS: &[(&str, &[&str], &str)] = &[
    (
        "list",
        &["-S", "-lS", "-lhS"],
        "list has no -S; write --sort size -l for the largest entries first, as ls -lS",
    ),
    (
        "usage",
        &["-s", "--summarize", "--summary", "-sh", "-hs"],
        "usage has no -s; its first line is the total, and --depth 0 lists no directory below it",
    ),
    (
        "usage",
        &["-a", "--all"],
        "usage lists directories; 'megadir list --recursive --sort size -l DIR' lists files",
    ),
    (
        "usage",
        &["--human", "--human-readable", "-H", "--si", "--bytes", "-b", "-k", "-m"],
        "usage prints sizes in the unit that fits; --json and --csv print bytes",
    ),
    ("list", &["--color", "--colour"], "list prints no colors: leave the option out"),
    (
        "remove",
        &["-i", "-I", "--interactive"],
        "remove has no -i; it asks once before it removes anything, and --dry-run counts beforehand what would go",
    ),
    (
        "limits",
        &["--files", "--entries", "-n"],
        "limits takes no number: it prints how many entries fit; 'megadir advise DIR --files N' chooses a layout for N",
    ),
    (
        "bench run",
        &["--time", "--seconds", "--duration", "--minutes"],
        "bench run takes no time: --quick measures small data for a short time, and --rounds N sets the number of rounds",
    ),
    (
        "bench commands",
        &["--quick"],
        "bench commands has no --quick; write --rounds 6 --warm-up 1 for a short run",
    ),
];

/// Line for an error of the parser, or `None` if its own line is as good.
///
/// The parser's line names the unknown word; the line from here has the words to type instead. Words after `--` are
/// no options and are left out. An unknown command is looked up first, since the rest of the line cannot be judged
/// without it. Then come errors of single commands, and last the tables of options that other programs have.
pub(crate) fn line(program: &Command, words: &[OsString], error: &Error) -> Option<String> {
    let words = words_before_dashes(words);
    let (command, after) = divided(&words)?;
    if program.find_subcommand(command).is_none() {
        let line = if command == "find" { find_line(program, after) } else { None };
        return line.or_else(|| unknown(command, after, error));
    }
    match (command, error.kind()) {
        ("bench", ErrorKind::InvalidSubcommand) => study(after.first()?),
        ("bench", ErrorKind::MissingRequiredArgument) if after.first() == Some(&"run") => {
            lacks(error, "<STUDY>").then(studies)
        }
        ("scan", ErrorKind::MissingRequiredArgument) => scan(after, error),
        ("changes", ErrorKind::MissingRequiredArgument) if lacks(error, "<INVENTORY>") => {
            Some(NO_INVENTORY.to_owned())
        }
        ("remove", ErrorKind::MissingRequiredArgument) if lacks(error, "--contents") => {
            let directory = directory_of(after);
            Some(format!(
                "--renew replaces the directory whose contents are removed: 'megadir remove --contents --renew {directory}'"
            ))
        }
        ("reshard", ErrorKind::MissingRequiredArgument) if lacks(error, "--to") => {
            let directory = directory_of(after);
            Some(format!(
                "reshard needs the new layout: --to digest:2, --to flat, ...; 'megadir layout {directory}' names the present one, and \
                 'megadir advise {directory}' one that suits"
            ))
        }
        _ => option(program, command, after).or_else(|| negative(after, error)),
    }
}

/// The parser takes `-5d` after an option for an option.
fn negative(after: &[&str], error: &Error) -> Option<String> {
    let positive = |word: &str| {
        let rest =
            word.strip_prefix('-').filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
        rest.map(str::to_owned)
    };
    let (option, value) = after
        .windows(2)
        .filter(|pair| pair[0].starts_with("--"))
        .find_map(|pair| Some((pair[0], positive(pair[1])?)))?;
    let is_refused = matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::InvalidValue);
    is_refused.then(|| format!("{option} takes no negative value: write {value}"))
}

/// First word that is no option, for lines to type.
fn directory_of<'a>(after: &[&'a str]) -> &'a str {
    after.iter().find(|word| !word.starts_with('-')).copied().unwrap_or("DIR")
}

/// Line for words that the parser takes, but not for what they are.
pub(crate) fn misread(program: &Command, words: &[OsString]) -> Option<String> {
    let words = words_before_dashes(words);
    let (command, after) = divided(&words)?;
    let of = program.find_subcommand(command).filter(|of| has_conditions(of))?;
    find::misread(of, command, after)
}

/// Words after `--` are operands, even if they look like options. A word that is not UTF-8 ends the search.
fn words_before_dashes(words: &[OsString]) -> Vec<&str> {
    let words = words.iter().skip(1).map_while(|word| word.to_str());
    words.take_while(|word| *word != "--").collect()
}

/// The command, and the words after it.
fn divided<'a>(words: &'a [&'a str]) -> Option<(&'a str, &'a [&'a str])> {
    let place = words.iter().position(|word| !word.starts_with('-'))?;
    Some((words[place], &words[place + 1..]))
}

/// Message of `changes` without an inventory.
pub(crate) const NO_INVENTORY: &str = "changes needs an inventory: write one with 'megadir scan DIR --output FILE.parquet', and later \
     compare with 'megadir changes FILE.parquet'";

fn find_line(program: &Command, after: &[&str]) -> Option<String> {
    find::command(program, after).map(|line| format!("there is no command 'find'; write {line}"))
}

/// A command that does not exist: a study, a command of another program, or a directory.
fn unknown(word: &str, after: &[&str], error: &Error) -> Option<String> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let shown = quoted(Path::new(word));
    if let Some(line) = study(word) {
        return Some(line);
    }
    let known = COMMANDS.iter().find(|(names, _)| names.contains(&word.to_ascii_lowercase().as_str()));
    match known {
        // A directory may have this name too.
        Some((_, instead)) => {
            Some(format!("there is no command {shown}; write {}", with_directory(instead, after)))
        }
        None if word.contains(std::path::is_separator) || Path::new(word).exists() => Some(format!(
            "{shown} is no command; 'megadir list {word}' prints its entries, and 'megadir usage {word}' what takes the space"
        )),
        None => None,
    }
}

/// The line with the directory that was given in place of `DIR` or `PATH`, if it is the only word without a hyphen: another may be the value of
/// an option, or one of several. A word that a shell reads otherwise, or that leads above or to the root, is not repeated, so that no line proposes to
/// remove that.
fn with_directory(line: &str, after: &[&str]) -> String {
    let mut words = after.iter().filter(|word| !word.starts_with('-'));
    let is_plain = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let leads_below = |path: &Path| {
        let components = || path.components();
        components().any(|part| matches!(part, Component::Normal(_)))
            && !components().any(|part| part == Component::ParentDir)
    };
    let is_shown = |word: &str| is_plain(word) && leads_below(Path::new(word)) && Path::new(word).is_dir();
    match (words.next(), words.next()) {
        (Some(word), None) if is_shown(word) => {
            line.replace(" DIR", &format!(" {word}")).replace(" PATH", &format!(" {word}"))
        }
        _ => line.to_owned(),
    }
}

/// A study without `bench run` before it.
fn study(word: &str) -> Option<String> {
    let name = word.strip_suffix(".toml").unwrap_or(word);
    let is_study = name != word || BUILT_IN.iter().any(|study| study.name == word);
    let shown = quoted(Path::new(word));
    is_study.then(|| format!("{shown} is a study; write 'megadir bench run {word}'"))
}

fn studies() -> String {
    let names: Vec<&str> = BUILT_IN.iter().map(|study| study.name).collect();
    format!(
        "bench run needs a study: {}, or all; 'megadir bench list' says what each answers",
        names.join(", ")
    )
}

/// `true` if the parser misses an argument that begins so.
fn lacks(error: &Error, option: &str) -> bool {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing.iter().any(|missing| missing.starts_with(option)),
        Some(ContextValue::String(missing)) => missing.starts_with(option),
        _ => false,
    }
}

fn scan(after: &[&str], error: &Error) -> Option<String> {
    if after.iter().any(|word| word.starts_with("--split")) && lacks(error, "--") {
        return Some(
            "scan --split needs the directory of the lists: --lists NEW, where NEW does not exist".to_owned(),
        );
    }
    if !lacks(error, "--output") {
        return None;
    }
    let directory = directory_of(after);
    let name = Path::new(directory).file_name().and_then(|name| name.to_str()).unwrap_or("inventory");
    Some(format!(
        "scan needs a file for the inventory: 'megadir scan {directory} --output {name}.parquet'; --csv and --jsonl print it"
    ))
}

/// Options of other programs that the table has come first, then habits from rm(1), ls(1) and find(1). The first that
/// applies is the line, because a message has one hint.
fn option(program: &Command, command: &str, after: &[&str]) -> Option<String> {
    let of = program.find_subcommand(command)?;
    if let Some(line) = of_other_programs(command, after) {
        return Some(line);
    }
    if command == "remove" && after.iter().any(|word| is_force(word)) {
        return Some(
            "remove takes no -r or -f: it removes directories with all they hold; --yes skips the question"
                .to_owned(),
        );
    }
    if let Some(key) = hyphenated_key(of, after) {
        return Some(format!(
            "--sort takes a key without a hyphen: --sort {key}; --reverse reverses the order"
        ));
    }
    if command == "list" && after.iter().any(|word| is_time(word)) {
        return Some(
            "list has no -t; write --sort mtime (newest first) to sort as ls -t, or --type TYPE to select"
                .to_owned(),
        );
    }
    if has_conditions(of)
        && let Some(line) = find::line(of, command, after)
    {
        return Some(line);
    }
    if command == "list"
        && after
            .iter()
            .any(|word| *word == "--parquet" || word.starts_with("-o") || word.starts_with("--output"))
    {
        return Some(
            "list writes no Parquet and no file; write 'megadir scan DIR --output FILE.parquet', or 'megadir list --json DIR > FILE'"
                .to_owned(),
        );
    }
    (command == "list" && sorts_by_time(after)).then(|| {
        "--sort has no such key; write --sort mtime for the time of the last change, as ls -t".to_owned()
    })
}

/// Row of [`OPTIONS`] for a word that the command does not have.
fn of_other_programs(command: &str, after: &[&str]) -> Option<String> {
    let command = match (command, after.first()) {
        ("bench", Some(below)) => format!("bench {below}"),
        _ => command.to_owned(),
    };
    let is_given = |words: &[&str]| {
        let starts = after.iter().map(|word| word.split_once('=').map_or(*word, |(start, _)| start));
        starts.into_iter().any(|start| words.contains(&start))
    };
    let row = OPTIONS.iter().find(|(of, words, _)| *of == command && is_given(words));
    row.map(|(_, _, line)| (*line).to_owned())
}

/// Commands that select entries have this option, and no other command does.
fn has_conditions(of: &Command) -> bool {
    of.get_arguments().any(|argument| argument.get_long() == Some("path-match"))
}

/// `-rf`, `-r`, `-R`, `-f` or the long words of `rm`.
fn is_force(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty());
    letters.is_some_and(|letters| letters.chars().all(|letter| "rRfv".contains(letter)))
        || matches!(word, "--recursive" | "--force")
}

/// Values of `--sort`.
fn sort_keys<'a>(words: &[&'a str]) -> impl Iterator<Item = &'a str> {
    let values = words.windows(2).filter(|pair| pair[0] == "--sort").map(|pair| pair[1]);
    values.chain(words.iter().filter_map(|word| word.strip_prefix("--sort=")))
}

/// `--sort time` and `--sort date`, as other programs have them.
fn sorts_by_time(words: &[&str]) -> bool {
    const TIMES: [&str; 5] = ["time", "date", "modified", "newest", "age"];
    sort_keys(words).any(|key| TIMES.contains(&key))
}

/// Key of the command in `--sort -size`, as other programs sort downwards.
fn hyphenated_key<'a>(of: &Command, words: &[&'a str]) -> Option<&'a str> {
    let known =
        of.get_arguments().find(|argument| argument.get_long() == Some("sort"))?.get_possible_values();
    let is_known = |key: &&str| known.iter().any(|value| value.matches(key, false));
    sort_keys(words).filter_map(|key| key.strip_prefix('-')).find(is_known)
}

/// `-t` among the letters of `ls`, such as `-lt`.
fn is_time(word: &str) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    letters.contains('t') && letters.chars().all(|letter| "ltrhaARS1".contains(letter))
}
