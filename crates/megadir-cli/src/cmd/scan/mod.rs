//! `megadir scan`: writes an inventory of trees.

pub(super) mod args;
mod hashes;
mod text;

pub(crate) use args::Args;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use megadir::{Conditions, Dir, TreeEvent};
use megadir_bench::control::{WRITING_BACK, marked};
#[cfg(unix)]
use megadir_inventory::Lists;
use megadir_inventory::{
    GROUP_ROWS, Inventory, Metadata, Row, Rows, ScanOptions, ScanWatch, Sink, WriteOptions, Writer, scan,
};
use megadir_tasks::{Kind, Request, finish_folder};

use self::hashes::Hashes;
use self::text::{Form, TextSink};
use super::engine::Engine;
use super::interrupt::{Interrupt, interruptible};
#[cfg(unix)]
use super::list::examined::MEMORY_BYTES;
use super::progress::TreeProgress;
use super::ranked::{self, Parts, Work};
#[cfg(unix)]
use super::values::ListLimits;
use crate::exit::{self, CliError, refuse_if};
use crate::ui::message::{counted, quoted};
#[cfg(unix)]
use crate::ui::new_file::folder_of;
use crate::ui::sizes;

type SharedConditions = Option<Arc<Conditions>>;

/// Higher levels take longer than the scan and save little: most of the data is names.
const LEVEL: i32 = 1;

pub(in crate::cmd) fn write_options(threads: Option<usize>) -> WriteOptions {
    let threads = threads.unwrap_or_else(megadir::policy::processors);
    WriteOptions { threads: if threads == 1 { 0 } else { threads }, level: LEVEL, group_rows: GROUP_ROWS }
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    #[cfg(not(unix))]
    if let Some(limits) = args.split {
        match limits {}
    }
    #[cfg(unix)]
    if let (Some(directory), Some(limits)) = (&args.lists, args.split) {
        let conditions = args.conditions()?;
        check_lists(args, directory)?;
        return interruptible(|interrupt| write_lists(args, (directory, limits), conditions, interrupt));
    }
    check_apart(&args.paths, args.reading.cross_mounts)?;
    if let Some(Engine::Mpi) = args.engine {
        return ranked(args);
    }
    let form = form(args)?;
    let conditions = args.conditions()?;
    interruptible(|interrupt| match (args.dry_run, form) {
        (true, _) => rehearse(args, conditions, interrupt),
        (false, None) => parquet(args, conditions, interrupt),
        (false, Some(form)) => text(args, form, conditions, interrupt),
    })
}

/// `--lists`: lists of paths for programs that copy in parallel.
#[cfg(unix)]
fn check_lists(args: &Args, directory: &Path) -> Result<(), CliError> {
    let [tree] = &args.paths[..] else {
        return Err(CliError::usage("--lists: paths are relative to the tree, so name a single PATH"));
    };
    let real = |path: &Path| -> PathBuf { std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()) };
    match real(folder_of(directory)).starts_with(real(tree)) {
        true => Err(CliError::usage(format!(
            "--lists {}: it is below {}, whose entries it would list: name a directory outside",
            quoted(directory),
            quoted(tree)
        ))),
        false => Ok(()),
    }
}

#[cfg(unix)]
fn write_lists(
    args: &Args,
    (directory, limits): (&Path, ListLimits),
    conditions: SharedConditions,
    interrupt: &Interrupt,
) -> Result<u8, CliError> {
    let memory_bytes = args.reading.memory.unwrap_or(MEMORY_BYTES) / 2;
    let spill = args::spill_directory(Some(directory));
    let mut options = args.reading.options(&args.paths, Some(directory), Vec::new(), conditions)?;
    options.memory_bytes = memory_bytes;
    let mut lists = Lists::create(directory, limits, memory_bytes, spill)?;
    let started = Instant::now();
    let metadata = scanned(args, &options, interrupt, &mut lists)?;
    let done = marked(&interrupt.beat, WRITING_BACK, || lists.finish())?;
    let written = format!("{} in {}", counted(done.lists, "list", "lists"), quoted(directory));
    Ok(concluded(args, &Found::of(&metadata), started.elapsed(), Some(written)))
}

/// Refuses trees that contain each other: their entries would count twice. Without `cross_mounts`, trees on different mounts have none in common.
pub(in crate::cmd) fn check_apart(paths: &[PathBuf], cross_mounts: bool) -> Result<(), CliError> {
    let mount = |path: &Path| {
        let id = Dir::open(path).and_then(|directory| directory.id()).ok()?;
        Some((id.device, id.mount))
    };
    let may_share = |left: &Path, right: &Path| {
        cross_mounts || mount(left).is_none_or(|left| mount(right).is_none_or(|right| left == right))
    };
    let real: Vec<_> =
        paths.iter().filter_map(|path| Some((path, std::fs::canonicalize(path).ok()?))).collect();
    for (at, (path, inner)) in real.iter().enumerate() {
        let mut others = real.iter().enumerate().filter(|(other, _)| *other != at);
        let outer = others.find(|(_, (_, outer))| inner.starts_with(outer) && may_share(inner, outer));
        if let Some((_, (outer, _))) = outer {
            let (path, outer) = (quoted(path), quoted(outer));
            return Err(CliError::usage(format!("{path} is in {outer}: name each tree once")));
        }
    }
    Ok(())
}

fn ranked(args: &Args) -> Result<u8, CliError> {
    let Some(folder) = args.file() else {
        return Err(CliError::usage("--output -: --engine mpi writes into a folder: name one"));
    };
    let request = ranked::request(Kind::Scan, args.paths.clone());
    let request = Request { folder: Some(folder.to_owned()), fresh: args.reading.readers.fresh, ..request };
    let parts = if args.resume { Parts::Continued } else { Parts::New };
    let work = Work { request, parts, idle: args.reading.idle, quiet: args.quiet };
    ranked::run(&work, |schedule, elapsed, _| {
        let parts = schedule.parts();
        finish_folder(folder, parts)?;
        let found = Found {
            rows: parts.iter().map(|part| part.rows - part.repeated).sum(),
            failed: parts.iter().map(|part| part.failed).sum(),
            unread_directories: parts.iter().map(|part| part.unread_directories).sum(),
        };
        let written = format!("{}, {}", quoted(folder), counted(parts.len() as u64, "part", "parts"));
        Ok(concluded(args, &found, elapsed, Some(written)))
    })
}

/// `None` is Parquet. The form comes from an option or from the ending of the file. If both are given they have to
/// agree, because a file whose ending names another form is read wrongly later. Endings that mean something else are
/// refused and not ignored. Standard output takes only text.
fn form(args: &Args) -> Result<Option<Form>, CliError> {
    let requested = match (args.jsonl, args.csv) {
        (true, _) => Some(Form::Jsonl),
        (_, true) => Some(Form::Csv),
        _ => None,
    };
    let Some(path) = args.file() else {
        let reason =
            "--output -: Parquet cannot be written to standard output; add --jsonl or --csv, or name a file";
        return refuse_if(&[(requested.is_none() && !args.dry_run, reason)]).map(|()| requested);
    };
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    let named = match extension.as_deref() {
        Some("csv") => Some(Form::Csv),
        Some("jsonl" | "ndjson") => Some(Form::Jsonl),
        Some("parquet") => None,
        Some("json") if requested.is_none() => {
            let reason = "would be a single document, but inventories have one object per line; name it .jsonl, or add --jsonl";
            return Err(CliError::usage(format!("--output {}: .json {reason}", quoted(path))));
        }
        Some(ending) => return other_ending(path, ending, requested),
        None => return Ok(requested),
    };
    if requested.is_some() && requested != named {
        let (option, path) = (if args.jsonl { "--jsonl" } else { "--csv" }, quoted(path));
        return Err(CliError::usage(format!(
            "{option} and --output {path} contradict each other: leave the option out, or rename the file"
        )));
    }
    Ok(named)
}

/// Endings of text, which CSV and JSON lines may have.
const TEXT: [&str; 3] = ["txt", "text", "log"];
const COMPRESSED: [&str; 12] =
    ["gz", "tgz", "bz2", "xz", "zst", "lz4", "lzma", "br", "z", "zip", "7z", "rar"];
const OTHER_FORMATS: [&str; 29] = [
    "tsv", "tab", "psv", "xls", "xlsx", "ods", "db", "sqlite", "sqlite3", "duckdb", "sql", "arrow", "arrows",
    "feather", "ipc", "orc", "avro", "pb", "cbor", "msgpack", "html", "htm", "xml", "yaml", "yml", "toml",
    "md", "pdf", "tar",
];

/// Refuses the ending of another format; unknown endings are free.
fn other_ending(path: &Path, ending: &str, requested: Option<Form>) -> Result<Option<Form>, CliError> {
    let hint = if COMPRESSED.contains(&ending) {
        "scan compresses Parquet only; name it .parquet, or compress --csv or --jsonl in a pipe"
    } else if OTHER_FORMATS.contains(&ending) {
        "scan does not write this format; name it .parquet, .csv or .jsonl"
    } else if TEXT.contains(&ending) && requested.is_none() {
        "Parquet is not text; name it .parquet, .csv or .jsonl, or add --csv or --jsonl"
    } else {
        return Ok(requested);
    };
    Err(CliError::usage(format!("--output {}: {hint}", quoted(path))))
}

fn parquet(args: &Args, conditions: SharedConditions, interrupt: &Interrupt) -> Result<u8, CliError> {
    let Some(output) = args.file() else { return Err(CliError::usage("--output is missing")) };
    let roots = args.roots()?;
    let writer = Writer::create(output, roots.clone(), write_options(args.reading.readers.threads))?;
    let mut exclude = writer.excluded();
    let hashes = Hashes::new(args, interrupt);
    let mut hashing = hashes.before(writer)?;
    exclude.extend(hashes.continued(&mut hashing, output, &roots)?);
    let options = args.reading.options(&args.paths, Some(output), exclude, conditions)?;
    let started = Instant::now();
    let metadata = scanned(args, &options, interrupt, &mut hashing)?;
    let (writer, code, journal) = hashes.after(hashing)?;
    let bytes = marked(&interrupt.beat, WRITING_BACK, || writer.finish(&metadata))?;
    journal.remove()?;
    Ok(code.max(conclude(args, &metadata, started.elapsed(), Some((output, bytes)))))
}

fn text(
    args: &Args,
    form: Form,
    conditions: SharedConditions,
    interrupt: &Interrupt,
) -> Result<u8, CliError> {
    let output = args.file();
    let sink = TextSink::create(form, output, args.roots()?)?;
    let options = args.reading.options(&args.paths, output, sink.excluded(), conditions)?;
    let hashes = Hashes::new(args, interrupt);
    let (mut hashing, started) = (hashes.before(sink)?, Instant::now());
    let scanned = scanned(args, &options, interrupt, &mut hashing);
    if let Some(ended) = hashing.sink_mut().ended.take() {
        return ended.code();
    }
    let metadata = scanned?;
    let (sink, code, _) = hashes.after(hashing)?;
    let bytes = match marked(&interrupt.beat, WRITING_BACK, || sink.finish()) {
        Ok(bytes) => bytes,
        Err(ended) => return ended.code(),
    };
    Ok(code.max(conclude(args, &metadata, started.elapsed(), output.zip(bytes))))
}

fn rehearse(args: &Args, conditions: SharedConditions, interrupt: &Interrupt) -> Result<u8, CliError> {
    struct Nowhere;
    impl Sink for Nowhere {
        fn add(&mut self, _row: &Row<'_>) -> megadir::Result<()> {
            Ok(())
        }
    }
    let options = args.reading.options(&args.paths, None, Vec::new(), conditions)?;
    let started = Instant::now();
    let metadata = scanned(args, &options, interrupt, &mut Nowhere)?;
    Ok(conclude(args, &metadata, started.elapsed(), None))
}

fn scanned(
    args: &Args,
    options: &ScanOptions,
    interrupt: &Interrupt,
    sink: &mut dyn Sink,
) -> Result<Metadata, CliError> {
    if args.reading.idle {
        megadir::io_priority::make_idle()?;
    }
    let mut progress = TreeProgress::new(args.all_errors, args.quiet);
    let mut watch = |event: TreeEvent<'_>| {
        interrupt.beats();
        progress.report(&event);
        interrupt.flow()
    };
    let scanned = match &args.merge {
        Some(folder) => merge(folder, &mut watch, sink),
        None => scan(&args.paths, options, &mut watch, sink),
    };
    progress.finish();
    if interrupt.is_requested() {
        return Err(interrupted(args));
    }
    scanned?.ok_or_else(|| interrupted(args))
}

fn interrupted(args: &Args) -> CliError {
    CliError::interrupted(match args.file().filter(|output| output.exists()) {
        Some(output) => format!("interrupted; {} is unchanged", quoted(output)),
        None => "interrupted; nothing was written".to_owned(),
    })
}

fn conclude(args: &Args, metadata: &Metadata, elapsed: Duration, written: Option<(&Path, u64)>) -> u8 {
    let written = written.map(|(path, bytes)| format!("{}, {}", quoted(path), sizes::text(bytes)));
    concluded(args, &Found::of(metadata), elapsed, written)
}

struct Found {
    rows: u64,
    failed: u64,
    unread_directories: u64,
}

impl Found {
    fn of(metadata: &Metadata) -> Self {
        let Metadata { rows, failed, unread_directories, .. } = *metadata;
        Self { rows, failed, unread_directories }
    }
}

fn concluded(args: &Args, found: &Found, elapsed: Duration, written: Option<String>) -> u8 {
    let Found { rows, failed, unread_directories } = *found;
    let is_complete = failed + unread_directories == 0;
    let rate = rows as f64 / elapsed.as_secs_f64().max(1e-9);
    let entries = counted(rows, "entry", "entries");
    let mut text = format!("{entries} in {:.2} s, {rate:.0} per second", elapsed.as_secs_f64());
    if let Some(written) = written {
        text.push_str(&format!("; {written}"));
    }
    if !(args.quiet && is_complete) {
        eprintln!("megadir: {text}");
    }
    if is_complete {
        return exit::DONE;
    }
    let mut lacking = Vec::new();
    if unread_directories > 0 {
        let directories = counted(unread_directories, "directory", "directories");
        lacking.push(format!("{directories} could not be read"));
    }
    // Each unread directory also counts as a row with an error.
    let unexamined = failed.saturating_sub(unread_directories);
    if unexamined > 0 {
        lacking.push(format!("{} could not be examined", counted(unexamined, "entry", "entries")));
    }
    eprintln!("megadir: incomplete: {}", lacking.join(", "));
    exit::SOME_FAILED
}

/// Rows of parts between two looks at an interrupt.
const WATCH_ROWS: u64 = 1 << 14;

fn merged_roots(folder: &Path) -> megadir::Result<Vec<Vec<u8>>> {
    Ok(open_parts(folder)?.metadata().roots.iter().map(|root| root.path.clone()).collect())
}

/// Reads one inventory from a folder of parts (`--merge`); `None` if `watch` requested a stop.
fn merge(folder: &Path, watch: &mut ScanWatch<'_>, sink: &mut dyn Sink) -> megadir::Result<Option<Metadata>> {
    let mut parts = open_parts(folder)?;
    let mut read = 0;
    while let Some(row) = parts.next_row()? {
        sink.add(&row)?;
        read += 1;
        if read % WATCH_ROWS == 0 && watch(TreeEvent::Read(read)).is_break() {
            return Ok(None);
        }
    }
    Ok(Some(parts.metadata().clone()))
}

fn open_parts(folder: &Path) -> megadir::Result<Inventory> {
    let parts = Inventory::open(folder)?;
    parts.unfinished().map_or(Ok(parts), Err)
}
