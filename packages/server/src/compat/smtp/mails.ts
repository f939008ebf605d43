import type { KeyIdentity } from '@svc/core'
import { apiFor, checkValue, decode, idempotencyKey, invalid } from '@svc/core/contract'
import { within } from '@svc/core/operate'
import type { SMTPServerDataStream } from 'smtp-server'
import { failureOf } from '../../failures.ts'
import type { Shared } from './admit.ts'
import type { InletLimits } from './limits.ts'
import type { MailOwner, MailReader } from './mail-reader.ts'
import { closing, refusal } from './reply.ts'
import { type InletDomains, type Recipients, requestOf } from './request.ts'

/** A mail that was received, in memory. */
interface ReceivedMail {
  raw: Uint8Array
  owner: MailOwner
  /** Ends the count of its memory. */
  release(): void
}

/** Turns mails into messages. */
export interface Mails {
  /**
   * Reads a mail to its end. @throws Refusal for a mail that is too large or too slow, or beyond the memory for mails of its
   * owner; its bytes are dropped at once.
   */
  receive(stream: SMTPServerDataStream, owner: MailOwner): Promise<ReceivedMail>
  /**
   * Sends a mail as one message. Resolves with the id of the message after it was stored.
   * @throws SvcError or Refusal; nothing is stored then.
   */
  send(mail: ReceivedMail, recipients: Recipients, identity: KeyIdentity): Promise<string>
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
  const memory = createMemory(limits)

  function messageFor({ raw, owner }: ReceivedMail, recipients: Recipients) {
    return reader.read(raw, owner).then((reading) => {
      if ('fault' in reading) throw refusal('554 5.6.0', reading.fault)
      const { body, idempotency_key } = requestOf(reading.mail, recipients, domains)
      checkValue(body)
      return { request: read_plain(body) ?? decode(schema, body), key: keyIn(idempotency_key) }
    })
  }

  return {
    receive(stream, owner) {
      const chunks: Buffer[] = []
      let held = 0
      let isRefused = false
      const release = () => {
        memory.release(owner, held)
        held = 0
      }
      const drop = () => {
        chunks.length = 0
        release()
      }
      return new Promise((resolve, reject) => {
        const end = (settle: () => void) => {
          clearTimeout(timer)
          stream.off('data', onData).off('end', onEnd).off('close', onClose)
          settle()
          chunks.length = 0
        }
        const onData = (chunk: Buffer) => {
          if (isRefused || stream.sizeExceeded) return drop()
          const cost = chunk.length + CHUNK_BYTES
          if (!memory.reserve(owner, cost)) {
            isRefused = true
            return drop()
          }
          // A copy, so that a short chunk does not hold the memory of a long one.
          chunks.push(Buffer.from(chunk))
          held += cost
        }
        const onEnd = () =>
          end(() => {
            if (isRefused) reject(refusal('452 4.3.1', 'Too many mails. Please try again later'))
            else if (stream.sizeExceeded) reject(tooLarge(limits.mail_bytes))
            else return resolve({ raw: Buffer.concat(chunks), owner, release })
            release()
          })
        // The client left, or the time is over. It may still send, and its next bytes would be read as a part of this mail.
        const onClose = () =>
          end(() => {
            release()
            reject(closing('The mail took too long'))
          })
        const timer = setTimeout(() => stream.destroy(), limits.data_ms)
        // `close` follows an error.
        stream
          .on('data', onData)
          .on('end', onEnd)
          .on('close', onClose)
          .on('error', () => {})
      })
    },
    async send(mail, recipients, identity) {
      const { request, key } = await messageFor(mail, recipients)
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

/** Counts the memory of mails: of all, of each workspace, and of each network of clients. */
function createMemory(
  limits: Pick<
    InletLimits,
    'buffered_bytes' | 'buffered_bytes_of_workspace' | 'buffered_bytes_of_client'
  >,
) {
  const held = new Map<string, number>()
  const countsOf = ({ workspace_id, client }: MailOwner): [name: string, max: number][] => [
    ['all', limits.buffered_bytes],
    [`workspace ${workspace_id}`, limits.buffered_bytes_of_workspace],
    [`client ${client}`, limits.buffered_bytes_of_client],
  ]
  const add = (owner: MailOwner, bytes: number) => {
    for (const [name] of countsOf(owner)) {
      const sum = (held.get(name) ?? 0) + bytes
      if (sum > 0) held.set(name, sum)
      else held.delete(name)
    }
  }
  return {
    /** Adds bytes, or returns false if a limit has no room for them. */
    reserve(owner: MailOwner, bytes: number): boolean {
      if (countsOf(owner).some(([name, max]) => (held.get(name) ?? 0) + bytes > max)) return false
      add(owner, bytes)
      return true
    },
    release: (owner: MailOwner, bytes: number) => add(owner, -bytes),
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
