//! Random numbers of a seed. Reference: Steele, Lea and Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014.

/// Random numbers; not for secrets.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Stream `number` of a seed.
    pub fn new(seed: u64, number: u64) -> Self {
        Self(mix(seed ^ mix(number.wrapping_add(0x9e37_79b9_7f4a_7c15))))
    }

    /// Next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Below `end`, which is positive; the bias is below `end` / 2^64.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u64
    }

    /// Offers item `number` (from 0) of a stream to a reservoir of `places`, so that all items are in it with the same probability.
    /// Reference: Vitter, ACM TOMS 11 (1985), algorithm R.
    #[inline]
    pub fn reserve<T>(&mut self, kept: &mut Vec<T>, number: u64, places: usize, item: impl FnOnce() -> T) {
        if kept.len() < places {
            kept.push(item());
        } else if let Some(place) = kept.get_mut(self.below(number + 1) as usize) {
            *place = item();
        }
    }
}

fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
