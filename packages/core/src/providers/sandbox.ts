import * as z from 'zod'
import type {
  JobRecipient,
  LookupJob,
  LookupResult,
  Outcome,
  Provider,
  Receipt,
  RecipientOutcome,
  RecipientReceipt,
  SendJob,
} from '../contract/outside/provider.ts'
import { CHANNELS } from '../contract/resources/content.ts'
import type { ProviderType } from './common-settings.ts'

const SLOW_MS = 30_000

/** The duration of an answered call. */
const CALL_S = 30

type Story =
  | { kind: 'rejected'; code: string; text: string }
  | { kind: 'accepted'; wait_ms: number; failure: { code: string; text: string } | null }

const DELIVERED: Story = { kind: 'accepted', wait_ms: 0, failure: null }
const INVALID: Story = {
  kind: 'rejected',
  code: 'invalid_recipient',
  text: 'The recipient does not exist',
}

/** The result for special recipients. Every other recipient gets the message. Contract section 9. */
const STORIES: Record<string, Story> = {
  '+15005550001': INVALID,
  'invalid@sandbox.svc': INVALID,
  '+15005550002': { kind: 'rejected', code: 'unroutable', text: 'No route to this recipient' },
  '+15005550004': { kind: 'rejected', code: 'opted_out', text: 'The recipient has opted out' },
  '+15005550005': { kind: 'accepted', wait_ms: SLOW_MS, failure: null },
  '+15005550007': {
    kind: 'accepted',
    wait_ms: 0,
    failure: { code: 'undelivered', text: 'The handset could not be reached' },
  },
  'bounced@sandbox.svc': {
    kind: 'accepted',
    wait_ms: 0,
    failure: { code: 'bounced', text: 'The mailbox does not exist' },
  },
}

/** The first attempt to this recipient fails temporarily; the second succeeds. */
const FLAKY = '+15005550009'

/** This recipient replies to the message. */
const TALKATIVE = '+15005550008'

const settings = z.strictObject({ type: z.literal('sandbox'), name: z.literal('sandbox') })

export const sandboxType = {
  settings,
  traits: () => ({
    channels: CHANNELS,
    senders: {},
    idempotent: true,
    lookup: true,
    callback_bytes: null,
    listens: false,
    connected: false,
    messages_per_second: null,
    handles_stop: false,
    several_recipients: true,
  }),
  open: async () => sandbox(),
} satisfies ProviderType<z.output<typeof settings>>

/**
 * A provider without a network. The result depends on the recipient only, so it keeps no state and a repeated message
 * counts once.
 */
export function sandbox(): Provider {
  return {
    name: 'sandbox',
    send: async (jobs) => jobs.map(outcomeOf),
    lookup: async (jobs) => jobs.map(resultOf),
  }
}

function storyOf(recipient: string): Story {
  return STORIES[recipient.toLowerCase()] ?? DELIVERED
}

function outcomeOf(job: SendJob): Outcome {
  if (job.recipient === FLAKY && job.attempt === 1) {
    return {
      type: 'retry',
      error_code: 'provider_unavailable',
      error_message: 'The provider is busy',
      delay_ms: null,
    }
  }
  if (job.recipients) return outcomeOfSeveral(job, job.recipients)
  const story = storyOf(job.recipient)
  if (story.kind === 'rejected') {
    return { type: 'rejected', error_code: story.code, error_message: story.text }
  }
  const accepted = { type: 'accepted', provider_message_id: idOf(job) } as const
  // Reported at once, because a look-up of each message would be a quarter of the storage's work for it.
  const isKnown = story === DELIVERED && job.channel !== 'voice' && job.recipient !== TALKATIVE
  if (isKnown) return { lookup_after_ms: null, status: 'delivered', ...accepted }
  return { lookup_after_ms: story.wait_ms, ...accepted }
}

/** Each recipient has its own story. */
function outcomeOfSeveral(job: SendJob, all: readonly JobRecipient[]): Outcome {
  const due = all.filter(({ is_due }) => is_due)
  const recipients = due.flatMap(({ address }): RecipientOutcome[] => {
    const story = storyOf(address)
    if (story.kind === 'accepted') return []
    return [{ address, type: 'rejected', error_code: story.code, error_message: story.text }]
  })
  const [first] = recipients
  if (first && recipients.length === due.length) {
    const { error_code, error_message } = first
    return { type: 'rejected', error_code, error_message, recipients }
  }
  const accepted = { type: 'accepted', provider_message_id: idOf(job), recipients } as const
  const isKnown = due.every(
    ({ address }) => storyOf(address) === DELIVERED || storyOf(address).kind === 'rejected',
  )
  return isKnown
    ? { ...accepted, lookup_after_ms: null, status: 'delivered' }
    : { ...accepted, lookup_after_ms: 0 }
}

/** The receipts of all recipients that the sandbox accepted. */
function receiptOfSeveral(job: LookupJob, all: readonly JobRecipient[]): Receipt {
  const recipients = all.flatMap(({ address }): RecipientReceipt[] => {
    const story = storyOf(address)
    if (story.kind === 'rejected') return []
    return [{ addresses: [address], ...statusOf(story) }]
  })
  const none = { error_code: null, error_message: null }
  return { status: 'sent', provider_message_id: idOf(job), ...none, recipients }
}

function statusOf({ failure }: Extract<Story, { kind: 'accepted' }>) {
  return {
    status: failure ? ('failed' as const) : ('delivered' as const),
    error_code: failure?.code ?? null,
    error_message: failure?.text ?? null,
  }
}

function resultOf(job: LookupJob): LookupResult {
  if (job.recipients) {
    // The send had no result, so it is made again: it gives each recipient its result.
    if (job.recipients.some(({ is_due }) => is_due)) return { type: 'not_found', certain: true }
    const receipts = [receiptOfSeveral(job, job.recipients)]
    return { type: 'found', receipts, replies: [], lookup_after_ms: null }
  }
  const story = storyOf(job.recipient)
  if (story.kind === 'rejected') return { type: 'not_found', certain: true }
  // An attempt in the future was made while the clock was ahead; `abs` keeps the wait below `wait_ms`.
  const left = story.wait_ms - Math.abs(job.now_ms - job.attempted_at_ms)
  if (left > 0) return { type: 'found', receipts: [], replies: [], lookup_after_ms: left }
  const receipt: Receipt = {
    ...statusOf(story),
    provider_message_id: idOf(job),
    ...(job.channel === 'voice' && { duration_s: story.failure ? 0 : CALL_S }),
  }
  const reply = { provider_message_id: `${idOf(job)}_reply`, text: 'Thank you!' }
  const replies = job.recipient === TALKATIVE ? [reply] : []
  return { type: 'found', receipts: [receipt], replies, lookup_after_ms: null }
}

function idOf({ message_id }: SendJob): string {
  return `sandbox_${message_id}`
}
