import { beforeEach, describe, expect, it } from 'vitest'
import { testRuntime } from '../../test/fixtures.ts'
import type { KeyIdentity } from '../api-keys/api-keys.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import { createSequenceGuard, type Frozen, type SequenceGuard } from './sequence-guard.ts'

const identity: KeyIdentity = {
  workspace_id: 'w',
  api_key_id: 'key',
  scopes: [],
  mode: 'live',
  daily_credit_limit: null,
}
const run = Array.from({ length: 4 }, (_, n) => `+88163000000${n}`)

let status: 'active' | 'frozen'
let told: Frozen[]
/** What each write waits for before it is done. */
let commit: () => Promise<void>
let writes: number
let guard: SequenceGuard
beforeEach(() => {
  status = 'active'
  told = []
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
    onFrozen: (frozen) => told.push(frozen),
  })
})

describe('a run that is too long', () => {
  it('lets nobody of the workspace on before the freeze is done, and others at once', async () => {
    let done = () => {}
    commit = () => new Promise((resolve) => (done = resolve))
    const order: string[] = []
    const asked = [
      guard.look(identity, 'sms', run).then(() => order.push('run')),
      guard.look(identity, 'sms', ['+14155552671']).then(() => order.push('same')),
    ]
    await guard.look({ ...identity, workspace_id: 'other' }, 'sms', ['+14155552671'])
    order.push('other')
    expect(order).toStrictEqual(['other'])
    done()
    await Promise.all(asked)
    expect(order).toStrictEqual(['other', 'run', 'same'])
    expect([writes, status]).toStrictEqual([1, 'frozen'])
    expect(told).toStrictEqual([{ workspace_id: 'w', numbers: 4, window_s: 60 }])
  })

  it('that could not be written is refused, and found again when it is asked again', async () => {
    commit = () => Promise.reject(new Error('no database'))
    await expect(guard.look(identity, 'sms', run)).rejects.toThrow('no database')
    expect(told).toHaveLength(0)
    commit = async () => {}
    await guard.look(identity, 'sms', run)
    expect(told).toHaveLength(1)
  })

  it('is told of once, and not where the workspace was frozen before', async () => {
    status = 'frozen'
    await guard.look(identity, 'sms', run)
    expect([writes, told]).toStrictEqual([1, []])
  })
})

it.each(['sms', 'whatsapp', 'voice'] as const)('counts numbers on all channels: %s', async (by) => {
  await guard.look(identity, 'sms', run.slice(0, 3))
  expect(told).toHaveLength(0)
  await guard.look(identity, by, run.slice(3))
  expect(told).toHaveLength(1)
})

it('leaves test keys and e-mail alone', async () => {
  await guard.look({ ...identity, mode: 'test' }, 'sms', run)
  await guard.look(identity, 'email', ['1@example.com', '2@example.com'])
  expect(writes).toBe(0)
})
