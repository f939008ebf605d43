import { DEADLINES_MS } from '@svc/testkit/provider'
import type { LookupJob, Provider, SendJob } from '../../../src/contract/outside/provider.ts'
import type { TwilioSettings } from '../../../src/providers/twilio/settings.ts'
import { createTwilio } from '../../../src/providers/twilio/twilio.ts'
import { startTwilioPeer, type TwilioPeer } from './peer.ts'

export const CALLBACK_URL = 'https://svc.example/callbacks/twilio'

export interface TwilioBench {
  peer: TwilioPeer
  provider: Provider
  settings: TwilioSettings
  /** Sends the message and returns its form; throws if no request was posted. */
  formOf(job: SendJob): Promise<URLSearchParams>
  close(): Promise<void>
}

/** Opens a provider and its peer; `now` is the peer's clock. */
export async function openTwilioBench({
  settings: more = {},
  callback_url = CALLBACK_URL,
  now = () => new Date(),
  deadline_ms = DEADLINES_MS.patient,
}: {
  settings?: Partial<TwilioSettings>
  callback_url?: string
  now?: () => Date
  deadline_ms?: number
} = {}): Promise<TwilioBench> {
  const peer = await startTwilioPeer({ now })
  const settings = peer.settings(more)
  const context = { public_url: 'https://svc.example', callback_url, secret: 'ours' }
  const provider = createTwilio(settings, context, { deadline_ms, connect_ms: deadline_ms })
  return {
    peer,
    provider,
    settings,
    async formOf(job) {
      const [outcome] = await provider.send([job])
      const form = peer.posted().at(-1)?.form
      if (!form) throw new Error(`nothing was posted: ${JSON.stringify(outcome)}`)
      return form
    },
    async close() {
      await provider.close?.()
      await peer.close()
    },
  }
}

let count = 0

/** A new message to a new recipient. */
export function jobOf(more: Partial<SendJob> = {}): SendJob {
  count += 1
  const number = String(count).padStart(12, '0')
  return {
    workspace_id: '11111111-1111-4111-8111-111111111111',
    message_id: `22222222-2222-4222-8222-${number}`,
    channel: 'sms',
    sender: null,
    recipient: `+1555${number.slice(-7)}`,
    content: { text: 'Your order A1 is ready' },
    attempt: 1,
    created_at_ms: Date.now(),
    max_duration_s: more.channel === 'voice' ? 120 : null,
    ...more,
  }
}

/** The look-up after an unanswered attempt. */
export function questionOf(job: SendJob, more: Partial<LookupJob> = {}): LookupJob {
  const attempted_at_ms = job.created_at_ms
  return { ...job, provider_message_id: null, attempted_at_ms, now_ms: attempted_at_ms, ...more }
}
