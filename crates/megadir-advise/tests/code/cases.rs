//! Layouts of every kind, and the library's answers for every name.

use std::path::Path;
use std::sync::LazyLock;
use std::{fmt, fs};

use megadir::layout::{Layout, PRESETS, PathBuffer, Placer, Source};
use megadir_advise::code::{Language, snippet};
use megadir_testkit::require::full;

use crate::names;

/// Every source with every option, at the limits of the syntax.
const LAYOUTS: &[&str] = &[
    "flat",
    "prefix:2/2",
    "prefix:3/1/2",
    "prefix:255",
    "prefix:200+label=abc",
    "prefix:2/2+rest+label=DIR_",
    "prefix:1/2+rest+from=0+under=9+label=xyz",
    "prefix:1/1+rest+from=1+under=9+label=x",
    "prefix:2/1+rest+from=1+under=100",
    "prefix:1/1/2+from=1+under=100",
    "prefix:2/1+from=0+under=5+label=a",
    "suffix:2",
    "suffix:1/2/3",
    "suffix:2/2+label=-",
    "suffix:1/2/1+from=0+under=18446744073709551615",
    "suffix:1/1+from=1+under=9+label=DIR_",
    "next-to-last:1/2",
    "next-to-last:3/3+label=a_B-9",
    "next-to-last:2/3+from=0+under=3",
    "suffix:1/2+ending=.a",
    "suffix:1/1+from=0+under=9+label=DIR_+ending=x",
    "next-to-last:2+ending=.data",
    "next-to-last:1/1+from=1+under=9+ending=a.b-C_",
    "digest:1",
    "digest:2",
    "digest:3",
    "digest:1/1",
    "digest:2/1",
    "digest:2/2",
    "digest:3/2",
    "digest:3/3",
    "digest:1/3/4+label=x-",
    "digest:1/2/4+from=0+under=9",
    "digest:16/16/16/16",
    "digest:4/4/8/4/4+from=1+under=9",
    "digest:2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2/2",
    "decimal:3",
    "decimal:1",
    "decimal:1/2/4",
    "decimal:250/3/2",
    "sequence:1/1/1",
    "sequence:4096",
    "sequence:3/65535",
    "sequence:7/65535/3/300",
    "sequence:65535/65535/65535/65535",
];

/// Layouts that are checked with every name, in addition to the recommended ones; the long tier checks the
/// rest.
const WHOLE: &[&str] = &[
    "flat",
    "digest:1",
    "digest:2",
    "digest:3",
    "digest:1/1",
    "digest:2/1",
    "digest:2/2",
    "digest:3/2",
    "digest:3/3",
    "git",
    "nginx",
    "ccache",
    "paperclip",
];

/// Layout with its expected answers.
pub(crate) struct Case {
    pub(crate) text: String,
    pub(crate) layout: Layout,
    /// Indices of the names to check.
    pub(crate) checked: Vec<usize>,
    /// Answers for these names at each depth: `+` and the path, or `-`.
    pub(crate) depths: Vec<(Placer, Vec<Vec<u8>>)>,
}

impl Case {
    /// `true` if the code takes the depth as a parameter.
    pub(crate) fn grows(&self) -> bool {
        self.layout.growth().is_some()
    }

    /// `true` if the shell starts a process for each name.
    pub(crate) fn is_slow(&self) -> bool {
        matches!(self.layout.source(), Source::Digest)
    }

    /// Returns numbers of files around each change of the depth.
    pub(crate) fn files(&self) -> Vec<u64> {
        let Some(growth) = self.layout.growth() else { return Vec::new() };
        let powers =
            (0..64).flat_map(|bits| [1 << bits, growth.under_files.checked_shl(bits).unwrap_or(u64::MAX)]);
        let around = powers.flat_map(|files: u64| [files.saturating_sub(1), files, files.saturating_add(1)]);
        around.collect()
    }

    pub(crate) fn depths_for(&self, files: &[u64]) -> Vec<Vec<u8>> {
        files.iter().map(|files| self.layout.at(*files).depth().to_string().into_bytes()).collect()
    }

    /// Writes the code in a language to a file, after `before`.
    pub(crate) fn write(&self, language: Language, before: &str, path: &Path) {
        let code = snippet(&self.layout, language).unwrap();
        fs::write(path, format!("{before}{code}")).unwrap();
    }
}

/// Every preset and every layout of the list.
pub(crate) static ALL: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let presets = PRESETS.iter().map(|preset| preset.name);
    presets.chain(LAYOUTS.iter().copied()).enumerate().map(|(at, text)| case(at, text)).collect()
});

fn case(at: usize, text: &str) -> Case {
    let layout: Layout = text.parse().unwrap();
    let mut buffer = PathBuffer::new();
    let mut answer = |placer: &Placer, name: &[u8]| match placer.place(name, &mut buffer) {
        Ok(placed) => [b"+", placed.path()].concat(),
        Err(_) => b"-".to_vec(),
    };
    // Few names have the ending of a layout.
    let is_whole = full() || WHOLE.contains(&text) || !layout.ending().is_empty();
    let share = if is_whole { 1 } else { 10 };
    let checked: Vec<usize> = (at % share..names::NAMES).step_by(share).collect();
    let depths = layout
        .placers()
        .map(|placer| (placer, checked.iter().map(|at| answer(&placer, &names::ALL[*at])).collect()));
    let depths = depths.collect();
    Case { text: text.to_owned(), layout, checked, depths }
}

pub(crate) enum Question<'a> {
    /// Path of a name, at a depth.
    Path(&'a Case, usize, &'a [u8]),
    /// Depth for a number of files.
    Depth(&'a Case, u64),
    /// Locale after the call.
    Locale,
}

impl fmt::Display for Question<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(case, depth, name) => {
                write!(f, "{} at depth {depth}, {}", case.text, name.escape_ascii())
            }
            Self::Depth(case, files) => write!(f, "{} with {files} files", case.text),
            Self::Locale => write!(f, "locale"),
        }
    }
}

/// Compares answers, each terminated by NUL, with the expected ones.
#[track_caller]
pub(crate) fn compare<'a>(output: &[u8], mut wanted: impl Iterator<Item = (Question<'a>, &'a [u8])>) {
    let output = output.strip_suffix(b"\0").expect("answers");
    for (at, answer) in output.split(|byte| *byte == 0).enumerate() {
        let (question, expected) = wanted.next().expect("no more answers than questions");
        let shown = [answer, expected].map(<[u8]>::escape_ascii);
        assert!(answer == expected, "answer {at}, {question}: {} instead of {}", shown[0], shown[1]);
    }
    let left = wanted.count();
    assert_eq!(left, 0, "questions without an answer");
}

#[test]
fn every_layout_takes_some_names_and_refuses_some() {
    assert_eq!(names::ALL.len(), names::NAMES);
    for case in &*ALL {
        for (placer, answers) in &case.depths {
            let taken = answers.iter().filter(|answer| answer[0] == b'+').count();
            assert!(taken >= 3, "{} at depth {}: {taken}", case.text, placer.depth());
            assert!(answers.len() - taken >= 3, "{}", case.text);
        }
    }
}
