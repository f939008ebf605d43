import { isRecord } from '../../contract/fields/fields.ts'
import type { Outcome, Provider, SendJob } from '../../contract/outside/provider.ts'
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
    const outcome = outcomeOf(answer, { attempt: 1, now_ms: now_ms() })
    const reason = 'error_message' in outcome ? outcome.error_message : 'The answer has no number'
    return `${number}: ${reason}`
  }

  return {
    name,
    send: (jobs) => Promise.all(jobs.map(send)),
    readCallback: (request) => readCallback(request, { ...settings, graph_url }),
    async check() {
      const faults = await Promise.all(senders.map(checkSender))
      return faults.find((fault) => fault !== null) ?? null
    },
    close: () => http.close(),
  }
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
