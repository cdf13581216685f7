//! Rows of listings in memory, and objects of Python made of many of them at once: for modules that give other libraries what these
//! find by one call for each entry.
//!
//! ```text
//! Stream (columns: path as bytes, type, ...) -> drain -> Rows: batches, texts (all paths), found (positions)
//!    -> arrange: by directory and name -> children, below: ranges by binary search -> dictionaries, lists
//! ```
//!
//! Tables of Python with an object for each row are made at the end only, under one call.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int32Type, Int64Type, TimestampNanosecondType, UInt32Type, UInt64Type,
};
use arrow_array::{Array, PrimitiveArray, RecordBatch};
use megadir::FileType;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyList, PyString, PyTuple};

use crate::names::Naming;
use crate::stream::Stream;

/// Rows of streams whose paths are bytes, each with the path of its entry.
///
/// Threads share it: each method works on rows that do not change, and nothing of Python runs while the lock is held.
#[pyclass(module = "megadir", frozen)]
pub(crate) struct Gathered {
    rows: Mutex<Arc<Rows>>,
}

#[derive(Clone, Default)]
struct Rows {
    batches: Vec<RecordBatch>,
    /// Whole paths, one behind the other.
    texts: Vec<u8>,
    found: Vec<Found>,
    is_ordered: bool,
}

/// Entry by positions instead of pointers, because both vectors that it points into move when they grow. `start` and
/// `len` are bytes in `Rows::texts`; `batch` and `row` number the row in `Rows::batches`. It is small and `Copy`,
/// since sorts move millions.
#[derive(Clone, Copy)]
struct Found {
    start: usize,
    len: u32,
    /// Start of the name in the path.
    name: u32,
    batch: u32,
    row: u32,
}

/// Columns that the dictionaries have.
///
/// Only the type is required: any other column is `None` if the listing was made without it, and its values in the
/// dictionaries are then `None` too.
struct Columns<'b> {
    kinds: &'b PrimitiveArray<Int8Type>,
    inode: Option<&'b PrimitiveArray<UInt64Type>>,
    size: Option<&'b PrimitiveArray<Int64Type>>,
    mtime: Option<&'b PrimitiveArray<TimestampNanosecondType>>,
    ctime: Option<&'b PrimitiveArray<TimestampNanosecondType>>,
    mode: Option<&'b PrimitiveArray<Int32Type>>,
    uid: Option<&'b PrimitiveArray<UInt32Type>>,
    gid: Option<&'b PrimitiveArray<UInt32Type>>,
    links: Option<&'b PrimitiveArray<Int64Type>>,
}

/// `None` without the column, or with another type: both mean that the listing was made without it.
fn column<'b, T: ArrowPrimitiveType>(batch: &'b RecordBatch, name: &str) -> Option<&'b PrimitiveArray<T>> {
    batch.column_by_name(name)?.as_primitive_opt::<T>()
}

fn value<T: ArrowPrimitiveType>(column: Option<&PrimitiveArray<T>>, row: usize) -> Option<T::Native> {
    column.filter(|column| column.is_valid(row)).map(|column| column.value(row))
}

fn kinds(batch: &RecordBatch) -> PyResult<&PrimitiveArray<Int8Type>> {
    let types = batch.column_by_name("type").and_then(|types| types.as_dictionary_opt::<Int8Type>());
    types.map(|types| types.keys()).ok_or_else(|| PyValueError::new_err("the stream has no column 'type'"))
}

fn kind(kinds: &PrimitiveArray<Int8Type>, row: usize) -> FileType {
    FileType::ALL.get(kinds.value(row) as usize).copied().unwrap_or(FileType::Unknown)
}

impl<'b> Columns<'b> {
    fn of(batch: &'b RecordBatch) -> PyResult<Self> {
        Ok(Self {
            kinds: kinds(batch)?,
            inode: column(batch, "inode"),
            size: column(batch, "size"),
            mtime: column(batch, "mtime"),
            ctime: column(batch, "ctime"),
            mode: column(batch, "mode"),
            uid: column(batch, "uid"),
            gid: column(batch, "gid"),
            links: column(batch, "links"),
        })
    }
}

/// `st_mode` of an entry of this type.
fn type_bits(kind: FileType) -> i32 {
    match kind {
        FileType::Fifo => 0o010_000,
        FileType::CharDevice => 0o020_000,
        FileType::Directory => 0o040_000,
        FileType::BlockDevice => 0o060_000,
        FileType::File => 0o100_000,
        FileType::Symlink => 0o120_000,
        FileType::Socket => 0o140_000,
        _ => 0,
    }
}

/// As `os.stat` computes it.
fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds.div_euclid(1_000_000_000) as f64 + 1e-9 * nanoseconds.rem_euclid(1_000_000_000) as f64
}

/// Lower case as by `str.lower`, which alone knows all letters.
fn ends_with(path: &Bound<'_, PyString>, bytes: &[u8], extensions: &[String]) -> PyResult<bool> {
    let is_end = |extension: &String| {
        let start = bytes.len().checked_sub(extension.len());
        start.is_some_and(|start| bytes[start..].eq_ignore_ascii_case(extension.as_bytes()))
    };
    let are_lower = |extension: &String| {
        extension.is_ascii() && !extension.bytes().any(|letter| letter.is_ascii_uppercase())
        // Most paths are ASCII, and comparing their bytes avoids a call of Python for each.
    };
    if bytes.is_ascii() && extensions.iter().all(are_lower) {
        return Ok(extensions.iter().any(is_end));
    }
    let lower = path.call_method0(intern!(path.py(), "lower"))?;
    lower.call_method1(intern!(path.py(), "endswith"), (PyTuple::new(path.py(), extensions)?,))?.extract()
}

/// First components of the paths in columns of bytes.
#[pyfunction]
pub(crate) fn first_components<'py>(
    py: Python<'py>,
    stream: &Stream,
    columns: Vec<String>,
    // A set, since millions of paths have few first components.
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let firsts = py.detach(|| -> PyResult<HashSet<Vec<u8>>> {
        let (mut source, mut firsts) = (stream.take()?, HashSet::new());
        while let Some(batch) = source.next()? {
            for column in &columns {
                let paths = batch.column_by_name(column).and_then(|paths| paths.as_binary_opt::<i32>());
                let paths = paths.ok_or_else(|| {
                    PyValueError::new_err(format!("no column '{column}' of paths as bytes"))
                })?;
                let first =
                    |path: &[u8]| path.split(|byte| *byte == b'/').next().unwrap_or_default().to_vec();
                firsts.extend(paths.iter().flatten().filter(|path| !path.is_empty()).map(first));
            }
        }
        Ok(firsts)
    })?;
    Ok(firsts.iter().map(|name| PyBytes::new(py, name)).collect())
}

/// Disables the collector of cycles, which would look at all new objects again and again.
fn without_collector<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let collector = py.import("gc")?;
    let is_enabled: bool = collector.call_method0("isenabled")?.extract()?;
    collector.call_method0("disable")?;
    let made = work();
    if is_enabled {
        collector.call_method0("enable")?;
    }
    made
}

/// As Python compares text decoded by `os.fsdecode`: by code points, where a byte that is not UTF-8 is one from U+DC80 on.
fn code_points(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(u32::from);
        valid.chain(chunk.invalid().iter().map(|byte| 0xdc00 + u32::from(*byte)))
    })
}

impl Rows {
    /// Sorts as Python does. If all paths are UTF-8, the order of their bytes is the order of their code
    /// points.
    fn sort(&self, found: &mut Vec<Found>, parts: impl for<'p> Fn(&'p Self, &Found) -> [&'p [u8]; 3]) {
        // Almost in order then, which a stable sort uses.
        self.arrange(found);
        match std::str::from_utf8(&self.texts) {
            Ok(_) => found.sort_by(|a, b| parts(self, a).cmp(&parts(self, b))),
            Err(_) => found.sort_by(|a, b| {
                let pairs = parts(self, a).into_iter().zip(parts(self, b));
                let orders = pairs.map(|(a, b)| code_points(a).cmp(code_points(b)));
                orders.fold(Ordering::Equal, Ordering::then)
            }),
        }
    }

    /// Sorts the entries of each directory by their names, then the directories. Entries of a directory come together, so that this takes a third of
    /// the time of comparing whole paths; a stable sort finds what is in order already.
    fn arrange(&self, found: &mut Vec<Found>) {
        let mut runs: Vec<&mut [Found]> =
            found.chunk_by_mut(|a, b| self.parent(a) == self.parent(b)).collect();
        for run in &mut runs {
            run.sort_unstable_by(|a, b| self.name(a).cmp(self.name(b)));
        }
        runs.sort_by(|a, b| self.parent(&a[0]).cmp(self.parent(&b[0])));
        *found = runs.concat();
    }

    fn sort_by_path(&self, found: &mut Vec<Found>) {
        self.sort(found, |all, one| [all.path(one), b"", b""]);
    }

    fn path(&self, found: &Found) -> &[u8] {
        &self.texts[found.start..found.start + found.len as usize]
    }

    /// Path of the directory, without a slash at its end.
    fn parent(&self, found: &Found) -> &[u8] {
        &self.path(found)[..(found.name as usize).saturating_sub(1)]
    }

    fn name(&self, found: &Found) -> &[u8] {
        &self.path(found)[found.name as usize..]
    }

    /// First component behind the first bytes, if another one follows.
    /// Empty for entries directly below them.
    fn class(&self, found: &Found, skipped: usize) -> &[u8] {
        let below = &self.path(found)[skipped..];
        &below[..below.iter().position(|byte| *byte == b'/').unwrap_or(0)]
    }

    /// By directory and name.
    fn order(&mut self) {
        if !self.is_ordered {
            // The order that the binary searches need: parents, then names.
            let mut found = std::mem::take(&mut self.found);
            self.arrange(&mut found);
            found.sort_by(|a, b| (self.parent(a), self.name(a)).cmp(&(self.parent(b), self.name(b))));
            self.found = found;
            self.is_ordered = true;
        }
    }

    /// Both ends by binary search: entries of one directory, and of directories with a common beginning,
    /// are neighbours.
    fn range(&self, from: &[u8], before: impl Fn(&[u8]) -> bool) -> Range<usize> {
        let start = self.found.partition_point(|found| self.parent(found) < from);
        let end = start + self.found[start..].partition_point(|found| before(self.parent(found)));
        start..end
    }

    fn children(&self, directory: &[u8]) -> Range<usize> {
        self.range(directory, |parent| parent == directory)
    }

    /// One dictionary for each row; returns the dictionaries of symbolic links.
    ///
    /// `each` gets the path and the dictionary. Each dictionary is a copy of a template that has all keys already, so
    /// that no table grows while values are set, and the interned keys are shared. The mode needs the bits of the
    /// type, which the column of modes does not have. Symbolic links are collected in addition, because the module
    /// for fsspec looks at their targets, which a listing does not do.
    fn dictionaries<'py>(
        &self,
        py: Python<'py>,
        found: &[Found],
        mut each: impl FnMut(Bound<'py, PyAny>, Bound<'py, PyDict>) -> PyResult<()>,
    ) -> PyResult<Bound<'py, PyList>> {
        let links = PyList::empty(py);
        let columns = self.batches.iter().map(Columns::of).collect::<PyResult<Vec<_>>>()?;
        let template = PyDict::new(py);
        for key in
            ["name", "size", "type", "created", "islink", "mode", "uid", "gid", "mtime", "ino", "nlink"]
        {
            template.set_item(PyString::intern(py, key), py.None())?;
        }
        let words = ["file", "directory", "other"].map(|word| PyString::intern(py, word));
        let [file, directory, other] = &words;
        for one in found {
            let (columns, row) = (&columns[one.batch as usize], one.row as usize);
            let kind = kind(columns.kinds, row);
            let name = Naming::Text.object(py, self.path(one))?;
            let info = template.copy()?;
            info.set_item(intern!(py, "name"), &name)?;
            info.set_item(intern!(py, "size"), value(columns.size, row))?;
            let word = match kind {
                FileType::File => file,
                FileType::Directory => directory,
                _ => other,
            };
            info.set_item(intern!(py, "type"), word)?;
            let time = |column| value(column, row).map(|ns: i64| PyFloat::new(py, seconds(ns)));
            info.set_item(intern!(py, "created"), time(columns.ctime))?;
            info.set_item(intern!(py, "islink"), kind == FileType::Symlink)?;
            info.set_item(
                intern!(py, "mode"),
                value(columns.mode, row).map(|mode: i32| mode | type_bits(kind)),
            )?;
            info.set_item(intern!(py, "uid"), value(columns.uid, row))?;
            info.set_item(intern!(py, "gid"), value(columns.gid, row))?;
            info.set_item(intern!(py, "mtime"), time(columns.mtime))?;
            info.set_item(intern!(py, "ino"), value(columns.inode, row))?;
            info.set_item(intern!(py, "nlink"), value(columns.links, row))?;
            if kind == FileType::Symlink {
                links.append(&info)?;
            }
            each(name, info)?;
        }
        Ok(links)
    }

    /// Rows at most `depth` levels below a directory, in the order of their paths, with or without directories. Needs the order.
    fn below(&self, directory: &[u8], (depth, directories): (Option<usize>, bool)) -> PyResult<Vec<Found>> {
        let kinds = self.batches.iter().map(kinds).collect::<PyResult<Vec<_>>>()?;
        let directory = directory.strip_suffix(b"/").unwrap_or(directory);
        // With a slash, so that `a-b` is not below `a`.
        let prefix = [directory, b"/"].concat();
        let deeper = self.range(&prefix, |parent| parent.starts_with(&prefix));
        let levels =
            |found: &Found| self.path(found)[prefix.len()..].iter().filter(|byte| **byte == b'/').count() + 1;
        let rows = [self.children(directory), deeper].into_iter().flat_map(|range| &self.found[range]);
        let is_wanted = |one: &&Found| {
            let is_directory = || kind(kinds[one.batch as usize], one.row as usize) == FileType::Directory;
            depth.is_none_or(|depth| levels(one) <= depth) && (directories || !is_directory())
        };
        let mut rows: Vec<Found> = rows.filter(is_wanted).copied().collect();
        self.sort_by_path(&mut rows);
        Ok(rows)
    }

    /// Returns the paths of symbolic links. After an error, the rows before it are here.
    ///
    /// Copies each path once, below `base`, into one vector of bytes, because millions of single strings would take
    /// more memory and time. Rows with an error have no attributes and are left out, and so are those whose first
    /// component is in `without`. All checks of a batch come before its first row, so that a batch with an error adds
    /// nothing and the rows of earlier ones remain whole.
    fn drain(&mut self, stream: &Stream, base: &[u8], without: &HashSet<Vec<u8>>) -> PyResult<Vec<Vec<u8>>> {
        let (base, mut links) = (base.strip_suffix(b"/").unwrap_or(base), Vec::new());
        let mut source = stream.take()?;
        while let Some(batch) = source.next()? {
            // More batches than numbers cannot exist in memory.
            let number = u32::try_from(self.batches.len()).unwrap_or(u32::MAX);
            let paths = batch.columns().first().and_then(|paths| paths.as_binary_opt::<i32>());
            let paths =
                paths.ok_or_else(|| PyValueError::new_err("the first column has no paths as bytes"))?;
            let kinds = kinds(&batch)?;
            let errno = column::<Int32Type>(&batch, "errno");
            for (row, below) in paths.iter().enumerate() {
                if errno.is_some_and(|errno| errno.is_valid(row)) {
                    continue;
                }
                let below = below.unwrap_or_default();
                let top = below.split(|byte| *byte == b'/').next().unwrap_or_default();
                if !without.is_empty() && without.contains(top) {
                    continue;
                }
                let start = self.texts.len();
                self.texts.extend_from_slice(base);
                self.texts.push(b'/');
                self.texts.extend_from_slice(below);
                let path = &self.texts[start..];
                let name = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
                let len = path.len() as u32;
                let found = Found { start, len, name: name as u32, batch: number, row: row as u32 };
                if kind(kinds, row) == FileType::Symlink {
                    links.push(path.to_vec());
                }
                self.found.push(found);
            }
            self.batches.push(batch);
        }
        Ok(links)
    }

    /// Positions of the added rows move behind the present ones.
    fn append(&mut self, added: Self) {
        self.is_ordered = false;
        // The usual case: one stream, nothing to move.
        if self.batches.is_empty() {
            *self = added;
            return;
        }
        let (start, batches) = (self.texts.len(), self.batches.len() as u32);
        self.texts.extend(added.texts);
        self.batches.extend(added.batches);
        let moved =
            |found: Found| Found { start: start + found.start, batch: batches + found.batch, ..found };
        self.found.extend(added.found.into_iter().map(moved));
    }
}

impl Gathered {
    /// Waits without the interpreter's lock.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Arc<Rows>) -> T + Send) -> T {
        py.detach(|| work(&mut self.rows.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// A snapshot: the rows behind the pointer never change, a change makes others.
    fn rows(&self, py: Python<'_>) -> Arc<Rows> {
        self.with(py, |rows| Arc::clone(rows))
    }

    /// Rows in their order, into which the first of several threads brings them.
    fn ordered(&self, py: Python<'_>) -> Arc<Rows> {
        self.with(py, |rows| {
            if !rows.is_ordered {
                Arc::make_mut(rows).order();
            }
            Arc::clone(rows)
        })
    }
}

#[pymethods]
impl Gathered {
    #[new]
    fn new() -> Self {
        Self { rows: Mutex::default() }
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.rows(py).found.len()
    }

    /// Adds the rows of a stream, whose first column has paths below `base`, without those below some entries of `base`. Returns the
    /// paths of symbolic links. Entries that could not be examined are left out.
    fn add<'py>(
        &self,
        py: Python<'py>,
        stream: &Stream,
        base: &[u8],
        without: HashSet<Vec<u8>>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        // Not under the lock: functions for errors and progress are called meanwhile.
        let mut added = Rows::default();
        let links = py.detach(|| added.drain(stream, base, &without));
        self.with(py, |rows| Arc::make_mut(rows).append(added));
        Ok(links?.iter().map(|link| PyBytes::new(py, link)).collect())
    }

    /// Removes the rows of these paths.
    fn discard(&self, py: Python<'_>, paths: HashSet<Vec<u8>>) {
        self.with(py, |rows| {
            // The texts of removed rows stay, as positions refer to them.
            let rows = Arc::make_mut(rows);
            let mut found = std::mem::take(&mut rows.found);
            found.retain(|one| !paths.contains(rows.path(one)));
            rows.found = found;
        });
    }

    /// Dictionaries of fsspec for the rows below a directory by path, in the order of the paths, and those of the symbolic links among them.
    #[pyo3(signature = (directory, depth, directories))]
    fn infos_below<'py>(
        &self,
        py: Python<'py>,
        directory: &[u8],
        depth: Option<usize>,
        directories: bool,
    ) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyList>)> {
        let all = self.ordered(py);
        let rows = py.detach(|| all.below(directory, (depth, directories)))?;
        without_collector(py, || {
            let infos = PyDict::new(py);
            let links = all.dictionaries(py, &rows, |name, info| infos.set_item(name, info))?;
            Ok((infos, links))
        })
    }

    /// Paths below a directory in their order.
    #[pyo3(signature = (directory, depth, directories))]
    fn paths_below<'py>(
        &self,
        py: Python<'py>,
        directory: &[u8],
        depth: Option<usize>,
        directories: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let all = self.ordered(py);
        let rows = py.detach(|| all.below(directory, (depth, directories)))?;
        // Only texts of the paths, hence no dictionaries.
        let paths = PyList::empty(py);
        rows.iter().try_for_each(|one| paths.append(Naming::Text.object(py, all.path(one))?))?;
        Ok(paths)
    }

    /// Dictionaries of fsspec for the entries of a directory, and those of the symbolic links among them.
    fn infos_in<'py>(
        &self,
        py: Python<'py>,
        directory: &[u8],
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyList>)> {
        let all = self.ordered(py);
        let rows = &all.found[all.children(directory.strip_suffix(b"/").unwrap_or(directory))];
        without_collector(py, || {
            let infos = PyList::empty(py);
            let links = all.dictionaries(py, rows, |_, info| infos.append(info))?;
            Ok((infos, links))
        })
    }

    /// Dictionary of fsspec for one entry, or `None`.
    fn info_of<'py>(&self, py: Python<'py>, path: &[u8]) -> PyResult<Option<Bound<'py, PyDict>>> {
        let all = self.ordered(py);
        // Divided as `drain` divides paths, so that equal paths have equal parts.
        let slash = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (parent, name) = (&path[..slash.saturating_sub(1)], &path[slash..]);
        let at = all.found.binary_search_by(|one| (all.parent(one), all.name(one)).cmp(&(parent, name)));
        let Ok(at) = at else { return Ok(None) };
        let mut only = None;
        all.dictionaries(py, &all.found[at..=at], |_, info| {
            only = Some(info);
            Ok(())
        })?;
        Ok(only)
    }

    /// Paths in their order, sizes, and times of modification in seconds.
    fn paths_sizes_times<'py>(&self, py: Python<'py>) -> PyResult<[Bound<'py, PyList>; 3]> {
        let all = self.rows(py);
        let rows = py.detach(|| {
            let mut rows = all.found.clone();
            all.sort_by_path(&mut rows);
            rows
        });
        let sizes: Vec<_> = all.batches.iter().map(|batch| column::<Int64Type>(batch, "size")).collect();
        let times: Vec<_> =
            all.batches.iter().map(|batch| column::<TimestampNanosecondType>(batch, "mtime")).collect();
        let [paths, numbers, modified] = [PyList::empty(py), PyList::empty(py), PyList::empty(py)];
        without_collector(py, || {
            for one in &rows {
                let (batch, row) = (one.batch as usize, one.row as usize);
                paths.append(Naming::Text.object(py, all.path(one))?)?;
                numbers.append(value(sizes[batch], row))?;
                modified.append(value(times[batch], row).map(seconds))?;
            }
            Ok([paths, numbers, modified])
        })
    }

    /// Pairs of path and number of the class, which is the first component below `directory`; in the order of classes, directories and names.
    /// Rows of other classes, and files without one of the extensions, are left out.
    #[pyo3(signature = (directory, classes, extensions))]
    fn samples<'py>(
        &self,
        py: Python<'py>,
        directory: &[u8],
        classes: &Bound<'py, PyDict>,
        extensions: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let skipped = directory.strip_suffix(b"/").unwrap_or(directory).len() + 1;
        let all = self.rows(py);
        let class = |one: &Found| all.class(one, skipped);
        let rows = py.detach(|| {
            let mut rows = all.found.clone();
            all.sort(&mut rows, |all, one| [all.class(one, skipped), all.parent(one), all.name(one)]);
            rows
        });
        let samples = PyList::empty(py);
        without_collector(py, || {
            // Rows of one class follow each other, so each class is looked up once.
            let mut current: (&[u8], Option<Bound<'py, PyAny>>) = (b"", None);
            for one in &rows {
                if class(one) != current.0 {
                    current = (class(one), classes.get_item(Naming::Text.object(py, class(one))?)?);
                }
                let Some(number) = &current.1 else { continue };
                let path = Naming::Text.object(py, all.path(one))?;
                let is_sample = match &extensions {
                    Some(extensions) => ends_with(path.cast()?, all.path(one), extensions)?,
                    None => true,
                };
                if is_sample {
                    samples.append(PyTuple::new(py, [&path, number])?)?;
                }
            }
            Ok(samples)
        })
    }
}
