import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { TableFault } from '@svc/core/operate'
import { type Failure, misconfigured, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'

/** The size limit of stdin: twice the largest body that the service accepts. */
const INPUT_MAX_BYTES = 8 * 1024 * 1024

/**
 * Reads all of stdin, byte for byte.
 * @throws Failure when stdin is a terminal, because the command would wait there without a prompt. `instead` names the
 * option to use.
 */
async function readStdin({ stdin }: ProcessIo, instead: string): Promise<Buffer> {
  if (stdin.isTTY) throw usage(`${instead}, or pipe it in`)
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
 * Checks that stdin was not read yet, because it cannot be both an API key and a message.
 * @throws Failure when stdin was read.
 */
export function assertUnread({ readableEnded }: ProcessIo['stdin']): void {
  if (readableEnded) throw usage('another option reads stdin: set SVC_API_KEY, or use a file')
}

/** Reads stdin as text, without the line break that `echo` adds. */
export async function readStdinText(io: ProcessIo, instead: string): Promise<string> {
  const bytes = await readStdin(io, instead)
  return bytes.toString('utf8').replace(/\r?\n$/, '')
}

/** Reads a file; a relative path starts at the current folder. */
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

/** The longest line of a file: a row of a results file in which every character is escaped in JSON. */
export const LINE_MAX_BYTES = 1024 * 1024

/**
 * The lines of a file without their line feeds, and the positions after them. The file is opened when the first line is read.
 * A last line without a line feed has `is_cut`.
 * @throws the error of `tooLong` for a line of more than `LINE_MAX_BYTES`.
 */
export async function* linesOf(
  path: string,
  tooLong: () => Error,
): AsyncGenerator<{ text: string; end: number; is_cut: boolean }> {
  let rest: Buffer = Buffer.alloc(0)
  let at = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let start = 0
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
      yield { text: bytes.toString('utf8', start, end), end: at + end + 1, is_cut: false }
      start = end + 1
    }
    at += start
    rest = bytes.subarray(start)
    if (rest.length > LINE_MAX_BYTES) throw tooLong()
  }
  if (rest.length > 0) yield { text: rest.toString('utf8'), end: at + rest.length, is_cut: true }
}

/** The values of variables in a JSON file; without a file none. @throws Failure for a file without a JSON object. */
export async function readValues(
  file: string | undefined,
  io: ProcessIo,
): Promise<Record<string, never>> {
  if (file === undefined) return {}
  const text = (await readInputFile(file, io)).toString('utf8')
  try {
    const values: unknown = JSON.parse(text)
    if (typeof values === 'object' && values !== null && !Array.isArray(values)) {
      return values as Record<string, never>
    }
  } catch {
    // The failure below names the file.
  }
  throw usage(`${file} must have a JSON object, such as {"name": "Asha"}`)
}

/** The bytes of `--body`: its text, or the contents of the file for `@file`. Without the option it reads stdin. */
export async function readBody(body: string | undefined, io: ProcessIo): Promise<Buffer> {
  if (body === undefined) return readStdin(io, 'give the body with --body')
  return body.startsWith('@') ? readInputFile(body.slice(1), io) : Buffer.from(body)
}

/** The failure for a file that cannot be read as a table. */
export function unreadable(file: string, { message }: TableFault): Failure {
  return usage(message.startsWith('line ') ? `${file}, ${message}` : `${file}: ${message}`)
}
