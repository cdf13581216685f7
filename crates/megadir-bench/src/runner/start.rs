//! A run from start to end: the frame around preparing, measuring and cleaning.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use megadir::Dir;
use megadir_record::{
    Data, End, Epoch, FORMAT_VERSION, FileSystem, Header, LabFileSystem, LabMount, Machine, Place, Plan,
    Record, Resumed, Sample,
};
use megadir_sys::clock::monotonic_ns;

use super::prepare::{Prepared, make_anew, prepare};
use super::rounds::{Measured, measure};
use super::timing;
use super::{Listeners, RunEnd, RunError, RunRequest, amount};
use crate::at::{self, At};
use crate::control::WorkError;
use crate::epochs;
use crate::event::{Event, Listener};
use crate::machine;
use crate::measure::Stopwatch;
use crate::noise;

/// With less free than this, bytes, images cannot grow.
const IMAGES_FREE_MIN: u64 = 1 << 20;

/// Carries a plan out.
///
/// # Errors
///
/// [`RunError`]; the run's own directory is removed all the same, and a record that was started is ended.
pub fn run(request: RunRequest<'_>, listeners: &mut [&mut dyn Listener]) -> Result<RunEnd, RunError> {
    let start_ns = monotonic_ns();
    let mut listeners = Listeners(listeners);
    let stop = request.stop;
    let mut request = request;
    let begun = request.resume.take();
    let whole = request.plan.clone();
    let epoch = begun.as_ref().map_or(0, |record| epochs::current(&whole, &record.samples));
    request.plan = epochs::plan_of(&whole, epoch);
    if let Some(begun) = &begun
        && let Ok(directory) = Dir::open(&request.directory)
    {
        // Before anything is made.
        check_machine(begun, &machine::describe(directory.at(), &request.program))?;
    }
    let mut prepared = prepare(request, &mut listeners)?;
    prepared.epoch = epoch;
    let result = prepared.settle().and_then(|()| {
        // Arms that are not available here are left out of all epochs.
        let whole = Plan { seed: whole.seed, rules: whole.rules, ..prepared.plan.clone() };
        match begun {
            Some(begun) => go_on(&mut prepared, &whole, &begun, start_ns, &mut listeners),
            None => begin(&mut prepared, &whole, start_ns, &mut listeners),
        }
    });
    let cleaned = prepared.clean(&mut listeners);
    let measured = match result {
        Ok(measured) => cleaned.map(|()| measured)?,
        Err(error) => return Err(error.and_cleaned(cleaned)),
    };
    Ok(RunEnd {
        complete: measured.complete,
        interrupted: !measured.complete && stop.load(Ordering::Relaxed),
        unequal_blocks: measured.unequal_blocks,
    })
}

/// Writes a record from its header to its end.
fn begin(
    prepared: &mut Prepared<'_>,
    whole: &Plan,
    start_ns: u64,
    listeners: &mut Listeners<'_, '_>,
) -> Result<Measured, RunError> {
    let machine = machine::describe(prepared.directory.at(), &prepared.program);
    prepared.notes.extend(noise::probe(&machine));
    let since_s = (monotonic_ns() - start_ns) / 1_000_000_000;
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let header = Header {
        version: FORMAT_VERSION,
        started_unix_s: now_s - since_s,
        command: prepared.command.clone(),
        directory: Some(whole_path(prepared.directory.path()).to_string_lossy().into_owned()),
        plan: whole.clone(),
        machine,
        file_systems: prepared.sites.describe(),
    };
    listeners.tell(&Event::Started(&header))?;
    if let Some(built) = &prepared.built {
        listeners.tell(&Event::Built(built))?;
    }
    record(prepared, whole, Vec::new(), start_ns, listeners)
}

/// Returns a path that names the same directory from wherever the run is gone on with; of Windows as people write it, without `\\?\`.
fn whole_path(path: &Path) -> PathBuf {
    let whole = if cfg!(windows) { std::path::absolute(path) } else { path.canonicalize() };
    whole.unwrap_or_else(|_| path.to_owned())
}

/// Goes on with a record to its end.
fn go_on(
    prepared: &mut Prepared<'_>,
    whole: &Plan,
    begun: &Record,
    start_ns: u64,
    listeners: &mut Listeners<'_, '_>,
) -> Result<Measured, RunError> {
    let machine = machine::describe(prepared.directory.at(), &prepared.program);
    check_same(prepared, begun, &machine)?;
    prepared.notes.extend(noise::probe(&machine));
    let resumed = Resumed {
        resumed_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs()),
        version: machine.version,
        pressure: machine.pressure,
    };
    listeners.tell(&Event::Resumed(&resumed))?;
    if prepared.epoch > 0 {
        listeners.tell(&Event::Epoch(&epoch_of(prepared)))?;
    }
    // Blocks follow those of before on the record's clock; how long the run lay still in between is not on it.
    let before_ns = begun.samples.last().map_or(0, |sample| sample.start_ns + sample.elapsed_ns);
    let samples = epochs::of(&begun.samples, prepared.epoch).to_vec();
    record(prepared, whole, samples, start_ns.wrapping_sub(before_ns), listeners)
}

/// Refuses to go on with a record of another machine.
fn check_machine(begun: &Record, machine: &Machine) -> Result<(), RunError> {
    let before = &begun.header.machine;
    let facts = [
        ("kernel", Some(&before.kernel), Some(&machine.kernel)),
        ("processor", before.processor.as_ref(), machine.processor.as_ref()),
        ("file system", Some(&before.file_system.kind), Some(&machine.file_system.kind)),
    ];
    for (what, then, now) in facts {
        if then != now {
            let name = |value: Option<&String>| value.map_or("unknown", |name| name.as_str()).to_owned();
            let reason = format!("the {what} was '{}' and is '{}'", name(then), name(now));
            return Err(RunError::Resume { reason });
        }
    }
    Ok(())
}

/// Refuses to go on with a record where the rest of it could not be compared with what is there.
fn check_same(prepared: &Prepared<'_>, begun: &Record, machine: &Machine) -> Result<(), RunError> {
    check_machine(begun, machine)?;
    let differs = |reason: String| Err(RunError::Resume { reason });
    let before = &begun.header.machine;
    let shared = begun.header.directory.is_none();
    if let Some(reason) = another_file_system(&before.file_system, &machine.file_system, shared) {
        return differs(reason);
    }
    if let Some(reason) = other_file_systems(&begun.header, prepared) {
        return differs(reason);
    }
    let (then, now) = (&begun.header.plan, &prepared.plan);
    if then.cells.len() != now.cells.len() {
        return differs("an arm of its plan is not available any more".into());
    }
    let finds = |plan: &Plan| -> Vec<Option<(u64, u64)>> {
        plan.cells.iter().map(|cell| cell.work.expected(0, 0)).collect()
    };
    if finds(then) != finds(now) {
        return differs("files of the directory have other sizes or times".into());
    }
    let later = begun.epochs.iter().rfind(|later| later.epoch == prepared.epoch);
    let hash = |place: usize| match (prepared.epoch, later) {
        (0, _) => then.data[place].hash,
        (_, later) => later.and_then(|later| *later.hashes.get(place)?),
    };
    let changed =
        |(place, (_, now)): &(usize, (&Data, &Data))| hash(*place).is_some_and(|hash| Some(hash) != now.hash);
    match then.data.iter().zip(&now.data).enumerate().find(changed).map(|(_, pair)| pair) {
        Some((then, now)) => differs(format!(
            "the directory held {} entries and holds {}, or others",
            then.entries, now.entries
        )),
        None => Ok(()),
    }
}

/// Returns how an image is reached, in words; nothing where there is none.
fn image(place: &Place) -> String {
    match place {
        Place::Image { direct_io: Some(true), .. } => "read and written past the page cache".into(),
        Place::Image { .. } => "read and written through the page cache".into(),
        Place::Device { .. } | Place::Memory { .. } => String::new(),
    }
}

/// Returns what tells that the file systems that were made anew are not like those of a record.
fn other_file_systems(then: &Header, prepared: &Prepared<'_>) -> Option<String> {
    if then.plan.unavailable.len() < prepared.plan.unavailable.len() {
        let gone = prepared.plan.unavailable.last()?;
        return Some(format!("{} cannot be had any more: {}", gone.name, gone.reason));
    }
    for (then, now) in then.plan.file_systems.iter().zip(&prepared.plan.file_systems) {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".into());
        let facts = [
            ("program", known(&then.tool), known(&now.tool)),
            ("driver", then.driver.clone(), now.driver.clone()),
            ("image", image(&then.place), image(&now.place)),
        ];
        if let Some((what, then_is, now_is)) = facts.into_iter().find(|(_, then, now)| then != now) {
            let name = &then.name;
            return Some(format!("the {what} of {name} was '{then_is}' and is '{now_is}'"));
        }
    }
    let features = |mounts: &[LabMount]| -> Vec<Option<Vec<String>>> {
        mounts.iter().map(|mount| mount.file_system.features.clone()).collect()
    };
    let differ = features(&then.file_systems) != features(&prepared.sites.describe());
    differ.then(|| "file systems are made with other features now".to_owned())
}

/// Returns what tells that two descriptions are not of one file system, mounted alike.
///
/// Of a record that is meant to be shared `then` lacks the device and some of the options.
fn another_file_system(then: &FileSystem, now: &FileSystem, shared: bool) -> Option<String> {
    let named = [
        ("file system's device was", then.device.as_ref().zip(now.device.as_ref())),
        (
            "mount options were",
            then.mount_options.as_ref().zip(now.mount_options.as_ref()).filter(|_| !shared),
        ),
    ];
    for (what, both) in named {
        if let Some((then, now)) = both.filter(|(then, now)| then != now) {
            return Some(format!("its {what} '{then}' and now '{now}'; name the same place with --dir"));
        }
    }
    let bytes = |of: &FileSystem| Some(of.block_bytes?.saturating_mul(of.blocks?.0));
    let (then, now) = bytes(then).zip(bytes(now))?;
    // Some file systems count with what others of their pool use (ZFS), or with what they have set aside.
    let apart = then.abs_diff(now) > then.max(now) / 100;
    let size = |bytes| amount("space", bytes);
    apart.then(|| {
        format!(
            "its file system was of {} and is of {}; name the same place with --dir",
            size(then),
            size(now)
        )
    })
}

/// Measures from the epoch that is prepared to the last; `samples` were measured of it before.
fn all_epochs(
    prepared: &mut Prepared<'_>,
    whole: &Plan,
    samples: Vec<Sample>,
    zero_ns: u64,
    stopwatch: &dyn Fn() -> Stopwatch,
    listeners: &mut Listeners<'_, '_>,
) -> Result<Measured, RunError> {
    let mut samples = samples;
    let mut unequal_blocks = 0;
    loop {
        let directories = std::mem::take(&mut prepared.data);
        let taken = std::mem::take(&mut samples);
        let measured = measure(prepared, directories, taken, zero_ns, stopwatch(), listeners)?;
        unequal_blocks += measured.unequal_blocks;
        let epoch = prepared.epoch + 1;
        if !measured.complete || epoch >= whole.rules.epochs {
            return Ok(Measured { unequal_blocks, ..measured });
        }
        listeners.tell(&Event::EpochEnds)?;
        match make_anew(prepared, epochs::plan_of(whole, epoch), listeners) {
            Ok(()) => prepared.epoch = epoch,
            Err(RunError::Interrupted) => return Ok(Measured { complete: false, unequal_blocks }),
            Err(error) => return Err(error),
        }
        listeners.tell(&Event::Epoch(&epoch_of(prepared)))?;
    }
}

/// Returns what the record says of a later epoch.
fn epoch_of(prepared: &Prepared<'_>) -> Epoch {
    let hashes = prepared.plan.data.iter().map(|data| data.hash).collect();
    Epoch { epoch: prepared.epoch, seed: prepared.plan.seed, hashes }
}

/// Checks the measuring itself, measures, and writes the record's last line.
fn record(
    prepared: &mut Prepared<'_>,
    whole: &Plan,
    samples: Vec<Sample>,
    zero_ns: u64,
    listeners: &mut Listeners<'_, '_>,
) -> Result<Measured, RunError> {
    let mut notes = std::mem::take(&mut prepared.notes);
    let calibration = timing::calibrate();
    let checked =
        match timing::check(prepared.directory.at(), prepared.plan.seed, calibration, prepared.control) {
            Ok(check) => {
                listeners.tell(&Event::Checked(&check))?;
                notes.extend(timing::notes_on(&check));
                Ok(Some(check.null_loop_ns))
            }
            // The rounds end at once for the same reason.
            Err(WorkError::Stopped) => Ok(None),
            Err(error) => {
                Err(RunError::Arm { arm: "the run's check of itself".into(), reason: error.to_string() })
            }
        };
    notes.iter().try_for_each(|note| listeners.note(note))?;
    let null_loop_ns = *checked.as_ref().unwrap_or(&None);
    let stopwatch = || Stopwatch::new(calibration);
    let measured = checked.and_then(|_| all_epochs(prepared, whole, samples, zero_ns, &stopwatch, listeners));
    let measured = measured.map_err(|error| of_images(prepared, error));
    let told = timing::drift_since(&calibration).map_or(Ok(()), |note| listeners.note(&note));
    let (complete, reason) = match &measured {
        Ok(measured) if measured.complete => (true, None),
        Ok(_) => (false, Some("interrupted".to_owned())),
        Err(error) => (false, Some(error.to_string())),
    };
    let end = End {
        complete,
        reason,
        elapsed_ns: monotonic_ns().wrapping_sub(zero_ns),
        pressure: machine::pressure(),
        null_loop_ns,
    };
    let told = told.and(listeners.tell(&Event::Ended(&end)));
    let measured = measured?;
    told?;
    Ok(measured)
}

/// Returns an error with what explains it, where images could not grow: their file systems see an input/output error only.
fn of_images(prepared: &Prepared<'_>, error: RunError) -> RunError {
    let on_image = |of: &LabFileSystem| matches!(of.place, Place::Image { .. });
    let full = prepared.plan.file_systems.iter().any(on_image)
        && at::space(prepared.directory.at()).is_ok_and(|space| space.free_bytes < IMAGES_FREE_MIN);
    match full {
        true => RunError::ImagesFull { path: prepared.directory.path().to_owned(), error: Box::new(error) },
        false => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_disk_is_told_by_name_options_or_size_where_they_are_known() {
        let here = machine::file_system(at::open_directory(Path::new(".")).unwrap().at());
        let then = FileSystem {
            device: Some("/dev/vda".into()),
            mount_options: Some("rw,noatime".into()),
            block_bytes: Some(4096),
            blocks: Some((1 << 20, 5)),
            ..here
        };
        let tells = |now: &FileSystem, shared| another_file_system(&then, now, shared).unwrap_or_default();
        let less_free = FileSystem { blocks: Some((1 << 20, 1)), ..then.clone() };
        assert_eq!(tells(&less_free, false), "");
        let device = FileSystem { device: Some("/dev/vdb".into()), ..then.clone() };
        assert!(tells(&device, false).contains("device was '/dev/vda' and now '/dev/vdb'"));
        assert_eq!(tells(&FileSystem { device: None, ..then.clone() }, false), "");
        let options = FileSystem { mount_options: Some("rw".into()), ..then.clone() };
        assert!(tells(&options, false).contains("mount options were 'rw,noatime' and now 'rw'"));
        assert_eq!(tells(&options, true), "");
        let larger = FileSystem { blocks: Some((1 << 21, 5)), ..then.clone() };
        assert!(tells(&larger, true).contains("was of 4.0 GiB and is of 8.0 GiB"));
        assert_eq!(tells(&FileSystem { blocks: None, ..then.clone() }, true), "");
    }
}
