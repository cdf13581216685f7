//! Looking again and again: a line a look, until a share is reached or Ctrl-C.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use megadir::Time;
use megadir::limits::{Asked, Limits};

use super::amount::{interval, percent};
use super::{Args, Looked, json};
use crate::cmd::interrupt::{Interrupt, interruptible};
use crate::exit::{self, CliError};
use crate::ui::message::quoted;
use crate::ui::output::Output;

/// How often a pause looks whether it is to end.
const NAP: Duration = Duration::from_millis(100);

/// Looks at the directories every so often.
pub(super) fn watch(args: &Args, asked: &Asked<'_>, every: Duration) -> Result<u8, CliError> {
    interruptible(|interrupt| looks(args, asked, every, interrupt))
}

fn looks(args: &Args, asked: &Asked<'_>, every: Duration, interrupt: &Interrupt) -> Result<u8, CliError> {
    let mut output = if args.quiet { None } else { Some(Output::new()?) };
    let mut next = Instant::now();
    let mut ever_seen = false;
    loop {
        let mut looked = Looked::new(args);
        for path in &args.directories {
            interrupt.beat.fetch_add(1, Ordering::Relaxed);
            let Some(limits) = looked.at(path, asked) else { continue };
            let Some(output) = &mut output else { continue };
            let time = now();
            if args.json {
                json::object(&mut output.text, &limits, Some(&time));
            } else {
                output.text.extend_from_slice(line(&time, &limits).as_bytes());
            }
            if let Err(ended) = output.flush() {
                return ended.code();
            }
        }
        ever_seen |= looked.seen > 0;
        // What cannot be looked at from the start will not come; what vanishes for a while may.
        if looked.reached || !ever_seen {
            return looked.code();
        }
        next = (next + every).max(Instant::now());
        while Instant::now() < next {
            if interrupt.asked() {
                return Ok(exit::INTERRUPTED);
            }
            interrupt.beat.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(NAP.min(next.saturating_duration_since(Instant::now())));
        }
    }
}

/// Returns what a look has seen, as a line.
fn line(time: &str, limits: &Limits) -> String {
    let place = quoted(&limits.facts.path);
    let most = limits.most_used();
    let used =
        most.map_or_else(String::new, |most| format!("  {} of {} used", percent(most.used), most.limit));
    let more = match (limits.entries_until_full(), limits.runs_out_first()) {
        (Some(more), Some(limit)) => format!("  {} more entries, then {limit}", interval(more)),
        _ => "  nothing known that bounds it".into(),
    };
    format!("{time}  {place}{used}{more}\n")
}

/// Returns the time of the clock, in UTC to the second.
fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let utc = Time { seconds, nanoseconds: 0 }.utc();
    let (date, of_day) = ((utc.year, utc.month, utc.day), (utc.hour, utc.minute, utc.second));
    format!("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", date.0, date.1, date.2, of_day.0, of_day.1, of_day.2)
}
