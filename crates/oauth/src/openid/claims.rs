//! Claims about people: which scopes and which `claims` parameter ask for which (OIDC Core §5.4,
//! §5.5), and what they say.

use serde_json::{Map, Value};

use crate::error::Error;
use crate::jose;
use crate::scope::Scope;
use crate::user::{User, UserId};

/// Characters that a `claims` parameter may have.
const MAX_LEN: usize = 8 * 1024;
/// Values that it may ask for of one claim.
const MAX_VALUES: usize = 20;

/// A claim about a person that can be asked for (OIDC Core §5.1), and `roles` of our own
/// (RFC 9068 §2.2.3.1). The order is part of the form of codes and tokens: add at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    /// `name`
    Name,
    /// `given_name`
    GivenName,
    /// `family_name`
    FamilyName,
    /// `middle_name`
    MiddleName,
    /// `nickname`
    Nickname,
    /// `preferred_username`
    PreferredUsername,
    /// `profile`
    Profile,
    /// `picture`
    Picture,
    /// `website`
    Website,
    /// `gender`
    Gender,
    /// `birthdate`
    Birthdate,
    /// `zoneinfo`
    Zoneinfo,
    /// `locale`
    Locale,
    /// `updated_at`
    UpdatedAt,
    /// `email`
    Email,
    /// `email_verified`
    EmailVerified,
    /// `phone_number`
    PhoneNumber,
    /// `phone_number_verified`
    PhoneNumberVerified,
    /// `address`
    Address,
    /// `roles`
    Roles,
}

impl Claim {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::Name,
        Self::GivenName,
        Self::FamilyName,
        Self::MiddleName,
        Self::Nickname,
        Self::PreferredUsername,
        Self::Profile,
        Self::Picture,
        Self::Website,
        Self::Gender,
        Self::Birthdate,
        Self::Zoneinfo,
        Self::Locale,
        Self::UpdatedAt,
        Self::Email,
        Self::EmailVerified,
        Self::PhoneNumber,
        Self::PhoneNumberVerified,
        Self::Address,
        Self::Roles,
    ];

    /// The registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::GivenName => "given_name",
            Self::FamilyName => "family_name",
            Self::MiddleName => "middle_name",
            Self::Nickname => "nickname",
            Self::PreferredUsername => "preferred_username",
            Self::Profile => "profile",
            Self::Picture => "picture",
            Self::Website => "website",
            Self::Gender => "gender",
            Self::Birthdate => "birthdate",
            Self::Zoneinfo => "zoneinfo",
            Self::Locale => "locale",
            Self::UpdatedAt => "updated_at",
            Self::Email => "email",
            Self::EmailVerified => "email_verified",
            Self::PhoneNumber => "phone_number",
            Self::PhoneNumberVerified => "phone_number_verified",
            Self::Address => "address",
            Self::Roles => "roles",
        }
    }

    /// The claim of this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|claim| claim.as_str() == text)
    }

    /// The scope that asks for it (OIDC Core §5.4).
    pub const fn scope(self) -> &'static str {
        match self {
            Self::Email | Self::EmailVerified => "email",
            Self::PhoneNumber | Self::PhoneNumberVerified => "phone",
            Self::Address => "address",
            Self::Roles => "roles",
            _ => "profile",
        }
    }
}

/// The scopes that ask for claims.
pub const SCOPES: [&str; 5] = ["profile", "email", "address", "phone", "roles"];

/// A set of claims: four bytes, so that it fits into codes and tokens.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ClaimSet(u32);

impl ClaimSet {
    /// No claim at all.
    pub const EMPTY: Self = Self(0);
    const KNOWN: u32 = (1 << Claim::ALL.len()) - 1;

    /// The set of these bits; unknown ones are dropped.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits & Self::KNOWN)
    }

    /// The bits, to be kept.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The claims that a scope asks for.
    pub fn of_scope(scope: &Scope) -> Self {
        Claim::ALL
            .into_iter()
            .filter(|claim| scope.contains(claim.scope()))
            .collect()
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether this one is in it.
    pub const fn contains(self, claim: Claim) -> bool {
        self.0 & (1 << (claim as u32)) != 0
    }

    /// Those of either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that pass.
    #[must_use]
    pub fn filter(self, mut passes: impl FnMut(Claim) -> bool) -> Self {
        self.iter().filter(|claim| passes(*claim)).collect()
    }

    /// One by one.
    pub fn iter(self) -> impl Iterator<Item = Claim> {
        Claim::ALL
            .into_iter()
            .filter(move |claim| self.contains(*claim))
    }
}

impl FromIterator<Claim> for ClaimSet {
    fn from_iter<I: IntoIterator<Item = Claim>>(claims: I) -> Self {
        Self(
            claims
                .into_iter()
                .fold(0, |bits, claim| bits | 1 << (claim as u32)),
        )
    }
}

impl std::fmt::Debug for ClaimSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set()
            .entries(self.iter().map(Claim::as_str))
            .finish()
    }
}

/// The claims that the `claims` parameter asks for by name, by where they are to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClaimsRequest {
    /// In ID tokens.
    pub id_token: ClaimSet,
    /// In the answer of userinfo.
    pub userinfo: ClaimSet,
}

impl ClaimsRequest {
    /// The claims that pass, in either place.
    #[must_use]
    pub fn filter(self, mut passes: impl FnMut(Claim) -> bool) -> Self {
        Self {
            id_token: self.id_token.filter(&mut passes),
            userinfo: self.userinfo.filter(&mut passes),
        }
    }
}

/// All that a `claims` parameter says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimsParameter {
    /// What is to be told where.
    pub request: ClaimsRequest,
    /// The only user that will do (`sub` with a `value`).
    pub subject: Option<UserId>,
    /// The values of `acr` that were named.
    pub acr_values: Vec<String>,
    /// Whether one of them must be reached.
    pub acr_essential: bool,
}

impl ClaimsParameter {
    /// Reads the JSON of OIDC Core §5.5. Claims and members that are unknown are ignored; what
    /// has the wrong type is refused.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let malformed = || {
            Error::request(
                "claims is not a JSON object as OpenID Connect Core section 5.5 describes it",
                "claims_malformed",
            )
        };
        if text.len() > MAX_LEN {
            return Err(malformed());
        }
        let whole = jose::parse_object(text.as_bytes()).map_err(|_| malformed())?;
        let mut read = Self::default();
        read.request.userinfo = read.part(whole.get("userinfo")).ok_or_else(malformed)?;
        read.request.id_token = read.part(whole.get("id_token")).ok_or_else(malformed)?;
        Ok(read)
    }

    fn part(&mut self, part: Option<&Value>) -> Option<ClaimSet> {
        let members = match part {
            None | Some(Value::Null) => return Some(ClaimSet::EMPTY),
            Some(Value::Object(members)) => members,
            Some(_) => return None,
        };
        let mut set = ClaimSet::EMPTY;
        for (name, wish) in members {
            let wish = Wish::read(wish)?;
            match name.as_str() {
                "sub" => self.subject(&wish)?,
                "acr" => self.acr(wish),
                _ => {
                    let known: ClaimSet = Claim::parse(name).into_iter().collect();
                    set = set.union(known);
                }
            }
        }
        Some(set)
    }

    fn subject(&mut self, wish: &Wish) -> Option<()> {
        let [subject] = &*wish.values else {
            // Several subjects are no single user; none is no wish.
            return wish.values.is_empty().then_some(());
        };
        let subject = UserId::parse(subject)?;
        if self.subject.as_ref().is_some_and(|known| *known != subject) {
            return None;
        }
        self.subject = Some(subject);
        Some(())
    }

    fn acr(&mut self, wish: Wish) {
        self.acr_essential |= wish.essential && !wish.values.is_empty();
        for value in wish.values {
            if !self.acr_values.contains(&value) {
                self.acr_values.push(value);
            }
        }
    }
}

/// What is asked about one claim: `null`, or `essential`, `value`, `values`.
#[derive(Default)]
struct Wish {
    essential: bool,
    values: Vec<String>,
}

impl Wish {
    fn read(value: &Value) -> Option<Self> {
        let members = match value {
            Value::Null => return Some(Self::default()),
            Value::Object(members) => members,
            _ => return None,
        };
        let essential = members
            .get("essential")
            .map_or(Some(false), Value::as_bool)?;
        let listed = match members.get("values") {
            None => &[][..],
            Some(values) => values.as_array()?,
        };
        if listed.len() > MAX_VALUES {
            return None;
        }
        // Values that are not text are those of claims whose value nobody can ask for here.
        let values = members.get("value").into_iter().chain(listed);
        let values = values.filter_map(Value::as_str).map(str::to_owned);
        Some(Self {
            essential,
            values: values.collect(),
        })
    }
}

/// What is known of these claims about a user. What is not known is absent, never empty.
pub fn about(user: &User, set: ClaimSet) -> Map<String, Value> {
    let mut out = Map::new();
    for claim in set.iter() {
        if let Some(value) = value(user, claim) {
            out.insert(claim.as_str().to_owned(), value);
        }
    }
    out
}

fn value(user: &User, claim: Claim) -> Option<Value> {
    let claims = &user.claims;
    let text = |text: &Option<String>| text.clone().map(Value::String);
    match claim {
        Claim::Name => text(&claims.name),
        Claim::GivenName => text(&claims.given_name),
        Claim::FamilyName => text(&claims.family_name),
        Claim::MiddleName => text(&claims.middle_name),
        Claim::Nickname => text(&claims.nickname),
        Claim::PreferredUsername => {
            let name = claims.preferred_username.as_deref();
            Some(name.unwrap_or(user.username.as_str()).into())
        }
        Claim::Profile => text(&claims.profile),
        Claim::Picture => text(&claims.picture),
        Claim::Website => text(&claims.website),
        Claim::Gender => text(&claims.gender),
        Claim::Birthdate => text(&claims.birthdate),
        Claim::Zoneinfo => text(&claims.zoneinfo),
        Claim::Locale => text(&claims.locale),
        Claim::UpdatedAt => Some(user.updated_at.0.into()),
        Claim::Email => text(&claims.email),
        Claim::EmailVerified => claims.email_verified.map(Value::Bool),
        Claim::PhoneNumber => text(&claims.phone_number),
        Claim::PhoneNumberVerified => claims.phone_number_verified.map(Value::Bool),
        Claim::Address => {
            let members = claims.address.as_ref()?.members();
            let members = members.map(|(name, text)| (name.to_owned(), text.into()));
            Some(Value::Object(members.collect()))
        }
        Claim::Roles => (!user.roles.is_empty()).then(|| user.roles.clone().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::{Address, UserClaims, example};
    use proptest::prelude::*;

    fn jane() -> User {
        User {
            roles: vec!["admin".into()],
            claims: UserClaims {
                name: Some("Jane Doe".into()),
                email: Some("jane@example.com".into()),
                email_verified: Some(true),
                phone_number: Some("+1 555".into()),
                address: Some(Address {
                    country: Some("CH".into()),
                    ..Address::default()
                }),
                ..UserClaims::default()
            },
            ..example()
        }
    }

    #[test]
    fn a_scope_asks_for_its_claims_and_no_others() {
        for (scope, expected) in [
            ("openid", r"{}"),
            (
                "openid email",
                r#"{"email":"jane@example.com","email_verified":true}"#,
            ),
            ("phone", r#"{"phone_number":"+1 555"}"#),
            ("address", r#"{"address":{"country":"CH"}}"#),
            ("roles", r#"{"roles":["admin"]}"#),
            (
                "profile",
                r#"{"name":"Jane Doe","preferred_username":"jane","updated_at":900}"#,
            ),
        ] {
            let set = ClaimSet::of_scope(&Scope::parse(scope).unwrap());
            let expected: Value = serde_json::from_str(expected).unwrap();
            assert_eq!(Value::Object(about(&jane(), set)), expected, "{scope}");
        }
    }

    #[test]
    fn every_claim_belongs_to_a_scope_that_is_listed() {
        for claim in Claim::ALL {
            assert!(SCOPES.contains(&claim.scope()));
            assert_eq!(Claim::parse(claim.as_str()), Some(claim));
        }
    }

    #[test]
    fn the_claims_parameter_names_claims_by_where_they_go() {
        let read = ClaimsParameter::parse(
            r#"{"userinfo":{"name":{"essential":true},"unknown":null,"email":null},
                "id_token":{"auth_time":{"essential":true},"nickname":null,
                            "acr":{"essential":true,"values":["a","b"]},
                            "sub":{"value":"usr_jane"}},"other":7}"#,
        );
        let read = read.unwrap();
        let userinfo: Vec<Claim> = read.request.userinfo.iter().collect();
        assert_eq!(userinfo, [Claim::Name, Claim::Email]);
        assert!(read.request.id_token.contains(Claim::Nickname));
        assert_eq!(read.subject, UserId::parse("usr_jane"));
        assert_eq!((read.acr_values.len(), read.acr_essential), (2, true));
    }

    #[test]
    fn a_claims_parameter_of_the_wrong_shape_is_refused() {
        for bad in [
            "",
            "[]",
            "name",
            r#"{"userinfo":[]}"#,
            r#"{"userinfo":{"name":true}}"#,
            r#"{"userinfo":{"name":{"essential":"yes"}}}"#,
            r#"{"id_token":{"acr":{"values":"a"}}}"#,
            r#"{"id_token":{"sub":{"value":"a b"}}}"#,
            r#"{"id_token":{"sub":{"values":["a","b"]}}}"#,
            r#"{"id_token":{"sub":{"value":"a"}},"userinfo":{"sub":{"value":"b"}}}"#,
            r#"{"userinfo":{},"userinfo":{}}"#,
        ] {
            let refused = ClaimsParameter::parse(bad).map_err(|error| error.reason);
            assert_eq!(refused, Err("claims_malformed"), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn sets_survive_their_bits(bits: u32) {
            let set = ClaimSet::from_bits(bits);
            prop_assert_eq!(set.iter().collect::<ClaimSet>(), set);
            prop_assert_eq!(ClaimSet::from_bits(set.bits()), set);
        }

        #[test]
        fn no_claims_parameter_makes_it_panic(text in "\\PC{0,80}") {
            drop(ClaimsParameter::parse(&text));
        }
    }
}
