//! People: users whose passwords cost nothing, codes as the authorization endpoint makes them, and
//! what a client does with them at the token endpoint.

use serde_json::Value;
use signet::flow::code::seal_code;
use signet::hashing::{self, HashSpec};
use signet::rng::Rng;
use signet::store::{CreatedUser, Ends, UpdatedUser, UserUpdate};
use signet_oauth::claims::ClaimsRequest;
use signet_oauth::code::{Code, redirect_digest};
use signet_oauth::ids::ClientId;
use signet_oauth::pkce::Challenge;
use signet_oauth::scope::Scope;
use signet_oauth::secret::Digest;
use signet_oauth::session::{ACR_PASSWORD, Amr};
use signet_oauth::user::{PasswordHash, User, UserClaims, UserId, Username};

use super::http::Answer;
use super::{ISSUER, Server};

/// The password of every user here.
pub(crate) const PASSWORD: &str = "correct horse battery staple";
/// What proves who asked for a code here (RFC 7636).
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
/// Where the clients here are sent back to.
pub(crate) const REDIRECT: &str = "https://app.example/callback";

/// A hash of the password, in this way.
pub(crate) fn hashed(spec: &str) -> String {
    let spec = HashSpec::parse(spec).unwrap();
    hashing::hash(spec, PASSWORD, &Rng::system()).unwrap()
}

impl Server {
    /// Creates a user of this name, whose id is `usr_NAME`.
    pub(crate) async fn user(&self, name: &str) -> User {
        let claims = UserClaims {
            name: Some(format!("{name} Doe")),
            email: Some(format!("{name}@example.com")),
            email_verified: Some(true),
            ..UserClaims::default()
        };
        let hash = PasswordHash::Hash(hashed("pbkdf2-sha256:1"));
        self.user_with(name, hash, claims).await
    }

    /// The same with another password and other claims.
    pub(crate) async fn user_with(
        &self,
        name: &str,
        password: PasswordHash,
        claims: UserClaims,
    ) -> User {
        let now = self.clock.now();
        let user = User {
            id: UserId::parse(&format!("usr_{name}")).unwrap(),
            username: Username::parse(name).unwrap(),
            generation: 0,
            session_generation: 0,
            version: 0,
            locked: false,
            password,
            roles: vec![],
            claims,
            created_at: now,
            updated_at: now,
        };
        let created = self.app().store.create_user(user, self.app().rng.array());
        match created.await.unwrap() {
            CreatedUser::Done { user, .. } => *user,
            CreatedUser::Exists => panic!("the user {name} exists"),
        }
    }

    /// Changes a user, and ends what such a change ends.
    pub(crate) async fn change_user(&self, id: &UserId, ends: Ends, change: impl Fn(&mut User)) {
        let store = &self.app().store;
        let mut user = store.find_user(id).await.unwrap().value.unwrap();
        change(&mut user);
        let update = UserUpdate {
            expected_version: user.version,
            user: Box::new(user),
            ends,
            until: self.app().longest_until(),
        };
        let updated = store.update_user(update).await.unwrap();
        assert!(matches!(updated, UpdatedUser::Done { .. }), "{updated:?}");
    }

    /// A code that the client was given for the user; `change` makes it another one.
    pub(crate) async fn code(
        &self,
        client: &str,
        user: &User,
        change: impl FnOnce(&mut Code),
    ) -> String {
        let app = self.app();
        let client = ClientId::parse(client).unwrap();
        let registered = app.store.find_client(&client).await.unwrap().value.unwrap();
        let now = self.clock.now();
        let mut code = Code {
            id: app.rng.array(),
            client,
            user: user.id.clone(),
            session: Some(app.rng.array()),
            redirect_uri: Some(redirect_digest(REDIRECT)),
            scope: Scope::parse("openid profile read").unwrap(),
            audience: vec![ISSUER.to_owned()],
            nonce: Some("n-0S6_WzA2Mj".to_owned()),
            challenge: Some(Challenge::S256(Digest::of(VERIFIER.as_bytes()).0)),
            auth_time: now,
            amr: vec![Amr::Password],
            acr: Some(ACR_PASSWORD.to_owned()),
            claims: ClaimsRequest::default(),
            client_generation: registered.generation,
            user_generation: user.generation,
            expires_at: now.plus(60),
        };
        change(&mut code);
        seal_code(app, &code).unwrap()
    }

    /// A request at the token endpoint with HTTP Basic.
    pub(crate) async fn exchange(
        &self,
        caller: (&str, &str),
        grant: &str,
        form: &[(&str, &str)],
    ) -> Answer {
        let grant = [("grant_type", grant)];
        let form: Vec<_> = grant.iter().chain(form).copied().collect();
        let call = self.public("POST", "/oauth2/token");
        call.basic(caller.0, caller.1).form(&form).await
    }

    /// Redeems a code as its client should.
    pub(crate) async fn redeem(&self, caller: (&str, &str), code: &str) -> Answer {
        let form = [
            ("code", code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
        ];
        self.exchange(caller, "authorization_code", &form).await
    }

    /// Uses a refresh token.
    pub(crate) async fn refresh(&self, caller: (&str, &str), token: &str) -> Answer {
        let form = [("refresh_token", token)];
        self.exchange(caller, "refresh_token", &form).await
    }

    /// The tokens of a fresh login; panics where there are none.
    pub(crate) async fn logged_in(&self, caller: (&str, &str), user: &User) -> Value {
        let code = self.code(caller.0, user, |_| {}).await;
        let answer = self.redeem(caller, &code).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }
}

/// A text member of an answer; panics where there is none.
pub(crate) fn text(answer: &Value, name: &str) -> String {
    let member = answer[name].as_str();
    member
        .unwrap_or_else(|| panic!("no {name} in {answer}"))
        .to_owned()
}

/// The fields of a client that people log in to, with these besides.
pub(crate) fn login_client(more: &Value) -> Value {
    let mut fields = serde_json::json!({
        "grant_types": ["authorization_code", "refresh_token", "password"],
        "redirect_uris": [REDIRECT],
        "scope": "openid profile email offline_access read write",
        "id_token_signed_response_alg": "ES256",
    });
    let more = more.as_object().unwrap().clone();
    fields.as_object_mut().unwrap().extend(more);
    fields
}
