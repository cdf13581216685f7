//! Size of the n-th file, computed from the seed. Log-normal: Crow and Shimizu, *Lognormal Distributions*, chapter 1.
//!
//! Functions of libm are used in place of the standard library's, whose results depend on the system: one
//! bit of difference in a logarithm would be another size, and another data set.

use megadir_record::SizeLaw;
use megadir_stats::permutation::SplitMix64;

use super::stream;

/// Bound for normal deviates, so that a file has a largest size that a plan can reserve.
const DEVIATES_MAX: f64 = 6.0;
/// Beyond this σ, a few files would hold almost all bytes.
pub const SIGMA_MAX: f64 = 3.0;
/// Largest mean size, bytes, so that sums over 10^8 files fit into 64 bits.
pub const SIZE_BYTES_MAX: u64 = 1 << 36;
/// Above this many blocks the distribution is smooth enough for a formula.
const BLOCKS_EXACT: u64 = 4096;
const PURPOSE: u64 = 0x7369_7a65;

#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    pub size_bytes: u64,
    pub law: SizeLaw,
}

impl Sizes {
    pub fn fixed(size_bytes: u64) -> Self {
        Self { size_bytes, law: SizeLaw::Fixed }
    }

    /// Reason why the law is invalid. A record of any origin is checked by it, so no later computation can
    /// overflow.
    pub fn contradiction(&self) -> Option<String> {
        let Self { size_bytes, law } = self;
        if *size_bytes > SIZE_BYTES_MAX {
            return Some(format!("files of {size_bytes} bytes are too large: at most {SIZE_BYTES_MAX}"));
        }
        match law {
            SizeLaw::Fixed => None,
            SizeLaw::Uniform { low_bytes, high_bytes } if low_bytes > high_bytes => Some(format!(
                "the smallest size ({low_bytes} bytes) is larger than the largest ({high_bytes})"
            )),
            SizeLaw::Uniform { low_bytes, high_bytes } => {
                let mean = low_bytes.midpoint(*high_bytes);
                (mean != *size_bytes).then(|| format!("the mean is {mean} bytes, not {size_bytes}"))
            }
            SizeLaw::LogNormal { sigma } if !(*sigma > 0.0 && *sigma <= SIGMA_MAX) => {
                Some(format!("sigma is {sigma}: expected more than 0, at most {SIGMA_MAX}"))
            }
            SizeLaw::LogNormal { .. } if *size_bytes == 0 => {
                Some("the mean of a log-normal distribution must be at least 1 byte".into())
            }
            SizeLaw::LogNormal { .. } => None,
            SizeLaw::Quantiles { bytes } if bytes.is_empty() => Some("the table of sizes is empty".into()),
            SizeLaw::Quantiles { bytes } => {
                let wrong = !bytes.is_sorted() || bytes.last().is_some_and(|last| *last > 1 << 50);
                wrong.then(|| "the table of sizes must ascend, to at most 2^50 bytes".into())
            }
        }
    }

    pub fn of(&self, seed: u64, index: u64) -> u64 {
        match &self.law {
            SizeLaw::Fixed => self.size_bytes,
            SizeLaw::Uniform { low_bytes, high_bytes } => {
                let drawn = stream(seed, PURPOSE, index).next_u64();
                low_bytes + share(drawn, u128::from(high_bytes - low_bytes) + 1)
            }
            SizeLaw::LogNormal { sigma } => {
                let deviate = normal(&mut stream(seed, PURPOSE, index));
                libm::round(libm::exp(self.mu(*sigma) + sigma * deviate)) as u64
            }
            SizeLaw::Quantiles { bytes } => {
                let drawn = stream(seed, PURPOSE, index).next_u64();
                bytes[share(drawn, bytes.len() as u128) as usize]
            }
        }
    }

    pub fn largest_bytes(&self) -> u64 {
        match &self.law {
            SizeLaw::Fixed => self.size_bytes,
            SizeLaw::Uniform { high_bytes, .. } => *high_bytes,
            SizeLaw::LogNormal { sigma } => {
                libm::round(libm::exp(self.mu(*sigma) + sigma * DEVIATES_MAX)) as u64
            }
            SizeLaw::Quantiles { bytes } => bytes.last().copied().unwrap_or(0),
        }
    }

    /// Expected number of blocks of a file: the mean of sizes that are rounded up, not the rounded mean.
    pub fn blocks(&self, block_bytes: u64) -> f64 {
        match &self.law {
            SizeLaw::Fixed => self.size_bytes.div_ceil(block_bytes) as f64,
            SizeLaw::Uniform { low_bytes, high_bytes } => {
                let below = low_bytes.checked_sub(1).map_or(0, |low| blocks_to(low, block_bytes));
                let all = blocks_to(*high_bytes, block_bytes) - below;
                all as f64 / (high_bytes - low_bytes + 1) as f64
            }
            SizeLaw::LogNormal { sigma } => self.log_normal_blocks(*sigma, block_bytes),
            SizeLaw::Quantiles { bytes } => {
                let all: u128 = bytes.iter().map(|size| u128::from(size.div_ceil(block_bytes))).sum();
                all as f64 / bytes.len().max(1) as f64
            }
        }
    }

    pub fn deviation_bytes(&self) -> f64 {
        let mean = self.size_bytes as f64;
        match &self.law {
            SizeLaw::Fixed => 0.0,
            SizeLaw::Uniform { low_bytes, high_bytes } => (high_bytes - low_bytes) as f64 / 12_f64.sqrt(),
            SizeLaw::LogNormal { sigma } => mean * libm::expm1(sigma * sigma).sqrt(),
            SizeLaw::Quantiles { bytes } => {
                let squares: f64 = bytes.iter().map(|size| (*size as f64 - mean).powi(2)).sum();
                (squares / bytes.len().max(1) as f64).sqrt()
            }
        }
    }

    /// The μ with exp(μ + σ²/2) equal to the mean.
    fn mu(&self, sigma: f64) -> f64 {
        libm::log(self.size_bytes as f64) - sigma * sigma / 2.0
    }

    /// Sum over k of the probability of more than k blocks. From block K on, where a block is a small part of
    /// the size, the sum is E\[(X - K b)+\] / b + P(X > K b) / 2 by the trapezoidal rule.
    fn log_normal_blocks(&self, sigma: f64, block_bytes: u64) -> f64 {
        let (mu, mean) = (self.mu(sigma), self.size_bytes as f64);
        // Rounding to whole bytes shifts the bound by half a byte.
        let score = |bytes: f64| (mu - libm::log(bytes + 0.5)) / sigma;
        let more = |blocks: u64| cumulative(score((blocks * block_bytes) as f64));
        let exact: f64 = (0..BLOCKS_EXACT).map(more).sum();
        let rest = (BLOCKS_EXACT * block_bytes) as f64;
        let beyond = mean * cumulative(score(rest) + sigma) - rest * cumulative(score(rest));
        exact + beyond.max(0.0) / block_bytes as f64 + 0.5 * more(BLOCKS_EXACT)
    }
}

/// Maps a random number to 0 .. `end` by its leading bits, without a division.
fn share(drawn: u64, end: u128) -> u64 {
    ((u128::from(drawn) * end) >> 64) as u64
}

/// Sum of the blocks of all sizes from 0 to `bytes`.
fn blocks_to(bytes: u64, block_bytes: u64) -> u128 {
    let (whole, rest) = (u128::from(bytes / block_bytes), u128::from(bytes % block_bytes));
    u128::from(block_bytes) * whole * (whole + 1) / 2 + rest * (whole + 1)
}

/// Box and Muller (1958), clamped to [`DEVIATES_MAX`].
fn normal(random: &mut SplitMix64) -> f64 {
    // The argument of the logarithm is 2^-53 to 1, never 0.
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.unit()));
    let deviate = radius * libm::cos(std::f64::consts::TAU * random.unit());
    deviate.clamp(-DEVIATES_MAX, DEVIATES_MAX)
}

/// Distribution function of the standard normal law.
fn cumulative(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILES: u64 = 200_000;

    fn laws() -> Vec<Sizes> {
        let log_normal = |size_bytes, sigma| Sizes { size_bytes, law: SizeLaw::LogNormal { sigma } };
        vec![
            Sizes::fixed(4097),
            Sizes { size_bytes: 10_000, law: SizeLaw::Uniform { low_bytes: 0, high_bytes: 20_000 } },
            Sizes { size_bytes: 4096, law: SizeLaw::Uniform { low_bytes: 4096, high_bytes: 4096 } },
            log_normal(50_000, 1.0),
            log_normal(50_000, 0.1),
            log_normal(3000, 1.5),
            log_normal(1 << 20, 0.5),
            Sizes { size_bytes: 2535, law: SizeLaw::Quantiles { bytes: vec![0, 10, 33, 10_100] } },
        ]
    }

    #[test]
    fn means_and_blocks_follow_the_distribution() {
        for sizes in laws() {
            assert_eq!(sizes.contradiction(), None, "{sizes:?}");
            let (mut bytes, mut blocks, mut largest) = (0_u64, 0_u64, 0);
            for index in 0..FILES {
                let size = sizes.of(7, index);
                bytes += size;
                blocks += size.div_ceil(4096);
                largest = largest.max(size);
            }
            // Five standard errors of the mean: a correct distribution fails once in two million.
            let error = 5.0 * sizes.deviation_bytes() / (FILES as f64).sqrt();
            let mean = bytes as f64 / FILES as f64;
            assert!((mean - sizes.size_bytes as f64).abs() <= error + 0.51, "{sizes:?}: {mean}, {error}");
            let mean_blocks = blocks as f64 / FILES as f64;
            let off = (mean_blocks - sizes.blocks(4096)).abs();
            // A block more is about 4096 bytes more, so both means have nearly the same error.
            assert!(off <= error / 4096.0 + 0.006, "{sizes:?}: {mean_blocks} {}", sizes.blocks(4096));
            assert!(largest <= sizes.largest_bytes(), "{sizes:?}");
        }
    }

    #[test]
    fn log_normal_sizes_have_the_quantiles_of_their_law() {
        let sizes = Sizes { size_bytes: 50_000, law: SizeLaw::LogNormal { sigma: 1.0 } };
        let mut drawn: Vec<u64> = (0..FILES).map(|index| sizes.of(3, index)).collect();
        drawn.sort_unstable();
        // exp(ln 50 000 - 1/2 + z), with z of 5, 25, 50, 75 and 95 %.
        for (share, expected) in
            [(0.05, 5854.0), (0.25, 15_448.0), (0.5, 30_326.5), (0.75, 59_534.0), (0.95, 157_099.0)]
        {
            let found = drawn[(share * FILES as f64) as usize] as f64;
            assert!((found / expected - 1.0).abs() < 0.03, "{share}: {found} {expected}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        #[test]
        fn log_normal_sizes_follow_their_distribution(
            mean in 1_000_u64..1_000_000, sigma in 0.1_f64..2.5, seed: u64,
        ) {
            const FILES: u64 = 20_000;
            let sizes = Sizes { size_bytes: mean, law: SizeLaw::LogNormal { sigma } };
            let mut drawn: Vec<u64> = (0..FILES).map(|index| sizes.of(seed, index)).collect();
            drawn.sort_unstable();
            // Kolmogorov-Smirnov distance: by its limiting distribution, above 3 once in 33 million.
            let mut distance = 0.0_f64;
            for (rank, size) in drawn.iter().enumerate() {
                let at = |bytes: f64| cumulative((libm::log(bytes.max(0.1)) - sizes.mu(sigma)) / sigma);
                let (low, high) = (rank as f64 / FILES as f64, (rank + 1) as f64 / FILES as f64);
                // A whole number of bytes stands for half a byte on both sides.
                distance = distance.max(at(*size as f64 - 0.5) - high).max(low - at(*size as f64 + 0.5));
            }
            prop_assert!(distance * (FILES as f64).sqrt() < 3.0, "{distance}");
        }
    }

    #[test]
    fn blocks_of_large_log_normal_files_are_as_if_counted() {
        // Most files have more blocks than are counted one by one.
        let sizes = Sizes { size_bytes: 1 << 30, law: SizeLaw::LogNormal { sigma: 1.0 } };
        let expected = f64::from(1 << 18) + 0.5;
        assert!((sizes.blocks(4096) / expected - 1.0).abs() < 1e-3, "{}", sizes.blocks(4096));
    }

    #[test]
    fn a_law_that_cannot_be_is_refused() {
        let with = |size_bytes, law| Sizes { size_bytes, law }.contradiction();
        assert!(with(5, SizeLaw::Uniform { low_bytes: 9, high_bytes: 1 }).is_some());
        assert!(with(4, SizeLaw::Uniform { low_bytes: 1, high_bytes: 9 }).is_some());
        for sigma in [0.0, -1.0, 3.1, f64::NAN, f64::INFINITY] {
            assert!(with(5, SizeLaw::LogNormal { sigma }).is_some(), "{sigma}");
        }
        assert!(with(0, SizeLaw::LogNormal { sigma: 1.0 }).is_some());
        assert!(with(0, SizeLaw::Quantiles { bytes: vec![] }).is_some());
        assert!(with(0, SizeLaw::Quantiles { bytes: vec![2, 1] }).is_some());
        assert!(with(u64::MAX, SizeLaw::Fixed).is_some());
    }
}
