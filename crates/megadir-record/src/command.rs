//! Work of a program: its command line, and what makes it equal to the work of others.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A program in a process of its own, one run per operation.
// The line is kept as written, with its placeholders, so that a record can be read and run elsewhere.
// `expected` is found by the task's reference before the first block, and every other program of the task
// must have it too, since times of unequal work are no comparison. What is compared is what a program prints
// or leaves; the record names the criterion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandWork {
    /// The arms of a task do the same work; the first is the reference.
    pub task: String,
    /// `{dir}` stands for the data set's directory, `{n}` for its number of files, `{out}` for an unused name
    /// of its own, `{megadir}` for the program that measures.
    pub line: String,
    /// `true` if `/bin/sh` interprets the line; its start-up is timed too.
    pub shell: bool,
    /// Set in addition to the caller's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Destination of the program's output.
    pub output: OutputTo,
    /// Criterion of equal work for all programs of the task.
    pub same: SameWork,
    /// `true` if the program changes its data set, which is then recreated before the next block.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changes: bool,
    /// Command line that prepares each run, untimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<String>,
    /// Exit code of success.
    pub exit_code: i32,
    /// A longer run ends its arm, nanoseconds.
    pub timeout_ns: u64,
    /// First line of `PROGRAM --version`; `None` if the program prints none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Result of the task's reference, found before the first block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedOutput>,
    /// The program makes a container of the data set once, untimed, and each operation is a read from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
}

/// Reads from a container of the data set, by one thread of the measuring process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reading {
    pub container: Container,
    /// Layout of the files in a container that is a directory, e.g. `prefix:2`; `None` for that of the data set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    pub operation: ReadOperation,
    /// Files of a block; each is one operation.
    pub files: u64,
}

crate::named! {
    /// Form in which the files of a data set are kept.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum Container {
        /// Files in directories: the data set itself, if no program makes another one.
        Directory = "directory",
        /// Image of the kernel's file system, mounted on a loop device.
        Squashfs = "squashfs",
        /// Image of the kernel's file system, mounted on a loop device.
        Erofs = "erofs",
        /// tar files with an index, of `megadir pack create`.
        Pack = "pack",
        /// Archive with stored members, read by the crate `zip`.
        Zip = "zip",
        /// Table `sqlar` with stored contents, read by the machine's `libsqlite3`.
        Sqlite = "sqlite",
    }
}

crate::named! {
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum ReadOperation {
        /// Opens (or mounts) the container, reads one file by its path, and closes both, again for each file.
        First = "first",
        /// Files by their paths, drawn at random without repetition, from a container that is open.
        Random = "random",
        /// Opens the container, reads the contents of all files, in the order that suits it, and closes it.
        All = "all",
        /// Opens the container, lists the paths and sizes of all files, and closes it.
        List = "list",
    }
}

crate::named! {
    /// Destination of a program's standard output.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum OutputTo {
        /// Pipe that the measuring program reads to its end.
        Pipe = "pipe",
        /// `/dev/null`. Some programs do less if they find it there, and output is checked only before the run.
        Null = "null",
        /// File on the data set's file system, removed after each run.
        File = "file",
    }
}

/// Condition under which the work of programs is equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SameWork {
    /// The same lines in any order. The directory's path or `./` before a name, a slash after it, and a line
    /// that names only the directory do not count.
    Lines,
    Count,
    ExitCode,
    /// The same files and directories left in the data set.
    Left,
    /// Different results are compared on purpose.
    Unequal,
}

/// Result of a program that others must have too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExpectedOutput {
    /// Number of lines, or of entries left in the data set; 0 if neither counts.
    pub lines: u64,
    /// Order-independent hash of the lines or entries; 0 if it does not count.
    pub hash: u64,
}

impl CommandWork {
    pub fn program(&self) -> &str {
        self.line.split_whitespace().next().unwrap_or_default()
    }
}
