//! Commands in fenced blocks of README.md and docs/*.md: each runs here, or has a reason why not.

use std::path::Path;
use std::process::{Command, Stdio};

use Held::{Elsewhere, Runs, Smaller};

use crate::support::program;

/// Treatment of a command.
enum Held {
    /// Runs unchanged.
    Runs,
    /// Runs with these words replaced: fewer files, fewer rounds, paths of this test.
    Smaller(&'static [(&'static str, &'static str)]),
    /// Does not run here, with the reason.
    Elsewhere(&'static str),
}

const PACKAGE: Held = Elsewhere("builds the program again, for minutes");
const PACKAGES: Held =
    Elsewhere("a file of a release; `cargo xtask ci --full --only package` makes and tries them");
const COMPLETIONS: Held =
    Elsewhere("writes into the home directory; the module generate tries completions in shells");
const WINDOWS: Held = Elsewhere("for Windows, or builds the program for it");
const QUERY: Held = Elsewhere("another program, which reads the file: DuckDB");

const BACKED_UP: Held = Elsewhere("needs an inventory from before; the tests `backup` run it");

const REMOVED: Held = Elsewhere("needs the tree that was packed; the tests `remove::packed` run it");

const ROTTEN: Held = Elsewhere("needs an inventory with hashes from before; the tests `rotten` run it");

const RSYNC: Held = Elsewhere("needs rsync; the tests `compare` run it");

const IN_PARTS: Held = Elsewhere("needs a folder of parts; the tests `parts` run it");

const IN_PARALLEL: Held = Elsewhere("needs the lists and tools; the tests `parallel` run it");

const ALL_STUDIES: Held = Elsewhere("minutes of studies; the test `bench::all` runs one round of each");

const MODELLED: Held = Elsewhere("minutes on a modelled disk; the tests `lab::rotating` run a smaller study");

const RANKS: Held = Elsewhere("needs an MPI launcher; the tests `mpi` run smaller ones");

/// A run of a few seconds.
const QUICK: (&str, &str) =
    ("bench run listing", "bench run listing --quick --entries 50 --rounds 7 --warm-up 1");

/// A page, and the commands of one of its blocks; a script is identified by its beginning.
type Block = (&'static str, &'static [(&'static str, Held)]);

/// The blocks in the order of pages and lines.
const BLOCKS: &[Block] = &[
    (
        "README.md",
        &[
            ("cargo install --locked --path crates/megadir-cli && megadir usage .", PACKAGE),
            ("cargo xtask ci", Elsewhere("runs this test")),
        ],
    ),
    // Another test covers a minute of measurement.
    (
        "README.md",
        &[("megadir advise files --files 10M --churn", Smaller(&[("--churn", "--churn --time 0s")]))],
    ),
    ("README.md", &[("megadir limits spool", Runs)]),
    (
        "README.md",
        &[
            ("megadir scan project --output project.parquet", Runs),
            ("megadir changes project.parquet project --only added,removed,renamed,modified", Runs),
        ],
    ),
    (
        "README.md",
        &[(
            "sudo megadir bench run smallfile --fs ext2,ext3,ext4,xfs,btrfs,tmpfs",
            Elsewhere("needs root, the tools of six file systems and minutes; the smoke stage of CI runs it"),
        )],
    ),
    ("docs/README.md", &[("megadir advise . --files 10M --time 1m", Smaller(&[("1m", "0s")]))]),
    ("docs/README.md", &[("megadir usage spool", Runs), ("megadir limits spool", Runs)]),
    (
        "docs/README.md",
        &[(
            "megadir bench commands 'ls -U {dir}' 'find {dir}'",
            Smaller(&[("commands ", "commands --entries 50 --rounds 7 --warm-up 1 ")]),
        )],
    ),
    (
        "docs/README.md",
        &[("megadir scan project --output project.parquet", Runs), ("megadir changes project.parquet", Runs)],
    ),
    (
        "docs/README.md",
        &[(
            "megadir bench run listing --quick",
            Smaller(&[("--quick", "--quick --entries 50 --rounds 7 --warm-up 1")]),
        )],
    ),
    (
        "docs/backup.md",
        &[
            ("megadir scan --quiet project -o today.parquet", Runs),
            (
                "megadir changes last.parquet today.parquet --only added,modified,renamed,type-changed,suspect --paths -0 | rsync -a -I -r --from0 --files-from=- project/ uploads/",
                BACKED_UP,
            ),
            ("mv today.parquet last.parquet", Runs),
        ],
    ),
    ("docs/backup.md", &[("rsync -r --delete --existing --ignore-existing project/ uploads/", BACKED_UP)]),
    (
        "docs/backup.md",
        &[(
            "megadir changes last.parquet today.parquet --only added,modified,suspect --paths -0 | tar -C project --null --verbatim-files-from --no-recursion -T - -cf changed.tar",
            BACKED_UP,
        )],
    ),
    (
        "docs/backup.md",
        &[
            ("cd project", BACKED_UP),
            (
                "megadir changes ../last.parquet ../today.parquet --only added,modified,suspect --type f,l --paths -0 | restic -r ../repository backup --files-from-raw -",
                BACKED_UP,
            ),
        ],
    ),
    (
        "docs/bench.md",
        &[
            ("sudo megadir bench run listing --fs ext4,xfs --cache fs-cold --disk rotating", MODELLED),
            (
                "sudo megadir bench run removal --fs ext4 --disk rotating:rpm=5400,seek_ms=12,cache=0",
                MODELLED,
            ),
        ],
    ),
    (
        "docs/bench.md",
        &[
            ("sudo megadir bench run all --fs ext4 --share --output mine --dry-run", ALL_STUDIES),
            ("sudo megadir bench run all --fs ext4 --share --output mine", ALL_STUDIES),
        ],
    ),
    ("docs/bench.md", &[("megadir bench compare mine theirs", ALL_STUDIES)]),
    (
        "docs/cache-budget.md",
        &[
            ("megadir remove --dry-run --keep-within 50GB cache", Runs),
            ("megadir remove --yes --keep-within 50GB cache", Runs),
            ("megadir remove --yes --keep-within '100k files' --older-than 1h cache", Runs),
            // The test machine's own file system may be fuller, and its cache smaller than the space that has to be free.
            ("megadir remove --yes --keep-within '10% free' cache", Smaller(&[("10%", "0%")])),
        ],
    ),
    (
        "docs/changes.md",
        &[
            ("megadir scan project --output project.parquet", Runs),
            ("megadir changes project.parquet", Runs),
            ("megadir changes project.parquet --update", Runs),
        ],
    ),
    ("docs/choose-layout.md", &[("megadir advise . --files 10M --time 1m", Smaller(&[("1m", "0s")]))]),
    (
        "docs/choose-layout.md",
        &[
            ("megadir make tree --entries 100k --layout digest:2", Smaller(&[("100k", "2000")])),
            (
                "megadir bench run layout --layout flat,digest:2",
                Smaller(&[("run layout", "run layout --quick --entries 50 --rounds 7")]),
            ),
        ],
    ),
    (
        "docs/commands.md",
        &[(
            "megadir bench commands 'ls -U {dir}' 'find {dir}' 'bfs {dir}'",
            Smaller(&[("commands ", "commands --entries 50 --rounds 7 --warm-up 1 ")]),
        )],
    ),
    (
        "docs/commands.md",
        &[(
            "megadir bench commands 'find {dir} -maxdepth {depth}' 'ls -U {dir}' --parameter depth=1,2 --env LC_ALL=C",
            Smaller(&[("commands ", "commands --entries 50 --rounds 7 --warm-up 1 ")]),
        )],
    ),
    (
        "docs/commands.md",
        &[(
            "megadir bench commands --changes 'rm -rf {dir}' 'find {dir} -delete' --layout per-directory:1000",
            Smaller(&[("commands ", "commands --entries 50 --rounds 7 --warm-up 1 "), ("1000", "10")]),
        )],
    ),
    (
        "docs/commands.md",
        &[("megadir bench run peers", Elsewhere("takes minutes; the tests `peers` run it"))],
    ),
    ("docs/compare.md", &[("rsync -a project/ copy/", RSYNC), ("megadir compare project copy", Runs)]),
    (
        "docs/compare.md",
        &[
            ("megadir scan /data -o original.parquet", Smaller(&[("/data", "project")])),
            ("megadir scan /data -o copy.parquet", Smaller(&[("/data", "copy")])),
            ("megadir compare original.parquet copy.parquet", Runs),
        ],
    ),
    (
        "docs/compare.md",
        &[(
            "megadir compare project copy --only missing,differs --paths -0 | rsync -a --from0 --files-from=- project/ copy/",
            RSYNC,
        )],
    ),
    (
        "docs/conditions.md",
        &[
            ("megadir list -r --match '*.tmp' --older-than 30d --larger-than 1M project", Runs),
            ("megadir scan project -o project.parquet --exclude .git --exclude /target", Runs),
            ("megadir changes project.parquet --path-match 'src/**' --type f", Runs),
            ("megadir remove --dry-run --older-than 90d --by atime --exclude keep cache", Runs),
        ],
    ),
    (
        "docs/file-systems.md",
        &[(
            "sudo megadir bench run smallfile --fs ext4,xfs,btrfs,tmpfs",
            Elsewhere(
                "needs root, the tools of four file systems and minutes; the smoke stage of CI runs it",
            ),
        )],
    ),
    (
        "docs/file-systems.md",
        &[(
            "cargo xtask emulated -- 'megadir bench run smallfile --quick --fs ext4,jfs,reiserfs'",
            Elsewhere("starts an emulated machine, for minutes; the stage `emulated` of CI does"),
        )],
    ),
    (
        "docs/growth.md",
        &[
            ("megadir scan --quiet project -o monday.parquet", Runs),
            ("megadir scan --quiet project -o today.parquet", Runs),
            ("megadir changes monday.parquet today.parquet --gains", Runs),
        ],
    ),
    (
        "docs/growth.md",
        &[(
            "megadir changes monday.parquet --gains=allocated -n 20",
            Elsewhere("needs the inventory of the block before; the tests `inventories` rank gains"),
        )],
    ),
    (
        "docs/install.md",
        &[
            ("cargo install --locked --path crates/megadir-cli", PACKAGE),
            ("megadir generate bash --output ~/.local/share/bash-completion/completions", COMPLETIONS),
        ],
    ),
    (
        "docs/install.md",
        &[
            ("sha256sum --check --ignore-missing SHA256SUMS", PACKAGES),
            ("sudo apt install ./megadir_0.1.0-1_amd64.deb", PACKAGES),
        ],
    ),
    (
        "docs/install.md",
        &[
            ("tar -xf megadir-0.1.0-x86_64-unknown-linux-musl.tar.gz", PACKAGES),
            ("sudo install -D -t /usr/local/bin megadir-0.1.0-x86_64-unknown-linux-musl/megadir", PACKAGES),
        ],
    ),
    (
        "docs/install.md",
        &[
            ("tar -xf megadir-0.1.0-vendored.tar.gz", PACKAGES),
            ("cd megadir-0.1.0-vendored", PACKAGES),
            ("cargo install --offline --locked --path crates/megadir-cli", PACKAGES),
        ],
    ),
    ("docs/inventory.md", &[("SELECT path, size", QUERY)]),
    (
        "docs/inventory.md",
        &[
            ("megadir usage parts", IN_PARTS),
            ("megadir changes parts later.parquet", IN_PARTS),
            ("megadir list -r parts/megadir-parts.json", IN_PARTS),
            ("megadir scan --merge parts --output inventory.parquet", IN_PARTS),
        ],
    ),
    (
        "docs/inventory.md",
        &[("SELECT type, count(DISTINCT (root, parent, name)) FROM 'parts/*.parquet' GROUP BY type;", QUERY)],
    ),
    ("docs/limits.md", &[("megadir limits cache", Runs)]),
    ("docs/limits.md", &[("megadir limits --as ext4:block=4k,large_dir cache", Runs)]),
    (
        "docs/list.md",
        &[
            ("megadir list -r --sample 1000 --match '*.log' project", Runs),
            ("megadir list -r --sample 1000 --seed 7 -0 project | xargs -0 ls -ld", Runs),
        ],
    ),
    (
        "docs/list.md",
        &[(
            "sudo megadir list -r --stat-backend ext4-device --fields size,mtime,name /srv/data",
            Elsewhere("needs root and ext4; the tests `list::stat_backend` run it on a mount of their own"),
        )],
    ),
    ("docs/list.md", &[("megadir list --summary -r --human --top 1 doc", Runs)]),
    (
        "docs/mpi.md",
        &[(
            "mpirun -np 4 megadir scan /shared/tree --engine mpi -o /shared/parts\nmpirun -np 4 megadir usage /shared/tree --engine mpi\nmpirun -np 4 megadir changes /shared/inventory.parquet /shared/tree --engine mpi\nmpirun -np 4 megadir remove /shared/tree --engine mpi --yes",
            RANKS,
        )],
    ),
    ("docs/mpi.md", &[("mpirun -np 4 megadir bench run smallfile --engine mpi --dir /shared", RANKS)]),
    (
        "docs/mpi.md",
        &[(
            "MEGADIR_MPI=$VIRTUAL_ENV/lib/libmpi_abi.so.1 $VIRTUAL_ENV/bin/mpirun -np 4 megadir bench run smallfile --engine mpi --dir /shared",
            RANKS,
        )],
    ),
    (
        "docs/mpi.md",
        &[("mpirun -np 4 megadir scan /shared/tree --engine mpi -o /shared/parts --resume", RANKS)],
    ),
    ("docs/mpi.md", &[("mpirun -np 4 megadir bench run --resume RECORD --engine mpi --dir /shared", RANKS)]),
    (
        "docs/mpi.md",
        &[(
            "mdtest -n 1000 -F -u -C -T -r -i 21 -N 1 -d /shared/test\nmegadir bench run mdtest-easy --entries 1000 --rounds 21 --dir /shared\nmpirun -np 4 megadir bench run mdtest-easy --engine mpi --entries 1000 --rounds 21 --dir /shared",
            RANKS,
        )],
    ),
    (
        "docs/pack.md",
        &[
            ("megadir pack create project packed", Runs),
            // Each command begins with files that are written again.
            ("megadir pack verify packed project", Smaller(&[("packed project", "packed")])),
            ("megadir pack cat packed notes.txt", Smaller(&[("notes.txt", "one")])),
            ("megadir list -r --match '*.txt' packed/index.parquet", Runs),
            ("megadir pack extract --match '*.txt' packed restored", Smaller(&[("'*.txt'", "one")])),
            ("megadir remove --packed packed project", REMOVED),
        ],
    ),
    (
        "docs/pack.md",
        &[
            ("megadir remove --packed packed --dry-run project", REMOVED),
            ("megadir remove --packed packed project", REMOVED),
        ],
    ),
    (
        "docs/parallel.md",
        &[
            ("megadir scan project --split 100k,100GB --lists lists", Runs),
            (
                "ls lists/files-* | xargs -P8 -I LIST rsync -a --from0 --files-from=LIST project/ uploads/",
                IN_PARALLEL,
            ),
            ("rsync -a --from0 --files-from=lists/directories project/ uploads/", IN_PARALLEL),
        ],
    ),
    (
        "docs/parallel.md",
        &[(
            r#"ls lists/files-* | xargs -P8 -I LIST sh -c 'tar -cf "parts/$(basename LIST).tar" -C project --null --verbatim-files-from --no-recursion -T LIST'"#,
            IN_PARALLEL,
        )],
    ),
    (
        "docs/parallel.md",
        &[
            ("(cd uploads && xargs -0 -r -a ../lists/directories mkdir -p --)", IN_PARALLEL),
            ("cd project", IN_PARALLEL),
            (
                "ls ../lists/files-* | xargs -P8 -I LIST xargs -0 -a LIST cp -a --parents -t ../uploads --",
                IN_PARALLEL,
            ),
        ],
    ),
    ("docs/parallel.md", &[("megadir scan project -o project.parquet --rate 2k/s --idle", Runs)]),
    (
        "docs/purge.md",
        &[
            ("megadir remove --dry-run --type f --older-than 90d --by atime --exclude keep cache", Runs),
            (
                "megadir remove --dry-run --list --type f --older-than 90d --by atime --exclude keep cache | head",
                Runs,
            ),
        ],
    ),
    (
        "docs/purge.md",
        &[(
            "megadir remove --yes --type f --older-than 90d --by atime --exclude keep --rate auto --idle --log purged.jsonl cache",
            Runs,
        )],
    ),
    ("docs/purge.md", &[("megadir remove --yes --keep-newest 10 --match '*.tar.gz' cache", Runs)]),
    (
        "docs/regressions.md",
        &[(
            "- run: megadir bench commands -N old -N new './megadir-old list {dir}' './megadir-new list {dir}' --fail-if slower:5%",
            Elsewhere("a step of a service with two programs; the tests of `bench commands` have a gate"),
        )],
    ),
    (
        "docs/regressions.md",
        &[(
            "mkdir old new\n",
            Smaller(&[
                ("1 2 3 4 5", "1 2 3"),
                ("./megadir-old", "megadir"),
                ("./megadir-new", "megadir"),
                QUICK,
                // On a loaded machine, runs of one program differ or have warnings: 10 and 11 are valid results
                // too.
                ("slower:5%", "slower:5% || test $? -ge 10"),
            ]),
        )],
    ),
    (
        "docs/regressions.md",
        &[(
            "megadir bench report run.jsonl --format history > row.csv\n",
            Smaller(&[("megadir", "megadir bench run lookup --quick -q -o run.jsonl && megadir")]),
        )],
    ),
    (
        "docs/regressions.md",
        &[(
            "tests:\n",
            Elsewhere(
                "the configuration of a program of others; the tests of the format `history` hold the columns",
            ),
        )],
    ),
    (
        "docs/remove.md",
        &[
            ("megadir remove --dry-run cache", Runs),
            ("megadir remove cache", Runs),
            (
                "megadir remove --yes --quiet --older-than 7d /var/tmp/cache",
                Smaller(&[("/var/tmp/cache", "cache")]),
            ),
            ("megadir remove --contents --renew spool", Runs),
            ("megadir remove --detach build", Runs),
            (
                "megadir remove --yes --older-than 30d --type f --rate 2k/s --idle /srv/uploads",
                Smaller(&[("/srv/uploads", "uploads")]),
            ),
            ("find . -name core -print0 | megadir remove --yes --files0-from -", Runs),
        ],
    ),
    (
        "docs/reshard.md",
        &[
            ("megadir reshard --dry-run --to digest:2 cache", Runs),
            ("megadir reshard --to digest:2 cache", Smaller(&[("--to", "--yes --to")])),
        ],
    ),
    ("docs/reshard.md", &[("megadir layout cache", Runs), ("megadir layout --verify cache", Runs)]),
    (
        "docs/reshard.md",
        &[("megadir reshard --yes --to digest:2 --exclude '*.tmp' --rate 10k/s --idle cache", Runs)],
    ),
    (
        "docs/reshard.md",
        &[("mkdir new", Runs), ("megadir reshard --yes --from git --to digest:2 --into new objects", Runs)],
    ),
    (
        "docs/reshard.md",
        &[("megadir advise --layout digest:2 --transition flat --code python > paths.py", Runs)],
    ),
    (
        "docs/reshard.md",
        &[(
            "megadir reshard --yes --to digest:2 --follow --until-quiet 10m cache",
            Smaller(&[("10m", "1s")]),
        )],
    ),
    ("docs/reshard.md", &[("megadir reshard --yes --renew --from flat --to digest:2 cache", Runs)]),
    ("docs/reshard.md", &[("megadir reshard --yes --offline --to digest:2 cache", Runs)]),
    ("docs/rotating.md", &[("megadir list --explain --fields size spool > /dev/null", Runs)]),
    (
        "docs/rotating.md",
        &[(
            "megadir list --sort inode --null spool | tar -C spool --null --verbatim-files-from --no-recursion -T - -cf spool.tar",
            Runs,
        )],
    ),
    (
        "docs/rotating.md",
        &[(
            "sudo megadir bench run listing --entries 100k --fs ext4 --cache fs-cold --disk rotating",
            MODELLED,
        )],
    ),
    (
        "docs/rotten.md",
        &[
            ("megadir scan --hash all project -o project.parquet", Runs),
            ("megadir changes project.parquet --verify all", Runs),
        ],
    ),
    (
        "docs/rotten.md",
        &[("megadir changes project.parquet --update --verify 1/30 --read-rate 50MB/s", ROTTEN)],
    ),
    (
        "docs/rotten.md",
        &[(
            "megadir changes project.parquet --verify all --only rotten --paths -0 | rsync -a -I --from0 --files-from=- uploads/ project/",
            ROTTEN,
        )],
    ),
    ("docs/usage.md", &[("megadir usage project", Runs)]),
    (
        "docs/usage.md",
        &[
            ("megadir scan --quiet project -o project.parquet", Runs),
            ("megadir usage project.parquet --sort allocated", Runs),
            ("megadir usage project.parquet --html usage.html", Runs),
        ],
    ),
    (
        "docs/volumes.md",
        &[(
            "megadir bench run smallfile --dir /mnt/local --dir /mnt/cloud",
            Smaller(&[
                ("smallfile", "smallfile --quick --entries 20 --workers 1 --rounds 6 --cache warm"),
                ("/mnt/local", "files"),
                ("/mnt/cloud", "cache"),
            ]),
        )],
    ),
    (
        "docs/watching.md",
        &[
            // The test machine's own file system may be fuller.
            (
                "megadir limits --quiet --warn-at 80% spool --prometheus limits.prom",
                Smaller(&[("80%", "100%")]),
            ),
            ("megadir usage spool --prometheus usage.prom", Runs),
            ("megadir list --estimate spool --prometheus list.prom", Runs),
        ],
    ),
    ("docs/watching.md", &[("groups:\n", Elsewhere("rules of Prometheus, which reads them"))]),
    ("docs/windows.md", &[("cargo test --package=megadir", WINDOWS)]),
    ("docs/windows.md", &[("cargo build --release -p megadir-cli", WINDOWS)]),
];

/// Fenced blocks of a page that contain commands, with the commands of each.
fn blocks(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(opening) = lines.find(|line| line.starts_with("```")) {
        let block: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
        match opening.trim_start_matches('`') {
            "console" => {
                let commands = block.iter().filter_map(|line| line.strip_prefix("$ "));
                found.push(commands.map(|line| uncommented(line).to_owned()).collect());
            }
            "sh" | "bash" | "yaml" | "sql" | "" => found.push(vec![block.join("\n")]),
            // Text that no program runs, and functions in other languages.
            "text" | "json" | "toml" | "ini" | "rust" | "rust,no_run" | "python" | "go" => {}
            other => panic!("commands or text? add '{other}' here"),
        }
    }
    found
}

fn uncommented(line: &str) -> &str {
    line.split_once("  #").map_or(line, |(command, _)| command).trim_end()
}

fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut names = vec!["README.md".to_owned()];
    for entry in std::fs::read_dir(root.join("docs")).expect("readable") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        if name.ends_with(".md") {
            names.push(format!("docs/{name}"));
        }
    }
    names.sort();
    let read = |name: &String| std::fs::read_to_string(root.join(name)).expect("readable");
    names.iter().map(|name| (name.clone(), read(name))).collect()
}

#[test]
fn every_command_on_a_page_is_held() {
    let mut table = BLOCKS.iter();
    for (page, text) in pages() {
        for commands in blocks(&text) {
            let (named, held) = table.next().unwrap_or_else(|| panic!("{page}: not in BLOCKS: {commands:?}"));
            assert_eq!(*named, page, "{commands:?}");
            let same = commands.len() == held.len()
                && commands.iter().zip(*held).all(|(command, (begins, how))| match how {
                    // A script is identified by its beginning.
                    _ if command.contains('\n') => command.starts_with(begins),
                    _ => command == begins,
                });
            let expected: Vec<_> = held.iter().map(|(command, _)| command).collect();
            assert!(same, "{page} has {commands:?}, BLOCKS has {expected:?}");
        }
    }
    assert!(table.next().is_none(), "BLOCKS names more than the pages show");
    for (page, held) in BLOCKS {
        for (command, how) in *held {
            if let Elsewhere(reason) = how {
                assert!(reason.len() > 10, "{page}: {command}: no reason");
            }
        }
    }
}

/// Output in the console blocks of README.md: lines that are neither a command nor an ellipsis.
fn answers(text: &str) -> Vec<&str> {
    let consoles = text.split("```console\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    let lines = consoles.flat_map(str::lines);
    lines.filter(|line| !line.starts_with("$ ") && line.trim() != "..." && !line.is_empty()).collect()
}

#[test]
fn output_on_the_first_page_is_compared() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect("readable");
    let readme = read("README.md");
    let answers = answers(&readme);
    let held = [
        "crates/megadir-cli/tests/golden/first-screens.txt",
        "records/2026-11-22-smallfile-file-systems/README.md",
    ]
    .map(read);
    let is_held = |line: &&str| held.iter().any(|text| text.lines().any(|held| held == *line));
    let unheld: Vec<_> = answers.iter().filter(|line| !is_held(line)).collect();
    assert!(unheld.is_empty(), "in no golden and no record: {unheld:#?}");
    assert!(answers.len() >= 12, "{answers:?}: four questions with three lines each");
}

#[test]
fn commands_on_pages_run() {
    // Commands on the pages use the installed program's name.
    let program = program();
    let folder = program.parent().expect("in a directory");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let mut table = BLOCKS.iter();
    for (page, text) in pages() {
        for commands in blocks(&text) {
            let (_, held) = table.next().expect("as above");
            let scratch = tempfile::tempdir().expect("a directory");
            for (command, (_, how)) in commands.iter().zip(*held) {
                let mut script = command.clone();
                match how {
                    Elsewhere(_) => continue,
                    Runs => {}
                    Smaller(words) => {
                        for (from, to) in *words {
                            assert!(script.contains(from), "{page}: no {from} in {command}");
                            script = script.replace(from, to);
                        }
                    }
                }
                fill(scratch.path());
                let output = Command::new("bash")
                    .args(["-euo", "pipefail", "-c", &script])
                    .current_dir(scratch.path())
                    .env("PATH", &path)
                    .stdin(Stdio::null())
                    .output()
                    .expect("bash starts");
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let (out, err) = (text(&output.stdout), text(&output.stderr));
                assert!(output.status.success(), "{page}: {script}: {out}{err}");
            }
        }
    }
}

/// Creates the directories that the pages mention, if missing.
fn fill(at: &Path) {
    for directory in ["build", "cache", "copy", "doc", "files", "objects/ab", "project", "spool", "uploads"] {
        std::fs::create_dir_all(at.join(directory)).expect("makeable");
        for name in ["core", "one", "two"] {
            std::fs::write(at.join(directory).join(name), name).expect("writable");
        }
    }
}
