import { describe, expect, it } from 'vitest'
import { retrying, type Try } from './transaction.ts'

const again = retrying({ random: () => 0 })

/** A try that fails with these errors one after the other, and then gives its number. */
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
    await expect(again(failing(fault))).rejects.toMatchObject({
      message: fault.message ?? 'failed',
    })
  })

  it('is given up after a few tries', async () => {
    const fault = { code: '40P01' }
    await expect(again(failing(...Array.from({ length: 99 }, () => fault)))).rejects.toMatchObject(
      fault,
    )
  })
})
