import { createInterface } from 'node:readline'
import type { startSmsc } from './smsc.ts'

const RECEIPT_AFTER_MS = 500
const MO = /^mo\s+(\S+)\s+(\S+)\s+(.+)$/

/**
 * Runs the test SMSC by itself, for trying the service: prints a value for `SVC_PROVIDERS` and each message, and sends
 * receipts. A line `mo <from> <to> <text>` on its input is a text from a phone.
 */
export async function runAlone(start: typeof startSmsc): Promise<void> {
  const smsc = await start({
    onMessage({ from, to, text, parts }) {
      console.log(JSON.stringify({ from, to, text, ids: parts.map(({ id }) => id) }))
      setTimeout(() => {
        for (const { id, registered_delivery } of parts) {
          if (registered_delivery % 4 === 1) void smsc.receipt(id)
        }
      }, RECEIPT_AFTER_MS)
    },
  })
  const bind = { host: '127.0.0.1', port: smsc.port, system_id: 'svc', password: 'secret' }
  const provider = { name: 'smsc', type: 'smpp', senders: ['12345'], binds: [bind] }
  console.log(`SVC_PROVIDERS='${JSON.stringify([provider])}'`)
  for await (const line of createInterface({ input: process.stdin })) {
    const [, from, to, text] = MO.exec(line) ?? []
    if (!from || !to || !text) {
      console.error('mo <from> <to> <text>')
      continue
    }
    void smsc.mo({ from, to, text }).then((statuses) => console.log(`mo answered ${statuses}`))
  }
}
