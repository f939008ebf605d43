import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { APP_SECRET, type MetaPeer, startMetaPeer, VERIFY_TOKEN } from './peer.ts'
import type { MetaMessage } from './requests.ts'
import {
  inboundOf,
  notificationOf,
  signedCallback,
  statusOf,
  updatesOf,
  verificationCall,
} from './webhooks.ts'

const STATUS_AFTER_MS = 300
/** For the last digit of the recipient: the callbacks, and the statuses in each. */
const FATES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  5: [['sent', 'delivered', 'read']],
  6: [['delivered'], ['sent']],
  7: [['sent'], ['failed']],
  8: [['sent'], ['read']],
  9: [['sent'], ['failed'], ['delivered']],
}
const USUAL = [['sent'], ['delivered'], ['read']]

const TEXT = /^text\s+(\+\d+)\s+(.+)$/

/**
 * Runs the test Meta alone, to try the service: prints the value of `SVC_PROVIDERS` and each message that it accepts. With
 * the URL of our callbacks as its argument it sends the statuses of each message there: `sent`, `delivered`, `read`, one
 * after the other, or those in `FATES`. Commands on its input: `verify` verifies the URL, `text <from> <words>` sends a
 * message from a person.
 *
 *     node --conditions=source --import tsx packages/core/test/providers/whatsapp-cloud/alone.ts \
 *       http://127.0.0.1:3000/callbacks/wa
 */
async function runAlone(callback_url: string | undefined): Promise<void> {
  const peer = await startMetaPeer({
    onMessage(message) {
      console.log(JSON.stringify(message))
      if (callback_url !== undefined) void sendStatuses(peer, message, callback_url)
    },
  })
  console.log(`SVC_PROVIDERS='${JSON.stringify([peer.settings()])}'`)
  for await (const line of createInterface({ input: process.stdin })) {
    const [, from, body] = TEXT.exec(line) ?? []
    if (line === 'verify' && callback_url !== undefined) await verify(callback_url)
    else if (from && body && callback_url !== undefined) {
      const message = inboundOf(from, 'text', { id: `wamid.${randomUUID()}`, text: { body } })
      await sendUpdates(peer, callback_url, { messages: [message] })
    } else console.error('verify | text <from> <words>, with a callback URL as the argument')
  }
}

async function sendStatuses(peer: MetaPeer, message: MetaMessage, url: string): Promise<void> {
  for (const statuses of FATES[message.to.slice(-1)] ?? USUAL) {
    await new Promise((resolve) => setTimeout(resolve, STATUS_AFTER_MS))
    const updates = statuses.map((status) =>
      statusOf(message, status, status === 'failed' ? { code: 131026 } : {}),
    )
    await sendUpdates(peer, url, { statuses: updates }, message)
  }
}

async function sendUpdates(
  peer: MetaPeer,
  url: string,
  updates: Parameters<typeof updatesOf>[1],
  { phone_number_id }: { phone_number_id?: string } = {},
): Promise<void> {
  const [first] = peer.numbers
  const number = peer.numbers.find((each) => each.phone_number_id === phone_number_id) ?? first
  if (!number) return
  const { headers, body } = signedCallback(APP_SECRET, notificationOf(updatesOf(number, updates)))
  await posted(url, { method: 'POST', headers: { ...headers } as Record<string, string>, body })
}

async function verify(url: string): Promise<void> {
  const { search } = new URL(verificationCall(VERIFY_TOKEN).url)
  await posted(`${url}${search}`, { method: 'GET' })
}

async function posted(url: string, init: RequestInit): Promise<void> {
  const answer = await fetch(url, init).catch(String)
  const text = typeof answer === 'string' ? answer : `${answer.status} ${await answer.text()}`
  console.log(`callback answered ${text}`)
}

await runAlone(process.argv[2])
