-- Clients, tokens, the log and what the nodes agree on. Every table has a tenant; a 0 takes no room in a row.

CREATE TABLE log_head (
    tenant   INTEGER NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL,
    mark     BLOB
);
INSERT INTO log_head (tenant, position) VALUES (0, 0);

-- The tail of the log. Positions are gapless and in commit order.
CREATE TABLE log (
    position   INTEGER PRIMARY KEY,
    tenant     INTEGER NOT NULL,
    mark       BLOB NOT NULL,
    at         INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    key        BLOB,
    name       TEXT,
    generation INTEGER,
    until      INTEGER NOT NULL
);

-- What ended. The bucket is that of `until` for tokens, so that whole stretches expire; it is 0 for families and
-- sessions, whose end may be moved.
CREATE TABLE ended (
    tenant INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    kind   INTEGER NOT NULL,
    key    BLOB NOT NULL,
    until  INTEGER NOT NULL,
    PRIMARY KEY (tenant, bucket, kind, key)
) WITHOUT ROWID;
CREATE INDEX ended_until ON ended (until) WHERE bucket = 0;

-- Generations below which tokens are dead, for as long as such a token could live. Kind 1: client, 2: user.
CREATE TABLE generations (
    tenant     INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    key        BLOB NOT NULL,
    name       TEXT,
    generation INTEGER NOT NULL,
    until      INTEGER NOT NULL,
    attempt    BLOB,
    PRIMARY KEY (tenant, kind, key)
) WITHOUT ROWID;
CREATE INDEX generations_until ON generations (until);

CREATE TABLE clients (
    row        INTEGER PRIMARY KEY,
    tenant     INTEGER NOT NULL,
    id         TEXT NOT NULL,
    generation INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    enabled    INTEGER NOT NULL,
    name       TEXT,
    owner      TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    attempt    BLOB NOT NULL,
    body       TEXT NOT NULL,
    UNIQUE (tenant, id)
);
CREATE INDEX clients_name ON clients (tenant, name, id) WHERE name IS NOT NULL;
CREATE INDEX clients_owner ON clients (tenant, owner, id) WHERE owner IS NOT NULL;

-- The hot table: appended to in the order of expiry, no second index.
CREATE TABLE tokens (
    locator    INTEGER PRIMARY KEY,
    tenant     INTEGER NOT NULL,
    key        BLOB NOT NULL,
    client     TEXT NOT NULL,
    subject    TEXT,
    scope      TEXT NOT NULL,
    audience   TEXT,
    issued_at  INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    form       INTEGER NOT NULL,
    cgn        INTEGER NOT NULL,
    ugn        INTEGER,
    family     BLOB,
    session    BLOB
);

CREATE TABLE live_tokens (
    tenant     INTEGER NOT NULL,
    key        BLOB NOT NULL,
    locator    INTEGER NOT NULL,
    issued_at  INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) WITHOUT ROWID;
CREATE INDEX live_tokens_expires_at ON live_tokens (expires_at);

-- Used assertions, with the attempt that won.
CREATE TABLE assertions (
    tenant  INTEGER NOT NULL,
    until   INTEGER NOT NULL,
    key     BLOB NOT NULL,
    attempt BLOB NOT NULL,
    PRIMARY KEY (tenant, until, key)
) WITHOUT ROWID;

CREATE TABLE signing_keys (
    tenant      INTEGER NOT NULL,
    kid         TEXT NOT NULL,
    algorithm   TEXT NOT NULL,
    public_jwk  TEXT NOT NULL,
    sealed      BLOB,
    remote      TEXT,
    purpose     TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    publish_at  INTEGER,
    active_from INTEGER NOT NULL,
    retires_at  INTEGER,
    gone_at     INTEGER,
    version     INTEGER NOT NULL,
    slot        TEXT,
    attempt     BLOB NOT NULL,
    PRIMARY KEY (tenant, kid),
    UNIQUE (tenant, slot)
);

CREATE TABLE settings (
    tenant INTEGER NOT NULL,
    name   TEXT NOT NULL,
    value  TEXT NOT NULL,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

CREATE TABLE counters (
    tenant INTEGER NOT NULL,
    name   TEXT NOT NULL,
    value  INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

CREATE TABLE leases (
    tenant     INTEGER NOT NULL,
    name       TEXT NOT NULL,
    holder     TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
