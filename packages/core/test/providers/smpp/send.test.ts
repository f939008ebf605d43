import { afterEach, describe, expect, test } from 'vitest'
import { type Bench, BRIEF, bindTo, jobOf, openBench, openClient, sendOne, until } from './bench.ts'
import { startSmsc } from './smsc.ts'
import type { Behaviour } from './smsc-behaviour.ts'

let bench: Bench
afterEach(() => bench.close())

const LONG = 'abc €'.repeat(80)

describe('a message', () => {
  test('arrives unchanged', async () => {
    bench = await openBench()
    const outcome = await bench.send('Hello [€5]', { sender: 'SVC' })
    expect(outcome).toEqual({
      type: 'accepted',
      provider_message_id: '1',
      lookup_after_ms: null,
      part_ids: ['1'],
    })
    expect(bench.smsc.accepted).toMatchObject([
      {
        source: 'SVC',
        source_ton: 5,
        source_npi: 0,
        dest: '14155550100',
        dest_ton: 1,
        dest_npi: 1,
        esm_class: 0,
        data_coding: 0,
        registered_delivery: 1,
        validity_period: '',
        service_type: '',
        udh: null,
        text: 'Hello [€5]',
      },
    ])
  })

  test.each([
    ['+14155550199', { source: '14155550199', source_ton: 1, source_npi: 1 }],
    ['12345', { source: '12345', source_ton: 3, source_npi: 0 }],
  ])('has the sender %s', async (sender, expected) => {
    bench = await openBench()
    await bench.send('Hi', { sender })
    expect(bench.smsc.accepted).toMatchObject([expected])
  })

  test('has the fields of the settings', async () => {
    bench = await openBench({
      settings: { receipts: 'all', validity_hours: 49, service_type: 'CMT', alphabet: 'latin1' },
      smsc: { alphabet: 'latin1' },
    })
    await bench.send('Grüße')
    expect(bench.smsc.accepted).toMatchObject([
      {
        registered_delivery: 0x11,
        validity_period: '000002010000000R',
        service_type: 'CMT',
        text: 'Grüße',
      },
    ])
  })

  test.each([
    ['an impossible sender', 'Hi', { sender: 'Twelve chars' }, 'sender_invalid'],
    ['a recipient that is not a number', 'Hi', { recipient: 'you' }, 'invalid_recipient'],
    ['too many parts', 'a'.repeat(307), {}, 'too_many_parts'],
    ['no text', '', {}, 'invalid_content'],
  ])('is rejected unsent for %s', async (_title, text, more, error_code) => {
    bench = await openBench({ settings: { max_parts: 2 } })
    expect(await bench.send(text, more)).toMatchObject({ type: 'rejected', error_code })
    expect(bench.smsc.counts.submits).toBe(0)
  })
})

describe('a long text', () => {
  test('is joined by the phone, and has an id for each part', async () => {
    bench = await openBench()
    const outcome = await bench.send(LONG)
    expect(bench.smsc.messages).toMatchObject([{ text: LONG }])
    const ids = bench.smsc.accepted.map(({ id }) => id)
    expect(ids).toHaveLength(4)
    expect(outcome).toMatchObject({ provider_message_id: '1' })
    expect(outcome).toMatchObject({ part_ids: expect.arrayContaining(ids) })
    const numbers = bench.smsc.accepted.map(({ part }) => part?.number)
    expect(outcome).toMatchObject({ part_ids: numbers.map((_, i) => ids[numbers.indexOf(i + 1)]) })
  })

  test('is distinguished from another one to the same recipient', async () => {
    bench = await openBench()
    await bench.provider.send([jobOf(LONG), jobOf(LONG.toUpperCase())])
    expect(bench.smsc.messages.map(({ text }) => text).sort()).toEqual([LONG.toUpperCase(), LONG])
    expect(bench.smsc.incomplete()).toBe(0)
    const references = bench.smsc.accepted.map(({ part }) => part?.reference as number)
    expect(new Set(references).size).toBe(2)
    expect(Math.max(...references) - Math.min(...references)).toBe(1)
  })

  test.each([
    ['sar', 4],
    ['payload', 1],
  ] as const)('is sent by %s with that setting', async (long_text, count) => {
    bench = await openBench({ settings: { long_text } })
    expect(await bench.send(LONG)).toMatchObject({ type: 'accepted' })
    expect(bench.smsc.messages).toMatchObject([{ text: LONG }])
    expect(bench.smsc.accepted).toHaveLength(count)
  })

  test('ends after a refusal of its first part', async () => {
    bench = await openBench()
    bench.smsc.next({ type: 'reject', code: 0x0b })
    expect(await bench.send(LONG)).toMatchObject({ type: 'rejected' })
    expect(bench.smsc.counts.submits).toBe(1)
  })

  test('that was throttled in the middle is continued by the retry', async () => {
    bench = await openBench()
    const job = jobOf(LONG)
    bench.smsc.next({ type: 'respond_late', ms: 0 })
    bench.smsc.next('throttle', 2)
    expect(await sendOne(bench.provider, job)).toMatchObject({
      type: 'retry',
      error_code: 'rate_limited',
    })
    expect(bench.smsc.incomplete()).toBe(1)
    const outcome = await sendOne(bench.provider, { ...job, attempt: 2 })
    expect(bench.smsc.messages).toMatchObject([{ text: LONG }])
    expect(bench.smsc.incomplete()).toBe(0)
    // No part was sent twice: four, and the two refusals.
    expect(bench.smsc.counts.submits).toBe(6)
    const ids = bench.smsc.messages[0]?.parts.map(({ id }) => id)
    expect(outcome).toMatchObject({ type: 'accepted', part_ids: ids })
  })

  test('with a refused part is accepted, and reported as failed', async () => {
    bench = await openBench()
    bench.smsc.next({ type: 'respond_late', ms: 0 })
    bench.smsc.next({ type: 'reject', code: 0x45 })
    const job = jobOf(LONG)
    const outcome = await sendOne(bench.provider, job)
    const missing = `${job.message_id}.2`
    expect(outcome).toMatchObject({
      type: 'accepted',
      provider_message_id: '1',
      part_ids: ['1', missing, '2', '3'],
    })
    await until(() => bench.reports.length > 0)
    expect(bench.reports).toMatchObject([
      {
        type: 'receipt',
        about: null,
        provider_message_id: missing,
        receipt: { status: 'failed', provider_message_id: missing },
      },
    ])
  })
})

describe('the outcome of an answer', () => {
  test.each<[string, Behaviour, object]>([
    ['throttled', 'throttle', { type: 'retry', error_code: 'rate_limited', delay_ms: 1000 }],
    ['queue full', 'queue_full', { type: 'retry' }],
    ['system error', 'system_error', { type: 'retry' }],
    ['temporary', { type: 'reject', code: 0x64 }, { type: 'retry' }],
    ['a nack', 'nack', { type: 'rejected' }],
    ['a code of the settings', { type: 'reject', code: 0x400 }, { type: 'retry' }],
    ['the sender', { type: 'reject', code: 0x0a }, { type: 'retry', misconfigured: 'sender' }],
    ['the account', { type: 'reject', code: 0x0d }, { type: 'retry', misconfigured: 'provider' }],
    ['an unbind', 'unbind', { type: 'ambiguous' }],
    ['none, disconnected before', 'drop_before_read', { type: 'ambiguous' }],
    ['none, disconnected after', 'drop_after_read', { type: 'ambiguous' }],
    ['none', 'no_response', { type: 'ambiguous', error_code: 'no_answer' }],
  ])('%s', async (_title, behaviour, expected) => {
    bench = await openBench({
      settings: { errors: { '0x0400': 'retry' } },
      timing: behaviour === 'no_response' || behaviour === 'unbind' ? BRIEF : {},
    })
    bench.smsc.next(behaviour)
    expect(await bench.send('Hi')).toMatchObject(expected)
  })

  test('"not bound" is a retry after a new bind', async () => {
    bench = await openBench()
    bench.smsc.next({ type: 'reject', code: 0x04 }, 3)
    const outcomes = await bench.provider.send([jobOf('a'), jobOf('b'), jobOf('c')])
    expect(outcomes.map(({ type }) => type)).toEqual(['retry', 'retry', 'retry'])
    await bench.smsc.when(() => bench.smsc.counts.binds === 2)
    await bench.up()
    expect(await bench.send('d')).toMatchObject({ type: 'accepted' })
  })

  test('"throttled" stops the window', async () => {
    bench = await openBench({ settings: { window: 1 }, timing: { throttle_ms: 60_000, ...BRIEF } })
    bench.smsc.next('throttle')
    const outcomes = await bench.provider.send([jobOf('a'), jobOf('b')])
    expect(outcomes).toMatchObject([
      { type: 'retry', error_code: 'rate_limited' },
      { type: 'retry', error_code: 'provider_unavailable' },
    ])
    expect(bench.smsc.counts.submits).toBe(1)
    expect(bench.listening.states()).toMatchObject([{ state: 'up' }])
  })

  test('"throttled" delays the rest for the pause only', async () => {
    bench = await openBench({ settings: { window: 1 } })
    bench.smsc.next('throttle')
    const outcomes = await bench.provider.send([jobOf('a'), jobOf('b')])
    expect(outcomes.map(({ type }) => type)).toEqual(['retry', 'accepted'])
  })
})

describe('a late answer', () => {
  test('is reported: the SMSC has the message', async () => {
    bench = await openBench({ smsc: { id_form: 'upper_hex', first_id: 171 }, timing: BRIEF })
    bench.smsc.next('hold')
    const job = jobOf('Hi')
    expect(await sendOne(bench.provider, job)).toMatchObject({ type: 'ambiguous' })
    bench.smsc.release()
    await until(() => bench.reports.length > 0)
    const { workspace_id, message_id } = job
    expect(bench.reports).toEqual([
      {
        type: 'receipt',
        about: { workspace_id, message_id },
        provider_message_id: 'AB',
        receipt: {
          status: 'sent',
          provider_message_id: 'AB',
          part_ids: ['AB'],
          error_code: null,
          error_message: null,
        },
      },
    ])
  })

  test('of a long text is reported when all parts have answers', async () => {
    bench = await openBench({ timing: BRIEF })
    bench.smsc.next({ type: 'respond_late', ms: 0 })
    bench.smsc.next('hold', 3)
    expect(await bench.send(LONG)).toMatchObject({ type: 'ambiguous' })
    expect(bench.reports).toEqual([])
    bench.smsc.release()
    await until(() => bench.reports.length > 0)
    expect(bench.reports).toMatchObject([
      { receipt: { status: 'sent', provider_message_id: '1', part_ids: ['1', '2', '3', '4'] } },
    ])
  })

  test('to the first of several parts reports the unsent ones as failed', async () => {
    bench = await openBench({ timing: BRIEF })
    bench.smsc.next('hold')
    const job = jobOf(LONG)
    expect(await sendOne(bench.provider, job)).toMatchObject({ type: 'ambiguous' })
    bench.smsc.release()
    await until(() => bench.reports.length === 4)
    expect(bench.reports.map((one) => one.type === 'receipt' && one.receipt.status)).toEqual([
      'sent',
      'failed',
      'failed',
      'failed',
    ])
    expect(bench.smsc.counts.submits).toBe(1)
  })

  test('is reported again until it is stored', async () => {
    bench = await openBench({ timing: BRIEF })
    let refusals = 0
    bench.storing(async () => {
      refusals += 1
      if (refusals === 1) throw new Error('no database')
    })
    bench.smsc.next('hold')
    await bench.send('Hi')
    bench.smsc.release()
    await until(() => bench.reports.length > 0)
    expect(refusals).toBe(2)
  })

  test('does not delay the next message', async () => {
    bench = await openBench({ settings: { window: 1 }, timing: { ...BRIEF, send_ms: 15_000 } })
    bench.smsc.next('hold')
    await bench.send('a')
    expect(await bench.send('b')).toMatchObject({ type: 'accepted' })
    bench.smsc.release()
    await until(() => bench.reports.length > 0)
  })
})

describe('a receipt before the answer', () => {
  test('is reported by the id, which the answer then brings', async () => {
    bench = await openBench()
    bench.smsc.next({ type: 'early_receipt', state: 'DELIVRD' })
    const outcome = await bench.send('Hi')
    expect(outcome).toMatchObject({ type: 'accepted', provider_message_id: '1' })
    await until(() => bench.reports.length > 0)
    expect(bench.reports).toMatchObject([
      { about: null, provider_message_id: '1', receipt: { status: 'delivered' } },
    ])
  })
})

describe('the window', () => {
  test('is never exceeded, and every message is accepted', async () => {
    bench = await openBench({ settings: { window: 7 }, timing: { send_ms: 20_000 } })
    const outcomes = await bench.provider.send(
      Array.from({ length: 300 }, (_, i) => jobOf(`text ${i}`)),
    )
    expect(outcomes.every(({ type }) => type === 'accepted')).toBe(true)
    expect(bench.smsc.sessions()[0]?.most_open).toBeLessThanOrEqual(7)
    expect(bench.smsc.accepted.map(({ text }) => text)).toEqual(outcomes.map((_, i) => `text ${i}`))
    const ids = outcomes.map((one) => one.type === 'accepted' && one.provider_message_id)
    expect(ids).toEqual(bench.smsc.accepted.map(({ id }) => id))
    expect(new Set(bench.smsc.accepted.map(({ sequence }) => sequence)).size).toBe(300)
  })

  test('that stays full leaves the other messages unwritten: they are retries', async () => {
    bench = await openBench({ settings: { window: 2 }, timing: { ...BRIEF, send_ms: 1_800 } })
    bench.smsc.next('no_response', 2)
    bench.smsc.next('hold', Number.POSITIVE_INFINITY)
    const outcomes = await bench.provider.send(['a', 'b', 'c', 'd'].map((text) => jobOf(text)))
    expect(outcomes).toMatchObject([
      { type: 'ambiguous' },
      { type: 'ambiguous' },
      { type: 'retry', error_code: 'provider_unavailable', not_begun: true },
      { type: 'retry', error_code: 'provider_unavailable', not_begun: true },
    ])
    expect(bench.smsc.counts.submits).toBe(2)
  })
})

describe('several binds', () => {
  test('share the messages, and continue after the loss of one', async () => {
    const other = await startSmsc()
    const first = await startSmsc()
    const client = await openClient({
      binds: [{ ...bindTo(first), connections: 2 }, bindTo(other)],
      window: 5,
    })
    bench = { ...client, smsc: first }
    await client.up()
    expect(client.listening.states().map(({ name }) => name)).toEqual([
      `svc@127.0.0.1:${first.port}#1`,
      `svc@127.0.0.1:${first.port}#2`,
      `svc@127.0.0.1:${other.port}`,
    ])
    const some = () => client.provider.send(Array.from({ length: 30 }, () => jobOf('Hi')))
    await some()
    expect(first.accepted.length).toBeGreaterThan(10)
    expect(other.accepted.length).toBeGreaterThan(5)
    expect(first.sessions().every(({ most_open }) => most_open > 0)).toBe(true)
    await first.down()
    await until(() => client.listening.states()[0]?.state !== 'up')
    await until(() => client.listening.states()[1]?.state !== 'up')
    const before = other.accepted.length
    expect((await some()).every(({ type }) => type === 'accepted')).toBe(true)
    expect(other.accepted.length).toBe(before + 30)
    // Before the next attempt to connect, the reason is only that the connection was closed.
    await expect.poll(() => client.provider.check?.()).toContain('ECONNREFUSED')
    await client.close()
    await other.close()
  })
})

describe('two binds', () => {
  test('get messages by their outstanding PDUs', async () => {
    const [first, other] = [await startSmsc(), await startSmsc()]
    for (const smsc of [first, other]) smsc.next('hold', Number.POSITIVE_INFINITY)
    const client = await openClient({ binds: [bindTo(first), bindTo(other)], window: 5 })
    bench = { ...client, smsc: first }
    await client.up()
    const sending = client.provider.send(Array.from({ length: 6 }, () => jobOf('Hi')))
    await first.when(() => first.counts.submits === 3)
    await other.when(() => other.counts.submits === 3)
    for (const smsc of [first, other]) smsc.release()
    expect((await sending).every(({ type }) => type === 'accepted')).toBe(true)
    await client.close()
    await Promise.all([first.close(), other.close()])
  })
})

describe('a provider without a connection', () => {
  test('writes nothing before it listens', async () => {
    bench = await openBench()
    const { createSmpp } = await import('../../../src/providers/smpp/smpp.ts')
    const { settings } = await import('../../../src/providers/smpp/settings.ts')
    const provider = createSmpp(
      settings.parse({ type: 'smpp', name: 'idle', binds: [bindTo(bench.smsc)] }),
    )
    expect(await sendOne(provider, jobOf('Hi'))).toEqual({
      type: 'retry',
      error_code: 'not_connected',
      error_message: 'smpp: No connection to the SMSC is up',
      delay_ms: null,
    })
    expect(bench.smsc.sessions()).toHaveLength(1)
  })

  test('writes nothing after it was closed', async () => {
    bench = await openBench()
    await bench.close()
    expect(await bench.send('Hi')).toMatchObject({ type: 'retry', error_code: 'not_connected' })
  })
})
