//! The state `unseen` of the cache: the files of a data set are removed and made again, the same ones, so that nobody has listed or asked for
//! them when the block begins that follows.

use megadir::Dir;
use megadir_record::{DataId, Plan};

use super::expect::set_times;
use super::truth::before_run;
use crate::at::{self, At};
use crate::control::{RunControl, WorkError};
use crate::dataset::{Files, Filling, PlaceBuffer};

/// Signs of life come every so many files.
const STEP: u64 = 256;

/// Removes every file of a data set in one directory and makes it again, with the name, the contents and the time that it had, and has all
/// written back where the system lets.
pub(super) fn make_anew(
    plan: &Plan,
    data: DataId,
    directory: &Dir,
    control: RunControl<'_>,
) -> Result<(), WorkError> {
    for files in before_run(plan, &plan.data[data.0 as usize]) {
        remove(&files, directory, control)?;
        let mut filling = Filling::new(directory.at(), &files);
        let mut heartbeat = |_| _ = control.check();
        filling
            .to(files.entries(), &mut heartbeat, control.stop)
            .map_err(|error| failed(std::io::Error::other(error)))?;
        control.check()?;
        if filling.filled.made != files.entries() {
            let made = filling.filled.made;
            return Err(failed(std::io::Error::other(format!(
                "{made} of {} files were made",
                files.entries()
            ))));
        }
        set_times(directory, &files, control)?;
    }
    Ok(())
}

fn remove(files: &Files, directory: &Dir, control: RunControl<'_>) -> Result<(), WorkError> {
    let mut buffer = PlaceBuffer::new();
    for index in 0..files.entries() {
        if index % STEP == 0 {
            control.check()?;
        }
        let place = files.place(index, &mut buffer).map_err(|error| failed(std::io::Error::other(error)))?;
        match at::remove_file(directory.at(), place.path()) {
            // A data set that was left in the middle by a stop is made whole.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            removed => removed.map_err(failed)?,
        }
    }
    Ok(())
}

fn failed(source: std::io::Error) -> WorkError {
    WorkError::Stage { stage: "making the files anew", source }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use megadir_record::{Cell, Preset};

    use super::*;
    use crate::plan::{Request, plan};
    use crate::study::built_in;
    use crate::workload::Truth;

    #[test]
    fn files_that_are_made_anew_are_others_with_all_that_the_first_ones_had() {
        let study = built_in("lookup").unwrap();
        let request = Request {
            target: crate::plan::Target::Made { entries: vec![40] },
            ..Request::bare(Preset::Quick, 5)
        };
        let plan = plan(&study, &request).unwrap().plan;
        let Cell { data, .. } = plan.cells[0];
        let parent = tempfile::tempdir().unwrap();
        let directory = Dir::open(parent.path()).unwrap();
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = RunControl { stop: &stop, heartbeat: &heartbeat };
        let truth = || {
            make_anew(&plan, data, &directory, control).unwrap();
            Truth::of(&directory, control).unwrap()
        };
        let first = truth();
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 40);
        let old = std::fs::read_dir(parent.path()).unwrap().next().unwrap().unwrap().path();
        std::fs::write(&old, "more").unwrap();
        assert_ne!(Truth::of(&directory, control).unwrap(), first);
        assert_eq!(truth(), first);
        // Only where a file that is open loses its name at once.
        if cfg!(unix) {
            let held = std::fs::File::options().append(true).open(&old).unwrap();
            assert_eq!(truth(), first);
            std::io::Write::write_all(&mut &held, b"more").unwrap();
            assert_eq!(std::fs::metadata(&old).unwrap().len(), 0, "it was written to one without a name");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(matches!(make_anew(&plan, data, &directory, control), Err(WorkError::Stopped)));
    }
}
