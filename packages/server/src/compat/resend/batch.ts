import { createHash } from 'node:crypto'
import { decode, endpoint, invalid, LIMITS, SvcError } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import { keyOf } from '../../admission/authenticator.ts'
import type { Call, Handlers } from '../../routes/mount.ts'
import { type EmailBody, emailBody, sendRequestOf } from './email-body.ts'
import { validationError } from './errors.ts'
import { answer, ROOT } from './tables.ts'

const BATCH_MAX = 100

/** The endpoint for up to 100 e-mails. Source: https://resend.com/docs/api-reference/emails/send-batch-emails */
export const batchEndpoints = {
  send: endpoint({
    auth: 'api_key',
    scope: 'send_messages',
    // The rate of bulks: the requests send many messages.
    rate: 'bulk',
    ...answer,
    method: 'POST',
    path: `${ROOT}/emails/batch`,
    idempotent: true,
    body_limit: LIMITS.bulk_body_bytes,
    body: z.unknown(),
    summary: 'Send up to 100 e-mails',
  }),
} as const

type SendRequest = Awaited<ReturnType<typeof sendRequestOf>>
type Parts = Pick<DecodedCore, 'messages' | 'files'> & { now: () => Date }

/** One e-mail of a batch: ready to be sent, or refused. */
type Draft = { index: number } & (
  | { request: SendRequest; fault: null }
  | { request: null; fault: string }
)

export function batchHandlers(parts: Parts): Handlers<typeof batchEndpoints> {
  return {
    async send(call) {
      const isStrict = call.reply.request.headers['x-batch-validation'] !== 'permissive'
      const drafts: Draft[] = []
      for (const [index, given] of listOf(call.body).entries()) {
        drafts.push(await draftOf(index, given, isStrict, parts))
      }
      if (isStrict) await checkTogether(parts, call, drafts)
      const data: { id: string }[] = []
      const errors = drafts.flatMap(({ index, fault }) =>
        fault === null ? [] : [{ index, message: fault }],
      )
      const results = await sendAll(parts, call, drafts)
      for (const [index, result] of results.entries()) {
        if (result.status === 'rejected')
          errors.push({ index, message: refusalOf(result.reason, isStrict) })
        else if (result.value !== null) data.push({ id: result.value })
      }
      errors.sort((a, b) => a.index - b.index)
      return isStrict ? { data } : { data, errors }
    },
  }
}

function listOf(body: unknown): unknown[] {
  if (!Array.isArray(body) || body.length === 0) {
    throw invalid('', 'The request body must be an array of emails.')
  }
  if (body.length > BATCH_MAX) {
    throw invalid('emails', `A batch can have at most ${BATCH_MAX} emails.`)
  }
  return body
}

async function draftOf(
  index: number,
  given: unknown,
  isStrict: boolean,
  parts: Parts,
): Promise<Draft> {
  try {
    const email: EmailBody = decode(emailBody, given)
    if (email.attachments) throw invalid('attachments', 'A batch cannot have `attachments`.')
    const request = await sendRequestOf(email, { files: parts.files, now: parts.now() })
    return { index, request, fault: null }
  } catch (error) {
    if (isStrict || !isRefusal(error)) throw error
    return { index, request: null, fault: validationError(error).message }
  }
}

/** Checks the e-mails and the credits for all of them before the first one is sent. */
async function checkTogether(
  { messages }: Parts,
  { identity }: Call<unknown>,
  drafts: readonly Draft[],
) {
  let needed = 0
  for (const { index, request } of drafts) {
    if (!request) continue
    const {
      can_send,
      block_reason,
      credits_needed,
      credits_balance,
      messages: found,
    } = await messages.estimate(keyOf(identity), request)
    needed += credits_needed
    const blocked = found.find((one) => one.block_reason !== null)
    if (blocked)
      throw invalid(`${index}.to`, `Email ${index}: the recipient is ${blocked.block_reason}`)
    if (block_reason === 'daily_limit') {
      throw new SvcError('insufficient_credits', 'Not enough credits are left today')
    }
    if (!can_send || (needed > credits_balance && credits_needed > 0)) {
      throw new SvcError('insufficient_credits', 'Not enough credits for the whole batch.')
    }
  }
}

/**
 * Sends the first e-mail before the others: it is refused if the key was used with another batch. Then no e-mail of this
 * batch is sent.
 */
async function sendAll(parts: Parts, call: Call<unknown>, drafts: readonly Draft[]) {
  const [first, ...others] = drafts.filter(({ request }) => request !== null)
  const results = new Map<number, PromiseSettledResult<string | null>>()
  for (const some of [first ? [first] : [], others]) {
    const settled = await Promise.allSettled(some.map((draft) => sendOne(parts, call, draft)))
    for (const [i, result] of settled.entries()) {
      if (result.status === 'rejected' && !isRefusal(result.reason)) throw result.reason
      results.set(some[i]?.index ?? 0, result)
    }
  }
  return drafts.map(({ index }) => results.get(index) ?? NOT_SENT)
}

const NOT_SENT = { status: 'fulfilled', value: null } as const

/** Sends one e-mail; null for a refused one. A repeated batch with the same key repeats each e-mail with its own key. */
async function sendOne({ messages }: Parts, call: Call<unknown>, { index, request }: Draft) {
  if (!request) return null
  const { identity, idempotency_key: key } = call
  const options = { idempotency_key: key && keyAt(key, index), compared: { resend: call.body } }
  const sent = await messages.send(keyOf(identity), request, options)
  if (sent.replayed) call.replayed()
  return sent.data.message_id
}

function keyAt(key: string, index: number): string {
  return `resend-batch-${createHash('sha256').update(key).digest('hex')}-${index}`
}

function refusalOf(error: unknown, isStrict: boolean): string {
  if (isStrict || !isRefusal(error)) throw error
  return validationError(error).message
}

function isRefusal(error: unknown): error is SvcError {
  return error instanceof SvcError && error.code === 'validation_error' && !isAboutKey(error)
}

function isAboutKey({ details }: SvcError): boolean {
  return details?.[0]?.path === 'Idempotency-Key'
}
