//! A record of a million samples is reported in every format within 300 MiB, as measured by the kernel.
//!
//! The time is printed but not asserted; with `--release` it should be below 5 s.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use megadir_record::{Line, Phase, Record, Sample, Writer, jsonl};
use megadir_report::FORMATS;
use megadir_testkit::require::full;

use crate::support::{BRIEF_RUN, megadir, output_of};

const SAMPLES: usize = 1_000_000;
const PEAK_BYTES: u64 = 300 << 20;

/// Extends the record of a short run to a million samples: repeats its rounds with random variation of the
/// times.
fn lengthen(short: &Record, output: impl std::io::Write) -> std::io::Result<()> {
    let arms = short.header.plan.arms.len();
    let rounds = u32::try_from(SAMPLES.div_ceil(arms)).expect("it fits");
    let mut header = short.header.clone();
    header.plan.rules.rounds = rounds;
    let mut writer = Writer::start(output, header)?;
    let counts =
        |sample: &&Sample| sample.phase == Phase::Measure && sample.round == 0 && sample.attempt == 0;
    let first: Vec<&Sample> = short.samples.iter().filter(counts).collect();
    let (mut noise, mut start_ns) = (1_u64, 0);
    for round in 0..rounds {
        for sample in &first {
            // Knuth's generator: good enough for scatter.
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let elapsed_ns = 1_000_000 + 50_000 * u64::from(sample.arm.0) + (noise >> 47);
            start_ns += elapsed_ns;
            let sample = Sample { round, start_ns, elapsed_ns, ..(*sample).clone() };
            writer.write(&Line::Sample(sample))?;
        }
    }
    writer.write(&Line::End(short.end.clone().expect("the run ended")))
}

/// Runs a command until it ends; returns its peak memory, bytes.
fn peak(command: &mut Command) -> u64 {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
    let mut peak = 0;
    loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) << 10);
        if let Some(ended) = child.try_wait().expect("it can be waited for") {
            assert!(ended.success(), "{command:?}: {ended}");
            return peak;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_million_samples_are_reported_within_their_memory() {
    if !full() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let run = [&BRIEF_RUN[..], &["-o", "short"]].concat();
    assert!(output_of(at, &run).status.success());
    let short = std::fs::File::open(at.join("short")).expect("the record is there");
    let short = jsonl::read(std::io::BufReader::new(short)).expect("it is whole");
    let long = std::fs::File::create(at.join("long")).expect("writable");
    lengthen(&short, std::io::BufWriter::new(long)).expect("writable");
    for format in FORMATS.iter().filter(|format| format.missing.is_none() && format.name != "hdr") {
        let file = format!("of-a-million.{}", format.extension);
        let started = Instant::now();
        let peak = peak(&mut megadir(at, &["bench", "report", "long", "-f", format.name, "-o", &file]));
        println!("{}: {} MiB, {:.2?}", format.name, peak >> 20, started.elapsed());
        assert!(peak < PEAK_BYTES, "{}: {} MiB", format.name, peak >> 20);
        let written = at.join(&file).metadata().expect("it is there").len();
        assert!(written > 1_000, "{}: {written} bytes", format.name);
        std::fs::remove_file(at.join(file)).expect("removable");
    }
}
