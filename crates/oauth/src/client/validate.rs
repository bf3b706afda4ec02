//! Whether a client as a whole is acceptable (RFC 7591 §3.2.2).

use super::{
    AuthMethod, Client, ClientMetadata, ClientSecret, GrantType, MAX_LIST, MAX_REFRESH_LIFETIME,
    MAX_TEXT, MAX_TOKEN_LIFETIME, Persistence, RefreshPolicy, TokenForm, is_resource,
};
use crate::error::{Error, ErrorCode};
use crate::jose::Algorithm;
use crate::redirect;

/// The shortest life of a refresh token that may be registered.
const MIN_REFRESH: u64 = 60;

impl Client {
    /// Whether the whole is acceptable; run on every write (RFC 7591 §3.2.2).
    pub fn validate(&self) -> Result<(), Error> {
        if self.id.as_str().starts_with(crate::user::ID_PREFIX) {
            return Err(refuse(
                "client ids must not begin with usr_: a client must not be taken for a user",
                "client_id_reserved",
            ));
        }
        self.validate_tokens()?;
        self.validate_authentication()?;
        self.validate_login()?;
        if self.grants.contains(&GrantType::ClientCredentials)
            && self.auth_method == AuthMethod::None
        {
            return Err(refuse(
                "a public client (token_endpoint_auth_method none) may not use client_credentials",
                "client_public_credentials",
            ));
        }
        if self.audience.len() > MAX_LIST || !self.audience.iter().all(|uri| is_resource(uri)) {
            return Err(refuse(
                "audience holds absolute URIs without a fragment, at most 100",
                "client_audience",
            ));
        }
        self.metadata.validate()
    }

    fn validate_tokens(&self) -> Result<(), Error> {
        let policies = self.grant_tokens.iter().map(|(_, policy)| policy);
        for policy in policies.chain([&self.tokens]) {
            if (policy.form, policy.persistence) == (TokenForm::Opaque, Persistence::Stateless) {
                return Err(refuse(
                    "an opaque access token cannot be stateless: choose persistence persisted, or \
                     access_token jwt",
                    "client_opaque_stateless",
                ));
            }
            if policy
                .lifetime
                .is_some_and(|life| !(1..=MAX_TOKEN_LIFETIME).contains(&life))
            {
                return Err(refuse(
                    "access_token_lifetime is 1 to 86400 seconds",
                    "client_token_lifetime",
                ));
            }
        }
        let signing = |alg: Option<Algorithm>| alg.is_none_or(|alg| alg != Algorithm::Hs256);
        if !signing(self.access_token_alg) || !signing(self.introspection_alg) {
            return Err(refuse(
                "tokens are signed with ES256, EdDSA, RS256 or PS256",
                "client_token_alg",
            ));
        }
        if self.reuse_live_token && self.tokens.persistence != Persistence::Persisted {
            return Err(refuse(
                "reuse_live_token needs persistence persisted: a stateless token is not remembered",
                "client_reuse_stateless",
            ));
        }
        Ok(())
    }

    fn validate_login(&self) -> Result<(), Error> {
        let login = &self.login;
        let is_public = self.auth_method == AuthMethod::None;
        if is_public && login.require_pkce == Some(false) {
            return Err(refuse(
                "a public client (token_endpoint_auth_method none) must use PKCE",
                "client_public_pkce",
            ));
        }
        if is_public && login.refresh_token_policy == RefreshPolicy::Stateless {
            return Err(refuse(
                "refresh tokens of a public client must rotate (RFC 9700 section 2.2.2)",
                "client_public_stateless",
            ));
        }
        if login.id_token_alg == Some(Algorithm::Hs256) {
            return Err(refuse(
                "ID tokens are signed with RS256, ES256, EdDSA or PS256",
                "client_id_token_alg",
            ));
        }
        let lifetime = login.refresh_token_lifetime;
        if lifetime.is_some_and(|life| !(MIN_REFRESH..=MAX_REFRESH_LIFETIME).contains(&life)) {
            return Err(refuse(
                "refresh_token_lifetime is 60 to 31536000 seconds",
                "client_refresh_lifetime",
            ));
        }
        let uris = &login.post_logout_redirect_uris;
        if uris.len() > MAX_LIST || uris.iter().any(|uri| redirect::validate(uri).is_err()) {
            return Err(refuse(
                "post_logout_redirect_uris holds URIs as redirect_uris does, at most 100",
                "client_post_logout_uri",
            ));
        }
        let callable = |uri: &String| {
            is_resource(uri) && (uri.starts_with("https://") || uri.starts_with("http://"))
        };
        if !login.backchannel_logout_uri.as_ref().is_none_or(callable) {
            return Err(refuse(
                "backchannel_logout_uri is an absolute https URL without a fragment",
                "client_backchannel_uri",
            ));
        }
        Ok(())
    }

    fn validate_authentication(&self) -> Result<(), Error> {
        let has_secret = self.secret != ClientSecret::None;
        let sealed = matches!(self.secret, ClientSecret::Sealed(_));
        if has_secret != self.auth_method.has_secret() {
            return Err(refuse(
                "token_endpoint_auth_method and the credentials do not fit together",
                "client_credentials_mismatch",
            ));
        }
        if has_secret && sealed != (self.auth_method == AuthMethod::ClientSecretJwt) {
            return Err(refuse(
                "client_secret_jwt needs the secret itself, not a hash of it; the other methods \
                 need a hash",
                "client_secret_form",
            ));
        }
        let keys = usize::from(self.jwks.is_some()) + usize::from(self.jwks_uri.is_some());
        if keys > 1 {
            return Err(refuse(
                "send jwks or jwks_uri, not both",
                "client_keys_twice",
            ));
        }
        let fetchable = |uri: &String| {
            is_resource(uri) && (uri.starts_with("https://") || uri.starts_with("http://"))
        };
        if !self.jwks_uri.as_ref().is_none_or(fetchable) {
            return Err(refuse(
                "jwks_uri is an absolute https URL",
                "client_keys_url",
            ));
        }
        if self.auth_method == AuthMethod::PrivateKeyJwt && keys == 0 {
            return Err(refuse(
                "private_key_jwt needs jwks or jwks_uri",
                "client_keys_missing",
            ));
        }
        let fits = self
            .auth_signing_alg
            .is_none_or(|alg| match self.auth_method {
                AuthMethod::ClientSecretJwt => alg == Algorithm::Hs256,
                AuthMethod::PrivateKeyJwt => alg != Algorithm::Hs256,
                _ => true,
            });
        if !fits {
            return Err(refuse(
                "token_endpoint_auth_signing_alg does not fit token_endpoint_auth_method",
                "client_auth_alg",
            ));
        }
        Ok(())
    }
}

impl ClientMetadata {
    fn validate(&self) -> Result<(), Error> {
        let texts = [
            &self.name,
            &self.uri,
            &self.logo_uri,
            &self.policy_uri,
            &self.tos_uri,
            &self.owner,
            &self.sector_identifier_uri,
        ];
        let lists = [
            &self.contacts,
            &self.request_uris,
            &self.allowed_cors_origins,
        ];
        let short = |text: &String| text.len() <= MAX_TEXT && !text.contains('\0');
        let fits = texts.into_iter().flatten().all(short)
            && lists
                .into_iter()
                .all(|list| list.len() <= MAX_LIST && list.iter().all(short));
        if !fits {
            return Err(refuse(
                "a text of the metadata is longer than 2048 characters, or a list than 100 entries",
                "client_metadata_size",
            ));
        }
        if self.redirect_uris.len() > MAX_LIST {
            return Err(Error::new(
                ErrorCode::InvalidRedirectUri,
                "redirect_uris holds at most 100 URIs",
                "client_redirect_uri",
            ));
        }
        for uri in &self.redirect_uris {
            redirect::validate(uri).map_err(|error| Error {
                description: format!("redirect_uris: {}", error.description).into(),
                ..error
            })?;
        }
        if self
            .subject_type
            .as_deref()
            .is_some_and(|kind| kind != "public")
        {
            // Kept and not acted upon, pairwise would be a promise that is not kept.
            return Err(refuse(
                "subject_type is public: pairwise subjects are not offered",
                "client_subject_type",
            ));
        }
        Ok(())
    }
}

fn refuse(description: &'static str, reason: &'static str) -> Error {
    Error::new(ErrorCode::InvalidClientMetadata, description, reason)
}

#[cfg(test)]
mod tests {
    use super::super::*;

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn the_whole_is_validated() {
        assert_eq!(example().validate(), Ok(()));
        let opaque = TokenPolicy {
            form: TokenForm::Opaque,
            ..example().tokens
        };
        let public = Client {
            auth_method: AuthMethod::None,
            secret: ClientSecret::None,
            ..example()
        };
        for (reason, client) in [
            (
                "client_opaque_stateless",
                Client {
                    tokens: opaque,
                    ..example()
                },
            ),
            (
                "client_opaque_stateless",
                Client {
                    grant_tokens: vec![(GrantType::Password, opaque)],
                    ..example()
                },
            ),
            ("client_public_credentials", public),
            (
                "client_credentials_mismatch",
                Client {
                    secret: ClientSecret::None,
                    ..example()
                },
            ),
            (
                "client_secret_form",
                Client {
                    secret: ClientSecret::Sealed(vec![1]),
                    ..example()
                },
            ),
            (
                "client_keys_missing",
                Client {
                    auth_method: AuthMethod::PrivateKeyJwt,
                    secret: ClientSecret::None,
                    ..example()
                },
            ),
            (
                "client_keys_twice",
                Client {
                    jwks: Some("{}".into()),
                    jwks_uri: Some("x".into()),
                    ..example()
                },
            ),
            (
                "client_audience",
                Client {
                    audience: vec!["api".into()],
                    ..example()
                },
            ),
            (
                "client_reuse_stateless",
                Client {
                    reuse_live_token: true,
                    ..example()
                },
            ),
            (
                "client_token_alg",
                Client {
                    access_token_alg: Some(Algorithm::Hs256),
                    ..example()
                },
            ),
            (
                "client_subject_type",
                Client {
                    metadata: ClientMetadata {
                        subject_type: Some("pairwise".into()),
                        ..ClientMetadata::default()
                    },
                    ..example()
                },
            ),
            (
                "client_id_reserved",
                Client {
                    id: ClientId::parse("usr_jane").unwrap(),
                    ..example()
                },
            ),
        ] {
            assert_eq!(client.validate().map_err(|e| e.reason), Err(reason));
        }
    }

    #[test]
    fn what_holds_for_logins_is_validated() {
        let with = |login| Client { login, ..example() };
        let public = |login| Client {
            auth_method: AuthMethod::None,
            secret: ClientSecret::None,
            grants: vec![GrantType::AuthorizationCode],
            login,
            ..example()
        };
        let plain = ClientLogin::default;
        assert_eq!(public(plain()).validate(), Ok(()));
        let unpinned = ClientLogin {
            require_pkce: Some(false),
            ..plain()
        };
        let stateless = ClientLogin {
            refresh_token_policy: RefreshPolicy::Stateless,
            ..plain()
        };
        assert_eq!(with(stateless.clone()).validate(), Ok(()));
        let symmetric = ClientLogin {
            id_token_alg: Some(Algorithm::Hs256),
            ..plain()
        };
        let eternal = ClientLogin {
            refresh_token_lifetime: Some(MAX_REFRESH_LIFETIME + 1),
            ..plain()
        };
        let out = |uri: &str| ClientLogin {
            post_logout_redirect_uris: vec![uri.to_owned()],
            ..plain()
        };
        let back = |uri: &str| ClientLogin {
            backchannel_logout_uri: Some(uri.to_owned()),
            ..plain()
        };
        assert_eq!(with(out("https://app.example/out")).validate(), Ok(()));
        for (reason, client) in [
            ("client_public_pkce", public(unpinned)),
            ("client_public_stateless", public(stateless)),
            ("client_id_token_alg", with(symmetric)),
            ("client_refresh_lifetime", with(eternal)),
            (
                "client_post_logout_uri",
                with(out("http://app.example/out")),
            ),
            (
                "client_post_logout_uri",
                with(out("https://app.example/out#f")),
            ),
            ("client_backchannel_uri", with(back("ftp://app.example"))),
            ("client_backchannel_uri", with(back("/back"))),
        ] {
            assert_eq!(client.validate().map_err(|e| e.reason), Err(reason));
        }
    }
}
