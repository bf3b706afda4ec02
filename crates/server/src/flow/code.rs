//! Authorization codes as the browser carries them: sealed, so that nothing is stored before one
//! is redeemed, and any node can open what another one made.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use signet_oauth::code::Code;

use super::Failure;
use crate::app::App;
use crate::sealing::Purpose;

/// What codes are bound to beside their purpose: a later form will have another context.
const CONTEXT: &[u8] = b"code";

/// The text of a code, at most 1,024 characters; what does not fit is `invalid_request`.
pub fn seal_code(app: &App, code: &Code) -> Result<String, Failure> {
    let bytes = code.to_bytes()?;
    let sealed = app
        .sealing
        .seal(Purpose::AuthorizationCode, CONTEXT, &bytes, &app.rng);
    Ok(URL_SAFE_NO_PAD.encode(sealed))
}

/// The code behind a text; `None` where this deployment did not seal it as one. It may have
/// expired, or have been redeemed.
pub fn open_code(app: &App, text: &str) -> Option<Code> {
    let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
    let bytes = app
        .sealing
        .open(Purpose::AuthorizationCode, CONTEXT, &sealed)
        .ok()?;
    Code::from_bytes(&bytes)
}
