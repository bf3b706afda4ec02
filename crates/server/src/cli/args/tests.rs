use super::*;
use clap::CommandFactory;

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(line.split_whitespace())
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_is_understood() {
    for line in [
        "signet serve --dev",
        "signet serve --config f --store memory: --data-dir d --issuer https://i",
        "signet serve --public-listen 127.0.0.1:0 --admin-listen [::1]:0 --set tokens.signing_alg=EdDSA",
        "signet config check --dev",
        "signet config print --config f --show-secrets",
        "signet migrate --store sqlite:f",
        "signet client create --id a --secret b --secret-hash bcrypt:8",
        "signet client create --import-hash $2b$08$x",
        "signet client get a --json --admin https://h/x --token-file t --cacert c",
        "signet client --json --data-dir d get a",
        "signet client list --after a --limit 5 --name n --owner o",
        "signet client list --all",
        "signet client replace a --from f --if-version 3",
        "signet client update a --unset owner --lifetime 5m --reuse-live-token=false",
        "signet client delete a b --yes",
        "signet client rotate-secret a",
        "signet client disable a",
        "signet client enable a",
        "signet client revoke-tokens a",
        "signet client import f --format hydra --skip-existing --secrets s --jobs 2",
        "signet client import - --dry-run --access-token opaque --persistence persisted",
        "signet keys list",
        "signet keys create --alg RS256 --remote kms --kid k",
        "signet keys rotate --json",
        "signet keys retire k",
        "signet token introspect -",
        "signet token revoke t --admin http://h",
        "signet token get --client-id a --client-secret b --scope s --resource https://r --server http://h",
        "signet token get --client-id a --client-secret-stdin --json",
        "signet token flush",
        "signet completions zsh",
        "signet man",
        "signet man dir",
    ] {
        if let Err(refused) = parse(line) {
            panic!("{line}: {refused}");
        }
    }
}

#[test]
fn contradictions_are_refused() {
    for line in [
        "signet",
        "signet client",
        "signet serve --public-listen localhost",
        "signet serve --set tokens.signing_alg",
        "signet client get",
        "signet client get a --admin 127.0.0.1:4445",
        "signet client create --secret a --secret-stdin",
        "signet client create --secret a --import-hash b",
        "signet client create --import-hash b --secret-hash bcrypt:8",
        "signet client create --grant-type magic",
        "signet client create --auth-method magic",
        "signet client create --access-token paper",
        "signet client create --alg HS256",
        "signet client create --lifetime soon",
        "signet client create --jwks f --jwks-uri u",
        "signet client list --limit 0",
        "signet client list --limit 1001",
        "signet client list --limit 5 --all",
        "signet client delete",
        "signet client import f --jobs 0",
        "signet keys create --remote kms",
        "signet keys create --kid k",
        "signet token get --client-secret b",
        "signet token get --client-id a --client-secret b --client-secret-stdin",
        "signet completions tcsh",
    ] {
        match parse(line) {
            Ok(cli) => panic!("{line}: {cli:?}"),
            Err(refused) => assert_eq!(refused.exit_code(), 2, "{line}"),
        }
    }
}

#[test]
fn arguments_of_the_server_become_overrides() {
    let line = "signet serve --dev --store memory: --public-listen 127.0.0.1:1 \
                --set tokens.signing_alg=EdDSA --set log.level=debug";
    let Command::Serve(args) = parse(line).unwrap().command else {
        panic!("not serve");
    };
    let expected = [
        ("dev", "true"),
        ("store", "memory:"),
        ("public_listen", "127.0.0.1:1"),
        ("tokens.signing_alg", "EdDSA"),
        ("log.level", "debug"),
    ];
    let expected = expected.map(|(option, value)| (option, value.to_owned()));
    assert_eq!(args.config.overrides(), expected);
    assert!(ServeArgs::default().config.overrides().is_empty());
}

#[test]
fn names_and_secrets_that_were_drawn_may_begin_with_a_hyphen() {
    let retire = parse("signet keys retire -7Qz --json").unwrap().command;
    let Command::Keys(keys) = retire else {
        panic!("not keys");
    };
    assert!(keys.server.output.json);
    assert!(matches!(keys.command, KeysCommand::Retire { kid } if kid == "-7Qz"));
    for line in [
        "signet client create --secret -7Qz --json",
        "signet token get --client-id a --client-secret --7Qz --json",
    ] {
        assert!(parse(line).is_ok(), "{line}");
    }
}
