//! Workers as threads and as processes: started before the block, released together, ended after it or when
//! the run dies. Ctrl-C reaches only the run. [`transport`](super::transport) has the mechanisms.
//!
//! ```text
//!  processes   start -> Ready   (setup)   |  Go -> Waiting -> barrier opens -> work -> Done   (run)
//!  threads     prepare          (setup)   |  spawn -> arrive -> gate opens  -> work -> joined (run)
//! ```
//!
//! Processes stand for separate programs: they share no descriptor table and no memory. Threads copy the
//! descriptor table, since every open takes a lock on it, and waiting for that lock would be measured.

use std::convert::Infallible;
use std::io;
use std::process::Child;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Receiver, Sender, channel};

use megadir::Dir;

use crate::control::{Result, RunControl, WorkError};
use crate::kind::WorkerCommand;
use crate::kind::files::task::Task;
use crate::kind::files::transport::{Barrier, Go, Guest, Host, Link, Reply, Start};
use crate::kind::files::worker::{Report, Worker};
use crate::measure::{Calibration, Stopwatch};
use crate::os::{At, Owned};

const STAGE: &str = "worker process";

#[derive(Debug)]
pub(crate) struct Processes {
    workers: Vec<Process>,
    host: Host,
}

#[derive(Debug)]
struct Process {
    child: Child,
    link: Link,
    number: u32,
}

impl Processes {
    /// Starts a process for each task, passes it the data directory, and waits until all are ready. Sending
    /// to all comes before waiting for the first, so that they prepare at the same time.
    pub(crate) fn prepare(
        tasks: Vec<Task>,
        data: &Dir,
        command: &WorkerCommand,
        control: RunControl<'_>,
    ) -> Result<Self> {
        let host = Host::new().map_err(WorkError::at(STAGE))?;
        let mut all = Self { workers: Vec::with_capacity(tasks.len()), host };
        for task in tasks {
            let (child, link) = all.host.start(command).map_err(WorkError::at(STAGE))?;
            let mut process = Process { child, link, number: task.worker };
            let handed = all.host.hand_all(&process.child, &mut process.link, data.at());
            let sent = handed.and_then(|()| process.link.send(&Start { parent: std::process::id(), task }));
            sent.map_err(|error| process.ended(&error))?;
            all.workers.push(process);
        }
        for worker in &mut all.workers {
            match worker.receive(control)? {
                Reply::Ready => {}
                other => return Err(worker.unexpected(&other)),
            }
        }
        Ok(all)
    }

    /// Three steps, each completed by all workers before the next: everything is sent, all are waiting, all
    /// are released at once. A worker that fails early is found before the release. Times of single
    /// operations are merged one worker after the other, since histograms of many workers would take much
    /// memory together.
    ///
    /// ```text
    /// run: data, Go --> workers: Waiting --> run: let_go --> workers: the block --> Done(report, times)
    /// ```
    pub(crate) fn work(
        &mut self,
        data: &Dir,
        stopwatch: &mut Stopwatch,
        control: RunControl<'_>,
    ) -> Result<Vec<Report>> {
        let go = Go { ns_per_tick: stopwatch.calibration().ns_per_tick, rate_per_s: stopwatch.rate_per_s() };
        for worker in &mut self.workers {
            let handed = self.host.hand_data(&worker.child, &mut worker.link, data.at());
            let sent = handed.and_then(|()| worker.link.send(&go));
            sent.map_err(|error| worker.ended(&error))?;
        }
        for worker in &mut self.workers {
            match worker.receive(control)? {
                Reply::Waiting => {}
                other => return Err(worker.unexpected(&other)),
            }
        }
        self.host.let_go().map_err(WorkError::at(STAGE))?;
        let mut reports = Vec::with_capacity(self.workers.len());
        for worker in &mut self.workers {
            match worker.receive(control)? {
                Reply::Done { report, latency } => {
                    if latency.is_some_and(|latency| !stopwatch.merge_written(&latency)) {
                        return Err(WorkError::other(STAGE, "its times are inconsistent"));
                    }
                    reports.push(report);
                }
                other => return Err(worker.unexpected(&other)),
            }
        }
        Ok(reports)
    }
}

impl Process {
    /// Waits for a message, with regular looks whether the run is to end. The end of the connection is the
    /// worker's end.
    fn receive(&mut self, control: RunControl<'_>) -> Result<Reply> {
        loop {
            control.check()?;
            match self.link.receive() {
                Ok(Some(reply)) => return Reply::checked(reply, STAGE, self.number),
                Ok(None) => {}
                Err(error) => return Err(self.ended(&error)),
            }
        }
    }

    fn ended(&mut self, error: &io::Error) -> WorkError {
        let _ = self.child.kill();
        let how = match self.child.wait() {
            Ok(status) => format!("{}: exited before its work was done ({status}): {error}", self.number),
            Err(_) => format!("{}: {error}", self.number),
        };
        WorkError::other(STAGE, how)
    }

    fn unexpected(&self, reply: &Reply) -> WorkError {
        WorkError::other(STAGE, format!("{}: unexpected message {reply:?}", self.number))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs this process as a worker of the run on its standard input. Errors of the work are reported to the run.
pub fn serve() -> io::Result<()> {
    let mut run = Guest::join()?;
    let (data, barrier) = run.take_all()?;
    let start: Start = run.receive()?;
    run.check_parent(start.parent)?;
    let reply = work(start, data, barrier, &mut run)?;
    run.send(&reply)
}

/// The worker's side of a block. The data directory is closed after the preparation, since the run may
/// remount its file system before it sends it again.
fn work(start: Start, data: Owned, barrier: Barrier, run: &mut Guest) -> io::Result<Reply> {
    let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
    let control = RunControl { stop: &stop, heartbeat: &heartbeat };
    let mut worker = match Worker::prepare(start.task, &directory(data), control) {
        Ok(worker) => worker,
        Err(error) => return Ok(error.into()),
    };
    run.send(&Reply::Ready)?;
    let data = directory(run.take_data()?);
    let go: Go = run.receive()?;
    let mut stopwatch = Stopwatch::new(Calibration { ns_per_tick: go.ns_per_tick });
    stopwatch.set_rate(go.rate_per_s);
    run.send(&Reply::Waiting)?;
    let done = worker.work(&data, &mut stopwatch, || barrier.wait(), control);
    Ok(done.map_or_else(Reply::from, |report| Reply::Done { report, latency: stopwatch.latency() }))
}

fn directory(data: Owned) -> Dir {
    Dir::from_descriptor(data, "the data set's directory")
}

/// Prepares workers that are threads, all at the same time. These threads end before the block, and others
/// run it.
pub(crate) fn prepare(mut tasks: Vec<Task>, data: &Dir, control: RunControl<'_>) -> Result<Vec<Worker>> {
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

/// Holds back threads until all have arrived. A thread that ends early drops it, and so has arrived too.
struct Arrival<'g> {
    /// Dropped on arrival.
    here: Sender<Infallible>,
    /// Locked for writing until the threads may go.
    gate: &'g RwLock<()>,
}

impl Arrival<'_> {
    fn wait(self) {
        drop(self.here);
        drop(self.gate.read());
    }
}

/// Returns once all threads have arrived or ended: nothing is ever sent, so `recv` fails when the last sender is dropped.
fn all_arrived(here: Sender<Infallible>, all_here: &Receiver<Infallible>) {
    drop(here);
    let _ = all_here.recv();
}

/// Runs a block: one worker in the caller's thread, several in threads. They begin when `ready` returns, called after all prepared.
pub(crate) fn work_threads(
    workers: &mut [Worker],
    data: &Dir,
    stopwatch: &mut Stopwatch,
    ready: impl FnOnce(),
    control: RunControl<'_>,
) -> Result<Vec<Report>> {
    if let [alone] = workers {
        return Ok(vec![alone.work(data, stopwatch, ready, control)?]);
    }
    let (here, all_here) = channel();
    let gate = RwLock::new(());
    let closed = gate.write();
    let all: Vec<Result<(Report, Stopwatch)>> = std::thread::scope(|scope| {
        let mut started = Vec::with_capacity(workers.len());
        for worker in workers {
            let arrival = Arrival { here: here.clone(), gate: &gate };
            let mut stopwatch = stopwatch.another();
            started.push(std::thread::Builder::new().spawn_scoped(scope, move || {
                // The run has already noted if this is not permitted.
                let _ = own_descriptors();
                let report = worker.work(data, &mut stopwatch, || arrival.wait(), control)?;
                Ok((report, stopwatch))
            }));
        }
        all_arrived(here, &all_here);
        ready();
        drop(closed);
        let done = started.into_iter().map(|thread| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err(panicked())),
            Err(source) => Err(WorkError::Stage { stage: "starting a worker", source }),
        });
        done.collect()
    });
    let mut reports = Vec::with_capacity(all.len());
    for done in all {
        let (report, of_thread) = done?;
        stopwatch.merge(&of_thread);
        reports.push(report);
    }
    Ok(reports)
}

/// Reason why threads cannot have descriptor tables of their own here, as in some sandboxes, found by
/// trying.
pub(crate) fn shares_descriptors() -> Option<io::Error> {
    std::thread::spawn(|| own_descriptors().err()).join().ok().flatten()
}

/// Only for the threads of this file, which end after a block.
#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "workers that stand for separate programs must not wait for one descriptor table"
)]
fn own_descriptors() -> io::Result<()> {
    // SAFETY: this function is private, and has two callers, each on a thread that was just started. One
    // thread ends at once (`shares_descriptors`). The other runs `Worker::work` and ends (`work_threads`).
    // `work` keeps each descriptor that it opens in a local value (`top`, and the directories and files of
    // `Entered`, `Listed` and `FileOps`), so all are closed when it returns; it returns numbers and errors,
    // which hold none; `Worker` has no field with a descriptor. It uses one descriptor that existed before,
    // `data`, by a shared reference, and so cannot close it. Nothing sends it a descriptor later: it
    // receives from no channel.
    unsafe { megadir_sys::process::own_descriptors() }
}

/// Windows has one handle table per process, without a lock that every open takes.
#[cfg(windows)]
#[expect(clippy::unnecessary_wraps, reason = "not allowed in some sandboxes")]
fn own_descriptors() -> io::Result<()> {
    Ok(())
}

fn panicked() -> WorkError {
    WorkError::other("a worker", "panicked; its message is above")
}

#[cfg(test)]
mod tests {
    use std::sync::RwLock;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::channel;

    use super::{Arrival, all_arrived};

    #[test]
    fn a_gate_opens_once_all_threads_have_arrived_or_ended() {
        let (gate, passed, ended) = (RwLock::new(()), AtomicU32::new(0), AtomicU32::new(0));
        let (here, all_here) = channel();
        let closed = gate.write();
        let before = std::thread::scope(|scope| {
            for number in 0..4 {
                let (passed, ended) = (&passed, &ended);
                let arrival = Arrival { here: here.clone(), gate: &gate };
                scope.spawn(move || {
                    if number == 2 {
                        // As by a panic before the work.
                        ended.fetch_add(1, Ordering::Relaxed);
                        return;
                    }
                    arrival.wait();
                    passed.fetch_add(1, Ordering::Relaxed);
                });
            }
            all_arrived(here, &all_here);
            let before = (passed.load(Ordering::Relaxed), ended.load(Ordering::Relaxed));
            drop(closed);
            before
        });
        assert_eq!((before, passed.into_inner()), ((0, 1), 3));
    }
}
