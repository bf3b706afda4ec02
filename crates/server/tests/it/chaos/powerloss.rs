//! The file layer that forgets what was not synced (`tests/powerloss/shim.c`): built, put under a
//! server, and itself put to the proof by a small program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::child::Launch;

/// Sources and what is made of them.
const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/powerloss");

/// A disk that can lose its power: what is in `live` is what programs see, what was synced is kept
/// beside it.
#[derive(Debug)]
pub(crate) struct Disk {
    live: PathBuf,
    durable: PathBuf,
}

/// Has the C compiler make something of one of the sources, once.
fn compile(source: &str, options: &[&str]) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let made = target
        .join(source)
        .with_extension(std::process::id().to_string());
    let compiled = Command::new("cc")
        .args([
            "-std=gnu11",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pthread",
        ])
        .args(options)
        .arg("-o")
        .args([&made, &Path::new(DIRECTORY).join(source)])
        .output()
        .unwrap_or_else(|fault| panic!("these tests need a C compiler, cc: {fault}"));
    let said = String::from_utf8_lossy(&compiled.stderr).into_owned();
    assert!(compiled.status.success(), "{source}: {said}");
    // Other runs of these tests may be doing the same at this moment.
    let place = target.join(source).with_extension("made");
    fs::rename(&made, &place).unwrap();
    place
}

/// The library for `LD_PRELOAD`.
pub(crate) fn library() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| compile("shim.c", &["-shared", "-fPIC"]))
}

impl Disk {
    /// A disk that holds the directory `live`, which is there.
    pub(crate) fn new(live: &Path) -> Self {
        Self {
            live: live.to_owned(),
            durable: live.with_extension("durable"),
        }
    }

    /// The variables that put a program on this disk. What is in `live` now is durable.
    fn variables(&self) -> [(&'static str, PathBuf); 3] {
        drop(fs::remove_dir_all(&self.durable));
        for directory in ["inodes", "names"] {
            fs::create_dir_all(self.durable.join(directory)).unwrap();
        }
        [
            ("LD_PRELOAD", library().to_owned()),
            ("POWERLOSS_LIVE", self.live.clone()),
            ("POWERLOSS_DURABLE", self.durable.clone()),
        ]
    }

    /// The same launch, on this disk.
    pub(crate) fn under(&self, launch: &Launch) -> Launch {
        let with = |launch: Launch, (name, value)| launch.with(name, value);
        self.variables().into_iter().fold(launch.clone(), with)
    }

    /// The power goes, and comes back. The program was killed before.
    pub(crate) fn lose_power(&self) {
        if !self.durable.join("begun").exists() {
            return; // it was killed so early that it has done nothing yet
        }
        fs::remove_dir_all(&self.live).unwrap();
        fs::rename(self.durable.join("names"), &self.live).unwrap();
        fs::remove_dir_all(&self.durable).unwrap();
    }
}

/// The steps of `probe.c` are taken on a disk that holds the file `old` with `OLD` in it, and the
/// power goes. What the steps printed, and the files with their contents.
fn survivors(steps: &[&str], besides: &[(&str, &str)]) -> (String, Vec<(String, Vec<u8>)>) {
    static PROBE: OnceLock<PathBuf> = OnceLock::new();
    let place = tempfile::tempdir().unwrap();
    let live = place.path().join("live");
    fs::create_dir(&live).unwrap();
    fs::write(live.join("old"), "OLD").unwrap();
    let disk = Disk::new(&live);
    let run = Command::new(PROBE.get_or_init(|| compile("probe.c", &[])))
        .arg(&live)
        .args(steps)
        .envs(disk.variables())
        .envs(besides.iter().copied())
        .output()
        .unwrap();
    disk.lose_power();
    let entries = fs::read_dir(&live)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(path).unwrap())
        })
        .collect();
    files.sort();
    let said = [run.stdout, run.stderr].concat();
    (String::from_utf8(said).unwrap(), files)
}

#[test]
fn only_what_was_synced_survives_a_loss_of_power() {
    for (steps, expected) in [
        // Bytes.
        ("write:old:NEW", "old=OLD"),
        ("write:old:NEW sync:old write:old:LATER", "old=OLDNEW"),
        ("at:old:1:xx", "old=OLD"),
        ("at:old:1:xx sync:old", "old=Oxx"),
        ("over:old:N", "old=OLD"),
        ("over:old:N sync:old", "old=N"),
        ("cut:old:1", "old=OLD"),
        ("cut:old:1 sync:old", "old=O"),
        ("cut:old:1 write:old:zzz sync:old", "old=Ozzz"),
        ("sync:old write:old:A sync:. ", "old=OLD"),
        // Names.
        ("write:new:A sync:new", "old=OLD"),
        ("write:new:A sync:.", "new= old=OLD"),
        ("write:new:A sync:new sync:.", "new=A old=OLD"),
        ("rename:old:new", "old=OLD"),
        ("rename:old:new sync:.", "new=OLD"),
        ("write:new:A sync:new rename:new:old", "old=OLD"),
        ("write:new:A sync:new rename:new:old sync:.", "old=A"),
        ("unlink:old", "old=OLD"),
        ("unlink:old sync:.", ""),
        ("unlink:old write:old:A sync:. sync:old", "old=A"),
        (
            "write:draft:A sync:draft link:draft:key unlink:draft sync:.",
            "key=A old=OLD",
        ),
    ] {
        let (said, files) = survivors(&steps.split_whitespace().collect::<Vec<_>>(), &[]);
        let found = files
            .iter()
            .map(|(name, bytes)| format!("{name}={}", String::from_utf8_lossy(bytes)));
        assert_eq!(
            (found.collect::<Vec<_>>().join(" "), &*said),
            (expected.into(), ""),
            "{steps}"
        );
    }
}

#[test]
fn torn_writes_survive_in_part_until_they_are_synced() {
    let poured = |steps: &[&str], seed: u32| {
        let (said, files) = survivors(steps, &[("POWERLOSS_TORN", &seed.to_string())]);
        assert_eq!(said, "");
        let sectors = files
            .iter()
            .filter(|(name, _)| name == "big")
            .flat_map(|(_, bytes)| bytes.chunks(512));
        sectors.filter(|sector| **sector == [b'x'; 512]).count()
    };
    let in_part = (0..16)
        .filter(|seed| (1..2048).contains(&poured(&["pour:big:x"], *seed)))
        .count();
    assert!(in_part > 0, "no seed of 16 tore a write");
    for seed in 0..4 {
        assert_eq!(poured(&["pour:big:x", "sync:big", "sync:."], seed), 2048);
    }
}

#[test]
fn a_full_disk_and_a_broken_one_say_so() {
    for (flag, steps, expected) in [
        (
            "POWERLOSS_FULL",
            ["at:old:0:new", "write:old:A", "sync:old"],
            "write:old:A: ENOSPC\n",
        ),
        (
            "POWERLOSS_BROKEN",
            ["write:old:A", "sync:old", "at:old:0:new"],
            "sync:old: EIO\n",
        ),
    ] {
        let (said, files) = survivors(&steps, &[(flag, "/")]);
        let left = if flag == "POWERLOSS_FULL" {
            "new"
        } else {
            "OLD"
        };
        assert_eq!(
            (said.as_str(), files),
            (expected, vec![("old".into(), left.into())])
        );
    }
    let (said, _) = survivors(&["map:old"], &[]);
    assert!(
        said.contains("a mapping is written to"),
        "what cannot be seen is refused: {said}"
    );
}
