//! Number and fill of a layout's directories.

use super::{Layout, Source};

/// Shape of a layout with a given number of files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Number of directories between the top and a file.
    pub depth: usize,
    /// Maximum number of directories that hold files, saturating at `u64::MAX`.
    pub leaves_max: u64,
    /// Maximum number of directories below the top, on all levels, saturating at `u64::MAX`.
    pub directories_max: u64,
    /// Expected number of directories that hold files, perhaps including the top.
    pub leaves: f64,
    /// Expected number of directories below the top, on all levels.
    pub directories: f64,
    /// Expected mean number of files per directory that holds any.
    pub files_per_leaf: f64,
}

impl Layout {
    /// Maximum number of directories below the top, on all levels at the greatest depth, saturating at `u64::MAX`. `values` is
    /// the number of different characters at each position of the names, e.g. 16; digests and numbers ignore it.
    pub fn directories(&self, values: u64) -> u64 {
        sum(&self.products(*self.depths().end(), values))
    }

    /// Shape with `files` files, at the depth for that number.
    ///
    /// Expected numbers assume uniform, independent characters: n names hit m (1 - (1 - 1/m)^n) of m directories. For
    /// [`Source::Decimal`] and [`Source::Sequence`] they are for the numbers from 0. `values` is as in [`Layout::directories`].
    pub fn shape(&self, files: u64, values: u64) -> Shape {
        let depth = self.at(files).depth();
        let products = self.products(depth, values);
        let expected = |level: usize| self.expected(level, products[level], depth, files);
        let leaves = match depth {
            0 => 1.0,
            _ => expected(depth - 1),
        };
        Shape {
            depth,
            leaves_max: products.last().copied().unwrap_or(1),
            directories_max: sum(&products),
            leaves,
            directories: (0..depth).map(expected).sum(),
            files_per_leaf: if files == 0 { 0.0 } else { files as f64 / leaves },
        }
    }

    fn products(&self, depth: usize, values: u64) -> Vec<u64> {
        let mut product = 1_u64;
        let level = |level: &u16| {
            let width = u32::from(*level);
            let factor = match self.source {
                Source::Sequence => u64::from(*level),
                Source::Digest => 16_u64.saturating_pow(width),
                Source::Decimal => 10_u64.saturating_pow(width),
                _ => values.max(1).saturating_pow(width),
            };
            product = product.saturating_mul(factor);
            product
        };
        self.levels()[..depth].iter().map(level).collect()
    }

    fn expected(&self, level: usize, most: u64, depth: usize, files: u64) -> f64 {
        let in_order = |each: u64| files.div_ceil(each.max(1)).min(most) as f64;
        match self.source {
            Source::Decimal => {
                let below: u32 = self.levels()[level + 1..].iter().map(|width| u32::from(*width)).sum();
                in_order(10_u64.saturating_pow(below))
            }
            Source::Sequence => {
                let leaf = self.levels().last().map_or(1, |count| u64::from(*count));
                let below = self.levels()[level + 1..depth].iter().map(|count| u64::from(*count));
                in_order(below.fold(leaf, u64::saturating_mul))
            }
            _ if files == 0 => 0.0,
            _ => hit(most as f64, files as f64),
        }
    }
}

fn hit(most: f64, files: f64) -> f64 {
    if most <= 1.0 { most } else { -most * (files * (-1.0 / most).ln_1p()).exp_m1() }
}

fn sum(products: &[u64]) -> u64 {
    products.iter().fold(0, |sum, product| sum.saturating_add(*product))
}

#[cfg(test)]
mod tests {
    use crate::layout::Layout;

    fn shape(layout: &str, files: u64) -> crate::layout::Shape {
        layout.parse::<Layout>().unwrap().shape(files, 16)
    }

    #[test]
    fn the_published_layout_has_its_published_numbers() {
        // Study S2: 256 x 256 leaves, about 153 files each.
        let shape = shape("prefix:2/2", 10_000_000);
        assert_eq!((shape.depth, shape.leaves_max, shape.directories_max), (2, 65_536, 65_792));
        assert!((shape.leaves - 65_536.0).abs() < 1e-6 && (shape.directories - 65_792.0).abs() < 1e-6);
        assert_eq!(shape.files_per_leaf.round(), 153.0);
    }

    #[test]
    fn few_files_need_few_directories() {
        assert_eq!(shape("flat", 7).files_per_leaf, 7.0);
        assert_eq!("prefix:2".parse::<Layout>().unwrap().shape(9, 0).files_per_leaf, 9.0);
        assert_eq!((shape("flat", 0).files_per_leaf, shape("flat", 7).directories_max), (0.0, 0));
        assert_eq!((shape("prefix:2/2", 0).directories, shape("prefix:2/2", 0).files_per_leaf), (0.0, 0.0));
        let single = shape("digest:2/2", 1);
        assert!((single.leaves - 1.0).abs() < 1e-9 && (single.directories - 2.0).abs() < 1e-9, "{single:?}");
        // 256 names hit 256 (1 - (255/256)^256) of 256 directories.
        let some = shape("prefix:2", 256).leaves;
        assert!((some - 256.0 * (1.0 - (255.0_f64 / 256.0).powi(256))).abs() < 1e-9, "{some}");
    }

    #[test]
    fn numbers_fill_one_directory_after_the_other() {
        let squid = shape("squid", 257);
        assert_eq!((squid.leaves, squid.directories), (2.0, 3.0));
        assert_eq!(shape("squid", 1 << 20).directories, 16.0 + 4096.0);
        assert_eq!(shape("squid", 1 << 24).leaves, 4096.0);
        let paperclip = shape("paperclip", 1_000_001);
        assert_eq!((paperclip.leaves, paperclip.directories), (1001.0, 1003.0));
        assert_eq!(paperclip.directories_max, 1_001_000);
    }

    #[test]
    fn uncountably_many_directories_are_reported_as_the_maximum() {
        assert_eq!("digest:16".parse::<Layout>().unwrap().directories(16), u64::MAX);
        assert_eq!("prefix:8".parse::<Layout>().unwrap().directories(254), 254_u64.pow(8));
        let shape = shape("digest:16/16/16", 1_000_000);
        assert_eq!((shape.leaves_max, shape.directories_max), (u64::MAX, u64::MAX));
        assert!((shape.leaves - 1e6).abs() < 1.0 && (shape.files_per_leaf - 1.0).abs() < 1e-6, "{shape:?}");
    }

    #[test]
    fn the_depth_is_the_one_for_the_number_of_files() {
        assert_eq!(shape("ccache", 511_999).depth, 2);
        assert_eq!(shape("ccache", 512_000).depth, 3);
        assert_eq!("ccache".parse::<Layout>().unwrap().directories(16), 16 + 256 + 4096 + 65_536);
    }
}
