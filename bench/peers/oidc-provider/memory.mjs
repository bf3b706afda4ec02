// What oidc-provider stores, kept in memory until it expires. Its own test adapter forgets all but the newest thousand
// entries; a server must not.
const models = new Map(); // model name -> id -> { payload, expiresAt }
const ids = new Map(); // the other names of an entry: `uid:…`, `code:…` -> id
const grants = new Map(); // grant id -> [[model name, id]…]

export class MemoryAdapter {
  #name;

  #entries;

  constructor(name) {
    this.#name = name;
    if (!models.has(name)) models.set(name, new Map());
    this.#entries = models.get(name);
  }

  async upsert(id, payload, expiresIn) {
    this.#entries.delete(id); // to the end: the sweep reads from the oldest on
    this.#entries.set(id, { payload, expiresAt: expiresIn ? Date.now() + expiresIn * 1000 : Infinity });
    if (payload.uid) ids.set(`uid:${payload.uid}`, id);
    if (payload.userCode) ids.set(`code:${payload.userCode}`, id);
    if (payload.grantId && this.#name !== 'Session') {
      if (!grants.has(payload.grantId)) grants.set(payload.grantId, []);
      grants.get(payload.grantId).push([this.#name, id]);
    }
  }

  async find(id) {
    const entry = this.#entries.get(id);
    return entry && entry.expiresAt > Date.now() ? entry.payload : undefined;
  }

  async findByUid(uid) {
    return this.find(ids.get(`uid:${uid}`));
  }

  async findByUserCode(userCode) {
    return this.find(ids.get(`code:${userCode}`));
  }

  async consume(id) {
    const payload = await this.find(id);
    if (payload) payload.consumed = Math.floor(Date.now() / 1000);
  }

  async destroy(id) {
    const entry = this.#entries.get(id);
    if (entry?.payload.uid) ids.delete(`uid:${entry.payload.uid}`);
    this.#entries.delete(id);
  }

  async revokeByGrantId(grantId) {
    for (const [name, id] of grants.get(grantId) ?? []) models.get(name).delete(id);
    grants.delete(grantId);
  }
}

// Entries of one model live equally long, so the first that is still alive ends the sweep.
function sweep() {
  const now = Date.now();
  for (const entries of models.values()) {
    for (const [id, { payload, expiresAt }] of entries) {
      if (expiresAt > now) break;
      entries.delete(id);
      if (payload.uid) ids.delete(`uid:${payload.uid}`);
      if (payload.grantId) grants.delete(payload.grantId);
    }
  }
}
setInterval(sweep, 5000).unref();
