//! Reads studies: built-in ones by name, any from its text, with errors that name the line. Backends are
//! not checked.
//!
//! ```text
//!  text --toml--> StudyFile --study()--> Study
//!    |                |                    |
//!    syntax, types    exactly one kind     contradictions between fields
//!    (line, column)   (file)               (file)
//! ```
//!
//! Whatever can be refused without a machine is refused here, so that a mistake in a study file shows
//! before anything is created. Messages of the TOML parser are rewritten, since they are in the words of
//! Rust's types.

use megadir::nearest::choices;
use megadir_record::{Claims, Made, Published};
use serde::Deserialize;

use super::unknown_keys::unknown_key;
use super::{Meta, RulesSpec, SizeSpec, Sizes, Study};
use crate::kind::Kind;
use crate::kind::command::CommandSpec;
use crate::kind::fill::{FillSpec, FillUntilFullSpec};
use crate::kind::layout::LayoutSpec;
use crate::kind::list::{CompareSpec, DecomposeSpec, GrowSpec, ListSpec, Reading, WindowsSpec};
use crate::kind::lookup::LookupSpec;
use crate::kind::remove::RemoveSpec;
use crate::kind::small_files::SmallFilesSpec;
use crate::kind::stat_all::StatAllSpec;
use crate::kind::stat_some::StatSomeSpec;

#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    pub name: &'static str,
    pub text: &'static str,
}

/// To add one, create a file in `studies/` and add a line here.
pub static BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: "listing", text: include_str!("../../studies/listing.toml") },
    BuiltIn { name: "lookup", text: include_str!("../../studies/lookup.toml") },
    BuiltIn { name: "attributes", text: include_str!("../../studies/attributes.toml") },
    BuiltIn { name: "stat-or-list", text: include_str!("../../studies/stat-or-list.toml") },
    BuiltIn { name: "fill", text: include_str!("../../studies/fill.toml") },
    BuiltIn { name: "layout", text: include_str!("../../studies/layout.toml") },
    BuiltIn { name: "smallfile", text: include_str!("../../studies/smallfile.toml") },
    BuiltIn { name: "mdtest-easy", text: include_str!("../../studies/mdtest-easy.toml") },
    BuiltIn { name: "mdtest-hard", text: include_str!("../../studies/mdtest-hard.toml") },
    BuiltIn { name: "remove", text: include_str!("../../studies/remove.toml") },
    BuiltIn { name: "limits", text: include_str!("../../studies/limits.toml") },
    BuiltIn { name: "container", text: include_str!("../../studies/container.toml") },
    BuiltIn { name: "peers", text: include_str!("../../studies/peers.toml") },
];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StudyError {
    #[error("unknown study `{name}`: {}", choices(.name, .known.iter().map(String::as_str)))]
    Unknown { name: String, known: Vec<String> },
    #[error("{file}:{line}:{column}: {reason}")]
    Syntax {
        file: String,
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
        reason: String,
    },
    #[error("{file}: {reason}")]
    Contradiction { file: String, reason: String },
}

/// Returns the built-in study called `name`.
///
/// Errors: [`StudyError::Unknown`] with the nearest name.
///
/// ```
/// let study = megadir_bench::study::built_in("listing").unwrap();
/// assert_eq!(study.meta.name, "listing");
/// ```
pub fn built_in(name: &str) -> Result<Study, StudyError> {
    match BUILT_IN.iter().find(|study| study.name == name) {
        Some(found) => from_text(found.name, found.text),
        None => {
            let known: Vec<String> = BUILT_IN.iter().map(|study| study.name.to_owned()).collect();
            Err(StudyError::Unknown { name: name.to_owned(), known })
        }
    }
}

/// Unknown fields are errors, so that a misspelt one cannot silently do nothing.
///
/// The file as written, with every section that any kind of study may have. Exactly one kind must be
/// present, which `study` tests, so that the rest of the program deals with a `Kind` and never with optional
/// sections. The aliases are keys of older study files.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StudyFile {
    name: String,
    question: String,
    source: String,
    #[serde(alias = "keeps")]
    reproduces: Vec<String>,
    #[serde(alias = "mends")]
    fixes: Vec<String>,
    #[serde(default)]
    published: Vec<Published>,
    claims: Option<Claims>,
    size: Sizes,
    #[serde(deserialize_with = "super::data::made")]
    data: Made,
    rules: RulesSpec,
    baseline: Option<Reading>,
    lookup: Option<LookupSpec>,
    refusal: Option<FillUntilFullSpec>,
    attributes: Option<StatAllSpec>,
    #[serde(rename = "ask")]
    stat_some: Option<StatSomeSpec>,
    fill: Option<FillSpec>,
    layout: Option<LayoutSpec>,
    smallfile: Option<SmallFilesSpec>,
    remove: Option<RemoveSpec>,
    command: Option<CommandSpec>,
    #[serde(default)]
    compare: Vec<CompareSpec>,
    #[serde(default)]
    decompose: Vec<DecomposeSpec>,
    #[serde(default)]
    grow: Vec<GrowSpec>,
    windows: Option<WindowsSpec>,
}

impl StudyFile {
    /// Sections are listed once with their names, so that the messages name the existing ones. Sections that
    /// only listings have are refused elsewhere instead of ignored. Contradictions between fields are looked
    /// for last, since they need the complete study.
    fn study(self) -> Result<Study, String> {
        let Self { name, question, source, reproduces, fixes, published, claims, size, data, rules, .. } =
            self;
        let (compare, decompose, grow, windows) = (self.compare, self.decompose, self.grow, self.windows);
        let groups = !(compare.is_empty() && decompose.is_empty() && grow.is_empty());
        let of_windows = windows.is_some();
        let list = |baseline| Kind::List(ListSpec { baseline, compare, decompose, grow, windows });
        let sections = [
            ("baseline", self.baseline.map(list)),
            ("lookup", self.lookup.map(Kind::Lookup)),
            ("attributes", self.attributes.map(Kind::StatAll)),
            ("ask", self.stat_some.map(Kind::StatSome)),
            ("fill", self.fill.map(Kind::Fill)),
            ("refusal", self.refusal.map(Kind::FillUntilFull)),
            ("layout", self.layout.map(Kind::Layout)),
            ("smallfile", self.smallfile.map(Kind::SmallFiles)),
            ("remove", self.remove.map(Kind::Remove)),
            ("command", self.command.map(Kind::Command)),
        ];
        let names = sections.each_ref().map(|(name, _)| *name);
        let mut given = sections.into_iter().filter_map(|(name, kind)| Some((name, kind?)));
        let (section, kind) = match (given.next(), given.next()) {
            (None, _) => {
                return Err(format!("it has no work: add one of [{}]", names.join("], [")));
            }
            (Some((section, _)), Some((second, _))) => {
                return Err(format!("it has both [{section}] and [{second}]; remove one"));
            }
            (Some(section), None) => section,
        };
        if section != "baseline" && groups {
            let text =
                "[[compare]], [[decompose]] and [[grow]] are for listing studies, which have a [baseline]";
            return Err(format!("{text}, not a [{section}]"));
        }
        if section != "baseline" && of_windows {
            return Err("[windows] is for listing studies".into());
        }
        let meta = Meta { name, question, source, reproduces, fixes, published, claims };
        let study = Study { meta, sizes: size, rules, data, kind };
        contradiction(&study, section).map_or(Ok(study), Err)
    }
}

/// Reads a study. `file` appears in messages only. The part for Windows is checked on every system: a study
/// is usually written on one and run on another.
pub fn from_text(file: &str, text: &str) -> Result<Study, StudyError> {
    let read: StudyFile = toml::from_str(text).map_err(|error| {
        let (line, column) = position(text, error.span().map_or(0, |span| span.start));
        let reason = plain(error.message());
        StudyError::Syntax { file: file.to_owned(), line, column, reason }
    })?;
    if let Some((offset, reason)) = unknown_key(text) {
        let (line, column) = position(text, offset);
        return Err(StudyError::Syntax { file: file.to_owned(), line, column, reason });
    }
    let contradiction = |reason| StudyError::Contradiction { file: file.to_owned(), reason };
    let study = read.study().map_err(contradiction)?;
    study.clone().on_windows().kind.contradiction().map_or(Ok(study), |reason| Err(contradiction(reason)))
}

/// Line and column of a byte offset, both from 1, as editors count them.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

/// Checks that concern several fields, after each field was accepted alone. The first one found is the
/// message.
fn contradiction(study: &Study, section: &str) -> Option<String> {
    let sizes = [&study.sizes.quick, &study.sizes.default, &study.sizes.published];
    if sizes.iter().any(|size| size.entries == 0 || size.rounds == 0) {
        return Some("a size needs at least 1 entry and 1 round".into());
    }
    let rules = &study.rules;
    let fractions = [
        ("equivalence_band", rules.equivalence_band),
        ("stolen_fraction_max", rules.stolen_fraction_max),
        ("redone_fraction_max", rules.redone_fraction_max),
    ];
    if let Some((name, value)) = fractions.iter().find(|(_, value)| !(*value > 0.0 && *value < 1.0)) {
        return Some(format!("rules.{name} is {value}: expected a value between 0 and 1"));
    }
    if study.kind.makes_files() && rules.warm_up_rounds_min > 0 {
        let text = "has nothing to warm up: set rules.warm_up_rounds_min = 0";
        return Some(format!("a study with [{section}] {text}"));
    }
    study.kind.contradiction().or_else(|| smaller_contradiction(study, sizes))
}

/// Smaller sizes must ascend, because growth is fitted over them in order; kinds without growth refuse them
/// instead of ignoring them.
fn smaller_contradiction(study: &Study, sizes: [&SizeSpec; 3]) -> Option<String> {
    let ascends = |size: &&SizeSpec| {
        let all: Vec<u64> = size.smaller.iter().copied().chain([size.entries]).collect();
        all[0] > 0 && all.is_sorted_by(|a, b| a < b)
    };
    match study.kind {
        Kind::Lookup(_) | Kind::StatAll(_) | Kind::StatSome(_) | Kind::Command(_) => {
            let text = "size.smaller must ascend from 1 or more to below size.entries";
            (!sizes.iter().all(ascends)).then(|| text.into())
        }
        Kind::Fill(_) => None,
        _ if sizes.iter().all(|size| size.smaller.is_empty()) => None,
        Kind::List(_) => Some("size.smaller is for lookup studies; [[grow]] has fractions instead".into()),
        _ => Some("size.smaller is only for [lookup], [attributes], [ask], [fill] and [command]".into()),
    }
}

/// Rewrites a message of serde in plain words, with the nearest known key. Messages that it does not know
/// pass unchanged. Also used for other files that are read by serde.
pub fn plain(message: &str) -> String {
    let message = message.trim().replace('\n', ", ");
    for (start, kind) in [("unknown field `", "key"), ("unknown variant `", "value")] {
        if let Some((word, rest)) = message.strip_prefix(start).and_then(|rest| rest.split_once('`')) {
            let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
            return match known.is_empty() {
                true => format!("unknown {kind} '{word}'"),
                false => format!("unknown {kind} '{word}': {}", choices(word, known.iter().copied())),
            };
        }
    }
    if let Some(word) = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return format!("the key '{word}' is missing");
    }
    for start in ["invalid type: ", "invalid value: "] {
        if let Some((found, expected)) =
            message.strip_prefix(start).and_then(|rest| rest.split_once(", expected "))
        {
            return format!("expected {}, found {}", expected_words(expected), found_words(found));
        }
    }
    message
}

fn expected_words(expected: &str) -> &str {
    match expected {
        "a string" => "a string in quotes",
        "a sequence" => "a list in [ ]",
        "a boolean" => "true or false",
        "u8" | "u16" | "u32" | "u64" | "usize" | "i64" => "a whole number",
        "f64" => "a number",
        _ if expected == "a map" || expected.starts_with("struct ") => "a table",
        _ => expected,
    }
}

fn found_words(found: &str) -> String {
    let (kind, value) = found.split_once(' ').unwrap_or((found, ""));
    match kind {
        "string" => format!("the string {value}"),
        "integer" | "floating" => {
            format!("the number {}", value.trim_start_matches("point ").trim_matches('`'))
        }
        "boolean" => format!("the value {}", value.trim_matches('`')),
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        _ => found.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{BUILT_IN, StudyError, built_in, from_text, plain};

    #[test]
    fn every_built_in_study_is_read_and_named_by_its_file() {
        for study in BUILT_IN {
            assert_eq!(built_in(study.name).unwrap().meta.name, study.name);
        }
    }

    #[test]
    fn the_keys_of_earlier_versions_are_read() {
        let text = BUILT_IN[0].text;
        let earlier = text.replace("\nreproduces = ", "\nkeeps = ").replace("\nfixes = ", "\nmends = ");
        assert_ne!(text, earlier);
        assert!(from_text("earlier", &earlier).unwrap() == built_in(BUILT_IN[0].name).unwrap());
    }

    #[test]
    fn unknown_study_is_refused_with_the_nearest_name() {
        let error = built_in("listnig").unwrap_err();
        let names: Vec<&str> = BUILT_IN.iter().map(|study| study.name).collect();
        let all = names.join(", ");
        assert_eq!(
            error.to_string(),
            format!("unknown study `listnig`: did you mean 'listing'? expected one of {all}")
        );
        assert!(built_in("zzzzzzz").unwrap_err().to_string().contains("`: expected one of listing"));
    }

    #[test]
    fn studies_are_checked_for_windows_on_every_system() {
        let text =
            BUILT_IN[0].text.replace(r#""sort", "attributes", "format-long""#, r#""sort", "format-long""#);
        assert_ne!(text, BUILT_IN[0].text);
        let Err(StudyError::Contradiction { reason, .. }) = from_text("own.toml", &text) else { panic!() };
        assert_eq!(reason, "the stage format-long needs the stage `attributes`");
        let lookup = BUILT_IN.iter().find(|study| study.name == "lookup").unwrap().text;
        let windows = "\n[windows]\nquestion = \"x\"\nunlike = \"x\"\nbaseline = { backend = \"std\", buffer_bytes = 1, threads = 1 }\n";
        let Err(StudyError::Contradiction { reason, .. }) =
            from_text("own.toml", &format!("{lookup}{windows}"))
        else {
            panic!()
        };
        assert_eq!(reason, "[windows] is for listing studies");
    }

    #[test]
    fn unknown_field_is_an_error_with_position_and_allowed_fields() {
        let text = BUILT_IN[0].text.replace("warm_up_s_max = 10", "warm_up_seconds = 10");
        let Err(StudyError::Syntax { line, column, reason, .. }) = from_text("own.toml", &text) else {
            panic!("the misspelt field was accepted");
        };
        let expected = text.lines().position(|line| line.starts_with("warm_up_seconds")).unwrap() + 1;
        assert_eq!((line, column), (expected, 1));
        assert!(reason.contains("warm_up_s_max"), "{reason}");
    }

    #[test]
    fn a_confidence_that_verdicts_are_not_made_for_is_an_error_with_its_line() {
        let text = BUILT_IN[0].text.replacen("confidence = 0.95", "confidence = 0.99", 1);
        let line = text.lines().position(|line| line.starts_with("confidence")).unwrap() + 1;
        let error = from_text("own.toml", &text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("own.toml:{line}:")), "{error}");
        assert!(error.ends_with("rules.confidence is 0.99; allowed: 0.95"), "{error}");
    }

    #[test]
    fn a_contradiction_is_named() {
        for (from, to, message) in [
            ("rounds = 30", "rounds = 0", "1 round"),
            ("equivalence_band = 0.03", "equivalence_band = 3.0", "between 0 and 1"),
            ("stage = \"keep\"", "stage = \"sort\"", "may appear once"),
            ("fractions = [0.01, 0.1, 1.0]", "fractions = [0.1, 0.01]", "ascend"),
        ] {
            let text = BUILT_IN[0].text.replacen(from, to, 1);
            let error = from_text("own.toml", &text).unwrap_err().to_string();
            assert!(error.starts_with("own.toml: ") && error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_study_that_fills_directories_does_nothing_else() {
        let own = BUILT_IN.iter().find(|study| study.name == "limits").unwrap().text;
        let baseline = "[baseline]\nbackend = \"std\"\nbuffer_bytes = 4096\nthreads = 1\n[refusal]";
        for (from, to, message) in [
            ("[refusal]", baseline, "[baseline] and [refusal]"),
            ("warm_up_rounds_min = 0", "warm_up_rounds_min = 1", "nothing to warm up"),
            ("entries = 160_000\n", "entries = 160_000\nsmaller = [1]\n", "only for [lookup]"),
            ("[refusal]\ntitle", "[refusl]\ntitle", "refusal"),
        ] {
            let error = from_text("own.toml", &own.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn contradictory_attribute_settings_are_refused() {
        let baseline = "[baseline]\nbackend = \"std\"\nbuffer_bytes = 4096\nthreads = 1\n";
        for (study, from, to, message) in [
            ("attributes", "methods = []", "methods = [\"std-fz\"]", "did you mean 'std-fs'?"),
            ("attributes", "threads = [2, 4]", "threads = []", "attributes.threads needs"),
            ("attributes", "threads = [2, 4]", "threads = [0]", "attributes.threads needs"),
            ("attributes", "threads = [2, 4]", "thread = [2]", "threads"),
            (
                "attributes",
                "smaller = [1_000, 2_000]",
                "smaller = [2_000, 1_000]",
                "size.smaller must ascend",
            ),
            ("attributes", "[attributes]", &format!("{baseline}[attributes]"), "[baseline] and [attributes]"),
            ("stat-or-list", "\"policy\"]", "\"polcy\"]", "did you mean 'policy'?"),
            ("stat-or-list", "list = [\"getdents-statx\", \"policy\"]", "list = []", "ask.list needs"),
            ("stat-or-list", "0.3, 1.0]", "0.3, 1.1]", "ask.shares must ascend"),
            ("stat-or-list", "[0.001, 0.003", "[0.003, 0.001", "ask.shares must ascend"),
            ("stat-or-list", "[ask]", "[attributes]\nthreads = [2]\n[ask]", "[attributes] and [ask]"),
        ] {
            let own = BUILT_IN.iter().find(|built_in| built_in.name == study).unwrap().text;
            let error = from_text("own.toml", &own.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.starts_with("own.toml:") && error.contains(message), "{error}");
        }
    }

    #[test]
    fn messages_are_sentences_without_words_of_rust() {
        for (message, expected) in [
            ("missing field `name`", "the key 'name' is missing"),
            (
                "invalid type: string \"many\", expected u64",
                "expected a whole number, found the string \"many\"",
            ),
            (
                "invalid type: integer `3`, expected a string",
                "expected a string in quotes, found the number 3",
            ),
            ("invalid value: integer `-1`, expected u32", "expected a whole number, found the number -1"),
            ("invalid type: integer `3`, expected struct Size", "expected a table, found the number 3"),
            ("duplicate key", "duplicate key"),
        ] {
            assert_eq!(plain(message), expected);
        }
        let variant = plain("unknown variant `wrm`, expected `warm` or `cold`");
        assert!(variant.starts_with("unknown value 'wrm': ") && variant.contains("warm"), "{variant}");
        let field = plain("unknown field `cachee`, expected one of `cache`, `name`");
        assert!(field.starts_with("unknown key 'cachee': ") && field.contains("cache"), "{field}");
    }
}
