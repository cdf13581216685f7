//! Workers as threads of this process, each with its own descriptor table if the system permits.

use std::sync::Barrier;

use megadir::Dir;
#[cfg(target_os = "linux")]
use megadir_sys::descriptors::own_table;

use super::task::Task;
use super::worker::{Report, Worker};
use crate::control::{RunControl, WorkError};
use crate::measure::Stopwatch;

pub(crate) fn prepare(
    mut tasks: Vec<Task>,
    data: &Dir,
    control: RunControl<'_>,
) -> Result<Vec<Worker>, WorkError> {
    if tasks.len() == 1
        && let Some(task) = tasks.pop()
    {
        return Ok(vec![Worker::prepare(task, data, control)?]);
    }
    std::thread::scope(|scope| {
        let start = |task| scope.spawn(move || Worker::prepare(task, data, control));
        let started: Vec<_> = tasks.into_iter().map(start).collect();
        started.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(panicked()))).collect()
    })
}

/// Runs a block: in the caller's thread if there is one worker, else in threads that begin together.
pub(crate) fn work(
    workers: &mut [Worker],
    data: &Dir,
    stopwatch: &mut Stopwatch,
    control: RunControl<'_>,
) -> Result<Vec<Report>, WorkError> {
    if let [alone] = workers {
        return Ok(vec![alone.work(data, stopwatch, || (), control)?]);
    }
    let barrier = Barrier::new(workers.len());
    let all: Vec<Result<(Report, Stopwatch), WorkError>> = std::thread::scope(|scope| {
        let mut started = Vec::with_capacity(workers.len());
        for worker in workers {
            let (barrier, mut stopwatch) = (&barrier, stopwatch.another());
            started.push(scope.spawn(move || {
                // If this is not permitted, the run has already noted it; see `shares_descriptors`.
                let _ = own_table();
                let wait = || {
                    barrier.wait();
                };
                let report = worker.work(data, &mut stopwatch, wait, control)?;
                Ok((report, stopwatch))
            }));
        }
        started.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(panicked()))).collect()
    });
    let mut reports = Vec::with_capacity(all.len());
    for done in all {
        let (report, of_thread) = done?;
        stopwatch.merge(&of_thread);
        reports.push(report);
    }
    Ok(reports)
}

/// Returns the reason why threads cannot have their own descriptor tables.
pub(crate) fn shares_descriptors() -> Option<std::io::Error> {
    std::thread::spawn(|| own_table().err()).join().ok().flatten()
}

/// Windows has one handle table per process, without a lock that every open takes.
#[cfg(windows)]
#[expect(clippy::unnecessary_wraps, reason = "not allowed in some sandboxes")]
fn own_table() -> std::io::Result<()> {
    Ok(())
}

fn panicked() -> WorkError {
    WorkError::Stage { stage: "a worker", source: std::io::Error::other("panicked; its message is above") }
}
