import type { IncomingMessage } from 'node:http'
import type { Fetch, Svc, SvcOptions } from '@svc/client'
import type { Command } from 'commander'
import { readStdinText } from '../input/read-input.ts'
import { type Failure, misconfigured, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { dataFolder, pathFrom } from '../settings/data-folder.ts'
import { devFilePath, readDevFile } from './dev-file.ts'
import { type Profile, readProfiles } from './profiles.ts'

const DEFAULT_URL = 'http://127.0.0.1:3000'

/** The characters that a header can have. */
const KEY_CHARACTERS = /^[\x21-\x7e]+$/

/** The server is reported as unreachable after this time without an answer. */
const ANSWER_MAX_MS = 30_000

/** The options of a client command that select the server and the key. */
export interface ConnectionOptions extends KeyOptions {
  url?: string
  profile?: string
}

/** The server and the API key of a client command. */
export interface Target {
  base_url: string
  api_key: string
}

/** Adds the options for the server and the key. */
export function withConnection(command: Command): Command {
  return command
    .option(
      '--url <url>',
      'the address of the server (default: SVC_URL, else from the profile, the configuration file or svc dev)',
    )
    .option(
      '--key <key>',
      `${KEY_HELP} (default: SVC_API_KEY, else the key stored with the address)`,
    )
    .option('--key-stdin', KEY_STDIN_HELP)
    .option(
      '--profile <name>',
      'a profile of svc profiles (default: SVC_PROFILE, else the profile in use)',
    )
}

/**
 * Finds the server and the key. The order is: options, then SVC_URL and SVC_API_KEY, then the profile, then the
 * configuration file, then the file of `svc dev` in the data folder. A key is sent only to the address stored with it.
 * Only a key from `--key`, `--key-stdin`, or SVC_API_KEY without SVC_URL is sent to any address.
 * @throws Failure when there is no key, and for an invalid address.
 */
export async function findTarget(options: ConnectionOptions, io: ProcessIo): Promise<Target> {
  const folder = dataFolder(io)
  const { environment, file } = pairsOfSettings(io)
  const key = await readApiKey(options, io)
  const [profile, dev] = await Promise.all([
    findProfile({ ...options, ...(key !== undefined && { key }) }, io),
    readDevFile(folder),
  ])
  const chosen_url = options.url ?? environment.url ?? profile?.url ?? file.url
  const base_url = addressOf(chosen_url ?? dev?.url ?? DEFAULT_URL)
  const pairs: (Pair | null)[] = [
    { url: base_url, ...environment },
    profile,
    { url: dev?.url ?? DEFAULT_URL, ...file },
    dev && { url: dev.url, key: dev.api_key },
  ]
  const isMeant = (pair: Pair | null) => pair?.key && addressOf(pair.url ?? '') === base_url
  const api_key = key ?? pairs.find(isMeant)?.key
  if (api_key !== undefined && !KEY_CHARACTERS.test(api_key)) {
    throw usage('the API key has characters that no key has: check that it was copied exactly')
  }
  if (api_key !== undefined) return { base_url, api_key }
  const devFile = pathFrom(io.cwd, devFilePath(folder))
  if (chosen_url === undefined) {
    throw misconfigured(
      `no API key: give ${SAFE_WAYS}, or start svc dev (there is no ${devFile} yet)`,
    )
  }
  const way = environment.key ? '--key-stdin (SVC_API_KEY belongs to SVC_URL)' : SAFE_WAYS
  throw misconfigured(`no API key for ${base_url}: give ${way}`)
}

/** An address and the key that belongs to it. */
interface Pair {
  url?: string
  key?: string
}

/** Returns the address and key of the environment, and the address and key of the configuration file. */
function pairsOfSettings({ env, origins }: ProcessIo): { environment: Pair; file: Pair } {
  const environment: Pair = {}
  const file: Pair = {}
  for (const [name, field] of [
    ['SVC_URL', 'url'],
    ['SVC_API_KEY', 'key'],
  ] as const) {
    const text = env[name]?.trim()
    if (text) (origins?.has(name) ? file : environment)[field] = text
  }
  return { environment, file }
}

/**
 * Returns the named profile, else the profile in use; null when options or environment give both address and key.
 * @throws Failure for an unknown name, and for a named profile that a variable of the environment would override.
 */
async function findProfile(
  { url, key, profile: option }: ConnectionOptions,
  io: ProcessIo,
): Promise<Profile | null> {
  const { environment } = pairsOfSettings(io)
  const named = option ?? (io.env.SVC_PROFILE?.trim() || undefined)
  if (named !== undefined) {
    const way = option === undefined ? 'SVC_PROFILE' : '--profile'
    if (url === undefined && environment.url) throw overridden('SVC_URL', way)
    if (key === undefined && environment.key) throw overridden('SVC_API_KEY', way)
  }
  const isPair = url === undefined || environment.url === undefined
  const chosen_key = key ?? (isPair ? environment.key : undefined)
  if (named === undefined && (url ?? environment.url) && chosen_key) return null
  const { used, profiles } = await readProfiles(io)
  const profile = profiles.get(named ?? used ?? '')
  if (named === undefined || profile) return profile ?? null
  throw usage(`there is no profile "${named}": svc profiles list shows them`)
}

function overridden(variable: string, way: string): Failure {
  return usage(`${variable} is set and overrides ${way}: unset one of them`)
}

/** Creates a client for the server of `findTarget`. */
export async function connect(
  options: ConnectionOptions,
  io: ProcessIo,
): Promise<{ client: Svc; base_url: string }> {
  const target = await findTarget(options, io)
  return { client: await clientOf(target), base_url: target.base_url }
}

/** Creates a client for a server. It does not retry: a command reports a failure at once, or has its own patience. */
export async function clientOf({ base_url, api_key }: Target): Promise<Svc> {
  const { Svc } = await import('@svc/client')
  const options: SvcOptions = { baseUrl: base_url, apiKey: api_key, timeout: ANSWER_MAX_MS }
  // Commands also run beside the server in a private network, for example of containers.
  return new Svc({ ...options, maxRetries: 0, allowHttp: true, fetch: httpFetch })
}

/**
 * The address of a server without `/api/v1`, which the client adds.
 * @throws Failure for an invalid address.
 */
export function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    // The text before an @ may be a password, so the error must not show it.
    const got = text.includes('@') ? '' : `, got "${text}"`
    throw usage(`the server must be an http or https address${got}`)
  }
  if (url.username + url.password + url.search + url.hash !== '') {
    throw usage('the address of the server must be without user, password, query and fragment')
  }
  return text.replace(/(?<!\/)\/+$/, '').replace(/\/api\/v1$/, '')
}

/**
 * Sends a request and follows no redirect.
 *
 * The first call of the global `fetch` compiles a parser in WebAssembly (200 ms of CPU); this function needs 20 ms.
 */
export const httpFetch: Fetch = async (address, { body, redirect: _, ...init }) => {
  const url = new URL(address)
  // From Node 22.5 on, `import` of these modules also loads undici for their getter `WebSocket` (80 ms of CPU).
  const { request } = process.getBuiltinModule(
    url.protocol === 'https:' ? 'node:https' : 'node:http',
  )
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, init, resolve).on('error', reject).end(body)
  })
  const { statusCode: status = 0, headers } = response
  return {
    status,
    headers: { get: (name) => headers[name]?.toString() ?? null },
    text: () => textOf(response),
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of response.setEncoding('utf8')) text += part
  return text
}

/** The options for an API key. */
export interface KeyOptions {
  key?: string
  keyStdin?: boolean
}

/** The ways to give a key that other users cannot see, for messages and help. */
const SAFE_WAYS = 'SVC_API_KEY or --key-stdin'

/** The help of `--key`. */
const KEY_HELP = `the API key; other users of this machine can see it in the list of processes: prefer ${SAFE_WAYS}`

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
