import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KeyIdentity } from '../src/api-keys/api-keys.ts'
import { SvcError } from '../src/contract/errors.ts'
import { units } from '../src/contract/fields/units.ts'
import { type Core, createCore, decodedOf } from '../src/core.ts'
import { bordersOf } from '../src/parameters/borders.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-border-'))
const options = { signup_credits: '100', threads: 0 }
let core: Core
let workspaceId: string
let identity: KeyIdentity

const sms = { channel: 'sms', to: '+15005550006', content: { text: 'Hello' } } as const

async function keyOf(scopes: KeyIdentity['scopes']): Promise<KeyIdentity> {
  const { key } = await core.apiKeys.create(workspaceId, { name: 'k', scopes: [...scopes] })
  return core.apiKeys.authenticate(key, '127.0.0.1')
}

beforeAll(async () => {
  core = await createCore({ database_url: `file:${join(folder, 'svc.db')}`, ...options })
  const owner = { email: 'a@example.com', password: 'long enough', company_name: 'A' }
  workspaceId = (await core.workspaces.create(owner)).id
  identity = await keyOf(['send_messages', 'read_messages'])
})
afterAll(async () => {
  await core.close()
  rmSync(folder, { recursive: true })
})

/** A wrong value, whatever its type is for the compiler. */
const wrong = (value: unknown) => value as never

async function refusalOf(call: Promise<unknown>): Promise<[string, string | undefined, string]> {
  try {
    await call
  } catch (error) {
    if (!(error instanceof SvcError)) throw error
    return [error.code, error.details?.[0]?.path, error.message]
  }
  throw new Error('the call was not refused')
}

const INVALID = 'validation_error'

describe('a call of the core', () => {
  it.each<[string, () => Promise<unknown>, string | undefined, string]>([
    [
      'with a recipient that is no number',
      () => core.messages.send(identity, { ...sms, to: '0049' }),
      'to',
      'Phone number must be in E.164 format',
    ],
    [
      'with a content of null',
      () => core.messages.send(identity, { ...sms, content: { text: wrong(null) } }),
      'content.text',
      'content.text must be a string',
    ],
    [
      'with an unknown scope',
      () => core.apiKeys.create(workspaceId, { name: 'k', scopes: [wrong('all')] }),
      'scopes.0',
      'scopes.0 must be one of: send_messages, read_messages, manage_contacts, manage_webhooks',
    ],
    [
      'with an unknown field',
      () => core.messages.send(identity, wrong({ ...sms, scheduledAt: new Date() })),
      '',
      'Unknown field: scheduledAt. Did you mean scheduled_at?',
    ],
    [
      'with a circular value',
      () => {
        const metadata: Record<string, unknown> = {}
        metadata.self = metadata
        return core.messages.send(identity, { ...sms, metadata })
      },
      '',
      'Request body must be valid JSON: it has a circular reference, a BigInt, or too many levels',
    ],
    [
      'with a page beyond the maximum',
      () => core.apiKeys.list(workspaceId, { limit: 101, offset: 0 }),
      'limit',
      'Limit must be between 1 and 100',
    ],
    [
      'with a wrong identity',
      () => core.messages.send(wrong({ ...identity, mode: 'prod' }), sms),
      'identity.mode',
      'identity.mode must be one of: live, test',
    ],
    [
      'with a grant of text',
      () => core.credits.grant(workspaceId, { amount: wrong('5'), actor: 'a' }),
      'amount',
      'amount must be a whole number of micro-credits',
    ],
    [
      'with a misspelt field of a grant',
      () => core.credits.grant(workspaceId, wrong({ amount: units(1), actor: 'a', expire: 1 })),
      '',
      'Unknown field: expire',
    ],
    [
      'with a wrong address to erase',
      () => core.recipients.erase(wrong(5)),
      'address',
      'address must be a string',
    ],
  ])('%s rejects with the field and the reason', async (_, call, path, message) => {
    const before = (await core.credits.account(workspaceId)).balance
    expect(await refusalOf(call())).toStrictEqual([INVALID, path, message])
    expect((await core.credits.account(workspaceId)).balance).toBe(before)
  })

  it('with two wrong values rejects once, also while the first is still read', async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', note)
    const many = Array.from({ length: 600 }, () => 1)
    const call = core.messages.send(identity, wrong({ ...sms, many }), { idempotency_key: '' })
    await expect(call).rejects.toThrow('Idempotency-Key')
    await new Promise((resolve) => setTimeout(resolve, 50))
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })

  it('continues a list behind `after`', async () => {
    const ids: string[] = []
    for (const name of ['a', 'b', 'c'])
      ids.unshift((await core.contacts.create(workspaceId, { email: `${name}@example.com` })).id)
    const page = (after?: string) =>
      core.contacts.list(workspaceId, {}, { limit: 2, offset: 0, after })
    const first = await page()
    expect(first.contacts.map(({ id }) => id)).toEqual(ids.slice(0, 2))
    const second = await page(first.next_after ?? undefined)
    expect(second.contacts.map(({ id }) => id)).toEqual(ids.slice(2))
    await expect(page('\0')).rejects.toThrow('after')
  })

  it.each<[string, () => Promise<unknown>, string]>([
    ['message', () => core.messages.get(identity, 'x'), 'Message not found'],
    ['bulk', () => core.messages.bulks.get(identity, wrong(5)), 'Bulk not found'],
    ['webhook', () => core.webhooks.get(workspaceId, "'"), 'Webhook not found'],
    ['contact', () => core.contacts.get(workspaceId, ''), 'Contact not found'],
    ['workspace', () => core.workspaces.account(wrong(undefined)), 'Workspace not found'],
    [
      'workspace',
      () => core.contacts.list('1', {}, { limit: 1, offset: 0 }),
      'Workspace not found',
    ],
  ])('with a malformed id of a %s rejects with not_found', async (_, call, message) => {
    expect(await refusalOf(call())).toStrictEqual(['not_found', undefined, message])
  })

  it('needs the scope that the endpoint needs', async () => {
    const reader = await keyOf(['read_messages'])
    expect(await refusalOf(core.messages.send(reader, sms))).toStrictEqual([
      'forbidden',
      undefined,
      'API key does not have required scope: send_messages',
    ])
    const sender = await keyOf(['send_messages'])
    const { data } = await core.messages.send(sender, sms)
    expect((await refusalOf(core.messages.get(sender, data.message_id)))[0]).toBe('forbidden')
    expect((await core.messages.get(workspaceId, data.message_id)).status).toBe('queued')
  })

  it('throws at once if it returns no promise', () => {
    expect(() => core.workspaces.forgotPassword({ email: 'a' })).toThrow(
      'Invalid email address format',
    )
    expect(() => core.mails.onMail(wrong(null))).toThrow('listener must be a function')
    expect(() => core.contacts.export(workspaceId, { tag: '' })).toThrow('tag must not be empty')
  })

  it('takes instants as Dates and texts, credits as in the API, and defaults', async () => {
    const expires_at = new Date(Date.now() + 60_000)
    const request = { name: 'k', daily_credit_limit: 2.5 }
    const byDate = await core.apiKeys.create(workspaceId, { ...request, expires_at })
    const text = expires_at.toISOString()
    const byText = await core.apiKeys.create(workspaceId, { ...request, expires_at: text })
    expect(byDate).toMatchObject({ expires_at, mode: 'live', daily_credit_limit: 2_500_000 })
    expect(byText).toMatchObject({ expires_at, mode: 'live', daily_credit_limit: 2_500_000 })
    const since = new Date(0)
    const page = await core.messages.list(workspaceId, { startDate: since, limit: 2 })
    expect(page.messages.length).toBeLessThanOrEqual(2)
    const all = await core.messages.list(workspaceId, {})
    expect(all.total).toBe(page.total)
  })

  it('reads a request once: a later change of the object changes nothing', async () => {
    const request = { ...sms, content: { text: 'before' } }
    const sending = core.messages.send(identity, request)
    request.content.text = 'after'
    const { data } = await sending
    expect((await core.messages.get(workspaceId, data.message_id)).content).toStrictEqual({
      text: 'before',
    })
  })
})

describe('every function of the core', () => {
  /** Functions at any depth, except those that take nothing or any text. */
  function functionsOf(value: object, path = ''): [string, (...given: unknown[]) => unknown][] {
    return Object.entries(value).flatMap(([name, each]) => {
      if (typeof each === 'function') return [[`${path}${name}`, each]]
      return typeof each === 'object' && each !== null ? functionsOf(each, `${path}${name}.`) : []
    })
  }
  const TAKES_ANY = new Set([
    'apiKeys.authenticateKnown',
    'apiKeys.expectedOf',
    'operators.ofToken',
    'unsubscribe.look',
    'unsubscribe.take',
    'unsubscribe.undo',
    'close',
  ])

  it('refuses a value of a wrong type with a SvcError', async () => {
    const functions = functionsOf(core).filter(
      ([name, call]) => !TAKES_ANY.has(name) && typeof call === 'function',
    )
    expect(functions.length).toBeGreaterThan(70)
    const WITHOUT_PARAMETERS =
      /^(?:isDispatching|ping|databaseFault|databaseReplicas|startDispatch|apiKeys\.(?:flush|close)|billing\.packages|dispatch\.(?:pause|isPaused|doubtful|doubtfulMessages)|mails\.(?:list|idle)|members\.preparePasskeys|operators\.list|overviews\.overview|providers\.(?:status|callbackLimits)|secretsAtRest\.status|webhooks\.events)$/
    for (const [name, call] of functions) {
      if (WITHOUT_PARAMETERS.test(name)) continue
      for (const value of [Symbol('wrong'), 1n, { nested: { wrong: true } }]) {
        const outcome = await (async () => call(value, value, value, value))().catch((e) => e)
        expect(outcome, name).toBeInstanceOf(SvcError)
      }
    }
  })
})

describe('the functions behind the border', () => {
  it('take decoded requests, and keep a function that a caller replaced', async () => {
    const replaced = () => Promise.reject(new Error('replaced'))
    const inner = decodedOf({ ...core, messages: { ...core.messages, send: replaced } })
    await expect(inner.messages.send(identity, sms)).rejects.toThrow('replaced')
    const expires_at = new Date(Date.now() + 60_000)
    const key = await inner.apiKeys.create(workspaceId, {
      name: 'k',
      mode: 'live',
      expires_at,
      daily_credit_limit: units(1),
    })
    expect(key.daily_credit_limit).toBe(1)
  })
})

it('lets only a core with a voice provider take calls, also after a core without one', () => {
  const call = { channel: 'voice', to: '+15005550006', content: { text: 'Hello' } }
  const takesCall = (voice: boolean) => {
    const [, read] = bordersOf({ voice }).messages.send.readers
    try {
      read(call)
      return true
    } catch {
      return false
    }
  }
  expect([false, true, false].map(takesCall)).toEqual([false, true, false])
})
