//! The chart that answers a report's question best, as an SVG document.

use super::Format;
use crate::chart::{Width, main_picture};

pub(super) const FORMAT: Format = Format {
    name: "svg",
    extension: "svg",
    what: "the picture that answers the question best; --chart picks another",
    is_text: true,
    missing: None,
    refuses: |report| {
        main_picture(report, Width::Wide).is_none().then_some("has nothing of which there is a picture")
    },
    write: |report, _, output| {
        let picture = main_picture(report, Width::Wide).map(|picture| picture.document());
        output.write_all(picture.unwrap_or_default().as_bytes())
    },
};
