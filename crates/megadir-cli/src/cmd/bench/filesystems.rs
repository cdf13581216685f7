//! `megadir bench filesystems`: file systems of the lab and their availability.

use std::path::PathBuf;

use megadir_bench::lab::{FILE_SYSTEMS, Fact, Spec, survey};
use megadir_record::{LabFileSystem, Place};

use crate::cmd::interrupt::interruptible;
use crate::exit::{self, CliError};
use crate::ui::object::Object;
use crate::ui::output::print;

/// List the file systems for 'bench run --fs', and which are available
///
/// As root, creates each file system in a small image below --dir, mounts it in a private mount namespace, and removes it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// File systems to check, with variants: ext4:block=1k, xfs:ftype=0 [default: all]
    #[arg(value_name = "FS", value_parser = Spec::parse)]
    specs: Vec<Spec>,
    /// Directory for the images; on a disk, also checks for direct I/O
    #[arg(long, value_name = "DIR", default_value = ".", value_parser = exit::directory_parser())]
    dir: PathBuf,
    /// Print one JSON object per file system
    ///
    /// Fields: v (format version, 1), file_system, about, available, proven, reason, label, driver, make, tool, mount_options, direct_io, variants.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let all = || FILE_SYSTEMS.iter().map(|entry| Spec::parse(entry.name)).collect::<Result<_, _>>();
    let specs = if args.specs.is_empty() { all().map_err(CliError::usage)? } else { args.specs.clone() };
    let found = interruptible(|interrupt| {
        survey(&args.dir, &specs, interrupt.control()).map_err(|error| match interrupt.is_requested() {
            true => CliError::interrupted("interrupted"),
            false => CliError::nothing_ran(error),
        })
    })?;
    for name in &found.leftovers.removed {
        eprintln!("megadir: removed {}, a leftover of a killed run", args.dir.join(name).display());
    }
    let mut text = String::new();
    if args.json {
        found.facts.iter().for_each(|fact| text.push_str(&json(fact, found.proven)));
    } else {
        found.facts.iter().for_each(|fact| describe(&mut text, fact));
        text.push_str(match found.proven {
            true => "\neach was created, mounted and removed; options not shown are the defaults of mkfs\n",
            false => "\njudged by the installed drivers and programs; creating and mounting needs CAP_SYS_ADMIN (run as root)\n",
        });
    }
    print(&text)
}

fn describe(text: &mut String, fact: &Fact) {
    let label = fact.proven.as_ref().map_or_else(|| fact.spec.to_string(), |proven| proven.label.clone());
    let state = match (&fact.unavailable, &fact.proven) {
        (Some(_), _) => "unavailable",
        (None, Some(_)) => "available",
        (None, None) => "not tested",
    };
    text.push_str(&format!("{label:<24} {state:<12} {}\n", fact.spec.entry.about));
    let mut line = |name: &str, value: &str| text.push_str(&format!("    {name:<13} {value}\n"));
    if let Some(reason) = &fact.unavailable {
        line("reason", reason);
    }
    let (make, options) = (fact.spec.make(), mount_options(fact));
    if !make.is_empty() {
        line("created by", &make.join(" "));
    }
    if let Some(tool) = &fact.tool {
        line("version", tool);
    }
    line("mounted with", &options);
    if let Some(direct) = fact.proven.as_ref().and_then(direct_io) {
        let direct = if direct { "direct I/O" } else { "through the page cache" };
        line("image", direct);
    }
    line("variants", &fact.spec.entry.variants_in_words().join(", "));
}

fn mount_options(fact: &Fact) -> String {
    let given = || fact.spec.mount_options().join(",");
    fact.proven.as_ref().map_or_else(given, |proven| proven.mount_options.clone())
}

fn direct_io(proven: &LabFileSystem) -> Option<bool> {
    match proven.place {
        Place::Image { direct_io, .. } => direct_io,
        Place::Device { .. } | Place::Memory { .. } | Place::Directory { .. } => None,
    }
}

fn json(fact: &Fact, proven: bool) -> String {
    let known = fact.proven.as_ref();
    Object::text(|object| {
        object.string("file_system", &fact.spec.to_string());
        object.string("about", fact.spec.entry.about);
        object.raw("available", fact.unavailable.is_none());
        object.raw("proven", proven);
        object.string_or_null("reason", fact.unavailable.as_deref());
        object.string_or_null("label", known.map(|known| known.label.as_str()));
        object.string_or_null("driver", known.map(|known| known.driver.as_str()));
        object.strings("make", &fact.spec.make());
        object.string_or_null("tool", fact.tool.as_deref());
        object.string("mount_options", &mount_options(fact));
        object.raw_or_null("direct_io", known.and_then(direct_io));
        object.strings("variants", &fact.spec.entry.variants_in_words());
    })
}
