import { appendFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { resolve } from 'node:path'
import { readInputFile } from '../input/read-input.ts'
import { misconfigured, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'

/** A delivery as it was received: one line of a file. */
export interface Recording {
  received_at: string
  headers: IncomingHttpHeaders
  body: string
}

/** A file that deliveries are added to. */
export interface Cassette {
  record(received: { headers: IncomingHttpHeaders; body: Buffer }): Promise<void>
}

/**
 * Opens a file to add deliveries to its end; a relative path counts from the run's folder.
 * @throws Failure when it cannot be written.
 */
export async function openCassette(path: string, { cwd }: ProcessIo): Promise<Cassette> {
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
 * The deliveries in a file, oldest first.
 * @throws Failure when it cannot be read, or a line is no delivery.
 */
export async function readCassette(path: string, io: ProcessIo): Promise<Recording[]> {
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
    // Told below.
  }
  throw usage(`line ${number} of ${path} is no delivery that svc webhooks listen --save wrote`)
}
