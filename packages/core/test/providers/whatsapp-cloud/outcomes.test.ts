import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Provider } from '../../../src/contract/outside/provider.ts'
import { createProviderClient, type ProviderClient } from '../../../src/providers/http-client.ts'
import { outcomeOf } from '../../../src/providers/whatsapp-cloud/outcome.ts'
import { openWhatsappCloud } from '../../../src/providers/whatsapp-cloud/whatsapp-cloud.ts'
import { jobOf, sendOne } from './jobs.ts'
import { type MetaPeer, startMetaPeer } from './peer.ts'

let peer: MetaPeer
let provider: Provider

const NOW_MS = Date.parse('2026-05-01T12:00:00Z')

beforeAll(async () => {
  peer = await startMetaPeer()
})
afterAll(() => peer.close())
beforeEach(() => {
  const http: ProviderClient = createProviderClient()
  provider = openWhatsappCloud(peer.settings(), { http, now_ms: () => NOW_MS })
})
afterEach(() => provider.close?.())

const send = (attempt = 1) => sendOne(provider, jobOf({ text: 'the secret contents' }, { attempt }))

/** Meta's codes by kind: the account's fault, the sender's fault, to retry, too many messages, rejected. */
const PROVIDER = [0, 3, 10, 190, 200, 210, 299, 368, 131005, 131031, 131042]
const SENDER = [33, 131037, 131045, 131048, 133010]
const UNAVAILABLE = [1, 2, 131000, 131016, 131057, 133004]
const RATE = [4, 80007, 130429]
const REJECTED = [
  100, 130472, 130497, 131008, 131009, 131021, 131026, 131030, 131047, 131049, 131050, 131051,
  131052, 131053, 132000, 132001, 132005, 132007, 132012, 132015, 132016, 132068, 132069,
]
/** Meta sends each code with several of these statuses. */
const STATUSES = [200, 400, 403, 429, 500]

const everywhere = (codes: readonly number[]) =>
  codes.flatMap((code) => STATUSES.map((status) => [code, status] as const))

describe('a code of Meta decides, whatever the HTTP status', () => {
  it.each(everywhere(PROVIDER))('%i under %i is the account’s fault', async (code, status) => {
    peer.fail({ type: 'error', status, code })
    expect(await send()).toMatchObject({ type: 'retry', misconfigured: 'provider' })
  })

  it.each(everywhere(SENDER))('%i under %i is the sender’s fault', async (code, status) => {
    peer.fail({ type: 'error', status, code })
    expect(await send()).toMatchObject({ type: 'retry', misconfigured: 'sender' })
  })

  it.each(everywhere(UNAVAILABLE))('%i under %i is a retry', async (code, status) => {
    peer.fail({ type: 'error', status, code })
    expect(await send()).toEqual({
      type: 'retry',
      error_code: 'provider_unavailable',
      error_message: expect.stringMatching(`^whatsapp_cloud:${code} `),
      delay_ms: null,
    })
  })

  it.each(everywhere(RATE))('%i under %i is a retry with a growing delay', async (code, status) => {
    peer.fail({ type: 'error', status, code })
    expect(await send()).toEqual({
      type: 'retry',
      error_code: 'rate_limited',
      error_message: expect.stringMatching(`^whatsapp_cloud:${code} `),
      delay_ms: 2_000,
    })
  })

  it.each(everywhere(REJECTED))('%i under %i is rejected', async (code, status) => {
    peer.fail({ type: 'error', status, code })
    const outcome = await send()
    expect(outcome).toEqual({
      type: 'rejected',
      error_code: expect.stringMatching(/^[a-z_]+$/),
      error_message: expect.stringMatching(`^whatsapp_cloud:${code} [A-Z]`),
    })
  })

  it('has an error message in our own words only', async () => {
    peer.fail({ type: 'error', status: 400, code: 131047 })
    expect(await send()).toEqual({
      type: 'rejected',
      error_code: 'outside_window',
      error_message: 'whatsapp_cloud:131047 Outside the 24 hour window',
    })
  })

  it('a missing number ID is the sender’s fault, not a parameter of the message', async () => {
    peer.fail({ type: 'error', status: 400, code: 100, subcode: 33 })
    expect(await send()).toMatchObject({ type: 'retry', misconfigured: 'sender' })
  })

  it.each([502, 504])(
    '2 from a gateway, HTTP %i, leaves open what became of it',
    async (status) => {
      peer.fail({ type: 'error', status, code: 2 })
      expect(await send()).toMatchObject({ type: 'ambiguous' })
    },
  )

  it('an opt-out from marketing does not suppress the recipient: one-time codes still arrive', async () => {
    peer.fail({ type: 'error', status: 400, code: 131050 })
    expect(await send()).toMatchObject({ type: 'rejected', error_code: 'opted_out' })
    peer.fail({ type: 'error', status: 400, code: 131050 })
    expect(await send()).not.toHaveProperty('suppress')
  })
})

describe('the delay', () => {
  it.each([
    [130429, [2_000, 4_000, 8_000]],
    [131056, [6_000, 12_000, 24_000]],
  ])('after %i doubles with each attempt', async (code, delays) => {
    for (const [i, delay_ms] of delays.entries()) {
      peer.fail({ type: 'error', status: 400, code })
      expect(await send(i + 1)).toMatchObject({ type: 'retry', delay_ms })
    }
  })

  it('has a maximum', async () => {
    peer.fail({ type: 'error', status: 400, code: 131056 })
    expect(await send(5_000)).toMatchObject({ delay_ms: 300_000 })
  })

  it.each([
    ['30', 30_000],
    ['Fri, 01 May 2026 12:01:00 GMT', 60_000],
    ['1', 2_000],
    ['soon', 2_000],
  ])('is at least Retry-After: %s', async (header, delay_ms) => {
    peer.fail({ type: 'error', status: 429, code: 4, headers: { 'retry-after': header } })
    expect(await send()).toMatchObject({ type: 'retry', delay_ms })
  })
})

describe('an answer that is not in Meta’s list', () => {
  it.each([
    [400, 'rejected'],
    [413, 'rejected'],
    [429, 'retry'],
    [500, 'retry'],
    [503, 'retry'],
    [502, 'ambiguous'],
    [504, 'ambiguous'],
    [200, 'ambiguous'],
  ])('is judged by its HTTP status: %i %s', async (status, type) => {
    peer.fail({ type: 'error', status, code: 999_999 })
    const outcome = await send()
    expect(outcome).toMatchObject({ type })
    expect(outcome).not.toHaveProperty('misconfigured')
    expect(outcome).toHaveProperty('error_message', `whatsapp_cloud:999999 HTTP ${status}`)
  })

  it.each([301, 302, 401, 403, 404])(
    '%i without an error of Meta is misconfigured',
    async (status) => {
      const headers = { 'content-type': 'text/html', location: 'http://127.0.0.1:9/' }
      peer.fail({ type: 'raw', status, body: '<p>the secret contents</p>', headers })
      const outcome = await send()
      expect(outcome).toMatchObject({ type: 'retry', misconfigured: 'provider' })
      expect(JSON.stringify(outcome)).not.toContain('secret')
    },
  )

  it('rejects one message for a page of a proxy, without pausing the provider', async () => {
    peer.fail({ type: 'raw', status: 400, body: '<p>blocked</p>' })
    const outcome = await send()
    expect(outcome).toMatchObject({ type: 'rejected', error_code: 'provider_rejected' })
    expect(await send()).toMatchObject({ type: 'accepted' })
  })

  it.each([
    ['nothing', ''],
    ['cut JSON', '{"messages":[{"id":"wamid.HB'],
    ['another shape', '{"messages":"wamid.x"}'],
    ['no message', '{"messages":[]}'],
    ['an id that is none', '{"messages":[{"id":"a b\\u0000"}]}'],
    ['a page', '<html>OK</html>'],
  ])('is ambiguous for success with %s', async (_, body) => {
    peer.fail({ type: 'raw', status: 200, body, is_taken: true })
    expect(await send()).toMatchObject({ type: 'ambiguous' })
  })

  it('gives a valid outcome for any answer, and never accepts one with an error', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 100, max: 599 }),
        fc.oneof(fc.jsonValue(), fc.record({ error: fc.record({ code: fc.jsonValue() }) })),
        fc.dictionary(fc.constantFrom('retry-after', 'x-any'), fc.string()),
        fc.integer({ min: 1, max: 10_000 }),
        (status, json, headers, attempt) => {
          const answer = { type: 'answered', status, headers, body: '', json } as const
          const outcome = outcomeOf(answer, { attempt, now_ms: NOW_MS })
          expect(outcome.type).not.toBe('accepted')
          if (outcome.type !== 'retry' || outcome.delay_ms === null) return
          // `Retry-After: 0` is valid; the rule that schedules the retry has its own minimum.
          expect(outcome.delay_ms).toBeGreaterThanOrEqual(0)
          expect(outcome.delay_ms).toBeLessThanOrEqual(86_400_000)
        },
      ),
    )
  })
})

describe('a lost connection', () => {
  it('is ambiguous, and the message is not sent again', async () => {
    const before = peer.requests.length
    peer.fail('drop_before', 'drop_after')
    expect(await send()).toMatchObject({ type: 'ambiguous' })
    expect(await send()).toMatchObject({ type: 'ambiguous' })
    expect(peer.requests).toHaveLength(before + 2)
  })
})

describe('the check', () => {
  it('returns null if Meta knows every number', async () => {
    expect(await provider.check?.()).toBeNull()
    expect(peer.requests.at(-1)).toMatchObject({
      method: 'GET',
      path: expect.stringMatching(/^\/v25\.0\/\d+\?fields=display_phone_number$/),
    })
  })

  it.each([
    ['a revoked token', { access_token: 'EAAother' }, '+15550783881: whatsapp_cloud:190 '],
    [
      'a missing ID',
      { senders: [{ number: '+15550783881', phone_number_id: '404' }] },
      '+15550783881: whatsapp_cloud:100 The sending number does not exist',
    ],
    [
      'an ID of another number',
      { senders: [{ number: '+15550783881', phone_number_id: '106540352242923' }] },
      '+15550783881: Meta knows its phone number ID as another number',
    ],
  ])('reports %s', async (_, changes, text) => {
    const wrong = openWhatsappCloud(peer.settings(changes))
    const fault = await wrong.check?.()
    await wrong.close?.()
    expect(fault).toContain(text)
    expect(fault).not.toContain('EAA')
  })

  it('reports a refused connection', async () => {
    const gone = await startMetaPeer()
    const unreachable = openWhatsappCloud(gone.settings())
    await gone.close()
    expect(await unreachable.check?.()).toBe('+15550783881: The connection was refused')
    await unreachable.close?.()
  })
})
