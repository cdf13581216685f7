//! Redacts private data from a record: host and user names, devices, serial numbers, and all paths, because
//! directories are named after people and projects; in sentences, also anything that looks like a path.

use crate::data::DataSource;
use crate::jsonl::{Header, Line, Record};
use crate::machine::{FileSystem, Machine, Place};
use crate::plan::{GroupRule, Plan, Work};
use crate::ranks::Ranks;
use crate::sample::Sample;

pub const REDACTED: &str = "...";
const BEGINNINGS: [&str; 8] = ["/", "./", "../", ".../", "~", "\\\\", ".\\", "..\\"];

fn is_path(word: &str) -> bool {
    let drive = word.as_bytes().first_chunk::<3>().is_some_and(|[letter, colon, slash]| {
        letter.is_ascii_alphabetic() && *colon == b':' && [b'\\', b'/'].contains(slash)
    });
    drive || BEGINNINGS.iter().any(|beginning| word.starts_with(beginning))
}

/// `private` holds the names and paths to remove from sentences.
pub fn line(line: &mut Line, private: &[String]) {
    match line {
        Line::Header(of_run) => header(of_run, private),
        Line::Note(note) => note.text = sentence(&note.text, private),
        Line::End(end) => end.reason = end.reason.as_deref().map(|reason| sentence(reason, private)),
        Line::Sample(sample) => cause(sample, private),
        Line::Built(_)
        | Line::Used(_)
        | Line::Epoch(_)
        | Line::SelfCheck(_)
        | Line::Void { .. }
        | Line::Resumed(_) => {}
    }
}

/// As far as the record shows which data is private.
pub fn record(record: &mut Record) {
    let private = private_names(&record.header);
    let labels = number_volumes(&mut record.header.plan);
    header(&mut record.header, &private);
    for note in &mut record.notes {
        // A note on one volume begins with its label.
        let of_volume = labels.iter().find_map(|(old, new)| {
            let rest = note.text.strip_prefix(old.as_str())?.strip_prefix(": ")?;
            Some(format!("{new}: {rest}"))
        });
        note.text = sentence(&of_volume.unwrap_or_else(|| note.text.clone()), &private);
    }
    record.samples.iter_mut().for_each(|sample| cause(sample, &private));
    if let Some(end) = &mut record.end {
        end.reason = end.reason.as_deref().map(|reason| sentence(reason, &private));
    }
}

pub fn private_names(header: &Header) -> Vec<String> {
    let existing = header.plan.data.iter().filter_map(|data| match &data.source {
        DataSource::Existing { path } => Some(path.clone()),
        DataSource::Made(_) => None,
    });
    let of_machine = [&header.machine.host, &header.machine.file_system.device];
    let directory = header.directory.clone();
    let mounted = header.file_systems.iter().filter_map(|mount| mount.file_system.device.clone());
    let devices = header.plan.file_systems.iter().filter_map(|file_system| match &file_system.place {
        Place::Device { path } | Place::Directory { path } => Some(path.clone()),
        Place::Image { .. } | Place::Memory { .. } => None,
    });
    // The device of a file system in memory is an ordinary word.
    let devices = mounted.chain(devices).filter(|device| device.contains('/'));
    let hosts = header.ranks.iter().flat_map(|ranks| ranks.hosts.iter().cloned());
    existing
        .chain(directory)
        .chain(hosts)
        .chain(of_machine.into_iter().flatten().cloned())
        .chain(devices)
        .collect()
}

fn cause(sample: &mut Sample, private: &[String]) {
    if let Some(refused) = &mut sample.refused {
        refused.cause = sentence(&refused.cause, private);
    }
}

pub fn header(header: &mut Header, private: &[String]) {
    header.directory = None;
    header.command = command(&header.command, private);
    machine(&mut header.machine);
    header.ranks.iter_mut().for_each(Ranks::redact);
    for mount in header.ranks.iter_mut().flat_map(|ranks| &mut ranks.mounts) {
        mount.options = mount.options.take().map(|options| harmless_options(&options));
    }
    header.file_systems.iter_mut().for_each(|mount| file_system(&mut mount.file_system));
    plan(&mut header.plan, private);
}

pub fn machine(machine: &mut Machine) {
    machine.host = None;
    file_system(&mut machine.file_system);
}

fn file_system(file_system: &mut FileSystem) {
    file_system.device = None;
    file_system.mount_options = file_system.mount_options.take().map(|options| harmless_options(&options));
}

/// Mount options without directories (overlay), users and servers.
fn harmless_options(options: &str) -> String {
    let harmless = |option: &&str| !option.contains('/') && !option.contains('@') && !is_personal(option);
    options.split(',').filter(harmless).collect::<Vec<_>>().join(",")
}

fn is_personal(option: &str) -> bool {
    let key = option.split('=').next().unwrap_or(option);
    ["addr", "clientaddr", "mountaddr", "username", "user", "domain", "name", "secret", "fsid", "uuid"]
        .contains(&key)
}

/// Numbers the user's volumes, whose labels are parts of paths; returns the old and the new labels.
fn number_volumes(plan: &mut Plan) -> Vec<(String, String)> {
    // Labels of volumes have become parts of names of arms and groups, of titles and of phrases when the plan
    // was made, so each such text is changed where the label stands at its known place. A search for the
    // label anywhere in a text would hit words that only happen to be equal. The same new label replaces it
    // everywhere, so that the record still agrees with itself.
    let mut labels = Vec::new();
    for (number, of) in (1..).zip(plan.file_systems.iter_mut().filter(|of| of.place.is_directory())) {
        let new = format!("volume {number}");
        labels.push((std::mem::replace(&mut of.label, new.clone()), new.clone()));
        of.name = new;
    }
    let renamed = |text: &mut String, before: &str, after: &str| {
        let found = labels.iter().find_map(|(old, new)| {
            let rest = text.strip_suffix(after)?.strip_suffix(old.as_str())?;
            let is_label = if before.is_empty() { rest.is_empty() } else { rest.ends_with(before) };
            is_label.then(|| format!("{rest}{new}{after}"))
        });
        if let Some(found) = found {
            *text = found;
        }
    };
    for arm in &mut plan.arms {
        arm.axes.file_system.iter_mut().for_each(|label| renamed(label, "", ""));
        renamed(&mut arm.name, ", ", "");
        arm.groups.iter_mut().for_each(|group| renamed(group, "-", ""));
    }
    for group in &mut plan.groups {
        renamed(&mut group.name, "-", "");
        renamed(&mut group.title, " (", ")");
        match &mut group.rule {
            GroupRule::Pairs { pairs } => pairs.iter_mut().for_each(|pair| {
                renamed(&mut pair.subject, "", "");
                renamed(&mut pair.than, "", "");
            }),
            GroupRule::Grow { series } => {
                series.iter_mut().for_each(|(name, _)| renamed(name, ", ", ""));
            }
            _ => {}
        }
    }
    labels
}

fn plan(plan: &mut Plan, private: &[String]) {
    // Only texts that a user has written or that a path was put into: the rest comes from built-in studies
    // and is the same for everyone. Values of the environment are left out as a whole, because they may be
    // secrets of any form; their names stay.
    for data in &mut plan.data {
        if let DataSource::Existing { path } = &mut data.source {
            REDACTED.clone_into(path);
        }
    }
    for file_system in &mut plan.file_systems {
        if let Place::Device { path } | Place::Directory { path } = &mut file_system.place {
            REDACTED.clone_into(path);
        }
    }
    for arm in &mut plan.arms {
        if let Work::Command(work) = &mut arm.work {
            for words in [&mut arm.axes.label, &mut arm.axes.method].into_iter().flatten() {
                *words = sentence(words, private);
            }
            arm.name = sentence(&arm.name, private);
            work.line = sentence(&work.line, private);
            work.prepare = work.prepare.as_deref().map(|line| sentence(line, private));
            work.version = work.version.as_deref().map(|line| sentence(line, private));
            work.environment.values_mut().for_each(|value| REDACTED.clone_into(value));
        }
    }
    for group in &mut plan.groups {
        match &mut group.rule {
            GroupRule::Pairs { pairs } => {
                pairs.iter_mut().for_each(|pair| pair.at = sentence(&pair.at, private));
            }
            GroupRule::Grow { series } => {
                series.iter_mut().for_each(|(name, _)| *name = sentence(name, private));
            }
            _ => {}
        }
    }
    plan.unavailable
        .iter_mut()
        .for_each(|unavailable| unavailable.reason = sentence(&unavailable.reason, private));
}

fn command(words: &[String], private: &[String]) -> Vec<String> {
    const TAKE_PATHS: [&str; 6] = ["--dir", "--device", "--output", "-o", "--resume", "--shape-of"];
    // Layouts contain slashes too.
    const LAYOUT: &str = "--layout";
    let (mut left_out, mut layout) = (false, false);
    let word = |word: &String| {
        if std::mem::replace(&mut layout, word == LAYOUT)
            || word.split_once('=').is_some_and(|(key, _)| key == LAYOUT)
        {
            return word.clone();
        }
        let follows = std::mem::replace(&mut left_out, TAKE_PATHS.contains(&word.as_str()));
        let (key, value) = word.split_once('=').unwrap_or(("", word));
        if follows {
            return REDACTED.to_owned();
        }
        if TAKE_PATHS.contains(&key) || (key.starts_with('-') && value.contains(['/', '\\'])) {
            return format!("{key}={REDACTED}");
        }
        // The value of a one-letter option may be joined to it.
        let joined = word.starts_with("-o") && word.len() > 2;
        let path = word.contains(['/', '\\']) || word.starts_with('~') || word.ends_with(".toml");
        if joined || path { REDACTED.to_owned() } else { sentence(word, private) }
    };
    words.iter().map(word).collect()
}

fn sentence(text: &str, private: &[String]) -> String {
    let is_telling = |name: &&String| name.contains(|letter: char| letter != '.' && letter != '/');
    let mut private: Vec<&String> = private.iter().filter(is_telling).collect();
    private.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let known = private.into_iter().fold(text.to_owned(), |text, name| without(&text, name));
    let known = without_quoted_paths(&known);
    let quote =
        |letter: char| letter.is_whitespace() || matches!(letter, '\'' | '"' | '`' | '(' | ')' | ',' | ';');
    let clean = |word: &str| {
        let bare = word.trim_end_matches(quote);
        let path = is_path(bare) && bare.len() > 1;
        if path { format!("{REDACTED}{}", &word[bare.len()..]) } else { word.to_owned() }
    };
    known.split_inclusive(quote).map(clean).collect()
}

fn without_quoted_paths(text: &str) -> String {
    let mut rest = text;
    let mut clean = String::with_capacity(text.len());
    while let Some(open) = rest.find('\'') {
        let (before, quoted) = (&rest[..open], &rest[open + 1..]);
        let opens = before.chars().next_back().is_none_or(|letter| !letter.is_alphanumeric());
        let ends = |place: &usize| {
            let after = quoted[place + 1..].chars().next();
            after.is_none_or(|letter| !letter.is_alphanumeric())
        };
        let close = quoted.match_indices('\'').map(|(place, _)| place).find(ends).filter(|_| opens);
        clean.push_str(before);
        clean.push('\'');
        rest = quoted;
        if let Some(close) = close {
            let content = &quoted[..close];
            clean.push_str(if is_path(content) { REDACTED } else { content });
            clean.push('\'');
            rest = &quoted[close + 1..];
        }
    }
    clean.push_str(rest);
    clean
}

/// Removes a name that stands alone or is part of a path.
fn without(text: &str, name: &str) -> String {
    let mut rest = text;
    let mut clean = String::with_capacity(text.len());
    let inside =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    while let Some(place) = rest.find(name) {
        let (before, after) = (&rest[..place], &rest[place + name.len()..]);
        let within = inside(before.chars().next_back()) || inside(after.chars().next());
        clean.push_str(before);
        clean.push_str(if within { name } else { REDACTED });
        rest = after;
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::{command, harmless_options, sentence};

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn commands_lose_paths_and_keep_the_rest() {
        let private = words("alice-laptop alice");
        let line = "megadir bench run listing --dir work --rounds 5 -o a --output=/people/alice/r --layout prefix:2/2 --buffer 4KiB,1MiB --shape-of x";
        assert_eq!(
            command(&words(line), &private).join(" "),
            "megadir bench run listing --dir ... --rounds 5 -o ... --output=... --layout prefix:2/2 --buffer 4KiB,1MiB --shape-of ..."
        );
        let line = "megadir bench run ./mine.toml --dir=alice -oalice --seed 7";
        assert_eq!(command(&words(line), &private).join(" "), "megadir bench run ... --dir=... ... --seed 7");
    }

    #[test]
    fn mount_options_lose_servers_and_directories() {
        let options = "rw,vers=4.2,addr=192.0.2.1,upperdir=/people/alice,actimeo=0";
        assert_eq!(harmless_options(options), "rw,vers=4.2,actimeo=0");
    }

    #[test]
    fn sentences_lose_paths_and_names() {
        let private = words("/people/alice alice-laptop alice d");
        for (text, clean) in [
            ("cannot use '/people/alice/x y': gone", "cannot use '...': gone"),
            ("bob's '/srv/a b' isn't /srv/c.", "bob's '...' isn't ..."),
            (
                "'d' has not enough inodes: 5/7, and/or space.",
                "'...' has not enough inodes: 5/7, and/or space.",
            ),
            ("alice-laptop was busy, said alice.", "... was busy, said ...."),
            (
                r"cannot open 'C:\people\x y' on \\server\share, ..\z; gone",
                "cannot open '...' on ..., ...; gone",
            ),
            ("5:3 and a:b stay, e:/x goes", "5:3 and a:b stay, ... goes"),
            ("malice stays; ~/x and ../y go", "malice stays; ... and ... go"),
            (
                "a busy loop of 200 ms was interrupted for 3.1 ms (1.5 %), 2 times",
                "a busy loop of 200 ms was interrupted for 3.1 ms (1.5 %), 2 times",
            ),
        ] {
            assert_eq!(sentence(text, &private), clean);
        }
    }
}
