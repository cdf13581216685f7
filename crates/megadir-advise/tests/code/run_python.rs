//! The Python code, run.

use std::fmt::Write;
use std::fs;

use megadir_advise::code::Language;
use megadir_testkit::require;
use megadir_testkit::require::have;

use crate::cases;
use crate::program::{answers, output_of};

/// Runs each layout's code with bytes and with text, and its example.
const DRIVER: &str = r#"
import doctest, os, sys, types

data = sys.stdin.buffer.read()
names, at = [], 0
while at < len(data):
    end = at + 2 + int.from_bytes(data[at:at + 2], "big")
    names.append(data[at + 2:end])
    at = end

def answer(path_for, name, *depth):
    try:
        path = path_for(name, *depth)
    except ValueError:
        path = None
    try:
        text = path_for(os.fsdecode(name), *depth)
    except ValueError:
        text = None
    assert (path is None) == (text is None), name
    assert path is None or type(path) is bytes and type(text) is str and os.fsencode(text) == path, name
    return b"-" if path is None else b"+" + path

def run(file, start, step, depths, files):
    module = types.ModuleType(file)
    with open(file) as code:
        exec(compile(code.read(), file, "exec"), module.__dict__)
    tried = doctest.testmod(module)
    assert tried.attempted == 1 and tried.failed == 0, file
    for depth in depths:
        for name in names[start::step]:
            sys.stdout.buffer.write(answer(module.path_for, name, *depth) + b"\0")
    for count in files:
        sys.stdout.buffer.write(b"%d\0" % module.depth_for(count))

"#;

#[test]
fn python_gives_the_same_paths() {
    require!(have("python3"));
    let place = tempfile::tempdir().unwrap();
    let mut program = DRIVER.to_owned();
    for (at, case) in cases::ALL.iter().enumerate() {
        let file = place.path().join(format!("layout{at}.py"));
        case.write(Language::Python, "", &file);
        let depth = |depth: usize| if case.grows() { format!("({depth},)") } else { "()".to_owned() };
        let depths: Vec<String> = case.depths.iter().map(|(placer, _)| depth(placer.depth())).collect();
        let (start, step) = (case.checked[0], case.checked[1] - case.checked[0]);
        let (file, depths, files) = (file.display().to_string(), depths.join(", "), case.files());
        writeln!(program, "run({file:?}, {start}, {step}, [{depths}], {files:?})").unwrap();
    }
    let driver = place.path().join("driver.py");
    fs::write(&driver, program).unwrap();
    let output = output_of(std::process::Command::new("python3").arg(&driver));
    answers(&output);
}
