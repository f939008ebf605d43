import pg from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { SMS_PRICE } from '../fixtures.ts'
import { sentBy } from '../postgres-client.ts'
import { postgresBench } from './bench.ts'

const bench = postgresBench()

const WATCHED = ['assert_unsuppressed', 'insert_messages']

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

  it('of many messages is sent in slices, after its check, and one of few at once', async () => {
    const id = await bench.workspace(10_000)
    await bench.accept(bench.make.send(id))
    /** The statements of each sending to the database, as far as they check recipients and insert messages. */
    const sendingsOf = async (messages: number) => {
      const spy = vi.spyOn(pg.Client.prototype, 'query')
      try {
        expect(await bench.accept(bench.make.bulk(id, messages))).toEqual({ outcome: 'accepted' })
        return spy.mock.calls
          .map(([query]) => sentBy(query).map(({ statement }) => statement.name))
          .map((names) => names.filter((name) => WATCHED.includes(name)))
          .filter((names) => names.length > 0)
      } finally {
        spy.mockRestore()
      }
    }
    expect(await sendingsOf(3)).toEqual([['insert_messages', 'assert_unsuppressed'].sort()])
    const [first, ...others] = await sendingsOf(2_500)
    expect(first).toEqual(['assert_unsuppressed'])
    expect(others.flat()).toEqual(Array(3).fill('insert_messages'))
  })
})
