"""The servers that are compared: how each is started, prepared and asked. It must not know how they are measured.

Equal terms: one RSA-2048 and one P-256 key, access tokens that live for an hour, a client secret of 256 random bits in
HTTP Basic, the answers uncompressed, plain HTTP on loopback with connections that are kept.
"""

import base64
import http.client
import json
import os
import secrets
import shutil
import subprocess
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

from processes import Failed, Process, ask, expect, free_port

HERE = Path(__file__).parent
LIFETIME = 3600


@dataclass
class Operation:
    """One request, or one request for each line of `lines`, and what a right answer to it is."""

    url: str
    authorization: str = ""
    form: dict | None = None
    lines: Path | None = None
    right: object = lambda answer: True

    def headers(self):
        return {"Authorization": self.authorization} if self.authorization else {}

    def verify(self):
        """Asks once, outside of the measurement; returns the length of the answer."""
        form = self.form
        if self.lines:
            with open(self.lines, encoding="utf-8") as lines:
                form = dict(urllib.parse.parse_qsl(lines.readline().strip()))
        answer = expect(self.url, form=form, headers=self.headers())
        if not self.right(answer.json()):
            raise Failed(f"{self.url}: not the answer that was asked for: {answer.body[:300]!r}")
        return len(answer.body)


def basic(client, secret):
    return "Basic " + base64.b64encode(f"{client}:{secret}".encode()).decode()


def part(token, index):
    text = token.split(".")[index]
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def is_signed(alg, keys):
    """Whether a token answer holds a JWT of this algorithm by one of the keys, which is of the agreed size."""

    def right(answer):
        header = part(answer["access_token"], 0)
        (key,) = [key for key in keys if key.get("kid") == header["kid"]]
        if alg == "RS256":
            size = len(base64.urlsafe_b64decode(key["n"] + "==")) * 8
            return header["alg"] == alg and size == 2048
        return header["alg"] == alg and key["crv"] == "P-256"

    return right


def is_opaque(answer):
    return "." not in answer["access_token"]


def is_active(answer):
    return answer["active"] is True


class Target:
    """A server: made, launched (again and again, on the same store), prepared. `operations` is empty before that."""

    name = store = ""
    terms = {}
    profile = ""  # its file in bench/targets
    plans = ()  # those of bench/plans/peers that it can be played

    def __init__(self, run):
        self.run, self.operations, self.process, self.starts = run, {}, None, []
        self.directory = run.scratch / self.name.replace(" ", "-").replace(",", "")
        self.directory.mkdir()
        self.command, self.environment, self.ready = self.make()

    def make(self):
        """What to start: the command, its environment, and the URL that answers 200 when it is ready."""
        raise NotImplementedError

    def launch(self):
        self.process = Process(self.name, self.command, self.environment, str(self.directory / "log"))
        self.starts.append(self.process.wait_until_ready(self.ready))

    def stop(self):
        if self.process:
            self.process.stop()

    def variables(self):
        """What its file in bench/targets must be told."""
        raise NotImplementedError

    def secrets(self):
        """The environment of `assay`, from which that file takes its secrets."""
        return {}

    def tokens(self, grant, count):
        """A file of so many different tokens, `token=…` on each line."""
        path = self.directory / f"tokens-{len(list(self.directory.iterdir()))}"
        parts = urllib.parse.urlsplit(grant.url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        headers = grant.headers() | {"Content-Type": "application/x-www-form-urlencoded"}
        with open(path, "w", encoding="utf-8") as out:
            for _ in range(count):
                connection.request("POST", parts.path, urllib.parse.urlencode(grant.form), headers)
                out.write(f"token={json.loads(connection.getresponse().read())['access_token']}\n")
        connection.close()
        return path

    def discover(self, issuer):
        """The documents, and the operations on them."""
        url = f"{issuer}/.well-known/openid-configuration"
        self.metadata = expect(url).json()
        keys = expect(self.metadata["jwks_uri"]).json()["keys"]
        self.operations["discovery"] = Operation(url, right=lambda answer: answer["issuer"] == issuer)
        self.operations["JWKS"] = Operation(self.metadata["jwks_uri"], right=lambda answer: bool(answer["keys"]))
        return keys

    def grant(self, operation, authorization, right, **more):
        form = {"grant_type": "client_credentials", **more}
        made = Operation(self.metadata["token_endpoint"], authorization, form, right=right)
        self.operations[operation] = made
        return made

    def introspect(self, operation, authorization, grant):
        lines = self.tokens(grant, self.run.tokens)
        url = self.metadata["introspection_endpoint"]
        self.operations[operation] = Operation(url, authorization, lines=lines, right=is_active)


class Signet(Target):
    profile = "signet"
    plans = ("client-credentials", "introspection", "code-flow", "clients")
    terms = {
        "secret": "as its SHA-256 digest",
        "opaque": "a row each; the answer leaves when the row is stored",
        "jwt": "nothing is stored; revocable, by an entry in a log",
    }

    def where(self):
        return {"SIGNET_STORE": "memory:"}

    def variables(self):
        return {"base": self.issuer, "admin": self.admin}

    def make(self):
        public, self.admin = free_port(), f"http://127.0.0.1:{free_port()}"
        self.issuer = f"http://127.0.0.1:{public}"
        environment = {
            "SIGNET_DATA_DIR": str(self.directory),
            "SIGNET_PUBLIC_LISTEN": f"127.0.0.1:{public}",
            "SIGNET_ADMIN_LISTEN": self.admin.removeprefix("http://"),
            "SIGNET_THREADS": "1",
            "SIGNET_TOKENS_SIGNING_ALG": "RS256",
        }
        program = str(self.run.programs / "signet")
        self.version = output(program, "--version")
        return [program, "serve", "--dev"], environment | self.where(), f"{self.issuer}/health/ready"

    def client(self, fields):
        fields = {"access_token_lifetime": LIFETIME} | fields
        made = expect(f"{self.admin}/admin/clients", send=fields, headers={"Authorization": self.bearer}).json()
        return basic(made["client_id"], made["client_secret"])

    def prepare(self):
        self.bearer = "Bearer " + (self.directory / "admin.token").read_text().strip()
        (self.directory / "data").symlink_to(".")  # where bench/targets/signet.toml looks for the token
        jwt = {"access_token": "jwt", "persistence": "stateless"}
        rsa = self.client({"client_id": "rs256", "access_token_signed_response_alg": "RS256", **jwt})
        ec = self.client({"client_id": "es256", "access_token_signed_response_alg": "ES256", **jwt})
        opaque = self.client({"client_id": "opaque", "access_token": "opaque", "persistence": "persisted"})
        keys = self.discover(self.issuer)
        by_reference = self.grant("client credentials, opaque", opaque, is_opaque)
        signed = self.grant("client credentials, JWT RS256", rsa, is_signed("RS256", keys))
        self.grant("client credentials, JWT ES256", ec, is_signed("ES256", keys))
        self.introspect("introspection, opaque", opaque, by_reference)
        self.introspect("introspection, JWT RS256", rsa, signed)
        client = Operation(f"{self.admin}/admin/clients/rs256", self.bearer)
        client.right = lambda answer: answer["client_id"] == "rs256"
        self.operations["get one client"] = client


class SignetInMemory(Signet):
    name, store = "Signet, memory", "memory"


class SignetOnPostgres(Signet):
    name, store = "Signet, PostgreSQL", "PostgreSQL"

    def where(self):
        key, url = self.directory / "cluster.key", self.directory / "store"
        private(key, secrets.token_urlsafe(32))
        private(url, self.run.database("signet"))
        return {"SIGNET_STORE_FILE": str(url), "SIGNET_CLUSTER_KEY_FILE": str(key)}


class OidcProvider(Target):
    name, store = "oidc-provider", "memory"
    profile = "node-oidc-provider"
    plans = ("client-credentials", "introspection", "code-flow")
    terms = {
        "secret": "in clear",
        "opaque": "an entry each in our adapter",
        "jwt": "nothing is stored; neither revoked nor introspected, by design",
    }

    def make(self):
        home = self.run.home / "oidc-provider"
        self.secret, port = secrets.token_urlsafe(32), free_port()
        grants = {"grant_types": ["client_credentials"], "redirect_uris": [], "response_types": []}
        clients = [{"client_id": "peers", "client_secret": self.secret, **grants}]
        # Those of bench/targets/node-oidc-provider.toml.
        grants = {
            "grant_types": ["client_credentials", "authorization_code", "refresh_token"],
            "redirect_uris": ["http://127.0.0.1:9/callback"],
            "post_logout_redirect_uris": ["http://127.0.0.1:9/signed-out"],
        }
        for index in range(1, 11):
            secret = f"assay-secret-of-client-{index}"
            clients.append({"client_id": f"assay-{index}", "client_secret": secret, **grants})
        environment = {
            "NODE_ENV": "production", "PORT": str(port), "CLIENTS": json.dumps(clients),
            "SIGNING_ALG": "RS256", "TOKEN_TTL": str(LIFETIME),
        }
        node, self.issuer = str(self.run.node), f"http://127.0.0.1:{port}"
        manifest = json.loads((home / "node_modules/oidc-provider/package.json").read_text())
        self.version = f"oidc-provider {manifest['version']}, Node.js {output(node, '--version').removeprefix('v')}"
        return [node, str(home / "server.mjs")], environment, f"{self.issuer}/.well-known/openid-configuration"

    def variables(self):
        return {"base": self.issuer}

    def prepare(self):
        keys, who = self.discover(self.issuer), basic("peers", self.secret)
        opaque = self.grant("client credentials, opaque", who, is_opaque)
        for alg in ("RS256", "ES256"):
            self.grant(f"client credentials, JWT {alg}", who, is_signed(alg, keys), resource=f"urn:peers:{alg}")
        self.introspect("introspection, opaque", who, opaque)


class Keycloak(Target):
    name, store = "Keycloak", "PostgreSQL"
    profile = "keycloak"
    plans = ("client-credentials", "introspection", "code-flow", "clients")
    terms = {
        "secret": "in clear",
        "opaque": "it has none",
        "jwt": "nothing is stored for client credentials; revocable",
    }

    def make(self):
        home, port = self.run.home / f"keycloak-{self.run.keycloak}", free_port()
        self.secret, self.password = secrets.token_urlsafe(32), secrets.token_urlsafe(24)
        private(self.directory / "admin.secret", self.password)
        imported = home / "data" / "import"
        shutil.rmtree(imported, ignore_errors=True)
        imported.mkdir(parents=True)
        shutil.copy(HERE / "keycloak" / "realm.json", imported / "assay-realm.json")
        url = urllib.parse.urlsplit(self.run.database("keycloak"))
        self.base = f"http://127.0.0.1:{port}"
        environment = {
            "KC_DB": "postgres",
            "KC_CACHE": "local",
            "KC_DB_URL": f"jdbc:postgresql://{url.hostname}:{url.port}{url.path}",
            "KC_DB_USERNAME": url.username,
            "KC_DB_PASSWORD": url.password,
            "KC_HTTP_ENABLED": "true",
            "KC_HTTP_HOST": "127.0.0.1",
            "KC_HTTP_PORT": str(port),
            "KC_HOSTNAME": self.base,
            "KC_LOG_LEVEL": "warn",
            "KC_BOOTSTRAP_ADMIN_USERNAME": "admin",
            "KC_BOOTSTRAP_ADMIN_PASSWORD": self.password,
            "KC_BOOTSTRAP_ADMIN_CLIENT_ID": "assay-admin",
            "KC_BOOTSTRAP_ADMIN_CLIENT_SECRET": self.password,
            "PEERS_CLIENT_SECRET": self.secret,
            "PEERS_USER_PASSWORD": secrets.token_urlsafe(12),
        }
        command = ["bash", str(home / "bin" / "kc.sh"), "start", "--optimized", "--import-realm"]
        self.issuer = f"{self.base}/realms/assay"
        java = output("java", "-version").split('"')[1]
        self.version = f"Keycloak {self.run.keycloak}, Java {java}"
        return command, environment, f"{self.issuer}/.well-known/openid-configuration"

    def variables(self):
        return {"base": self.base}

    def secrets(self):
        return {"KEYCLOAK_ADMIN_CLIENT_SECRET": self.password}

    def prepare(self):
        keys, rsa = self.discover(self.issuer), basic("rs256", self.secret)
        signed = self.grant("client credentials, JWT RS256", rsa, is_signed("RS256", keys))
        ec = basic("es256", self.secret)
        self.grant("client credentials, JWT ES256", ec, is_signed("ES256", keys))
        self.introspect("introspection, JWT RS256", rsa, signed)
        # The administrator's token lives for a minute unless the master realm says otherwise.
        short = {"Authorization": self.administrator()}
        realm = {"accessTokenLifespan": LIFETIME}
        expect(f"{self.base}/admin/realms/master", send=realm, headers=short, method="PUT")
        bearer = self.administrator()
        clients = f"{self.base}/admin/realms/assay/clients"
        (found,) = ask(f"{clients}?clientId=rs256", headers={"Authorization": bearer}).json()
        client = Operation(f"{clients}/{found['id']}", bearer)
        client.right = lambda answer: answer["clientId"] == "rs256"
        self.operations["get one client"] = client

    def administrator(self):
        form = {"grant_type": "password", "client_id": "admin-cli", "username": "admin", "password": self.password}
        token = expect(f"{self.base}/realms/master/protocol/openid-connect/token", form=form).json()
        return f"Bearer {token['access_token']}"


def output(*command):
    """What a program says of itself: Java does so on stderr."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return (done.stdout or done.stderr).strip()


def private(path, text):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text + "\n")


ALL = [SignetInMemory, OidcProvider, SignetOnPostgres, Keycloak]
