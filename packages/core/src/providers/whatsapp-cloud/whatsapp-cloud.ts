import { isRecord } from '../../contract/fields/fields.ts'
import type {
  Outcome,
  Provider,
  ProviderTemplate,
  SendJob,
  TemplateList,
} from '../../contract/outside/provider.ts'
import { createProviderClient, type ProviderClient } from '../http-client.ts'
import { messageBody } from './body.ts'
import { readCallback } from './callback.ts'
import { outcomeOf } from './outcome.ts'
import type { WhatsappCloudSettings } from './settings.ts'

type Sender = WhatsappCloudSettings['senders'][number]

interface WhatsappCloudOptions {
  now_ms?: () => number
  http?: ProviderClient
}

/** Sends through Meta's Cloud API, with one call for each message. */
export function openWhatsappCloud(
  settings: WhatsappCloudSettings,
  { now_ms = Date.now, http = createProviderClient() }: WhatsappCloudOptions = {},
): Provider {
  const { name, access_token, senders } = settings
  const graph_url = `${settings.api_url}/${settings.api_version}`
  const authorization = { authorization: `Bearer ${access_token}` }

  async function send(job: SendJob): Promise<Outcome> {
    const sender = senderOf(job.sender, senders)
    if (!sender) return UNKNOWN_SENDER
    const body = messageBody(job, settings)
    if (typeof body !== 'string') return body
    const answer = await http.call({
      method: 'POST',
      url: `${graph_url}/${sender.phone_number_id}/messages`,
      headers: { ...authorization, 'content-type': 'application/json' },
      body,
    })
    return outcomeOf(answer, { attempt: job.attempt, now_ms: now_ms() })
  }

  async function checkSender({ number, phone_number_id }: Sender): Promise<string | null> {
    const url = `${graph_url}/${phone_number_id}?fields=display_phone_number`
    const answer = await http.call({ method: 'GET', url, headers: authorization })
    if (answer.type !== 'answered') return `${number}: ${answer.text}`
    const shown = isRecord(answer.json) ? answer.json.display_phone_number : null
    if (answer.status === 200 && typeof shown === 'string') {
      const isSame = shown.replaceAll(/\D/g, '') === number.slice(1)
      return isSame ? null : `${number}: Meta knows its phone number ID as another number`
    }
    return `${number}: ${reasonOf(answer) ?? 'The answer has no number'}`
  }

  /** The reason of an answer with an error. */
  function reasonOf(answer: Parameters<typeof outcomeOf>[0]): string | null {
    const outcome = outcomeOf(answer, { attempt: 1, now_ms: now_ms() })
    return 'error_message' in outcome ? outcome.error_message : null
  }

  /** Source: Meta, Graph API, WhatsApp Business Account, Message templates; cursor-based pagination. */
  async function templatesOf(account: string): Promise<ProviderTemplate[] | string> {
    const found: ProviderTemplate[] = []
    const fields = `fields=name,language,status,rejected_reason&limit=${PAGE}`
    let after = ''
    for (let pages = 0; pages < PAGES_MAX; pages++) {
      const url = `${graph_url}/${account}/message_templates?${fields}${after}`
      const answer = await http.call({ method: 'GET', url, headers: authorization })
      if (answer.type !== 'answered') return answer.text
      const { data, paging } = isRecord(answer.json) ? answer.json : {}
      if (answer.status !== 200 || !Array.isArray(data)) {
        return (answer.status === 200 ? null : reasonOf(answer)) ?? 'The answer has no templates'
      }
      for (const one of data) found.push(...templateIn(one))
      const { next, cursors } = isRecord(paging) ? paging : {}
      if (next === undefined) return found
      // The address of the next page may have another host, which must not get the token.
      const cursor = isRecord(cursors) ? cursors.after : undefined
      if (typeof cursor !== 'string' || cursor.length > CURSOR_MAX)
        return 'The answer has no cursor'
      after = `&after=${encodeURIComponent(cursor)}`
    }
    return `The account has more than ${PAGE * PAGES_MAX} templates`
  }

  async function listTemplates(accounts: readonly string[]): Promise<TemplateList> {
    const templates: ProviderTemplate[] = []
    for (const account of accounts) {
      const found = await templatesOf(account)
      if (typeof found === 'string') return { type: 'unavailable', reason: `${account}: ${found}` }
      templates.push(...found)
    }
    // An account may have a template that another one has not got approved.
    templates.sort((a, b) => Number(a.is_approved) - Number(b.is_approved))
    return { type: 'listed', templates, ids: settings.templates ?? {} }
  }

  const { business_account_ids: accounts } = settings
  return {
    name,
    ...(accounts && { templates: () => listTemplates(accounts) }),
    send: (jobs) => Promise.all(jobs.map(send)),
    readCallback: (request) => readCallback(request, { ...settings, graph_url }),
    async check() {
      const faults = await Promise.all(senders.map(checkSender))
      return faults.find((fault) => fault !== null) ?? null
    },
    close: () => http.close(),
  }
}

/** Templates of one answer, and the pages of one account. Meta allows 6,000 templates, each in several languages. */
const PAGE = 250
const PAGES_MAX = 80
const CURSOR_MAX = 2_000

function templateIn(value: unknown): ProviderTemplate[] {
  if (!isRecord(value)) return []
  const { name, language, status, rejected_reason } = value
  if (typeof name !== 'string' || typeof language !== 'string') return []
  const shown = wordIn(status) ?? 'UNKNOWN'
  const reason = wordIn(rejected_reason)
  return [
    {
      ...{ name, language, status: shown, is_approved: shown === 'APPROVED' },
      ...(PENDING.has(shown) && { is_pending: true }),
      ...(reason !== null && reason !== 'NONE' && { reason }),
    },
  ]
}

/** The states of a template about which Meta has not decided, or not finally. */
const PENDING: ReadonlySet<string> = new Set(['PENDING', 'IN_APPEAL'])

function wordIn(value: unknown): string | null {
  return typeof value === 'string' && /^[A-Z_]{1,40}$/.test(value) ? value : null
}

/** The sender with this number; for null, the first sender. */
function senderOf(number: string | null, senders: readonly Sender[]): Sender | undefined {
  return number === null ? senders[0] : senders.find((sender) => sender.number === number)
}

/** The settings have changed since the message was accepted. */
const UNKNOWN_SENDER: Outcome = {
  type: 'retry',
  error_code: 'sender_invalid',
  error_message: 'The sender is not in the settings of the provider',
  delay_ms: null,
  misconfigured: 'sender',
}
