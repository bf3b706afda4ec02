-- People: users, their sessions and consents, families of refresh tokens, used codes, and what expires soon.

CREATE TABLE users (
    tenant             smallint NOT NULL,
    id                 text COLLATE "C" NOT NULL,
    username           text COLLATE "C" NOT NULL,
    email              text COLLATE "C", -- lower case, to be found by
    name               text COLLATE "C", -- lower case, to be found by
    generation         bigint NOT NULL,
    session_generation bigint NOT NULL,
    version            bigint NOT NULL,
    locked             boolean NOT NULL,
    created_at         bigint NOT NULL,
    updated_at         bigint NOT NULL,
    attempt            bytea NOT NULL,
    body               text NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, username)
);
CREATE INDEX users_email ON users (tenant, email, id) WHERE email IS NOT NULL;
CREATE INDEX users_name ON users (tenant, name, id) WHERE name IS NOT NULL;

CREATE TABLE sessions (
    tenant     smallint NOT NULL,
    id         bytea NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    auth_time  bigint NOT NULL,
    amr        text NOT NULL,
    acr        text,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX sessions_subject ON sessions (tenant, subject);
CREATE INDEX sessions_expires_at ON sessions (tenant, expires_at);

-- Which clients took part in a session: whom to tell when it ends.
CREATE TABLE session_clients (
    tenant  smallint NOT NULL,
    session bytea NOT NULL,
    client  text COLLATE "C" NOT NULL,
    until   bigint NOT NULL,
    PRIMARY KEY (tenant, session, client)
);
CREATE INDEX session_clients_until ON session_clients (tenant, until);

CREATE TABLE consents (
    tenant     smallint NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    client     text COLLATE "C" NOT NULL,
    scope      text NOT NULL,
    granted_at bigint NOT NULL,
    expires_at bigint,
    PRIMARY KEY (tenant, subject, client)
);
CREATE INDEX consents_expires_at ON consents (tenant, expires_at) WHERE expires_at IS NOT NULL;

-- One row for each family, however often it rotates: generation and attempt are what changes.
CREATE TABLE families (
    tenant     smallint NOT NULL,
    id         bytea NOT NULL,
    generation bigint NOT NULL,
    rotated_at bigint NOT NULL,
    attempt    bytea,
    secret     bytea NOT NULL,
    client     text COLLATE "C" NOT NULL,
    subject    text COLLATE "C",
    session    bytea,
    scope      text NOT NULL,
    audience   text,
    issued_at  bigint NOT NULL,
    expires_at bigint NOT NULL,
    cgn        bigint NOT NULL,
    ugn        bigint,
    auth_time  bigint,
    amr        text,
    acr        text,
    claims     bigint,
    PRIMARY KEY (tenant, id)
) WITH (fillfactor = 70); -- rotated in place: room for the next version in the same page
CREATE INDEX families_subject ON families (tenant, subject) WHERE subject IS NOT NULL;
CREATE INDEX families_expires_at ON families (tenant, expires_at);

-- Redeemed authorization codes, with the attempt that won.
CREATE TABLE codes (
    tenant  smallint NOT NULL,
    until   bigint NOT NULL,
    id      bytea NOT NULL,
    attempt bytea NOT NULL,
    PRIMARY KEY (tenant, until, id)
);

-- Failed logins. A key has one of a fixed number of places, so that nobody can fill the table.
CREATE TABLE login_failures (
    tenant smallint NOT NULL,
    slot   bigint NOT NULL,
    key    bytea NOT NULL,
    count  bigint NOT NULL,
    at     bigint NOT NULL,
    until  bigint NOT NULL,
    PRIMARY KEY (tenant, slot)
);
CREATE INDEX login_failures_until ON login_failures (tenant, until);

-- Authorization requests that were pushed and do not fit into a URL.
CREATE TABLE pushed_requests (
    tenant smallint NOT NULL,
    until  bigint NOT NULL,
    id     bytea NOT NULL,
    client text COLLATE "C" NOT NULL,
    body   bytea NOT NULL,
    PRIMARY KEY (tenant, until, id)
);

-- What userinfo tells for a token beyond its scope.
ALTER TABLE tokens ADD COLUMN claims bigint;
