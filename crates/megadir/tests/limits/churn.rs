//! Names that come and go: planned numbers hold, a number that fitted once is refused later, and a shrunken
//! directory is reported.

use megadir::limits::Limit;
use megadir_testkit::require;
use megadir_testkit::require::full;
use megadir_testkit::rng::Rng;
use rustix::io::Errno;

use crate::image::{Image, Names, Shape};

/// Replaces names at random, for `turnovers` times their number. Returns the turnover of the first refusal, if
/// any.
fn churn(image: &Image, names: &Names, entries: u64, turnovers: u64) -> Option<f64> {
    let mut live: Vec<u64> = (0..entries).collect();
    for index in &live {
        image.create(names.write(*index, &mut [0; 255])).unwrap();
    }
    let mut random = Rng::new(names.seed);
    for replaced in 0..turnovers * entries {
        let place = random.within(0, entries - 1) as usize;
        image.remove(names.write(live[place], &mut [0; 255]));
        live[place] = entries + replaced;
        match image.create(names.write(live[place], &mut [0; 255])) {
            Ok(()) => {}
            Err(Errno::NOSPC) => return Some(replaced as f64 / entries as f64),
            Err(error) => panic!("{error}"),
        }
    }
    None
}

fn image(seed: u64, inodes: u64) -> Result<Image, String> {
    let shape = Shape {
        block_bytes: 1024,
        metadata_csum: true,
        features: "",
        inodes,
        directory_bytes: 16 << 20,
        seed,
    };
    shape.make()
}

#[test]
fn planned_space_is_kept_and_excess_is_refused_in_time() {
    let turnovers = 20;
    let all: [&[u16]; 5] = [&[255], &[128], &[64], &[32], &[8, 32, 255]];
    for lengths in if full() { &all[..] } else { &all[..1] } {
        let names = Names { lengths, seed: 1 };
        let kept = require!(image(1, 120_000));
        let plan = kept.limits_of(&names.text()).judgement.plan.unwrap();
        assert_eq!(churn(&kept, &names, plan.churning, turnovers), None, "{lengths:?}");
        let limits = kept.limits();
        let traps: Vec<_> = limits.judgement.traps.iter().map(|trap| trap.name).collect();
        assert!(traps.contains(&"churn"), "{traps:?}");
        let refused = require!(image(2, 160_000));
        let capacity = refused.limits_of(&names.text()).judgement.capacity.unwrap().value.likely;
        let after = churn(&refused, &names, capacity * 69 / 100, turnovers);
        assert!(after.is_some_and(|after| (0.3..8.0).contains(&after)), "{lengths:?}: {after:?}");
    }
}

#[test]
fn emptied_directory_takes_less_than_a_new_one_as_predicted() {
    let names = Names { lengths: &[128], seed: 3 };
    let image = require!(image(3, 90_000));
    let capacity = image.limits_of("128").judgement.capacity.unwrap().value;
    let filled = capacity.likely * 8 / 10;
    for index in 0..filled {
        image.create(names.write(index, &mut [0; 255])).unwrap();
    }
    for index in filled / 50..filled {
        image.remove(names.write(index, &mut [0; 255]));
    }
    let limits = image.limits();
    let of_index = limits.ceilings.iter().find(|ceiling| ceiling.limit == Limit::DirectoryIndex).unwrap();
    let (more, error) = image.fill(&names, filled, |_| {});
    assert_eq!(error, Errno::NOSPC);
    assert!(of_index.more.low <= more && more <= of_index.more.high, "{more} {:?}", of_index.more);
    let part = more as f64 / of_index.more.likely as f64;
    assert!((part - 1.0).abs() < 0.06, "{more} {:?}", of_index.more);
    assert!(more + filled / 50 < capacity.likely, "{more} {capacity:?}");
}
