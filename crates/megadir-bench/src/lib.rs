//! The megadir benchmark engine: study, plan, run, events.
