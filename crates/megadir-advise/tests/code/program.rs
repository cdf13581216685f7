//! Runs a program that answers for all layouts, and compares its answers.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::cases::Question;
use crate::{cases, names};

/// Runs a program with all names, each after its length in two bytes, and returns its output.
pub(crate) fn output_of(command: &mut Command) -> Vec<u8> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let frame = |name: &Vec<u8>| [&(name.len() as u16).to_be_bytes()[..], name].concat();
        // If the program ends early, the output below shows why.
        let _ = input.write_all(&names::ALL.iter().flat_map(frame).collect::<Vec<u8>>());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{command:?}: {}: {stderr}", output.status);
    output.stdout
}

/// Runs a tool that prints nothing on success.
#[track_caller]
pub(crate) fn silent(command: &mut Command) {
    let output = command.output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success() && printed.is_empty(),
        "{command:?}: {}",
        String::from_utf8_lossy(&printed)
    );
}

/// Compares the output of a program: for every layout the answers at each depth, then the depths for numbers of
/// files.
#[track_caller]
pub(crate) fn answers(output: &[u8]) {
    let numbers: Vec<_> =
        cases::ALL.iter().map(|case| (case.files(), case.depths_for(&case.files()))).collect();
    let wanted = cases::ALL.iter().zip(&numbers).flat_map(|(case, (files, depths))| {
        let paths = case.depths.iter().flat_map(|(placer, answers)| {
            let questions =
                case.checked.iter().map(|at| Question::Path(case, placer.depth(), &names::ALL[*at]));
            questions.zip(answers.iter().map(Vec::as_slice))
        });
        let depths =
            files.iter().map(|files| Question::Depth(case, *files)).zip(depths.iter().map(Vec::as_slice));
        paths.chain(depths)
    });
    cases::compare(output, wanted);
}
