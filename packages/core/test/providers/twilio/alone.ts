import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline'
import type { CallbackRequest } from '../../../src/contract/outside/provider.ts'
import { inboundFields, signedForm } from './callbacks.ts'
import { startTwilioPeer, type TwilioPeer } from './peer.ts'
import type { Taken } from './resources.ts'
import { readTwiml } from './twiml.ts'

const NEWS_AFTER_MS = 300
const ANSWERED_S = 7
const TEXT = /^(text|whatsapp)\s+(\+\d+)\s+(.+)$/

type News = Parameters<TwilioPeer['advance']>[1]

/**
 * Runs the test Twilio by itself, for trying the service: prints a value for `SVC_PROVIDERS` and each message it accepts,
 * and reports the message's status to its callback address: delivered, or not for recipients that end in 7. The lines
 * `text <from> <words>` and `whatsapp <from> <words>` on its input are messages from a person to the first sender. They
 * are posted to the address in the argument.
 *
 *     node --conditions=source --import tsx packages/core/test/providers/twilio/peer.ts \
 *       http://127.0.0.1:3000/callbacks/twilio
 */
export async function runAlone(callback_url: string | undefined): Promise<void> {
  const peer = await startTwilioPeer({
    onTaken(taken) {
      console.log(JSON.stringify(shown(taken)))
      void reportStatuses(peer, taken)
    },
  })
  console.log(`SVC_PROVIDERS='${JSON.stringify([peer.settings()])}'`)
  for await (const line of createInterface({ input: process.stdin })) {
    const [, channel, from, body] = TEXT.exec(line) ?? []
    if (from && body && callback_url !== undefined) {
      await post(inboundOf(peer, callback_url, { is_whatsapp: channel === 'whatsapp', from, body }))
    } else console.error('text|whatsapp <from> <words>, with a callback address as the argument')
  }
}

function shown({ kind, resource, form }: Taken): object {
  const twiml = form.get('Twiml')
  return {
    kind,
    sid: resource.sid,
    ...Object.fromEntries(form),
    ...(twiml && { verbs: readTwiml(twiml) }),
  }
}

async function reportStatuses(peer: TwilioPeer, taken: Taken): Promise<void> {
  const is_lost = String(taken.resource.to).endsWith('7')
  for (const news of taken.kind === 'Calls' ? callNews(taken, is_lost) : messageNews(is_lost)) {
    await new Promise((resolve) => setTimeout(resolve, NEWS_AFTER_MS))
    const request = peer.advance(taken, news)
    if (request) await post(request)
  }
}

function messageNews(is_lost: boolean): News[] {
  return is_lost
    ? [{ status: 'sent' }, { status: 'undelivered', code: 30005 }]
    : [{ status: 'sent' }, { status: 'delivered' }]
}

/** A call is never longer than its limit. */
function callNews({ form }: Taken, is_lost: boolean): News[] {
  const duration_s = Math.min(ANSWERED_S, Number(form.get('TimeLimit') ?? ANSWERED_S))
  const end = is_lost ? { status: 'no-answer', duration_s: 0 } : { status: 'completed', duration_s }
  return [{ status: 'initiated' }, end]
}

function inboundOf(
  { account }: TwilioPeer,
  url: string,
  { is_whatsapp, from, body }: { is_whatsapp: boolean; from: string; body: string },
): CallbackRequest {
  const to = (is_whatsapp ? account.whatsapp[0] : account.numbers[0]) ?? ''
  const prefix = is_whatsapp ? 'whatsapp:' : ''
  const sid = `SM${randomBytes(16).toString('hex')}`
  const message = { sid, from: prefix + from, to: prefix + to, body }
  return signedForm(account.auth_token, url, inboundFields(account.account_sid, message))
}

async function post({ url, headers, body }: CallbackRequest): Promise<void> {
  const init = {
    method: 'POST',
    headers: headers as Record<string, string>,
    body: Buffer.from(body),
  }
  const answer = await fetch(url, init).catch(String)
  const text = typeof answer === 'string' ? answer : `${answer.status} ${await answer.text()}`
  console.log(`callback answered ${text}`)
}
