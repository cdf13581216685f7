//! Layouts from arbitrary text, and the paths of arbitrary names: a parsed layout can be printed and parsed
//! again, and every path stays below the top and leads back to its name. The first newline separates layout and
//! name.

use megadir::layout::{Layout, NameBuffer, PathBuffer};

/// Panics if a promise is broken.
pub fn check(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == b'\n');
    let (text, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let Ok(text) = std::str::from_utf8(text) else { return };
    match text.parse::<Layout>() {
        Ok(layout) => {
            assert_eq!(layout.to_string().parse(), Ok(layout));
            places(&layout, name);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn places(layout: &Layout, name: &[u8]) {
    let (mut path, mut back) = (PathBuffer::new(), NameBuffer::new());
    for placer in layout.placers() {
        let Ok(placed) = placer.place(name, &mut path) else { continue };
        for component in placed.path().split(|byte| *byte == b'/') {
            assert!((1..=255).contains(&component.len()) && !component.contains(&0));
            assert!(component != b"." && component != b"..");
        }
        assert_eq!(layout.name_of(placed.path(), &mut back), Some(name));
    }
    // Any string accepted as a path leads back from its name.
    if let Some(found) = layout.name_of(name, &mut back) {
        let leads_back = |placed: megadir::layout::Placed<'_>| placed.path() == name;
        assert!(layout.placers().any(|placer| placer.place(found, &mut path).is_ok_and(leads_back)));
    }
}
