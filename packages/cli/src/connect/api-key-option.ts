import { readStdinText } from '../input/read-input.ts'
import { usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'

/** An API key as options give it. */
export interface KeyOptions {
  key?: string
  keyStdin?: boolean
}

/** How a key should be given, for messages and help. */
export const SAFE_WAYS = 'SVC_API_KEY or --key-stdin'

/** The help of `--key`. */
export const KEY_HELP = `the API key; other users of this machine can see it in the list of processes: rather ${SAFE_WAYS}`

/** The help of `--key-stdin`. */
export const KEY_STDIN_HELP = 'read the API key from the first line of stdin'

/** Keys that were read already: a command may ask twice, and stdin has one. */
const read = new WeakMap<ProcessIo['stdin'], Promise<string>>()

/**
 * The key that the options give; undefined where they give none.
 * @throws Failure when both give one, and when stdin has none.
 */
export async function givenKey(
  { key, keyStdin }: KeyOptions,
  io: ProcessIo,
): Promise<string | undefined> {
  if (!keyStdin) return key
  if (key !== undefined) throw usage('give --key or --key-stdin, not both')
  const { stdin } = io
  const reading = read.get(stdin) ?? firstLine(io)
  read.set(stdin, reading)
  return reading
}

async function firstLine(io: ProcessIo): Promise<string> {
  const text = await readStdinText(io, 'set SVC_API_KEY')
  const key = text.split(/\r?\n/, 1)[0]?.trim()
  if (!key) throw usage('stdin has no API key in its first line')
  return key
}
