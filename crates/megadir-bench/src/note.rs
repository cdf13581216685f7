//! Kinds of notes that a run writes into its record. A note's text has the figures; the report adds advice for each kind.
//!
//! Kinds are part of the record's format: the words stay as they are, or old records would lose their
//! advice.

use megadir_record::Note;

megadir_record::named! {
    pub enum NoteKind {
        ArmLeftOut = "arm-left-out",
        GroupLeftOut = "group-left-out",
        /// The process was off the processor for noticeable gaps on an idle machine.
        TimerGaps = "timer-gaps",
        Wine = "wine",
        StolenTime = "stolen-time",
        Load = "load",
        Pressure = "pressure",
        Governor = "governor",
        DirtyPages = "dirty-pages",
        /// The warm-up reached its limit while times had a trend.
        NotSteady = "not-steady",
        /// More rounds were void than may be repeated.
        Noisy = "noisy",
        UnequalWork = "unequal-work",
        /// The cycle counter is not invariant: the slower clock was used.
        NoCycleCounter = "no-cycle-counter",
        ClockDrift = "clock-drift",
        SlowLoop = "slow-loop",
        /// The loop is slow because the program was built without optimization.
        DebugBuild = "debug-build",
        /// Worker threads could not get descriptor tables of their own.
        SharedDescriptors = "shared-descriptors",
        Leftovers = "leftovers",
        ColdWithoutReads = "cold-without-reads",
        /// Files of a round were removed before the next round.
        RoomReused = "room-reused",
        /// Files of a round that memory cannot hold, though they should be cached.
        LargerThanMemory = "larger-than-memory",
        /// Files are created where the driver skips inodes of removed files, and nothing separates the two.
        RemovedRemembered = "removed-remembered",
        /// Dirty data may be written during measurement: this process may not flush the volume.
        NotWrittenBack = "not-written-back",
        ProgramFailed = "program-failed",
        DataChanged = "data-changed",
        WithoutDirectory = "without-directory",
        ShellStart = "shell-start",
        /// A directory became full and its arm was stopped, or may become full.
        IndexFull = "index-full",
        Ranks = "ranks",
        /// Space that containers of the files take.
        Containers = "containers",
    }
}

impl NoteKind {
    /// Makes a sentence of the text, so that callers can use messages of errors, which are neither
    /// capitalized nor ended by a full stop.
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
