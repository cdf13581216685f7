//! If the system refuses threads (`ulimit -u`, a container's `pids.max`), commands do the same with the existing ones.

use std::path::Path;
use std::process::{Command, Stdio};

use megadir_testkit::require;

use crate::support::{Ran, by_std, fill, finish, named, scratch, unprivileged};

/// `None`: no limit. Each process has a user of its own, because the system counts the threads of all processes of a user.
fn run_with(threads: Option<u64>, program: &Path, directory: &Path, arguments: &[&str]) -> Ran {
    let user = (1 << 30) + std::process::id();
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={user}"), "--regid=65534", "--clear-groups"]);
    if let Some(threads) = threads {
        command.arg("prlimit").arg(format!("--nproc={threads}"));
    }
    finish(command.arg(program).args(arguments).current_dir(directory).stdin(Stdio::null()))
}

#[test]
fn commands_give_equal_results_with_fewer_threads() {
    let scratch = scratch();
    let at = scratch.path();
    let program = require!(unprivileged(&scratch));
    let tree: Vec<String> = (0..300).map(|file| format!("t/{}/{file}", file % 20)).collect();
    let folders: Vec<String> = (0..20).map(|folder| format!("t/{folder}/")).collect();
    fill(at, &folders.iter().chain(&tree).map(String::as_str).collect::<Vec<_>>());
    let run =
        |threads, line: &str| run_with(threads, &program, at, &line.split_whitespace().collect::<Vec<_>>());
    std::fs::create_dir(at.join("out")).unwrap();
    std::fs::set_permissions(at.join("out"), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    assert_eq!(run(None, "scan --quiet t --output out/t.parquet").code, Some(0));
    std::fs::remove_file(at.join("t/3/3")).unwrap();
    for line in [
        "list -rc t",
        "list -r --sort name t -j4",
        "list -r --fields size,name t/3 -j4",
        "list --sort size --fields size,name t/3 -j4",
        "usage -j1 t",
        "usage -j4 t",
        "scan --quiet --csv -j4 t",
        "changes --quiet out/t.parquet -j4",
        "changes out/t.parquet -j4",
        "layout t",
    ] {
        let free = run(None, line);
        assert!(matches!(free.code, Some(0 | 10)), "{line}: {free:?}");
        for threads in 1..=3 {
            let few = run(Some(threads), line);
            assert_eq!(few.code, free.code, "{line}, {threads} threads: {few:?}");
            let sorted = |ran: &Ran| {
                let mut lines: Vec<_> = ran.out.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
                lines.sort_unstable();
                lines
            };
            assert_eq!(sorted(&few), sorted(&free), "{line}, {threads} threads");
        }
    }
}

#[test]
fn trees_are_removed_and_scanned_in_the_one_thread_that_there_is() {
    let scratch = scratch();
    let at = scratch.path();
    let program = require!(unprivileged(&scratch));
    fill(at, &["w/"]);
    let world = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(at.join("w"), world).unwrap();
    let run_in = |threads, line: &str| {
        run_with(threads, &program, &at.join("w"), &line.split_whitespace().collect::<Vec<_>>())
    };
    let run = |line: &str| run_in(Some(1), line);
    let made = run_with(None, &program, &at.join("w"), &["make", "--files", "500", "t"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let scanned = run("scan t --output t.parquet");
    assert_eq!(scanned.code, Some(0), "{scanned:?}");
    assert_eq!(run("changes --quiet --only added,removed,modified t.parquet").code, Some(0));
    for line in ["remove --dry-run t", "remove --dry-run -j1 t", "remove --dry-run --match *1* t"] {
        let free = run_in(None, line).quiet();
        for threads in 1..=3 {
            assert_eq!(run_in(Some(threads), line).quiet(), free, "{line}, {threads} threads");
        }
    }
    let removed = run("remove --yes t");
    assert!(
        removed.code == Some(0) && removed.err.starts_with("megadir: removed 501 entries"),
        "{removed:?}"
    );
    assert_eq!(by_std(&at.join("w")), named(&["t.parquet"]));
}
