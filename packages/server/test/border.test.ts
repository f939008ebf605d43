import type { KeyIdentity } from '@svc/core'
import { SvcError } from '@svc/core/contract'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Account, bulk, sms } from './accounts.ts'
import { withOneChange } from './fuzz-faults.ts'
import { useWorld, type World } from './world.ts'

/** Two worlds with the same history: one takes every request over HTTP, the other one by a call of the core. */
const served = useWorld()
const embedded = useWorld()

interface Owner extends Account {
  key: string
  identity: KeyIdentity
}

async function ownerOf(world: World): Promise<Owner> {
  const account = await world.signup({ credits: 1_000_000 })
  const { key } = await world.key(account)
  return { ...account, key, identity: await world.core.apiKeys.authenticate(key, '127.0.0.1') }
}

let client: Owner
let program: Owner
beforeAll(async () => {
  client = await ownerOf(served())
  program = await ownerOf(embedded())
})

/** The refusal of a call, with the parts that a client sees; null for a success. */
async function refusalOf(call: Promise<unknown>) {
  try {
    await call
    return null
  } catch (error) {
    if (!(error instanceof SvcError)) throw error
    const { code, message, details } = error
    return { error: code, message, ...(details && { details }) }
  }
}

const mail = {
  to: 'asha@example.com',
  channel: 'email',
  content: { subject: 'A', html: '<p>A</p>', text: 'A' },
  from: 'A',
  metadata: { order_id: 'A1' },
  expires_in: 60,
}
const contact = { name: 'Asha', tags: ['a'], attributes: { city: 'A' }, email: 'a@example.com' }

/** A body that one change makes wrong or not, its request, and the call of the core with the same value. */
interface Case {
  bodies: readonly unknown[]
  path: string
  credential: 'key' | 'token'
  // biome-ignore lint/suspicious/noExplicitAny: the values are of any type on purpose.
  call: (core: World['core'], owner: Owner, value: any) => Promise<unknown>
}

const CASES: Case[] = [
  {
    bodies: [sms, { ...sms, channel: 'whatsapp' }, mail],
    path: '/api/v1/messages/send',
    credential: 'key',
    call: ({ messages }, { identity }, value) => messages.send(identity, value),
  },
  {
    bodies: [bulk, { ...bulk, validation: 'permissive', defaults: { name: 'you' } }],
    path: '/api/v1/messages/bulk',
    credential: 'key',
    call: ({ messages }, { identity }, value) => messages.bulks.send(identity, value),
  },
  {
    bodies: [sms, mail, bulk],
    path: '/api/v1/messages/estimate',
    credential: 'key',
    call: ({ messages }, { identity }, value) => messages.estimate(identity, value),
  },
  {
    bodies: [
      {
        url: 'https://127.0.0.1/hook',
        description: 'A',
        events: ['message.sent'],
        mode: 'all',
        headers: { 'x-a': 'a' },
      },
    ],
    path: '/api/v1/webhooks',
    credential: 'token',
    call: ({ webhooks }, { id }, value) => webhooks.create(id, value),
  },
  {
    bodies: [contact, { ...contact, phone: '+14155550100', subscriptions: { sms: 'subscribed' } }],
    path: '/api/v1/contacts',
    credential: 'token',
    call: ({ contacts }, { id }, value) => contacts.create(id, value),
  },
  {
    bodies: [{ channel: 'sms', address: '+14155550100', reason: 'manual' }],
    path: '/api/v1/contacts/suppressions',
    credential: 'token',
    call: ({ suppressions }, { id }, value) => suppressions.add(id, value),
  },
  {
    bodies: [
      {
        name: 'A',
        scopes: ['send_messages'],
        mode: 'live',
        expires_at: '2030-01-01',
        allowed_ips: ['127.0.0.1'],
        daily_credit_limit: 1.5,
      },
    ],
    path: '/api/v1/api-keys',
    credential: 'token',
    call: ({ apiKeys }, { id }, value) => apiKeys.create(id, value),
  },
]

const RUNS = 300

describe.each(CASES)('a call of the core and POST $path', ({ bodies, path, credential, call }) => {
  it('succeed or fail alike for the same body', async () => {
    const outcomes = { accepted: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(withOneChange(fc.constantFrom(...bodies)), async (text) => {
        const secret = { [credential]: client[credential] }
        const answer = await served().call('POST', path, { ...secret, raw: text })
        const { success, data: _, ...refusal } = answer.body
        const embeddedRefusal = await refusalOf(call(embedded().core, program, JSON.parse(text)))
        expect(embeddedRefusal).toStrictEqual(success ? null : refusal)
        outcomes[success ? 'accepted' : 'refused'] += 1
      }),
      { numRuns: RUNS },
    )
    expect(outcomes.accepted).toBeGreaterThan(0)
    expect(outcomes.refused).toBeGreaterThan(0)
  })
})

it('the core refuses a large body, a deep one and a wrong idempotency key like the API', async () => {
  const deep = JSON.parse(`${'['.repeat(20)}${']'.repeat(20)}`)
  const bodies = [
    { ...sms, metadata: { deep } },
    { ...sms, content: { text: 'a'.repeat(5 * 1024 * 1024) } },
    [],
    null,
    'text',
  ]
  for (const json of bodies) {
    const answer = await served().call('POST', '/api/v1/messages/send', { key: client.key, json })
    const { success: _, ...refusal } = answer.body
    expect(
      await refusalOf(embedded().core.messages.send(program.identity, json as never)),
    ).toStrictEqual(refusal)
  }
  const headers = { 'idempotency-key': ' ' }
  const answer = await served().call('POST', '/api/v1/messages/send', {
    key: client.key,
    json: sms,
    headers: { 'idempotency-key': 'é' },
  })
  const { success: _, ...refusal } = answer.body
  const options = { idempotency_key: headers['idempotency-key'] }
  expect(
    await refusalOf(embedded().core.messages.send(program.identity, sms, options)),
  ).toStrictEqual(refusal)
})
