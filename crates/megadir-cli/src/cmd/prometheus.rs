//! Metrics as a text file for Prometheus: the text format (version 0.0.4) that node_exporter's textfile collector reads.
//!
//! The one writer of metrics, for `usage`, `limits` and `list --estimate`: gauges by name, with escaped labels, in a
//! `Replacement`, which replaces only files of its own kind. A label with a path that is not UTF-8 has a second one
//! with its bytes, so that two paths never share a series, which would make the whole file unreadable.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Write as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use megadir::TreePath;
use megadir_inventory::{FileKind, Replacement};

use crate::exit::{self, CliError};
use crate::ui::escape::hex;
use crate::ui::message::quoted;

/// A later run knows its file by this line.
const HEAD: &str = "# Metrics of megadir\n";
const KIND: FileKind = FileKind::Text { name: "a file of megadir's metrics", head: HEAD.as_bytes() };

/// The option of all commands that write metrics.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cmd) struct Prometheus {
    /// Write metrics to FILE for Prometheus, in place of those of an earlier run
    ///
    /// node_exporter's textfile collector reads files whose names end in .prom (docs/watching.md). The file is replaced
    /// when the work is done, in one step, so that a reader finds the old or the new metrics.
    #[arg(id = "prometheus", long = "prometheus", value_name = "FILE")]
    path: Option<PathBuf>,
}

impl Prometheus {
    pub(in crate::cmd) fn is_given(&self) -> bool {
        self.path.is_some()
    }

    /// A path that cannot be written is refused before the work.
    pub(in crate::cmd) fn prepare(&self) -> Result<Option<Textfile>, CliError> {
        self.path.as_deref().map(Textfile::create).transpose()
    }
}

/// Name of a gauge, and its help.
pub(in crate::cmd) type Name = (&'static str, &'static str);

pub(in crate::cmd) struct Textfile(Replacement);

impl Textfile {
    fn create(path: &Path) -> Result<Self, CliError> {
        if path.extension().is_none_or(|extension| extension != "prom") {
            let reason = "node_exporter reads only names that end in .prom";
            return Err(CliError::usage(format!("--prometheus {}: {reason}", quoted(path))));
        }
        Ok(Self(Replacement::create(path, KIND)?))
    }

    pub(in crate::cmd) fn write(mut self, metrics: &Metrics) -> Result<(), CliError> {
        let written = self.0.write_all(metrics.to_string().as_bytes());
        written.map_err(|error| CliError::some_failed(format!("cannot write the metrics: {error}")))?;
        let finished = self.0.finish().map(drop);
        finished.map_err(|error| CliError { code: exit::SOME_FAILED, ..CliError::from(error) })
    }
}

/// The first of several samples with equal labels stays.
#[derive(Default)]
pub(in crate::cmd) struct Metrics {
    gauges: BTreeMap<&'static str, Gauge>,
}

struct Gauge {
    help: &'static str,
    samples: BTreeMap<String, String>,
}

impl Metrics {
    /// The unit is the end of the name: `_bytes`, `_seconds`, `_ratio`, or none for a number.
    pub(in crate::cmd) fn gauge(&mut self, (name, help): Name, labels: &Labels, value: impl Display) {
        let gauge = self.gauges.entry(name).or_insert_with(|| Gauge { help, samples: BTreeMap::new() });
        gauge.samples.entry(labels.0.clone()).or_insert_with(|| value.to_string());
    }
}

impl Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        for (name, Gauge { help, samples }) in &self.gauges {
            writeln!(f, "# HELP {name} {help}\n# TYPE {name} gauge")?;
            for (labels, value) in samples {
                let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
                writeln!(f, "{name}{labels} {value}")?;
            }
        }
        Ok(())
    }
}

#[derive(Clone, Default)]
pub(in crate::cmd) struct Labels(String);

impl Labels {
    #[must_use]
    pub(in crate::cmd) fn with(mut self, name: &str, value: &str) -> Self {
        if value.is_empty() {
            return self;
        }
        let comma = if self.0.is_empty() { "" } else { "," };
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = write!(self.0, "{comma}{name}=\"{value}\"");
        self
    }

    /// Bytes that are not UTF-8 become `\xff`, and `NAME_hex` with the digits of all bytes keeps paths apart that read alike.
    #[must_use]
    pub(in crate::cmd) fn with_path(self, name: &str, path: &[u8]) -> Self {
        let labelled = self.with(name, &TreePath::from(path).to_string());
        match std::str::from_utf8(path) {
            Ok(_) => labelled,
            Err(_) => labelled.with(&format!("{name}_hex"), &hex(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HEAD, Labels, Metrics};

    #[test]
    fn samples_of_a_gauge_are_together_and_their_labels_escaped() {
        let mut metrics = Metrics::default();
        let (a, b) = (("megadir_a_bytes", "Bytes."), ("megadir_b", "Number."));
        metrics.gauge(a, &Labels::default().with("dir", "say \"hi\"\\\n"), 1_u64);
        metrics.gauge(b, &Labels::default().with("none", ""), 0.25);
        metrics.gauge(a, &Labels::default().with("dir", "x").with("of", "y"), u128::MAX);
        metrics.gauge(a, &Labels::default().with("dir", "x").with("of", "y"), 2);
        assert_eq!(
            metrics.to_string(),
            format!(
                "{HEAD}# HELP megadir_a_bytes Bytes.\n# TYPE megadir_a_bytes gauge\n\
                 megadir_a_bytes{{dir=\"say \\\"hi\\\"\\\\\\n\"}} 1\n\
                 megadir_a_bytes{{dir=\"x\",of=\"y\"}} {}\n\
                 # HELP megadir_b Number.\n# TYPE megadir_b gauge\nmegadir_b 0.25\n",
                u128::MAX
            )
        );
    }

    #[test]
    fn paths_that_read_alike_have_other_labels() {
        let label = |path: &[u8]| Labels::default().with_path("dir", path).0;
        assert_eq!(label(b"a\\xff"), r#"dir="a\\xff""#);
        assert_eq!(label(b"a\xff"), r#"dir="a\\xff",dir_hex="61ff""#);
        assert_eq!(label("gr\u{fc}n".as_bytes()), "dir=\"gr\u{fc}n\"");
    }
}
