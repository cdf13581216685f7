//! Layouts of every kind: any layout that parses has words and, if it accepts any name, code.

use megadir::layout::{Growth, Layout, PRESETS, Source};
use megadir_advise::code::{Language, NoCode, snippet, words};
use proptest::prelude::*;

use crate::cases;

/// Layouts of all sizes that can be written.
fn layouts() -> impl Strategy<Value = Layout> {
    let sources = [
        Source::Prefix,
        Source::Suffix,
        Source::NextToLast,
        Source::Digest,
        Source::Decimal,
        Source::Sequence,
    ];
    let levels = prop_oneof![
        3 => prop::collection::vec(1_u16..5, 1..6),
        1 => prop::collection::vec(1_u16..3, 32),
        1 => prop::collection::vec(1_u16..256, 1..3),
        1 => prop::collection::vec(any::<u16>(), 1..6),
    ];
    let options =
        (any::<bool>(), prop::option::of((0..4_usize, any::<u64>())), prop::option::of("[a-zA-Z0-9_-]{1,8}"));
    (prop::sample::select(sources.to_vec()), levels, options).prop_map(
        |(source, levels, (trimmed, growth, label))| {
            let Ok(layout) = Layout::new(source, &levels) else { return Layout::FLAT };
            let layout = if trimmed { layout.trimmed().unwrap_or(layout) } else { layout };
            let layout = growth.map_or(layout, |(from_levels, under_files)| {
                layout.growing(Growth { from_levels, under_files }).unwrap_or(layout)
            });
            label.map_or(layout, |label| layout.labelled(&label).unwrap_or(layout))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_layout_has_words_and_code(layout in layouts()) {
        prop_assert!(words(&layout).ends_with('.'));
        for language in Language::ALL {
            match snippet(&layout, *language) {
                Ok(code) => prop_assert!(code.ends_with('\n') && code.is_ascii()),
                Err(why) => {
                    prop_assert_eq!(why, NoCode::RefusesAll);
                    // As many characters as a name can have, and none left for the file.
                    prop_assert!(layout.levels().iter().map(|width| u32::from(*width)).sum::<u32>() >= 255);
                }
            }
        }
    }
}

#[test]
fn a_layout_that_refuses_all_names_has_no_code() {
    for text in ["prefix:255+rest", "next-to-last:255", "prefix:255+from=0+under=1"] {
        let layout: Layout = text.parse().unwrap();
        assert_eq!(snippet(&layout, Language::Python), Err(NoCode::RefusesAll));
        assert!(!words(&layout).contains(" is at "), "{text}");
    }
}

/// The example in the words, and in each language's comment, matches the library.
#[test]
fn examples_are_the_library_s() {
    for case in &*cases::ALL {
        let text = words(&case.layout);
        let example = text.trim_end_matches('.').rsplit(". ").next().unwrap();
        let (name, path) = example.split_once(" is at ").unwrap();
        let name = name.split(',').next().unwrap();
        let placers: Vec<_> = case.layout.placers().collect();
        let depth = path.matches('/').count();
        let placer = placers.iter().find(|placer| placer.depth() == depth).unwrap();
        assert_eq!(placer.path_for(name.as_bytes()).unwrap().to_str(), Some(path), "{text}");
        for language in Language::ALL {
            let code = snippet(&case.layout, *language).unwrap();
            assert!(code.contains(name) && code.contains(path), "{code}");
        }
    }
}

#[test]
fn presets_are_described_in_words() {
    for (preset, description) in [
        (
            "git",
            "The first 2 characters of the name are a directory; the file keeps the rest of its name. abcdef is at ab/cdef.",
        ),
        (
            "nginx",
            "The last character of the name is a directory and the 2 before it a directory in it; the file keeps its whole \
             name. abcdef is at f/de/abcdef.",
        ),
        (
            "ccache",
            "The first character of the name is a directory, the one after it a directory in it and so on, 4 levels in all; the \
             file keeps the rest of its name. The depth depends on the total number of files: 2 levels below 512 000 files, \
             3 levels below 8 192 000, then 4 levels. Existing files stay where they are. abcdef, 3 levels deep, is \
             at a/b/c/def.",
        ),
        (
            "paperclip",
            "The name, a decimal number, is padded with zeros to 9 digits and cut into groups of 3, 3, 3: the last is the file \
             name, the others are nested directories. 1234 is at 000/001/234.",
        ),
    ] {
        let preset = PRESETS.iter().find(|known| known.name == preset).unwrap();
        assert_eq!(words(&preset.layout), description);
    }
}
