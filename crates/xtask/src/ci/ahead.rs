//! Builds what later stages need while the tests wait for devices, timers and child processes. Those stages build again, which then takes
//! no time, and report what failed.

use super::{fuzz, instructions, suites, wine};
use crate::ci::drive::{Context, Report};
use crate::process;

const LOWEST_PRIORITY: i32 = 19;

/// The stage `test`.
pub(crate) fn run_test(context: &Context) -> Result<Report, String> {
    if context.full || context.named {
        return suites::run_test(context);
    }
    std::thread::scope(|scope| {
        scope.spawn(|| build(context));
        suites::run_test(context)
    })
}

fn build(context: &Context) {
    // Of this thread and of what it starts. Without it the tests only take longer.
    let _ = rustix::process::nice(LOWEST_PRIORITY);
    let fuzz = fuzz::host().map(|host| fuzz::build_command(context, &host));
    let others = [wine::build_command(context), instructions::build_command(context)];
    for mut command in others.into_iter().chain(fuzz) {
        drop(process::run_at_most(&mut command, fuzz::BUILD_LIMIT));
    }
}
