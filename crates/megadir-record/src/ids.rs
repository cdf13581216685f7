//! Indices into the lists of a plan.

use serde::{Deserialize, Serialize};

/// Index of an arm in [`Plan::arms`](crate::Plan::arms).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct ArmId(pub u32);

/// Index of a data set in [`Plan::data`](crate::Plan::data).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct DataId(pub u32);

/// Index in [`Plan::file_systems`](crate::Plan::file_systems).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct FsId(pub u32);
