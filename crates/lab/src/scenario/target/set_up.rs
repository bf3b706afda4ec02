//! What is asked of a target before a run: its discovery document and its keys. It must not know what
//! they are used for.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use serde::Deserialize;
use url::Url;

use super::Target;
use crate::call::{Call, Flow, Next, Reply, Wrong};
use crate::scenario::jose::jwk::KeySet;
use crate::scenario::judge::answer::{self, wrong};

/// The members of OIDC Discovery, section 3, that flows need.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct MetadataResponse {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    introspection_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    userinfo_endpoint: Option<String>,
    end_session_endpoint: Option<String>,
    jwks_uri: Option<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

pub(crate) fn get(url: &Url) -> Call {
    Call {
        method: Method::GET,
        url: url.clone(),
        headers: Vec::new(),
        body: Bytes::new(),
    }
}

pub(crate) fn judge_metadata(reply: &Reply, issuer: &str) -> Result<MetadataResponse, Wrong> {
    answer::status(reply, &[200])?;
    let metadata: MetadataResponse = answer::json(reply)?;
    if metadata.issuer != issuer {
        let came = answer::shown(&metadata.issuer);
        return Err(wrong(
            "issuer",
            format!("{issuer:?} expected, {came:?} came"),
        ));
    }
    let named: BTreeSet<&String> = metadata.urls().collect();
    match named.iter().find(|url| Url::parse(url).is_err()) {
        None => Ok(metadata),
        Some(url) => Err(wrong(
            "metadata",
            format!("{:?} is no URL", answer::shown(url)),
        )),
    }
}

pub(crate) fn judge_keys(reply: &Reply) -> Result<KeySet, Wrong> {
    answer::status(reply, &[200])?;
    KeySet::parse(&reply.body).map_err(|bad| wrong("keys", bad.to_string()))
}

impl MetadataResponse {
    fn urls(&self) -> impl Iterator<Item = &String> {
        let urls = [
            &self.authorization_endpoint,
            &self.token_endpoint,
            &self.introspection_endpoint,
            &self.revocation_endpoint,
            &self.userinfo_endpoint,
            &self.end_session_endpoint,
            &self.jwks_uri,
        ];
        urls.into_iter().flatten()
    }
}

/// Asks a target for what it says of itself. Its answers complete the target.
pub(crate) struct SetUp<'a> {
    target: &'a mut Target,
    asked: Asked,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Nothing,
    Discovery,
    Keys,
}

impl<'a> SetUp<'a> {
    /// The names of the steps, by index.
    pub(crate) const STEPS: [&'static str; 2] = ["discovery", "jwks"];

    pub(crate) fn new(target: &'a mut Target) -> Self {
        Self {
            target,
            asked: Asked::Nothing,
        }
    }

    fn learn(&mut self, metadata: MetadataResponse) {
        let learned = |known: &mut Option<Url>, told: Option<String>| {
            if known.is_none() {
                *known = told.and_then(|url| Url::parse(&url).ok());
            }
        };
        let endpoints = &mut self.target.endpoints;
        learned(
            &mut endpoints.authorization,
            metadata.authorization_endpoint,
        );
        learned(&mut endpoints.token, metadata.token_endpoint);
        learned(
            &mut endpoints.introspection,
            metadata.introspection_endpoint,
        );
        learned(&mut endpoints.revocation, metadata.revocation_endpoint);
        learned(&mut endpoints.userinfo, metadata.userinfo_endpoint);
        learned(&mut endpoints.end_session, metadata.end_session_endpoint);
        learned(&mut endpoints.jwks, metadata.jwks_uri);
        self.target.names_issuer = metadata.authorization_response_iss_parameter_supported;
    }

    fn ask_keys(&mut self) -> Next {
        self.asked = Asked::Keys;
        match &self.target.endpoints.jwks {
            Some(url) => Next::Send {
                step: 1,
                call: get(url),
            },
            None => Next::Done,
        }
    }
}

impl Flow for SetUp<'_> {
    fn advance(&mut self, reply: Option<&Reply>) -> Result<Next, Wrong> {
        match (self.asked, reply) {
            (Asked::Discovery, Some(reply)) => {
                let metadata = judge_metadata(reply, &self.target.file.issuer)?;
                self.learn(metadata);
                Ok(self.ask_keys())
            }
            (Asked::Keys, Some(reply)) => {
                self.target.keys = Arc::new(judge_keys(reply)?);
                Ok(Next::Done)
            }
            (_, _) => match self.target.discovery.clone() {
                Some(url) => {
                    self.asked = Asked::Discovery;
                    Ok(Next::Send {
                        step: 0,
                        call: get(&url),
                    })
                }
                None => Ok(self.ask_keys()),
            },
        }
    }
}
