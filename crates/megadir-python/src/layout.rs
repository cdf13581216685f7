//! `Layout`: paths of files that are spread over directories.

use megadir::layout::{self, NameBuffer, PathBuffer};
use megadir::names;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::failure::value_error;
use crate::names::Named;

/// Layout of files in directories, by its text such as `digest:2`, or by a preset's name such as `git`.
#[pyclass(module = "megadir", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Layout {
    text: String,
}

// Parsed for each call: a class of Python holds the text only, which is compared and hashed.
impl Layout {
    fn layout(text: &str) -> PyResult<layout::Layout> {
        match layout::preset(text) {
            Some(preset) => Ok(preset.layout),
            None => text.parse().map_err(value_error::<layout::LayoutError>),
        }
    }
}

#[pymethods]
impl Layout {
    #[new]
    fn new(text: String) -> PyResult<Self> {
        Self::layout(&text)?;
        Ok(Self { text })
    }

    /// Path of a name, relative to the top.
    #[pyo3(signature = (name, files=None))]
    fn path<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyAny>,
        files: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Named { path, naming } = Named::from(name)?;
        let layout = Self::layout(&self.text)?;
        // Such layouts have more levels for more files.
        if layout.growth().is_some() && files.is_none() {
            return Err(PyValueError::new_err(format!(
                "the depth of {} depends on the number of files: give files=",
                self.text
            )));
        }
        let mut buffer = PathBuffer::new();
        let placed = layout.at(files.unwrap_or(0));
        let placed = placed.place(names::from_os(path.as_os_str()), &mut buffer);
        let placed = placed
            .map_err(|refused| PyValueError::new_err(format!("name {}: {refused}", name_text(&path))))?;
        naming.object(py, placed.path())
    }

    /// Name of the file at a path, relative to the top.
    fn name<'py>(&self, py: Python<'py>, path: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Named { path, naming } = Named::from(path)?;
        let mut buffer = NameBuffer::new();
        match Self::layout(&self.text)?.name_of(names::from_os(path.as_os_str()), &mut buffer) {
            Some(name) => naming.object(py, name),
            None => {
                let reason = format!("{} is not a path of {}", name_text(&path), self.text);
                Err(PyValueError::new_err(reason))
            }
        }
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("Layout('{}')", self.text)
    }
}

fn name_text(path: &std::path::Path) -> String {
    format!("'{}'", path.display())
}
