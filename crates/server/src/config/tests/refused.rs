//! What is refused, and with which words.

use super::load_with;

/// A case a line: what is in the file, with `\n` for the end of a line; after `|` a variable; after
/// `=>` how a line of the error begins.
const REFUSED: &str = r"
dev =  => TOML (signet.toml:1): 
\n\ndev = true\ndev = true => TOML (signet.toml:4): duplicate key
[tokens]\naccess_token_lifetime = 0 => tokens.access_token_lifetime (signet.toml:2): `0` is not possible; give a whole number from 1 to 86400
keys.rotate_every = 99999999999999999999 => keys.rotate_every (signet.toml:1): `99999999999999999999` is not possible; give a whole
threads = 'many' => threads (signet.toml:1): `many` is not possible; give a whole number
threads = {} => threads (signet.toml:1): a table is not possible
dev = 1 => dev (signet.toml:1): `1` is not possible; give `true` or `false`
 | SIGNET_DEV=yes => dev (SIGNET_DEV): `yes` is not possible; give `true` or `false`
 | SIGNET_DEV= => dev (SIGNET_DEV): it is empty; unset it or give `true` or `false`
 | SIGNET_HASHING_QUEUE=0 => hashing.queue (SIGNET_HASHING_QUEUE): `0` is not possible; give a whole number from 1 to 100000
[tokens]\nsigning_alg = 'HS256' => tokens.signing_alg (signet.toml:2): `HS256` is not possible; give `ES256` or `EdDSA` or `RS256` or `PS256`
secrets.hash = 'bcrypt:3' => secrets.hash (signet.toml:1): `bcrypt:3` 
secrets.hash = 'argon2id:m=8,t=1,p=2' => secrets.hash (signet.toml:1): 
public_listen = 'localhost:80' => public_listen (signet.toml:1): `localhost:80` is not possible; give an IP address and a port
store = 'mysql://u:hunter2@db/x' => store (signet.toml:1): `mysql://u:***@db/x` is not possible; give `sqlite:PATH`
[tokens]\nlifetime = 1 => tokens.lifetime (signet.toml:2): there is no such option
[tokens]\nacces_token_lifetime = 1 => tokens.acces_token_lifetime (signet.toml:2): there is no such option; did you mean `access_token_lifetime`?
\n[token]\n => token (signet.toml:2): there is no such option; did you mean `tokens`?
tokens = 1 => tokens (signet.toml:1): this is a table; write `[tokens]`
[signer] => signer (signet.toml:1): this is a table; write `[[signer]]`
signer = [1] => signer[0] (signet.toml:1): write `[[signer]]`
 | SIGNET_ISUER=https://a.example => environment (SIGNET_ISUER): there is no such option; did you mean `SIGNET_ISSUER`?
 | SIGNET_FLUX=1 => environment (SIGNET_FLUX): there is no such option; docs/configuration.md lists all
 | SIGNET_PORT=80 => environment (SIGNET_PORT): there is no such option
dev = false => issuer (not set): it is required
issuer = 'https://a.example/' => issuer (signet.toml:1): it ends with a slash
issuer = 'https://a.example?b' => issuer (signet.toml:1): it has a query or a fragment
issuer = 'https://a.example#b' => issuer (signet.toml:1): it has a query or a fragment
issuer = 'http://a.example' | SIGNET_DEV=1 => issuer (signet.toml:1): `http` is for loopback only
issuer = 'http://localhost' => issuer (signet.toml:1): `http` is for development mode
issuer = 'a.example' => issuer (signet.toml:1): it is not a URL
issuer = 'https://u@a.example' => issuer (signet.toml:1): it is not a URL
issuer = 'https://a.example:0' => issuer (signet.toml:1): it is not a URL
issuer = 'https://:1' => issuer (signet.toml:1): it is not a URL
dev = true\npublic_listen = '127.0.0.1:0' => issuer (not set): it is required when
dev = true\npublic_listen = '0.0.0.0:4445' => admin_listen (not set): it overlaps
issuer = 'https://a.example'\ndemo = true => demo (signet.toml:2): everybody knows
dev = true\ntokens.access_token = 'opaque' => tokens.persistence (not set): an opaque token
dev = true\nkeys.longest_token_lifetime = 60 => tokens.access_token_lifetime (not set): at most
dev = true\nkeys.publish_before = 60 => keys.publish_before (signet.toml:2): clients that cached
dev = true\nkeys.rotate_every = 86400 => keys.rotate_every (signet.toml:2): give more than
dev = true\nhashing.queue = 3 => hashing.per_client (not set): at most `hashing.queue`, 3
dev = true\nhashing.per_address = 257 => hashing.per_address (signet.toml:2): at most `hashing.queue`, 256
dev = true\nstore = 'postgres://db/x' => cluster.key_file (not set): it is required with `postgres:`
dev = true\nstore = 'postgres://db/x' | SIGNET_CLUSTER_KEY_FILE=gone => cluster.key_file (SIGNET_CLUSTER_KEY_FILE): the file gone cannot be read: no such file
dev = true\nstore = 'memory:' | SIGNET_STORE_FILE=store.url => store_file (SIGNET_STORE_FILE): `store` is set too
dev = true | SIGNET_STORE_FILE=gone => store_file (SIGNET_STORE_FILE): the file gone cannot be used
dev = true | SIGNET_STORE_FILE=empty => store_file (SIGNET_STORE_FILE): the file empty cannot be used: it is empty
dev = true | SIGNET_STORE_FILE=binary => store_file (SIGNET_STORE_FILE): the file binary cannot be used: it is not UTF-8
dev = true | SIGNET_STORE_FILE=not-a-store => store_file (SIGNET_STORE_FILE): the file holds no store
dev = true\noutgoing.private_hosts = ['http://a'] => outgoing.private_hosts (signet.toml:2): each is a `HOST:PORT`
dev = true | SIGNET_OUTGOING_PRIVATE_HOSTS=a:1, => outgoing.private_hosts (SIGNET_OUTGOING_PRIVATE_HOSTS): each is
outgoing.private_hosts = 'a:1' => outgoing.private_hosts (signet.toml:1): `a:1` is not possible; give a list of texts
ui.accent = 'red' => ui.accent (signet.toml:1): `red` is not possible; give a colour like `#3451b2`
ui.accent_dark = '#12345g' => ui.accent_dark (signet.toml:1): `#12345g` is not possible
dev = true\nui.name = ' ' => ui.name (signet.toml:2): give a name of one line
dev = true\nui.terms = 'javascript:alert(1)' => ui.terms (signet.toml:2): give an `https` URL
dev = true\nui.policy = 'https://' => ui.policy (signet.toml:2): give an `https` URL
issuer = 'https://a.example'\nui.policy = 'http://b.example' => ui.policy (signet.toml:2): give an `https` URL
dev = true\nui.logo = 'https://a.example/x y' => ui.logo (signet.toml:2): give an `https` URL, or
dev = true\nui.logo = '../logo.svg' => ui.logo (signet.toml:2): give an `https` URL, or
dev = true\nui.logo = 'logo.svg' => ui.logo (signet.toml:2): a file is looked for
dev = true\nui.logo_dark = 'https://a.example/a.svg' => ui.logo_dark (signet.toml:2): it stands in for
dev = true\nui.redirect_origins = ['https://a.example/b'] => ui.redirect_origins (signet.toml:2): each is an origin
issuer = 'https://a.example' => proxy.trusted (not set): the issuer is `https`, so who ends TLS?
dev = true\nproxy.trusted = ['10.0.0.1/8'] => proxy.trusted (signet.toml:2): `10.0.0.1/8` has bits beyond its prefix
dev = true\nproxy.trusted = ['::1', '0.0.0.0/0'] => proxy.trusted (signet.toml:2): `0.0.0.0/0` is everybody
dev = true | SIGNET_PROXY_TRUSTED=127.0.0.1,lb => proxy.trusted (SIGNET_PROXY_TRUSTED): `lb` is no address
proxy.header = 'x-real-ip' => proxy.header (signet.toml:1): `x-real-ip` is not possible; give `x-forwarded-for` or
dev = true\ntls.certificate_file = 'some.pem' => tls.key_file (not set): it is required with `tls.certificate_file`
dev = true\ntls.admin_key_file = 'some.pem' => tls.admin_certificate_file (not set): it is required with
dev = true\ntls.certificate_file = 'gone'\ntls.key_file = 'some.pem' => tls.certificate_file (signet.toml:2): the file gone cannot be read: no such file
dev = true\ntls.admin = 'on' => tls.admin (signet.toml:2): it needs a certificate
dev = true\ntls.admin = 'off'\ntls.admin_key_file = 'some.pem'\ntls.admin_certificate_file = 'some.pem' => tls.admin (signet.toml:2): it is off, but
dev = true\nissuer = 'http://localhost:1'\ntls.key_file = 'some.pem'\ntls.certificate_file = 'some.pem' => issuer (signet.toml:2): the listener speaks TLS
dev = true\noutgoing.ca_file = 'gone' => outgoing.ca_file (signet.toml:2): the file gone cannot be read
dev = true\n[[signer]]\nurl = 'https://kms' => signer[0] (signet.toml:2): give it a `name`
dev = true\n[[signer]]\nname = 'a'\nurl = 'http://kms' => signer[0] (signet.toml:2): give it a `url`
dev = true\n[[signer]]\nname = 'a'\nurl = 'https://kms'\n[[signer]]\nname = 'a'\nurl = 'https://kms' => signer[1].name (signet.toml:6): another signer has this name
dev = true\n[[signer]]\nname = 'a'\nurl = 'https://kms'\ntoken_file = 'gone' => signer[0].token_file (signet.toml:5): the file gone cannot be used
dev = true\n[[signer]]\nqueue = 0 => signer[0].queue (signet.toml:3): `0` is not possible
";

#[test]
fn what_is_wrong_is_named_with_its_place_and_a_remedy() {
    for case in REFUSED.trim().lines() {
        let (given, said) = case.split_once(" => ").expect(case);
        let (toml, variable) = given.split_once(" | ").unwrap_or((given, ""));
        let variables: Vec<_> = variable.split_once('=').into_iter().collect();
        let error = load_with(&toml.replace(r"\n", "\n"), &variables).expect_err(case);
        let error = error.to_string();
        assert!(
            error.lines().any(|line| line.starts_with(said)),
            "{case}\n  said: {error}"
        );
        assert!(!error.contains("hunter2"), "{error}");
    }
}
