//! Record of a megadir benchmark run: the contract between measurement and evaluation.
//!
//! A run writes JSON lines: a [`Header`] (plan and machine), a [`Sample`] for every block, [`Note`]s, and an
//! [`End`]. Nothing else passes to the evaluation, which may take place on another machine and years later.
//!
//! * [`plan`]: arms, rules of the run, parameters, groups of arms; [`plan::axes`]: what distinguishes arms.
//! * [`data`]: data sets, generated from a seed, and file systems created for the run.
//! * [`files`]: work on single files; [`command`]: work of any program.
//! * [`built`]: setup of the data sets, also for later epochs, and the accuracy of the run's own instruments.
//! * [`sample`]: result of a block, with evidence of equal work and the times of single operations.
//! * [`jsonl`]: lines, writer and reader; [`redact`]: redaction of private data.
//! * [`claims`]: claims of a study's source; [`machine`]: the machine; `contradictions`: inconsistent parts of a
//!   record; `ranks`: processes of an MPI launcher.

pub mod built;
pub mod claims;
pub mod command;
mod contradictions;
pub mod data;
pub mod files;
pub mod jsonl;
pub mod machine;
pub mod plan;
pub mod ranks;
pub mod redact;
pub mod sample;

pub use built::{Built, BuiltAged, BuiltSet, Delay, Epoch, SelfCheck, Used, UsedByArms};
pub use claims::Claims;
pub use command::{CommandWork, Container, ExpectedOutput, OutputTo, ReadOperation, Reading, SameWork};
pub use contradictions::contradictions;
pub use data::{
    ContentKind, Data, DataId, DataSource, DirectoryClass, Level, Made, MakeDirectories, NAME_LENGTHS,
    NameScheme, SizeLaw, Spread, When,
};
pub use files::{
    Access, FileOperation, FileOrder, FileWork, RemoveWork, Remover, Sharing, SyncPolicy, WorkerKind, Workers,
};
pub use jsonl::{Chain, Cut, DiskUse, End, Header, Line, Note, ReadError, Record, Resumed, Writer};
pub use machine::{
    FileSystem, FsId, LabDisk, LabFileSystem, LabMount, Machine, Place, Pressure, Unavailable,
};
pub use plan::axes::{self, AccessBy, Axes, Operation};
pub use plan::{
    AGED_GROUP, Arm, ArmId, BreakEvenArms, CacheState, ExpectedFiles, FILE_SYSTEM_GROUP, Group, GroupRule,
    Keys, LookupCall, Order, Pair, Plan, Predicted, Presence, Preset, Published, Role, Rules, Stage, Stop,
    Work,
};
pub use ranks::{HostWork, Mount, RankTimes, Ranks};
pub use sample::{Counted, DiskCounts, Latency, Phase, Refused, Sample, Since, VoidReason};
#[doc(hidden)] // for `named!`
pub use serde::{Deserialize, Serialize};

/// Version that this crate writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 4;

/// An enum with a word for each variant: in records, in arguments and in text.
#[macro_export]
macro_rules! named {
    ($(#[$of_type:meta])* pub enum $name:ident { $($(#[$of_variant:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$of_type])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, $crate::Serialize, $crate::Deserialize)]
        pub enum $name {
            $($(#[$of_variant])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            pub const ALL: [Self; [$(Self::$variant),*].len()] = [$(Self::$variant),*];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }
    };
}
