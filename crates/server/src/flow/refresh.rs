//! Refresh tokens, as they are presented and as they are written: one of a family, or a signed one
//! of which nothing is kept (RFC 6749 §6).

use signet_oauth::family::{self, Family, Terms};
use signet_oauth::grant::signed_refresh;
use signet_oauth::jose::{Algorithm, Compact, Header, attach, signing_input};
use signet_oauth::log::EventKey;
use signet_oauth::secret::{Digest, Secret};
use signet_oauth::time::Timestamp;
use signet_oauth::token::Liveness;

use super::Failure;
use super::liveness::{self, Ties};
use crate::app::App;
use crate::sealing::Purpose;
use crate::store::{Ending, EndingKind};

/// What signs refresh tokens: HMAC-SHA-256 under a key that never leaves the deployment.
const ALGORITHM: Algorithm = Algorithm::Hs256;

/// A refresh token that this deployment issued. Whether it is alive is not known yet.
#[derive(Debug)]
pub enum Presented {
    /// One of a family.
    Rotating {
        /// The family as the store has it, never from a cache.
        family: Box<Family>,
        /// Which of its tokens.
        generation: u32,
    },
    /// A signed one.
    Signed {
        /// The id of the family that tokens from it carry.
        id: EventKey,
        /// What it says.
        terms: Box<Terms>,
    },
}

impl Presented {
    /// The id of its family.
    pub fn id(&self) -> &EventKey {
        match self {
            Self::Rotating { family, .. } => &family.id,
            Self::Signed { id, .. } => id,
        }
    }

    /// What it is good for.
    pub fn terms(&self) -> &Terms {
        match self {
            Self::Rotating { family, .. } => &family.terms,
            Self::Signed { terms, .. } => terms,
        }
    }

    /// Dead or alive, as far as client, user, session and the end of the family say.
    pub async fn liveness(&self, app: &App, now: Timestamp) -> Result<Liveness, Failure> {
        let terms = self.terms();
        let ties = Ties::of_terms(terms, self.id());
        liveness::decide(app, ties, |known| terms.liveness(known, now)).await
    }

    /// Whether the grant would take it.
    pub fn is_current(&self, app: &App, now: Timestamp) -> bool {
        let Self::Rotating { family, generation } = self else {
            return true;
        };
        let decision = family::decide(family, *generation, now, app.grants.refresh_grace);
        matches!(
            decision,
            family::Decision::Rotate | family::Decision::Again { .. }
        )
    }
}

/// The refresh token behind a text; `None` where it is not one of ours, or of a family that ended.
pub async fn find(app: &App, text: &str) -> Result<Option<Presented>, Failure> {
    let Some(presented) = family::Presented::parse(text) else {
        return Ok(open(app, text));
    };
    let Some(family) = app.store.find_family(presented.family).await? else {
        return Ok(None);
    };
    // Before the MAC was compared, the generation is what anybody may have written there.
    if !presented.has_mac(&mac(app, &family, presented.generation)) {
        return Ok(None);
    }
    Ok(Some(Presented::Rotating {
        family: Box::new(family),
        generation: presented.generation,
    }))
}

/// A signed one. Its MAC is compared before anything in it is believed.
fn open(app: &App, text: &str) -> Option<Presented> {
    let compact = Compact::parse(text).ok()?;
    let (input, _) = text.rsplit_once('.')?;
    let right = attach(input.to_owned(), &signature(app, input));
    if compact.header().algorithm() != ALGORITHM
        || Digest::of(right.as_bytes()) != Digest::of(text.as_bytes())
    {
        return None;
    }
    let claims = compact.unverified_claims().ok()?;
    let (id, terms) = signed_refresh::read(compact.header(), &claims, &app.grants.issuer)?;
    Some(Presented::Signed {
        id,
        terms: Box::new(terms),
    })
}

/// The token of a generation.
pub fn render(app: &App, family: &Family, generation: u32) -> Secret {
    family::render(family.id, generation, &mac(app, family, generation))
}

fn mac(app: &App, family: &Family, generation: u32) -> [u8; 32] {
    let input = family.mac_input(generation);
    app.sealing.mac(Purpose::RefreshToken, &input)
}

/// A signed refresh token. Nobody but this deployment reads it, so it is signed with the cluster's
/// own key: that costs next to nothing, and no key is rotated away from under a login of a month.
pub fn sign(app: &App, id: EventKey, terms: &Terms) -> Secret {
    let claims = signed_refresh::render(id, terms, &app.grants.issuer);
    let header = Header::new(ALGORITHM).with_typ(signed_refresh::TYPE);
    let input = signing_input(&header, &claims);
    let signature = signature(app, &input);
    Secret::new(attach(input, &signature))
}

/// What is signed here begins with a header and is no [`Family::mac_input`].
fn signature(app: &App, input: &str) -> [u8; 32] {
    app.sealing.mac(Purpose::RefreshToken, input.as_bytes())
}

/// Ends a family: all tokens that carry its id are dead, wherever they are, and those that are
/// still to be issued by who lost a race. Durable when this returns.
pub async fn end(app: &App, id: EventKey, until: Timestamp) -> Result<(), Failure> {
    let ending = Ending {
        kind: EndingKind::Family,
        key: id,
        until,
    };
    app.store.end(vec![ending]).await?;
    Ok(())
}
