//! JSON output, one object per line; numbers are exact, each with its basis.

use megadir::limits::{Basis, Ceiling, Details, Fact, Limits, Span, Trap};
use megadir::names;

use crate::ui::escape;

pub(super) fn object(text: &mut Vec<u8>, limits: &Limits, time: Option<&str>) {
    let facts = &limits.facts;
    let mut object = Object::begin(text, "{\"v\":1,");
    escape::json_member(object.text, "dir", names::from_os(facts.path.as_os_str()));
    if let Some(time) = time {
        object.string("time", time);
    }
    object.string("file_system", &facts.file_system.to_string());
    object.optional("mounted_as", facts.mount.as_ref().map(|mount| mount.kind.as_str()));
    object.optional("seen_as", facts.seen_as.map(|seen| seen.to_string()).as_deref());
    object.raw("upper_layer", facts.is_upper_layer);
    object.optional("model", limits.model.map(megadir::limits::Model::about));
    object.raw("block_bytes", facts.space.block_bytes);
    features(&mut object, &facts.details);
    object.raw("directory_bytes", facts.directory_bytes);
    object.nullable("entries", facts.entries.as_ref(), counted);
    object.part("name_bytes", |part| {
        let names = &facts.names.value;
        part.raw("mean", names.mean());
        part.raw("shortest", names.shortest());
        part.raw("longest", names.longest());
        part.basis(&facts.names.basis);
    });
    object.part("content_bytes", |part| {
        part.raw("mean", facts.contents.value.mean_bytes);
        part.raw("low", facts.contents.value.low_bytes);
        part.raw("high", facts.contents.value.high_bytes);
        part.raw("error", facts.contents.value.high_bytes - facts.contents.value.mean_bytes);
        part.basis(&facts.contents.basis);
    });
    object.nullable("index", limits.judgement.gauge.as_ref(), |part, gauge| {
        part.raw("bytes", gauge.bytes);
        part.raw("full_bytes", gauge.full_bytes);
        part.raw("used", rounded(gauge.used()));
        part.basis(&gauge.basis);
    });
    object.nullable("capacity", limits.judgement.capacity.as_ref(), counted);
    object.nullable("plan", limits.judgement.plan.as_ref(), |part, plan| {
        part.raw("growing", plan.growing);
        part.raw("churning", plan.churning);
    });
    object
        .nullable("entries_until_full", limits.entries_until_full().as_ref(), |part, more| span(part, *more));
    object.optional("runs_out_first", limits.runs_out_first().map(megadir::limits::Limit::name));
    object.list("limits", &limits.ceilings, ceiling);
    object.list("traps", &limits.judgement.traps, trap);
    text.extend_from_slice(b"}\n");
}

fn features(object: &mut Object<'_>, details: &Details) {
    let ext4 = match details {
        Details::Ext4(ext4) => Some(ext4),
        Details::Xfs(_) | Details::Btrfs(_) | Details::Overlay(_) | Details::None => None,
    };
    object.nullable("ext4", ext4, |part, ext4| {
        let features = &ext4.features.value;
        part.raw("dir_index", features.dir_index);
        part.raw("large_dir", features.large_dir);
        part.raw("metadata_csum", features.metadata_csum);
        part.raw("dir_nlink", features.dir_nlink);
        match ext4.indexed {
            Some(indexed) => part.raw("indexed", indexed),
            None => part.raw("indexed", "null"),
        }
        part.raw("casefolded", ext4.casefolded);
        part.raw("encrypted", ext4.encrypted);
        part.basis(&ext4.features.basis);
    });
}

fn counted(part: &mut Object<'_>, fact: &Fact<Span>) {
    span(part, fact.value);
    part.basis(&fact.basis);
}

fn span(part: &mut Object<'_>, span: Span) {
    part.raw("likely", span.likely);
    part.raw("low", span.low);
    part.raw("high", span.high);
}

fn ceiling(part: &mut Object<'_>, ceiling: &Ceiling) {
    part.string("limit", ceiling.limit.name());
    part.string("of", &ceiling.limit.to_string());
    part.part("more", |part| span(part, ceiling.more));
    part.raw("used", rounded(ceiling.used));
    part.basis(&ceiling.basis);
}

fn trap(part: &mut Object<'_>, trap: &Trap) {
    part.string("trap", trap.name);
    part.string("text", &trap.text);
    part.list("cures", &trap.cures, |part, cure| {
        part.string("text", &cure.text);
        part.optional("command", cure.command.as_deref());
    });
}

fn rounded(part: f64) -> f64 {
    (part * 1e6).round() / 1e6
}

struct Object<'a> {
    text: &'a mut Vec<u8>,
    begun: bool,
}

impl<'a> Object<'a> {
    fn begin(text: &'a mut Vec<u8>, start: &str) -> Self {
        text.extend_from_slice(start.as_bytes());
        Self { text, begun: true }
    }

    fn key(&mut self, key: &str) {
        if self.begun {
            self.text.push(b',');
        }
        self.begun = true;
        escape::json_string(self.text, key);
        self.text.push(b':');
    }

    fn raw(&mut self, key: &str, value: impl std::fmt::Display) {
        self.key(key);
        self.text.extend_from_slice(value.to_string().as_bytes());
    }

    fn string(&mut self, key: &str, value: &str) {
        self.key(key);
        escape::json_string(self.text, value);
    }

    fn optional(&mut self, key: &str, value: Option<&str>) {
        match value {
            Some(value) => self.string(key, value),
            None => self.raw(key, "null"),
        }
    }

    fn part(&mut self, key: &str, write: impl FnOnce(&mut Object<'_>)) {
        self.key(key);
        self.braced(write);
    }

    fn nullable<T>(&mut self, key: &str, value: Option<&T>, write: impl FnOnce(&mut Object<'_>, &T)) {
        match value {
            Some(value) => self.part(key, |part| write(part, value)),
            None => self.raw(key, "null"),
        }
    }

    fn list<T>(&mut self, key: &str, values: &[T], write: impl Fn(&mut Object<'_>, &T)) {
        self.key(key);
        self.text.push(b'[');
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.text.push(b',');
            }
            self.braced(|part| write(part, value));
        }
        self.text.push(b']');
    }

    fn basis(&mut self, basis: &Basis) {
        self.part("basis", |part| {
            part.string("known", basis.known.word());
            part.string("how", &basis.how);
        });
    }

    fn braced(&mut self, write: impl FnOnce(&mut Object<'_>)) {
        self.text.push(b'{');
        write(&mut Object { text: self.text, begun: false });
        self.text.push(b'}');
    }
}
