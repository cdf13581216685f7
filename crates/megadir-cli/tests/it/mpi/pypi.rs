//! MPICH and Open MPI 5 of PyPI; that MPICH's library has the standard binary interface of MPI 5. In the long tier only
//! (`MEGADIR_FULL=1`).

use std::fs;
use std::process::{Command, Stdio};

use megadir_testkit::require;
use megadir_testkit::require::full;

use super::jobs::{alone, tree};
use super::{STUDY, record};
use crate::support::{Ran, finish, have, program, scratch, shell};

struct Package {
    name: &'static str,
    version: &'static str,
    library: &'static str,
    words: &'static [&'static str],
    /// Part of the library's name in records.
    interface: &'static str,
}

fn assert_equal_results(package: &Package) {
    if !full() {
        return;
    }
    require!(have("python3"));
    let scratch = scratch();
    let at = scratch.path();
    let install = format!("python3 -m venv v && v/bin/pip install -q {}=={}", package.name, package.version);
    let installed = shell(at, &install);
    require!((installed.code == Some(0)).then_some(()).ok_or(format!("`{install}` fails: {installed:?}")));
    tree(at);
    fs::create_dir(at.join("shared")).unwrap();
    let run = |words: &str| -> Ran {
        let mut command = Command::new(at.join("v/bin/mpirun"));
        command.args(package.words).args(["-np", "4"]).arg(program()).args(words.split(' ')).current_dir(at);
        command.env("MEGADIR_MPI", at.join("v/lib").join(package.library)).stdin(Stdio::null());
        finish(&mut command)
    };
    let ran = run(&format!("{STUDY} --rounds 2 -q -o r.jsonl"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let record = record(&at.join("r.jsonl"));
    let library = &record.header.ranks.as_ref().unwrap().library;
    assert!(library.contains(package.version) && library.contains(package.interface), "{library}");
    alone(at, "scan tree --csv -q");
    let whole = alone(at, "scan tree --csv -q");
    let ran = run("scan tree --engine mpi -q -o parts");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(alone(at, "scan --merge parts --csv -q"), whole);
}

#[test]
fn ranks_of_the_standard_interface_give_equal_results() {
    assert_equal_results(&Package {
        name: "mpich",
        version: "5.0.2",
        library: "libmpi_abi.so.1",
        words: &[],
        interface: "standard",
    });
}

#[test]
fn ranks_of_open_mpi_5_give_equal_results() {
    assert_equal_results(&Package {
        name: "openmpi",
        version: "5.0.11",
        library: "libmpi.so.40",
        words: &["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"],
        interface: "Open MPI",
    });
}
