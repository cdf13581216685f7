//! Properties of all layouts and names: no collisions, no escapes, and every path maps back to its name.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::{Growth, Layout, NameBuffer, PATH_BYTES_MAX, PRESETS, PathBuffer, Placer, Refused, Source};

/// Layouts of every kind, with narrow levels, so that short names meet all cases.
fn layouts() -> impl Strategy<Value = Layout> {
    let widths = || prop::collection::vec(1_u16..4, 1..5);
    let plain = (0..6_usize, widths()).prop_map(|(source, widths)| {
        let sources = [
            Source::Prefix,
            Source::Suffix,
            Source::NextToLast,
            Source::Digest,
            Source::Decimal,
            Source::Sequence,
        ];
        Layout::new(sources[source], &widths).unwrap()
    });
    let texts = (prop::option::of("[aA]{1,3}"), prop::option::of("[aA.]{1,2}"));
    let options = (any::<bool>(), prop::option::of((0..4_usize, 1..5_u64)), texts);
    let full = (plain, options).prop_map(|(layout, (trimmed, growth, (label, ending)))| {
        let layout = if trimmed { layout.trimmed().unwrap_or(layout) } else { layout };
        let layout = growth.map_or(layout, |(from_levels, under_files)| {
            layout.growing(Growth { from_levels, under_files }).unwrap_or(layout)
        });
        let layout = label.map_or(layout, |label| layout.labelled(&label).unwrap_or(layout));
        ending.map_or(layout, |ending| layout.ended(&ending).unwrap_or(layout))
    });
    let wide = (200..256_u16, "[a-c]{1,8}").prop_map(|(width, label)| {
        let layout = Layout::new(Source::Prefix, &[width]).unwrap();
        layout.labelled(&label).unwrap_or(layout)
    });
    let presets = (0..PRESETS.len()).prop_map(|index| PRESETS[index].layout);
    prop_oneof![1 => Just(Layout::FLAT), 1 => wide, 2 => presets, 6 => full]
}

/// Names of few different characters, so that many are similar. Some have a special meaning.
fn names() -> impl Strategy<Value = Vec<u8>> {
    let few = prop::sample::select(b"aaA..b0019_-/\0F\xff".to_vec());
    let numbers = "0{0,2}[0-9]{1,12}".prop_map(String::into_bytes);
    let hex = "[0-9A-F]{8}".prop_map(String::into_bytes);
    prop_oneof![
        3 => prop::collection::vec(few, 0..9),
        3 => "[aAb.]{0,6}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..300),
        1 => numbers,
        1 => hex,
    ]
}

/// Path, directory, and name of the file.
type Parts = (Vec<u8>, Vec<u8>, Vec<u8>);

fn place(placer: &Placer, name: &[u8]) -> Result<Parts, Refused> {
    let mut buffer = PathBuffer::new();
    let placed = placer.place(name, &mut buffer)?;
    Ok((placed.path().to_vec(), placed.directory().to_vec(), placed.file().to_vec()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn text_leads_back(layout in layouts()) {
        prop_assert_eq!(layout.to_string().parse::<Layout>(), Ok(layout));
    }

    #[test]
    fn no_text_breaks_the_parser(text in "[a-z:/+=0-9ü-]{0,40}") {
        if let Ok(layout) = text.parse::<Layout>() {
            prop_assert_eq!(layout.to_string().parse::<Layout>(), Ok(layout));
        }
    }

    #[test]
    fn paths_stay_below_the_top_and_lead_back(layout in layouts(), name in names()) {
        for placer in layout.placers() {
            let Ok((path, directory, file)) = place(&placer, &name) else { continue };
            prop_assert!(path.len() <= PATH_BYTES_MAX);
            let components: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
            prop_assert_eq!(components.len(), placer.depth() + 1);
            for component in &components {
                prop_assert!((1..=255).contains(&component.len()));
                prop_assert!(*component != b"." && *component != b".." && !component.contains(&0));
            }
            prop_assert_eq!(components[placer.depth()], &file[..]);
            prop_assert_eq!(components[..placer.depth()].join(&b'/'), directory);
            let mut buffer = NameBuffer::new();
            prop_assert_eq!(layout.name_of(&path, &mut buffer), Some(&name[..]));
        }
    }

    #[test]
    fn a_name_is_accepted_at_all_depths_or_at_none(layout in layouts(), name in names()) {
        let verdicts: HashSet<_> =
            layout.placers().map(|placer| place(&placer, &name).map(|_| ())).collect();
        prop_assert_eq!(verdicts.len(), 1);
    }

    #[test]
    fn whatever_leads_back_is_the_path_of_its_name(layout in layouts(), path in names()) {
        let mut buffer = NameBuffer::new();
        if let Some(name) = layout.name_of(&path, &mut buffer) {
            prop_assert!(layout.placers().any(|placer| place(&placer, name).is_ok_and(|found| found.0 == path)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Paths also differ if case is ignored, provided that the names do.
    #[test]
    fn nothing_shares_a_path_and_no_file_is_a_directory(
        layout in layouts(),
        names in prop::collection::hash_set(names(), 0..400),
    ) {
        let mut files: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
        let mut folded: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
        let mut directories = HashSet::new();
        for name in &names {
            for placer in layout.placers() {
                let Ok((path, directory, _)) = place(&placer, name) else { continue };
                let before = files.insert(path.clone(), name.clone());
                prop_assert!(before.is_none(), "{layout:?}: {path:?} twice, of {name:?} and {before:?}");
                let lower = name.to_ascii_lowercase();
                let before = folded.insert(path.to_ascii_lowercase(), lower.clone());
                prop_assert!(before.is_none_or(|before| before == lower), "{layout:?}: {path:?} but for case");
                for (at, _) in directory.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
                    directories.insert(directory[..at].to_ascii_lowercase());
                }
                if !directory.is_empty() {
                    directories.insert(directory.to_ascii_lowercase());
                }
            }
        }
        for directory in &directories {
            prop_assert!(!folded.contains_key(directory), "{layout:?}: {directory:?} is a file and a directory");
        }
    }

    #[test]
    fn the_depth_keeps_directories_below_the_limit(
        layout in layouts(),
        files in prop_oneof![0..10_000_u64, any::<u64>()],
    ) {
        let placer = layout.at(files);
        prop_assert!(layout.depths().contains(&placer.depth()));
        let Some(growth) = layout.growth() else { return Ok(()) };
        let each = |depth: usize| layout.levels()[..depth].iter().fold(files, |files, width| {
            files / 16_u64.saturating_pow(u32::from(*width))
        });
        prop_assert!(each(placer.depth()) < growth.under_files || placer.depth() == *layout.depths().end());
        prop_assert!(placer.depth() == growth.from_levels || each(placer.depth() - 1) >= growth.under_files);
    }
}

#[track_caller]
fn path(layout: &str, name: &[u8]) -> Result<String, Refused> {
    let path = layout.parse::<Layout>().unwrap().at(0).path_for(name)?;
    Ok(path.into_os_string().into_string().unwrap())
}

#[test]
fn paths_are_as_documented() {
    for (layout, name, expected) in [
        ("flat", "abcdef", "abcdef"),
        ("prefix:2/2", "abcdef", "ab/cd/abcdef"),
        ("prefix:2/2", "abcd", "ab/cd/abcd"),
        ("prefix:2+rest", "abcdef", "ab/cdef"),
        ("suffix:1/2", "abcdef", "f/de/abcdef"),
        ("next-to-last:2", "abcdef", "de/abcdef"),
        ("next-to-last:2/2", "abcdef", "de/bc/abcdef"),
        ("decimal:3/3/3", "1234", "000/001/234"),
        ("decimal:3", "7", "007"),
        ("sequence:16/256", "00012345", "01/23/00012345"),
        ("sequence:4096", "00012345", "12/00012345"),
        ("sequence:1/1/1", "FFFFFFFF", "00/00/00/FFFFFFFF"),
        ("sequence:65535/3", "00080001", "E38E/01/00080001"),
        ("suffix:1/1+label=DIR_", "abcdef", "DIR_f/DIR_e/abcdef"),
        ("prefix:1/1+rest+label=x", "...", "x./x./."),
    ] {
        if expected.ends_with("/.") {
            let refused = path(layout, name.as_bytes());
            // Windows accepts no name of dots, whatever the path.
            let is_expected = |why| {
                matches!(why, Refused::DotsInPath) || (cfg!(windows) && matches!(why, Refused::System(_)))
            };
            assert!(refused.is_err_and(is_expected));
        } else {
            assert_eq!(path(layout, name.as_bytes()).as_deref(), Ok(expected), "{layout}");
        }
    }
}

#[test]
fn digests_match_sha256sum_permanently() {
    // printf %s NAME | sha256sum, and so on.
    for (name, expected) in [
        (&b"abcdef"[..], "be/f5/abcdef"),
        (b"a", "ca/97/a"),
        (b"file000000000042", "ff/ae/file000000000042"),
        ("grün".as_bytes(), "fe/26/grün"),
    ] {
        assert_eq!(path("digest:2/2", name).as_deref(), Ok(expected));
    }
    let whole: String = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb".into();
    assert_eq!(path("digest:64", b"a"), Ok(format!("{whole}/a")));
    let each: Vec<&str> = whole[..32].split("").filter(|digit| !digit.is_empty()).collect();
    assert_eq!(path(&format!("digest:{}", ["1"; 32].join("/")), b"a"), Ok(each.join("/") + "/a"));
    // A name that is not Unicode has a digest too: printf '\xff' | sha256sum.
    #[cfg(unix)]
    assert_eq!(
        "digest:2".parse::<Layout>().unwrap().path_for(b"\xff").unwrap(),
        std::path::Path::new("a8").join(crate::names::to_os(b"\xff").unwrap())
    );
}

#[test]
fn names_that_would_escape_or_collide_are_refused() {
    let long = "x".repeat(256);
    for (layout, name, reason) in [
        ("flat", "", Refused::Empty),
        ("flat", "..", Refused::Dots),
        ("digest:2", "a/b", Refused::Separator),
        ("digest:2", "a\0b", Refused::Separator),
        ("digest:2", &long, Refused::TooLong { bytes: 256 }),
        ("prefix:2/2", "abc", Refused::TooShort { bytes: 3, least: 4 }),
        ("prefix:2+rest", "ab", Refused::TooShort { bytes: 2, least: 3 }),
        ("next-to-last:2", "ab", Refused::TooShort { bytes: 2, least: 3 }),
        ("prefix:1", ".hidden", Refused::DotsInPath),
        ("prefix:2", "..hidden", Refused::DotsInPath),
        ("prefix:1/2", "a..b", Refused::DotsInPath),
        ("prefix:2+rest", "ab.", Refused::DotsInPath),
        ("prefix:2+rest", "ab..", Refused::DotsInPath),
        ("suffix:1", "sentence.", Refused::DotsInPath),
        ("next-to-last:1", "a.b", Refused::DotsInPath),
        ("decimal:3/3/3", "01234", Refused::NotDecimal { digits: 9 }),
        ("decimal:3/3/3", "12a", Refused::NotDecimal { digits: 9 }),
        ("decimal:3/3/3", "+12", Refused::NotDecimal { digits: 9 }),
        ("decimal:3/3/3", "1234567890", Refused::NotDecimal { digits: 9 }),
        ("sequence:16/256", "0000004a", Refused::NotSequence),
        ("sequence:16/256", "4A", Refused::NotSequence),
        ("sequence:16/256", "00000004A", Refused::NotSequence),
        // With one file, 'a' lies in the top. With many, the top has a directory 'a' or 'A'.
        ("digest:1+from=0+under=9", "a", Refused::LikeDirectory),
        ("suffix:2+from=0+under=9", "AB", Refused::LikeDirectory),
        ("suffix:1/1+from=1+under=9+label=DIR_", "dir_A", Refused::LikeDirectory),
        // 'x1/x234' at depth 1 is 'x1/x2/34' at depth 2, where 'x1/x2' may be a file of depth 1.
        ("prefix:1/1+rest+from=1+under=9+label=x", "1x2", Refused::LikeDirectory),
        ("prefix:1/1+rest+from=0+under=9+label=xyz", "xyz1", Refused::LikeDirectory),
    ] {
        assert_eq!(path(layout, name.as_bytes()), Err(reason), "{layout} {name:?}");
    }
    let growing: Layout = "ccache".parse().unwrap();
    assert_eq!(growing.path_for(b"abcdef"), Err(Refused::Growing));
}

#[test]
fn dangling_paths_have_no_name() {
    for (layout, path) in [
        ("flat", "a/b"),
        ("flat", ""),
        ("prefix:2", "ab/xycdef"),
        ("prefix:2", "ab/"),
        ("prefix:2", "/abcdef"),
        ("prefix:2", "abcdef"),
        ("prefix:2+rest", "abc/def"),
        ("prefix:2+rest", "a/bcdef"),
        ("prefix:2+rest+label=DIR_", "ab/cdef"),
        ("prefix:2", "../..abc"),
        ("digest:2", "00/abcdef"),
        ("decimal:3/3/3", "000/1/234"),
        ("decimal:3/3", "000/0001"),
        ("sequence:16/256", "02/23/00012345"),
        ("ccache", "a/bcdef"),
        ("ccache", "a/b/c/d/e/fgh"),
    ] {
        let layout: Layout = layout.parse().unwrap();
        assert_eq!(layout.name_of(path.as_bytes(), &mut NameBuffer::new()), None, "{layout} {path}");
    }
    let layout: Layout = "prefix:1+rest".parse().unwrap();
    let path = [b"a/".as_slice(), &[b'x'; 300]].concat();
    assert_eq!(layout.name_of(&path, &mut NameBuffer::new()), None);
}

#[test]
fn a_label_that_digits_make_a_device_is_refused() {
    for label in ["com", "LPT"] {
        let refused = format!("digest:1+label={label}").parse::<Layout>().unwrap_err().to_string();
        assert!(refused.ends_with("names a device on Windows"), "{refused}");
    }
    assert_eq!(path("digest:1+label=com_", b"a").as_deref(), Ok("com_c/a"));
}

#[test]
fn no_directory_has_a_longer_name_than_directories_can() {
    let refused = "prefix:1/248+label=12345678".parse::<Layout>().unwrap_err().to_string();
    assert_eq!(
        refused,
        "at character 14, 'label=12345678': followed by 248 characters, a label has at most 7"
    );
    let layout: Layout = "suffix:247+label=12345678".parse().unwrap();
    assert_eq!(layout.path_for(&[b'x'; 255]).unwrap().as_os_str().len(), 255 + 1 + 255);
}

#[test]
fn the_longest_path_fits_its_buffer() {
    let widths = vec!["7"; 32].join("/");
    for source in ["prefix", "suffix"] {
        let layout: Layout = format!("{source}:{widths}+label=12345678").parse().unwrap();
        let path = layout.path_for(&[b'x'; 255]).unwrap();
        assert_eq!(path.as_os_str().len(), 32 * (8 + 7 + 1) + 255);
    }
    let layout: Layout = format!("sequence:{}", vec!["65535"; 32].join("/")).parse().unwrap();
    assert!(layout.path_for(b"FFFFFFFF").is_ok());
    let layout: Layout = "prefix:255".parse().unwrap();
    assert_eq!(layout.path_for(&[b'x'; 255]).unwrap().as_os_str().len(), 511);
}
