//! The store's own randomness: the marks of log rows and the attempts of writes. Nothing secret
//! is made here.

use aws_lc_rs::rand;

/// Sixteen random bytes.
pub(super) fn mark() -> Result<[u8; 16], super::Error> {
    let mut out = [0; 16];
    rand::fill(&mut out)
        .map_err(|_| super::Error::Fault("the system gives no random bytes".to_owned()))?;
    Ok(out)
}
