-- People: users, their sessions and consents, families of refresh tokens, used codes, and what expires soon.

CREATE TABLE users (
    row                INTEGER PRIMARY KEY,
    tenant             INTEGER NOT NULL,
    id                 TEXT NOT NULL,
    username           TEXT NOT NULL,
    email              TEXT, -- lower case, to be found by
    name               TEXT, -- lower case, to be found by
    generation         INTEGER NOT NULL,
    session_generation INTEGER NOT NULL,
    version            INTEGER NOT NULL,
    locked             INTEGER NOT NULL,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    attempt            BLOB NOT NULL,
    body               TEXT NOT NULL,
    UNIQUE (tenant, id),
    UNIQUE (tenant, username)
);
CREATE INDEX users_email ON users (tenant, email, id) WHERE email IS NOT NULL;
CREATE INDEX users_name ON users (tenant, name, id) WHERE name IS NOT NULL;

CREATE TABLE sessions (
    row        INTEGER PRIMARY KEY,
    tenant     INTEGER NOT NULL,
    id         BLOB NOT NULL,
    subject    TEXT NOT NULL,
    generation INTEGER NOT NULL,
    auth_time  INTEGER NOT NULL,
    amr        TEXT NOT NULL,
    acr        TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    UNIQUE (tenant, id)
);
CREATE INDEX sessions_subject ON sessions (tenant, subject);
CREATE INDEX sessions_expires_at ON sessions (tenant, expires_at);

-- Which clients took part in a session: whom to tell when it ends.
CREATE TABLE session_clients (
    tenant  INTEGER NOT NULL,
    session BLOB NOT NULL,
    client  TEXT NOT NULL,
    until   INTEGER NOT NULL,
    PRIMARY KEY (tenant, session, client)
) WITHOUT ROWID;
CREATE INDEX session_clients_until ON session_clients (tenant, until);

CREATE TABLE consents (
    tenant     INTEGER NOT NULL,
    subject    TEXT NOT NULL,
    client     TEXT NOT NULL,
    scope      TEXT NOT NULL,
    granted_at INTEGER NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (tenant, subject, client)
) WITHOUT ROWID;
CREATE INDEX consents_expires_at ON consents (tenant, expires_at) WHERE expires_at IS NOT NULL;

-- One row for each family, however often it rotates: generation and attempt are what changes.
CREATE TABLE families (
    row        INTEGER PRIMARY KEY,
    tenant     INTEGER NOT NULL,
    id         BLOB NOT NULL,
    generation INTEGER NOT NULL,
    rotated_at INTEGER NOT NULL,
    attempt    BLOB,
    secret     BLOB NOT NULL,
    client     TEXT NOT NULL,
    subject    TEXT,
    session    BLOB,
    scope      TEXT NOT NULL,
    audience   TEXT,
    issued_at  INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    cgn        INTEGER NOT NULL,
    ugn        INTEGER,
    auth_time  INTEGER,
    amr        TEXT,
    acr        TEXT,
    claims     INTEGER,
    UNIQUE (tenant, id)
);
CREATE INDEX families_subject ON families (tenant, subject) WHERE subject IS NOT NULL;
CREATE INDEX families_expires_at ON families (tenant, expires_at);

-- Redeemed authorization codes, with the attempt that won.
CREATE TABLE codes (
    tenant  INTEGER NOT NULL,
    until   INTEGER NOT NULL,
    id      BLOB NOT NULL,
    attempt BLOB NOT NULL,
    PRIMARY KEY (tenant, until, id)
) WITHOUT ROWID;

-- Failed logins. A key has one of a fixed number of places, so that nobody can fill the table.
CREATE TABLE login_failures (
    tenant INTEGER NOT NULL,
    slot   INTEGER NOT NULL,
    key    BLOB NOT NULL,
    count  INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    until  INTEGER NOT NULL,
    PRIMARY KEY (tenant, slot)
) WITHOUT ROWID;
CREATE INDEX login_failures_until ON login_failures (tenant, until);

-- Authorization requests that were pushed and do not fit into a URL.
CREATE TABLE pushed_requests (
    tenant INTEGER NOT NULL,
    until  INTEGER NOT NULL,
    id     BLOB NOT NULL,
    client TEXT NOT NULL,
    body   BLOB NOT NULL,
    PRIMARY KEY (tenant, until, id)
);

-- What userinfo tells for a token beyond its scope.
ALTER TABLE tokens ADD COLUMN claims INTEGER;
