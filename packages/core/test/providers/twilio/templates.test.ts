import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTwilioBench, type TwilioBench } from './bench.ts'

const sidOf = (n: number) => `HX${n.toString(16).padStart(32, '0')}`
const approved = (status: string, more: object = {}) => ({ status, name: 'order', ...more })

let bench: TwilioBench
beforeEach(async () => {
  const content_sids = { 'order_ready:en': sidOf(1), order_ready: sidOf(2), lost: sidOf(9) }
  bench = await openTwilioBench({ settings: { content_sids } })
})
afterEach(() => bench.close())

describe('the templates of an account', () => {
  it('have the states of their approvals, under their ids and the names of the settings', async () => {
    bench.peer.hasContents([
      { sid: sidOf(1), language: 'en', approval: approved('approved', { rejection_reason: '' }) },
      { sid: sidOf(2), language: 'de', approval: approved('pending') },
      {
        sid: sidOf(3),
        language: 'sw',
        approval: approved('rejected', { rejection_reason: 'SPAM' }),
      },
      { sid: sidOf(4), language: 'en', approval: null },
    ])
    const one = { name: sidOf(1), language: 'en' }
    const two = { name: sidOf(2), language: 'de' }
    expect(await bench.provider.templates?.()).toEqual({
      type: 'listed',
      templates: [
        { ...one, status: 'approved', is_approved: true },
        { ...two, status: 'pending', is_approved: false, is_pending: true },
        ...[
          {
            name: sidOf(3),
            language: 'sw',
            status: 'rejected',
            is_approved: false,
            reason: 'SPAM',
          },
        ],
        { name: sidOf(4), language: 'en', status: 'unsubmitted', is_approved: false },
      ],
      ids: {},
      aliases: {
        ...{ [sidOf(1)]: one, [sidOf(2)]: two },
        [sidOf(3)]: { name: sidOf(3), language: 'sw' },
        [sidOf(4)]: { name: sidOf(4), language: 'en' },
        ...{ 'order_ready:en': one, order_ready: two },
      },
      advice: expect.stringContaining('check_approvals: false'),
    })
  })

  it('are read to the last page, from the configured address', async () => {
    const approval = approved('approved')
    const all = Array.from({ length: 450 }, (_, i) => ({ sid: sidOf(i), language: 'en', approval }))
    bench.peer.hasContents(all)
    const found = await bench.provider.templates?.()
    expect(found?.type === 'listed' && found.templates.map(({ name }) => name)).toEqual(
      all.map(({ sid }) => sid),
    )
  })

  it.each<[string, { status: number; body: unknown }, string]>([
    ['an error', { status: 401, body: { code: 20003, message: 'Authenticate' } }, '20003'],
    [
      '403, for a key without the right',
      { status: 403, body: { code: 70051 } },
      'lack the permission',
    ],
    ['404', { status: 404, body: null }, 'HTTP 404'],
    ['an answer of another server', { status: 200, body: { contents: {} } }, 'not Twilio'],
    ['a template that is no object', { status: 200, body: { contents: [null] } }, 'not Twilio'],
  ])('are not known after %s', async (_, answer, reason) => {
    bench.peer.readsAnswer(answer)
    expect(await bench.provider.templates?.()).toEqual({
      type: 'unavailable',
      reason: expect.stringContaining(reason),
    })
  })

  it('are not known without an answer in time', async () => {
    const other = await openTwilioBench({ deadline_ms: 100 })
    other.peer.readsAnswer('never')
    expect(await other.provider.templates?.()).toMatchObject({ type: 'unavailable' })
    await other.close()
  })

  it('are not read if the settings say so', async () => {
    const other = await openTwilioBench({ settings: { check_approvals: false } })
    expect(other.provider.templates).toBeUndefined()
    await other.close()
  })
})
