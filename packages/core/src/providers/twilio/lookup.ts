import type { LookupJob, LookupResult, Receipt } from '../../contract/outside/provider.ts'
import type { SmsContent, WhatsappContent } from '../../contract/resources/content.ts'
import type { TwilioApi } from './api.ts'
import { codeOf } from './codes.ts'
import { fieldOf } from './outcome.ts'
import { readResources } from './pages.ts'
import { callReceipt, isFinal, messageReceipt, secondsOf } from './receipt.ts'
import { addressOf, resourceOf, senderOf } from './request.ts'
import type { TwilioSettings } from './settings.ts'
import { isListSettled, pollAfterMs } from './waits.ts'

/** Twilio's clock may be behind ours by so much, and it tells whole seconds. */
const CLOCK_SLACK_MS = 5_000

/** What a trial account puts before every text. */
const TRIAL_PREFIX = 'Sent from your Twilio trial account - '

interface Tools {
  api: TwilioApi
  settings: TwilioSettings
  /** Whether Twilio can tell by itself. */
  has_callbacks: boolean
  /** What was found for a message of the same batch is no other's. */
  taken: Set<string>
}

/** Asks how a message fares: by its id, or, where that is not known, by what was sent. */
export function lookUp(job: LookupJob, tools: Tools): Promise<LookupResult> {
  return job.provider_message_id === null
    ? findOne(job, tools)
    : readOne(job, job.provider_message_id, tools)
}

async function readOne(job: LookupJob, sid: string, tools: Tools): Promise<LookupResult> {
  const path = `/${resourceOf(job.channel)}/${encodeURIComponent(sid)}.json`
  const answer = await tools.api.read(path)
  if (answer.type !== 'answered') return { type: 'unavailable' }
  const { status, json } = answer
  // Anything may answer 404 at a wrong address; this code is Twilio's.
  if (status === 404 && codeOf(fieldOf(json, 'code')) === 20404) return { type: 'not_found' }
  if (status !== 200 || fieldOf(json, 'sid') !== sid) return { type: 'unavailable' }
  return found(job, json, tools)
}

/**
 * Reads everything that the recipient was sent and looks for what this message says. The dates that Twilio can filter by
 * are those of sending, which a message that waits in its queue does not have: it would be hidden. And its lists are
 * known to lag behind, so that for a while a missing message proves nothing.
 */
async function findOne(job: LookupJob, tools: Tools): Promise<LookupResult> {
  const { settings, taken } = tools
  const sender = senderOf(job, settings)
  if (sender === null) return { type: 'unavailable' }
  const read = await readResources(tools.api, resourceOf(job.channel), {
    To: addressOf(job.channel, job.recipient),
  })
  const matches = read.resources.filter((one) => isSame(one, job, sender)).sort(byCreation)
  const match = matches.find((one) => !taken.has(String(fieldOf(one, 'sid'))))
  if (match !== undefined) {
    taken.add(String(fieldOf(match, 'sid')))
    return found(job, match, tools)
  }
  const is_absent = read.whole && isListSettled(job, settings.list_lag_s)
  return { type: is_absent ? 'not_found' : 'unavailable' }
}

function isSame(resource: unknown, job: LookupJob, sender: string): boolean {
  const created_ms = Date.parse(String(fieldOf(resource, 'date_created')))
  return (
    // NaN is not less: what has no date is taken for new.
    !(created_ms < job.attempted_at_ms - CLOCK_SLACK_MS) &&
    String(fieldOf(resource, 'direction')).startsWith('outbound') &&
    fieldOf(resource, 'to') === addressOf(job.channel, job.recipient) &&
    [fieldOf(resource, 'from'), fieldOf(resource, 'messaging_service_sid')].includes(
      sender.startsWith('MG') ? sender : addressOf(job.channel, sender),
    ) &&
    saysTheSame(resource, job)
  )
}

/** A call's TwiML is not told again, nor is the text that a template became: there sender, recipient and time must do. */
function saysTheSame(resource: unknown, job: LookupJob): boolean {
  if (job.channel === 'voice') return true
  const { template, media } = job.content as WhatsappContent
  if (template) return true
  const text = media ? (media.caption ?? '') : ((job.content as SmsContent).text ?? '')
  const body = String(fieldOf(resource, 'body') ?? '')
  const told = body.startsWith(TRIAL_PREFIX) ? body.slice(TRIAL_PREFIX.length) : body
  return told.trim() === text.trim()
}

function byCreation(a: unknown, b: unknown): number {
  const [first, second] = [a, b].map((one) => Date.parse(String(fieldOf(one, 'date_created'))))
  return (first ?? 0) - (second ?? 0)
}

function found(job: LookupJob, resource: unknown, { has_callbacks }: Tools): LookupResult {
  const receipt = receiptOf(job, resource)
  return {
    type: 'found',
    receipts: [receipt],
    replies: [],
    lookup_after_ms: isFinal(receipt) ? null : pollAfterMs(job, has_callbacks),
  }
}

function receiptOf(job: LookupJob, resource: unknown): Receipt {
  const sid = String(fieldOf(resource, 'sid'))
  const status = String(fieldOf(resource, 'status'))
  const code = codeOf(fieldOf(resource, 'error_code'))
  if (job.channel !== 'voice') return messageReceipt({ sid, status, code })
  const duration_s = secondsOf(fieldOf(resource, 'duration'))
  return callReceipt({ sid, status, code, duration_s })
}
