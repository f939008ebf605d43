import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LookupJob, LookupResult, SendJob } from '../../../src/contract/outside/provider.ts'
import { jobOf, openTwilioBench, questionOf, type TwilioBench } from './bench.ts'

const SERVICE = `MG${'5'.repeat(32)}`
const HOUR_MS = 3_600_000
const NOON_MS = Date.UTC(2026, 0, 1, 12)

let at_ms: number
let bench: TwilioBench
beforeEach(async () => {
  at_ms = NOON_MS
  bench = await openTwilioBench({ now: () => new Date(at_ms) })
})
afterEach(() => bench.close())

const job = (more: Partial<SendJob> = {}) => jobOf({ created_at_ms: at_ms, ...more })

async function lookUp(...jobs: LookupJob[]): Promise<LookupResult[]> {
  const results = await bench.provider.lookup?.(jobs)
  if (!results) throw new Error('the provider has no look-up')
  return results
}

async function taken(one: SendJob): Promise<LookupJob> {
  const [outcome] = await bench.provider.send([one])
  if (outcome?.type !== 'accepted') throw new Error('the message was not accepted')
  return questionOf(one, { provider_message_id: outcome.provider_message_id })
}

function last() {
  const one = bench.peer.taken().at(-1)
  if (!one) throw new Error('the peer accepted no message')
  return one
}

describe('a look-up by the id', () => {
  it.each([
    ['queued', undefined, { status: 'sent', error_code: null }, false],
    ['sent', undefined, { status: 'sent' }, false],
    ['delivered', undefined, { status: 'delivered' }, true],
    ['read', undefined, { status: 'read' }, true],
    ['undelivered', 30_003, { status: 'failed', error_code: 'unreachable' }, true],
    ['failed', 21_610, { status: 'failed', suppress: 'opt_out' }, true],
    ['canceled', undefined, { status: 'failed', error_code: 'carrier_canceled' }, true],
  ])('finds that a message is %s', async (status, code, receipt, is_final) => {
    const question = await taken(job())
    bench.peer.advance(last(), { status, ...(code !== undefined && { code }) })
    const [result] = await lookUp(question)
    const { provider_message_id } = question
    expect(result).toMatchObject({
      type: 'found',
      receipts: [{ ...receipt, provider_message_id }],
      replies: [],
    })
    if (result?.type === 'found') expect(result.lookup_after_ms === null).toBe(is_final)
  })

  it('finds the duration of a call', async () => {
    const question = await taken(job({ channel: 'voice', content: { text: 'Hi' } }))
    expect(await lookUp(question)).toMatchObject([{ receipts: [{ status: 'sent' }] }])
    bench.peer.advance(last(), { status: 'completed', duration_s: 61 })
    expect(await lookUp(question)).toMatchObject([
      { receipts: [{ status: 'delivered', duration_s: 61 }], lookup_after_ms: null },
    ])
  })

  it('finds nothing only if Twilio itself does not know the message', async () => {
    const question = questionOf(job(), { provider_message_id: `SM${'9'.repeat(32)}` })
    expect(await lookUp(question)).toEqual([{ type: 'not_found' }])
    bench.peer.readsAnswer({ status: 404, body: '<html>Not found</html>' })
    expect(await lookUp(question)).toEqual([{ type: 'unavailable' }])
    bench.peer.readsAnswer({ status: 200, body: { sid: 'another', status: 'delivered' } })
    expect(await lookUp(question)).toEqual([{ type: 'unavailable' }])
    bench.peer.readsAnswer({ status: 500, body: {} })
    expect(await lookUp(question)).toEqual([{ type: 'unavailable' }])
  })

  it('is repeated after doubling waits, up to 48 hours', async () => {
    const question = await taken(job())
    const waits = []
    for (const passed_ms of [0, HOUR_MS / 2, 30 * HOUR_MS, 48 * HOUR_MS]) {
      const [result] = await lookUp({ ...question, now_ms: question.attempted_at_ms + passed_ms })
      waits.push(result?.type === 'found' ? result.lookup_after_ms : 'nothing')
    }
    expect(waits).toEqual([HOUR_MS / 12, HOUR_MS / 2, 2 * HOUR_MS, null])
  })
})

describe('a look-up without the id', () => {
  it.each<[string, Partial<SendJob>]>([
    ['an SMS', {}],
    ['an SMS through a service', { sender: SERVICE }],
    ['WhatsApp', { channel: 'whatsapp', content: { text: 'Hello' } }],
    ['a template', { channel: 'whatsapp', content: { template: { id: `HX${'c'.repeat(32)}` } } }],
    [
      'a medium',
      {
        channel: 'whatsapp',
        content: { media: { type: 'image', url: 'https://files.example/a.png' } },
      },
    ],
    ['a call', { channel: 'voice', content: { text: 'Hello' } }],
  ])('finds %s that waits in the queue', async (_, more) => {
    const one = job(more)
    bench.peer.plays(one.recipient, { type: 'drop' })
    expect(await bench.provider.send([one])).toMatchObject([{ type: 'ambiguous' }])
    expect(last().resource.date_sent ?? null).toBeNull()
    const { sid } = last().resource
    expect(await lookUp(questionOf(one))).toMatchObject([
      { type: 'found', receipts: [{ status: 'sent', provider_message_id: sid }] },
    ])
  })

  it.each<[string, Partial<SendJob>]>([
    ['another text', { content: { text: 'Something else' } }],
    ['another sender', { sender: SERVICE }],
    ['another recipient', { recipient: '+15550009999' }],
    ['another channel', { channel: 'whatsapp' }],
  ])('does not find a message with %s', async (_, more) => {
    const one = job()
    await taken({ ...one, ...more })
    const question = questionOf(one, { now_ms: at_ms + HOUR_MS })
    expect(await lookUp(question)).toEqual([{ type: 'not_found' }])
  })

  it('does not find a message that is older than the attempt', async () => {
    const one = job()
    await taken(one)
    at_ms += 6_000
    const question = questionOf(one, { attempted_at_ms: at_ms, now_ms: at_ms + HOUR_MS })
    expect(await lookUp(question)).toEqual([{ type: 'not_found' }])
    // Two clocks may differ by 5 s.
    const close = { attempted_at_ms: at_ms - 2_000, now_ms: at_ms + HOUR_MS }
    expect(await lookUp(questionOf(one, close))).toMatchObject([{ type: 'found' }])
  })

  it('finds one message for only one of two equal jobs', async () => {
    const one = job()
    const other = { ...one, message_id: '22222222-2222-4222-8222-222222222222' }
    await taken(one)
    const now_ms = at_ms + HOUR_MS
    const results = await lookUp(questionOf(one, { now_ms }), questionOf(other, { now_ms }))
    expect(results.map(({ type }) => type).sort()).toEqual(['found', 'not_found'])
  })

  it('finds nothing only after the longest lag of the list', async () => {
    const sent = [0, 179_000, 180_000].map((passed_ms) =>
      questionOf(job(), { now_ms: at_ms + passed_ms }),
    )
    expect((await lookUp(...sent)).map(({ type }) => type)).toEqual([
      'unavailable',
      'unavailable',
      'not_found',
    ])
  })

  it('ignores the prefix of a trial account', async () => {
    const one = job()
    await taken(one)
    last().resource.body = `Sent from your Twilio trial account - ${last().resource.body}`
    expect(await lookUp(questionOf(one))).toMatchObject([{ type: 'found' }])
  })

  it('reads every page', async () => {
    const one = job()
    await taken(one)
    const [{ form }] = [last()]
    const others = Array.from({ length: 1_100 }, () => new URLSearchParams(form))
    for (const other of others) {
      other.set('Body', 'Another')
      bench.peer.add('Messages', other)
    }
    expect(await lookUp(questionOf(one))).toMatchObject([{ type: 'found' }])
  })

  it('is unavailable if the list has more than 10 pages', async () => {
    const page = { messages: [], next_page_uri: below('/Messages.json?Page=1') }
    bench.peer.readsAnswer({ status: 200, body: page })
    const question = questionOf(job(), { now_ms: at_ms + HOUR_MS })
    expect(await lookUp(question)).toEqual([{ type: 'unavailable' }])
  })

  it.each([
    ['a page elsewhere', { messages: [], next_page_uri: 'https://evil.example/Messages.json' }],
    ['another account’s page', { messages: [], next_page_uri: '/2010-04-01/Accounts/AC1/x' }],
    ['an odd page', { messages: [], next_page_uri: 7 }],
    ['a page with an endless address', { messages: [], next_page_uri: `a${'/'.repeat(200_000)}b` }],
    ['no list', { messages: {} }],
    ['another list', { errors: [] }],
    ['an entry that cannot be read', { messages: [null] }],
    ['an error in a success', { code: 20_429, message: 'Too Many Requests' }],
    ['no JSON', '<html>'],
  ])('is unavailable after %s', async (_, body) => {
    bench.peer.readsAnswer({ status: 200, body })
    const question = questionOf(job(), { now_ms: at_ms + HOUR_MS })
    expect(await lookUp(question)).toEqual([{ type: 'unavailable' }])
  })

  it('ignores entries of a list that are not messages', async () => {
    bench.peer.readsAnswer({ status: 200, body: { messages: [7, 'x', {}, []] } })
    const question = questionOf(job(), { now_ms: at_ms + HOUR_MS })
    expect(await lookUp(question)).toEqual([{ type: 'not_found' }])
  })

  function below(path: string): string {
    return `/2010-04-01/Accounts/${bench.settings.account_sid}${path}`
  }
})
