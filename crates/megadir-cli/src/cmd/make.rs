//! `megadir make`: fills a directory with files, and completes it when run again.

use std::path::{Path, PathBuf};

use megadir::layout::{PRESETS, Refused};
use megadir_bench::dataset::{
    Files, FilesError, FillError, FillProgress, Filled, Needs, PlaceBuffer, Rehearsed, Sizes, fill, names_of,
    parse_content, parse_sizes, parse_spread, rehearse, write_spread,
};
use megadir_record::{ContentKind, Made, NameScheme, Spread};

use super::interrupt::{Interrupt, interruptible};
use super::progress::Progress;
use crate::cmd::amount;
use crate::cmd::values;
use crate::exit::{self, CliError};
use crate::ui::message::{counted, quoted};
use crate::ui::output::print;
use crate::ui::{escape, sizes};

/// Fill a directory with reproducible files
///
/// Names and contents follow from a seed. The directory is created if it does not exist, as are the subdirectories of --layout. Running the
/// same command again creates only missing files and completes truncated ones. Anything else with one of the names is left alone (exit code
/// 1). An empty file of that name counts as truncated, unless it has other hard links or belongs to another user.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory to fill
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Number of files, e.g. 1M
    #[arg(short = 'n', long, alias = "files", value_name = "N", value_parser = values::count)]
    entries: u64,
    /// Size of each file, e.g. 10 or 4KiB, or a distribution: uniform:1KiB-100KiB, lognormal:50kB+sigma=1
    #[arg(long = "size", alias = "sizes", value_name = "SIZE|LAW", default_value = "10", value_parser = parse_sizes, long_help = values::sizes_help())]
    sizes: Sizes,
    /// Content of the files: pseudorandom, hex-digest or json
    #[arg(long, value_name = "KIND", default_value = "pseudorandom", value_parser = parse_content, long_help = values::content_help())]
    content: ContentKind,
    /// Naming scheme [default: as the layout requires, else md5]
    #[arg(long, value_enum)]
    names: Option<Names>,
    /// Layout of the files: flat, per-directory:200, prefix:2/2, digest:2/2, git, ...
    #[arg(long, value_name = "LAYOUT", default_value = "flat", value_parser = parse_spread, long_help = layout_help())]
    layout: Spread,
    /// Seed of names and contents
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Do not ask for confirmation
    ///
    /// Without it, creating more than a million files needs a confirmation, and fails if there is no terminal.
    #[arg(short = 'y', long)]
    yes: bool,
    /// Print only errors
    #[arg(short, long, conflicts_with = "dry_run")]
    quiet: bool,
    /// Print what would be created, and write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
}

/// Most files that are created without a question.
const UNCONFIRMED_MAX: u64 = 1_000_000;

#[derive(Clone, Copy, clap::ValueEnum)]
enum Names {
    /// MD5 digest of SEED:INDEX in hex, 32 characters
    Md5,
    /// Pseudorandom permutation of the index in hex, 16 characters
    Hex,
    /// `file` and the index in 12 digits
    Sequence,
    /// Index in decimal
    Decimal,
    /// Index in upper-case hex, at least 8 digits
    UpperHex,
}

fn layout_help() -> String {
    let mut help = String::from(
        "Layout of the files.\n\n\
         flat            all in one directory\n\
         per-directory:9 d000000/abcdef: 9 files per directory\n\
         prefix:2/2      ab/cd/abcdef: directories from the start of the name; with +rest: ab/cd/ef\n\
         suffix:1/2      f/de/abcdef: from the end of the name\n\
         next-to-last:2  de/abcdef: from the end, without the last character\n\
         digest:2/2      be/f5/abcdef: from the SHA-256 of the name in hex\n\
         decimal:3/3/3   000/001/234: the number 1234, zero-padded\n\
         sequence:16/256 01/23/00012345: 16 x 256 directories, filled in turn\n\n\
         +from=2+under=2000 starts with 2 levels and adds levels until a directory holds fewer than 2000 files; \
         +label=TEXT prefixes every directory name; +ending=TEXT is not counted by suffix and next-to-last. Presets:\n\n",
    );
    for preset in PRESETS {
        help.push_str(&format!("{:<15} {}: {}\n", preset.name, preset.layout, preset.about));
    }
    help
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    if args.entries > megadir_bench::plan::ENTRIES_MAX * 100 {
        let entries = args.entries;
        return Err(CliError::usage(format!("--entries {entries}: more files than any directory holds")));
    }
    let names = match args.names {
        None => names_of(&args.layout).unwrap_or(NameScheme::Md5),
        Some(Names::Md5) => NameScheme::Md5,
        Some(Names::Hex) => NameScheme::Hex,
        Some(Names::Sequence) => NameScheme::Sequence,
        Some(Names::Decimal) => NameScheme::Decimal,
        Some(Names::UpperHex) => NameScheme::UpperHex,
    };
    let sizes = args.sizes.clone();
    let made = Made {
        sizes: sizes.law,
        content: args.content,
        spread: args.layout.clone(),
        ..Made::flat(names, sizes.size_bytes)
    };
    let files = Files::new(&made, args.seed, args.entries).map_err(|error| files_error(&error))?;
    // Until here Ctrl-C ends the program at once.
    if !args.dry_run && !may_begin(args, &files)? {
        return Err(CliError::interrupted("nothing was created"));
    }
    interruptible(|interrupt| match args.dry_run {
        true => dry_run(&files, args, interrupt),
        false => make(args, &files, interrupt),
    })
}

/// Names what very many files take, and asks unless `--yes` is given.
fn may_begin(args: &Args, files: &Files) -> Result<bool, CliError> {
    if args.entries <= UNCONFIRMED_MAX {
        return Ok(true);
    }
    let needs = Needs::of(files, &args.directory);
    let amount = needed(args, &needs);
    if !may_fit(args, files, &needs) {
        return Err(CliError::nothing_ran(format!(
            "{amount} do not fit: give fewer with --entries, or smaller ones with --size"
        )));
    }
    #[cfg(any(target_os = "linux", windows))]
    if !args.yes {
        let alternatives = "(--yes skips the question, --dry-run prints what would be created)";
        return crate::cmd::mass_change::request_confirmation(&format!("create {amount}"), alternatives);
    }
    if !args.quiet {
        eprintln!("megadir: creating {amount}");
    }
    Ok(true)
}

/// `false` where even the contents cannot fit: not those in whole blocks, which a server may call 1 MiB and which small files within inodes do
/// not take. Pseudorandom contents do not shrink by compression, and a half is left for doubt. A directory with entries may have most of the files
/// already.
fn may_fit(args: &Args, files: &Files, needs: &Needs) -> bool {
    let is_new = std::fs::read_dir(&args.directory).map_or(true, |mut entries| entries.next().is_none());
    let contents = files.entries() as f64 * files.sizes().blocks(1);
    let shrinks = args.content != ContentKind::Pseudorandom;
    !is_new || shrinks || needs.free_bytes.is_none_or(|free| contents / 2.0 <= free as f64)
}

fn needed(args: &Args, needs: &Needs) -> String {
    let files = amount::plural(args.entries, "file", "files");
    format!("{files} in {} ({})", quoted(&args.directory), taken(needs))
}

fn taken(needs: &Needs) -> String {
    let of_free = |free: Option<String>| free.map_or_else(String::new, |free| format!(" of {free} free"));
    format!(
        "{} on disk{}, {} inodes{}",
        sizes::text(needs.space_bytes),
        of_free(needs.free_bytes.map(sizes::text)),
        amount::amount(needs.inodes),
        of_free(needs.free_inodes.map(amount::amount)),
    )
}

fn dry_run(files: &Files, args: &Args, interrupt: &Interrupt) -> Result<u8, CliError> {
    let rehearse =
        |progress: &mut Progressed<'_>| rehearse(&args.directory, files, progress, &interrupt.stop);
    let found = shown(args, interrupt, rehearse)?;
    if found.filled.stopped {
        return Err(CliError::interrupted("interrupted; nothing was written"));
    }
    print(&rehearsal(args, files, &found)?)?;
    Ok(left_alone(&found.filled))
}

type Progressed<'a> = dyn FnMut(FillProgress) + 'a;

fn shown<R>(
    args: &Args,
    interrupt: &Interrupt,
    fill: impl FnOnce(&mut Progressed<'_>) -> Result<R, FillError>,
) -> Result<R, CliError> {
    let shown = Progress::new("files", args.quiet);
    shown.counter().expect(Some(args.entries), false);
    let filled = fill(&mut |progress| {
        interrupt.beats();
        shown.counter().set(progress.done);
    });
    drop(shown);
    filled.map_err(|error| explain(error, &args.directory))
}

fn rehearsal(args: &Args, files: &Files, found: &Rehearsed) -> Result<String, CliError> {
    let Rehearsed { filled, more_directories, bytes } = found;
    let mut text = format!("would create in {}: {}", quoted(&args.directory), files_of(filled.made));
    if !files.is_flat() {
        let more = if *more_directories { "more than " } else { "" };
        text.push_str(&format!(", {more}{}", counted(filled.directories_made, "directory", "directories")));
    }
    text.push_str(&format!(", {bytes} bytes of content\n"));
    if filled.made > 0 {
        let needs = Needs::of(files, &args.directory);
        text.push_str(&format!("all files take about {}\n", taken(&needs)));
    }
    for (count, state) in [
        (filled.already, "present already"),
        (filled.completed, "would be completed"),
        (filled.taken, "cannot be created: the name is taken"),
    ] {
        if count > 0 {
            text.push_str(&format!("{} {state}\n", files_of(count)));
        }
    }
    if !files.is_flat() {
        let mut buffer = PlaceBuffer::new();
        let first = files.place(0, &mut buffer).map_err(CliError::usage)?;
        let first = String::from_utf8_lossy(first.path());
        text.push_str(&format!("layout {}: the first file is {first}\n", write_spread(&args.layout)));
    }
    Ok(text)
}

fn make(args: &Args, files: &Files, interrupt: &Interrupt) -> Result<u8, CliError> {
    let fill = |progress: &mut Progressed<'_>| fill(&args.directory, files, progress, &interrupt.stop);
    let filled = shown(args, interrupt, fill)?;
    if !args.quiet || filled.stopped || filled.taken > 0 {
        eprintln!("megadir: {}: {}", quoted(&args.directory), summary(&filled, files));
    }
    if filled.stopped {
        let (there, all) = (filled.made + filled.already + filled.completed, files_of(args.entries));
        let there = format!("{} has {there} of {all}", quoted(&args.directory));
        return Err(CliError::interrupted(format!("interrupted: {there}; run the same command to continue")));
    }
    Ok(left_alone(&filled))
}

fn left_alone(filled: &Filled) -> u8 {
    if filled.taken == 0 {
        return exit::DONE;
    }
    for name in &filled.taken_names {
        let name = escape::terminal_text(name);
        eprintln!("megadir: left alone: '{name}' is not a file of this data set");
    }
    let more = filled.taken - filled.taken_named;
    if more > 0 {
        eprintln!("megadir: left alone: {more} more");
    }
    exit::SOME_FAILED
}

fn summary(filled: &Filled, files: &Files) -> String {
    let mut text = format!("created {}", files_of(filled.made));
    if !files.is_flat() {
        text.push_str(&format!(" and {}", counted(filled.directories_made, "directory", "directories")));
    }
    let others =
        [(filled.already, "existed already"), (filled.completed, "completed"), (filled.taken, "left alone")];
    for (count, state) in others {
        if count > 0 {
            text.push_str(&format!(", {count} {state}"));
        }
    }
    text
}

fn files_of(number: u64) -> String {
    counted(number, "file", "files")
}

fn explain(error: FillError, directory: &Path) -> CliError {
    let error = match error {
        FillError::Files(error) => return files_error(&error),
        FillError::Make { name, made, of, source } => {
            let name = directory.join(name).to_string_lossy().into_owned();
            FillError::Make { name, made, of, source }
        }
        other => other,
    };
    match error {
        FillError::NoRoom { made, .. } | FillError::Make { made, .. } if made > 0 => {
            CliError::some_failed(format!("{error}; the files created so far are kept"))
        }
        _ => CliError::nothing_ran(error),
    }
}

fn files_error(error: &FilesError) -> CliError {
    match error {
        FilesError::Refused { reason, .. } => {
            let hint = match reason {
                Refused::NotDecimal { .. } => " (use --names decimal)",
                Refused::NotSequence => " (use --names upper-hex)",
                _ => "",
            };
            CliError::usage(format!("{error}{hint}"))
        }
        FilesError::Layout { .. } | FilesError::Contradiction(_) => CliError::usage(error),
    }
}
