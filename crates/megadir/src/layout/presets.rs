//! Layouts of known programs, each taken from the program's source.

use super::{Few, Growth, Layout, Source};

/// Layout of a known program.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name of the preset, such as `git`.
    pub name: &'static str,
    /// Layout.
    pub layout: Layout,
    /// Files of the program with this layout, and differences if any.
    pub about: &'static str,
    /// Reference: source or documentation of the program.
    pub source: &'static str,
}

const fn prefix(levels: &[u16]) -> Layout {
    Layout::fixed(Source::Prefix, levels)
}

/// All presets.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "bazel",
        layout: prefix(&[2]),
        about: "files of Bazel's disk cache, below cas/ and ac/",
        source: "bazelbuild/bazel, src/main/java/com/google/devtools/build/lib/remote/disk/DiskCacheClient.java, toPath",
    },
    Preset {
        name: "ccache",
        layout: Layout {
            trimmed: true,
            growth: Some(Growth { from_levels: 2, under_files: 2000 }),
            ..prefix(&[1, 1, 1, 1])
        },
        about: "results of ccache, which searches all depths and moves files found at another than the wanted one",
        source: "ccache/ccache, src/ccache/storage/local/localstorage.cpp, get_path_in_cache, calculate_wanted_cache_level",
    },
    Preset {
        name: "ceph-filestore",
        layout: Layout {
            growth: Some(Growth { from_levels: 0, under_files: 321 }),
            label: Few::new(b"DIR_", 0),
            ..Layout::fixed(Source::Suffix, &[1, 1, 1, 1, 1, 1, 1, 1])
        },
        about: "objects of Ceph's FileStore. Ceph takes the digits from the end of the hash inside the file's name and splits each \
                directory separately; here they are from the end of the name, and all directories have the same depth",
        source: "ceph/ceph, src/os/filestore/HashIndex.cc, get_path_components, must_split; LFNIndex.cc, SUBDIR_PREFIX; \
                 filestore_split_multiple 2, filestore_merge_threshold 10",
    },
    Preset {
        name: "git",
        layout: Layout { trimmed: true, ..prefix(&[2]) },
        about: "loose objects of git, below .git/objects",
        source: "git/git, object-file.c, fill_loose_path",
    },
    Preset {
        name: "ipfs-flatfs",
        layout: Layout { ending: Few::new(b".data", 0), ..Layout::fixed(Source::NextToLast, &[2]) },
        about: "blocks of IPFS in kubo's default flatfs, whose files are named after the key and .data; it pads short keys",
        source: "ipfs/go-ds-flatfs, shard.go, NextToLast and IPFS_DEF_SHARD; readme.go",
    },
    Preset {
        name: "nginx",
        layout: Layout::fixed(Source::Suffix, &[1, 2]),
        about: "responses cached by nginx with levels=1:2, as in its documentation",
        source: "nginx/nginx, src/core/ngx_file.c, ngx_create_hashed_filename; proxy_cache_path in the documentation",
    },
    Preset {
        name: "npm-cacache",
        layout: Layout { trimmed: true, ..prefix(&[2, 2]) },
        about: "contents of npm's cache, below content-v2/sha512",
        source: "npm/cacache, lib/util/hash-to-segments.js",
    },
    Preset {
        name: "paperclip",
        layout: Layout::fixed(Source::Decimal, &[3, 3, 3]),
        about: "attachments of Paperclip by ID; IDs above 999 999 999 get one more level, below directories of smaller IDs",
        source: "thoughtbot/paperclip, lib/paperclip/interpolations.rb, id_partition",
    },
    Preset {
        name: "sccache",
        layout: prefix(&[1, 1]),
        about: "results of sccache on the local disk",
        source: "mozilla/sccache, src/cache/disk.rs, make_key_path",
    },
    Preset {
        name: "squid",
        layout: Layout::fixed(Source::Sequence, &[16, 256]),
        about: "objects of squid's ufs with its default 16 and 256 directories; squid numbers files up to FFFFFF",
        source: "squid-cache/squid, src/fs/ufs/UFSSwapDir.cc, fullPath; cache_dir in src/cf.data.pre",
    },
];

/// Finds a preset by name.
pub fn by_name(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::{PRESETS, by_name};
    use crate::layout::{Layout, Refused};

    #[test]
    fn presets_are_layouts_that_can_be_written_and_are_in_order() {
        for preset in PRESETS {
            assert_eq!(preset.name.parse(), Ok(preset.layout));
            assert_eq!(preset.layout.to_string().parse(), Ok(preset.layout), "{}", preset.name);
            assert_eq!(by_name(preset.name).unwrap().about, preset.about);
            assert!(preset.source.contains('/') && preset.about.len() > 20);
        }
        assert!(PRESETS.is_sorted_by(|a, b| a.name < b.name));
        assert!(by_name("flat").is_none());
    }

    #[track_caller]
    fn same(preset: &str, files: u64, name: &str, path: &str) {
        let layout: Layout = preset.parse().unwrap();
        assert_eq!(layout.at(files).path_for(name.as_bytes()).unwrap().to_str().unwrap(), path);
        let mut buffer = crate::layout::NameBuffer::new();
        assert_eq!(layout.name_of(path.as_bytes(), &mut buffer), Some(name.as_bytes()));
    }

    #[test]
    fn paths_match_the_programs() {
        // Pro Git, "Git Objects".
        same(
            "git",
            1,
            "d670460b4b4aece5915caf5c68d12f560a9fe3e4",
            "d6/70460b4b4aece5915caf5c68d12f560a9fe3e4",
        );
        // SHA-256 of the empty string, by DiskCacheClient.toPath.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        same("bazel", 1, empty, &format!("e3/{empty}"));
        // Comment in lib/content/path.js.
        same("npm-cacache", 1, "bada55deadbeefc0ffee", "ba/da/55deadbeefc0ffee");
        same("sccache", 1, "abcdef", "a/b/abcdef");
        // nginx.org, proxy_cache_path.
        same("nginx", 1, "b7f54b2df7773722d382f4809d65029c", "c/29/b7f54b2df7773722d382f4809d65029c");
        // squid's doc/manuals; the last by fullPath.
        same("squid", 1, "0000004A", "00/00/0000004A");
        same("squid", 1, "000000B7", "00/00/000000B7");
        same("squid", 1, "00F12345", "01/23/00F12345");
        // readme.go of flatfs, and the extension of flatfs.go.
        same(
            "ipfs-flatfs",
            1,
            "AFKREIA22FLID5AJ2KU7URG47MDLROZIH6YF2KALU2PWEFPVI37YLKRSCA.data",
            "SC/AFKREIA22FLID5AJ2KU7URG47MDLROZIH6YF2KALU2PWEFPVI37YLKRSCA.data",
        );
        let flatfs: Layout = "ipfs-flatfs".parse().unwrap();
        assert_eq!(flatfs.path_for(b"AFKREIA22FLID5AJ2KU7"), Err(Refused::OtherEnding));
        assert_eq!(flatfs.path_for(b"AB.data"), Err(Refused::TooShort { bytes: 7, least: 8 }));
        // Paperclip's spec/paperclip.
        same("paperclip", 1, "1234", "000/001/234");
        same("paperclip", 1, "23", "000/000/023");
        same("paperclip", 1, "0", "000/000/000");
        same("paperclip", 1, "999999999", "999/999/999");
        let layout: Layout = "paperclip".parse().unwrap();
        assert_eq!(layout.path_for(b"1000000000"), Err(Refused::NotDecimal { digits: 9 }));
    }

    #[test]
    fn growing_paths_match_the_programs() {
        for (files, path) in [
            (0, "a/b/cdef0123"),
            (16 * 16 * 2000 - 1, "a/b/cdef0123"),
            (16 * 16 * 2000, "a/b/c/def0123"),
            (16 * 16 * 16 * 2000, "a/b/c/d/ef0123"),
            (u64::MAX, "a/b/c/d/ef0123"),
        ] {
            same("ccache", files, "abcdef0123", path);
        }
        // Hashes of objects from real object stores, such as
        // 35.67_head/DIR_7/DIR_6/DIR_C/rbd\udata.b0e882ae8944a.0000000000000134__head_9F6E4C67__23.
        same("ceph-filestore", 320, "9F6E4C67", "9F6E4C67");
        same("ceph-filestore", 321, "9F6E4C67", "DIR_7/9F6E4C67");
        same("ceph-filestore", 1_000_000, "9F6E4C67", "DIR_7/DIR_6/DIR_C/9F6E4C67");
        same("ceph-filestore", 1_000_000, "38D9DDA4", "DIR_4/DIR_A/DIR_D/38D9DDA4");
        same("ceph-filestore", 20_000_000, "58BCC1C1", "DIR_1/DIR_C/DIR_1/DIR_C/58BCC1C1");
    }
}
