//! The report as one HTML file, made by [`crate::page`].

use super::Format;
use crate::page::html;

pub(super) const FORMAT: Format = Format {
    name: "html",
    extension: "html",
    what: "the whole report as one file for a browser, with pictures and samples",
    is_text: true,
    missing: None,
    refuses: |_| None,
    write: |report, _, output| output.write_all(html(report).as_bytes()),
};
