//! What a study of attributes can say and not mean: ways of finding them out, or asking for some files against listing all.

use crate::method::method_named;
use crate::study::{SizeSpec, Study};

/// Returns whether a study is about attributes.
pub(super) fn asks(study: &Study) -> bool {
    study.attributes.is_some() || study.ask.is_some()
}

/// Returns what is wrong with the sizes of a study that works on several directories.
pub(super) fn sizes_contradiction(study: &Study) -> Option<String> {
    let ascends = |size: &SizeSpec| {
        let all: Vec<u64> = size.smaller.iter().copied().chain([size.entries]).collect();
        all[0] > 0 && all.windows(2).all(|pair| pair[0] < pair[1])
    };
    let wrong = [&study.size.quick, &study.size.default, &study.size.published]
        .into_iter()
        .any(|size| !ascends(size));
    wrong.then(|| "size.smaller must ascend from 1 or more to below size.entries".into())
}

/// A study of attributes compares ways of finding them out, or holds asking for some files against listing all.
pub(super) fn contradiction(study: &Study) -> Option<String> {
    let groups = !study.compare.is_empty() || !study.decompose.is_empty() || !study.grow.is_empty();
    if groups || study.baseline.is_some() || study.lookup.is_some() {
        return Some(
            "a study with [attributes] or [ask] has no [baseline], no [lookup] and no groups".into(),
        );
    }
    let unknown = |names: &[String]| names.iter().find_map(|name| method_named(name).err());
    match (&study.attributes, &study.ask) {
        (Some(_), Some(_)) => Some("it has [attributes] and [ask]: a study has one of them".into()),
        (Some(spec), None) if spec.threads.is_empty() || spec.threads.contains(&0) => {
            Some("attributes.threads needs at least one number, each of 1 or more".into())
        }
        (None, Some(spec)) if spec.list.is_empty() => Some("ask.list needs at least one method".into()),
        (None, Some(spec)) if !shares_ascend(&spec.shares) => {
            Some("ask.shares must ascend from above 0 to at most 1".into())
        }
        (Some(spec), None) => unknown(&spec.methods).or_else(|| sizes_contradiction(study)),
        (None, Some(spec)) => unknown(&spec.list).or_else(|| sizes_contradiction(study)),
        (None, None) => None,
    }
}

fn shares_ascend(shares: &[f64]) -> bool {
    let bounds =
        shares.first().is_some_and(|first| *first > 0.0) && shares.last().is_some_and(|last| *last <= 1.0);
    bounds && shares.windows(2).all(|pair| pair[0] < pair[1])
}

#[cfg(test)]
mod tests {
    use crate::study::{BUILT_IN, from_text};

    #[test]
    fn what_contradicts_itself_is_named() {
        let baseline = "[baseline]\nbackend = \"std\"\nbuffer_bytes = 4096\nthreads = 1\n";
        for (study, from, to, says) in [
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
            ("attributes", "[attributes]", &format!("{baseline}[attributes]"), "has no [baseline]"),
            ("stat-or-list", "\"policy\"]", "\"polcy\"]", "did you mean 'policy'?"),
            ("stat-or-list", "list = [\"getdents-statx\", \"policy\"]", "list = []", "ask.list needs"),
            ("stat-or-list", "0.3, 1.0]", "0.3, 1.1]", "ask.shares must ascend"),
            ("stat-or-list", "[0.001, 0.003", "[0.003, 0.001", "ask.shares must ascend"),
            ("stat-or-list", "[ask]", "[attributes]\nthreads = [2]\n[ask]", "[attributes] and [ask]"),
        ] {
            let own = BUILT_IN.iter().find(|one| one.name == study).unwrap().text;
            let error = from_text("own.toml", &own.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.starts_with("own.toml:") && error.contains(says), "{error}");
        }
    }
}
