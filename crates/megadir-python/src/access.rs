//! Ways of reading a tree (across mounts, by which stat backend), and the columns and conditions of a
//! listing.
//!
//! ```text
//! keyword arguments -> conditions(), Access::new -> Asked -> Entries (directory, tree) | Recorded (inventory)
//! ```

use std::path::Path;
use std::sync::Arc;

use megadir::policy::processors;
use megadir::{Conditions, Dir, StatBackend, StatMask, WalkOptions, attribute_policy};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::attention::Callbacks;
use crate::columns::Column;
use crate::names::Naming;

/// `cross_mounts` and the name in `stat_backend`.
pub(crate) type Given = (bool, Option<String>);

#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) cross_mounts: bool,
    pub(crate) stat_backend: Option<&'static dyn StatBackend>,
}

/// Everything that a listing needs except its path, so that a directory, a tree and an inventory are opened by the
/// same value. Without columns, rows are only counted.
pub(crate) struct Asked<'a> {
    pub(crate) columns: &'a [Column],
    /// Type of the names in the columns, if it is not the one of the path.
    pub(crate) names: Option<Naming>,
    pub(crate) recursive: bool,
    pub(crate) access: Access,
    pub(crate) conditions: Conditions,
    pub(crate) callbacks: Callbacks,
}

impl Asked<'_> {
    /// The columns and the conditions together: a condition may need an attribute that no column shows.
    pub(crate) fn want(&self) -> StatMask {
        self.columns.iter().fold(self.conditions.want(), |want, column| want | column.want())
    }
}

impl Access {
    /// Refuses conditions on attributes that the stat backend never returns: they would accept nothing.
    /// Without a name the policy of the library chooses for each file system.
    pub(crate) fn new((cross_mounts, name): Given, conditions: &Conditions) -> PyResult<Self> {
        let Some(name) = name else { return Ok(Self { cross_mounts, stat_backend: None }) };
        let stat_backend =
            megadir::stat_backend(&name).map_err(|error| PyValueError::new_err(error.reason()))?;
        let lacking: Vec<&str> = (conditions.want() & stat_backend.lacks()).names().collect();
        if !lacking.is_empty() {
            let lacking = lacking.join(" and ");
            return Err(bad(&format!("'{name}' never returns {lacking}, which a condition needs")));
        }
        Ok(Self { cross_mounts, stat_backend: Some(stat_backend) })
    }

    /// Refuses a stat backend where none is used.
    pub(crate) fn check_use(&self, reads_attributes: bool) -> PyResult<()> {
        match self.stat_backend {
            Some(_) if !reads_attributes => Err(bad("needs a column or a condition with attributes")),
            _ => Ok(()),
        }
    }

    /// Refuses what an inventory has no use for.
    pub(crate) fn check_inventory(&self, path: &Path) -> PyResult<()> {
        for (given, name) in
            [(self.cross_mounts, "cross_mounts"), (self.stat_backend.is_some(), "stat_backend")]
        {
            if given {
                let path = path.display();
                let reason = format!("{name}: '{path}' is an inventory, and is not read by a walk");
                return Err(PyValueError::new_err(reason));
            }
        }
        Ok(())
    }

    /// As many threads as the file system needs; the walk may start more of them where it finds that they
    /// wait.
    pub(crate) fn walk_options(
        &self,
        root: &Dir,
        want: Option<StatMask>,
        conditions: &Arc<Conditions>,
    ) -> megadir::Result<WalkOptions> {
        let threads = attribute_policy::threads(root.file_system(), processors());
        let threads_max = attribute_policy::threads_max(root.file_system(), processors());
        let examine = match want {
            Some(want) => Some((attribute_policy::stat_backend(root, want, self.stat_backend)?, want)),
            None => None,
        };
        // Conditions are passed to the walk only if they limit the directories that it enters; all others
        // are judged here.
        let conditions = conditions.limits_sight().then(|| Arc::clone(conditions));
        let cross_mounts = self.cross_mounts;
        Ok(WalkOptions { cross_mounts, examine, conditions, threads_max, ..WalkOptions::new(threads) })
    }
}

fn bad(reason: &str) -> PyErr {
    PyValueError::new_err(format!("stat_backend: {reason}"))
}
