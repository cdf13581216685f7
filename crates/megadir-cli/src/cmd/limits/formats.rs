//! Limits for programs: JSON, one object per line, with exact numbers and the basis of each; metrics.
//!
//! Both formats carry the three values of an estimate, which is a likely value between two bounds:
//!
//! ```text
//! Span { likely, low, high } ─┬─► JSON      {"likely": .., "low": .., "high": .., "basis": {"known": .., "how": ..}}
//!                             └─► metrics   NAME, NAME_low, NAME_high (the basis has no place there)
//! ```

use std::path::Path;

use megadir::limits::{Basis, Ceiling, Details, Fact, Limit, Limits, Span, Trap};
use megadir::names;

use crate::cmd::prometheus::{Labels, Metrics, Name};
use crate::cmd::times::now_s;
use crate::ui::object::Object;

/// One object on a line. Each estimated figure has the basis on which it rests next to it, so that a program
/// can judge it as a person does. Unknown facts are null and keep their names: a program can then distinguish them
/// from a version without them. `time` is only for `--watch`.
pub(super) fn json(text: &mut Vec<u8>, limits: &Limits, time: Option<&str>) {
    let facts = &limits.facts;
    Object::line(text, |object| {
        object.name("dir", names::from_os(facts.path.as_os_str()));
        if let Some(time) = time {
            object.string("time", time);
        }
        object.string("file_system", &facts.file_system.to_string());
        object.string_or_null("mounted_as", facts.mount.as_ref().map(|mount| mount.kind.as_str()));
        object.string_or_null("seen_as", facts.seen_as.map(|seen| seen.to_string()).as_deref());
        object.raw("upper_layer", facts.is_upper_layer);
        object.string_or_null("model", limits.model.map(|model| model.about));
        object.raw("block_bytes", facts.space.block_bytes);
        features(object, &facts.details);
        object.raw("directory_bytes", facts.directory_bytes);
        object.part_or_null("entries", facts.entries.as_ref(), counted);
        object.part_or_null("merged_entries", facts.merged_entries.as_ref(), counted);
        object.part("name_bytes", |part| {
            let names = &facts.names.value;
            part.raw("mean", names.mean());
            part.raw("shortest", names.shortest());
            part.raw("longest", names.longest());
            basis(part, &facts.names.basis);
        });
        object.part("content_bytes", |part| {
            part.raw("mean", facts.contents.value.mean_bytes);
            part.raw("low", facts.contents.value.low_bytes);
            part.raw("high", facts.contents.value.high_bytes);
            part.raw("error", facts.contents.value.high_bytes - facts.contents.value.mean_bytes);
            basis(part, &facts.contents.basis);
        });
        object.part_or_null("index", limits.judgement.gauge.as_ref(), |part, gauge| {
            part.raw("bytes", gauge.bytes);
            part.raw("full_bytes", gauge.full_bytes);
            part.raw("used", rounded(gauge.used()));
            basis(part, &gauge.basis);
        });
        object.part_or_null("capacity", limits.judgement.capacity.as_ref(), counted);
        object.part_or_null("plan", limits.judgement.plan.as_ref(), |part, plan| {
            part.raw("growing", plan.growing);
            part.raw("churning", plan.churning);
        });
        object.part_or_null("entries_until_full", limits.entries_until_full().as_ref(), |part, more| {
            span(part, *more);
        });
        let subdirectories = limits.subdirectories_until_full();
        object.part_or_null("subdirectories_until_full", subdirectories.as_ref(), |part, more| {
            span(part, *more);
        });
        object.string_or_null("runs_out_first", limits.runs_out_first().map(Limit::name));
        object.list("limits", &limits.ceilings, ceiling);
        object.list("traps", &limits.judgement.traps, trap);
    });
}

/// `null` on other file systems, so that the key is always there.
fn features(object: &mut Object<'_>, details: &Details) {
    let ext4 = if let Details::Ext4(ext4) = details { Some(ext4) } else { None };
    object.part_or_null("ext4", ext4, |part, ext4| {
        let features = &ext4.features.value;
        part.raw("dir_index", features.dir_index);
        part.raw("large_dir", features.large_dir);
        part.raw("metadata_csum", features.metadata_csum);
        part.raw("dir_nlink", features.dir_nlink);
        part.raw_or_null("indexed", ext4.indexed);
        part.raw("casefolded", ext4.casefolded);
        part.raw("encrypted", ext4.encrypted);
        basis(part, &ext4.features.basis);
    });
}

fn counted(part: &mut Object<'_>, fact: &Fact<Span>) {
    span(part, fact.value);
    basis(part, &fact.basis);
}

fn span(part: &mut Object<'_>, span: Span) {
    part.raw("likely", span.likely);
    part.raw("low", span.low);
    part.raw("high", span.high);
}

/// `limit` is the stable name, `of` the words for a person.
fn ceiling(part: &mut Object<'_>, ceiling: &Ceiling) {
    part.string("limit", ceiling.limit.name());
    part.string("of", &ceiling.limit.to_string());
    part.part("more", |part| span(part, ceiling.more));
    part.raw("used", rounded(ceiling.used));
    basis(part, &ceiling.basis);
}

fn trap(part: &mut Object<'_>, trap: &Trap) {
    part.string("trap", trap.name);
    part.string("text", &trap.text);
    part.list("cures", &trap.cures, |part, cure| {
        part.string("text", &cure.text);
        part.string_or_null("command", cure.command.as_deref());
    });
}

/// Six digits, which is more than an estimated share needs.
fn rounded(part: f64) -> f64 {
    (part * 1e6).round() / 1e6
}

fn basis(part: &mut Object<'_>, basis: &Basis) {
    part.part("basis", |part| {
        part.string("known", basis.known.word());
        part.string("how", &basis.how);
    });
}

/// Names of metrics are an interface: dashboards and alert rules refer to them.
const CHECKED: Name = ("megadir_limits_success", "1 if the directory could be checked, otherwise 0.");
const TIME: Name = ("megadir_limits_check_timestamp_seconds", "Time of the check.");
const SIZE: Name = ("megadir_limits_directory_size_bytes", "Size of the directory itself.");
const ENTRIES: [Name; 3] = [
    ("megadir_limits_entries", "Number of entries in the directory, estimated."),
    ("megadir_limits_entries_low", "Lower bound of the number of entries in the directory."),
    ("megadir_limits_entries_high", "Upper bound of the number of entries in the directory."),
];
const UNTIL_FULL: [Name; 3] = [
    ("megadir_limits_entries_until_full", "Number of entries that can be created before one is refused."),
    ("megadir_limits_entries_until_full_low", "Lower bound of the number of entries until one is refused."),
    ("megadir_limits_entries_until_full_high", "Upper bound of the number of entries until one is refused."),
];
const LEFT: Name = ("megadir_limits_left_entries", "Number of entries until this limit refuses one.");
const USED: Name = ("megadir_limits_used_ratio", "Used share of the limit, 0 to 1.");
const WARN: Name = ("megadir_limits_warning_ratio", "Share from which --warn-at warns, 0 to 1.");
const WARNS: Name = ("megadir_limits_warning", "1 if a limit has reached --warn-at, otherwise 0.");

/// A directory that could not be checked keeps its labels and has only `megadir_limits_success 0`, since an
/// absent series would raise no alert. Metrics without a known value are absent, not zero.
pub(super) fn add_to(metrics: &mut Metrics, path: &Path, limits: Option<&Limits>, warn_at: Option<f64>) {
    let labels = Labels::default().with_path("directory", names::from_os(path.as_os_str()));
    metrics.gauge(CHECKED, &labels, u8::from(limits.is_some()));
    let Some(limits) = limits else { return };
    metrics.gauge(TIME, &labels, now_s());
    metrics.gauge(SIZE, &labels, limits.facts.directory_bytes);
    let entries = limits.facts.entries.as_ref().map(|fact| fact.value);
    for (names, span) in [(ENTRIES, entries), (UNTIL_FULL, limits.entries_until_full())] {
        let Some(span) = span else { continue };
        for (name, value) in names.into_iter().zip([span.likely, span.low, span.high]) {
            metrics.gauge(name, &labels, value);
        }
    }
    for ceiling in &limits.ceilings {
        // Several quotas of one owner, e.g. of inodes and of blocks, are one limit here: the nearest.
        let same = limits.ceilings.iter().filter(|other| other.limit == ceiling.limit);
        let used = same.map(|other| other.used).fold(0.0, f64::max);
        let of = if let Limit::Quota(of) = ceiling.limit { of.to_string() } else { String::new() };
        let labels = labels.clone().with("limit", ceiling.limit.name()).with("of", &of);
        metrics.gauge(LEFT, &labels, ceiling.more.likely);
        metrics.gauge(USED, &labels, used);
    }
    if let Some(warn_at) = warn_at {
        let reached = limits.most_used().is_some_and(|most| most.used >= warn_at);
        metrics.gauge(WARN, &labels, warn_at);
        metrics.gauge(WARNS, &labels, u8::from(reached));
    }
}
