//! Studies: declared experiments, read from TOML.
//!
//! A study says what is compared, at which sizes, and what of its source it keeps and mends; it holds
//! no parameter of a particular run. The built-in ones are embedded, a user's own file works the same.
//! This module never decides anything: [`crate::plan()`] turns a study and a request into a plan.

mod data;
mod files;
mod load;
mod of_attributes;
mod spec;

pub use files::{AccessSpec, FillSpec, LayoutSpec, RemoveSpec, SmallFileSpec};
pub use load::{BUILT_IN, BuiltIn, StudyError, built_in, from_text};
#[cfg(test)]
pub(crate) use spec::system_calls;
pub use spec::{
    ArmSpec, AskSpec, AttributesSpec, BaselineSpec, CompareSpec, DecomposeSpec, GrowSpec, LookupSpec,
    RefusalSpec, RulesSpec, SeriesSpec, SizeSpec, Sizes, StepSpec, Study,
};
