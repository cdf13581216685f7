//! Every dependency has its reason as a comment in `Cargo.toml`.

use super::source::{Finding, Source};

/// On the line or above it; the workspace's own crates need none.
pub(crate) fn find(sources: &[Source]) -> Vec<Finding> {
    let manifests = sources.iter().filter(|source| source.path.ends_with("/Cargo.toml"));
    manifests.flat_map(find_in).collect()
}

fn find_in(source: &Source) -> Vec<Finding> {
    let (mut findings, mut inside, mut open, mut above) = (Vec::new(), false, 0_usize, false);
    for (index, line) in source.text.lines().enumerate() {
        let line = line.trim();
        let comment = comment_at(line);
        let content = line[..comment.unwrap_or(line.len())].trim();
        // Several lines are judged by the first.
        let continued = open > 0;
        open =
            (open + content.matches(['[', '{']).count()).saturating_sub(content.matches([']', '}']).count());
        if continued || content.is_empty() {
            above = !continued && comment.is_some();
            continue;
        }
        let name = if content.starts_with('[') {
            header(content, &mut inside)
        } else {
            inside.then(|| key(content))
        };
        if let Some(name) = name.filter(|name| !name.starts_with("megadir"))
            && comment.is_none()
            && !above
        {
            findings.push(source.finding(
                index + 1,
                format!("`{name}` has no reason: add a comment on this line or the line above"),
            ));
        }
        above = false;
    }
    findings
}

fn header<'a>(content: &'a str, inside: &mut bool) -> Option<&'a str> {
    let table = content.trim_matches(['[', ']']);
    let last = table.rsplit_once('.').map_or(table, |(_, last)| last);
    *inside = last.ends_with("dependencies") && table != "workspace.dependencies";
    let (_, own) = table.rsplit_once("dependencies.")?;
    Some(own.trim_matches('"'))
}

fn key(content: &str) -> &str {
    let end = content.find(['=', '.', ' ']).unwrap_or(content.len());
    content[..end].trim_matches('"')
}

fn comment_at(line: &str) -> Option<usize> {
    let mut quoted = false;
    line.char_indices().find_map(|(at, letter)| {
        quoted ^= letter == '"';
        (letter == '#' && !quoted).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let found = find(&[Source::new("crates/a/Cargo.toml", text)]);
        found.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_dependency_needs_its_reason() {
        assert_eq!(lines("[dependencies]\nlibc.workspace = true\n"), [2]);
        assert_eq!(lines("[dev-dependencies]\nlibc = \"0.2\"\n"), [2]);
        assert_eq!(lines("[target.'cfg(unix)'.dependencies]\nlibc = \"0.2\"\n"), [2]);
        assert_eq!(lines("[dependencies.libc]\nversion = \"0.2\"\n"), [1]);
        assert_eq!(lines("[dependencies]\n# a reason\n\nlibc = \"0.2#\"\n"), [4]);
    }

    #[test]
    fn a_reason_stands_beside_or_above() {
        assert!(lines("[dependencies]\nlibc = \"0.2\" # the kernel's types\n").is_empty());
        assert!(lines("[dependencies]\n# the kernel's types\nlibc.workspace = true\n").is_empty());
        assert!(lines("[dependencies]\n# ranges\nx = { features = [\n  \"a\",\n] }\n").is_empty());
        assert!(lines("[dependencies]\nmegadir-sys.workspace = true\n").is_empty());
        assert!(lines("[package]\nname = \"a\"\n[features]\nall = []\n").is_empty());
        assert!(find(&[Source::new("Cargo.toml", "[workspace.dependencies]\nlibc = \"0.2\"\n")]).is_empty());
    }
}
