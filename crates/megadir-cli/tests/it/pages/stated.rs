//! Figures with a unit in the prose of README.md, METHODOLOGY.md and docs/*.md: each is in a record, in compared
//! output, or in the table below, which names its evidence.

use std::collections::BTreeSet;

use super::figures::{files, pages, read, root};

/// Evidence for a figure.
enum Holder {
    /// A file of the repository with this text: a constant, a test, a record (which the page rounds).
    Text(&'static str, &'static str),
    /// A fact about other software, with its reference.
    Fact(&'static str),
    /// Arithmetic that the page shows.
    Arithmetic,
    /// An argument in an example, or a size that is only an example.
    Example,
}

use Holder::{Arithmetic, Example, Fact, Text};

const SPEED: &str = "records/2026-11-21-speed.md";
const SCAN: &str = "records/2026-11-22-scan.md";
const ATTRIBUTES: &str = "records/2026-11-21-attributes.md";
const LAYOUT_1M: &str = "records/2026-11-28-layout-1M-ext4/README.md";
const DEVICE: &str = "records/2026-11-25-ext4-device.md";

/// Words of a page, wherever its lines break, with what holds their figures.
const STATED: &[(&str, &str, Holder)] = &[
    // Figures of docs/speed.md are rounded from the records.
    (
        "docs/speed.md",
        "An inventory takes 34 bytes per entry on disk",
        Text("records/2026-11-21-inventory.md", "33.8 bytes an entry"),
    ),
    (
        "docs/speed.md",
        "The first name appears after 1.7 to 3.2 ms, with `ls -U` after 1.1 ms",
        Text(SPEED, "| `megadir list, first byte` | 3.17 [2.63, 4.77]"),
    ),
    ("docs/speed.md", "(ext4: 0.178 s against 0.166 s)", Text(SPEED, "|    166 [166, 167] |  0.166 |")),
    ("docs/speed.md", "and cost 2 % with `--count`", Text(SPEED, "0.977 [0.969, 0.983]x")),
    (
        "docs/speed.md",
        "`ls -U` and `bfs` take 2 MiB of memory where `megadir list` takes 8",
        Text(SCAN, "| `ls -U` | 1.8 |"),
    ),
    (
        "docs/list.md",
        "at most 8 MiB excluding the program's own code",
        Text("crates/megadir-cli/tests/it/list/memory.rs", "const STREAMING: u64 = 8 << 20;"),
    ),
    (
        "docs/list.md",
        "when the client's cache expires, on NFS after 3 to 60 seconds",
        Fact("nfs(5), the defaults of `acregmin` and `acregmax`"),
    ),
    (
        "docs/python.md",
        "A file takes about 72 bytes of memory",
        Text("crates/megadir-pack/src/members.rs", "assert!(size_of::<Record>() == 72)"),
    ),
    ("docs/cache-budget.md", "| `50GB`, `512MiB` |", Example),
    ("docs/cache-budget.md", "| `10% free`, `20GB free` |", Example),
    ("docs/cache-budget.md", "| `/var/cache/nginx` | `--keep-within 50GB`", Example),
    ("docs/cache-budget.md", "| `~/.cache/ccache` | `--keep-within 10GB", Example),
    ("docs/cache-budget.md", "| `~/.npm/_cacache/content-v2` | `--keep-within 5GB", Example),
    ("docs/from-ls-find-du-rm.md", "`megadir remove --keep-within 50GB DIR`", Example),
    ("docs/remove.md", "`--keep-within 50GB` removes the files", Example),
    ("docs/remove.md", "Units (`50GB`, `'100k files'`", Example),
    (
        "docs/cache-budget.md",
        "Memory** is bounded, 96 MiB for the oldest files",
        Text("crates/megadir/src/remove/budget/mod.rs", "memory_bytes: 96 << 20"),
    ),
    (
        "docs/cache-budget.md",
        "Hard links and excluded directories take up to 50 MB each",
        Text("crates/megadir/src/remove/budget/pass.rs", "LINKED_MAX: usize = 1_000_000"),
    ),
    (
        "docs/purge.md",
        "when removals take more than 1.5 times as long on average",
        Text("crates/megadir/src/remove/back_off.rs", "const SLOWER: f64 = 1.5;"),
    ),
    (
        "docs/purge.md",
        "up to 63 times the time of a removal",
        Text("crates/megadir/src/remove/back_off.rs", "const SHARE_MIN: f64 = 1.0 / 64.0;"),
    ),
    (
        "docs/purge.md",
        "Below 1.2 times, they become 20 % shorter",
        Text("crates/megadir/src/remove/back_off.rs", "const RECOVERED: f64 = 1.2;"),
    ),
    // METHODOLOGY.md in its order.
    ("METHODOLOGY.md", "With `--until 1%` or `--until 5ns`", Example),
    (
        "docs/usage.md",
        "about 150 bytes for each file with several hard links",
        Text("crates/megadir/src/usage/links.rs", "assert_eq!(size_of::<(Id, Linked)>(), 88);"),
    ),
    (
        "METHODOLOGY.md",
        "the hypervisor took more than 2 % of its time",
        Text("crates/megadir-bench/studies/listing.toml", "stolen_fraction_max = 0.02"),
    ),
    (
        "METHODOLOGY.md",
        "Cold arms have at least 11 rounds",
        Text("crates/megadir-bench/src/plan/caches.rs", "const COLD_ROUNDS_MIN: u32 = 11;"),
    ),
    (
        "METHODOLOGY.md",
        "It has at least 1 GiB",
        Text("crates/megadir-lab/src/table.rs", "smallest_bytes: GIB,"),
    ),
    ("METHODOLOGY.md", "below 512 MiB mke2fs uses 1 KiB blocks", Fact("mke2fs.conf(5), `small`")),
    (
        "METHODOLOGY.md",
        "whose mkfs reserves an inode per 16 KiB",
        Text("crates/megadir-lab/src/table.rs", "bytes_per_inode: 16 * KIB,"),
    ),
    (
        "METHODOLOGY.md",
        "resampled in blocks of 20 rounds",
        Text("crates/megadir-stats/tests/simulation/measured.rs", "const BLOCK: usize = 20;"),
    ),
    (
        "METHODOLOGY.md",
        "is detected in the 950 rounds",
        Text("crates/megadir-stats/tests/simulation/measured.rs", "(3e9 / (3.0 * LOOKUPS_NS))"),
    ),
    (
        "METHODOLOGY.md",
        "(3 or 5 runs per side, 3 against 6",
        Text("crates/megadir-stats/tests/simulation/runs.rs", "(3, 6, [0.05, 0.05])"),
    ),
    (
        "METHODOLOGY.md",
        "Five runs per side that differ by 2 % detect a slowdown of 10 % in at least 95 %",
        Text("crates/megadir-stats/tests/simulation/runs.rs", "runs(random, 5, 1.1, 0.02)"),
    ),
    (
        "METHODOLOGY.md",
        "| arms | order | 0.3 | 1 | 2 | 10 | |---|---|---|---|---|---| | 2 | each round by itself | 4.9 % | 4.3 % | 5.2 % | 5.1 % | | 2 | balanced squares | 6.1 % | 8.1 % | 9.9 % | 7.3 % | | 3 | each round by itself | 4.2 % | 4.8 % | 4.7 % | 4.9 % | | 3 | balanced squares | 5.8 % | 5.7 % | 4.4 % | 3.9 % | | 6 | each round by itself | 4.9 % | 5.4 % | 5.3 % | 3.9 % | | 6 | balanced squares | 5.3 % | 5.1 % | 5.4 % | 5.9 % |",
        Text("crates/megadir-stats/tests/simulation/phases.rs", "assert!(PAGE.contains(&table)"),
    ),
    (
        "METHODOLOGY.md",
        "a difference of 0.6 % with 1 % of noise is detected in 57.6 % of runs with the former and in 59.2 % with the latter",
        Text("crates/megadir-stats/tests/simulation/phases.rs", "detected in {independent} of runs"),
    ),
    (
        "METHODOLOGY.md",
        "Stalls of 3 ms that come every 5 ms in phases of 300 ms",
        Text("crates/megadir-stats/tests/simulation/phases.rs", "const STALL_EVERY: f64 = 5.0;"),
    ),
    (
        "METHODOLOGY.md",
        "in 9.0 % if one block is twice as long, and in 21.4 % if it is four times as long",
        Text("crates/megadir-stats/tests/simulation/phases.rs", "in {twice} if one block is twice as long"),
    ),
    ("METHODOLOGY.md", "once in 16 times", Arithmetic),
    (
        "METHODOLOGY.md",
        "from 20 rounds on",
        Text("crates/megadir-report/src/warning/derive.rs", "const BIMODALITY_ROUNDS_MIN: usize = 20;"),
    ),
    (
        "METHODOLOGY.md",
        "at most 4096 files or 4 MiB",
        Text("crates/megadir-bench/src/kind/files/order.rs", "const CONTENTS_MAX: u64 = 4 << 20;"),
    ),
    (
        "METHODOLOGY.md",
        "Directories are listed 64 KiB per call",
        Text("crates/megadir-bench/src/kind/files/by_directory.rs", "const BUFFER_BYTES: usize = 64 << 10;"),
    ),
    (
        "METHODOLOGY.md",
        "missed by more than 2 % is reported",
        Text("crates/megadir-report/src/warning/derive.rs", "const RATE_KEPT_MIN: f64 = 0.98;"),
    ),
    (
        "METHODOLOGY.md",
        "(300 rounds of two blocks of 1000 operations",
        Text("crates/megadir-bench/src/measure/self_check.rs", "const ROUNDS: usize = 300;"),
    ),
    (
        "METHODOLOGY.md",
        "(within 0.5 %; also for each arm",
        Text("crates/megadir-report/src/warning/derive.rs", "const UNACCOUNTED_MAX: f64 = 0.005;"),
    ),
    (
        "METHODOLOGY.md",
        "If timing adds more than 2 % to an arm's operations",
        Text("crates/megadir-report/src/warning/derive.rs", "const TIMER_COST_WARNED: f64 = 0.02;"),
    ),
    (
        "METHODOLOGY.md",
        "removed in the last 60 s, or in the last 360 s while the inode table is being written",
        Fact("Linux, fs/ext4/ialloc.c, `recently_deleted`"),
    ),
    (
        "METHODOLOGY.md",
        "a device of more than 64 GiB",
        Text("crates/megadir-bench/src/plan/file_systems.rs", "const DEVICE_BYTES_MAX: u64 = 64 << 30;"),
    ),
    ("METHODOLOGY.md", "`--aged N` or `--aged 10x`", Example),
    (
        "docs/advice.md",
        "ext4 with 1 KiB blocks refuses names of 32 characters at 160 000",
        Text("crates/megadir-cli/tests/it/limits/study.rs", "160 293 were predicted"),
    ),
    (
        "docs/advice.md",
        "with 69 % live entries the first refusal comes within 8 turnovers",
        Text("crates/megadir/tests/limits/churn.rs", "(0.3..8.0).contains(&after)"),
    ),
    (
        "docs/advice.md",
        "at least 8 rounds, 12 if time allows",
        Text("crates/megadir-advise/src/measure/design.rs", "const ROUNDS_MIN: u32 = 8;"),
    ),
    (
        "docs/advice.md",
        "at most a quarter of the free space and 1 GiB in all",
        Text("crates/megadir-advise/src/measure/design.rs", "const BYTES_MAX: u64 = 1 << 30;"),
    ),
    (
        "docs/bench.md",
        "175 to 181 MB/s in order",
        Text("crates/megadir-lab/src/rotating/model.rs", "(175.0..=181.0).contains(&rate)"),
    ),
    ("docs/bench.md", "`--aged 10x` adds twins", Example),
    (
        "docs/bench.md",
        "a file without contents took 179 to 225 bytes on ext4",
        Text("crates/megadir-lab/src/table.rs", "ext4 (179 to 225)"),
    ),
    (
        "METHODOLOGY.md",
        "(240 bytes on ext4, 180 on XFS, 370 on btrfs",
        Text("crates/megadir-lab/src/table.rs", "packed_inode_bytes: 240"),
    ),
    (
        "docs/bench.md",
        "files of 3901 bytes in one directory",
        Text("crates/megadir-bench/studies/mdtest-hard.toml", "size_bytes = 3901"),
    ),
    ("docs/mpi.md", "50 µs a file are 20 000 files per second", Arithmetic),
    (
        "docs/mpi.md",
        "hard: files of 3901 bytes, all processes",
        Text("crates/megadir-bench/studies/mdtest-hard.toml", "size_bytes = 3901"),
    ),
    (
        "docs/mpi.md",
        "IO500 stops each creation after 300 s",
        Fact("IO500's example configuration: `mdtest ... -C -Y -W 300`"),
    ),
    (
        "docs/regressions.md",
        "Five runs per side that scatter by 2 % detect a slowdown of 10 %",
        Text("crates/megadir-stats/tests/simulation/runs.rs", "runs(random, 5, 1.1, 0.02)"),
    ),
    (
        "docs/commands.md",
        "runs each command 30 times after a warm-up",
        Text("crates/megadir-cli/src/cmd/bench/commands.rs", "const ROUNDS: u32 = 30;"),
    ),
    ("docs/choose-layout.md", "`--size 50kB`", Example),
    ("docs/answers/README.md", "is then 1.67 times as fast [1.52, 1.79]", Text(DEVICE, "1.67 [1.52, 1.79]")),
    (
        "docs/answers/README.md",
        "uncached 6.22 times as fast [5.56, 6.67]",
        Text(DEVICE, "6.22 times as fast as the default [5.56, 6.67]"),
    ),
    (
        "docs/answers/attributes.md",
        "`FindFirstFileEx` was up to 205 times",
        Text("crates/megadir-bench/studies/attributes.toml", "LARGE_FETCH, first run\", value = 205,"),
    ),
    (
        "docs/answers/attributes.md",
        "`GetFileInformationByHandleEx` up to 128 times as fast as",
        Text("crates/megadir-bench/studies/attributes.toml", "value = 128,"),
    ),
    (
        "docs/answers/attributes.md",
        "the heading of the article says \"50x faster\"",
        Fact("the article's own heading"),
    ),
    ("docs/answers/attributes.md", "how-to-query-file-attributes-50x-faster", Fact("part of an address")),
    ("docs/answers/README.md", "How to Query File Attributes 50x faster", Fact("the title of the article")),
    ("docs/answers/README.md", "how-to-query-file-attributes-50x-faster", Fact("part of an address")),
    ("docs/answers/attributes.md", "Its heading says 50 times", Fact("the article's own heading")),
    (
        "docs/answers/attributes.md",
        "is 6.22 times as fast [5.56, 6.67]",
        Text(DEVICE, "6.22 times as fast as the default [5.56, 6.67]"),
    ),
    ("docs/answers/attributes.md", "take 0.793x [0.744, 0.804]", Text(ATTRIBUTES, "0.793 [0.744, 0.804]")),
    (
        "docs/answers/attributes.md",
        "0.422x [0.413, 0.428] the time",
        Text(ATTRIBUTES, "0.422 [0.413, 0.428]"),
    ),
    (
        "docs/answers/lookup.md",
        "NTFS: 2.666, 4.702 and 7.130 µs",
        Text("crates/megadir-bench/studies/lookup.toml", "value = 7.130"),
    ),
    (
        "docs/answers/layout.md",
        "took 2.2 s in one round and 90 s in another",
        Text(LAYOUT_1M, "| read as written, flat | 7 | 37.3 µs | [2.2, 90.2] |"),
    ),
    (
        "docs/answers/layout.md",
        "| **not 7.8 times with up to",
        Text("crates/megadir-bench/studies/layout.toml", "value = 7.8"),
    ),
    (
        "docs/answers/attributes.md",
        "`FindFirstFileEx` with `LARGE_FETCH` at 205 times",
        Text("crates/megadir-bench/studies/attributes.toml", "LARGE_FETCH, first run\", value = 205,"),
    ),
    ("docs/answers/listing.md", "the time (there 7.7x)", Arithmetic),
    (
        "docs/answers/container.md",
        "29 s instead of 1 for 50 000 files of 1000 bytes",
        Text("crates/megadir-bench/studies/container.toml", "29 s instead of 1 for 50 000 files"),
    ),
    (
        "docs/answers/container.md",
        "takes 20 times its time",
        Text("crates/megadir-bench/studies/container.toml", "20 times"),
    ),
    (
        "docs/answers/container.md",
        "100 000 files of 1000 bytes on ext4",
        Text("crates/megadir-bench/studies/container.toml", "size_bytes = 1_000"),
    ),
    (
        "docs/pack.md",
        "paths above 100 bytes are wrong or missing",
        Text("findings/perl-tar-merges-long-names.sh", "100"),
    ),
    (
        "docs/answers/removal.md",
        "On btrfs it has 19 783 s, 19 702 s and 53 516 s",
        Fact("the table of the page of 2020"),
    ),
    ("docs/answers/removal.md", "on btrfs rsync takes 2.7 times as long", Arithmetic),
    (
        "docs/answers/removal.md",
        "which the page of 2014 has at 14 min 52 s",
        Fact("the output of `time` in the page of 2014"),
    ),
    ("docs/answers/layout.md", "65 792 inodes more, 0.7 % of ten million", Arithmetic),
    (
        "docs/answers/layout.md",
        "| reading flat is 7.8 times as fast as two levels deep |",
        Text("crates/megadir-bench/studies/layout.toml", "value = 7.8"),
    ),
    (
        "docs/answers/listing.md",
        "takes 439 ms [437, 443] for a million names",
        Text(ATTRIBUTES, "439 [437, 443]"),
    ),
    (
        "docs/answers/listing.md",
        "prints 5.802 s of elapsed time, 2.544 s in the program and 3.328 s in the kernel",
        Fact("the output of `time` in the article"),
    ),
    (
        "docs/answers/removal.md",
        "in 5 min 12 s with `find -delete` and in 2 min 53 s with `rsync --delete`",
        Fact("the output of `time` in the page of 2014: 5m11.937s and 2m52.502s"),
    ),
    (
        "docs/answers/removal.md",
        "in 18 647 s with `rm -rf`, 18 964 s with `find -delete` and 24 279 s with rsync",
        Fact("the table of the page of 2020"),
    ),
    ("docs/answers/listing.md", "takes 2340 ms [2329, 2370]", Text(ATTRIBUTES, "2340 [2329, 2370]")),
    ("docs/answers/smallfile.md", "50 kB: 17 GB for each process and file system", Arithmetic),
    ("docs/commands.md", "`--aged 10x`", Example),
    (
        "docs/commands.md",
        "`--timeout` (default 10 minutes)",
        Text("crates/megadir-bench/src/kind/command/mod.rs", "pub const TIMEOUT_S: u64 = 600;"),
    ),
    (
        "docs/limits.md",
        "names of 32 characters, or 160 000 on a file system with 1 KiB blocks",
        Text("crates/megadir-cli/tests/it/limits/study.rs", "160 293 were predicted"),
    ),
    ("docs/limits.md", "For a directory on a file system with 1 KiB blocks", Example),
    (
        "docs/limits.md",
        "if one buffer of 64 KiB holds the whole directory",
        Text("crates/megadir/src/limits/sample.rs", "const SAMPLE_BYTES: usize = 64 << 10;"),
    ),
    (
        "docs/limits.md",
        "189 kB is assumed where the file system does not count its inodes",
        Text("crates/megadir/src/limits/sample.rs", "const TYPICAL_BYTES: f64 = 189e3;"),
    ),
    (
        "docs/limits.md",
        "Creates fail when 4 MiB of it are left",
        Text("crates/megadir/src/limits/room.rs", "const BTRFS_UNUSED_BYTES: f64 = (4 << 20) as f64;"),
    ),
    (
        "docs/limits.md",
        "(320 MiB is the default)",
        Text("crates/megadir/src/limits/stated.rs", "const MAXDIRSIZE_BYTES: u64 = 320 << 20;"),
    ),
    (
        "docs/limits.md",
        "(4 to 5 million in 320 MiB)",
        Text("crates/megadir/src/limits/others.rs", "WAFL_DOCUMENTED_BYTES: f64 = (320_u64 << 20) as f64;"),
    ),
    (
        "docs/inventory.md",
        "take more than 4 MiB in a row group",
        Text(
            "crates/megadir-inventory/src/file/encode.rs",
            "const DICTIONARY_PATH_BYTES_MAX: usize = 4 << 20;",
        ),
    ),
    (
        "docs/inventory.md",
        "when its paths reach 128 MiB",
        Text("crates/megadir-inventory/src/file/write.rs", "const GROUP_PATH_BYTES_MAX: usize = 128 << 20;"),
    ),
    (
        "docs/inventory.md",
        "or its other values 8 MiB",
        Text("crates/megadir-inventory/src/file/write.rs", "const GROUP_BYTES_MAX: usize = 8 << 20;"),
    ),
    (
        "docs/inventory.md",
        "`--memory` plus 136 MiB with two threads",
        Text("crates/megadir-cli/tests/it/update.rs", "const FIXED_BYTES: u64 = 136 << 20;"),
    ),
    ("docs/inventory.md", "5000 nested directories with names of 255 bytes have 3.2 GB of paths", Arithmetic),
    (
        "docs/inventory.md",
        "`--memory` plus 112 MiB",
        Text("crates/megadir-cli/tests/it/deep.rs", "const FIXED_BYTES: u64 = 112 << 20;"),
    ),
    (
        "docs/inventory.md",
        "A step is at least 100 ms (ticks take 10 ms or less but may come late)",
        Text("crates/megadir-inventory/src/changes/proof.rs", "const TICKS_NS: i64 = 100_000_000;"),
    ),
    (
        "docs/inventory.md",
        "72 bytes plus the name per entry (10.4 GB for a single directory of a hundred million with names of 32 bytes)",
        Text("crates/megadir-inventory/tests/changes/snapshot.rs", "entries * 72 + names"),
    ),
    (
        "docs/inventory.md",
        "stay below 128 MiB plus 24 times the longest path",
        Text("crates/megadir-cli/tests/it/deep.rs", "MEMORY_BYTES + FIXED_BYTES + PATHS * path_bytes"),
    ),
    (
        "docs/commands.md",
        "at most 150 us longer than in a loop of fork",
        Text("crates/megadir-cli/tests/it/harness.rs", "const ADDED_NS_MAX: u64 = 150_000;"),
    ),
    (
        "docs/commands.md",
        "In 60 rounds a delay of 1 ms in a command of 50 ms is found in at least 19 of 20 tries",
        Text("crates/megadir-cli/tests/it/harness.rs", "(TRIES, \"sleep 0.051\", \"60\")"),
    ),
    ("docs/list.md", "which sorts, takes 257 MiB in all", Text(SCAN, "| `ls` | 257 |")),
    (
        "docs/list.md",
        "60 MiB for a million names of 32 bytes",
        Text(SCAN, "| `megadir list --sort name` | 60 |"),
    ),
    ("docs/windows.md", "times to 100 ns", Fact("FILETIME, Microsoft Win32 reference")),
    ("docs/windows.md", "ticks of 10 to 16 ms", Fact("GetSystemTimeAdjustment, Microsoft Win32 reference")),
    (
        "docs/windows.md",
        "advances every 15.6 ms at the latest; a file modified within 100 ms of the scan",
        Text("crates/megadir-inventory/src/scan/clock.rs", "Some(15_625_000)"),
    ),
];

/// Units that make a number a figure.
const UNITS: [&str; 23] = [
    "%", "x", "×", "ns", "µs", "us", "ms", "s", "min", "minutes", "seconds", "KiB", "MiB", "GiB", "TiB",
    "kB", "MB", "GB", "TB", "bytes", "times", "rounds", "runs",
];

/// Figures of a text, e.g. `0.5 %` and `64 MiB`, with the places where they begin.
fn figures(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut end = 0;
    for (begin, _) in text.char_indices().filter(|(_, letter)| letter.is_ascii_digit()) {
        if begin < end || text[..begin].ends_with(|letter: char| letter.is_alphanumeric() || letter == '.') {
            continue;
        }
        let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
        let number = text[begin..].split(|letter| !is_part(letter)).next().unwrap_or_default();
        end = begin + number.len();
        let rest = &text[end..];
        let rest = rest.strip_prefix([' ', '\u{a0}', '\u{202f}', '-']).unwrap_or(rest);
        let is_unit = |letter: char| letter.is_alphanumeric() || letter == '%' || letter == '×';
        let unit = rest.split(|letter| !is_unit(letter)).next().unwrap_or_default();
        if UNITS.contains(&unit) {
            found.push((begin, format!("{} {unit}", number.trim_end_matches('.'))));
        }
    }
    found
}

/// The text with single spaces and without fenced blocks, whose commands and output other tests compare.
fn prose(text: &str) -> String {
    let outside = text.split("```").step_by(2).collect::<Vec<_>>().join(" ");
    outside.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_figure_on_a_page_is_held() {
    let mut recorded = BTreeSet::new();
    for (folder, extension) in [("records", "md"), ("crates/megadir-cli/tests/golden", "txt")] {
        for path in files(&root().join(folder), extension) {
            recorded.extend(figures(&read(&path)).into_iter().map(|(_, figure)| figure));
        }
    }
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut used = BTreeSet::new();
    for (page, text) in pages() {
        let text = prose(&text);
        let rows = STATED.iter().enumerate().filter(|(_, (of, ..))| *of == page);
        let held: Vec<(usize, usize)> = rows
            .flat_map(|(row, (_, words, _))| {
                text.match_indices(words).map(move |(at, words)| (row, at, words.len()))
            })
            .map(|(row, at, length)| {
                used.insert(row);
                (at, at + length)
            })
            .collect();
        for (at, figure) in figures(&text) {
            count += 1;
            let is_held =
                recorded.contains(&figure) || held.iter().any(|(from, to)| (from..to).contains(&&at));
            if !is_held {
                let around: String =
                    text[..at].chars().rev().take(50).collect::<Vec<_>>().into_iter().rev().collect();
                let after: String = text[at..].chars().take(40).collect();
                wrong.push(format!("{page}: {figure}: ...{around}{after}..."));
            }
        }
    }
    for (row, (page, words, holder)) in STATED.iter().enumerate() {
        if !used.contains(&row) {
            wrong.push(format!("{page} does not say '{words}'"));
        }
        match holder {
            Text(path, text) if !read(&root().join(path)).contains(text) => {
                wrong.push(format!("{page} says '{words}', but {path} does not have '{text}'"));
            }
            Fact("") => wrong.push(format!("{page} says '{words}' without a reference")),
            Text(..) | Fact(_) | Arithmetic | Example => {}
        }
    }
    assert!(
        wrong.is_empty(),
        "name in STATED what holds these, take them from a record, or leave them out:\n{}",
        wrong.join("\n")
    );
    assert!(count > 150, "{count} figures found: does the test still see them?");
}

#[test]
fn figures_are_found_with_their_units() {
    let found: Vec<String> =
        figures("at most 64 MiB, 3.5 minutes, 10x, 5-ms pauses, ext4, 1.2.3, 7 files, 2 %.")
            .into_iter()
            .map(|(_, figure)| figure)
            .collect();
    assert_eq!(found, ["64 MiB", "3.5 minutes", "10 x", "5 ms", "2 %"]);
}
