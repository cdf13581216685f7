//! Closed set of notes that a run may write into its record. A note's text has the figures; the report adds
//! advice for each kind.

use megadir_record::Note;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// An arm of the study cannot run here.
    ArmLeftOut,
    /// A group of the study cannot run here.
    GroupLeftOut,
    /// The process was off the processor for noticeable gaps on an idle machine.
    TimerGaps,
    /// The system is Wine, not Windows.
    Wine,
    StolenTime,
    /// The load was high before the run.
    Load,
    /// Tasks were waiting for the processor or for I/O before the run.
    Pressure,
    Governor,
    /// Many dirty pages were waiting for write-back.
    DirtyPages,
    /// The warm-up reached its limit while times still had a trend.
    NotSteady,
    /// More rounds were void than the plan allows to repeat.
    Noisy,
    /// Arms did not see the same entries.
    UnequalWork,
    /// The cycle counter is not invariant, so the slower clock was used.
    NoCycleCounter,
    /// The cycle counter's rate changed during the run.
    ClockDrift,
    /// The empty measuring loop costs more than it should.
    SlowLoop,
    /// Worker threads could not get descriptor tables of their own.
    SharedDescriptors,
    /// The directory of a killed run was removed, or could not be.
    Leftovers,
    /// A block after a cache drop read nothing from the device.
    ColdWithoutReads,
    /// Files that arms made in a round were removed before the next round.
    RoomReused,
    /// Files are created where the driver skips inodes of removed files, and nothing separates the two.
    RemovedRemembered,
    /// Dirty data may be written during measurement because this process may not flush the volume.
    NotWrittenBack,
    /// A program was stopped because it failed in a round.
    ProgramFailed,
    DataChanged,
    /// A command line does not contain the data set's directory.
    WithoutDirectory,
    /// Start of the shell that interprets command lines.
    ShellStart,
    /// A directory became full and its arm was stopped, or the directory may fill up before the arm is done.
    IndexFull,
}

pub const NOTE_KINDS: &[NoteKind] = &[
    NoteKind::ArmLeftOut,
    NoteKind::GroupLeftOut,
    NoteKind::TimerGaps,
    NoteKind::Wine,
    NoteKind::StolenTime,
    NoteKind::Load,
    NoteKind::Pressure,
    NoteKind::Governor,
    NoteKind::DirtyPages,
    NoteKind::NotSteady,
    NoteKind::Noisy,
    NoteKind::UnequalWork,
    NoteKind::NoCycleCounter,
    NoteKind::ClockDrift,
    NoteKind::SlowLoop,
    NoteKind::SharedDescriptors,
    NoteKind::Leftovers,
    NoteKind::ColdWithoutReads,
    NoteKind::RoomReused,
    NoteKind::RemovedRemembered,
    NoteKind::NotWrittenBack,
    NoteKind::ProgramFailed,
    NoteKind::DataChanged,
    NoteKind::WithoutDirectory,
    NoteKind::ShellStart,
    NoteKind::IndexFull,
];

impl NoteKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::ArmLeftOut => "arm-left-out",
            Self::GroupLeftOut => "group-left-out",
            Self::TimerGaps => "timer-gaps",
            Self::Wine => "wine",
            Self::StolenTime => "stolen-time",
            Self::Load => "load",
            Self::Pressure => "pressure",
            Self::Governor => "governor",
            Self::DirtyPages => "dirty-pages",
            Self::NotSteady => "not-steady",
            Self::Noisy => "noisy",
            Self::UnequalWork => "unequal-work",
            Self::NoCycleCounter => "no-cycle-counter",
            Self::ClockDrift => "clock-drift",
            Self::SlowLoop => "slow-loop",
            Self::SharedDescriptors => "shared-descriptors",
            Self::Leftovers => "leftovers",
            Self::ColdWithoutReads => "cold-without-reads",
            Self::RoomReused => "room-reused",
            Self::RemovedRemembered => "removed-remembered",
            Self::NotWrittenBack => "not-written-back",
            Self::ProgramFailed => "program-failed",
            Self::DataChanged => "data-changed",
            Self::WithoutDirectory => "without-directory",
            Self::ShellStart => "shell-start",
            Self::IndexFull => "index-full",
        }
    }

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
