import type { SendJob } from '../contract/outside/provider.ts'
import type { Content } from '../contract/resources/content.ts'
import { attachmentsOf, withAttachments } from '../messages/stored-files.ts'
import type { ClaimedMessage } from '../rules/claim.ts'
import { type ByteBudget, createByteBudget } from '../runtime/byte-budget.ts'
import type { Reads } from '../storage/ports/storage.ts'

/**
 * The stored files that are in memory at once, as base64: with their copies in the threads they take about four times as
 * much. A mail of the maximum size is sent alone.
 */
const LOADED_BYTES_MAX = 32 * 2 ** 20

/** Loads the stored files of messages before their calls. */
export interface MailFiles {
  /**
   * Waits until the files of the message fit into memory; the caller calls the returned function after the call. Null if
   * they do not fit within `wait_ms`, or the service stops.
   */
  reserve(message: ClaimedMessage, wait_ms: number): Promise<(() => void) | null>
  /** Lets no message wait any more. */
  stop(): void
  /** The content with its files, for `withTexts`; null if a file is missing. */
  load(message: ClaimedMessage): Promise<Content | null>
}

export function createMailFiles(
  { files }: Pick<Reads, 'files'>,
  budget: ByteBudget = createByteBudget(LOADED_BYTES_MAX),
): MailFiles {
  const stopping = new AbortController()

  async function base64Of(workspaceId: string, sha256: string, chunks: number) {
    const parts: Buffer[] = []
    for (let number = 0; number < chunks; number++) {
      const part = await files.chunk(workspaceId, sha256, number)
      if (part === null) return null
      parts.push(Buffer.from(part, 'latin1'))
    }
    return joined(parts)
  }

  return {
    async reserve({ content }, wait_ms) {
      // An error here must not end the lane's work: the mail would be in doubt, although it was not sent.
      try {
        const wait = AbortSignal.timeout(Math.max(0, Math.floor(wait_ms)))
        const end = AbortSignal.any([stopping.signal, wait])
        return await budget.reserve(storedLength(content), end)
      } catch {
        return null
      }
    },
    stop: () => stopping.abort(),
    async load({ workspace_id, message_id, content }) {
      const stored = await files.ofMessages(workspace_id, [message_id])
      const loaded: object[] = []
      for (const [number, attachment] of attachmentsOf(content).entries()) {
        const { size_bytes, ...others } = attachment
        if (size_bytes === undefined) {
          loaded.push(attachment)
          continue
        }
        const file = stored.find((one) => one.number === number)
        const base64 = file && (await base64Of(workspace_id, file.sha256, file.chunks))
        if (!base64) return null
        loaded.push({ ...others, content: base64 })
      }
      return withAttachments(content, loaded)
    },
  }
}

/** The length of the base64 of the stored files; 0 without such files. */
export function storedLength(content: Content): number {
  return attachmentsOf(content).reduce(
    (sum, { size_bytes = 0 }) => sum + 4 * Math.ceil(size_bytes / 3),
    0,
  )
}

/** One array of its own memory, which can be moved to a thread. */
function joined(parts: readonly Buffer[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** The memory of the loaded files of these jobs. */
export function memoryOf(jobs: readonly Pick<SendJob, 'content'>[]): ArrayBuffer[] {
  return jobs.flatMap(({ content }) =>
    attachmentsOf(content).flatMap((one) => (isLoaded(one) ? [one.content.buffer] : [])),
  )
}

/** The job as a provider gets it: the loaded files are texts. */
export function withTexts<Job extends Pick<SendJob, 'content'>>(job: Job): Job {
  const attachments = attachmentsOf(job.content)
  if (!attachments.some(isLoaded)) return job
  const texts = attachments.map((one) =>
    isLoaded(one) ? { ...one, content: Buffer.from(one.content.buffer).toString('latin1') } : one,
  )
  return { ...job, content: withAttachments(job.content, texts) }
}

function isLoaded(one: unknown): one is { content: Uint8Array<ArrayBuffer> } {
  return (one as { content: unknown }).content instanceof Uint8Array
}
