import { readStdinText } from '../input/read-input.ts'
import { usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'

/** The options for an API key. */
export interface KeyOptions {
  key?: string
  keyStdin?: boolean
}

/** The ways to give a key that other users cannot see, for messages and help. */
export const SAFE_WAYS = 'SVC_API_KEY or --key-stdin'

/** The help of `--key`. */
export const KEY_HELP = `the API key; other users of this machine can see it in the list of processes: prefer ${SAFE_WAYS}`

/** The help of `--key-stdin`. */
export const KEY_STDIN_HELP = 'read the API key from the first line of stdin'

/** The keys that were read from stdin. A command may call `readApiKey` twice, but stdin contains the key only once. */
const read = new WeakMap<ProcessIo['stdin'], Promise<string>>()

/**
 * Reads the API key of the options. Returns undefined if there is neither option.
 * @throws Failure for both options together, and for an empty stdin.
 */
export async function readApiKey(
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
