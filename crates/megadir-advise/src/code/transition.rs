//! Reading and writing while files are moved to another layout: functions that open a file by its new path, its old
//! one, and the new one again, and that create files at new paths.

use std::collections::BTreeSet;

use super::rule::Rule;
use super::{go, python, rust, shell};

pub(super) fn python(old: &Rule, new: &Rule) -> String {
    let (old_code, new_code) = (python::write(old), python::write(new));
    let ((mut imports, old_body), (more, new_body)) = (lines_before(&old_code), lines_before(&new_code));
    imports.extend(more);
    imports.extend(["import errno", "import os"]);
    let (modules, names): (Vec<&str>, Vec<&str>) =
        imports.into_iter().partition(|line| line.starts_with("import"));
    let old_body = old_body.replace("path_for", "old_path_for");
    format!(
        "{}\n\n\n{new_body}\n\n{old_body}\n\n{}",
        [modules, names].concat().join("\n"),
        PYTHON.replace("OLD", &old.title).replace("NEW", &new.title)
    )
}

const PYTHON: &str = r#"def open_file(top: AnyStr, name: AnyStr, mode: str = "rb"):
    """Open a file that may be moved from OLD to NEW meanwhile.

    A file is moved once, so if it is not at its new path and then not at its old one, it has been moved in between.
    """
    for place in (path_for, old_path_for, path_for):
        try:
            return open(os.path.join(top, place(name)), mode)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            pass
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)


def create_file(top: AnyStr, name: AnyStr, mode: str = "wb"):
    """Open a file for writing at its new path; its directory is made if it is missing.

    ValueError: the layout does not accept the name.
    """
    path = os.path.join(top, path_for(name))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return open(path, mode)
"#;

fn lines_before(code: &str) -> (BTreeSet<&str>, &str) {
    let (imports, body) = code.split_once("\n\n\n").unwrap_or(("", code));
    (imports.lines().collect(), body)
}

pub(super) fn rust(old: &Rule, new: &Rule) -> String {
    let (old_code, new_code) = (rust::write(old), rust::write(new));
    let indented: String = old_code
        .lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") })
        .collect();
    format!(
        "{new_code}\n/// The old layout.\nmod old {{\n{indented}}}\n\n{}",
        RUST.replace("OLD", &old.title).replace("NEW", &new.title)
    )
}

const RUST: &str = r#"/// Opens a file for reading that may be moved from OLD to NEW meanwhile.
///
/// A file is moved once, so if it is not at its new path and then not at its old one, it has been moved in between.
pub fn open_file(top: &std::path::Path, name: &OsStr) -> std::io::Result<std::fs::File> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    for path in [path_for(name), old::path_for(name), path_for(name)].into_iter().flatten() {
        match std::fs::File::open(top.join(path)) {
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {}
            opened => return opened,
        }
    }
    Err(NotFound.into())
}

/// Opens a file for writing at its new path; its directory is made if it is missing.
pub fn create_file(top: &std::path::Path, name: &OsStr) -> std::io::Result<std::fs::File> {
    let path = top.join(path_for(name).ok_or(std::io::ErrorKind::InvalidInput)?);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::File::create(path)
}
"#;

pub(super) fn go(old: &Rule, new: &Rule) -> String {
    let (old_code, new_code) = (go::write(old), go::write(new));
    let mut packages: BTreeSet<&str> = BTreeSet::from(["errors", "io/fs", "os", "path/filepath", "syscall"]);
    let mut bodies = Vec::new();
    for code in [&new_code, &old_code] {
        let (imports, body) = code.split_once("\n)\n\n").unwrap_or(("", code));
        packages.extend(imports.lines().filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix('"')));
        bodies.push(body);
    }
    let imports: String = packages.iter().map(|package| format!("\t\"{package}\"\n")).collect();
    let old_body = bodies[1].replace("pathFor", "oldPathFor");
    format!(
        "import (\n{imports})\n\n{}\n{old_body}\n{}",
        bodies[0],
        GO.replace("OLD", &old.title).replace("NEW", &new.title)
    )
}

const GO: &str = r#"// openFile opens a file for reading that may be moved from OLD to NEW meanwhile.
// A file is moved once, so if it is not at its new path and then not at its old one, it has been moved in between.
func openFile(top, name string) (*os.File, error) {
	for _, place := range []func(string) (string, error){pathFor, oldPathFor, pathFor} {
		path, err := place(name)
		if err != nil {
			continue
		}
		file, err := os.Open(filepath.Join(top, path))
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return file, err
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// createFile opens a file for writing at its new path; its directory is made if it is missing.
func createFile(top, name string) (*os.File, error) {
	path, err := pathFor(name)
	if err != nil {
		return nil, err
	}
	path = filepath.Join(top, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	return os.Create(path)
}
"#;

pub(super) fn shell(old: &Rule, new: &Rule) -> String {
    let old_code = shell::write(old).replace("path_for", "old_path_for");
    let text = SHELL.replace("OLD", &old.title).replace("NEW", &new.title);
    format!("{}\n{old_code}\n{text}", shell::write(new))
}

const SHELL: &str = r#"# open_file TOP NAME opens a file as descriptor 3 that may be moved from OLD to NEW meanwhile.
# A file is moved once, so if it is not at its new path and then not at its old one, it has been moved in between.
open_file() {
    for layout_place in path_for old_path_for path_for; do
        "$layout_place" "$2" && command exec 3<"$1/$layout_path" && return
    done 2>/dev/null
    return 1
}

# create_file TOP NAME opens a file for writing as descriptor 4 at its new path; its directory is made if it is missing.
create_file() {
    path_for "$2" || return
    case $layout_path in
    */*) mkdir -p "$1/${layout_path%/*}" || return ;;
    esac
    command exec 4>"$1/$layout_path"
}
"#;
