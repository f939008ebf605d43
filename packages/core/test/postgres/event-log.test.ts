import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { only } from '../storage/bench.ts'
import { postgresBench } from './bench.ts'

const bench = postgresBench()

/** Another session on the same database. */
let other: pg.Client
beforeEach(async () => {
  other = await bench.connect()
})
afterEach(() => other?.end())

const begin = () => bench.storage.write(({ eventLog }) => eventLog.keep(true))
const kinds = async () =>
  (await bench.storage.read.eventLog.between({ after: 0, until: 1_000 }, undefined)).map(
    ({ event }) => event,
  )

describe('the first interest in events', () => {
  it('waits for a settlement in flight, and later settlements have their events', async () => {
    const workspaceId = await bench.workspace()
    const request = bench.make.send(workspaceId)
    const message = only(request.messages)
    await bench.accept(request)
    const claimed = only(await bench.claimMessages())
    await other.query('begin')
    // A settlement writes the counts last, and knows the state of the log by then.
    await other.query('lock table message_counts in share row exclusive mode')
    const ended: string[] = []
    const outcome = { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null } as const
    const settled = bench
      .settle(claimed, { task: 'send', attempt: 1, outcome })
      .then(() => ended.push('settlement'))
    await bench.untilSessionWaits()
    const begun = begin().then(() => ended.push('interest'))
    await bench.untilSessionWaits(2)
    await other.query('rollback')
    await Promise.all([settled, begun])
    expect(ended.sort()).toStrictEqual(['interest', 'settlement'])
    expect(await kinds()).toStrictEqual([])
    await bench.callback(message, 'delivered')
    expect(await kinds()).toStrictEqual(['message.delivered'])
  })

  it('ends with an error beside a transaction without end, and settlements continue', async () => {
    await other.query('begin')
    await other.query('select * from event_log_state')
    const begun = begin()
    begun.catch(() => {})
    await bench.untilSessionWaits()
    const workspaceId = await bench.workspace()
    await bench.accept(bench.make.send(workspaceId))
    const claimed = only(await bench.claimMessages())
    const outcome = { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null } as const
    await bench.settle(claimed, { task: 'send', attempt: 1, outcome })
    await expect(begun).rejects.toThrow('lock timeout')
    await other.query('rollback')
    expect(await begin()).toMatchObject({ is_kept: true })
  }, 30_000)
})
