import { describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { useWorld } from './world.ts'

const world = useWorld()

const TOKEN = Buffer.alloc(32, 7).toString('base64url')

/** Opens a page as a browser does, and checks the properties of every answer and every page. */
async function open(url: string) {
  return checked(await world().app.inject({ method: 'GET', url }))
}

/** Submits a page's form as a browser does. */
async function submit(path: string, fields: Record<string, string> | string, from?: string) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const payload = typeof fields === 'string' ? fields : new URLSearchParams(fields).toString()
  const request = { method: 'POST', url: path, headers, payload } as const
  return checked(await world().app.inject({ ...request, ...(from && { remoteAddress: from }) }))
}

type Injected = Awaited<ReturnType<ReturnType<typeof world>['app']['inject']>>

function checked({ statusCode, headers, body }: Injected) {
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.any(String),
  })
  for (const name of ['limit', 'remaining', 'reset']) {
    expect(String(headers[`x-ratelimit-${name}`])).toMatch(/^\d+$/)
  }
  const policy = String(headers['content-security-policy'])
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self';/)
  expect(body).toMatch(/<meta name="viewport" content="width=device-width/)
  // The page loads and runs nothing.
  expect(body).not.toMatch(/<script|src=|href="(?![\w-]+")|https?:|\son\w+=/i)
  return { status: statusCode, headers, body }
}

const verified = async ({ token }: Account) =>
  (await world().call('GET', '/api/v1/account', { token })).body.data.email_verified

async function resetTokenOf({ email }: Account): Promise<string> {
  await world().call('POST', '/api/v1/auth/forgot-password', { json: { email } })
  return (await world().mailed(email, 'reset_password')) ?? ''
}

async function verifyTokenOf({ email }: Account): Promise<string> {
  return (await world().mailed(email, 'verify_email')) ?? ''
}

describe('/accept-invitation', () => {
  const path = '/accept-invitation'
  const password = 'a long password'

  async function invited() {
    const owner = await world().signup()
    await world().verify(owner)
    const { id, email } = await world().invitation(owner)
    return { owner, id, email, token: (await world().mailed(email, 'invitation')) ?? '' }
  }

  it('shows workspace and role, changes nothing when it is opened, and accepts once', async () => {
    const { owner, email, token } = await invited()
    const name = '<b>Tom & "Co"</b>'
    await world().call('PUT', '/api/v1/account', { token: owner.token, json: { name } })
    for (let i = 0; i < 2; i++) {
      const page = await open(`${path}?token=${token}`)
      expect(page.status).toBe(200)
      expect(page.body).toContain('&lt;b&gt;Tom &amp; &quot;Co&quot;&lt;/b&gt;')
      expect(page.body).toContain('with the role developer')
    }
    const easy = await submit(path, { token, password: 'password', name: '' })
    expect([easy.status, easy.body]).toEqual([400, expect.stringContaining('role="alert"')])
    expect((await submit(path, { token, password, name: '' })).body).toContain('You are a member')
    const again = await open(`${path}?token=${token}`)
    expect([again.status, again.body]).toEqual([400, expect.stringContaining('not valid')])
    expect((await submit(path, { token, password })).status).toBe(400)
    const login = await world().call('POST', '/api/v1/auth/login', { json: { email, password } })
    expect(login.body.data.workspace.id).toBe(owner.id)
  })

  it('asks for the password of a login that exists, and counts wrong ones', async () => {
    const { owner } = await invited()
    const other = await world().signup()
    const json = { email: other.email, role: 'viewer' }
    await world().call('POST', '/api/v1/invitations', { token: owner.token, json })
    const token = (await world().mailed(other.email, 'invitation')) ?? ''
    const page = await open(`${path}?token=${token}`)
    expect(page.body).toContain('The password of your login')
    expect(page.body).not.toContain('name="name"')
    expect((await submit(path, { token, password: 'not the password' })).status).toBe(401)
    expect((await submit(path, { token, password: other.password })).status).toBe(200)
  })
})

describe('/verify-email', () => {
  it('changes nothing when it is opened, and verifies the address after a click on its button', async () => {
    const owner = await world().signup()
    const token = await verifyTokenOf(owner)
    const page = await open(`/verify-email?token=${token}`)
    expect(page.status).toBe(200)
    expect(page.body).toContain('<form method="post" action="verify-email"')
    expect(page.body).toContain(`<input type="hidden" name="token" value="${token}">`)
    expect(await verified(owner)).toBe(false)
    const after = await submit('/verify-email', { token })
    expect(after.status).toBe(200)
    expect(after.body).toContain('<h1>Address verified</h1>')
    expect(await verified(owner)).toBe(true)
    const again = await open(`/verify-email?token=${token}`)
    expect(again.body).toContain('<h1>This link is not valid any more</h1>')
  })

  it('reports a used token', async () => {
    const owner = await world().signup()
    const token = await verifyTokenOf(owner)
    await submit('/verify-email', { token })
    const { status, body } = await submit('/verify-email', { token })
    expect(status).toBe(400)
    expect(body).toContain('<h1>This link is not valid any more</h1>')
  })
})

describe('/reset-password', () => {
  const login = ({ email }: Account, password: string) =>
    world().call('POST', '/api/v1/auth/login', { json: { email, password } })

  it('shows a form for a password, and changes the password', async () => {
    const owner = await world().signup()
    const token = await resetTokenOf(owner)
    const page = await open(`/reset-password?token=${token}`)
    expect(page.status).toBe(200)
    expect(page.body).toContain('<form method="post" action="reset-password"')
    expect(page.body).toContain('autocomplete="new-password"')
    expect(page.body).toContain(owner.email)
    const password = 'пароль & "quotes" + 100 %'
    const after = await submit('/reset-password', { token, password })
    expect(after.status).toBe(200)
    expect(after.body).toContain('<h1>Password changed</h1>')
    expect((await login(owner, password)).status).toBe(200)
  })

  it('revokes the API keys only if the box is ticked', async () => {
    const owner = await world().signup()
    await world().verify(owner)
    const { key } = await world().key(owner)
    const list = async () => (await world().call('GET', '/api/v1/messages', { key })).status
    const page = await open(`/reset-password?token=${await resetTokenOf(owner)}`)
    expect(page.body).toContain('<input type="checkbox" name="revoke_api_keys" value="true">')
    expect(page.body).toContain('<input type="checkbox" name="keep_recent" value="true">')
    const password = 'long enough'
    await submit('/reset-password', { token: await resetTokenOf(owner), password })
    expect(await list()).toBe(200)
    const fields = { token: await resetTokenOf(owner), password, revoke_api_keys: 'true' }
    const { status, body } = await submit('/reset-password', fields)
    expect(status).toBe(200)
    expect(body).toContain('1 API key was revoked. Create new keys.')
    expect(await list()).toBe(401)
  })

  it('shows the form again for a password that is easy to guess', async () => {
    const token = await resetTokenOf(await world().signup())
    const { status, body } = await submit('/reset-password', { token, password: 'password123' })
    expect(status).toBe(400)
    expect(body).toContain('<p role="alert">Password is one of the most common ones')
    expect(body).toContain(`value="${token}"`)
    expect(body).toContain('name="revoke_api_keys" value="true">')
  })

  it('shows the form again with the same box', async () => {
    const token = await resetTokenOf(await world().signup())
    const fields = { token, password: 'password123', revoke_api_keys: 'true' }
    const { status, body } = await submit('/reset-password', fields)
    expect(status).toBe(400)
    expect(body).toContain('name="revoke_api_keys" value="true" checked>')
  })

  it('shows the form again for a short password, with the same token', async () => {
    const owner = await world().signup()
    const token = await resetTokenOf(owner)
    const { status, body } = await submit('/reset-password', { token, password: 'short' })
    expect(status).toBe(400)
    expect(body).toContain('<p role="alert">Password must be at least 8 characters</p>')
    expect(body).toContain(`value="${token}"`)
    expect(body).not.toContain('short')
    expect((await submit('/reset-password', { token, password: 'long enough' })).status).toBe(200)
  })

  it('accepts the longest password', async () => {
    const owner = await world().signup()
    const token = await resetTokenOf(owner)
    const password = '€'.repeat(256)
    expect((await submit('/reset-password', { token, password })).status).toBe(200)
    expect((await login(owner, password)).status).toBe(200)
  })
})

describe.each(['/verify-email', '/reset-password'])('%s', (path) => {
  it.each([
    '',
    '?token=',
    '?token=%22%3E%3Cscript%3E',
    '?token=a&token=b',
    `?token=${'a'.repeat(257)}`,
    '?x=1',
  ])('reports an incomplete link for %j', async (search) => {
    const { status, body } = await open(`${path}${search}`)
    expect(status).toBe(400)
    expect(body).toContain('<h1>Incomplete link</h1>')
  })

  it.each([
    ['', 'Missing required field: token'],
    ['token=%ff', 'The form must be percent-encoded UTF-8'],
    ['token=%00', 'U+0000'],
    [`token=${'a'.repeat(9_000)}`, 'Request body is too large'],
    ['token=%3Cb%3E&password=long+enough', 'This link is not valid any more'],
    ['__proto__=1&password=long+enough', 'Missing required field: token'],
  ])('refuses the form %j', async (fields, text) => {
    const { status, body } = await submit(path, fields)
    expect(status).toBe(400)
    expect(body).toContain(text)
  })

  it('accepts only forms', async () => {
    const headers = { 'content-type': 'application/json' }
    const payload = JSON.stringify({ token: TOKEN, password: 'long enough' })
    const answer = await world().app.inject({ method: 'POST', url: path, headers, payload })
    expect(checked(answer).status).toBe(400)
  })
})

describe.each([
  ['/verify-email', 'resend-verification', 24 * 60],
  ['/reset-password', 'forgot-password', 30],
] as const)('a link of %s that is not valid any more', (path, request, lifetime_min) => {
  const purpose = path === '/verify-email' ? 'verify_email' : 'reset_password'

  it.each(['used', 'replaced', 'too old', 'for another purpose', 'never issued'])(
    'shows no button for its purpose, but a form for a new link: %s',
    async (why) => {
      const owner = await world().signup()
      const tokenOf = path === '/verify-email' ? verifyTokenOf : resetTokenOf
      const first = await tokenOf(owner)
      const json = { email: owner.email }
      if (why === 'used') await submit(path, { token: first, password: 'long enough' })
      if (why === 'replaced') await world().call('POST', `/api/v1/auth/${request}`, { json })
      if (why === 'replaced') await world().mailed(owner.email, purpose)
      if (why === 'too old') await world().advance(lifetime_min * 60_000)
      const other = path === '/verify-email' ? resetTokenOf : verifyTokenOf
      const tokens: Record<string, string> = {
        'for another purpose': await other(owner),
        'never issued': TOKEN,
      }
      const { status, body } = await open(`${path}?token=${tokens[why] ?? first}`)
      expect(status).toBe(400)
      expect(body).toContain('<h1>This link is not valid any more</h1>')
      expect(body).toContain(`<form method="post" action="${request}"`)
      expect(body).not.toContain('name="token"')
      expect(body).not.toContain(owner.email)
    },
  )

  it('leads to a new link by its form, which says the same about every address', async () => {
    const owner = await world().signup()
    await world().mailed(owner.email, 'verify_email')
    expect((await open(`/${request}`)).body).toContain('<input type="email" name="email" required')
    const known = await submit(`/${request}`, { email: owner.email })
    const token = (await world().mailed(owner.email, purpose)) ?? ''
    expect((await open(`${path}?token=${token}`)).status).toBe(200)
    const unknown = await submit(`/${request}`, { email: 'unknown@example.com' })
    expect([unknown.status, unknown.body]).toEqual([200, known.body])
    expect(known.body).toContain('<h1>Look into your mailbox</h1>')
    const odd = await submit(`/${request}`, { email: '"><script>' })
    expect([odd.status, odd.body]).toEqual([400, expect.stringContaining(`href="${request}"`)])
  })
})

describe('the name of the service', () => {
  const branded = useWorld({ brand: '<b>Acme</b> & "Co"' })

  it('is on every page, escaped', async () => {
    for (const url of ['/verify-email', '/forgot-password', '/unsubscribe/x', '/pay/x']) {
      const { body } = await branded().app.inject({ method: 'GET', url })
      expect(body).toContain('>&lt;b&gt;Acme&lt;/b&gt; &amp; &quot;Co&quot;</header>')
      expect(body).not.toContain('<b>')
    }
  })
})

describe('beside a console', () => {
  const served = useWorld({ console: { base: '/app/console' } })

  it('the last page of each way leads to its login, by a relative link', async () => {
    const { app, call, mailed, signup } = served()
    const owner = await signup()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const post = async (url: string, fields: Record<string, string>) =>
      (
        await app.inject({
          method: 'POST',
          url,
          headers,
          payload: new URLSearchParams(fields).toString(),
        })
      ).body
    const logIn = '<a class="main" href="app/console/sign-in">Sign in</a>'
    const token = (await mailed(owner.email, 'verify_email')) ?? ''
    expect(await post('/verify-email', { token })).toContain(logIn)
    await call('POST', '/api/v1/auth/forgot-password', { json: { email: owner.email } })
    const reset = (await mailed(owner.email, 'reset_password')) ?? ''
    const password = 'another long one'
    expect(await post('/reset-password', { token: reset, password })).toContain(logIn)
    const paid = await app.inject({ method: 'GET', url: '/pay/none' })
    expect(paid.body).toContain('href="../app/console">Back to the console</a>')
  })

  it('a person who accepts an invitation is signed in, unless another site sent the form', async () => {
    const { app } = served()
    const owner = await served().signup()
    await served().verify(owner)
    const accept = async (site: string) => {
      const { email } = await served().invitation(owner)
      const token = (await served().mailed(email, 'invitation')) ?? ''
      const { body, headers } = await app.inject({
        method: 'POST',
        url: '/accept-invitation',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'sec-fetch-site': site,
        },
        payload: new URLSearchParams({ token, password: 'a long password' }).toString(),
      })
      return { email, body, cookie: headers['set-cookie'] }
    }
    const { email, body, cookie } = await accept('same-origin')
    expect(body).toContain('<a class="main" href="app/console">Open the console</a>')
    expect(cookie).toMatch(/^svc_session=[^;]+; Path=\/app\/console\/api; .*HttpOnly; SameSite=Lax/)
    const { data } = (
      await app.inject({
        method: 'GET',
        url: '/app/console/api/session',
        headers: { cookie: String(cookie).split(';', 1)[0] ?? '', 'sec-fetch-site': 'same-origin' },
      })
    ).json()
    expect(data).toMatchObject({ user: { email }, workspace_id: owner.id, role: 'developer' })
    const foreign = await accept('cross-site')
    expect(foreign.cookie).toBeUndefined()
    expect(foreign.body).toContain('href="app/console/sign-in">Sign in</a>')
  })
})

describe('the limits of the pages', () => {
  const limited = useWorld({ rates: 'specified' })

  it('are those of the API: a form counts as the request of the same kind', async () => {
    const from = '192.0.2.7'
    const json = { token: TOKEN }
    for (let i = 0; i < 3; i++) {
      await limited().call('POST', '/api/v1/auth/verify-email', { json, from })
    }
    const send = () =>
      limited().app.inject({
        method: 'POST',
        url: '/verify-email',
        remoteAddress: from,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: `token=${TOKEN}`,
      })
    expect([checked(await send()).status, checked(await send()).status]).toEqual([400, 400])
    const { status, headers, body } = checked(await send())
    expect(status).toBe(429)
    expect(headers).toMatchObject({ 'retry-after': '900', 'x-ratelimit-remaining': '0' })
    expect(body).toContain('Rate limit exceeded. Try again in 900 seconds.')
    expect(body).toContain('<a href="resend-verification">')
  })

  it('count a request for a mail with those of the API: by client and by e-mail address', async () => {
    const email = 'limited@example.com'
    const statuses: number[] = []
    for (let i = 0; i < 6; i++) {
      const { statusCode } = await limited().app.inject({
        method: 'POST',
        url: '/forgot-password',
        remoteAddress: `192.0.2.${100 + i}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({ email }).toString(),
      })
      statuses.push(statusCode)
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
  })
})
