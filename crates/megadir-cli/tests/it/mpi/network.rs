//! Ranks on two clients of real network file systems; in the long tier only (`MEGADIR_FULL=1`).

use std::fs;
use std::path::{Path, PathBuf};

use megadir_testkit::network::NetworkMount;
use megadir_testkit::require;
use megadir_testkit::require::full;

use super::jobs::{alone, tree};
use super::{MPICH, record};
use crate::support::{Ran, have, scratch};

/// Ranks 2 and 3 see another client's mount at the same path.
fn two_clients(mount: &Path, other: &Path) -> String {
    format!(
        r#"case $PMI_RANK in 2|3) exec unshare -m --uts sh -c 'hostname second-host && mount --bind {} {} && cd {}/here && exec "$@"' - "$@";;
        *) exec "$@";; esac"#,
        other.display(),
        mount.display(),
        mount.display()
    )
}

fn works_from_two_clients(mut mount: NetworkMount) {
    let other = mount.mount_again().unwrap();
    let at = mount.path().join("here");
    fs::create_dir(&at).unwrap();
    tree(&at);
    let script = two_clients(&mount.path(), &other);
    let run = |words: &str| MPICH.run(&at, &script, words);
    let done = |ran: &Ran| assert_eq!(ran.code, Some(0), "{ran:?}");

    let local = scratch();
    let path = local.path().join("r.jsonl");
    let study = format!(
        "bench run smallfile --engine mpi --dir {} --quick --entries 30 --rounds 2 --sync never --access name -q -o {}",
        at.display(),
        path.display()
    );
    done(&run(&study));
    let record = record(&path);
    let ranks = record.header.ranks.as_ref().unwrap();
    assert_eq!((ranks.host_count(), ranks.shift), (2, 2), "{ranks:?}");
    assert!(record.end.as_ref().unwrap().complete && megadir_record::contradictions(&record).is_empty());
    let unequal = record.notes.iter().find(|note| note.kind == "unequal-work");
    assert!(unequal.is_none(), "{unequal:?}");

    let whole = alone(&at, "scan tree --csv -q");
    done(&run("scan tree --engine mpi -q -o parts"));
    let without_times = |csv: &str| -> Vec<String> {
        let fields = |line: &str| line.split(',').take(3).collect::<Vec<_>>().join(",");
        csv.lines().map(fields).collect()
    };
    let merged = alone(&at, "scan --merge parts --csv -q");
    assert_eq!(without_times(&merged), without_times(&whole));
    // This client has cached the server's attributes.
    alone(&at, "usage tree --csv");
    fs::write(other.join("here/tree/3/299"), "written by the other client").unwrap();
    done(&run("scan tree --engine mpi --fresh -q -o fresh"));
    let fresh = alone(&at, "scan --merge fresh --csv -q");
    let written = fresh.lines().find(|line| line.contains("tree/3/299,")).unwrap();
    assert!(written.split(',').any(|field| field == "27"), "{written}");
    alone(&at, "scan tree -q -o inventory");
    fs::write(at.join("tree/new"), "new").unwrap();
    fs::remove_dir_all(at.join("tree/2")).unwrap();
    let changed = alone(&at, "changes inventory tree --json --only added,removed");
    let ran = run("changes inventory tree --json --only added,removed --engine mpi");
    done(&ran);
    assert_eq!(String::from_utf8(ran.out).unwrap(), changed);
    done(&run("remove tree --engine mpi --yes -q"));
    let left: Vec<PathBuf> = fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path()).collect();
    let names: std::collections::BTreeSet<_> = left.iter().filter_map(|path| path.file_name()).collect();
    assert_eq!(names, ["fresh", "inventory", "parts", "witness"].map(std::ffi::OsStr::new).into());
}

#[test]
fn on_moosefs() {
    if full() {
        require!(have("mpirun.mpich"));
        works_from_two_clients(require!(NetworkMount::moosefs_without_caches()));
    }
}

#[test]
fn on_glusterfs() {
    if full() {
        require!(have("mpirun.mpich"));
        works_from_two_clients(require!(NetworkMount::glusterfs_without_caches()));
    }
}
