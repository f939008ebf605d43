import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isKannelInstalled, type Kannel, startKannel } from './kannel.ts'
import { type Smsc, startSmsc } from './smsc.ts'

const HOW = isKannelInstalled ? 'Kannel' : 'Kannel (not installed: apt-get install kannel)'

// Kannel is an independent client: what Kannel and the test SMSC both understand is SMPP.
describe.runIf(isKannelInstalled)(`the test SMSC with ${HOW}`, () => {
  let smsc: Smsc
  let kannel: Kannel
  let calls: Awaited<ReturnType<typeof startCalls>>

  beforeAll(async () => {
    smsc = await startSmsc()
    calls = await startCalls()
    kannel = await startKannel({
      smsc_port: smsc.port,
      mo_url: `${calls.url}/mo?from=%p&to=%P&text=%b&charset=%C`,
    })
    await smsc.when(() => smsc.sessions().some(({ mode }) => mode !== null))
  })
  afterAll(async () => {
    await kannel?.close()
    await smsc?.close()
    await calls?.close()
  })

  async function arrived(to: string) {
    await smsc.when(() => smsc.messages.some((message) => message.to === to))
    return smsc.messages.find((message) => message.to === to)
  }

  it('accepts a bind as a transceiver of SMPP 3.4', () => {
    expect(smsc.sessions()).toMatchObject([
      { system_id: 'svc', mode: 'transceiver', interface_version: 0x34 },
    ])
  })

  it.each([
    ['255700000001', 'short, with @ and the escaped {}[]~^|\\€', {}, 1],
    ['255700000002', `${'a'.repeat(152)}€${'b'.repeat(170)}€`, {}, 3],
    ['255700000003', 'Привет, мир! 😀', { coding: '2' }, 1],
    ['255700000004', 'Добрый день. '.repeat(15), { coding: '2' }, 3],
  ])('receives the whole text to %s', async (to, text, more, parts) => {
    await kannel.send({ from: 'Acme', to, text, charset: 'UTF-8', ...more })
    const message = await arrived(to)
    expect(message).toMatchObject({ from: 'Acme', to, text })
    expect(message?.parts.map((part) => part.part?.number ?? 1)).toEqual(
      Array.from({ length: parts }, (_, i) => i + 1),
    )
  })

  it.each([
    ['255700000011', 'DELIVRD', 'both', '1'],
    ['255700000012', 'DELIVRD', 'text', '1'],
    ['255700000013', 'DELIVRD', 'tlv', '1'],
    ['255700000014', 'UNDELIV', 'both', '2'],
    ['255700000015', 'EXPIRED', 'text', '2'],
  ] as const)('sends %s a receipt: %s by %s', async (to, state, by, type) => {
    const dlr_url = `${calls.url}/dlr?to=${to}&id=%F&type=%d`
    await kannel.send({ from: '12345', to, text: 'hello', 'dlr-mask': '3', 'dlr-url': dlr_url })
    const { id } = (await arrived(to))?.parts[0] ?? { id: '' }
    expect(smsc.accepted.findLast((one) => one.id === id)?.registered_delivery).toBe(1)
    await smsc.when(() => smsc.accepted.some((one) => one.id === id && one.is_answered))
    expect(await smsc.receipt(id, state, { by })).toEqual([0])
    expect(await calls.called((query) => query.to === to)).toEqual({ to, id, type })
  })

  it.each([
    ['short', 'STOP, with € and {}', 'UTF-8', {}],
    ['Greek', 'ένα δύο', 'UTF-16BE', {}],
    ['long', 'long '.repeat(60).trim(), 'UTF-8', {}],
    ['cut anywhere', 'длинный текст 😀 '.repeat(12).trim(), 'UTF-16BE', { cut_anywhere: true }],
    ['the last part first', 'backwards '.repeat(40).trim(), 'UTF-8', { is_reversed: true }],
    ['message_payload', 'in one piece '.repeat(40).trim(), 'UTF-8', { long: 'payload' }],
  ] as const)('delivers a text from a phone: %s', async (_, text, charset, more) => {
    const statuses = await smsc.mo({ from: '+255700000099', to: '12345', text, ...more })
    expect(new Set(statuses)).toEqual(new Set([0]))
    const call = await calls.called((query) => query.from !== undefined)
    expect(call).toMatchObject({ from: '+255700000099', to: '12345', charset })
    expect(call.text).toBe(text)
  })

  it('throttles so that Kannel sends again', async () => {
    smsc.next('throttle')
    await kannel.send({ from: '12345', to: '255700000021', text: 'again' })
    expect(await arrived('255700000021')).toMatchObject({ text: 'again' })
    expect(smsc.counts.submits).toBe(smsc.accepted.length + 1)
  })

  it('gets an answer to enquire_link', async () => {
    expect(await smsc.enquire()).toHaveLength(1)
  })

  it('receives an unbind at the end', async () => {
    await kannel.close()
    await smsc.when(() => smsc.sessions().length === 0)
    expect(smsc.counts).toMatchObject({ binds: 1, refused_binds: 0, unbinds: 1 })
  })
})

/** Receives Kannel's HTTP requests; each is returned once. */
async function startCalls() {
  const come: Record<string, string>[] = []
  let waiting: (() => void)[] = []
  const server = createServer((request, response) => {
    come.push(queryOf(request.url ?? ''))
    response.end()
    for (const go of waiting.splice(0)) go()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async called(fits: (query: Record<string, string>) => boolean) {
      for (;;) {
        const at = come.findIndex(fits)
        if (at >= 0) return come.splice(at, 1)[0] as Record<string, string>
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
    },
    async close() {
      waiting = []
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Kannel escapes octets, of UTF-16BE if `charset` says so. */
function queryOf(url: string): Record<string, string> {
  const pairs = (url.split('?')[1] ?? '').split('&').map((pair) => {
    const [key = '', value = ''] = pair.split('=')
    return [key, octetsOf(value)] as const
  })
  const query = Object.fromEntries(pairs.map(([key, octets]) => [key, octets.toString()]))
  const text = pairs.find(([key]) => key === 'text')?.[1]
  if (text && query.charset === 'UTF-16BE') {
    query.text = Buffer.from(text).swap16().toString('utf16le')
  }
  return query
}

function octetsOf(escaped: string): Buffer {
  const octets: number[] = []
  for (const [, hex, char] of escaped.matchAll(/%([0-9a-fA-F]{2})|(.)/gs)) {
    octets.push(
      hex ? Number.parseInt(hex, 16) : char === '+' ? 0x20 : (char as string).charCodeAt(0),
    )
  }
  return Buffer.from(octets)
}
