import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { ExportBound } from '@svc/core'
import { LIMITS, type Scope } from '@svc/core/contract'
import Fastify from 'fastify'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { answerFailure } from '../src/failures.ts'
import { createExports } from '../src/routes/exports.ts'
import type { Account } from './accounts.ts'
import { useWorld } from './world.ts'

const world = useWorld({ dispatch: true })

let owner: Account
let key: string
let stranger: Account
let strangersKey: string
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  stranger = await world().signup({ credits: 1_000 })
  const scopes: Scope[] = ['send_messages', 'read_messages', 'manage_contacts']
  key = (await world().key(owner, { scopes })).key
  strangersKey = (await world().key(stranger, { scopes })).key
  for (let i = 0; i < 450; i += 50) {
    const recipients = Array.from(
      { length: 50 },
      (_, j) => `+2557000${String(i + j).padStart(5, '0')}`,
    )
    const json = { channel: 'sms', content: { text: `n${i}` }, recipients }
    expect((await world().call('POST', '/api/v1/messages/bulk', { key, json })).status).toBe(201)
  }
  await world().advance(1_000)
})

const csv = async (path: string, options: object = { key }) => {
  const { status, headers, text } = await world().call('GET', path, options)
  expect([status, headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8'])
  const [header = '', ...rows] = text.trimEnd().split('\r\n')
  return { header: header.split(','), rows: rows.map((row) => row.split(',')), text, headers }
}
const send = (text: string, more: object = {}) =>
  world().call('POST', '/api/v1/messages/send', {
    key,
    json: { channel: 'sms', to: '+255710000001', content: { text }, ...more },
  })

const MESSAGES = '/api/v1/messages/export'

describe(`GET ${MESSAGES}`, () => {
  it('gives each message once, newest first, over many pages', async () => {
    const { header, rows, headers } = await csv(`${MESSAGES}?format=csv`)
    expect(headers['content-disposition']).toBe('attachment; filename="messages.csv"')
    expect(header.slice(0, 6)).toEqual([
      ...['id', 'created_at', 'channel', 'status', 'recipient', 'sender'],
    ])
    const ids = rows.map(([id = '']) => id)
    expect(ids).toHaveLength(450)
    expect(ids).toEqual([...new Set(ids)].toSorted().toReversed())
    expect(new Set(rows.map((row) => row[3]))).toEqual(new Set(['delivered']))
  })

  it('continues after a row, and keeps the filters of the list', async () => {
    const all = (await csv(`${MESSAGES}?format=csv`)).rows.map(([id]) => id)
    const first = await csv(`${MESSAGES}?format=csv&limit=250`)
    expect(first.rows.map(([id]) => id)).toEqual(all.slice(0, 250))
    const next = await csv(`${MESSAGES}?format=csv&limit=250&after=${first.rows.at(-1)?.[0]}`)
    expect(next.rows.map(([id]) => id)).toEqual(all.slice(250))
    const one = await csv(`${MESSAGES}?format=csv&recipient=%2B255700000007`)
    expect(one.rows.map((row) => row[4])).toEqual(['+255700000007'])
    expect((await csv(`${MESSAGES}?format=csv&status=failed`)).rows).toEqual([])
  })

  it('gives JSON with the position that continues', async () => {
    const { body } = await world().call('GET', `${MESSAGES}?limit=300`, { key })
    const { messages, next_after } = body.data
    expect(messages).toHaveLength(300)
    expect(messages[0].content).toEqual({ text: 'n400' })
    expect(next_after).toBe(messages.at(-1).id)
    const rest = await world().call('GET', `${MESSAGES}?after=${next_after}`, { key })
    expect(rest.body.data.messages).toHaveLength(150)
    expect(rest.body.data.next_after).toBeNull()
  })

  it('gives nothing of another workspace', async () => {
    const { rows } = await csv(`${MESSAGES}?format=csv`, { key: strangersKey })
    expect(rows).toEqual([])
  })

  it('writes no cell that a spreadsheet runs as a formula, and quotes line breaks', async () => {
    for (const text of ['=1+1', '+x', '-x', '@x', '\tx', 'a "b"\r\nc,d']) {
      expect((await send(text)).status).toBe(201)
    }
    const { text } = await csv(`${MESSAGES}?format=csv&recipient=%2B255710000001`)
    for (const cell of ["'=1+1", "'+x", "'-x", "'@x", "'\tx", '"a ""b""\r\nc,d"']) {
      expect(text).toContain(`,${cell},`)
    }
    // A phone number stays as it is.
    expect(text).toContain(',+255710000001,')
  })

  it('returns 400 for a limit out of range', async () => {
    for (const limit of ['0', '1000001', 'x']) {
      expect((await world().call('GET', `${MESSAGES}?limit=${limit}`, { key })).status).toBe(400)
    }
  })
})

describe('GET /api/v1/billing/transactions/export', () => {
  const path = '/api/v1/billing/transactions/export'

  it('gives each change of the balance once, whose sum is the balance', async () => {
    const { token } = owner
    const { header, rows } = await csv(`${path}?format=csv`, { token })
    const at = (name: string) => header.indexOf(name)
    const balance = (await world().call('GET', '/api/v1/balance', { token })).body.data
    const sum = rows.reduce((total, row) => total + Number(row[at('credits')]), 0)
    expect(sum).toBeCloseTo(balance.credits_balance ?? balance.credits, 6)
    expect(rows.map((row) => Number(row[at('number')]))).toEqual(
      Array.from({ length: rows.length }, (_, i) => rows.length - i),
    )
    const part = await csv(`${path}?format=csv&limit=3&after=${rows[1]?.[at('number')]}`, { token })
    expect(part.rows).toEqual(rows.slice(2, 5))
    const { body } = await world().call('GET', `${path}?limit=2`, { token })
    expect(body.data.next_after).toBe(rows[1]?.[at('number')])
    const funding = await csv(`${path}?format=csv&only=funding`, { token })
    expect(funding.rows).toEqual(rows.filter((row) => row[at('type')] === 'grant'))
    expect(funding.rows.length).toBeLessThan(rows.length)
    expect((await world().call('GET', `${path}?only=sends`, { token })).status).toBe(400)
    expect((await csv(`${path}?format=csv`, { token: stranger.token })).rows).toHaveLength(1)
  })
})

describe('GET /api/v1/contacts/export', () => {
  it('has a limit and continues', async () => {
    const contacts = Array.from({ length: 5 }, (_, i) => ({ phone: `+25571234000${i}` }))
    await world().call('POST', '/api/v1/contacts/import', { key, json: { contacts } })
    const path = '/api/v1/contacts/export'
    const first = (await world().call('GET', `${path}?limit=2`, { key })).body.data
    expect([first.contacts.length, first.next_after]).toEqual([2, first.contacts[1].id])
    const rest = (await world().call('GET', `${path}?after=${first.next_after}`, { key })).body.data
    expect([rest.contacts.length, rest.next_after]).toEqual([3, null])
  })
})

describe('exports of one process', () => {
  const closers: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
  })

  /** A service with exports of these pages. */
  async function serve(pagesOf: () => AsyncIterable<string[]>, format: 'json' | 'csv' = 'csv') {
    const exportRows = createExports()
    const app = Fastify()
    app.setErrorHandler(answerFailure)
    app.get('/:workspace', (request, reply) =>
      exportRows<string>({
        ...{ reply, workspace_id: (request.params as { workspace: string }).workspace },
        ...{ format, name: 'x', limit: 1_000, header: 'x\r\n' },
        pages: pagesOf(),
        csv: (rows) => rows.join(''),
        json: (row) => row,
        positionOf: () => '',
      }),
    )
    await app.listen({ host: '127.0.0.1', port: 0 })
    closers.push(() => app.close())
    return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  }

  /** A service with an export that has no end. */
  async function endless(rows: string[] = ['x'.repeat(100_000)], format?: 'json') {
    const read: number[] = []
    let ended = 0
    async function* pages(at: number) {
      try {
        for (;;) {
          read[at] = (read[at] ?? 0) + 1
          yield rows
          await turn()
        }
      } finally {
        ended += 1
      }
    }
    const url = await serve(() => pages(read.push(0) - 1), format)
    const open = (workspace: string) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        get(`${url}/${workspace}`, { agent: false }, resolve).on('error', reject)
      })
    return { url, open, read, ended: () => ended }
  }

  it('reads no further than a slow client, and ends when the client leaves', async () => {
    const { open, read, ended } = await endless()
    const answer = await open('a')
    let before = -1
    await expect
      .poll(() => {
        const isSame = before === read[0]
        before = read[0] as number
        return isSame
      })
      .toBe(true)
    // 100 MB would be read by now without a bound.
    expect(read[0]).toBeLessThan(1_000)
    expect(ended()).toBe(0)
    answer.destroy()
    await expect.poll(ended).toBe(1)
  })

  it.each(['csv', 'json'] as const)(
    'ends as %s when the client leaves before a row was found',
    async (format) => {
      const { url, read, ended } = await endless([], format === 'json' ? format : undefined)
      const request = get(`${url}/a`, { agent: false }).on('error', () => {})
      await expect.poll(() => read[0] ?? 0).toBeGreaterThan(3)
      expect(ended()).toBe(0)
      request.destroy()
      await expect.poll(ended).toBe(1)
    },
  )

  it('sends something of a JSON while no row is found', async () => {
    const { open } = await endless([], 'json')
    const answer = await open('a')
    let text = ''
    for await (const piece of answer.setEncoding('utf8')) {
      text += piece
      if (text.endsWith('   ')) break
    }
    expect(text.trimEnd()).toBe('{"success":true,"data":{"x":[')
  })

  describe('of a filter that selects few of many messages', () => {
    const AFTER = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
    const pagesOf = (...pages: string[][]) =>
      async function* () {
        yield* pages
        throw new ExportBound(AFTER)
      }

    it('end as JSON with the position that continues', async () => {
      const url = await serve(pagesOf([], ['a', 'b'], [], [], ['c'], []), 'json')
      const answer = await fetch(`${url}/a`)
      expect([answer.status, await answer.json()]).toEqual([
        200,
        { success: true, data: { x: ['a', 'b', 'c'], next_after: AFTER } },
      ])
    })

    it('are refused as CSV with the position before the first row', async () => {
      const answer = await fetch(`${await serve(pagesOf([], []))}/a`)
      const { message, ...body } = (await answer.json()) as { message: string }
      expect([answer.status, body]).toMatchObject([400, { error: 'validation_error' }])
      expect(message).toContain(`after=${AFTER}`)
    })

    it('end as CSV with a closed connection after a row, so that no file looks complete', async () => {
      const answer = await fetch(`${await serve(pagesOf([], ['a\r\n']))}/a`)
      expect(answer.status).toBe(200)
      await expect(answer.text()).rejects.toThrow('terminated')
    })
  })

  it('refuses a third export of a workspace until one ends', async () => {
    const { open, ended } = await endless()
    const [first, second] = [await open('a'), await open('a')]
    const third = await open('a')
    expect([first.statusCode, second.statusCode, third.statusCode]).toEqual([200, 200, 429])
    expect(third.headers['retry-after']).toBe('5')
    third.resume()
    const other = await open('b')
    expect(other.statusCode).toBe(200)
    first.destroy()
    await expect.poll(ended).toBe(1)
    const again = await open('a')
    expect(again.statusCode).toBe(200)
    for (const one of [second, other, again]) one.destroy()
    await expect.poll(ended).toBe(4)
  })

  it('refuses more exports of all workspaces together than the bound', async () => {
    const { open, ended } = await endless()
    const opened: IncomingMessage[] = []
    for (let i = 0; i < LIMITS.exports; i++) opened.push(await open(`w${i}`))
    expect(opened.map(({ statusCode }) => statusCode)).toEqual(opened.map(() => 200))
    const more = await open('more')
    expect(more.statusCode).toBe(429)
    more.resume()
    for (const one of opened) one.destroy()
    await expect.poll(ended).toBe(LIMITS.exports)
  })
})
