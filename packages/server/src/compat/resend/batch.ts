import { decode, endpoint, invalid, LIMITS, SvcError } from '@svc/core/contract'
import { type DecodedCore, inTurns } from '@svc/core/operate'
import * as z from 'zod'
import { keyOf } from '../../admission/authenticator.ts'
import type { Handlers } from '../../routes/mount.ts'
import { type EmailBody, emailBody, wireRequestOf } from './email-body.ts'
import { validationError } from './errors.ts'
import { answer, ROOT } from './tables.ts'

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

type Parts = Pick<DecodedCore, 'messages' | 'files'> & { now: () => Date }

/** An e-mail of a batch that is not sent. */
interface Fault {
  index: number
  message: string
}

export function batchHandlers(parts: Parts): Handlers<typeof batchEndpoints> {
  return {
    async send({ identity, body, idempotency_key, reply, replayed }) {
      const isStrict = reply.request.headers['x-batch-validation'] !== 'permissive'
      const validation = isStrict ? 'strict' : 'permissive'
      const { emails, faults } = await readAll(listOf(body), isStrict, parts)
      // Words such as `in 1 hour` mean another time when the request is repeated.
      const options = { idempotency_key, compared: { resend: body, validation } }
      try {
        const sent = await parts.messages.bulks.sendEmails(
          keyOf(identity),
          { emails, validation },
          options,
        )
        if (sent.replayed) replayed()
        const data = sent.data.messages.map(({ message_id: id }) => ({ id }))
        return isStrict ? { data } : { data, errors: errorsOf(sent.data.errors, faults) }
      } catch (error) {
        const refused = isStrict ? null : refusedEmails(error)
        if (refused) return { data: [], errors: errorsOf(refused, faults) }
        throw error
      }
    },
  }
}

function listOf(body: unknown): unknown[] {
  if (!Array.isArray(body) || body.length === 0) {
    throw invalid('', 'The request body must be an array of emails.')
  }
  if (body.length > LIMITS.bulk_emails) {
    throw invalid('emails', `A batch can have at most ${LIMITS.bulk_emails} emails.`)
  }
  return body
}

/** The e-mails as requests of the service; null for each that has a fault in the form of Resend. */
async function readAll(
  given: readonly unknown[],
  isStrict: boolean,
  { files, now }: Parts,
): Promise<{ emails: unknown[]; faults: ReadonlyMap<number, string> }> {
  const faults = new Map<number, string>()
  function refuse(index: number, error: unknown): null {
    if (isStrict || !isRefusal(error)) throw error
    faults.set(index, textOf(error))
    return null
  }
  const read = await inTurns(given, (one, index) => {
    try {
      return readEmail(one)
    } catch (error) {
      return refuse(index, error)
    }
  })
  const emails: unknown[] = []
  for (const [index, email] of read.entries()) {
    try {
      emails.push(
        email && (await wireRequestOf(email, { files, attachments_max_bytes: 0, now: now() })),
      )
    } catch (error) {
      emails.push(refuse(index, error))
    }
  }
  return { emails, faults }
}

function readEmail(given: unknown): EmailBody {
  const email = decode(emailBody, given)
  if (email.attachments) throw invalid('attachments', 'A batch cannot have `attachments`.')
  return email
}

/** The faults in the words of Resend; of two for one e-mail, the fault in the form of Resend. */
function errorsOf(found: readonly Fault[], faults: ReadonlyMap<number, string>): Fault[] {
  return found.map(({ index, message }) => ({
    index,
    message: faults.get(index) ?? textOf({ message }),
  }))
}

/** The first fault of each e-mail, if no e-mail of the batch can be sent; null for any other error. */
function refusedEmails(error: unknown): Fault[] | null {
  if (!isRefusal(error)) return null
  const first = new Map<number, string>()
  for (const { path, message } of error.details ?? []) {
    const [, index] = /^emails\.(\d+)/.exec(path) ?? []
    if (index === undefined) return null
    if (!first.has(Number(index))) first.set(Number(index), message)
  }
  return [...first].map(([index, message]) => ({ index, message }))
}

function isRefusal(error: unknown): error is SvcError {
  return error instanceof SvcError && error.code === 'validation_error'
}

function textOf(failure: Parameters<typeof validationError>[0]): string {
  return validationError(failure).message
}
