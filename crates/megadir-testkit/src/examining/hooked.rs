//! Wrapper around an examiner that lets a test act between listing and examining, fail or panic.

use std::sync::Arc;

use megadir::{Attributes, Batch, Dir, Examine, Examiner, Result, Want};

/// Runs when a thread begins to examine.
type OnStart = dyn Fn() -> Result<()> + Send + Sync;
type OnExamine = dyn Fn(Batch<'_>) -> Result<()> + Send + Sync;

/// An error from a hook is returned by the call.
pub struct Hooked {
    inner: &'static dyn Examiner,
    on_start: Box<OnStart>,
    on_examine: Arc<OnExamine>,
}

impl Hooked {
    pub fn on_start(
        inner: &'static dyn Examiner,
        before: impl Fn() -> Result<()> + Send + Sync + 'static,
    ) -> &'static dyn Examiner {
        Self { inner, on_start: Box::new(before), on_examine: Arc::new(|_| Ok(())) }.leak()
    }

    pub fn on_examine(
        inner: &'static dyn Examiner,
        before: impl Fn(Batch<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> &'static dyn Examiner {
        Self { inner, on_start: Box::new(|| Ok(())), on_examine: Arc::new(before) }.leak()
    }

    fn hook(&self, inner: Box<dyn Examine>) -> Box<dyn Examine> {
        Box::new(HookedExamine { inner, before: Arc::clone(&self.on_examine) })
    }

    /// Examiners are `'static`; a test may leak a few bytes.
    fn leak(self) -> &'static dyn Examiner {
        Box::leak(Box::new(self))
    }
}

impl Examiner for Hooked {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn about(&self) -> &'static str {
        self.inner.about()
    }

    fn probe(&self, directory: &Dir) -> Result<()> {
        self.inner.probe(directory)
    }

    fn start(&self, directory: &Dir, want: Want) -> Result<Box<dyn Examine>> {
        (self.on_start)()?;
        Ok(self.hook(self.inner.start(directory, want)?))
    }

    fn start_threads(&self, directory: &Dir, want: Want, threads: usize) -> Result<Vec<Box<dyn Examine>>> {
        (0..threads).try_for_each(|_| (self.on_start)())?;
        let inner = self.inner.start_threads(directory, want, threads)?;
        Ok(inner.into_iter().map(|inner| self.hook(inner)).collect())
    }
}

struct HookedExamine {
    inner: Box<dyn Examine>,
    before: Arc<OnExamine>,
}

impl Examine for HookedExamine {
    fn examine(&mut self, directory: &Dir, batch: Batch<'_>, rows: &mut Vec<Attributes>) -> Result<()> {
        (self.before)(batch)?;
        self.inner.examine(directory, batch, rows)
    }
}
