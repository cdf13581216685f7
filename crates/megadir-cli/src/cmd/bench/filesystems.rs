//! `megadir bench filesystems`: the file systems of the lab, and which of them this machine can have.

use std::path::PathBuf;

use megadir_bench::lab::{FILE_SYSTEMS, Fact, Spec, Survey, survey};
use megadir_record::{LabFileSystem, Place};
use serde::Serialize;

use crate::cmd::interrupt::interruptible;
use crate::exit::{self, CliError};
use crate::ui::output::print;

/// Lists the file systems that 'bench run --fs' can make, and which of them this machine can have.
///
/// As root each is really made on a small image below the directory, mounted where nobody else sees it, and removed.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Ask about these alone, with variants if need be: ext4:block=1k, xfs:ftype=0 [default: all].
    #[arg(value_name = "FS", value_parser = Spec::parse)]
    specs: Vec<Spec>,
    /// Where images are made for a moment; a directory on a disk tells whether direct I/O is to be had.
    #[arg(long, value_name = "DIR", default_value = ".", value_parser = exit::directory_parser())]
    dir: PathBuf,
    /// Print a JSON object a line: v, file_system, about, available, proven, reason, label, driver, make, tool, mount_options, direct_io, variants.
    #[arg(long)]
    json: bool,
}

/// Prints what is known of each.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let all = || FILE_SYSTEMS.iter().map(|entry| Spec::parse(entry.name)).collect::<Result<_, _>>();
    let specs = if args.specs.is_empty() { all().map_err(CliError::usage)? } else { args.specs.clone() };
    let found = interruptible(|interrupt| {
        survey(&args.dir, &specs, &interrupt.stop, &interrupt.beat).map_err(|error| match interrupt.asked() {
            true => CliError { message: "interrupted".to_owned(), code: exit::INTERRUPTED },
            false => CliError::nothing_ran(error.to_string()),
        })
    })?;
    for name in &found.leftovers.removed {
        eprintln!("megadir: removed {}, left by a run that was killed", args.dir.join(name).display());
    }
    let mut text = String::new();
    if args.json {
        for fact in &found.facts {
            let line = serde_json::to_string(&Line::of(fact, found.proven));
            text.push_str(&line.map_err(|error| CliError::nothing_ran(error.to_string()))?);
            text.push('\n');
        }
    } else {
        found.facts.iter().for_each(|fact| describe(&mut text, fact));
        text.push_str(basis(&found));
    }
    print(&text)?;
    Ok(exit::DONE)
}

/// Says how it is known what can be had.
fn basis(found: &Survey) -> &'static str {
    match found.proven {
        true => "\neach was made, mounted and removed; what is not said here is as mkfs does it by default\n",
        false => {
            "\nas far as drivers and programs tell: to make and mount them needs CAP_SYS_ADMIN (run it as root)\n"
        }
    }
}

fn describe(text: &mut String, fact: &Fact) {
    let label = fact.proven.as_ref().map_or_else(|| fact.spec.to_string(), |proven| proven.label.clone());
    let state = match (&fact.unavailable, &fact.proven) {
        (Some(_), _) => "unavailable",
        (None, Some(_)) => "available",
        (None, None) => "not tried",
    };
    text.push_str(&format!("{label:<24} {state:<12} {}\n", fact.spec.entry.about));
    let mut line = |name: &str, value: &str| text.push_str(&format!("    {name:<13} {value}\n"));
    if let Some(reason) = &fact.unavailable {
        line("because", reason);
    }
    let (make, options) = (fact.spec.make(), mount_options(fact));
    if !make.is_empty() {
        line("made by", &make.join(" "));
    }
    if let Some(tool) = &fact.tool {
        line("that is", tool);
    }
    line("mounted with", &options);
    if let Some(direct) = fact.proven.as_ref().and_then(direct_io) {
        let direct = if direct { "past the page cache (direct I/O)" } else { "through the page cache" };
        line("image", direct);
    }
    line("variants", &fact.spec.entry.variants_in_words().join(", "));
}

fn mount_options(fact: &Fact) -> String {
    let given = || fact.spec.mount_options().join(",");
    fact.proven.as_ref().map_or_else(given, |proven| proven.mount_options.clone())
}

/// Returns whether an image was read and written past the page cache; `None` where there is no image.
fn direct_io(proven: &LabFileSystem) -> Option<bool> {
    match proven.place {
        Place::Image { direct_io, .. } => direct_io,
        Place::Device { .. } | Place::Memory { .. } => None,
    }
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line {
    v: u32,
    file_system: String,
    about: &'static str,
    available: bool,
    /// Whether that was tried.
    proven: bool,
    reason: Option<String>,
    label: Option<String>,
    driver: Option<String>,
    make: Vec<String>,
    tool: Option<String>,
    mount_options: String,
    direct_io: Option<bool>,
    variants: Vec<String>,
}

impl Line {
    fn of(fact: &Fact, proven: bool) -> Self {
        let known = fact.proven.as_ref();
        Self {
            v: 1,
            file_system: fact.spec.to_string(),
            about: fact.spec.entry.about,
            available: fact.unavailable.is_none(),
            proven,
            reason: fact.unavailable.clone(),
            label: known.map(|known| known.label.clone()),
            driver: known.map(|known| known.driver.clone()),
            make: fact.spec.make(),
            tool: fact.tool.clone(),
            mount_options: mount_options(fact),
            direct_io: known.and_then(direct_io),
            variants: fact.spec.entry.variants_in_words(),
        }
    }
}
