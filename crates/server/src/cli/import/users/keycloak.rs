//! Users of a realm export of Keycloak, with the hashes of their passwords.

use serde_json::{Map, Value, json};

use super::User;

/// Attributes that are standard claims under another name, or under the same.
const CLAIMS: [(&str, &str); 12] = [
    ("phoneNumber", "phone_number"),
    ("phone_number", "phone_number"),
    ("locale", "locale"),
    ("nickname", "nickname"),
    ("middleName", "middle_name"),
    ("profile", "profile"),
    ("picture", "picture"),
    ("website", "website"),
    ("gender", "gender"),
    ("birthdate", "birthdate"),
    ("zoneinfo", "zoneinfo"),
    ("preferred_username", "preferred_username"),
];

/// Whether it is Keycloak's: nobody else has these members.
pub(super) fn is(user: &Map<String, Value>) -> bool {
    ["enabled", "credentials", "createdTimestamp", "firstName"]
        .iter()
        .any(|name| user.contains_key(*name))
}

/// Maps a user.
pub(super) fn map(user: &Map<String, Value>) -> Result<User, String> {
    let text = |name: &str| {
        let text = user.get(name).and_then(Value::as_str);
        text.filter(|text| !text.trim().is_empty())
    };
    let name = text("username").ok_or("it has no username")?;
    if text("serviceAccountClientId").is_some() {
        let why = "it stands for a client, which is its own subject here";
        return Ok(User::LeaveOut(name.to_owned(), why));
    }
    let mut body = Map::new();
    let mut notes = Vec::new();
    body.insert("username".to_owned(), name.into());
    for (theirs, ours) in [
        ("id", "sub"),
        ("email", "email"),
        ("firstName", "given_name"),
        ("lastName", "family_name"),
    ] {
        if let Some(text) = text(theirs) {
            body.insert(ours.to_owned(), text.into());
        }
    }
    let names = [text("firstName"), text("lastName")];
    let full: Vec<_> = names.into_iter().flatten().collect();
    if !full.is_empty() {
        body.insert("name".to_owned(), full.join(" ").into());
    }
    if let (Some(verified), Some(_)) = (user.get("emailVerified"), text("email")) {
        body.insert("email_verified".to_owned(), verified.clone());
    }
    if user.get("enabled") == Some(&Value::Bool(false)) {
        body.insert("locked".to_owned(), true.into());
    }
    if let Some(roles) = user.get("realmRoles").filter(|roles| roles.is_array()) {
        body.insert("roles".to_owned(), roles.clone());
    }
    attributes(user, &mut body);
    match password(user) {
        Ok(Some(hash)) => drop(body.insert("password_hash".to_owned(), hash.into())),
        Ok(None) => notes.push("it comes without a password".to_owned()),
        Err(why) => notes.push(format!("{why}: it needs a new password")),
    }
    Ok(User::Create(body, notes))
}

fn attributes(user: &Map<String, Value>, body: &mut Map<String, Value>) {
    let Some(attributes) = user.get("attributes").and_then(Value::as_object) else {
        return;
    };
    for (theirs, ours) in CLAIMS {
        let value = attributes.get(theirs).map(first).and_then(Value::as_str);
        if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
            body.insert(ours.to_owned(), value.into());
        }
    }
}

/// Keycloak writes most values as a list of one.
fn first(value: &Value) -> &Value {
    value.get(0).unwrap_or(value)
}

/// The hash of the password in the textual form that the server takes; docs/hashes.md says how it
/// comes about.
fn password(user: &Map<String, Value>) -> Result<Option<String>, String> {
    let credentials = user.get("credentials").and_then(Value::as_array);
    let is_password = |one: &&Value| one.get("type") == Some(&json!("password"));
    let Some(found) = credentials.into_iter().flatten().find(is_password) else {
        return Ok(None);
    };
    let part = |name: &str| -> Result<Value, String> {
        let text = found.get(name).and_then(Value::as_str);
        let text = text.ok_or_else(|| format!("its password has no {name}"))?;
        serde_json::from_str(text).map_err(|fault| format!("{name} of its password: {fault}"))
    };
    let (how, what) = (part("credentialData")?, part("secretData")?);
    let member = |of: &Value, name: &str| {
        let member = of.get(name).map(first).and_then(Value::as_str);
        member.map(str::to_owned).unwrap_or_default()
    };
    let (salt, value) = (member(&what, "salt"), member(&what, "value"));
    let rounds = how.get("hashIterations").and_then(Value::as_u64);
    let rounds = rounds.unwrap_or_default();
    match member(&how, "algorithm").as_str() {
        algorithm @ ("pbkdf2-sha256" | "pbkdf2-sha512") => {
            Ok(Some(format!("${algorithm}${rounds}${salt}${value}")))
        }
        "argon2" => {
            let more = how.get("additionalParameters").unwrap_or(&Value::Null);
            let version = if member(more, "version") == "1.0" {
                16
            } else {
                19
            };
            let (kind, memory) = (member(more, "type"), member(more, "memory"));
            let lanes = member(more, "parallelism");
            let costs = format!("m={memory},t={rounds},p={lanes}");
            Ok(Some(format!(
                "$argon2{kind}$v={version}${costs}${salt}${value}"
            )))
        }
        "bcrypt" => Ok(Some(value)),
        other => Err(format!("the hash {other:?} of its password is not taken")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(user: &Value) -> (Value, Vec<String>) {
        match map(user.as_object().unwrap()) {
            Ok(User::Create(body, notes)) => (body.into(), notes),
            other => panic!("{other:?}"),
        }
    }

    fn credential(how: &Value) -> Value {
        let what = json!({"value": "dmFsdWU=", "salt": "c2FsdA=="});
        json!([{"type": "otp"}, {
            "type": "password", "secretData": what.to_string(), "credentialData": how.to_string(),
        }])
    }

    #[test]
    fn a_user_of_a_realm_comes_with_claims_roles_and_password() {
        let how = json!({"hashIterations": 27500, "algorithm": "pbkdf2-sha256"});
        let user = json!({
            "id": "4f3c", "username": "jane", "enabled": false, "email": "jane@example.com",
            "emailVerified": true, "firstName": "Jane", "lastName": "Doe",
            "createdTimestamp": 1, "attributes": {"phoneNumber": ["+41 1"], "team": ["x"]},
            "realmRoles": ["user"], "credentials": credential(&how),
        });
        let expected = json!({
            "sub": "4f3c", "username": "jane", "locked": true, "email": "jane@example.com",
            "email_verified": true, "given_name": "Jane", "family_name": "Doe",
            "name": "Jane Doe", "phone_number": "+41 1", "roles": ["user"],
            "password_hash": "$pbkdf2-sha256$27500$c2FsdA==$dmFsdWU=",
        });
        assert!(is(user.as_object().unwrap()));
        assert_eq!(mapped(&user), (expected, vec![]));
    }

    #[test]
    fn every_hash_of_keycloak_is_written_as_the_server_reads_it() {
        let argon2 = json!({"hashIterations": 5, "algorithm": "argon2", "additionalParameters": {
            "hashLength": ["32"], "memory": ["7168"], "type": ["id"], "version": ["1.3"],
            "parallelism": ["1"]}});
        let sha1 = json!({"hashIterations": 1, "algorithm": "pbkdf2"});
        for (how, hash) in [
            (
                argon2,
                json!("$argon2id$v=19$m=7168,t=5,p=1$c2FsdA==$dmFsdWU="),
            ),
            (sha1, Value::Null),
        ] {
            let user = json!({"username": "a", "credentials": credential(&how)});
            let (body, notes) = mapped(&user);
            assert_eq!(body["password_hash"], hash);
            assert_eq!(notes.is_empty(), !hash.is_null(), "{notes:?}");
        }
    }

    #[test]
    fn service_accounts_stay_behind() {
        let user = json!({"username": "service-account-x", "enabled": true,
                          "serviceAccountClientId": "x"});
        let left_out = map(user.as_object().unwrap());
        assert!(matches!(left_out, Ok(User::LeaveOut(..))), "{left_out:?}");
    }
}
