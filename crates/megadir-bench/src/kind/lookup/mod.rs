//! Name look-ups: one system call per operation, for existing and for absent names.

mod run;

use megadir_record::axes::{call_words, grouped, keys_words};
use megadir_record::{ArmId, DataId, Keys, LookupCall, Presence, Work};
use serde::Deserialize;

use crate::kind::Traits;
use crate::kind::arms::{Arms, Series, paired};
use crate::kind::cost::BLOCK_NS;

pub(crate) use run::{ABSENT_NAMES, Lookup, NAMES_MAX, NameSource, SAMPLE_MAX};

/// One drop serves at most this fraction of a directory's names, because each warms others.
const LOOKED_UP_ONE_IN: u64 = 100;
const LOOKED_UP_MAX: u64 = 1000;

/// `[lookup]` of a study: every directory with every presence and every distribution of names. The first arm is the baseline.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookupSpec {
    pub presence: Vec<Presence>,
    pub keys: Vec<Keys>,
    #[serde(default = "system_calls")]
    pub calls: Vec<LookupCall>,
}

/// This system's calls that check whether a name exists; the published study's comes first.
pub(crate) fn system_calls() -> Vec<LookupCall> {
    if cfg!(windows) {
        vec![LookupCall::AttributesByPath, LookupCall::AttributesByHandle]
    } else {
        vec![LookupCall::Fstatat]
    }
}

impl LookupSpec {
    pub(crate) fn contradiction(&self) -> Option<String> {
        let empty = self.presence.is_empty() || self.keys.is_empty() || self.calls.is_empty();
        empty.then(|| "lookup.presence, lookup.keys and lookup.calls need at least one value each".into())
    }
}

pub(crate) fn traits(keys: Keys, entries: u64) -> Traits {
    let cold = match keys {
        Keys::Fixed => 1,
        Keys::Random | Keys::Zipf => (entries / LOOKED_UP_ONE_IN).clamp(1, LOOKED_UP_MAX),
    };
    Traits { block_ns: 3 * BLOCK_NS, cold_operations: Some(cold), names: Some(SAMPLE_MAX) }
}

/// One cell of the crossing of axes; two variants that differ in one field are a pair.
/// The first variant of the crossing is the baseline of the group that compares all of them.
#[derive(Clone, Copy, PartialEq)]
struct Variant {
    call: LookupCall,
    data: DataId,
    entries: u64,
    presence: Presence,
    keys: Keys,
}

/// The axes are crossed completely, and each question of the study is a set of pairs that differ in one axis
/// alone. An arm may be in several pairs, and is measured once.
pub(crate) fn lookups(spec: &LookupSpec, arms: &mut Arms<'_>) {
    let all = cross(spec, arms);
    if let Some((_, baseline)) = all.first() {
        arms.compare("lookup", "How much does a lookup of a name cost?", false, *baseline);
    }
    let absent = paired(&all, |variant| {
        let at = format!(
            "{}{} of {}",
            keys_words(variant.keys),
            call_words(variant.call),
            grouped(variant.entries)
        );
        let words = ["absent names", "present ones", &at].map(str::to_owned);
        (variant.presence == Presence::Absent)
            .then_some((Variant { presence: Presence::Present, ..variant }, words))
    });
    arms.pairs("absent", "Do absent names cost more than present names?", absent);
    let patterns = paired(&all, |variant| {
        let at = format!(
            "{} names{} of {}",
            variant.presence.name(),
            call_words(variant.call),
            grouped(variant.entries)
        );
        let words = [keys_words(variant.keys), "one and the same", &at].map(str::to_owned);
        (variant.keys != Keys::Fixed).then_some((Variant { keys: Keys::Fixed, ..variant }, words))
    });
    arms.pairs("pattern", "How much faster are lookups of one repeated name?", patterns);
    let by_name = paired(&all, |variant| {
        let at = format!(
            "{}, {} of {}",
            variant.presence.name(),
            keys_words(variant.keys),
            grouped(variant.entries)
        );
        let words = ["a name in an open directory", "the whole path", &at].map(str::to_owned);
        let by_handle = variant.call == LookupCall::AttributesByHandle;
        by_handle.then_some((Variant { call: LookupCall::AttributesByPath, ..variant }, words))
    });
    arms.pairs("call", "How much do lookups by the whole path cost?", by_name);
    growth(&all, arms);
}

/// All variants with their arms, smaller directories first, so that the first one is the baseline.
fn cross(spec: &LookupSpec, arms: &mut Arms<'_>) -> Vec<(Variant, ArmId)> {
    let mut all = Vec::new();
    for (entries, data) in arms.ascending() {
        for &presence in &spec.presence {
            for &keys in &spec.keys {
                // A single file leaves no choice among present names; absent names are always many.
                let choice = presence == Presence::Absent && keys == Keys::Random;
                if entries == 1 && !choice && keys != Keys::Fixed && spec.keys.contains(&Keys::Fixed) {
                    continue;
                }
                for &call in &spec.calls {
                    let work = Work::Lookup { presence, keys, call };
                    let arm = match all.is_empty() {
                        true => arms.baseline(data, work),
                        false => arms.arm("lookup", data, &work),
                    };
                    all.push((Variant { call, data, entries, presence, keys }, arm));
                }
            }
        }
    }
    all
}

/// One series for each variant over the sizes of directories: does a look-up take longer among more files?
fn growth(all: &[(Variant, ArmId)], arms: &mut Arms<'_>) {
    let mut series: Vec<Series> = Vec::new();
    for (variant, arm) in all {
        let name =
            format!("{}{} {}", variant.presence.name(), call_words(variant.call), keys_words(variant.keys));
        match series.iter_mut().find(|(known, _)| *known == name) {
            Some((_, arms)) => arms.push(*arm),
            None => series.push((name, vec![*arm])),
        }
    }
    arms.growth(true, series);
}
