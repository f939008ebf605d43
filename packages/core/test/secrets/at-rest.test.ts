import { randomBytes } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { verify } from '../../src/contract/signing/signature.ts'
import { type Core, createCore } from '../../src/core.ts'
import type { CoreOptions } from '../../src/core-options.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { exported, imported } from '../archive/move.ts'
import { ENGINES, type Engine } from '../erasing/engines.ts'
import { builders } from '../fixtures.ts'
import type { Opened } from '../storage/bench.ts'

const [KEY, OTHER] = [randomBytes(32).toString('base64'), randomBytes(32).toString('hex')]
/** A tenant may choose what looks like a sealed text. */
const HEADERS = {
  Authorization: 'Bearer of-the-receiver',
  'X-Odd': `svcenc1:${'0'.repeat(16)}:${'A'.repeat(60)}`,
}
const EVENTS = ['*'] as const
const EVERYTHING = { limit: 100, offset: 0 }

describe.each(ENGINES)('secrets at rest on %s', (name, make) => {
  let engine: Engine
  let opened: Opened
  let core: Core | null
  let server: Server
  let seen: { headers: IncomingHttpHeaders; body: string }[]
  let url: string

  beforeEach(async () => {
    engine = make()
    opened = await engine.open()
    core = null
    seen = []
    server = createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      seen.push({ headers: request.headers, body })
      response.end()
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  })
  afterEach(async () => {
    await core?.close()
    server.closeAllConnections()
    server.close()
    await opened.close()
  })

  /** The service with these keys, on the database of the test. */
  async function open(secrets_keys: string[], options: Partial<CoreOptions> = {}): Promise<Core> {
    await core?.close()
    core = await createCore({
      database_url: engine.url(),
      threads: 0,
      webhook_targets: { allow_http: true, allow_nets: ['127.0.0.0/8'] },
      secrets_keys,
      ...options,
    })
    return core
  }

  const signUp = async (service: Core, email = 'ops@example.com') =>
    (
      await service.workspaces.signup({
        email,
        password: 'correct horse battery 1',
        company_name: 'Example',
      })
    ).id

  /** More than a workspace may create, in plain text. Answers their ids. */
  function insertWebhooks(workspaceId: string, count: number): Promise<string[]> {
    const make = builders(systemRuntime())
    const rows = Array.from({ length: count }, () => make.webhook(workspaceId, { url }))
    return opened.storage.write(async ({ webhooks }) => {
      for (const row of rows) await webhooks.insert(row)
      return rows.map(({ id }) => id)
    })
  }

  /** What the receiver was sent for one test event. */
  async function delivered(service: Core, workspaceId: string, webhookId: string) {
    seen = []
    await service.webhooks.test(workspaceId, webhookId)
    await service.startDispatch()
    await vi.waitFor(() => expect(seen).toHaveLength(1))
    return seen[0] as (typeof seen)[0]
  }

  const isSigned = ({ headers, body }: (typeof seen)[0], secret: string) =>
    verify({ secret, headers, body }).ok

  it('stand in no file as they are, and sign as before', async () => {
    const service = await open([KEY])
    const workspaceId = await signUp(service)
    const created = await service.webhooks.create(workspaceId, {
      url,
      events: [...EVENTS],
      headers: HEADERS,
    })
    const rotated = await service.webhooks.rotateSecret(workspaceId, created.id)
    const secrets = [created.secret, rotated.secret, HEADERS.Authorization]
    for (const word of ['jwt', 'providers']) secrets.push(await service.secret(word))
    const got = await delivered(service, workspaceId, created.id)
    expect(got.headers).toMatchObject({
      authorization: HEADERS.Authorization,
      'x-odd': HEADERS['X-Odd'],
    })
    expect(isSigned(got, created.secret)).toBe(true)
    expect(isSigned(got, rotated.secret)).toBe(true)
    const shown = {
      secret_prefix: `${rotated.secret.slice(0, 10)}...`,
      headers: Object.keys(HEADERS),
    }
    expect(await service.webhooks.get(workspaceId, created.id)).toMatchObject(shown)
    const { webhooks } = await service.webhooks.list(workspaceId, EVERYTHING)
    expect(webhooks).toMatchObject([shown])
    await open([KEY])
    expect(await core?.secret('jwt')).toBe(secrets.at(-2))
    await core?.close()
    const dump = await engine.dump({ vacuum: false })
    expect(dump).toContain(created.id)
    expect(dump).toContain('svcenc1:')
    expect(secrets.filter((secret) => dump.includes(secret))).toEqual([])
  })

  it('change from plain text to a key, to another, and back, without a pause', async () => {
    let service = await open([])
    const workspaceId = await signUp(service)
    const input = { url, events: [...EVENTS] }
    const bare = await service.webhooks.create(workspaceId, input)
    const full = await service.webhooks.create(workspaceId, { ...input, headers: HEADERS })
    const rotated = await service.webhooks.rotateSecret(workspaceId, full.id)
    const jwt = await service.secret('jwt')
    // Two secrets of one webhook, one of the other, its headers, and the service's.
    expect(await service.secretsAtRest.status()).toEqual({ key_id: null, plain: 5, keys: [] })
    await expect(service.secretsAtRest.encrypt()).rejects.toThrow('no key is set')

    service = await open([OTHER])
    const late = await service.webhooks.create(workspaceId, input)
    const before = await service.secretsAtRest.status()
    const { key_id: other } = before
    expect(before).toEqual({
      key_id: other,
      plain: 5,
      keys: [{ key_id: other, is_given: true, values: 1 }],
    })
    const steps: { done: number; total: number }[] = []
    expect(
      await service.secretsAtRest.encrypt({ onProgress: (step) => void steps.push(step) }),
    ).toEqual({ changed: 5, unchanged: 1, unreadable: 0 })
    expect(steps.at(-1)).toEqual({ done: 4, total: 4 })

    service = await open([KEY, OTHER])
    expect(await service.secret('jwt')).toBe(jwt)
    expect(await service.secretsAtRest.encrypt()).toMatchObject({ changed: 6, unreadable: 0 })
    expect(await service.secretsAtRest.encrypt()).toEqual({
      changed: 0,
      unchanged: 6,
      unreadable: 0,
    })
    expect((await service.secretsAtRest.status()).keys).toMatchObject([
      { values: 6 },
      { values: 0 },
    ])

    // Dispatching adds the secret of the providers.
    service = await open([KEY])
    for (const { id, secret } of [bare, late, { ...full, secret: rotated.secret }]) {
      expect(isSigned(await delivered(service, workspaceId, id), secret)).toBe(true)
    }
    expect(await service.secretsAtRest.decrypt()).toMatchObject({ changed: 7, unreadable: 0 })
    expect((await service.secretsAtRest.status()).plain).toBe(7)

    service = await open([])
    const got = await delivered(service, workspaceId, full.id)
    expect(isSigned(got, full.secret)).toBe(true)
    expect(got.headers['x-odd']).toBe(HEADERS['X-Odd'])
  })

  it('are not opened without their key, which is named', async () => {
    const service = await open([KEY])
    const { key_id } = await service.secretsAtRest.status()
    const workspaceId = await signUp(service)
    await service.webhooks.create(workspaceId, { url, events: [...EVENTS] })
    for (const keys of [[], [OTHER]]) {
      await expect(open(keys)).rejects.toMatchObject({
        code: 'secrets_key',
        message: expect.stringMatching(`1 secret .*key id ${key_id}`),
      })
    }
    const other = await open([OTHER], { require_secrets_keys: false })
    expect((await other.secretsAtRest.status()).keys).toMatchObject([
      { is_given: true, values: 0 },
      { key_id, is_given: false, values: 1 },
    ])
    expect(await other.secretsAtRest.encrypt()).toEqual({ changed: 0, unchanged: 0, unreadable: 1 })
    await open([OTHER, KEY])
  })

  it('are moved to the other engine as they are', async () => {
    const service = await open([KEY])
    const workspaceId = await signUp(service)
    const input = { url, events: [...EVENTS], headers: HEADERS }
    const { id, secret } = await service.webhooks.create(workspaceId, input)
    const { bytes } = await exported(engine.url(), { snapshot: true })
    const text = gunzipSync(bytes).toString('latin1')
    expect(text).toContain('svcenc1:')
    for (const one of [secret, HEADERS.Authorization]) expect(text).not.toContain(one)
    const [, makeOther] = ENGINES.find(([one]) => one !== name) ?? []
    const other = makeOther?.()
    if (!other) throw new Error('there are two engines')
    const there = await other.open()
    try {
      // Closes it, for the import to be alone.
      await other.dump({ vacuum: false })
      await imported(other.url(), bytes)
      const moved = await open([KEY], { database_url: other.url() })
      const got = await delivered(moved, workspaceId, id)
      expect(isSigned(got, secret)).toBe(true)
      expect(got.headers.authorization).toBe(HEADERS.Authorization)
      await core?.close()
    } finally {
      await there.close()
    }
  })

  it('begin anew after an interruption with what is left', async () => {
    const service = await open([])
    const workspaceId = await signUp(service)
    await insertWebhooks(workspaceId, 150)
    const encrypting = await open([KEY])
    const stopped = new AbortController()
    const report = await encrypting.secretsAtRest.encrypt({
      signal: stopped.signal,
      onProgress: ({ done }) => done > 0 && stopped.abort(),
    })
    expect(report).toEqual({ changed: 100, unchanged: 0, unreadable: 0 })
    expect(await encrypting.secretsAtRest.encrypt()).toEqual({
      changed: 50,
      unchanged: 100,
      unreadable: 0,
    })
  })

  it('are encrypted while owners rotate them, and none is lost', async () => {
    const plain = await open([])
    const workspaceId = await signUp(plain)
    const ids = await insertWebhooks(workspaceId, 120)
    const service = await open([KEY])
    const operator = await createCore({ database_url: engine.url(), secrets_keys: [KEY] })
    try {
      const encrypting = operator.secretsAtRest.encrypt()
      const rotated = await Promise.all(
        ids.map((id) => service.webhooks.rotateSecret(workspaceId, id)),
      )
      expect(await encrypting).toMatchObject({ unreadable: 0 })
      await operator.secretsAtRest.encrypt()
      for (const { id, secret_prefix } of rotated) {
        expect(await service.webhooks.get(workspaceId, id)).toMatchObject({ secret_prefix })
      }
      // A new and a previous secret each.
      expect(await service.secretsAtRest.status()).toMatchObject({
        plain: 0,
        keys: [{ values: 240 }],
      })
    } finally {
      await operator.close()
    }
  })

  it('whose key is lost are discarded, and readable ones stay', async () => {
    const service = await open([KEY])
    const workspaceId = await signUp(service)
    const input = { url, events: [...EVENTS] }
    const lost = await service.webhooks.create(workspaceId, { ...input, headers: HEADERS })
    await service.webhooks.rotateSecret(workspaceId, lost.id)
    const jwt = await service.secret('jwt')
    const other = await open([OTHER], { require_secrets_keys: false })
    const kept = await other.webhooks.create(workspaceId, { ...input, headers: HEADERS })
    const actor = { kind: 'operator', id: 'asha', address: null, request_id: null } as const
    expect(await other.secretsAtRest.discard({ actor })).toEqual({
      secrets: 1,
      webhooks: 1,
      api_keys: 0,
      domains: 0,
    })
    expect(await other.secretsAtRest.discard()).toEqual({
      secrets: 0,
      webhooks: 0,
      api_keys: 0,
      domains: 0,
    })
    const after = await open([OTHER])
    expect(await after.secret('jwt')).not.toBe(jwt)
    expect(await after.webhooks.get(workspaceId, lost.id)).toMatchObject({
      headers: [],
      is_active: false,
      status: 'disabled',
      disabled_reason: 'secret_lost',
    })
    const { secret } = await after.webhooks.rotateSecret(workspaceId, lost.id)
    await after.webhooks.enable(workspaceId, lost.id)
    expect(isSigned(await delivered(after, workspaceId, lost.id), secret)).toBe(true)
    const got = await delivered(after, workspaceId, kept.id)
    expect(isSigned(got, kept.secret)).toBe(true)
    expect(got.headers.authorization).toBe(HEADERS.Authorization)
    const entries = await after.audit.ofAll({ action: 'secrets.discarded' }, EVERYTHING)
    expect(entries.map((entry) => entry.actor)).toMatchObject([
      { kind: 'service', id: null },
      { kind: 'operator', id: 'asha' },
    ])
  })

  it('of one tenant are of no use in the row of another, whose deliveries wait', async () => {
    const errors: object[] = []
    const log = { debug() {}, info() {}, warn() {}, error: (fields: object) => errors.push(fields) }
    const service = await open([KEY], { runtime: systemRuntime(log) })
    const [victim, thief] = [await signUp(service), await signUp(service, 'thief@example.com')]
    const mine = await service.webhooks.create(victim, { url, events: [...EVENTS] })
    const theirs = await service.webhooks.create(thief, { url, events: [...EVENTS] })
    await opened.storage.write(async ({ webhooks }) => {
      const row = await webhooks.lock(victim, mine.id)
      if (row) await webhooks.change(thief, theirs.id, { secret: row.secret })
    })
    const { id } = await service.webhooks.test(thief, theirs.id)
    expect(isSigned(await delivered(service, victim, mine.id), mine.secret)).toBe(true)
    await vi.waitFor(() => expect(errors).toHaveLength(1))
    expect(errors).toMatchObject([
      { err: { message: expect.stringMatching(`secret of ${theirs.id} .*cannot be decrypted`) } },
    ])
    expect(await service.webhooks.delivery(thief, theirs.id, id)).toMatchObject({
      status: 'pending',
      attempt_count: 0,
    })
    await expect(service.webhooks.get(thief, theirs.id)).rejects.toThrow('cannot be decrypted')
    expect(await service.secretsAtRest.encrypt()).toMatchObject({ unreadable: 0 })
    await service.webhooks.delete(thief, theirs.id)
    expect(seen).toHaveLength(1)
  })
})
