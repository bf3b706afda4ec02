//! The file that holds the cluster key: 43 characters of base64url, readable by its owner only.

use super::{ClusterKey, KEY_LEN};
use crate::rng::Rng;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A key file has 44 bytes; more than this is some other file.
const MAX_FILE: u64 = 1024;

/// Why there is no cluster key. Every message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// There is no file.
    #[error(
        "the cluster key {0} does not exist: copy it from another node, or, for a new deployment, \
         make one with `openssl rand 32 | basenc --base64url | tr -d = > FILE; chmod 600 FILE`"
    )]
    Missing(PathBuf),
    /// The file cannot be read or written.
    #[error("the cluster key {path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others than the owner may read the file.
    #[error("the cluster key {0} is readable by others; run `chmod 600 {0}`")]
    Exposed(PathBuf),
    /// The content is not a key.
    #[error(
        "the cluster key {path} does not hold 32 bytes as base64url (43 characters): {found}; \
         restore it from another node or a backup, what was sealed with it needs exactly that key"
    )]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// What is in it instead.
        found: String,
    },
}

impl ClusterKey {
    /// Reads the key from its file.
    pub fn load(path: &Path) -> Result<Self, KeyFileError> {
        let io = |source| KeyFileError::Io {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => KeyFileError::Missing(path.to_owned()),
            _ => io(source),
        })?;
        if file.metadata().map_err(io)?.mode() & 0o077 != 0 {
            return Err(KeyFileError::Exposed(path.to_owned()));
        }
        let mut text = Zeroizing::new(String::with_capacity(64));
        let read = file.take(MAX_FILE).read_to_string(&mut text);
        let malformed = |found: String| KeyFileError::Malformed {
            path: path.to_owned(),
            found,
        };
        read.map_err(|source| match source.kind() {
            io::ErrorKind::InvalidData => malformed("it is not text".to_owned()),
            _ => io(source),
        })?;
        let bytes = URL_SAFE_NO_PAD.decode(text.trim_ascii().trim_end_matches('='));
        let bytes = Zeroizing::new(bytes.map_err(|_| malformed("not base64url".to_owned()))?);
        let bytes: &[u8; KEY_LEN] = bytes
            .as_slice()
            .try_into()
            .map_err(|_| malformed(format!("it holds {} bytes", bytes.len())))?;
        Ok(Self::new(bytes))
    }

    /// Reads the key from its file, or makes a new one where there is no file. Of several
    /// processes that start at once, one makes the key and all use it.
    pub fn load_or_create(path: &Path, rng: &Rng) -> Result<Self, KeyFileError> {
        match Self::load(path) {
            Err(KeyFileError::Missing(_)) => {}
            other => return other,
        }
        create(path, rng).map_err(|source| KeyFileError::Io {
            path: path.to_owned(),
            source,
        })?;
        Self::load(path)
    }
}

/// Writes a new key beside `path` and links it there, durably: a crash leaves no key or a whole
/// one, and a key that is there already stays.
fn create(path: &Path, rng: &Rng) -> io::Result<()> {
    let key = Zeroizing::new(rng.array::<KEY_LEN>());
    let text = Zeroizing::new(URL_SAFE_NO_PAD.encode(*key) + "\n");
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".new-{:016x}", u64::from_be_bytes(rng.array())));
    let draft = PathBuf::from(name);

    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| match fs::hard_link(&draft, path) {
            Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        });
    let removed = fs::remove_file(&draft);
    written.and(removed)?;
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(directory)?.sync_all()
}
