//! Syntax of Windows paths.

use super::Parts;
use crate::remove::target::Refusal;

fn is_separator(byte: u8) -> bool {
    matches!(byte, b'\\' | b'/')
}

pub(in crate::remove::target) fn parts(path: &[u8]) -> Result<Parts, Refusal> {
    if path.is_empty() {
        return Err(Refusal::Empty);
    }
    if path.contains(&0) {
        return Err(Refusal::Nul);
    }
    let Some(last) = path.iter().rposition(|byte| !is_separator(*byte)) else { return Err(Refusal::Root) };
    let trimmed = &path[..=last];
    let root = root_bytes(trimmed);
    if trimmed.len() <= root {
        return Err(Refusal::Root);
    }
    let start =
        trimmed[root..].iter().rposition(|byte| is_separator(*byte)).map_or(root, |place| root + place + 1);
    let (parent, name) = trimmed.split_at(start);
    match name {
        b"" => return Err(Refusal::Root),
        b"." => return Err(Refusal::Dot),
        b".." => return Err(Refusal::DotDot),
        _ if name.contains(&b':') => return Err(Refusal::Stays("a colon names a stream of a file")),
        _ => {}
    }
    // `C:` alone is the current directory of that drive, as is `C:.`, which can be opened.
    let dot: &[u8] = if start == 2 && trimmed[1] == b':' { b"." } else { b"" };
    Ok(Parts {
        parent: [parent, dot].concat(),
        name: name.to_vec(),
        is_directory: trimmed.len() < path.len(),
    })
}

/// Bytes of `C:`, `C:\`, `\`, `\\server\share\`, `\\?\C:\`, `\\?\UNC\server\share\`, `\\?\Volume{...}\`,
/// `\\?\GLOBALROOT\Device\HarddiskVolume1\`; the whole path if the root is incomplete.
fn root_bytes(path: &[u8]) -> usize {
    let is_drive = |path: &[u8]| matches!(path, [letter, b':', ..] if letter.is_ascii_alphabetic());
    if let [first, second, rest @ ..] = path
        && is_separator(*first)
        && is_separator(*second)
    {
        let mut names = rest.split(|byte| is_separator(*byte));
        let names_of_root = match (names.next(), names.next()) {
            (Some(b"?" | b"."), Some(name)) if name.eq_ignore_ascii_case(b"UNC") => 4,
            (Some(b"?" | b"."), Some(name)) if name.eq_ignore_ascii_case(b"GLOBALROOT") => 4,
            _ => 2,
        };
        let ends = rest.iter().enumerate().filter(|(_, byte)| is_separator(**byte));
        return ends.take(names_of_root).nth(names_of_root - 1).map_or(path.len(), |(at, _)| at + 3);
    }
    match path {
        [_, _, third, ..] if is_drive(path) && is_separator(*third) => 3,
        _ if is_drive(path) => 2,
        [first, ..] if is_separator(*first) => 1,
        _ => 0,
    }
}

/// Start (root, `.`, leading `..`) and names below it, normalized as by Windows: `a\..\b` is `b`.
pub(super) fn steps(path: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let root = root_bytes(path);
    let mut begins = if root == 0 { b".".to_vec() } else { path[..root].to_vec() };
    let mut names: Vec<Vec<u8>> = Vec::new();
    for name in path[root..].split(|byte| is_separator(*byte)) {
        match name {
            b"" | b"." => {}
            b".." => {
                if names.pop().is_none() {
                    begins.extend_from_slice(b"\\..");
                }
            }
            name => names.push(name.to_vec()),
        }
    }
    (begins, names)
}

#[cfg(test)]
mod tests {
    use super::{Refusal, parts, steps};

    #[test]
    fn paths_are_split_as_windows_does() {
        for (path, parent, name, slash) in [
            ("a", "", "a", false),
            (r"a\", "", "a", true),
            ("a//", "", "a", true),
            (r"C:\a", r"C:\", "a", false),
            ("c:/a/b/", "c:/a/", "b", true),
            ("C:a", "C:.", "a", false),
            (r"C:a\b", r"C:a\", "b", false),
            (r"\a", r"\", "a", false),
            (r"x\..\a", r"x\..\", "a", false),
            (r"\\server\share\a", r"\\server\share\", "a", false),
            (r"//server/share/a\b", "//server/share/a\\", "b", false),
            (r"\\?\C:\a", r"\\?\C:\", "a", false),
            (r"\\?\UNC\server\share\a", r"\\?\UNC\server\share\", "a", false),
            (r"\\?\Volume{0123}\a", r"\\?\Volume{0123}\", "a", false),
            ("...", "", "...", false),
            ("-rf", "", "-rf", false),
            ("é ", "", "é ", false),
        ] {
            let parts = parts(path.as_bytes()).unwrap_or_else(|refusal| panic!("{path}: {refusal}"));
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            let found = (text(parts.parent), text(parts.name), parts.is_directory);
            assert_eq!(found, (parent.to_owned(), name.to_owned(), slash), "{path}");
        }
    }

    #[test]
    fn names_of_protected_entries_are_refused() {
        let roots = [
            r"\",
            "/",
            r"\\",
            "C:",
            r"C:\",
            "c:/",
            r"\\server",
            r"\\server\share",
            r"\\server\share\",
            r"\\?\C:",
            r"\\?\C:\",
            r"\\.\D:\",
            r"\\?\UNC\server\share",
            r"\\?\unc\server\share\",
            r"\\?\Volume{0123}\",
            r"\\?",
            r"\\?\GLOBALROOT\Device\HarddiskVolume1\",
            r"\\?\GLOBALROOT",
        ];
        for path in roots {
            assert_eq!(parts(path.as_bytes()), Err(Refusal::Root), "{path}");
        }
        for (path, refusal) in [
            ("", Refusal::Empty),
            ("a\0b", Refusal::Nul),
            (".", Refusal::Dot),
            (r"C:\x\.", Refusal::Dot),
            (r".\", Refusal::Dot),
            ("..", Refusal::DotDot),
            (r"x\..\", Refusal::DotDot),
            (r"C:\..", Refusal::DotDot),
            ("C:..", Refusal::DotDot),
        ] {
            assert_eq!(parts(path.as_bytes()), Err(refusal), "{path:?}");
        }
        for path in ["file:stream", "file::$DATA", r"C:\file:stream"] {
            assert!(matches!(parts(path.as_bytes()), Err(Refusal::Stays(_))), "{path}");
        }
    }

    #[test]
    fn a_directory_is_reached_in_steps() {
        for (path, begins, names) in [
            ("", ".", ""),
            (r"a\b\", ".", "a b"),
            (r"C:\a\.\b", r"C:\", "a b"),
            (r"C:.", "C:", ""),
            (r"a\..\b", ".", "b"),
            (r"..\..\a\b\..", r".\..\..", "a"),
            (r"a\..\..\b", r".\..", "b"),
            (r"\\server\share\a", r"\\server\share\", "a"),
        ] {
            let (found, below) = steps(path.as_bytes());
            let below: Vec<_> = below.iter().map(|name| String::from_utf8_lossy(name)).collect();
            assert_eq!(
                (String::from_utf8(found).unwrap().as_str(), below.join(" ").as_str()),
                (begins, names),
                "{path}"
            );
        }
    }
}
