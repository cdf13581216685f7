//! Services of systemd on pages: their command lines are accepted by the program.

use crate::support::{output_of, text};

use super::figures::{read, root};

/// Commands of `ExecStart=` lines with their pages, without the program and without systemd's prefixes.
fn commands() -> Vec<(String, Vec<String>)> {
    let mut commands = Vec::new();
    for entry in std::fs::read_dir(root().join("docs")).expect("readable") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        for line in read(&path).lines().filter_map(|line| line.strip_prefix("ExecStart=")) {
            let words: Vec<String> = line.replace("%%", "%").split_whitespace().map(str::to_owned).collect();
            assert!(words[0].ends_with("/bin/megadir"), "{line}");
            commands.push((path.display().to_string(), words[1..].to_vec()));
        }
    }
    commands
}

#[test]
fn options_of_services_on_pages_are_accepted() {
    let commands = commands();
    assert!(commands.len() >= 5, "{commands:?}");
    for (page, words) in commands {
        let scratch = tempfile::tempdir().expect("a directory");
        // Nothing of this machine is read or removed: each path is one that is missing.
        let words: Vec<String> = words
            .into_iter()
            .map(|word| if word.starts_with('/') { format!("missing{word}") } else { word })
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = output_of(scratch.path(), &words);
        // 2 is for options that are wrong, or exclude each other.
        let code = output.status.code();
        assert!(
            code.is_some_and(|code| code != 0 && code != 2),
            "{page}: {words:?}: {}",
            text(&output.stderr)
        );
    }
}
