import { afterEach, describe, expect, test } from 'vitest'
import type { Received } from '../../../src/contract/outside/provider.ts'
import { type Bench, jobOf, openBench, until } from './bench.ts'
import type { Incoming } from './smsc-mo.ts'

let bench: Bench
afterEach(() => bench.close())

const FROM = '+14155550100'

describe('a receipt', () => {
  test.each([
    ['DELIVRD', { status: 'delivered', error_code: null, error_message: null }],
    ['ENROUTE', { status: 'sent' }],
    ['EXPIRED', { status: 'failed', error_code: 'expired' }],
    ['UNDELIV', { status: 'failed', error_code: 'undeliverable' }],
    ['REJECTD', { status: 'failed', error_code: 'rejected' }],
  ])('%s, by text and by TLV', async (state, receipt) => {
    bench = await openBench()
    await bench.send('Hi')
    for (const by of ['tlv', 'text', 'both'] as const) {
      expect(await bench.smsc.receipt('1', state, { by })).toEqual([0])
    }
    expect(bench.reports).toHaveLength(3)
    for (const report of bench.reports) {
      expect(report).toMatchObject({
        type: 'receipt',
        about: null,
        provider_message_id: '1',
        receipt: { provider_message_id: '1', ...receipt },
      })
    }
  })

  test('that comes twice is reported twice: the store ignores the second', async () => {
    bench = await openBench()
    await bench.send('Hi')
    expect(await bench.smsc.receipt('1', 'DELIVRD', { times: 2 })).toEqual([0, 0])
    expect(bench.reports).toHaveLength(2)
    expect(bench.reports[0]).toEqual(bench.reports[1])
  })

  test('that is intermediate is not final', async () => {
    bench = await openBench()
    await bench.send('Hi')
    await bench.smsc.receipt('1', 'UNDELIV', { intermediate: true })
    expect(bench.reports).toMatchObject([{ receipt: { status: 'sent' } }])
  })

  test.each([
    ['hex', 'decimal', 'decimal_to_hex'],
    ['upper_hex', 'padded', 'decimal_to_hex'],
    ['decimal', 'upper_hex', 'hex_to_decimal'],
    ['padded', 'hex', 'hex_to_decimal'],
    ['padded', 'decimal', 'fold'],
    ['upper_hex', 'hex', 'fold'],
  ] as const)(
    'with an id in %s, then in %s, matches with %s',
    async (answered, reported, id_form) => {
      bench = await openBench({
        smsc: { id_form: answered, first_id: 43_981 },
        settings: { id_form },
      })
      const outcome = await bench.send('Hi')
      const id = bench.smsc.accepted[0]?.id ?? ''
      for (const by of ['tlv', 'text', 'both'] as const) {
        await bench.smsc.receipt(id, 'DELIVRD', { by, id_form: reported })
      }
      expect(outcome.type).toBe('accepted')
      const known = outcome.type === 'accepted' ? outcome.provider_message_id : null
      expect(
        bench.reports.map((one) => 'provider_message_id' in one && one.provider_message_id),
      ).toEqual([known, known, known])
    },
  )

  test('without an id is acknowledged, and noted for operators', async () => {
    bench = await openBench()
    const fields = { esm_class: 4, short_message: Buffer.from('stat:DELIVRD'), data_coding: 0 }
    expect(await bench.smsc.deliver(fields)).toBe(0)
    expect(bench.reports).toEqual([])
    expect(bench.notes).toContainEqual({
      level: 'warn',
      text: 'SMPP delivery that cannot be stored',
      fields: {
        provider: 'carrier',
        bind: `svc@127.0.0.1:${bench.smsc.port}`,
        reason: 'a receipt without an id',
        count: 1,
      },
    })
    for (let i = 0; i < 20; i += 1) expect(await bench.smsc.deliver(fields)).toBe(0)
    expect(bench.notes.filter(({ level }) => level === 'warn')).toHaveLength(1)
  })
})

describe('acknowledgement', () => {
  test('comes after the report is stored', async () => {
    bench = await openBench()
    let finish = () => {}
    bench.storing(
      () =>
        new Promise((resolve) => {
          finish = resolve
        }),
    )
    await bench.send('Hi')
    const answered = bench.smsc.receipt('1')
    // The answers to everything sent before have arrived now.
    await bench.smsc.enquire()
    expect(bench.smsc.undelivered()).toBe(1)
    finish()
    expect(await answered).toEqual([0])
  })

  test('is a temporary refusal if the report could not be stored', async () => {
    bench = await openBench()
    bench.storing(async () => {
      throw new Error('no database')
    })
    await bench.send('Hi')
    expect(await bench.smsc.receipt('1')).toEqual([0x64])
    bench.storing(async () => {})
    expect(await bench.smsc.receipt('1')).toEqual([0])
    expect(bench.reports).toHaveLength(1)
  })

  test('comes for batches of reports that arrived during a store', async () => {
    bench = await openBench()
    await bench.provider.send(Array.from({ length: 50 }, () => jobOf('Hi')))
    let finish = () => {}
    let calls = 0
    bench.storing(() => {
      calls += 1
      if (calls > 1) return Promise.resolve()
      return new Promise((resolve) => {
        finish = resolve
      })
    })
    const ids = bench.smsc.accepted.map(({ id }) => id)
    const answers = ids.map((id) => bench.smsc.receipt(id))
    await bench.smsc.enquire()
    finish()
    expect((await Promise.all(answers)).flat()).toEqual(ids.map(() => 0))
    expect(calls).toBeLessThanOrEqual(2)
    const reported = bench.reports.map(
      (one) => 'provider_message_id' in one && one.provider_message_id,
    )
    expect(reported).toEqual(ids)
  })

  test('comes on the next connection if the first one ended', async () => {
    bench = await openBench()
    await bench.send('Hi')
    let stored = 0
    bench.storing(async () => {
      stored += 1
      if (stored === 1) bench.smsc.dropAll()
    })
    expect(await bench.smsc.receipt('1')).toEqual([0])
    expect(bench.reports).toHaveLength(2)
  })
})

describe('an incoming text', () => {
  function textsOf(reports: readonly unknown[]): Received[] {
    return (reports as Received[]).filter(({ type }) => type === 'received')
  }

  test.each(['Hello [€5] {x}', 'Привет 😀', 'STOP', 'a'.repeat(160), 'я'.repeat(70)])(
    'arrives: %j',
    async (text) => {
      bench = await openBench({ settings: { senders: ['12345', '+447700900999'] } })
      expect(await bench.smsc.mo({ from: FROM, to: '12345', text })).toEqual([0])
      await bench.smsc.mo({ from: FROM, to: '+447700900999', text })
      expect(bench.reports).toMatchObject([{ recipient: '12345' }, { recipient: '+447700900999' }])
      for (const report of bench.reports) {
        expect(report).toMatchObject({
          type: 'received',
          channel: 'sms',
          provider_message_id: null,
          sender: FROM,
          content: { text, media: [] },
        })
        expect(report).not.toHaveProperty('part')
      }
    },
  )

  test.each([
    ['with the prefix 00', {}, { source_addr: '00447911123456', source_addr_ton: 0 }],
    [
      'that is national',
      { default_country: 'gb' },
      { source_addr: '07911123456', source_addr_ton: 0 },
    ],
    [
      'with a national type',
      { default_country: 'GB' },
      { source_addr: '7911123456', source_addr_ton: 2 },
    ],
  ])('from an address %s has a number in E.164', async (_title, more, source) => {
    bench = await openBench({ settings: { senders: ['+447700900999'], ...more } })
    await bench.smsc.deliver({
      ...source,
      ...{ destination_addr: '00447700900999', dest_addr_ton: 0 },
      short_message: Buffer.from('STOP'),
    })
    expect(bench.reports).toMatchObject([
      { sender: '+447911123456', recipient: '+447700900999', content: { text: 'STOP' } },
    ])
  })

  const LONGS: [string, Partial<Incoming>][] = [
    ['with an 8-bit reference', { long: 'udh8' }],
    ['with a 16-bit reference', { long: 'udh16' }],
    ['with TLVs', { long: 'sar' }],
    ['the last part first', { is_reversed: true }],
    ['cut within characters', { cut_anywhere: true }],
  ]
  test.each(LONGS)('arrives in parts that make up the text: %s', async (_title, more) => {
    bench = await openBench()
    const text = 'Привет 😀😀😀'.repeat(20)
    await bench.smsc.mo({ from: FROM, to: '12345', text, reference: 200, ...more })
    const parts = textsOf(bench.reports)
    expect(parts.length).toBeGreaterThan(3)
    for (const { content, part } of parts) {
      expect(content).toEqual({ text: null, media: [] })
      expect(part).toMatchObject({ reference: 200, total: parts.length })
    }
    const units = parts
      .sort((a, b) => (a.part?.number ?? 0) - (b.part?.number ?? 0))
      .map(({ part }) => part?.units)
      .join('')
    expect(new TextDecoder('utf-16be', { fatal: true }).decode(Buffer.from(units, 'hex'))).toBe(
      text,
    )
  })

  test.each([
    ['a single shift', '03240101' + '1b671b691b49', 'ğıİ'],
    ['a locking shift', '03250101' + '0c0740', 'ğıİ'],
    ['both, of two languages', '06250103240102' + '7b1b41', 'ãÁ'],
    ['the last one of a repeated shift', '06240102240101' + '1b67', 'ğ'],
    ['a language that is not known', '0324010e' + '411b6742', 'A\ufffdB'],
    ['an empty shift', '022400' + '67', 'g'],
  ])('of a national language arrives: %s', async (_title, hex, text) => {
    bench = await openBench()
    await bench.smsc.deliver({
      ...{ source_addr: '14155550100', source_addr_ton: 1, destination_addr: '12345' },
      esm_class: 0x40,
      short_message: Buffer.from(hex, 'hex'),
    })
    expect(bench.reports).toMatchObject([{ content: { text } }])
  })

  test('of a national language arrives in parts', async () => {
    bench = await openBench()
    await bench.smsc.deliver({
      ...{ source_addr: '14155550100', source_addr_ton: 1, destination_addr: '12345' },
      esm_class: 0x40,
      short_message: Buffer.from('0800030702012401011b67', 'hex'),
    })
    expect(bench.reports).toMatchObject([{ part: { reference: 7, number: 1, units: '011f' } }])
  })

  test('arrives whole in message_payload', async () => {
    bench = await openBench()
    const text = 'Привет 😀'.repeat(50)
    await bench.smsc.mo({ from: FROM, to: '12345', text, long: 'payload' })
    expect(bench.reports).toMatchObject([{ content: { text } }])
  })

  test('has U+FFFD in place of characters that no database can store', async () => {
    bench = await openBench()
    await bench.smsc.deliver({
      ...{ source_addr: '14155550100', source_addr_ton: 1, destination_addr: '12345' },
      data_coding: 8,
      short_message: Buffer.from('00410000d83d', 'hex'),
    })
    expect(bench.reports).toMatchObject([{ content: { text: 'A\ufffd\ufffd' } }])
  })

  test('has U+FFFD in place of U+0000 in a part', async () => {
    bench = await openBench()
    await bench.smsc.deliver({
      ...{ source_addr: '14155550100', source_addr_ton: 1, destination_addr: '12345' },
      esm_class: 0x40,
      data_coding: 8,
      short_message: Buffer.from('05000307020100410000d83d', 'hex'),
    })
    expect(bench.reports).toMatchObject([{ part: { number: 1, units: '0041fffdd83d' } }])
  })

  test.each([
    [0xc0, '53544f50'],
    [0xd0, '53544f50'],
    [0xe0, '00530054004f0050'],
  ])('that announces waiting messages arrives: data_coding %i', async (data_coding, hex) => {
    bench = await openBench()
    await bench.smsc.deliver({
      ...{ source_addr: '14155550100', source_addr_ton: 1, destination_addr: '12345' },
      data_coding,
      short_message: Buffer.from(hex, 'hex'),
    })
    expect(bench.reports).toMatchObject([{ content: { text: 'STOP' } }])
  })

  test.each([
    ['binary', { data_coding: 4 }, 'a message that is not a text'],
    ['an acknowledgement by a phone', { esm_class: 0x08 }, 'neither a text nor a receipt'],
  ])('that is %s is acknowledged, and noted for operators', async (_title, fields, reason) => {
    bench = await openBench()
    const short_message = Buffer.from('canary-4711')
    expect(await bench.smsc.deliver({ short_message, ...fields })).toBe(0)
    expect(bench.reports).toEqual([])
    expect(bench.notes).toMatchObject([{}, { fields: { reason } }])
    expect(JSON.stringify(bench.notes)).not.toContain('canary')
  })

  test('with the TLV of a receipt is a receipt, whatever its class', async () => {
    bench = await openBench()
    await bench.send('Hi')
    await bench.smsc.deliver({
      esm_class: 0,
      short_message: Buffer.alloc(0),
      receipted_message_id: '1',
      message_state: 2,
    })
    await until(() => bench.reports.length > 0)
    expect(bench.reports).toMatchObject([
      { provider_message_id: '1', receipt: { status: 'delivered' } },
    ])
  })
})

describe('a data_sm', () => {
  const ENDS = { source_addr: '14155550100', source_addr_ton: 1, destination_addr: '12345' }
  const payload = (text: string) => ({ message_payload: Buffer.from(text, 'latin1') })

  test.each([
    ['its class, with a text', { esm_class: 4, ...payload('id:1 stat:DELIVRD err:000') }],
    ['its class, with TLVs', { esm_class: 4, receipted_message_id: '1', message_state: 2 }],
    ['TLVs alone', { esm_class: 0, receipted_message_id: '1', message_state: 2 }],
    ['the TLV of the state', { esm_class: 0, message_state: 2, ...payload('id:1 err:000') }],
  ])('is a receipt by %s', async (_title, fields) => {
    bench = await openBench()
    await bench.send('Hi')
    expect(await bench.smsc.deliver({ ...ENDS, ...fields }, 'data_sm')).toBe(0)
    expect(bench.reports).toMatchObject([
      { type: 'receipt', provider_message_id: '1', receipt: { status: 'delivered' } },
    ])
  })

  test.each([
    ['GSM 7', 0, Buffer.from('STOP', 'latin1'), 'STOP'],
    ['UCS-2', 8, Buffer.from('0421042204300420', 'hex'), '\u0421\u0422\u0430\u0420'],
  ])('is a message from a phone in %s', async (_title, data_coding, octets, text) => {
    bench = await openBench({ settings: { senders: ['12345'] } })
    const fields = { ...ENDS, data_coding, message_payload: octets }
    expect(await bench.smsc.deliver(fields, 'data_sm')).toBe(0)
    expect(bench.reports).toMatchObject([
      { type: 'received', sender: FROM, recipient: '12345', content: { text } },
    ])
  })

  test('with a header is a part', async () => {
    bench = await openBench()
    const message_payload = Buffer.from('\x05\x00\x03\x07\x02\x01ab', 'latin1')
    await bench.smsc.deliver({ ...ENDS, esm_class: 0x40, message_payload }, 'data_sm')
    expect(bench.reports).toMatchObject([
      { part: { reference: 7, total: 2, number: 1, units: '00610062' } },
    ])
  })

  test('without a text is an empty message', async () => {
    bench = await openBench()
    expect(await bench.smsc.deliver(ENDS, 'data_sm')).toBe(0)
    expect(bench.reports).toMatchObject([{ content: { text: '' } }])
  })

  test('gets a temporary refusal if the report could not be stored', async () => {
    bench = await openBench()
    bench.storing(async () => {
      throw new Error('no database')
    })
    expect(await bench.smsc.deliver({ ...ENDS, ...payload('Hi') }, 'data_sm')).toBe(0x64)
  })
})
