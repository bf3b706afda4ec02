//! What a plan or a target's file may get wrong, and what it is told.

use super::op::{Op, TARGET};
use super::{drive, target};
use crate::scenario::Scenario;
use crate::scenario::target::Target;
use crate::scenario::target::set_up::SetUp;
use crate::scenario::template::Variables;

fn complaint(flow: &str, parameters: &str) -> String {
    let mut op = Op::new("");
    let target = target(&mut op);
    let parsed = Scenario::parse(flow, &toml::from_str(parameters).unwrap(), &target);
    parsed.err().map_or(String::new(), |bad| bad.to_string())
}

#[test]
fn a_parameter_that_is_none_is_named_with_what_was_expected() {
    for (flow, parameters, parts) in [
        (
            "nonsense",
            "",
            &["no flow \"nonsense\"", "client-credentials", "jwks"][..],
        ),
        (
            "jwks",
            "scope = 'a'",
            &["jwks", "\"scope\"", "it takes judge, leeway"],
        ),
        ("password", "usrename = 'a'", &["\"usrename\"", "username"]),
        (
            "password",
            "judge = 'deep'",
            &["password", "judge", "`status`", "`full`"],
        ),
        (
            "password",
            "scope = ['a']",
            &["scope", "sequence", "a text"],
        ),
        ("password", "scope = '${'", &["scope", "has no `}`"]),
        (
            "authorization-code",
            "expect = ['mfa']",
            &["\"mfa\"", "login, consent"],
        ),
        (
            "password",
            "scope = 'a ${random:dice}'",
            &["random:dice", "`:uuid`"],
        ),
        ("refresh", "grant = 'magic'", &["grant", "`password`"]),
    ] {
        let complaint = complaint(flow, parameters);
        for part in parts {
            assert!(complaint.contains(part), "{part:?} in {complaint:?}");
        }
    }
}

#[test]
fn an_endpoint_that_is_nowhere_is_named() {
    let target = Target::load(TARGET, &Variables::new()).unwrap();
    for (flow, endpoint) in [
        ("client-credentials", "token"),
        ("introspection", "introspection"),
        ("jwks", "jwks"),
    ] {
        let bad = Scenario::parse(flow, &toml::Table::new(), &target)
            .err()
            .unwrap()
            .to_string();
        assert!(
            bad.contains(&format!("set endpoints.{endpoint} in its file")),
            "{bad}"
        );
    }
}

#[test]
fn what_a_file_says_comes_before_what_the_server_says() {
    let text = TARGET.replace(
        "[secrets]",
        "[endpoints]\ntoken = 'https://other.example/t'\n[secrets]",
    );
    let mut target = Target::load(&text, &Variables::new()).unwrap();
    let mut op = Op::new("");
    drive(&mut SetUp::new(&mut target), &mut |call| op.answer(call)).unwrap();
    assert_eq!(
        target.endpoints.token.unwrap().as_str(),
        "https://other.example/t"
    );
    assert_eq!(
        target.endpoints.jwks.unwrap().as_str(),
        "https://op.example/jwks"
    );
    assert_eq!(SetUp::STEPS, ["discovery", "jwks"]);
    assert!(target.names_issuer);
    assert!(!target.keys.is_empty());
}

#[test]
fn a_target_that_lies_about_itself_is_not_measured() {
    for (fault, check) in [
        ("issuer", "issuer"),
        ("no-url", "metadata"),
        ("down", "status"),
    ] {
        let mut target = Target::load(TARGET, &Variables::new()).unwrap();
        let mut op = Op::new(fault);
        let wrong = drive(&mut SetUp::new(&mut target), &mut |call| op.answer(call)).unwrap_err();
        assert_eq!(wrong.check, check);
    }
}

#[test]
fn a_malformed_target_is_told_with_its_line() {
    for (from, to, parts) in [
        (
            "tested = true",
            "tested = 'yes'",
            &["line 3", "boolean"][..],
        ),
        ("[secrets]", "[secret]", &["unknown field `secret`"]),
        ("name = \"login\"", "nmae = \"login\"", &["nmae"]),
        (
            "method = \"POST\"",
            "method = \"FETCH\"",
            &["FETCH", "GET, POST, PUT, PATCH or DELETE"],
        ),
        (
            "form = { press = \"allow\" }",
            "",
            &["\"consent\"", "either `form` or `call`"],
        ),
        (
            "issuer = \"https://op.example\"",
            "issuer = \"op\"",
            &["issuer", "expected a URL"],
        ),
        (
            "issuer = \"https://op.example\"",
            "issuer = \"ftp://x\"",
            &["http://"],
        ),
        (
            "{ file = \"secret\" }",
            "{ text = \"secret\" }",
            &["unknown variant `text`", "`env`"],
        ),
        ("${username}", "${username", &["`${username`", "has no `}`"]),
    ] {
        let text = TARGET.replacen(from, to, 1);
        assert_ne!(text, TARGET, "{from}");
        let bad = Target::load(&text, &Variables::new())
            .err()
            .unwrap()
            .to_string();
        for part in parts {
            assert!(bad.contains(part), "{part:?} in {bad:?}");
        }
    }
}

#[test]
fn variables_are_set_from_outside_and_only_those_that_exist() {
    let text = r#"
name = "t"
tested = false
issuer = "${base}/${realm}"
[variables]
base = "http://${host}:1"
host = "a.example"
realm = "r"
"#;
    let set = |name: &str| Variables::from([(name.to_owned(), "b.example".to_owned())]);
    let target = Target::load(text, &set("host")).unwrap();
    assert_eq!(target.file.issuer, "http://b.example:1/r");
    let discovery = target.discovery.as_ref().unwrap().as_str();
    assert_eq!(
        discovery,
        "http://b.example:1/r/.well-known/openid-configuration"
    );
    assert!(target.warning().unwrap().contains("never tried"));
    let bad = Target::load(text, &set("port")).err().unwrap().to_string();
    assert_eq!(
        bad,
        "the target t has no variable \"port\" to set; it has: base, host, realm"
    );
}

/// The names of the checks in a source file: the first argument of `wrong`, or the field of a `Wrong`.
fn checks(text: &str) -> Vec<&str> {
    let product = text.split("#[cfg(test)]").next().unwrap_or_default();
    let calls = product
        .split("wrong(")
        .chain(product.split("check:"))
        .skip(1);
    calls
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
        .collect()
}

#[test]
fn every_check_is_in_the_manual() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let manual = std::fs::read_to_string(root.join("../../docs/flows.md")).unwrap();
    let mut seen = 0;
    for directory in ["", "judge", "part", "target"] {
        for entry in std::fs::read_dir(root.join("src/scenario").join(directory)).unwrap() {
            let path = entry.unwrap().path();
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            for check in checks(&text) {
                seen += 1;
                assert!(
                    manual.contains(&format!("`{check}`")),
                    "{check} in {}",
                    path.display()
                );
            }
        }
    }
    assert!(seen > 40, "{seen}");
}
