import {
  api,
  decode,
  type EmailContent,
  endpoint,
  invalid,
  type Message,
  SvcError,
  sendBodyBytes,
} from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import { keyOf } from '../../admission/authenticator.ts'
import type { Call, Handlers } from '../../routes/mount.ts'
import { emailBody, readTime, sendRequestOf } from './email-body.ts'
import { answer, listQuery, ONE_ID, ROOT } from './tables.ts'

const sending = { auth: 'api_key', scope: 'send_messages', rate: 'general', ...answer } as const
const reading = { auth: 'api_key', scope: 'read_messages', rate: 'general', ...answer } as const
const oneEmail = { params: ONE_ID, not_found: 'Email not found' } as const

/** The endpoints for e-mails. Source: https://resend.com/docs/api-reference/emails */
export const emailEndpoints = {
  send: endpoint({
    ...sending,
    method: 'POST',
    path: `${ROOT}/emails`,
    idempotent: true,
    asks_hosts: true,
    body_limit: sendBodyBytes(),
    takes_files: true,
    body: z.unknown(),
    summary: 'Send an e-mail',
  }),
  list: endpoint({
    ...reading,
    method: 'GET',
    path: `${ROOT}/emails`,
    query: listQuery,
    summary: 'List e-mails, newest first',
  }),
  get: endpoint({
    ...reading,
    ...oneEmail,
    method: 'GET',
    path: `${ROOT}/emails/:id`,
    summary: 'Get an e-mail',
  }),
  update: endpoint({
    ...sending,
    ...oneEmail,
    method: 'PATCH',
    path: `${ROOT}/emails/:id`,
    body: z.strictObject({ scheduled_at: z.string() }),
    summary: 'Give a scheduled e-mail another time',
  }),
  cancel: endpoint({
    ...sending,
    ...oneEmail,
    method: 'POST',
    path: `${ROOT}/emails/:id/cancel`,
    summary: 'Cancel a scheduled e-mail',
  }),
} as const

export function emailHandlers({
  messages,
  files,
  attachmentsMaxBytes: attachments_max_bytes,
  now,
}: Pick<DecodedCore, 'messages' | 'files' | 'attachmentsMaxBytes'> & { now: () => Date }): Handlers<
  typeof emailEndpoints
> {
  async function found(viewer: Call<unknown>['viewer'], id: string): Promise<Message> {
    const message = await messages.get(viewer, id)
    if (message.channel !== 'email') throw new SvcError('not_found', 'Email not found')
    return message
  }

  return {
    async send({ identity, body, idempotency_key, replayed, countMore }) {
      let fetches = 0
      const request = await sendRequestOf(decode(emailBody, body), {
        files: {
          // A server of a stranger gets no more requests than the caller may make here.
          async fetch(url) {
            if (fetches > 0) await countMore()
            fetches += 1
            return files.fetch(url)
          },
        },
        attachments_max_bytes,
        now: now(),
      })
      // Words such as `in 1 hour`, and the file at an address, mean something else when the request is repeated.
      const options = { idempotency_key, compared: { resend: body } }
      const sent = await messages.send(keyOf(identity), request, options)
      if (sent.replayed) replayed()
      return { id: sent.data.message_id }
    },
    async list({ viewer, query: { limit, after, before } }) {
      const query = { channel: 'email', limit: String(limit), after, before }
      const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value))
      const page = await messages.list(viewer, decode(api.messages.list.query, given))
      const [first] = page.messages
      return {
        object: 'list',
        has_more: before
          ? first !== undefined && (await hasBefore(viewer, first.id))
          : page.next_after !== null,
        data: page.messages.map((message) => emailSummary(message, now())),
      }
    },
    async get({ viewer, params }) {
      return emailRecord(await found(viewer, params.id), now())
    },
    async update({ viewer, params, body }) {
      await found(viewer, params.id)
      const scheduled_at = readTime(body.scheduled_at, now())
      const { id } = await messages.reschedule(viewer, params.id, { scheduled_at })
      return { object: 'email', id }
    },
    async cancel({ viewer, params }) {
      const { scheduled_at } = await found(viewer, params.id)
      if (scheduled_at === null) throw invalid('id', 'Only a scheduled email can be canceled')
      const { id } = await messages.cancel(viewer, params.id)
      return { object: 'email', id }
    },
  }

  async function hasBefore(viewer: Call<unknown>['viewer'], id: string): Promise<boolean> {
    const query = { channel: 'email', limit: '1', before: id }
    const { messages: newer } = await messages.listShort(
      viewer,
      decode(api.messages.list.query, query),
    )
    return newer.length > 0
  }
}

/** The last event of an e-mail, in Resend's words. */
function lastEventOf(
  { status, error_code, scheduled_at }: Pick<Message, 'status' | 'error_code' | 'scheduled_at'>,
  now: Date,
): string {
  if (status === 'queued') return scheduled_at && scheduled_at > now ? 'scheduled' : 'queued'
  if (status === 'read') return 'opened'
  if (status !== 'failed') return status
  return error_code === 'canceled' || error_code === 'bounced' || error_code === 'suppressed'
    ? error_code
    : 'failed'
}

/** The fields of an e-mail that a list has. */
function emailSummary(message: Message, now: Date) {
  const { id, created_at, scheduled_at } = message
  const content = message.content as Partial<EmailContent>
  return {
    id,
    to: recipientsOf(message),
    from: fromOf(message),
    created_at: created_at.toISOString(),
    subject: content.subject ?? '',
    bcc: content.bcc ?? null,
    cc: content.cc ?? null,
    reply_to: listOf(content.reply_to),
    last_event: lastEventOf(message, now),
    scheduled_at: scheduled_at?.toISOString() ?? null,
  }
}

/** The record of one e-mail. */
function emailRecord(message: Message, now: Date) {
  const { html = null, text = null, tags = [] } = message.content as Partial<EmailContent>
  return {
    object: 'email',
    ...emailSummary(message, now),
    html,
    text,
    tags,
    message_id: message.provider_message_id,
    topic_id: null,
  }
}

function recipientsOf({ recipient, recipients }: Message): string[] {
  if (!recipients) return [recipient]
  return recipients.filter(({ role }) => role === 'to').map(({ address }) => address)
}

function fromOf({ sender, content }: Message): string {
  const { from_address = '' } = content as Partial<EmailContent>
  if (sender === null || sender === '') return from_address
  return from_address === '' ? sender : `${sender} <${from_address}>`
}

function listOf(given: string | string[] | undefined): string[] | null {
  if (given === undefined) return null
  return typeof given === 'string' ? [given] : given
}
