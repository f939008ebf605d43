import { describe, expect, it } from 'vitest'
import { type Message, Svc, type SvcError, TimeoutError } from '../src/index.ts'
import { ID, refusal, type Step, usePeer } from './peer.ts'

const peer = usePeer()
const client = (baseUrl: string) => new Svc({ apiKey: 'svc_k', baseUrl, maxRetries: 0 })

async function arrayOf<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of source) items.push(item)
  return items
}

const page = (ids: string[], next_after: string | null): Step => ({
  status: 200,
  body: { success: true, data: { messages: ids.map((id) => ({ id })), next_after } },
})

describe('a list', () => {
  it('gives its first page when awaited', async () => {
    const { url, seen } = await peer(page(['a', 'b'], 'b'))
    const { messages, next_after } = await client(url).messages.list({ page: 2, limit: 2 })
    expect([messages.map(({ id }) => id), next_after]).toEqual([['a', 'b'], 'b'])
    expect(seen.map(({ url }) => url)).toEqual(['/api/v1/messages?page=2&limit=2'])
  })

  it('gives every item in a loop, after the last item of each page', async () => {
    const { url, seen } = await peer(page(['a', 'b'], 'b'), page(['c', 'd'], 'd'), page([], null))
    const ids: string[] = []
    const list = client(url).messages.list({ page: 1, limit: 2, status: 'failed' })
    for await (const { id } of list) ids.push(id)
    expect(ids).toEqual(['a', 'b', 'c', 'd'])
    expect(seen.map(({ url }) => url.split('?')[1])).toEqual([
      'page=1&limit=2&status=failed',
      'limit=2&status=failed&after=b',
      'limit=2&status=failed&after=d',
    ])
  })

  it('sends nothing before it is used, and requests a page only when it is needed', async () => {
    const { url, seen } = await peer(page(['a', 'b'], 'b'))
    const list = client(url).messages.list()
    expect(seen).toHaveLength(0)
    for await (const _ of list) break
    expect(seen).toHaveLength(1)
  })

  it('ends at a position that repeats', async () => {
    const { url, seen } = await peer(page(['a'], 'a'))
    for await (const _ of client(url).messages.list());
    expect(seen).toHaveLength(2)
  })
})

describe('messages.wait', () => {
  const message = (status: string): Step => ({
    status: 200,
    body: { success: true, data: { message: { id: ID, status } } },
  })

  it('returns the message at its status, at a later one, or failed', async () => {
    const first = await peer(message('queued'), message('sent'), message('delivered'))
    expect((await client(first.url).messages.wait(ID)).status).toBe('delivered')
    expect(first.seen).toHaveLength(3)
    const later = await peer(message('read'))
    expect((await client(later.url).messages.wait(ID, { until: 'sent' })).status).toBe('read')
    const failed = await peer(message('failed'))
    const until = () => false
    expect((await client(failed.url).messages.wait(ID, { until })).status).toBe('failed')
  })

  it('takes a condition', async () => {
    const { url } = await peer(message('queued'), message('sent'))
    const until = ({ status }: Message) => status !== 'queued'
    expect((await client(url).messages.wait(ID, { until })).status).toBe('sent')
  })

  it('throws a TimeoutError when the time is up', async () => {
    const { url } = await peer(message('sent'))
    const wait = client(url).messages.wait(ID, { timeout: 300 })
    await expect(wait).rejects.toBeInstanceOf(TimeoutError)
    await expect(wait).rejects.toThrow(`message ${ID} is still sent after 0.3 s`)
  })

  it('waits out a rate limit', async () => {
    const busy = { ...refusal(429, 'rate_limit_exceeded', 'No'), headers: { 'retry-after': '0' } }
    const { url } = await peer(busy, message('delivered'))
    expect((await client(url).messages.wait(ID)).status).toBe('delivered')
  })
})

describe('bulks.sendAll', () => {
  const sent: Step = { status: 201, body: { success: true, data: { bulk_id: ID } } }
  const sms = { channel: 'sms', content: { text: 'Hi {{name}}' } } as const
  const numbers = Array.from({ length: 5 }, (_, n) => `+1415555010${n}`)

  it('sends chunks one after the other, with keys that a repeated run has too', async () => {
    const { url, seen } = await peer(sent)
    const run = () =>
      client(url).bulks.sendAll(
        { ...sms, recipients: numbers },
        { chunkSize: 2, idempotencyKey: 'may' },
      )
    const chunks = await arrayOf(run())
    expect(chunks.map(({ offset, count, error }) => [offset, count, error])).toEqual([
      [0, 2, null],
      [2, 2, null],
      [4, 1, null],
    ])
    expect(seen.map(({ headers, body }) => [headers['idempotency-key'], JSON.parse(body)])).toEqual(
      [
        ['may-0', { ...sms, recipients: numbers.slice(0, 2) }],
        ['may-2', { ...sms, recipients: numbers.slice(2, 4) }],
        ['may-4', { ...sms, recipients: numbers.slice(4) }],
      ],
    )
  })

  it('splits by the size of a request too, and reads any source of recipients', async () => {
    const { url, seen } = await peer(sent)
    const name = 'x'.repeat(1_000_000)
    async function* people() {
      for (const to of numbers) yield { to, variables: { name } }
    }
    const chunks = await arrayOf(client(url).bulks.sendAll({ ...sms, recipients: people() }))
    expect(chunks.map(({ count }) => count)).toEqual([4, 1])
    expect(Math.max(...seen.map(({ body }) => Buffer.byteLength(body)))).toBeLessThan(
      4 * 1024 * 1024,
    )
  })

  it('continues after faulty recipients and ends at another error', async () => {
    const faulty = refusal(400, 'validation_error', 'No')
    const { url, seen } = await peer(faulty, sent, refusal(402, 'insufficient_credits', 'No'))
    const options = { chunkSize: 1, maxRetries: 0 }
    const run = client(url).bulks.sendAll({ ...sms, recipients: numbers }, options)
    const results: (SvcError['code'] | null)[] = []
    for await (const { bulk, error } of run) results.push(bulk ? null : error.code)
    expect(results).toEqual(['validation_error', null, 'insufficient_credits'])
    expect(seen).toHaveLength(3)
  })
})
