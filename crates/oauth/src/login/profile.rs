//! The standard claims about a person (OIDC Core §5.1), as they are kept.

use crate::client::is_resource;
use crate::error::Error;

/// Characters that one claim may have.
const MAX_TEXT: usize = 2048;

/// What is known about a person; every claim may be unknown. `sub` and `updated_at` are elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserClaims {
    /// `name`: the full name as it is shown.
    pub name: Option<String>,
    /// `given_name`
    pub given_name: Option<String>,
    /// `family_name`
    pub family_name: Option<String>,
    /// `middle_name`
    pub middle_name: Option<String>,
    /// `nickname`
    pub nickname: Option<String>,
    /// `preferred_username`; the name at login where it is absent.
    pub preferred_username: Option<String>,
    /// `profile`: a URL.
    pub profile: Option<String>,
    /// `picture`: a URL.
    pub picture: Option<String>,
    /// `website`: a URL.
    pub website: Option<String>,
    /// `email`
    pub email: Option<String>,
    /// `email_verified`
    pub email_verified: Option<bool>,
    /// `gender`
    pub gender: Option<String>,
    /// `birthdate`: `YYYY-MM-DD`, `0000-MM-DD` or `YYYY`.
    pub birthdate: Option<String>,
    /// `zoneinfo`: a name of the time zone database.
    pub zoneinfo: Option<String>,
    /// `locale`: a BCP 47 tag.
    pub locale: Option<String>,
    /// `phone_number`
    pub phone_number: Option<String>,
    /// `phone_number_verified`
    pub phone_number_verified: Option<bool>,
    /// `address`
    pub address: Option<Address>,
}

/// A postal address (OIDC Core §5.1.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// `formatted`: as it stands on a letter; the only claim with line breaks.
    pub formatted: Option<String>,
    /// `street_address`
    pub street_address: Option<String>,
    /// `locality`
    pub locality: Option<String>,
    /// `region`
    pub region: Option<String>,
    /// `postal_code`
    pub postal_code: Option<String>,
    /// `country`
    pub country: Option<String>,
}

impl Address {
    /// The members that are known, by their names.
    pub fn members(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [
            ("formatted", &self.formatted),
            ("street_address", &self.street_address),
            ("locality", &self.locality),
            ("region", &self.region),
            ("postal_code", &self.postal_code),
            ("country", &self.country),
        ]
        .into_iter()
        .filter_map(|(name, text)| Some((name, text.as_deref()?)))
    }
}

impl UserClaims {
    /// The claims that are text and known, by their names.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [
            ("name", &self.name),
            ("given_name", &self.given_name),
            ("family_name", &self.family_name),
            ("middle_name", &self.middle_name),
            ("nickname", &self.nickname),
            ("preferred_username", &self.preferred_username),
            ("profile", &self.profile),
            ("picture", &self.picture),
            ("website", &self.website),
            ("email", &self.email),
            ("gender", &self.gender),
            ("birthdate", &self.birthdate),
            ("zoneinfo", &self.zoneinfo),
            ("locale", &self.locale),
            ("phone_number", &self.phone_number),
        ]
        .into_iter()
        .filter_map(|(name, text)| Some((name, text.as_deref()?)))
    }

    /// Whether every claim is what its name promises. Empty texts are refused: a claim that is
    /// not known is absent.
    pub fn validate(&self) -> Result<(), Error> {
        for (name, text) in self.texts() {
            let sound = is_text(text) && !text.contains(char::is_control) && is_kind(name, text);
            if !sound {
                return Err(refuse(name));
            }
        }
        let Some(address) = &self.address else {
            return Ok(());
        };
        let sound = |(name, text): (&str, &str)| {
            let line_break = |c: char| name == "formatted" && matches!(c, '\n' | '\r');
            is_text(text) && !text.contains(|c: char| c.is_control() && !line_break(c))
        };
        if address.members().next().is_none() || !address.members().all(sound) {
            return Err(refuse("address"));
        }
        Ok(())
    }
}

fn refuse(name: &'static str) -> Error {
    Error::request(
        format!(
            "the claim {name} is not acceptable: leave it out where it is not known, and see \
             OpenID Connect Core section 5.1 for its form"
        ),
        "user_claim",
    )
}

fn is_text(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= MAX_TEXT
}

fn is_kind(name: &str, text: &str) -> bool {
    match name {
        "profile" | "picture" | "website" => {
            is_resource(text) && (text.starts_with("https://") || text.starts_with("http://"))
        }
        "email" => {
            let parts = text.rsplit_once('@');
            parts.is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty())
                && !text.contains(char::is_whitespace)
        }
        "birthdate" => is_birthdate(text),
        "locale" => text
            .split(['-', '_'])
            .all(|part| (1..=8).contains(&part.len()) && is_alphanumeric(part)),
        "zoneinfo" => text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"/_+-".contains(&b)),
        _ => true,
    }
}

fn is_alphanumeric(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// `YYYY`, or `YYYY-MM-DD` where the year may be `0000` for one that is not told.
fn is_birthdate(text: &str) -> bool {
    let number = |part: &str, length: usize| -> Option<u32> {
        let fits = part.len() == length && part.bytes().all(|b| b.is_ascii_digit());
        part.parse().ok().filter(|_| fits)
    };
    let parts: Vec<&str> = text.split('-').collect();
    match *parts {
        [year] => number(year, 4).is_some_and(|year| year > 0),
        [year, month, day] => {
            number(year, 4).is_some()
                && number(month, 2).is_some_and(|month| (1..=12).contains(&month))
                && number(day, 2).is_some_and(|day| (1..=31).contains(&day))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, text: &str) -> UserClaims {
        let value = Some(text.to_owned());
        let mut claims = UserClaims::default();
        let field = match name {
            "name" => &mut claims.name,
            "email" => &mut claims.email,
            "picture" => &mut claims.picture,
            "birthdate" => &mut claims.birthdate,
            "zoneinfo" => &mut claims.zoneinfo,
            "locale" => &mut claims.locale,
            other => panic!("{other}"),
        };
        *field = value;
        claims
    }

    #[test]
    fn claims_are_what_their_names_promise() {
        assert_eq!(UserClaims::default().validate(), Ok(()));
        for (name, good) in [
            ("name", "Jane Döe"),
            ("email", "jane@example.com"),
            ("picture", "https://example.com/jane.png"),
            ("birthdate", "1980-02-29"),
            ("birthdate", "0000-02-29"),
            ("birthdate", "1980"),
            ("zoneinfo", "Europe/Paris"),
            ("zoneinfo", "Etc/GMT+1"),
            ("locale", "de-CH"),
            ("locale", "en_US"),
        ] {
            assert_eq!(with(name, good).validate(), Ok(()), "{name} {good}");
        }
        for (name, bad) in [
            ("name", ""),
            ("name", "  "),
            ("name", "a\nb"),
            ("name", &"x".repeat(2049)),
            ("email", "jane"),
            ("email", "@example.com"),
            ("email", "ja ne@example.com"),
            ("picture", "jane.png"),
            ("picture", "javascript:alert(1)"),
            ("birthdate", "29.2.1980"),
            ("birthdate", "1980-13-01"),
            ("birthdate", "0000"),
            ("zoneinfo", "Europe/ Paris"),
            ("locale", "de-"),
        ] {
            assert!(with(name, bad).validate().is_err(), "{name} {bad:?}");
        }
    }

    #[test]
    fn an_address_may_have_lines_but_not_be_empty() {
        let with = |formatted: Option<&str>| UserClaims {
            address: Some(Address {
                formatted: formatted.map(str::to_owned),
                ..Address::default()
            }),
            ..UserClaims::default()
        };
        assert_eq!(with(Some("Main Street 1\nSpringfield")).validate(), Ok(()));
        assert!(with(None).validate().is_err());
        assert!(with(Some("a\0b")).validate().is_err());
    }
}
