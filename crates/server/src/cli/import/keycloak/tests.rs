use super::*;

fn mapped(client: &Value) -> (Value, Vec<String>) {
    match map(client.as_object().unwrap()) {
        Ok(Mapped::Client(draft)) => (draft.body.into(), draft.notes),
        other => panic!("{other:?}"),
    }
}

fn left_out(client: &Value) -> bool {
    matches!(map(client.as_object().unwrap()), Ok(Mapped::LeaveOut(_)))
}

#[test]
fn a_service_comes_along_with_its_secret_in_clear() {
    let service = json!({
        "id": "0c1d", "clientId": "billing", "name": "Billing", "description": "Sends bills",
        "enabled": true, "clientAuthenticatorType": "client-secret", "secret": "fV2xo7",
        "redirectUris": [], "webOrigins": [], "bearerOnly": false, "consentRequired": false,
        "standardFlowEnabled": false, "implicitFlowEnabled": false,
        "directAccessGrantsEnabled": false, "serviceAccountsEnabled": true,
        "publicClient": false, "protocol": "openid-connect",
        "attributes": {
            "access.token.lifespan": "300", "client.secret.creation.time": "1788342197",
            "access.token.signed.response.alg": "ES256", "realm_client": "false",
            "backchannel.logout.session.required": "true", "saml.encrypt": "false"
        },
        "protocolMappers": [{"protocolMapper": "oidc-audience-mapper",
            "config": {"included.custom.audience": "https://api.example"}}],
        "defaultClientScopes": ["web-origins", "acr", "roles", "profile", "basic", "email"],
        "optionalClientScopes": ["offline_access"]
    });
    let (body, notes) = mapped(&service);
    assert_eq!(
        body,
        json!({
            "client_name": "Billing", "audience": ["https://api.example"], "token_endpoint_auth_method": "client_secret_basic",
            "client_secret": "fV2xo7", "grant_types": ["client_credentials"],
            "scope": "profile email offline_access", "access_token": "jwt",
            "access_token_lifetime": 300, "access_token_signed_response_alg": "ES256",
            "metadata": {"keycloak": {
                "description": "Sends bills",
                "protocolMappers": [{"protocolMapper": "oidc-audience-mapper",
                    "config": {"included.custom.audience": "https://api.example"}}],
                "attributes": {"backchannel.logout.session.required": "true"}
            }}
        })
    );
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn an_application_comes_along_with_its_uris() {
    let application = json!({
        "clientId": "shop", "name": "${client_shop}", "enabled": false, "publicClient": true,
        "rootUrl": "https://shop.example/", "baseUrl": "/home", "secret": "**********",
        "redirectUris": ["/cb", "https://other.example/*", "*", "com.example.app:/cb"],
        "webOrigins": ["+", "https://cdn.example/"], "standardFlowEnabled": true,
        "attributes": {"oauth2.device.authorization.grant.enabled": "true",
                       "access.token.signed.response.alg": "RS512"},
        "protocolMappers": [{"name": "m"}]
    });
    let (body, notes) = mapped(&application);
    assert_eq!(
        body,
        json!({
            "enabled": false, "client_uri": "https://shop.example/", "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
            "scope": "openid", "access_token": "jwt",
            "redirect_uris":
                ["https://shop.example/cb", "https://other.example/*", "com.example.app:/cb"],
            "allowed_cors_origins":
                ["https://cdn.example", "https://other.example", "https://shop.example"],
            "metadata": {"keycloak": {
                "rootUrl": "https://shop.example/", "protocolMappers": [{"name": "m"}]
            }}
        })
    );
    assert_eq!(
        notes.len(),
        5,
        "device grant, `*`, pattern, RS512, mappers: {notes:?}"
    );
}

#[test]
fn keys_come_along_where_they_are_keys() {
    let base = |attributes: Value| {
        json!({"clientId": "a", "clientAuthenticatorType": "client-jwt",
               "serviceAccountsEnabled": true, "attributes": attributes})
    };
    let (by_url, _) = mapped(&base(json!({
        "use.jwks.url": "true", "jwks.url": "https://a.example/jwks",
        "token.endpoint.auth.signing.alg": "ES256"
    })));
    assert_eq!(by_url["jwks_uri"], "https://a.example/jwks");
    assert_eq!(by_url["token_endpoint_auth_signing_alg"], "ES256");
    let (by_value, _) = mapped(&base(json!({
        "use.jwks.url": "false", "jwks.url": "https://a.example/jwks",
        "use.jwks.string": "true", "jwks.string": "{\"keys\":[]}"
    })));
    assert_eq!(by_value["jwks"], json!({"keys": []}));
    assert!(by_value.get("jwks_uri").is_none());
    let certificate = base(json!({"jwt.credential.certificate": "MIIC…"}));
    assert!(
        map(certificate.as_object().unwrap())
            .unwrap_err()
            .contains("certificate")
    );
    let tls = json!({"clientId": "a", "clientAuthenticatorType": "client-x509"});
    assert!(
        map(tls.as_object().unwrap())
            .unwrap_err()
            .contains("client-x509")
    );
}

#[test]
fn a_secret_that_is_not_there_is_not_taken() {
    for secret in ["**********", "${vault.shop}", ""] {
        let client = json!({"clientId": "a", "secret": secret, "serviceAccountsEnabled": true});
        assert!(mapped(&client).0.get("client_secret").is_none(), "{secret}");
    }
}

#[test]
fn what_has_no_business_here_is_left_out() {
    assert!(left_out(
        &json!({"clientId": "admin-cli", "publicClient": true})
    ));
    assert!(left_out(
        &json!({"clientId": "shop-realm", "bearerOnly": true})
    ));
    assert!(left_out(
        &json!({"clientId": "a", "protocol": "saml", "secret": "s"})
    ));
    assert!(left_out(&json!({"clientId": "a", "bearerOnly": true})));
    let introspecting = json!({"clientId": "a", "bearerOnly": true, "secret": "s",
                               "standardFlowEnabled": true});
    assert_eq!(mapped(&introspecting).0["grant_types"], json!([]));
}
