//! Clients of a realm export of Keycloak. Its secrets are in clear there, unless the export was
//! made in the console, which masks them.

use http::Uri;
use serde_json::{Map, Value, json};

use super::prepare::{Draft, is_empty};

/// What becomes of a client.
#[derive(Debug)]
pub(super) enum Mapped {
    /// It comes along.
    Client(Draft),
    /// It has no business here.
    LeaveOut(&'static str),
}

/// The clients of Keycloak's own consoles and interfaces.
const OWN: [&str; 6] = [
    "account",
    "account-console",
    "admin-cli",
    "broker",
    "realm-management",
    "security-admin-console",
];

/// Client scopes that stand for claims of Keycloak, and never show up in a token's `scope`.
const CLAIM_SCOPES: [&str; 4] = ["acr", "basic", "roles", "web-origins"];

/// Attributes that are mapped below, or that say nothing outside of Keycloak.
const DONE: [&str; 19] = [
    "access.token.lifespan",
    "access.token.signed.response.alg",
    "client.secret.creation.time",
    "client.secret.expiration.time",
    "display.on.consent.screen",
    "jwks.string",
    "jwks.url",
    "jwt.credential.certificate",
    "logoUri",
    "oauth2.device.authorization.grant.enabled",
    "policyUri",
    "realm_client",
    "request.object.signature.alg",
    "token.endpoint.auth.signing.alg",
    "tosUri",
    "use.jwks.string",
    "use.jwks.url",
    "use.refresh.tokens",
    "user.info.response.signature.alg",
];

/// A client, read by the names of its members.
struct Source<'a>(&'a Map<String, Value>);

impl Source<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    }

    fn is(&self, name: &str) -> bool {
        self.0
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or_default()
    }

    fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        let items = self.0.get(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str)
    }

    fn attribute(&self, name: &str) -> Option<&str> {
        let value = self.0.get("attributes")?.get(name)?;
        // Some versions write a list of one.
        let value = value.get(0).unwrap_or(value);
        value.as_str().filter(|text| !text.is_empty())
    }

    /// A secret that is there: neither masked nor in a vault.
    fn secret(&self) -> Option<&str> {
        self.text("secret")
            .filter(|secret| !secret.bytes().all(|byte| byte == b'*'))
            .filter(|secret| !secret.starts_with("${vault."))
    }
}

/// Maps a client.
pub(super) fn map(client: &Map<String, Value>) -> Result<Mapped, String> {
    let source = Source(client);
    if let Some(why) = reason_to_leave_out(&source) {
        return Ok(Mapped::LeaveOut(why));
    }
    let mut draft = Draft::default();
    describe(&source, &mut draft);
    authentication(&source, &mut draft)?;
    grants(&source, &mut draft);
    uris(&source, &mut draft);
    tokens(&source, &mut draft);
    keep(&source, &mut draft);
    draft.keep_under("keycloak");
    Ok(Mapped::Client(draft))
}

fn reason_to_leave_out(source: &Source<'_>) -> Option<&'static str> {
    let id = source.text("clientId").unwrap_or_default();
    let of_a_realm = source.is("bearerOnly") && id.ends_with("-realm");
    if OWN.contains(&id) || of_a_realm {
        return Some("it is one of Keycloak's own");
    }
    if source
        .text("protocol")
        .is_some_and(|protocol| protocol != "openid-connect")
    {
        return Some("it speaks SAML");
    }
    if source.is("bearerOnly") && source.secret().is_none() {
        return Some("it is bearer-only: a service that verifies tokens itself needs no client");
    }
    None
}

fn describe(source: &Source<'_>, draft: &mut Draft) {
    // Names like ${client_account} are looked up in Keycloak's translations.
    let is_said = |text: &&str| !text.starts_with("${");
    let home = ["baseUrl", "rootUrl"].map(|name| source.text(name).filter(is_absolute));
    let texts = [
        ("client_name", source.text("name").filter(is_said)),
        ("client_uri", home.into_iter().flatten().next()),
        ("logo_uri", source.attribute("logoUri")),
        ("policy_uri", source.attribute("policyUri")),
        ("tos_uri", source.attribute("tosUri")),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            draft.put(name, text);
        }
    }
    if source.0.get("enabled") == Some(&Value::Bool(false)) {
        draft.put("enabled", false);
    }
}

fn authentication(source: &Source<'_>, draft: &mut Draft) -> Result<(), String> {
    let method = match source.text("clientAuthenticatorType") {
        _ if source.is("publicClient") => "none",
        None | Some("client-secret") => "client_secret_basic",
        Some("client-secret-jwt") => "client_secret_jwt",
        Some("client-jwt") => "private_key_jwt",
        Some("client-x509") => {
            return Err(
                "it authenticates with a certificate (client-x509), which is not \
                        supported: give it a key (private_key_jwt) or a secret first"
                    .to_owned(),
            );
        }
        Some(other) => return Err(format!("its authenticator {other:?} is not known here")),
    };
    draft.put("token_endpoint_auth_method", method);
    if method == "private_key_jwt" {
        public_keys(source, draft)?;
    }
    if method.ends_with("_jwt")
        && let Some(alg) = source.attribute("token.endpoint.auth.signing.alg")
    {
        draft.put("token_endpoint_auth_signing_alg", alg);
    }
    if method.starts_with("client_secret") {
        if let Some(secret) = source.secret() {
            draft.put("client_secret", secret);
        }
        if let Some(at) = number(source.attribute("client.secret.expiration.time")) {
            draft.put("client_secret_expires_at", at);
        }
    }
    Ok(())
}

fn public_keys(source: &Source<'_>, draft: &mut Draft) -> Result<(), String> {
    let is_on = |name| source.attribute(name) == Some("true");
    if is_on("use.jwks.string")
        && let Some(text) = source.attribute("jwks.string")
    {
        let set: Value =
            serde_json::from_str(text).map_err(|fault| format!("jwks.string: {fault}"))?;
        draft.put("jwks", set);
        return Ok(());
    }
    if is_on("use.jwks.url")
        && let Some(url) = source.attribute("jwks.url")
    {
        draft.put("jwks_uri", url);
        return Ok(());
    }
    Err(
        "its public key is known to Keycloak as a certificate only: set a JWK set or its URL \
         there first (tab Keys of the client)"
            .to_owned(),
    )
}

fn grants(source: &Source<'_>, draft: &mut Draft) {
    let by_users = source.is("standardFlowEnabled") || source.is("directAccessGrantsEnabled");
    let offered = [
        ("client_credentials", source.is("serviceAccountsEnabled")),
        ("authorization_code", source.is("standardFlowEnabled")),
        ("password", source.is("directAccessGrantsEnabled")),
        ("implicit", source.is("implicitFlowEnabled")),
        (
            "refresh_token",
            by_users && source.attribute("use.refresh.tokens") != Some("false"),
        ),
    ];
    let is_live = !source.is("bearerOnly");
    let offered = offered.iter().filter(|(_, is_on)| *is_on && is_live);
    let names: Vec<_> = offered.map(|(name, _)| *name).collect();
    if names.contains(&"authorization_code") {
        draft.put("response_types", json!(["code"]));
    }
    draft.put("grant_types", json!(names));
    if source.attribute("oauth2.device.authorization.grant.enabled") == Some("true") {
        draft.note("the device grant is not supported yet, and was left out");
    }
    let mut scopes: Vec<&str> = Vec::new();
    if by_users && is_live {
        scopes.push("openid");
    }
    let registered = source
        .texts("defaultClientScopes")
        .chain(source.texts("optionalClientScopes"));
    scopes.extend(registered.filter(|scope| !CLAIM_SCOPES.contains(scope)));
    if !scopes.is_empty() {
        draft.put("scope", scopes.join(" "));
    }
}

fn uris(source: &Source<'_>, draft: &mut Draft) {
    let root = source
        .text("rootUrl")
        .filter(is_absolute)
        .map(|root| root.trim_end_matches('/'));
    let mut redirects: Vec<String> = Vec::new();
    for uri in source.texts("redirectUris") {
        match root.filter(|_| uri.starts_with('/')) {
            Some(root) => redirects.push(format!("{root}{uri}")),
            None if is_absolute(&uri) => redirects.push(uri.to_owned()),
            None => draft.note(format!(
                "the redirect URI {uri:?} is not absolute, and was left out"
            )),
        }
    }
    if redirects.iter().any(|uri| uri.contains('*')) {
        draft.note("a redirect URI holds *, which is no pattern here: name every URI in full");
    }
    let mut origins: Vec<String> = Vec::new();
    for origin in source.texts("webOrigins") {
        if origin == "+" {
            origins.extend(redirects.iter().filter_map(|uri| origin_of(uri)));
        } else {
            origins.push(origin.trim_end_matches('/').to_owned());
        }
    }
    origins.sort();
    origins.dedup();
    for (name, uris) in [
        ("redirect_uris", redirects),
        ("allowed_cors_origins", origins),
    ] {
        if !uris.is_empty() {
            draft.put(name, uris);
        }
    }
}

fn tokens(source: &Source<'_>, draft: &mut Draft) {
    draft.put("access_token", "jwt");
    if let Some(seconds) = number(source.attribute("access.token.lifespan")) {
        draft.put("access_token_lifetime", seconds);
    }
    match source.attribute("access.token.signed.response.alg") {
        Some(alg @ ("ES256" | "EdDSA" | "RS256" | "PS256")) => {
            draft.put("access_token_signed_response_alg", alg);
        }
        Some(alg) => draft.note(format!(
            "tokens are not signed with {alg} here: the server's default was taken"
        )),
        None => {}
    }
    let algs = [
        (
            "request_object_signing_alg",
            source.attribute("request.object.signature.alg"),
        ),
        (
            "userinfo_signed_response_alg",
            source.attribute("user.info.response.signature.alg"),
        ),
    ];
    for (name, alg) in algs {
        if let Some(alg) = alg.filter(|alg| !matches!(*alg, "any" | "none" | "unsigned")) {
            draft.put(name, alg);
        }
    }
}

/// What has no field here, for whoever looks for it later.
fn keep(source: &Source<'_>, draft: &mut Draft) {
    for name in [
        "description",
        "rootUrl",
        "adminUrl",
        "consentRequired",
        "protocolMappers",
    ] {
        let value = source.0.get(name).filter(|value| !is_empty(value));
        if let Some(value) = value.filter(|value| **value != Value::Bool(false)) {
            draft.kept.insert(name.to_owned(), value.clone());
        }
    }
    if add_audiences(source, draft) {
        draft.note("its protocol mappers are not carried out here, only kept under metadata");
    }
    let Some(Value::Object(attributes)) = source.0.get("attributes") else {
        return;
    };
    let says_nothing = |name: &str, value: &Value| {
        DONE.contains(&name) || name.starts_with("saml") || value == "false" || is_empty(value)
    };
    let rest = attributes
        .iter()
        .filter(|(name, value)| !says_nothing(name, value));
    let rest: Map<_, _> = rest
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if !rest.is_empty() {
        draft.kept.insert("attributes".to_owned(), rest.into());
    }
}

/// Audience mappers with a URI become registered audiences, which every token of the client is
/// issued for. Whether there are other mappers.
fn add_audiences(source: &Source<'_>, draft: &mut Draft) -> bool {
    let mappers = source.0.get("protocolMappers").and_then(Value::as_array);
    let (mut audiences, mut others) = (Vec::new(), false);
    for mapper in mappers.into_iter().flatten() {
        let is_audience =
            mapper.get("protocolMapper").and_then(Value::as_str) == Some("oidc-audience-mapper");
        let custom = mapper
            .pointer("/config/included.custom.audience")
            .and_then(Value::as_str);
        match custom.filter(|uri| is_audience && is_absolute(uri)) {
            Some(uri) => audiences.push(uri),
            None => others = true,
        }
    }
    if !audiences.is_empty() {
        draft.put("audience", audiences);
    }
    others
}

fn number(text: Option<&str>) -> Option<u64> {
    text?.parse().ok().filter(|number| *number > 0)
}

fn is_absolute(uri: &&str) -> bool {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

fn origin_of(uri: &str) -> Option<String> {
    let uri: Uri = uri.trim_end_matches('*').parse().ok()?;
    Some(format!("{}://{}", uri.scheme_str()?, uri.authority()?))
}

#[cfg(test)]
mod tests;
