import { once } from 'node:events'
import smpp, { type Pdu, type Session } from 'smpp'
import { afterEach, describe, expect, it } from 'vitest'
import { type Smsc, type SmscOptions, startSmsc } from './smsc.ts'
import { STATUS } from './smsc-status.ts'

// The client is npm `smpp`, with octets as bodies: it does what Kannel does not, and the failures that tests set.

let smsc: Smsc
const clients: Session[] = []

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy()
  await smsc.close()
})

async function start(options?: SmscOptions) {
  smsc = await startSmsc(options)
  return client()
}

async function client() {
  const session = smpp.connect({ host: '127.0.0.1', port: smsc.port })
  clients.push(session)
  session.on('error', () => {})
  const closed = once(session, 'close')
  await once(session, 'connect')
  const request = (command: string, fields: Record<string, unknown> = {}) =>
    new Promise<Pdu>((resolve) => session.send(new smpp.PDU(command, fields), resolve))
  return {
    session,
    closed,
    request,
    bind: (fields: Record<string, unknown> = {}) =>
      request('bind_transceiver', { system_id: 'svc', password: 'secret', ...fields }),
    submit: (fields: Record<string, unknown> = {}) =>
      request('submit_sm', {
        source_addr: '12345',
        source_addr_ton: 3,
        destination_addr: '255700000001',
        dest_addr_ton: 1,
        data_coding: 0,
        registered_delivery: 1,
        short_message: Buffer.from('hello'),
        ...fields,
      }),
    /** The further deliveries, each answered at once. */
    deliveries(command_status = 0) {
      const come: Pdu[] = []
      session.on('deliver_sm', (pdu: Pdu) => {
        come.push(pdu)
        session.send(pdu.response({ command_status }))
      })
      return come
    },
  }
}

describe('a bind to the test SMSC', () => {
  it('is checked', async () => {
    const { bind } = await start()
    expect(await bind({ system_id: 'other' })).toMatchObject({ command_status: 0x0f })
    expect(await bind({ password: 'wrong' })).toMatchObject({ command_status: 0x0e })
    expect(await bind()).toMatchObject({ command_status: 0, sc_interface_version: 0x34 })
    expect(await bind()).toMatchObject({ command_status: STATUS.already_bound })
    expect(smsc.counts).toMatchObject({ binds: 1, refused_binds: 3 })
  })

  it('is necessary for a submit_sm, and not as a receiver', async () => {
    const { request, submit } = await start()
    expect(await submit()).toMatchObject({ command_status: STATUS.invalid_bind_status })
    await request('bind_receiver', { system_id: 'svc', password: 'secret' })
    expect(await submit()).toMatchObject({ command_status: STATUS.invalid_bind_status })
    expect(smsc.accepted).toEqual([])
  })

  it.each([
    ['password', 0x0e],
    ['system_id', 0x0f],
    ['already_bound', 0x05],
    ['bind_failed', 0x0d],
  ] as const)('is refused as the test sets: %s', async (behaviour, status) => {
    const { bind } = await start()
    smsc.nextBind(behaviour)
    expect(await bind()).toMatchObject({ command_status: status })
    expect(await bind()).toMatchObject({ command_status: 0 })
  })

  it('is not necessary for the nack of an unknown command', async () => {
    const { session } = await start()
    const nack = once(session, 'generic_nack')
    session.socket.write(Buffer.from('00000010000000ff0000000000000007', 'hex'))
    expect((await nack)[0]).toMatchObject({ command_status: 0x03, sequence_number: 7 })
  })
})

describe('a submit_sm to the test SMSC', () => {
  it('is kept as it was on the wire', async () => {
    const { bind, submit } = await start()
    await bind()
    const octets = Buffer.from('1b65205000', 'hex')
    const { message_id } = await submit({
      short_message: octets,
      validity_period: '000001000000000R',
    })
    expect(message_id).toBe('1')
    expect(smsc.accepted).toMatchObject([
      { id: '1', octets, text: '€ P@', validity_period: '000001000000000R', is_answered: true },
    ])
  })

  it.each([
    ['a plus sign', { destination_addr: '+255700000001' }, STATUS.invalid_destination],
    ['letters', { source_addr: 'Acme' }, STATUS.invalid_source],
    ['12 letters', { source_addr: 'AcmeAcmeAcme', source_addr_ton: 5 }, STATUS.invalid_source],
    ['161 septets', { short_message: Buffer.alloc(161, 0x61) }, STATUS.invalid_message_length],
    [
      '71 characters of UCS-2',
      { short_message: Buffer.alloc(142), data_coding: 8 },
      STATUS.invalid_message_length,
    ],
    [
      'half a character',
      { short_message: Buffer.alloc(3), data_coding: 8 },
      STATUS.invalid_message_length,
    ],
    ['nothing', { short_message: Buffer.alloc(0) }, STATUS.invalid_message_length],
    [
      'a header that is longer than the message',
      { esm_class: 0x40, short_message: Buffer.from([9, 0, 3]) },
      STATUS.invalid_esm_class,
    ],
    [
      'a header whose element is longer',
      { esm_class: 0x40, short_message: Buffer.from([3, 0, 3, 1]) },
      STATUS.invalid_esm_class,
    ],
    ['two texts', { message_payload: Buffer.from('too') }, STATUS.invalid_message_length],
  ])('is refused if no phone could receive it: %s', async (_, fields, status) => {
    const { bind, submit } = await start()
    await bind()
    expect(await submit(fields)).toMatchObject({ command_status: status })
    expect(smsc.accepted).toEqual([])
  })

  it.each([
    ['udh8', (n: number) => ({ esm_class: 0x40, header: [5, 0, 3, 7, 2, n] })],
    ['udh16', (n: number) => ({ esm_class: 0x40, header: [6, 8, 4, 0, 7, 2, n] })],
    ['sar', (n: number) => ({ sar_msg_ref_num: 7, sar_total_segments: 2, sar_segment_seqnum: n })],
  ] as const)('is joined to a text, by %s, in any order of the parts', async (by, placeOf) => {
    const { bind, submit } = await start()
    await bind()
    for (const [number, text] of [
      [2, 'world'],
      [2, 'World'],
      [1, 'hello '],
    ] as const) {
      const { header = [], ...fields } = { header: [] as number[], ...placeOf(number) }
      await submit({ ...fields, short_message: Buffer.from([...header, ...Buffer.from(text)]) })
      expect(smsc.incomplete()).toBe(number === 1 ? 0 : 1)
    }
    expect(smsc.messages).toMatchObject([
      { from: '12345', to: '255700000001', text: 'hello World' },
    ])
    expect(smsc.accepted[0]?.part).toEqual({ by, reference: 7, total: 2, number: 2 })
  })

  it('shows half of a character as U+FFFD', async () => {
    const { bind, submit } = await start()
    await bind()
    const octets = Buffer.from('😀', 'utf16le').swap16()
    for (const number of [1, 2]) {
      const half = octets.subarray(number * 2 - 2, number * 2)
      const short_message = Buffer.concat([Buffer.from([5, 0, 3, 1, 2, number]), half])
      await submit({ esm_class: 0x40, data_coding: 8, short_message })
    }
    expect(smsc.messages[0]?.text).toBe('\ufffd\ufffd')
  })

  it('may have its text in message_payload', async () => {
    const { bind, submit } = await start()
    await bind()
    const message_payload = Buffer.from('long '.repeat(100))
    await submit({ short_message: Buffer.alloc(0), message_payload })
    expect(smsc.messages[0]).toMatchObject({ text: 'long '.repeat(100) })
    expect(smsc.accepted[0]).toMatchObject({ is_payload: true })
  })
})

describe('a behaviour of the test SMSC', () => {
  it.each([
    ['throttle', 0x58],
    ['system_error', 0x08],
    ['queue_full', 0x14],
    [{ type: 'reject', code: 0x45 }, 0x45],
  ] as const)('refuses: %j', async (behaviour, status) => {
    const { bind, submit } = await start()
    await bind()
    smsc.next(behaviour, 2)
    expect(await submit()).toMatchObject({ command_status: status })
    expect(await submit()).toMatchObject({ command_status: status })
    expect(smsc.accepted).toEqual([])
    expect(await submit()).toMatchObject({ command_status: 0 })
  })

  it.each([
    ['drop_after_read', 1],
    ['drop_before_read', 0],
  ] as const)('%s breaks the connection', async (behaviour, accepted) => {
    const { bind, submit, closed } = await start()
    await bind()
    smsc.next(behaviour)
    void submit()
    await closed
    expect(smsc.accepted.map(({ is_answered }) => is_answered)).toEqual(Array(accepted).fill(false))
  })

  it('accepts without an answer, or holds the answer', async () => {
    const { bind, submit } = await start()
    await bind()
    smsc.next('no_response')
    smsc.next('hold', 2)
    void submit()
    const held = [submit(), submit()]
    await smsc.when(() => smsc.accepted.length === 3)
    expect(smsc.sessions()[0]).toMatchObject({ most_open: 3 })
    smsc.release()
    expect((await Promise.all(held)).map(({ message_id }) => message_id)).toEqual(['2', '3'])
    expect(smsc.accepted.map(({ is_answered }) => is_answered)).toEqual([false, true, true])
  })

  it('answers with a nack', async () => {
    const { bind, submit } = await start()
    await bind()
    smsc.next('nack')
    expect(await submit()).toMatchObject({ command: 'generic_nack', command_status: 0x02 })
  })

  it('unbinds', async () => {
    const { session, bind, submit, closed } = await start()
    await bind()
    smsc.next('unbind')
    session.on('unbind', (pdu: Pdu) => session.send(pdu.response()))
    void submit()
    await closed
    expect(smsc.accepted).toEqual([])
  })
})

describe('a receipt of the test SMSC', () => {
  it('has the id and the state in the set places', async () => {
    const { bind, submit, deliveries } = await start({ id_form: 'hex', first_id: 0xab })
    await bind()
    const come = deliveries()
    const { message_id: id } = await submit()
    expect(id).toBe('ab')
    await smsc.receipt('ab', 'DELIVRD', { by: 'tlv', id_form: 'decimal' })
    await smsc.receipt('ab', 'UNDELIV', { by: 'text', error: '011', times: 2 })
    await smsc.receipt('ab', 'ENROUTE', { intermediate: true, format: 'Id: {id} Stat: {state}' })
    const texts = come.map((pdu) => String(pdu.short_message))
    expect(come.map((pdu) => pdu.esm_class)).toEqual([4, 4, 4, 0x20])
    expect(come[0]).toMatchObject({ receipted_message_id: '171', message_state: 2 })
    expect(texts[0]).toBe('')
    expect(come[1]).not.toHaveProperty('receipted_message_id')
    expect(texts[1]).toMatch(
      /^id:ab sub:001 dlvrd:000 submit date:\d{10} done date:\d{10} stat:UNDELIV err:011 text:hello$/,
    )
    expect(texts[2]).toBe(texts[1])
    expect(texts[3]).toBe('Id: ab Stat: ENROUTE')
    expect(come[3]).toMatchObject({ source_addr: '255700000001', destination_addr: '12345' })
  })

  it('may come before the answer', async () => {
    const { session, bind, submit, deliveries } = await start()
    await bind()
    deliveries()
    const order: string[] = []
    session.on('pdu', ({ command }: Pdu) => order.push(command))
    smsc.next({ type: 'early_receipt', state: 'DELIVRD' })
    await submit()
    expect(order).toEqual(['deliver_sm', 'submit_sm_resp'])
  })

  it('resolves with the status of the client', async () => {
    const { bind, submit, deliveries } = await start()
    await bind()
    deliveries(0x64)
    await submit()
    expect(await smsc.receipt('1')).toEqual([0x64])
  })

  it('waits for a bind, and is repeated if it was not answered', async () => {
    const first = await start()
    await first.bind()
    await first.submit()
    const answered = smsc.receipt('1')
    await once(first.session, 'deliver_sm')
    first.session.destroy()
    await smsc.when(() => smsc.sessions().length === 0)
    expect(smsc.undelivered()).toBe(1)
    const second = await client()
    const come = second.deliveries()
    await second.bind()
    expect(await answered).toEqual([0])
    expect(come).toMatchObject([{ receipted_message_id: '1' }])
  })
})

describe('a text from a phone', () => {
  it.each([
    ['udh8', 153, { esm_class: 0x40 }, '05000309020'],
    ['udh16', 152, { esm_class: 0x40 }, '0608040009020'],
    ['sar', 153, { esm_class: 0, sar_msg_ref_num: 9, sar_total_segments: 2 }, null],
  ] as const)('arrives in parts, by %s', async (long, octets, fields, header) => {
    const { bind, deliveries } = await start()
    await bind()
    const come = deliveries()
    const text = `${'a'.repeat(octets - 1)}€${'b'.repeat(20)}`
    await smsc.mo({ from: '+255700000099', to: '12345', text, long, reference: 9 })
    const bodies = come.map((pdu) => (pdu.short_message as Buffer).toString('hex'))
    const heads = [1, 2].map((n) => (header === null ? '' : `${header}${n}`))
    expect(bodies).toEqual([
      `${heads[0]}${'61'.repeat(octets - 1)}`,
      `${heads[1]}1b65${'62'.repeat(20)}`,
    ])
    expect(come).toMatchObject([fields, fields])
    expect(come.map((pdu) => pdu.sar_segment_seqnum)).toEqual(
      long === 'sar' ? [1, 2] : [undefined, undefined],
    )
  })
})

describe('a connection to the test SMSC', () => {
  it('gets ids from the beginning after a restart, and receipts of the newest message with an id', async () => {
    const first = await start()
    await first.bind()
    await first.submit({ destination_addr: '255700000001' })
    await smsc.restart()
    await first.closed
    const second = await client()
    const come = second.deliveries()
    await second.bind()
    expect(await second.submit({ destination_addr: '255700000002' })).toMatchObject({
      message_id: '1',
    })
    await smsc.receipt('1')
    expect(come).toMatchObject([{ source_addr: '255700000002' }])
    expect(smsc.accepted.map(({ id }) => id)).toEqual(['1', '1'])
  })

  it('gets answers to enquire_link, until the test sets silence', async () => {
    const { bind, request } = await start()
    await bind()
    expect(await request('enquire_link')).toMatchObject({ command_status: 0 })
    smsc.silence()
    let isAnswered = false
    void request('enquire_link').then(() => {
      isAnswered = true
    })
    await smsc.when(() => smsc.sessions()[0]?.enquire_links === 2)
    smsc.silence(false)
    // Answers come in the order of the requests.
    await request('enquire_link')
    expect(isAnswered).toBe(false)
  })

  it('can get everything in pieces', async () => {
    const { bind, submit, deliveries } = await start({ piece_octets: 3 })
    expect(await bind()).toMatchObject({ system_id: 'testsmsc' })
    const come = deliveries()
    expect(await submit()).toMatchObject({ message_id: '1' })
    await smsc.mo({ from: '+255700000099', to: '12345', text: 'in pieces' })
    expect(String(come[0]?.short_message)).toBe('in pieces')
  })

  it('ends after octets that are not a PDU', async () => {
    const { session, closed } = await start()
    session.socket.write(Buffer.from('GET / HTTP/1.1\r\n\r\n'))
    await closed
    expect(smsc.sessions()).toEqual([])
  })
})
