//! File systems as an axis: the study is planned for each with its capabilities, and the plans are joined into
//! one whose rounds hold all arms. Pure.
//!
//! Directories of the user on several volumes are compared in the same way; nothing is created or mounted for them.
//!
//! A backend, method or cache state that one file system lacks is omitted only there. Each file system keeps
//! its own baseline and A/A arm; one group contrasts every arm with its equivalent on the first.
//!
//! A study knows nothing of file systems. The run has a volume for each, `Data::on` names a data set's volume, and its
//! directory is opened again after a remount. A life of files begins with a remount, or with a reformat if the driver
//! uses what the disk holds about files removed before (`Spec::remembers_removed`); with directories of the user no
//! life begins with either. Only the volume may hold a descriptor there across a drop of caches: worker processes get
//! theirs twice.
//!
//! ```text
//!  study x ext4 -> plan --+
//!  study x xfs  -> plan --+--> join --> contrast --> sizes of images --> without (too large) --> lives --> plan
//!  study x tmpfs-> plan --+    (numbers shifted)     (needs all arms)
//! ```
//!
//! Images share the room because nearly full file systems behave differently: btrfs wrote six times as
//! slowly in 1 GiB as in 10 GiB. Lives begin fresh because of the driver of ext4 without a journal, which
//! wrote up to nine times as slowly with the removals of other arms behind it.

use std::collections::{BTreeMap, BTreeSet};

use megadir::sizes;
use megadir_record::{
    Arm, ArmId, Axes, Data, DataId, FILE_SYSTEM_GROUP, FileOperation, FsId, Group, GroupRule, LabDisk,
    LabFileSystem, Note, Order, Pair, Place, Plan, Role, Unavailable, Work,
};

use crate::kind::arms::add_pairs;
use crate::lab::{DiskSpec, Spec};
use crate::note::NoteKind;
use crate::plan::Estimate;
use crate::plan::estimate::estimate_on;
use crate::plan::prune::renumber;
use crate::request::{FileSystemFact, FoundFileSystem, PlanError, Planned, Request, Target};
use crate::study::Study;

/// The study planned for one file system, before it is joined.
struct Part<'a> {
    name: &'a str,
    spec: Option<&'a Spec>,
    found: &'a FoundFileSystem,
    plan: Plan,
}

/// A file system that cannot be used, or on which the study has nothing to measure, is left out with its
/// reason, and the others remain. Only an error that concerns the request itself ends the planning. Sizes of
/// images are known only after the plans are joined, so file systems that do not fit are removed from the
/// joined plan.
pub(super) fn plan(
    study: &Study,
    request: &Request<'_>,
    of_one: impl Fn(&Study, &Request<'_>) -> Result<Planned, PlanError>,
) -> Result<Planned, PlanError> {
    check(request)?;
    let mut parts = Vec::new();
    let (mut unavailable, mut notes) = (Vec::new(), Vec::new());
    for FileSystemFact { name, spec, found } in request.file_systems {
        let mut leave_out = |reason: String| unavailable.push(Unavailable { name: name.clone(), reason });
        let found = match found {
            Ok(found) => found,
            Err(reason) => {
                leave_out(reason.clone());
                continue;
            }
        };
        let own = Request {
            facts: &found.backends,
            methods: &found.methods,
            cache_facts: &found.caches,
            file_systems: &[],
            ..request.clone()
        };
        match of_one(study, &own) {
            Ok(planned) => {
                let label = &found.file_system.label;
                let note = |note: Note| Note { text: format!("{label}: {}", note.text), ..note };
                notes.extend(planned.notes.into_iter().map(note));
                parts.push(Part { name, spec: spec.as_ref(), found, plan: planned.plan });
            }
            Err(error @ (PlanError::NoBaseline { .. } | PlanError::Nothing { .. })) => {
                leave_out(error.to_string());
            }
            Err(error) => return Err(error),
        }
    }
    // The first is the reference; file systems in memory come last, since they are no fair one.
    parts.sort_by_key(|part| matches!(part.found.file_system.place, Place::Memory { .. }));
    let Some(first) = parts.first() else { return Err(none_left(&unavailable)) };
    let rules = first.plan.rules.clone();
    let mut whole =
        Plan { data: Vec::new(), groups: Vec::new(), arms: Vec::new(), rules, ..first.plan.clone() };
    let several = parts.len() > 1;
    parts.iter().for_each(|part| join(&mut whole, part, several));
    contrast(&mut whole);
    // Data made before the run would be cold for arms that need it warm.
    let all_by_arms = whole.data.iter().all(Data::is_made_by_arms);
    whole.rules.fresh_mounts =
        whole.rules.order == Order::Chains && all_by_arms && !whole.compares_directories();
    whole.unavailable = unavailable;
    let too_large = size(&mut whole, &parts, request.images_room_bytes);
    let mut plan = without(whole, &too_large)?;
    notes.extend(begin_lives(&mut plan, &parts));
    Ok(Planned { plan, notes })
}

/// Refuses `--fs` with an existing directory, whose files cannot be on the new file systems, and repeated
/// names, because names distinguish arms and groups.
fn check(request: &Request<'_>) -> Result<(), PlanError> {
    let refuse = |value: String, allowed: &str| Err(PlanError::value("--fs", value, allowed));
    if let Target::Existing { path, .. } = &request.target {
        return refuse(
            format!("combined with '{path}' itself"),
            "the data are created on file systems created for the run; give --entries, or an empty \
             directory for the images with --dir",
        );
    }
    let all = request.file_systems;
    let twice =
        all.iter().enumerate().find(|(place, fact)| all[..*place].iter().any(|old| old.name == fact.name));
    match twice {
        Some((_, fact)) => refuse(format!("'{}' twice", fact.name), "name each file system once"),
        None => Ok(()),
    }
}

fn none_left(unavailable: &[Unavailable]) -> PlanError {
    let reason = |file_system: &Unavailable| format!("{}: {}", file_system.name, file_system.reason);
    let reasons: Vec<String> = unavailable.iter().map(reason).collect();
    PlanError::Nothing { reason: format!("no file system is available: {}", reasons.join("; ")) }
}

/// Appends one plan to the whole. The numbers of arms, data sets and chains continue the numbers of the whole, and
/// all references are shifted with them. Names get the file system only if there are several, so that a run
/// on one has the names of an ordinary run and can be compared with it.
fn join(whole: &mut Plan, part: &Part<'_>, several: bool) {
    let id = FsId(whole.file_systems.len() as u32);
    let Part { name, found, plan, .. } = part;
    let of = &found.file_system;
    let label = &of.label;
    whole.file_systems.push(LabFileSystem { id, name: (*name).to_owned(), ..of.clone() });
    let (arms, data) = (whole.arms.len() as u32, whole.data.len() as u32);
    let chains = whole.arms.iter().map(|arm| arm.chain + 1).max().unwrap_or(0);
    let labelled = |text: &str| if several { format!("{text}, {label}") } else { text.to_owned() };
    let file_system = several.then(|| label.clone());
    let group_name = |text: &str| if several { format!("{text}-{name}") } else { text.to_owned() };
    whole.data.extend(plan.data.iter().map(|set| Data {
        id: DataId(set.id.0 + data),
        on: Some(id),
        ..set.clone()
    }));
    let axes = |arm: &Arm| Axes { file_system: file_system.clone(), ..arm.axes.clone() };
    whole.arms.extend(plan.arms.iter().map(|arm| Arm {
        id: ArmId(arm.id.0 + arms),
        name: axes(arm).name(),
        axes: axes(arm),
        groups: arm.groups.iter().map(|group| group_name(group)).collect(),
        data: DataId(arm.data.0 + data),
        chain: arm.chain + chains,
        ..arm.clone()
    }));
    let ids: Vec<Option<ArmId>> = plan.arms.iter().map(|arm| Some(ArmId(arm.id.0 + arms))).collect();
    for Group { name: of_study, title, answers, rule, .. } in &plan.groups {
        let Some(mut rule) = renumber(rule.clone(), &ids) else { continue };
        if let GroupRule::Grow { series } = &mut rule {
            series.iter_mut().for_each(|(name, _)| *name = labelled(name));
        }
        let title = if several { format!("{title} ({label})") } else { title.clone() };
        let group = Group::new(group_name(of_study), title, *answers, rule);
        whole.groups.push(Group { of: several.then(|| of_study.clone()), ..group });
    }
}

/// Pairs every arm with the arm of the same name on the first file system that has it. The first is not
/// always the reference of all: a backend may be missing there.
fn contrast(whole: &mut Plan) {
    let label = |arm: &Arm| whole.file_system_of(arm.data).map_or("", |of| of.label.as_str());
    let mut first: BTreeMap<String, &Arm> = BTreeMap::new();
    let mut pairs = Vec::new();
    for arm in whole.arms.iter().filter(|arm| arm.role != Role::Control) {
        // Such files only reach a cache state: another arm measures their writing.
        if arm.groups.is_empty() && whole.arms.iter().any(|other| is_covered_by(whole, arm, other)) {
            continue;
        }
        let at = arm.bare_name();
        let Some(to) = first.get(&at) else {
            first.insert(at, arm);
            continue;
        };
        pairs.push(Pair::new(label(arm), label(to), at, (arm.id, to.id)));
    }
    let title = match whole.compares_directories() {
        true => "How do the volumes compare?",
        false => "How do the file systems compare?",
    };
    add_pairs(&mut whole.arms, &mut whole.groups, (FILE_SYSTEM_GROUP, title), pairs);
}

/// `true` if an earlier arm does the same work on the same file system: chains of cold states create their
/// files again, and their creation would be compared twice.
fn is_covered_by(whole: &Plan, arm: &Arm, other: &Arm) -> bool {
    let on = |arm: &Arm| whole.data[arm.data.0 as usize].on;
    other.id.0 < arm.id.0 && (&other.work, other.cache, on(other)) == (&arm.work, arm.cache, on(arm))
}

/// One part in ten of the room stays free for the file system below the images.
const SHARED_PARTS: u64 = 10;
/// Enough for a file system's overhead, bytes: btrfs, one sixth of it files, wrote six times as slowly in 1 GiB as in 10 GiB.
const ROOMY_BYTES: u64 = 8 << 30;

/// Returns the file systems that do not fit, with the reason. Images have room for the files of all rounds if there is space.
fn size(plan: &mut Plan, parts: &[Part<'_>], room_bytes: u64) -> Vec<(FsId, String)> {
    let needs: Vec<Estimate> = plan.file_systems.iter().map(|of| estimate_on(plan, [of.id])).collect();
    let bytes = |place: usize, keeps: bool| {
        let needs = &needs[place];
        let (inodes, bytes) = if keeps { needs.with_kept() } else { (needs.inodes, needs.space_bytes) };
        parts[place].spec.map_or(0, |spec| spec.image_bytes(inodes, bytes))
    };
    // Of the room, which is space of a directory, or memory.
    let taken = |place: usize, keeps: bool| match &parts[place].found.file_system.disk {
        Some(disk) if !disk.is_model => {
            in_memory(&needs[place], parts[place].spec, disk, bytes(place, keeps), keeps)
        }
        _ => bytes(place, keeps),
    };
    let on_images = |place: &usize| matches!(parts[*place].found.file_system.place, Place::Image { .. });
    let all: Vec<usize> = (0..parts.len()).collect();
    let total = |keeps: bool| {
        let images = all.iter().copied().filter(on_images).map(|place| taken(place, keeps));
        images.fold(0, u64::saturating_add)
    };
    let within =
        |place: usize, keeps: bool| match parts[place].found.file_system.disk.as_ref().and_then(stated) {
            Some(limit_bytes) => taken(place, keeps) <= limit_bytes,
            None => true,
        };
    let keeps = total(true) <= room_bytes && all.iter().all(|place| within(*place, true));
    // Nearly full file systems behave differently.
    let images = all.iter().filter(|place| on_images(place)).count() as u64;
    let share = room_bytes / SHARED_PARTS * (SHARED_PARTS - 1) / images.max(1);
    let all_expected = total(keeps);
    let mut too_small = Vec::new();
    for &index in &all {
        let FoundFileSystem { file_system, bytes_max, .. } = parts[index].found;
        let (least, most) = (bytes(index, false), bytes(index, true));
        if least > *bytes_max {
            let (needed, there) = (sizes::text(least), sizes::text(*bytes_max));
            let reason = match &file_system.place {
                Place::Device { path } => format!("it needs {needed}, and '{path}' has {there}"),
                _ => format!("it needs {needed} of memory, and at most {there} are allowed"),
            };
            too_small.push((FsId(index as u32), reason));
        }
        let enough = least.saturating_mul(4).max(ROOMY_BYTES);
        let mut shared = (share >> 20 << 20).min(most).min(enough).max(least);
        if let Some(disk) = plan.file_systems[index].disk.as_mut().filter(|disk| !disk.is_model) {
            let expected = taken(index, keeps);
            let (stated, room) = (stated(disk), (all_expected, room_bytes));
            too_small.extend(beyond(stated, expected, room).map(|why| (FsId(index as u32), why)));
            let limit_bytes = stated.unwrap_or_else(|| memory_share(expected, room));
            (disk.expected_bytes, disk.memory_bytes) = (Some(expected), Some(limit_bytes));
            // With room for the files of all rounds they would be kept; with more than the limit, files could exceed it.
            shared = least.saturating_mul(4).min(needs[index].kept_space_bytes).min(limit_bytes).max(least);
        }
        plan.file_systems[index].place = match &file_system.place {
            Place::Image { .. } => Place::Image { bytes: if keeps { most } else { shared }, direct_io: None },
            Place::Memory { .. } => Place::Memory { bytes: bytes(index, keeps).min(*bytes_max) },
            fixed => fixed.clone(),
        };
    }
    too_small
}

/// Limit of the request for each disk in memory, bytes.
fn stated(disk: &LabDisk) -> Option<u64> {
    DiskSpec::parse(&disk.name).ok()?.value("limit")
}

/// Reason why the memory that is expected for a disk, or for all, is not allowed.
fn beyond(stated: Option<u64>, expected: u64, (all_expected, room_bytes): (u64, u64)) -> Option<String> {
    let (which, needed, allowed, whose) = match stated {
        Some(limit_bytes) => ("its disk", expected, limit_bytes, "by --disk memory:limit=SIZE"),
        None => ("the disks of all", all_expected, room_bytes, "half of the available memory"),
    };
    let (needed_text, allowed_text) = (sizes::text(needed), sizes::text(allowed));
    (needed > allowed).then(|| {
        format!("{which} would take about {needed_text} of memory, and {allowed_text} are allowed, {whose}")
    })
}

/// Limit of a disk without a stated limit: a share in proportion to the expected amount. It does not take
/// all of a large share, because other programs, and runs at the same time, need memory too.
fn memory_share(expected: u64, (all_expected, room_bytes): (u64, u64)) -> u64 {
    const TIMES_MAX: u64 = 4;
    const MORE_BYTES: u64 = 256 << 20;
    let share = u128::from(expected) * u128::from(room_bytes) / u128::from(all_expected.max(1));
    let enough = expected.saturating_mul(TIMES_MAX).saturating_add(MORE_BYTES);
    u64::try_from(share).unwrap_or(u64::MAX).min(enough) >> 20 << 20
}

/// Memory that a disk is expected to take, bytes. A compressing disk stores contents and metadata only, and
/// no zeros; a file in memory stores every written block.
fn in_memory(needs: &Estimate, spec: Option<&Spec>, disk: &LabDisk, image_bytes: u64, keeps: bool) -> u64 {
    let kept = |of: u64| if keeps { of } else { 0 };
    let inodes = needs.inodes.saturating_add(kept(needs.kept_inodes));
    spec.map_or(0, |spec| match disk.compression {
        Some(_) => {
            spec.packed_bytes(inodes, needs.contents_bytes.saturating_add(kept(needs.kept_contents_bytes)))
        }
        None => spec.written_bytes(
            image_bytes,
            inodes,
            needs.space_bytes.saturating_add(kept(needs.kept_space_bytes)),
        ),
    })
}

/// Removes file systems with their data, arms and groups, and lists them as unavailable. Used by the
/// planner for file systems that do not fit, and by the run for file systems that cannot be made.
pub(crate) fn without(mut plan: Plan, left_out: &[(FsId, String)]) -> Result<Plan, PlanError> {
    if left_out.is_empty() {
        return Ok(plan);
    }
    let stays = |on: Option<FsId>| !left_out.iter().any(|(id, _)| Some(*id) == on);
    for (id, reason) in left_out {
        let name = plan.file_systems[id.0 as usize].name.clone();
        plan.unavailable.push(Unavailable { name, reason: reason.clone() });
    }
    let on_data: Vec<Option<FsId>> = plan.data.iter().map(|data| data.on).collect();
    let file_systems = numbers(plan.file_systems.iter().map(|of| stays(Some(of.id))));
    let data = numbers(on_data.iter().map(|on| stays(*on)));
    let arms = numbers(plan.arms.iter().map(|arm| stays(on_data[arm.data.0 as usize])));
    let cell_ids: Vec<Option<ArmId>> = arms.iter().map(|id| id.map(ArmId)).collect();
    plan.file_systems = kept(plan.file_systems, &file_systems, |of, id| LabFileSystem { id: FsId(id), ..of });
    plan.data = kept(plan.data, &data, |set, id| {
        let on = set.on.and_then(|on| file_systems[on.0 as usize]).map(FsId);
        Data { id: DataId(id), on, ..set }
    });
    plan.arms = kept(plan.arms, &arms, |arm, id| {
        let data = data[arm.data.0 as usize].map_or(arm.data, DataId);
        Arm { id: ArmId(id), data, ..arm }
    });
    let group = |group: Group| Some(Group { rule: renumber(group.rule, &cell_ids)?, ..group });
    plan.groups = plan.groups.into_iter().filter_map(group).collect();
    for arm in &mut plan.arms {
        arm.groups.retain(|name| plan.groups.iter().any(|group| group.name == *name));
    }
    if plan.groups.is_empty() { Err(none_left(&plan.unavailable)) } else { Ok(plan) }
}

/// New number of each item at the index of its old one; `None` for items that leave.
fn numbers(stays: impl Iterator<Item = bool>) -> Vec<Option<u32>> {
    let mut next = 0;
    let number = |stays: bool| {
        stays.then(|| {
            next += 1;
            next - 1
        })
    };
    stays.map(number).collect()
}

fn kept<T>(all: Vec<T>, numbers: &[Option<u32>], with: impl Fn(T, u32) -> T) -> Vec<T> {
    all.into_iter().zip(numbers).filter_map(|(item, number)| Some(with(item, (*number)?))).collect()
}

/// Larger devices are not reformatted before each life, bytes: writing the inode tables would take longer than the measurement.
const DEVICE_BYTES_MAX: u64 = 64 << 30;

/// Selects the file systems to reformat before each life; notes the ones that cannot be reformatted.
fn begin_lives(plan: &mut Plan, parts: &[Part<'_>]) -> Vec<Note> {
    let mut notes = Vec::new();
    for index in 0..plan.file_systems.len() {
        let of = &plan.file_systems[index];
        let (id, label) = (of.id, of.label.clone());
        let part = parts.iter().find(|part| part.name == of.name);
        let remembers = |part: &&Part<'_>| part.spec.is_some_and(|spec| spec.remembers_removed(&of.driver));
        let Some(part) = part.filter(remembers) else { continue };
        match why_not(plan, id, part.found) {
            None => plan.file_systems[index].reformatted = true,
            Some(why) if makes_after_removing(plan, id) => {
                let text = format!(
                    "Without a journal, the driver of {label} skips recently removed inodes one by one on \
                     every create, so blocks affect later blocks. Reformatting before each round would \
                     prevent that, but is not possible: {why}"
                );
                notes.push(NoteKind::RemovedRemembered.note(text));
            }
            Some(_) => {}
        }
    }
    notes
}

/// Reformatting empties the whole file system, so no other chain may have files there at the time.
fn why_not(plan: &Plan, on: FsId, found: &FoundFileSystem) -> Option<String> {
    if !plan.rules.fresh_mounts {
        return Some("its data must stay".into());
    }
    let here = plan.data.iter().filter(|data| data.on == Some(on));
    let stays = here.clone().any(|data| {
        let chains = plan.arms.iter().filter(|arm| arm.data == data.id).map(|arm| arm.chain);
        !data.is_made_by_arms() || chains.collect::<BTreeSet<u32>>().len() > 1
    });
    match &found.file_system.place {
        _ if stays => Some("its data must stay".into()),
        Place::Device { path } if found.bytes_max > DEVICE_BYTES_MAX => {
            Some(format!("'{path}' is larger than {} GiB", DEVICE_BYTES_MAX >> 30))
        }
        Place::Device { .. } | Place::Image { .. } | Place::Memory { .. } | Place::Directory { .. } => None,
    }
}

/// Only removals followed by creations are disturbed by the driver's memory; a study that only creates
/// needs no note.
fn makes_after_removing(plan: &Plan, on: FsId) -> bool {
    let works = || {
        let on_it = |arm: &&Arm| plan.data[arm.data.0 as usize].on == Some(on);
        plan.arms.iter().filter(on_it).map(|arm| &arm.work)
    };
    let makes = |work: &Work| match work {
        Work::Files(work) => matches!(work.operation, FileOperation::Create | FileOperation::Rewrite),
        Work::FillUntilRefused { .. } => true,
        _ => false,
    };
    let removes = |work: &Work| match work {
        Work::Files(work) => matches!(work.operation, FileOperation::Unlink | FileOperation::Rewrite),
        Work::Remove(_) | Work::FillUntilRefused { .. } => true,
        _ => false,
    };
    works().any(makes) && works().any(removes)
}

#[cfg(test)]
mod tests;
