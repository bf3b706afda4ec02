-- Clients, tokens, the log and what the nodes agree on. Every table has a tenant.

CREATE TABLE log_head (
    tenant   smallint PRIMARY KEY,
    position bigint NOT NULL,
    mark     bytea
) WITH (fillfactor = 10); -- one row, written again and again: room for its versions in one page
INSERT INTO log_head (tenant, position) VALUES (0, 0);

-- The tail of the log. Positions are gapless and in commit order.
CREATE TABLE log (
    position   bigint NOT NULL,
    tenant     smallint NOT NULL,
    mark       bytea NOT NULL,
    at         bigint NOT NULL,
    kind       smallint NOT NULL,
    key        bytea,
    name       text,
    generation bigint,
    until      bigint NOT NULL,
    PRIMARY KEY (tenant, position)
);

-- What ended. The bucket is that of `until` for tokens, so that whole stretches expire; it is 0 for families and
-- sessions, whose end may be moved.
CREATE TABLE ended (
    tenant smallint NOT NULL,
    bucket bigint NOT NULL,
    kind   smallint NOT NULL,
    key    bytea NOT NULL,
    until  bigint NOT NULL,
    PRIMARY KEY (tenant, bucket, kind, key)
);
CREATE INDEX ended_until ON ended (until) WHERE bucket = 0;

-- Generations below which tokens are dead, for as long as such a token could live. Kind 1: client, 2: user.
CREATE TABLE generations (
    tenant     smallint NOT NULL,
    kind       smallint NOT NULL,
    key        bytea NOT NULL,
    name       text,
    generation bigint NOT NULL,
    until      bigint NOT NULL,
    attempt    bytea,
    PRIMARY KEY (tenant, kind, key)
);
CREATE INDEX generations_until ON generations (until);

CREATE TABLE clients (
    tenant     smallint NOT NULL,
    id         text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    version    bigint NOT NULL,
    enabled    boolean NOT NULL,
    name       text COLLATE "C",
    owner      text COLLATE "C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    attempt    bytea NOT NULL,
    body       text NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX clients_name ON clients (tenant, name, id) WHERE name IS NOT NULL;
CREATE INDEX clients_owner ON clients (tenant, owner, id) WHERE owner IS NOT NULL;

-- The hot table: a partition for each stretch of expiry, made ahead and dropped whole.
CREATE TABLE tokens (
    locator    bigint PRIMARY KEY,
    tenant     smallint NOT NULL,
    key        bytea NOT NULL,
    client     text NOT NULL,
    subject    text,
    scope      text NOT NULL,
    audience   text,
    issued_at  bigint NOT NULL,
    expires_at bigint NOT NULL,
    form       smallint NOT NULL,
    cgn        bigint NOT NULL,
    ugn        bigint,
    family     bytea,
    session    bytea
) PARTITION BY RANGE (locator);

CREATE TABLE live_tokens (
    tenant     smallint NOT NULL,
    key        bytea NOT NULL,
    locator    bigint NOT NULL,
    issued_at  bigint NOT NULL,
    expires_at bigint NOT NULL,
    generation bigint NOT NULL,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX live_tokens_expires_at ON live_tokens (expires_at);

-- Used assertions, with the attempt that won.
CREATE TABLE assertions (
    tenant  smallint NOT NULL,
    until   bigint NOT NULL,
    key     bytea NOT NULL,
    attempt bytea NOT NULL,
    PRIMARY KEY (tenant, until, key)
);

CREATE TABLE signing_keys (
    tenant      smallint NOT NULL,
    kid         text COLLATE "C" NOT NULL,
    algorithm   text NOT NULL,
    public_jwk  text NOT NULL,
    sealed      bytea,
    remote      text,
    purpose     text NOT NULL,
    created_at  bigint NOT NULL,
    publish_at  bigint,
    active_from bigint NOT NULL,
    retires_at  bigint,
    gone_at     bigint,
    version     bigint NOT NULL,
    slot        text,
    attempt     bytea NOT NULL,
    PRIMARY KEY (tenant, kid),
    UNIQUE (tenant, slot)
);

CREATE TABLE settings (
    tenant smallint NOT NULL,
    name   text NOT NULL,
    value  text NOT NULL,
    PRIMARY KEY (tenant, name)
);

CREATE TABLE counters (
    tenant smallint NOT NULL,
    name   text NOT NULL,
    value  bigint NOT NULL,
    PRIMARY KEY (tenant, name)
);

CREATE TABLE leases (
    tenant     smallint NOT NULL,
    name       text NOT NULL,
    holder     text NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (tenant, name)
);
