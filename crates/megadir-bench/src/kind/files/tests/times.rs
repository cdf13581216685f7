//! Inclusions and exclusions of a block's time. Clocks under Wine are too coarse for comparisons of times.

use super::*;

/// Number of attempts; only the least disturbed block is judged.
#[cfg(target_os = "linux")]
const LOOKS: u32 = 20;

#[cfg(target_os = "linux")]
#[test]
fn times_of_operations_and_gaps_are_the_block() {
    let parent = tempfile::tempdir().unwrap();
    let operations = [
        FileOperation::Create,
        FileOperation::Stat,
        FileOperation::Read,
        FileOperation::Rewrite,
        FileOperation::Unlink,
    ];
    let mut least = [1.0_f64; 10];
    // The gaps are the clocks' cost and the end of the last directory. Interruptions add to them, so take the
    // minimum of several blocks.
    for _ in 0..LOOKS {
        let all =
            [BY_NAME, Access::Directory].into_iter().flat_map(|access| operations.map(|of| (of, access)));
        for ((operation, access), least) in all.zip(&mut least) {
            let (taken, stopwatch) = right(&work(operation, access), &flat(), parent.path());
            let latency = stopwatch.latency().unwrap();
            assert_eq!(latency.operations(), ENTRIES);
            let sum_ns = (latency.sum_ticks + latency.gap_ticks) as f64 * latency.ns_per_tick;
            let off = (sum_ns / taken.elapsed_ns as f64 - 1.0).abs();
            assert!(off < 0.005, "{operation:?}: {sum_ns} of {} ns", taken.elapsed_ns);
            *least = least.min(latency.gap_ticks as f64 / (latency.sum_ticks + latency.gap_ticks) as f64);
        }
        if least.iter().filter(|share| **share < 0.2).count() >= 7 {
            return;
        }
    }
    panic!("{least:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn computing_names_and_contents_is_no_time_of_the_block() {
    let parent = tempfile::tempdir().unwrap();
    // One file of this size fills the buffer, so each file but the first is computed in a pause.
    let made = Made::flat(NameScheme::Md5, 4_000_000);
    let data = Data { id: DataId(0), entries: 60, hash: None, on: None, source: DataSource::Made(made) };
    let create = FileWork { owner_and_mode: false, ..work(FileOperation::Create, BY_NAME) };
    let mut least = f64::INFINITY;
    for look in 0..LOOKS {
        let top = parent.path().join(format!("{look}"));
        std::fs::create_dir(&top).unwrap();
        let start = Instant::now();
        let (taken, stopwatch) = right(&create, &data, &top);
        let whole_ns = start.elapsed().as_nanos() as u64;
        let latency = stopwatch.latency().unwrap();
        assert!(taken.elapsed_ns < whole_ns);
        // Computing takes longer than the rest, and must not count as gaps. Interruptions do, so take the minimum.
        least = least.min(latency.gap_ticks as f64 * latency.ns_per_tick / taken.elapsed_ns as f64);
        if least < 0.25 {
            return;
        }
        std::fs::remove_dir_all(&top).unwrap();
    }
    panic!("the gaps are {least} of the block");
}

#[test]
fn a_file_too_large_for_the_buffer_is_written_whole() {
    let parent = tempfile::tempdir().unwrap();
    let made = Made::flat(NameScheme::Md5, 5_000_003);
    let data = Data { id: DataId(0), entries: 2, hash: None, on: None, source: DataSource::Made(made) };
    let create = FileWork { to: 2, ..work(FileOperation::Create, BY_NAME) };
    right(&create, &data, parent.path());
    check(&made_files(&data), parent.path(), 0..2);
    right(&FileWork { to: 2, ..work(FileOperation::Read, Access::Directory) }, &data, parent.path());
}

#[test]
fn a_rate_holds_for_each_worker() {
    let parent = tempfile::tempdir().unwrap();
    for kind in [WorkerKind::Thread, WorkerKind::Process] {
        let workers = Workers { count: 2, kind, sharing: Sharing::Own };
        let command = workers::command();
        for operation in [FileOperation::Create, FileOperation::Unlink] {
            let work = FileWork { workers, owner_and_mode: false, ..work(operation, BY_NAME) };
            let data = flat();
            let mut files = Files::new(&work, (&data, work.workers.count), SEED, by(&command));
            let directory = Dir::open(parent.path()).unwrap();
            let mut stopwatch = Stopwatch::new(Calibration::over(Duration::from_millis(2)));
            stopwatch.set_rate(Some(2000));
            files.setup(&first(&directory, SIGNALS)).unwrap();
            let counted = files.run(&first(&directory, SIGNALS), &mut stopwatch).unwrap();
            assert_eq!((counted.entries, counted.hash), (2 * ENTRIES, 0));
            let latency = stopwatch.latency().unwrap();
            assert_eq!(
                (latency.operations(), latency.since),
                (2 * ENTRIES, megadir_record::Since::IntendedStart)
            );
            // The last of 60 starts after 59 halves of a millisecond.
            let elapsed_ns = files.usage().unwrap().elapsed_ns;
            assert!(elapsed_ns >= 29_400_000, "{kind:?}: {elapsed_ns}");
        }
    }
}
