//! Lines to type instead of a word of another program, such as `du` or `-name`, or in place of what is missing. A line that parses gets no tip.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use megadir_bench::study::BUILT_IN;

use crate::ui::message::quoted;

/// Words that people type for a command, and what does the same here.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["ls", "dir", "fd"], "'megadir list DIR', with attributes 'megadir list -l DIR'"),
    (&["find", "search", "locate"], "'megadir list --recursive --match GLOB DIR'"),
    (&["count", "wc"], "'megadir list --count DIR', and of a tree 'megadir usage DIR'"),
    (&["stat"], "'megadir list -l DIR', or --fields size,mtime,name"),
    (&["du", "tree", "top", "ncdu", "dust", "dua", "gdu", "space"], "'megadir usage DIR'"),
    (&["df", "inodes", "limit", "full"], "'megadir limits DIR'"),
    (
        &["diff", "compare", "status", "changed"],
        "'megadir scan DIR --output FILE.parquet' now, and 'megadir changes FILE.parquet' later; for records of benchmarks 'megadir bench compare'",
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

/// Words of `find`, without their hyphens.
const FIND: &[(&str, &str)] = &[
    ("name", "--match GLOB"),
    ("iname", "--match GLOB, with '[aA]' for a letter in both cases"),
    ("path", "--path-match GLOB"),
    ("wholename", "--path-match GLOB"),
    ("ipath", "--path-match GLOB, with '[aA]' for a letter in both cases"),
    ("regex", "--match GLOB or --path-match GLOB"),
    ("type", "--type TYPE"),
    ("mtime", "--older-than 30d or --newer-than 30d"),
    ("mmin", "--older-than 30m or --newer-than 30m"),
    ("atime", "--older-than 30d --by atime, or --newer-than"),
    ("amin", "--older-than 30m --by atime, or --newer-than"),
    ("ctime", "--older-than 30d --by ctime, or --newer-than"),
    ("cmin", "--older-than 30m --by ctime, or --newer-than"),
    ("newer", "--newer-than FILE"),
    ("newermt", "--newer-than DATE, such as 2026-11-01T12:30"),
    ("size", "--larger-than SIZE or --smaller-than SIZE"),
    ("empty", "--smaller-than 1 --type file for empty files"),
    ("user", "--owner USER"),
    ("uid", "--owner NUMBER"),
    ("maxdepth", "--max-depth N"),
    ("prune", "--exclude GLOB"),
    ("xdev", "nothing: other file systems are left out unless --cross-mounts is given"),
    ("mount", "nothing: other file systems are left out unless --cross-mounts is given"),
    ("print", "nothing: every name is printed"),
    ("print0", "-0"),
    ("printf", "--fields size,mtime,name"),
    ("ls", "-l"),
    ("delete", "'megadir remove' with the same conditions, first with --dry-run"),
    ("exec", "'megadir list -0 ... | xargs -0 COMMAND'"),
    ("execdir", "'megadir list -0 ... | xargs -0 COMMAND'"),
    ("ok", "'megadir list -0 ... | xargs -0 -p COMMAND'"),
];

/// Line for an error of the parser, or `None` if its own line is as good.
pub(crate) fn line(program: &Command, words: &[OsString], error: &Error) -> Option<String> {
    let words: Vec<&str> = words.iter().skip(1).map_while(|word| word.to_str()).collect();
    let words = words.split(|word| *word == "--").next().unwrap_or_default();
    let place = words.iter().position(|word| !word.starts_with('-'))?;
    let (command, after) = (words[place], &words[place + 1..]);
    if program.find_subcommand(command).is_none() {
        return unknown(command, error);
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
        _ => option(program, command, after),
    }
}

/// Message of `changes` without an inventory.
pub(crate) const NO_INVENTORY: &str = "changes needs an inventory: write one with 'megadir scan DIR --output FILE.parquet', and later \
     compare with 'megadir changes FILE.parquet'";

fn unknown(word: &str, error: &Error) -> Option<String> {
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
        Some((_, instead)) => Some(format!("there is no command {shown}; write {instead}")),
        None if word.contains(std::path::is_separator) || Path::new(word).exists() => Some(format!(
            "{shown} is no command; 'megadir list {word}' prints its entries, and 'megadir usage {word}' what takes the space"
        )),
        None => None,
    }
}

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
    let directory = after.iter().find(|word| !word.starts_with('-')).copied().unwrap_or("DIR");
    let name = Path::new(directory).file_name().and_then(|name| name.to_str()).unwrap_or("inventory");
    Some(format!(
        "scan needs a file for the inventory: 'megadir scan {directory} --output {name}.parquet'; --csv and --jsonl print it"
    ))
}

fn option(program: &Command, command: &str, after: &[&str]) -> Option<String> {
    let of = program.find_subcommand(command)?;
    if command == "remove" && after.iter().any(|word| is_force(word)) {
        return Some(
            "remove takes no -r or -f: it removes directories with all they hold; --yes skips the question"
                .to_owned(),
        );
    }
    if command == "list" && after.iter().any(|word| is_time(word)) {
        return Some(
            "list has no -t; write --sort mtime (newest first) to sort as ls -t, or --type TYPE to select"
                .to_owned(),
        );
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
    if command == "list" && sorts_by_time(after) {
        return Some(
            "--sort has no such key; write --sort mtime for the time of the last change, as ls -t".to_owned(),
        );
    }
    let has_conditions = of.get_arguments().any(|argument| argument.get_long() == Some("path-match"));
    if !has_conditions {
        return None;
    }
    let is_own = |name: &str| of.get_arguments().any(|argument| argument.get_long() == Some(name));
    let mut places = after.iter().enumerate();
    places.find_map(|(place, word)| {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (*word, after.get(place + 1).copied()),
        };
        let (hyphens, name) = match name.strip_prefix("--") {
            Some(name) => ("--", name),
            None => ("-", name.strip_prefix('-')?),
        };
        if hyphens == "--" && is_own(name) {
            return None;
        }
        let (_, instead) = FIND.iter().find(|(word, _)| *word == name)?;
        let instead = translated(name, value.unwrap_or_default()).unwrap_or_else(|| (*instead).to_owned());
        Some(format!("{command} has no {hyphens}{name}; write {instead}"))
    })
}

/// `-rf`, `-r`, `-R`, `-f` or the long words of `rm`.
fn is_force(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty());
    letters.is_some_and(|letters| letters.chars().all(|letter| "rRfv".contains(letter)))
        || matches!(word, "--recursive" | "--force")
}

/// `--sort time` and `--sort date`, as other programs have them.
fn sorts_by_time(words: &[&str]) -> bool {
    const TIMES: [&str; 5] = ["time", "date", "modified", "newest", "age"];
    let values = words.windows(2).filter(|pair| pair[0] == "--sort").map(|pair| pair[1]);
    let joined = words.iter().filter_map(|word| word.strip_prefix("--sort="));
    values.chain(joined).any(|key| TIMES.contains(&key))
}

/// `-t` among the letters of `ls`, such as `-lt`.
fn is_time(word: &str) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    letters.contains('t') && letters.chars().all(|letter| "ltrhaARS1".contains(letter))
}

/// The option with the value that was given, if `find` takes it.
fn translated(name: &str, value: &str) -> Option<String> {
    let (than, number) = match value.split_at_checked(1)? {
        ("+", number) => (["--older-than", "--larger-than"], number),
        ("-", number) => (["--newer-than", "--smaller-than"], number),
        _ => match name {
            "name" => return Some(format!("--match {}", quoted(Path::new(value)))),
            "path" | "wholename" => return None,
            "maxdepth" => return Some(format!("--max-depth {value}")),
            "user" => return Some(format!("--owner {value}")),
            _ => return None,
        },
    };
    let digits = number.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let unit = &number[digits.len()..];
    let by = match name.chars().next()? {
        'a' => " --by atime",
        'c' => " --by ctime",
        _ => "",
    };
    match (name, unit) {
        ("mtime" | "atime" | "ctime", "") => Some(format!("{} {digits}d{by}", than[0])),
        ("mmin" | "amin" | "cmin", "") => Some(format!("{} {digits}m{by}", than[0])),
        ("size", "c") => Some(format!("{} {digits}", than[1])),
        ("size", "k" | "M" | "G") => Some(format!("{} {number}", than[1])),
        _ => None,
    }
}
