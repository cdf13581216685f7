//! Ranks that Slurm started; in the long tier only (`MEGADIR_FULL=1`).

use std::fs;

use megadir_testkit::require;
use megadir_testkit::require::full;
use megadir_testkit::slurm::Slurm;

use super::jobs::{alone, tree};
use super::record;
use crate::support::{Ran, finish, have, program, scratch};

#[test]
fn ranks_of_slurm_match_ranks_of_a_launcher() {
    if !full() {
        return;
    }
    require!(have("mpirun.openmpi").and_then(|()| have("mpirun.mpich")));
    let slurm = require!(Slurm::start());
    let scratch = scratch();
    let at = scratch.path();
    tree(at);
    fs::create_dir(at.join("shared")).unwrap();
    let run = |mpi: &str, words: &str| -> Ran {
        let mut command = slurm.command("srun");
        command.args(["-n", "4", "--overcommit", &format!("--mpi={mpi}")]).arg(program());
        finish(command.args(words.split(' ')).current_dir(at))
    };
    alone(at, "scan tree --csv -q");
    let whole = alone(at, "scan tree --csv -q");
    for (mpi, library) in [("pmi2", "MPICH"), ("pmix", "Open MPI")] {
        let ran = run(mpi, &format!("scan tree --engine mpi -q -o parts.{mpi}"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(alone(at, &format!("scan --merge parts.{mpi} --csv -q")), whole, "{mpi}");
        let study = "bench run smallfile --engine mpi --dir shared --quick --entries 30 --rounds 2 --sync never --access name";
        let ran = run(mpi, &format!("{study} -q -o {mpi}.jsonl"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let record = record(&at.join(format!("{mpi}.jsonl")));
        let ranks = record.header.ranks.as_ref().unwrap();
        assert!(ranks.hosts.len() == 4 && ranks.library.contains(library), "{ranks:?}");
        assert_eq!(fs::read_dir(at.join("shared")).unwrap().count(), 0);
    }
    // Copies that see no MPI of the launcher, and copies of a command that writes.
    let ran = run("none", "scan tree --engine mpi -q -o alone");
    assert!(ran.code != Some(0) && !at.join("alone").exists(), "{ran:?}");
    let ran = run("none", "remove tree --yes");
    assert!(ran.code == Some(2) && ran.err.contains("4 copies") && at.join("tree").exists(), "{ran:?}");
}
