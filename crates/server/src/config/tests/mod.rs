//! What is read and printed; what is refused is in `refused.rs`.

mod refused;

use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::path::Path;

use proptest::prelude::*;
use toml::Value;

use super::options::{Spec, TABLES, Table};
use super::setting::{Kind, redact};
use super::*;

const FILES: [(&str, &[u8]); 10] = [
    ("some.pem", b"PEM"),
    ("chain.pem", b"PEM"),
    ("key.pem", b"PEM"),
    ("ca.pem", b"PEM"),
    ("cluster.key", b"\xff\x00"),
    ("kms.token", b"bearer-hunter2\n"),
    ("store.url", b"postgres://signet:hunter2@db/signet\r\n"),
    ("empty", b"\n"),
    ("binary", b"\xff"),
    ("not-a-store", b"hunter2"),
];

/// Loads `toml` as `signet.toml`, with the variables; files are those of `FILES`.
fn load_with(toml: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    load_over(toml, variables, &[])
}

fn load_over(
    toml: &str,
    variables: &[(&str, &str)],
    overrides: &[(&str, &str)],
) -> Result<Config, ConfigError> {
    let variables = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.into()));
    let outside = Outside {
        variables: variables.collect(),
        read: &|path| {
            if path == Path::new("signet.toml") {
                return Ok(toml.as_bytes().to_vec());
            }
            let file = FILES.iter().find(|(known, _)| path.ends_with(known));
            file.map(|(_, bytes)| bytes.to_vec())
                .ok_or(Error::new(ErrorKind::NotFound, "no such file"))
        },
    };
    let overrides: Vec<_> = overrides
        .iter()
        .map(|(path, text)| (*path, (*text).to_owned()))
        .collect();
    Config::load(Some(Path::new("signet.toml")), &outside, &overrides)
}

fn load(toml: &str) -> Result<Config, ConfigError> {
    load_with(toml, &[])
}

fn options() -> impl Iterator<Item = (&'static Table, &'static Spec)> {
    TABLES
        .iter()
        .flat_map(|table| table.options.iter().map(move |spec| (table, spec)))
}

#[test]
fn development_needs_nothing() {
    let config = load("dev = true").unwrap();
    assert_eq!(config.issuer, "http://127.0.0.1:4444");
    assert_eq!(config.store.expose(), "sqlite:./data/signet.db");
    assert_eq!(config.public_listen.to_string(), "127.0.0.1:4444");
    assert_eq!(config.admin_listen.to_string(), "127.0.0.1:4445");
    let key = Path::new("./data/cluster.key");
    assert_eq!(config.cluster_key(), ClusterKey::FileOrNew(key));
    assert!(config.demo);
    assert!(
        load("dev = true\npublic_listen = '[::]:80'")
            .unwrap()
            .issuer
            == "http://localhost:80"
    );
}

#[test]
fn production_needs_an_issuer_and_listens_everywhere() {
    let config =
        load("issuer = 'https://login.example/tenant'\nproxy.trusted = ['127.0.0.1']").unwrap();
    assert_eq!(config.public_listen.to_string(), "0.0.0.0:4444");
    assert!(!config.dev && !config.demo);
    assert!(load("").is_err());
}

#[test]
fn the_admin_listener_speaks_tls_where_somebody_can_listen_or_a_certificate_is_its_own() {
    let both = "tls.certificate_file = 'some.pem'\ntls.key_file = 'some.pem'";
    let own = "tls.admin_certificate_file = 'some.pem'\ntls.admin_key_file = 'some.pem'";
    let everywhere = "admin_listen = '0.0.0.0:4445'";
    for (toml, expected) in [
        ("proxy.trusted = ['::1']".to_owned(), Switch::Off),
        (both.to_owned(), Switch::Off),
        (format!("{everywhere}\n{both}"), Switch::On),
        (format!("{both}\ntls.admin = 'on'"), Switch::On),
        (
            format!("{everywhere}\n{both}\ntls.admin = 'off'"),
            Switch::Off,
        ),
        (format!("{both}\n{own}"), Switch::On),
        (format!("proxy.trusted = ['::1']\n{own}"), Switch::On),
    ] {
        let config = load(&format!("issuer = 'https://a.example'\n{toml}")).unwrap();
        assert_eq!(config.tls.admin, Some(expected), "{toml}");
    }
    let config = load(&format!("dev = true\n{both}")).unwrap();
    assert_eq!(config.issuer, "https://127.0.0.1:4444");
}

#[test]
fn arguments_beat_variables_beat_the_file_beats_defaults() {
    let lifetime = |toml, variables: &[_], overrides: &[_]| {
        let config = load_over(
            toml,
            &[&[("SIGNET_DEV", "true")], variables].concat(),
            overrides,
        );
        config.unwrap().tokens.access_token_lifetime
    };
    let file = "[tokens]\naccess_token_lifetime = 1";
    let variable = [("SIGNET_TOKENS_ACCESS_TOKEN_LIFETIME", "2")];
    let argument = [("tokens.access_token_lifetime", "3")];
    assert_eq!(lifetime("", &[], &[]), 300);
    assert_eq!(lifetime(file, &[], &[]), 1);
    assert_eq!(lifetime(file, &variable, &[]), 2);
    assert_eq!(lifetime("", &variable, &[]), 2);
    assert_eq!(lifetime(file, &variable, &argument), 3);
}

#[test]
fn half_of_the_cores_hash_unless_told_otherwise() {
    let mut hashing = load("dev = true").unwrap().hashing;
    assert_eq!(
        [0, 1, 2, 5].map(|cores| hashing.threads_for(cores)),
        [1, 1, 1, 2]
    );
    hashing.threads = 3;
    assert_eq!(hashing.threads_for(8), 3);
}

#[test]
fn options_alone_make_a_configuration() {
    let options = |path: &str| vec![("dev".into(), "true".into()), (path.into(), "7".into())];
    assert_eq!(
        Config::from_options(&options("threads")).unwrap().threads,
        7
    );
    let error = Config::from_options(&options("thread"))
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "thread (command line): there is no such option; did you mean `threads`?"
    );
}

#[test]
fn a_variable_names_the_file_when_no_argument_does() {
    let outside = |path: &str| Outside {
        variables: BTreeMap::from([("SIGNET_CONFIG".to_owned(), OsString::from(path))]),
        read: &|path| match path.to_str() {
            Some("a.toml") => Ok(b"dev = true".to_vec()),
            Some("b.toml") => Ok(b"dev = true\nthreads = 7".to_vec()),
            _ => Err(ErrorKind::NotFound.into()),
        },
    };
    let threads = |file: Option<&str>, variable| {
        let config = Config::load(file.map(Path::new), &outside(variable), &[]);
        config
            .map(|config| config.threads)
            .map_err(|error| error.to_string())
    };
    assert_eq!(threads(None, "b.toml"), Ok(7));
    assert_eq!(threads(Some("a.toml"), "b.toml"), Ok(0));
    assert!(
        threads(None, "c.toml")
            .unwrap_err()
            .contains("the file c.toml cannot be read")
    );
}

/// A value that the option can have and that is not its default.
fn another(spec: &Spec) -> (String, Value) {
    let default = (spec.default)();
    let (text, value) = match (spec.kind, spec.range) {
        (Kind::Boolean, _) => ("true", Value::Boolean(true)),
        (Kind::Integer, Some((low, high))) => {
            let number = if default == Some(Value::Integer(low)) {
                high
            } else {
                low
            };
            return (number.to_string(), Value::Integer(number));
        }
        (Kind::Integer, None) => panic!("{}: an integer needs a range", spec.name),
        (Kind::List, _) => {
            return ("a, b".to_owned(), vec!["a", "b"].into());
        }
        (Kind::Text, _) => {
            let texts = [
                "127.0.0.9:9",
                "bcrypt:4",
                "PS256",
                "opaque",
                "persisted",
                "off",
                "refuse",
                "forwarded",
                "trace",
                "json",
                "memory:",
                "#00ff7f",
                "anything",
            ];
            let is_other = |text: &&&str| {
                let value = Value::String((**text).to_owned());
                spec.fault(&value).is_none() && Some(value) != default
            };
            let text = texts.iter().find(is_other).unwrap();
            (*text, Value::String((*text).to_owned()))
        }
    };
    if default == Some(value.clone()) {
        return ("false".to_owned(), Value::Boolean(false));
    }
    (text.to_owned(), value)
}

#[test]
fn every_option_has_a_variable() {
    for (table, spec) in options() {
        let Some(variable) = table.variable(spec.name) else {
            continue;
        };
        let (text, value) = another(spec);
        let mut draft = Draft::default();
        draft.add_variables(&BTreeMap::from([(variable.clone(), OsString::from(text))]));
        let options = Value::try_from(draft.options()).unwrap();
        assert_eq!(draft.problems, [], "{variable}");
        let inner = if table.name.is_empty() {
            &options
        } else {
            &options[table.name]
        };
        assert_eq!(inner[spec.name], value, "{variable}");
    }
}

#[test]
fn variables_and_tables_have_names_of_their_own() {
    let names = options().filter_map(|(table, spec)| table.variable(spec.name));
    let mut names: Vec<String> = names.collect();
    let tables = TABLES[1..]
        .iter()
        .map(|t| format!("SIGNET_{}", t.name.to_uppercase()));
    names.extend(tables);
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
    for (table, spec) in options() {
        assert!(
            !spec.manual.is_empty(),
            "{}: write its manual",
            table.path(spec.name)
        );
        assert!(
            (spec.default)().is_none_or(|v| v.as_str() == Some("") || spec.fault(&v).is_none())
        );
    }
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let error = load_with("threads = -1\n[log]\nlevel = 'loud'", &[("SIGNET_X", "1")]).unwrap_err();
    let options: Vec<_> = error.problems().iter().map(|p| p.option.as_str()).collect();
    assert_eq!(options.len(), 3);
    for option in ["threads", "log.level", "environment"] {
        assert!(options.contains(&option), "{error}");
    }
    let error = load("[keys]\npublish_before = 1\n[hashing]\nqueue = 1").unwrap_err();
    assert_eq!(error.problems().len(), 4, "{error}");
}

#[test]
fn variables_of_others_are_left_alone() {
    let foreign = [
        ("SIGNET_DEV", "1"),
        ("SIGNET_TEST_LENGTH", "full"),
        ("SIGNET_ADMIN_URL", "http://127.0.0.1:4445"),
        ("SIGNET_ADMIN_TOKEN_FILE", "/run/secrets/admin"),
        ("SIGNET_SERVICE_HOST", "10.0.0.1"),
        ("SIGNET_ADMIN_SERVICE_PORT_HTTP", "4445"),
        ("SIGNET_PORT", "tcp://10.0.0.1:4444"),
        ("SIGNET_PORT_4444_TCP_ADDR", "10.0.0.1"),
    ];
    load_with("", &foreign).unwrap();
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStringExt;
    let value = OsString::from_vec(vec![0xff]);
    let mut draft = Draft::default();
    draft.add_variables(&BTreeMap::from([("SIGNET_DATA_DIR".to_owned(), value)]));
    let said = draft.problems[0].to_string();
    assert_eq!(said, "data_dir (SIGNET_DATA_DIR): the value is not UTF-8");
}

const SECRETIVE: &str = "
    issuer = 'https://a.example'
    proxy.trusted = ['10.0.0.0/8', 'fd00::1']
    store = 'postgres://signet:hunter2@db:5432/signet?sslmode=require&password=hunter2'
    cluster.key_file = 'cluster.key'
    [[signer]]
    name = 'kms'
    url = 'https://kms.example'
    token_file = 'kms.token'
";

#[test]
fn what_is_printed_leads_to_the_same_configuration() {
    for toml in ["dev = true", "dev = true\nstore = 'memory:'", SECRETIVE] {
        let config = load(toml).unwrap();
        let printed = config.print(false);
        assert_eq!(load(&printed).expect(&printed).print(false), printed);
        assert_eq!(load(&printed).unwrap().store, config.store);
    }
}

#[test]
fn a_secret_is_never_printed() {
    let config = load(SECRETIVE).unwrap();
    assert_eq!(
        config.signers[0].token.as_ref().unwrap().expose(),
        "bearer-hunter2"
    );
    assert!(config.store.expose().contains("hunter2"));
    let printed = config.print(true);
    assert!(printed.contains("postgres://signet:***@db:5432/signet?sslmode=require&password=***"));
    for shown in [printed, format!("{config:?}"), config.store.to_string()] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    assert!(!config.print(false).contains("bearer-hunter2"));

    let toml = "issuer = 'https://a.example'\nproxy.trusted = ['::1']\nstore_file = 'store.url'\n\
        cluster.key_file = 'cluster.key'";
    let config = load(toml).unwrap();
    assert_eq!(config.store.expose(), "postgres://signet:hunter2@db/signet");
    assert_eq!(
        config.cluster_key(),
        ClusterKey::File(Path::new("cluster.key"))
    );
    assert!(!config.print(false).contains("hunter2"));
}

#[test]
fn a_password_is_found_wherever_a_url_may_have_it() {
    for (text, shown) in [
        ("postgres://u:p@h/d", "postgres://u:***@h/d"),
        ("postgres://u:p/?a@b@h/d", "postgres://u:***@h/d"),
        ("postgres://u@h:5432/d", "postgres://u@h:5432/d"),
        (
            "postgres://h/d?user=u&password=p",
            "postgres://h/d?user=u&password=***",
        ),
        (
            "postgres://h/d?p%61ssword=p",
            "postgres://h/d?p%61ssword=***",
        ),
        ("postgres:u:p@h", "postgres:***@h"),
        ("host=h password=p", "host=***"),
        ("sqlite:./data/signet.db", "sqlite:./data/signet.db"),
    ] {
        let hidden = redact(text);
        let is_hidden = hidden == shown || (text.starts_with("host") && !hidden.contains("=p"));
        assert!(is_hidden, "{text}: {hidden}");
    }
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

#[test]
fn the_example_is_a_configuration() {
    let example = std::fs::read_to_string(repository("deploy/signet.toml")).unwrap();
    let config = load(&example).unwrap();
    assert!(!config.dev);
    // Lines that are commented out are right, too.
    let is_option = |line: &str| line.starts_with(|c: char| c.is_ascii_lowercase() || c == '[');
    let option = |line: &'static str| line.strip_prefix('#').filter(|rest| is_option(rest));
    let leaked: &'static str = example.leak();
    let all: Vec<&str> = leaked
        .lines()
        .map(|line| option(line).unwrap_or(line))
        .collect();
    load(&all.join("\n")).unwrap();
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(toml in "\\PC*", value in "\\PC*") {
        let file = format!("issuer = 'https://a.example'\n{toml}");
        let variables = [("SIGNET_STORE", &*value), ("SIGNET_SECRETS_HASH", &value)];
        drop((load_with(&file, &variables), load(&toml), load(&value), redact(&value)));
    }

    #[test]
    fn no_value_makes_it_panic(
        (table, spec) in prop::sample::select(options().collect::<Vec<_>>()),
        value in prop_oneof!["[0-9-]{1,20}", "'[a-z0-9:/?@#.,=-]{0,30}'", "[\\[{]\\PC{0,10}"],
    ) {
        let toml = match table.list() {
            None => format!("{} = {value}", table.path(spec.name)),
            Some(list) => format!("[[{list}]]\n{} = {value}", spec.name),
        };
        if let Err(error) = load_with(&toml, &[("SIGNET_DEV", "1")]) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn no_password_gets_through(
        before in "[a-p0-8:/?@#&=%. -]{0,20}",
        after in "[a-p0-8:/?@#&=%. -]{0,20}",
    ) {
        let shown = redact(&format!("postgres://user:{before}zx9{after}@host/db"));
        prop_assert!(!shown.contains("zx9"));
    }
}
