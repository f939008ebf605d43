import { type Fate, type PeerMessage, providerContract } from '@svc/testkit/provider'
import { describe, it } from 'vitest'
import { createTwilio } from '../../../src/providers/twilio/twilio.ts'
import { twilioType } from '../../../src/providers/twilio/type.ts'
import { signedForm } from './callbacks.ts'
import { errorBody, type Play, type Posted, startTwilioPeer } from './peer.ts'

const CALLBACK_URL = 'https://svc.example/callbacks/twilio'
const SECRET = 'our-own-secret'

const PLAYS: Record<Fate, Play> = {
  accept: { type: 'accept' },
  reject: refusal(400, 21211, "The 'To' number is not a valid phone number"),
  throttle: refusal(429, 20429, 'Too Many Requests'),
  unavailable: refusal(503, 21730, 'Maintenance'),
  hang_after_read: { type: 'hang' },
  drop_after_read: { type: 'drop' },
}

function refusal(status: number, code: number, message: string): Play {
  return { type: 'answer', status, body: errorBody({ status, code, message }) }
}

/** Settings for the traits, which need no peer. */
const SETTINGS = {
  name: 'twilio',
  type: 'twilio',
  account_sid: `AC${'0'.repeat(32)}`,
  auth_token: '0'.repeat(32),
  senders: { sms: ['+15550100001'], whatsapp: ['+15550100003'], voice: ['+15550100001'] },
} as const

// WhatsApp uses the same calls as SMS; send.test.ts has the differences.
for (const channel of ['sms', 'voice'] as const) {
  providerContract(
    `twilio, ${channel}`,
    { describe, it },
    {
      channel,
      traits: twilioType.traits(twilioType.settings.parse(SETTINGS)),
      fates: Object.keys(PLAYS) as Fate[],
      refusals: ['refuse_connection', 'bad_credentials'],
      identifies: true,
      callbacks: { signs_body: true },
      async open(deadline_ms) {
        const peer = await startTwilioPeer()
        // The suite looks up at once, and the lists of the test Twilio have no lag.
        const settings = peer.settings({ list_lag_s: 0 })
        const context = {
          public_url: 'https://svc.example',
          callback_url: CALLBACK_URL,
          secret: SECRET,
        }
        const provider = createTwilio(settings, context, { deadline_ms, connect_ms: deadline_ms })
        const signed = (query: string, body: string) => {
          const form = new URLSearchParams(body)
          const request = signedForm(settings.auth_token, `${CALLBACK_URL}${query}`, form)
          return { ...request, body: Buffer.from(body) }
        }
        let count = 0
        return {
          provider,
          secrets: [settings.auth_token, SECRET],
          recipient(fate) {
            count += 1
            const recipient = `+1555777${String(count).padStart(4, '0')}`
            peer.plays(recipient, PLAYS[fate])
            return recipient
          },
          peer: {
            seen: () => peer.posted().map(peerMessageOf),
            connections: peer.connections,
            turn: async (how) => {
              if (how === 'refuse_connection') await peer.refuse()
              else peer.changeToken()
            },
          },
          callbacks: {
            of: ({ workspace_id, message_id }, status) =>
              signed(
                `?w=${workspace_id}&m=${message_id}`,
                `${new URLSearchParams(fieldsOf(settings.account_sid, status, channel))}`,
              ),
            signed: (body) => signed('', new TextDecoder().decode(body)),
          },
          async close() {
            await provider.close?.()
            await peer.close()
          },
        }
      },
    },
  )
}

function fieldsOf(AccountSid: string, status: 'delivered' | 'failed', channel: string) {
  if (channel !== 'voice') {
    return { AccountSid, MessageSid: `SM${'7'.repeat(32)}`, MessageStatus: status }
  }
  const ended = { delivered: ['completed', '12'], failed: ['busy', '0'] } as const
  const [CallStatus, CallDuration] = ended[status]
  return { AccountSid, CallSid: `CA${'7'.repeat(32)}`, CallStatus, CallDuration }
}

function peerMessageOf({ form, taken }: Posted): PeerMessage {
  const callback = form.get('StatusCallback')
  return {
    recipient: (form.get('To') ?? '').replace('whatsapp:', ''),
    accepted: taken !== null,
    identity: callback && new URL(callback).searchParams.get('m'),
    provider_message_id: taken && String(taken.resource.sid),
  }
}
