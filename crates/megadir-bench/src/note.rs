//! Closed set of notes that a run may write into its record. A note's text has the figures; the report adds
//! advice for each kind.

use megadir_record::Note;

megadir_record::named! {
    pub enum NoteKind {
        /// An arm of the study cannot run here.
        ArmLeftOut = "arm-left-out",
        /// A group of the study cannot run here.
        GroupLeftOut = "group-left-out",
        /// The process was off the processor for noticeable gaps on an idle machine.
        TimerGaps = "timer-gaps",
        /// The system is Wine, not Windows.
        Wine = "wine",
        StolenTime = "stolen-time",
        /// The load was high before the run.
        Load = "load",
        /// Tasks were waiting for the processor or for I/O before the run.
        Pressure = "pressure",
        Governor = "governor",
        /// Many dirty pages were waiting for write-back.
        DirtyPages = "dirty-pages",
        /// The warm-up reached its limit while times still had a trend.
        NotSteady = "not-steady",
        /// More rounds were void than the plan allows to repeat.
        Noisy = "noisy",
        /// Arms did not see the same entries.
        UnequalWork = "unequal-work",
        /// The cycle counter is not invariant, so the slower clock was used.
        NoCycleCounter = "no-cycle-counter",
        /// The cycle counter's rate changed during the run.
        ClockDrift = "clock-drift",
        /// The empty measuring loop costs more than it should.
        SlowLoop = "slow-loop",
        /// Worker threads could not get descriptor tables of their own.
        SharedDescriptors = "shared-descriptors",
        /// The directory of a killed run was removed, or could not be.
        Leftovers = "leftovers",
        /// A block after a cache drop read nothing from the device.
        ColdWithoutReads = "cold-without-reads",
        /// Files that arms made in a round were removed before the next round.
        RoomReused = "room-reused",
        /// Files are created where the driver skips inodes of removed files, and nothing separates the two.
        RemovedRemembered = "removed-remembered",
        /// Dirty data may be written during measurement because this process may not flush the volume.
        NotWrittenBack = "not-written-back",
        /// A program was stopped because it failed in a round.
        ProgramFailed = "program-failed",
        DataChanged = "data-changed",
        /// A command line does not contain the data set's directory.
        WithoutDirectory = "without-directory",
        /// Start of the shell that interprets command lines.
        ShellStart = "shell-start",
        /// A directory became full and its arm was stopped, or the directory may fill up before the arm is done.
        IndexFull = "index-full",
        /// Ranks did the work: overhead and stragglers.
        Ranks = "ranks",
    }
}

impl NoteKind {
    pub(crate) fn note(self, mut text: String) -> Note {
        if let Some(first) = text.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        if !text.ends_with('.') {
            text.push('.');
        }
        Note { kind: self.name().to_owned(), text }
    }
}
