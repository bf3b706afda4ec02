//! The guard as a whole: cache, need and revocation together.

use super::*;
use signet_oauth::log::{Event, token_key, user_key};

struct Fixture {
    issuer: Issuer,
    keys: Arc<KeySet>,
    revoked: Arc<Revoked>,
    guard: Guard,
    text: String,
}

fn fixture() -> Fixture {
    let issuer = Issuer::new("k1", 1);
    let verifier = verifier(&issuer);
    let revoked = Arc::new(Revoked::default());
    Fixture {
        keys: Arc::clone(&verifier.keys),
        text: issuer.sign(&token().render_claims(ISSUER)),
        guard: Guard::new(verifier, Arc::clone(&revoked), 1 << 20),
        issuer,
        revoked,
    }
}

impl Fixture {
    fn check_at(&self, now: Timestamp) -> Result<(), Refusal> {
        let need = Need::audience(API);
        self.guard.check(&self.text, &need, now).map(drop)
    }

    /// Asks twice: the second answer comes from the cache and must be the same.
    fn check(&self) -> Result<(), Refusal> {
        let first = self.check_at(NOW);
        assert_eq!(self.check_at(NOW), first);
        first
    }
}

#[test]
fn principal_is_whom_the_token_names() {
    let fixture = fixture();
    let need = Need::audience(API).scopes(Scope::parse("read").unwrap());
    for _ in 0..2 {
        let principal = fixture.guard.check(&fixture.text, &need, NOW).unwrap();
        assert_eq!(principal.token(), &token());
    }
    assert_eq!(fixture.guard.cache.len(), 1);
}

#[test]
fn need_is_denied_unless_audience_and_scopes_match() {
    let fixture = fixture();
    let scopes = |text| Scope::parse(text).unwrap();
    for (need, expected) in [
        (Need::audience(API), Ok(())),
        (Need::any_audience(), Ok(())),
        (Need::audience(API).scopes(scopes("write read")), Ok(())),
        (Need::audience(""), Err(Refusal::Audience)),
        (
            Need::audience("https://api.example/"),
            Err(Refusal::Audience),
        ),
        (Need::audience(ISSUER), Err(Refusal::Audience)),
        (
            Need::audience(API).scopes(scopes("rea")),
            Err(Refusal::Scope),
        ),
        (
            Need::any_audience().scopes(scopes("read admin")),
            Err(Refusal::Scope),
        ),
    ] {
        let verdict = fixture.guard.check(&fixture.text, &need, NOW).map(drop);
        assert_eq!(verdict, expected, "{need:?}");
    }
}

#[test]
fn every_revocation_reaches_a_cached_token() {
    let ended = Err(Refusal::Dead("token_ended"));
    let client = |generation| Event::ClientChanged {
        id: ClientId::parse("app").unwrap(),
        generation,
    };
    let user = |generation| Event::UserChanged {
        key: user_key("alice"),
        generation,
    };
    let other_token = TokenId::new(Locator::new(NOW, 0, 0), [7; 16]);
    for (event, expected) in [
        (
            Event::TokenRevoked {
                key: token_key(token().id),
            },
            ended,
        ),
        (Event::FamilyEnded { key: [1; 16] }, ended),
        (Event::SessionEnded { key: [2; 16] }, ended),
        (client(4), Err(Refusal::Dead("token_client_generation"))),
        (user(6), Err(Refusal::Dead("token_user_generation"))),
        (client(2), Err(Refusal::Behind)),
        (user(4), Err(Refusal::Behind)),
        (client(3), Ok(())),
        (user(5), Ok(())),
        (
            Event::TokenRevoked {
                key: token_key(other_token),
            },
            Ok(()),
        ),
        (Event::FamilyEnded { key: [2; 16] }, Ok(())),
        (Event::SessionEnded { key: [1; 16] }, Ok(())),
        (Event::KeysChanged, Ok(())),
        (
            Event::ConsentChanged {
                key: user_key("alice"),
            },
            Ok(()),
        ),
        (Event::ClearAll, Ok(())),
    ] {
        let fixture = fixture();
        assert_eq!(fixture.check(), Ok(()));
        fixture.revoked.apply(&event, NOW.plus(300));
        assert_eq!(fixture.check(), expected, "{event:?}");
    }
}

#[test]
fn token_without_a_user_does_not_die_with_a_user_of_the_same_name() {
    let fixture = fixture();
    let own = AccessToken {
        subject: "app".into(),
        user_generation: None,
        ..token()
    };
    let text = fixture.issuer.sign(&own.render_claims(ISSUER));
    let key = user_key("app");
    fixture.revoked.generations.raise(key, 9, NOW.plus(300));
    let need = Need::audience(API);
    assert!(fixture.guard.check(&text, &need, NOW).is_ok());
}

#[test]
fn cached_token_expires_and_leaves() {
    let fixture = fixture();
    assert_eq!(fixture.check(), Ok(()));
    assert_eq!(fixture.check_at(NOW.plus(304)), Ok(()), "within the leeway");
    assert_eq!(fixture.guard.cache.len(), 1);
    assert_eq!(fixture.check_at(NOW.plus(305)), Err(Refusal::Expired));
    assert_eq!(fixture.guard.cache.len(), 0);
    assert_eq!(fixture.check_at(NOW.minus(6)), Err(Refusal::NotYetValid));
}

#[test]
fn key_that_is_withdrawn_verifies_nothing_cached_or_not() {
    let fixture = fixture();
    assert_eq!(fixture.check(), Ok(()));
    fixture.keys.replace(Issuer::new("k2", 2).keys());
    assert_eq!(fixture.check(), Err(Refusal::UnknownKey));
    fixture.keys.replace(fixture.issuer.keys());
    assert_eq!(fixture.check(), Ok(()));
}

#[test]
fn refused_tokens_are_not_cached() {
    let fixture = fixture();
    let need = Need::audience(API);
    let forged = Issuer::new("k1", 9).sign(&token().render_claims(ISSUER));
    for text in ["", "a.b.c", &forged, &"x".repeat(20_000)] {
        assert!(fixture.guard.check(text, &need, NOW).is_err());
    }
    assert!(fixture.guard.cache.is_empty());
}

#[test]
fn cache_stays_within_its_bytes() {
    struct Kilobyte;
    impl Weigh for Kilobyte {
        fn bytes(&self) -> usize {
            1024
        }
    }
    let cache = TokenCache::new(1 << 20);
    for n in 0..10_000 {
        cache.insert(TokenDigest::of(&n.to_string()), Arc::new(Kilobyte));
    }
    assert!((500..=1024).contains(&cache.len()), "{}", cache.len());
    cache.clear();
    assert!(cache.is_empty());
}
