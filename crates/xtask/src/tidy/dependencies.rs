//! Dependencies: each has its reason as a comment in `Cargo.toml`, and crates of the workspace use each
//! other by a table only.

use serde_json::Value;

use super::source::{Finding, Source};

/// On the line or above it; the workspace's own crates need none.
pub(crate) fn find(sources: &[Source]) -> Vec<Finding> {
    let manifests = sources.iter().filter(|source| source.path.ends_with("/Cargo.toml"));
    manifests.flat_map(find_in).collect()
}

/// Line by line, because a parser of TOML drops comments. A value of several lines counts as its first one. A
/// comment alone on a line counts for the next line that is not empty.
fn find_in(source: &Source) -> Vec<Finding> {
    let (mut findings, mut inside, mut open, mut above) = (Vec::new(), false, 0_usize, false);
    for (index, line) in source.text.lines().enumerate() {
        let line = line.trim();
        let comment = comment_at(line);
        let content = line[..comment.unwrap_or(line.len())].trim();
        // Several lines are judged by the first.
        let continued = open > 0;
        // Brackets that stay open continue the value on the next lines.
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

/// A table of one dependency has its name in the header.
fn header<'a>(content: &'a str, inside: &mut bool) -> Option<&'a str> {
    let table = content.trim_matches(['[', ']']);
    let last = table.rsplit_once('.').map_or(table, |(_, last)| last);
    *inside = last.ends_with("dependencies") && table != "workspace.dependencies";
    let (_, own) = table.rsplit_once("dependencies.")?;
    Some(own.trim_matches('"'))
}

/// Ends at a dot, too: `name.workspace = true`.
fn key(content: &str) -> &str {
    let end = content.find(['=', '.', ' ']).unwrap_or(content.len());
    content[..end].trim_matches('"')
}

/// A number sign within quotes is no comment.
fn comment_at(line: &str) -> Option<usize> {
    let mut quoted = false;
    line.char_indices().find_map(|(at, letter)| {
        quoted ^= letter == '"';
        (letter == '#' && !quoted).then_some(at)
    })
}

/// Crates that a crate may use; the table is checked against `cargo metadata`.
struct Allowed {
    name: &'static str,
    uses: &'static [&'static str],
}

const fn allowed(name: &'static str, uses: &'static [&'static str]) -> Allowed {
    Allowed { name, uses }
}

static ALLOWED: &[Allowed] = &[
    allowed("megadir-sys", &[]),
    allowed("megadir-stats", &[]),
    allowed("megadir-record", &[]),
    allowed("megadir", &["megadir-sys"]),
    allowed("megadir-inventory", &["megadir"]),
    allowed("megadir-lab", &["megadir-sys", "megadir", "megadir-record"]),
    allowed("megadir-mpi", &["megadir-sys"]),
    allowed("megadir-tasks", &["megadir", "megadir-inventory"]),
    allowed("megadir-pack", &["megadir", "megadir-inventory"]),
    allowed(
        "megadir-bench",
        &[
            "megadir-sys",
            "megadir",
            "megadir-inventory",
            "megadir-lab",
            "megadir-mpi",
            "megadir-pack",
            "megadir-stats",
            "megadir-record",
        ],
    ),
    allowed("megadir-report", &["megadir-stats", "megadir-record"]),
    allowed("megadir-advise", &["megadir", "megadir-record", "megadir-bench", "megadir-report"]),
    allowed(
        "megadir-cli",
        &[
            "megadir",
            "megadir-advise",
            "megadir-inventory",
            "megadir-mpi",
            "megadir-pack",
            "megadir-bench",
            "megadir-report",
            "megadir-record",
            "megadir-tasks",
        ],
    ),
    allowed(TESTKIT, &["megadir", "megadir-lab", "megadir-stats"]),
    allowed("xtask", &[]),
];

const TESTKIT: &str = "megadir-testkit";

/// From the metadata of cargo, which has resolved what a manifest means.
pub(crate) fn find_edges(metadata: &Value) -> Vec<Finding> {
    let packages: Vec<&Value> = metadata["packages"].as_array().into_iter().flatten().collect();
    let ours: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    packages.iter().flat_map(|package| edges_of(package, &ours)).collect()
}

fn edges_of(package: &Value, ours: &[&str]) -> Vec<Finding> {
    let name = package["name"].as_str().unwrap_or_default();
    let finding = |message: String| Finding {
        path: format!("crates/{name}/Cargo.toml"),
        line: 0,
        message,
        fails: true,
    };
    let Some(allowed) = ALLOWED.iter().find(|allowed| allowed.name == name) else {
        return vec![finding(format!("`{name}` is new: say in the table of crate edges what it may use"))];
    };
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let wrong = dependencies.filter_map(|dependency| {
        let used = dependency["name"].as_str().filter(|used| ours.contains(used))?;
        let for_tests = dependency["kind"].as_str() == Some("dev");
        // The test kit is allowed everywhere, but only for tests.
        let fine = allowed.uses.contains(&used) || (used == TESTKIT && for_tests);
        (!fine).then_some((used, for_tests))
    });
    wrong.map(|(used, for_tests)| finding(complaint(name, used, for_tests))).collect()
}

fn complaint(name: &str, used: &str, for_tests: bool) -> String {
    match (used, for_tests) {
        (TESTKIT, _) => format!("`{name}` uses `{TESTKIT}` outside tests: make it a dev-dependency"),
        (_, true) => {
            format!("`{name}` may not use `{used}`, in tests neither: go through a crate between them")
        }
        (_, false) => format!("`{name}` may not use `{used}`: go through a crate between them"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
    fn the_reason_is_on_the_same_line_or_above() {
        assert!(lines("[dependencies]\nlibc = \"0.2\" # the kernel's types\n").is_empty());
        assert!(lines("[dependencies]\n# the kernel's types\nlibc.workspace = true\n").is_empty());
        assert!(lines("[dependencies]\n# ranges\nx = { features = [\n  \"a\",\n] }\n").is_empty());
        assert!(lines("[dependencies]\nmegadir-sys.workspace = true\n").is_empty());
        assert!(lines("[package]\nname = \"a\"\n[features]\nall = []\n").is_empty());
        assert!(find(&[Source::new("Cargo.toml", "[workspace.dependencies]\nlibc = \"0.2\"\n")]).is_empty());
    }

    fn messages(name: &str, used: &str, kind: Option<&str>) -> Vec<String> {
        let metadata = json!({"packages": [
            {"name": name, "dependencies": [{"name": used, "kind": kind}, {"name": "libc", "kind": null}]},
            {"name": used, "dependencies": []},
        ]});
        find_edges(&metadata).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn edges_of_the_table_pass() {
        for allowed in ALLOWED {
            for used in allowed.uses {
                assert!(messages(allowed.name, used, None).is_empty());
                assert!(messages(allowed.name, used, Some("dev")).is_empty());
            }
        }
        assert!(messages("megadir-sys", TESTKIT, Some("dev")).is_empty());
    }

    #[test]
    fn other_edges_fail() {
        assert_eq!(messages("megadir", "megadir-record", None).len(), 1);
        assert_eq!(messages("megadir-cli", "megadir-sys", None).len(), 1);
        assert_eq!(messages("megadir-stats", "megadir", Some("dev")).len(), 1);
        assert_eq!(messages("megadir", TESTKIT, None).len(), 1);
        assert_eq!(messages("megadir", TESTKIT, Some("build")).len(), 1);
        assert!(messages("megadir-new", "libc", None)[0].contains("is new"));
    }
}
