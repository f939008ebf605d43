import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { misconfigured, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'

/** What a pipe or a file may hold: twice the largest body that the service takes. */
const INPUT_MAX_BYTES = 8 * 1024 * 1024

/**
 * All of stdin, byte for byte.
 * @throws Failure when stdin is a terminal, where nobody knows that something is waited for; `what` says what is.
 */
export async function readStdin({ stdin }: ProcessIo, what: string): Promise<Buffer> {
  if (stdin.isTTY) throw usage(`${what}, or pipe it in`)
  assertUnread(stdin)
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stdin) {
    const buffer = Buffer.from(chunk as Buffer | string)
    bytes += buffer.length
    if (bytes > INPUT_MAX_BYTES) throw usage(`stdin has more than ${INPUT_MAX_BYTES} bytes`)
    chunks.push(buffer)
  }
  return Buffer.concat(chunks)
}

/**
 * Stdin is one text: it cannot be both an API key and a message.
 * @throws Failure when it was read before.
 */
export function assertUnread({ readableEnded }: ProcessIo['stdin']): void {
  if (readableEnded) throw usage('stdin is taken by another option: set SVC_API_KEY, or use a file')
}

/** The text on stdin without the line break that `echo` puts at its end. */
export async function readStdinText(io: ProcessIo, what: string): Promise<string> {
  const bytes = await readStdin(io, what)
  return bytes.toString('utf8').replace(/\r?\n$/, '')
}

/** A file's bytes; a relative path counts from the run's folder. */
export async function readInputFile(path: string, { cwd }: ProcessIo): Promise<Buffer> {
  try {
    return await readFile(resolve(cwd, path))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw misconfigured(
      `cannot read ${path}${code === 'ENOENT' ? ': there is no such file' : `: ${code}`}`,
    )
  }
}

/** The bytes of a `--body` option: the text itself, `@file`, or stdin where it is not given. */
export async function givenBody(body: string | undefined, io: ProcessIo): Promise<Buffer> {
  if (body === undefined) return readStdin(io, 'give the body with --body')
  return body.startsWith('@') ? readInputFile(body.slice(1), io) : Buffer.from(body)
}
