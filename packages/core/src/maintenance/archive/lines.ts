import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { refusal } from '../refusal.ts'

const LINE_BREAK = 0x0a

/** This is longer than any row. The limit prevents a foreign file from filling the memory. */
const LINE_MAX_BYTES = 256 * 1024 * 1024

/**
 * The lines of a gzip-compressed text as bytes, without their line breaks.
 * @throws Error `truncated` if the end is missing, `foreign` if the file is not an archive, `altered` if it is damaged.
 */
export async function* linesOf(source: Readable): AsyncGenerator<Buffer> {
  // A failure of either stream is thrown where the lines are read.
  const bytes = pipeline(source, createGunzip(), () => {})
  let parts: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      let start = 0
      for (
        let end = chunk.indexOf(LINE_BREAK);
        end !== -1;
        end = chunk.indexOf(LINE_BREAK, start)
      ) {
        parts.push(chunk.subarray(start, end))
        yield parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
        parts = []
        size = 0
        start = end + 1
      }
      if (start === chunk.length) continue
      parts.push(chunk.subarray(start))
      size += chunk.length - start
      if (size > LINE_MAX_BYTES) throw refusal('foreign', 'this is not an archive of svc')
    }
  } catch (error) {
    throw explained(error)
  }
  if (parts.length > 0)
    throw refusal('truncated', 'the archive is truncated: its last line has no end')
}

function explained(error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'Z_BUF_ERROR') return refusal('truncated', 'the archive is truncated', error)
  if (!code?.startsWith('Z_')) return error
  if (message === 'incorrect header check')
    return refusal('foreign', 'this is not an archive of svc', error)
  return refusal('altered', `the archive is damaged: ${message}`, error)
}
