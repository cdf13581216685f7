//! Reading a study: the built-in ones by name, any by its text, with errors that point at the line.
//!
//! Knows the grammar of study files, never what a backend can do.

use megadir::nearest::choices;
use megadir_record::Stage;

use super::of_attributes;
use crate::study::{StepSpec, Study};

/// A study that is embedded in the program.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// Its file's text.
    pub text: &'static str,
}

/// The studies embedded in the program; adding one is a file in `studies/` and a line here.
pub static BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: "listing", text: include_str!("../../../../studies/listing.toml") },
    BuiltIn { name: "lookup", text: include_str!("../../../../studies/lookup.toml") },
    BuiltIn { name: "attributes", text: include_str!("../../../../studies/attributes.toml") },
    BuiltIn { name: "stat-or-list", text: include_str!("../../../../studies/stat-or-list.toml") },
    BuiltIn { name: "fill", text: include_str!("../../../../studies/fill.toml") },
    BuiltIn { name: "layout", text: include_str!("../../../../studies/layout.toml") },
    BuiltIn { name: "smallfile", text: include_str!("../../../../studies/smallfile.toml") },
    BuiltIn { name: "remove", text: include_str!("../../../../studies/remove.toml") },
    BuiltIn { name: "limits", text: include_str!("../../../../studies/limits.toml") },
];

/// Why a study could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StudyError {
    /// No built-in study has this name.
    #[error("there is no study `{name}`: {}", choices(.name, .known.iter().map(String::as_str)))]
    Unknown {
        /// The name asked for.
        name: String,
        /// The names of all studies.
        known: Vec<String>,
    },
    /// The file is not a study.
    #[error("{file}:{line}:{column}: {reason}")]
    Syntax {
        /// The file, or the name of a built-in study.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong and what is allowed.
        reason: String,
    },
    /// The file is well formed but contradicts itself.
    #[error("{file}: {reason}")]
    Contradiction {
        /// The file, or the name of a built-in study.
        file: String,
        /// What is wrong and what is allowed.
        reason: String,
    },
}

/// Returns the built-in study called `name`.
///
/// # Errors
///
/// [`StudyError::Unknown`] with the nearest name.
///
/// ```
/// let study = megadir_bench::study::built_in("listing").unwrap();
/// assert_eq!(study.baseline.unwrap().backend, "getdents");
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

/// Reads a study from the text of its file; `file` is only used in errors.
///
/// # Errors
///
/// [`StudyError::Syntax`] or [`StudyError::Contradiction`].
pub fn from_text(file: &str, text: &str) -> Result<Study, StudyError> {
    let study: Study = toml::from_str(text).map_err(|error| {
        let (line, column) = position(text, error.span().map_or(0, |span| span.start));
        let reason = error.message().trim().replace('\n', ", ");
        StudyError::Syntax { file: file.to_owned(), line, column, reason }
    })?;
    // What is wrong with it is said on every system.
    let elsewhere = || study.windows.as_ref().and_then(|_| contradiction(&study.clone().on_windows()));
    match contradiction(&study).or_else(elsewhere) {
        None => Ok(study),
        Some(reason) => Err(StudyError::Contradiction { file: file.to_owned(), reason }),
    }
}

/// Returns line and column, both from 1, of a byte offset.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

/// Returns the first thing that a well-formed study says and cannot mean.
fn contradiction(study: &Study) -> Option<String> {
    let sizes = [&study.size.quick, &study.size.default, &study.size.published];
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
        return Some(format!("rules.{name} is {value}; it must lie between 0 and 1"));
    }
    if let Some(reason) = kind_contradiction(study) {
        return Some(reason);
    }
    // What follows is about studies that list.
    if study.baseline.is_none() {
        return study.windows.is_some().then(|| "[windows] is for studies that list".into());
    }
    if study.compare.is_empty() && study.decompose.is_empty() && study.grow.is_empty() {
        return Some(
            "it has no group: at least one of [[compare]], [[decompose]], [[grow]] is needed".into(),
        );
    }
    let of_programs = study.decompose.iter().flat_map(|group| [&group.slow, &group.fast]);
    let of_programs = of_programs.filter_map(|steps| steps_contradiction(steps));
    let of_series = study.grow.iter().flat_map(|group| &group.series);
    let of_series = of_series.filter_map(|series| stages_contradiction(&series.stages));
    let ascending = |list: &[f64]| list.windows(2).all(|pair| pair[0] < pair[1]) && list.last() == Some(&1.0);
    let growth = study.grow.iter().filter(|group| !ascending(&group.fractions) || group.fractions[0] <= 0.0);
    let growth =
        growth.map(|group| format!("grow `{}`: fractions must ascend from above 0 to 1", group.name));
    of_programs.chain(of_series).chain(growth).next()
}

/// A study lists, looks names up, or fills directories.
fn kind_contradiction(study: &Study) -> Option<String> {
    if study.refusal.is_some() {
        return refusal_contradiction(study);
    }
    if of_attributes::asks(study) {
        return of_attributes::contradiction(study);
    }
    if study.fill.is_some() || study.layout.is_some() || study.smallfile.is_some() || study.remove.is_some() {
        return files_contradiction(study);
    }
    let sizes = [&study.size.quick, &study.size.default, &study.size.published];
    let lists = !study.compare.is_empty() || !study.decompose.is_empty() || !study.grow.is_empty();
    match (&study.baseline, &study.lookup) {
        (None, None) => Some("it has neither a [baseline] (to list) nor a [lookup]".into()),
        (Some(_), Some(_)) => Some("it has a [baseline] and a [lookup]: a study lists or looks names up".into()),
        (None, Some(_)) if lists => {
            Some("[[compare]], [[decompose]] and [[grow]] are about listing: they need a [baseline], not a [lookup]".into())
        }
        (None, Some(lookup)) if lookup.presence.is_empty() || lookup.keys.is_empty() || lookup.calls.is_empty() => {
            Some("lookup.presence, lookup.keys and lookup.calls need at least one value each".into())
        }
        (None, Some(_)) => {
            of_attributes::sizes_contradiction(study)
        }
        (Some(_), None) => {
            let wrong = sizes.iter().any(|size| !size.smaller.is_empty());
            wrong.then(|| "size.smaller is for look-ups; [[grow]] says it by fractions".into())
        }
    }
}

/// A study of work on files has one kind of it and nothing else, and no warm-up: its files are new in every round.
fn files_contradiction(study: &Study) -> Option<String> {
    let kinds =
        [study.fill.is_some(), study.layout.is_some(), study.smallfile.is_some(), study.remove.is_some()];
    let groups = !study.compare.is_empty() || !study.decompose.is_empty() || !study.grow.is_empty();
    if kinds.into_iter().filter(|kind| *kind).count() > 1 {
        return Some("a study has one of [fill], [layout], [smallfile] and [remove]".into());
    }
    if groups || study.baseline.is_some() || study.lookup.is_some() {
        return Some("a study of work on files has no [baseline], no [lookup] and no groups".into());
    }
    if study.rules.warm_up_rounds_min > 0 {
        return Some("work on files has nothing to warm up: rules.warm_up_rounds_min = 0".into());
    }
    if study.layout.as_ref().is_some_and(|layout| layout.layouts.len() < 2 || layout.read_orders.is_empty()) {
        return Some("layout.layouts needs two layouts or more, layout.read_orders one order or more".into());
    }
    if study.layout.as_ref().is_some_and(|layout| layout.directories.is_empty()) {
        return Some("layout.directories needs one value or more".into());
    }
    let small = study.smallfile.as_ref();
    if small.is_some_and(|small| small.workers.is_empty() || small.sync.is_empty() || small.access.is_empty())
    {
        return Some(
            "smallfile.workers, smallfile.sync and smallfile.access need at least one value each".into(),
        );
    }
    if small.is_some_and(|small| !small.workers.is_sorted_by(|a, b| a < b)) {
        return Some("smallfile.workers must ascend".into());
    }
    if let Some(remove) = &study.remove {
        let ascend =
            remove.directories.is_sorted_by(|a, b| a < b) && remove.workers.is_sorted_by(|a, b| a < b);
        let some = remove.directories.first().is_some_and(|first| *first > 0) && !remove.workers.is_empty();
        if !(ascend && some) {
            return Some(
                "remove.directories and remove.workers need one value or more each, ascending from 1".into(),
            );
        }
    }
    let sizes = [&study.size.quick, &study.size.default, &study.size.published];
    let smaller = study.fill.is_none() && sizes.iter().any(|size| !size.smaller.is_empty());
    smaller.then(|| "size.smaller is for [lookup] and [fill]".into())
}

/// A study that fills directories has nothing else, and no warm-up: each directory is a new one.
fn refusal_contradiction(study: &Study) -> Option<String> {
    let groups = !study.compare.is_empty() || !study.decompose.is_empty() || !study.grow.is_empty();
    let sizes = [&study.size.quick, &study.size.default, &study.size.published];
    if groups || study.baseline.is_some() || study.lookup.is_some() || of_attributes::asks(study) {
        return Some("a study with [refusal] has no [baseline], no [lookup] and no groups".into());
    }
    if study.rules.warm_up_rounds_min > 0 {
        return Some("a study with [refusal] has nothing to warm up: rules.warm_up_rounds_min = 0".into());
    }
    sizes.iter().any(|size| !size.smaller.is_empty()).then(|| "size.smaller is for look-ups".into())
}

fn steps_contradiction(steps: &[StepSpec]) -> Option<String> {
    let first = steps.first()?;
    if first.backend.is_none() || first.stage.is_some() {
        return Some(format!(
            "the first step (`{}`) names a backend and reads; it adds no stage",
            first.factor
        ));
    }
    if let Some(step) =
        steps[1..].iter().find(|s| s.backend.is_none() && s.buffer_bytes.is_none() && s.stage.is_none())
    {
        return Some(format!(
            "the step `{}` changes nothing: it needs a backend, a buffer or a stage",
            step.factor
        ));
    }
    let stages: Vec<Stage> =
        std::iter::once(Stage::Read).chain(steps.iter().filter_map(|step| step.stage)).collect();
    stages_contradiction(&stages)
}

/// Returns what is wrong with a chain of stages: each needs what the ones before it left.
pub(crate) fn stages_contradiction(stages: &[Stage]) -> Option<String> {
    let has = |stage| stages.contains(&stage);
    if stages.first() != Some(&Stage::Read) {
        return Some("stages begin with `read`".into());
    }
    if !stages.is_sorted_by_key(|stage| order(*stage)) || stages.windows(2).any(|pair| pair[0] == pair[1]) {
        return Some("stages come once each, in this order: read, keep, sort, attributes, extended-attributes, format-long or format-raw, write".into());
    }
    let needs_keep = [Stage::Sort, Stage::Attributes, Stage::ExtendedAttributes, Stage::FormatLong];
    if needs_keep.into_iter().any(has) && !has(Stage::Keep) {
        return Some("sort, attributes, extended-attributes and format-long need the stage `keep`".into());
    }
    if has(Stage::FormatLong) && !has(Stage::Attributes) {
        return Some("format-long needs the stage `attributes`".into());
    }
    if has(Stage::FormatRaw) && (has(Stage::Keep) || has(Stage::FormatLong)) {
        return Some(
            "format-raw formats what is in the reader's buffer: it goes with neither keep nor format-long"
                .into(),
        );
    }
    if has(Stage::Write) && !has(Stage::FormatLong) && !has(Stage::FormatRaw) {
        return Some("write needs something formatted: format-long or format-raw".into());
    }
    None
}

fn order(stage: Stage) -> u8 {
    match stage {
        Stage::Read => 0,
        Stage::Keep => 1,
        Stage::Sort => 2,
        Stage::Attributes => 3,
        Stage::ExtendedAttributes => 4,
        Stage::FormatLong => 5,
        Stage::FormatRaw => 6,
        Stage::Write => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::{BUILT_IN, StudyError, built_in, from_text};

    #[test]
    fn every_built_in_study_is_read_and_named_by_its_file() {
        for study in BUILT_IN {
            assert_eq!(built_in(study.name).unwrap().name, study.name);
        }
    }

    #[test]
    fn an_unknown_study_is_answered_with_the_nearest() {
        let error = built_in("listnig").unwrap_err();
        let names: Vec<&str> = BUILT_IN.iter().map(|study| study.name).collect();
        let all = names.join(", ");
        assert_eq!(
            error.to_string(),
            format!("there is no study `listnig`: did you mean 'listing'? there are {all}")
        );
        assert!(built_in("zzzzzzz").unwrap_err().to_string().contains("`: there are listing"));
    }

    #[test]
    fn what_a_study_does_on_windows_is_checked_everywhere() {
        let text =
            BUILT_IN[0].text.replace(r#""sort", "attributes", "format-long""#, r#""sort", "format-long""#);
        assert_ne!(text, BUILT_IN[0].text);
        let Err(StudyError::Contradiction { reason, .. }) = from_text("own.toml", &text) else { panic!() };
        assert_eq!(reason, "format-long needs the stage `attributes`");
        let lookup = BUILT_IN.iter().find(|study| study.name == "lookup").unwrap().text;
        let windows = "\n[windows]\nquestion = \"x\"\nunlike = \"x\"\nbaseline = { backend = \"std\", buffer_bytes = 1, threads = 1 }\n";
        let Err(StudyError::Contradiction { reason, .. }) =
            from_text("own.toml", &format!("{lookup}{windows}"))
        else {
            panic!()
        };
        assert_eq!(reason, "[windows] is for studies that list");
    }

    #[test]
    fn an_unknown_field_is_an_error_with_its_place_and_what_is_allowed() {
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
        for (from, to, says) in [
            ("rounds = 30", "rounds = 0", "1 round"),
            ("equivalence_band = 0.03", "equivalence_band = 3.0", "between 0 and 1"),
            ("stage = \"keep\"", "stage = \"sort\"", "once each"),
            ("fractions = [0.01, 0.1, 1.0]", "fractions = [0.1, 0.01]", "ascend"),
        ] {
            let text = BUILT_IN[0].text.replacen(from, to, 1);
            let error = from_text("own.toml", &text).unwrap_err().to_string();
            assert!(error.starts_with("own.toml: ") && error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_study_that_fills_directories_does_nothing_else() {
        let own = BUILT_IN.iter().find(|study| study.name == "limits").unwrap().text;
        let baseline = "[baseline]\nbackend = \"std\"\nbuffer_bytes = 4096\nthreads = 1\n[refusal]";
        for (from, to, says) in [
            ("[refusal]", baseline, "has no [baseline]"),
            ("warm_up_rounds_min = 0", "warm_up_rounds_min = 1", "nothing to warm up"),
            ("entries = 160_000\n", "entries = 160_000\nsmaller = [1]\n", "for look-ups"),
            ("[refusal]\ntitle", "[refusl]\ntitle", "refusal"),
        ] {
            let error = from_text("own.toml", &own.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
