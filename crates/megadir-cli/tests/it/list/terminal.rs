//! On a terminal, control characters are escaped; JSON and `-0` are unchanged.

use megadir_testkit::require;

use crate::support::{fill, have, path, scratch, shell};

/// Runs a line with a terminal as standard output; the terminal turns `\n` into `\r\n`.
#[track_caller]
fn on_terminal(directory: &std::path::Path, line: &str) -> String {
    let ran = shell(directory, &format!("script -qec \"{line}\" /dev/null < /dev/null"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    String::from_utf8(ran.out).unwrap().replace("\r\n", "\n")
}

#[test]
fn a_name_cannot_act_on_the_terminal() {
    require!(have("script"));
    let scratch = scratch();
    for (name, shown) in [
        (&b"\x1b[2Jred"[..], "\\x1b[2Jred"),
        (b"new\nline", "new\\nline"),
        (b"tab\tcr\rbell\x07del\x7f", "tab\\tcr\\rbell\\x07del\\x7f"),
        (b"csi\xc2\x9bx", "csi\\xc2\\x9bx"),
        ("x\u{202e}gpj.exe".as_bytes(), "x\\xe2\\x80\\xaegpj.exe"),
        (b"bad\xff\xc3", "bad\\xff\\xc3"),
        (b"back\\slash", "back\\\\slash"),
        ("grün 日本".as_bytes(), "grün 日本"),
        ("a\u{200b}b\u{feff}".as_bytes(), "a\\xe2\\x80\\x8bb\\xef\\xbb\\xbf"),
        ("a\u{200d}\u{ad}".as_bytes(), "a\\xe2\\x80\\x8d\\xc2\\xad"),
        ("t\u{e0041}".as_bytes(), "t\\xf3\\xa0\\x81\\x81"),
    ] {
        let expected = [name, b"\0"].concat();
        let directory = scratch.path().join("d");
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join(path(name)), "").unwrap();
        assert_eq!(on_terminal(&directory, "$M list"), format!("{shown}\n"));
        assert_eq!(on_terminal(&directory, "$M list --sort name"), format!("{shown}\n"));
        assert_eq!(on_terminal(&directory, "$M list -r"), format!("./{shown}\n"));
        assert!(on_terminal(&directory, "$M list --raw").ends_with(&format!("  {shown}\n")));
        let json = on_terminal(&directory, "$M list --json");
        assert!(!json.trim_end().contains(megadir::names::acts_on_terminals), "{json:?}");
        serde_json::from_str::<serde_json::Value>(&json).unwrap();
        // NUL-terminated output has the names as raw bytes too.
        let sent = shell(&directory, "script -qec '$M list -0' /dev/null < /dev/null").out;
        let name: Vec<u8> =
            sent.iter().copied().filter(|byte| *byte != b'\r' || name.contains(&b'\r')).collect();
        assert_eq!(name, expected);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

#[test]
fn a_path_cannot_act_on_the_terminal_either() {
    require!(have("script"));
    let scratch = scratch();
    fill(scratch.path(), &["esc\x1b[31m/", "esc\x1b[31m/f", "b/"]);
    let shown = on_terminal(scratch.path(), "$M list --count esc* b");
    assert_eq!(shown, "1\tesc\\x1b[31m\n0\tb\n");
    assert_eq!(on_terminal(scratch.path(), "$M list esc* b"), "esc\\x1b[31m/f\n");
    assert_eq!(
        on_terminal(scratch.path(), "$M list --explain esc* 2>&1 >/dev/null").matches("\\x1b[31m").count(),
        1
    );
}

#[test]
fn two_paths_never_look_alike() {
    require!(have("script"));
    let scratch = scratch();
    fill(scratch.path(), &["w/", "w/d/", "w/d/f", "w/d\u{200b}/", "w/d\u{200b}/f"]);
    let hidden = "d\\xe2\\x80\\x8b";
    for command in [
        "usage w",
        "list -l w",
        "remove --dry-run --list w",
        "scan --csv --output w.csv w; $M list --sort name -r w",
        "list --count w/d w/d*",
        "limits w/d\u{200b}",
        "backends w/d\u{200b}",
        "bench run listing --dry-run --dir w/d\u{200b}",
    ] {
        let shown = on_terminal(scratch.path(), &format!("$M {command} 2>&1"));
        assert!(shown.contains(hidden) && !shown.contains('\u{200b}'), "{command}: {shown}");
    }
}

#[test]
fn listed_names_precede_errors() {
    require!(have("script"));
    let scratch = scratch();
    fill(scratch.path(), &["a/", "a/1", "b/", "b/2"]);
    let shown = on_terminal(scratch.path(), "$M list a missing b; true");
    assert_eq!(shown, "a/1\nmegadir: open 'missing': No such file or directory\nb/2\n");
}
