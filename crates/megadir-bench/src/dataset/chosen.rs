//! Files that a user chooses in place of a study's own.

use megadir::layout::{Layout, Source};
use megadir_record::{ContentKind, Made, MakeDirectories, NameScheme, Spread};

use super::{Look, Sizes};

/// What is chosen; `None` leaves what the study says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chosen {
    /// Lengths of names, sizes and spread of a tree that was looked at; the others go before it.
    pub look: Option<Look>,
    /// Sizes.
    pub sizes: Option<Sizes>,
    /// Contents.
    pub content: Option<ContentKind>,
    /// Spread over directories.
    pub spread: Option<Spread>,
}

impl Chosen {
    /// Returns whether nothing is chosen.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Returns how files are made that were made as `made` says.
    #[must_use]
    pub fn over(&self, made: &Made) -> Made {
        let mut chosen = made.clone();
        if let Some(look) = &self.look {
            chosen.names = look.names;
            chosen.spread = look.spread.clone();
            // Directories without files would not be made for any.
            if !look.spread.is_flat() {
                chosen.directories = MakeDirectories::Before;
            }
        }
        if let Some(sizes) = self.sizes.as_ref().or(self.look.as_ref().map(|look| &look.sizes)) {
            (chosen.size_bytes, chosen.sizes) = (sizes.size_bytes, sizes.law.clone());
        }
        if let Some(spread) = &self.spread {
            chosen.spread = spread.clone();
            chosen.directories = made.directories;
            // A layout by numbers takes no other names.
            chosen.names = names_of(spread).unwrap_or(chosen.names);
        }
        chosen.content = self.content.unwrap_or(chosen.content);
        chosen
    }
}

/// Returns the only names that a spread takes; `None` if it takes any.
pub fn names_of(spread: &Spread) -> Option<NameScheme> {
    let Spread::Layout { layout } = spread else { return None };
    match layout.parse::<Layout>().ok()?.source() {
        Source::Decimal => Some(NameScheme::Decimal),
        Source::Sequence => Some(NameScheme::UpperHex),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{parse_sizes, parse_spread};

    #[test]
    fn what_is_chosen_goes_before_what_the_study_says() {
        let study = Made::flat(NameScheme::Md5, 10);
        assert_eq!(Chosen::default().over(&study), study);
        let chosen = Chosen {
            sizes: Some(parse_sizes("uniform:0-8").unwrap()),
            content: Some(ContentKind::Json),
            spread: Some(parse_spread("decimal:2/2").unwrap()),
            look: None,
        };
        let made = chosen.over(&study);
        assert_eq!((made.names, made.size_bytes, made.content), (NameScheme::Decimal, 4, ContentKind::Json));
        let names = NameScheme::Lengths { bytes: [5; 32] };
        let spread = Spread::PerDirectory { files: 3 };
        let look = Look { entries: 9, names, sizes: Sizes::fixed(7), spread, unread: 0, unexamined: 0 };
        let like = Chosen { look: Some(look), ..Chosen::default() };
        assert_eq!((like.over(&study).names, like.over(&study).size_bytes), (names, 7));
        let flat = Chosen { spread: Some(Spread::Flat), ..like };
        assert_eq!((flat.over(&study).spread, flat.over(&study).names), (Spread::Flat, names));
        assert_eq!(flat.over(&study).directories, MakeDirectories::OnDemand);
        assert!(!flat.is_nothing() && Chosen::default().is_nothing());
    }
}
