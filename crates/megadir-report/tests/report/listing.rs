//! A small listing study with known effects, with every group of the real one.

use megadir_record::{ArmId, Group, GroupRule, Role, Stage};

use crate::synthetic::{ArmSummary, ENTRIES, Synthetic, arm, compare};

const SLOW: [Stage; 7] = [
    Stage::Read,
    Stage::Keep,
    Stage::Sort,
    Stage::Attributes,
    Stage::ExtendedAttributes,
    Stage::FormatLong,
    Stage::Write,
];
const FAST: [Stage; 3] = [Stage::Read, Stage::FormatRaw, Stage::Write];
/// True costs of the slow program's steps, milliseconds.
const SLOW_STEPS: [(&str, f64); 9] = [
    ("read", 41.8),
    ("buffer", 0.8),
    ("readdir call", 1.2),
    ("keep names", 6.0),
    ("sort", 25.0),
    ("attributes", 90.0),
    ("extended attributes", 30.0),
    ("format", 40.0),
    ("write", 10.0),
];
/// True costs of the fast program's steps, milliseconds.
const FAST_STEPS: [(&str, f64); 3] = [("read", 41.8), ("format", 20.0), ("write", 5.0)];
/// True total difference, milliseconds.
const DIFFERENCE_MS: f64 = 178.0;

/// True share of a factor.
pub(crate) fn share(factor: &str) -> f64 {
    let sum =
        |steps: &[(&str, f64)]| steps.iter().filter(|step| step.0 == factor).map(|step| step.1).sum::<f64>();
    (sum(&SLOW_STEPS) - sum(&FAST_STEPS)) / DIFFERENCE_MS
}

/// The study with all its arms.
pub(crate) fn study() -> Synthetic {
    let small = |name, data, ns| ArmSummary { data, calls: Some(2), groups: &["growth"], ..arm(name, ns) };
    let mut arms = vec![
        ArmSummary {
            role: Role::Baseline,
            groups: &["buffer", "backend", "growth"],
            ..arm("getdents 128 KiB", 41.2e6)
        },
        ArmSummary {
            role: Role::Control,
            groups: &["buffer", "backend"],
            ..arm("getdents 128 KiB (itself)", 41.2e6)
        },
        ArmSummary { buffer_bytes: 4_096, calls: Some(1_000), ..arm("getdents 4 KiB", 46.0e6) },
        ArmSummary { groups: &["backend"], calls: None, backend: "std", ..arm("std", 52.0e6) },
        ArmSummary {
            groups: &["backend"],
            threads: 2,
            backend: "split",
            ..arm("split 128 KiB, 2 threads", 22.3e6)
        },
        small("getdents 128 KiB of 1000", 1, 0.412e6),
        small("getdents 128 KiB of 10000", 2, 4.12e6),
    ];
    let slow = chain(&mut arms, &SLOW_STEPS, slow_arm);
    let mut fast = chain(&mut arms, &FAST_STEPS[1..], fast_arm);
    fast.insert(0, slow[0].clone());
    let groups = vec![
        decomposition(slow, fast),
        compare("buffer", "Does the size of the buffer given to getdents matter?"),
        compare("backend", "Which way of asking the operating system is fastest?"),
        growth(),
    ];
    Synthetic { seed: 11, rounds: 20, noise: 0.01, arms, groups, entries: vec![ENTRIES, 1_000, 10_000] }
}

/// Adds the arms of a program; each takes the time of all steps up to its own.
fn chain(
    arms: &mut Vec<ArmSummary>,
    steps: &[(&str, f64)],
    make: fn(usize, f64) -> ArmSummary,
) -> Vec<(String, ArmId)> {
    let mut ms = if steps.len() == SLOW_STEPS.len() { 0.0 } else { FAST_STEPS[0].1 };
    let mut chain = Vec::new();
    for (place, (factor, cost_ms)) in steps.iter().enumerate() {
        ms += cost_ms;
        chain.push(((*factor).to_owned(), ArmId(arms.len() as u32)));
        arms.push(make(place, ms * 1e6));
    }
    chain
}

fn slow_arm(place: usize, ns: f64) -> ArmSummary {
    const NAMES: [&str; 9] = [
        "getdents 5 MiB",
        "getdents 32 KiB",
        "readdir",
        "readdir to keep",
        "readdir to sort",
        "readdir to attributes",
        "readdir to xattrs",
        "readdir to format",
        "readdir to write",
    ];
    let groups: &[&str] = if place < 2 { &["buffer", "decomposition"] } else { &["decomposition"] };
    ArmSummary {
        groups,
        backend: if place < 2 { "getdents" } else { "readdir" },
        buffer_bytes: if place == 0 { 5 << 20 } else { 32_768 },
        stages: &SLOW[..place.saturating_sub(1).max(1)],
        calls: Some(if place == 0 { 2 } else { 125 }),
        ..arm(NAMES[place], ns)
    }
}

fn fast_arm(place: usize, ns: f64) -> ArmSummary {
    ArmSummary {
        groups: &["decomposition"],
        buffer_bytes: 5 << 20,
        stages: &FAST[..place + 2],
        calls: Some(2),
        ..arm(["getdents 5 MiB to format", "getdents 5 MiB to write"][place], ns)
    }
}

fn decomposition(slow: Vec<(String, ArmId)>, fast: Vec<(String, ArmId)>) -> Group {
    let rule = GroupRule::Decompose {
        slow_name: "ls -l, rebuilt".into(),
        slow,
        fast_name: "getdents with a buffer of 5 MiB".into(),
        fast,
    };
    Group {
        name: "decomposition".into(),
        of: None,
        title: "Where does the time of ls -l go?".into(),
        answers: true,
        rule,
    }
}

fn growth() -> Group {
    let series = vec![("read".into(), vec![ArmId(5), ArmId(6), ArmId(0)])];
    Group {
        name: "growth".into(),
        of: None,
        title: "How does the time grow with the number of entries?".into(),
        answers: false,
        rule: GroupRule::Grow { series },
    }
}
