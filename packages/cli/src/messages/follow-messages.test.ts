import { Svc } from '@svc/client'
import { describe, expect, test } from 'vitest'
import { unreachable } from '../process/failure.ts'
import { type Change, createFollower, followMessages } from './follow-messages.ts'

const idOf = (n: number) => `01934f5e-8c00-7a3b-9d2e-${String(n).padStart(12, '0')}`
const at = (second: number) => new Date(Date.UTC(2026, 4, 4, 9, 0, second)).toISOString()

/** What a record and an event say about a message. */
const fields = {
  channel: 'sms',
  recipient: '+14155552671',
  credits_used: 1,
  metadata: {},
  bulk_id: null,
  livemode: true,
  provider_message_id: null,
  error_code: null,
  error_message: null,
}

/** A server with queued messages and events; each of `faults` replaces one answer. */
function server() {
  const messages: { id: string; status: string }[] = []
  const events: object[] = []
  const requests: string[] = []
  const faults: (() => Response)[] = []
  const answer = (data: object) => Response.json({ success: true, data })
  const client = new Svc({
    baseUrl: 'https://svc.test',
    apiKey: 'svc_k',
    maxRetries: 0,
    async fetch(input) {
      const { pathname, searchParams } = new URL(String(input))
      requests.push(`${pathname}?${searchParams}`.replace('/api/v1', ''))
      const fault = faults.shift()
      if (fault) return fault()
      if (pathname.endsWith('/events')) {
        const after = searchParams.get('after')
        const found = after === null ? [] : events.slice(Number(after))
        return answer({ events: found, next_after: String(events.length) })
      }
      const limit = Number(searchParams.get('limit'))
      const page = messages.map((one) => ({ ...fields, ...one })).toReversed()
      const pagination = { total: messages.length, page: 1, pages: 1, limit }
      return answer({ messages: page.slice(0, limit), pagination, next_after: null })
    },
  })
  const happen = (n: number, status: string, second: number) =>
    events.push({
      id: idOf(n),
      event: `message.${status}`,
      data: { ...fields, message_id: idOf(n), status, occurred_at: at(second) },
      created_at: at(second),
    })
  return { client, messages, requests, faults, happen }
}

const stepsOf = (changes: readonly Change[]) =>
  changes.map((change) => [change.message.id, change.status])
const never = new AbortController().signal

describe('a follower', () => {
  test('begins at the present, and reports each later step once, in order', async () => {
    const { client, messages, happen } = server()
    messages.push({ id: idOf(1), status: 'queued' })
    happen(1, 'sent', 1)
    const follower = createFollower(client, never)
    expect(await follower.next()).toEqual([])
    happen(2, 'sent', 3)
    happen(1, 'failed', 4)
    happen(2, 'delivered', 5)
    const changes = await follower.next()
    expect(stepsOf(changes)).toEqual([
      [idOf(2), 'queued'],
      [idOf(2), 'sent'],
      [idOf(1), 'failed'],
      [idOf(2), 'delivered'],
    ])
    // The id has the time of the acceptance.
    expect(changes[0]?.at.toISOString()).toBe('2024-11-21T15:36:56.576Z')
    expect(changes[3]?.at.toISOString()).toBe(at(5))
    expect(await follower.next()).toEqual([])
  })

  test('waits on the server: one request while nothing happens, and a look at the queue every ten seconds', async () => {
    const { client, messages, requests } = server()
    let now_ms = 0
    const follower = createFollower(
      client,
      never,
      () => {},
      () => now_ms,
    )
    await follower.next()
    requests.length = 0
    await follower.next()
    messages.push({ id: idOf(7), status: 'queued' })
    now_ms = 10_000
    expect(stepsOf(await follower.next())).toEqual([[idOf(7), 'queued']])
    await follower.next()
    expect(requests).toEqual([
      '/events?after=0&wait=10',
      '/messages?status=queued&limit=100',
      '/events?after=0&wait=10',
    ])
  })

  test('begins again and reports a gap when the server has no events behind its position', async () => {
    const { client, faults, happen } = server()
    let gaps = 0
    const follower = createFollower(client, never, () => gaps++)
    await follower.next()
    const details = [{ path: 'after', message: 'x' }]
    const refusal = { success: false, error: 'validation_error', message: 'x', details }
    faults.push(() => Response.json(refusal, { status: 400 }))
    expect(await follower.next()).toEqual([])
    expect(gaps).toBe(1)
    await follower.next()
    happen(3, 'sent', 1)
    expect(stepsOf(await follower.next())).toEqual([
      [idOf(3), 'queued'],
      [idOf(3), 'sent'],
    ])
  })
})

describe('following', () => {
  test('continues after an outage and a rate limit, and reports the outage', async () => {
    const { client, happen, faults } = server()
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
        happen(1, 'sent', 1)
      },
      onChange({ status }) {
        log.push(status)
        if (status === 'sent') stop.abort()
      },
      onOutage: (isOut) => log.push(isOut ? 'out' : 'back'),
    })
    expect(log).toEqual(['ready', 'out', 'back', 'queued', 'sent'])
  })

  test.each([
    ['the first request', [0]],
    ['a later refusal', [0, 1]],
  ])('ends with the error of %s', async (_, requests) => {
    const { client, faults } = server()
    const refusal = {
      success: false,
      error: 'unauthorized',
      message: 'API key has been deactivated',
    }
    const refuse = () => Response.json(refusal, { status: 401 })
    if (requests.length === 1) faults.push(refuse)
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
