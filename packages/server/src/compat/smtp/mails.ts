import type { KeyIdentity } from '@svc/core'
import { apiFor, checkValue, decode, idempotencyKey, invalid } from '@svc/core/contract'
import { within } from '@svc/core/operate'
import type { SMTPServerDataStream } from 'smtp-server'
import { failureOf } from '../../failures.ts'
import type { Shared } from './admit.ts'
import type { InletLimits } from './limits.ts'
import type { MailReader } from './mail-reader.ts'
import { closing, refusal } from './reply.ts'
import { type InletDomains, type Recipients, requestOf } from './request.ts'

/** Turns mails into messages. */
export interface Mails {
  /**
   * Reads a mail to its end. @throws Refusal for a mail that is too large or too slow; its bytes are dropped at once.
   */
  receive(stream: SMTPServerDataStream): Promise<Uint8Array>
  /**
   * Sends a mail as one message. Resolves with the id of the message after it was stored.
   * @throws SvcError or Refusal; nothing is stored then.
   */
  send(raw: Uint8Array, recipients: Recipients, identity: KeyIdentity): Promise<string>
}

/** The memory that a chunk takes besides its bytes: a client may send a mail in pieces of one byte. */
const CHUNK_BYTES = 128

export function createMails({
  shared: { core, gate },
  reader,
  limits,
  domains,
  onLateFailure,
}: {
  shared: Shared
  reader: MailReader
  limits: InletLimits
  domains: InletDomains
  /** A send failed after its client had got the answer. */
  onLateFailure: (error: unknown) => void
}): Mails {
  const { body: schema, read_plain } = apiFor({ voice: core.carriedChannels.includes('voice') })
    .messages.send
  let buffered = 0

  function messageFor(raw: Uint8Array, recipients: Recipients, workspace_id: string) {
    return reader.read(raw, workspace_id).then((reading) => {
      if ('fault' in reading) throw refusal('554 5.6.0', reading.fault)
      const { body, idempotency_key } = requestOf(reading.mail, recipients, domains)
      checkValue(body)
      return { request: read_plain(body) ?? decode(schema, body), key: keyIn(idempotency_key) }
    })
  }

  return {
    receive(stream) {
      const chunks: Buffer[] = []
      let held = 0
      let isRefused = false
      const drop = () => {
        chunks.length = 0
        buffered -= held
        held = 0
      }
      return new Promise((resolve, reject) => {
        const end = (settle: () => void) => {
          clearTimeout(timer)
          stream.off('data', onData).off('end', onEnd).off('close', onClose)
          settle()
          drop()
        }
        const onData = (chunk: Buffer) => {
          if (isRefused || stream.sizeExceeded) return drop()
          const cost = chunk.length + CHUNK_BYTES
          if (buffered + cost > limits.buffered_bytes) {
            isRefused = true
            return drop()
          }
          // A copy, so that a short chunk does not hold the memory of a long one.
          chunks.push(Buffer.from(chunk))
          held += cost
          buffered += cost
        }
        const onEnd = () =>
          end(() => {
            if (isRefused) reject(refusal('452 4.3.1', 'Too many mails. Please try again later'))
            else if (stream.sizeExceeded) reject(tooLarge(limits.mail_bytes))
            else resolve(Buffer.concat(chunks))
          })
        // The client left, or the time is over. It may still send, and its next bytes would be read as a part of this mail.
        const onClose = () => end(() => reject(closing('The mail took too long')))
        const timer = setTimeout(() => stream.destroy(), limits.data_ms)
        // `close` follows an error.
        stream
          .on('data', onData)
          .on('end', onEnd)
          .on('close', onClose)
          .on('error', () => {})
      })
    },
    async send(raw, recipients, identity) {
      const { request, key } = await messageFor(raw, recipients, identity.workspace_id)
      const work = Promise.resolve(
        gate.during(() => core.messages.send(identity, request, { idempotency_key: key })),
      )
      if (key === undefined) return (await work).data.message_id
      const { data } = await within(limits.repeatable_ms, work, () => {
        work.catch((error) => {
          if (failureOf(error).status === 500) onLateFailure(error)
        })
        throw refusal('451 4.4.5', 'The mail took too long. Please repeat it')
      })
      return data.message_id
    },
  }
}

function tooLarge(bytes: number): Error {
  return refusal('552 5.3.4', `The mail must be at most ${bytes} bytes`)
}

function keyIn(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const result = idempotencyKey.safeParse(text)
  if (result.success) return result.data
  throw invalid('X-Svc-Idempotency-Key', result.error.issues[0]?.message ?? 'Invalid request')
}
