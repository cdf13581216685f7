//! The rule over the whole range of questions, with the limits of real file systems; Linux, and root to mount
//! them.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use megadir::Dir;
use megadir::limits::{Assumptions, Limit, Limits, NameLengths};
use megadir_advise::{Advice, Capacity, NewDir, Pattern, Question, advise, candidates, look};
use megadir_testkit::mount::{BTRFS, EXT4, EXT4_1K, EXT4_LINEAR, Mount, Recipe, TMPFS, XFS};
use megadir_testkit::require;
use megadir_testkit::unprivileged::unprivileged;

const FILES: [u64; 4] = [10_000, 1_000_000, 10_000_000, 100_000_000];

fn limits_of(mount: &Mount, churn: bool) -> Limits {
    let names = NameLengths::of(32);
    let assumptions = Assumptions { names: Some(&names), churn, ..Assumptions::MORE_OF_THE_SAME };
    look(&Dir::open(mount.path()).unwrap(), &assumptions).unwrap().limits
}

fn answer(limits: &Limits, question: &Question) -> Advice {
    let new_dir = NewDir::of(limits, question.churn);
    advise(question, limits, &candidates(question, &new_dir, &[]), None, false)
}

fn question(files: u64, writers: u32, churn: bool) -> Question {
    Question { files, writers, churn, rotating: false, pattern: Pattern::Mixed }
}

/// Returns the answers for all numbers of files, one writer and four, with and without churn.
fn all_answers(mount: &Mount) -> Vec<String> {
    let mut answers = Vec::new();
    for churn in [false, true] {
        let limits = limits_of(mount, churn);
        for writers in [1, 4] {
            for files in FILES {
                let advice = answer(&limits, &question(files, writers, churn));
                check(&limits, &advice);
                answers.push(advice.layout.layout.to_string());
            }
        }
    }
    answers
}

/// Checks the invariants of every answer.
fn check(limits: &Limits, advice: &Advice) {
    let Question { files, writers, churn, .. } = advice.question;
    let case = format!("{} {files} files, {writers} writers, churn {churn}", limits.facts.file_system);
    // No directory exceeds the planned number of entries.
    if let Capacity::Bounded { plan, .. } = advice.new_dir.capacity {
        assert!(advice.layout.fullest <= plan.likely, "{case}: {advice:?}");
    }
    let levels = advice.layout.levels();
    assert!(levels == 0 || advice.layout.fullest <= 100_000, "{case}");
    // Far fewer directories than files.
    assert!(advice.layout.shape.directories_max * 16 <= files, "{case}");
    if writers == 1 && levels > 0 {
        assert!(["too-full", "too-many-for-tools", "no-index"].contains(&advice.rule.name), "{case}");
    }
    // The answer changes at the reported number of files, to the reported layout.
    if let Some(below) = &advice.below {
        assert!(
            below.files.likely <= files && below.after.layout == advice.layout.layout,
            "{case}: {below:?}"
        );
        let fewer = answer(limits, &question(below.files.likely - 1, writers, churn));
        assert_eq!(fewer.layout.layout, below.before.layout, "{case}");
    }
    if let Some(above) = &advice.above {
        assert!(
            above.files.likely > files && above.before.layout == advice.layout.layout,
            "{case}: {above:?}"
        );
        let more = answer(limits, &question(above.files.likely, writers, churn));
        assert_eq!(more.layout.layout, above.after.layout, "{case}");
    }
    for change in advice.below.iter().chain(&advice.above) {
        assert!(
            change.files.low <= change.files.likely && change.files.likely <= change.files.high,
            "{case}"
        );
    }
    // A file system of a gigabyte has no space for more than a million files, and the advice reports it.
    assert_eq!(advice.shortage.is_some(), files > 1_000_000 || short(limits, advice), "{case}");
}

/// `true` if a million files or fewer exceed the free space.
fn short(limits: &Limits, advice: &Advice) -> bool {
    let of_all = |limit: Limit| matches!(limit, Limit::Inodes | Limit::Blocks | Limit::Quota(_));
    let needed = advice.question.files + advice.layout.shape.directories as u64;
    limits.ceilings.iter().any(|ceiling| of_all(ceiling.limit) && ceiling.more.low < needed)
}

/// Checks the answers on one file system: one writer, four; then the same with churn.
fn holds_to(recipe: &Recipe, expected: [&str; 16]) {
    let mount = require!(Mount::make(recipe));
    assert_eq!(all_answers(&mount), expected, "{}", recipe.name);
    let path = mount.path().parent().unwrap().to_owned();
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(unprivileged(|| all_answers(&mount)), expected, "{}, not root", recipe.name);
}

#[rustfmt::skip]
const EASY: [&str; 16] = [
    "flat", "flat", "flat", "digest:3",
    "digest:1", "digest:2", "digest:2", "digest:3",
    "flat", "flat", "flat", "digest:3",
    "digest:1", "digest:2", "digest:2", "digest:3",
];

#[test]
fn ext4() {
    #[rustfmt::skip]
    holds_to(&EXT4, [
        "flat", "flat", "digest:2", "digest:3",
        "digest:1", "digest:2", "digest:2", "digest:3",
        "flat", "flat", "digest:2", "digest:3",
        "digest:1", "digest:2", "digest:2", "digest:3",
    ]);
}

#[test]
fn ext4_with_small_blocks() {
    #[rustfmt::skip]
    holds_to(&EXT4_1K, [
        "flat", "digest:2", "digest:2", "digest:3",
        "digest:1", "digest:2", "digest:2", "digest:3",
        "flat", "digest:2", "digest:2", "digest:3",
        "digest:1", "digest:2", "digest:2", "digest:3",
    ]);
}

#[test]
fn ext4_without_index() {
    #[rustfmt::skip]
    holds_to(&EXT4_LINEAR, [
        "digest:1", "digest:2/1", "digest:2/2", "digest:3/2",
        "digest:1", "digest:2/1", "digest:2/2", "digest:3/2",
        "digest:1", "digest:2/1", "digest:2/2", "digest:3/2",
        "digest:1", "digest:2/1", "digest:2/2", "digest:3/2",
    ]);
}

#[test]
fn xfs() {
    holds_to(&XFS, EASY);
}

#[test]
fn btrfs() {
    holds_to(&BTRFS, EASY);
}

#[test]
fn tmpfs() {
    holds_to(&TMPFS, EASY);
}

#[test]
fn directories_that_are_searched_name_by_name_are_spread_from_a_thousand_files_on() {
    let scratch = tempfile::tempdir().unwrap();
    let mut facts =
        megadir::limits::facts(&Dir::open(scratch.path()).unwrap(), &Assumptions::MORE_OF_THE_SAME).unwrap();
    facts.details = megadir::limits::Details::None;
    for file_system in ["vfat", "exfat", "nilfs2"] {
        facts.file_system = megadir::FileSystem::from_name(file_system);
        facts.mount.as_mut().unwrap().kind = file_system.into();
        let limits = Limits::judge(facts.clone(), false);
        let new_dir = NewDir::of(&limits, false);
        assert_eq!(new_dir.capacity, Capacity::Linear, "{file_system}");
        for (files, is_flat) in [(1_000, true), (1_001, false), (1_000_000, false), (50_000_000, false)] {
            let question =
                Question { files, writers: 1, churn: false, rotating: false, pattern: Pattern::Mixed };
            let all = candidates(&question, &new_dir, &[]);
            let advice = advise(&question, &limits, &all, None, false);
            assert_eq!(advice.layout.levels() == 0, is_flat, "{file_system}, {files}");
            // Directories of directories are searched in the same way.
            let widths = advice.layout.layout.levels().iter().map(|digits| 16_u64.pow(u32::from(*digits)));
            let most = widths.chain([advice.layout.fullest]).max();
            assert!(most <= Some(1_000), "{file_system}, {files}: {:?}", advice.layout);
        }
    }
}
