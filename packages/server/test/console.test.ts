import { readdirSync, readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { Core } from '@svc/core'
import { units } from '@svc/core/contract'
import express from 'express'
import Fastify from 'fastify'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ensureBuilt } from '../../../test/built.ts'
import {
  BROWSER_MAX_BYTES,
  browserOf,
  FIRST_MAX_BYTES,
  firstOf,
  sizeLine,
} from '../console/build.ts'
import type { ConsoleUser } from '../src/console-api/access.ts'
import { BUNDLE_FOLDER, type Bundle } from '../src/console-api/bundle.ts'
import { createConsole } from '../src/index.ts'
import { type Account, sms } from './accounts.ts'
import { openEvents } from './event-reader.ts'
import { useWorld } from './world.ts'

let bundle: Bundle
let trusted: ConsoleUser | null = null

// The build of the console takes 10 s of CPU, so it is not repeated here.
beforeAll(() => {
  ensureBuilt()
  bundle = JSON.parse(readFileSync(join(BUNDLE_FOLDER, 'bundle.json'), 'utf8'))
}, 120_000)

const world = useWorld({
  listen: true,
  console: { at_root: true, brand: 'Acme <b>', heartbeat_ms: 100 },
})
/** Streams check the session for each event, and the process has few of them. */
const strict = useWorld({ listen: true, console: { checked_ms: 0, streams_max: 35 } })
const secured = useWorld({ public_url: 'https://svc.example.com', console: {} })
const hosted = useWorld({ console: { base: '/mail', authenticate: async () => trusted } })

let owner: Account
beforeEach(async () => {
  owner = await world().signup({ credits: 10 })
})

const SAME = { 'sec-fetch-site': 'same-origin' }

interface Options {
  cookie?: string
  json?: object
  headers?: Record<string, string>
}

async function request(method: string, url: string, { cookie, json, headers }: Options = {}) {
  const answer = await world().app.inject({
    method: method as 'GET',
    url,
    headers: { ...SAME, ...(cookie && { cookie }), ...headers },
    ...(json && { payload: json }),
  })
  const isJson = `${answer.headers['content-type']}`.startsWith('application/json')
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text: answer.body,
    body: isJson ? answer.json() : null,
  }
}

/** Signs in, and returns the cookie of the browser. */
async function signIn({ email, password }: Pick<Account, 'email' | 'password'>): Promise<string> {
  const { status, headers } = await request('POST', '/console/api/session', {
    json: { email, password },
  })
  expect(status).toBe(200)
  return `${headers['set-cookie']}`.split(';', 1)[0] ?? ''
}

const send = (cookie: string, headers: Record<string, string> = {}) =>
  request('POST', '/console/api/v1/messages/send', { cookie, json: sms, headers })
const list = async (cookie: string, headers: Record<string, string> = {}) =>
  (await request('GET', '/console/api/v1/messages', { cookie, headers })).body

describe('the bundle', () => {
  it('is below its limits, and has a hash in each name', () => {
    expect(firstOf(bundle)).toBeLessThanOrEqual(FIRST_MAX_BYTES)
    expect(browserOf(bundle)).toBeLessThanOrEqual(BROWSER_MAX_BYTES)
    expect(sizeLine(bundle)).toMatch(
      /^console: first page [\d.]+ kB of 45.3 kB, one browser at most [\d.]+ kB of 95.0 kB/,
    )
    for (const name of Object.keys(bundle.files)) expect(name).toMatch(/-[A-Z0-9]{8}\.\w+$/)
  })

  it('has one script for the first page, one for its colours, one each for members, operators and `svc dev`, and one for each language', () => {
    const scripts = Object.keys(bundle.files).filter((name) => name.endsWith('.js'))
    const initial = scripts.filter((name) => bundle.files[name]?.is_initial)
    expect(new Set(initial)).toEqual(new Set([bundle.main, bundle.theme]))
    const named = scripts.map((name) => name.replace(/-[A-Z0-9]{8}\.js$/, ''))
    const apart = scripts.filter((name) => bundle.files[name]?.is_operators)
    expect(apart.map((name) => name.split('-')[0])).toEqual(['operator'])
    // One chunk has the first page, two what groups share and the first page does not need.
    const groups = ['member', 'operator', 'tools']
    expect(named.sort()).toEqual(['ar', 'chunk', 'chunk', 'chunk', 'de', ...groups, 'theme'].sort())
  })

  it('names no other host, and evaluates no text', () => {
    for (const name of readdirSync(BUNDLE_FOLDER).filter((each) => each.endsWith('.js'))) {
      const text = readFileSync(join(BUNDLE_FOLDER, name), 'utf8')
      const hosts = [...text.matchAll(/https?:\/\/[\w.-]+/g)].map(([url]) => url)
      // The namespace of SVG, the address of `svc dev` in the client, and examples in fields.
      const known = ['http://www.w3.org', 'http://127.0.0.1']
      const isKnown = (url: string) => known.includes(url) || url.endsWith('.example.com')
      expect(hosts.filter((url) => !isKnown(url))).toEqual([])
      expect(text).not.toMatch(/\beval\(|new Function\(/)
      // Only the first scripts store something beyond the tab: language, colours and zone of times. The browser walk checks that no credential is stored.
      if (!bundle.files[name]?.is_initial) expect(text).not.toContain('localStorage')
    }
  })
})

describe('the pages', () => {
  it('are one document with a strict policy, relative links and the name of the service', async () => {
    const { headers, text } = await request('GET', '/console/messages/some-id?channel=sms')
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; frame-src 'self'",
    )
    expect(text).toContain('<title>Acme &lt;b&gt;</title>')
    expect(text).toContain('&quot;bulk_recipients_max&quot;:1000')
    expect(text).toContain('&quot;carried&quot;:[]')
    expect(text).toContain(`src="./../assets/${bundle.main}"`)
    expect(text).not.toMatch(/<script(?![^>]*\bsrc=)|\bstyle=|<style|\bon\w+=|https?:/)
    expect((await request('GET', '/console')).text).toContain(
      `src="./console/assets/${bundle.main}"`,
    )
    expect((await request('GET', '/console/messages')).text).toContain(
      `src="./assets/${bundle.main}"`,
    )
  })

  it('are cached by their hash', async () => {
    const { headers, status } = await request('GET', `/console/assets/${bundle.main}`)
    expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable'])
    expect((await request('GET', '/console')).headers['cache-control']).toBe('no-store')
  })

  it('send scripts in the best form that the browser takes', async () => {
    const get = async (accepted: string) => {
      const url = `/console/assets/${bundle.main}`
      const headers = { 'accept-encoding': accepted }
      const { headers: answered, rawPayload } = await world().app.inject({ url, headers })
      return [answered['content-encoding'], rawPayload] as const
    }
    const plain = readFileSync(join(BUNDLE_FOLDER, bundle.main))
    const [brotli, gzip, none] = [await get('gzip, deflate, br'), await get('gzip'), await get('')]
    expect([brotli[0], plain.equals(brotliDecompressSync(brotli[1]))]).toEqual(['br', true])
    expect([gzip[0], plain.equals(gunzipSync(gzip[1]))]).toEqual(['gzip', true])
    expect([none[0], plain.equals(none[1])]).toEqual([undefined, true])
  })

  it('are at the root too, and unknown files and endpoints are not pages', async () => {
    const { status, headers } = await request('GET', '/')
    expect([status, headers.location]).toEqual([302, './console'])
    for (const path of ['assets/none.js', 'api/none', 'oidc/none', 'api/v1/none']) {
      const answer = await request('GET', `/console/${path}`)
      expect([path, answer.status, answer.body?.error]).toEqual([path, 404, 'not_found'])
    }
  })
})

describe('a session', () => {
  it('is a cookie that scripts and other sites cannot use', async () => {
    const { headers, text } = await request('POST', '/console/api/session', { json: owner })
    expect(headers['set-cookie']).toMatch(
      /^svc_session=[\w.-]+; Path=\/console\/api; Max-Age=2592000; HttpOnly; SameSite=Lax$/,
    )
    expect(text).not.toContain(`${headers['set-cookie']}`.slice(12, 40))
  })

  it('is not read if a request has two cookies of its name', async () => {
    const cookie = await signIn(owner)
    const mine = 'svc_session=eyJhbGciOiJIUzI1NiJ9.e30.AAAA'
    for (const both of [`${cookie}; ${mine}`, `${mine}; a=b;${cookie}`, `${cookie}; ${cookie}`]) {
      expect((await request('GET', '/console/api/v1/messages', { cookie: both })).status).toBe(401)
    }
  })

  it('with https has the prefix __Host-, takes the cookie without it once, and prefers its own', async () => {
    const inject = (cookie?: string) =>
      secured().app.inject({
        method: 'GET',
        url: '/console/api/session',
        headers: { ...SAME, ...(cookie && { cookie }) },
      })
    const account = await secured().signup()
    const begun = await secured().app.inject({
      method: 'POST',
      url: '/console/api/session',
      headers: SAME,
      payload: { email: account.email, password: account.password },
    })
    const [set, removed] = begun.headers['set-cookie'] as string[]
    expect(set).toMatch(
      /^__Host-svc_session=[\w.-]+; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure$/,
    )
    expect(removed).toMatch(/^svc_session=; Path=\/console\/api; Max-Age=0;/)
    const old = await inject(`svc_session=${account.token}`)
    expect(old.json().data.user.id).toBe(account.id)
    expect(old.headers['set-cookie']?.[0]).toMatch(`__Host-svc_session=${account.token};`)
    // Another host of the domain can set a cookie without the prefix only.
    const stranger = await secured().signup()
    const both = await inject(`svc_session=${stranger.token}; __Host-svc_session=${account.token}`)
    expect(both.json().data.user.id).toBe(account.id)
    expect(both.headers['set-cookie']).toBeUndefined()
  })

  it('shows the person, the role and the workspaces', async () => {
    const cookie = await signIn(owner)
    const { body } = await request('GET', '/console/api/session', { cookie })
    expect(body.data).toMatchObject({
      user: { id: owner.id, email: owner.email },
      workspace_id: owner.id,
      role: 'owner',
      workspaces: [{ id: owner.id, role: 'owner' }],
    })
    expect(body.data.may).toContain('own')
    const none = await request('GET', '/console/api/session')
    expect([none.status, none.body.data.user]).toEqual([200, null])
  })

  it('changes the name of its person, which others see and the audit log notes', async () => {
    const rename = async (person: Account, name: string | null) =>
      (
        await request('PUT', '/console/api/person', {
          cookie: await signIn(person),
          json: { name },
        })
      ).status
    await world().verify(owner)
    const member = await world().member(owner, 'viewer')
    expect(await rename(owner, 'Asha Juma')).toBe(200)
    expect(await rename(member, 'Neema')).toBe(200)
    expect([await rename(owner, ''), await rename(owner, 'x'.repeat(101))]).toEqual([400, 400])
    const cookie = await signIn(owner)
    const { body } = await request('GET', '/console/api/session', { cookie })
    expect(body.data.user.name).toBe('Asha Juma')
    const names = async () =>
      (await world().core.members.list(owner.id)).map(({ name }: { name: string | null }) => name)
    expect(await names()).toEqual(['Asha Juma', 'Neema'])
    const account = await request('GET', '/console/api/v1/account', { cookie })
    expect(account.text).not.toContain('Asha Juma')
    const page = { action: 'member.renamed', limit: 10 } as const
    const { audit_entries } = await world().core.audit.list(owner.id, page)
    const about = audit_entries.map(({ target, details }) => [target?.id, details])
    expect(about).toEqual([
      [member.id, {}],
      [owner.id, {}],
    ])
    expect(await rename(owner, null)).toBe(200)
    expect(await names()).toEqual([null, 'Neema'])
  })

  it('keeps the name for other origins, and after its end', async () => {
    const rename = async (cookie: string, headers = {}) => {
      const options = { cookie, headers, json: { name: 'Mallory' } }
      const { status, body } = await request('PUT', '/console/api/person', options)
      return [status, body.error]
    }
    const cookie = await signIn(owner)
    const foreign = { 'sec-fetch-site': 'cross-site' }
    expect(await rename(cookie, foreign)).toEqual([403, 'forbidden'])
    await request('DELETE', '/console/api/session', { cookie })
    expect(await rename(cookie)).toEqual([401, 'token_expired'])
    const { body } = await request('GET', '/console/api/session', { cookie: await signIn(owner) })
    expect(body.data.user.name).toBeNull()
  })

  it('ends with the sign-out, on the server too', async () => {
    const cookie = await signIn(owner)
    const { headers } = await request('DELETE', '/console/api/session', { cookie })
    expect(headers['set-cookie']).toMatch(/^svc_session=; Path=\/console\/api; Max-Age=0;/)
    const { status, body } = await request('GET', '/console/api/v1/account', { cookie })
    expect([status, body.error]).toEqual([401, 'token_expired'])
  })

  it('does not begin with a wrong password', async () => {
    const json = { email: owner.email, password: 'a wrong password' }
    const { status, headers } = await request('POST', '/console/api/session', { json })
    expect([status, headers['set-cookie']]).toEqual([401, undefined])
  })

  it('ends other sessions of its person only with the password', async () => {
    const cookie = await signIn(owner)
    const id = await world().otherSession(owner)
    const url = '/console/api/v1/sessions'
    for (const path of [url, `${url}/${id}`]) {
      expect((await request('DELETE', path, { cookie })).status).toBe(403)
    }
    const end = (json: object) => request('POST', `${url}/end`, { cookie, json })
    expect((await end({ id })).status).toBe(400)
    expect((await end({ id, current_password: owner.password })).status).toBe(200)
    expect((await list(cookie)).success).toBe(true)
  })

  it('is ended by a new sign-in of the same browser, also of another person', async () => {
    const cookie = await signIn(owner)
    const other = await world().signup()
    const json = { email: other.email, password: other.password }
    const again = await request('POST', '/console/api/session', { json, cookie })
    expect(again.status).toBe(200)
    expect((await list(cookie)).error).toBe('token_expired')
    const next = `${again.headers['set-cookie']}`.split(';', 1)[0] ?? ''
    expect((await list(next)).success).toBe(true)
    // A wrong password ends nothing.
    const wrong = { email: other.email, password: 'a wrong one' }
    await request('POST', '/console/api/session', { json: wrong, cookie: next })
    expect((await list(next)).success).toBe(true)
  })

  it('is not taken from headers, and its cookie not by the API itself', async () => {
    const authorization = `Bearer ${owner.token}`
    const byHeader = await request('GET', '/console/api/v1/account', { headers: { authorization } })
    expect(byHeader.status).toBe(401)
    const cookie = await signIn(owner)
    expect((await request('GET', '/api/v1/account', { cookie })).status).toBe(401)
  })

  it.each([
    ['POST', { 'sec-fetch-site': 'cross-site' }],
    ['POST', { 'sec-fetch-site': 'same-site' }],
    ['POST', { 'sec-fetch-site': 'none' }],
    ['POST', { 'sec-fetch-site': '', origin: 'https://evil.example' }],
    ['GET', { 'sec-fetch-site': 'cross-site' }],
    ['GET', { 'sec-fetch-site': 'same-site' }],
  ] as const)('refuses a %s of another site: %j', async (method, headers) => {
    const cookie = await signIn(owner)
    const path = method === 'GET' ? 'messages' : 'messages/send'
    const options = { cookie, headers, ...(method === 'POST' && { json: sms }) }
    const { status, body } = await request(method, `/console/api/v1/${path}`, options)
    expect([status, body.error]).toEqual([403, 'forbidden'])
    expect((await list(cookie)).data.messages).toEqual([])
  })

  it('takes older browsers by their origin', async () => {
    const cookie = await signIn(owner)
    const post = async (headers: Record<string, string>) =>
      (
        await world().app.inject({
          method: 'POST',
          url: '/console/api/v1/messages/send',
          headers: { cookie, host: 'svc.example.com', ...headers },
          payload: sms,
        })
      ).statusCode
    expect(await post({})).toBe(403)
    expect(await post({ origin: 'http://other.example.com' })).toBe(403)
    expect(await post({ origin: 'http://svc.example.com' })).toBe(201)
    expect(await post({ origin: 'http://127.0.0.1:3000' })).toBe(201)
  })
})

describe('the data of a session', () => {
  it('is that of its workspace, and a workspace of others is refused', async () => {
    const other = await world().signup({ credits: 10 })
    const [mine, theirs] = [await signIn(owner), await signIn(other)]
    expect((await send(mine)).status).toBe(201)
    expect((await list(mine)).data.messages).toHaveLength(1)
    expect((await list(theirs)).data.messages).toEqual([])
    const foreign = await list(theirs, { 'x-svc-workspace': owner.id })
    expect(foreign.error).toBe('token_expired')
    expect((await list(theirs, { 'x-svc-workspace': 'no id' })).error).toBe('token_expired')
  })

  it('is the chosen workspace of a member, with the role there', async () => {
    await world().verify(owner)
    const member = await world().member(owner, 'viewer')
    const cookie = await signIn(member)
    const { body } = await request('GET', '/console/api/session', { cookie })
    expect(body.data).toMatchObject({ workspace_id: owner.id, role: 'viewer' })
    expect((await list(cookie)).data.messages).toEqual([])
    const { status } = await send(cookie)
    expect(status).toBe(403)
  })

  it('is only test data in test mode, which costs nothing', async () => {
    const cookie = await signIn(owner)
    await send(cookie)
    const test = { 'x-svc-mode': 'test' }
    expect((await send(cookie, test)).status).toBe(201)
    const shown = (await list(cookie, test)).data.messages
    expect(shown.map(({ livemode }: { livemode: boolean }) => livemode)).toEqual([false])
    expect((await list(cookie)).data.messages).toHaveLength(2)
    const { body } = await request('GET', '/console/api/v1/balance', { cookie })
    expect(body.data.credits_balance).toBe(9)
  })
})

describe('the rate of pages', () => {
  const limited = useWorld({
    console: {},
    rates: { anonymous: { max: 2, window_s: 60 }, console: { max: 5, window_s: 60 } },
  })
  const load = (url: string) =>
    limited().app.inject({ method: 'GET', url, headers: { ...SAME, accept: 'text/html' } })

  it('is a bucket of its own for documents and session checks, and its 429 is a page that retries', async () => {
    for (let i = 0; i < 2; i++) {
      expect((await load('/console')).statusCode).toBe(200)
      expect((await load('/console/api/session')).statusCode).toBe(200)
    }
    expect((await load('/console/messages')).statusCode).toBe(200)
    const refused = await load('/console')
    expect(refused.statusCode).toBe(429)
    expect(refused.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8' })
    expect(refused.headers.refresh).toBe(refused.headers['retry-after'])
    expect(refused.body).toContain('Too many requests')
    expect(await Promise.all([1, 2].map(() => load('/no-such-page')))).toMatchObject([
      { statusCode: 404 },
      { statusCode: 404 },
    ])
  })
})

describe('the history', () => {
  it('counts the messages of each day and hour, live or test', async () => {
    const cookie = await signIn(owner)
    await send(cookie)
    const { message_id } = (await send(cookie)).body.data
    await request('POST', `/console/api/v1/messages/${message_id}/cancel`, { cookie })
    await send(cookie, { 'x-svc-mode': 'test' })
    const other = await world().signup({ credits: 10 })
    await send(await signIn(other))
    const points = async (query: string, headers = {}) =>
      (await request('GET', `/console/api/history${query}`, { cookie, headers })).body.data.points
    const days = await points('')
    expect(days).toHaveLength(30)
    expect(days.at(-1)).toEqual({
      since: '2026-05-04T00:00:00.000Z',
      accepted: 2,
      delivered: 0,
      failed: 0,
      canceled: 1,
    })
    const listed = async (status: string) =>
      (await request('GET', `/console/api/messages?status=${status}`, { cookie })).body.data.total
    expect(await Promise.all(['failed', 'canceled'].map(listed))).toEqual([1, 1])
    expect(days.at(0)).toMatchObject({ since: '2026-04-05T00:00:00.000Z', accepted: 0 })
    const hours = await points('?unit=hour', { 'x-svc-mode': 'test' })
    expect(hours).toHaveLength(48)
    expect(hours.at(-1)).toMatchObject({ since: '2026-05-04T09:00:00.000Z', accepted: 1 })
  })
})

describe('the breakdown', () => {
  const dispatching = useWorld({ dispatch: true, console: {} })

  it('tells how messages ended by channel, reason and country, live or test', async () => {
    const account = await dispatching().signup({ credits: 100 })
    const stranger = await dispatching().signup({ credits: 100 })
    const { key } = await dispatching().key(account)
    const post = (json: object, headers = { 'x-api-key': key }) =>
      dispatching().call('POST', '/api/v1/messages/send', { headers, json })
    await post({ ...sms, content: { text: 'Call +447700900123' } })
    await post({ ...sms, to: '+447700900123' })
    await post({ ...sms, to: '+15005550001' })
    await post({ channel: 'email', to: 'asha@example.com', content: { subject: 'a', text: 'b' } })
    await dispatching().dispatcher.idle()
    const later = { ...sms, to: '+447700900124', scheduled_at: '2026-05-05T09:00:00Z' }
    const { message_id } = (await post(later)).body.data
    await dispatching().call('POST', `/api/v1/messages/${message_id}/cancel`, {
      headers: { 'x-api-key': key },
    })
    const ask = async ({ token }: Account, query = '', headers = {}) => {
      const cookie = `svc_session=${token}`
      const url = `/console/api/breakdown${query}`
      const asked = { headers: { ...SAME, cookie, ...headers }, method: 'GET', url } as const
      return (await dispatching().app.inject(asked)).json().data
    }
    const found = await ask(account)
    expect(found).toMatchObject({
      since: '2026-04-05T00:00:00.000Z',
      channels: [
        { channel: 'sms', accepted: 4, delivered: 2, failed: 1, canceled: 1 },
        { channel: 'email', accepted: 1, delivered: 1, failed: 0, canceled: 0 },
      ],
      reasons: [{ error_code: expect.any(String), count: 1 }],
    })
    const places = found.places.map((one: Record<string, unknown>) => [
      ...[one.channel, one.code, one.country, one.is_shared],
      ...[one.accepted, one.delivered, one.failed, one.canceled],
    ])
    expect(places.sort()).toEqual([
      ['email', null, null, false, 1, 1, 0, 0],
      ['sms', '1', 'US', true, 2, 1, 1, 0],
      ['sms', '44', 'GB', true, 2, 1, 0, 1],
    ])
    const listed = async (query: Record<string, string>) => {
      const cookie = `svc_session=${account.token}`
      const url = `/console/api/messages?${new URLSearchParams(query)}`
      const asked = { headers: { ...SAME, cookie }, method: 'GET', url } as const
      return (await dispatching().app.inject(asked)).json().data.messages.length
    }
    for (const { channel, code, accepted, failed } of found.places) {
      const filter = { channel, ...(code && { calling_code: code }) }
      expect(await listed(filter), code).toBe(accepted)
      expect(await listed({ ...filter, status: 'failed_only' }), code).toBe(failed)
    }
    const spent = found.places.reduce(
      (sum: number, { credits }: { credits: number }) => sum + credits,
      0,
    )
    const { credits_balance } = (
      await dispatching().call('GET', '/api/v1/balance', { token: account.token })
    ).body.data
    expect(spent).toBeCloseTo(100 - credits_balance, 6)
    expect((await ask(account, '?unit=hour')).since).toBe('2026-05-02T10:00:00.000Z')
    for (const empty of [await ask(account, '', { 'x-svc-mode': 'test' }), await ask(stranger)]) {
      expect(empty).toMatchObject({ channels: [], reasons: [], places: [] })
    }
  })
})

describe('conversations', () => {
  const dispatching = useWorld({ dispatch: true, console: {} })
  const get = async (account: Account, url: string, headers = {}) => {
    const cookie = `svc_session=${account.token}`
    const asked = { headers: { ...SAME, cookie, ...headers }, method: 'GET', url } as const
    return (await dispatching().app.inject(asked)).json()
  }
  const conversations = async (account: Account, query = '', headers = {}) =>
    (await get(account, `/console/api/conversations${query}`, headers)).data

  it('show the newest message of an author with its contact, and none of another workspace', async () => {
    const account = await dispatching().signup({ credits: 10 })
    const other = await dispatching().signup()
    const { key } = await dispatching().key(account)
    const phone = '+15005550008'
    await dispatching().call('POST', '/api/v1/contacts', {
      token: account.token,
      json: { phone, name: 'Asha' },
    })
    for (const _ of [1, 2]) {
      await dispatching().send(key, { to: phone })
      await dispatching().advance(1_000)
    }
    const { conversations: found, next_after } = await conversations(account)
    const received = (await get(account, '/console/api/v1/messages/received')).data.received
    expect(received).toHaveLength(2)
    const contact = { id: expect.any(String), name: 'Asha' }
    expect(found).toEqual([{ ...received[0], contact }])
    expect(next_after).toBeNull()
    expect(await conversations(account, `?after=${found[0].id}`)).toEqual({
      conversations: [],
      next_after: null,
    })
    expect((await conversations(account, '', { 'x-svc-mode': 'test' })).conversations).toEqual([])
    expect((await conversations(other)).conversations).toEqual([])
  })
})

describe('credits', () => {
  const get = async (cookie: string, path: string) =>
    (await request('GET', `/console/api/${path}`, { cookie })).body

  it('show purchases, limits, and the changes that no message caused, of one workspace', async () => {
    const cookie = await signIn(owner)
    await send(cookie)
    const begun = await request('POST', '/console/api/v1/billing/checkout', {
      cookie,
      json: { package_id: 'starter' },
    })
    expect(begun.status).toBe(201)
    const { purchases } = (await get(cookie, 'purchases')).data
    expect(purchases).toEqual([
      {
        id: begun.body.data.purchase_id,
        package_id: 'starter',
        status: 'pending',
        in_review: false,
        credits: 1_000,
        amount: 1_000,
        currency: 'USD',
        checkout_url: begun.body.data.checkout_url,
        created_at: expect.any(String),
      },
    ])
    await world().core.credits.grant(owner.id, { amount: units(5_000_000), actor: 'test' })
    await send(cookie)
    const first = (await get(cookie, 'funding?limit=1')).data
    expect(first.transactions).toMatchObject([{ type: 'grant', credits: 5, balance_after: 14 }])
    const rest = (await get(cookie, `funding?limit=5&after=${first.next_after}`)).data
    expect(rest.transactions).toMatchObject([{ type: 'grant', credits: 10, balance_after: 10 }])
    expect(rest.next_after).toBeNull()
    await world().core.credits.setTerms(owner.id, { daily_limit: units(50_000_000) })
    expect((await get(cookie, 'spending')).data).toEqual({
      is_frozen: false,
      spent_today: 2,
      daily_limit: 50,
    })
    const other = await signIn(await world().signup())
    expect((await get(other, 'purchases')).data.purchases).toEqual([])
    expect((await get(other, 'funding')).data.transactions).toEqual([])
    expect((await get(other, 'spending')).data.daily_limit).toBeNull()
    // The page of the payment has ended, also if no notification has said so.
    await world().advance(2 * 3_600_000)
    const later = await signIn(owner)
    expect((await get(later, 'purchases')).data.purchases).toMatchObject([
      { status: 'expired', checkout_url: null },
    ])
  })
})

describe('the stream', () => {
  const open = (cookie: string, query = '', headers = {}) =>
    openEvents(`${world().url}/console/api/stream${query}`, { cookie, ...SAME, ...headers })
  const cancel = async (cookie: string, headers = {}) => {
    const at = new Date(world().now().getTime() + 60_000).toISOString()
    const json = { ...sms, scheduled_at: at }
    const url = '/console/api/v1/messages'
    const sent = await request('POST', `${url}/send`, { cookie, json, headers })
    const id = sent.body.data.message_id
    await request('POST', `${url}/${id}/cancel`, { cookie, headers })
    return id
  }

  it('has the events of the workspace, and continues behind the last one', async () => {
    const other = await signIn(await world().signup({ credits: 10 }))
    const cookie = await signIn(owner)
    const stream = await open(cookie)
    await cancel(other)
    const id = await cancel(cookie)
    for (let next = await stream.next(); ; next = await stream.next()) {
      expect(next?.data.data.message_id).toBe(id)
      if (next?.data.data.status === 'failed') break
    }
    stream.close()
  })

  it('has only test events in test mode', async () => {
    const cookie = await signIn(owner)
    const stream = await open(cookie, '?mode=test')
    await cancel(cookie)
    const id = await cancel(cookie, { 'x-svc-mode': 'test' })
    expect((await stream.next())?.data.data.message_id).toBe(id)
    stream.close()
  })

  it('tells a client that missed events to load again', async () => {
    const cookie = await signIn(owner)
    const stream = await open(cookie, '', { 'last-event-id': '999999999' })
    expect((await stream.next())?.event).toBe('reset')
    stream.close()
  })

  it('ends with the session', async () => {
    const cookie = await signIn(owner)
    const stream = await open(cookie)
    await request('DELETE', '/console/api/session', { cookie })
    expect(await stream.next()).toBeNull()
  })

  it('is refused without a session and for another workspace, and has a bound', async () => {
    const cookie = await signIn(owner)
    const other = await world().signup()
    expect((await open('')).status).toBe(401)
    expect((await open(cookie, `?workspace=${other.id}`)).status).toBe(401)
    const streams = await Promise.all(Array.from({ length: 11 }, () => open(cookie)))
    const statuses = streams.map(({ status }) => status).sort()
    expect([statuses.filter((one) => one === 200).length, statuses.at(-1)]).toEqual([10, 429])
    for (const stream of streams) stream.close()
  })

  it('ends for a removed member before the next event', async () => {
    const account = await strict().signup({ credits: 10 })
    const { token } = account
    await strict().verify(account)
    const viewer = await strict().member(account, 'viewer')
    const stream = await openEvents(`${strict().url}/console/api/stream`, {
      ...SAME,
      cookie: `svc_session=${viewer.token}`,
    })
    expect(stream.status).toBe(200)
    await strict().call('DELETE', `/api/v1/members/${viewer.id}`, { token })
    const at = new Date(strict().now().getTime() + 60_000).toISOString()
    const { key } = await strict().key({ token }, { mode: 'test' })
    const json = { ...sms, scheduled_at: at }
    const sent = await strict().call('POST', '/api/v1/messages/send', { key, json })
    const id = sent.body.data.message_id
    await strict().call('POST', `/api/v1/messages/${id}/cancel`, { key })
    expect(await stream.next()).toBeNull()
  })

  it('has shares: the person and the workspace with the most streams lose their oldest one', async () => {
    const openFor = ({ token }: Pick<Account, 'token'>) =>
      openEvents(`${strict().url}/console/api/stream`, { ...SAME, cookie: `svc_session=${token}` })
    const several = async (account: Pick<Account, 'token'>, count: number) => {
      const streams = []
      for (let i = 0; i < count; i++) streams.push(await openFor(account))
      return streams
    }
    const account = await strict().signup()
    await strict().verify(account)
    const viewers = []
    for (let i = 0; i < 3; i++) viewers.push(await strict().member(account, 'viewer'))
    const [first = [], ...more] = await Promise.all(viewers.map((one) => several(one, 10)))
    const own = await openFor(account)
    expect(own.status).toBe(200)
    expect(await first[0]?.next()).toBeNull()
    // 30 streams of this workspace, and 5 of the next, fill the process.
    const other = await several(await strict().signup(), 5)
    const late = await openFor(await strict().signup())
    expect([...other, late].map(({ status }) => status)).toEqual(Array(6).fill(200))
    for (const stream of [...first, ...more.flat(), own, ...other, late]) stream.close()
  })
})

describe('a console with the sign-in of its host', () => {
  const get = (url: string, headers: Record<string, string> = SAME) =>
    hosted().app.inject({ method: 'GET', url, headers })

  it('takes the person that the host names, with the role', async () => {
    const account = await hosted().signup()
    trusted = null
    expect((await get('/mail/api/v1/account')).statusCode).toBe(401)
    trusted = { workspace_id: account.id, role: 'viewer' }
    expect((await get('/mail/api/v1/account')).json().data.id).toBe(account.id)
    expect((await get('/mail/api/session')).json().data.role).toBe('viewer')
    expect((await get('/mail/api/v1/audit')).statusCode).toBe(403)
    const foreign = { 'sec-fetch-site': 'cross-site' }
    expect((await get('/mail/api/v1/account', foreign)).statusCode).toBe(403)
    expect((await get('/mail')).body).toContain('&quot;sign_in&quot;:[&quot;host&quot;]')
    expect((await get('/console')).statusCode).toBe(404)
  })

  it('takes no passwords and no cookies', async () => {
    const account = await hosted().signup()
    trusted = null
    const cookie = `svc_session=${account.token}`
    expect((await get('/mail/api/v1/account', { ...SAME, cookie })).statusCode).toBe(401)
    const login = { method: 'POST', url: '/mail/api/session', headers: SAME } as const
    expect((await hosted().app.inject({ ...login, payload: account })).statusCode).toBe(403)
    trusted = { workspace_id: account.id, role: 'viewer' }
    const renaming = { method: 'PUT', url: '/mail/api/person', headers: SAME } as const
    const renamed = await hosted().app.inject({ ...renaming, payload: { name: 'Asha' } })
    expect(renamed.statusCode).toBe(403)
  })
})

describe('the requests of a delivery', () => {
  it('are shown to people who develop', async () => {
    const account = await hosted().signup()
    const id = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
    const statusFor = async (role: 'viewer' | 'developer') => {
      trusted = { workspace_id: account.id, role }
      const url = `/mail/api/webhooks/${id}/deliveries/${id}/requests`
      return (await hosted().app.inject({ url, headers: SAME })).statusCode
    }
    expect([await statusFor('viewer'), await statusFor('developer')]).toEqual([403, 404])
    trusted = null
  })
})

describe('createConsole', () => {
  const open = (core: Core, basePath?: string) =>
    createConsole({
      core,
      ...(basePath && { basePath }),
      authenticate: ({ headers }) => {
        const { 'x-person': workspace_id } = headers
        return typeof workspace_id === 'string' ? { workspace_id } : null
      },
    })

  it('serves only the console, below the path of the program, with its sign-in', async () => {
    const { core } = hosted()
    const account = await hosted().signup()
    const console = await open(core, '/admin/mail')
    const get = (path: string, headers = {}) =>
      console.fetch(new Request(`https://app.example.com${path}`, { headers }))
    const known = { 'x-person': account.id }
    const path = '/admin/mail/api/v1/account'
    expect((await get(path, known)).status).toBe(200)
    expect((await get(path)).status).toBe(401)
    expect((await get(path, { ...known, origin: 'https://evil.example' })).status).toBe(403)
    expect(
      (await get('/api/v1/account', { authorization: `Bearer ${account.token}` })).status,
    ).toBe(404)
    await console.close()
  })

  it('is mounted in Express at its path', async () => {
    const account = await hosted().signup()
    const console = await open(hosted().core)
    const app = express()
    app.use('/console', console.node)
    const server = await new Promise<Server>((resolve) => {
      const listening = app.listen(0, '127.0.0.1', () => resolve(listening))
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const headers = { 'x-person': account.id, connection: 'close' }
    const answer = await fetch(`${url}/console/api/v1/account`, { headers })
    expect(((await answer.json()) as { data: { id: string } }).data.id).toBe(account.id)
    expect(
      (await fetch(`${url}/console/messages?a=1`, { headers })).headers.get('content-type'),
    ).toMatch('text/html')
    const api = await fetch(`${url}/console/../api/v1/account`, {
      headers: { ...headers, authorization: `Bearer ${account.token}` },
    })
    expect(api.status).toBe(404)
    await new Promise((resolve) => server.close(resolve))
    await console.close()
  })

  it('is mounted in Fastify as in the guide, and reads the bodies itself', async () => {
    const { core } = hosted()
    const account = await hosted().signup()
    const guide = readFileSync(new URL('../../../docs/guides/console.md', import.meta.url), 'utf8')
    const [, sample = ''] = /```js console-fastify\n([\s\S]*?)```/.exec(guide) ?? []
    const app = Fastify()
    app.post('/echo', async ({ body }) => body)
    const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor
    const parts = {
      app,
      core,
      createConsole,
      authenticate: ({ headers }: { headers: Record<string, unknown> }) =>
        typeof headers['x-person'] === 'string' ? { workspace_id: headers['x-person'] } : null,
    }
    const code = sample.replace(/^import .*$/gm, '')
    await new AsyncFunction(...Object.keys(parts), code)(...Object.values(parts))
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const headers = { ...SAME, 'x-person': account.id, 'content-type': 'application/json' }
    const json = { email: 'asha@example.com' }
    const send = (path: string) =>
      fetch(url + path, { method: 'POST', headers, body: JSON.stringify(json) })
    const made = await send('/console/api/v1/contacts')
    expect([made.status, await made.json()]).toMatchObject([201, { data: { contact: json } }])
    const page = await fetch(`${url}/console`, { headers })
    expect(page.headers.get('content-type')).toMatch('text/html')
    // The program's own routes keep their parsers.
    expect(await (await send('/echo')).json()).toEqual(json)
    await app.close()
  })

  it('refuses a path that is none', async () => {
    await expect(open(hosted().core, 'console')).rejects.toThrow(
      'basePath: "console" must be a path',
    )
  })
})

// Last, because it moves the clock.
describe('a session', () => {
  it('ends when it is unused for 4 hours; an open stream is no use, and tokens of the API have no such end', async () => {
    const HOUR_MS = 3_600_000
    const cookie = await signIn(owner)
    for (let i = 0; i < 2; i++) {
      await world().advance(3 * HOUR_MS)
      expect((await list(cookie)).success).toBe(true)
    }
    const events = await openEvents(`${world().url}/console/api/stream`, { ...SAME, cookie })
    await world().advance(3 * HOUR_MS)
    // Some heartbeats, each of which checks the session.
    await pause(250)
    await world().advance(HOUR_MS + 5 * 60_000)
    expect((await request('GET', '/console/api/v1/messages', { cookie })).status).toBe(401)
    expect((await request('GET', '/console/api/session', { cookie })).body.data.user).toBeNull()
    expect((await world().call('GET', '/api/v1/account', { token: owner.token })).status).toBe(200)
    events.close()
  })
})
