//! Numbers of arms and data sets, by which a plan, its groups and its samples refer to each other.

use serde::{Deserialize, Serialize};

/// Index of an arm in `Plan::cells`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CellId(pub u32);

/// Index of a data set in `Plan::data`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct DataId(pub u32);
