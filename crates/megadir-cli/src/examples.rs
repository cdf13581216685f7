//! Examples of every command, at the end of its `--help` and on its man page; tests run each as printed.

use clap::Command;

/// Command, line, purpose.
static EXAMPLES: &[(&str, &str, &str)] = &[
    ("", "megadir list --estimate spool", "Estimate the number of entries within milliseconds"),
    ("", "megadir limits spool", "Show how many more entries fit, and which limit comes first"),
    ("", "megadir advise . --files 10M --time 20s", "Recommend a layout for ten million files"),
    ("list", "megadir list --count spool", "Count the entries"),
    ("list", "megadir list -lh --sort size --limit 10 spool", "Show the ten largest entries"),
    ("list", "megadir list -r0 --match '*.tmp' project | xargs -0 ls -d", "Pass paths to another program"),
    ("make", "megadir make demo --entries 10k", "Create ten thousand files of 10 bytes in one directory"),
    ("make", "megadir make cache --entries 1k --layout git --size 4KiB", "Spread files as git does"),
    ("make", "megadir make mail --entries 1k --layout digest:2 --dry-run", "Show what would be created"),
    ("remove", "megadir remove --dry-run spool", "Show how many entries and bytes would be removed"),
    ("remove", "megadir remove --older-than 30d --type f --yes spool", "Remove old files from a spool"),
    (
        "remove",
        "find project -name '*.tmp' -print0 | megadir remove --yes --files0-from -",
        "Remove listed paths",
    ),
    ("reshard", "megadir reshard --dry-run --to digest:2 spool", "Show how many files would be moved where"),
    ("reshard", "megadir reshard --yes --to digest:2 spool", "Move the files into 256 directories"),
    ("reshard", "megadir reshard --yes --to flat --rate 10k/s spool", "Move them back, at a limited rate"),
    ("layout", "megadir layout spool", "Show the layout of a directory, by a sample"),
    ("layout", "megadir layout --verify spool", "Check the path of every file"),
    (
        "layout",
        "megadir layout --verify --layout flat --json spool",
        "Compare with a layout, as a JSON object",
    ),
    ("usage", "megadir usage project", "Show which subtrees have the most entries"),
    ("usage", "megadir usage --sort allocated --depth 2 project", "Rank by space on disk, two levels deep"),
    ("usage", "megadir usage project.parquet", "Read an inventory instead of the tree"),
    ("scan", "megadir scan project --output project.parquet", "Write an inventory"),
    ("scan", "megadir scan project --csv | head -n 3", "Print rows as comma-separated values"),
    ("scan", "megadir scan project --dry-run", "Measure how long a scan takes"),
    ("changes", "megadir changes project.parquet", "Show what changed since the inventory"),
    ("changes", "megadir changes project.parquet --update", "Then make the inventory current"),
    ("changes", "megadir changes project.parquet --gains", "Show which directories gained the most entries"),
    (
        "compare",
        "megadir compare project copy",
        "Show what the copy lacks, and what differs in size or mtime",
    ),
    (
        "compare",
        "megadir compare packed/index.parquet project --by contents,mode --exit-code",
        "Compare contents with the hashes of a pack; exit code 10 if they differ",
    ),
    (
        "compare",
        "megadir compare project copy --only missing,differs --paths -0 | (cd project && xargs -0r ls -d)",
        "Pass what has to be copied to another program",
    ),
    ("pack", "megadir pack create project project.pack", "Pack a tree into tar files with an index"),
    ("pack", "megadir pack verify project.pack project", "Compare the pack with its index and with the tree"),
    (
        "pack",
        "megadir pack create -q project a.pack && megadir list -r a.pack/index.parquet",
        "List what is packed, with all conditions of list",
    ),
    (
        "pack create",
        "megadir pack create project project.pack",
        "Write tar files of up to 1 GiB and an index",
    ),
    (
        "pack create",
        "megadir pack create --shard-size 256MiB project small.pack",
        "Write tar files of up to 256 MiB",
    ),
    (
        "pack create",
        "megadir pack create -q project new.pack && tar -tf new.pack/pack-00000.tar",
        "Any tar reads what is packed",
    ),
    ("pack verify", "megadir pack verify packed", "Read all contents again and compare their hashes"),
    (
        "pack verify",
        "megadir pack verify packed project || echo pack it again",
        "Also find what changed in the tree since",
    ),
    ("pack verify", "megadir pack verify --quiet packed && echo whole", "Use the exit code in a script"),
    ("pack cat", "megadir pack cat packed notes.txt", "Print a packed file"),
    (
        "pack cat",
        "megadir list -r0 --match '*.txt' packed/index.parquet | megadir pack cat packed --files0-from -",
        "Print all packed files whose names match",
    ),
    ("pack cat", "megadir pack cat packed ./notes.txt | wc -c", "Count the bytes of a packed file"),
    ("pack extract", "megadir pack extract packed restored", "Write all files into a new directory"),
    ("pack extract", "megadir pack extract --match '*.txt' packed texts", "Write files whose names match"),
    ("pack extract", "megadir pack extract --exclude '*.tmp' packed rest", "Write all other files"),
    ("limits", "megadir limits spool", "Show how many more entries fit, and which limit comes first"),
    ("limits", "megadir limits --name-length 64 --churn spool", "Assume names of 64 bytes that come and go"),
    ("limits", "megadir limits --quiet --warn-at 80% spool", "Warn from cron (exit code 10)"),
    (
        "advise",
        "megadir advise . --files 10M --churn --time 20s",
        "Recommend a layout after a short measurement",
    ),
    (
        "advise",
        "megadir advise . --files 1M --like spool --time 0s",
        "Decide by limits alone and write nothing",
    ),
    ("advise", "megadir advise --layout digest:2 --code python", "Print the function that computes paths"),
    ("backends", "megadir backends", "Show what is available for the current directory"),
    ("backends", "megadir backends spool", "Show what is available for another directory"),
    ("backends", "megadir backends --json", "Print one JSON object per method"),
    ("bench", "megadir bench list", "List the studies"),
    ("bench", "megadir bench run listing --quick", "Run a small study: why is ls slow?"),
    ("bench", "megadir bench report run.jsonl --format html --output page.html", "Make a page of a record"),
    ("bench list", "megadir bench list", "List the studies with their questions"),
    ("bench list", "megadir bench list | grep -A1 '^layout'", "Show the question of one study"),
    ("bench list", "megadir bench list --verbose", "Add sources, sizes and methods"),
    (
        "bench run",
        "megadir bench run listing --dir spool --rounds 7",
        "Measure an existing directory, read-only",
    ),
    (
        "bench run",
        "megadir bench run lookup --entries 10k --rounds 7 --output lookup.jsonl",
        "Choose size and rounds",
    ),
    ("bench run", "megadir bench run layout --layout flat,digest:2 --dry-run", "Show the plan of a run"),
    (
        "bench commands",
        "megadir bench commands --entries 1k --rounds 6 'ls -U {dir}' 'find {dir}'",
        "Compare two commands that list a thousand files",
    ),
    (
        "bench commands",
        "megadir bench commands --changes --dry-run 'rm -r {dir}' '{megadir} remove -y {dir}'",
        "Show the plan for commands that remove the files",
    ),
    (
        "bench commands",
        "megadir bench commands --entries 1k --rounds 6 --export html 'ls -U {dir}' '{megadir} list {dir}'",
        "Also write a page with charts",
    ),
    ("bench report", "megadir bench report run.jsonl", "Print the tables of a run"),
    (
        "bench report",
        "megadir bench report run.jsonl --format html --output page.html",
        "Write a page with charts",
    ),
    (
        "bench report",
        "megadir bench report run.jsonl --format csv --share",
        "Print samples without host names and paths",
    ),
    ("bench compare", "megadir bench compare old.jsonl new.jsonl", "Compare two runs of a study"),
    (
        "bench compare",
        "megadir bench compare old.jsonl new.jsonl --format markdown",
        "Print the comparison for a review",
    ),
    (
        "bench compare",
        "megadir bench compare --old old.jsonl --new new.jsonl --single-run --fail-if slower:5%",
        "Test in a script for a slowdown (exit code 10 or 11)",
    ),
    ("bench filesystems", "megadir bench filesystems", "Show which file systems can be created here"),
    ("bench filesystems", "megadir bench filesystems ext4:block=1k xfs", "Check some, with their variants"),
    ("bench filesystems", "megadir bench filesystems --json tmpfs", "Print one JSON object per file system"),
    (
        "bench clean",
        "megadir bench clean --dry-run",
        "Show leftovers of killed runs below the current directory",
    ),
    ("bench clean", "megadir bench clean", "Remove them"),
    ("bench clean", "megadir bench clean --quiet spool", "Clean another directory from cron"),
    ("generate", "megadir generate bash > megadir.bash", "Write the completions of bash to a file"),
    ("generate", "megadir generate man --output man1", "Write a man page for each command"),
    ("generate", "megadir generate man | man -l -", "Read the manual"),
    ("doctor", "megadir doctor", "Describe program and machine for a bug report"),
    ("doctor", "megadir doctor spool", "Describe the file system of another directory"),
    ("doctor", "megadir doctor --json > doctor.json", "Write the same as a JSON object"),
    ("version", "megadir version", "Print version, target and features"),
    ("version", "megadir version --json", "Print a JSON object"),
    (
        "version",
        "megadir --version --verbose # as megadir version",
        "Print the same by the options of other tools",
    ),
];

pub(crate) fn added(program: Command) -> Command {
    with_examples(program, "")
}

fn with_examples(command: Command, path: &str) -> Command {
    let command = command.mut_subcommands(|below| {
        let path = format!("{path} {}", below.get_name());
        with_examples(below, path.trim_start())
    });
    let examples: String = of(path).map(|(line, purpose)| format!("\n  {line}\n      {purpose}")).collect();
    if examples.is_empty() {
        return command;
    }
    let codes = command.get_after_help().map(|codes| format!("{codes}\n\n")).unwrap_or_default();
    command.after_long_help(format!("{codes}Examples:{examples}"))
}

pub(crate) fn of(path: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    EXAMPLES.iter().filter(move |(of, ..)| *of == path).map(|(_, line, purpose)| (*line, *purpose))
}

#[cfg(test)]
mod tests {
    use super::{EXAMPLES, of};

    fn visible(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        found.push(path.to_owned());
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            visible(below, format!("{path} {}", below.get_name()).trim_start(), found);
        }
    }

    #[test]
    fn every_command_has_three_examples_and_no_other_has() {
        let mut commands = Vec::new();
        visible(&crate::program(), "", &mut commands);
        for command in &commands {
            assert_eq!(of(command).count(), 3, "examples of 'megadir {command}'");
        }
        assert_eq!(EXAMPLES.len(), 3 * commands.len());
    }

    #[test]
    fn examples_are_of_their_command_and_fit_a_line() {
        for (path, line, purpose) in EXAMPLES {
            assert!(line.contains(&format!("megadir {path}")), "{line}");
            assert!(line.len() <= 98 && purpose.len() <= 72, "{line}: {purpose}");
        }
    }
}
