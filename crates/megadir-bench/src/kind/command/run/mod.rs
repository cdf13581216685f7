//! One arm's program, run once in each block.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub(crate) use linux::{Program, printed_otherwise};
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported::{Program, printed_otherwise};

#[cfg(not(target_os = "linux"))]
mod unsupported {
    //! Systems without a way to start, time and limit programs; the plan refuses them.

    use std::marker::PhantomData;

    use megadir::Dir;
    use megadir_record::{Arm, CommandWork, Counted, Plan};

    use crate::control::{RunControl, WorkError};
    use crate::kind::{WorkBlock, WorkerCommand, Workload};
    use crate::measure::Stopwatch;

    const ELSEWHERE: &str = "programs can be measured on Linux only";

    pub(crate) struct Program<'a>(PhantomData<&'a WorkerCommand>);

    impl<'a> Program<'a> {
        pub(crate) fn of(
            _plan: &Plan,
            _planned: &Arm,
            _work: &CommandWork,
            _worker: Option<&'a WorkerCommand>,
        ) -> Self {
            Self(PhantomData)
        }

        pub(crate) fn try_once(
            &mut self,
            _directory: &Dir,
            _control: RunControl<'_>,
        ) -> Result<Counted, WorkError> {
            Err(WorkError::Program(ELSEWHERE.into()))
        }
    }

    impl Workload for Program<'_> {
        fn unavailable(&self, _directory: &Dir) -> Option<String> {
            Some(ELSEWHERE.into())
        }

        fn run(&mut self, block: &WorkBlock<'_>, _stopwatch: &mut Stopwatch) -> Result<Counted, WorkError> {
            self.try_once(block.directory, block.control)
        }
    }

    pub(crate) fn printed_otherwise(
        _reference: (&mut Program<'_>, &str),
        _other: (&mut Program<'_>, &str),
        _directory: &Dir,
        _control: RunControl<'_>,
    ) -> Result<Option<String>, WorkError> {
        Ok(None)
    }
}
