//! A provider that answers from a script in memory, and on demand answers one thing wrong.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::{header, reply};
use crate::call::{Call, Reply};
use crate::scenario::jose::encode;
use crate::scenario::jose::jws::Algorithm;
use crate::scenario::jose::vectors::Signer;

pub(super) const NOW: u64 = 1_800_000_000;
pub(super) const ISSUER: &str = "https://op.example";
pub(super) const TARGET: &str = r#"
name = "op"
tested = true
issuer = "https://op.example"
[variables]
redirect_uri = "https://rp.example/cb"
post_logout_redirect_uri = "https://rp.example/bye"
[secrets]
admin_secret = { file = "secret" }
[admin.auth.grant]
url = "https://op.example/token"
form = { grant_type = "client_credentials", client_id = "admin", client_secret = "${admin_secret}" }
[admin.clients]
client_id = "app-${index}"
client_secret = "secret-${index}"
answer = { client_id = "/client_id", client_secret = "/client_secret" }
create = { method = "POST", url = "https://op.example/clients", json = { client_id = "${client_id}" }, exists = [409] }
get = { method = "GET", url = "https://op.example/clients/${client_id}" }
list = { method = "GET", url = "https://op.example/clients" }
update = { method = "PUT", url = "https://op.example/clients/${client_id}", json = { client_name = "x" } }
delete = { method = "DELETE", url = "https://op.example/clients/${client_id}" }
[admin.users]
username = "user-${index}"
password = "pass-${index}"
create = { method = "POST", url = "https://op.example/users", json = { name = "${username}", password = "${password}" }, exists = [409] }
[[login.stage]]
name = "login"
when = { path = "/login" }
form = { select = { field = "user" }, fill = { user = "${username}", pass = "${password}" } }
[[login.stage]]
name = "consent"
when = { path = "/consent" }
form = { press = "allow" }
[[logout.stage]]
name = "confirm"
form = { press = "yes" }
"#;

pub(super) struct Op {
    pub(super) signer: Signer,
    /// What it does wrong, if anything.
    pub(super) fault: &'static str,
    /// Whether tokens are opaque.
    pub(super) opaque: bool,
    /// Every request, as method and path.
    pub(super) log: Vec<String>,
    pub(super) bodies: Vec<String>,
    nonce: Option<String>,
    state: String,
    challenge: String,
    scope: Option<String>,
    codes: BTreeMap<String, bool>,
    refresh: u32,
    revoked: Vec<String>,
    issued: u32,
    clients: Vec<String>,
}

pub(super) type Form = BTreeMap<String, String>;

impl Op {
    pub(super) fn new(fault: &'static str) -> Self {
        Self {
            signer: Signer::es256(),
            fault,
            opaque: false,
            log: Vec::new(),
            bodies: Vec::new(),
            nonce: None,
            state: String::new(),
            challenge: String::new(),
            scope: None,
            codes: BTreeMap::new(),
            refresh: 0,
            revoked: Vec::new(),
            issued: 0,
            clients: Vec::new(),
        }
    }

    fn is(&self, fault: &str) -> bool {
        self.fault == fault
    }

    pub(super) fn answer(&mut self, call: &Call) -> Reply {
        let path = call.url.path();
        self.log.push(format!("{} {path}", call.method));
        self.bodies
            .push(String::from_utf8(call.body.to_vec()).unwrap());
        let form: Form = form_urlencoded::parse(&call.body).into_owned().collect();
        let query: Form = call.url.query_pairs().into_owned().collect();
        if self.is("down") {
            return reply(call, 503, &[], "");
        }
        match path {
            "/.well-known/openid-configuration" => self.discovery(call),
            "/jwks" => reply(
                call,
                200,
                &[("content-type", "application/json")],
                self.signer.jwks("k1"),
            ),
            "/token" => self.token(call, &form),
            "/introspect" => self.introspect(call, &form),
            "/revoke" => self.revoke(call, &form),
            "/userinfo" => self.userinfo(call),
            "/authorize" => self.authorize(call, &query),
            "/login" | "/consent" => self.page(call, &form),
            "/logout" => self.logout(call, &query),
            path if path.starts_with("/clients") || path == "/users" => self.admin(call),
            _ => reply(call, 404, &[], "no such page"),
        }
    }

    fn discovery(&self, call: &Call) -> Reply {
        let issuer = if self.is("issuer") {
            "https://evil.example"
        } else {
            ISSUER
        };
        let url = |path: &str| format!("{ISSUER}/{path}");
        json_reply(
            call,
            200,
            &json!({"issuer": issuer, "authorization_endpoint": url("authorize"),
            "token_endpoint": url("token"), "introspection_endpoint": url("introspect"),
            "revocation_endpoint": url("revoke"), "userinfo_endpoint": url("userinfo"),
            "end_session_endpoint": if self.is("no-url") { "logout".to_owned() } else { url("logout") },
            "jwks_uri": url("jwks"), "authorization_response_iss_parameter_supported": true}),
        )
    }

    fn token(&mut self, call: &Call, form: &Form) -> Reply {
        let refused = |code: &str| json_reply(call, 400, &json!({"error": code}));
        let client = match form.get("client_id") {
            Some(client) => client.clone(),
            None if header(call, "authorization") == Some("Basic YXBwOnMlMjZjcmV0") => {
                "app".to_owned()
            }
            None => return json_reply(call, 401, &json!({"error": "invalid_client"})),
        };
        if self.is("refused") {
            return refused("unauthorized_client");
        }
        let user = match self.granted(form) {
            Ok(user) => user,
            Err(code) => return refused(code),
        };
        let mut refresh = None;
        if user.is_some() && !self.is("no-refresh") {
            self.refresh += 1;
            refresh = Some(format!("refresh-{}", self.refresh));
        }
        self.tokens(call, form, (&client, user, refresh))
    }

    /// For whom, or the error code.
    fn granted(&mut self, form: &Form) -> Result<Option<&'static str>, &'static str> {
        match form["grant_type"].as_str() {
            "client_credentials" => Ok(None),
            "password" if form["username"] == "anna" && form["password"] == "p w" => {
                Ok(Some("anna"))
            }
            "authorization_code" => {
                let digest = digest(&SHA256, form["code_verifier"].as_bytes());
                assert_eq!(encode(digest), self.challenge);
                assert_eq!(form["redirect_uri"], "https://rp.example/cb");
                let keeps = self.is("code-twice");
                let is_good = self.codes.get(&form["code"]) == Some(&false);
                self.codes.insert(form["code"].clone(), !keeps);
                let sub = if self.is("empty-sub") { "" } else { "anna" };
                let error = if self.is("wrong-error") {
                    "invalid_request"
                } else {
                    "invalid_grant"
                };
                is_good.then_some(Some(sub)).ok_or(error)
            }
            "refresh_token" => {
                let is_current = form["refresh_token"] == format!("refresh-{}", self.refresh);
                let sub = if self.is("other-user") {
                    "bert"
                } else {
                    "anna"
                };
                let is_good = is_current || self.is("refresh-twice");
                is_good.then_some(Some(sub)).ok_or("invalid_grant")
            }
            _ => Err("invalid_grant"),
        }
    }

    fn tokens(
        &mut self,
        call: &Call,
        form: &Form,
        granted: (&str, Option<&str>, Option<String>),
    ) -> Reply {
        let (client, user, refresh) = granted;
        self.issued += 1;
        let scope = match form.get("scope") {
            _ if self.is("less-scope") => "profile".to_owned(),
            Some(scope) => scope.clone(),
            None => self.scope.clone().unwrap_or_else(|| "openid".to_owned()),
        };
        let access = self.access_token(client, &scope);
        let mut body = json!({"access_token": access, "token_type": "Bearer", "expires_in": 300, "scope": scope});
        if let Some(refresh) = refresh {
            body["refresh_token"] = refresh.into();
        }
        let is_code = form["grant_type"] == "authorization_code";
        let wants_id = is_code || form["grant_type"] == "refresh_token";
        if let Some(user) = user.filter(|_| wants_id && !self.is("no-id-token")) {
            let code = form.get("code").map(String::as_str);
            body["id_token"] = self.id_token(client, user, &access, code).into();
        }
        match self.fault {
            "token-type" => body["token_type"] = "mac".into(),
            "no-token" => drop(body.as_object_mut().unwrap().remove("access_token")),
            "empty-token" => body["access_token"] = "".into(),
            "dead" => body["expires_in"] = 0.into(),
            "html" => {
                return reply(
                    call,
                    200,
                    &[("content-type", "text/html")],
                    body.to_string(),
                );
            }
            "cut" => return reply(call, 200, JSON, body.to_string().split_off(1)),
            "cached" => return reply(call, 200, &JSON[..1], body.to_string()),
            "created" => return json_reply(call, 201, &body),
            _ => {}
        }
        json_reply(call, 200, &body)
    }

    fn access_token(&self, client: &str, scope: &str) -> String {
        if self.opaque {
            return format!("opaque-{}", self.issued);
        }
        let mut claims = json!({"iss": ISSUER, "aud": ["https://api.example"], "sub": "s", "client_id": client,
            "scope": scope, "iat": NOW, "exp": NOW + 300, "jti": self.issued});
        match self.fault {
            "at-issuer" => claims["iss"] = "https://evil.example".into(),
            "at-audience" => claims["aud"] = "https://other.example".into(),
            "at-expired" => claims["exp"] = (NOW - 60).into(),
            "at-future" => claims["iat"] = (NOW + 60).into(),
            "at-not-yet" => claims["nbf"] = (NOW + 60).into(),
            "at-no-exp" => drop(claims.as_object_mut().unwrap().remove("exp")),
            "at-client" => claims["client_id"] = "other".into(),
            "at-scope" => claims["scope"] = "nothing".into(),
            "at-types" => claims["exp"] = "soon".into(),
            _ => {}
        }
        self.spoiled(
            self.signer
                .sign(if self.is("at-kid") { "k9" } else { "k1" }, &claims),
            "at-",
        )
    }

    fn id_token(&self, client: &str, user: &str, access: &str, code: Option<&str>) -> String {
        let alg = Algorithm::parse(self.signer.alg()).unwrap();
        let mut claims = json!({"iss": ISSUER, "aud": client, "sub": user, "iat": NOW, "exp": NOW + 300,
            "auth_time": NOW - 1, "at_hash": alg.half_hash(access)});
        if let (Some(nonce), Some(code)) = (&self.nonce, code) {
            claims["nonce"] = nonce.as_str().into();
            claims["c_hash"] = alg.half_hash(code).into();
        }
        let members = claims.as_object_mut().unwrap();
        match self.fault {
            "id-issuer" => claims["iss"] = "https://evil.example".into(),
            "id-audience" => claims["aud"] = "other".into(),
            "id-no-azp" => claims["aud"] = json!([client, "other"]),
            "id-azp" => claims["azp"] = "other".into(),
            "id-expired" => claims["exp"] = (NOW - 6).into(),
            "id-future" => claims["iat"] = (NOW + 6).into(),
            "id-nonce" => claims["nonce"] = "guess".into(),
            "id-no-nonce" => drop(members.remove("nonce")),
            "id-at-hash" => claims["at_hash"] = alg.half_hash("other").into(),
            "id-no-at-hash" => drop(members.remove("at_hash")),
            "id-c-hash" => claims["c_hash"] = alg.half_hash("other").into(),
            "id-no-auth-time" => drop(members.remove("auth_time")),
            "id-old" => claims["auth_time"] = (NOW - 500).into(),
            "id-no-sub" => drop(members.remove("sub")),
            _ => {}
        }
        self.spoiled(self.signer.sign("k1", &claims), "id-")
    }

    /// The same token with a signature that is none.
    fn spoiled(&self, token: String, which: &str) -> String {
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let (_, claims) = signed.split_once('.').unwrap();
        match self.fault.strip_prefix(which) {
            Some("signature") => {
                let first = if signature.starts_with('A') { "B" } else { "A" };
                format!("{signed}.{first}{}", &signature[1..])
            }
            Some("none") => format!("{}.{claims}.", encode(r#"{"alg":"none"}"#)),
            Some("key-as-secret") => {
                format!("{}.{claims}.AAAA", encode(r#"{"alg":"HS256","kid":"k1"}"#))
            }
            _ => token,
        }
    }

    fn introspect(&self, call: &Call, form: &Form) -> Reply {
        let token = &form["token"];
        let mut active = !self.revoked.contains(token);
        if self.is("never-active") || self.is("still-active") {
            active = self.is("still-active");
        }
        let mut body = json!({"active": active});
        if active {
            body = json!({"active": true, "iss": ISSUER, "client_id": "app", "exp": NOW + 9, "scope": "openid a b"});
        }
        match self.fault {
            "in-issuer" => body["iss"] = "https://evil.example".into(),
            "in-client" => body["client_id"] = "other".into(),
            "in-expired" => body["exp"] = (NOW - 9).into(),
            "in-scope" => body["scope"] = "b".into(),
            "in-text" => body["active"] = "yes".into(),
            _ => {}
        }
        json_reply(call, 200, &body)
    }

    fn revoke(&mut self, call: &Call, form: &Form) -> Reply {
        if !self.is("not-revoked") {
            self.revoked.push(form["token"].clone());
        }
        let status = if self.is("revoke-status") { 204 } else { 200 };
        let token = if self.is("revoked-header") {
            "other"
        } else {
            &form["token"]
        };
        reply(call, status, &[("x-revoked", token)], "")
    }

    fn userinfo(&self, call: &Call) -> Reply {
        assert!(
            header(call, "authorization")
                .unwrap()
                .starts_with("Bearer ")
        );
        let sub = match self.fault {
            "ui-other" => "bert",
            "ui-empty" => "",
            _ => "anna",
        };
        match self.fault {
            "ui-jwt" | "ui-signature" => {
                let token = self.spoiled(self.signer.sign("k1", &json!({"sub": sub})), "ui-");
                reply(call, 200, &[("content-type", "application/jwt")], token)
            }
            "ui-refused" => reply(call, 401, &[("www-authenticate", "Bearer")], ""),
            "ui-no-sub" => json_reply(call, 200, &json!({})),
            _ => json_reply(call, 200, &json!({"sub": sub, "name": "Anna"})),
        }
    }

    fn authorize(&mut self, call: &Call, query: &Form) -> Reply {
        assert_eq!(
            (
                query["response_type"].as_str(),
                query["code_challenge_method"].as_str()
            ),
            ("code", "S256")
        );
        self.state = query["state"].clone();
        self.nonce = query.get("nonce").cloned();
        self.challenge = query["code_challenge"].clone();
        self.scope = query.get("scope").cloned();
        // A browser that was here before is known by its cookie.
        if header(call, "cookie").is_some_and(|cookie| cookie.contains("__Host-session=anna")) {
            return self.back(call);
        }
        match self.fault {
            "no-client" => reply(call, 400, &[], "no such client"),
            "elsewhere" => redirect(call, "https://evil.example/login"),
            "circle" => redirect(call, "/login"),
            "error-page" => redirect(call, "/unknown?error=invalid_scope"),
            "refused-at-once" => self.back(call),
            _ => redirect(call, "/login?request=1"),
        }
    }

    fn page(&mut self, call: &Call, form: &Form) -> Reply {
        let (login, consent) = (call.url.path() == "/login", call.url.path() == "/consent");
        let html = |body: &str| {
            reply(
                call,
                200,
                &[("content-type", "text/html"), ("set-cookie", "csrf=1")],
                body.to_owned(),
            )
        };
        let action = if self.is("form-elsewhere") {
            "https://evil.example/"
        } else {
            ""
        };
        if call.method == http::Method::GET {
            return match () {
                () if self.is("circle") => redirect(call, "/login"),
                () if self.is("no-form") => html("<p>We are closed.</p>"),
                () if login => html(&format!(
                    "<form method=post action='{action}'><input type=hidden name=csrf value='a&amp;b'><input name=user><input type=password name=pass></form>"
                )),
                () if self.is("no-button") => html("<form method=post><button id=deny></form>"),
                () => html(
                    "<form method=post><input type=hidden name=c value=1><button id=allow name=answer value=yes></form>",
                ),
            };
        }
        assert_eq!(header(call, "cookie"), Some("csrf=1"));
        if login {
            assert_eq!(form["csrf"], "a&b");
            if self.is("wrong-password") || form["user"] != "anna" || form["pass"] != "p w" {
                return redirect(call, "/login?again");
            }
            return redirect(call, "/consent?request=2");
        }
        assert!(consent && form["answer"] == "yes" && form["c"] == "1");
        self.back(call)
    }

    fn back(&mut self, call: &Call) -> Reply {
        let code = format!("code-{}", self.codes.len());
        self.codes.insert(code.clone(), false);
        let state = &self.state;
        let iss = "iss=https%3A%2F%2Fop.example";
        let location = match self.fault {
            "state" => format!("https://rp.example/cb?code={code}&state=guess&{iss}"),
            "no-state" => format!("https://rp.example/cb?code={code}&{iss}"),
            "no-iss" => format!("https://rp.example/cb?code={code}&state={state}"),
            "iss" => {
                format!("https://rp.example/cb?code={code}&state={state}&iss=https://evil.example")
            }
            "denied" | "refused-at-once" => {
                format!("https://rp.example/cb?error=access_denied&state={state}&{iss}")
            }
            "no-code" => format!("https://rp.example/cb?state={state}&{iss}"),
            "twice" => format!("https://rp.example/cb?code={code}&code=x&state={state}&{iss}"),
            "near-miss" => format!("https://rp.example/cb/x?code={code}&state={state}&{iss}"),
            _ => format!("https://rp.example/cb?code={code}&state={state}&{iss}"),
        };
        let session = "__Host-session=anna; Secure; HttpOnly; Path=/";
        reply(
            call,
            303,
            &[("location", &location), ("set-cookie", session)],
            "",
        )
    }

    fn logout(&mut self, call: &Call, query: &Form) -> Reply {
        if let Some(state) = query.get("state") {
            assert!(query["id_token_hint"].starts_with("ey"));
            assert_eq!(query["post_logout_redirect_uri"], "https://rp.example/bye");
            self.state.clone_from(state);
            return reply(
                call,
                200,
                &[],
                "<form method=post action='/logout?sure'><button id=yes></form>",
            );
        }
        match self.fault {
            "bye-state" => redirect(call, "https://rp.example/bye?state=guess"),
            "bye-elsewhere" => redirect(call, "https://evil.example/"),
            "bye-page" => reply(call, 200, &[], "<p>Bye."),
            _ => redirect(
                call,
                &format!("https://rp.example/bye?state={}", self.state),
            ),
        }
    }

    fn admin(&mut self, call: &Call) -> Reply {
        assert!(header(call, "authorization").is_some_and(|value| value.starts_with("Bearer ey")));
        let (kind, id) = call.url.path()[1..]
            .split_once('/')
            .unwrap_or((&call.url.path()[1..], ""));
        let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
        match (call.method.as_str(), kind) {
            ("POST", "clients" | "users") => {
                let id = body["client_id"]
                    .as_str()
                    .or(body["name"].as_str())
                    .unwrap()
                    .to_owned();
                if self.clients.contains(&id) {
                    return json_reply(call, 409, &json!({"error": "conflict"}));
                }
                self.clients.push(id.clone());
                let id = if self.is("create-silent") {
                    Value::Null
                } else {
                    id.into()
                };
                json_reply(
                    call,
                    201,
                    &json!({"client_id": id, "client_secret": "drawn"}),
                )
            }
            ("GET", "clients") if id.is_empty() => json_reply(call, 200, &json!(self.clients)),
            ("DELETE", "clients") if self.is("undeleted") => reply(call, 204, &[], ""),
            ("DELETE", "clients") => {
                self.clients.retain(|known| known != id);
                reply(call, 204, &[], "")
            }
            (_, "clients") if self.clients.iter().any(|known| known == id) => {
                let id = if self.is("other-client") { "other" } else { id };
                json_reply(call, 200, &json!({"client_id": id}))
            }
            _ => json_reply(call, 404, &json!({"error": "not_found"})),
        }
    }
}

const JSON: &[(&str, &str)] = &[
    ("content-type", "application/json;charset=UTF-8"),
    ("cache-control", "no-store"),
];

fn json_reply(call: &Call, status: u16, body: &Value) -> Reply {
    reply(call, status, JSON, body.to_string())
}

fn redirect(call: &Call, location: &str) -> Reply {
    reply(call, 302, &[("location", location)], "")
}
