//! Description of the machine for readers of a record. An unreadable value is `None` or `unknown`, never guessed.
//!
//! ```text
//!  describe  facts that hold for the whole run (processor, file system, settings)   -> header
//!  probe     200 ms of a busy loop, stolen time, load, pressure                     -> notes before the run
//!  pressure  load at the moment                                                     -> first and last line
//! ```
//!
//! A result is worth little without its machine, and readers of a record cannot ask. Serial numbers are
//! never read.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;
#[cfg(any(windows, test))]
mod words;

use std::path::{Path, PathBuf};
use std::time::Duration;

use megadir_record::{Machine, Note};
use megadir_sys::clock::monotonic_ns;

use crate::note::NoteKind;

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// Absolute, so that the run can be resumed from anywhere; on Windows without `\\?\`.
pub(crate) fn whole_path(path: &Path) -> PathBuf {
    let whole = if cfg!(windows) { std::path::absolute(path) } else { path.canonicalize() };
    whole.unwrap_or_else(|_| path.to_owned())
}

pub fn machine(directory: &Path, program: &Program) -> std::io::Result<Machine> {
    use crate::os::At;
    Ok(describe(crate::os::open_directory(directory)?.at(), program))
}

/// Names of the bits of `mask`. Unknown bits are numbers, since they may matter too.
fn named(mask: u32, names: &[(u32, &str)]) -> Vec<String> {
    let set = (0..u32::BITS).map(|place| 1 << place).filter(|bit| mask & bit != 0);
    let name = |bit: u32| names.iter().find(|(known, _)| *known == bit).map(|(_, name)| (*name).to_owned());
    set.map(|bit| name(bit).unwrap_or_else(|| format!("{bit:#x}"))).collect()
}

/// Origin of the program that runs: commit and builder. The library cannot know them; the program passes
/// them on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub commit: Option<String>,
    pub by: Option<String>,
}

/// Long enough for stolen time, which is counted in ticks of 10 ms, to show.
const PROBE: Duration = Duration::from_millis(200);
/// Shortest pause of the spinning process that is a gap, nanoseconds.
const GAP_NS_MIN: u64 = 20_000;
/// Fraction of the busy loop that may be lost to interruptions without a note.
const LOST_FRACTION_MAX: f64 = 0.01;
pub(crate) const TICK_NS: u64 = 10_000_000;

/// Windows power plans that do not lower the processor clock.
const FULL_SPEED: [&str; 2] = ["High performance", "Ultimate performance"];
const OTHERS_PERCENT_MAX: f64 = 25.0;

/// Checks whether the machine is quiet enough, and completes its description. Thresholds are where an effect starts to matter for blocks of a few milliseconds.
pub(crate) fn probe(machine: &mut Machine) -> Vec<Note> {
    let mut notes = Vec::new();
    let before = stolen_ticks();
    let gaps = timer_gaps(PROBE.as_nanos() as u64);
    let share = 100.0 * gaps.lost_ns as f64 / gaps.elapsed_ns as f64;
    machine.pressure.taken_percent = Some((share * 10.0).round() / 10.0);
    if share > 100.0 * LOST_FRACTION_MAX {
        let lost = gaps.lost_ns as f64 / 1e6;
        let longest = gaps.longest_ns as f64 / 1e6;
        let text = format!(
            "a busy loop of {} ms was interrupted for {lost:.1} ms ({share:.1} %), {} times, at most for {longest:.1} ms",
            PROBE.as_millis(),
            gaps.count
        );
        notes.push(NoteKind::TimerGaps.note(text));
    }
    if let (Some(before), Some(after)) = (before, stolen_ticks())
        && after > before
    {
        let text =
            format!("{} ms were stolen by the hypervisor in {} ms", (after - before) * 10, PROBE.as_millis());
        notes.push(NoteKind::StolenTime.note(text));
    }
    notes.extend(standing(machine));
    notes
}

/// Notes on the state of the machine before the run. The thresholds are low, because each of these is known
/// to change results, and a note costs the reader a line. They are no reason to refuse the run: a user may
/// have no other machine.
fn standing(machine: &Machine) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut note = |kind: NoteKind, text: String| notes.push(kind.note(text));
    if let Some(version) = &machine.wine {
        let text = format!("this ran under Wine {version}, so the results do not hold for Windows");
        note(NoteKind::Wine, text);
    }
    let pressure = &machine.pressure;
    let processors = f64::from(machine.processors);
    if let Some(load) = pressure.load_1m.filter(|load| *load > 0.25 * processors) {
        let text = format!("the load was {load:.2} on {processors} processors over the last minute");
        note(NoteKind::Load, text);
    }
    if let Some(percent) = pressure.others_busy_percent.filter(|percent| *percent > OTHERS_PERCENT_MAX) {
        let text = format!(
            "other processes used {percent:.0} % of the time of {processors} processors during 200 ms before the run"
        );
        note(NoteKind::Load, text);
    }
    let stalls =
        [("the processor", pressure.cpu_some_10s_percent), ("input or output", pressure.io_some_10s_percent)];
    for (resource, percent) in stalls {
        if let Some(percent) = percent.filter(|percent| *percent > 2.0) {
            let text = format!("some task waited for {resource} in {percent:.1} % of the last 10 s");
            note(NoteKind::Pressure, text);
        }
    }
    if let Some(governor) = machine.governor.as_deref().filter(|governor| *governor != "performance") {
        note(NoteKind::Governor, format!("the processor's frequency is governed by `{governor}`"));
    }
    if let Some(plan) = machine.power_plan.as_deref().filter(|plan| !FULL_SPEED.contains(plan)) {
        note(NoteKind::Governor, format!("the power plan is `{plan}`"));
    }
    if let Some(dirty) = pressure.dirty_bytes.filter(|dirty| *dirty > 64 << 20) {
        let text = format!("{} MiB of dirty pages were waiting to be written", dirty >> 20);
        note(NoteKind::DirtyPages, text);
    }
    notes
}

/// Interruptions of a busy loop: their number, their sum and the longest one.
struct Gaps {
    count: u64,
    lost_ns: u64,
    longest_ns: u64,
    elapsed_ns: u64,
}

fn timer_gaps(probe_ns: u64) -> Gaps {
    let start = monotonic_ns();
    let mut gaps = Gaps { count: 0, lost_ns: 0, longest_ns: 0, elapsed_ns: 0 };
    let mut last = start;
    while gaps.elapsed_ns < probe_ns {
        let now = monotonic_ns();
        let gap = now - last;
        if gap > GAP_NS_MIN {
            gaps.count += 1;
            gaps.lost_ns += gap;
            gaps.longest_ns = gaps.longest_ns.max(gap);
        }
        last = now;
        gaps.elapsed_ns = now - start;
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::{probe, standing};
    use crate::host;
    use crate::host::Program;
    use crate::os::At;
    use megadir::Dir;
    use megadir_record::{Machine, Pressure};

    #[test]
    fn the_share_that_others_took_is_recorded_and_noted_above_one_percent() {
        let directory = Dir::open(std::env::temp_dir()).unwrap();
        let mut here = host::describe(directory.at(), &Program { commit: None, by: None });
        let notes = probe(&mut here);
        let taken = here.pressure.taken_percent.unwrap();
        assert!((0.0..=100.0).contains(&taken), "{taken}");
        let is_noted = notes.iter().any(|note| note.kind == "timer-gaps");
        // Rounded to a tenth.
        assert!(is_noted == (taken > 1.0) || (taken - 1.0).abs() < 0.1, "{taken} {notes:?}");
    }

    #[test]
    fn host_description_becomes_notes() {
        let directory = Dir::open(std::env::temp_dir()).unwrap();
        let here = host::describe(directory.at(), &Program { commit: None, by: None });
        let quiet = Pressure { load_1m: Some(0.0), others_busy_percent: Some(3.0), ..Pressure::default() };
        let plain = Machine { wine: None, governor: None, power_plan: None, pressure: quiet.clone(), ..here };
        assert_eq!(standing(&plain), []);
        let full = Machine { power_plan: Some("High performance".into()), ..plain.clone() };
        assert_eq!(standing(&full), []);
        let noisy = Machine {
            wine: Some("8.0".into()),
            power_plan: Some("Balanced, on battery".into()),
            pressure: Pressure { others_busy_percent: Some(60.0), ..quiet },
            ..plain
        };
        let notes = standing(&noisy);
        let kinds: Vec<&str> = notes.iter().map(|note| note.kind.as_str()).collect();
        assert_eq!(kinds, ["wine", "load", "governor"]);
        assert_eq!(notes[0].text, "This ran under Wine 8.0, so the results do not hold for Windows.");
        assert!(notes[1].text.starts_with("Other processes used 60 % of the time"), "{}", notes[1].text);
        assert!(notes[2].text.contains("`Balanced, on battery`"), "{}", notes[2].text);
    }
}
