//! Clients.

use signet::store::{Created, Deleted, Page, StateRow, Store, Updated};
use signet_oauth::authorize::ResponseType;
use signet_oauth::client::{
    AuthMethod, Client, ClientLogin, ClientMetadata, ClientSecret, GrantType, Persistence,
    RefreshPolicy, TokenForm, TokenPolicy,
};
use signet_oauth::jose::Algorithm;
use signet_oauth::log::{Event, Position};
use signet_oauth::scope::ScopePatterns;
use signet_oauth::secret::Digest;
use signet_oauth::time::Timestamp;

use super::endings::state_of;
use super::place::{NOW, Place, client, client_id, key};

pub(super) async fn create(store: &Store, client: Client) -> Client {
    match store.create_client(client, key(1)).await.unwrap() {
        Created::Done { client, .. } => *client,
        Created::Exists => panic!("the id is taken"),
    }
}

fn login() -> ClientLogin {
    ClientLogin {
        post_logout_redirect_uris: vec!["https://client.example/out".to_owned()],
        backchannel_logout_uri: Some("https://client.example/back".to_owned()),
        backchannel_logout_session_required: true,
        id_token_alg: Some(Algorithm::Es256),
        require_pushed_requests: true,
        require_signed_request_object: true,
        default_max_age: Some(3600),
        require_auth_time: true,
        skip_consent: true,
        require_pkce: Some(true),
        allow_plain_pkce: true,
        refresh_token_lifetime: Some(86_400),
        refresh_token_policy: RefreshPolicy::Stateless,
    }
}

fn full(id: &str) -> Client {
    let some = |text: &str| Some(text.to_owned());
    let list = |text: &str| vec![text.to_owned(), format!("{text}2")];
    let policy = |form, lifetime| TokenPolicy {
        form,
        persistence: Persistence::Persisted,
        lifetime,
    };
    Client {
        id: client_id(id),
        generation: 7,
        version: 1,
        enabled: false,
        secret: ClientSecret::Sealed(vec![0, 1, 255]),
        secret_expires_at: Some(Timestamp(5)),
        auth_method: AuthMethod::ClientSecretJwt,
        auth_signing_alg: Some(Algorithm::Hs256),
        grants: GrantType::ALL.to_vec(),
        scope: ScopePatterns::parse("a b_*").unwrap(),
        audience: list("https://api.example/é"),
        jwks: some("{\"keys\":[]}"),
        jwks_uri: some("https://client.example/jwks"),
        tokens: policy(TokenForm::Jwt, Some(60)),
        grant_tokens: vec![(GrantType::RefreshToken, policy(TokenForm::Opaque, None))],
        access_token_alg: Some(Algorithm::Ps256),
        reuse_live_token: true,
        introspection_alg: Some(Algorithm::EdDsa),
        login: login(),
        metadata: ClientMetadata {
            name: some("Näme"),
            uri: some("https://client.example"),
            logo_uri: some("https://client.example/logo"),
            policy_uri: some("https://client.example/policy"),
            tos_uri: some("https://client.example/tos"),
            owner: some("me"),
            contacts: list("a@b"),
            redirect_uris: list("https://client.example/cb"),
            response_types: ResponseType::ALL.to_vec(),
            request_uris: list("https://client.example/req"),
            sector_identifier_uri: some("https://client.example/sector"),
            subject_type: some("pairwise"),
            request_object_signing_alg: some("ES256"),
            userinfo_signed_response_alg: some("RS256"),
            allowed_cors_origins: list("https://client.example"),
            extra: some("{\"a\":1}"),
        },
        created_at: Timestamp(1),
        updated_at: Timestamp(2),
    }
}

pub(super) async fn every_field_of_a_client_survives(place: Place) {
    let store = place.open();
    let digest = ClientSecret::Digest(Digest([9; 32]));
    let written = [
        full("full"),
        client("plain"),
        Client {
            secret: digest,
            ..client("digest")
        },
        Client {
            secret: ClientSecret::None,
            ..client("public")
        },
    ];
    for client in &written {
        assert_eq!(create(&store, client.clone()).await, *client);
    }
    let store = place.reopen(store).await;
    for client in written {
        let found = store.find_client(&client.id).await.unwrap();
        assert_eq!(found.value, Some(client));
        assert_eq!(found.head, Position(4));
    }
    let missing = store.find_client(&client_id("nobody")).await.unwrap();
    assert_eq!((missing.value, missing.head), (None, Position(4)));
}

pub(super) async fn an_id_is_taken_once(place: Place) {
    let store = place.open();
    create(&store, client("app")).await;
    let again = store.create_client(client("app"), key(2)).await.unwrap();
    assert_eq!(again, Created::Exists);
}

pub(super) async fn the_same_attempt_finds_what_it_created(place: Place) {
    let store = place.open();
    let first = create(&store, client("app")).await;
    assert_eq!(create(&store, client("app")).await, first);
}

pub(super) async fn an_update_names_the_version_that_it_read(place: Place) {
    let store = place.open();
    let mut app = create(&store, client("app")).await;
    app.metadata.name = Some("new".to_owned());
    app.updated_at = Timestamp(NOW.0 + 1);
    let Updated::Done {
        client: updated,
        row,
    } = store
        .update_client(app.clone(), 1, false, NOW)
        .await
        .unwrap()
    else {
        panic!("not updated");
    };
    assert_eq!((updated.version, updated.generation), (2, 1));
    assert_eq!(
        row.event,
        Event::ClientChanged {
            id: client_id("app"),
            generation: 1
        }
    );
    let found = store.find_client(&app.id).await.unwrap();
    assert_eq!(found.value.as_ref(), Some(&*updated));
    assert_eq!(found.head, row.position);
    let stale = store
        .update_client(app.clone(), 1, false, NOW)
        .await
        .unwrap();
    assert_eq!(stale, Updated::Stale);
    let missing = store.update_client(client("nobody"), 1, false, NOW).await;
    assert_eq!(missing.unwrap(), Updated::Missing);
}

pub(super) async fn a_change_that_ends_tokens_raises_the_generation(place: Place) {
    let store = place.open();
    let app = create(&store, client("app")).await;
    let until = NOW.plus(300);
    let Updated::Done {
        client: updated,
        row,
    } = store
        .update_client(app.clone(), 1, true, until)
        .await
        .unwrap()
    else {
        panic!("not updated");
    };
    assert_eq!((updated.version, updated.generation), (2, 2));
    assert_eq!(row.until, until);
    let (head, state) = state_of(&store).await;
    assert_eq!(head, row.position);
    assert_eq!(
        state,
        [StateRow::ClientGeneration {
            id: app.id,
            generation: 2,
            until
        }]
    );
}

pub(super) async fn a_client_that_comes_back_has_a_higher_generation(place: Place) {
    let store = place.open();
    let app = create(&store, client("app")).await;
    let Deleted::Done { row } = store.delete_client(&app.id, None, NOW).await.unwrap() else {
        panic!("not deleted");
    };
    assert_eq!(
        row.event,
        Event::ClientChanged {
            id: app.id.clone(),
            generation: 2
        }
    );
    assert_eq!(store.find_client(&app.id).await.unwrap().value, None);
    let again = store.delete_client(&app.id, None, NOW).await.unwrap();
    assert_eq!(again, Deleted::Missing);
    let back = create(&store, client("app")).await;
    assert_eq!((back.version, back.generation), (1, 3));
}

pub(super) async fn lists_are_pages_by_id(place: Place) {
    let store = place.open();
    for id in ["b", "a", "B", "c", "Z:1"] {
        create(&store, client(id)).await;
    }
    let page = |after: Option<&str>, offset, limit| Page {
        after: after.map(client_id),
        offset,
        limit,
        ..Page::default()
    };
    for (page, expected) in [
        (page(None, 0, 3), &["B", "Z:1", "a"][..]),
        (page(Some("a"), 0, 3), &["b", "c"]),
        (page(None, 3, 1), &["b"]),
        (page(Some("c"), 0, 3), &[]),
    ] {
        let listed = store.list_clients(page.clone()).await.unwrap();
        let ids: Vec<&str> = listed.iter().map(|client| client.id.as_str()).collect();
        assert_eq!(ids, expected, "{page:?}");
    }
}

pub(super) async fn lists_can_be_filtered(place: Place) {
    let store = place.open();
    for (id, name, owner) in [
        ("a", Some("x"), Some("me")),
        ("b", Some("x"), Some("you")),
        ("c", None, Some("me")),
        ("d", None, None),
    ] {
        let mut client = client(id);
        client.metadata.name = name.map(str::to_owned);
        client.metadata.owner = owner.map(str::to_owned);
        create(&store, client).await;
    }
    for (name, owner, expected) in [
        (Some("x"), None, &["a", "b"][..]),
        (None, Some("me"), &["a", "c"]),
        (Some("x"), Some("me"), &["a"]),
        (Some("X"), None, &[]),
    ] {
        let page = Page {
            limit: 10,
            name: name.map(str::to_owned),
            owner: owner.map(str::to_owned),
            ..Page::default()
        };
        let listed = store.list_clients(page).await.unwrap();
        let ids: Vec<&str> = listed.iter().map(|client| client.id.as_str()).collect();
        assert_eq!(ids, expected, "{name:?} {owner:?}");
    }
}
