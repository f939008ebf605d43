import { describe, expect, it } from 'vitest'
import { retrying, type Try } from './transaction.ts'

const again = retrying({ random: () => 0, answer_max_ms: 10_000 })

/** A try that fails with these errors one after the other, and then returns its number. */
function failing(...faults: (object & { after_commit?: boolean })[]) {
  let tries = 0
  return async (fate: Try) => {
    const fault = faults[tries++]
    if (!fault) return tries
    fate.commit_sent = fault.after_commit === true
    throw Object.assign(new Error('failed'), fault)
  }
}

describe('work that failed', () => {
  it.each([
    ['a serialization failure', { code: '40001' }],
    ['a deadlock', { code: '40P01' }],
    ['a lock that was not given', { code: '55P03' }],
    ['the same at the commit', { code: '40001', after_commit: true }],
    ['a server that shuts down', { code: '57P01' }],
    ['a server whose socket is gone', { code: 'ENOENT' }],
    ['a server without room', { code: '53300' }],
    ['a transaction that took too long', { code: '25P04' }],
    ['a connection that is refused', { code: 'ECONNREFUSED' }],
    ['a connection that broke', { message: 'Connection terminated unexpectedly' }],
  ])('because of %s is done again', async (_, fault) => {
    expect(await again(failing(fault, fault))).toBe(3)
  })

  it.each<[string, { code?: string; message?: string; after_commit?: boolean }]>([
    ['a constraint', { code: '23505' }],
    ['a bug', { message: 'undefined is not a function' }],
    ['a connection that broke under the commit', { code: 'ECONNRESET', after_commit: true }],
    ['a server that shut down under the commit', { code: '57P01', after_commit: true }],
  ])('because of %s is not', async (_, fault) => {
    const attempt = failing(fault)
    await expect(again(attempt)).rejects.toThrow(fault.message ?? 'failed')
    expect(await attempt({ commit_sent: false, until: 0 })).toBe(2)
  })

  it.each([
    ['not done', { code: '57P01' }, 'not_done'],
    ['unknown', { code: '57P01', after_commit: true }, 'commit_unknown'],
  ])('because the database went away is %s', async (_, fault, code) => {
    const faults = Array.from({ length: 99 }, () => fault)
    await expect(again(failing(...faults))).rejects.toMatchObject({ name: 'DatabaseAway', code })
  })

  it('is given up when the time is up', async () => {
    const attempt = failing(...Array.from({ length: 99 }, () => ({ code: '40P01' })))
    let tries = 0
    const counted = (fate: Try) => {
      tries++
      return attempt(fate)
    }
    await expect(again(counted, 60)).rejects.toMatchObject({ code: '40P01' })
    // A pause takes about 20 ms or more, and a timer may end a little early. Without a limit of time there are 6 tries.
    expect(tries).toBeLessThan(6)
  })

  it('is given up after a few tries', async () => {
    const fault = { code: '40P01' }
    await expect(again(failing(...Array.from({ length: 99 }, () => fault)))).rejects.toMatchObject(
      fault,
    )
  })
})
