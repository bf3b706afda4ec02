// The login and the consent of a test: any user name is believed, the password is not looked at.
// GET /interaction/<uid> shows the form, POST /interaction/<uid> answers it: `login=NAME`; for consent, nothing.
const page = (title, fields) => `<!doctype html>
<title>${title}</title>
<form method="post">${fields}<button type="submit">${title}</button></form>
`;
const login = page('Log in', `<input type="hidden" name="prompt" value="login">
<input name="login" autocomplete="username"><input name="password" type="password">`);
const consent = page('Allow', '<input type="hidden" name="prompt" value="consent">');

async function form(request) {
  let body = '';
  for await (const chunk of request) {
    body += chunk;
    if (body.length > 65536) throw new Error('the form is too long');
  }
  return new URLSearchParams(body);
}

async function grantOf(provider, { grantId, params, session, prompt: { details } }) {
  const known = grantId && await provider.Grant.find(grantId);
  const grant = known || new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  if (details.missingOIDCScope) grant.addOIDCScope(details.missingOIDCScope.join(' '));
  if (details.missingOIDCClaims) grant.addOIDCClaims(details.missingOIDCClaims);
  for (const [resource, scopes] of Object.entries(details.missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(' '));
  }
  return grant.save();
}

export function interactions(provider) {
  return async (ctx, next) => {
    if (!ctx.path.startsWith('/interaction/')) return next();
    ctx.set('cache-control', 'no-store');
    const details = await provider.interactionDetails(ctx.req, ctx.res);
    const asksWho = details.prompt.name === 'login';
    if (ctx.method === 'GET') {
      ctx.type = 'html';
      ctx.body = asksWho ? login : consent;
      return undefined;
    }
    const result = asksWho
      ? { login: { accountId: (await form(ctx.req)).get('login') || 'user' } }
      : { consent: { grantId: await grantOf(provider, details) } };
    ctx.respond = false;
    return provider.interactionFinished(ctx.req, ctx.res, result, { mergeWithLastSubmission: !asksWho });
  };
}
