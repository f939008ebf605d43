import pg from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { SMS_PRICE } from '../fixtures.ts'
import { sentBy } from '../postgres-client.ts'
import { postgresBench } from './bench.ts'

const bench = postgresBench()

describe('a batch', () => {
  it('with one faulty request accepts the others', async () => {
    const id = await bench.workspace(1_000)
    const booked = bench.make.send(id)
    await bench.accept(booked)
    const requests = Array.from({ length: 500 }, (_, i) =>
      i === 250 ? booked : bench.make.send(id),
    )
    const answers = await Promise.allSettled(requests.map((request) => bench.accept(request)))
    const failed = answers.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []))
    expect(failed).toEqual([250])
    expect(await bench.account(id)).toMatchObject({ balance: 500 * SMS_PRICE, seq: 501 })
  })

  it('of long e-mails is written in several pieces, and whole', { timeout: 60_000 }, async () => {
    const id = await bench.workspace(0)
    const html = 'a long "text"\n'.repeat(70_000)
    // Each has an object of its own: what all rows share is sent once.
    const { messages } = bench.make.bulk(id, 30, { channel: 'email' })
    for (const message of messages) message.content = { subject: 'Long', html }
    await bench.accept({ ...bench.make.request(messages), debit: null })
    expect(await bench.storage.read.messages.count(id, {})).toBe(30)
    const last = messages.at(-1)?.id ?? ''
    expect((await bench.message(id, last)).content).toEqual({ subject: 'Long', html })
  })

  it('of many messages is sent in several turns of the event loop, and one of few in one', async () => {
    const id = await bench.workspace(10_000)
    await bench.accept(bench.make.send(id))
    /** How often the checks and the messages of an accept were sent to the database. */
    const sendingsOf = async (messages: number) => {
      const spy = vi.spyOn(pg.Client.prototype, 'query')
      try {
        expect(await bench.accept(bench.make.bulk(id, messages))).toEqual({ outcome: 'accepted' })
        const names = spy.mock.calls.map(([query]) =>
          sentBy(query).map(({ statement }) => statement.name),
        )
        return names.filter((sent) =>
          ['assert_unsuppressed', 'insert_messages'].some((name) => sent.includes(name)),
        ).length
      } finally {
        spy.mockRestore()
      }
    }
    expect(await sendingsOf(3)).toBe(1)
    expect(await sendingsOf(2_500)).toBeGreaterThan(1)
  })
})
