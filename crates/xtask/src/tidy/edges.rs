//! Crates that each crate may use: the table is checked against `cargo metadata`.

use super::source::Finding;
use serde_json::Value;

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
    allowed(
        "megadir-bench",
        &["megadir-sys", "megadir", "megadir-lab", "megadir-mpi", "megadir-stats", "megadir-record"],
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
            "megadir-bench",
            "megadir-report",
            "megadir-record",
            "megadir-tasks",
        ],
    ),
    allowed(TESTKIT, &["megadir", "megadir-lab"]),
    allowed("xtask", &[]),
];

/// For tests only.
const TESTKIT: &str = "megadir-testkit";

pub(crate) fn find(metadata: &Value) -> Vec<Finding> {
    let packages: Vec<&Value> = metadata["packages"].as_array().into_iter().flatten().collect();
    let ours: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    packages.iter().flat_map(|package| find_in(package, &ours)).collect()
}

fn find_in(package: &Value, ours: &[&str]) -> Vec<Finding> {
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
    use super::*;
    use serde_json::json;

    fn messages(name: &str, used: &str, kind: Option<&str>) -> Vec<String> {
        let metadata = json!({"packages": [
            {"name": name, "dependencies": [{"name": used, "kind": kind}, {"name": "libc", "kind": null}]},
            {"name": used, "dependencies": []},
        ]});
        find(&metadata).into_iter().map(|finding| finding.message).collect()
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
