import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { refusal } from './refusal.ts'
import { openWorld, useWorld } from './world.ts'

const world = useWorld({ dispatch: true })

const EVENTS = '/api/v1/events'

let owner: Account
let key: string
/** The position before the events of a test. */
let start: string
beforeEach(async () => {
  owner = await world().signup({ credits: 10 })
  key = (await world().key(owner, { scopes: ['send_messages', 'read_messages'] })).key
  start = (await list('')).body.data.next_after
})

const list = (query: string, options: object = { key }) =>
  world().call('GET', `${EVENTS}${query}`, options)
const names = ({ body }: Awaited<ReturnType<typeof list>>) =>
  body.data.events.map(({ event }: { event: string }) => event)

describe(`GET ${EVENTS}`, () => {
  it('200: the events behind a position, as webhooks get them, and the next position', async () => {
    const sent = await world().send(key, { to: '+15005550006' })
    const { message_id } = sent.body.data
    await world().dispatcher.idle()
    const { status, body } = await list(`?after=${start}`)
    expect(status).toBe(200)
    expect(body.data.events).toMatchObject([
      { event: 'message.sent', data: { message_id, status: 'sent', credits_used: 1 } },
      { event: 'message.delivered', data: { message_id, recipient: '+15005550006', sequence: 2 } },
    ])
    expect(Object.keys(body.data.events[0])).toEqual(['id', 'event', 'data', 'created_at'])
    const next = await list(`?after=${body.data.next_after}`)
    expect(next.body.data).toEqual({ events: [], next_after: body.data.next_after })
  })

  it('waits for the first event, and answers without one when the time is over', async () => {
    const waiting = list(`?after=${start}&wait=25`)
    await world().send(key, { to: '+15005550006' })
    expect(names(await waiting)[0]).toBe('message.sent')
    const { next_after } = (await list('')).body.data
    expect(names(await list(`?after=${next_after}&wait=1`))).toEqual([])
  })

  it('has neither events of other workspaces, nor live events for a test key', async () => {
    const stranger = await world().signup({ credits: 10 })
    const other = await world().key(stranger, { scopes: ['read_messages'] })
    const test = await world().key(owner, { mode: 'test' })
    await world().send(key, { to: '+15005550006' })
    await world().send(test.key, { to: '+15005550001' })
    await world().dispatcher.idle()
    expect(names(await list(`?after=${start}`, { key: other.key }))).toEqual([])
    expect(names(await list(`?after=${start}`, { key: test.key }))).toEqual(['message.failed'])
    expect(names(await list(`?after=${start}`, { token: owner.token }))).toHaveLength(3)
  })

  it('400: a position that is none, and one that the log does not have', async () => {
    for (const [query, message] of [
      ['?after=x', 'Invalid cursor'],
      ['?after=999999999', 'There is no such event: an older backup was restored'],
      [`?after=${start}&wait=26`, 'wait must be a whole number of seconds, 0 to 25'],
    ]) {
      expect((await list(`${query}`)).body.message).toBe(message)
    }
  })

  it('401: a key that was deactivated while its request waited gets no events', async () => {
    const { id, key: read } = await world().key(owner, { scopes: ['read_messages'] })
    const waiting = list(`?after=${start}&wait=25`, { key: read })
    // A later request has passed the checks that the waiting one passed.
    await list('', { key: read })
    await world().call('DELETE', `/api/v1/api-keys/${id}`, { token: owner.token })
    await world().send(key, { to: '+15005550006' })
    expect((await waiting).body).toEqual(refusal('unauthorized', 'API key has been deactivated'))
  })
})

describe('requests that wait', () => {
  let small: Awaited<ReturnType<typeof openWorld>>
  beforeAll(async () => {
    small = await openWorld()
  })

  it('are at most five of a key, and end when the service stops', async () => {
    const { key: read } = await small.key(await small.signup(), { scopes: ['read_messages'] })
    const ask = (query: string) => small.call('GET', `${EVENTS}${query}`, { key: read })
    const { next_after } = (await ask('')).body.data
    const answers: number[] = []
    const asked = Array.from({ length: 6 }, async () => {
      answers.push((await ask(`?after=${next_after}&wait=25`)).status)
    })
    await expect.poll(() => answers).toEqual([429])
    await small.app.close()
    await Promise.all(asked)
    await small.close()
    expect(answers).toEqual([429, 200, 200, 200, 200, 200])
  })
})
