import fc from 'fast-check'
import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import { postgresBench } from './bench.ts'

const bench = postgresBench()

/** Characters and words that have a meaning in JSON, in SQL or in PostgreSQL's texts of arrays and rows. */
const SIGNS = ['\\', '"', "'", '{', '}', '[', ']', '(', ')', ',', ':', ';', '$1', '%', '\\N', '--']
const WORDS = ['NULL', 'null', '\\u0041', '\n', '\r', '\t', '\u0001', '\u2028', ' ', 'é', '😀', 'a']
const hostile = fc
  .array(fc.constantFrom(...SIGNS, ...WORDS), { maxLength: 12 })
  .map((tokens) => tokens.join(''))
const time = fc.date({
  min: new Date('1999-12-31T23:59:59.999Z'),
  max: new Date('2999-01-01T00:00:00.001Z'),
  noInvalidDate: true,
})

const FIELDS = {
  api_key_id: fc.option(hostile),
  channel: fc.constantFrom('sms', 'email'),
  sender: fc.option(hostile),
  recipient: hostile,
  content: hostile.map((text) => ({ text })),
  metadata: fc.dictionary(hostile, hostile, { maxKeys: 3, noNullPrototype: true }),
  livemode: fc.boolean(),
  credits_used: fc.constantFrom(1, 1_000_000, 999_999_999).map(units),
  segments: fc.option(fc.integer({ min: 0, max: 2 ** 31 - 1 })),
  encoding: fc.option(fc.constantFrom('GSM-7', 'UCS-2')),
  created_at: time,
  scheduled_at: fc.option(time),
  expires_at: fc.option(time),
} satisfies { [Field in keyof MessageRow]?: fc.Arbitrary<MessageRow[Field]> }

/** The fields of a batch's messages, and those that all of its messages share. */
const batch = fc.record({
  messages: fc.array(fc.record(FIELDS), { minLength: 1, maxLength: 6 }),
  shared: fc.record(FIELDS, { requiredKeys: [] }),
})

it('rows are stored as they are, whatever their texts contain and whatever a batch shares', {
  timeout: 60_000,
}, async () => {
  const owner = await bench.connect()
  const workspaces = [await bench.workspace(1_000_000), await bench.workspace(1_000_000)]
  const entries = new Map<string, string | null>()
  const sample = fc.asyncProperty(batch, fc.boolean(), async ({ messages, shared }, alone) => {
    const requests = messages.map((fields, i) => {
      const workspaceId = workspaces[alone ? 0 : i % 2] as string
      const request = bench.make.send(workspaceId, { ...fields, ...shared })
      const { debit } = request
      if (!debit) throw new Error('a message costs credits')
      const description = shared.sender ?? fields.sender
      entries.set(debit.id, description)
      return { ...request, debit: { ...debit, description } }
    })
    for (const { outcome } of await bench.storage.hot.accept(requests)) {
      expect(outcome).toBe('accepted')
    }
    for (const message of requests.flatMap((request) => request.messages)) {
      const { id, workspace_id, channel, created_at, scheduled_at } = message
      expect(await bench.message(workspace_id, id)).toEqual(message)
      const { rows } = await owner.query(
        `select workspace_id, channel, task, token, attempt, unknown_since,
                (extract(epoch from due_at - set_at) * 1000)::float8 as wait_ms
         from message_queue where message_id = $1`,
        [id],
      )
      const wait_ms = Math.max(0, (scheduled_at ?? created_at).getTime() - created_at.getTime())
      const queued = { task: 'send', token: null, attempt: 0, unknown_since: null, wait_ms }
      expect(rows).toEqual([{ workspace_id, channel, ...queued }])
    }
  })
  await fc.assert(sample, { numRuns: 100 })
  const ledgers = await Promise.all(workspaces.map((id) => bench.ledger(id)))
  const sends = ledgers.flat().filter(({ kind }) => kind === 'send')
  expect(new Map(sends.map(({ id, description }) => [id, description]))).toEqual(entries)
  for (const id of workspaces) {
    let balance = 0
    for (const [i, entry] of (await bench.ledger(id)).entries()) {
      balance += entry.amount
      expect(entry).toMatchObject({ seq: i + 1, balance_after: balance })
    }
  }
})
