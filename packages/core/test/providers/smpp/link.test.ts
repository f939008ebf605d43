import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { Provider } from '../../../src/contract/outside/provider.ts'
import { openConnection } from '../../../src/providers/smpp/connection.ts'
import { createFramer, encodePdu, type Pdu, setSequence } from '../../../src/providers/smpp/pdu.ts'
import { settings } from '../../../src/providers/smpp/settings.ts'
import { createSmpp } from '../../../src/providers/smpp/smpp.ts'
import { CERTIFICATE, CERTIFICATE_KEY } from '../smtp/send-certificate.ts'
import {
  type Bench,
  BRIEF,
  bindTo,
  type Client,
  jobOf,
  openBench,
  openClient,
  QUICK,
  sendOne,
  until,
} from './bench.ts'
import { startSmsc } from './smsc.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function bound(options: Parameters<typeof openBench>[0] = {}): Promise<Bench> {
  const bench = await openBench(options)
  closers.push(bench.close)
  return bench
}

async function client(...options: Parameters<typeof openClient>): Promise<Client> {
  const opened = await openClient(...options)
  closers.push(opened.close)
  return opened
}

function downNotes({ notes }: Client) {
  return notes.filter(({ text }) => text === 'SMPP bind is down')
}

test('a silent SMSC gets a message only after it answered an enquire_link', async () => {
  const { smsc, send } = await bound({ timing: BRIEF })
  await new Promise((resolve) => setTimeout(resolve, 600))
  smsc.silence()
  const outcome = await send('Hi')
  expect(outcome).toMatchObject({ type: 'retry' })
  // It may be gone, so this is an attempt that failed.
  expect(outcome).not.toHaveProperty('not_begun')
  expect(smsc.counts.submits).toBe(0)
})

test('a connection whose end has arrived gets no message', async () => {
  const { smsc, send } = await bound()
  smsc.dropAll()
  expect(await send('Hi')).toMatchObject({ type: 'retry', error_code: 'not_connected' })
})

describe('a bind', () => {
  test('names the account, and is noted without the password', async () => {
    const { smsc, notes, listening, provider } = await bound({
      settings: {},
    })
    expect(smsc.sessions()).toMatchObject([
      { system_id: 'svc', mode: 'transceiver', interface_version: 0x34, system_type: '' },
    ])
    const name = `svc@127.0.0.1:${smsc.port}`
    expect(notes).toEqual([
      { level: 'info', text: 'SMPP bind is up', fields: { provider: 'carrier', bind: name } },
    ])
    expect(listening.states()).toEqual([{ name, state: 'up', detail: '0 of 10 outstanding' }])
    expect(await provider.check?.()).toBeNull()
  })

  test.each([
    ['password', '0x0e'],
    ['system_id', '0x0f'],
    ['bind_failed', '0x0d'],
  ] as const)(
    'refused for the %s is a problem of the account, and is retried',
    async (why, code) => {
      const { smsc, ...one } = await bound()
      smsc.nextBind(why, Number.POSITIVE_INFINITY)
      smsc.dropAll()
      await until(() => one.listening.states()[0]?.detail.includes(code) === true)
      expect(await one.send('Hi')).toMatchObject({
        type: 'retry',
        error_code: 'provider_unauthorized',
        misconfigured: 'provider',
      })
      expect(await one.provider.check?.()).toContain(code)
      await smsc.when(() => smsc.counts.refused_binds > 2)
      const refusals = downNotes(one).filter(({ level }) => level === 'error')
      expect(refusals).toHaveLength(1)
      expect(JSON.stringify([one.notes, one.listening.states()])).not.toContain('secret')
      smsc.clear()
      await one.up()
      expect(await one.send('Hi')).toMatchObject({ type: 'accepted' })
    },
  )

  test('refused because the previous one still exists is not a problem of the account', async () => {
    const { smsc, ...one } = await bound()
    smsc.nextBind('already_bound', 3)
    smsc.dropAll()
    await until(() => one.listening.states()[0]?.detail.includes('0x05') === true)
    const outcome = await one.send('Hi')
    expect(outcome).toMatchObject({ type: 'retry', error_code: 'not_connected' })
    expect(outcome).not.toHaveProperty('misconfigured')
    await one.up()
  })

  test.each([
    ['no_response', 'no answer to the bind'],
    ['drop', 'closed by the SMSC'],
  ] as const)('is retried after %s', async (behaviour, reason) => {
    const { smsc, ...one } = await bound({ timing: BRIEF })
    smsc.nextBind(behaviour)
    smsc.dropAll()
    await until(() =>
      downNotes(one).some(({ fields }) => 'reason' in fields && fields.reason === reason),
    )
    await one.up()
    expect(await one.send('Hi')).toMatchObject({ type: 'accepted' })
  })

  test('is retried until the SMSC is there', async () => {
    const smsc = await startSmsc()
    closers.push(smsc.close)
    await smsc.down()
    const one = await client({ binds: [bindTo(smsc)] })
    await until(() => downNotes(one).length > 0)
    expect(one.notes).toMatchObject([{ level: 'warn', fields: { reason: 'ECONNREFUSED' } }])
    expect(await one.send('Hi')).toMatchObject({ type: 'retry', error_code: 'not_connected' })
    await smsc.up()
    await one.up()
    expect(one.notes).toHaveLength(2)
  })
})

describe('a connection that ends', () => {
  test.each(['dropAll', 'unbindAll'] as const)('by %s is replaced', async (how) => {
    const { smsc, ...one } = await bound()
    await one.send('a')
    smsc[how]()
    await smsc.when(() => smsc.counts.binds === 2)
    await one.up()
    expect(await one.send('b')).toMatchObject({ type: 'accepted' })
    expect(smsc.accepted.map(({ text }) => text)).toEqual(['a', 'b'])
    const reason = how === 'dropAll' ? 'closed by the SMSC' : 'unbound by the SMSC'
    expect(downNotes(one)).toMatchObject([{ level: 'warn', fields: { reason } }])
  })

  test('leaves messages in flight in doubt, and retries the others', async () => {
    const { smsc, ...one } = await bound({ settings: { window: 2 } })
    smsc.next('hold', 2)
    const sending = one.provider.send(['a', 'b', 'c', 'd'].map((text) => jobOf(text)))
    await smsc.when(() => smsc.counts.submits === 2)
    smsc.dropAll()
    const outcomes = await sending
    expect(outcomes.map(({ type }) => type)).toEqual(['ambiguous', 'ambiguous', 'retry', 'retry'])
    expect(smsc.accepted.map(({ text }) => text)).toEqual(['a', 'b'])
  })

  test('without a sign is noticed by its silence', async () => {
    const { smsc, ...one } = await bound({ timing: { ...BRIEF, idle_ms: 40 } })
    await smsc.when(() => (smsc.sessions()[0]?.enquire_links ?? 0) > 2)
    expect(one.listening.states()).toMatchObject([{ state: 'up' }])
    smsc.silence()
    await until(() => downNotes(one).length > 0)
    expect(downNotes(one)).toMatchObject([{ fields: { reason: 'no answer to enquire_link' } }])
    smsc.silence(false)
    await one.up()
  })

  test('is checked at once after an unanswered submission', async () => {
    const { smsc, ...one } = await bound({ timing: BRIEF })
    smsc.silence()
    smsc.next('no_response')
    expect(await one.send('Hi')).toMatchObject({ type: 'ambiguous' })
    await until(() => downNotes(one).length > 0)
    expect(downNotes(one)).toMatchObject([{ fields: { reason: 'no answer to enquire_link' } }])
  })

  test('is replaced also if the SMSC restarts its ids', async () => {
    const { smsc, ...one } = await bound()
    const first = await one.send('a')
    await smsc.restart()
    await until(() => one.listening.states()[0]?.state !== 'up')
    await one.up()
    const second = await one.send('b')
    expect(first).toMatchObject({ provider_message_id: '1' })
    expect(second).toMatchObject({ provider_message_id: '1' })
  })
})

describe('closing', () => {
  test('waits for messages in flight, unbinds, and ends', async () => {
    const { smsc, ...one } = await bound()
    smsc.next('hold')
    const sending = one.send('Hi')
    await smsc.when(() => smsc.counts.submits === 1)
    const closing = one.listening.close(20_000)
    await smsc.enquire()
    expect(smsc.counts.unbinds).toBe(0)
    smsc.release()
    expect(await sending).toMatchObject({ type: 'accepted' })
    await closing
    expect(smsc.counts.unbinds).toBe(1)
    expect(one.listening.states()).toMatchObject([{ state: 'down', detail: 'closed' }])
    await smsc.when(() => smsc.sessions().length === 0)
  })

  test('waits at most the grace period', async () => {
    const { smsc, ...one } = await bound({ timing: { response_ms: 10_000, send_ms: 18_000 } })
    smsc.next('no_response')
    const sending = one.send('Hi')
    await smsc.when(() => smsc.counts.submits === 1)
    await one.listening.close(100)
    expect(await sending).toMatchObject({ type: 'ambiguous', error_message: 'smpp: closed' })
  })

  test('acknowledges reports that are being stored', async () => {
    const { smsc, ...one } = await bound()
    let finish = () => {}
    let begun = () => {}
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve
    })
    one.storing(
      () =>
        new Promise((resolve) => {
          finish = resolve
          begun()
        }),
    )
    await one.send('Hi')
    const answered = smsc.receipt('1')
    await isBegun
    const closing = one.listening.close(20_000)
    await smsc.enquire()
    expect(smsc.counts.unbinds).toBe(0)
    finish()
    expect(await answered).toEqual([0])
    await closing
  })

  test('ends the wait for the next connection', async () => {
    const { smsc, ...one } = await bound({
      timing: { reconnect: { ...QUICK.reconnect, base_ms: 60_000, cap_ms: 60_000 } },
    })
    smsc.dropAll()
    await until(() => one.listening.states()[0]?.state === 'down')
    await one.listening.close(100)
    expect(smsc.counts.binds).toBe(1)
  })
})

describe('a check', () => {
  async function checked(password: string): Promise<[string | null | undefined, Provider]> {
    const smsc = await startSmsc()
    closers.push(smsc.close)
    const own = settings.parse({
      type: 'smpp',
      name: 'carrier',
      binds: [{ ...bindTo(smsc), password }],
    })
    const provider = createSmpp(own, { timing: QUICK })
    const problem = await provider.check?.()
    await smsc.when(() => smsc.sessions().length === 0)
    return [problem, provider]
  }

  test('of a provider that does not listen binds, and unbinds', async () => {
    const [problem] = await checked('secret')
    expect(problem).toBeNull()
  })

  test('names the problem without the password', async () => {
    const [problem] = await checked('wrong-1')
    expect(problem).toMatch(/^svc@127\.0\.0\.1:\d+: smpp:0x0e The password is not valid$/)
  })
})

describe('TLS', () => {
  const tls = { key: CERTIFICATE_KEY, cert: CERTIFICATE }

  test('is used with a matching certificate', async () => {
    const smsc = await startSmsc({ tls })
    closers.push(smsc.close)
    const one = await client({ binds: [{ ...bindTo(smsc), tls: { ca: CERTIFICATE } }] })
    await one.up()
    expect(await one.send('Hi')).toMatchObject({ type: 'accepted' })
  })

  test.each([
    ['is self-signed', { tls: true }, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    [
      'is for another name',
      { tls: { ca: CERTIFICATE, servername: 'smsc.example' } },
      'ERR_TLS_CERT_ALTNAME_INVALID',
    ],
  ])('refuses a certificate that %s', async (_title, tlsOf, reason) => {
    const smsc = await startSmsc({ tls })
    closers.push(smsc.close)
    const one = await client({ binds: [{ ...bindTo(smsc), ...tlsOf }] })
    await until(() => downNotes(one).length > 0)
    expect(downNotes(one)[0]).toMatchObject({ fields: { reason } })
    expect(smsc.counts.binds).toBe(0)
  })
})

/** An SMSC that accepts any bind, and whose other answers the test writes. */
async function startRaw(onPdu: (pdu: Pdu, socket: Socket, reply: Reply) => void) {
  const sockets = new Set<Socket>()
  const got: Pdu[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    const framesOf = createFramer()
    const reply: Reply = (command, status, sequence, body = Buffer.alloc(0)) => {
      const pdu = encodePdu(command, status, body)
      setSequence(pdu, sequence)
      socket.write(pdu)
    }
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      for (const pdu of framesOf(chunk)) {
        got.push(pdu)
        if (pdu.command === 0x09) reply(0x8000_0009, 0, pdu.sequence, Buffer.from('raw\0'))
        else onPdu(pdu, socket, reply)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(async () => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  })
  return { port: (server.address() as AddressInfo).port, got, sockets }
}

type Reply = (command: number, status: number, sequence: number, body?: Buffer) => void

const SUBMIT_SM = 0x04
const SUBMIT_SM_RESP = 0x8000_0004
const id = (text: string) => Buffer.from(`${text}\0`)

const UNBIND = 0x06
const UNBIND_RESP = 0x8000_0006
const DELIVER_SM_RESP = 0x8000_0005

/** An empty text from 447700900123 to 12345. */
const DELIVERY = Buffer.from(
  `\0\x01\x01447700900123\0\x03\x0012345\0\0\0\0\0\0\0\0\0\0\x00`,
  'latin1',
)

describe('an unbind while answers are outstanding', () => {
  test.each(['FIN', 'answer'] as const)(
    'of an SMSC that closes at our %s, and answers late: the messages are accepted',
    async (closesAt) => {
      const raw = await startRaw(({ command, sequence }, socket, reply) => {
        if (command === SUBMIT_SM && sequence === 2) {
          reply(UNBIND, 0, 700)
          socket.on('end', () => socket.destroy())
        } else if (command === SUBMIT_SM && sequence === 4) {
          // Later than a FIN that our side would send at once.
          setTimeout(() => {
            for (const each of [3, 2, 4]) reply(SUBMIT_SM_RESP, 0, each, id(`id${each}`))
          }, 100)
        } else if (command === UNBIND_RESP && closesAt === 'answer') socket.destroy()
      })
      const one = await client({ binds: [bindTo(raw)] })
      await one.up()
      const jobs = ['a', 'b', 'c'].map((text) => jobOf(text))
      expect(await one.provider.send(jobs)).toMatchObject([
        { type: 'accepted', provider_message_id: 'id2' },
        { type: 'accepted', provider_message_id: 'id3' },
        { type: 'accepted', provider_message_id: 'id4' },
      ])
      await until(() => downNotes(one).length > 0)
      expect(downNotes(one)).toMatchObject([{ fields: { reason: 'unbound by the SMSC' } }])
      expect(raw.got.filter(({ sequence }) => sequence === 700)).toMatchObject([
        { command: UNBIND_RESP, status: 0 },
      ])
      await one.up()
    },
  )

  test('takes back what was not written: the SMSC accepts no more', async () => {
    const raw = await startRaw(({ command, sequence }, socket, reply) => {
      if (command === UNBIND_RESP) socket.destroy()
      if (command !== SUBMIT_SM || sequence > 2) return
      // The answer makes room, so the next message is submitted before the client reads the unbind.
      socket.cork()
      reply(SUBMIT_SM_RESP, 0, sequence, id(`id${sequence}`))
      if (raw.sockets.size === 1) reply(UNBIND, 0, 700)
      socket.uncork()
    })
    const one = await client(
      { binds: [bindTo(raw)], window: 1 },
      { response_ms: 500, send_ms: 3000 },
    )
    await one.up()
    const outcomes = await one.provider.send([jobOf('a'), jobOf('b')])
    expect(outcomes.map(({ type }) => type)).not.toContain('ambiguous')
    expect(
      raw.got.filter(({ sequence, command }) => command === SUBMIT_SM && sequence > 2),
    ).toEqual([])
  })

  test('of an SMSC that never answers ends at the timeout', async () => {
    const raw = await startRaw(({ command }, _socket, reply) => {
      if (command === SUBMIT_SM) reply(UNBIND, 0, 700)
    })
    const one = await client({ binds: [bindTo(raw)] }, { response_ms: 200, send_ms: 1000 })
    await one.up()
    expect(await one.send('a')).toMatchObject({ type: 'ambiguous' })
    await until(() => raw.sockets.size === 2)
    await one.up()
    expect(raw.got.some(({ command }) => command === UNBIND_RESP)).toBe(true)
  })

  test.each(['the SMSC', 'the client'] as const)(
    'by %s comes after the answers to deliveries that are being stored',
    async (by) => {
      const raw = await startRaw(({ command, sequence }, _socket, reply) => {
        if (command === UNBIND) reply(UNBIND_RESP, 0, sequence)
        if (command !== SUBMIT_SM) return
        reply(0x05, 0, 600, DELIVERY)
        if (by === 'the SMSC') reply(UNBIND, 0, 700)
        // "Incorrect BIND status": the client binds again.
        reply(SUBMIT_SM_RESP, by === 'the SMSC' ? 0 : 0x04, sequence, id('1'))
      })
      const one = await client({ binds: [bindTo(raw)] })
      let finish = () => {}
      one.storing(
        () =>
          new Promise((resolve) => {
            finish = resolve
          }),
      )
      await one.up()
      await one.send('a')
      // A FIN or unbind that does not wait would arrive in this time.
      await new Promise((resolve) => setTimeout(resolve, 100))
      finish()
      await until(() => raw.sockets.size === 2)
      const [end, ...others] = raw.got
        .map(({ command }) => command)
        .filter((one) => [UNBIND, UNBIND_RESP, DELIVER_SM_RESP].includes(one))
      expect(end).toBe(DELIVER_SM_RESP)
      expect(others).toEqual([by === 'the SMSC' ? UNBIND_RESP : UNBIND])
    },
  )
})

describe('a submission that was never written', () => {
  test('is a retry if the connection breaks in the turn in which it was submitted', async () => {
    const raw = await startRaw(({ command, sequence }, socket) => {
      if (command !== SUBMIT_SM) return
      const answer = encodePdu(SUBMIT_SM_RESP, 0, id('1'))
      setSequence(answer, sequence)
      // The answer makes room for the next submission, and the octets after it end the connection.
      socket.write(Buffer.concat([answer, Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')]))
    })
    const one = await client({ binds: [bindTo(raw)], window: 1 })
    await one.up()
    expect(await one.provider.send([jobOf('a'), jobOf('b')])).toMatchObject([
      { type: 'accepted' },
      { type: 'retry', error_code: 'not_connected' },
    ])
    expect(raw.got.filter(({ command }) => command === SUBMIT_SM)).toHaveLength(1)
  })

  test('can be taken back while the write before it waits for the SMSC', async () => {
    const raw = await startRaw(() => {})
    let connected = () => {}
    const isConnected = new Promise<void>((resolve) => {
      connected = resolve
    })
    const connection = openConnection(
      { host: '127.0.0.1', port: raw.port, tls: false },
      { connected, answered() {}, delivered() {}, unbound() {}, ended() {}, closed() {} },
    )
    await isConnected
    await until(() => raw.sockets.size === 1)
    for (const socket of raw.sockets) socket.pause()
    // More than the buffers of the network take.
    const first = encodePdu(SUBMIT_SM, 0, Buffer.alloc(32 * 1024 * 1024))
    const second = encodePdu(SUBMIT_SM, 0, Buffer.alloc(1))
    // A write begins a whole turn of the event loop later.
    const turns = async () => {
      for (let i = 0; i < 3; i++) await new Promise(setImmediate)
    }
    connection.write(first, 1)
    await turns()
    connection.write(second, 2)
    await turns()
    expect(connection.unread()).toBeGreaterThan(second.length)
    expect(connection.cancel(first)).toBe(false)
    expect(connection.cancel(second)).toBe(true)
    expect(connection.cancel(second)).toBe(false)
    connection.destroy()
  })

  test('because the window stayed full or no bind came up is a retry', async () => {
    const raw = await startRaw(() => {})
    const one = await client({ binds: [bindTo(raw)], window: 1 }, BRIEF)
    await one.up()
    const outcomes = await one.provider.send([jobOf('a'), jobOf('b'), jobOf('c')])
    // The SMSC that answers nothing loses its connection, and the next bind has room for one more.
    const written = raw.got.filter(({ command }) => command === SUBMIT_SM).length
    expect(outcomes.filter(({ type }) => type === 'ambiguous')).toHaveLength(written)
    const others = outcomes.filter(({ type }) => type === 'retry')
    expect(others).toHaveLength(3 - written)
    // A window that stays full is no failed attempt (send.test.ts); an SMSC that cannot be reached is one. The silent SMSC is
    // either, because its connection is lost while the messages wait.
    for (const one of others) {
      if ('not_begun' in one) expect(one).toMatchObject({ error_code: 'provider_unavailable' })
    }
    expect(written).toBeLessThan(3)
  })
})

describe('a pause', () => {
  test('holds back what waits for room, and lets begun messages end', async () => {
    let isPaused = false
    const smsc = await startSmsc()
    closers.push(smsc.close)
    const one = await client({ binds: [bindTo(smsc)], window: 1 }, {}, () => !isPaused)
    await one.up()
    smsc.next('hold')
    const sending = one.provider.send([jobOf('x'.repeat(200)), jobOf('b'), jobOf('c')])
    await smsc.when(() => smsc.counts.submits === 1)
    isPaused = true
    smsc.release()
    expect(await sending).toMatchObject([
      { type: 'accepted' },
      { type: 'retry', error_code: 'paused', not_begun: true },
      { type: 'retry', error_code: 'paused', not_begun: true },
    ])
    expect(smsc.counts.submits).toBe(2)
    expect(await one.send('d')).toMatchObject({
      type: 'retry',
      error_code: 'paused',
      not_begun: true,
    })
    isPaused = false
    expect(await one.send('e')).toMatchObject({ type: 'accepted' })
  })

  test('is looked for once for all messages that are written together', async () => {
    let looks = 0
    const smsc = await startSmsc()
    closers.push(smsc.close)
    const one = await client({ binds: [bindTo(smsc)], window: 8 }, {}, () => ++looks > 0)
    await one.up()
    await one.provider.send([jobOf('a'), jobOf('b'), jobOf('c')])
    expect(looks).toBe(1)
    await one.provider.send([jobOf('d'), jobOf('e')])
    expect(looks).toBe(2)
  })
})

describe('an SMSC that violates SMPP', () => {
  test.each([
    ['an impossible length', Buffer.from('0000000f00000000', 'hex')],
    ['a length beyond the limit', Buffer.from('7fffffff80000004', 'hex')],
    ['octets that are not SMPP', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ])('sends %s: the connection is replaced', async (_title, octets) => {
    let submits = 0
    const raw = await startRaw(({ command, sequence }, socket, reply) => {
      if (command !== SUBMIT_SM) return
      submits += 1
      if (submits === 1) socket.write(octets)
      else reply(SUBMIT_SM_RESP, 0, sequence, id('2'))
    })
    const one = await client({ binds: [bindTo(raw)] })
    await one.up()
    expect(await one.send('a')).toMatchObject({ type: 'ambiguous' })
    expect(downNotes(one)).toMatchObject([
      { fields: { reason: 'malformed PDU: the length is wrong' } },
    ])
    await one.up()
    expect(await one.send('b')).toMatchObject({ type: 'accepted' })
  })

  test('sends answers without a request, and answers twice: they change nothing', async () => {
    const raw = await startRaw(({ command, sequence }, _socket, reply) => {
      if (command !== SUBMIT_SM) return
      reply(SUBMIT_SM_RESP, 0, sequence + 1000, id('no'))
      reply(SUBMIT_SM_RESP, 0, sequence, id(`id${sequence}`))
      reply(SUBMIT_SM_RESP, 0x0b, sequence)
      reply(SUBMIT_SM_RESP, 0, sequence, id('no'))
    })
    const one = await client({ binds: [bindTo(raw)] })
    await one.up()
    expect(await one.provider.send([jobOf('a'), jobOf('b')])).toMatchObject([
      { type: 'accepted', provider_message_id: 'id2' },
      { type: 'accepted', provider_message_id: 'id3' },
    ])
    expect(one.reports).toEqual([])
    expect(downNotes(one)).toEqual([])
  })

  test('answers in another order, and in pieces: each message gets its answer', async () => {
    const held: number[] = []
    const raw = await startRaw(({ command, sequence }, socket) => {
      if (command !== SUBMIT_SM) return
      held.push(sequence)
      if (held.length < 3) return
      const all = held.reverse().map((one) => {
        const pdu = encodePdu(SUBMIT_SM_RESP, 0, id(`id${one}`))
        setSequence(pdu, one)
        return pdu
      })
      for (const octet of Buffer.concat(all)) socket.write(Buffer.from([octet]))
    })
    const one = await client({ binds: [bindTo(raw)] })
    await one.up()
    const outcomes = await one.provider.send([jobOf('a'), jobOf('b'), jobOf('c')])
    expect(outcomes).toMatchObject([
      { provider_message_id: 'id2' },
      { provider_message_id: 'id3' },
      { provider_message_id: 'id4' },
    ])
  })

  test('sends a nack without a sequence number: the connection ends', async () => {
    const raw = await startRaw(({ command }, _socket, reply) => {
      if (command === SUBMIT_SM) reply(0x8000_0000, 0x02, 0)
    })
    const one = await client({ binds: [bindTo(raw)] })
    await one.up()
    expect(await one.send('a')).toMatchObject({
      type: 'ambiguous',
      error_message: 'smpp: generic_nack',
    })
  })

  test.each([
    ['no id', Buffer.alloc(0), null],
    ['an empty id', id(''), null],
    ['an id without its end', Buffer.from('77'), '77'],
    ['an id of other octets', Buffer.from([0xff, 0x01, 0]), null],
  ])('accepts with %s: the message is accepted', async (_title, body, provider_message_id) => {
    const raw = await startRaw(({ command, sequence }, _socket, reply) => {
      if (command === SUBMIT_SM) reply(SUBMIT_SM_RESP, 0, sequence, body)
    })
    const one = await client({ binds: [bindTo(raw)] })
    await one.up()
    expect(await one.send('a')).toMatchObject({ type: 'accepted', provider_message_id })
  })

  test('sends unknown commands and malformed deliveries: they are refused', async () => {
    const raw = await startRaw(({ command, sequence }, _socket, reply) => {
      if (command !== SUBMIT_SM) return
      reply(0x0b, 0, 500, Buffer.from('outbind\0\0'))
      reply(0x102, 0, 501)
      reply(0x05, 0, 502, Buffer.from('cut off'))
      reply(0x15, 0, 503)
      reply(SUBMIT_SM_RESP, 0, sequence, id('1'))
    })
    const one = await client({ binds: [bindTo(raw)] })
    await one.up()
    expect(await one.send('a')).toMatchObject({ type: 'accepted' })
    await until(() => raw.got.some(({ sequence }) => sequence === 503))
    const answers = raw.got.filter(({ sequence }) => sequence >= 500)
    expect(answers.map(({ command, status, sequence }) => [sequence, command, status])).toEqual([
      [500, 0x8000_0000, 0x03],
      [502, 0x8000_0005, 0x65],
      [503, 0x8000_0015, 0],
    ])
    expect(one.notes.at(-1)).toMatchObject({ fields: { reason: 'a text does not end' } })
  })

  test('stops reading: the connection is replaced', async () => {
    const raw = await startRaw(() => {})
    const one = await client({ binds: [bindTo(raw)] }, { ...BRIEF, idle_ms: 40 })
    await one.up()
    for (const socket of raw.sockets) socket.pause()
    const outcome = await sendOne(one.provider, jobOf('Hi'))
    expect(outcome).toMatchObject({ type: 'ambiguous' })
    await until(() => downNotes(one).length > 0)
    expect(downNotes(one)).toMatchObject([{ fields: { reason: 'no answer to enquire_link' } }])
  })
})
