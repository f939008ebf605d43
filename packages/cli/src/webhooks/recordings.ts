import { appendFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { resolve } from 'node:path'
import { readInputFile } from '../input/read-input.ts'
import { misconfigured, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'

/** A received delivery. It is one line of a file. */
export interface Recording {
  received_at: string
  headers: IncomingHttpHeaders
  body: string
}

/** A file to which deliveries are appended. */
interface RecordingFile {
  record(received: { headers: IncomingHttpHeaders; body: Buffer }): Promise<void>
}

/**
 * Opens a file to which deliveries are appended. A relative path starts at the current folder.
 * @throws Failure when the file cannot be written.
 */
export async function openRecordings(path: string, { cwd }: ProcessIo): Promise<RecordingFile> {
  const write = async (text: string) => {
    try {
      await appendFile(resolve(cwd, path), text, { mode: 0o600 })
    } catch (error) {
      throw misconfigured(`cannot write ${path}: ${(error as NodeJS.ErrnoException).code}`)
    }
  }
  await write('')
  return {
    record({ headers, body }) {
      const recording: Recording = {
        received_at: new Date().toISOString(),
        headers,
        body: body.toString('utf8'),
      }
      return write(`${JSON.stringify(recording)}\n`)
    },
  }
}

/**
 * Reads the deliveries of a file, oldest first.
 * @throws Failure when the file cannot be read, and when a line is not a delivery.
 */
export async function readRecordings(path: string, io: ProcessIo): Promise<Recording[]> {
  const text = (await readInputFile(path, io)).toString('utf8')
  return text
    .split('\n')
    .flatMap((line, i) => (line.trim() === '' ? [] : [recordingOf(line, path, i + 1)]))
}

function recordingOf(line: string, path: string, number: number): Recording {
  try {
    const { received_at, headers, body } = JSON.parse(line)
    if (typeof body === 'string' && typeof headers === 'object' && headers !== null) {
      return { received_at, headers, body }
    }
  } catch {
    // The statement below reports the fault.
  }
  throw usage(`line ${number} of ${path} is not a delivery of svc webhooks listen --save`)
}
