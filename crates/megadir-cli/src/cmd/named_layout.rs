//! A layout with the name that messages use: as the user wrote it, or that of a preset if its text says little.

use std::fmt;

use megadir::layout::{Layout, PRESETS};

#[derive(Clone, Debug)]
pub(in crate::cmd) struct Named {
    pub(in crate::cmd) layout: Layout,
    name: String,
}

impl Named {
    pub(in crate::cmd) fn parse(text: &str) -> Result<Self, String> {
        let layout = text.parse::<Layout>().map_err(|error| error.to_string())?;
        Ok(Self { layout, name: text.to_owned() })
    }

    pub(in crate::cmd) fn of(layout: Layout) -> Self {
        let text = layout.to_string();
        let preset = PRESETS.iter().find(|preset| preset.layout == layout && text.contains('+'));
        Self { layout, name: preset.map_or(text, |preset| preset.name.to_owned()) }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::Named;

    #[test]
    fn options_of_a_preset_are_named_by_it() {
        for (text, name) in
            [("git", "git"), ("nginx", "suffix:1/2"), ("prefix:2+rest", "git"), ("flat", "flat")]
        {
            assert_eq!(Named::of(text.parse().unwrap()).to_string(), name);
            assert_eq!(Named::parse(text).unwrap().to_string(), text);
        }
        assert!(Named::parse("prefx:2").is_err());
    }
}
