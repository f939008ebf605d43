import { beforeEach, describe, expect, it } from 'vitest'
import { testRuntime } from '../../test/fixtures.ts'
import type { KeyIdentity } from '../api-keys/api-keys.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import {
  createSequenceGuard,
  type FrozenWorkspace,
  type SequenceGuard,
} from './sequence-detector.ts'

const identity: KeyIdentity = {
  workspace_id: 'w',
  api_key_id: 'key',
  scopes: [],
  mode: 'live',
  daily_credit_limit: null,
}
const run = Array.from({ length: 4 }, (_, n) => `+88163000000${n}`)

let status: 'active' | 'frozen'
let reported: FrozenWorkspace[]
/** Each write waits for it. */
let commit: () => Promise<void>
let writes: number
let guard: SequenceGuard
beforeEach(() => {
  status = 'active'
  reported = []
  writes = 0
  commit = async () => {}
  const audit = { record: async () => {} }
  const credits = {
    lock: async () => ({ status }),
    async setTerms(_: string, terms: { status: 'frozen' }) {
      status = terms.status
      return true
    },
  }
  guard = createSequenceGuard({
    storage: {
      async write<T>(work: (stores: Writes) => Promise<T>): Promise<T> {
        writes += 1
        await commit()
        return work({ credits, audit } as unknown as Writes)
      },
    } as Storage,
    runtime: testRuntime('guard'),
    limit: { max: 3, window_s: 60 },
    onFrozen: (frozen) => reported.push(frozen),
  })
})

describe('a sequence guard', () => {
  it('delays requests of the workspace until it is frozen, and no others', async () => {
    let done = () => {}
    commit = () => new Promise((resolve) => (done = resolve))
    const order: string[] = []
    const checks = [
      guard.check(identity, 'sms', run).then(() => order.push('run')),
      guard.check(identity, 'sms', ['+14155552671']).then(() => order.push('same')),
    ]
    await guard.check({ ...identity, workspace_id: 'other' }, 'sms', ['+14155552671'])
    order.push('other')
    expect(order).toStrictEqual(['other'])
    done()
    await Promise.all(checks)
    expect(order).toStrictEqual(['other', 'run', 'same'])
    expect([writes, status]).toStrictEqual([1, 'frozen'])
    expect(reported).toStrictEqual([{ workspace_id: 'w', numbers: 4, window_s: 60 }])
  })

  it('throws if the freeze cannot be stored, and freezes at the next request', async () => {
    commit = () => Promise.reject(new Error('no database'))
    await expect(guard.check(identity, 'sms', run)).rejects.toThrow('no database')
    expect(reported).toHaveLength(0)
    commit = async () => {}
    await guard.check(identity, 'sms', run)
    expect(reported).toHaveLength(1)
  })

  it('does not report a workspace that was frozen before', async () => {
    status = 'frozen'
    await guard.check(identity, 'sms', run)
    expect([writes, reported]).toStrictEqual([1, []])
  })
})

it.each(['sms', 'whatsapp', 'voice'] as const)('counts numbers on all channels: %s', async (by) => {
  await guard.check(identity, 'sms', run.slice(0, 3))
  expect(reported).toHaveLength(0)
  await guard.check(identity, by, run.slice(3))
  expect(reported).toHaveLength(1)
})

it('does not check test keys and e-mail', async () => {
  await guard.check({ ...identity, mode: 'test' }, 'sms', run)
  await guard.check(identity, 'email', ['1@example.com', '2@example.com'])
  expect(writes).toBe(0)
})
