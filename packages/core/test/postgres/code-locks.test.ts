import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { only } from '../storage/bench.ts'
import { postgresBench } from './bench.ts'

const bench = postgresBench()

it('forgets the codes of an address without a deadlock with a settlement of its message', async () => {
  const id = await bench.workspace(units(10_000_000))
  const verification = bench.make.verification(id)
  const { recipient } = verification
  const send = bench.make.send(id, { recipient })
  await bench.storage.hot.accept([
    { ...send, code: { verification, resends: null, response: () => '' } },
  ])
  // A settlement of a failed message locks the message, and then the verification, whose next channel it makes due.
  const other = await bench.connect()
  await other.query('begin')
  await other.query('select 1 from messages where id = $1 for update', [only(send.messages).id])
  const forgotten = bench.storage.write(({ verifications }) =>
    verifications.forget(id, recipient, bench.clock.now()),
  )
  await bench.untilSessionWaits()
  await other.query('select 1 from verifications where id = $1 for update nowait', [
    verification.id,
  ])
  await other.query('commit')
  await other.end()
  expect(await forgotten).toBe(1)
  expect(await bench.storage.read.verifications.byId(id, verification.id)).toMatchObject({
    ...{ recipient: 'erased', status: 'canceled' },
  })
})
