//! Tails and critical values of the normal, Student and fair-coin distributions. Reference: Press et al.,
//! *Numerical Recipes*, 3rd edition, sections 6.1 to 6.4 (incomplete beta function).

/// P(Z <= z) for a standard normal Z.
pub(crate) fn normal_cumulative(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// The `z` with P(Z > z) = `tail` (0 to 0.5).
pub(crate) fn normal_critical(tail: f64) -> f64 {
    solve_decreasing(|z| normal_cumulative(-z), tail)
}

/// The `t` with P(T > t) = `tail` (0 to 0.5).
pub(crate) fn student_critical(degrees: f64, tail: f64) -> f64 {
    solve_decreasing(|t| 0.5 * student_two_sided(degrees, t), tail)
}

/// P(|T| >= |t|) for Student's T.
pub(crate) fn student_two_sided(degrees: f64, t: f64) -> f64 {
    incomplete_beta(0.5 * degrees, 0.5, degrees / (degrees + t * t))
}

pub(crate) fn fair_coin_cumulative(tosses: usize, heads: usize) -> f64 {
    const EXACT_TOSSES_MAX: usize = 50;
    if heads >= tosses {
        return 1.0;
    }
    if tosses <= EXACT_TOSSES_MAX {
        // A level reached exactly (75 % with 3 tosses) counts: integers below 2^53 are exact.
        let (mut ways, mut sum) = (1.0, 1.0);
        for k in 0..heads {
            ways = ways * (tosses - k) as f64 / (k as f64 + 1.0);
            sum += ways;
        }
        return sum / (1u64 << tosses) as f64;
    }
    incomplete_beta((tosses - heads) as f64, heads as f64 + 1.0, 0.5)
}

/// Probability in each tail; `None` outside 0 to 1.
pub(crate) fn tail_of(confidence: f64) -> Option<f64> {
    (confidence > 0.0 && confidence < 1.0).then_some(0.5 * (1.0 - confidence))
}

/// Largest number below `end` whose `cumulative` probability is at most `tail`; `None` if that of 0 exceeds it.
pub(crate) fn last_within(end: usize, tail: f64, cumulative: impl Fn(usize) -> f64) -> Option<usize> {
    let (mut fits, mut too_large) = (0, end);
    if cumulative(fits) > tail {
        return None;
    }
    while too_large - fits > 1 {
        let middle = fits.midpoint(too_large);
        if cumulative(middle) <= tail {
            fits = middle;
        } else {
            too_large = middle;
        }
    }
    Some(fits)
}

/// Non-negative argument at which a decreasing `tail` falls to `target`.
fn solve_decreasing(tail: impl Fn(f64) -> f64, target: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while tail(high) > target && high < 1e300 {
        low = high;
        high *= 2.0;
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if tail(middle) > target {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// Regularised.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let log_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let front = (a * x.ln() + b * (-x).ln_1p() - log_beta).exp();
    // The fraction converges fast only on its own side of the mean.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// Modified Lentz method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TERMS_MAX: u32 = 100_000;
    let away_from_zero = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for term in 1..=TERMS_MAX {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for numerator in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + numerator * d);
            c = away_from_zero(1.0 + numerator / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_match_printed_tables() {
        assert!((normal_critical(0.025) - 1.959_963_984_540_054).abs() < 1e-12);
        assert!((student_critical(1.0, 0.025) - 12.706_204_736_174_705).abs() < 1e-11);
        assert!((student_critical(10.0, 0.025) - 2.228_138_851_986_275).abs() < 1e-12);
        assert!((fair_coin_cumulative(10, 2) - 56.0 / 1024.0).abs() < 1e-14);
        assert!((fair_coin_cumulative(100, 40) - 0.028_443_966_820_490_4).abs() < 1e-14);
        assert!((fair_coin_cumulative(3, 3) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn many_degrees_of_freedom_approach_the_normal() {
        let difference = student_critical(1e6, 0.0005) - normal_critical(0.0005);
        assert!(difference.abs() < 1e-4, "{difference}");
    }
}
