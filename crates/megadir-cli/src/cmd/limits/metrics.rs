//! Limits as metrics.

use std::collections::HashMap;
use std::path::Path;

use megadir::limits::{Limit, Limits};
use megadir::names;

use crate::cmd::prometheus::{Labels, Metrics};
use crate::cmd::times::now_s;

type Name = (&'static str, &'static str);

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

pub(super) fn add(metrics: &mut Metrics, path: &Path, limits: Option<&Limits>, warn_at: Option<f64>) {
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
    // Several quotas of one owner, e.g. of inodes and of blocks, are one limit here: the nearest.
    let mut used: HashMap<String, f64> = HashMap::new();
    for ceiling in &limits.ceilings {
        let most = used.entry(ceiling.limit.to_string()).or_default();
        *most = most.max(ceiling.used);
    }
    for ceiling in &limits.ceilings {
        let of = match ceiling.limit {
            Limit::Quota(of) => of.to_string(),
            _ => String::new(),
        };
        let labels = labels.clone().with("limit", ceiling.limit.name()).with("of", &of);
        metrics.gauge(LEFT, &labels, ceiling.more.likely);
        metrics.gauge(USED, &labels, used.get(&ceiling.limit.to_string()).copied().unwrap_or(ceiling.used));
    }
    if let Some(warn_at) = warn_at {
        let reached = limits.most_used().is_some_and(|most| most.used >= warn_at);
        metrics.gauge(WARN, &labels, warn_at);
        metrics.gauge(WARNS, &labels, u8::from(reached));
    }
}
