-- The same tables as in ../sqlite, in PostgreSQL's words. Times are milliseconds since 1970. A switch is 0 or 1.
CREATE TABLE recordings (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    live BIGINT NOT NULL,
    -- Sealed, or live.
    listed BIGINT NOT NULL,
    owner TEXT NOT NULL,
    host TEXT,
    tags TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    touched_ms BIGINT NOT NULL,
    sealed_ms BIGINT,
    bytes BIGINT NOT NULL,
    sha256 TEXT,
    program TEXT NOT NULL,
    cpu_ns BIGINT NOT NULL,
    wall_ns BIGINT NOT NULL,
    facts TEXT
);
CREATE INDEX recordings_by_time ON recordings (listed, created_ms, id);
CREATE INDEX recordings_by_size ON recordings (listed, bytes, id);
CREATE INDEX recordings_by_cpu ON recordings (listed, cpu_ns, id);
CREATE INDEX recordings_by_wall ON recordings (listed, wall_ns, id);
CREATE INDEX recordings_open ON recordings (state, touched_ms);
CREATE INDEX recordings_owned ON recordings (owner, state, created_ms);
CREATE INDEX recordings_content ON recordings (sha256);

-- What was uploaded of a recording that is not sealed yet.
CREATE TABLE chunks (
    recording TEXT NOT NULL,
    starts_at BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    object TEXT NOT NULL,
    PRIMARY KEY (recording, starts_at)
);

-- Stored once, however many recordings are the same. A doomed one is about to be deleted.
CREATE TABLE contents (
    sha256 TEXT NOT NULL PRIMARY KEY,
    bytes BIGINT NOT NULL,
    uses BIGINT NOT NULL,
    doomed BIGINT NOT NULL
);

-- What a recording is found by.
CREATE TABLE terms (
    kind TEXT NOT NULL,
    word TEXT COLLATE "C" NOT NULL,
    -- The recording's: the newest with a word are read first.
    created_ms BIGINT NOT NULL,
    recording TEXT NOT NULL,
    PRIMARY KEY (kind, word, created_ms, recording)
);
CREATE INDEX terms_recording ON terms (recording);

CREATE TABLE tokens (
    name TEXT NOT NULL PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    scopes TEXT NOT NULL,
    made_ms BIGINT NOT NULL,
    expires_ms BIGINT,
    used_ms BIGINT,
    revoked_ms BIGINT
);

CREATE TABLE sessions (
    hash TEXT NOT NULL PRIMARY KEY,
    token TEXT NOT NULL,
    expires_ms BIGINT NOT NULL
);
CREATE INDEX sessions_token ON sessions (token);

CREATE TABLE links (
    code TEXT NOT NULL PRIMARY KEY,
    recording TEXT NOT NULL,
    made_by TEXT NOT NULL,
    made_ms BIGINT NOT NULL,
    expires_ms BIGINT,
    revoked_ms BIGINT,
    revoked_by TEXT,
    needs_token BIGINT NOT NULL,
    fragment TEXT NOT NULL,
    opened BIGINT NOT NULL
);
CREATE INDEX links_recording ON links (recording);

CREATE TABLE settings (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
