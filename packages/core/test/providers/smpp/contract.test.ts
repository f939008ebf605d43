import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import {
  type Fate,
  type PeerMessage,
  type ProviderBench,
  providerContract,
} from '@svc/testkit/provider'
import { describe, it } from 'vitest'
import { createFramer } from '../../../src/providers/smpp/pdu.ts'
import { settings } from '../../../src/providers/smpp/settings.ts'
import { smppType } from '../../../src/providers/smpp/type.ts'
import { bindTo, openClient, until } from './bench.ts'
import { startSmsc } from './smsc.ts'
import type { Behaviour } from './smsc-behaviour.ts'
import smpp from './smsc-library.ts'

const BEHAVIOURS: Record<Fate, Behaviour> = {
  accept: { type: 'respond_late', ms: 0 },
  reject: { type: 'reject', code: 0x0b },
  throttle: 'throttle',
  unavailable: 'queue_full',
  hang_after_read: 'no_response',
  drop_after_read: 'drop_after_read',
}

const PASSWORD = 'canary47'
const SENDER = '12345'

providerContract(
  'smpp',
  { describe, it },
  {
    channel: 'sms',
    traits: smppType.traits(
      settings.parse({ type: 'smpp', name: 'carrier', binds: [bindTo({ port: 2775 })] }),
    ),
    fates: ['accept', 'reject', 'throttle', 'unavailable', 'hang_after_read', 'drop_after_read'],
    refusals: ['refuse_connection', 'bad_credentials'],
    identifies: false,
    callbacks: null,
    open: openBench,
  },
)

async function openBench(deadline_ms: number): Promise<ProviderBench> {
  const smsc = await startSmsc({ password: PASSWORD })
  const tap = await startTap(smsc.port)
  const client = await openClient(
    { binds: [{ ...bindTo(tap), password: PASSWORD }], senders: [SENDER] },
    { response_ms: deadline_ms, send_ms: 2 * deadline_ms },
  )
  await client.up()
  let count = 0
  return {
    provider: {
      ...client.provider,
      // The core names the first sender of the settings.
      send: (jobs) => client.provider.send(jobs.map((job) => ({ ...job, sender: SENDER }))),
    },
    secrets: [PASSWORD],
    recipient(fate) {
      count += 1
      smsc.next(BEHAVIOURS[fate])
      return `+1415556${String(count).padStart(4, '0')}`
    },
    peer: {
      seen: () =>
        tap.recipients.map((recipient): PeerMessage => {
          const taken = smsc.accepted.findLast(({ dest }) => `+${dest}` === recipient)
          return {
            recipient,
            accepted: taken !== undefined,
            identity: null,
            provider_message_id: taken?.id ?? null,
          }
        }),
      connections: () => smsc.sessions().length,
      async turn(refusal) {
        if (refusal === 'bad_credentials') smsc.nextBind('password', Number.POSITIVE_INFINITY)
        else await tap.close()
        smsc.dropAll()
        const expected = refusal === 'bad_credentials' ? '0x0e' : 'ECONNREFUSED'
        await until(() => client.listening.states()[0]?.detail.includes(expected) === true)
      },
    },
    callbacks: null,
    async close() {
      await client.close()
      await smsc.close()
      await tap.close()
    },
  }
}

/** A proxy to the SMSC that notes the recipient of each message, accepted or not. */
async function startTap(port: number) {
  const recipients: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    const framesOf = createFramer()
    near.on('data', (chunk) => {
      for (const { command, body } of framesOf(chunk)) {
        if (command === 0x04) recipients.push(recipientOf(body))
      }
      far.write(chunk)
    })
    far.on('data', (chunk) => near.write(chunk))
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    recipients,
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

function recipientOf(body: Buffer): string {
  const header = Buffer.alloc(16)
  header.writeUInt32BE(16 + body.length, 0)
  header.writeUInt32BE(0x04, 4)
  header.writeUInt32BE(1, 12)
  const pdu = new (smpp.PDU as unknown as new (octets: Buffer) => { destination_addr: string })(
    Buffer.concat([header, body]),
  )
  return `+${pdu.destination_addr}`
}
