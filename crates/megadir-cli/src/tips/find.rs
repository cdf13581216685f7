//! Words of `find` as options of megadir. Options that follow from a value select exactly the same entries, because the line may be one that
//! removes: `find` counts ages in whole days (`-mtime +30` begins at 31 days) and rounds sizes up (`-size -1M` is empty files only).
//!
//! ```text
//! WORDS:  word of find ─► options (by a function of its value) | the same options always | a note
//! words of the line ─► pieces ─┬─► line      find's words after a command of megadir: all that can be said
//!                              ├─► command   a line of find: only if every word has its counterpart
//!                              └─► misread   -group, which parses as -g roup
//! ```

use std::cmp::Ordering;
use std::path::Path;

use clap::{ArgAction, Command};

use crate::ui::message::quoted;

enum Means {
    /// Options for a value, and their form if there is no value or it has none.
    Options(fn(&str) -> Option<String>, &'static str),
    /// The same options for any value.
    Always(&'static str),
    /// The reason why no option is needed, or the way without one.
    Note(&'static str),
}

use Means::{Always, Note, Options};

const LEFT_OUT: &str = "a directory that matches is left out with everything below it";
const NO_NEGATION: &str = "conditions cannot be negated, except globs by --exclude";
const NO_CONDITION: &str = "no condition does this";
const ALTERNATIVES: &str =
    "only globs are alternatives, if their option is repeated; all other conditions must be met together";
const EACH: &str = "pipe the list, as 'megadir list -r -0 DIR | xargs -0 COMMAND'";
const EACH_CONFIRMED: &str = "pipe the list, as 'megadir list -r -0 DIR | xargs -0 -p COMMAND'";
const NO_LINKS: &str = "symbolic links are never followed";

/// Words without their hyphen, whether a value follows, and the meaning.
const WORDS: &[(&str, bool, Means)] = &[
    ("name", true, Options(|glob| Some(format!("--match {}", shown(glob))), "--match GLOB")),
    ("iname", true, Options(in_both_cases, "--match GLOB, with '[aA]' for a letter in both cases")),
    ("path", true, Always("--path-match GLOB")),
    ("wholename", true, Always("--path-match GLOB")),
    ("ipath", true, Always("--path-match GLOB, with '[aA]' for a letter in both cases")),
    ("iwholename", true, Always("--path-match GLOB, with '[aA]' for a letter in both cases")),
    ("regex", true, Always("--match GLOB or --path-match GLOB")),
    ("iregex", true, Always("--match GLOB or --path-match GLOB")),
    ("type", true, Options(types, "--type TYPE")),
    ("mtime", true, Options(|age| of_days(age, ""), "--older-than 30d or --newer-than 30d")),
    (
        "atime",
        true,
        Options(|age| of_days(age, " --by atime"), "--older-than 30d --by atime, or --newer-than"),
    ),
    (
        "ctime",
        true,
        Options(|age| of_days(age, " --by ctime"), "--older-than 30d --by ctime, or --newer-than"),
    ),
    ("mmin", true, Options(|age| of_minutes(age, ""), "--older-than 30m or --newer-than 30m")),
    (
        "amin",
        true,
        Options(|age| of_minutes(age, " --by atime"), "--older-than 30m --by atime, or --newer-than"),
    ),
    (
        "cmin",
        true,
        Options(|age| of_minutes(age, " --by ctime"), "--older-than 30m --by ctime, or --newer-than"),
    ),
    ("newer", true, Options(|file| newer(file, ""), "--newer-than FILE")),
    ("anewer", true, Options(|file| newer(file, " --by atime"), "--newer-than FILE --by atime")),
    ("cnewer", true, Options(|file| newer(file, " --by ctime"), "--newer-than FILE --by ctime")),
    ("newermt", true, Always("--newer-than DATE, such as 2026-11-01T12:30")),
    ("newerat", true, Always("--newer-than DATE --by atime, such as 2026-11-01T12:30")),
    ("newerct", true, Always("--newer-than DATE --by ctime, such as 2026-11-01T12:30")),
    ("size", true, Options(of_size, "--larger-than SIZE or --smaller-than SIZE")),
    ("empty", false, Always("--smaller-than 1 --type file for empty files")),
    ("user", true, Options(|user| Some(format!("--owner {user}")), "--owner USER")),
    ("uid", true, Options(user_number, "--owner NUMBER")),
    ("maxdepth", true, Options(|levels| Some(format!("--max-depth {levels}")), "--max-depth N")),
    ("mindepth", true, Note("the named directory itself is no entry; no option leaves levels out")),
    ("prune", false, Always("--exclude GLOB")),
    ("ls", false, Always("-l")),
    ("print0", false, Always("-0")),
    ("printf", true, Always("--fields size,mtime,name")),
    ("delete", false, Always("'megadir remove' with the same conditions, first with --dry-run")),
    ("exec", true, Note(EACH)),
    ("execdir", true, Note(EACH)),
    ("ok", true, Note(EACH_CONFIRMED)),
    ("okdir", true, Note(EACH_CONFIRMED)),
    ("quit", false, Always("--limit N with 'megadir list'")),
    ("print", false, Note("every name is printed")),
    ("xdev", false, Note("other file systems are left out unless --cross-mounts is given")),
    ("mount", false, Note("other file systems are left out unless --cross-mounts is given")),
    ("depth", false, Note("entries are removed before their directory")),
    ("daystart", false, Note("ages count from now; a date such as 2026-11-01 begins at midnight")),
    ("follow", false, Note(NO_LINKS)),
    ("L", false, Note(NO_LINKS)),
    ("H", false, Note(NO_LINKS)),
    ("a", false, Note("conditions must all be met")),
    ("and", false, Note("conditions must all be met")),
    ("o", false, Note(ALTERNATIVES)),
    ("or", false, Note(ALTERNATIVES)),
    ("perm", true, Note("no condition does this; 'megadir list --fields mode,name' prints modes")),
    ("group", true, Note("no condition does this; 'megadir list --fields group,name' prints groups")),
    ("gid", true, Note("no condition does this; 'megadir list --fields group,name' prints groups")),
    (
        "links",
        true,
        Note("no condition does this; 'megadir list --fields links,name' prints numbers of links"),
    ),
    ("inum", true, Note("no condition does this; 'megadir list --fields inode,name' prints inodes")),
    ("samefile", true, Note("no condition does this; 'megadir list --fields inode,name' prints inodes")),
    ("used", true, Note("no condition does this; --by use is the later of access and modification")),
    ("regextype", true, Note("globs have one form")),
    ("xtype", true, Note(NO_CONDITION)),
    ("lname", true, Note(NO_CONDITION)),
    ("ilname", true, Note(NO_CONDITION)),
    ("fstype", true, Note(NO_CONDITION)),
    ("nouser", false, Note(NO_CONDITION)),
    ("nogroup", false, Note(NO_CONDITION)),
    ("readable", false, Note(NO_CONDITION)),
    ("writable", false, Note(NO_CONDITION)),
    ("executable", false, Note(NO_CONDITION)),
];

/// The default of `list`, which needs no option.
const FLAT: &str = "--max-depth 1";

/// A word of the command line, and its counterpart.
struct Piece {
    word: String,
    options: Option<String>,
    note: Option<&'static str>,
}

/// Line about the words of `find` after `command`, or `None` if there are none but operators.
pub(super) fn line(of: &Command, command: &str, after: &[&str]) -> Option<String> {
    let pieces = pieces(of, after);
    let is_operator = |piece: &Piece| matches!(&*piece.word, "-o" | "-or" | "-a" | "-and");
    if pieces.iter().all(is_operator) {
        return None;
    }
    let words: Vec<&str> = pieces.iter().map(|piece| &*piece.word).collect();
    let mut options: Vec<&str> = pieces.iter().filter_map(|piece| piece.options.as_deref()).collect();
    // Without --recursive, `list` prints one level.
    let is_flat = command == "list" && options.contains(&FLAT);
    options.retain(|option| !is_flat || *option != FLAT);
    let is_recursive = after.iter().any(|word| matches!(*word, "-r" | "-R" | "--recursive"));
    if command == "list" && !options.is_empty() && !is_flat && !is_recursive {
        options.push("--recursive");
    }
    let mut line = format!("{command} has no {}", words.join(", "));
    match options.is_empty() {
        true if is_flat => line.push_str("; without --recursive, one level is listed"),
        true => {}
        false => line.push_str(&format!("; write {}", options.join(" "))),
    }
    for Piece { word, note, .. } in &pieces {
        if let Some(note) = note {
            let of = if pieces.len() > 1 { format!("; {word}: ") } else { ": ".to_owned() };
            line.push_str(&format!("{of}{note}"));
        }
    }
    Some(line)
}

/// The whole command line in place of one of `find`: `list`, or `remove` for `-delete`. `None` if a word
/// has no option of the same meaning.
pub(super) fn command(program: &Command, after: &[&str]) -> Option<String> {
    let removes = after.contains(&"-delete");
    let command = if removes { "remove" } else { "list" };
    let pieces = pieces(program.find_subcommand(command)?, after);
    let mut options = Vec::new();
    for piece in pieces.iter().filter(|piece| piece.word != "-delete" && piece.word != "-print") {
        // A use of the entries by another line is no option.
        options.push(piece.options.clone().filter(|form| piece.note.is_none() && !form.starts_with('\''))?);
    }
    if options.is_empty() {
        return None;
    }
    if !removes {
        let flat = options.iter().position(|option| option == FLAT);
        match flat {
            Some(at) => _ = options.remove(at),
            None => options.insert(0, "--recursive".to_owned()),
        }
    }
    let directory =
        after.first().filter(|word| !word.starts_with('-')).map_or_else(|| shown("."), |word| shown(word));
    let first = if removes { ", first with --dry-run" } else { "" };
    Some(format!("megadir {command} {} {directory}{first}", options.join(" ")))
}

/// Line about a word of `find` that the parser takes for a short option with its value: `-group staff` is not the glob `roup`.
pub(super) fn misread(of: &Command, command: &str, after: &[&str]) -> Option<String> {
    let takes_value = |letter: char| {
        let mut arguments = of.get_arguments();
        arguments.any(|argument| {
            argument.get_short() == Some(letter)
                && matches!(argument.get_action(), ArgAction::Set | ArgAction::Append)
        })
    };
    let is_misread = |word: &&str| {
        let name = word.strip_prefix('-').filter(|name| name.len() > 2);
        name.is_some_and(|name| known(name).is_some() && name.chars().next().is_some_and(takes_value))
    };
    after.iter().any(is_misread).then(|| line(of, command, after)).flatten()
}

/// Words of find with their values, in order; words that the command has itself are passed over. The words
/// of `-exec` up to its end are skipped.
fn pieces(of: &Command, after: &[&str]) -> Vec<Piece> {
    let is_own = |name: &str| of.get_arguments().any(|argument| argument.get_long() == Some(name));
    let (mut pieces, mut is_negated) = (Vec::new(), false);
    let mut words = after.iter().copied();
    while let Some(word) = words.next() {
        if matches!(word, "!" | "-not") {
            is_negated = true;
            continue;
        }
        let (start, joined) =
            word.split_once('=').map_or((word, None), |(start, value)| (start, Some(value)));
        let name = match start.strip_prefix("--") {
            Some(name) if is_own(name) => None,
            Some(name) => Some(name),
            None => start.strip_prefix('-'),
        };
        let Some((name, takes_value, means)) = name.and_then(known) else { continue };
        let value = match joined {
            None if *takes_value => words.next(),
            joined => joined,
        };
        pieces.push(piece(start, means, value, std::mem::take(&mut is_negated)));
        if matches!(*name, "exec" | "execdir" | "ok" | "okdir") {
            words.by_ref().find(|word| matches!(*word, ";" | "+"));
        }
    }
    pieces
}

fn known(name: &str) -> Option<&'static (&'static str, bool, Means)> {
    WORDS.iter().find(|(word, ..)| *word == name)
}

/// Only a glob can be negated. `--exclude` leaves out more than `! -name`, and the note names the
/// difference.
fn piece(word: &str, means: &Means, value: Option<&str>, is_negated: bool) -> Piece {
    let (options, note) = match means {
        Options(of, form) => (Some(value.and_then(of).unwrap_or_else(|| (*form).to_owned())), None),
        Always(options) => (Some((*options).to_owned()), None),
        Note(note) => (None, Some(*note)),
    };
    if !is_negated {
        return Piece { word: word.to_owned(), options, note };
    }
    let excluded =
        options.and_then(|options| Some(format!("--exclude {}", options.strip_prefix("--match ")?)));
    let note = Some(if excluded.is_some() { LEFT_OUT } else { NO_NEGATION });
    Piece { word: format!("! {word}"), options: excluded, note }
}

fn shown(value: &str) -> String {
    quoted(Path::new(value))
}

/// `None` for a glob with brackets or escapes, in which a letter cannot simply be replaced by two.
fn in_both_cases(glob: &str) -> Option<String> {
    if glob.contains(['[', '\\']) {
        return None;
    }
    let both = |letter: char| match letter.is_ascii_alphabetic() {
        true => format!("[{}{}]", letter.to_ascii_lowercase(), letter.to_ascii_uppercase()),
        false => letter.to_string(),
    };
    Some(format!("--match {}", shown(&glob.chars().map(both).collect::<String>())))
}

/// Letters of other types have no counterpart.
fn types(letters: &str) -> Option<String> {
    let is_type = |letter: &str| matches!(letter, "f" | "d" | "l" | "p" | "s" | "b" | "c");
    letters.split(',').all(is_type).then(|| format!("--type {letters}"))
}

fn user_number(number: &str) -> Option<String> {
    number.parse::<u32>().ok().map(|number| format!("--owner {number}"))
}

/// A name that begins as an age does needs `./`.
fn newer(file: &str, by: &str) -> Option<String> {
    let needs_directory = !file.contains('/') && file.starts_with(|first: char| !first.is_alphabetic());
    let directory = if needs_directory { "./" } else { "" };
    Some(format!("--newer-than {}{by}", shown(&format!("{directory}{file}"))))
}

/// `+30` is more than 30, `-30` less, and `30` equal.
fn compared(value: &str) -> (Ordering, &str) {
    match (value.strip_prefix('+'), value.strip_prefix('-')) {
        (Some(number), _) => (Ordering::Greater, number),
        (_, Some(number)) => (Ordering::Less, number),
        _ => (Ordering::Equal, value),
    }
}

/// `find` takes the whole days of an age.
fn of_days(value: &str, by: &str) -> Option<String> {
    let (order, days) = compared(value);
    let days: u32 = days.parse().ok()?;
    let next = days.checked_add(1)?;
    Some(match order {
        Ordering::Greater => format!("--older-than {next}d{by}"),
        Ordering::Less => format!("--newer-than {days}d{by}"),
        Ordering::Equal => format!("--older-than {days}d --newer-than {next}d{by}"),
    })
}

/// Minutes are not rounded: `+5` is older than five minutes, and `5` between four and five.
fn of_minutes(value: &str, by: &str) -> Option<String> {
    let (order, minutes) = compared(value);
    let minutes: u32 = minutes.parse().ok()?;
    Some(match order {
        Ordering::Greater => format!("--older-than {minutes}m{by}"),
        Ordering::Less => format!("--newer-than {minutes}m{by}"),
        Ordering::Equal => format!("--older-than {}m --newer-than {minutes}m{by}", minutes.checked_sub(1)?),
    })
}

/// `find` takes the units that a size needs: 1 byte is 1 block, 1k and 1M.
fn of_size(value: &str) -> Option<String> {
    let (order, size) = compared(value);
    let digits = size.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit: u64 = match &size[digits.len()..] {
        "" | "b" => 512,
        "c" => 1,
        "w" => 2,
        "k" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    let units: u64 = digits.parse().ok()?;
    let larger = |units: u64| match &size[digits.len()..] {
        unit @ ("k" | "M" | "G") if units > 0 => Some(format!("--larger-than {units}{unit}")),
        _ => Some(format!("--larger-than {}", units.checked_mul(unit)?)),
    };
    let smaller = |units: u64| Some(format!("--smaller-than {}", units.checked_mul(unit)?.checked_add(1)?));
    match (order, units.checked_sub(1)) {
        (Ordering::Greater, _) => larger(units),
        (Ordering::Less, below) => smaller(below?),
        (Ordering::Equal, None) => smaller(0),
        (Ordering::Equal, Some(below)) => Some(format!("{} {}", larger(below)?, smaller(units)?)),
    }
}
