import { afterEach, describe, expect, it } from 'vitest'
import type { Outcome } from '../../../src/contract/outside/provider.ts'
import {
  accepting,
  answer,
  deadlineMsFor,
  type HttpPlay,
  NO_ANSWER,
  ODD_ANSWERS,
} from '../http-peer.ts'
import { httpJob, jsonSettings, openHttp, querySettings, signedJson } from './gateway.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const REFERENCE = '11111111-1111-4111-8111-111111111111.22222222-2222-4222-8222-222222222222'

const NOW = new Date('2026-03-01T12:00:00Z')

async function outcomeOf(play: HttpPlay, changes: object = {}): Promise<Outcome | undefined> {
  const { provider, peer, close } = await openHttp(
    (url) => ({ ...jsonSettings(url), ...changes }),
    () => NOW,
  )
  closing.push(close)
  peer.next(play)
  const [outcome] = await provider.send([httpJob()])
  expect(peer.requests).toHaveLength(1)
  return outcome
}

const MISCONFIGURED = { type: 'retry', misconfigured: 'provider' }
const RETRY = { type: 'retry', delay_ms: null }
const UNKNOWN = { type: 'ambiguous', answered: { delay_ms: null } }
const NEITHER = { idempotent: false, lookup: undefined }

describe('an HTTP status', () => {
  it.each<[number, object, object]>([
    // Receipts with the gateway's id only are matched by `part_ids`.
    [200, { type: 'accepted', provider_message_id: 'g1', part_ids: ['g1'] }, { type: 'accepted' }],
    [202, { type: 'accepted' }, { type: 'accepted' }],
    [301, MISCONFIGURED, MISCONFIGURED],
    [303, { type: 'ambiguous' }, { type: 'ambiguous' }],
    [307, MISCONFIGURED, MISCONFIGURED],
    [400, { type: 'rejected', error_code: 'http_400' }, { type: 'rejected' }],
    [401, MISCONFIGURED, MISCONFIGURED],
    [402, MISCONFIGURED, MISCONFIGURED],
    [403, MISCONFIGURED, MISCONFIGURED],
    [404, { type: 'rejected' }, { type: 'rejected' }],
    [407, MISCONFIGURED, MISCONFIGURED],
    [408, RETRY, RETRY],
    [409, { type: 'accepted' }, { type: 'rejected' }],
    [422, { type: 'rejected' }, { type: 'rejected' }],
    [425, RETRY, RETRY],
    [429, RETRY, RETRY],
  ])('%i', async (status, idempotent, once) => {
    const play = answer(status, { id: 'g1' })
    const outcome = await outcomeOf(play, { idempotent: true })
    expect(outcome).toMatchObject(idempotent)
    if (!('misconfigured' in idempotent)) expect(outcome).not.toHaveProperty('misconfigured')
    expect(await outcomeOf(play, { idempotent: false })).toMatchObject(once)
  })

  it.each<[number, object]>([
    [500, RETRY],
    [501, RETRY],
    [502, UNKNOWN],
    [503, RETRY],
    [504, UNKNOWN],
    [520, UNKNOWN],
    [521, RETRY],
    [524, UNKNOWN],
  ])('%i, which a gateway that has the message may send too', async (status, neither) => {
    const play = answer(status, { id: 'g1' })
    expect(await outcomeOf(play, { idempotent: true, lookup: undefined })).toMatchObject(UNKNOWN)
    expect(await outcomeOf(play, { idempotent: false })).toMatchObject(UNKNOWN)
    expect(await outcomeOf(play, NEITHER)).toMatchObject(neither)
  })

  it('503 is a retry if a look-up needs the id of the gateway', async () => {
    const { provider, peer, close } = await openHttp((url) => {
      const { lookup, ...others } = jsonSettings(url)
      const request = { method: 'GET', url: `${url}/messages/{{provider_message_id}}` }
      return { ...others, idempotent: false, lookup: { ...lookup, request } }
    })
    closing.push(close)
    peer.next(answer(503))
    expect(await provider.send([httpJob()])).toMatchObject([RETRY])
  })

  it('503 with Retry-After sets the delay, ambiguous or not', async () => {
    const play = answer(503, {}, { 'retry-after': '30' })
    expect(await outcomeOf(play)).toMatchObject({ answered: { delay_ms: 30_000 } })
    expect(await outcomeOf(play, NEITHER)).toMatchObject({ type: 'retry', delay_ms: 30_000 })
  })

  it.each<[string, number | null]>([
    ['30', 30_000],
    ['-1', null],
    ['1000000000', 86_400_000],
    ['Sun, 01 Mar 2026 12:00:45 GMT', 45_000],
  ])('429 with Retry-After: %s', async (text, delay_ms) => {
    expect(await outcomeOf(answer(429, {}, { 'retry-after': text }))).toMatchObject({ delay_ms })
  })
})

describe('an answer without the id of the settings', () => {
  it.each<[keyof typeof ODD_ANSWERS, string]>([
    ['truncated_json', 'ambiguous'],
    ['empty', 'ambiguous'],
    ['no_json', 'ambiguous'],
    ['error_payload', 'ambiguous'],
    ['huge_body', 'ambiguous'],
    ['gzip_bomb', 'ambiguous'],
    ['wrong_content_type', 'accepted'],
    ['extra_response', 'accepted'],
  ])('%s: %s', async (name, type) => {
    expect(await outcomeOf(accepting(ODD_ANSWERS[name]))).toMatchObject({ type })
  })

  it('is accepted if the settings have no id', async () => {
    const none = await outcomeOf(ODD_ANSWERS.no_json, { answer: {} })
    expect(none).toMatchObject({ type: 'accepted', provider_message_id: null })
  })

  it('is accepted for a repeat', async () => {
    expect(await outcomeOf(answer(409))).toMatchObject({
      type: 'accepted',
      provider_message_id: null,
    })
  })

  it.each([
    { id: 'a b' },
    { id: '' },
    { id: 'x'.repeat(300) },
    { id: { deep: 1 } },
    { id: null },
    [],
  ])('%j', async (body) => {
    expect(await outcomeOf(answer(200, body))).toMatchObject({ type: 'ambiguous' })
  })

  it('may be a number', async () => {
    expect(await outcomeOf(answer(200, { id: 17 }))).toMatchObject({ provider_message_id: '17' })
  })
})

it.each(Object.entries<HttpPlay>(NO_ANSWER))('%s is ambiguous', async (name, play) => {
  const deadline_s = deadlineMsFor(name) / 1_000
  expect(await outcomeOf(accepting(play), { deadline_s })).toMatchObject({ type: 'ambiguous' })
})

describe('the status word of the gateway', () => {
  const words = {
    answer: {
      id: '/id',
      status: '/result',
      statuses: {
        ok: 'accepted',
        bad_number: 'rejected',
        full: 'retry',
        no_money: 'misconfigured',
      },
      error_message: '/why',
    },
  }
  it.each<[number, unknown, object]>([
    [200, { result: 'ok', id: '1' }, { type: 'accepted', provider_message_id: '1' }],
    [
      200,
      { result: 'bad_number', why: 'No' },
      { type: 'rejected', error_code: 'bad_number', error_message: 'No' },
    ],
    [200, { result: 'full' }, { type: 'retry', error_code: 'full' }],
    [200, { result: 'no_money' }, MISCONFIGURED],
    [200, { result: 'unknown', id: '1' }, { type: 'ambiguous', error_code: 'unknown' }],
    [200, { id: '1' }, { type: 'ambiguous', error_code: 'http_200' }],
    [200, 'ok', { type: 'ambiguous' }],
    [400, { result: 'full' }, { type: 'retry' }],
    [503, { result: 'bad_number' }, { type: 'rejected' }],
    [400, { result: 'ok', id: '1' }, { type: 'rejected' }],
    [503, { result: 'full' }, { type: 'retry', error_code: 'full' }],
    [503, { result: 'ok', id: '1' }, UNKNOWN],
    [400, { result: 'unknown' }, { type: 'rejected', error_code: 'unknown' }],
    // A message with the code `canceled` was canceled by a request to the service.
    [400, { result: 'canceled' }, { type: 'rejected', error_code: 'carrier_canceled' }],
    [200, { result: 'constructor', id: '1' }, { type: 'ambiguous' }],
  ])('%i with %j', async (status, body, expected) => {
    expect(await outcomeOf(answer(status, body), words)).toMatchObject(expected)
  })

  it.each<[number, unknown, object]>([
    [200, { id: '1' }, { type: 'accepted' }],
    [200, { id: '1', error: 'E1' }, { type: 'rejected', error_code: 'E1' }],
    [503, { error: 'E1' }, { type: 'ambiguous', error_code: 'E1' }],
    [504, { error: 'E1' }, { type: 'ambiguous' }],
  ])('may be missing ("") or any other word ("*"): %i with %j', async (status, body, expected) => {
    const general = {
      answer: { id: '/id', status: '/error', statuses: { '': 'accepted', '*': 'rejected' } },
    }
    expect(await outcomeOf(answer(status, body), general)).toMatchObject(expected)
  })
})

describe('an error of the gateway', () => {
  const answerWith = (message: unknown, code: unknown = 'E1') =>
    outcomeOf(answer(400, { error: { code, message } }))

  it('is passed on, on one line and truncated', async () => {
    expect(await answerWith(`Not\n\u0000 \u202ethat ${'x'.repeat(999)}`)).toMatchObject({
      error_code: 'E1',
      error_message: `Not that ${'x'.repeat(291)}`,
    })
  })

  it.each([
    'Bad text: Grüße & "mehr" {{to}} $&',
    'Bad text near üße & "mehr" {{to}} $',
    'Bad token canary-api-token',
    'Called https://svc.test with canary-hmac-secret',
  ])('is not passed on if it repeats the request: %s', async (message) => {
    expect(await answerWith(message, 'canary-api-token')).toMatchObject({
      error_code: 'http_400',
      error_message: 'The provider answered with status 400',
    })
  })

  it.each([[{ a: 1 }], [[1]], [''], [null]])(
    'is not passed on if it is not a text: %j',
    async (message) => {
      expect(await answerWith(message, message)).toMatchObject({ error_code: 'http_400' })
    },
  )
})

describe('a look-up', () => {
  const result = async (play: HttpPlay, more: object = {}) => {
    const { provider, peer, close } = await openHttp((url) => jsonSettings(url))
    closing.push(close)
    peer.next(play)
    return (await provider.lookup?.([httpJob(more)]))?.[0]
  }
  it.each<[string, HttpPlay, object]>([
    [
      'its last state',
      answer(200, { id: 'g1', state: 'DONE' }),
      {
        type: 'found',
        lookup_after_ms: null,
        receipts: [{ status: 'delivered', provider_message_id: 'g1' }],
      },
    ],
    [
      'a state before the last',
      answer(200, { state: 'ON_ITS_WAY' }),
      { type: 'found', lookup_after_ms: 60_000, receipts: [{ status: 'sent' }] },
    ],
    [
      'an unknown state',
      answer(200, { state: 'X' }),
      { type: 'found', lookup_after_ms: 60_000, receipts: [] },
    ],
    ['404', answer(404), { type: 'not_found' }],
    ['nothing', answer(200, {}), { type: 'unavailable' }],
    ['no JSON', ODD_ANSWERS.no_json, { type: 'unavailable' }],
    ['401', answer(401), { type: 'unavailable' }],
    ['410', answer(410), { type: 'unavailable' }],
    ['500', answer(500), { type: 'unavailable' }],
    ['a redirect', ODD_ANSWERS.redirect, { type: 'unavailable' }],
    ['a reset', NO_ANSWER.reset, { type: 'unavailable' }],
  ])('%s', async (_, play, expected) => {
    expect(await result(play)).toMatchObject(expected)
  })

  it.each([
    ['Refused for canary-api-token', 'canary-api-token'],
    ['Refused: Grüße & "mehr" {{to}} $&', 'E7'],
  ])('does not pass on an error that repeats the request: %s', async (text, code) => {
    const open = await openHttp((url) => {
      const settings = jsonSettings(url)
      const lookup = {
        ...settings.lookup,
        answer: {
          status: '/state',
          statuses: { GONE: 'failed' },
          error_code: '/code',
          error_message: '/text',
        },
      }
      return { ...settings, lookup }
    })
    closing.push(open.close)
    open.peer.next(answer(200, { state: 'GONE', code, text }))
    const [found] = (await open.provider.lookup?.([httpJob()])) ?? []
    const error_code = code === 'E7' ? 'E7' : 'GONE'
    expect(found).toMatchObject({
      receipts: [{ status: 'failed', error_code, error_message: null }],
    })
  })

  it('is not sent without the id of the gateway if it needs that id', async () => {
    const { provider, peer, close } = await openHttp((url) => {
      const { lookup, ...others } = jsonSettings(url)
      const request = { method: 'GET', url: `${url}/messages/{{provider_message_id}}` }
      return { ...others, lookup: { ...lookup, request } }
    })
    closing.push(close)
    expect(await provider.lookup?.([httpJob()])).toEqual([{ type: 'unavailable' }])
    expect(peer.requests).toEqual([])
    peer.next(answer(200, { state: 'DONE' }))
    const [found] = (await provider.lookup?.([httpJob({ provider_message_id: 'a/b?c' })])) ?? []
    expect(found).toMatchObject({ type: 'found' })
    expect(peer.requests).toMatchObject([{ path: '/messages/a%2Fb%3Fc' }])
  })
})

it('looks up messages only if there are no receipts', async () => {
  expect(await outcomeOf(answer(200, { id: '1' }))).toMatchObject({ lookup_after_ms: null })
  const without_receipts = await outcomeOf(answer(200, { id: '1' }), { callback: undefined })
  expect(without_receipts).toMatchObject({ lookup_after_ms: 60_000 })
})

it('refuses a content that its template has no placeholder for', async () => {
  const { provider, peer, close } = await openHttp(querySettings)
  closing.push(close)
  const media = { media: { type: 'image' as const, url: 'https://pics.test/1.png' } }
  const outcomes = await provider.send([
    httpJob({ channel: 'whatsapp', content: media }),
    httpJob(),
  ])
  expect(outcomes).toMatchObject([
    { type: 'rejected', error_code: 'unsupported_content' },
    { type: 'accepted' },
  ])
  expect(peer.requests).toHaveLength(1)
})

// Any text of a template can come from an environment variable: the settings do not know which text is a secret.
describe('a secret in a template', () => {
  const SECRET = 'canary-tmpl/9'
  const places: [string, object][] = [
    ['a header', { headers: { 'x-key': SECRET } }],
    ['a header, after a word', { headers: { authorization: `App ${SECRET}` } }],
    ['the query', { query: { key: SECRET } }],
    ['the body', { body: { text: '{{text}}', account: { key: [SECRET] } } }],
    ['a form', { body: undefined, form: { text: '{{text}}', key: `${SECRET}{{to}}` } }],
    ['the address', { path: '/canary-tmpl9/send' }],
    ['the query of the address', { path: `/send?key=${SECRET}` }],
  ]
  const settingsOf = (url: string, { path, ...place }: { path?: string }) => {
    const settings = jsonSettings(url)
    return {
      ...settings,
      send: { ...settings.send, ...(path && { url: `${url}${path}` }), ...place },
    }
  }

  it.each(places)('is not passed on: in %s', async (_, place) => {
    const echoed = 'path' in place && String(place.path).startsWith('/c') ? 'canary-tmpl9' : SECRET
    const open = await openHttp((url) => settingsOf(url, place))
    closing.push(open.close)
    for (const message of [`No ${echoed}`, `No ${encodeURIComponent(echoed)}.`]) {
      open.peer.next(answer(400, { error: { code: echoed, message } }))
      expect(await open.provider.send([httpJob()])).toMatchObject([
        { error_code: 'http_400', error_message: 'The provider answered with status 400' },
      ])
      const id = { ref: REFERENCE, id: 'g1', state: 'FAILED', code: echoed, reason: message }
      expect(open.provider.readCallback?.(signedJson(id))).toMatchObject({
        reports: [{ receipt: { error_code: 'FAILED', error_message: null } }],
      })
    }
  })

  it('is not confused with the common words of an address', async () => {
    const open = await openHttp(jsonSettings)
    closing.push(open.close)
    open.peer.next(answer(400, { error: { message: 'Too many messages' } }))
    expect(await open.provider.send([httpJob()])).toMatchObject([
      { error_message: 'Too many messages' },
    ])
  })
})
