//! Ranks on two hosts that speak over a network; in the long tier only (`MEGADIR_FULL=1`).

use std::fs;
use std::process::Command;

use megadir_testkit::namespace::{HOSTS, TwoHosts};
use megadir_testkit::require;
use megadir_testkit::require::full;

use super::jobs::{alone, tree};
use super::record;
use crate::support::{finish, have, program, scratch};

fn works_on_two_hosts(mut launcher: impl FnMut(&TwoHosts) -> Command) {
    let hosts = require!(TwoHosts::make());
    let scratch = scratch();
    let at = scratch.path();
    tree(at);
    fs::create_dir(at.join("shared")).unwrap();
    let mut run = |words: &str| {
        let mut command = launcher(&hosts);
        command.args(["-np", "4"]).arg(program()).args(words.split(' ')).current_dir(at);
        let ran = finish(&mut command);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    };
    let study = format!("bench run smallfile --engine mpi --dir {} --quick", at.join("shared").display());
    run(&format!("{study} --entries 30 --rounds 2 --sync never --access name -q -o r.jsonl"));
    let record = record(&at.join("r.jsonl"));
    let ranks = record.header.ranks.as_ref().unwrap();
    assert_eq!((ranks.hosts.join(" "), ranks.shift), ("host-a host-a host-b host-b".to_owned(), 2));
    alone(at, "scan tree --csv -q");
    let whole = alone(at, "scan tree --csv -q");
    run("scan tree --engine mpi -q -o parts");
    assert_eq!(alone(at, "scan --merge parts --csv -q"), whole);
    run("remove tree --engine mpi --yes -q");
    assert!(!at.join("tree").exists() && fs::read_dir(at.join("shared")).unwrap().count() == 0);
}

#[test]
fn with_mpich() {
    if full() {
        require!(have("mpirun.mpich"));
        works_on_two_hosts(|hosts| {
            let mut command = hosts.command("mpirun.mpich");
            command.args(["-launcher", "ssh", "-launcher-exec"]).arg(hosts.shell());
            command.args(["-hosts", &HOSTS.map(|host| format!("{host}:2")).join(",")]);
            command
        });
    }
}

#[test]
fn with_open_mpi() {
    if full() {
        require!(have("mpirun.openmpi"));
        works_on_two_hosts(|hosts| {
            let mut command = hosts.command("mpirun.openmpi");
            command.args(["--allow-run-as-root", "--bind-to", "none", "--mca", "plm", "rsh"]);
            command.args(["--mca", "plm_rsh_agent"]).arg(hosts.shell());
            for option in ["btl_tcp_if_include", "oob_tcp_if_include"] {
                command.args(["--mca", option, "10.99.1.0/24"]);
            }
            let slots = HOSTS.map(|host| format!("{host}:2")).join(",");
            command.args(["--mca", "btl", "tcp,self", "-host", &slots]);
            command
        });
    }
}
