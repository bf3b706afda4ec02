// oidc-provider as a peer: clients from the environment, everything in memory, one login page for tests.
//
//   PORT          port on loopback; 0 takes a free one
//   CLIENTS       JSON: a list of clients, with the field names of RFC 7591
//   SIGNING_ALG   RS256 (default) or ES256: signs ID tokens, and access tokens of the resource that names no algorithm
//   TOKEN_TTL     seconds that access tokens live (3600)
//
// Access tokens are opaque unless the request says `resource=urn:peers:jwt`, `urn:peers:RS256` or `urn:peers:ES256`.
import { createServer } from 'node:http';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import * as oidc from 'oidc-provider';
import { MemoryAdapter } from './memory.mjs';
import { interactions } from './interactions.mjs';

const {
  PORT = '0', CLIENTS = '[]', SIGNING_ALG = 'RS256', TOKEN_TTL = '3600',
} = process.env;
const lifetime = Number(TOKEN_TTL);

const keys = [
  ['RS256', generateKeyPairSync('rsa', { modulusLength: 2048 })],
  ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
].map(([alg, { privateKey }]) => ({ ...privateKey.export({ format: 'jwk' }), alg, use: 'sig', kid: alg.toLowerCase() }));

const algorithms = new Map([
  ['urn:peers:jwt', SIGNING_ALG], ['urn:peers:RS256', 'RS256'], ['urn:peers:ES256', 'ES256'],
]);

function resourceServer(ctx, indicator) {
  const alg = algorithms.get(indicator);
  if (!alg) throw new oidc.errors.InvalidTarget();
  return {
    scope: 'read write', audience: indicator, accessTokenTTL: lifetime, accessTokenFormat: 'jwt', jwt: { sign: { alg } },
  };
}

const configuration = {
  adapter: MemoryAdapter,
  clients: JSON.parse(CLIENTS),
  clientDefaults: { id_token_signed_response_alg: SIGNING_ALG },
  jwks: { keys },
  cookies: { keys: [randomBytes(32).toString('base64url')] },
  scopes: ['openid', 'offline_access', 'read', 'write'],
  pkce: { required: () => false },
  findAccount: (ctx, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  interactions: { url: (ctx, { uid }) => `/interaction/${uid}` },
  issueRefreshToken: (ctx, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: true,
  ttl: {
    AccessToken: lifetime,
    ClientCredentials: lifetime,
    IdToken: lifetime,
    AuthorizationCode: 60,
    Interaction: 600,
    RefreshToken: 86400,
    Grant: 86400,
    Session: 86400,
  },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: { enabled: true, getResourceServerInfo: resourceServer, useGrantedResource: () => true },
  },
};

// The issuer has the port in it, so the port is taken before there is a provider.
const server = createServer();
server.listen(Number(PORT), '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new oidc.Provider(issuer, configuration);
  provider.use(interactions(provider));
  provider.on('server_error', (ctx, error) => console.error(error));
  server.on('request', provider.callback());
  console.log(`oidc-provider is listening at ${issuer}`);
});
process.on('SIGTERM', () => process.exit(0));
