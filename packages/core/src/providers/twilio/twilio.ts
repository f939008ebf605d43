import type { CallInstance } from 'twilio/lib/rest/api/v2010/account/call.js'
import type { MessageInstance } from 'twilio/lib/rest/api/v2010/account/message.js'
import type { ContentAndApprovalsInstance } from 'twilio/lib/rest/content/v1/contentAndApprovals.js'
import type {
  LookupJob,
  LookupResult,
  Outcome,
  Provider,
  ProviderContext,
  ProviderTemplate,
  Receipt,
  SendJob,
  TemplateList,
} from '../../contract/outside/provider.ts'
import type { SmsContent, WhatsappContent } from '../../contract/resources/content.ts'
import { createProviderClient, type ProviderClientOptions } from '../http-client.ts'
import { readCallback } from './callback.ts'
import type { TwilioClient } from './client.ts'
import { codeOf } from './codes.ts'
import { acceptedAs, fieldOf, outcomeOf, problemOf, UnsuccessfulCall } from './outcome.ts'
import { callReceipt, isFinal, messageReceipt, secondsOf } from './receipt.ts'
import { addressOf, callbackBase, RING_TIMEOUT_S, requestFor, senderOf } from './request.ts'
import { checksApprovals, isMessagingService, type TwilioSettings } from './settings.ts'
import { firstPollMs, isListSettled, pollAfterMs } from './waits.ts'

/** Options for tests: the clock, and the limits of the HTTP client. */
interface Options extends ProviderClientOptions {
  now?: () => Date
}

/** A full page of long texts is larger than other answers. */
const BODY_MAX = 4 * 1024 * 1024

/**
 * Messages and calls through Twilio's REST API, with Twilio's own package. The number of calls in flight is at most
 * the number of connections of the HTTP client. A call that gets no connection in time was not sent and is a `retry`.
 */
export function createTwilio(
  settings: TwilioSettings,
  { callback_url, may_start, note_call }: ProviderContext,
  { now = () => new Date(), ...options }: Options = {},
): Provider {
  const http = createProviderClient({
    body_max: BODY_MAX,
    may_start,
    on_call: note_call,
    ...options,
  })
  const ring_timeout_s = settings.ring_timeout_s ?? RING_TIMEOUT_S
  const status_callback_base = callbackBase(settings, callback_url)
  const has_callbacks = status_callback_base !== null

  let opened: TwilioClient | undefined

  /** Loads the package on the first call: neither the start nor the thread that reads callbacks needs it. */
  async function open(): Promise<TwilioClient> {
    const { createTwilioClient } = await import('./client.ts')
    opened ??= createTwilioClient(settings, http)
    return opened
  }

  async function sendOne(job: SendJob): Promise<Outcome> {
    const request = requestFor(job, settings, status_callback_base)
    if (request.type === 'refused') return request.outcome
    const client = await open()
    try {
      const { sid } =
        request.type === 'call'
          ? await client.calls.create(request.params)
          : await client.messages.create(request.params)
      return acceptedAs(sid, firstPollMs(job, { has_callbacks, ring_timeout_s }))
    } catch (error) {
      return outcomeOf(error, now().getTime())
    }
  }

  /** Source: Twilio, Content API, fetch information about templates and approval statuses. */
  async function listTemplates(): Promise<TemplateList> {
    const templates: ProviderTemplate[] = []
    try {
      const { contentAndApprovals } = (await open()).content.v1
      let page: ContentPage | undefined = await contentAndApprovals.page({ pageSize: CONTENTS })
      for (let count = 1; page; count++) {
        for (const one of page.instances) templates.push(...templateIn(one))
        if (!page.nextPageUrl) break
        if (count === CONTENT_PAGES_MAX) {
          return {
            type: 'unavailable',
            reason: `More than ${CONTENTS * CONTENT_PAGES_MAX} templates`,
          }
        }
        page = await page.nextPage()
      }
    } catch (error) {
      return { type: 'unavailable', reason: problemOf(error) }
    }
    const bySid = new Map(templates.map(({ name, language }) => [name, { name, language }]))
    const named = Object.entries(settings.content_sids ?? {}).flatMap(([name, sid]) => {
      const template = bySid.get(sid)
      return template ? [[name, template] as const] : []
    })
    const aliases = Object.fromEntries([...bySid, ...named])
    return { type: 'listed', templates, ids: {}, aliases, advice: UNAPPROVED }
  }

  return {
    name: settings.name,
    ...(checksApprovals(settings) && { templates: listTemplates }),
    send: (jobs) => Promise.all(jobs.map(sendOne)),
    async lookup(jobs) {
      const tools = { client: await open(), settings, has_callbacks, taken: new Set<string>() }
      return Promise.all(jobs.map((job) => lookUp(job, tools)))
    },
    readCallback: (request) => readCallback(request, settings),
    async check() {
      const client = await open()
      try {
        // Standard API keys have no permission to read accounts.
        if (settings.api_key_sid !== undefined) {
          await client.messages.page({ pageSize: 1 })
          return null
        }
        const { sid, status } = await client.api.accounts(settings.account_sid).fetch()
        if (sid !== settings.account_sid) return problemOf(null)
        return status === 'active' ? null : 'Twilio: The account is not active'
      } catch (error) {
        return problemOf(error)
      }
    },
    close: () => http.close(),
  }
}

/** Templates of one answer, some kilobytes each, and the pages of an account. */
const CONTENTS = 200
const CONTENT_PAGES_MAX = 50

const PENDING = new Set(['received', 'pending'])

const UNAPPROVED =
  'Answers within 24 hours need no approval: the operator allows such templates with check_approvals: false in the settings of the provider'

interface ContentPage {
  instances: ContentAndApprovalsInstance[]
  nextPageUrl?: string
  nextPage(): Promise<ContentPage> | undefined
}

/** A template under its ContentSid. The fields of an answer are not checked, so they may differ from the package's types. */
function templateIn({
  sid,
  language,
  approvalRequests,
}: ContentAndApprovalsInstance): ProviderTemplate[] {
  if (typeof sid !== 'string' || typeof language !== 'string') return []
  const status = wordIn(fieldOf(approvalRequests, 'status')) ?? 'unsubmitted'
  const reason = wordIn(fieldOf(approvalRequests, 'rejection_reason'))
  return [
    {
      ...{ name: sid, language, status, is_approved: status === 'approved' },
      ...(PENDING.has(status) && { is_pending: true }),
      ...(reason !== null && { reason }),
    },
  ]
}

function wordIn(value: unknown): string | null {
  return typeof value === 'string' && /^\w{1,60}$/.test(value) ? value : null
}

/** Twilio's clock may be this far behind ours, and Twilio's dates are whole seconds. */
const CLOCK_SLACK_MS = 5_000

/** A trial account puts this before every text. */
const TRIAL_PREFIX = 'Sent from your Twilio trial account - '

const PAGE_SIZE = 500
const PAGES_MAX = 10

/** No further page is requested after this time, so that even with a slow last call a look-up takes at most 20 s. */
const PAGING_MS = 4_000

/** An entry of an answer. Its fields are not checked, so they may differ from the package's types. */
type Resource = MessageInstance | CallInstance

interface Tools {
  client: TwilioClient
  settings: TwilioSettings
  /** Whether Twilio can call us. */
  has_callbacks: boolean
  /** The ids that were found for other messages of the same batch. */
  taken: Set<string>
}

/** Looks up the state of a message: by its id, or by its contents if the id is not known. */
function lookUp(job: LookupJob, tools: Tools): Promise<LookupResult> {
  return job.provider_message_id === null
    ? findOne(job, tools)
    : readOne(job, job.provider_message_id, tools)
}

async function readOne(job: LookupJob, sid: string, tools: Tools): Promise<LookupResult> {
  const { client } = tools
  try {
    const resource =
      job.channel === 'voice' ? await client.calls(sid).fetch() : await client.messages(sid).fetch()
    return resource.sid === sid ? found(job, resource, tools) : { type: 'unavailable' }
  } catch (error) {
    return { type: isNotFound(error) ? 'not_found' : 'unavailable' }
  }
}

/** Any server may answer 404 at a wrong address, but only Twilio sends this code. */
function isNotFound(error: unknown): boolean {
  if (!(error instanceof UnsuccessfulCall) || error.answer.type !== 'answered') return false
  const { status, json } = error.answer
  return status === 404 && codeOf(fieldOf(json, 'code')) === 20404
}

/**
 * Searches the list of all messages to the recipient for the contents of this message. Twilio's filters by date use
 * the date of sending. A message that waits in Twilio's queue has no such date, and a filter would hide it. Twilio's
 * lists lag behind, so at first a missing message proves nothing.
 */
async function findOne(job: LookupJob, tools: Tools): Promise<LookupResult> {
  const { settings, taken } = tools
  const sender = senderOf(job, settings)
  if (sender === null) return { type: 'unavailable' }
  const { resources, whole } = await readList(job, tools.client)
  const matches = resources.filter((one) => isSame(one, job, sender)).sort(byCreation)
  const match = matches.find(({ sid }) => !taken.has(String(sid)))
  if (match) {
    taken.add(String(match.sid))
    return found(job, match, tools)
  }
  const is_absent = whole && isListSettled(job, settings.list_lag_s)
  return { type: is_absent ? 'not_found' : 'unavailable' }
}

/** Reads the list, newest first. `whole` is false if a page could not be read or if the list exceeds the limits. */
async function readList(
  { channel, recipient }: LookupJob,
  client: TwilioClient,
): Promise<{ resources: Resource[]; whole: boolean }> {
  const began = performance.now()
  const filter = { to: addressOf(channel, recipient), pageSize: PAGE_SIZE }
  const resources: Resource[] = []
  try {
    let page: Page | undefined =
      channel === 'voice' ? await client.calls.page(filter) : await client.messages.page(filter)
    for (let count = 1; page; count++) {
      resources.push(...page.instances)
      if (!page.nextPageUrl) return { resources, whole: true }
      if (count === PAGES_MAX || performance.now() - began > PAGING_MS) break
      page = await page.nextPage()
    }
  } catch {
    // A missing page proves nothing about the message.
  }
  return { resources, whole: false }
}

interface Page {
  instances: Resource[]
  nextPageUrl?: string
  nextPage(): Promise<Page> | undefined
}

function isSame(resource: Resource, job: LookupJob, sender: string): boolean {
  return (
    // A resource without a date (NaN) counts as new.
    !(createdMs(resource) < job.attempted_at_ms - CLOCK_SLACK_MS) &&
    String(resource.direction).startsWith('outbound') &&
    resource.to === addressOf(job.channel, job.recipient) &&
    (isMessagingService(sender)
      ? 'messagingServiceSid' in resource && resource.messagingServiceSid === sender
      : resource.from === addressOf(job.channel, sender)) &&
    hasSameContent(resource, job)
  )
}

/** Twilio shows neither a call's TwiML nor a template's name: here sender, recipient and time are enough. */
function hasSameContent(resource: Resource, job: LookupJob): boolean {
  if (!('body' in resource)) return true
  const { template, media } = job.content as WhatsappContent
  if (template) return true
  const text = media ? (media.caption ?? '') : ((job.content as SmsContent).text ?? '')
  const body = String(resource.body ?? '')
  const shown = body.startsWith(TRIAL_PREFIX) ? body.slice(TRIAL_PREFIX.length) : body
  return shown.trim() === text.trim()
}

function byCreation(a: Resource, b: Resource): number {
  return (createdMs(a) || 0) - (createdMs(b) || 0)
}

/** Returns NaN if the answer has no date. */
function createdMs({ dateCreated }: Resource): number {
  return dateCreated instanceof Date ? dateCreated.getTime() : Number.NaN
}

function found(job: LookupJob, resource: Resource, { has_callbacks }: Tools): LookupResult {
  const receipt = receiptOf(resource)
  return {
    type: 'found',
    receipts: [receipt],
    replies: [],
    lookup_after_ms: isFinal(receipt) ? null : pollAfterMs(job, has_callbacks),
  }
}

function receiptOf(resource: Resource): Receipt {
  const [sid, status] = [String(resource.sid), String(resource.status)]
  if ('duration' in resource) {
    return callReceipt({ sid, status, code: null, duration_s: secondsOf(resource.duration) })
  }
  return messageReceipt({ sid, status, code: codeOf(resource.errorCode) })
}
