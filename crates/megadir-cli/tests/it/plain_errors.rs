//! Invalid values are refused in plain words, not with a parser's message.

use crate::support::output_of;

/// Words of serde, of the standard library's parsers and of the TOML reader.
const RAW: [&str; 9] = [
    "unknown variant",
    "unknown field",
    "missing field",
    "invalid type",
    "invalid digit",
    "found in string",
    "float literal",
    "target type",
    "expected one of `",
];

#[track_caller]
fn refused(directory: &std::path::Path, arguments: &[&str]) -> String {
    let output = output_of(directory, arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.lines().count() == 1, "{arguments:?}: {text}");
    for raw in RAW {
        assert!(!text.contains(raw), "{arguments:?}: {text}");
    }
    text
}

/// Every option of a subcommand that takes a value, from its help.
fn options(subcommand: &[&str]) -> Vec<String> {
    let output = output_of(".", &[subcommand, &["--help"]].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().map(str::trim_start).filter(|line| line.starts_with('-') && line.contains('<'));
    let names = lines.filter_map(|line| line.split([' ', '=', '[']).find(|word| word.starts_with("--")));
    names.map(str::to_owned).collect()
}

#[test]
fn no_option_fails_with_a_parser_message() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut tried = 0;
    for subcommand in [
        &["list"][..],
        &["make", "d", "-n", "1"],
        &["remove", "d"],
        &["reshard", "d", "--to", "flat"],
        &["layout"],
        &["scan", "."],
        &["changes", "i"],
        &["limits"],
        &["usage"],
        &["advise"],
        &["bench", "run", "listing", "--dry-run"],
        &["bench", "report", "r"],
        &["bench", "compare", "r", "r"],
        &["bench", "filesystems"],
    ] {
        let plain: Vec<&str> = subcommand.iter().copied().filter(|word| *word != "listing").collect();
        let words = plain.iter().position(|word| word.starts_with('-')).unwrap_or(plain.len());
        let is_bench = plain[0] == "bench";
        for option in options(&plain[..words.min(if is_bench { 2 } else { 1 })]) {
            for value in ["", "?", "-1", "99999999999999999999999", "1.5x"] {
                let argument = format!("{option}={value}");
                let output = output_of(directory.path(), &[subcommand, &[argument.as_str()]].concat());
                let text = String::from_utf8_lossy(&output.stderr);
                for raw in RAW {
                    assert!(!text.contains(raw), "{subcommand:?} {argument}: {text}");
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 200, "{tried}");
}

#[test]
fn a_study_file_is_refused_in_plain_words() {
    let directory = tempfile::tempdir().expect("a directory");
    let study = include_str!("../../../megadir-bench/studies/listing.toml");
    for (from, to, words) in [
        ("name = ", "nam = ", "unknown key 'nam': did you mean 'name'?"),
        ("[rules]", "[rules]\nsurprise = 1", "unknown key 'surprise'"),
        ("warm_up_s_max", "warm_up_max", "unknown key 'warm_up_max'"),
        ("confidence = 0.95", "confidence = \"high\"", "expected a number, found the string \"high\""),
        (
            "[size.quick]\nentries = ",
            "[size.quick]\nentries = -",
            "expected a whole number, found the number -",
        ),
    ] {
        let changed = study.replacen(from, to, 1);
        assert!(changed != study, "nothing to change: {from}");
        std::fs::write(directory.path().join("own.toml"), changed).expect("writable");
        let text = refused(directory.path(), &["bench", "run", "./own.toml", "--dry-run"]);
        assert!(text.contains(words) && text.contains("own.toml:"), "{text}");
    }
}

#[test]
fn fewer_epochs_than_have_an_interval_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    for epochs in ["1", "4", "0", "many"] {
        let text = refused(directory.path(), &["bench", "run", "layout", "--dry-run", "--epochs", epochs]);
        assert!(text.contains("expected 5 or more"), "{text}");
    }
}

/// Options that write a file, by the command; `{}` is the file. Their other operands do not exist: a command that began
/// its work before it looked at the file would complain about them.
const WRITERS: &[(&str, &[&str], &[&str])] = &[
    ("--report", &["advise"], &["missing", "--files", "1M", "--report={}"]),
    ("--prometheus", &["usage"], &["missing", "--prometheus={}.prom"]),
    ("--prometheus", &["limits"], &["missing", "--prometheus={}.prom"]),
    ("--prometheus", &["list"], &["missing", "--estimate", "--prometheus={}.prom"]),
    ("--output", &["scan"], &["missing", "--output", "{}"]),
    ("--output", &["scan"], &["missing", "-o", "{}.csv"]),
    ("--jsonl", &["scan"], &["missing", "--jsonl", "--output", "{}"]),
    ("--csv", &["scan"], &["missing", "--csv", "--output", "{}"]),
    (
        "--output",
        &["bench", "run"],
        &["listing", "--quick", "--entries=50", "--rounds=7", "--warm-up=1", "-o", "{}"],
    ),
    ("--output", &["bench", "report"], &["missing", "--output", "{}"]),
    ("--output", &["bench", "report"], &["missing", "-f", "html", "-o", "{}"]),
    ("--output", &["bench", "report"], &["missing", "missing", "--output", "file/{}"]),
];

/// Long options of a command whose help begins with "Write".
fn writers(subcommand: &[&str]) -> Vec<String> {
    let output = output_of(".", &[subcommand, &["--help"]].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut option = String::new();
    let mut found = Vec::new();
    for line in text.lines().take_while(|line| !line.starts_with("Examples")).map(str::trim_start) {
        if line.starts_with('-') {
            let names = line.split([' ', '=', '[', ',']).find(|word| word.starts_with("--"));
            option = names.unwrap_or_default().to_owned();
        } else if line.starts_with("Write ") && !option.is_empty() {
            found.push(std::mem::take(&mut option));
        }
    }
    found
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_work() {
    for subcommand in [
        &["list"][..],
        &["make"],
        &["remove"],
        &["reshard"],
        &["layout"],
        &["scan"],
        &["changes"],
        &["limits"],
        &["usage"],
        &["advise"],
        &["bench", "list"],
        &["bench", "run"],
        &["bench", "report"],
        &["bench", "compare"],
        &["bench", "filesystems"],
        &["bench", "clean"],
    ] {
        for option in writers(subcommand) {
            let is_tried = WRITERS.iter().any(|row| row.0 == option && row.1 == subcommand);
            assert!(is_tried, "{subcommand:?} {option}: WRITERS lacks it");
        }
    }
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("file"), "").expect("writable");
    for (_, subcommand, operands) in WRITERS {
        for path in ["none/x", "file/x"] {
            let operands: Vec<String> = operands.iter().map(|word| word.replace("{}", path)).collect();
            let words: Vec<&str> =
                subcommand.iter().copied().chain(operands.iter().map(String::as_str)).collect();
            let text = refused(directory.path(), &words);
            assert!(text.contains(path), "{words:?}: {text}");
            let left = std::fs::read_dir(directory.path()).expect("readable").count();
            assert_eq!(left, 1, "{words:?} leaves something");
        }
    }
}

#[test]
fn a_layout_that_a_command_cannot_use_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().expect("a directory");
    for arguments in [
        &["reshard", ".", "--to", "per-directory:100"][..],
        &["layout", "--verify", "--layout", "per-directory:100", "."],
    ] {
        let text = refused(directory.path(), arguments);
        assert!(text.contains("only make numbers directories"), "{text}");
    }
    let text = refused(directory.path(), &["layout", "--layout", "git", "."]);
    assert!(text.contains("add --verify"), "{text}");
}
