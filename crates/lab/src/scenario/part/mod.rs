//! The pieces that flows are put together from: each builds requests and has their answers judged. They
//! must not know which flow they are in.

pub(crate) mod admin;
pub(crate) mod authorize;
pub(crate) mod browse;
pub(crate) mod document;
pub(crate) mod grant;
pub(crate) mod introspect;
pub(crate) mod logout;
pub(crate) mod revoke;
pub(crate) mod userinfo;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use form_urlencoded::{Serializer, byte_serialize};
use http::{HeaderName, HeaderValue, Method, header};
use url::Url;

use super::judge::answer::wrong;
use super::parameters::{ClientAuth, Parameters};
use super::template::Scope;
use crate::call::{Call, Wrong};

type Headers = Vec<(HeaderName, HeaderValue)>;

/// A POST of a form by which a client speaks for itself (RFC 6749 section 2.3.1).
pub(crate) struct ClientCall {
    form: Serializer<'static, String>,
    headers: Headers,
}

impl ClientCall {
    pub(crate) fn new(parameters: &Parameters, scope: &Scope<'_>) -> Result<Self, Wrong> {
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        let mut call = Self {
            form: Serializer::new(String::new()),
            headers: vec![(header::CONTENT_TYPE, form)],
        };
        let id = parameters.client_id.render(scope)?;
        match parameters.client_auth {
            ClientAuth::None => call.add("client_id", &id),
            ClientAuth::Post => {
                call.add("client_id", &id);
                call.add("client_secret", &parameters.client_secret.render(scope)?);
            }
            ClientAuth::Basic => {
                let secret = parameters.client_secret.render(scope)?;
                let coded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                call.headers.push(basic(&coded(&id), &coded(&secret))?);
            }
        }
        Ok(call)
    }

    pub(crate) fn add(&mut self, name: &str, value: &str) {
        self.form.append_pair(name, value);
    }

    pub(crate) fn post(mut self, url: &Url) -> Call {
        Call {
            method: Method::POST,
            url: url.clone(),
            headers: self.headers,
            body: self.form.finish().into(),
        }
    }
}

pub(crate) fn basic(name: &str, secret: &str) -> Result<(HeaderName, HeaderValue), Wrong> {
    authorization(&format!(
        "Basic {}",
        STANDARD.encode(format!("{name}:{secret}"))
    ))
}

pub(crate) fn bearer(token: &str) -> Result<(HeaderName, HeaderValue), Wrong> {
    authorization(&format!("Bearer {token}"))
}

fn authorization(text: &str) -> Result<(HeaderName, HeaderValue), Wrong> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| wrong("request", "a token or secret that cannot stand in a header"))?;
    value.set_sensitive(true);
    Ok((header::AUTHORIZATION, value))
}
