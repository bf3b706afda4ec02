//! A token request (RFC 6749 sections 4.1.3, 4.3.2, 4.4.2 and 6) and what its answer must be. It must not know who
//! asked the user.

use std::borrow::Cow;

use url::Url;

use super::ClientCall;
use crate::call::{Call, Reply, Wrong};
use crate::scenario::judge::answer::{self, wrong};
use crate::scenario::judge::id_token;
use crate::scenario::judge::token::{self, Time, TokenResponse};
use crate::scenario::names::Names;
use crate::scenario::parameters::{Depth, Parameters};
use crate::scenario::pass::{Ground, Part, Run, Sent};
use crate::scenario::template::{Scope, Variables};
use crate::scenario::user::Held;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grant {
    ClientCredentials,
    Password,
    /// With the code that this pass got; nothing where it got none.
    Code,
    /// With the user's refresh token.
    Refresh,
}

/// When there is no need to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unless {
    Never,
    /// An earlier pass has left an access token that is still good.
    HasAccess,
    /// An earlier pass has left a refresh token.
    HasRefresh,
}

impl Unless {
    pub(crate) fn is_met(self, run: &Run<'_>) -> bool {
        match self {
            Self::Never => false,
            Self::HasAccess => run.user.tokens.access(run.now).is_some(),
            Self::HasRefresh => run.user.tokens.refresh.is_some(),
        }
    }
}

pub(crate) struct TokenRequest {
    step: &'static str,
    grant: Grant,
    unless: Unless,
    url: Url,
    /// Whether later steps or passes use what comes.
    keeps: bool,
    /// The request, where it is the same for everybody.
    prepared: Option<Call>,
}

impl TokenRequest {
    pub(crate) fn new(grant: Grant, url: Url, unless: Unless, parameters: &Parameters) -> Self {
        Self {
            step: if grant == Grant::Refresh {
                "refresh"
            } else {
                "token"
            },
            prepared: prepare(grant, &url, parameters),
            grant,
            unless,
            url,
            keeps: true,
        }
    }

    /// For flows that end with the token.
    pub(crate) fn without_keeping(mut self) -> Self {
        self.keeps = false;
        self
    }

    fn build(&self, run: &Run<'_>) -> Result<Option<Call>, Wrong> {
        if let Some(call) = &self.prepared {
            return Ok(Some(call.clone()));
        }
        let secret = match self.grant {
            Grant::Code => run.notes.code.as_deref(),
            Grant::Refresh => run.user.tokens.refresh.as_deref(),
            Grant::ClientCredentials | Grant::Password => Some(""),
        };
        let Some(secret) = secret else {
            return Ok(None);
        };
        let verifier = &run.notes.verifier;
        let parameters = &run.ground.parameters;
        build(
            self.grant,
            &self.url,
            parameters,
            &run.scope(),
            (secret, verifier),
        )
        .map(Some)
    }

    fn judge(&self, run: &mut Run<'_>, reply: &Reply) -> Result<(), Wrong> {
        let depth = run.ground.parameters.judge;
        if depth == Depth::Status && !self.keeps {
            return answer::status(reply, &[200]);
        }
        let response = token::shape(reply)?;
        if depth >= Depth::Shape && self.grant == Grant::Code && response.id_token.is_none() {
            let asked = requested_scope(run)?;
            if asked.is_some_and(|scope| scope.split(' ').any(|word| word == "openid")) {
                return Err(wrong(
                    "id_token",
                    "the scope openid was asked for, and none came",
                ));
            }
        }
        let subject = match depth {
            Depth::Full => self.judge_fully(run, reply, &response)?,
            Depth::Status | Depth::Shape => None,
        };
        if self.keeps {
            learn(run, &response, subject);
        }
        Ok(())
    }

    /// The subject of the ID token, where there is one.
    fn judge_fully(
        &self,
        run: &Run<'_>,
        reply: &Reply,
        response: &TokenResponse<'_>,
    ) -> Result<Option<String>, Wrong> {
        let (ground, scope) = (run.ground, run.scope());
        let parameters = &ground.parameters;
        let client_id = parameters.client_id.render(&scope)?;
        let audience = parameters
            .audience
            .as_ref()
            .map(|text| text.render(&scope))
            .transpose()?;
        // A refresh without a scope may bring what was granted first, whatever that was.
        let asked = match self.grant {
            Grant::Refresh => None,
            _ => requested_scope(run)?,
        };
        let time = Time {
            now: run.now,
            leeway: parameters.leeway,
        };
        let expected = token::Expected {
            issuer: &ground.issuer,
            client_id: &client_id,
            audience: audience.as_deref(),
            scope: asked.as_deref(),
            form: parameters.access_token,
            keys: &ground.keys,
            time,
        };
        token::full(reply, response, &expected)?;
        let Some(id_token) = &response.id_token else {
            return Ok(None);
        };
        let is_code = self.grant == Grant::Code;
        let secret = parameters.client_secret.render(&scope).unwrap_or_default();
        let expected = id_token::Expected {
            issuer: &ground.issuer,
            client_id: &client_id,
            client_secret: &secret,
            algorithm: parameters.id_token_alg,
            nonce: is_code.then_some(&run.notes.nonce),
            access_token: &response.access_token,
            needs_at_hash: is_code && !ground.quirks.no_at_hash,
            code: run.notes.code.as_deref().filter(|_| is_code),
            max_age: parameters.max_age.filter(|_| is_code),
            subject: run
                .user
                .tokens
                .subject
                .as_deref()
                .filter(|_| self.grant == Grant::Refresh),
            keys: &ground.keys,
            time,
        };
        id_token::judge(id_token, &expected).map(Some)
    }
}

impl Part for TokenRequest {
    fn steps(&self) -> Vec<String> {
        vec![self.step.to_owned()]
    }

    fn names(&self, ground: &Ground) -> Names {
        names(self.grant, &ground.parameters)
    }

    fn issues(&self) -> bool {
        true
    }

    fn begin(&self, run: &mut Run<'_>) -> Result<Option<Sent>, Wrong> {
        if self.unless.is_met(run) {
            return Ok(None);
        }
        if self.grant == Grant::Refresh && run.user.tokens.refresh.is_none() {
            let detail = "the first grant brought none: is offline_access in the scope?";
            return Err(wrong("refresh_token", detail));
        }
        let call = self.build(run)?;
        if self.grant == Grant::Refresh {
            run.notes.spent.clone_from(&run.user.tokens.refresh);
        }
        Ok(call.map(|call| Sent { step: 0, call }))
    }

    fn answered(&self, run: &mut Run<'_>, reply: &Reply) -> Result<Option<Sent>, Wrong> {
        let judged = self.judge(run, reply);
        if judged.is_err() && self.grant == Grant::Refresh {
            // It may be spent or its family ended: the next pass begins with a new one.
            run.user.tokens.forget();
        }
        judged.map(|()| None)
    }
}

/// The request for users and clients that are written into the plan.
fn prepare(grant: Grant, url: &Url, parameters: &Parameters) -> Option<Call> {
    if matches!(grant, Grant::Code | Grant::Refresh) {
        return None;
    }
    let nothing = Variables::new();
    let scope = Scope {
        pass: &nothing,
        user: &(),
        target: &nothing,
    };
    build(grant, url, parameters, &scope, ("", "")).ok()
}

/// `secret` is the code with its verifier, or the refresh token.
fn build(
    grant: Grant,
    url: &Url,
    parameters: &Parameters,
    scope: &Scope<'_>,
    secret: (&str, &str),
) -> Result<Call, Wrong> {
    let mut call = ClientCall::new(parameters, scope)?;
    match grant {
        Grant::ClientCredentials => call.add("grant_type", "client_credentials"),
        Grant::Password => {
            call.add("grant_type", "password");
            call.add("username", &parameters.username.render(scope)?);
            call.add("password", &parameters.password.render(scope)?);
        }
        Grant::Code => {
            call.add("grant_type", "authorization_code");
            call.add("code", secret.0);
            call.add("redirect_uri", &parameters.redirect_uri.render(scope)?);
            call.add("code_verifier", secret.1);
        }
        Grant::Refresh => {
            call.add("grant_type", "refresh_token");
            call.add("refresh_token", secret.0);
        }
    }
    if matches!(grant, Grant::ClientCredentials | Grant::Password) {
        if let Some(asked) = &parameters.scope {
            call.add("scope", &asked.render(scope)?);
        }
        for (name, value) in &parameters.extra {
            call.add(name, &value.render(scope)?);
        }
    }
    Ok(call.post(url))
}

/// What [`build`] and the judge of the answer fill in.
fn names(grant: Grant, parameters: &Parameters) -> Names {
    let names = Names::of_client(parameters);
    let names = match parameters.judge {
        Depth::Full => names.and(&parameters.audience),
        Depth::Status | Depth::Shape => names,
    };
    match grant {
        Grant::Refresh => names,
        Grant::Code => names.and([&parameters.redirect_uri]),
        Grant::Password => names
            .and([&parameters.username, &parameters.password])
            .and(&parameters.scope)
            .and(parameters.extra.values()),
        Grant::ClientCredentials => names.and(&parameters.scope).and(parameters.extra.values()),
    }
}

fn requested_scope<'a>(run: &'a Run<'_>) -> Result<Option<Cow<'a, str>>, Wrong> {
    let asked = run.ground.parameters.scope.as_ref();
    asked.map(|scope| scope.render(&run.scope())).transpose()
}

fn learn(run: &mut Run<'_>, response: &TokenResponse<'_>, subject: Option<String>) {
    let tokens = &mut run.user.tokens;
    tokens.set_access(Held::new(
        &response.access_token,
        response.expires_in,
        run.now,
    ));
    if let Some(refresh) = &response.refresh_token {
        tokens.refresh = Some(refresh.clone().into_owned());
    }
    if let Some(id) = &response.id_token {
        tokens.id = Some(id.clone().into_owned());
    }
    if subject.is_some() {
        tokens.subject = subject;
    }
}

/// What was used once is sent again, and must be refused (RFC 6749 section 4.1.2, RFC 9700 section 4.14).
pub(crate) struct Replay {
    grant: Grant,
    url: Url,
}

impl Replay {
    pub(crate) fn new(grant: Grant, url: Url) -> Self {
        Self { grant, url }
    }
}

impl Part for Replay {
    fn steps(&self) -> Vec<String> {
        vec!["replay".to_owned()]
    }

    fn names(&self, ground: &Ground) -> Names {
        names(self.grant, &ground.parameters)
    }

    fn begin(&self, run: &mut Run<'_>) -> Result<Option<Sent>, Wrong> {
        let used = match self.grant {
            Grant::Refresh => &run.notes.spent,
            _ => &run.notes.code,
        };
        let Some(used) = used else {
            return Ok(None);
        };
        let secret = (used.as_str(), run.notes.verifier.as_str());
        let call = build(
            self.grant,
            &self.url,
            &run.ground.parameters,
            &run.scope(),
            secret,
        )?;
        Ok(Some(Sent { step: 0, call }))
    }

    fn answered(&self, run: &mut Run<'_>, reply: &Reply) -> Result<Option<Sent>, Wrong> {
        // A server that takes it for theft ends everything that came of it.
        run.user.tokens.forget();
        if reply.status.is_success() {
            return Err(wrong("replay", "it was used once, and was taken again"));
        }
        answer::refused(reply, "invalid_grant").map(|()| None)
    }
}
