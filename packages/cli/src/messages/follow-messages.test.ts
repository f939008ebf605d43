import { Svc } from '@svc/client'
import { describe, expect, test } from 'vitest'
import { unreachable } from '../process/failure.ts'
import { type Change, createFollower, followMessages } from './follow-messages.ts'

const at = (second: number) => new Date(Date.UTC(2026, 4, 4, 9, 0, second)).toISOString()
const idOf = (n: number) => `01934f5e-8c00-7a3b-9d2e-${String(n).padStart(12, '0')}`

/** A message of the API; `n` gives its time. */
function message(n: number, fields: object = {}) {
  return {
    id: idOf(n),
    workspace_id: idOf(0),
    channel: 'sms',
    recipient: '+14155552671',
    content: { text: 'x' },
    status: 'queued',
    credits_used: 1,
    credits_refunded: 0,
    provider: null,
    provider_message_id: null,
    error_code: null,
    error_message: null,
    metadata: {},
    segments: 1,
    encoding: 'GSM-7',
    bulk_id: null,
    livemode: true,
    created_at: at(n % 60),
    updated_at: at(n % 60),
    scheduled_at: null,
    expires_at: null,
    sent_at: null,
    delivered_at: null,
    read_at: null,
    failed_at: null,
    erased_at: null,
    ...fields,
  }
}

/** A server with messages, newest last; each of `faults` replaces one answer. */
function server() {
  const messages: ReturnType<typeof message>[] = []
  const requests: string[] = []
  const faults: (() => Response)[] = []
  const answer = (data: object) => Response.json({ success: true, data })
  const client = new Svc({
    baseUrl: 'https://svc.test',
    apiKey: 'svc_k',
    maxRetries: 0,
    async fetch(input) {
      const url = new URL(String(input))
      requests.push(url.pathname)
      const fault = faults.shift()
      if (fault) return fault()
      const found = messages.find(({ id }) => url.pathname.endsWith(id))
      if (found) return answer({ message: found })
      const from = Number(url.searchParams.get('after') ?? 0)
      const limit = Number(url.searchParams.get('limit'))
      const page = messages.toReversed().slice(from, from + limit)
      const next_after = from + limit < messages.length ? String(from + limit) : null
      const pagination = { total: messages.length, page: 1, pages: 1, limit }
      return answer({ messages: page, pagination, next_after })
    },
  })
  return { client, messages, requests, faults }
}

const stepsOf = (changes: readonly Change[]) =>
  changes.map((change) => [change.message.id, change.status])
const never = new AbortController().signal

describe('a follower', () => {
  test('skips existing messages, and reports each later step once, in order', async () => {
    const { client, messages } = server()
    messages.push(message(1))
    const follower = createFollower(client, never)
    expect(await follower.poll()).toEqual([])
    messages.push(message(2, { status: 'delivered', sent_at: at(3), delivered_at: at(5) }))
    messages[0] = message(1, { status: 'sent', sent_at: at(4) })
    expect(stepsOf(await follower.poll())).toEqual([
      [idOf(2), 'queued'],
      [idOf(2), 'sent'],
      [idOf(1), 'sent'],
      [idOf(2), 'delivered'],
    ])
    expect(await follower.poll()).toEqual([])
  })

  test('reads pages until it finds a known message', async () => {
    const { client, messages, requests } = server()
    for (let n = 1; n <= 150; n++) messages.push(message(n))
    const follower = createFollower(client, never)
    await follower.poll()
    expect(requests).toHaveLength(1)
    const delivered = { status: 'delivered', delivered_at: at(59) }
    for (let n = 151; n <= 400; n++) messages.push(message(n, delivered))
    expect(new Set(stepsOf(await follower.poll()).map(([id]) => id)).size).toBe(250)
  })

  test('reports a gap when more messages came than one poll reads', async () => {
    const { client, messages } = server()
    messages.push(message(1))
    let gaps = 0
    const follower = createFollower(client, never, () => gaps++)
    await follower.poll()
    for (let n = 2; n <= 400; n++) messages.push(message(n))
    await follower.poll()
    expect(gaps).toBe(0)
    for (let n = 401; n <= 1_000; n++) messages.push(message(n))
    await follower.poll()
    expect(gaps).toBe(1)
  })

  test('still reads an unfinished message that is far down', async () => {
    const { client, messages } = server()
    messages.push(message(1))
    const follower = createFollower(client, never)
    await follower.poll()
    const delivered = { status: 'delivered', delivered_at: at(59) }
    for (let n = 2; n <= 202; n++) messages.push(message(n, delivered))
    await follower.poll()
    messages[0] = message(1, { status: 'failed', failed_at: at(30) })
    expect(stepsOf(await follower.poll())).toEqual([[idOf(1), 'failed']])
  })
})

describe('following', () => {
  test('continues after an outage and a rate limit, and reports the outage', async () => {
    const { client, messages, faults } = server()
    const stop = new AbortController()
    const log: string[] = []
    const outOfReach = () => {
      throw unreachable('gone')
    }
    await followMessages(createFollower(client, stop.signal), {
      interval_ms: 1,
      signal: stop.signal,
      onReady() {
        log.push('ready')
        const refusal = { success: false, error: 'rate_limit_exceeded', message: 'x' }
        const limited = () =>
          Response.json(refusal, { status: 429, headers: { 'retry-after': '0' } })
        // As nginx answers while the server behind it restarts.
        const proxied = () => new Response('<h1>502 Bad Gateway</h1>', { status: 502 })
        faults.push(outOfReach, proxied, outOfReach, limited)
        messages.push(message(1))
      },
      onChange({ status }) {
        log.push(status)
        stop.abort()
      },
      onOutage: (isOut) => log.push(isOut ? 'out' : 'back'),
    })
    expect(log).toEqual(['ready', 'out', 'back', 'queued'])
  })

  test.each([
    ['the first poll', [0]],
    ['a later refusal', [0, 1]],
  ])('ends with the error of %s', async (_, polls) => {
    const { client, faults } = server()
    const refusal = {
      success: false,
      error: 'unauthorized',
      message: 'API key has been deactivated',
    }
    const refuse = () => Response.json(refusal, { status: 401 })
    if (polls.length === 1) faults.push(refuse)
    const following = followMessages(createFollower(client, never), {
      interval_ms: 1,
      signal: never,
      onReady: () => void faults.push(refuse),
      onChange() {},
      onOutage() {},
    })
    await expect(following).rejects.toThrow('API key has been deactivated')
  })
})
